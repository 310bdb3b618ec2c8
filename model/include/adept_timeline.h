/** @file adept_timeline.h  A step as what happens when: one event a task of its schedule, for viewers of traces. Calls:
 * model. */
#ifndef ADEPT_TIMELINE_H
#define ADEPT_TIMELINE_H
#include "adept_layout.h"

typedef enum adept_timeline_row {
    ADEPT_TIMELINE_HOST,    /* launches, and what the step takes beside all parts */
    ADEPT_TIMELINE_COMPUTE, /* kernels of the passes: time.pass_s */
    ADEPT_TIMELINE_OPTIMIZER,
    ADEPT_TIMELINE_LINK,    /* all-reduces inside a node, and copies for them */
    ADEPT_TIMELINE_BETWEEN, /* nodes: both rows together are communication.total_s */
    ADEPT_TIMELINE_ROWS
} adept_timeline_row;

typedef struct adept_timeline_event {
    adept_timeline_row row;
    const char *name, *module, *op; /* static, or the profile's; module and op NULL where it is no operator */
    int32_t op_index;               /* of the profile's ops, -1: it is none */
    const char *part;               /* "forward", "backward", "optimizer"; "" of what is of none */
    double passes;                  /* that it is of; 0: of no pass */
    double bytes;                   /* that are sent; NAN: nothing is */
    double start_s, time_s;
    int32_t stage;      /* of a pipeline: whose GPU */
    double micro_batch; /* from 0; NAN: of none */
} adept_timeline_event;

typedef struct adept_timeline {
    size_t n;
    adept_timeline_event *events;      /* of each row in order, without overlap */
    double row_s[ADEPT_TIMELINE_ROWS]; /* sums of times; of a layout, of the slowest stage's GPU */
    double step_s;
    size_t n_stages; /* of a layout; 0: there is none */
} adept_timeline;

/**
 * One GPU's step. Operators stand in the order of the profile's program, forward and then backward; a profile without
 * one has its passes as a whole. Of accumulated passes the first and the last are shown one by one, those between as
 * one event.
 * @param out  adept_timeline_free() it after ADEPT_OK
 * @return as adept_predict(); ADEPT_E_USAGE by granularity "model", which knows the time of no operator. Thread-safe,
 * deterministic.
 */
ADEPT_API adept_status adept_predict_timeline(adept_timeline *out, const adept_profile *prof, const adept_hwprofile *hw,
                                              const adept_run *run, adept_error *err);
/**
 * A step under a layout, event by event: micro-batches on a GPU of each stage by the pipeline's schedule, with what
 * they send and wait for; then gradients and the optimizer. What is sent among products stands behind them as one
 * event. Its length is that of the schedule itself, which the prediction has in closed form.
 * @return ADEPT_E_USAGE where it would have more than a million events
 */
ADEPT_API adept_status adept_layout_timeline(adept_timeline *out, const adept_layout_prediction *layout,
                                             adept_error *err);
ADEPT_API void adept_timeline_free(adept_timeline *timeline);
/** A trace in Chrome's format (chrome://tracing, Perfetto), times in us. malloc'ed; NULL when memory is out. */
ADEPT_API char *adept_timeline_to_trace(const adept_timeline *timeline, const adept_profile *prof,
                                        const adept_hwprofile *hw);
/** "host", "compute", ...; NULL past the end. */
ADEPT_API const char *adept_timeline_row_name(size_t row);

#endif

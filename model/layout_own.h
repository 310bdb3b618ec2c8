/** @file layout_own.h  What predicting a layout is worked out in, for one and for a search over many. Private to
 * model/. Calls: model. */
#ifndef ADEPT_LAYOUT_OWN_H
#define ADEPT_LAYOUT_OWN_H
#include "adept_layout.h"
#include "plan.h"

/* What a plan says of a rank's kernels, whatever stage they are in: a search takes it for all stages, so that one of
 * them is arithmetic. */
typedef struct adept_rank_numbers {
    adept_board board;
    double clock_ratio, launch_s, fixed_s, optimizer_s /* of a parameter */, tensors_s, power_w, idle_w;
    double blocks;
    double l_hop_s, bw_bytes_per_s;
} adept_rank_numbers;

typedef struct adept_block_spans {
    /* by adept_pass; of them attention's core, and forward what is no product, and what is from `end` on */
    adept_span pass[2], core[2], pointwise, tail;
    size_t end; /* operator from which on a block that is computed again is not */
} adept_block_spans;

#define ADEPT_LAYOUT_LOST 0.02 /* of all tensors, at least, to fragmentation */

typedef struct adept_layout_state {
    adept_layout_prediction *out;
    const adept_profile *prof;
    const adept_hwprofile *hw;
    const adept_run *said;
    adept_run run;       /* with network and nodes, without words of a layout */
    adept_mesh mesh;
    adept_partition part;
    adept_error *err;
    int32_t *stage_of;   /* by block */
    adept_block_spans *spans;        /* by block, at full clock, of one micro-batch */
    adept_block_spans *of_op;        /* by entry of ops */
    bool spans_known;
    adept_group_of tensor, context, expert, data, shard, replicas, expert_data, pipeline;
    double l_hop_s, bw_bytes_per_s;
    double kept_tokens;  /* of a generation: prompt and answer */
    bool overlaps;       /* gradients are sent beside the backward pass */
    double gradient_bytes, gathered_bytes, weight_word, state_bytes, master_bytes, gradient_word; /* of a parameter */
    const adept_rank_numbers *quick; /* NULL: every stage is a plan of its own */
} adept_layout_state;

typedef struct adept_stage_work {
    adept_plan plan;
    adept_profile profile;
    adept_profile_op *ops;
    adept_step step;
    adept_checked_run checked;
    double gradient_sends_s, gathers_s, hidden_s; /* of a step: exposed; hidden */
} adept_stage_work;

/** A workload of several legs; words are resolved. */
adept_status adept_layout_of_legs(adept_layout_state *x);

/** Words of a run resolved: the mesh, nodes and groups, bytes of a parameter. */
adept_status adept_layout_begin(adept_layout_state *x, const adept_run *run);
/** Partition and the room for blocks. adept_layout_end() whatever it is. */
adept_status adept_layout_split(adept_layout_state *x);
void adept_layout_end(adept_layout_state *x);
/** Times of kernels by block, and the numbers of a plan of all of them together. */
adept_status adept_layout_rank_numbers(adept_rank_numbers *out, adept_layout_state *x);
/** Stages, their times, memory and watts. @param work  one for each stage  @return of a step */
adept_status adept_layout_times(double *step_s, adept_layout_state *x, adept_stage_work *work);
/** What a GPU draws that waits for others. */
double adept_layout_wait_w(const adept_layout_state *x);
/** The prediction, as of any step, of times and watts that are known. @param w  of the stage that stands for all */
adept_status adept_layout_fill(adept_layout_state *x, adept_stage_work *w, const adept_step *step, double step_s);
void adept_stage_work_clear(adept_stage_work *work, size_t n); /* and free it; NULL allowed */

#endif

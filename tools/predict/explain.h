/** @file explain.h  What limits a step and what would help, in facts and in sentences. Calls: workload, model, whatif.
 */
#ifndef ADEPT_EXPLAIN_H
#define ADEPT_EXPLAIN_H
#include "adept_elasticity.h"
#include "adept_json_writer.h"
#include "predicted_step.h"
#include <stdio.h>

/* What a changed run or workload is compared by. */
typedef enum adept_explain_scale {
    ADEPT_EXPLAIN_STEP,  /* the same work: time and energy of a step */
    ADEPT_EXPLAIN_SAMPLE /* another amount of work: samples a second and energy per sample */
} adept_explain_scale;

/* One change that someone could make, and the prediction of it. */
typedef struct adept_explain_change {
    const char *key; /* "precision", "batch", "power_limit", ... */
    char what[160]; /* "bf16 autocast": follows "With " */
    adept_explain_scale scale;
    bool possible;
    char reason[128]; /* why not */
    bool unmeasured;  /* another precision, which no measurement behind the parameters had */
    adept_prediction p;
} adept_explain_change;
#define ADEPT_EXPLAIN_CHANGES 24

/* A sentence and what it is about. */
typedef struct adept_sentence {
    const char *topic; /* "cost", "certainty", "memory", "limits", "layers", "levers", "change" */
    char *text;
} adept_sentence;
#define ADEPT_EXPLAIN_SENTENCES 32

typedef struct adept_explanation {
    adept_predicted_step *step; /* borrowed; its groups are layers, most time first */
    adept_elasticities elasticities;
    adept_wait waits_for; /* the largest of the waits */
    adept_groups kinds;   /* most time first */
    int64_t largest_batch; /* that fits; 0: none does; -1: not known, for the file's batch is fixed */
    size_t n_parts;        /* of the step's time under a layout, most first; 0: there is none */
    struct {
        const char *name;
        double time_s;
    } parts[11];
    size_t n_changes;
    adept_explain_change changes[ADEPT_EXPLAIN_CHANGES];
    size_t n_sentences;
    adept_sentence sentences[ADEPT_EXPLAIN_SENTENCES];
} adept_explanation;

/**
 * @param out   adept_explanation_free() it whatever the result
 * @param step  predicted, grouped by layer; must outlive the explanation
 * @return as adept_predict()
 */
adept_status adept_explain(adept_cli *cli, adept_explanation *out, adept_predicted_step *step);
void adept_explanation_free(adept_explanation *x); /* zeroed is fine */

/** For adept_explain(): fill `sentences`. @return ADEPT_E_NOMEM */
adept_status adept_explain_sentences(adept_cli *cli, adept_explanation *x);

/** The rows that a report lists as levers: of the hardware, by the real effect of ten percent more on time.
 *  @return how many of `most` */
size_t adept_explain_levers(const adept_elasticity *rows[], size_t most, const adept_elasticities *e);
/** "memory bandwidth", "peak FLOP/s": what there is ten percent more of; NULL if it is no lever. */
const char *adept_explain_lever_name(const adept_elasticity *row);
/** What rows are shares of: the step; of a layout that of all stages together. */
double adept_explain_gpu_s(const adept_explanation *x);
/** Share of the time that ten percent more saves; 0 if it does not help. */
double adept_explain_saving(const adept_elasticity *row);

/** @param all  with the table of every elasticity */
adept_status adept_report_explanation(adept_cli *cli, FILE *out, const adept_explanation *x, bool markdown, bool all);
/** "explain" into an open object. */
void adept_explanation_put(adept_json_writer *w, const adept_explanation *x, size_t most_layers);
/** A whole document: what `predict --json` says, and "explain". */
void adept_explanation_put_json(adept_json_writer *w, const adept_explanation *x);

#endif

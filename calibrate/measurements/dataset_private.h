/** @file dataset_private.h  What the files of a dataset share. Private to measurements/. Calls: adept_measurements. */
#ifndef ADEPT_DATASET_PRIVATE_H
#define ADEPT_DATASET_PRIVATE_H
#include "adept_measurements.h"

/* A model file of the rows. */
typedef struct adept_dataset_model {
    const char *path;
    char sha256[65];                /* of the file; "" of a saved profile */
    adept_graph *graph;             /* owned; NULL: not read, the error says why */
    adept_workload_config recorded; /* in a saved profile */
    adept_error err;
} adept_dataset_model;

/* A text of the column gpu, and the board that it names. */
typedef struct adept_gpu_name {
    const char *text;
    const adept_hwprofile *hw; /* NULL: none that is known */
} adept_gpu_name;

struct adept_dataset_private {
    size_t n_profiles, profile_capacity;
    adept_profile **profiles; /* owned; malloc'ed */
    size_t n_models;
    adept_dataset_model *models; /* the arena's */
    adept_unsupported *unsupported;
    size_t n_unsupported;
    size_t n_gpus;
    adept_hwprofile **gpus; /* owned, of the rows' own names; the arena's array */
    size_t n_gpu_names;
    struct adept_gpu_name *gpu_names; /* how rows write them; the arena's */
};

/** Make room for one more element of an arena's array that only this function makes larger. @return false when memory
 * is out */
bool adept_dataset_grow(adept_arena *arena, void **items, size_t n, size_t item_bytes);

/** Move rows behind the others; d->n changes. @return false, and nothing changed: memory is out */
bool adept_dataset_drop(adept_dataset *d, const bool *drop);

/** Does a row that cannot be used leave the others alone? Then it is listed with the error's message, which begins with
 * file and line. @return false: no, the error stands; or memory is out, which is the error then */
bool adept_dataset_list_unused(adept_dataset *d, const char *file, long line, bool layouts, adept_error *err);
/** Of a row of the dataset. */
bool adept_row_list_unused(adept_dataset *d, const adept_dataset_row *m, adept_error *err);

/** What a row of a dataset says in a cell that is not empty. */
typedef struct adept_row_cells {
    bool gpus, nodes, grad_accum, activation_checkpoint, sharding, sp, trainer, execution, precision, ep;
} adept_row_cells;

/** Is a word one of a list, with a blank between them? */
bool adept_row_word_is_among(const char *list, const char *word);
/** A word of the program for one that rows say in a column: FULL_SHARD is full. @return text, where it is none of those
 */
const char *adept_row_program_word(const char *column, const char *text);
/** "-", "n/a" and their like: the cell is as an empty one. */
bool adept_row_says_nothing(const char *text);
/** "zero1", "ZeRO Stage 1", "zero1_group8"; group 0: not said. @return false: it is none */
bool adept_row_zero_word(const char *text, int *stage, int64_t *group);
/** Samples and seconds of a step by what the row says of tokens, before all else of a row of layouts is settled.
 *  @return ADEPT_E_INVALID: its columns contradict each other */
adept_status adept_row_settle_tokens(adept_dataset_row *m, const adept_row_cells *given, adept_error *err);
/** Fill in what a row of layouts does not say, and mark it in m->unsaid. */
void adept_row_settle(adept_dataset_row *m, const adept_row_cells *given);
/** What of it the board decides, once m->hw is known. */
void adept_row_settle_board(adept_dataset_row *m);
/** Clocks by stage, "1410-1410-1410/...", of which the middle one counts: one for all stages where they hardly differ.
 *  @return ADEPT_E_INVALID naming the column */
adept_status adept_row_settle_clocks(adept_dataset_row *m, adept_error *err);
/** Predict a row with its profile; recomputation and sharding that it does not say become the first of the usual ones
 * that fit.
 *  @return as adept_predict() */
adept_status adept_row_predict_usual(adept_prediction *out, adept_dataset_row *m, const adept_run *run,
                                     adept_error *err);

/** Do a model's sizes stand in the row's columns? */
bool adept_row_has_architecture(const adept_dataset_row *m);
/** Is it a column for how many blocks there are? */
bool adept_column_is_layers(const char *name);
/** How many blocks, as the row writes it in any of its columns for that; "": it does not. */
const char *adept_row_layers(const adept_dataset_row *m);
/** The model of these sizes, "adept:llama?layers=32&..."; what they do not say is marked in m->unsaid. @param spec  in
 * the arena
 *  @return ADEPT_E_INVALID naming the column */
adept_status adept_row_architecture(const char **spec, adept_arena *arena, adept_dataset_row *m, adept_error *err);

/** Keep a line for dataset->warnings. @return false when memory is out */
bool adept_dataset_warn(adept_dataset *d, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Take ownership, also when it fails (false: memory is out, the profile is freed). */
bool adept_dataset_own_profile(adept_dataset *d, adept_profile *profile);

/** What a row runs, as adept_profile_build() wants it. `inputs` has room for ADEPT_ROW_MAX_INPUTS. */
#define ADEPT_ROW_MAX_INPUTS 64
adept_status adept_row_config(adept_workload_config *config, adept_input_spec *inputs, const adept_dataset_row *m,
                              adept_error *err);

/** Refuse what columns say of a layout and does not add up, or cannot be predicted. Of a row with its profile; what
 * only says again how many GPUs there are is taken back from its run. */
adept_status adept_row_check_layout(adept_dataset_row *m, adept_error *err);

#endif

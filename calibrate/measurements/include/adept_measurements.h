/** @file adept_measurements.h  Measurement CSV -> rows that can be predicted: read, checked, joined with their workload
 *  profiles. Calls: model, workload, handlers.
 *
 *      adept_dataset *d = adept_dataset_new();
 *      adept_dataset_read(d, "runs.csv", &err);            (once per file)
 *      adept_dataset_select_gpu(d, hw, "a100", &err);      (rows of other GPUs are left out)
 *      adept_dataset_profiles(d, &options, &err);          (imports models; cached on disk)
 *      adept_dataset_check(d, &err);                       (sets rows[i].suspect)
 *      adept_dataset_exclude_suspect(d);                   (if asked for)
 *      ... d->rows, d->n ...
 *      adept_dataset_free(d);
 */
#ifndef ADEPT_MEASUREMENTS_H
#define ADEPT_MEASUREMENTS_H
#include "adept_hwprofile.h"
#include "adept_model.h"
#include "adept_profile.h"

/** Longest line and largest file that is read. A line longer than that is not a measurement. */
#define ADEPT_CSV_MAX_LINE_BYTES ((size_t)1 << 20)
#define ADEPT_CSV_MAX_FILE_BYTES ((size_t)256 << 20)

/** Names of all columns of all files of a dataset, in order of first appearance. Columns nobody knows are kept. */
typedef struct adept_columns {
    size_t n;
    const char *const *names;
} adept_columns;

/** How a measured step ended: the column `status`. */
enum { ADEPT_ROW_OK, ADEPT_ROW_OOM };

/** What rows of layouts leave out, a bit each. X(NAME, what is taken instead) */
#define ADEPT_UNSAID_LIST(X)                                                                                           \
    X(PRECISION, "precision: bf16, or fp16 on boards without it")                                                      \
    X(HEADS, "heads: 128 wide, or as near as divides")                                                                 \
    X(GATED, "gated: as the family has it, or else not where ffn is 4 times hidden")                                   \
    X(EXPERT_FFN, "expert_ffn: ffn")                                                                                   \
    X(EP, "ep: 1")                                                                                                     \
    X(FFN, "ffn: 4 times hidden, 8/3 of it with a gate")                                                               \
    X(VOCAB, "vocab: the family's usual; of GPT-2 50257, of BERT 30522, padded to 128 for each tensor-parallel rank")  \
    X(PADDING, "vocab that tensor-parallel ranks cannot share: padded to 128 for each")                                \
    X(MICRO_BATCH, "micro_batch: 1")                                                                                   \
    X(GLOBAL_BATCH, "global_batch: as many micro-batches as pipeline stages, or one")                                  \
    X(GPUS, "gpus: one node of 8, or as many as the layout needs")                                                     \
    X(RECOMPUTATION, "activation_checkpoint: none, or where that does not fit by far selective or full")               \
    X(SHARDING, "fsdp: none, or where that does not fit by far zero 1 or full")                                        \
    X(OPTIMIZER, "zero 1 where fsdp is none: usual in the stack, or all else does not fit by far")                     \
    X(NETWORK, "network: that of the board's usual server")                                                            \
    X(OVERLAP, "what is sent beside computing: as the trainer of the stack usually does")                              \
    X(SP, "sp: beside tensor parallel, as Megatron Core and NeMo have it")                                             \
    X(WEIGHTS, "weights of 16 bits, with a copy in 32: as the stack's trainer, or FSDP, has them")                     \
    X(TIME, "step_time_s: of grade memory_only, and not judged")                                                       \
    X(PARTITION, "partition: stages as even as layers allow")                                                          \
    X(FUSED, "execution: compile, as a stack with fused kernels is nearest to")
enum {
#define X(NAME, ...) ADEPT_UNSAID_BIT_##NAME,
    ADEPT_UNSAID_LIST(X)
#undef X
        ADEPT_N_UNSAID
};
enum {
#define X(NAME, ...) ADEPT_UNSAID_##NAME = 1 << ADEPT_UNSAID_BIT_##NAME,
    ADEPT_UNSAID_LIST(X)
#undef X
};
/** "micro_batch: 1"; NULL past the end. */
const char *adept_unsaid_text(size_t bit);

/** A row that cannot be used. */
typedef struct adept_unused_row {
    const char *file;
    long line;
    const char *why; /* "column tp: ..." */
} adept_unused_row;

/** One row of a CSV. Texts are never NULL; an empty cell of a known column reads as its default. */
typedef struct adept_dataset_row {
    const char *file;             /* path as given */
    long line;                    /* where the row begins, from 1 */
    const adept_columns *columns; /* of the dataset; more may come while files are read */
    size_t n_cells;               /* at most columns->n */
    const char *const *cells;     /* as written, "" if the file has no such column; see adept_dataset_row_text() */

    const char **texts; /* private: see adept_dataset_row_text() */

    const char *model;      /* as written: a path or a name */
    const char *model_name; /* its last component without extension: "../models/vgg16.pt" -> "vgg16" */
    const char *input;      /* "" or SPECs separated by ';' or blanks */
    const char *gpu;        /* as written, "" if not given */
    const char *source;
    const char *assume;       /* as written: words separated by ';' or blanks, "" if not given */
    const char **assumptions; /* the words */
    size_t n_assumptions;
    union { /* of which optimizer is "none" unless mode is train, and batch_size filled from the profile */
        adept_workload_words words;
        struct {
            ADEPT_WORKLOAD_FIELDS(ADEPT_FIELD_MEMBER)
        };
    };
    int compile;       /* 1: another way to say that execution is compile */
    const char *torch; /* its version, as 1.13.0 or 2.4.0+cu124, which says the framework; "" if not given */

    double step_time_s;       /* NAN: not measured */
    double power_avg_w;       /* all GPUs together; NAN: not measured */
    double clock_avg_hz;      /* mean core clock as it ran, which nobody set; NAN: not measured */
    double peak_memory_bytes; /* of the fullest GPU; NAN: not measured */
    double gpu_utilization;   /* of the time in which a kernel ran, above 0 to 1, mean of the GPUs; NAN: not measured */
    int status;               /* ADEPT_ROW_OK, or ADEPT_ROW_OOM: memory ran out */
    const char *stack;        /* the software, as written; "" if not given */
    unsigned unsaid;          /* ADEPT_UNSAID_...: what the row does not say, and is taken as usual */
    bool layouts;             /* of a file of layouts */
    double weight;            /* column `weight`, at least 0; 1 by default */

    adept_run run; /* as the columns say: gpus is at least 1; granularity and saturation are nobody's */

    /* What predicts it; borrowed. profile: set by adept_dataset_profiles(), hw when the GPU is chosen.
     * Rows of the same configuration share one profile. */
    const adept_profile *profile;
    const char *model_path; /* the file that `model` means; set with the profile */
    const adept_hwprofile *hw;

    const char *suspect; /* why the row looks wrong, NULL if it does not */
    const char *absurd;  /* column of a number that nothing can be fitted to; then it is suspect, too */
    /* what its numbers look like that physics excludes, "milliseconds"; then it is suspect, too */
    const char *mistaken;
} adept_dataset_row;

/** A file the rows came from, for the provenance of a fit. */
typedef struct adept_source_file {
    const char *path; /* as given */
    const char *name; /* its last component */
    char sha256[65];
    size_t n_rows;  /* that it holds, used or not */
    bool layouts;   /* its header has columns of an architecture or a layout */
    bool in_sample; /* see adept_dataset_find_in_sample() */
} adept_source_file;

/** How far rows of one configuration lie apart, but for those that are named: no prediction is nearer to all of them.
 */
typedef struct adept_repeats {
    size_t n_configurations, n_rows; /* measured more than once, in time or in power */
    double time_sd, power_sd;        /* of one row, within configurations, as a share; NAN: nothing was repeated */
} adept_repeats;

typedef struct adept_dataset {
    adept_arena *arena; /* owns everything below but the profiles' own arenas */
    size_t n;
    adept_dataset_row *rows; /* in the order of files and lines */
    size_t n_files;
    adept_source_file *files;
    adept_columns columns;
    size_t n_excluded;  /* rows that adept_dataset_exclude_suspect() dropped: behind the others, rows[n ..] */
    size_t n_other_gpu; /* rows that adept_dataset_select_gpu() dropped */
    size_t n_warnings;
    const char **warnings; /* one line each */
    adept_repeats repeats; /* set by adept_dataset_check() */
    /* Rows of layouts stand by themselves if `listing` is set before files are read: one that cannot be used is listed
     * here, and dropped. Of other files, and without it, it is the error of the whole. */
    bool listing;
    size_t n_unused;
    adept_unused_row *unused; /* in the order of files and lines, after adept_dataset_sort_unused() */
    struct adept_dataset_private *private_;
} adept_dataset;

adept_dataset *adept_dataset_new(void);    /* NULL when memory is out */
void adept_dataset_free(adept_dataset *d); /* NULL allowed; frees the profiles too */

/**
 * Append the rows of a measurement CSV (CONTRACT; RFC 4180, UTF-8, LF or CRLF).
 * @return ADEPT_E_INVALID naming file, line and column; the dataset is then only good for adept_dataset_free().
 */
adept_status adept_dataset_read(adept_dataset *d, const char *path, adept_error *err);
/** The same from memory: `path` is for messages and for model paths relative to it. For tests and the fuzzer. */
adept_status adept_dataset_parse(adept_dataset *d, const char *path, const char *text, size_t size, adept_error *err);

/**
 * Keep the rows measured on this GPU and those that name none: its name, an alias, or the text given for it. The others
 * are dropped with a warning that counts them by name.
 * @param hw     borrowed until the dataset is freed
 * @param given  what the user wrote for --gpu, NULL if nothing
 * @return ADEPT_E_INVALID if no row is left; the message lists the GPUs there are
 */
adept_status adept_dataset_select_gpu(adept_dataset *d, const adept_hwprofile *hw, const char *given, adept_error *err);

/** Give every row the GPU that its column `gpu` names, with its own fit; the dataset owns these GPUs.
 *  @return ADEPT_E_USAGE if a row names none, ADEPT_E_UNKNOWN_GPU, both with file and line */
adept_status adept_dataset_select_own(adept_dataset *d, adept_error *err);

/** Sort unused[]. @return ADEPT_E_INVALID if no row is left: the message has the first reason */
adept_status adept_dataset_sort_unused(adept_dataset *d, adept_error *err);

/** Set files[].in_sample of those that the GPU's fit was made of, by their hashes: what it predicts of them flatters.
 *  @return ADEPT_E_NOMEM */
adept_status adept_dataset_find_in_sample(adept_dataset *d, const adept_hwprofile *hw, adept_error *err);

typedef struct adept_dataset_options {
    const char *models; /* --models DIR; NULL: the bundled models */
    bool no_cache;      /* neither read nor write the cache of graphs */
    const char *cache;  /* its folder; NULL: $XDG_CACHE_HOME/adept, else $HOME/.cache/adept; not created: no cache */
    bool trust;         /* see adept_import_options */
    uint64_t memory_bytes;
    /** May be NULL. Called between imports: models done, of all that must be imported. */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
} adept_dataset_options;

/**
 * Set rows[].profile: one profile per distinct (model, input, batch, mode, precision, optimizer, accum, attention).
 * Each model file is imported once; its graph is kept on disk under the hash of file and program version. Of a saved
 * profile only the shapes count, where a row gives none. Call it before the process has threads: an import forks.
 * @return the first failure in row order, its message prefixed by file:line; ADEPT_E_INVALID if a model is not found
 */
adept_status adept_dataset_profiles(adept_dataset *d, const adept_dataset_options *options, adept_error *err);

/**
 * Predict every row once, so that what the model refuses is found here (a precision without a unit, a power limit
 * outside the board's range), then set rows[].suspect of rows whose numbers contradict each other, the board or
 * physics.
 * @return ADEPT_E_INVALID naming file and line, ADEPT_E_NOMEM
 */
adept_status adept_dataset_check(adept_dataset *d, adept_error *err);
/** On ADEPT_E_UNSUPPORTED of adept_dataset_profiles(): the operators of that model without a handler. Borrowed. */
const adept_unsupported *adept_dataset_unsupported(const adept_dataset *d, size_t *n);

/** Move suspect rows behind the others; n and n_excluded change. @return false, and nothing changed: memory is out */
bool adept_dataset_exclude_suspect(adept_dataset *d);
/** Powers of whole nodes of whose hosts nothing is known become NAN, with a warning that has their lines. A fit of one
 * GPU finds the host; several GPUs have several. @return false: memory is out */
bool adept_dataset_drop_unknown_nodes(adept_dataset *d);
/** That, before rows are predicted; rows that do not say which implementation of the optimizer ran are warned of. */
bool adept_dataset_settle_unknown(adept_dataset *d);
/** Is the row's GPU predicted by a fit of its own? That took rows that do not say their optimizer's implementation for
 * foreach, so its parameters are right with foreach alone. */
bool adept_row_fit_counts_foreach(const adept_dataset_row *m);
/** Samples of a row's step on all GPUs together, and how long its matrix products, shared evenly, take at the peak of
 * the sheet. Of a row with its profile and GPU. @return as adept_mesh_of() and adept_roofline_step() */
adept_status adept_row_work(double *samples, double *ideal_s, const adept_dataset_row *m, adept_error *err);
/** Refuse the first row that is absurd. @return ADEPT_E_INVALID naming file, line and column */
adept_status adept_dataset_refuse_absurd(const adept_dataset *d, adept_error *err);
/** Refuse a fit to rows that are mistaken one and all. @return ADEPT_E_FIT naming file, line, and what they look like
 */
adept_status adept_dataset_refuse_mistaken(const adept_dataset *d, adept_error *err);

/**
 * Text of a row under a column's name, as --by and --leave-out group by it: defaults filled in ("fp32", "1", the model
 * file's batch size, "default" for the power limit), numbers in one form, `model` as model_name. "file" is the CSV's
 * name.
 * @return NULL if no file of the dataset has such a column and it is not one of the known ones; else borrowed
 */
const char *adept_dataset_row_text(const adept_dataset_row *m, const char *column);
/** Which software a row is of: the column `stack`, else `source`. */
static inline const char *adept_dataset_row_stack(const adept_dataset_row *m)
{
    return *m->stack ? m->stack : m->source;
}
/** Record "file:line: column NAME: ..." @return ADEPT_E_INVALID */
adept_status adept_row_fail(const adept_dataset_row *m, const char *column, adept_error *err, const char *format, ...)
    ADEPT_PRINTF(4, 5);

/** Record "file:line: WHY". @return status */
adept_status adept_row_error(const adept_dataset_row *m, adept_status status, const char *why, adept_error *err);

/** Set what adept_dataset_row_text() gives under a known column. `text` is borrowed. */
void adept_row_set_text(adept_dataset_row *m, const char *column, const char *text);

/** Rows in groups, which stand in the order of their first rows. */
typedef struct adept_row_groups {
    size_t n;
    size_t *of_row; /* group of each row */
    size_t *rows;   /* group g has rows[begin[g]] to rows[begin[g + 1] - 1], in their own order */
    size_t *begin;
} adept_row_groups;

/**
 * Put rows together that have the same text in each of the columns; without columns, those of one configuration: the
 * same profile, GPU and run.
 * @param out  in the arena
 * @return ADEPT_E_USAGE naming a column that a row does not have
 */
adept_status adept_rows_group(adept_row_groups *out, adept_arena *arena, const adept_dataset_row *const *rows, size_t n,
                              const char *const *columns, size_t n_columns, adept_error *err);

/**
 * A profile of a row's model under another configuration, for suggestions of what to measure.
 * @param like     gives model, input and everything that `config` below does not
 * @param out      owned by the dataset
 * @return ADEPT_E_USAGE where the model cannot run so; ADEPT_E_USAGE before adept_dataset_profiles()
 * Not thread-safe.
 */
typedef struct adept_dataset_row_change {
    int64_t batch_size;    /* 0: unchanged */
    const char *precision; /* "fp32" ...; NULL: unchanged */
} adept_dataset_row_change;
adept_status adept_dataset_profile_like(adept_dataset *d, const adept_dataset_row *like,
                                        const adept_dataset_row_change *change, const adept_profile **out,
                                        adept_error *err);

#endif

/** @file adept_kernel_rows.h  Measured times of single kernels, read from CSV. Calls: model. */
#ifndef ADEPT_KERNEL_ROWS_H
#define ADEPT_KERNEL_ROWS_H
#include "adept_hwprofile.h"
#include "adept_kernel_law.h"

/** One measured kernel. */
typedef struct adept_kernel_row {
    char op[16];            /* "bmm", "linear", "conv", "ln", "softmax", "add", ... */
    adept_kernel_case work;
    adept_kernel_gpu on;    /* the GPU it was read for */
    bool tensor;            /* whether products of its type run on matrix units */
    double time_s;          /* of one call, as a program sees it: with launch and event overhead */
    double least_s;         /* shorter times are those of launches and events: not to be fitted */
    double earlier;         /* rows of the same operator before it in its file */
    size_t gpu;             /* which one of several; 0 if there is but one */
} adept_kernel_row;

/** GPUs that one fit can be made of. */
#define ADEPT_KERNEL_MAX_GPUS 24

/** Operators that one file can have. */
#define ADEPT_KERNEL_MAX_OPS 32

/** A file of measured kernels, for the record. */
typedef struct adept_kernel_file {
    char name[256]; /* without folders */
    char sha256[65];
    size_t n_rows;
} adept_kernel_file;

typedef struct adept_kernel_rows {
    size_t n;
    adept_kernel_row *rows;
    size_t n_files;
    adept_kernel_file *files;
} adept_kernel_rows;

/** The GPUs that a file's rows are of: one for all, or those that its column `gpu` names. */
typedef struct adept_kernel_gpus {
    const adept_hwprofile *one; /* all rows are of it, whatever they say; NULL: each says */
    /** @param index  becomes adept_kernel_row.gpu
     *  @return the message gets file and line */
    adept_status (*find)(void *context, const char *name, const adept_hwprofile **hw, size_t *index, adept_error *err);
    void *context;
    const char *unnamed; /* of rows that name none: "v100-pcie-32gb"; NULL: that is an error */
} adept_kernel_gpus;

/**
 * Read a CSV with the columns `op, latency_ms` and those the operators need: bmm and linear `B M N K` ((B,M,N) by
 * (B,N,K), linear with bias), conv `B C_in C_out KS HW stride pad`, attention `batch seq heads kv_heads head_dim` (and
 * `causal` and `repacked`, 0 or 1), all others `B H` (rows and row length). A file with `heads` and no `op` is of
 * attention. An empty `dtype` (or `precision`) is float32; float16, bfloat16 and tf32 run on the matrix units where the
 * sheet has some, else on the ALUs' packed rate. Peaks are those of a step's kernels (docs/MODEL.md, section 3).
 * `timing` says how times were taken: events (the default), graph or profiler.
 * @param rows  empty or the rows of earlier files: those read are appended; free with adept_kernel_rows_free()
 * @return ADEPT_E_INVALID naming file, line and column; ADEPT_E_USAGE if the GPU has no unit for a dtype
 */
adept_status adept_kernel_rows_read(adept_kernel_rows *rows, const char *path, const adept_kernel_gpus *gpus,
                                    adept_error *err);
void adept_kernel_rows_free(adept_kernel_rows *rows);

#endif

/** @file adept_batches.h  A workload's profile at every batch size and sequence length of a range, without the model file.
 *
 *  Within a range in which a model runs the same operators, every number of its profile is a polynomial of at most second degree in the
 *  batch, and so it is in the sequence length. A few walks over the graph give the coefficients, exactly: numbers are integers, and so
 *  are their differences. More walks, up to the ends of the range, check them; where one disagrees, or an operator appears or merges
 *  with another, a new piece of the range begins. docs/PLANS.md says more. Calls: adept_profile. */
#ifndef ADEPT_BATCHES_H
#define ADEPT_BATCHES_H
#include "adept_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Immutable once made: any number of threads may use it at the same time. */
typedef struct adept_batches adept_batches;

/** Profile of the workload at one batch size and sequence length, 0 where the range has none; `context` is the caller's. */
typedef adept_status (*adept_batch_walk)(adept_profile **out, int64_t batch, int64_t seq_length, void *context,
                                         adept_error *err);

/** Which numbers: 1 <= low <= base <= high. */
typedef struct adept_size_range {
    int64_t low, high;
    int64_t base;          /* the profile's own; what programs see that know of no others */
    const int64_t *points; /* n_points in the range that are walked besides those chosen here; may be NULL */
    size_t n_points;
} adept_size_range;

/** Which batch sizes and sequence lengths. */
typedef struct adept_batch_range {
    int64_t low, high, base; /* as in adept_size_range */
    const int64_t *points;
    size_t n_points;
    adept_size_range lengths; /* all 0: lengths are no choice, and walks are asked for a length of 0 */
} adept_batch_range;

/**
 * @param out set on ADEPT_OK; caller frees with adept_batches_free()
 * @return a walk's failure, naming the batch; ADEPT_E_UNSUPPORTED if the numbers follow no few polynomials; ADEPT_E_USAGE for an impossible
 *         range; ADEPT_E_NOMEM. Walks every batch of a range of up to 64, and some sixty otherwise; with a range of lengths some thousand
 *         times.
 */
ADEPT_API adept_status adept_batches_new(adept_batches **out, adept_batch_walk walk, void *context,
                                         const adept_batch_range *range, adept_error *err);
ADEPT_API void adept_batches_free(adept_batches *batches); /* NULL allowed */

/** Which sizes of a model are wanted; all 0 where only its own is. Bases are chosen: the configuration's, else what the file says if it
 *  is in the range, else the smallest. */
typedef struct adept_model_range {
    adept_size_range batches, lengths;
} adept_model_range;

/** adept_batches_new() over the graph of a model. `unsupported` as of adept_profile_build(). */
ADEPT_API adept_status adept_batches_of_model(adept_batches **out, const adept_graph *graph,
                                              const adept_handler_table *handlers, const adept_workload_config *config,
                                              const adept_model_range *range, adept_unsupported **unsupported,
                                              size_t *n_unsupported, adept_error *err);

/** The batch size that programs see which know nothing of others, and the smallest and largest there are profiles for. */
ADEPT_API int64_t adept_batches_base(const adept_batches *batches);
ADEPT_API int64_t adept_batches_low(const adept_batches *batches);
ADEPT_API int64_t adept_batches_high(const adept_batches *batches);
/** Batch sizes that were walked and agree, ascending; *n of them. None in a file written for one batch size. */
ADEPT_API const int64_t *adept_batches_checked(const adept_batches *batches, size_t *n);
/** The same of sequence lengths: the own one, 0 if the workload has no choice of lengths, the smallest and the largest. */
ADEPT_API int64_t adept_batches_length(const adept_batches *batches);
ADEPT_API int64_t adept_batches_length_low(const adept_batches *batches);
ADEPT_API int64_t adept_batches_length_high(const adept_batches *batches);
ADEPT_API const int64_t *adept_batches_lengths_checked(const adept_batches *batches, size_t *n);
/** Pairs of both that were walked. */
ADEPT_API size_t adept_batches_walks(const adept_batches *batches);

/**
 * The profile at one batch size: every number as if the model had been profiled at it.
 * @param out  set on ADEPT_OK; caller frees with adept_profile_free(), before the batches, whose names it uses
 * @return ADEPT_E_USAGE outside the range; ADEPT_E_INVALID if a file's coefficients give impossible numbers; ADEPT_E_NOMEM
 * Thread-safe. Takes microseconds.
 */
ADEPT_API adept_status adept_batches_at(adept_profile **out, const adept_batches *batches, int64_t batch, adept_error *err);
/** The same at another sequence length; 0 for the own one. */
ADEPT_API adept_status adept_batches_at_length(adept_profile **out, const adept_batches *batches, int64_t batch,
                                               int64_t seq_length, adept_error *err);

/** The JSON of a profile, "batches" or "lengths" included: a PROFILE of the base batch for older programs. malloc'ed; NULL when memory is out. */
ADEPT_API char *adept_batches_to_json(const adept_batches *batches);
/** Read any PROFILE; without them it has one batch size. Untrusted: every field is checked. `name` is for messages. */
ADEPT_API adept_status adept_batches_from_json(adept_batches **out, const char *name, const char *text, size_t size,
                                               adept_error *err);
ADEPT_API adept_status adept_batches_read(adept_batches **out, const char *path, adept_error *err);

/** The profile that a file has for a batch size: as adept_batches_at(), but all of it its own. A batch of 0, or one that a file
 *  written for a single batch size does not have, gives the file's own. */
ADEPT_API adept_status adept_profile_read_at(adept_profile **out, const char *path, int64_t batch, adept_error *err);
/** The same for a sequence length. */
ADEPT_API adept_status adept_profile_read_at_length(adept_profile **out, const char *path, int64_t batch, int64_t seq_length,
                                                    adept_error *err);

#ifdef __cplusplus
}
#endif
#endif

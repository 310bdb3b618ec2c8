/* Batch sizes and sequence lengths of a model file: which is the own one, and the walks over its graph. */
#include "adept_batches.h"
#include <inttypes.h>

typedef struct model {
    const adept_graph *graph;
    const adept_handler_table *handlers;
    adept_workload_config config;
} model;

static adept_status walk_at(adept_profile **out, int64_t batch, int64_t seq_length, void *context, adept_error *err)
{
    model *m = context;
    m->config.batch_size = batch;
    if (seq_length > 0) m->config.seq_length = seq_length;
    return adept_profile_build(out, m->graph, m->handlers, &m->config, NULL, NULL, err);
}

/* The own size is the one given, else the file's if it is in the range, else the smallest. */
static adept_status choose_base(adept_size_range *range, const char *what, int64_t given, int64_t own, adept_error *err)
{
    range->base = given > 0 ? given : own;
    if (range->base >= range->low && range->base <= range->high) return ADEPT_OK;
    range->base = range->low;
    if (given == 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE,
                           "a %s of %" PRId64 " is none of those to be made ready, %" PRId64 " to %" PRId64, what,
                           given, range->low, range->high);
}

static adept_status choose_length(model *m, adept_size_range *lengths, adept_error *err)
{
    int64_t own = 0;
    adept_status status = adept_seq_length_of(&own, m->graph, &m->config, err);
    if (status == ADEPT_OK) status = choose_base(lengths, "sequence length", m->config.seq_length, own, err);
    m->config.seq_length = lengths->base;
    m->config.length_is_open = lengths->high > lengths->low; /* both of two neighbours are walked */
    return status;
}

adept_status adept_batches_of_model(adept_batches **out, const adept_graph *graph, const adept_handler_table *handlers,
                                    const adept_workload_config *config, const adept_model_range *range,
                                    adept_unsupported **unsupported, size_t *n_unsupported, adept_error *err)
{
    adept_profile *profile = NULL;
    model m = {graph, handlers, *config};
    adept_size_range batches = range->batches, lengths = range->lengths;
    if (unsupported) {
        *unsupported = NULL;
        *n_unsupported = 0;
    }
    adept_status status = lengths.high > 0 ? choose_length(&m, &lengths, err) : ADEPT_OK;
    if (status == ADEPT_OK)
        status = adept_profile_build(&profile, graph, handlers, &m.config, unsupported, n_unsupported, err);
    if (status != ADEPT_OK) return status;
    if (batches.high == 0) batches.low = batches.high = profile->batch_size;
    status = choose_base(&batches, "batch", config->batch_size, profile->batch_size, err);
    adept_profile_free(profile);
    const adept_batch_range all = {batches.low, batches.high, batches.base, batches.points, batches.n_points, lengths};
    return status == ADEPT_OK ? adept_batches_new(out, walk_at, &m, &all, err) : status;
}

/** @file sweep_source.c  A file is read once, and its graph walked once per workload. */
#include "sweep_source.h"
#include "adept_handlers.h"
#include "load.h"

static const adept_sweep_workload unvaried = {.precision = -1, .mode = -1, .attention = -1};

adept_status adept_sweep_source_open(adept_cli *cli, adept_sweep_source *out, const char *path,
                                     const adept_workload_options *options)
{
    *out = (adept_sweep_source){.of = unvaried};
    adept_status status = adept_load_graph(cli, &out->graph, &out->config, path, options);
    return status == ADEPT_OK ? adept_load_walk(cli, &out->base, out->graph, &out->config) : status;
}

void adept_sweep_source_close(adept_sweep_source *s)
{
    adept_profile_free(s->made);
    adept_profile_free(s->base);
    adept_graph_free(s->graph);
}

static bool same_operators(const adept_sweep_workload *a, const adept_sweep_workload *b)
{
    return a->batch_size == b->batch_size && a->seq_length == b->seq_length && a->precision == b->precision &&
           a->mode == b->mode && a->attention == b->attention;
}

static adept_status walk(const adept_sweep_source *s, adept_profile **out, const adept_sweep_workload *w,
                         adept_error *err)
{
    adept_workload_config config = s->config;
    if (w->batch_size > 0) config.batch_size = w->batch_size;
    if (w->seq_length > 0) config.seq_length = w->seq_length;
    if (w->precision >= 0) config.precision = (adept_precision)w->precision;
    if (w->mode >= 0) config.mode = (adept_mode)w->mode;
    if (w->attention >= 0) config.attention = (adept_attention)w->attention;
    return adept_profile_build(out, s->graph, adept_handlers(), &config, NULL, NULL, err);
}

static adept_status make(adept_sweep_source *s, const adept_sweep_workload *w, adept_error *err)
{
    adept_profile *made = NULL;
    adept_status status = same_operators(w, &unvaried) ? ADEPT_OK : walk(s, &made, w, err);
    if (status != ADEPT_OK) return status;
    adept_profile_free(s->made);
    s->made = made;
    s->of = *w;
    return ADEPT_OK;
}

adept_status adept_sweep_source_profile(const adept_profile **out, const adept_sweep_workload *w, void *context,
                                        adept_error *err)
{
    adept_sweep_source *s = context;
    adept_status status = same_operators(w, &s->of) ? ADEPT_OK : make(s, w, err);
    if (status != ADEPT_OK) return status;
    s->changed = s->made ? *s->made : *s->base;
    if (w->grad_accum > 0) s->changed.grad_accum = w->grad_accum;
    if (w->optimizer && s->changed.mode == ADEPT_MODE_TRAIN) s->changed.optimizer = w->optimizer;
    *out = &s->changed;
    return ADEPT_OK;
}

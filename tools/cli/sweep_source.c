/** @file sweep_source.c  A model is imported once and walked once per workload; a saved profile knows its batch sizes and lengths.
 */
#include "sweep_source.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "load.h"
#include <stdlib.h>
#include <string.h>

static const adept_sweep_workload unvaried = {.precision = -1, .mode = -1, .attention = -1};

/* ---- a saved profile ---- */

static adept_status check_axis(adept_cli *cli, const char *path, const adept_sweep_axis *axis)
{
    if (axis->kind != ADEPT_VARY_PRECISION && axis->kind != ADEPT_VARY_MODE && axis->kind != ADEPT_VARY_ATTENTION)
        return ADEPT_OK;
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "--vary %s needs the model: %s is a profile of one %s", axis->key,
                           path, axis->key);
}

static adept_status open_saved(adept_cli *cli, adept_sweep_source *s, const char *path, const adept_sweep_axis *axes,
                               size_t n_axes)
{
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n_axes && status == ADEPT_OK; i++)
        status = check_axis(cli, path, &axes[i]);
    if (status == ADEPT_OK) status = adept_load_profile(cli, &s->base, path, s->options);
    return status == ADEPT_OK ? adept_batches_read(&s->batches, path, &cli->err) : status;
}

/* ---- a model ---- */

static adept_status build(adept_sweep_source *s, adept_profile **out, const adept_sweep_workload *w,
                          adept_unsupported **unsupported, size_t *n_unsupported, adept_error *err)
{
    adept_workload_config config = s->options->config;
    if (w->batch_size > 0) config.batch_size = w->batch_size;
    if (w->seq_length > 0) config.seq_length = w->seq_length;
    if (w->precision >= 0) config.precision = (adept_precision)w->precision;
    if (w->mode >= 0) config.mode = (adept_mode)w->mode;
    if (w->attention >= 0) config.attention = (adept_attention)w->attention;
    return adept_profile_build(out, s->graph, adept_handlers(), &config, unsupported, n_unsupported, err);
}

static adept_status open_model(adept_cli *cli, adept_sweep_source *s, const char *path)
{
    const adept_import_options import = {.trust = s->options->trust};
    adept_unsupported *unsupported = NULL;
    size_t n_unsupported = 0;
    adept_status status = adept_import_model(&s->graph, path, &import, &cli->err);
    if (status == ADEPT_OK) status = build(s, &s->base, &unvaried, &unsupported, &n_unsupported, &cli->err);
    if (status == ADEPT_E_UNSUPPORTED) cli->details = adept_list_unsupported(unsupported, n_unsupported);
    free(unsupported);
    return status;
}

/* ---- both ---- */

adept_status adept_sweep_source_open(adept_cli *cli, adept_sweep_source *out, const char *path,
                                     const adept_workload_options *options, const adept_sweep_axis *axes, size_t n_axes)
{
    adept_file_format format;
    *out = (adept_sweep_source){.options = options, .of = unvaried};
    adept_status status = adept_file_detect(&format, path, &cli->err);
    if (status != ADEPT_OK) return status;
    return format == ADEPT_FORMAT_PROFILE ? open_saved(cli, out, path, axes, n_axes) : open_model(cli, out, path);
}

void adept_sweep_source_close(adept_sweep_source *s)
{
    adept_profile_free(s->made);
    adept_profile_free(s->base);
    adept_batches_free(s->batches);
    adept_graph_free(s->graph);
}

static bool same_operators(const adept_sweep_workload *a, const adept_sweep_workload *b)
{
    return a->batch_size == b->batch_size && a->seq_length == b->seq_length && a->precision == b->precision && a->mode == b->mode &&
           a->attention == b->attention;
}

static adept_status make(adept_sweep_source *s, const adept_sweep_workload *w, adept_error *err)
{
    adept_profile *made = NULL;
    adept_status status = ADEPT_OK;
    if (!same_operators(w, &unvaried))
        status = s->graph ? build(s, &made, w, NULL, NULL, err)
                          : adept_batches_at_length(&made, s->batches, w->batch_size > 0 ? w->batch_size : s->base->batch_size,
                                                    w->seq_length > 0 ? w->seq_length : s->base->seq_length, err);
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
    if (s->batches) { /* what options of the command say beside the file's own */
        s->changed.grad_accum = s->base->grad_accum;
        s->changed.optimizer = s->base->optimizer;
    }
    if (w->grad_accum > 0) s->changed.grad_accum = w->grad_accum;
    if (w->optimizer && s->changed.mode == ADEPT_MODE_TRAIN) s->changed.optimizer = w->optimizer;
    *out = &s->changed;
    return ADEPT_OK;
}

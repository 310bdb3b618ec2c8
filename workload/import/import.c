/** @file import.c  A model file into a graph. Calls: the readers. */
#include "import_private.h"

static adept_status import_torchscript(adept_graph **out, const adept_source *source,
                                       const adept_import_options *options, adept_error *err)
{
    adept_graph *graph = NULL;
    adept_torch_pack pack = {.n_entries = 0};
    adept_status status = adept_torchscript_check(&pack, source, options->trust, err);
    if (status == ADEPT_OK) status = adept_torchscript_load(&graph, source, &pack, options, err);
    adept_torch_pack_free(&pack);
    if (status != ADEPT_OK) return status;
    status = adept_torchscript_hints(graph, source, err);
    if (status == ADEPT_OK) return adept_source_name(out, graph, source, err);
    adept_graph_free(graph);
    return status;
}

static adept_status import_source(adept_graph **out, const adept_source *source, const adept_import_options *options,
                                  adept_error *err)
{
    adept_file_format format;
    adept_status status = adept_source_format(&format, source, err);
    if (status != ADEPT_OK) return status;
    if (format == ADEPT_FORMAT_PROFILE) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: JSON (a profile?), where a model (.pt, .pt2) is expected",
                               source->name);
    }
    if (format == ADEPT_FORMAT_CONFIG) return adept_config_read(out, source, err);
    return format == ADEPT_FORMAT_EXPORT ? adept_export_read(out, source, err)
                                         : import_torchscript(out, source, options, err);
}

adept_status adept_import_model(adept_graph **out, const char *path, const adept_import_options *options,
                                adept_error *err)
{
    static const adept_import_options defaults = {0};
    adept_source source;
    if (!options) options = &defaults;
    if (adept_is_spec(path)) return adept_spec_read(out, path, options->memory_bytes, err);
    adept_status status = adept_source_open(&source, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    if (options->memory_bytes > 0) source.memory_bytes = options->memory_bytes;
    status = import_source(out, &source, options, err);
    adept_source_close(&source);
    return status;
}

/** @file import.c  A model file into a graph. Calls: the readers. */
#include "adept_import.h"

static adept_status import_torchscript(adept_graph **out, const char *path, const adept_import_options *options,
                                       adept_error *err)
{
    adept_status status = adept_torchscript_check(path, options->trust, err);
    if (status != ADEPT_OK) return status;
    adept_graph *graph = NULL;
    status = adept_torchscript_load(&graph, path, options, err);
    if (status != ADEPT_OK) return status;
    status = adept_torchscript_hints(graph, path, err);
    if (status == ADEPT_OK) return adept_import_name(out, graph, path, NULL, 0, err);
    adept_graph_free(graph);
    return status;
}

adept_status adept_import_model(adept_graph **out, const char *path, const adept_import_options *options,
                                adept_error *err)
{
    static const adept_import_options defaults = {0};
    adept_file_format format;
    adept_status status = adept_file_detect(&format, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    if (format == ADEPT_FORMAT_PROFILE) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: JSON (a profile?), where a model (.pt, .pt2) is expected",
                               path);
    }
    if (format == ADEPT_FORMAT_EXPORT) return adept_export_import(out, path, NULL, 0, err);
    return import_torchscript(out, path, options ? options : &defaults, err);
}

/** @file load.c  The only place where the program decides between a model and a saved profile. */
#include "load.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "table.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *adept_list_unsupported(const adept_unsupported *ops, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    for (size_t i = 0; i < n; i++)
        adept_print_format(out, "adept:   %s: %" PRId64 " time%s, first in %s: %s\n", ops[i].op, ops[i].count,
                           ops[i].count == 1 ? "" : "s", ops[i].path && *ops[i].path ? ops[i].path : "the model itself",
                           ops[i].reason ? ops[i].reason : "no handler");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

adept_status adept_load_graph(adept_cli *cli, adept_graph **graph, adept_workload_config *config, const char *path,
                              const adept_workload_options *options)
{
    const adept_import_options import = {.trust = options->trust};
    adept_file_format format;
    adept_status status = adept_file_detect(&format, path, &cli->err);

    if (status != ADEPT_OK) return status;
    *config = (adept_workload_config){.mode = ADEPT_MODE_TRAIN};
    status = format == ADEPT_FORMAT_PROFILE ? adept_saved_read(graph, config, path, &cli->err)
                                            : adept_import_model(graph, path, &import, &cli->err);
    if (status == ADEPT_OK) adept_workload_config_over(config, &options->config);
    return status;
}

adept_status adept_load_walk(adept_cli *cli, adept_profile **out, const adept_graph *graph,
                             const adept_workload_config *config)
{
    adept_unsupported *unsupported = NULL;
    size_t n_unsupported = 0;

    adept_status status =
        adept_profile_build(out, graph, adept_handlers(), config, &unsupported, &n_unsupported, &cli->err);
    if (status == ADEPT_E_UNSUPPORTED) cli->details = adept_list_unsupported(unsupported, n_unsupported);
    free(unsupported);
    return status;
}

adept_status adept_load_profile(adept_cli *cli, adept_profile **out, const char *path,
                                const adept_workload_options *options)
{
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_status status = adept_load_graph(cli, &graph, &config, path, options);

    if (status == ADEPT_OK) status = adept_load_walk(cli, out, graph, &config);
    adept_graph_free(graph);
    return status;
}

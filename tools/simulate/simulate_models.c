/** @file simulate_models.c  Models of a simulation, of whatever form. */
#include "adept_profile.h"
#include "load.h"
#include "simulate_models.h"
#include <stdlib.h>
#include <string.h>

/* libadept reads saved profiles and .pt2; what else `adept predict` reads becomes a saved profile first. */
adept_status adept_simulate_load_model(void *self, adept_workload **out, const char *model,
                                       const adept_model_options *options, adept_error *err)
{
    adept_cli *cli = self;
    adept_workload_options *plain = calloc(1, sizeof *plain);
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_profile *profile = NULL;
    char *text = NULL;

    if (!plain) return adept_no_memory(err, model);
    adept_status status = adept_load_graph(cli, &graph, &config, model, plain);
    if (status == ADEPT_OK) status = adept_load_walk(cli, &profile, graph, &config);
    if (status == ADEPT_OK) status = adept_saved_write(&text, profile, graph, &config, &cli->err);
    if (status == ADEPT_OK)
        status = adept_workload_read(out, model, text, strlen(text), options, err);
    else
        adept_error_set(err, status, "%s", cli->err.message);
    free(text);
    adept_profile_free(profile);
    adept_graph_free(graph);
    free(plain);
    return status;
}

#include "saved_models.h"
#include "adept_file.h"
#include "adept_handlers.h"
#include "adept_json.h"
#include "graph_text.h"
#include <stdio.h>
#include <stdlib.h>

static void check(adept_status status, const adept_error *err)
{
    if (status == ADEPT_OK) return;
    fprintf(stderr, "%s\n", err->message);
    abort();
}

adept_graph *saved_model_graph(const char *path)
{
    char *text = NULL;
    size_t size;
    adept_error err = {0};
    check(adept_file_read(&text, &size, path, (size_t)1 << 20, &err), &err);
    adept_graph *graph = graph_text(text);
    free(text);
    return graph;
}

char *saved_model_text(const adept_graph *graph, const adept_workload_config *config)
{
    char *text = NULL;
    adept_profile *profile = NULL;
    adept_error err = {0};
    check(adept_profile_build(&profile, graph, adept_handlers(), config, NULL, NULL, &err), &err);
    check(adept_saved_write(&text, profile, graph, config, &err), &err);
    adept_profile_free(profile);
    return text;
}

adept_profile *saved_profile(const char *path, int64_t batch_size, int64_t seq_length)
{
    adept_graph *graph = NULL;
    adept_profile *profile = NULL;
    adept_workload_config config;
    adept_error err = {0};
    check(adept_saved_read(&graph, &config, path, 0, &err), &err);
    if (batch_size > 0) config.batch_size = batch_size;
    if (seq_length > 0) config.seq_length = seq_length;
    check(adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err), &err);
    adept_graph_free(graph);
    return profile;
}

/* A graph of tests/support/graph_text.h as a saved profile. usage: make_profile FILE.graph > FILE.profile.json */
#include "saved_models.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    adept_graph *graph = saved_model_graph(argv[1]);
    char *text = saved_model_text(graph, &(adept_workload_config){.mode = ADEPT_MODE_TRAIN});
    bool ok = puts(text) >= 0 && fflush(stdout) == 0;
    free(text);
    adept_graph_free(graph);
    return ok ? 0 : 1;
}

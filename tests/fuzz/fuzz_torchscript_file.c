/* A whole .pt archive: the checks before libtorch may see it, and the input shapes read from it. */
#include "adept_import.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static adept_graph *graph_of_one_input(void)
{
    adept_graph_builder *b = adept_graph_builder_new();
    adept_graph *g = NULL;
    if (!b) return NULL;
    adept_graph_input in = {.name = "x", .value = adept_graph_builder_value(b)};
    REQUIRE(adept_graph_builder_input(b, &in) == 0);
    return adept_graph_builder_finish(b, 0, NULL, &g, NULL) == ADEPT_OK ? g : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    adept_error err = {0};
    adept_status strict = adept_torchscript_check(path, false, &err);
    REQUIRE(strict == ADEPT_OK || (err.status == strict && err.message[0]));
    adept_status trusting = adept_torchscript_check(path, true, NULL);
    REQUIRE(strict != ADEPT_OK || trusting == ADEPT_OK);
    adept_graph *g = graph_of_one_input();
    if (g && adept_torchscript_hints(g, path, &err) == ADEPT_OK) {
        for (int i = 0; g->inputs[0].has_shape && i < g->inputs[0].ndim; i++)
            REQUIRE(g->inputs[0].dims[i] >= 0);
        for (size_t i = 0; i < g->n_hint_specs; i++)
            REQUIRE(g->hint_specs[i]);
    }
    adept_graph_free(g);
    close(fd);
    return 0;
}

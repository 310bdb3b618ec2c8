/* A whole .pt archive: the checks before libtorch may see it, and the input shapes read from it. */
#include "fuzz_require.h"
#include "import_private.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One tensor, or the inputs of golden/models/bundled.pt. */
static adept_graph *graph_of(bool typed)
{
    static const struct {
        const char *name, *type;
    } inputs[] = {
        {"x", NULL}, {"trips", "int"}, {"lists", "List[Tensor]"}, {"named.q", NULL}, {"named", "Dict[str, Tensor]"}};
    adept_graph_builder *b = adept_graph_builder_new();
    adept_graph *g = NULL;
    if (!b) return NULL;
    for (size_t i = 0; i < (typed ? sizeof inputs / sizeof *inputs : 1); i++) {
        adept_graph_input in = {.name = inputs[i].name, .type = inputs[i].type, .value = adept_graph_builder_value(b)};
        REQUIRE(adept_graph_builder_input(b, &in) == (int32_t)i);
    }
    return adept_graph_builder_finish(b, 0, NULL, &g, NULL) == ADEPT_OK ? g : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_source source;
    adept_error err = {0};
    if (size == 0) return 0;
    REQUIRE(adept_source_open(&source, "fuzz", data, size, &err) == ADEPT_OK);
    adept_torch_pack pack = {.n_entries = 0};
    adept_status strict = adept_torchscript_check(&pack, &source, false, &err);
    REQUIRE(strict == ADEPT_OK || (err.status == strict && err.message[0]));
    REQUIRE(strict != ADEPT_OK || (pack.file.bytes && pack.file.n_bytes > pack.file.gap_at));
    adept_torch_pack_free(&pack);
    REQUIRE(strict != ADEPT_OK || adept_torchscript_check(NULL, &source, true, NULL) == ADEPT_OK);
    for (int typed = 0; typed < 2; typed++) {
        adept_graph *g = graph_of(typed);
        if (g && adept_torchscript_hints(g, &source, &err) == ADEPT_OK) {
            for (int i = 0; g->inputs[0].has_shape && i < g->inputs[0].ndim; i++)
                REQUIRE(g->inputs[0].dims[i] >= 0);
            for (size_t i = 0; i < g->n_hint_specs; i++)
                REQUIRE(g->hint_specs[i]);
        }
        adept_graph_free(g);
    }
    return 0;
}

/* The pickle machine that checks and reads data.pkl, constants.pkl and traced_inputs.pkl of a TorchScript archive. */
#include "pickle.h"
#include "fuzz_require.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches every value; the parser promises that no value is deeper than the limit. */
static size_t walk(const adept_pickle_value *v, int depth)
{
    REQUIRE(depth <= ADEPT_PICKLE_MAX_DEPTH);
    size_t n = 1;
    if (v->kind == ADEPT_PICKLE_TEXT || v->kind == ADEPT_PICKLE_GLOBAL) {
        for (uint32_t i = 0; i < v->n_bytes; i++)
            n += v->u.text[i] == 'x';
    } else if (v->kind >= ADEPT_PICKLE_TUPLE) {
        /* Shared containers may unfold exponentially: look at each item, follow the first only. */
        for (size_t i = 0; i < v->u.items->n; i++)
            n += i == 0 ? walk(&v->u.items->values[i], depth + 1) : v->u.items->values[i].kind;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_arena *arena = adept_arena_new();
    adept_pickle_value v;
    adept_error err = {0};
    if (!arena) return 0;
    adept_status status = adept_pickle_parse(&v, arena, "fuzz", data, size, &err);
    REQUIRE(status == ADEPT_OK || (err.status == status && err.message[0]));
    if (status == ADEPT_OK) REQUIRE(walk(&v, 0) > 0);
    adept_arena_free(arena);
    return 0;
}

/** @file fuzz_config.c  A config.json: whatever comes, a graph that can be walked or a message of one line. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_profile.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <string.h>

#define FEW_VALUES 20000 /* of a graph: larger ones take long to walk */

static void check_error(adept_status status, const adept_error *err)
{
    REQUIRE(err->status == status && status != ADEPT_E_INTERNAL);
    REQUIRE(err->message[0] != '\0' && strchr(err->message, '\n') == NULL);
}

static void walk(const adept_graph *g)
{
    const adept_workload_config config = {
        .mode = ADEPT_MODE_FWBW, .batch_size = 2, .seq_length = g->hint_seq_length ? 4 : 0};
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_status status = adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err);
    if (status == ADEPT_OK)
        REQUIRE(p->totals.macs_forward > 0);
    else
        check_error(status, &err);
    adept_profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_graph *g = NULL;
    adept_error err = {0};
    if (size == 0) return 0;
    adept_status status = adept_config_import(&g, "config.json", data, size, 0, &err);
    if (status != ADEPT_OK)
        check_error(status, &err);
    else if (g->n_values < FEW_VALUES)
        walk(g);
    adept_graph_free(g);
    return 0;
}

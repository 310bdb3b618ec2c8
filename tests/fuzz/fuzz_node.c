/** @file fuzz_node.c  A node's JSON: whatever comes, words that a run can have, or one line that says what is wrong. */
#include "adept_model.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const adept_run none;
    adept_run run = {0};
    adept_error err = {0};
    adept_status status = adept_node_parse(&run, "n.json", (const char *)data, size, &err);
    if (status != ADEPT_OK) {
        REQUIRE(status == ADEPT_E_INVALID || status == ADEPT_E_NOMEM);
        REQUIRE(err.status == status && strncmp(err.message, "n.json:", 7) == 0 && strchr(err.message, '\n') == NULL);
        REQUIRE(memcmp(&run, &none, sizeof run) == 0);
        return 0;
    }
    REQUIRE(run.host_idle_w >= 0 && isfinite(run.host_idle_w) && isfinite(run.host_active_w));
    REQUIRE(run.host_active_w == 0 || run.host_active_w >= run.host_idle_w);
    REQUIRE(run.node_gpus >= 0 && run.supply_efficiency <= 1 && run.fan_share >= 0);
    REQUIRE(run.power_scope == ADEPT_SCOPE_GPU && run.node == 0 && run.gpus == 0 && run.power_limit_w == 0);
    return 0;
}

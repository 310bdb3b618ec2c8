/** @file fuzz_walk.c  Graphs of strangers, walked: each walk ends, in a profile whose numbers are numbers or in a
 * message. Input: two bytes that choose what to run, and the bytes of a graph. */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_graph *graph = NULL;
    adept_profile *profile = NULL;
    adept_error err = {0};
    if (size < 2 || adept_graph_read(&graph, data + 2, size - 2, NULL) != ADEPT_OK) return 0;
    const adept_workload_config config = {
        .mode = (adept_mode)(data[0] % 3),
        .precision = (adept_precision)(data[0] / 3 % ADEPT_PRECISION_COUNT),
        .attention = (adept_attention)(data[0] / 18 % 3),
        .memory_format = data[0] / 54 % 2 ? ADEPT_CHANNELS_LAST : ADEPT_FORMAT_AUTO,
        .execution = (adept_execution)(data[0] / 108),
        .batch_size = data[1] % 16,
        .seq_length = data[1] / 16 * 9,
        .allow_unsupported = data[0] >= 54,
    };
    adept_status status = adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err);
    if (status == ADEPT_OK) {
        const adept_profile_totals *t = &profile->totals;
        for (int pass = 0; pass < 2; pass++)
            REQUIRE(isfinite(t->gemm_flops[pass] + t->conv_flops[pass] + t->alu_flops[pass] + t->bytes_read[pass] +
                             t->bytes_written[pass] + t->kernels[pass]));
        REQUIRE(isfinite(profile->activations_bytes) && profile->activations_bytes >= 0);
    } else {
        REQUIRE(!profile && err.status == status && err.message[0]);
        REQUIRE(status != ADEPT_E_INTERNAL); /* no graph is the program's fault */
    }
    adept_profile_free(profile);
    adept_graph_free(graph);
    return 0;
}

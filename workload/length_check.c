/* Was the sequence length fixed when the model was traced? A view whose size was 512 then, beside a -1, runs at 1024
 * too and quietly computes something else; a mask of 512 x 512 broadcasts to a length of 1. Neither survives a
 * neighbour of the length: a model that leaves the length open runs at one token more, or where that exceeds its
 * positions, at one token less. */
#include "interp.h"

static adept_status run_at(const adept_interp *in, int64_t length, adept_error *err)
{
    adept_workload_config config = *in->config;
    config.seq_length = length;
    adept_interp other = {.graph = in->graph, .handlers = in->handlers, .config = &config, .err = err};
    adept_status status = adept_interp_run(&other);
    double left;
    if (status == ADEPT_OK) status = adept_position_check(&left, &other, err);
    adept_interp_free(&other);
    return status;
}

adept_status adept_length_check(const adept_interp *in, adept_error *err)
{
    adept_error longer = {0}, shorter = {0};
    int64_t length = in->seq_length;
    adept_status status = length == 0 ? ADEPT_OK : run_at(in, length + 1, &longer);
    if (status != ADEPT_OK && status != ADEPT_E_NOMEM && length > 1) status = run_at(in, length - 1, &shorter);
    if (status == ADEPT_OK) return ADEPT_OK;
    if (status == ADEPT_E_NOMEM) return adept_error_set(err, status, "%.200s: out of memory", in->graph->path);
    return adept_error_set(
        err, ADEPT_E_USAGE,
        "%.200s: a sequence length of %lld runs, but no other near it, so the trace fixed it and --seq-length "
        "cannot choose it; give its number with --input. At one token %s: %s",
        in->graph->path, (long long)length, length > 1 ? "less" : "more",
        length > 1 ? shorter.message : longer.message);
}

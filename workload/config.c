/* Configurations of a workload: one over another, copies, and a text to compare them by. */
#include "adept_profile.h"
#include "adept_grow.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool adept_workload_config_gives(const adept_workload_config *given, size_t field)
{
    const adept_field *f = adept_workload_field(field);
    bool has_zero = !adept_field_is_number(f) && f->kind != ADEPT_FIELD_NAME;

    return (has_zero && given->given[field]) || !adept_field_is_zero(f, &given->words);
}

void adept_workload_config_over(adept_workload_config *config, const adept_workload_config *given)
{
    if (given->n_inputs > 0) {
        config->inputs = given->inputs;
        config->n_inputs = given->n_inputs;
        if (!adept_input_specs_have(given->inputs, given->n_inputs, ADEPT_DIM_BATCH)) config->batch_size = 0;
        if (!adept_input_specs_have(given->inputs, given->n_inputs, ADEPT_DIM_LENGTH)) config->seq_length = 0;
    }
    /* what nobody runs in 32 bits has 16 unless somebody says so */
    if (given->mode == ADEPT_MODE_GENERATE && config->mode != ADEPT_MODE_GENERATE && config->precision == ADEPT_FP32)
        config->precision = ADEPT_PURE_BF16;
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const adept_field *f = adept_workload_field(i);
        if (adept_workload_config_gives(given, i))
            memcpy((char *)&config->words + f->at, (const char *)&given->words + f->at, f->size);
    }
    if (given->allow_unsupported) config->allow_unsupported = true;
    if (given->n_assume > 0) config->assume = given->assume, config->n_assume = given->n_assume;
    if (given->memory_bytes > 0) config->memory_bytes = given->memory_bytes;
}

bool adept_workload_config_copy(adept_workload_config *out, const adept_workload_config *config, adept_arena *arena)
{
    adept_input_spec *inputs = adept_arena_array(arena, config->n_inputs, sizeof *inputs);
    const char **assume = adept_arena_array(arena, config->n_assume, sizeof *assume);
    if (!inputs || !assume) return false;
    if (config->n_inputs) memcpy(inputs, config->inputs, config->n_inputs * sizeof *inputs);
    for (size_t i = 0; i < config->n_assume; i++)
        if (!(assume[i] = adept_arena_strdup(arena, config->assume[i]))) return false;
    *out = *config; /* may be itself */
    out->inputs = inputs;
    out->assume = assume;
    if (config->optimizer) out->optimizer = adept_arena_strdup(arena, config->optimizer);
    return out->optimizer || !config->optimizer;
}

/* Saved profiles have a hash of it: what stands here stays. Words that came later say their names, where they say
 * something. */
char *adept_workload_config_text(const adept_workload_config *c)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);
    if (!out) return NULL;
    fprintf(out, "%s %s %s %s %" PRId64 " %" PRId64 " %" PRId64 " %d", adept_mode_name(c->mode),
            adept_precision_name(c->precision), adept_attention_name(c->attention), c->optimizer ? c->optimizer : "-",
            c->batch_size, c->seq_length, c->grad_accum, c->allow_unsupported);
    if (c->memory_format != ADEPT_FORMAT_AUTO) fprintf(out, " %s", adept_memory_format_name(c->memory_format));
    if (c->execution != ADEPT_EAGER) fprintf(out, " %s", adept_execution_name(c->execution));
    if (c->framework != ADEPT_TORCH2) fprintf(out, " %s", adept_framework_name(c->framework));
    if (c->optimizer_impl || c->optimizer_extras) fprintf(out, " %d %u", c->optimizer_impl, c->optimizer_extras);
    for (size_t i = ADEPT_FIELD_optimizer_extras + 1; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const adept_field *f = adept_workload_field(i);
        char word[ADEPT_FIELD_TEXT_BYTES];
        if (!adept_field_is_zero(f, &c->words)) fprintf(out, " %s=%s", f->name, adept_field_text(word, f, &c->words));
    }
    for (size_t i = 0; i < c->n_inputs; i++) {
        char spec[256];
        fprintf(out, " %s", adept_input_spec_print(&c->inputs[i], spec, sizeof spec));
    }
    for (size_t i = 0; i < c->n_assume; i++)
        fprintf(out, " %s", c->assume[i]);
    return adept_buffer_close(&text, out);
}

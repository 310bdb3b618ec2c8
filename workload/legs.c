/** @file legs.c  Workloads of several legs, each a walk of its own: a prompt and its answer, passes of a diffusion
 * model. Calls: profile_build. */
#include "legs.h"
#include <stdlib.h>
#include <string.h>

/* ---- one profile of several ---- */

/* Arrays of a program are those of all legs one behind the other, numbers in them as far behind as what was there
 * before. */
static void append_program(adept_program *to, const adept_program *from, size_t first_op)
{
    const int32_t op = (int32_t)first_op, first = (int32_t)to->n_operators, tensor = (int32_t)to->n_tensors,
                  memory = (int32_t)to->n_memories, shape = (int32_t)to->n_shapes, kind = (int32_t)to->n_kinds;
    for (size_t i = 0; i < from->n_shapes; i++)
        to->shapes[to->n_shapes++] = from->shapes[i];
    for (size_t i = 0; i < from->n_kinds; i++)
        to->kinds[to->n_kinds++] = from->kinds[i];
    for (size_t i = 0; i < from->n_memories; i++) {
        adept_program_memory *m = &to->memories[to->n_memories++];
        *m = from->memories[i];
        m->first += first, m->last += first;
        if (m->kept_by >= 0) m->kept_by += first;
    }
    for (size_t i = 0; i < from->n_tensors; i++) {
        adept_program_tensor *t = &to->tensors[to->n_tensors++];
        *t = from->tensors[i];
        t->shape += shape, t->first += first, t->last += first;
        if (t->memory >= 0) t->memory += memory;
    }
    for (size_t i = 0; i < from->n_operators; i++) {
        adept_program_operator *o = &to->operators[to->n_operators++];
        *o = from->operators[i];
        if (o->op >= 0) o->op += op;
        o->kind += kind, o->operands += to->n_operands;
    }
    for (size_t i = 0; i < from->n_operands; i++)
        to->operands[to->n_operands + i] = from->operands[i] + tensor;
    to->n_operands += from->n_operands;
    for (size_t i = 0; i < from->n_repeats; i++) {
        adept_program_repeat *r = &to->repeats[to->n_repeats++];
        *r = from->repeats[i];
        r->first += first;
    }
}

/* X(array): of a program. */
#define ADEPT_PROGRAM_ARRAYS(X) X(shapes) X(kinds) X(memories) X(tensors) X(operators) X(operands) X(repeats)

/* @return false when memory is out */
static bool join_programs(adept_profile *p)
{
    adept_program sum = {0}, made = {0};
    for (size_t i = 0; i < p->n_legs; i++) {
#define X(array) sum.n_##array += p->legs[i].profile->program.n_##array;
        ADEPT_PROGRAM_ARRAYS(X)
#undef X
    }
#define X(array) made.array = adept_arena_array(p->arena, sum.n_##array + 1, sizeof *made.array);
    ADEPT_PROGRAM_ARRAYS(X)
#undef X
    if (adept_arena_failed(p->arena) || sum.n_operands > INT32_MAX) return false;
    for (size_t i = 0; i < p->n_legs; i++) {
        p->legs[i].first_operator = made.n_operators;
        append_program(&made, &p->legs[i].profile->program, p->legs[i].first_op);
    }
    p->program = made;
    return true;
}

static bool join_ops(adept_profile *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_legs; i++)
        n += p->legs[i].profile->n_ops;
    adept_profile_op *ops = adept_arena_array(p->arena, n + 1, sizeof *ops);
    if (!ops) return false;
    p->n_ops = 0;
    for (size_t i = 0; i < p->n_legs; i++) {
        adept_profile_leg *leg = &p->legs[i];
        leg->first_op = p->n_ops;
        for (size_t k = 0; k < leg->profile->n_ops; k++) {
            ops[p->n_ops] = leg->profile->ops[k];
            ops[p->n_ops].count *= leg->times;
            ops[p->n_ops++].places = (adept_profile_places){0}; /* of one pass, not of all */
        }
    }
    p->ops = ops;
    return true;
}

/* Each once, in order. */
static bool join_warnings(adept_profile *p, const char *own)
{
    size_t n = 1;
    for (size_t i = 0; i < p->n_legs; i++)
        n += p->legs[i].profile->n_warnings;
    const char **all = adept_arena_array(p->arena, n, sizeof *all);
    if (!all) return false;
    p->n_warnings = 0;
    if (own) all[p->n_warnings++] = own;
    for (size_t i = 0; i < p->n_legs; i++) {
        const adept_profile *of = p->legs[i].profile;
        for (size_t k = 0; k < of->n_warnings; k++) {
            size_t at = 0;
            while (at < p->n_warnings && strcmp(all[at], of->warnings[k]) != 0)
                at++;
            if (at == p->n_warnings) all[p->n_warnings++] = of->warnings[k];
        }
    }
    p->warnings = all;
    return true;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Texts stay the legs'. @param legs  taken over whatever the result */
static adept_status join(adept_profile **out, const adept_profile_leg *legs, size_t n,
                         const adept_workload_config *config, const char *warning, adept_error *err)
{
    adept_arena *arena = adept_arena_new();
    adept_profile *p = arena ? adept_arena_alloc(arena, sizeof *p) : NULL;
    adept_profile_leg *own = p ? adept_arena_array(arena, n, sizeof *own) : NULL;
    bool ok = own != NULL;
    if (ok) {
        const adept_profile *last = legs[n - 1].profile;
        memcpy(own, legs, n * sizeof *own);
        *p = *legs[0].profile;
        p->arena = arena;
        p->legs = own;
        p->n_legs = n;
        p->mode = config->mode;
        p->prompt = config->prompt, p->tokens = config->tokens;
        p->denoise_steps = config->denoise_steps;
        p->seq_length = config->seq_length;
        p->n_kept = last->n_kept;
        p->positions_left = last->positions_left;
        memcpy(p->kept, last->kept, sizeof p->kept);
        for (size_t i = 1; i < n; i++) {
            const adept_profile *of = legs[i].profile;
            p->activations_bytes = larger(p->activations_bytes, of->activations_bytes);
            p->temporary_bytes = larger(p->temporary_bytes, of->temporary_bytes);
            p->autocast_copy_bytes = larger(p->autocast_copy_bytes, of->autocast_copy_bytes);
        }
        ok = join_ops(p) && join_programs(p) && join_warnings(p, warning);
    }
    if (ok) {
        adept_profile_summarise(p);
        *out = p;
        return ADEPT_OK;
    }
    for (size_t i = 0; i < n; i++)
        adept_profile_free(legs[i].profile);
    adept_arena_free(arena);
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

/* ---- a prompt and its answer ---- */

static bool has_cache(const adept_block *block)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const adept_node *node = &block->nodes[i];
        if (strcmp(node->op, "adept::kv_cache") == 0) return true;
        for (int32_t k = 0; k < node->n_blocks; k++)
            if (has_cache(node->blocks[k])) return true;
    }
    return false;
}

/* An input or a buffer that is a cache by its name, as transformers and its exporters call them; NULL: none. */
static const char *cache_of(const adept_graph *graph)
{
    static const char *const names[] = {"past_key", "past_value", "key_cache", "value_cache", "k_cache", "kv_cache"};
    for (size_t i = 0; i < graph->n_inputs + graph->n_params; i++) {
        const adept_param *param = i < graph->n_inputs ? NULL : &graph->params[i - graph->n_inputs];
        const char *name = !param ? graph->inputs[i].name : param->is_buffer ? param->name : "";
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strstr(name, names[k])) return name;
    }
    return NULL;
}

static adept_status check_generation(const adept_graph *graph, const adept_workload_config *c, adept_error *err)
{
    if (!has_cache(graph->body) && strcmp(graph->format, "config") == 0)
        return adept_error_set(err, ADEPT_E_UNSUPPORTED,
                               "%s: mode generate is of decoders alone, whose key-value cache grows by a token a pass: "
                               "this model is an encoder, or has one; mode infer predicts its pass",
                               graph->path);
    if (!has_cache(graph->body) && cache_of(graph))
        return adept_error_set(err, ADEPT_E_UNSUPPORTED,
                               "%s: its cache, %s, has the length that the file fixed, so that it shows one token: "
                               "mode infer predicts that; of a whole generation give the model's config.json or "
                               "adept:FAMILY",
                               graph->path, cache_of(graph));
    if (!has_cache(graph->body))
        return adept_error_set(
            err, ADEPT_E_UNSUPPORTED,
            "%s: mode generate needs a model with a key-value cache, which this file does not show: give the "
            "model's config.json, adept:FAMILY or the name of a bundled configuration",
            graph->path);
    if (adept_precision_is_scaled(c->precision) && adept_stored_bytes(c->weights) > 1)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: scaled products have weights of 8 bits or fewer in mode generate: --weights fp8, "
                               "int8 or int4",
                               graph->path);
    if (c->prompt < 1 || c->tokens < 1)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: mode generate needs the lengths of prompt and answer: --prompt 512 --tokens 256",
                               graph->path);
    if (c->cached_tokens >= c->prompt)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: %lld cached_tokens leave nothing of a prompt of %lld to read", graph->path,
                               (long long)c->cached_tokens, (long long)c->prompt);
    if (c->n_inputs > 0 || c->seq_length > 0)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "%s: mode generate takes no input and no seq_length: prompt says how many tokens are read", graph->path);
    if (c->grad_accum > 1)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: mode generate accumulates no gradients: grad_accum does not act", graph->path);
    if (c->prompt + c->tokens > INT32_MAX)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: %lld tokens of prompt and answer are more than 2^31",
                               graph->path, (long long)(c->prompt + c->tokens));
    return ADEPT_OK;
}

/* A pass reads the prompt, or a chunk of it: the last has what is left, the first attends to nothing before it, and
 * those between them are walked in groups, each as its middle one. @param length  tokens that each leg's pass reads */
static size_t list_prompt(adept_profile_leg *legs, int64_t *length, const adept_workload_config *c, int64_t groups)
{
    const int64_t rest = c->prompt - c->cached_tokens,
                  chunk = c->prefill_chunk > 0 && c->prefill_chunk < rest ? c->prefill_chunk : rest;
    const int64_t whole = (rest - 1) / chunk;
    size_t n = 0;
    for (int64_t done = 0; done <= whole;) {
        const int64_t left = whole - done, to_come = groups - (int64_t)n;
        adept_profile_leg *leg = &legs[n];
        leg->reads = true;
        leg->times = n == 0 || left == 0 ? 1 : (left + to_come - 1) / to_come;
        leg->past = c->cached_tokens + done * chunk + (leg->times - 1) * chunk / 2;
        length[n++] = left == 0 ? rest - whole * chunk : chunk;
        done += leg->times;
    }
    return n;
}

adept_status adept_generation_build(adept_profile **out, const adept_graph *graph, const adept_handler_table *handlers,
                                    const adept_workload_config *given, int64_t groups, adept_unsupported **unsupported,
                                    size_t *n_unsupported, adept_error *err)
{
    adept_status status = check_generation(graph, given, err);
    if (status != ADEPT_OK) return status;
    if (groups > given->tokens) groups = given->tokens;
    adept_workload_config c = *given;
    const size_t most = (size_t)groups + ADEPT_TOKEN_GROUPS + 1;
    adept_profile_leg *legs = calloc(most, sizeof *legs);
    int64_t *length = calloc(most, sizeof *length);
    size_t n = 0;
    if (!legs || !length) {
        free(legs), free(length);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    const size_t n_prompt = list_prompt(legs, length, given, ADEPT_TOKEN_GROUPS), n_legs = n_prompt + (size_t)groups;
    c.mode = ADEPT_MODE_INFER;
    if (c.batch_size < 1) c.batch_size = 1;
    /* Weights are stored as the model computes, unless they are said to have 32 bits. */
    if (c.precision == ADEPT_AMP_BF16 && c.weights != ADEPT_STORED_FP32) c.precision = ADEPT_PURE_BF16;
    if (c.precision == ADEPT_AMP_FP16 && c.weights != ADEPT_STORED_FP32) c.precision = ADEPT_PURE_FP16;
    if (adept_precision_is_scaled(c.precision)) {
        if (!adept_precision_is_pure(c.precision)) c.precision++; /* a recipe's pure form follows it */
        if (c.weights == ADEPT_STORED_AUTO)
            c.weights = adept_precision_scaled_bytes(c.precision) < 1 ? ADEPT_STORED_INT4 : ADEPT_STORED_FP8;
    }
    for (int64_t done = 0; status == ADEPT_OK && n < n_legs; n++) {
        const int64_t left = given->tokens - done,
                      to_come = (int64_t)(n_legs - n) - 1; /* groups, but for the last token's */
        adept_profile_leg *leg = &legs[n];
        if (n >= n_prompt) {
            leg->times = to_come == 0 ? 1 : (left - 1 + to_come - 1) / to_come;
            leg->past = given->prompt + done + (leg->times - 1) / 2;
            done += leg->times;
        }
        c.seq_length = n < n_prompt ? length[n] : 1;
        status =
            adept_profile_walk(&leg->profile, graph, handlers, &c, true, leg->past, unsupported, n_unsupported, err);
    }
    c = *given;
    if (status == ADEPT_OK)
        status = join(out, legs, n, &c, given->batch_size < 1 ? "batch 1 by default: --batch says another" : NULL, err);
    else
        for (size_t i = 0; i + 1 < n; i++)
            adept_profile_free(legs[i].profile);
    if (status == ADEPT_OK) (*out)->tokens_per_sample = given->tokens;
    free(legs), free(length);
    return status;
}

/* ---- the door ---- */

static adept_status check_words(const adept_workload_config *c, adept_error *err)
{
    static const size_t of_generate[] = {ADEPT_FIELD_prompt, ADEPT_FIELD_tokens, ADEPT_FIELD_weights,
                                         ADEPT_FIELD_kv_cache, ADEPT_FIELD_prefill_chunk,
                                         ADEPT_FIELD_cached_tokens};
    for (size_t i = 0; i < sizeof of_generate / sizeof *of_generate && c->mode != ADEPT_MODE_GENERATE; i++)
        if (!adept_field_is_zero(adept_workload_field(of_generate[i]), &c->words))
            return adept_error_set(err, ADEPT_E_USAGE, "%s acts in mode generate only",
                                   adept_workload_field(of_generate[i])->name);
    if (c->denoise_steps > 0 && c->mode != ADEPT_MODE_INFER)
        return adept_error_set(err, ADEPT_E_USAGE, "denoise_steps acts in mode infer only");
    return ADEPT_OK;
}

adept_status adept_profile_build(adept_profile **out, const adept_graph *graph, const adept_handler_table *handlers,
                                 const adept_workload_config *config, adept_unsupported **unsupported,
                                 size_t *n_unsupported, adept_error *err)
{
    static const adept_workload_config defaults = {0};
    adept_profile_leg one = {.times = 1};
    if (!config) config = &defaults;
    if (unsupported) {
        *unsupported = NULL;
        *n_unsupported = 0;
    }
    adept_status status = check_words(config, err);
    if (status != ADEPT_OK) return status;
    if (config->mode == ADEPT_MODE_GENERATE)
        return adept_generation_build(out, graph, handlers, config, ADEPT_TOKEN_GROUPS, unsupported, n_unsupported,
                                      err);
    status = adept_profile_walk(&one.profile, graph, handlers, config, false, 0, unsupported, n_unsupported, err);
    if (status == ADEPT_OK && config->denoise_steps > 1) {
        adept_workload_config c = *config;
        one.times = config->denoise_steps;
        c.seq_length = one.profile->seq_length;
        return join(out, &one, 1, &c, NULL, err);
    }
    if (status == ADEPT_OK) *out = one.profile;
    return status;
}

/* Mode generate: FLOPs, bytes and cache of a prompt and of tokens against closed forms of the models' sizes alone;
 * groups of tokens against every token by itself; what the numbers of a batch of queries mean; what is refused. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_model.h"
#include "legs.h"
#include "cmocka_test.h"

#define B 8.0
#define PROMPT 512.0
#define TOKENS 256.0

static const adept_workload_config queries = {
    .mode = ADEPT_MODE_GENERATE, .precision = ADEPT_PURE_BF16, .batch_size = 8, .prompt = 512, .tokens = 256};

static adept_graph *open_model(const char *name)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_error err = {0};
    adept_graph *g = NULL;
    if (adept_models_path(path, name, &err) != ADEPT_OK || adept_import_model(&g, path, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return g;
}

static adept_profile *walk_groups(const char *model, const adept_workload_config *config, int64_t groups)
{
    adept_graph *g = open_model(model);
    adept_profile *p = NULL;
    adept_error err = {0};
    if (adept_generation_build(&p, g, adept_handlers(), config, groups, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s: %s", model, err.message);
    adept_graph_free(g);
    return p;
}

static adept_profile *walk(const char *model, const adept_workload_config *config)
{
    return walk_groups(model, config, ADEPT_TOKEN_GROUPS);
}

static void near(double a, double b, double within, const char *what)
{
    if (!(fabs(a - b) <= within * fabs(b))) fail_msg("%s: %.17g, not %.17g", what, a, b);
}

/* Bytes that the kernels of a kind read in one pass of a leg, those of an operator only unless `op` is NULL. */
static double bytes_read(const adept_profile *leg, const char *kind, const char *op)
{
    double sum = 0;
    for (size_t i = 0; i < leg->n_ops; i++)
        for (size_t k = 0; k < leg->ops[i].n_kernels; k++)
            if (strcmp(leg->ops[i].kind, kind) == 0 && (!op || strcmp(leg->ops[i].op, op) == 0))
                sum += (double)leg->ops[i].count * leg->ops[i].kernels[k].bytes_read;
    return sum;
}

/* ---- Llama-3-8B: 32 layers of width 4096, 32 heads of 128, 8 of keys and values, 14336, a vocabulary of 128256 ----
 */

#define LAYERS 32.0
#define WIDTH 4096.0
#define BLOCK (WIDTH * WIDTH + 2 * WIDTH * 1024 + WIDTH * WIDTH + 3 * WIDTH * 14336) /* weights of a block's products  \
                                                                                      */
#define HEAD (WIDTH * 128256)
#define NORMS ((2 * LAYERS + 1) * WIDTH)

static void llama_flops(void **state)
{
    (void)state;
    adept_profile *p = walk("llama-3-8b", &queries);
    const adept_profile *prompt = p->legs[0].profile;
    double angles = 64, macs = B * PROMPT * LAYERS * BLOCK + LAYERS * 2 * B * 32 * PROMPT * PROMPT * 128 + B * HEAD;
    assert_true(prompt->totals.macs_forward == macs + angles * PROMPT); /* only the last position has logits */
    double all = prompt->totals.macs_forward, tokens = 0;
    for (size_t i = 1; i < p->n_legs; i++) {
        const adept_profile *leg = p->legs[i].profile;
        double keys = (double)p->legs[i].past + 1;
        assert_true(leg->totals.macs_forward ==
                    B * LAYERS * BLOCK + LAYERS * 2 * B * 32 * keys * 128 + B * HEAD + angles);
        all += (double)p->legs[i].times * leg->totals.macs_forward;
        tokens += (double)p->legs[i].times;
    }
    assert_true(tokens == TOKENS);
    assert_int_equal(p->legs[p->n_legs - 1].times, 1); /* the last one by itself, behind all others */
    assert_int_equal(p->legs[p->n_legs - 1].past, 512 + 255);
    near(p->totals.macs_forward, all, 1e-15, "the whole");
    adept_profile_free(p);
}

/* What lies in memory: weights of blocks, the rest in 16 bits, and what a token reads of them and of the cache. */
static void llama_bytes(void **state)
{
    (void)state;
    static const struct {
        adept_stored weights, cache;
        double weight_bytes, cache_bytes;
    } cases[] = {{ADEPT_STORED_AUTO, ADEPT_STORED_AUTO, 2, 2},
                 {ADEPT_STORED_BF16, ADEPT_STORED_BF16, 2, 2},
                 {ADEPT_STORED_FP8, ADEPT_STORED_FP8, 1, 1},
                 {ADEPT_STORED_INT8, ADEPT_STORED_INT8, 1, 1},
                 {ADEPT_STORED_INT4, ADEPT_STORED_AUTO, 0.51953125, 2}}; /* 4 bits, and 20 for each 128 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_workload_config c = queries;
        c.weights = cases[i].weights, c.kv_cache = cases[i].cache;
        adept_profile *p = walk("llama-3-8b", &c);
        const adept_profile *token = p->legs[p->n_legs - 1].profile;
        double inputs = B * 2 * (LAYERS * (4 * WIDTH + 2 * WIDTH + 14336) + WIDTH), keys = PROMPT + TOKENS;
        assert_true(p->weights_bytes == cases[i].weight_bytes * LAYERS * BLOCK + 2 * (2 * HEAD + NORMS) + 2 * 64);
        near(bytes_read(token, "linear", NULL), cases[i].weight_bytes * LAYERS * BLOCK + 2 * HEAD + inputs, 1e-14,
             "weights read");
        double queries_read = LAYERS * B * WIDTH * 2, cache = LAYERS * B * 2 * 8 * 128 * cases[i].cache_bytes * keys;
        assert_true(bytes_read(token, "attention", NULL) == queries_read + cache);
        assert_true(adept_kept_bytes(p->kept, p->n_kept, keys) == cache);
        adept_profile_free(p);
    }
}

/* ---- Mixtral-8x7B: a token goes to 2 of 8 experts, three matrices of 4096 x 14336 each ---- */

static void experts_that_are_read(void **state)
{
    (void)state;
    static const double batches[] = {1, 2, 8, 64};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        adept_workload_config c = queries;
        c.batch_size = (int64_t)batches[i];
        adept_profile *p = walk("mixtral-8x7b", &c);
        const adept_profile *token = p->legs[1].profile;
        double n = 8 * (1 - pow(1 - 2.0 / 8, batches[i])), matrices = 32 * 3 * 4096.0 * 14336;
        double rows = 32 * 2 * batches[i] * (4096.0 + 14336) * 2;
        near(bytes_read(token, "matmul", "adept::grouped_mm"), 2 * n * matrices + rows, 1e-12, "experts read");
        near(token->totals.macs_forward,
             batches[i] * (32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 4096.0 * 8 + 2 * 3 * 4096.0 * 14336) +
                           32 * 2 * 32 * 128 * ((double)p->legs[1].past + 1) + 4096.0 * 32000) +
                 64,
             1e-14, "a token's products");
        adept_profile_free(p);
    }
}

/* ---- DeepSeek-V3: 61 layers, 128 heads of 128 + 64 and 128, a latent of 512 + 64 ---- */

static void latent_cache(void **state)
{
    (void)state;
    adept_workload_config c = queries;
    for (int bits = 16; bits >= 8; bits -= 8) {
        c.kv_cache = bits == 8 ? ADEPT_STORED_FP8 : ADEPT_STORED_AUTO;
        adept_profile *p = walk("deepseek-v3", &c);
        const adept_profile *token = p->legs[p->n_legs - 1].profile;
        double keys = PROMPT + TOKENS, cache = 61 * B * (512 + 64) * keys * bits / 8;
        assert_true(adept_kept_bytes(p->kept, p->n_kept, keys) == cache);
        /* all heads read the latent once, values as a part of it */
        assert_true(bytes_read(token, "attention", NULL) == 61 * B * 128 * (512 + 64) * 2 + cache);
        /* keys and values are made of no token again: the matrix that would have made them meets queries and results */
        double made = 61 * 128 * 512 * (128.0 + 128), read = 61 * B * 128 * (128.0 + 512);
        assert_true(bytes_read(token, "matmul", "aten::bmm") == 2 * (made + read));
        adept_profile_free(p);
    }
}

/* ---- windows: half of Gemma 2's layers see 4096 tokens, of Gemma 3's five of six ---- */

static void windows(void **state)
{
    (void)state;
    adept_workload_config c = queries;
    c.prompt = 6000, c.tokens = 2, c.batch_size = 1;
    adept_profile *p = walk("gemma-2-9b", &c);
    double each = 2 * 8 * 256 * 2; /* bytes of a layer's token */
    assert_true(adept_kept_bytes(p->kept, p->n_kept, 6002) == each * (21 * 4096.0 + 21 * 6002));
    const adept_profile *token = p->legs[p->n_legs - 1].profile;
    assert_true(bytes_read(token, "attention", NULL) == 42 * 16 * 256 * 2 + each * (21 * 4096.0 + 21 * 6002));
    adept_profile_free(p);
    p = walk("gemma-3-1b", &c);
    assert_true(adept_kept_bytes(p->kept, p->n_kept, 6002) == 2 * 256 * 2 * (22 * 512.0 + 4 * 6002));
    adept_profile_free(p);
}

/* ---- groups of tokens, and what the numbers mean ---- */

static adept_hwprofile *open_gpu(const char *name)
{
    adept_hwprofile *hw;
    adept_error err = {0};
    if (adept_hwprofile_open(&hw, name, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return hw;
}

static adept_prediction predict(const adept_profile *p, const adept_hwprofile *hw, const adept_run *run)
{
    adept_prediction out;
    adept_error err = {0};
    if (adept_predict(&out, p, hw, run, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

static void groups_are_as_good_as_every_token(void **state)
{
    (void)state;
    static const struct {
        const char *model, *gpu;
        int64_t batch, prompt, tokens;
        adept_execution execution;
    } cases[] = {{"adept:llama?layers=2", "h100", 8, 512, 256, ADEPT_GRAPHS},
                 {"adept:llama?layers=2", "a100", 64, 100, 333, ADEPT_GRAPHS},
                 {"adept:llama?layers=2", "h100", 128, 64, 700, ADEPT_EAGER},
                 {"adept:gpt2?layers=2", "a100", 256, 7, 600, ADEPT_GRAPHS},
                 {"adept:mistral?layers=2", "h200", 64, 3900, 400, ADEPT_GRAPHS} /* across the window */};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_workload_config c = queries;
        c.batch_size = cases[i].batch, c.prompt = cases[i].prompt, c.tokens = cases[i].tokens,
        c.execution = cases[i].execution;
        adept_hwprofile *hw = open_gpu(cases[i].gpu);
        adept_profile *few = walk(cases[i].model, &c), *all = walk_groups(cases[i].model, &c, c.tokens);
        assert_int_equal(all->n_legs, c.tokens + 1);
        const adept_prediction a = predict(few, hw, NULL), b = predict(all, hw, NULL);
        near(a.step_time_s, b.step_time_s, 0.005, "time");
        near(a.energy_step_j, b.energy_step_j, 0.005, "energy");
        near(a.total_flops, b.total_flops, 0.005, "FLOPs");
        assert_true(a.ttft_s == b.ttft_s && a.generation.kv_bytes == b.generation.kv_bytes);
        adept_profile_free(few);
        adept_profile_free(all);
        adept_hwprofile_free(hw);
    }
}

static void sums_of_a_batch(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("h100");
    for (int execution = ADEPT_EAGER; execution <= ADEPT_COMPILE; execution++) {
        adept_workload_config c = queries;
        c.execution = (adept_execution)execution;
        adept_profile *p = walk("llama-3-8b", &c);
        const adept_run run = {.gpus = 2};
        const adept_prediction one = predict(p, hw, NULL), two = predict(p, hw, &run);
        near(one.step_time_s, one.ttft_s + TOKENS * one.tpot_s, 1e-12, "the step");
        near(one.energy_step_j, one.power_avg_w * one.step_time_s, 1e-12, "its energy");
        near(one.generation.prompt_j + one.generation.answer_j, one.energy_step_j, 1e-12, "prompt and answer");
        near(one.generation.tokens_per_s, B * TOKENS / one.step_time_s, 1e-12, "tokens/s");
        near(one.generation.wh_per_query, one.energy_step_j / B / 3600, 1e-12, "Wh of a query");
        near(one.generation.energy_per_token_j, one.energy_step_j / B / TOKENS, 1e-12, "J of a token");
        /* GPUs are replicas: as many queries again, for as much energy again */
        near(two.step_time_s, one.step_time_s, 1e-12, "replicas' time");
        near(two.generation.tokens_per_s, 2 * one.generation.tokens_per_s, 1e-12, "replicas' tokens/s");
        near(two.generation.wh_per_query, one.generation.wh_per_query, 1e-12, "replicas' energy");
        /* weights alone take this long of a token */
        assert_true(one.tpot_s > (p->weights_bytes - 2 * HEAD) / hw->specs.mem_bytes_per_s);
        assert_int_equal(one.generation.answer_bound,
                         execution == ADEPT_GRAPHS ? ADEPT_BOUND_MEMORY : ADEPT_BOUND_LAUNCH);
        adept_op_prediction *ops = calloc(p->n_ops, sizeof *ops);
        double sum_s = 0;
        assert_int_equal(adept_predict_ops(ops, p, hw, NULL, NULL), ADEPT_OK);
        for (size_t i = 0; i < p->n_ops; i++)
            sum_s += ops[i].time_s;
        near(sum_s, one.pass_s, 1e-9, "operators");
        free(ops);
        adept_profile_free(p);
    }
    adept_hwprofile_free(hw);
}

/* The largest batch fits, one more does not; the same of the context. */
static void what_fits(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("h100");
    adept_workload_config c = queries;
    adept_profile *p = walk("llama-3-8b", &c);
    const adept_generation g = predict(p, hw, NULL).generation;
    adept_profile_free(p);
    for (int more = 0; more < 2; more++) {
        c.batch_size = (int64_t)g.largest_batch + more;
        p = walk("llama-3-8b", &c);
        assert_int_equal(predict(p, hw, NULL).memory.fits, !more);
        adept_profile_free(p);
        c = queries;
        c.tokens = (int64_t)g.longest_context - c.prompt + more;
        p = walk("llama-3-8b", &c);
        assert_int_equal(predict(p, hw, NULL).memory.fits, !more);
        adept_profile_free(p);
        c = queries;
    }
    adept_hwprofile_free(hw);
}

/* ---- diffusion: passes of one model ---- */

static void denoising(void **state)
{
    (void)state;
    adept_graph *g = open_model("vit-b-16");
    adept_hwprofile *hw = open_gpu("a100");
    adept_workload_config c = {.mode = ADEPT_MODE_INFER, .batch_size = 4};
    adept_profile *once, *often;
    assert_int_equal(adept_profile_build(&once, g, adept_handlers(), &c, NULL, NULL, NULL), ADEPT_OK);
    c.denoise_steps = 30;
    assert_int_equal(adept_profile_build(&often, g, adept_handlers(), &c, NULL, NULL, NULL), ADEPT_OK);
    const adept_prediction a = predict(once, hw, NULL), b = predict(often, hw, NULL);
    near(b.step_time_s - b.fixed_s, 30 * (a.step_time_s - a.fixed_s), 1e-12, "30 passes");
    near(b.total_flops, 30 * a.total_flops, 1e-12, "their FLOPs");
    assert_true(b.samples == 4 && b.peak_bytes == a.peak_bytes && b.fixed_s == a.fixed_s && isnan(b.ttft_s));
    adept_profile_free(once);
    adept_profile_free(often);
    adept_hwprofile_free(hw);
    adept_graph_free(g);
}

/* ---- what is refused ---- */

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        adept_workload_config config;
        adept_status status;
        const char *message;
    } cases[] = {
        {"llama-3-8b", {.mode = ADEPT_MODE_GENERATE, .tokens = 4}, ADEPT_E_USAGE, "--prompt 512 --tokens 256"},
        {"llama-3-8b", {.mode = ADEPT_MODE_GENERATE, .prompt = 4}, ADEPT_E_USAGE, "--prompt 512 --tokens 256"},
        {"llama-3-8b",
         {.mode = ADEPT_MODE_GENERATE, .prompt = 4, .tokens = 4, .seq_length = 9},
         ADEPT_E_USAGE,
         "prompt says"},
        {"llama-3-8b",
         {.mode = ADEPT_MODE_GENERATE, .prompt = 4, .tokens = 4, .grad_accum = 2},
         ADEPT_E_USAGE,
         "grad_accum"},
        {"llama-3-8b", {.mode = ADEPT_MODE_GENERATE, .prompt = 4, .tokens = INT64_C(1) << 52}, ADEPT_E_USAGE, "2^31"},
        {"llama-3-8b", {.mode = ADEPT_MODE_INFER, .prompt = 4}, ADEPT_E_USAGE, "prompt acts in mode generate only"},
        {"llama-3-8b", {.mode = ADEPT_MODE_TRAIN, .tokens = 4}, ADEPT_E_USAGE, "tokens acts in mode generate only"},
        {"llama-3-8b", {.mode = ADEPT_MODE_INFER, .weights = ADEPT_STORED_FP8}, ADEPT_E_USAGE, "weights acts"},
        {"llama-3-8b", {.mode = ADEPT_MODE_INFER, .kv_cache = ADEPT_STORED_FP8}, ADEPT_E_USAGE, "kv_cache acts"},
        {"vit-b-16",
         {.mode = ADEPT_MODE_TRAIN, .denoise_steps = 4},
         ADEPT_E_USAGE,
         "denoise_steps acts in mode infer only"},
        {"bert-base", {.mode = ADEPT_MODE_GENERATE, .prompt = 4, .tokens = 4}, ADEPT_E_UNSUPPORTED, "key-value cache"},
        {"gpt-2", {.mode = ADEPT_MODE_GENERATE, .prompt = 1000, .tokens = 24}, ADEPT_OK, ""},
        {"gpt-2", {.mode = ADEPT_MODE_GENERATE, .prompt = 1000, .tokens = 25}, ADEPT_E_USAGE, "beyond the table"},
        {"opt-1.3b", {.mode = ADEPT_MODE_GENERATE, .prompt = 2000, .tokens = 48}, ADEPT_OK, ""},
        {"opt-1.3b", {.mode = ADEPT_MODE_GENERATE, .prompt = 2000, .tokens = 49}, ADEPT_E_USAGE, "beyond the table"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_graph *g = open_model(cases[i].model);
        adept_profile *p = NULL;
        adept_error err = {0};
        adept_status status = adept_profile_build(&p, g, adept_handlers(), &cases[i].config, NULL, NULL, &err);
        if (status != cases[i].status || (status && !strstr(err.message, cases[i].message)))
            fail_msg("case %zu: %d, %s", i, (int)status, err.message);
        if (status == ADEPT_OK) adept_profile_free(p);
        adept_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama_flops),
        cmocka_unit_test(llama_bytes),
        cmocka_unit_test(experts_that_are_read),
        cmocka_unit_test(latent_cache),
        cmocka_unit_test(windows),
        cmocka_unit_test(groups_are_as_good_as_every_token),
        cmocka_unit_test(sums_of_a_batch),
        cmocka_unit_test(what_fits),
        cmocka_unit_test(denoising),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Mode generate: FLOPs, bytes and cache of a prompt and of tokens against closed forms of the models' sizes alone, of
 * one GPU and of a rank of several; groups of tokens against every token by itself; what the numbers of a batch of
 * queries mean; what is refused. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_layout.h"
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

/* Chunks multiply by weights what the whole prompt does, and each its last position by the head; queries of a chunk
 * meet the cache before it and the chunk. What the cache has already is not read again. */
static void chunks_of_a_prompt(void **state)
{
    (void)state;
    static const int64_t cases[][3] = {{512, 512, 0}, {512, 600, 0}, {512, 128, 0}, {512, 96, 100}, {5000, 16, 0},
                                       {512, 0, 500}}; /* prompt, chunk, in the cache */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_workload_config c = queries;
        c.prompt = cases[i][0], c.prefill_chunk = cases[i][1], c.cached_tokens = cases[i][2], c.tokens = 1;
        adept_profile *p = walk("llama-3-8b", &c);
        double met = 0, n_chunks = 0, macs = 0, passes = 0, read = (double)(c.prompt - c.cached_tokens), angles = 64;
        for (int64_t at = c.cached_tokens; at < c.prompt; n_chunks++) {
            const int64_t chunk = c.prefill_chunk > 0 ? c.prefill_chunk : c.prompt,
                          n = at + chunk < c.prompt ? chunk : c.prompt - at;
            met += (double)n * (double)(at + n);
            at += n;
        }
        for (size_t k = 0; k + 1 < p->n_legs; k++) {
            assert_true(p->legs[k].reads);
            macs += (double)p->legs[k].times * p->legs[k].profile->totals.macs_forward;
            passes += (double)p->legs[k].times;
        }
        assert_true(!p->legs[p->n_legs - 1].reads && passes == n_chunks && p->n_legs <= 11);
        near(macs, B * read * LAYERS * BLOCK + LAYERS * 2 * B * 32 * 128 * met + n_chunks * B * HEAD + angles * read,
             1e-12, "a prompt in chunks");
        adept_profile_free(p);
    }
}

/* What lies in memory: weights of blocks, the rest in 16 bits, and what a token reads of them and of the cache. */
static void llama_bytes(void **state)
{
    (void)state;
    static const struct {
        adept_stored weights, cache;
        double weight_bytes, cache_bytes, input_bytes; /* of blocks' products in FP8: 1, and 4 for its cast */
        adept_precision precision;
    } cases[] = {{ADEPT_STORED_AUTO, ADEPT_STORED_AUTO, 2, 2, 2, ADEPT_PURE_BF16},
                 {ADEPT_STORED_BF16, ADEPT_STORED_BF16, 2, 2, 2, ADEPT_AMP_BF16},
                 {ADEPT_STORED_FP8, ADEPT_STORED_FP8, 1, 1, 2, ADEPT_PURE_BF16},
                 {ADEPT_STORED_INT8, ADEPT_STORED_INT8, 1, 1, 2, ADEPT_PURE_BF16},
                 {ADEPT_STORED_AUTO, ADEPT_STORED_AUTO, 1, 2, 5, ADEPT_FP8},
                 {ADEPT_STORED_FP8, ADEPT_STORED_INT8, 1, 1, 5, ADEPT_PURE_FP8},
                 {ADEPT_STORED_INT4, ADEPT_STORED_AUTO, 0.51953125, 2, 5, ADEPT_PURE_FP8},
                 /* 4 bits, and 20 for each 128 */
                 {ADEPT_STORED_INT4, ADEPT_STORED_AUTO, 0.51953125, 2, 2, ADEPT_PURE_BF16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_workload_config c = queries;
        c.weights = cases[i].weights, c.kv_cache = cases[i].cache, c.precision = cases[i].precision;
        adept_profile *p = walk("llama-3-8b", &c);
        const adept_profile *token = p->legs[p->n_legs - 1].profile;
        double inputs = B * (cases[i].input_bytes * LAYERS * (4 * WIDTH + 2 * WIDTH + 14336) + 2 * WIDTH),
               keys = PROMPT + TOKENS;
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
    c.prefill_chunk = 1000; /* a chunk behind 4096: 3596 before it, and its own */
    p = walk("gemma-2-9b", &c);
    const adept_profile_leg *chunk = &p->legs[5];
    assert_true(chunk->reads && chunk->past == 5000);
    near(bytes_read(chunk->profile, "attention", NULL), 1000 * 42 * 16 * 256 * 2 + each * (21 * 4596.0 + 21 * 6000),
         1e-12, "a chunk behind a window");
    adept_profile_free(p);
    c.prefill_chunk = 0;
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

/* ---- several GPUs ---- */

static adept_partition split(const adept_profile *p, size_t leg, const adept_mesh_words *words)
{
    adept_mesh mesh;
    adept_partition out;
    adept_error err = {0};
    if (adept_mesh_of(&mesh, words, p, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_partition_new(&out, p->legs[leg].profile, &mesh, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

/* Of a rank: as bytes_read(). */
static double rank_reads(const adept_partition *x, const char *kind, const char *op)
{
    adept_profile rank = *x->profile;
    rank.ops = x->ops;
    return bytes_read(&rank, kind, op);
}

static double rank_cache(const adept_partition *x, double tokens)
{
    double sum = 0;
    for (size_t b = 0; b < x->n_blocks; b++)
        sum += adept_kept_bytes(x->blocks[b].kept, x->blocks[b].n_kept, tokens);
    return sum;
}

static double rank_weights(const adept_partition *x)
{
    double sum = 0;
    for (size_t b = 0; b < x->n_blocks; b++)
        sum += x->blocks[b].weight_bytes + x->blocks[b].frozen_bytes;
    return sum;
}

/* Llama-3-8B on t GPUs: each adds up batch x tokens x width twice a layer and once behind the embedding, and has a
 * part of all matrices; of 8 heads of keys 16 GPUs have one each, every two the same. */
static void tensor_parallel(void **state)
{
    (void)state;
    adept_workload_config c = queries;
    c.weights = ADEPT_STORED_FP8;
    adept_profile *p = walk("llama-3-8b", &queries), *of_8_bits = walk("llama-3-8b", &c);
    static const double gpus[][2] = {{1, 1}, {2, 2}, {8, 8}, {16, 8}}; /* and parts of the cache */
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        const double t = gpus[i][0], parts = gpus[i][1], keys = PROMPT + TOKENS;
        for (size_t leg = 0; leg < p->n_legs; leg += p->n_legs - 1) {
            adept_partition x = split(p, leg, &(adept_mesh_words){.tp = (int64_t)t}),
                            narrow = split(of_8_bits, leg, &(adept_mesh_words){.tp = (int64_t)t});
            const double tokens = leg == 0 ? PROMPT : 1, sum_bytes = B * tokens * WIDTH * 2;
            for (size_t b = 0; b < x.n_blocks && t > 1; b++) {
                const adept_transfer *sums = &x.blocks[b].sent[ADEPT_FORWARD][ADEPT_AXIS_TENSOR][ADEPT_ALL_REDUCE];
                const double n = b == 0 ? 1 : b + 1 < x.n_blocks ? 2 : 0;
                near(sums->n, n, 0, "all-reduces");
                near(sums->bytes, n * sum_bytes, 1e-12, "their bytes");
            }
            const double whole = LAYERS * WIDTH * 1024 * 2 * (1 / parts - 1 / t); /* of keys and values */
            near(rank_weights(&x), 2 * ((LAYERS * BLOCK + 2 * HEAD) / t + whole + NORMS + 64), 1e-12, "weights");
            near(rank_weights(&narrow), (LAYERS * BLOCK + 2 * 2 * HEAD) / t + whole + 2 * (NORMS + 64), 1e-12,
                 "weights of 8 bits");
            adept_partition_free(&narrow);
            const double cache = LAYERS * B * 2 * 8 * 128 * 2 * keys / parts;
            near(rank_cache(&x, keys), cache, 1e-12, "cache");
            if (leg > 0) near(rank_reads(&x, "attention", NULL), LAYERS * B * WIDTH * 2 / t + cache, 1e-12, "read");
            assert_true(t == 1 || x.n_whole == 0);
            adept_partition_free(&x);
        }
    }
    adept_profile_free(of_8_bits);
    adept_profile_free(p);
}

/* DeepSeek's latent is every GPU's; matrices of heads are split. Mixtral's tokens go to experts of 8 GPUs and back. */
static void latents_and_experts_of_several(void **state)
{
    (void)state;
    adept_profile *p = walk("deepseek-v3", &queries);
    const size_t last = p->n_legs - 1;
    adept_partition x = split(p, last, &(adept_mesh_words){.tp = 8});
    const double keys = PROMPT + TOKENS, cache = 61 * B * (512 + 64) * keys * 2;
    near(rank_cache(&x, keys), cache, 1e-12, "latents");
    near(rank_reads(&x, "attention", NULL), 61 * B * 128 / 8 * (512 + 64) * 2 + cache, 1e-12, "read");
    near(rank_reads(&x, "matmul", "aten::bmm"), 2 * (61 * 128 / 8 * 512 * 256.0 + 61 * B * 128 / 8 * (128.0 + 512)),
         1e-12, "of heads");
    adept_partition_free(&x);
    adept_profile_free(p);
    p = walk("mixtral-8x7b", &queries);
    x = split(p, p->n_legs - 1, &(adept_mesh_words){.gpus = 8, .ep = 8});
    const double met = 1 - pow(1 - 2.0 / 8, 8 * B), rows = 2 * B, matrices = 32 * 3 * 4096.0 * 14336;
    near(rank_reads(&x, "matmul", "adept::grouped_mm"), 2 * (met * matrices + 32 * rows * (4096.0 + 14336)), 1e-12,
         "its expert");
    const adept_transfer *sent = &x.blocks[9].sent[ADEPT_FORWARD][ADEPT_AXIS_EXPERT][ADEPT_ALL_TO_ALL];
    assert_true(sent->n == 2 && sent->bytes == 2 * rows * 4096 * 2);
    adept_partition_free(&x);
    adept_profile_free(p);
}

static adept_layout_prediction share_out(const adept_profile *p, const adept_hwprofile *hw, adept_run run)
{
    adept_layout_prediction out;
    adept_error err = {0};
    if (adept_predict_layout(&out, p, hw, &run, &err) != ADEPT_OK) fail_msg("%s", err.message);
    const adept_prediction *q = &out.prediction;
    near(out.compute_s + out.tensor_s + out.expert_s + out.send_s + out.bubble_s + out.rest_s, q->step_time_s, 1e-12,
         "parts");
    near(q->step_time_s, q->ttft_s + TOKENS * q->tpot_s, 1e-12, "first token and the others");
    near(q->generation.prompt_j + q->generation.answer_j, q->power_avg_w * q->step_time_s, 1e-12, "energy");
    near(q->generation.tokens_per_s, (double)out.mesh.global_batch * TOKENS / q->step_time_s, 1e-12, "tokens");
    return out;
}

/* A 70B model fits 8 GPUs and not one. Stages have a part of layers and cache each: a batch alone waits for all of
 * them, two batches in turns take a token each in that time. */
static void layouts_of_a_generation(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("h100");
    adept_workload_config c = queries;
    c.execution = ADEPT_GRAPHS;
    adept_profile *p = walk("llama-3-70b", &c);
    adept_layout_prediction l = share_out(p, hw, (adept_run){.tp = 8});
    assert_false(predict(p, hw, NULL).memory.fits);
    assert_true(l.prediction.memory.fits && l.prediction.memory.kv_bytes == 80 * B * 2 * 128 * 2 * 768);
    assert_true(l.prediction.generation.kv_bytes_per_token == 80 * 2 * 128 * 2);
    const double half_s = share_out(p, hw, (adept_run){.tp = 4}).prediction.tpot_s;
    assert_true(l.prediction.tpot_s < half_s && l.prediction.tpot_s > half_s / 2);
    c.batch_size = (int64_t)l.prediction.generation.largest_batch;
    for (int more = 0; more < 2; more++, c.batch_size++) {
        adept_profile *full = walk("llama-3-70b", &c);
        assert_int_equal(share_out(full, hw, (adept_run){.tp = 8}).prediction.memory.fits, !more);
        adept_profile_free(full);
    }
    adept_profile_free(p);
    c.batch_size = queries.batch_size;
    p = walk("llama-3-8b", &c);
    const adept_prediction one = predict(p, hw, NULL), said = predict(p, hw, &(adept_run){.tp = 1, .pp = 1});
    assert_memory_equal(&one.estimate, &said.estimate, sizeof one.estimate);
    assert_memory_equal(&one.generation, &said.generation, sizeof one.generation);
    const adept_layout_prediction alone = share_out(p, hw, (adept_run){.pp = 2}),
                                  two = share_out(p, hw, (adept_run){.pp = 2, .global_batch = 16}),
                                  four = share_out(p, hw, (adept_run){.pp = 2, .global_batch = 32});
    assert_true(alone.prediction.memory.kv_bytes == one.memory.kv_bytes / 2);
    assert_true(two.prediction.memory.kv_bytes == one.memory.kv_bytes);
    near(alone.prediction.tpot_s, one.tpot_s, 0.005, "all stages, and a send");
    assert_true(alone.prediction.tpot_s > one.tpot_s && two.prediction.tpot_s < 1.1 * alone.prediction.tpot_s);
    near(four.prediction.tpot_s, 2 * two.prediction.tpot_s, 1e-9, "four batches in turns");
    near(two.bubble_s, two.prediction.step_time_s - two.send_s - 2 * two.stages[two.slowest].micro_s - one.fixed_s,
         1e-9, "stages that wait");
    assert_true(two.bubble_s < 0.1 * alone.bubble_s);
    adept_profile_free(p);
    c.prefill_chunk = 128; /* chunks follow one another through the stages */
    p = walk("llama-3-8b", &c);
    const double in_chunks_s = share_out(p, hw, (adept_run){.pp = 2}).prediction.ttft_s;
    near(in_chunks_s, predict(p, hw, NULL).ttft_s * 5 / 8, 0.1, "half of four chunks, and a stage's");
    assert_true(in_chunks_s < alone.prediction.ttft_s);
    adept_profile_free(p);
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
        {"llama-3-8b",
         {.mode = ADEPT_MODE_GENERATE, .prompt = 4, .tokens = 4, .cached_tokens = 4},
         ADEPT_E_USAGE,
         "leave nothing of a prompt of 4"},
        {"llama-3-8b",
         {.mode = ADEPT_MODE_GENERATE, .prompt = 4, .tokens = 4, .precision = ADEPT_FP8, .weights = ADEPT_STORED_BF16},
         ADEPT_E_USAGE,
         "8 bits or fewer"},
        {"llama-3-8b", {.mode = ADEPT_MODE_INFER, .prefill_chunk = 4}, ADEPT_E_USAGE, "prefill_chunk acts"},
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
        cmocka_unit_test(chunks_of_a_prompt),
        cmocka_unit_test(llama_bytes),
        cmocka_unit_test(experts_that_are_read),
        cmocka_unit_test(latent_cache),
        cmocka_unit_test(windows),
        cmocka_unit_test(groups_are_as_good_as_every_token),
        cmocka_unit_test(sums_of_a_batch),
        cmocka_unit_test(tensor_parallel),
        cmocka_unit_test(latents_and_experts_of_several),
        cmocka_unit_test(layouts_of_a_generation),
        cmocka_unit_test(what_fits),
        cmocka_unit_test(denoising),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

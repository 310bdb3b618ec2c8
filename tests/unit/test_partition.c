/* A rank's part of a model: parameters of all ranks add up to the model's, bytes of every collective, kernels' own
 * dimensions and kept bytes by closed forms (b sequences of s tokens, h hidden, a heads of which k of keys, d wide, f
 * feed-forward, w bytes an element), and what cannot be split. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_partition.h"
#include "cmocka_test.h"

#define LLAMA "llama-3-8b"
#define B 2.0
#define S 64.0
#define W 2.0 /* of pure bf16 */
#define H 4096.0 /* of Llama-3-8B */
#define K 1024.0 /* keys of all heads */
#define F 14336.0
#define BLOCK 218112000.0
#define BSH (B * S * H * W)

static adept_profile *walk_with(const char *model, const adept_workload_config *given)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_error err = {0};
    adept_graph *g = NULL;
    adept_profile *p = NULL;
    adept_workload_config config = *given;
    config.batch_size = (int64_t)B;
    if (adept_models_path(path, model, &err) != ADEPT_OK || adept_import_model(&g, path, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    if (config.seq_length == 0 && g->hint_seq_length > 0) config.seq_length = (int64_t)S;
    if (adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

static adept_profile *walk(const char *model, adept_precision precision)
{
    return walk_with(model, &(adept_workload_config){.precision = precision});
}

static adept_partition split(const adept_profile *p, const adept_mesh_words *words)
{
    adept_mesh mesh;
    adept_partition out;
    adept_error err = {0};
    if (adept_mesh_of(&mesh, words, p, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_partition_new(&out, p, &mesh, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

static void near(double value, double expected)
{
    if (!(value >= expected * (1.0 - 1e-9) && value <= expected * (1.0 + 1e-9)))
        fail_msg("%.12g is not %.12g", value, expected);
}

static void is_sent(const adept_rank_block *b, adept_pass pass, adept_axis axis, adept_collective kind, double n,
                    double bytes)
{
    const adept_transfer *t = &b->sent[pass][axis][kind];
    if (t->n != n) fail_msg("%s, pass %d: %g calls, not %g", b->path, pass, t->n, n);
    near(t->bytes + 1.0, bytes + 1.0);
}

static void parameters_add_up(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double params; /* published; 0: the profile's */
        int64_t tp[3];
    } cases[] = {{LLAMA, 8030261248.0, {2, 4, 8}},   {"gpt-2-xl", 1557611200.0, {5, 1, 25}},
                 {"bert-large", 0, {2, 4, 16}},      {"qwen3-8b", 0, {2, 4, 8}},
                 {"gpt-neox-20b", 0, {2, 4, 8}},     {"gemma-7b", 0, {2, 4, 8}},
                 {"phi-3-mini", 0, {2, 4, 8}},       {"opt-1.3b", 0, {2, 4, 8}},
                 {"mpt-7b", 0, {2, 4, 8}},           {"vit-l-16", 0, {2, 4, 8}},
                 {"t5-base", 0, {2, 3, 4}},          {"mixtral-8x7b", 0, {2, 4, 8}},
                 {"deepseek-v2-lite", 0, {2, 4, 8}}, {"nemotron-4-15b", 0, {2, 4, 8}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_profile *p = walk(cases[i].model, ADEPT_AMP_BF16);
        if (cases[i].params > 0) assert_true((double)p->params == cases[i].params);
        for (int k = 0; k < 3; k++) {
            const double tp = (double)cases[i].tp[k];
            adept_partition x = split(p, &(adept_mesh_words){.tp = cases[i].tp[k]});
            double n = 0.0;
            for (size_t b = 0; b < x.n_blocks; b++)
                n += x.blocks[b].whole_params + tp * (x.blocks[b].split_params + x.blocks[b].expert_params);
            if (n != (double)p->trainable_params)
                fail_msg("%s, tp %g: %.0f of %.0f parameters", cases[i].model, tp, n, (double)p->trainable_params);
            assert_true(tp == 1.0 || x.n_split > x.n_whole);
            adept_partition_free(&x);
        }
        adept_profile_free(p);
    }
}

/* Two all-reduces a block and direction; with sequence parallel gathers and scatters in their place, and in backward
 * the inputs of products once more. Embedding and head have one each, and the loss of a row its maximum, sum and
 * label's logit. */
static void tensor_parallel_sends(void **state)
{
    (void)state;
    adept_profile *p = walk(LLAMA, ADEPT_PURE_BF16);
    adept_partition x = split(p, &(adept_mesh_words){.tp = 4});
    assert_int_equal(x.n_blocks, 34);
    assert_string_equal(x.blocks[7].path, "model.layers.6");
    for (size_t b = 1; b < 33; b++)
        for (int pass = 0; pass < 2; pass++)
            is_sent(&x.blocks[b], (adept_pass)pass, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, 2, 2 * BSH);
    is_sent(&x.blocks[0], ADEPT_FORWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, 1, BSH);
    is_sent(&x.blocks[33], ADEPT_FORWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, 3, 3 * 4 * B * S);
    is_sent(&x.blocks[33], ADEPT_BACKWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, 1, BSH);
    near(x.blocks[1].input_bytes, BSH);
    adept_partition_free(&x);
    x = split(p, &(adept_mesh_words){.tp = 4, .sp = true});
    for (size_t b = 1; b < 33; b++) {
        for (int pass = 0; pass < 2; pass++) {
            is_sent(&x.blocks[b], (adept_pass)pass, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, 0, 0);
            is_sent(&x.blocks[b], (adept_pass)pass, ADEPT_AXIS_TENSOR, ADEPT_ALL_GATHER, 2, 2 * BSH);
            is_sent(&x.blocks[b], (adept_pass)pass, ADEPT_AXIS_TENSOR, ADEPT_REDUCE_SCATTER, 2, 2 * BSH);
        }
        assert_true(x.blocks[b].again.n == 2.0);
        near(x.blocks[b].again.bytes, 2 * BSH);
        near(x.blocks[b].input_bytes, BSH / 4);
    }
    adept_partition_free(&x);
    /* under autocast queries, keys and values each cast the same activations: they are sent once all the same */
    adept_profile *cast = walk(LLAMA, ADEPT_AMP_BF16);
    x = split(cast, &(adept_mesh_words){.tp = 4});
    for (int pass = 0; pass < 2; pass++)
        assert_true(x.blocks[5].sent[pass][ADEPT_AXIS_TENSOR][ADEPT_ALL_REDUCE].n == 2.0);
    adept_partition_free(&x);
    adept_profile_free(cast);
    adept_profile_free(p);
}

/* A ring of c - 1 steps, each of the keys and values of s/c tokens; back with their gradients. */
static void context_parallel_sends(void **state)
{
    (void)state;
    adept_profile *p = walk(LLAMA, ADEPT_PURE_BF16);
    adept_partition x = split(p, &(adept_mesh_words){.cp = 4, .tp = 2});
    const double step = 2 * B * (S / 4) * (K / 2) * W;
    is_sent(&x.blocks[3], ADEPT_FORWARD, ADEPT_AXIS_CONTEXT, ADEPT_SEND, 3, 3 * step);
    is_sent(&x.blocks[3], ADEPT_BACKWARD, ADEPT_AXIS_CONTEXT, ADEPT_SEND, 3, 6 * step);
    is_sent(&x.blocks[3], ADEPT_FORWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, 2, 2 * BSH / 4);
    near(x.blocks[3].input_bytes, BSH / 4);
    adept_partition_free(&x);
    adept_profile_free(p);
}

/* Tokens go to their experts and come back, topk of them for each, in both directions. */
static void expert_parallel_sends(void **state)
{
    (void)state;
    adept_profile *p = walk("mixtral-8x7b", ADEPT_PURE_BF16);
    adept_partition x = split(p, &(adept_mesh_words){.gpus = 8, .ep = 4});
    for (int pass = 0; pass < 2; pass++)
        is_sent(&x.blocks[9], (adept_pass)pass, ADEPT_AXIS_EXPERT, ADEPT_ALL_TO_ALL, 2, 2 * B * S * 2 * H * W);
    near(x.blocks[9].expert_params, 8.0 / 4.0 * 3.0 * H * F);
    /* a quarter of the experts, with the tokens of four GPUs: as much work */
    for (size_t i = 0; i < p->n_ops; i++)
        for (size_t k = 0; k < p->ops[i].n_kernels; k++) {
            const adept_kernel *here = &x.ops[i].kernels[k], *whole = &p->ops[i].kernels[k];
            if (whole->flops > 0) near(here->flops, whole->flops);
            if (whole->batch == 8.0 && strstr(p->ops[i].op, "grouped")) near(here->batch, 2.0);
        }
    adept_partition_free(&x);
    adept_profile_free(p);
}

static const adept_kernel *kernel_of(const adept_partition *x, const char *path, size_t k)
{
    for (size_t i = 0; i < x->profile->n_ops; i++)
        if (strstr(x->ops[i].path, path) && strcmp(x->ops[i].op, "aten::linear") == 0) return &x->ops[i].kernels[k];
    fail_msg("there is no %s", path);
    return NULL;
}

static void has(const adept_kernel *k, double m, double n, double depth)
{
    if (k->m != m || k->n != n || k->k != depth)
        fail_msg("%g x %g x %g is not %g x %g x %g", k->m, k->n, k->k, m, n, depth);
    near(k->flops, 2 * m * n * depth);
}

/* Columns of the first products, what the second ones sum over; gradients of inputs and of weights likewise. */
static void kernels_have_their_own_dimensions(void **state)
{
    (void)state;
    adept_profile *p = walk(LLAMA, ADEPT_PURE_BF16);
    adept_partition x = split(p, &(adept_mesh_words){.tp = 8, .cp = 2});
    const double tokens = B * S / 2;
    has(kernel_of(&x, "gate_proj", 0), tokens, F / 8, H);
    has(kernel_of(&x, "gate_proj", 1), tokens, H, F / 8);
    has(kernel_of(&x, "gate_proj", 2), H, F / 8, tokens);
    has(kernel_of(&x, "down_proj", 0), tokens, H, F / 8);
    has(kernel_of(&x, "down_proj", 1), tokens, F / 8, H);
    has(kernel_of(&x, "down_proj", 2), F / 8, H, tokens);
    has(kernel_of(&x, "k_proj", 0), tokens, K / 8, H);
    double bytes = (tokens * H + H * F / 8 + tokens * F / 8) * W;
    near(kernel_of(&x, "gate_proj", 0)->bytes_read + kernel_of(&x, "gate_proj", 0)->bytes_written, bytes);
    double whole = 0.0, parts = 0.0;
    for (size_t i = 0; i < p->n_ops; i++)
        for (size_t k = 0; k < p->ops[i].n_kernels; k++) {
            if (p->ops[i].kernels[k].unit != ADEPT_UNIT_GEMM) continue;
            whole += (double)p->ops[i].count * p->ops[i].kernels[k].flops;
            parts += (double)x.ops[i].count * x.ops[i].kernels[k].flops * 16;
        }
    assert_true(parts > whole * 0.999 && parts < whole * 1.001); /* rotary positions are whole on all */
    adept_partition_free(&x);
    /* the vocabulary of GPT-2 is padded */
    adept_profile *gpt = walk("gpt-2", ADEPT_PURE_BF16);
    x = split(gpt, &(adept_mesh_words){.tp = 4});
    has(kernel_of(&x, "lm_head", 0), B * S, 12565, 768);
    adept_partition_free(&x);
    adept_profile_free(gpt);
    adept_profile_free(p);
}

/* Korthikanti, 2205.05198, table 2, and what a Llama keeps where kernels are fused: bytes of a block by s*b*h. */
static void kept_bytes_are_those_of_the_closed_forms(void **state)
{
    (void)state;
    enum { SEQ = 1024, HIDDEN = 1024, HEADS = 16, FFN = 3072 };
    const double sbh = SEQ * B * HIDDEN, scores = 5.0 * HEADS * SEQ / HIDDEN, statistics = 1.001;
    const struct {
        int64_t tp;
        bool sp;
        double bytes, core;
    } cases[] = {{0, false, 34 + scores, scores},
                 {4, false, 10 + (24 + scores) / 4, scores / 4},
                 {4, true, (34 + scores) / 4, scores / 4}};
    adept_profile *p = walk_with(
        "adept:gpt2?layers=3&hidden=1024&heads=16&ffn=4096&vocab=50304",
        &(adept_workload_config){.precision = ADEPT_PURE_FP16, .seq_length = SEQ, .attention = ADEPT_ATTENTION_EAGER});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_partition x =
            split(p, &(adept_mesh_words){.tp = cases[i].tp, .sp = cases[i].sp, .trainer = ADEPT_TRAINER_MEGATRON});
        const double kept = x.blocks[2].saved_bytes / sbh;
        if (kept < cases[i].bytes || kept > statistics * cases[i].bytes) fail_msg("%g, not %g", kept, cases[i].bytes);
        near(x.blocks[2].core_bytes / sbh, cases[i].core);
        near(x.blocks[2].input_bytes, 2 * sbh / (cases[i].sp ? 4 : 1)); /* all that full recomputation keeps */
        adept_partition_free(&x);
    }
    adept_profile_free(p);
    /* 8h for two norms and what they make, 2 (2a + 2k) d for queries, keys, values and results, 6f for the gated
     * feed-forward */
    p = walk_with("adept:llama?layers=3&hidden=1024&heads=16&kv_heads=4&ffn=3072&vocab=50304",
                  &(adept_workload_config){.precision = ADEPT_PURE_BF16, .seq_length = SEQ});
    adept_partition x = split(p, &(adept_mesh_words){.trainer = ADEPT_TRAINER_NEMO});
    const double form = SEQ * B * (8.0 * HIDDEN + 2.0 * (2 * HEADS + 2 * 4) * 64 + 6.0 * FFN),
                 kept = x.blocks[2].saved_bytes;
    if (kept < form || kept > 1.005 * form) fail_msg("%g, not %g", kept, form);
    adept_partition_free(&x);
    /* eager PyTorch keeps more: FP32 copies in norms, and the activation's result */
    x = split(p, &(adept_mesh_words){.tp = 2});
    assert_true(x.blocks[2].saved_bytes > 1.2 * form / 2);
    adept_partition_free(&x);
    adept_profile_free(p);
}

static void what_cannot_be_split_names_itself(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        adept_mesh_words words;
        adept_attention attention;
        const char *message;
    } cases[] = {
        {"gpt-2-xl",
         {.tp = 2},
         ADEPT_ATTENTION_AUTO,
         "aten::addmm of transformer.h.0.attn.c_attn: what it makes, or its heads, cannot be shared by tp 2"},
        {"llama-3-8b", {.gpus = 4, .ep = 4}, ADEPT_ATTENTION_AUTO, "ep 4: this model has no grouped products"},
        {"llama-3-8b", {.cp = 2}, ADEPT_ATTENTION_EAGER, "context parallel needs fused attention"},
        {"adept:llama?layers=2&hidden=96&heads=6&kv_heads=6&ffn=99&vocab=1000",
         {.tp = 2},
         ADEPT_ATTENTION_AUTO,
         "aten::linear of model.layers.0.mlp.gate_proj"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_profile *p = walk_with(cases[i].model, &(adept_workload_config){.attention = cases[i].attention});
        adept_mesh mesh;
        adept_partition x;
        adept_error err = {0};
        assert_int_equal(adept_mesh_of(&mesh, &cases[i].words, p, &err), ADEPT_OK);
        assert_int_equal(adept_partition_new(&x, p, &mesh, &err), ADEPT_E_USAGE);
        if (!strstr(err.message, cases[i].message)) fail_msg("%s", err.message);
        adept_partition_free(&x);
        adept_profile_free(p);
    }
}

/* ---- words ---- */

static void words_add_up(void **state)
{
    (void)state;
    adept_mesh m;
    adept_error err = {0};
    const adept_profile p = {.batch_size = 2, .grad_accum = 1};
    assert_int_equal(
        adept_mesh_of(&m, &(adept_mesh_words){.gpus = 64, .tp = 4, .pp = 2, .cp = 2, .global_batch = 64, .zero = 2}, &p,
                      &err),
        ADEPT_OK);
    assert_true(m.dp == 4 && m.micro_batch == 2 && m.micro_batches == 8 && m.global_batch == 64 && m.shard == 8);
    assert_int_equal(m.sharding, ADEPT_SHARDED_OPTIMIZER);
    assert_int_equal(
        adept_mesh_of(&m, &(adept_mesh_words){.dp = 4, .tp = 2, .fsdp = adept_sized(ADEPT_FSDP_HYBRID, 2)}, NULL, &err),
        ADEPT_OK);
    assert_true(m.gpus == 8 && m.shard == 2 && m.sharding == ADEPT_SHARDED_PARAMETERS && !m.plain);
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.dp = 4}, NULL, &err), ADEPT_OK);
    assert_true(m.plain && m.gpus == 4);
    /* experts of 16 GPUs, where tensor parallel ones have 4 each of their own; and where all share each expert */
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.gpus = 32, .tp = 4, .sp = true, .ep = 16}, NULL, &err),
                     ADEPT_OK);
    assert_true(m.ep == 16 && m.expert_parts == 4 && m.dp == 8);
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.gpus = 32, .tp = 4, .sp = true, .ep = 8}, NULL, &err),
                     ADEPT_OK);
    assert_true(m.ep == 8 && m.expert_parts == 8);
    static const struct {
        adept_mesh_words words;
        const char *message;
    } refused[] = {
        {{.gpus = 64, .tp = 6}, "64 GPUs are not a multiple of tp 6"},
        {{.gpus = 64, .dp = 3, .tp = 8}, "dp 3 x tp 8 x pp 1 x cp 1 is not 64 GPUs: that would be dp 8"},
        {{.gpus = 32, .tp = 4, .ep = 16}, "ep 16 lies inside dp x cp, and does not divide 8"}, /* without sp */
        {{.gpus = 8, .ep = 3}, "ep 3 lies inside dp x cp, and does not divide 8"},
        {{.gpus = 8, .sp = true}, "sp needs tp"},
        {{.gpus = 8, .global_batch = 12}, "global_batch 12 is not a multiple of batch 2 x dp 8"},
        {{.gpus = 8, .fsdp = ADEPT_FSDP_FULL, .zero = 3}, "fsdp full and zero 2 differ"},
        {{.fsdp = ADEPT_FSDP_FULL}, "shard over replicas"},
        {{.gpus = 8, .fsdp = ADEPT_FSDP_HYBRID | 3 << 4}, "hybrid:3"},
        {{.gpus = 8, .virtual_stages = 2}, "need a pipeline"},
        {{.gpus = 8, .pp = 2, .schedule = ADEPT_PIPELINE_INTERLEAVED}, "needs virtual_stages"},
        {{.gpus = 8, .pp = 4, .virtual_stages = 2, .global_batch = 12}, "as many passes (3) as stages (pp 4)"},
        {{.gpus = 8, .pp = 2, .virtual_stages = 2, .schedule = ADEPT_PIPELINE_ZBV}, "has its own parts"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(adept_mesh_of(&m, &refused[i].words, &p, &err), ADEPT_E_USAGE);
        if (!strstr(err.message, refused[i].message)) fail_msg("%s", err.message);
    }
    const adept_profile twice = {.batch_size = 2, .grad_accum = 2},
                        infers = {.batch_size = 2, .mode = ADEPT_MODE_INFER};
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.gpus = 8, .global_batch = 16}, &twice, &err),
                     ADEPT_E_USAGE);
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.gpus = 8, .global_batch = 32}, &twice, &err), ADEPT_OK);
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.gpus = 8, .zero = 2}, &infers, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_mesh_of(&m, &(adept_mesh_words){.tp = 8}, &infers, &err), ADEPT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_add_up),
        cmocka_unit_test(tensor_parallel_sends),
        cmocka_unit_test(context_parallel_sends),
        cmocka_unit_test(expert_parallel_sends),
        cmocka_unit_test(kernels_have_their_own_dimensions),
        cmocka_unit_test(kept_bytes_are_those_of_the_closed_forms),
        cmocka_unit_test(what_cannot_be_split_names_itself),
        cmocka_unit_test(words_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Models that adept builds of a config.json: parameters against what is published, multiply-adds against closed forms,
 * words of adept:FAMILY?key=value, and hostile keys, which end in one line with file and key. */
#include "adept_append.h"
#include "adept_file.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_profile.h"
#include "cmocka_test.h"
#include <cjson/cJSON.h>
#include <dirent.h>

#define B 2.0
#define S 16.0
#define T (B * S) /* tokens */

static adept_graph *open_model(const char *name)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_error err = {0};
    adept_graph *g = NULL;
    if (adept_models_path(path, name, &err) != ADEPT_OK || adept_import_model(&g, path, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return g;
}

static adept_profile *walk(const adept_graph *g, const adept_workload_config *given)
{
    adept_workload_config own = *given, *config = &own;
    adept_profile *p = NULL;
    if (g->hint_seq_length == 0) own.seq_length = 0; /* of images */
    adept_error err = {0};
    if (adept_profile_build(&p, g, adept_handlers(), config, NULL, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return p;
}

static const adept_workload_config small = {.mode = ADEPT_MODE_INFER, .batch_size = 2, .seq_length = 16};

/* ---- closed forms of one forward pass, by the sizes alone ---- */

/* Attention of a layer: projections to H heads of width D from h, K heads of keys and values, scores and what they
 * weigh. */
static double attend(double h, double H, double K, double D)
{
    return T * h * (H + 2 * K) * D + T * H * D * h + 2 * B * H * S * S * D;
}

/* Angles of rotary positions, once: r/2 frequencies by S positions. */
static double angles(double r)
{
    return r / 2 * S;
}

static double gated(double h, double f)
{
    return 3 * T * h * f;
}

static double experts(double h, double n, double k, double f, double shared)
{
    return T * h * n + k * gated(h, f) + gated(h, shared);
}

static double llama(double L, double h, double H, double K, double D, double f, double V)
{
    return L * (attend(h, H, K, D) + gated(h, f)) + T * h * V + angles(D);
}

/* Two products in place of the gate's three; r of each head's D numbers are rotated. */
static double plain(double L, double h, double H, double K, double D, double f, double V, double r)
{
    return L * (attend(h, H, K, D) + 2 * T * h * f) + T * h * V + angles(r);
}

static double mixture(double L, double h, double H, double K, double D, double V, double n, double k, double f,
                      double shared, double gates)
{
    return L * (attend(h, H, K, D) + experts(h, n, k, f, shared) + T * h * gates) + T * h * V + angles(D);
}

/* DeepSeek: q over rank q (0: none), keys and values over rank c, widths of a head 128 + 64 and 128. */
static double latent(double L, double dense, double h, double H, double q, double c, double V, double f, double n,
                     double k, double fe, double shared)
{
    double query = q > 0 ? T * (h * q + q * H * 192) : T * h * H * 192;
    double attention = query + T * (h * (c + 64) + c * H * 256) + T * H * 128 * h + B * H * S * S * (192 + 128);
    return L * attention + dense * gated(h, f) + (L - dense) * experts(h, n, k, fe, shared) + T * h * V + angles(64);
}

static double bert(double L, double h, double H)
{
    return L * (attend(h, H, H, h / H) + 2 * T * h * 4 * h) + T * h * h + T * h * 30522;
}

static double vit(double L, double h, double H)
{
    double rows = B * 197, scores = 2 * B * H * 197 * 197 * (h / H);
    return B * 196 * 768 * h + L * (4 * rows * h * h + scores + 8 * rows * h * h) + B * h * 1000;
}

static double t5(double f, double products)
{
    double h = 768, layer = attend(h, 12, 12, 64), cross = layer, ffn = products * T * h * f;
    return 12 * (layer + ffn) + 12 * (layer + cross + ffn) + T * h * 32128;
}

/* Parameters as the model cards and safetensors of these models have them; data/configs/README.md names the sources. */
static const struct {
    const char *name;
    int64_t params;
} published[] = {
    {"bert-base", 109514298},
    {"bert-large", 335174458},
    {"deepseek-v2", 235741434880},
    {"deepseek-v2-lite", 15706484224},
    {"deepseek-v3", 671026419200},
    {"gemma-2-9b", 9241705984},
    {"gemma-3-1b", 999885952},
    {"gemma-7b", 8537680896},
    {"gpt-2", 124439808},
    {"gpt-2-xl", 1557611200},
    {"gpt-neox-20b", 20554567680},
    {"llama-2-7b", 6738415616},
    {"llama-2-13b", 13015864320},
    {"llama-2-70b", 68976648192},
    {"llama-3-8b", 8030261248},
    {"llama-3-70b", 70553706496},
    {"llama-3.1-8b", 8030261248},
    {"llama-3.1-70b", 70553706496},
    {"llama-3.1-405b", 405853388800},
    {"mistral-7b", 7241732096},
    {"mixtral-8x7b", 46702792704},
    {"mixtral-8x22b", 140620634112},
    {"mpt-7b", 6649286656},
    {"nemotron-4-15b", 0}, /* the paper rounds to 15 billion */
    {"nemotron-4-340b", 0},
    {"opt-1.3b", 1315758080},
    {"opt-175b", 0},
    {"phi-2", 2779683840},
    {"phi-3-mini", 3821079552},
    {"pythia-6.9b", 6857302016},
    {"qwen1.5-moe-a2.7b", 14315784192},
    {"qwen2-7b", 7615616512},
    {"qwen2.5-72b", 72706203648},
    {"qwen3-8b", 8190735360},
    {"qwen3-32b", 32762123264},
    {"qwen3-30b-a3b", 30532122624},
    {"qwen3-235b-a22b", 235093634560},
    {"t5-base", 222903552},
    {"t5-v1.1-base", 247577856},
    {"vit-b-16", 86567656},
    {"vit-l-16", 304326632},
};

static void published_parameters(void **state)
{
    (void)state;
    char folder[ADEPT_MODULE_PATH_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        adept_graph *g = open_model(published[i].name);
        int64_t params = 0;
        for (size_t k = 0; k < g->n_params; k++)
            if (!g->params[k].is_buffer) params += (int64_t)adept_dims_elements(g->params[k].ndim, g->params[k].dims);
        if (published[i].params && params != published[i].params)
            print_error("%s: %lld parameters, published are %lld\n", published[i].name, (long long)params,
                        (long long)published[i].params);
        if (published[i].params) assert_int_equal(params, published[i].params);
        adept_graph_free(g);
    }
    assert_true(adept_configs_folder(folder));
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *file; (file = readdir(listing));)
        n += strstr(file->d_name, ".json") != NULL;
    closedir(listing);
    assert_int_equal(n, sizeof published / sizeof *published); /* a bundled configuration that nobody checks */
}

static void closed_forms(void **state)
{
    (void)state;
    const struct {
        const char *name;
        double macs;
    } forms[] = {
        {"llama-3-8b", llama(32, 4096, 32, 8, 128, 14336, 128256)},
        {"llama-3.1-405b", llama(126, 16384, 128, 8, 128, 53248, 128256)},
        {"mistral-7b", llama(32, 4096, 32, 8, 128, 14336, 32000)},
        {"qwen2-7b", llama(28, 3584, 28, 4, 128, 18944, 152064)},
        {"qwen3-32b", llama(64, 5120, 64, 8, 128, 25600, 151936)},
        {"gemma-7b", llama(28, 3072, 16, 16, 256, 24576, 256000)},
        {"gemma-2-9b", llama(42, 3584, 16, 8, 256, 14336, 256000)},
        {"gemma-3-1b", llama(26, 1152, 4, 1, 256, 6912, 262144)},
        {"phi-3-mini", llama(32, 3072, 32, 32, 96, 8192, 32064)},
        {"phi-2", plain(32, 2560, 32, 32, 80, 10240, 51200, 32)},
        {"gpt-neox-20b", plain(44, 6144, 64, 64, 96, 24576, 50432, 24)},
        {"nemotron-4-15b", plain(32, 6144, 48, 8, 128, 24576, 256000, 64)},
        {"gpt-2", plain(12, 768, 12, 12, 64, 3072, 50257, 0)},
        {"opt-1.3b", plain(24, 2048, 32, 32, 64, 8192, 50272, 0)},
        {"mpt-7b", plain(32, 4096, 32, 32, 128, 16384, 50432, 0)},
        {"mixtral-8x7b", mixture(32, 4096, 32, 8, 128, 32000, 8, 2, 14336, 0, 0)},
        {"qwen3-30b-a3b", mixture(48, 2048, 32, 4, 128, 151936, 128, 8, 768, 0, 0)},
        {"qwen1.5-moe-a2.7b", mixture(24, 2048, 16, 16, 128, 151936, 60, 4, 1408, 5632, 1)},
        {"deepseek-v2-lite", latent(27, 1, 2048, 16, 0, 512, 102400, 10944, 64, 6, 1408, 2 * 1408)},
        {"deepseek-v2", latent(60, 1, 5120, 128, 1536, 512, 102400, 12288, 160, 6, 1536, 2 * 1536)},
        {"deepseek-v3", latent(61, 3, 7168, 128, 1536, 512, 129280, 18432, 256, 8, 2048, 2048)},
        {"bert-base", bert(12, 768, 12)},
        {"bert-large", bert(24, 1024, 16)},
        {"vit-b-16", vit(12, 768, 12)},
        {"vit-l-16", vit(24, 1024, 16)},
        {"t5-base", t5(3072, 2)},
        {"t5-v1.1-base", t5(2048, 3)},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        adept_graph *g = open_model(forms[i].name);
        adept_profile *p = walk(g, &small);
        if (p->totals.macs_forward != forms[i].macs)
            print_error("%s: %.0f multiply-adds, %.0f by hand\n", forms[i].name, p->totals.macs_forward, forms[i].macs);
        assert_true(p->totals.macs_forward == forms[i].macs);
        adept_profile_free(p);
        adept_graph_free(g);
    }
}

/* The same models as PyTorch traced them: parameters and products are equal to the FLOP, forward and backward. */
static void traced_models(void **state)
{
    (void)state;
    static const struct {
        const char *traced, *built;
    } pairs[] = {
        {"llama3_8b", "llama-3-8b"},
        {"gpt2", "gpt-2"},
        {"gpt2_xl", "gpt-2-xl"},
        {"opt_13", "opt-1.3b"},
        {"t5_base", "t5-base"},
        {"vit_b_16", "vit-b-16"},
        {"bert_base_qa", "adept:bert?head=ForQuestionAnswering"},
        {"bert_large_pretrain", "adept:bert-large?head=ForPreTraining"},
        {"tinyllama_1.1b", "adept:llama?layers=22&hidden=2048&heads=32&kv_heads=4&ffn=5632&vocab=32000"},
        {"qwen2.5_3b", "adept:qwen2?layers=36&hidden=2048&heads=16&kv_heads=2&ffn=11008&vocab=151936&tied=true"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char path[ADEPT_MODULE_PATH_BYTES];
        adept_error err = {0};
        adept_graph *traced = NULL, *built = open_model(pairs[i].built);
        adept_workload_config recorded = {0},
                              config = {.mode = ADEPT_MODE_FWBW, .attention = ADEPT_ATTENTION_FUSED, .batch_size = 2};
        assert_int_equal(adept_models_path(path, pairs[i].traced, &err), ADEPT_OK);
        assert_int_equal(adept_saved_read(&traced, &recorded, path, 0, &err), ADEPT_OK);
        adept_profile *a = walk(traced, &config);
        if (strcmp(pairs[i].traced, "t5_base")) config.seq_length = a->tokens_per_sample;
        adept_input_spec specs[2];
        for (size_t k = 0; k < a->n_inputs && k < 2; k++) /* T5's two sequences have lengths of their own */
            assert_int_equal(adept_input_spec_parse(&specs[k], a->inputs[k].shape, &err), ADEPT_OK);
        if (!strcmp(pairs[i].traced, "t5_base"))
            config.inputs = specs, config.n_inputs = a->n_inputs, config.batch_size = 0;
        adept_profile *b = walk(built, &config);
        assert_int_equal(a->params, b->params);
        for (int pass = 0; pass < 2; pass++) {
            if (a->totals.gemm_flops[pass] != b->totals.gemm_flops[pass])
                print_error("%s: %.0f, not %.0f\n", pairs[i].built, b->totals.gemm_flops[pass],
                            a->totals.gemm_flops[pass]);
            assert_true(a->totals.gemm_flops[pass] == b->totals.gemm_flops[pass]);
            assert_true(a->totals.conv_flops[pass] == b->totals.conv_flops[pass]);
        }
        adept_profile_free(a), adept_profile_free(b);
        adept_graph_free(traced), adept_graph_free(built);
    }
}

/* A training step runs twice the forward products once more backward, and its layers repeat. */
static void every_one_trains(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        adept_workload_config config = small;
        adept_graph *g = open_model(published[i].name);
        config.mode = ADEPT_MODE_TRAIN;
        config.precision = i % 2 ? ADEPT_PURE_BF16 : ADEPT_AMP_BF16;
        adept_profile *p = walk(g, &config);
        assert_true(p->totals.gemm_flops[ADEPT_BACKWARD] > 1.9 * p->totals.gemm_flops[ADEPT_FORWARD]);
        assert_int_equal(p->params - p->trainable_params,
                         strcmp(published[i].name, "deepseek-v3") ? 0 : 58 * 256); /* biases of its routers */
        int64_t longest = 0;
        for (size_t k = 0; k < p->program.n_repeats; k++)
            if (p->program.repeats[k].times > longest) longest = p->program.repeats[k].times;
        if (longest < 8) print_error("%s: its layers repeat %lld times\n", published[i].name, (long long)longest);
        assert_true(longest >= 8);
        adept_profile_free(p);
        adept_graph_free(g);
    }
}

/* ---- words ---- */

static double params_of(const char *spec)
{
    adept_graph *g = open_model(spec);
    double params = 0;
    for (size_t k = 0; k < g->n_params; k++)
        if (!g->params[k].is_buffer) params += adept_dims_elements(g->params[k].ndim, g->params[k].dims);
    adept_graph_free(g);
    return params;
}

static void words(void **state)
{
    (void)state;
    assert_true(params_of("adept:llama") == 8030261248);
    assert_true(params_of("adept:llama?layers=80&hidden=8192") == 70553706496);
    assert_true(
        params_of("adept:llama?num_hidden_layers=80&hidden_size=8192&heads=64&kv_heads=8&ffn=28672&vocab=128256") ==
        70553706496);
    assert_true(params_of("adept:llama-3.1-405b?layers=1") == 2 * 16384.0 * 128256 + 16384 + 16384.0 * 16384 * 2 +
                                                                  2 * 16384.0 * 1024 + 3 * 16384.0 * 53248 + 2 * 16384);
    assert_true(params_of("adept:llama?tied=true") == 8030261248 - 525336576.0);
    assert_true(params_of("adept:bert?head=none") == 109482240);
    assert_true(params_of("adept:bert?head=ForPreTraining") == 110106428);
    assert_true(params_of("adept:bert?head=ForQuestionAnswering") == 108893186);
    assert_true(params_of("adept:vit?head=none") == 86389248);
    assert_true(params_of("adept:opt?num_hidden_layers=24&hidden_size=1024&heads=16&ffn=4096&word_embed_proj_dim=512&"
                          "do_layer_norm_before=false") == 331196416);
}

static adept_status refused(adept_error *err, const char *spec)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_graph *g = NULL;
    *err = (adept_error){0};
    adept_status status = adept_models_path(path, spec, err);
    if (status == ADEPT_OK) status = adept_import_model(&g, path, NULL, err);
    adept_graph_free(g);
    return status;
}

static void refused_words(void **state)
{
    (void)state;
    adept_error err;
    assert_int_equal(refused(&err, "adept:lama?layers=2"), ADEPT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "llama, mistral"));
    assert_int_equal(refused(&err, "adept:llama?layrs=2"), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "did you mean 'layers'"));
    assert_int_equal(refused(&err, "adept:llama?layers=2&layers=3"), ADEPT_E_USAGE);
    assert_int_equal(refused(&err, "adept:llama?layers"), ADEPT_E_USAGE);
    assert_int_equal(refused(&err, "adept:llama?layers=1e9"), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "layers"));
    assert_int_equal(refused(&err, "adept:llama?hidden=1000"), ADEPT_E_INVALID);
    assert_int_equal(refused(&err, "adept:llama?heads=33"), ADEPT_E_INVALID);
    assert_int_equal(refused(&err, "adept:llama?layers=2&num_hidden_layers=3"), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "contradict"));
    assert_int_equal(refused(&err, "adept:llama?loss=mean"), ADEPT_E_INVALID);
    assert_int_equal(refused(&err, "llama-3-8"), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "did you mean llama-3-8b?"));
}

/* The loss is there in training alone, and may be left out. */
static void loss_of_training(void **state)
{
    (void)state;
    adept_graph *with = open_model("adept:llama?layers=2"), *without = open_model("adept:llama?layers=2&loss=none");
    adept_workload_config train = small;
    train.mode = ADEPT_MODE_FWBW;
    adept_profile *a = walk(with, &small), *b = walk(without, &small), *c = walk(with, &train),
                  *d = walk(without, &train);
    assert_true(a->totals.bytes_read[0] == b->totals.bytes_read[0]);
    assert_true(c->totals.bytes_read[0] >= d->totals.bytes_read[0] + 4 * T * 128256);
    assert_true(c->totals.gemm_flops[1] == d->totals.gemm_flops[1]);
    adept_profile_free(a), adept_profile_free(b), adept_profile_free(c), adept_profile_free(d);
    adept_graph_free(with), adept_graph_free(without);
}

static bool warns(const adept_profile *p, const char *text)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], text)) return true;
    return false;
}

static adept_status import_text(adept_graph **g, const char *text, adept_error *err)
{
    *err = (adept_error){0};
    return adept_config_import(g, "hostile.json", text, strlen(text), 0, err);
}

static void notes(void **state)
{
    (void)state;
    static const char text[] = "{\"model_type\":\"mistral\",\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_"
                               "heads\":4,\"intermediate_size\":128,"
                               "\"vocab_size\":100,\"sliding_window\":8,\"quantization_config\":{\"bits\":4},\"rope_"
                               "scaling\":{\"factor\":8.0},\"nap\":NaN,"
                               "\"torch_dtype\":\"bfloat16\",\"bandwidth_of_gate\":3,\"use_cache\":true}";
    adept_graph *g = NULL;
    adept_error err;
    assert_int_equal(import_text(&g, text, &err), ADEPT_OK);
    adept_profile *p = walk(g, &small),
                  *q = walk(g, &(adept_workload_config){.mode = ADEPT_MODE_INFER, .batch_size = 1, .seq_length = 8});
    adept_profile *r = walk(g, &(adept_workload_config){.mode = ADEPT_MODE_INFER});
    assert_true(warns(p, "sliding_window 8"));
    assert_false(warns(q, "sliding_window 8"));
    assert_true(warns(p, "quantization_config"));
    assert_true(warns(p, "\"nap\", \"bandwidth_of_gate\""));
    assert_false(warns(p, "rope_scaling"));
    assert_false(warns(p, "torch_dtype"));
    assert_false(warns(p, "by default"));
    assert_true(warns(r, "batch 1 of 2048 tokens by default"));
    adept_profile_free(p), adept_profile_free(q), adept_profile_free(r);
    adept_graph_free(g);
}

/* Keys as files of the hub have them: none of them is worth a warning of its own. */
static void usual_keys(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"architectures\":[\"BertForMaskedLM\"],\"model_type\":\"bert\",\"attention_probs_dropout_prob\":0.1,"
        "\"gradient_checkpointing\":false,"
        "\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,\"hidden_size\":64,\"initializer_range\":0.02,"
        "\"intermediate_size\":128,"
        "\"layer_norm_eps\":1e-12,\"max_position_embeddings\":512,\"num_attention_heads\":4,\"num_hidden_layers\":2,"
        "\"pad_token_id\":0,"
        "\"position_embedding_type\":\"absolute\",\"transformers_version\":\"4.6.0.dev0\",\"type_vocab_size\":2,\"use_"
        "cache\":true,\"vocab_size\":99}",
        "{\"architectures\":[\"MPTForCausalLM\"],\"model_type\":\"mpt\",\"attn_config\":{\"alibi\":true,\"attn_impl\":"
        "\"torch\",\"attn_pdrop\":0,"
        "\"attn_type\":\"multihead_attention\",\"clip_qkv\":null},\"auto_map\":{\"AutoConfig\":\"x.MPTConfig\"},\"d_"
        "model\":64,\"emb_pdrop\":0,"
        "\"embedding_fraction\":1.0,\"expansion_ratio\":4,\"init_config\":{\"name\":\"kaiming_normal_\"},\"init_"
        "device\":\"cpu\","
        "\"learned_pos_emb\":true,\"logit_scale\":null,\"max_seq_len\":2048,\"n_heads\":4,\"n_layers\":2,\"no_bias\":"
        "true,"
        "\"norm_type\":\"low_precision_layernorm\",\"resid_pdrop\":0,\"tokenizer_name\":\"EleutherAI/"
        "gpt-neox-20b\",\"torch_dtype\":\"bfloat16\","
        "\"use_cache\":false,\"verbose\":0,\"vocab_size\":99}",
        "{\"architectures\":[\"Phi3ForCausalLM\"],\"model_type\":\"phi3\",\"attention_bias\":false,\"attention_"
        "dropout\":0.0,\"auto_map\":{},"
        "\"bos_token_id\":1,\"embd_pdrop\":0.0,\"eos_token_id\":1,\"full_attn_mod\":1,\"hidden_act\":\"silu\",\"hidden_"
        "size\":64,"
        "\"interpolate_factor\":1,\"intermediate_size\":128,\"lm_head_bias\":false,\"max_position_embeddings\":4096,"
        "\"mlp_bias\":false,"
        "\"num_attention_heads\":4,\"num_hidden_layers\":2,\"num_key_value_heads\":2,\"original_max_position_"
        "embeddings\":4096,"
        "\"partial_rotary_factor\":0.75,\"resid_pdrop\":0.0,\"rms_norm_eps\":1e-5,\"rope_scaling\":{\"type\":"
        "\"longrope\"},\"rope_theta\":1e4,"
        "\"sliding_window\":262144,\"tie_word_embeddings\":true,\"use_cache\":true,\"vocab_size\":99}",
        "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],\"model_type\":\"gemma3\",\"mm_tokens_per_image\":256,"
        "\"vision_config\":{},"
        "\"text_config\":{\"hidden_size\":2560,\"intermediate_size\":10240,\"model_type\":\"gemma3_text\",\"num_hidden_"
        "layers\":8,"
        "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"},\"sliding_window\":1024}}",
        "{\"model_type\":\"nemotron\",\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,"
        "\"intermediate_size\":128,"
        "\"vocab_size\":99,\"dtype\":\"bfloat16\",\"rope_parameters\":{\"rope_type\":\"default\",\"partial_rotary_"
        "factor\":0.25}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        adept_graph *g = NULL;
        adept_error err;
        if (import_text(&g, texts[i], &err) != ADEPT_OK) fail_msg("%s", err.message);
        adept_profile *p = walk(g, &small);
        for (size_t k = 0; k < p->n_warnings; k++)
            if (strstr(p->warnings[k], "does not know")) fail_msg("%zu: %s", i, p->warnings[k]);
        if (i == 4)
            assert_true(p->totals.macs_forward == plain(2, 64, 4, 4, 16, 128, 99, 4)); /* a quarter of 16 is rotated */
        adept_profile_free(p);
        adept_graph_free(g);
    }
}

/* ---- hostile ---- */

static const char *const values[] = {"\"x\"",
                                     "-1",
                                     "0",
                                     "1e9",
                                     "1e300",
                                     "0.5",
                                     "null",
                                     "[]",
                                     "{}",
                                     "[[[[1]]]]",
                                     "{\"a\":{\"b\":[]}}",
                                     "true",
                                     "NaN",
                                     "-Infinity",
                                     "\"\\u0001\"",
                                     "33",
                                     "9007199254740993"};

/* A graph of odd sizes is still one that can be walked, unless these are too large. */
static void walk_or_say(const adept_graph *g, const char *what)
{
    const adept_workload_config config = {
        .mode = ADEPT_MODE_FWBW, .batch_size = 2, .seq_length = g->hint_seq_length ? 4 : 0};
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_status status = adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err);
    if (status != ADEPT_OK && (status == ADEPT_E_INTERNAL || !err.message[0] || strchr(err.message, '\n')))
        fail_msg("%s: %s", what, err.message);
    if (status != ADEPT_OK && !strstr(err.message, "large")) print_message("%s: %s\n", what, err.message);
    adept_profile_free(p);
}

/* One key of a small model of the family gets a value: it is refused in one line that names file and a key, or it runs.
 */
static void change(const char *name, const cJSON *root, const cJSON *item, size_t *n_refused)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        adept_buffer text = {0};
        char *printed = cJSON_PrintUnformatted(root), *own = cJSON_PrintUnformatted(item), key[100];
        snprintf(key, sizeof key, "\"%s\":", item->string);
        const char *at = strstr(printed, key);
        assert_non_null(at);
        adept_buffer_add(&text, printed, (size_t)(at - printed) + strlen(key));
        adept_buffer_text(&text, values[i]);
        adept_buffer_text(&text, at + strlen(key) + strlen(own));
        adept_buffer_add(&text, "", 1);
        adept_graph *g = NULL;
        adept_error err;
        adept_status status = import_text(&g, text.data, &err);
        bool fine =
            status == ADEPT_OK || ((status == ADEPT_E_INVALID || status == ADEPT_E_UNSUPPORTED) &&
                                   strncmp(err.message, "hostile.json: ", 14) == 0 && !strchr(err.message, '\n') &&
                                   (strchr(err.message, '"') || status == ADEPT_E_UNSUPPORTED));
        for (const char *c = err.message; *c && status != ADEPT_OK; c++)
            fine = fine && (unsigned char)*c >= ' ';
        if (!fine) fail_msg("%s: %s%s: %d: %s", name, key, values[i], (int)status, err.message);
        *n_refused += status != ADEPT_OK;
        if (status == ADEPT_OK && g->n_values < 20000) walk_or_say(g, text.data);
        adept_graph_free(g);
        adept_buffer_free(&text);
        free(printed);
        free(own);
    }
}

static void hostile_values(void **state)
{
    (void)state;
    static const char *const names[] = {
        "llama-3-8b",    "mistral-7b",  "qwen2-7b",    "qwen3-8b",      "gemma-7b",     "gemma-2-9b",
        "gemma-3-1b",    "phi-2",       "phi-3-mini",  "gpt-2",         "gpt-neox-20b", "mpt-7b",
        "opt-1.3b",      "bert-base",   "vit-b-16",    "t5-base",       "mixtral-8x7b", "qwen1.5-moe-a2.7b",
        "qwen3-30b-a3b", "deepseek-v2", "deepseek-v3", "nemotron-4-15b"};
    static const char *const layers[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
    size_t n_refused = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[ADEPT_MODULE_PATH_BYTES], *text;
        size_t size;
        adept_error err = {0};
        assert_int_equal(adept_models_path(path, names[i], &err), ADEPT_OK);
        assert_int_equal(adept_file_read(&text, &size, path, 1 << 20, &err), ADEPT_OK);
        cJSON *root = cJSON_Parse(text);
        for (size_t k = 0; k < sizeof layers / sizeof *layers; k++)
            if (cJSON_GetObjectItemCaseSensitive(root, layers[k]))
                cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(root, layers[k]), 3);
        for (const cJSON *item = root->child; item; item = item->next)
            change(names[i], root, item, &n_refused);
        cJSON_Delete(root);
        free(text);
    }
    assert_true(n_refused > 2000);
}

static void hostile_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        adept_status status;
    } cases[] = {
        {"{}", "\"model_type\" is missing", ADEPT_E_INVALID},
        {"[]", "no object", ADEPT_E_INVALID},
        {"{\"model_type\":7}", "\"model_type\" is not a string", ADEPT_E_INVALID},
        {"{\"model_type\":\"mamba\"}", "it builds bert, deepseek_v2", ADEPT_E_UNSUPPORTED},
        {"{\"model_type\":\"llama\"}", "\"num_hidden_layers\" is missing", ADEPT_E_INVALID},
        {"{\"model_type\":\"gemma3\"}", "\"text_config\" is missing", ADEPT_E_INVALID},
        {"{\"model_type\":\"gemma3\",\"text_config\":[1]}", "\"text_config\" is not an object", ADEPT_E_INVALID},
        {"{\"model_type\":\"llama\",\"model_type\":\"bert\"}", "twice", ADEPT_E_INVALID},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":1000000000}", "\"num_hidden_layers\" is 1000000000",
         ADEPT_E_INVALID},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":2,\"hidden_size\":65,\"num_attention_heads\":2,"
         "\"intermediate_size\":4,\"vocab_size\":4}",
         "\"head_dim\" is missing", ADEPT_E_INVALID},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":2,\"n_layers\":3}", "contradict", ADEPT_E_INVALID},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":4000,\"hidden_size\":1000000,\"num_attention_heads\":10000,"
         "\"head_dim\":100000,"
         "\"intermediate_size\":8000000,\"vocab_size\":16000000}",
         "parameters, more than", ADEPT_E_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_graph *g = NULL;
        adept_error err;
        adept_status status = import_text(&g, cases[i].text, &err);
        if (status != cases[i].status || !strstr(err.message, cases[i].says))
            fail_msg("%s: %d: %s", cases[i].text, (int)status, err.message);
        adept_graph_free(g);
    }
    adept_buffer deep = {0};
    adept_error err;
    adept_graph *g = NULL;
    adept_buffer_text(&deep, "{\"model_type\":\"llama\",\"x\":");
    for (int i = 0; i < 100000; i++)
        adept_buffer_add(&deep, "[", 1);
    adept_buffer_add(&deep, "", 1);
    assert_int_equal(import_text(&g, deep.data, &err), ADEPT_E_INVALID);
    assert_null(strchr(err.message, '\n'));
    adept_buffer_free(&deep);
}

/* What a file is, is said by its keys: not by the order they have, and a saved profile stays one. */
static void detected(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        adept_file_format format;
    } files[] = {
        {"a.json", "{\"id2label\":{\"0\":\"kind\"},\"model_type\" : \"bert\"}", ADEPT_FORMAT_CONFIG},
        {"a.json", "{\"x\":{\"model_type\":1},\"kind\":\"adept profile\"}", ADEPT_FORMAT_PROFILE},
        {"a.json", "{\"x\":\"model_type\"}", ADEPT_FORMAT_PROFILE},
        {"folder/config.json", "{\"hidden_size\":3}", ADEPT_FORMAT_CONFIG},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        adept_file_format format;
        assert_int_equal(adept_file_detect(&format, files[i].name, files[i].text, strlen(files[i].text), NULL),
                         ADEPT_OK);
        assert_int_equal(format, files[i].format);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_parameters), cmocka_unit_test(closed_forms),  cmocka_unit_test(traced_models),
        cmocka_unit_test(every_one_trains),     cmocka_unit_test(words),         cmocka_unit_test(refused_words),
        cmocka_unit_test(loss_of_training),     cmocka_unit_test(notes),         cmocka_unit_test(usual_keys),
        cmocka_unit_test(hostile_values),       cmocka_unit_test(hostile_texts), cmocka_unit_test(detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

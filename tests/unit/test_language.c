/* Language models: published parameter counts, FLOPs against the closed form of a decoder, tied weights, other lengths.
 */
#include "bundled_models.h"
#include "adept_handlers.h"
#include "adept_profile.h"
#include "cmocka_test.h"

/* The model read last: libtorch takes its time, and most tests profile one model several times. */
static adept_graph *cached;
static char cached_name[64];

static const adept_graph *graph_of(const char *name)
{
    char path[600];
    if (cached && !strcmp(cached_name, name)) return cached;
    adept_graph_free(cached);
    cached = NULL;
    snprintf(path, sizeof path, ADEPT_SOURCE_DIR "/data/models/%s.pt", name);
    snprintf(cached_name, sizeof cached_name, "%s", name);
    cached = bundled_graph(path);
    return cached;
}

static int forget_graph(void **state)
{
    (void)state;
    adept_graph_free(cached);
    cached = NULL;
    return 0;
}

static adept_profile *profile_of(const char *name, const char *input, int64_t batch, adept_attention attention)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_input_spec spec;
    adept_workload_config config = {.batch_size = batch, .attention = attention};
    if (input) {
        assert_int_equal(adept_input_spec_parse(&spec, input, &err), ADEPT_OK);
        config.inputs = &spec;
        config.n_inputs = 1;
    }
    if (adept_profile_build(&p, graph_of(name), adept_handlers(), &config, NULL, NULL, &err))
        fail_msg("%s", err.message);
    return p;
}

/* Counts of the Hugging Face checkpoints (model cards, config.json with num_parameters), except where the architecture
 * has no checkpoint: there the sum of its layers. */
static void parameter_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t params;
    } rows[] = {
        {"bert_base_qa", 108893186},       /* bert-base-uncased without pooler 108,891,648, and 768*2+2 */
        {"bert_large_seqcls", 335143938},  /* bert-large 335,141,888, and 1024*2+2 */
        {"bert_large_pretrain", 336226108},
        {"gpt2_large", 774030080},
        {"gpt2_xl", 1557611200},
        {"opt_13", 1315758080},
        {"llama3_8b", 8030261248},
        {"qwen2.5_0.5b", 494032768},
        {"qwen2.5_1.5b", 1543714304},
        {"qwen2.5_3b", 3085938688},
        {"t5_base", 222903552},
        /* V=50257, P=2048 positions: V*d + P*d + layers*(12 d^2 + 13 d) + 2 d */
        {"gpt3_xl", 50257LL * 3072 + 2048 * 3072 + 24 * (12LL * 3072 * 3072 + 13 * 3072) + 2 * 3072},
        {"gpt3_27", 50257LL * 2560 + 2048 * 2560 + 32 * (12LL * 2560 * 2560 + 13 * 2560) + 2 * 2560},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        adept_profile *p = profile_of(rows[i].name, NULL, 1, ADEPT_ATTENTION_AUTO);
        if (p->params != rows[i].params)
            fail_msg("%s: %lld parameters, published are %lld", rows[i].name, (long long)p->params,
                     (long long)rows[i].params);
        adept_profile_free(p);
    }
}

typedef struct decoder {
    const char *name;
    double layers, width, heads, kv_heads, head_width, ffn, ffn_matrices, vocabulary;
} decoder;

/* Forward MACs of a decoder for T = batch * length tokens:
 *   per layer and token, projections: q and o width*heads*head_width each, k and v width*kv_heads*head_width each,
 *     feed-forward ffn_matrices * width * ffn (3 for gated, 2 for plain);
 *   per layer and sequence, attention: scores and weighted sum, heads * length^2 * head_width each (masked half
 * included); per token, the head: width * vocabulary. Backward: twice that, because every product has both gradients
 * (the first one's input is the embedding, which learns). */
static double closed_form_macs(const decoder *d, double batch, double length)
{
    double projections = 2 * d->width * d->heads * d->head_width + 2 * d->width * d->kv_heads * d->head_width;
    double per_token = d->layers * (projections + d->ffn_matrices * d->width * d->ffn) + d->width * d->vocabulary;
    return batch * length * per_token + batch * d->layers * 2 * d->heads * length * length * d->head_width;
}

static void decoder_flops_have_a_closed_form(void **state)
{
    (void)state;
    static const decoder rows[] = {
        {"tinyllama_1.1b", 22, 2048, 32, 4, 64, 5632, 3, 32000}, {"llama3_8b", 32, 4096, 32, 8, 128, 14336, 3, 128256},
        {"qwen2.5_0.5b", 24, 896, 14, 2, 64, 4864, 3, 151936},   {"gpt2_large", 36, 1280, 20, 20, 64, 5120, 2, 50257},
        {"opt_13", 24, 2048, 32, 32, 64, 8192, 2, 50272},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int length = 128; length <= 512; length *= 4) {
            char input[40];
            snprintf(input, sizeof input, "i64:Bx%d", length);
            adept_profile *p = profile_of(rows[i].name, input, 3, ADEPT_ATTENTION_EAGER);
            double want = closed_form_macs(&rows[i], 3, length), got = p->totals.macs_forward;
            double backward = (p->totals.gemm_flops[ADEPT_BACKWARD] + p->totals.conv_flops[ADEPT_BACKWARD]) / 2;
            print_message("%s, length %d: forward %.6f, backward %.6f of the closed form\n", rows[i].name, length,
                          got / want, backward / (2 * want));
            assert_true(fabs(got - want) <= 0.01 * want);
            assert_true(fabs(backward - 2 * want) <= 0.01 * 2 * want);
            adept_profile_free(p);
        }
}

static void tied_weights_count_once(void **state)
{
    (void)state;
    adept_profile *p = profile_of("gpt2_large", "i64:Bx64", 1, ADEPT_ATTENTION_AUTO);
    int tied = 0;
    for (size_t i = 0; i < p->n_ops; i++)
        tied += p->ops[i].tied;
    assert_true(tied >= 2); /* the embedding and the head */
    assert_true(p->weights_bytes >= 4.0 * 774030080 && p->weights_bytes < 4.0 * 774030080 + 100e6);
    adept_profile_free(p);
}

/* ALBERT's one layer runs twelve times: its parameters once, its work twelve times. */
static void shared_layers_run_often(void **state)
{
    (void)state;
    adept_profile *p = profile_of("albert_base_v2", NULL, 2, ADEPT_ATTENTION_AUTO);
    bool found = false;
    for (size_t i = 0; i < p->n_ops; i++)
        if (strstr(p->ops[i].path, ".ffn") && !strcmp(p->ops[i].op, "aten::linear"))
            found = found || p->ops[i].count >= 11;
    assert_true(found);
    adept_profile_free(p);
}

static void twice_the_length_is_more_than_twice_the_attention(void **state)
{
    (void)state;
    adept_profile *a = profile_of("tinyllama_1.1b", "i64:Bx256", 2, ADEPT_ATTENTION_AUTO);
    adept_profile *b = profile_of("tinyllama_1.1b", "i64:Bx512", 2, ADEPT_ATTENTION_AUTO);
    assert_true(b->totals.macs_forward > 2 * a->totals.macs_forward);
    assert_true(b->activations_bytes > 2 * a->activations_bytes);
    adept_profile_free(a);
    adept_profile_free(b);
}

/* A fused kernel writes no scores, keeps none and recomputes them: fewer bytes, less memory, more backward FLOPs. */
static void fused_attention_moves_less(void **state)
{
    (void)state;
    static const char *const names[] = {"tinyllama_1.1b", "gpt2_large", "bert_base_qa", "t5_base", "vit_b_16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        adept_profile *e = profile_of(names[i], NULL, 2, ADEPT_ATTENTION_EAGER);
        adept_profile *f = profile_of(names[i], NULL, 2, ADEPT_ATTENTION_FUSED);
        assert_true(f->totals.macs_forward == e->totals.macs_forward);
        assert_true(f->totals.bytes_written[0] < e->totals.bytes_written[0]);
        assert_true(f->activations_bytes < e->activations_bytes);
        assert_true(f->totals.gemm_flops[1] > e->totals.gemm_flops[1]);
        adept_profile_free(e);
        adept_profile_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameter_counts),
        cmocka_unit_test(decoder_flops_have_a_closed_form),
        cmocka_unit_test(tied_weights_count_once),
        cmocka_unit_test(shared_layers_run_often),
        cmocka_unit_test(twice_the_length_is_more_than_twice_the_attention),
        cmocka_unit_test(fused_attention_moves_less),
    };
    return cmocka_run_group_tests(tests, NULL, forget_graph);
}

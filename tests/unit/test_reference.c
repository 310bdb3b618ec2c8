/* The bundled models' counts against independent ones.
 *
 * Parameters and forward GMACs: torchvision 0.21's weight metadata (`num_params`, `_ops`), published with each model.
 * FLOPs and saved bytes: measured with PyTorch 2.6 on CPU, batch 2, 3x224x224: torch.utils.flop_counter.FlopCounterMode
 * and saved_tensors_hooks with each storage counted once. Language models: sizes published with their checkpoints. */
#include "adept_handlers.h"
#include "torchscript_file.h"
#include "adept_profile.h"
#include "cmocka_test.h"

#define DATA ADEPT_SOURCE_DIR "/data/models/"

static adept_profile *profile_of(const char *path, const char *input, const adept_workload_config *base)
{
    adept_graph *g = NULL;
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_input_spec spec;
    adept_workload_config config = *base;
    if (input) {
        assert_int_equal(adept_input_spec_parse(&spec, input, &err), ADEPT_OK);
        config.inputs = &spec;
        config.n_inputs = 1;
    }
    if (adept_import_model(&g, path, NULL, &err)) fail_msg("%s", err.message);
    if (adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err)) fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

static bool near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * want;
}

static void parameter_counts_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int64_t params;
    } rows[] = {
        {"resnet50.pt", 25557032},         {"vgg16.pt", 138357544},          {"vit_b_16.pt", 86567656},
        {"tinyllama_1.1b.pt", 1100048384}, {"albert_base_v2.pt", 11685122}, {"distilbert_base.pt", 66955010},
    };
    adept_workload_config config = {.batch_size = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[600];
        snprintf(path, sizeof path, DATA "%s", rows[i].file);
        adept_profile *p = profile_of(path, NULL, &config);
        assert_int_equal(p->params, rows[i].params);
        assert_int_equal(p->trainable_params, rows[i].params);
        adept_profile_free(p);
    }
}

static void forward_macs_are_torchvisions(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double gmacs;
    } rows[] = {{"resnet50.pt", 4.089}, {"vgg16.pt", 15.47}, {"vit_b_16.pt", 17.564}};
    adept_workload_config config = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[600];
        snprintf(path, sizeof path, DATA "%s", rows[i].file);
        adept_profile *p = profile_of(path, "1x3x224x224", &config);
        if (!near(p->totals.macs_forward, 1e9 * rows[i].gmacs, 0.005))
            fail_msg("%s: %.4g MACs, torchvision says %.4g", rows[i].file, p->totals.macs_forward, 1e9 * rows[i].gmacs);
        adept_profile_free(p);
    }
}

typedef struct pytorch_row {
    const char *path;
    double flops_forward, flops_both;
    double saved_bytes; /* 0: not comparable */
} pytorch_row;

/* Eager attention: PyTorch 2.6 on CPU materialises the scores, as the reference did. Fused attention recomputes them.
 */
static void check_pytorch(const pytorch_row *row)
{
    adept_workload_config config = {.attention = ADEPT_ATTENTION_EAGER};
    adept_profile *p = profile_of(row->path, "2x3x224x224", &config);
    const adept_profile_totals *t = &p->totals;
    double forward = t->gemm_flops[0] + t->conv_flops[0], both = forward + t->gemm_flops[1] + t->conv_flops[1];
    print_message("%s: forward %.6f, forward+backward %.6f of PyTorch's\n", strrchr(row->path, '/') + 1,
                  forward / row->flops_forward, both / row->flops_both);
    assert_true(near(forward, row->flops_forward, 0.005));
    assert_true(near(both, row->flops_both, 0.005));
    if (row->saved_bytes > 0) {
        print_message("    saved bytes %.6f\n", p->activations_bytes / row->saved_bytes);
        assert_true(near(p->activations_bytes, row->saved_bytes, 0.05));
    }
    adept_profile_free(p);
}

static void counts_are_pytorchs(void **state)
{
    (void)state;
    static const pytorch_row rows[] = {
        {DATA "vgg16.pt", 61881057280, 185296355328, 146710528},
        {DATA "resnet50.pt", 16356737024, 48598155264, 172031488},
        /* traced by PyTorch 1.13, whose attention scales q only; 2.6 keeps scaled copies of q and k */
        {DATA "vit_b_16.pt", 70255312896, 210303516672, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_pytorch(&rows[i]);
}

static void counts_of_files_of_pytorch_2_6(void **state)
{
    (void)state;
    static const pytorch_row rows[] = {
        {ADEPT_SHARED_DIR "/models/resnet50.pt", 16356737024, 48598155264, 172031488},
        {ADEPT_SHARED_DIR "/models/vit_b_16.pt", 70255312896, 210303516672, 309851216},
        {ADEPT_SHARED_DIR "/models/swin_t.pt", 17962266624, 53828997120, 213268432},
    };
    FILE *f = fopen(rows[0].path, "rb");
    if (!f) skip();
    fclose(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_pytorch(&rows[i]);
}

static void check_same(const char *what, double a, double b)
{
    if (fabs(a - b) > 0.005 * fmax(a, b)) fail_msg("%s: %.17g in the .pt, %.17g in the .pt2", what, a, b);
}

/* One model as TorchScript and as exported program: the same totals. */
static void pt_and_pt2_agree(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet50", "vit_b_16"};
    static const adept_attention attentions[] = {ADEPT_ATTENTION_AUTO, ADEPT_ATTENTION_EAGER};
    for (size_t i = 0; i < 4; i++) {
        char pt[600], pt2[600];
        adept_workload_config config = {.attention = attentions[i / 2]};
        snprintf(pt, sizeof pt, ADEPT_SHARED_DIR "/models/%s.pt", names[i % 2]);
        snprintf(pt2, sizeof pt2, ADEPT_SHARED_DIR "/models/%s.pt2", names[i % 2]);
        FILE *f = fopen(pt2, "rb");
        if (!f) skip();
        fclose(f);
        adept_profile *a = profile_of(pt, "2x3x224x224", &config), *b = profile_of(pt2, NULL, &config);
        assert_int_equal(a->params, b->params);
        assert_int_equal(a->trainable_params, b->trainable_params);
        for (int pass = 0; pass < 2; pass++) {
            check_same("GEMM FLOPs", a->totals.gemm_flops[pass], b->totals.gemm_flops[pass]);
            check_same("convolution FLOPs", a->totals.conv_flops[pass], b->totals.conv_flops[pass]);
            check_same("ALU FLOPs", a->totals.alu_flops[pass], b->totals.alu_flops[pass]);
            check_same("bytes read", a->totals.bytes_read[pass], b->totals.bytes_read[pass]);
            check_same("bytes written", a->totals.bytes_written[pass], b->totals.bytes_written[pass]);
        }
        check_same("saved bytes", a->activations_bytes, b->activations_bytes);
        adept_profile_free(a);
        adept_profile_free(b);
    }
}

int main(void)
{
    if (!getenv("ADEPT_TORCH_MODULE")) return 77; /* built without libtorch: no .pt can be read */
    test_torchscript_inherit();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameter_counts_are_the_published_ones),
        cmocka_unit_test(forward_macs_are_torchvisions),
        cmocka_unit_test(counts_are_pytorchs),
        cmocka_unit_test(counts_of_files_of_pytorch_2_6),
        cmocka_unit_test(pt_and_pt2_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

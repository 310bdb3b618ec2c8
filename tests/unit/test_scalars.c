/* Targeted scalars: patterns, checks, the fit object of a hardware profile, and what they do to a prediction. */
#include "adept_model.h"
#include "work.h"
#include "toy_model.h"
#include "cmocka_test.h"

#define NEAR(value, expected) assert_true(fabs((value) - (expected)) <= 1e-12 * (1.0 + fabs(expected)))

/* ---- patterns ---- */

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool match;
    } cases[] = {
        {"albert", "albert", true},
        {"albert", "albert_base", false},
        {"albert*", "albert_base", true},
        {"albert*", "albert", true},
        {"albert*", "Albert", false},
        {"albert*", "distalbert", false},
        {"*bert", "albert", true},
        {"*bert", "bert_base", false},
        {"*bert*", "distilbert_base", true},
        {"*", "", true},
        {"?", "", false},
        {"?", "x", true},
        {"??", "x", false},
        {"a*b*c", "axxbyyc", true},
        {"a*b*c", "axxbyy", false},
        {"a*b*c", "abcbc", true},
        {"**x**", "yxz", true},
        {"*.Linear", "torch.nn.Linear", true},
        {"v?t_b*", "vit_b_16", true},
        {"", "", true},
        {"", "x", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (adept_glob_match(cases[i].pattern, cases[i].text) != cases[i].match)
            fail_msg("\"%s\" on \"%s\"", cases[i].pattern, cases[i].text);
    /* Takes no exponential time. */
    char text[201];
    memset(text, 'a', 200);
    text[200] = '\0';
    assert_false(adept_glob_match("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static bool covers_model(const char *pattern, const char *path)
{
    const adept_scalar s = {"s", ADEPT_TARGET_MODEL, pattern, ADEPT_TERM_OPT, 2};
    const adept_profile prof = {.model_path = path};
    return adept_scalar_cover(&s, 1, &prof, NULL).term[ADEPT_TERM_OPT] == 1;
}

/* The file name without folder and extension. */
static void models(void **state)
{
    (void)state;
    assert_true(covers_model("albert_base_v2", "data/models/albert_base_v2.pt"));
    assert_true(covers_model("albert*", "albert_base_v2.pt2"));
    assert_true(covers_model("qwen2.5_0.5b", "x/qwen2.5_0.5b.pt"));
    assert_true(covers_model("qwen2.5_0.5b", "qwen2.5_0.5b"));
    assert_true(covers_model("net", "/a.b/net.profile.json"));
    assert_true(covers_model(".pt", ".pt")); /* nothing would be left */
    assert_false(covers_model("albert*", "albert/resnet50.pt"));
    assert_false(covers_model("resnet50.pt", "resnet50.pt"));
    assert_false(covers_model("x", NULL));
}

/* ---- checks ---- */

static void refuse(adept_scalar s, const char *part)
{
    adept_error err = {0};
    assert_int_equal(adept_scalar_check(&s, &err), ADEPT_E_USAGE);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static void checks(void **state)
{
    (void)state;
    char long_text[300];
    memset(long_text, 'a', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    const adept_scalar good = {"albert_gemm", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_GEMM, 2.82};
    adept_scalar s = good;
    assert_int_equal(adept_scalar_check(&s, NULL), ADEPT_OK);
    s.name = NULL;
    refuse(s, "name is not");
    s.name = "";
    refuse(s, "name is not");
    s.name = "a-b";
    refuse(s, "scalar \"a-b\": the name is not 1 to 63 letters");
    s.name = long_text;
    refuse(s, "name is not");
    s = good;
    s.pattern = NULL;
    refuse(s, "scalar albert_gemm: the pattern");
    s.pattern = "";
    refuse(s, "the pattern");
    s.pattern = long_text;
    refuse(s, "the pattern");
    s = good;
    s.term = (adept_term)5;
    refuse(s, "no such target or term");
    s = good;
    s.target = (adept_scalar_target)-1;
    refuse(s, "no such target or term");
    s = good;
    s.term = ADEPT_TERM_OPT;
    assert_int_equal(adept_scalar_check(&s, NULL), ADEPT_OK);
    s.target = ADEPT_TARGET_CLASS;
    refuse(s, "the optimizer belongs to no class");
    s.target = ADEPT_TARGET_KIND;
    refuse(s, "the optimizer belongs to no kind");
    static const double values[] = {0, -1, NAN, INFINITY, 0.049, 20.1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        s = good;
        s.value = values[i];
        refuse(s, "is outside 0.05 to 20");
    }
}

static void names_of_targets_and_terms(void **state)
{
    (void)state;
    static const char *const targets[] = {"model", "class", "precision", "kind"};
    static const char *const terms[] = {"gemm", "conv", "alu", "mem", "opt"};
    for (int i = 0; i < 4; i++) {
        adept_scalar_target target;
        assert_string_equal(adept_scalar_target_name((adept_scalar_target)i), targets[i]);
        assert_true(adept_scalar_target_from_name(&target, targets[i]) && (int)target == i);
    }
    for (int i = 0; i < 5; i++) {
        adept_term term;
        assert_string_equal(adept_term_name((adept_term)i), terms[i]);
        assert_true(adept_term_from_name(&term, terms[i]) && (int)term == i);
    }
    adept_term term = ADEPT_TERM_MEM;
    assert_false(adept_term_from_name(&term, "GEMMS"));
    assert_false(adept_term_from_name(&term, NULL));
    assert_int_equal(term, ADEPT_TERM_MEM);
    assert_null(adept_term_name((adept_term)5));
    assert_null(adept_scalar_target_name((adept_scalar_target)4));
}

/* ---- in a prediction ---- */

static adept_prediction predict(const toy_gpu *gpu, const toy_work *work)
{
    adept_prediction p;
    adept_error err = {0};
    if (adept_predict(&p, &work->prof, &gpu->hw, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return p;
}

/* The toy's pass: GEMM 0.5 s, conv 0.3 s, ALU 0.1 s (0.02 of the convolution's bias, 0.08 of relu), traffic 0.3 s (0.12
 * linear, 0.06 conv, 0.12 relu), twice; optimizer 0.042 s. */
static adept_prediction with(adept_scalar_target target, const char *pattern, adept_term term, double value)
{
    const adept_scalar s = {"s", target, pattern, term, value};
    toy_gpu gpu;
    toy_work work;
    toy_gpu_init(&gpu);
    toy_work_init(&work);
    gpu.hw.scalars = &s;
    gpu.hw.n_scalars = 1;
    return predict(&gpu, &work);
}

static void scalars_multiply_what_they_cover(void **state)
{
    (void)state;
    NEAR(with(ADEPT_TARGET_MODEL, "to?", ADEPT_TERM_GEMM, 1.2).gemm_s, 1.2);
    NEAR(with(ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_GEMM, 1.2).gemm_s, 1.0);
    NEAR(with(ADEPT_TARGET_CLASS, "Linear", ADEPT_TERM_GEMM, 3).gemm_s, 3.0);
    NEAR(with(ADEPT_TARGET_CLASS, "Conv2d", ADEPT_TERM_GEMM, 3).gemm_s, 1.0);
    NEAR(with(ADEPT_TARGET_CLASS, "Conv2d", ADEPT_TERM_CONV, 3).conv_s, 1.8);
    NEAR(with(ADEPT_TARGET_PRECISION, "fp32", ADEPT_TERM_CONV, 0.5).conv_s, 0.3);
    NEAR(with(ADEPT_TARGET_PRECISION, "bf16", ADEPT_TERM_CONV, 0.5).conv_s, 0.6);
    NEAR(with(ADEPT_TARGET_KIND, "relu", ADEPT_TERM_ALU, 2).alu_s, 2 * (0.02 + 0.16));
    /* The bias of a convolution is arithmetic of its operator. */
    NEAR(with(ADEPT_TARGET_KIND, "conv", ADEPT_TERM_ALU, 2).alu_s, 2 * (0.04 + 0.08));
    NEAR(with(ADEPT_TARGET_KIND, "conv", ADEPT_TERM_MEM, 2).memory_s, 2 * (0.12 + 0.12 + 0.12));
    NEAR(with(ADEPT_TARGET_MODEL, "*", ADEPT_TERM_MEM, 4).memory_s, 2.4);
    NEAR(with(ADEPT_TARGET_MODEL, "*", ADEPT_TERM_MEM, 4).pass_s, 2.4); /* now the larger */
    NEAR(with(ADEPT_TARGET_MODEL, "toy", ADEPT_TERM_OPT, 2).optimizer_s, 0.084);
    NEAR(with(ADEPT_TARGET_MODEL, "toy", ADEPT_TERM_OPT, 2).pass_s, 1.8);
}

static void scalars_on_the_same_work_multiply(void **state)
{
    (void)state;
    const adept_scalar two[] = {{"a", ADEPT_TARGET_MODEL, "toy", ADEPT_TERM_GEMM, 2},
                                {"b", ADEPT_TARGET_CLASS, "*near", ADEPT_TERM_GEMM, 1.5}};
    toy_gpu gpu;
    toy_work work;
    toy_gpu_init(&gpu);
    toy_work_init(&work);
    gpu.hw.scalars = two;
    gpu.hw.n_scalars = 2;
    NEAR(predict(&gpu, &work).gemm_s, 3.0);
}

/* The layers' times follow, and sum to the pass. */
static void layers_follow(void **state)
{
    (void)state;
    const adept_scalar s = {"s", ADEPT_TARGET_KIND, "conv", ADEPT_TERM_CONV, 3};
    toy_gpu gpu;
    toy_work work;
    toy_gpu_init(&gpu);
    toy_work_init(&work);
    adept_op_prediction before[3], after[3];
    assert_int_equal(adept_predict_ops(before, &work.prof, &gpu.hw, NULL, NULL), ADEPT_OK);
    gpu.hw.scalars = &s;
    gpu.hw.n_scalars = 1;
    assert_int_equal(adept_predict_ops(after, &work.prof, &gpu.hw, NULL, NULL), ADEPT_OK);
    /* Alone: fc 0.5, conv 0.32 and then 0.92, relu 0.12 (memory); scaled to the pass of 1.8 and then 3 s */
    NEAR(before[1].time_s, 1.8 * 0.32 / (0.5 + 0.32 + 0.12));
    NEAR(after[1].time_s, 3.0 * 0.92 / (0.5 + 0.92 + 0.12));
    NEAR(after[0].time_s + after[1].time_s + after[2].time_s, predict(&gpu, &work).pass_s);
}

static void bad_scalars_are_refused_by_prediction(void **state)
{
    (void)state;
    adept_scalar s[ADEPT_MAX_SCALARS + 1] = {{"s", ADEPT_TARGET_KIND, "conv", ADEPT_TERM_CONV, -3}};
    toy_gpu gpu;
    toy_work work;
    adept_prediction p;
    adept_error err = {0};
    toy_gpu_init(&gpu);
    toy_work_init(&work);
    gpu.hw.scalars = s;
    gpu.hw.n_scalars = 1;
    assert_int_equal(adept_predict(&p, &work.prof, &gpu.hw, NULL, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "toy: fit.scalars: scalar s: value -3 is outside"));
    gpu.hw.n_scalars = ADEPT_MAX_SCALARS + 1;
    assert_int_equal(adept_predict(&p, &work.prof, &gpu.hw, NULL, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "more than 32"));
}

/* ---- in the file ---- */

static adept_status read_fit(adept_hwprofile **out, const char *scalars, adept_error *err)
{
    size_t size;
    const char *builtin = NULL;
    for (size_t i = 0; adept_hwprofile_builtin_name(i); i++)
        if (!strcmp(adept_hwprofile_builtin_name(i), "a100-sxm-40gb")) builtin = adept_hwprofile_builtin_json(i, &size);
    assert_non_null(builtin);
    const char *fit = strstr(builtin, "\"fit\": null");
    assert_non_null(fit);
    char *text = malloc(size + strlen(scalars) + 200);
    assert_non_null(text);
    int n =
        sprintf(text, "%.*s\"fit\": {\"granularity\": \"model\", \"parameters\": {\"c_mem\": 2}, \"scalars\": %s}}\n",
                (int)(fit - builtin), builtin, scalars);
    adept_status status = adept_hwprofile_from_json(out, "x.json", text, (size_t)n, err);
    free(text);
    return status;
}

static void scalars_are_read(void **state)
{
    (void)state;
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (read_fit(
            &hw,
            "[{\"name\": \"albert_gemm\", \"target\": {\"model\": \"albert*\"}, \"term\": \"gemm\", \"value\": 1.2},"
            " {\"value\": 2.82, \"term\": \"mem\", \"target\": {\"kind\": \"softmax\"}, \"name\": \"sm\"}]",
            &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(hw->n_scalars, 2);
    assert_string_equal(hw->scalars[0].name, "albert_gemm");
    assert_int_equal(hw->scalars[0].target, ADEPT_TARGET_MODEL);
    assert_string_equal(hw->scalars[0].pattern, "albert*");
    assert_int_equal(hw->scalars[0].term, ADEPT_TERM_GEMM);
    assert_true(hw->scalars[0].value == 1.2);
    assert_int_equal(hw->scalars[1].target, ADEPT_TARGET_KIND);
    assert_int_equal(hw->scalars[1].term, ADEPT_TERM_MEM);
    assert_true(hw->scalars[1].value == 2.82);
    assert_non_null(strstr(hw->fit_json, "albert_gemm"));
    adept_hwprofile_free(hw);
    assert_int_equal(read_fit(&hw, "[]", &err), ADEPT_OK);
    assert_int_equal(hw->n_scalars, 0);
    adept_hwprofile_free(hw);
}

static void malformed_scalars_are_refused(void **state)
{
    (void)state;
#define SCALAR(name, target, term, value)                                                                              \
    "{\"name\": " name ", \"target\": " target ", \"term\": " term ", \"value\": " value "}"
#define GOOD SCALAR("\"s\"", "{\"model\": \"*\"}", "\"gemm\"", "1")
    static const struct {
        const char *scalars, *part;
    } cases[] = {
        {"null", "\"scalars\" is not an array"},
        {"{}", "\"scalars\" is not an array"},
        {"[1]", "fit.scalars[0] is not an object"},
        {"[" GOOD ", []]", "fit.scalars[1] is not an object"},
        {"[" GOOD ", " GOOD "]", "the name \"s\" is given twice"},
        {"[{\"name\": \"s\"}]", "\"target\" is missing"},
        {"[" SCALAR("1", "{\"model\": \"*\"}", "\"gemm\"", "1") "]", "\"name\" is not a string"},
        {"[" SCALAR("\"a b\"", "{\"model\": \"*\"}", "\"gemm\"", "1") "]", "fit.scalars[0]: scalar \"a b\": the name"},
        {"[" SCALAR("\"s\"", "{}", "\"gemm\"", "1") "]", "fit.scalars[0].target is not one of"},
        {"[" SCALAR("\"s\"", "\"albert\"", "\"gemm\"", "1") "]", "\"target\" is not an object"},
        {"[" SCALAR("\"s\"", "{\"model\": 1}", "\"gemm\"", "1") "]", "fit.scalars[0].target is not one of"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\", \"kind\": \"*\"}", "\"gemm\"", "1") "]", "target is not one of"},
        {"[" SCALAR("\"s\"", "{\"layer\": \"*\"}", "\"gemm\"", "1") "]", "target \"layer\" is none of model, class"},
        {"[" SCALAR("\"s\"", "{\"model\": \"\"}", "\"gemm\"", "1") "]", "the pattern of its target"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "\"comm\"", "1") "]", "term \"comm\" is none of gemm, conv"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "7", "1") "]", "\"term\" is not a string"},
        {"[" SCALAR("\"s\"", "{\"kind\": \"*\"}", "\"opt\"", "1") "]", "the optimizer belongs to no kind"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "\"gemm\"", "0") "]", "value 0 is outside 0.05 to 20"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "\"gemm\"", "1e999") "]", "\"value\" is not a finite number"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "\"gemm\"", "\"1\"") "]", "\"value\" is not a finite number"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "\"gemm\"", "1, \"unit\": \"s\"") "]",
         "unknown key \"unit\" in fit.scalars[0]"},
        {"[" SCALAR("\"s\"", "{\"model\": \"*\"}", "\"gemm\"", "1, \"value\": 2") "]",
         "the key \"value\" is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_hwprofile *hw = NULL;
        adept_error err = {0};
        assert_int_equal(read_fit(&hw, cases[i].scalars, &err), ADEPT_E_INVALID);
        assert_null(hw);
        if (!strstr(err.message, cases[i].part) || strncmp(err.message, "x.json", 6) != 0)
            fail_msg("%s: \"%s\" expected in: %s", cases[i].scalars, cases[i].part, err.message);
    }
    char many[4000] = "[";
    for (int i = 0; i <= ADEPT_MAX_SCALARS; i++)
        sprintf(many + strlen(many),
                "%s{\"name\": \"s%d\", \"target\": {\"kind\": \"*\"}, \"term\": \"alu\", \"value\": 1}", i ? "," : "",
                i);
    strcat(many, "]");
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    assert_int_equal(read_fit(&hw, many, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "fit.scalars has more than 32 entries"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(models),
        cmocka_unit_test(checks),
        cmocka_unit_test(names_of_targets_and_terms),
        cmocka_unit_test(scalars_multiply_what_they_cover),
        cmocka_unit_test(scalars_on_the_same_work_multiply),
        cmocka_unit_test(layers_follow),
        cmocka_unit_test(bad_scalars_are_refused_by_prediction),
        cmocka_unit_test(scalars_are_read),
        cmocka_unit_test(malformed_scalars_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

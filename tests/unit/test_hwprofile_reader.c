/** @file test_hwprofile_reader.c  Reading a hardware profile: what is refused, and with which words; names and files.
 */

#include "adept_hwprofile.h"
#include "adept_file.h"
#include "cmocka_test.h"
#include <unistd.h>

/* Every key a file may have, with numbers of an imaginary board. */
static const char base[] =
    "{\"schema_version\": 1, \"name\": \"x1-40gb\", \"aliases\": [\"x1\", \"x-one\"], \"vendor\": \"ACME\",\n"
    " \"architecture\": \"Anvil\", \"notes\": \"for the test\", \"specs\": {\n"
    "\"vector_fp32_flops_per_s\": {\"value\": 10e12, \"source\": \"s1\"},\n"
    "\"vector_fp16_flops_per_s\": {\"value\": 20e12, \"source\": \"s2\"},\n"
    "\"vector_bf16_flops_per_s\": {\"value\": 21e12, \"source\": \"s3\"},\n"
    "\"vector_fp64_flops_per_s\": {\"value\": 5e12, \"source\": \"s4\"},\n"
    "\"tensor_fp32_flops_per_s\": {\"value\": 40e12, \"source\": \"s5\"},\n"
    "\"tensor_tf32_flops_per_s\": {\"value\": 80e12, \"source\": \"s6\"},\n"
    "\"tensor_bf16_flops_per_s\": {\"value\": 160e12, \"source\": \"s7\"},\n"
    "\"tensor_fp16_flops_per_s\": {\"value\": 161e12, \"source\": \"s8\"},\n"
    "\"tensor_fp8_flops_per_s\": {\"value\": 320e12, \"source\": \"s9\"},\n"
    "\"tensor_fp4_flops_per_s\": {\"value\": 640e12, \"source\": \"s9\"},\n"
    "\"tensor_int8_flops_per_s\": {\"value\": 322e12, \"source\": \"s9\"},\n"
    "\"tensor_fp64_flops_per_s\": {\"value\": 6e12, \"source\": \"s10\"},\n"
    "\"mem_bytes\": {\"value\": 42949672960, \"source\": \"s11\"},\n"
    "\"mem_bytes_per_s\": {\"value\": 1555e9, \"source\": \"s12\"},\n"
    "\"mem_bus_bits\": {\"value\": 5120},\n"
    "\"l2_bytes\": {\"value\": 41943040, \"source\": \"s13\"},\n"
    "\"sm_count\": {\"value\": 100, \"source\": \"s14\"},\n"
    "\"process_nm\": {\"value\": 7},\n"
    "\"clock_base_hz\": {\"value\": 1000e6, \"source\": \"s15\"},\n"
    "\"clock_boost_hz\": {\"value\": 1400e6, \"source\": \"s16\"},\n"
    "\"clock_load_hz\": {\"value\": 1450e6, \"source\": \"s17\"},\n"
    "\"clock_min_hz\": {\"value\": 210e6, \"source\": \"s17\"},\n"
    "\"tdp_w\": {\"value\": 400, \"source\": \"s18\"},\n"
    "\"power_limit_min_w\": {\"value\": 100, \"source\": \"s19\"},\n"
    "\"power_limit_max_w\": {\"value\": 450, \"source\": \"s20\"},\n"
    "\"idle_w\": {\"value\": 50, \"source\": \"s21\"},\n"
    "\"link_bytes_per_s\": {\"value\": 600e9, \"source\": \"s22\"},\n"
    "\"allreduce_link_share\": {\"value\": 0.75, \"source\": \"s24\"},\n"
    "\"allreduce_hop_s\": {\"value\": 1e-6, \"source\": \"s25\"},\n"
    "\"tensor_flop_j\": {\"value\": 1e-12, \"source\": \"s26\"},\n"
    "\"mem_byte_j\": {\"value\": 1e-11, \"source\": \"s27\"},\n"
    "\"bridge_bytes_per_s\": {\"value\": 112.5e9},\n"
    "\"pcie_bytes_per_s\": {\"value\": 64e9}},\n"
    "\"fit\": {\"granularity\": \"operator\", \"saturation\": \"sigmoid\", \"dataset\": {\"rows\": 12},\n"
    "         \"parameters\": {\"beta_gemm\": 0.75, \"t_kern_s\": 2.5e-6}}}\n";

/* The base with `old` replaced once; fails the test if it is not there. malloc'ed. */
static char *edited(const char *old, const char *new)
{
    const char *at = strstr(base, old);
    if (!at) fail_msg("the base text has no %s", old);
    size_t size = sizeof base + strlen(new);
    char *text = malloc(size);
    assert_non_null(text);
    snprintf(text, size, "%.*s%s%s", (int)(at - base), base, new, at + strlen(old));
    return text;
}

static adept_status parse(adept_hwprofile **out, const char *text, adept_error *err)
{
    return adept_hwprofile_from_json(out, "x.json", text, strlen(text), err);
}

static adept_hwprofile *parse_ok(const char *text)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (parse(&hw, text, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return hw;
}

static void assert_refused(const char *text, const char *fragment)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    assert_int_equal(parse(&hw, text, &err), ADEPT_E_INVALID);
    assert_null(hw);
    assert_int_equal(err.status, ADEPT_E_INVALID);
    assert_ptr_equal(strstr(err.message, "x.json"), err.message); /* the file comes first */
    if (!strstr(err.message, fragment)) fail_msg("\"%s\" expected in: %s", fragment, err.message);
    assert_int_equal(parse(&hw, text, NULL), ADEPT_E_INVALID);
}

/* ---- what is read ---- */

static void test_everything_is_read(void **state)
{
    (void)state;
    adept_hwprofile *hw = parse_ok(base);
    assert_string_equal(hw->name, "x1-40gb");
    assert_int_equal(hw->n_aliases, 2);
    assert_string_equal(hw->aliases[1], "x-one");
    assert_string_equal(hw->vendor, "ACME");
    assert_string_equal(hw->architecture, "Anvil");
    assert_string_equal(hw->path, "x.json");
    assert_true(hw->specs.vector_fp32_flops_per_s == 10e12);
    assert_true(hw->specs.tensor_bf16_flops_per_s == 160e12);
    assert_true(hw->specs.mem_bytes == 42949672960.0);
    assert_true(hw->specs.pcie_bytes_per_s == 64e9);
    assert_string_equal(adept_hwprofile_source(hw, "vector_fp32_flops_per_s"), "s1");
    assert_string_equal(adept_hwprofile_source(hw, "link_bytes_per_s"), "s22");
    assert_string_equal(adept_hwprofile_source(hw, "pcie_bytes_per_s"), "");
    assert_string_equal(adept_hwprofile_source(hw, "no_such_number"), "");
    assert_true(hw->calibrated);
    assert_int_equal(hw->granularity, ADEPT_GRANULARITY_OPERATOR);
    assert_string_equal(hw->saturation, "sigmoid");
    assert_int_equal(hw->n_parameters, 2);
    assert_string_equal(hw->parameters[0].name, "beta_gemm");
    assert_true(hw->parameters[0].value == 0.75);
    assert_true(hw->parameters[1].value == 2.5e-6);
    assert_string_equal(hw->fit_json,
                        "{\"granularity\":\"operator\",\"saturation\":\"sigmoid\",\"dataset\":{\"rows\":12},"
                        "\"parameters\":{\"beta_gemm\":0.75,\"t_kern_s\":2.5e-06}}");
    adept_hwprofile_free(hw);
    adept_hwprofile_free(NULL);
}

static void test_optional_parts(void **state)
{
    (void)state;
    char *text = edited("\"idle_w\": {\"value\": 50, \"source\": \"s21\"},", "");
    adept_hwprofile *hw = parse_ok(text);
    assert_true(isnan(hw->specs.idle_w));
    assert_string_equal(adept_hwprofile_source(hw, "idle_w"), "");
    adept_hwprofile_free(hw);
    free(text);
    text = edited("\"aliases\": [\"x1\", \"x-one\"],", "");
    hw = parse_ok(text);
    assert_int_equal(hw->n_aliases, 0);
    adept_hwprofile_free(hw);
    free(text);
    text = edited("\"fit\": {\"granularity\"", "\"fit\": null}\n\n");
    *strchr(strstr(text, "null}"), '\n') = '\0';
    hw = parse_ok(text);
    assert_false(hw->calibrated);
    assert_null(hw->fit_json);
    assert_null(hw->saturation);
    assert_int_equal(hw->n_parameters, 0);
    adept_hwprofile_free(hw);
    free(text);
}

static void test_granularity_model(void **state)
{
    (void)state;
    char *text = edited("\"granularity\": \"operator\"", "\"granularity\": \"model\"");
    adept_hwprofile *hw = parse_ok(text);
    assert_int_equal(hw->granularity, ADEPT_GRANULARITY_MODEL);
    adept_hwprofile_free(hw);
    free(text);
}

static void test_source_by_hand(void **state)
{
    (void)state;
    adept_hwprofile by_hand = {.name = "by hand"};
    assert_string_equal(adept_hwprofile_source(&by_hand, "tdp_w"), "");
}

/* ---- what is refused ---- */

static void test_refused_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } cases[] = {
        {"", "empty"},
        {"   \n ", "empty"},
        {"{\"schema_version\": 1", "not valid JSON"},
        {"[1, 2]", "not a JSON object"},
        {"3", "not a JSON object"},
        {"null", "not a JSON object"},
        {"{}", "\"schema_version\" is missing"},
        {"{\"schema_version\": 1}", "\"name\" is missing"},
        {"{\"schema_version\": 1, \"name\": \"x\"}", "\"vendor\" is missing"},
        {"{\"schema_version\": 1, \"name\": \"x\", \"vendor\": \"V\"}", "\"specs\" is missing"},
        {"{\"schema_version\": 1, \"name\": \"x\", \"vendor\": \"V\", \"specs\": {}}",
         "specs.vector_fp32_flops_per_s is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].text, cases[i].fragment);
    char *text = edited("}}}\n", "}}} x");
    assert_refused(text, "text after the end");
    free(text);
}

static void test_refused_edits(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *fragment;
    } cases[] = {
        {"\"schema_version\": 1", "\"schema_version\": 2", "schema_version 2 is not 1"},
        {"\"schema_version\": 1", "\"schema_version\": \"1\"", "\"schema_version\" is not a finite number"},
        {"\"schema_version\": 1", "\"schema_version\": 1.5", "whole number"},
        {"\"name\": \"x1-40gb\"", "\"name\": 7", "\"name\" is not a string"},
        {"\"name\": \"x1-40gb\"", "\"name\": \"\"", "name \"\" is not 1 to 63"},
        {"\"name\": \"x1-40gb\"", "\"name\": \"X1\"", "name \"X1\" is not 1 to 63 lower-case"},
        {"\"name\": \"x1-40gb\"", "\"name\": \"../x\"", "name \"../x\" is not"},
        {"[\"x1\", \"x-one\"]", "\"x1\"", "\"aliases\" is not an array"},
        {"[\"x1\", \"x-one\"]", "[1]", "an entry of \"aliases\" is not a string"},
        {"[\"x1\", \"x-one\"]", "[\"X 1\"]", "alias \"X 1\" is not"},
        {"[\"x1\", \"x-one\"]", "[\"x1\", \"x1\"]", "alias \"x1\" is given twice"},
        {"[\"x1\", \"x-one\"]", "[\"x1-40gb\"]", "alias \"x1-40gb\" is given twice"},
        {"\"vendor\": \"ACME\"", "\"vendor\": []", "\"vendor\" is not a string"},
        {"\"architecture\": \"Anvil\"", "\"architecture\": 8", "\"architecture\" is not a string"},
        {"\"notes\": \"for the test\"", "\"notes\": 8", "\"notes\" is not a string"},
        {"\"notes\"", "\"note\"", "unknown key \"note\""},
        {"\"notes\": \"for the test\"", "\"name\": \"x2\"", "key \"name\" is given twice"},
        {"\"tdp_w\"", "\"tpd_w\"", "unknown key \"tpd_w\" in \"specs\"; did you mean \"tdp_w\"?"},
        {"\"tdp_w\"", "\"power_limit_max_w\"", "the key \"power_limit_max_w\" is given twice"},
        {"{\"value\": 400, \"source\": \"s18\"}", "400", "specs.tdp_w is not {\"value\": number"},
        {"{\"value\": 400, \"source\": \"s18\"}", "null", "specs.tdp_w is not {\"value\": number"},
        {"\"tdp_w\": {\"value\": 400, \"source\": \"s18\"},\n", "", NULL}, /* then power is unknown */
        {"\"sm_count\": {\"value\": 100, \"source\": \"s14\"},\n", "", "specs.sm_count is missing"},
        {"{\"value\": 400,", "{\"values\": 400,", "unknown key \"values\" in specs.tdp_w"},
        {"{\"value\": 400,", "{\"value\": 400, \"value\": 300,", "the key \"value\" is given twice"},
        {"{\"value\": 400,", "{", "specs.tdp_w.value is missing"},
        {"{\"value\": 400,", "{\"value\": \"400\",", "specs.tdp_w.value is missing or not a finite number"},
        {"{\"value\": 400,", "{\"value\": null,", NULL}, /* not known, as in `adept gpus --template` */
        {"{\"value\": 100, \"source\": \"s14\"}", "{\"value\": null}", "specs.sm_count is missing"},
        {"{\"value\": 400,", "{\"value\": 1e999,", "specs.tdp_w.value is missing or not a finite number"},
        {"{\"value\": 400,", "{\"value\": NaN,", "not valid JSON"},
        {"{\"value\": 400,", "{\"value\": -Infinity,", "not valid JSON"},
        {"\"source\": \"s18\"", "\"source\": 18", "specs.tdp_w.source is not a string"},
        /* units */
        {"{\"value\": 10e12,", "{\"value\": 10,",
         "specs.vector_fp32_flops_per_s = 10 is outside 1e+09 to 1e+18 FLOP/s"},
        {"{\"value\": 1555e9,", "{\"value\": 1555,", "specs.mem_bytes_per_s = 1555 is outside 1e+09"},
        {"{\"value\": 42949672960,", "{\"value\": 40,", "specs.mem_bytes = 40 is outside 1e+08"},
        {"{\"value\": 41943040,", "{\"value\": 40,", "specs.l2_bytes = 40 is outside 10000"},
        {"{\"value\": 1400e6,", "{\"value\": 1400,", "specs.clock_boost_hz = 1400 is outside 1e+07 to 1e+11 Hz"},
        {"{\"value\": 400,", "{\"value\": 400000,", "specs.tdp_w = 400000 is outside 1 to 20000 W"},
        {"{\"value\": 600e9,", "{\"value\": -600e9,", "specs.link_bytes_per_s = -6e+11 is outside"},
        {"{\"value\": 100, \"source\": \"s14\"}", "{\"value\": 99.5}", "specs.sm_count = 99.5 is not a whole number"},
        /* consistency */
        {"{\"value\": 100, \"source\": \"s19\"}", "{\"value\": 401}",
         "specs.power_limit_min_w = 401 is more than specs.tdp_w"},
        {"{\"value\": 450,", "{\"value\": 399,", "specs.tdp_w = 400 is more than specs.power_limit_max_w = 399"},
        {"{\"value\": 50,", "{\"value\": 500,", "specs.idle_w = 500 is more than specs.tdp_w"},
        {"{\"value\": 1000e6,", "{\"value\": 1500e6,",
         "specs.clock_base_hz = 1.5e+09 is more than specs.clock_boost_hz"},
        {"{\"value\": 210e6,", "{\"value\": 1500e6,", "specs.clock_min_hz = 1.5e+09 is more than specs.clock_boost_hz"},
        {"{\"value\": 41943040,", "{\"value\": 5e9,", NULL}, /* under mem_bytes: see below */
        /* fit */
        {"\"fit\": {\"granularity\": \"operator\",", "\"fit\": 1, \"unused\": {", "unknown key \"unused\""},
        {"\"granularity\": \"operator\"", "\"granularity\": \"kernel\"", "fit.granularity \"kernel\" is neither"},
        {"\"granularity\": \"operator\"", "\"granularity\": 1", "\"granularity\" is not a string"},
        {"\"granularity\": \"operator\", ", "", "\"granularity\" is missing in \"fit\""},
        {"\"saturation\": \"sigmoid\"", "\"saturation\": 1", "\"saturation\" is not a string"},
        {"\"saturation\": \"sigmoid\"", "\"saturation\": \"tanh\"",
         "fit.saturation \"tanh\": granularity \"operator\" saturates by the sigmoid"},
        {"\"dataset\"",
         "\"scalars\": [{\"name\": \"s\", \"target\": {\"model\": \"*\"}, \"term\": \"gemm\", \"value\": 2}], "
         "\"dataset\"",
         "fit.scalars belong to granularity \"model\", not to \"operator\""},
        {"\"dataset\"", "\"tiles\": [], \"dataset\"", "fit.tiles is neither an object nor null"},
        {"\"dataset\"", "\"tiles\": {\"stream\": [\"64x64\"]}, \"dataset\"", "unknown key \"stream\" in fit.tiles"},
        {"\"dataset\"", "\"tiles\": {\"gemm\": \"64x64\"}, \"dataset\"",
         "fit.tiles.gemm is not an array of 1 to 8 tiles"},
        {"\"dataset\"", "\"tiles\": {\"bmm\": []}, \"dataset\"", "fit.tiles.bmm is not an array of 1 to 8 tiles"},
        {"\"dataset\"", "\"tiles\": {\"bmm\": [1,1,1,1,1,1,1,1,1]}, \"dataset\"",
         "fit.tiles.bmm is not an array of 1 to 8 tiles"},
        {"\"dataset\"", "\"tiles\": {\"conv\": [\"64x64\", 7]}, \"dataset\"",
         "fit.tiles.conv[1] is not a tile like \"128x64\" or \"winograd4:32x32\""},
        {"\"dataset\"", "\"tiles\": {\"conv\": [\"64x48\"]}, \"dataset\"", "fit.tiles.conv[0] is not a tile"},
        {"\"dataset\"", "\"tiles\": {\"conv\": [\"winograd3:64x64\"]}, \"dataset\"", "fit.tiles.conv[0] is not a tile"},
        {"\"dataset\"", "\"tiles\": {\"conv\": [\"winograd4:32x32\"]}, \"dataset\"",
         "fit.tiles.conv has no tile without Winograd"},
        {"\"dataset\"", "\"tiles\": null, \"dataset\"", NULL},
        {"\"dataset\"", "\"tiles\": {}, \"dataset\"", NULL},
        {"\"parameters\": {", "\"parameter\": {", "\"parameters\" is missing in \"fit\""},
        {"{\"beta_gemm\": 0.75, \"t_kern_s\": 2.5e-6}", "{}", "fit.parameters is empty"},
        {"{\"beta_gemm\": 0.75, \"t_kern_s\": 2.5e-6}", "[]", "\"parameters\" is not an object"},
        {"\"beta_gemm\": 0.75", "\"beta_gemm\": \"0.75\"", "fit.parameters.beta_gemm is not a finite number"},
        {"\"beta_gemm\": 0.75", "\"beta_gemm\": 1e400", "fit.parameters.beta_gemm is not a finite number"},
        {"\"beta_gemm\": 0.75", "\"t_kern_s\": 0.75", "the key \"t_kern_s\" is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = edited(cases[i].old, cases[i].new);
        if (cases[i].fragment)
            assert_refused(text, cases[i].fragment);
        else
            adept_hwprofile_free(parse_ok(text));
        free(text);
    }
    char *text = edited("{\"value\": 42949672960,", "{\"value\": 1e8,");
    char *l2 = strstr(text, "41943040");
    memcpy(l2, "20000e+4", 8);
    assert_refused(text, "specs.l2_bytes = 2e+08 is more than specs.mem_bytes = 1e+08");
    free(text);
}

/* Menus that the file gives; the others are those used where nothing was measured. */
static void test_tiles(void **state)
{
    (void)state;
    adept_hwprofile *hw = parse_ok(base);
    assert_null(hw->tiles);
    adept_hwprofile_free(hw);
    char *text = edited("\"dataset\"", "\"tiles\": {\"gemm\": [\"8x512\"], \"conv\": [\"128x64\", \"winograd2:32x16\", "
                                       "\"winograd4:64x64\"]}, \"dataset\"");
    hw = parse_ok(text);
    assert_non_null(hw->tiles);
    const adept_tile_menu *gemm = &hw->tiles[ADEPT_FAMILY_GEMM], *conv = &hw->tiles[ADEPT_FAMILY_CONV];
    assert_int_equal(gemm->n, 1);
    assert_true(gemm->tiles[0].winograd == 0 && gemm->tiles[0].m == 8 && gemm->tiles[0].n == 512);
    assert_int_equal(conv->n, 3);
    assert_true(conv->tiles[0].winograd == 0 && conv->tiles[0].m == 128 && conv->tiles[0].n == 64);
    assert_true(conv->tiles[1].winograd == 2 && conv->tiles[1].m == 32 && conv->tiles[1].n == 16);
    assert_true(conv->tiles[2].winograd == 4 && conv->tiles[2].m == 64 && conv->tiles[2].n == 64);
    const adept_tile_menu *bmm = &hw->tiles[ADEPT_FAMILY_BMM], *usual = &adept_tile_menu_default[ADEPT_FAMILY_BMM];
    assert_int_equal(bmm->n, usual->n);
    assert_true(bmm->tiles[0].m == usual->tiles[0].m && bmm->tiles[0].n == usual->tiles[0].n);
    for (size_t i = 0; i < conv->n; i++) { /* as texts, there and back */
        char printed[32];
        adept_tile again;
        adept_tile_print(printed, sizeof printed, &conv->tiles[i]);
        assert_true(adept_tile_parse(&again, printed));
        assert_true(again.winograd == conv->tiles[i].winograd && again.m == conv->tiles[i].m &&
                    again.n == conv->tiles[i].n);
    }
    adept_hwprofile_free(hw);
    free(text);
}

static void test_fit_must_be_object(void **state)
{
    (void)state;
    static const char *const values[] = {"1", "\"sigmoid\"", "[]", "true"};
    for (size_t i = 0; i < 4; i++) {
        char fit[64];
        snprintf(fit, sizeof fit, "\"fit\": %s}\n\n", values[i]);
        char *text = edited("\"fit\": {\"granularity\"", fit);
        *strstr(text, "}\n\n") = '}';
        strstr(text, "}\n\n")[1] = '\0';
        assert_refused(text, "\"fit\" is neither an object nor null");
        free(text);
    }
}

/* "PREFIX0", "PREFIX1" ... n of them, each followed by `value`; malloc'ed. */
static char *repeated(const char *prefix, int n, const char *value)
{
    size_t size = (size_t)n * 32 + 3, used = 0;
    char *text = malloc(size);
    assert_non_null(text);
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%s%d\"%s", i > 0 ? ", " : "", prefix, i, value);
    return text;
}

static void test_too_many(void **state)
{
    (void)state;
    char *aliases = repeated("b", 64, "");
    char *text = edited("\"x1\", \"x-one\"", aliases);
    adept_hwprofile *hw = parse_ok(text);
    assert_int_equal(hw->n_aliases, 64);
    assert_string_equal(hw->aliases[63], "b63");
    adept_hwprofile_free(hw);
    free(text);
    free(aliases);
    aliases = repeated("b", 65, "");
    text = edited("\"x1\", \"x-one\"", aliases);
    assert_refused(text, "more than 64 aliases");
    free(text);
    free(aliases);
    char *parameters = repeated("p", 1024, ": 1");
    text = edited("\"beta_gemm\": 0.75, \"t_kern_s\": 2.5e-6", parameters);
    hw = parse_ok(text);
    assert_int_equal(hw->n_parameters, 1024);
    adept_hwprofile_free(hw);
    free(text);
    free(parameters);
    parameters = repeated("p", 1025, ": 1");
    text = edited("\"beta_gemm\": 0.75, \"t_kern_s\": 2.5e-6", parameters);
    assert_refused(text, "fit.parameters has more than 1024 entries");
    free(text);
    free(parameters);
}

/* Each number has a range of its own: zero, a negative number and a tiny one are refused by name. */
static void test_every_number_is_checked(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(name, required, text) #name,
        ADEPT_SPEC_LIST(X)
#undef X
    };
    static const char *const bad[] = {"0", "-1", "0.5", "1e300", "-1e300"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
            char old[80], new[128], fragment[80];
            if (strstr(names[i], "_share") && strcmp(bad[j], "0.5") == 0) continue; /* half of a whole is none */
            snprintf(old, sizeof old, "\"%s\": {\"value\": ", names[i]);
            /* the number that was there becomes the last digits of the source */
            snprintf(new, sizeof new, "\"%s\": {\"value\": %s}, \"%s-\": {\"value\": ", names[i], bad[j], names[i]);
            char *text = edited(old, new);
            char *rest = strstr(text, "-\": {"); /* cut the second entry out again */
            char *begin = strstr(text, new) + strlen(new) - strlen(names[i]) - strlen(", \"-\": {\"value\": ");
            char *end = strchr(rest, '}') + 1;
            memmove(begin, end, strlen(end) + 1);
            snprintf(fragment, sizeof fragment, "specs.%s = ", names[i]);
            assert_refused(text, fragment);
            free(text);
        }
    }
}

/* ---- names ---- */

static void assert_opens(const char *typed, const char *name)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (adept_hwprofile_open(&hw, typed, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_string_equal(hw->name, name);
    adept_hwprofile_free(hw);
}

static void test_spellings(void **state)
{
    (void)state;
    assert_opens("a100-sxm-40gb", "a100-sxm-40gb");
    assert_opens("A100", "a100-sxm-40gb");
    assert_opens("A100_SXM4_40GB", "a100-sxm-40gb");
    assert_opens("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb");
    assert_opens("NVIDIA A100 80GB PCIe", "a100-pcie-80gb");
    assert_opens("NVIDIA H100 80GB HBM3", "h100-sxm-80gb");
    assert_opens("NVIDIA H200", "h200-sxm-141gb");
    assert_opens("Tesla V100-PCIE-32GB", "v100-pcie-32gb");
    assert_opens("Quadro RTX 6000", "rtx6000");
    assert_opens("AMD Instinct MI300X", "mi300x");
    assert_opens("t4", "t4");
}

static void assert_unknown(const char *typed, const char *message)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    assert_int_equal(adept_hwprofile_open(&hw, typed, &err), ADEPT_E_UNKNOWN_GPU);
    assert_null(hw);
    assert_string_equal(err.message, message);
    assert_int_equal(adept_hwprofile_open(&hw, typed, NULL), ADEPT_E_UNKNOWN_GPU);
}

#define LIST "; `adept gpus` lists all; for another, edit what `adept gpus NAME --json` prints and pass --gpu FILE.json"

static void test_nearest_names(void **state)
{
    (void)state;
    assert_unknown("a1000", "unknown GPU 'a1000'; nearest: a100-sxm-40gb (a100), rtx-a2000-12gb (a2000), "
                            "rtx-a4000 (a4000), rtx-a5000 (a5000), rtx-a6000 (a6000)" LIST);
    /* neighbours swapped: one error, not two */
    assert_unknown("1h00", "unknown GPU '1h00'; nearest: h100-sxm-80gb (h100)" LIST);
    assert_unknown("MI300", "unknown GPU 'MI300'; nearest: mi300a, mi300x, mi100" LIST);
    /* all words are there, others between them */
    assert_unknown("v100-pcie", "unknown GPU 'v100-pcie'; nearest: v100-pcie-16gb, v100-pcie-32gb, h100-pcie-80gb "
                                "(h100-pcie), v100-sxm2-32gb (v100), h800-pcie-80gb (h800-pcie)" LIST);
    /* part of a name */
    assert_unknown("pcie-16", "unknown GPU 'pcie-16'; nearest: p100-pcie-16gb, v100-pcie-16gb" LIST);
    assert_unknown("xyzzy", "unknown GPU 'xyzzy'" LIST);
    assert_unknown("", "unknown GPU ''" LIST);
    assert_unknown("-", "unknown GPU '-'" LIST);
    assert_unknown("\n\t", "unknown GPU '  '" LIST);
}

/* A board that is not there is never replaced by one that is. */
static void test_no_fallback(void **state)
{
    (void)state;
    static const char *const others[] = {
        "v100s-pcie-32gb", "a3000",  "gh200-141gb", "rtx2080ti",       "p40", "t40", "l2", "nvidia",
        "a100-sxm",        "a100\n", "mi350",       "NVIDIA [GeForce]"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        adept_hwprofile *hw = NULL;
        if (adept_hwprofile_open(&hw, others[i], NULL) != ADEPT_E_UNKNOWN_GPU || hw)
            fail_msg("'%s' is a board: if it is a new one, it is no example of a missing one", others[i]);
    }
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    adept_error err = {0};
    adept_hwprofile *hw = NULL;
    for (size_t n = 60; n < sizeof longest; n++)
        assert_int_equal(adept_hwprofile_open(&hw, longest + sizeof longest - 1 - n, &err), ADEPT_E_UNKNOWN_GPU);
    assert_null(strstr(err.message, "nearest"));
    assert_true(strlen(err.message) < 200);
}

/* Every single typing error in every built-in name still finds that name. */
static void test_one_error_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; adept_hwprofile_builtin_name(i); i++) {
        const char *name = adept_hwprofile_builtin_name(i);
        for (size_t at = 0; name[at]; at++) {
            char typed[80];
            snprintf(typed, sizeof typed, "%s", name);
            typed[at] = '?';
            adept_hwprofile *hw = NULL;
            adept_error err = {0};
            assert_int_equal(adept_hwprofile_open(&hw, typed, &err), ADEPT_E_UNKNOWN_GPU);
            /* in "a?" nothing but the length of the list can decide: p4, t4, l4, a10 ... are equally near */
            if (strlen(name) > 4 && !strstr(err.message, name)) fail_msg("%s: %s", typed, err.message);
        }
    }
}

/* ---- files ---- */

static void test_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/adept-hwprofile-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/my board.json", folder);
    assert_int_equal(adept_file_write(path, base, sizeof base - 1, NULL), ADEPT_OK);
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    assert_int_equal(adept_hwprofile_open(&hw, path, &err), ADEPT_OK);
    assert_string_equal(hw->path, path);
    assert_string_equal(hw->name, "x1-40gb");
    adept_hwprofile_free(hw);
    hw = NULL;
    assert_int_equal(adept_file_write(path, "{", 1, NULL), ADEPT_OK);
    assert_int_equal(adept_hwprofile_open(&hw, path, &err), ADEPT_E_INVALID);
    assert_ptr_equal(strstr(err.message, path), err.message);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(adept_hwprofile_open(&hw, path, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "cannot open"));
    /* a folder, and names that are paths because of their ending or a slash, even if a GPU is called so */
    assert_int_equal(adept_hwprofile_open(&hw, folder, &err), ADEPT_E_INVALID);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(adept_hwprofile_open(&hw, "a100.json", &err), ADEPT_E_INVALID);
    assert_int_equal(adept_hwprofile_open(&hw, "./a100", &err), ADEPT_E_INVALID);
    assert_null(hw);
}

static void test_file_too_large(void **state)
{
    (void)state;
    char path[] = "/tmp/adept-hwprofile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)2 << 20), 0);
    close(fd);
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    assert_int_equal(adept_hwprofile_open(&hw, path, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "2097152 bytes"));
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_read),
        cmocka_unit_test(test_optional_parts),
        cmocka_unit_test(test_source_by_hand),
        cmocka_unit_test(test_granularity_model),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_refused_edits),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_fit_must_be_object),
        cmocka_unit_test(test_every_number_is_checked),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_nearest_names),
        cmocka_unit_test(test_no_fallback),
        cmocka_unit_test(test_one_error_is_found),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_file_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

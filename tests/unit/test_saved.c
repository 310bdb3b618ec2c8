/* Saved profiles: what is written is what is read, one configuration over another, and files that strangers, disks and
 * earlier versions made. */
#include "adept_file.h"
#include "adept_handlers.h"
#include "adept_json.h"
#include "base64.h"
#include "saved_models.h"
#include "cmocka_test.h"

#define DATA ADEPT_SOURCE_DIR "/tests/cli/data/"

/* RFC 4648, section 10 */
static void base64_vectors(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *plain = vectors[i][0], *text = vectors[i][1];
        char coded[16];
        unsigned char back[16];
        size_t n = 99;
        assert_int_equal(adept_base64_length(strlen(plain)), strlen(text));
        adept_base64_encode(coded, (const unsigned char *)plain, strlen(plain));
        assert_string_equal(coded, text);
        assert_true(adept_base64_decode(back, &n, text, strlen(text)));
        assert_true(n == strlen(plain) && memcmp(back, plain, n) == 0);
    }
    static const char *const bad[] = {"Z",        "Zg",   "Zg=",    "Zh==", "Zm9=", "Zm9v====", "====", "Z===",
                                      "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-v", "Zm_v", "=m9v",     "Z=9v"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unsigned char back[16];
        size_t n;
        if (adept_base64_decode(back, &n, bad[i], strlen(bad[i]))) fail_msg("'%s' was taken", bad[i]);
    }
    unsigned char all[256], back[344 / 4 * 3]; /* libcrypto writes whole threes */
    char coded[344 + 1];
    size_t n;
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    adept_base64_encode(coded, all, sizeof all);
    assert_true(adept_base64_decode(back, &n, coded, strlen(coded)) && n == sizeof all && !memcmp(all, back, n));
}

/* ---- what is read ---- */

typedef struct saved {
    adept_graph *graph;
    adept_workload_config config;
    char *config_text;
    adept_buffer bytes;
} saved;

static adept_status read_text(saved *s, const char *text, size_t size, adept_error *err)
{
    *s = (saved){.graph = NULL};
    adept_status status = adept_saved_parse(&s->graph, &s->config, "file.json", text, size, 0, err);
    if (status != ADEPT_OK) {
        assert_null(s->graph);
        return status;
    }
    s->config_text = adept_workload_config_text(&s->config);
    assert_non_null(s->config_text);
    assert_int_equal(adept_graph_write(&s->bytes, s->graph, NULL), ADEPT_OK);
    return ADEPT_OK;
}

static void saved_free(saved *s)
{
    adept_graph_free(s->graph);
    free(s->config_text);
    free(s->bytes.data);
}

static bool is_same(const saved *a, const saved *b)
{
    return strcmp(a->config_text, b->config_text) == 0 && a->bytes.size == b->bytes.size &&
           memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0;
}

static char *walked(const adept_graph *graph, const adept_workload_config *config)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    if (adept_profile_build(&p, graph, adept_handlers(), config, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    char *text = adept_profile_to_json(p);
    assert_non_null(text);
    adept_profile_free(p);
    return text;
}

static adept_input_spec spec_of(const char *text)
{
    adept_input_spec spec;
    assert_int_equal(adept_input_spec_parse(&spec, text, NULL), ADEPT_OK);
    return spec;
}

/* The data of the other tests, which programs without libtorch cannot make. */
static void data_is_as_made(void **state)
{
    (void)state;
    static const char *const names[] = {"mlp", "lengths"};
    for (size_t i = 0; i < 2; i++) {
        char path[512], source[512];
        saved file, made;
        size_t size;
        char *text = NULL;
        adept_error err = {0};
        snprintf(path, sizeof path, DATA "%s.profile.json", names[i]);
        snprintf(source, sizeof source, DATA "%s.graph", names[i]);
        assert_int_equal(adept_file_read(&text, &size, path, 1 << 20, &err), ADEPT_OK);
        if (read_text(&file, text, size, &err) != ADEPT_OK) fail_msg("%s", err.message);
        free(text);
        const adept_workload_config as_it_is = {.mode = ADEPT_MODE_TRAIN};
        adept_graph *graph = saved_model_graph(source);
        text = saved_model_text(graph, &as_it_is);
        assert_int_equal(read_text(&made, text, strlen(text), &err), ADEPT_OK);
        if (!is_same(&file, &made)) fail_msg("%s is not what make_profile writes", path);
        free(text);
        adept_graph_free(graph);
        saved_free(&file);
        saved_free(&made);
    }
}

/* Every option is kept as it was given, so that a walk of the file under it, and over it, is a walk of the graph. */
static void every_option_is_kept(void **state)
{
    (void)state;
    adept_input_spec shapes[] = {spec_of("i64:BxS"), spec_of("i64:6x50")};
    const adept_workload_config configs[] = {
        {.mode = ADEPT_MODE_TRAIN},
        {.mode = ADEPT_MODE_FWBW, .precision = ADEPT_PURE_BF16},
        {.mode = ADEPT_MODE_INFER, .precision = ADEPT_AMP_FP16, .attention = ADEPT_ATTENTION_FUSED, .batch_size = 3},
        {.optimizer = "sgd", .grad_accum = 5, .seq_length = 77},
        {.mode = ADEPT_MODE_INFER, .optimizer = "adam"}, /* means nothing until somebody trains */
        {.n_inputs = 1, .inputs = &shapes[0], .batch_size = 2, .seq_length = 9},
        {.n_inputs = 1, .inputs = &shapes[1], .precision = ADEPT_TF32},
        {.allow_unsupported = true},
        {.memory_format = ADEPT_CHANNELS_LAST, .optimizer_impl = ADEPT_IMPL_FUSED},
        {.memory_format = ADEPT_NCHW},
        {.optimizer = "lamb",
         .optimizer_impl = ADEPT_IMPL_FORLOOP,
         .optimizer_extras = ADEPT_EXTRA_CLIP | ADEPT_EXTRA_EMA},
        {.optimizer_extras = 31},
        {.execution = ADEPT_GRAPHS},
        {.execution = ADEPT_COMPILE},
        {.framework = ADEPT_TORCH1},
    };
    static const adept_workload_config over[] = {
        {.batch_size = 11},
        {.given = {[ADEPT_FIELD_mode] = true}, .seq_length = 31},
        {.precision = ADEPT_AMP_BF16, .optimizer = "adadelta", .grad_accum = 2},
        {.attention = ADEPT_ATTENTION_FUSED},
        {.given = {[ADEPT_FIELD_memory_format] = true}},
        {.memory_format = ADEPT_NCHW, .optimizer_impl = ADEPT_IMPL_FOREACH},
        {.optimizer_extras = ADEPT_EXTRA_MASTER},
        {.given = {[ADEPT_FIELD_execution] = true}},
        {.given = {[ADEPT_FIELD_framework] = true}},
    };
    adept_graph *graph = saved_model_graph(DATA "lengths.graph");
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        char *text = saved_model_text(graph, &configs[i]), *want = walked(graph, &configs[i]);
        char *config_text = adept_workload_config_text(&configs[i]);
        saved s;
        adept_error err = {0};
        if (read_text(&s, text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
        assert_string_equal(s.config_text, config_text);
        char *got = walked(s.graph, &s.config);
        assert_string_equal(got, want);
        free(got);
        for (size_t k = 0; k < sizeof over / sizeof *over; k++) {
            adept_workload_config mine = configs[i], theirs = s.config;
            adept_workload_config_over(&mine, &over[k]);
            adept_workload_config_over(&theirs, &over[k]);
            char *a = walked(graph, &mine), *b = walked(s.graph, &theirs);
            assert_string_equal(a, b);
            free(a);
            free(b);
        }
        free(want);
        free(text);
        free(config_text);
        saved_free(&s);
    }
    adept_graph_free(graph);
}

/* Shapes that are given bring their own sizes; where they leave one open, the file's counts. */
static void shapes_over_shapes(void **state)
{
    (void)state;
    adept_input_spec given[] = {spec_of("i64:BxS"), spec_of("i64:Bx40"), spec_of("i64:5x40")};
    static const struct {
        int64_t batch, length;
    } kept[] = {{7, 30}, {7, 0}, {0, 0}};
    for (size_t i = 0; i < 3; i++) {
        adept_workload_config c = {.batch_size = 7, .seq_length = 30};
        adept_workload_config_over(&c, &(adept_workload_config){.n_inputs = 1, .inputs = &given[i]});
        assert_true(c.n_inputs == 1 && c.inputs == &given[i]);
        assert_true(c.batch_size == kept[i].batch && c.seq_length == kept[i].length);
        adept_workload_config_over(&c, &(adept_workload_config){.batch_size = 2, .seq_length = 3});
        assert_true(c.n_inputs == 1 && c.batch_size == 2 && c.seq_length == 3);
    }
}

/* ---- what is refused ---- */

static void refused(const char *text, const char *says)
{
    saved s;
    adept_error err = {0};
    if (read_text(&s, text, strlen(text), &err) != ADEPT_E_INVALID) fail_msg("was read: %.200s", text);
    if (!strstr(err.message, "file.json") || !strstr(err.message, says))
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void other_forms_are_refused(void **state)
{
    (void)state;
    adept_graph *graph = saved_model_graph(DATA "mlp.graph");
    const adept_workload_config config = {.mode = ADEPT_MODE_TRAIN};
    char *text = saved_model_text(graph, &config), *json = walked(graph, &config);
    static const char *const changes[][3] = {
        {"\"schema_version\":\t3", "\"schema_version\":\t2", "adept profile MODEL -o FILE"},
        {"\"schema_version\":\t3", "\"schema_version\":\t4",
         "a later version of adept (schema_version 4): update adept; or here, adept profile MODEL -o FILE writes one"},
        {"\"adept-profile\"", "\"adept-fit\"", "not a workload profile"},
        {"\"kind\"", "\"kinds\"", "it has no \"kind\""},
        {"\"graph\"", "\"gruph\"", "adept profile MODEL -o FILE"},
        {"\"options\"", "\"option\"", "unknown key \"option\"; did you mean \"options\"?"},
        {"\"data\"", "\"dada\"", "unknown key \"dada\" in \"graph\"; did you mean \"data\"?"},
        {"\"options\":\t{", "\"options\":\t{\"grad_acum\": 2,",
         "unknown key \"grad_acum\" in \"options\"; did you mean \"grad_accum\"?"},
        {"\"options\":\t{", "\"options\":\t{\"exection\": \"compile\",", "did you mean \"execution\"?"},
        {"\"options\":\t{", "\"options\":\t{\"x\": 2,", "unknown key \"x\" in \"options\""},
        {"\"ops\":\t[", "\"batch_size\": 7, \"ops\":\t[", "unknown key \"batch_size\""},
        {"\"options\":\t{", "\"options\":\t{\"batch_size\": 8,", "damaged or edited"},
        {"\"options\":\t{", "\"options\":\t{\"batch_size\": -8,", "whole number"},
        {"\"options\":\t{", "\"options\":\t{\"batch_size\": 8.5,", "whole number"},
        {"\"options\":\t{", "\"options\":\t{\"inputs\": [\"8x\"],", "not shapes"},
        {"\"options\":\t{", "\"options\":\t{\"inputs\": [8],", "not shapes"},
        {"\"options\":\t{", "\"options\":\t{\"inputs\": {},", "not an array"},
        {"\"options\":\t{", "\"options\":\t{\"allow_unsupported\": 1,", "neither true nor false"},
        {"\"data\":\t\"YWRl", "\"data\":\t\"YWRm", "damaged or edited"},
        {"\"data\":\t\"YWRl", "\"data\":\t\"!WRl", "damaged or edited"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *bad = replaced(text, changes[i][0], changes[i][1]);
        refused(bad, changes[i][2]);
        free(bad);
    }
    refused(json, "a profile without its graph");
    refused("{}", "");
    refused("{\"schema_version\": 1, \"kind\": \"adept-profile\", \"ops\": []}", "had no graph in it");
    free(text);
    free(json);
    adept_graph_free(graph);
}

/* Every cut and every bit that flips is found, or stands where nobody reads. */
static void damage_is_found_or_harmless(void **state)
{
    (void)state;
    adept_graph *graph = saved_model_graph(DATA "mlp.graph");
    const adept_workload_config config = {.batch_size = 8, .optimizer = "sgd"};
    char *text = saved_model_text(graph, &config);
    size_t size = strlen(text), n_found = 0, n_harmless = 0;
    saved whole, s;
    assert_int_equal(read_text(&whole, text, size, NULL), ADEPT_OK);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(read_text(&s, text, cut, NULL), ADEPT_E_INVALID);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            adept_error err = {0};
            text[at] = (char)(text[at] ^ 1 << bit);
            adept_status status = read_text(&s, text, size, &err);
            if (status == ADEPT_OK) {
                if (!is_same(&s, &whole)) fail_msg("byte %zu, bit %d: read as something else", at, bit);
                n_harmless++;
            } else {
                assert_int_equal(status, ADEPT_E_INVALID);
                assert_true(err.message[0] != '\0');
                n_found++;
            }
            saved_free(&s);
            text[at] = (char)(text[at] ^ 1 << bit);
        }
    const char *graph_at = strstr(text, "\"graph\"");
    assert_true(graph_at && n_found > 7 * (size - (size_t)(graph_at - text)) && n_harmless > 0);
    saved_free(&whole);
    free(text);
    adept_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_vectors),          cmocka_unit_test(data_is_as_made),
        cmocka_unit_test(every_option_is_kept),    cmocka_unit_test(shapes_over_shapes),
        cmocka_unit_test(other_forms_are_refused), cmocka_unit_test(damage_is_found_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Input shapes found in the archive. Fixtures are made here: adept.json, and traced_inputs.pkl as PyTorch 2.6 writes it
 * (disassembled with pickletools from a file that torch.jit.trace saved). */
#include "adept_import.h"
#include "torchscript_file.h"
#include "zip_file.h"
#include "cmocka_test.h"
#include <unistd.h>

static char file[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(file, "/tmp/adept_test_hints_XXXXXX");
    int fd = mkstemp(file);
    if (fd < 0) return -1;
    return close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(file);
}

/* A graph with the given inputs and nothing else; names starting with '=' have a fixed value. */
static adept_graph *graph_of(size_t n, const char *const *names)
{
    adept_graph_builder *b = adept_graph_builder_new();
    assert_non_null(b);
    for (size_t i = 0; i < n; i++) {
        adept_graph_input in = {.name = names[i], .value = adept_graph_builder_value(b)};
        if (names[i][0] == '=') in.constant.kind = ADEPT_VALUE_NONE;
        assert_true(adept_graph_builder_input(b, &in) >= 0);
    }
    adept_graph *g = NULL;
    adept_error err;
    assert_int_equal(adept_graph_builder_finish(b, 0, NULL, &g, &err), ADEPT_OK);
    return g;
}

static adept_status hints(adept_graph *g, const char *json, const void *pickle, size_t pickle_size, adept_error *err)
{
    test_entry entries[3] = {TEST_TEXT("m/version", "3\n")};
    size_t n = 1;
    if (json) entries[n++] = (test_entry){"m/extra/adept.json", json, strlen(json)};
    if (pickle) entries[n++] = (test_entry){"m/traced_inputs.pkl", pickle, pickle_size};
    test_zip_write(file, entries, n, false);
    return test_torchscript_hints(g, file, err);
}

/* ---- adept.json ---- */

static void test_json(void **state)
{
    (void)state;
    static const char *const names[] = {"ids", "mask"};
    adept_error err = {0};
    adept_graph *g = graph_of(2, names);
    assert_int_equal(hints(g, "{\"inputs\":[\"i64:Bx256\",\"4x256\"],\"batch\":8,\"note\":1}", NULL, 0, &err),
                     ADEPT_OK);
    assert_int_equal(g->n_hint_specs, 2);
    assert_string_equal(g->hint_specs[0], "i64:Bx256");
    assert_string_equal(g->hint_specs[1], "4x256");
    assert_int_equal(g->hint_batch, 8);
    adept_graph_free(g);
    g = graph_of(2, names);
    assert_int_equal(hints(g, "{\"inputs\":[]}", NULL, 0, &err), ADEPT_OK);
    assert_int_equal(g->hint_batch, 0);
    assert_int_equal(g->hint_seq_length, 0);
    assert_int_equal(g->n_hint_specs, 0);
    adept_graph_free(g);
    g = graph_of(2, names);
    assert_int_equal(hints(g, "{\"inputs\":[\"i64:BxS\",\"bool:BxS\"],\"batch\":8,\"seq_length\":512}", NULL, 0, &err),
                     ADEPT_OK);
    assert_int_equal(g->hint_seq_length, 512);
    assert_string_equal(g->hint_specs[1], "bool:BxS");
    adept_graph_free(g);
}

static void test_json_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{\"inputs\":\"2x3\"}",
        "{\"inputs\":[3]}",
        "{\"inputs\":[\"2x\"]}",
        "{\"inputs\":[\"q8:2x3\"]}",
        "{\"inputs\":[\"2x3\"],\"batch\":0}",
        "{\"inputs\":[\"BxS\"],\"seq_length\":0}",
        "{\"inputs\":[\"BxS\"],\"seq_length\":\"long\"}",
        "{\"inputs\":[\"2x3\"],\"batch\":-1}",
        "{\"inputs\":[\"2x3\"],\"batch\":1.5}",
        "{\"inputs\":[\"2x3\"],\"batch\":\"8\"}",
        "{\"batch\":8}",
    };
    static const char *const names[] = {"x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        adept_graph *g = graph_of(1, names);
        adept_error err = {0};
        adept_status status = hints(g, bad[i], NULL, 0, &err);
        if (status != ADEPT_E_INVALID) fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(err.message, "adept.json"));
        assert_int_equal(g->n_hint_specs, 0);
        adept_graph_free(g);
    }
}

/* ---- traced_inputs.pkl ---- */

/* A pickle while it is put together. */
typedef struct text {
    char bytes[4096];
    size_t n;
} text;

static void put(text *t, const char *bytes, size_t n)
{
    assert_true(t->n + n <= sizeof t->bytes);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

#define PUT(t, literal) put(t, literal, sizeof(literal) - 1)

static void put_string(text *t, const char *s)
{
    const char length[4] = {(char)strlen(s), 0, 0, 0};
    PUT(t, "X");
    put(t, length, 4);
    put(t, s, strlen(s));
}

static void put_ints(text *t, int n, const unsigned *numbers)
{
    for (int i = 0; i < n; i++) {
        const char number[5] = {'J', (char)(numbers[i] & 255), (char)(numbers[i] >> 8 & 255),
                                (char)(numbers[i] >> 16 & 255), (char)(numbers[i] >> 24)};
        put(t, number, 5);
    }
}

/* @param strides  NULL: none */
static void put_tensor_in(text *t, const char *storage, int n, const unsigned *dims, const unsigned *strides)
{
    PUT(t, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_string(t, "storage");
    PUT(t, "ctorch\n");
    put(t, storage, strlen(storage));
    PUT(t, "\n");
    put_string(t, "0");
    put_string(t, "cpu");
    PUT(t, "J\x01\x00\x00\x00tQK\x00(");
    put_ints(t, n, dims);
    PUT(t, "t(");
    put_ints(t, strides ? n : 0, strides);
    PUT(t, "t\x89"
           "ccollections\nOrderedDict\n)RtR");
}

static void put_tensor(text *t, const char *storage, int n, const unsigned *dims)
{
    put_tensor_in(t, storage, n, dims, NULL);
}

static void begin(text *t)
{
    t->n = 0;
    PUT(t, "\x80\x02"
           "ctorch.jit._pickle\nrestore_type_tag\n}(");
    put_string(t, "forward");
    PUT(t, "ctorch.jit._pickle\nrestore_type_tag\n](");
}

static void end(text *t)
{
    PUT(t, "e");
    put_string(t, "List[Any]");
    PUT(t, "\x86Ru");
    put_string(t, "Dict[str, List[Any]]");
    PUT(t, "\x86R.");
}

static void assert_shape(const adept_graph_input *in, adept_dtype dtype, int n, const unsigned *dims)
{
    assert_true(in->has_shape);
    assert_int_equal(in->dtype, dtype);
    assert_int_equal(in->ndim, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(in->dims[i], dims[i]);
}

static const unsigned image[] = {2, 3, 224, 70000}, ids[] = {5, 0};

static void test_traced(void **state)
{
    (void)state;
    static const char *const names[] = {"x", "=none", "ids", "flag"};
    adept_graph *g = graph_of(4, names);
    adept_error err = {0};
    text t;
    begin(&t);
    put_tensor(&t, "FloatStorage", 4, image);
    PUT(&t, "("); /* a tuple of two inputs, as the module flattens it */
    put_tensor(&t, "LongStorage", 2, ids);
    put_tensor(&t, "BoolStorage", 0, NULL);
    PUT(&t, "t");
    end(&t);
    assert_int_equal(hints(g, NULL, t.bytes, t.n, &err), ADEPT_OK);
    assert_shape(&g->inputs[0], ADEPT_F32, 4, image);
    assert_false(g->inputs[1].has_shape);
    assert_shape(&g->inputs[2], ADEPT_I64, 2, ids);
    assert_shape(&g->inputs[3], ADEPT_BOOL, 0, NULL);
    adept_graph_free(g);
}

static void test_traced_order(void **state)
{
    (void)state;
    static const char *const names[] = {"x", "y"};
    static const unsigned small[] = {2, 3, 4, 5}, last[] = {60, 1, 15, 3}, planes[] = {60, 20, 5, 1};
    adept_graph *g = graph_of(2, names);
    adept_error err = {0};
    text t;
    begin(&t);
    put_tensor_in(&t, "FloatStorage", 4, small, last);
    put_tensor_in(&t, "FloatStorage", 4, small, planes);
    end(&t);
    assert_int_equal(hints(g, NULL, t.bytes, t.n, &err), ADEPT_OK);
    assert_true(g->inputs[0].channels_last && !g->inputs[1].channels_last);
    adept_graph_free(g);
}

/* All of it fits or nothing is taken; it is never an error. */
static void assert_unknown(const text *t, size_t n)
{
    static const char *const names[] = {"x", "y"};
    adept_graph *g = graph_of(2, names);
    adept_error err = {0};
    assert_int_equal(hints(g, NULL, t->bytes, n, &err), ADEPT_OK);
    assert_false(g->inputs[0].has_shape);
    assert_false(g->inputs[1].has_shape);
    adept_graph_free(g);
}

static void test_traced_unusable(void **state)
{
    (void)state;
    text t;
    begin(&t); /* one tensor for two inputs */
    put_tensor(&t, "FloatStorage", 4, image);
    end(&t);
    assert_unknown(&t, t.n);
    begin(&t); /* three */
    for (int i = 0; i < 3; i++)
        put_tensor(&t, "FloatStorage", 4, image);
    end(&t);
    assert_unknown(&t, t.n);
    begin(&t); /* an unknown type */
    put_tensor(&t, "FloatStorage", 4, image);
    put_tensor(&t, "QInt8Storage", 4, image);
    end(&t);
    assert_unknown(&t, t.n);
    begin(&t); /* not a tensor */
    put_tensor(&t, "FloatStorage", 4, image);
    PUT(&t, "K\x05");
    end(&t);
    assert_unknown(&t, t.n);
    static const unsigned negative[] = {2, 0xffffffffu}, nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const unsigned huge[] = {0x7fffffffu, 0x7fffffffu, 0x7fffffffu};
    const struct {
        int n;
        const unsigned *dims;
    } sizes[] = {{2, negative}, {9, nine}, {3, huge}};
    for (size_t i = 0; i < 3; i++) {
        begin(&t);
        put_tensor(&t, "FloatStorage", 4, image);
        put_tensor(&t, "FloatStorage", sizes[i].n, sizes[i].dims);
        end(&t);
        assert_unknown(&t, t.n);
    }
}

static void test_traced_truncated(void **state)
{
    (void)state;
    text t;
    begin(&t);
    put_tensor(&t, "FloatStorage", 4, image);
    put_tensor(&t, "FloatStorage", 4, image);
    end(&t);
    for (size_t n = 0; n < t.n; n += 7)
        assert_unknown(&t, n);
}

static void test_both(void **state)
{
    (void)state;
    static const char *const names[] = {"x"};
    adept_graph *g = graph_of(1, names);
    adept_error err = {0};
    assert_int_equal(hints(g, "{\"inputs\":[\"2x3\"]}", "garbage", 7, &err), ADEPT_OK);
    assert_int_equal(g->n_hint_specs, 1);
    assert_false(g->inputs[0].has_shape);
    adept_graph_free(g);
}

/* ---- inputs that are no tensors alone: as texts, by name ---- */

static adept_graph *typed_graph(void)
{
    static const struct {
        const char *name, *type;
    } inputs[] = {
        {"x", NULL}, {"batch.ids", NULL}, {"batch", "Dict[str, Tensor]"}, {"sizes", "List[int]"}, {"on", "bool"}};
    adept_graph_builder *b = adept_graph_builder_new();
    adept_graph *g = NULL;
    adept_error err;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        adept_graph_input in = {.name = inputs[i].name, .type = inputs[i].type, .value = adept_graph_builder_value(b)};
        assert_true(adept_graph_builder_input(b, &in) >= 0);
    }
    assert_int_equal(adept_graph_builder_finish(b, 0, NULL, &g, &err), ADEPT_OK);
    return g;
}

static void put_arguments(text *t)
{
    static const unsigned small[] = {2, 3}, row[] = {5};
    put_tensor(t, "FloatStorage", 2, small);
    PUT(t, "ctorch.jit._pickle\nrestore_type_tag\n(}(");
    put_string(t, "mask");
    put_tensor(t, "BoolStorage", 1, row);
    put_string(t, "ids");
    put_tensor(t, "LongStorage", 1, row);
    PUT(t, "u");
    put_string(t, "Dict[str, Tensor]");
    PUT(t, "tRctorch.jit._pickle\nbuild_intlist\n](K\x04K\x06"
           "e\x85R\x88");
}

static void assert_named(const adept_graph *g)
{
    static const char *const specs[] = {"x=f32:2x3", "batch.mask=bool:5", "batch.ids=i64:5",
                                        "sizes.0=4", "sizes.1=6",         "on=true"};
    assert_int_equal(g->n_hint_specs, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(g->hint_specs[i], specs[i]);
}

static void test_traced_named(void **state)
{
    (void)state;
    adept_graph *g = typed_graph();
    adept_error err = {0};
    text t;
    begin(&t);
    put_arguments(&t);
    end(&t);
    assert_int_equal(hints(g, NULL, t.bytes, t.n, &err), ADEPT_OK);
    assert_named(g);
    adept_graph_free(g);
    for (size_t n = 0; n < t.n; n += 11) { /* all of it or nothing */
        g = typed_graph();
        assert_int_equal(hints(g, NULL, t.bytes, n, &err), ADEPT_OK);
        assert_int_equal(g->n_hint_specs, 0);
        adept_graph_free(g);
    }
}

/* In the attribute that torch.utils.bundled_inputs gives a model; the first of two sets. */
static void test_bundled(void **state)
{
    (void)state;
    adept_error err = {0};
    for (int fits = 0; fits < 2; fits++) {
        adept_graph *g = typed_graph();
        text t = {.n = 0};
        PUT(&t, "\x80\x02"
                "c__torch__\nNet\n)\x81}(");
        put_string(&t, fits ? "_bundled_inputs_deflated_forward" : "_bundled_inputs_deflated_backward");
        PUT(&t, "](("); /* a list of tuples */
        put_arguments(&t);
        PUT(&t, "tK\x05"
                "eub.");
        test_entry entries[] = {TEST_TEXT("m/version", "3\n"), {"m/data.pkl", t.bytes, t.n}};
        test_zip_write(file, entries, 2, false);
        assert_int_equal(test_torchscript_hints(g, file, &err), ADEPT_OK);
        if (fits)
            assert_named(g);
        else
            assert_int_equal(g->n_hint_specs, 0);
        adept_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traced_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bundled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traced_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traced_unusable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traced_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_both, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("torchscript hints", tests, NULL, NULL);
}

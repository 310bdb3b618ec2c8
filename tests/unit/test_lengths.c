/* Batch sizes and sequence lengths from walks, on profiles made here: polynomials in both, pieces where operators
 * change, refusals, files that lie. */
#include "adept_file.h"
#include "batches_compare.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What a model does: a product over all tokens, and attention. */
typedef struct behaviour {
    int64_t batch_changes, length_changes; /* one operator more from here on; 0: never */
    int64_t
        equal_at;   /* at this length alone the two become one: 40 is a dimension of the model, 2^n is always walked */
    double largest; /* temporary memory is at least this */
    int64_t fails_above; /* positions, 0: no limit */
    bool ignores_length; /* counts one length while it says another */
    size_t n_walks;
} behaviour;

static const char *print(adept_arena *arena, const char *format, int64_t a, int64_t b)
{
    char text[100];
    snprintf(text, sizeof text, format, (long long)a, (long long)b, (long long)b);
    return adept_arena_strdup(arena, text);
}

static adept_kernel product(double batch, double m, double n, double k)
{
    return (adept_kernel){.unit = ADEPT_UNIT_GEMM,
                          .family = batch > 1 ? ADEPT_FAMILY_BMM : ADEPT_FAMILY_GEMM,
                          .dtype = ADEPT_F32,
                          .flops = 2 * batch * m * n * k,
                          .m = m,
                          .n = n,
                          .k = k,
                          .batch = batch,
                          .launches = 1,
                          .bytes_read = 4 * batch * (m + n) * k,
                          .bytes_written = 4 * batch * m * n,
                          .elements = batch * m * n};
}

static size_t add_ops(adept_profile_op *ops, adept_arena *arena, const behaviour *how, int64_t b, int64_t s)
{
    adept_kernel *kernels = adept_arena_array(arena, 2, sizeof *kernels);
    bool more = (how->batch_changes && b >= how->batch_changes) || (how->length_changes && s >= how->length_changes);
    size_t n = how->equal_at && s == how->equal_at ? 1 : more ? 3 : 2;
    kernels[0] = product(1, (double)(b * s), 40, 4);
    kernels[1] = product((double)b, (double)s, (double)s, 4);
    for (size_t i = 0; i < n; i++)
        ops[i] = (adept_profile_op){.path = i ? "attn" : "proj",
                                    .module_class = "M",
                                    .kind = i ? "matmul" : "linear",
                                    .op = i ? "aten::matmul" : "aten::linear",
                                    .inputs = print(arena, i ? "f32:%lldx%lldx4" : "f32:%lldx%lldx4, f32:40x4", b, s),
                                    .outputs = print(arena, i ? "f32:%lldx%lldx%lld" : "f32:%lldx%lldx40", b, s),
                                    .count = 1 + (i == 2),
                                    .n_kernels = 1,
                                    .kernels = &kernels[i > 0],
                                    .saved_bytes = (double)(i ? 4 * b * s * s : 160 * b * s)};
    return n;
}

static adept_status walk(adept_profile **out, int64_t batch, int64_t seq_length, void *context, adept_error *err)
{
    behaviour *how = context;
    how->n_walks++;
    if (how->fails_above && seq_length > how->fails_above) return adept_error_set(err, ADEPT_E_USAGE, "too long");
    adept_arena *arena = adept_arena_new();
    adept_profile *p = adept_arena_alloc(arena, sizeof *p);
    adept_profile_op *ops = adept_arena_array(arena, 3, sizeof *ops);
    adept_profile_input *input = adept_arena_alloc(arena, sizeof *input);
    double memory = 4.0 * (double)(batch * seq_length);
    *input = (adept_profile_input){"ids", print(arena, "i64:%lldx%lld", batch, seq_length)};
    *p = (adept_profile){.arena = arena,
                         .model_path = "toy.pt",
                         .model_sha256 = "00",
                         .producer = "",
                         .optimizer = "none",
                         .mode = ADEPT_MODE_FWBW,
                         .batch_size = batch,
                         .seq_length = how->ignores_length ? 5 : seq_length,
                         .grad_accum = 1,
                         .n_inputs = 1,
                         .inputs = input,
                         .n_ops = add_ops(ops, arena, how, batch, seq_length),
                         .ops = ops,
                         .params = 160,
                         .trainable_params = 160,
                         .trainable_tensors = 1,
                         .weights_bytes = 640,
                         .trainable_bytes = 640,
                         .temporary_bytes = memory > how->largest ? memory : how->largest};
    adept_profile_summarise(p);
    *out = p;
    return ADEPT_OK;
}

static adept_batches *make(behaviour *how, adept_batch_range range)
{
    adept_batches *b = NULL;
    adept_error err = {0};
    if (adept_batches_new(&b, walk, how, &range, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(adept_batches_low(b) == range.low && adept_batches_high(b) == range.high);
    assert_true(adept_batches_length_low(b) == range.lengths.low && adept_batches_length_high(b) == range.lengths.high);
    assert_true(adept_batches_base(b) == range.base && adept_batches_length(b) == range.lengths.base);
    return b;
}

static void same_profile(const adept_batches *b, behaviour *how, int64_t batch, int64_t length)
{
    adept_profile *made = NULL, *walked = NULL;
    adept_error err = {0};
    if (adept_batches_at_length(&made, b, batch, length, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(walk(&walked, batch, length, how, NULL), ADEPT_OK);
    profiles_are_same(made, walked, "toy");
}

static const adept_batch_range small = {.low = 1, .high = 9, .base = 4, .lengths = {.low = 1, .high = 40, .base = 16}};

static void every_pair_is_exact(void **state)
{
    (void)state;
    behaviour hows[] = {
        {0},
        {.batch_changes = 2},
        {.length_changes = 2},
        {.batch_changes = 4, .length_changes = 17},
        {.equal_at = 32},
        {.batch_changes = 9, .equal_at = 40},
        {.equal_at = 1, .length_changes = 39},
    };
    const adept_batch_range ranges[] = {
        small,
        {.low = 3, .high = 3, .base = 3, .lengths = {.low = 1, .high = 2, .base = 2}},
        {.low = 1, .high = 2, .base = 1, .lengths = {.low = 7, .high = 40, .base = 7}},
        {.low = 2, .high = 70, .base = 70, .lengths = {.low = 30, .high = 40, .base = 40}},
        {.low = 1, .high = 3, .base = 2, .lengths = {.low = 10, .high = 150, .base = 50}},
    };
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            adept_batches *b = make(&hows[i], ranges[r]), *read = batches_through_file(b);
            for (int64_t batch = ranges[r].low; batch <= ranges[r].high; batch++)
                for (int64_t s = ranges[r].lengths.low; s <= ranges[r].lengths.high; s++)
                    same_profile((batch + s) % 2 ? b : read, &hows[i], batch, s);
            adept_batches_free(b);
            adept_batches_free(read);
        }
}

static void large_ranges_take_few_walks(void **state)
{
    (void)state;
    behaviour how = {.batch_changes = 33, .length_changes = 3001};
    const int64_t points[] = {4711};
    adept_batches *b =
        make(&how, (adept_batch_range){.low = 1, .high = 512, .base = 8, .lengths = {1, 100000, 512, points, 1}});
    assert_true(how.n_walks == adept_batches_walks(b) && how.n_walks < 3000);
    size_t n, found = 0;
    const int64_t *lengths = adept_batches_lengths_checked(b, &n);
    assert_true(n > 60 && lengths[0] == 1 && lengths[n - 1] == 100000);
    for (size_t i = 1; i < n; i++) {
        assert_true(lengths[i] > lengths[i - 1]);
        found += lengths[i] == 4711;
    }
    assert_int_equal(found, 1);
    const int64_t some[][2] = {{1, 1}, {32, 3000}, {33, 3001}, {32, 3001}, {33, 3000}, {511, 99999}, {77, 12345}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        same_profile(b, &how, some[i][0], some[i][1]);
    adept_batches_free(b);
}

/* A kink inside that the corners do not see, but the samples do: the last length a row really reaches is found. */
static void rows_end_where_they_must(void **state)
{
    (void)state;
    behaviour how = {.largest = 4.0 * 5 * 200}; /* B S > 1000 with one batch: lengths of up to 200 */
    adept_batches *b = make(
        &how, (adept_batch_range){.low = 5, .high = 5, .base = 5, .lengths = {.low = 1, .high = 900, .base = 300}});
    for (int64_t s = 1; s <= 900; s += 7)
        same_profile(b, &how, 5, s);
    same_profile(b, &how, 5, 200);
    same_profile(b, &how, 5, 201);
    adept_batches_free(b);
}

static void refuse(behaviour how, adept_batch_range range, adept_status expected, const char *part)
{
    adept_batches *b = NULL;
    adept_error err = {0};
    assert_int_equal(adept_batches_new(&b, walk, &how, &range, &err), expected);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    assert_null(b);
}

static adept_batch_range lengths(int64_t low, int64_t base, int64_t high)
{
    return (adept_batch_range){.low = 1, .high = 64, .base = 8, .lengths = {.low = low, .high = high, .base = base}};
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refuse((behaviour){.fails_above = 1024}, lengths(1, 512, 1025), ADEPT_E_USAGE,
           "at a batch of 8 and a sequence length of 1025: too long");
    /* the larger of two counts, of which B S decides: no rectangles */
    refuse((behaviour){.largest = 40000}, lengths(1, 512, 10000), ADEPT_E_UNSUPPORTED,
           "no polynomial in batch and length");
    refuse((behaviour){.ignores_length = true}, lengths(1, 2, 3), ADEPT_E_INTERNAL, "counted another");
    refuse((behaviour){0}, lengths(0, 1, 3), ADEPT_E_USAGE, "sequence lengths 0 to 3 about 1");
    refuse((behaviour){0}, lengths(4, 4, 3), ADEPT_E_USAGE, "4 to 3");
    refuse((behaviour){0}, lengths(2, 1, 3), ADEPT_E_USAGE, "about 1");
    refuse((behaviour){0}, lengths(1, 1, 2000000000), ADEPT_E_USAGE, "at most");
}

static void sizes_outside_are_refused(void **state)
{
    (void)state;
    behaviour how = {0};
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_batches *b = make(&how, small);
    const int64_t bad[] = {41, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(adept_batches_at_length(&p, b, 4, bad[i], &err), ADEPT_E_USAGE);
        assert_non_null(strstr(err.message, "1 to 40"));
        assert_int_equal(adept_batches_at_length(&p, b, bad[i], 4, &err), ADEPT_E_USAGE);
        assert_non_null(strstr(err.message, "1 to 9"));
    }
    assert_int_equal(adept_batches_at(&p, b, 9, &err), ADEPT_OK); /* at the own length */
    assert_true(p->batch_size == 9 && p->seq_length == 16);
    adept_profile_free(p);
    adept_batches_free(b);
}

/* ---- files ---- */

/* A profile of its base to programs that know no lengths, and no "batches" that they could take for theirs. */
static void files_are_compatible(void **state)
{
    (void)state;
    behaviour how = {.batch_changes = 2};
    adept_batches *b = make(&how, small), *single = NULL;
    adept_profile *plain = NULL, *p = NULL;
    adept_error err = {0};
    char *text = adept_batches_to_json(b);
    assert_null(strstr(text, "\"batches\""));
    assert_int_equal(adept_profile_from_json(&plain, "x", text, strlen(text), NULL), ADEPT_OK);
    assert_true(plain->batch_size == 4 && plain->seq_length == 16);
    char *old = adept_profile_to_json(plain);
    assert_int_equal(adept_batches_from_json(&single, "x", old, strlen(old), NULL), ADEPT_OK);
    assert_true(adept_batches_length_low(single) == 16 && adept_batches_length_high(single) == 16);
    same_profile(single, &how, 4, 16);
    assert_int_equal(adept_batches_at_length(&p, single, 4, 17, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "16 to 16"));
    free(text), free(old);
    adept_profile_free(plain);
    adept_batches_free(b);
    adept_batches_free(single);
}

/* One length is no choice: the file is that of batches, as before there were lengths. */
static void one_length_is_a_file_of_batches(void **state)
{
    (void)state;
    behaviour how = {0};
    adept_batches *b =
        make(&how, (adept_batch_range){.low = 1, .high = 9, .base = 4, .lengths = {.low = 7, .high = 7, .base = 7}});
    char *text = adept_batches_to_json(b);
    assert_non_null(strstr(text, "\"batches\""));
    assert_null(strstr(text, "\"lengths\""));
    adept_batches *read = batches_through_file(b);
    same_profile(read, &how, 9, 7);
    free(text);
    adept_batches_free(b);
    adept_batches_free(read);
}

static void profiles_are_read_at_a_length(void **state)
{
    (void)state;
    behaviour how = {.batch_changes = 3};
    adept_batches *b = make(&how, small);
    char path[] = "/tmp/adept-lengths-XXXXXX", *text = adept_batches_to_json(b);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(adept_file_write(path, text, strlen(text), NULL), ADEPT_OK);
    const int64_t asked[][4] = {{0, 0, 4, 16}, {0, 33, 4, 33}, {2, 0, 2, 16}, {9, 40, 9, 40}};
    for (size_t i = 0; i < 4; i++) {
        adept_profile *p = NULL, *walked = NULL;
        assert_int_equal(adept_profile_read_at_length(&p, path, asked[i][0], asked[i][1], NULL), ADEPT_OK);
        assert_int_equal(walk(&walked, asked[i][2], asked[i][3], &how, NULL), ADEPT_OK);
        profiles_are_same(p, walked, "toy");
    }
    adept_profile *p = NULL;
    assert_int_equal(adept_profile_read_at_length(&p, path, 4, 41, NULL), ADEPT_E_USAGE);
    remove(path);
    free(text);
    adept_batches_free(b);
}

static void files_that_lie_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } lies[] = {
        {"\"numbering\":\t2", "\"numbering\":\t9", "another version"},
        {"\"lengths_checked\":\t[1", "\"lengths_checked\":\t[0", "ascending"},
        {"\"lengths_checked\":", "\"lengths\":", "lengths_checked"},
        {"\"checked\":\t[1", "\"checked\":\t[-1", "ascending"},
        {"\"walks\":\t", "\"walks\":\t-", "walks"},
        {"\"numbers\":\t", "\"numbers\":\t1", "numbers in a profile of"},
        {"\"length2\":\t[", "\"length2\":\t[1, ", "different lengths"},
        {"\"length\":\t[", "\"length\":\t[\"x\", ", "different lengths"},
        {"\"length\":\t[", "\"length\":\t5, \"other\":\t[", "different lengths"},
        {"\"first\":\t[", "\"firsts\":\t[", "first"},
        {"\"length_low\":\t17", "\"length_low\":\t18", "do not join"},
        {"\"length_low\":\t17", "\"length_low\":\t16", "do not join"},
        {"\"length_high\":\t16", "\"length_high\":\t12", "do not join"},
        {"\"profile\":", "\"profiles\":", "no profile within"},
        {"\"lengths\":", "\"lengths\":\t5, \"x\":", "no object"},
    };
    behaviour how = {.batch_changes = 3, .length_changes = 17};
    adept_batches *b = make(&how, small);
    char *text = adept_batches_to_json(b);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        lie_is_refused(text, "\"lengths\"", lies[i].from, lies[i].to, lies[i].says);
    free(text);
    adept_batches_free(b);
}

/* A row that ends before the last batch leaves a hole. */
static void rows_have_all_batches(void **state)
{
    (void)state;
    behaviour how = {.length_changes = 17};
    adept_batches *b = make(&how, small), *read = NULL;
    adept_error err = {0};
    char *text = adept_batches_to_json(b), *pieces = strstr(text, "\"pieces\"");
    char *high = strstr(pieces, "\"high\":\t9");
    assert_non_null(high);
    high[strlen("\"high\":\t")] = '8';
    assert_int_equal(adept_batches_from_json(&read, "toy", text, strlen(text), &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "do not join"));
    free(text);
    adept_batches_free(b);
}

/* ---- the syntax of shapes ---- */

static void shapes_may_leave_the_length_open(void **state)
{
    (void)state;
    adept_input_spec spec;
    char text[100];
    assert_int_equal(adept_input_spec_parse(&spec, "i64:BxS", NULL), ADEPT_OK);
    assert_true(spec.ndim == 2 && spec.dims[0] == ADEPT_DIM_BATCH && spec.dims[1] == ADEPT_DIM_LENGTH);
    assert_string_equal(adept_input_spec_print(&spec, text, sizeof text), "i64:BxS");
    assert_int_equal(adept_input_spec_parse(&spec, "bool:Bx1xSxS", NULL), ADEPT_OK);
    adept_input_spec_settle(&spec, 3, false, 17);
    assert_string_equal(adept_input_spec_print(&spec, text, sizeof text), "bool:3x1x17x17");
    assert_int_equal(adept_input_spec_parse(&spec, "8xS", NULL), ADEPT_OK);
    adept_input_spec_settle(&spec, 3, true, 5);
    assert_string_equal(adept_input_spec_print(&spec, text, sizeof text), "f32:3x5");
    static const char *const bad[] = {"BxSS", "Bxs", "xS", "SxBxB", "S2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(adept_input_spec_parse(&spec, bad[i], NULL), ADEPT_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_exact),
        cmocka_unit_test(large_ranges_take_few_walks),
        cmocka_unit_test(rows_end_where_they_must),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(sizes_outside_are_refused),
        cmocka_unit_test(files_are_compatible),
        cmocka_unit_test(one_length_is_a_file_of_batches),
        cmocka_unit_test(profiles_are_read_at_a_length),
        cmocka_unit_test(files_that_lie_are_refused),
        cmocka_unit_test(rows_have_all_batches),
        cmocka_unit_test(shapes_may_leave_the_length_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

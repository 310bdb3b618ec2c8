/* Batch sizes from a few walks, on profiles made here: polynomials, pieces where they change, refusals, files that lie.
 */
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

/* What a model does at a batch. */
typedef struct behaviour {
    double square, linear, constant; /* bytes_read of its kernel */
    int64_t changes_at;              /* a second operator from here on; 0: never */
    int64_t largest;                 /* temporary memory is the larger of 1000 and 10 per sample, if set */
    int64_t pads_to;                 /* bytes_written in multiples of this many samples; 0: 1 */
    int64_t fails_at;
    size_t n_walks;
} behaviour;

static const char *print(adept_arena *arena, const char *format, int64_t batch)
{
    char text[100];
    snprintf(text, sizeof text, format, (long long)batch);
    return adept_arena_strdup(arena, text);
}

static adept_status walk(adept_profile **out, int64_t batch, int64_t seq_length, void *context, adept_error *err)
{
    (void)seq_length;
    behaviour *how = context;
    how->n_walks++;
    if (batch == how->fails_at) return adept_error_set(err, ADEPT_E_INVALID, "does not fit");
    adept_arena *arena = adept_arena_new();
    adept_profile *p = adept_arena_alloc(arena, sizeof *p);
    adept_profile_op *ops = adept_arena_array(arena, 2, sizeof *ops);
    adept_kernel *kernels = adept_arena_array(arena, 1, sizeof *kernels);
    adept_profile_input *input = adept_arena_alloc(arena, sizeof *input);
    double b = (double)batch, pads = how->pads_to ? (double)how->pads_to : 1;
    int64_t blocks = (batch + (int64_t)pads - 1) / (int64_t)pads;
    kernels[0] = (adept_kernel){.unit = ADEPT_UNIT_GEMM,
                                .family = ADEPT_FAMILY_GEMM,
                                .dtype = ADEPT_F32,
                                .flops = 2 * b * 8 * 4,
                                .m = b,
                                .n = 8,
                                .k = 4,
                                .batch = 1,
                                .launches = 1,
                                .bytes_written = (double)blocks * pads * 32,
                                .bytes_read = how->square * b * b + how->linear * b + how->constant};
    for (int i = 0; i < 2; i++)
        ops[i] = (adept_profile_op){.path = i ? "b" : "a",
                                    .module_class = "Linear",
                                    .kind = "linear",
                                    .op = "aten::linear",
                                    .inputs = print(arena, "f32:%lldx4, f32:8x4", batch),
                                    .outputs = print(arena, "f32:%lldx8", batch),
                                    .count = 1,
                                    .n_kernels = 1,
                                    .kernels = kernels,
                                    .saved_bytes = 16 * b};
    *input = (adept_profile_input){"x", print(arena, "f32:%lldx4", batch)};
    *p = (adept_profile){.arena = arena,
                         .model_path = "toy.pt",
                         .model_sha256 = "00",
                         .producer = "",
                         .optimizer = "none",
                         .mode = ADEPT_MODE_FWBW,
                         .batch_size = batch,
                         .grad_accum = 1,
                         .n_inputs = 1,
                         .inputs = input,
                         .n_ops = how->changes_at && batch >= how->changes_at ? 2 : 1,
                         .ops = ops,
                         .params = 32,
                         .trainable_params = 32,
                         .trainable_tensors = 1,
                         .weights_bytes = 128,
                         .trainable_bytes = 128,
                         .temporary_bytes = how->largest ? (b > 100 ? 10 * b : 1000) : 0};
    adept_profile_summarise(p);
    *out = p;
    return ADEPT_OK;
}

static adept_batches *batches_of(behaviour *how, int64_t low, int64_t base, int64_t high)
{
    adept_batches *b = NULL;
    adept_error err = {0};
    const adept_batch_range range = {.low = low, .high = high, .base = base};
    if (adept_batches_new(&b, walk, how, &range, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(adept_batches_low(b) == low && adept_batches_high(b) == high && adept_batches_base(b) == base);
    return b;
}

static void same_profile(const adept_batches *b, behaviour *how, int64_t batch)
{
    adept_profile *made = NULL, *walked = NULL;
    adept_error err = {0};
    if (adept_batches_at(&made, b, batch, &err) != ADEPT_OK) fail_msg("%lld: %s", (long long)batch, err.message);
    assert_int_equal(walk(&walked, batch, 0, how, NULL), ADEPT_OK);
    profiles_are_same(made, walked, "toy");
}

static void every_batch_is_exact(void **state)
{
    (void)state;
    behaviour hows[] = {
        {.linear = 12, .constant = 7},
        {.square = 3, .linear = 12, .constant = 7},
        {.square = 1, .linear = 2, .changes_at = 17},
        {.linear = 5, .changes_at = 2},
        {.linear = 5, .changes_at = 333, .largest = 1},
        {.constant = 1e15},
        {.linear = 1, .pads_to = 30},
    };
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        const int64_t ranges[][3] = {{1, 1, 1}, {1, 2, 2}, {1, 1, 3}, {5, 40, 60}, {1, 64, 500}, {90, 400, 500}};
        for (size_t r = 0; r < 6; r++) {
            adept_batches *b = batches_of(&hows[i], ranges[r][0], ranges[r][1], ranges[r][2]),
                          *read = batches_through_file(b);
            for (int64_t batch = ranges[r][0]; batch <= ranges[r][2]; batch++)
                same_profile(batch % 2 ? b : read, &hows[i], batch);
            adept_batches_free(b);
            adept_batches_free(read);
        }
    }
}

static void large_ranges_take_few_walks(void **state)
{
    (void)state;
    behaviour how = {.linear = 12, .constant = 7};
    adept_batches *b = batches_of(&how, 1, 32, 1000000);
    size_t n, n_walks = how.n_walks;
    const int64_t *checked = adept_batches_checked(b, &n);
    assert_true(n <= n_walks && n_walks == adept_batches_walks(b)); /* some twice: nothing walked is kept */
    assert_true(n_walks < 150);
    for (size_t i = 1; i < n; i++)
        assert_true(checked[i] > checked[i - 1]);
    assert_true(checked[0] == 1 && checked[n - 1] == 1000000);
    const int64_t some[] = {2, 777, 123456, 999999};
    for (size_t i = 0; i < 4; i++)
        same_profile(b, &how, some[i]);
    adept_batches_free(b);
}

static void asked_points_are_walked(void **state)
{
    (void)state;
    behaviour how = {.linear = 1};
    adept_batches *b = NULL;
    const int64_t points[] = {4711, 815};
    const adept_batch_range range = {.low = 1, .high = 10000, .base = 1, .points = points, .n_points = 2};
    assert_int_equal(adept_batches_new(&b, walk, &how, &range, NULL), ADEPT_OK);
    size_t n, found = 0;
    const int64_t *checked = adept_batches_checked(b, &n);
    for (size_t i = 0; i < n; i++)
        found += checked[i] == 4711 || checked[i] == 815;
    assert_int_equal(found, 2);
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

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const adept_batch_range fine = {.low = 1, .high = 60, .base = 10};
    const int64_t outside = 101;
    refuse((behaviour){.linear = 1, .fails_at = 50}, fine, ADEPT_E_INVALID, "at a batch of 50: does not fit");
    refuse((behaviour){.pads_to = 3}, (adept_batch_range){.low = 1, .high = 1000, .base = 1}, ADEPT_E_UNSUPPORTED,
           "polynomial");
    refuse((behaviour){0}, (adept_batch_range){.low = 0, .high = 2, .base = 1}, ADEPT_E_USAGE, "0 to 2");
    refuse((behaviour){0}, (adept_batch_range){.low = 3, .high = 2, .base = 3}, ADEPT_E_USAGE, "3 to 2");
    refuse((behaviour){0}, (adept_batch_range){.low = 2, .high = 3, .base = 1}, ADEPT_E_USAGE, "about 1");
    refuse((behaviour){0}, (adept_batch_range){.low = 1, .high = 2000000000, .base = 1}, ADEPT_E_USAGE, "at most");
    refuse((behaviour){0}, (adept_batch_range){.low = 1, .high = 100, .base = 10, .points = &outside, .n_points = 1},
           ADEPT_E_USAGE, "1 to 100");
}

static void batches_outside_are_refused(void **state)
{
    (void)state;
    behaviour how = {.linear = 1};
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_batches *b = batches_of(&how, 4, 5, 9);
    const int64_t bad[] = {3, 10, 0, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(adept_batches_at(&p, b, bad[i], &err), ADEPT_E_USAGE);
        assert_non_null(strstr(err.message, "4 to 9"));
    }
    adept_batches_free(b);
    adept_batches_free(NULL);
}

/* ---- files ---- */

/* A profile of one batch has that one; a file of several is a profile of its base for whoever reads it as that. */
static void files_are_compatible_both_ways(void **state)
{
    (void)state;
    behaviour how = {.linear = 3, .changes_at = 2};
    adept_profile *p = NULL, *plain = NULL;
    adept_batches *b = batches_of(&how, 1, 7, 9), *single = NULL;
    char *text = adept_batches_to_json(b);
    assert_int_equal(adept_profile_from_json(&plain, "x", text, strlen(text), NULL), ADEPT_OK);
    assert_int_equal(plain->batch_size, 7);
    char *old = adept_profile_to_json(plain);
    assert_null(strstr(old, "batches"));
    assert_int_equal(adept_batches_from_json(&single, "x", old, strlen(old), NULL), ADEPT_OK);
    assert_true(adept_batches_low(single) == 7 && adept_batches_high(single) == 7);
    size_t n = 1;
    adept_batches_checked(single, &n);
    assert_int_equal(n, 0);
    same_profile(single, &how, 7);
    assert_int_equal(adept_batches_at(&p, single, 8, NULL), ADEPT_E_USAGE);
    char *again = adept_batches_to_json(single);
    assert_string_equal(again, old);
    free(text), free(old), free(again);
    adept_profile_free(plain);
    adept_batches_free(b);
    adept_batches_free(single);
}

static void profiles_read_at_a_batch_own_all(void **state)
{
    (void)state;
    behaviour how = {.linear = 3};
    adept_batches *b = batches_of(&how, 1, 7, 90);
    char path[] = "/tmp/adept-batches-XXXXXX", *text = adept_batches_to_json(b);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(adept_file_write(path, text, strlen(text), NULL), ADEPT_OK);
    const int64_t asked[] = {0, 7, 33}, got[] = {7, 7, 33};
    for (int i = 0; i < 3; i++) {
        adept_profile *p = NULL, *walked = NULL;
        assert_int_equal(adept_profile_read_at(&p, path, asked[i], NULL), ADEPT_OK);
        assert_int_equal(walk(&walked, got[i], 0, &how, NULL), ADEPT_OK);
        profiles_are_same(p, walked, "toy");
    }
    adept_profile *p = NULL;
    assert_int_equal(adept_profile_read_at(&p, path, 91, NULL), ADEPT_E_USAGE);
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
        {"\"numbering\":\t2", "\"numbering\":\t1", "another version"},
        {"\"checked\":\t[1", "\"checked\":\t[0", "ascending"},
        {"\"checked\":\t[1, 2", "\"checked\":\t[2, 2", "ascending"},
        {"\"pieces\":\t[", "\"pieces\":\t[], \"other\":\t[", "none or too many"},
        {"\"numbers\":\t", "\"numbers\":\t1", "numbers in a profile of"},
        {"\"changing\":\t[3", "\"changing\":\t[-1, 3", "different lengths"},
        {"\"changing\":\t[3", "\"changing\":\t[3.5", "does not go up"},
        {"\"changing\":\t[3", "\"changing\":\t[99999", "does not go up"},
        {"\"changing\":\t[3", "\"changing\":\t[\"3\"", "no number"},
        {"\"low\":\t2", "\"low\":\t3", "do not join"},
        {"\"high\":\t9", "\"high\":\t1", "no range"},
        {"\"profile\":", "\"profiles\":", "no profile within"},
    };
    behaviour how = {.linear = 3, .changes_at = 2};
    adept_batches *b = batches_of(&how, 1, 7, 9);
    char *text = adept_batches_to_json(b);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        /* "low" and "high" of the whole range are for readers; those of the second piece decide */
        char *first = !strncmp(lies[i].from, "\"high\"", 6)
                          ? replaced_behind(text, "\"batches\"", "\"high\":\t9", "\"high\":\t 9")
                          : strdup(text);
        lie_is_refused(first, "\"batches\"", lies[i].from, lies[i].to, lies[i].says);
        free(first);
    }
    free(text);
    adept_batches_free(b);
}

/* Coefficients that a reader cannot know to be wrong still give no negative count, and no crash. */
static void impossible_numbers_are_refused(void **state)
{
    (void)state;
    behaviour how = {.linear = 3};
    adept_batches *b = batches_of(&how, 1, 7, 9), *read = NULL;
    adept_profile *p = NULL;
    char *text = adept_batches_to_json(b);
    static const char *const firsts[] = {"-1e9", "1e308", "-1e308"};
    for (int i = 0; i < 3; i++) {
        char to[64];
        snprintf(to, sizeof to, "\"first\":\t[%s", firsts[i]);
        char *bad = replaced_behind(text, "\"batches\"", "\"first\":\t[16", to);
        assert_int_equal(adept_batches_from_json(&read, "toy", bad, strlen(bad), NULL), ADEPT_OK);
        assert_int_equal(adept_batches_at(&p, read, 7, NULL), ADEPT_OK);
        adept_profile_free(p);
        p = NULL;
        adept_status low = adept_batches_at(&p, read, 1, NULL);
        adept_profile_free(p);
        p = NULL;
        adept_status high = adept_batches_at(&p, read, 9, NULL);
        adept_profile_free(p);
        p = NULL;
        assert_true(low == ADEPT_E_INVALID || high == ADEPT_E_INVALID);
        adept_batches_free(read);
        free(bad);
    }
    free(text);
    adept_batches_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_is_exact),
        cmocka_unit_test(large_ranges_take_few_walks),
        cmocka_unit_test(asked_points_are_walked),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(batches_outside_are_refused),
        cmocka_unit_test(files_are_compatible_both_ways),
        cmocka_unit_test(profiles_read_at_a_batch_own_all),
        cmocka_unit_test(files_that_lie_are_refused),
        cmocka_unit_test(impossible_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

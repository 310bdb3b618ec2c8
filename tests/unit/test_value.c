/* Element types, tensor metadata, the arena and the error record. */
#include "adept_arena.h"
#include "adept_error.h"
#include "adept_value.h"
#include "cmocka_test.h"

static adept_tensor make(adept_dtype dtype, int ndim, const int64_t *dims)
{
    adept_tensor t = {.dtype = dtype, .ndim = ndim, .param = -1};
    for (int i = 0; i < ndim; i++)
        t.dims[i] = dims[i];
    adept_strides_contiguous(ndim, dims, t.strides);
    return t;
}

static void test_dtype_numbers(void **state)
{
    (void)state;
    /* c10/core/ScalarType.h and torch/_export/serde/schema.py number the types differently. */
    assert_int_equal(adept_dtype_from_c10(6), ADEPT_F32);
    assert_int_equal(adept_dtype_from_c10(15), ADEPT_BF16);
    assert_int_equal(adept_dtype_from_c10(11), ADEPT_BOOL);
    assert_int_equal(adept_dtype_from_export(7), ADEPT_F32);
    assert_int_equal(adept_dtype_from_export(13), ADEPT_BF16);
    assert_int_equal(adept_dtype_from_export(12), ADEPT_BOOL);
    assert_int_equal(adept_dtype_from_c10(12), ADEPT_DTYPE_NONE); /* qint8 */
    assert_int_equal(adept_dtype_from_c10(-1), ADEPT_DTYPE_NONE);
    for (int i = 0; i < ADEPT_DTYPE_COUNT; i++) {
        adept_dtype d = (adept_dtype)i;
        assert_int_equal(adept_dtype_from_c10(adept_dtype_to_c10(d)), d);
        const char *name = adept_dtype_name(d);
        assert_int_equal(adept_dtype_from_name(name, strlen(name)), d);
        int classes =
            adept_dtype_is_float(d) + adept_dtype_is_complex(d) + adept_dtype_is_integer(d) + (d == ADEPT_BOOL);
        assert_int_equal(classes, 1);
    }
    assert_int_equal(adept_dtype_from_name("f3", 2), ADEPT_DTYPE_NONE);
    assert_int_equal(adept_dtype_from_name("f32x", 4), ADEPT_DTYPE_NONE);
    assert_string_equal(adept_dtype_name(ADEPT_DTYPE_NONE), "none");
    assert_int_equal(adept_dtype_bytes(ADEPT_C128), 16);
    assert_int_equal(adept_dtype_bytes(ADEPT_DTYPE_NONE), 0);
    assert_int_equal(adept_dtype_bytes((adept_dtype)1000), 0);
}

static void test_tensor_sizes(void **state)
{
    (void)state;
    adept_tensor t = make(ADEPT_F16, 3, (int64_t[]){2, 3, 4});
    assert_int_equal(adept_tensor_numel(&t), 24);
    assert_true(adept_tensor_bytes(&t) == 48);
    assert_int_equal(t.strides[0], 12);
    assert_int_equal(t.strides[1], 4);
    assert_int_equal(t.strides[2], 1);
    assert_true(adept_tensor_is_contiguous(&t));
    t.strides[1] = 0; /* expanded along the middle: 2 * 4 distinct elements of 2 bytes */
    assert_false(adept_tensor_is_contiguous(&t));
    assert_true(adept_tensor_unique_bytes(&t) == 16);
    adept_tensor scalar = make(ADEPT_F64, 0, NULL);
    assert_int_equal(adept_tensor_numel(&scalar), 1);
    assert_true(adept_tensor_bytes(&scalar) == 8);
    adept_tensor empty = make(ADEPT_F32, 3, (int64_t[]){3, 0, 5});
    assert_int_equal(adept_tensor_numel(&empty), 0);
    assert_true(adept_tensor_unique_bytes(&empty) == 0);
    assert_int_equal(empty.strides[0], 5); /* as torch.empty(3, 0, 5).stride() */
    assert_true(adept_tensor_is_contiguous(&empty));
}

static void test_tensor_overflow(void **state)
{
    (void)state;
    adept_tensor t = make(ADEPT_F32, 2, (int64_t[]){INT64_MAX, 3});
    assert_true(adept_tensor_numel(&t) == INT64_MAX);
    adept_tensor zero = make(ADEPT_F32, 3, (int64_t[]){INT64_MAX, 3, 0});
    assert_int_equal(adept_tensor_numel(&zero), 0);
}

static void test_contiguous_ignores_ones(void **state)
{
    (void)state;
    adept_tensor t = make(ADEPT_F32, 3, (int64_t[]){2, 1, 4});
    t.strides[1] = 77; /* the stride of a size-1 dimension means nothing */
    assert_true(adept_tensor_is_contiguous(&t));
    t.strides[2] = 2;
    assert_false(adept_tensor_is_contiguous(&t));
}

static void test_same_shape(void **state)
{
    (void)state;
    adept_tensor a = make(ADEPT_F32, 2, (int64_t[]){2, 3});
    adept_tensor b = make(ADEPT_I64, 2, (int64_t[]){2, 3});
    adept_tensor c = make(ADEPT_F32, 1, (int64_t[]){2});
    adept_tensor d = make(ADEPT_F32, 2, (int64_t[]){2, 4});
    assert_true(adept_tensor_same_shape(&a, &b));
    assert_false(adept_tensor_same_shape(&a, &c));
    assert_false(adept_tensor_same_shape(&a, &d));
}

static void test_print(void **state)
{
    (void)state;
    char text[64];
    adept_tensor t = make(ADEPT_BF16, 3, (int64_t[]){2, 3, 4});
    assert_string_equal(adept_tensor_print(&t, text, sizeof text), "bf16:2x3x4");
    adept_tensor scalar = make(ADEPT_F32, 0, NULL);
    assert_string_equal(adept_tensor_print(&scalar, text, sizeof text), "f32:");
    assert_string_equal(adept_tensor_print(&t, text, 8), "bf16:2x"); /* cut, never overrun */
    assert_string_equal(adept_value_kind_name(ADEPT_VALUE_LIST), "list");
    assert_string_equal(adept_value_kind_name((adept_value_kind)99), "invalid");
}

static void check_arena(void)
{
    adept_arena *arena = adept_arena_new();
    assert_non_null(arena);
    for (size_t size = 0; size < 5000; size += 37) {
        unsigned char *p = adept_arena_alloc(arena, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(p[i], 0);
            p[i] = 0xff;
        }
    }
    assert_string_equal(adept_arena_printf(arena, "%s %d", "row", 7), "row 7");
    assert_string_equal(adept_arena_printf(arena, "%s", ""), "");
    assert_false(adept_arena_failed(arena));
    assert_null(adept_arena_alloc(arena, SIZE_MAX));
    assert_true(adept_arena_failed(arena)); /* for good, also when later objects are small */
    assert_non_null(adept_arena_alloc(arena, 8));
    assert_true(adept_arena_failed(arena));
    assert_null(adept_arena_alloc(arena, SIZE_MAX - 4));
    assert_null(adept_arena_array(arena, SIZE_MAX / 2, 3));
    assert_null(adept_arena_strndup(arena, "x", SIZE_MAX));
    assert_string_equal(adept_arena_strndup(arena, "abcdef", 3), "abc");
    char name[32];
    const char *seen[500];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "name%d", i);
        seen[i] = adept_arena_intern(arena, name);
        assert_string_equal(seen[i], name);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "name%d", i);
        assert_ptr_equal(adept_arena_intern(arena, name), seen[i]);
    }
    adept_arena_free(arena);
}

static void test_arena(void **state)
{
    (void)state;
    unsetenv("ADEPT_DEBUG_ARENA");
    check_arena();
    adept_arena_free(NULL);
}

static void test_arena_debug(void **state)
{
    (void)state;
    setenv("ADEPT_DEBUG_ARENA", "1", 1);
    check_arena();
    unsetenv("ADEPT_DEBUG_ARENA");
}

static void test_error(void **state)
{
    (void)state;
    adept_error err = {0};
    assert_int_equal(adept_error_set(&err, ADEPT_E_INVALID, "%s: bad\n\033[31mname", "f.pt"), ADEPT_E_INVALID);
    assert_string_equal(err.message, "f.pt: bad  [31mname"); /* one line, no terminal control */
    assert_int_equal(err.status, ADEPT_E_INVALID);
    assert_int_equal(adept_error_set(NULL, ADEPT_E_USAGE, "x"), ADEPT_E_USAGE);
    char longer[3000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    adept_error_set(&err, ADEPT_E_IO, "%s", longer);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    /* CONTRACT "Exit codes" */
    assert_int_equal(adept_status_exit_code(ADEPT_OK), 0);
    assert_int_equal(adept_status_exit_code(ADEPT_E_NOMEM), 1);
    assert_int_equal(adept_status_exit_code(ADEPT_E_USAGE), 2);
    assert_int_equal(adept_status_exit_code(ADEPT_E_INVALID), 3);
    assert_int_equal(adept_status_exit_code(ADEPT_E_UNSUPPORTED), 4);
    assert_int_equal(adept_status_exit_code(ADEPT_E_FIT), 5);
    assert_int_equal(adept_status_exit_code(ADEPT_E_UNKNOWN_GPU), 6);
    assert_int_equal(adept_status_exit_code(ADEPT_E_CHECK), 7);
    assert_int_equal(adept_status_exit_code((adept_status)99), 1);
    assert_string_equal(adept_status_text(ADEPT_E_FIT), "fit failed");
}

/* 2 images of 3 channels, 4 x 5: channels are 1 apart, pixels 3, rows 15, images 60. */
static void test_channels_last(void **state)
{
    (void)state;
    static const struct {
        int ndim;
        int64_t dims[5], strides[5];
        bool last;
    } cases[] = {
        {4, {2, 3, 4, 5}, {60, 1, 15, 3}, true},
        {4, {2, 3, 4, 5}, {60, 20, 5, 1}, false},     /* planes */
        {4, {2, 3, 4, 5}, {60, 1, 3, 12}, false},     /* columns first */
        {4, {1, 3, 4, 5}, {7, 1, 15, 3}, true},       /* one image: its stride means nothing */
        {4, {-1, 3, 4, 5}, {60, 1, 15, 3}, true},     /* the batch is open */
        {4, {8, 3, 1, 1}, {3, 1, 1, 1}, false},       /* of one pixel: both orders are this one */
        {4, {8, 1, 3, 3}, {9, 1, 3, 1}, false},       /* of one channel */
        {4, {8, 3, 3, 3}, {0, 0, 0, 0}, false},       /* stored without elements */
        {5, {2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}, true},
        {3, {3, 4, 5}, {1, 15, 3}, false},
        {4, {4, INT64_MAX, INT64_MAX, 2}, {2, 1, 4, INT64_MAX}, false}, /* beyond all numbers */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (adept_strides_channels_last(cases[i].ndim, cases[i].dims, cases[i].strides) != cases[i].last)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_numbers),   cmocka_unit_test(test_tensor_sizes),
        cmocka_unit_test(test_tensor_overflow), cmocka_unit_test(test_contiguous_ignores_ones),
        cmocka_unit_test(test_same_shape),      cmocka_unit_test(test_print),
        cmocka_unit_test(test_arena),           cmocka_unit_test(test_arena_debug),
        cmocka_unit_test(test_error),           cmocka_unit_test(test_channels_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What every part stands on: memory that grows, UTF-8, maps of names, the clock. */
#include "adept_clock.h"
#include "adept_grow.h"
#include "adept_slots.h"
#include "adept_utf8.h"
#include "name_map.h"
#include "cmocka_test.h"

static void arrays_grow(void **state)
{
    (void)state;
    size_t capacity = 0, moves = 0;
    int *array = NULL;
    for (size_t n = 0; n < 100000; n++) {
        size_t before = capacity;
        int *grown = adept_grow(array, &capacity, n + 1, sizeof *array);
        assert_non_null(grown);
        assert_true(capacity >= n + 1 && (capacity == before || capacity >= 2 * before));
        moves += capacity != before;
        array = grown;
        array[n] = (int)n;
    }
    assert_true(moves < 12);
    for (size_t n = 0; n < 100000; n++)
        assert_int_equal(array[n], n);
    size_t before = capacity;
    assert_null(adept_grow(array, &capacity, SIZE_MAX / 2, sizeof *array)); /* and the old one stays */
    assert_int_equal(capacity, before);
    assert_int_equal(array[99999], 99999);
    free(array);
    capacity = 0;
    char(*large)[4096] = adept_grow(NULL, &capacity, 1, sizeof *large);
    assert_true(large && capacity == 1);
    free(large);
}

static void buffers_keep_their_failure(void **state)
{
    (void)state;
    adept_buffer b = {0};
    adept_buffer_text(&b, "ab");
    adept_buffer_add(&b, "c\0d", 3);
    assert_int_equal(b.size, 5);
    char *text = adept_buffer_take(&b);
    assert_memory_equal(text, "abc\0d", 6);
    assert_true(!b.data && b.size == 0);
    free(text);
    adept_buffer_text(&b, "x");
    assert_null(adept_buffer_room(&b, SIZE_MAX));
    adept_buffer_text(&b, "y");
    assert_true(b.failed && b.size == 1);
    assert_null(adept_buffer_take(&b));
    assert_false(b.failed);
    adept_buffer_free(&b);
}

/* Every number once: what is a character comes back, what is none does not. */
static void utf8_both_ways(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x110000; c++) {
        char bytes[4];
        uint32_t again = UINT32_MAX;
        if (c >= 0xd800 && c < 0xe000) continue;
        size_t n = adept_utf8_encode(bytes, c);
        if (adept_utf8_decode(&again, bytes, bytes + n) != n || again != c) fail_msg("U+%04X", (unsigned)c);
        if (adept_utf8_decode(NULL, bytes, bytes + n - 1) != 0) fail_msg("U+%04X, cut off", (unsigned)c);
    }
    static const char *const none[] = {"\x80",         "\xc0\xaf",         "\xc1\xbf",         "\xe0\x9f\xbf",
                                       "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                                       "\xff",         "\xc3\x28",         "\xe2\x28\xa1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(adept_utf8_decode(NULL, none[i], none[i] + strlen(none[i])), 0);
}

static void names_are_found(void **state)
{
    (void)state;
    enum { N = 5000 };
    static char names[N][16];
    adept_name_map map = {.n = 0};
    assert_null(adept_name_map_get(&map, "n0"));
    for (size_t i = 0; i < N; i++) {
        sprintf(names[i], "n%zu", i);
        assert_true(adept_name_map_put(&map, names[i], i));
        assert_null(adept_name_map_get(&map, "n5000"));
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(*adept_name_map_get(&map, names[i]), i);
    assert_true(adept_name_map_put(&map, "n7", 70)); /* replaced */
    assert_int_equal(*adept_name_map_get(&map, "n7"), 70);
    assert_int_equal(map.n, N);
    adept_name_map_free(&map);
    assert_null(adept_name_map_get(&map, "n7"));
}

static bool is_wanted(const void *context, size_t item)
{
    return item == *(const size_t *)context;
}

/* Items of one hash are told apart by the caller. */
static void equal_hashes(void **state)
{
    (void)state;
    adept_slots s = {.n = 0};
    size_t wanted = 3;
    assert_int_equal(adept_slots_find(&s, 9, is_wanted, &wanted), ADEPT_SLOTS_NONE);
    for (size_t i = 0; i < 1000; i++)
        assert_true(adept_slots_add(&s, i % 2 ? 9 : 9 + ((uint64_t)i << 20), i));
    for (wanted = 0; wanted < 1000; wanted++) {
        uint64_t hash = wanted % 2 ? 9 : 9 + ((uint64_t)wanted << 20);
        assert_int_equal(adept_slots_find(&s, hash, is_wanted, &wanted), wanted);
        assert_int_equal(adept_slots_find(&s, hash + 1, is_wanted, &wanted), ADEPT_SLOTS_NONE);
    }
    adept_slots_free(&s);
    assert_true(adept_hash_bytes(adept_hash_bytes(1, "a", 1), "b", 1) == adept_hash_bytes(1, "ab", 2));
    assert_true(adept_hash_bytes(1, "ab", 2) != adept_hash_bytes(1, "ba", 2));
    /* whole numbers as doubles, which differ in their upper bits, fall into a quarter of 1,024 slots and more */
    bool seen[1024] = {false};
    size_t n_seen = 0;
    for (int i = 0; i < 1024; i++) {
        const double number = 1024 + i;
        const uint64_t slot = adept_hash_bytes(1, &number, sizeof number) >> 20 & 1023;
        n_seen += !seen[slot];
        seen[slot] = true;
    }
    assert_true(n_seen > 256);
}

static void clock_goes_on(void **state)
{
    (void)state;
    uint64_t first = adept_clock_ns();
    double second = adept_clock_s();
    assert_true(first > 0 && second >= 1e-9 * (double)first);
    assert_true(adept_clock_ns() >= first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(buffers_keep_their_failure),
        cmocka_unit_test(utf8_both_ways),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(equal_hashes),
        cmocka_unit_test(clock_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

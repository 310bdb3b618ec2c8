/* Numbers as decimal text: printed as shortly as they read back, read strictly. */
#include "adept_append.h"
#include "adept_number.h"
#include "cmocka_test.h"
#include <locale.h>

/* What printf prints with the fewest digits from 15 that read back. */
static void print_as_printf(double value)
{
    char printed[ADEPT_NUMBER_SIZE], expected[ADEPT_NUMBER_SIZE];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(expected, sizeof expected, "%.*g", digits, value);
        if (strtod(expected, NULL) == value) break;
    }
    size_t n = adept_number_print(printed, value);
    assert_int_equal(n, strlen(printed));
    if (strcmp(printed, expected) != 0) fail_msg("%s is printed as %s", expected, printed);
}

static double neighbour(double value, int by)
{
    for (int i = 0; i < abs(by); i++)
        value = nextafter(value, by < 0 ? 0.0 : INFINITY);
    return value;
}

static uint64_t draw(void)
{
    static uint64_t state = 88172645463325252u; /* Marsaglia's xorshift */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void test_numbers_as_printf(void **state)
{
    (void)state;
    static const double known[] = {0,
                                   -0.0,
                                   1,
                                   -2.5,
                                   0.1,
                                   1e-4,
                                   1e-5,
                                   123456.7,
                                   1e14,
                                   1e15,
                                   1e16,
                                   1e17,
                                   1e-11,
                                   1e38,
                                   1.5e15,
                                   999999999999999.9,
                                   9999999999999998.0,
                                   5e-324,
                                   1e308,
                                   9007199254740994.0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int by = -3; by <= 3; by++)
            print_as_printf(neighbour(known[i], known[i] == 0 ? 0 : by));
    for (int e = -60; e < 140; e++) /* the gap below a power of two is half of that above */
        for (int by = -3; by <= 3; by++)
            print_as_printf(neighbour(ldexp(1, e), by)), print_as_printf(-neighbour(ldexp(1, e), by));
    for (int e = -14; e < 41; e++)
        for (int by = -20; by <= 20; by++)
            print_as_printf(neighbour(pow(10, e), by)), print_as_printf(neighbour(pow(10, e), by) * 7);
    for (int i = 0; i < 100000; i++) {
        double part = (double)(draw() >> 11) * 0x1p-53;
        print_as_printf(part);
        print_as_printf(exp(230 * part - 115));
        print_as_printf(floor(1e12 * part) / 1e14);
        print_as_printf(ldexp((double)(draw() >> 11), (int)(draw() % 130) - 90));
        print_as_printf(ldexp((double)(draw() >> 40), (int)(draw() % 110) - 50)); /* ties in the digits left out */
    }
}

static void print_as_text(double value, const char *expected)
{
    char text[ADEPT_NUMBER_SIZE];
    assert_int_equal(adept_number_print(text, value), strlen(expected));
    assert_string_equal(text, expected);
}

static void known_texts_are_printed(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } known_texts[] = {{0, "0"},
                       {-0.0, "-0"},
                       {1, "1"},
                       {0.1, "0.1"},
                       {-2.5, "-2.5"},
                       {41943040, "41943040"},
                       {1e12, "1000000000000"},
                       {1e14, "100000000000000"},
                       {1e15, "1e+15"},
                       {1.41e9, "1410000000"},
                       {1e-5, "1e-05"},
                       {0.0001, "0.0001"},
                       {1e300, "1e+300"},
                       {5e-324, "4.94065645841247e-324"},
                       {123456.7, "123456.7"},
                       {1e17, "1e+17"},
                       {NAN, ""},
                       {INFINITY, ""}};
    for (size_t i = 0; i < sizeof known_texts / sizeof *known_texts; i++)
        print_as_text(known_texts[i].value, known_texts[i].text);
}

/* Every double reads back with all its bits: random patterns, neighbours of powers of two and ten, the ends. */
static void read_back(double value)
{
    char text[ADEPT_NUMBER_SIZE];
    size_t n = adept_number_print(text, value);
    double again = NAN;
    assert_true(n == strlen(text) && n < sizeof text && adept_number_length(text) == n);
    assert_true(adept_number_parse(&again, text));
    if (memcmp(&again, &value, sizeof value) != 0) fail_msg("%.17g is printed as %s", value, text);
}

static void numbers_read_back(void **state)
{
    (void)state;
    for (int e = -1074; e < 1024; e++)
        for (int by = -1; by <= 1; by++)
            read_back(by < 0 ? nextafter(ldexp(1, e), 0) : by > 0 ? nextafter(ldexp(1, e), INFINITY) : ldexp(1, e));
    for (int e = -323; e < 309; e++)
        read_back(pow(10, e)), read_back(nextafter(pow(10, e), 0));
    read_back(1.7976931348623157e308);
    for (int i = 0; i < 1000000; i++) {
        double value;
        uint64_t bits = draw();
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) read_back(value);
    }
}

static void decimals_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        size_t length; /* of the number it starts with */
        double value;  /* of the whole text; NAN: it is no number */
    } cases[] = {{"0", 1, 0},         {"-12.5", 5, -12.5}, {"+.5", 3, 0.5},   {"5.", 2, 5},      {"1e3", 3, 1000},
                 {"2.5E-1", 6, 0.25}, {"007", 3, 7},       {"", 0, NAN},      {" 1", 0, NAN},    {"1 ", 1, NAN},
                 {"0x10", 1, NAN},    {"nan", 0, NAN},     {"inf", 0, NAN},   {"-", 0, NAN},     {".", 0, NAN},
                 {"-.e5", 0, NAN},    {"1e", 1, NAN},      {"1e+", 1, NAN},   {"1.2.3", 3, NAN}, {"12W", 2, NAN},
                 {"--1", 0, NAN},     {"1,5", 1, NAN},     {"1e999", 5, NAN}, {"1e-999", 6, 0},  {"3min", 1, NAN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 7;
        bool ok = adept_number_parse(&value, cases[i].text);
        if (adept_number_length(cases[i].text) != cases[i].length || ok == isnan(cases[i].value) ||
            (ok && value != cases[i].value))
            fail_msg("'%s': %zu characters, %s %g", cases[i].text, adept_number_length(cases[i].text),
                     ok ? "read as" : "refused", value);
    }
}

/* A program may set a locale whose point is a comma: neither direction may follow it. */
static void locales_change_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    double value = 0;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) break;
    bool is_comma = *localeconv()->decimal_point == ',';
    print_as_text(1.5, "1.5");
    print_as_text(1.5e-300, "1.5e-300");
    assert_true(adept_number_parse(&value, "2.25") && value == 2.25);
    setlocale(LC_ALL, "C");
    if (!is_comma) skip();
}

static void whole_numbers_are_read_within_their_range(void **state)
{
    static const struct {
        const char *text;
        int64_t low, high, value;
        bool is_one;
    } cases[] = {
        {"7", 0, 9, 7, true},
        {"+7", 0, 9, 7, true},
        {"-7", -9, 9, -7, true},
        {"007", 0, 9, 7, true},
        {"10", 0, 9, 0, false},
        {"-1", 0, 9, 0, false},
        {"", 0, 9, 0, false},
        {"-", -9, 9, 0, false},
        {"+", 0, 9, 0, false},
        {" 7", 0, 9, 0, false},
        {"7 ", 0, 9, 0, false},
        {"7.0", 0, 9, 0, false},
        {"1e0", 0, 9, 0, false},
        {"0x7", 0, 9, 0, false},
        {"--7", -9, 9, 0, false},
        {"4294967297", 1, INT32_MAX, 0, false},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, true},
        {"9223372036854775808", INT64_MIN, INT64_MAX, 0, false},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, true},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, false},
        {"18446744073709551617", INT64_MIN, INT64_MAX, 0, false},
        {"99999999999999999999999999", INT64_MIN, INT64_MAX, 0, false},
    };
    const char *end;
    int64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (adept_integer_parse(&value, cases[i].text, NULL, cases[i].low, cases[i].high) != cases[i].is_one)
            fail_msg("'%s'", cases[i].text);
        if (cases[i].is_one) assert_int_equal(value, cases[i].value);
    }
    assert_true(adept_integer_parse(&value, "12-15", &end, 0, 99) && value == 12 && strcmp(end, "-15") == 0);
    assert_false(adept_integer_parse(&value, "x", &end, 0, 99));
}

/* However often a text is added to, nothing gets behind its end. */
static void texts_end_where_they_are_full(void **state)
{
    char text[12] = "", wide[400];

    (void)state;
    text[11] = '!';
    for (int i = 0; i < 9; i++)
        adept_append(text, 11, "%d, ", 1000 + i);
    assert_string_equal(text, "1000, 1001");
    assert_int_equal(text[11], '!');
    memset(wide, 'x', sizeof wide);
    adept_append(wide, sizeof wide, "%.0f", 1e300); /* no end: full */
    assert_int_equal(wide[399], 'x');
    adept_append(text, 0, "more");
    assert_string_equal(text, "1000, 1001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_as_printf), cmocka_unit_test(known_texts_are_printed),
        cmocka_unit_test(numbers_read_back),      cmocka_unit_test(decimals_are_read_strictly),
        cmocka_unit_test(locales_change_nothing), cmocka_unit_test(whole_numbers_are_read_within_their_range),
        cmocka_unit_test(texts_end_where_they_are_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/** @file number.c  Numbers as decimal text. Printing works a number's 17 digits and what lies behind them out exactly,
 * in integers of 128 bits; numbers outside 1e-10 to 1e17 are left to printf. A million rows are mostly numbers, and
 * printf's digits would take ten times as long as the rest of them. */
#include "adept_number.h"
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing ---- */

typedef unsigned __int128 wide;

#define LEAST_DIGITS 15
#define MOST_DIGITS 17 /* always suffice */
#define FRACTION_BITS 52
#define HIDDEN ((uint64_t)1 << FRACTION_BITS)
#define LEAST 1e-10 /* numbers from here */
#define MOST 1e17   /* to here keep a power of five within 64 bits and all below within 128 */

static const uint64_t first_of_17 = 10000000000000000u;

/* The number is value / 2^shift times 10^-k, and its neighbours are `step` away from value (half that below a power of
 * two). */
typedef struct scaled {
    wide value, step;
    uint64_t whole; /* value / 2^shift: 17 digits */
    int shift, k;
    bool is_even, at_power;
} scaled;

static uint64_t power_of_5(unsigned n)
{
    uint64_t p = 1;
    for (uint64_t five = 5; n > 0; n >>= 1, five *= five)
        if (n & 1) p *= five;
    return p;
}

/* fraction * 2^exponent times 10^k, over a power of two that makes it an integer. */
static void scale(scaled *s, uint64_t fraction, int exponent, int k)
{
    int twos = exponent + k;
    s->k = k;
    s->shift = twos < 0 ? -twos : 0;
    s->step = (wide)power_of_5((unsigned)k) << (twos > 0 ? twos : 0);
    s->value = s->step * fraction;
    s->whole = (uint64_t)(s->value >> s->shift);
}

static void find_17(scaled *s, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> FRACTION_BITS) - 1075; /* none is subnormal here */
    uint64_t fraction = (bits & (HIDDEN - 1)) | HIDDEN;
    int k = MOST_DIGITS - 1 - (int)floor((exponent + FRACTION_BITS) * 0.30102999566398120); /* right, or one too many */
    s->is_even = fraction % 2 == 0;
    s->at_power = fraction == HIDDEN;
    scale(s, fraction, exponent, k);
    if (s->whole >= 10 * first_of_17) scale(s, fraction, exponent, k - 1);
}

/* The nearest number with zeros below `place`, as 17 digits; a tie goes to the even one. */
static inline uint64_t round_to(const scaled *s, uint64_t place)
{
    uint64_t kept = s->whole / place;
    wide twice = 2 * (s->value - ((wide)(kept * place) << s->shift)), one = (wide)place << s->shift;
    if (twice > one || (twice == one && kept % 2)) kept++;
    return kept * place;
}

/* Whether no other double is nearer; from the middle between two, one reads the even one. */
static bool reads_back(const scaled *s, uint64_t digits_17)
{
    wide printed = (wide)digits_17 << s->shift;
    bool is_below = printed < s->value;
    wide away = is_below ? s->value - printed : printed - s->value;
    wide reach = is_below && s->at_power ? 4 * away : 2 * away;
    return reach < s->step || (reach == s->step && s->is_even);
}

static inline void put_two(char *digits, uint32_t below_100)
{
    digits[0] = (char)('0' + below_100 / 10);
    digits[1] = (char)('0' + below_100 % 10);
}

static size_t print_within(char *text, double value)
{
    scaled s;
    int places = LEAST_DIGITS;
    find_17(&s, value);
    uint64_t rounded = round_to(&s, 100);
    if (!reads_back(&s, rounded)) {
        places++;
        rounded = round_to(&s, 10);
    }
    if (!reads_back(&s, rounded)) {
        places++;
        rounded = round_to(&s, 1);
    }
    int exponent = MOST_DIGITS - 1 - s.k;
    if (rounded == 10 * first_of_17) { /* 9.99... became 10 */
        rounded = first_of_17;
        exponent++;
    }
    /* printf's %g: trailing zeros go; an exponent where the point would stand far off. */
    char digits[MOST_DIGITS], *at = text;
    uint32_t high = (uint32_t)(rounded / 100000000u), low = (uint32_t)(rounded % 100000000u);
    for (int i = MOST_DIGITS; i > 9; i -= 2, high /= 100, low /= 100) { /* of both halves, which do not wait */
        put_two(digits + i - 2, low % 100);
        put_two(digits + i - 10, high % 100);
    }
    digits[0] = (char)('0' + high);
    int n = MOST_DIGITS, before = 1;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    bool is_plain = exponent >= -4 && exponent < places;
    if (is_plain && exponent < 0) {
        memcpy(at, "0.000", 5);
        at += 1 - exponent;
        before = n;
    } else if (is_plain) {
        before = exponent + 1;
        if (n < before) n = before;
    }
    memcpy(at, digits, (size_t)before);
    at += before;
    if (n > before) *at++ = '.';
    memcpy(at, digits + before, (size_t)(n - before));
    at += n - before;
    if (!is_plain) { /* of two digits, between LEAST and MOST */
        int size = abs(exponent);
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        *at++ = (char)('0' + size / 10);
        *at++ = (char)('0' + size % 10);
    }
    *at = '\0';
    return (size_t)(at - text);
}

static size_t print_by_trying(char text[ADEPT_NUMBER_SIZE], double value)
{
    for (int digits = LEAST_DIGITS; digits <= MOST_DIGITS; digits++) {
        snprintf(text, ADEPT_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    char *comma = strchr(text, ',');
    if (comma) *comma = '.'; /* of a locale */
    return strlen(text);
}

size_t adept_number_print(char text[ADEPT_NUMBER_SIZE], double value)
{
    double size = fabs(value);
    text[0] = '\0';
    if (!isfinite(value)) return 0;
    if (value != 0.0 && !(size >= LEAST && size < MOST)) return print_by_trying(text, value);
    size_t sign = signbit(value) != 0;
    text[0] = '-';
    if (value != 0.0) return sign + print_within(text + sign, size);
    memcpy(text + sign, "0", 2);
    return sign + 1;
}

/* ---- reading ---- */

size_t adept_number_length(const char *text)
{
    static const char digits[] = "0123456789";
    size_t sign = *text == '+' || *text == '-', n = sign + strspn(text + sign, digits), point = text[n] == '.';
    n += point + (point ? strspn(text + n + 1, digits) : 0);
    if (n == sign + point) return 0;
    if (text[n] != 'e' && text[n] != 'E') return n;
    size_t exponent = n + 1 + (text[n + 1] == '+' || text[n + 1] == '-'), more = strspn(text + exponent, digits);
    return more > 0 ? exponent + more : n;
}

double adept_number_value(const char *text)
{
    return strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* glibc's own: nothing to free */
}

bool adept_number_parse(double *out, const char *text)
{
    size_t length = adept_number_length(text);
    if (length == 0 || text[length] != '\0') return false;
    *out = adept_number_value(text);
    return isfinite(*out);
}

bool adept_integer_parse(int64_t *out, const char *text, const char **end, int64_t low, int64_t high)
{
    bool is_negative = *text == '-', fits = true;
    const char *digits = text + (*text == '-' || *text == '+'), *at = digits;
    int64_t value = 0; /* downwards, where there is one number more */
    for (; *at >= '0' && *at <= '9'; at++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) && !__builtin_sub_overflow(value, *at - '0', &value);
    fits = fits && at > digits && (is_negative || value > INT64_MIN);
    if (!fits || (!end && *at)) return false;
    if (!is_negative) value = -value;
    if (end) *end = at;
    *out = value;
    return value >= low && value <= high;
}

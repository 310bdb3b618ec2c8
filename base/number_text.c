/** @file number_text.c  Doubles as JSON numbers: the first of %.15g, %.16g and %.17g that reads back as the same
 * double, without trying them. The number's 17 digits and what lies behind them are worked out exactly in integers of
 * 128 bits; those outside 1e-11 to 1e38 are left to printf. */
#include "adept_json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;

#define MOST_DIGITS 17 /* always suffice */
#define LEAST_DIGITS 15
#define FRACTION_BITS 52
#define HIDDEN ((uint64_t)1 << FRACTION_BITS)
#define LEAST 1e-11 /* numbers from here */
#define MOST 1e38   /* to here keep all below within 128 bits */

static const uint64_t tens[] = {1u, 10u, 100u}; /* a digit's worth among 17, by digits left out */
static const uint64_t first_of_17 = 10000000000000000u;

/* The number is value / unit times 10^-k, and its neighbours are `step` away from value (half that below a power of
 * two). */
typedef struct scaled {
    wide value, unit, step;
    uint64_t whole; /* value / unit: 17 digits */
    wide rest;
    int k;
    bool is_even, at_power;
} scaled;

static wide power_of_5(int n)
{
    wide p = 1;
    while (n-- > 0)
        p *= 5;
    return p;
}

/* fraction * 2^exponent times 10^k, over a unit that makes both integers. */
static void scale(scaled *s, uint64_t fraction, int exponent, int k)
{
    int twos = exponent + k;
    s->k = k;
    s->step = power_of_5(k > 0 ? k : 0);
    s->unit = power_of_5(k < 0 ? -k : 0);
    if (twos >= 0)
        s->step <<= twos;
    else
        s->unit <<= -twos;
    s->value = s->step * fraction;
    s->whole = (uint64_t)(s->value / s->unit);
    s->rest = s->value - s->whole * s->unit;
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

/* The nearest number of so many digits, as 17; a tie goes to the even one. */
static uint64_t round_to(const scaled *s, int digits)
{
    uint64_t place = tens[MOST_DIGITS - digits], kept = s->whole / place, half = place / 2;
    wide rest = (wide)(s->whole % place) * s->unit + s->rest;
    wide middle = place == 1 ? s->unit : (wide)half * s->unit;
    if (place == 1) rest *= 2;
    if (rest > middle || (rest == middle && kept % 2)) kept++;
    return kept * place;
}

/* Whether no other double is nearer; from the middle between two, one reads the even one. */
static bool reads_back(const scaled *s, uint64_t digits_17)
{
    wide printed = (wide)digits_17 * s->unit;
    bool is_below = printed < s->value;
    wide away = is_below ? s->value - printed : printed - s->value;
    wide limit = s->step, reach = is_below && s->at_power ? 4 * away : 2 * away;
    return reach < limit || (reach == limit && s->is_even);
}

/* printf's %g: trailing zeros go; an exponent where the point would stand far off. */
static void lay_out(char *text, uint64_t digits_17, int places, int exponent)
{
    char digits[MOST_DIGITS];
    for (int i = MOST_DIGITS; i-- > 0; digits_17 /= 10)
        digits[i] = (char)('0' + digits_17 % 10);
    int n = MOST_DIGITS, before = 1;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    bool is_plain = exponent >= -4 && exponent < places;
    if (is_plain && exponent < 0) {
        memcpy(text, "0.000", 5);
        text += 1 - exponent;
        before = n;
    } else if (is_plain) {
        before = exponent + 1;
        if (n < before) n = before;
    }
    memcpy(text, digits, (size_t)before);
    text += before;
    if (n > before) *text++ = '.';
    memcpy(text, digits + before, (size_t)(n - before));
    text += n - before;
    if (!is_plain) { /* of two digits, between LEAST and MOST */
        unsigned size = (unsigned)abs(exponent);
        *text++ = 'e';
        *text++ = exponent < 0 ? '-' : '+';
        *text++ = (char)('0' + size / 10);
        *text++ = (char)('0' + size % 10);
    }
    *text = '\0';
}

static void print_within(char *text, double value)
{
    scaled s;
    find_17(&s, value);
    int digits = LEAST_DIGITS;
    uint64_t rounded = round_to(&s, digits);
    while (digits < MOST_DIGITS && !reads_back(&s, rounded))
        rounded = round_to(&s, ++digits);
    int exponent = MOST_DIGITS - 1 - s.k;
    if (rounded == 10 * first_of_17) { /* 9.99... became 10 */
        rounded = first_of_17;
        exponent++;
    }
    lay_out(text, rounded, digits, exponent);
}

static void print_by_trying(char *text, double value)
{
    char tried[ADEPT_JSON_NUMBER_SIZE];
    for (int digits = LEAST_DIGITS; digits <= MOST_DIGITS; digits++) {
        snprintf(tried, sizeof tried, "%.*g", digits, value);
        if (strtod(tried, NULL) == value) break;
    }
    for (char *c = tried; *c; c++)
        if (*c == ',') *c = '.'; /* a locale's decimal comma would be no JSON */
    memcpy(text, tried, strlen(tried) + 1);
}

void adept_json_print_number(char *text, double value)
{
    if (!isfinite(value)) {
        memcpy(text, "null", sizeof "null");
        return;
    }
    double size = fabs(value);
    if (!(size >= LEAST && size < MOST)) {
        print_by_trying(text, value);
        return;
    }
    if (value < 0.0) *text++ = '-';
    print_within(text, size);
}

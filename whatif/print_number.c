/** @file print_number.c  Doubles as text that reads back as the same double, twenty times as fast as printf's 17
 * digits: a million rows are mostly numbers. The method is Grisu2 (F. Loitsch, "Printing floating-point numbers quickly
 * and accurately with integers", PLDI 2010): digits of a 64-bit product with a power of ten are made until no other
 * double is as near. */
#include "adept_sweep.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* f * 2^e */
typedef struct big {
    uint64_t f;
    int e;
} big;

/* 10^k for k = -348, -340, ..., 340, rounded to 64 bits. */
static const big powers[] = {
    {0xfa8fd5a0081c0288u, -1220}, {0xbaaee17fa23ebf76u, -1193}, {0x8b16fb203055ac76u, -1166},
    {0xcf42894a5dce35eau, -1140}, {0x9a6bb0aa55653b2du, -1113}, {0xe61acf033d1a45dfu, -1087},
    {0xab70fe17c79ac6cau, -1060}, {0xff77b1fcbebcdc4fu, -1034}, {0xbe5691ef416bd60cu, -1007},
    {0x8dd01fad907ffc3cu, -980},  {0xd3515c2831559a83u, -954},  {0x9d71ac8fada6c9b5u, -927},
    {0xea9c227723ee8bcbu, -901},  {0xaecc49914078536du, -874},  {0x823c12795db6ce57u, -847},
    {0xc21094364dfb5637u, -821},  {0x9096ea6f3848984fu, -794},  {0xd77485cb25823ac7u, -768},
    {0xa086cfcd97bf97f4u, -741},  {0xef340a98172aace5u, -715},  {0xb23867fb2a35b28eu, -688},
    {0x84c8d4dfd2c63f3bu, -661},  {0xc5dd44271ad3cdbau, -635},  {0x936b9fcebb25c996u, -608},
    {0xdbac6c247d62a584u, -582},  {0xa3ab66580d5fdaf6u, -555},  {0xf3e2f893dec3f126u, -529},
    {0xb5b5ada8aaff80b8u, -502},  {0x87625f056c7c4a8bu, -475},  {0xc9bcff6034c13053u, -449},
    {0x964e858c91ba2655u, -422},  {0xdff9772470297ebdu, -396},  {0xa6dfbd9fb8e5b88fu, -369},
    {0xf8a95fcf88747d94u, -343},  {0xb94470938fa89bcfu, -316},  {0x8a08f0f8bf0f156bu, -289},
    {0xcdb02555653131b6u, -263},  {0x993fe2c6d07b7facu, -236},  {0xe45c10c42a2b3b06u, -210},
    {0xaa242499697392d3u, -183},  {0xfd87b5f28300ca0eu, -157},  {0xbce5086492111aebu, -130},
    {0x8cbccc096f5088ccu, -103},  {0xd1b71758e219652cu, -77},   {0x9c40000000000000u, -50},
    {0xe8d4a51000000000u, -24},   {0xad78ebc5ac620000u, 3},     {0x813f3978f8940984u, 30},
    {0xc097ce7bc90715b3u, 56},    {0x8f7e32ce7bea5c70u, 83},    {0xd5d238a4abe98068u, 109},
    {0x9f4f2726179a2245u, 136},   {0xed63a231d4c4fb27u, 162},   {0xb0de65388cc8ada8u, 189},
    {0x83c7088e1aab65dbu, 216},   {0xc45d1df942711d9au, 242},   {0x924d692ca61be758u, 269},
    {0xda01ee641a708deau, 295},   {0xa26da3999aef774au, 322},   {0xf209787bb47d6b85u, 348},
    {0xb454e4a179dd1877u, 375},   {0x865b86925b9bc5c2u, 402},   {0xc83553c5c8965d3du, 428},
    {0x952ab45cfa97a0b3u, 455},   {0xde469fbd99a05fe3u, 481},   {0xa59bc234db398c25u, 508},
    {0xf6c69a72a3989f5cu, 534},   {0xb7dcbf5354e9beceu, 561},   {0x88fcf317f22241e2u, 588},
    {0xcc20ce9bd35c78a5u, 614},   {0x98165af37b2153dfu, 641},   {0xe2a0b5dc971f303au, 667},
    {0xa8d9d1535ce3b396u, 694},   {0xfb9b7cd9a4a7443cu, 720},   {0xbb764c4ca7a44410u, 747},
    {0x8bab8eefb6409c1au, 774},   {0xd01fef10a657842cu, 800},   {0x9b10a4e5e9913129u, 827},
    {0xe7109bfba19c0c9du, 853},   {0xac2820d9623bf429u, 880},   {0x80444b5e7aa7cf85u, 907},
    {0xbf21e44003acdd2du, 933},   {0x8e679c2f5e44ff8fu, 960},   {0xd433179d9c8cb841u, 986},
    {0x9e19db92b4e31ba9u, 1013},  {0xeb96bf6ebadf77d9u, 1039},  {0xaf87023b9bf0ee6bu, 1066},
};
#define FIRST_POWER (-348)
#define POWER_STEP 8

#define FRACTION_BITS 52
#define HIDDEN ((uint64_t)1 << FRACTION_BITS)

static big of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
    uint64_t fraction = bits & (HIDDEN - 1);
    return exponent ? (big){fraction | HIDDEN, exponent - 1075} : (big){fraction, -1074};
}

static big normalised(big x)
{
    int shift = __builtin_clzll(x.f);
    return (big){x.f << shift, x.e - shift};
}

static big product(big x, big y)
{
    unsigned __int128 p = (unsigned __int128)x.f * y.f;
    return (big){(uint64_t)(p >> 64) + ((uint64_t)p >> 63), x.e + y.e + 64};
}

/* A power that brings a product with 2^e into -60..-32, and its exponent. */
static big power_for(int e, int *ten)
{
    double exact = (-61 - e) * 0.30102999566398114 + 347;
    int k = (int)exact;
    if (exact - k > 0.0) k++;
    int index = (k >> 3) + 1;
    *ten = FIRST_POWER + index * POWER_STEP;
    return powers[index];
}

typedef struct digits {
    char text[24];
    int n, exponent; /* the digits times 10^exponent */
} digits;

/* Step the last digit towards the number as long as that comes nearer and stays within what reads back. */
static void round_last(digits *d, uint64_t delta, uint64_t rest, uint64_t unit, uint64_t distance)
{
    while (rest < distance && delta - rest >= unit &&
           (rest + unit < distance || distance - rest > rest + unit - distance)) {
        d->text[d->n - 1]--;
        rest += unit;
    }
}

static const uint64_t tens[] = {1u,
                                10u,
                                100u,
                                1000u,
                                10000u,
                                100000u,
                                1000000u,
                                10000000u,
                                100000000u,
                                1000000000u,
                                10000000000u,
                                100000000000u,
                                1000000000000u,
                                10000000000000u,
                                100000000000000u,
                                1000000000000000u,
                                10000000000000000u,
                                100000000000000000u,
                                1000000000000000000u,
                                10000000000000000000u};

/* Digits of `high` until what is left is less than `delta`, which reaches down to the lowest that reads back. */
static void generate(digits *d, big w, big high, uint64_t delta)
{
    int shift = -high.e, left = 1;
    uint64_t one = (uint64_t)1 << shift, distance = high.f - w.f, rest = high.f & (one - 1);
    uint32_t whole = (uint32_t)(high.f >> shift);
    while (left < 10 && whole >= tens[left])
        left++;
    d->n = 0;
    while (left > 0) {
        uint32_t unit = (uint32_t)tens[--left], digit = whole / unit;
        whole -= digit * unit;
        if (digit || d->n) d->text[d->n++] = (char)('0' + digit);
        uint64_t remaining = ((uint64_t)whole << shift) + rest;
        if (remaining > delta) continue;
        d->exponent += left;
        round_last(d, delta, remaining, tens[left] << shift, distance);
        return;
    }
    for (int behind = 1;; behind++) {
        rest *= 10;
        delta *= 10;
        uint64_t digit = rest >> shift;
        if (digit || d->n) d->text[d->n++] = (char)('0' + digit);
        rest &= one - 1;
        if (rest >= delta) continue;
        d->exponent -= behind;
        round_last(d, delta, rest, one, behind < 20 ? distance * tens[behind] : 0);
        return;
    }
}

/* @param value  positive and finite */
static void find_digits(digits *d, double value)
{
    big v = of_double(value);
    big high = normalised((big){(v.f << 1) + 1, v.e - 1});
    bool at_power = v.f == HIDDEN; /* the double below is half as far away */
    big low = at_power ? (big){(v.f << 2) - 1, v.e - 2} : (big){(v.f << 1) - 1, v.e - 1};
    low = (big){low.f << (low.e - high.e), high.e};
    int ten;
    big power = power_for(high.e, &ten);
    big w = product(normalised(v), power), above = product(high, power), below = product(low, power);
    above.f--;
    below.f++;
    d->exponent = -ten;
    generate(d, w, above, above.f - below.f);
}

/* As printf's %g would with as many digits. */
static size_t lay_out(char *text, const digits *d)
{
    int point = d->n + d->exponent; /* digits before the point */
    char *at = text;
    if (point < -3 || point > 17) {
        *at++ = d->text[0];
        if (d->n > 1) *at++ = '.';
        memcpy(at, d->text + 1, (size_t)(d->n - 1));
        at += d->n - 1;
        return (size_t)(at - text) + (size_t)snprintf(at, 8, "e%+03d", point - 1);
    }
    if (point <= 0) {
        memcpy(at, "0.000000", (size_t)(2 - point));
        at += 2 - point;
        memcpy(at, d->text, (size_t)d->n);
        at += d->n;
    } else {
        int before = d->n < point ? d->n : point;
        memcpy(at, d->text, (size_t)before);
        at += before;
        for (int i = before; i < point; i++)
            *at++ = '0';
        if (d->n > point) *at++ = '.';
        memcpy(at, d->text + before, (size_t)(d->n - before));
        at += d->n - before;
    }
    *at = '\0';
    return (size_t)(at - text);
}

size_t adept_sweep_print_number(char text[ADEPT_NUMBER_SIZE], double value)
{
    digits d;
    text[0] = '\0';
    if (!isfinite(value)) return 0;
    bool negative = signbit(value) != 0;
    text[0] = '-';
    text[negative] = '0';
    text[negative + 1] = '\0';
    if (value == 0.0) return (size_t)negative + 1;
    find_digits(&d, fabs(value));
    return (size_t)negative + lay_out(text + negative, &d);
}

/** @file units.c  Formatting only: nothing here is read back by a program. */
#include "units.h"
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Decimals that give three significant digits; the limits are where rounding carries into the next digit. */
static int decimals(double magnitude)
{
    if (magnitude >= 99.95) return 0;
    return magnitude >= 9.995 ? 1 : 2;
}

adept_text adept_cell(const char *format, ...)
{
    adept_text text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.s, sizeof text.s, format, args);
    va_end(args);
    return text;
}

static adept_text with_prefix(double value, double base, const char *const *prefixes, int n, int start,
                              const char *unit)
{
    double magnitude = fabs(value);
    int i = start;

    if (!isfinite(value)) return adept_cell("unknown");
    while (magnitude >= base - 0.5 && i + 1 < n) { /* would print as 1000 */
        magnitude /= base;
        i++;
    }
    while (magnitude > 0 && magnitude < 0.9995 && i > 0) {
        magnitude *= base;
        i--;
    }
    if (value == 0) i = start;
    const char *space = *prefixes[i] || *unit ? " " : "";
    return adept_cell("%.*f%s%s%s", value == 0 ? 0 : decimals(magnitude), copysign(magnitude, value), space,
                      prefixes[i], unit);
}

adept_text adept_units_si(double value, const char *unit)
{
    static const char *const prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    bool is_number = *unit == '\0' && fabs(value) < 999.5 && value == floor(value); /* of things */
    return is_number ? adept_cell("%.0f", value) : with_prefix(value, 1000, prefixes, 11, 4, unit);
}

#define OF_UNIT(name, unit)                                                                                            \
    adept_text adept_units_##name(double value)                                                                        \
    {                                                                                                                  \
        return adept_units_si(value, unit);                                                                            \
    }
OF_UNIT(joule, "J")
OF_UNIT(watt, "W")
OF_UNIT(hertz, "Hz")
OF_UNIT(flop_rate, "FLOP/s")
OF_UNIT(byte_rate, "B/s")

adept_text adept_units_whole(double n)
{
    return adept_cell("%.0f", n);
}

adept_text adept_units_bytes(double bytes)
{
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    if (!(fabs(bytes) < 1023.5)) return with_prefix(bytes, 1024, prefixes, 6, 0, "B");
    return adept_cell("%.0f B", bytes); /* no part of a byte */
}

adept_text adept_units_kwh(double energy_kwh)
{
    static const char *const prefixes[] = {"u", "m", "", "k", "M", "G", "T"};
    return with_prefix(1000 * energy_kwh, 1000, prefixes, 7, 2, "Wh");
}

adept_text adept_units_time(double time_s)
{
    if (!isfinite(time_s) || time_s < 59.95) return adept_units_si(time_s, "s");
    if (time_s < 3599.5) return adept_cell("%ld min %02ld s", lround(time_s) / 60, lround(time_s) % 60);
    if (time_s < 48 * 3600.0 - 30)
        return adept_cell("%ld h %02ld min", lround(time_s / 60) / 60, lround(time_s / 60) % 60);
    return adept_cell("%.*f days", decimals(time_s / 86400), time_s / 86400);
}

adept_text adept_units_count(double n, const char *noun)
{
    return adept_cell("%.0f %s%s", n, noun, n == 1 ? "" : "s");
}

adept_text adept_units_percent(double share)
{
    return isfinite(share) ? adept_cell("%.1f %%", 100 * share) : adept_cell("unknown");
}

adept_text adept_units_change(double share)
{
    if (fabs(share) < 0.0005) return adept_cell("0 %%"); /* no sign where there is nothing */
    return isfinite(share) ? adept_cell("%+.1f %%", 100 * share) : adept_cell("unknown");
}

adept_text adept_units_digits(double value)
{
    double magnitude = fabs(value);
    if (!isfinite(value)) return adept_cell("-");
    if (value == 0) return adept_cell("0");
    if (magnitude >= 1e12 || magnitude < 1e-4) return adept_cell("%.2e", value);
    if (magnitude >= 0.9995) return adept_cell("%.*f", decimals(magnitude), value);
    return adept_cell("%.*f", 2 - (int)floor(log10(magnitude)), value); /* leading zeros are not significant */
}

adept_text adept_units_bar(double share, int width)
{
    adept_text text;
    int n = isfinite(share) ? (int)lround(fmin(fmax(share, 0), 1) * width) : 0;

    if (n == 0 && share > 0) n = 1; /* a share that is there is seen */
    if (n > (int)sizeof text.s - 1) n = (int)sizeof text.s - 1;
    memset(text.s, '#', (size_t)n);
    text.s[n] = '\0';
    return text;
}

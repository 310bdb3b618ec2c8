/** @file units.h  SI numbers as a person reads them: three significant digits and a prefix. Calls: nothing. */
#ifndef ADEPT_UNITS_H
#define ADEPT_UNITS_H
#include "adept_error.h"

/** Room for any text made here. Returned by value so that several fit into one printf. */
typedef struct adept_text {
    char s[64];
} adept_text;
/** A short text of a format, to stand in a cell. */
adept_text adept_cell(const char *format, ...) ADEPT_PRINTF(1, 2);

/* A number that is not finite prints as "unknown", or "-" where there is no unit. */
adept_text adept_units_si(double value, const char *unit); /* 1.23e12, "FLOP" -> "1.23 TFLOP"; 2.5e7, "" -> "25.0 M" */
adept_text adept_units_joule(double energy_j);       /* "2.32 J" */
adept_text adept_units_watt(double power_w);
adept_text adept_units_hertz(double clock_hz);
adept_text adept_units_flop_rate(double flops_per_s);
adept_text adept_units_byte_rate(double bytes_per_s);
adept_text adept_units_whole(double n);              /* "12345" */
adept_text adept_units_time(double time_s);          /* "12.3 ms", "41.0 s", "3 min 20 s", "2 h 05 min", "3.10 days" */
adept_text adept_units_bytes(double bytes);          /* capacities, powers of 1024: "4.10 GiB" */
adept_text adept_units_kwh(double energy_kwh);       /* "21.4 Wh", "3.20 kWh", "1.20 MWh" */
adept_text adept_units_count(double n, const char *noun); /* "1 kernel", "2 kernels": nouns that take an s */
adept_text adept_units_percent(double share);        /* 0.123 -> "12.3 %" */
adept_text adept_units_change(double share);         /* 0.123 -> "+12.3 %", -0.05 -> "-5.0 %", 1e-4 -> "0 %" */
adept_text adept_units_digits(double value);         /* three significant digits: "0.123", "12.3", "1234" */
adept_text adept_units_bar(double share, int width); /* 0.5 of 10: "#####" */

#endif

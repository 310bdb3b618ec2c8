/** @file interval.c  Intervals and the range they were calibrated in; see plan.h. */
#include "plan.h"
#include "units.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Counts differ in the last bits between machines' libraries; a hair outside is inside. */
#define EDGE_TOLERANCE 1e-9

/* In units of doublings; negative below the range, 0 inside or where nothing is recorded. */
static double doublings(double value, double low, double high)
{
    if (value > high * (1.0 + EDGE_TOLERANCE)) return fmin(log2(value / high), 64.0);
    if (value < low * (1.0 - EDGE_TOLERANCE)) return fmax(log2(value / low), -64.0);
    return 0.0;
}

static bool is_new(unsigned measured, unsigned value)
{
    return measured != 0 && !(measured >> value & 1);
}

double adept_intervals_outside(const adept_intervals *in, const adept_range_point *point,
                               const adept_profile *prof)
{
    double sum = 0.0;
#define X(name, text) sum += fabs(doublings(point->name, in->low.name, in->high.name));
    ADEPT_RANGE_LIST(X)
#undef X
    return sum + is_new(in->modes, prof->mode) + is_new(in->precisions, prof->precision) +
           is_new(in->executions, prof->execution);
}

static void append(char *text, size_t size, size_t *used, const char *format, ...) ADEPT_PRINTF(4, 5);

static void append(char *text, size_t size, size_t *used, const char *format, ...)
{
    if (*used >= size) return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + *used, size - *used, format, args);
    va_end(args);
    if (n > 0) *used += (size_t)n;
}

/* Work has units, what an option sets stands as it is set. */
static adept_text counted(const char *name, double value)
{
    if (strcmp(name, "flops") == 0) return adept_units_si(value, "FLOP");
    return strcmp(name, "bytes") == 0 ? adept_units_si(value, "B") : adept_cell("%.4g", value);
}

void adept_intervals_describe(char *text, size_t size, const adept_intervals *in, const adept_range_point *point,
                              const adept_profile *prof)
{
    size_t used = 0;
    text[0] = '\0';
#define X(name, meaning)                                                                                               \
    {                                                                                                                  \
        double d = doublings(point->name, in->low.name, in->high.name);                                                \
        if (d != 0.0)                                                                                                  \
            append(text, size, &used, "%s" #name " %s %s %s", used ? ", " : "", counted(#name, point->name).s,         \
                   d > 0.0 ? "above" : "below", counted(#name, d > 0.0 ? in->high.name : in->low.name).s);             \
    }
    ADEPT_RANGE_LIST(X)
#undef X
    if (is_new(in->modes, prof->mode))
        append(text, size, &used, "%smode %s", used ? ", " : "", adept_mode_name(prof->mode));
    if (is_new(in->precisions, prof->precision))
        append(text, size, &used, "%sprecision %s", used ? ", " : "", adept_precision_name(prof->precision));
    if (is_new(in->executions, prof->execution))
        append(text, size, &used, "%sexecution %s", used ? ", " : "", adept_execution_name(prof->execution));
}

/* Log ratios [low, high] around a value, each end moved outwards by `extra` of the larger of the two. */
static void set_interval(double out[2], double value, const double log_ratio[2], double extra)
{
    double margin = extra * fmax(fabs(log_ratio[0]), fabs(log_ratio[1]));
    out[0] = value * exp(log_ratio[0] - margin);
    out[1] = value * exp(log_ratio[1] + margin);
}

double adept_intervals_fill(adept_estimate *p, const adept_intervals *in, const adept_range_point *point,
                            const adept_profile *prof)
{
    p->interval_level = NAN;
    p->interval_time_s[0] = p->interval_time_s[1] = p->interval_power_w[0] = p->interval_power_w[1] = NAN;
    if (!in) return 0.0;
    double outside = adept_intervals_outside(in, point, prof);
    double extra = (in->widen - 1.0) * outside;
    if (!isnan(in->time_log[0]) || !isnan(in->power_log[0])) p->interval_level = in->level;
    set_interval(p->interval_time_s, p->step_time_s, in->time_log, extra);
    set_interval(p->interval_power_w, p->boards_power_w, in->power_log, extra);
    return outside;
}

/** @file diff_warnings.c  What both sides warn of is said once; the rest says whose it is. */
#include "diff_report.h"
#include <string.h>

/* The warnings of one side: the profile's, then the prediction's. NULL past the end. */
static const char *warning_at(const adept_diff_report *r, bool old, size_t i)
{
    const adept_profile *profile = old ? r->old->profile : r->now->profile;
    const adept_prediction *p = old ? &r->diff->old : &r->diff->now;

    if (i < profile->n_warnings) return profile->warnings[i];
    return i - profile->n_warnings < p->n_warnings ? p->warnings[i - profile->n_warnings] : NULL;
}

static bool warns(const adept_diff_report *r, bool old, const char *text)
{
    const char *other;

    for (size_t i = 0; (other = warning_at(r, old, i)); i++)
        if (strcmp(other, text) == 0) return true;
    return false;
}

static void say_side(const adept_diff_report *r, bool old, adept_diff_say say, void *context)
{
    const char *text;

    for (size_t i = 0; (text = warning_at(r, old, i)); i++) {
        bool both = warns(r, !old, text);
        if (both && !old) continue;
        char line[320];
        snprintf(line, sizeof line, "%s%s", both ? "" : old ? "old: " : "new: ", text);
        say(context, line);
    }
}

void adept_diff_each_warning(const adept_diff_report *r, adept_diff_say say, void *context)
{
    for (size_t i = 0; i < r->diff->n_warnings; i++)
        say(context, r->diff->warnings[i]);
    say_side(r, true, say, context);
    say_side(r, false, say, context);
}

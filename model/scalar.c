/** @file scalar.c  Targeted scalars: names, checks, and what they cover; see work.h. Calls: nothing. */
#include "work.h"
#include "nearest.h"
#include <string.h>

#define MAX_NAME_LENGTH 63
#define MAX_PATTERN_LENGTH 255

_Static_assert(ADEPT_MAX_SCALARS <= 32, "a cover is a mask of 32 bits");

#define NAME(id, text) text,
ADEPT_NAMES(adept_scalar_target_name, ADEPT_SCALAR_TARGET_LIST(NAME))
ADEPT_NAMES(adept_term_name, ADEPT_TERM_LIST(NAME))

bool adept_scalar_target_from_name(adept_scalar_target *out, const char *name)
{
    size_t i = adept_name_index(name, adept_scalar_target_name);
    if (i != SIZE_MAX) *out = (adept_scalar_target)i;
    return i != SIZE_MAX;
}

bool adept_term_from_name(adept_term *out, const char *name)
{
    size_t i = adept_name_index(name, adept_term_name);
    if (i != SIZE_MAX) *out = (adept_term)i;
    return i != SIZE_MAX;
}

adept_status adept_scalar_check(const adept_scalar *s, adept_error *err)
{
    size_t n = s->name ? strspn(s->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
    if (!(n > 0 && n <= MAX_NAME_LENGTH && s->name[n] == '\0'))
        return adept_error_set(err, ADEPT_E_USAGE, "scalar \"%.80s\": the name is not 1 to %d letters, digits and '_'",
                               s->name ? s->name : "", MAX_NAME_LENGTH);
    if ((unsigned)s->target >= ADEPT_TARGET_COUNT || (unsigned)s->term >= ADEPT_TERM_COUNT)
        return adept_error_set(err, ADEPT_E_USAGE, "scalar %s: there is no such target or term", s->name);
    if (!s->pattern || !*s->pattern || strlen(s->pattern) > MAX_PATTERN_LENGTH)
        return adept_error_set(err, ADEPT_E_USAGE, "scalar %s: the pattern of its target is not 1 to %d characters",
                               s->name, MAX_PATTERN_LENGTH);
    if (s->term == ADEPT_TERM_OPT && (s->target == ADEPT_TARGET_CLASS || s->target == ADEPT_TARGET_KIND))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "scalar %s: the optimizer belongs to no %s; term opt goes with model or precision",
                               s->name, adept_scalar_target_name(s->target));
    if (!(s->value >= ADEPT_SCALAR_LOW && s->value <= ADEPT_SCALAR_HIGH)) /* NAN fails */
        return adept_error_set(err, ADEPT_E_USAGE, "scalar %s: value %g is outside %g to %g", s->name, s->value,
                               ADEPT_SCALAR_LOW, ADEPT_SCALAR_HIGH);
    return ADEPT_OK;
}

/* On a mismatch only the last '*' need take one character more: what earlier ones could do, it can. */
static bool glob_match_n(const char *pattern, const char *text, size_t length)
{
    const char *star = NULL, *end = text + length, *resume = text;
    while (text < end) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern != '\0' && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool adept_glob_match(const char *pattern, const char *text)
{
    return glob_match_n(pattern, text, strlen(text));
}

const char *adept_model_name(size_t *length, const char *path)
{
    static const char *const extensions[] = {".profile.json", ".json", ".pt2", ".pth", ".pt"};
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path ? path : "";
    *length = strlen(name);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        size_t n = strlen(extensions[i]);
        if (*length <= n || strcmp(name + *length - n, extensions[i]) != 0) continue;
        *length -= n;
        break;
    }
    return name;
}

static bool covers(const adept_scalar *s, const adept_profile *prof, const adept_profile_op *op)
{
    size_t length;
    const char *name;
    switch (s->target) {
    case ADEPT_TARGET_MODEL:
        name = adept_model_name(&length, prof->model_path);
        return glob_match_n(s->pattern, name, length);
    case ADEPT_TARGET_PRECISION:
        return adept_glob_match(s->pattern, adept_precision_name(prof->precision));
    case ADEPT_TARGET_CLASS:
        return op && op->module_class && adept_glob_match(s->pattern, op->module_class);
    case ADEPT_TARGET_KIND:
        return op && op->kind && adept_glob_match(s->pattern, op->kind);
    }
    return false;
}

adept_cover adept_scalar_cover(const adept_scalar *scalars, size_t n, const adept_profile *prof,
                               const adept_profile_op *op)
{
    adept_cover cover = {{0}};
    for (size_t i = 0; i < n; i++)
        if (covers(&scalars[i], prof, op)) cover.term[scalars[i].term] |= (uint32_t)1 << i;
    return cover;
}

double adept_scalar_product(const adept_scalar *scalars, uint32_t mask)
{
    double product = 1.0;
    for (size_t i = 0; mask; i++, mask >>= 1)
        if (mask & 1) product *= scalars[i].value;
    return product;
}

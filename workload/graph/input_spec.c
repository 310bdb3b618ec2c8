/** @file input_spec.c  The text form of inputs, "[DTYPE:]D1xD2x...[=NUMBER]" and "NAME=VALUE". Calls: adept_append,
 * adept_number. */
#include "adept_input_spec.h"
#include "adept_append.h"
#include "adept_number.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SPEC_HELP                                                                                                      \
    "want [DTYPE:]D1xD2x..., DTYPE one of f32 f16 bf16 i64 i32 bool, B for the batch, S for the sequence length, "     \
    "=NUMBER behind "                                                                                                  \
    "whole numbers that are all that, or NAME=VALUE"

static adept_status bad_spec(const char *text, const char *why, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "input '%.100s': %s; " SPEC_HELP, text, why);
}

/* One dimension at *p: B, S or a positive integer. */
static bool parse_dim(const char **p, int64_t *out)
{
    if (**p == 'B' || **p == 'S') {
        *out = **p == 'B' ? ADEPT_DIM_BATCH : ADEPT_DIM_LENGTH;
        ++*p;
        return true;
    }
    if (!isdigit((unsigned char)**p)) return false;
    int64_t v = 0;
    for (; isdigit((unsigned char)**p); ++*p)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **p - '0', &v)) return false;
    *out = v;
    return v > 0;
}

adept_status adept_input_shape_parse(adept_input_spec *out, const char *shape, const char *text, adept_error *err)
{
    adept_input_spec spec = {.dtype = ADEPT_F32};
    const char *p = shape;
    const char *colon = strchr(shape, ':');
    if (colon) {
        spec.dtype = adept_dtype_from_name(shape, (size_t)(colon - shape));
        if (spec.dtype == ADEPT_DTYPE_NONE) return bad_spec(text, "unknown element type", err);
        p = colon + 1;
    }
    if (!colon && !*p) return bad_spec(text, "empty", err);
    while (*p && *p != '=') { /* "f32:" alone is a tensor without dimensions */
        if (spec.ndim == ADEPT_MAX_DIMS) return bad_spec(text, "too many dimensions", err);
        if (!parse_dim(&p, &spec.dims[spec.ndim++]))
            return bad_spec(text, "a dimension is not a positive integer", err);
        if (!*p || *p == '=') break;
        if (*p++ != 'x' || !*p) return bad_spec(text, "dimensions are joined by 'x'", err);
    }
    if (*p == '=') { /* what is whole may be a size */
        const int64_t most = INT64_C(1) << 53;
        spec.has_value = true;
        if (adept_dtype_has_fraction(spec.dtype))
            return bad_spec(text, "=NUMBER goes with whole numbers (i64:2=50)", err);
        if (!adept_integer_parse(&spec.value, p + 1, NULL, -most, most))
            return bad_spec(text, "no whole number behind '='", err);
    }
    int marks = 0;
    for (int d = 0; d < spec.ndim; d++)
        marks += spec.dims[d] == ADEPT_DIM_BATCH;
    if (marks > 1) return bad_spec(text, "B stands twice", err);
    memcpy(spec.text, out->text, sizeof spec.text);
    *out = spec;
    return ADEPT_OK;
}

adept_status adept_input_spec_parse(adept_input_spec *out, const char *text, adept_error *err)
{
    const char *equals = strchr(text, '=');
    *out = (adept_input_spec){.dtype = ADEPT_F32};
    if (!equals || isdigit((unsigned char)*text) || memchr(text, ':', (size_t)(equals - text)))
        return adept_input_shape_parse(out, text, text, err);
    if (equals == text) return bad_spec(text, "no name before '='", err);
    if (strlen(text) >= sizeof out->text) return bad_spec(text, "too long", err);
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) return bad_spec(text, "a character that is not printable", err);
    strcpy(out->text, text);
    return ADEPT_OK;
}

char *adept_input_spec_print(const adept_input_spec *spec, char *text, size_t size)
{
    if (spec->text[0]) {
        snprintf(text, size, "%s", spec->text);
        return text;
    }
    adept_tensor t = {.dtype = spec->dtype, .ndim = spec->ndim};
    memcpy(t.dims, spec->dims, sizeof t.dims);
    adept_tensor_print(&t, text, size);
    if (spec->has_value) adept_append(text, size, "=%lld", (long long)spec->value);
    return text;
}

bool adept_input_specs_have(const adept_input_spec *specs, size_t n, int64_t mark)
{
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < specs[i].ndim; d++)
            if (specs[i].dims[d] == mark) return true;
    return false;
}

void adept_input_spec_settle(adept_input_spec *spec, int64_t batch_size, bool leading, int64_t seq_length)
{
    for (int d = 0; d < spec->ndim; d++) {
        if (spec->dims[d] == ADEPT_DIM_BATCH || (d == 0 && leading)) spec->dims[d] = batch_size;
        if (spec->dims[d] == ADEPT_DIM_LENGTH) spec->dims[d] = seq_length;
    }
}

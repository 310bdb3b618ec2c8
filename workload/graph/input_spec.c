/** @file input_spec.c  The text form of input shapes, "[DTYPE:]D1xD2x...[=NUMBER]". Calls: nothing. */
#include "adept_input_spec.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_HELP "want [DTYPE:]D1xD2x..., DTYPE one of f32 f16 bf16 i64 i32 bool, B for the batch, S for the sequence length, " \
                  "=NUMBER behind whole numbers that are all that"

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

adept_status adept_input_spec_parse(adept_input_spec *out, const char *text, adept_error *err)
{
    adept_input_spec spec = {.dtype = ADEPT_F32};
    const char *p = text;
    const char *colon = strchr(text, ':');
    if (colon) {
        spec.dtype = adept_dtype_from_name(text, (size_t)(colon - text));
        if (spec.dtype == ADEPT_DTYPE_NONE) return bad_spec(text, "unknown element type", err);
        p = colon + 1;
    }
    if (!colon && !*p) return bad_spec(text, "empty", err);
    while (*p && *p != '=') { /* "f32:" alone is a tensor without dimensions */
        if (spec.ndim == ADEPT_MAX_DIMS) return bad_spec(text, "too many dimensions", err);
        if (!parse_dim(&p, &spec.dims[spec.ndim++])) return bad_spec(text, "a dimension is no positive integer", err);
        if (!*p || *p == '=') break;
        if (*p++ != 'x' || !*p) return bad_spec(text, "dimensions are joined by 'x'", err);
    }
    if (*p == '=') { /* what is whole may be a size */
        char *end;
        bool whole = !adept_dtype_has_fraction(spec.dtype);
        errno = 0;
        spec.value = strtoll(++p, &end, 10);
        spec.has_value = true;
        if (!whole) return bad_spec(text, "=NUMBER goes with whole numbers (i64:2=50)", err);
        if (end == p || *end || errno || isspace((unsigned char)*p) || llabs(spec.value) > (1LL << 53))
            return bad_spec(text, "no whole number behind '='", err);
    }
    int marks = 0;
    for (int d = 0; d < spec.ndim; d++)
        marks += spec.dims[d] == ADEPT_DIM_BATCH;
    if (marks > 1) return bad_spec(text, "B stands twice", err);
    *out = spec;
    return ADEPT_OK;
}

char *adept_input_spec_print(const adept_input_spec *spec, char *text, size_t size)
{
    adept_tensor t = {.dtype = spec->dtype, .ndim = spec->ndim};
    memcpy(t.dims, spec->dims, sizeof t.dims);
    adept_tensor_print(&t, text, size);
    size_t used = strlen(text);
    if (spec->has_value && used < size) snprintf(text + used, size - used, "=%lld", (long long)spec->value);
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

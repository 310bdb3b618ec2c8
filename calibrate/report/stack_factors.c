/** @file stack_factors.c  Factors of software stacks from the report of `calibrate --layouts`; see adept_layouts.h. */
#include "adept_json.h"
#include "adept_layouts.h"
#include <string.h>

#define MAX_BYTES ((size_t)16 << 20)
#define LEAST_FACTOR 0.01 /* beyond it, and its inverse, a factor is of another quantity */

static double factor(adept_json_reader *r, const cJSON *of)
{
    const double value = adept_json_number(r, of, "factor");

    if (r->status == ADEPT_OK && !(value >= LEAST_FACTOR && value <= 1 / LEAST_FACTOR))
        adept_json_fail(r, "layouts: factor %g is not within %g and %g", value, LEAST_FACTOR, 1 / LEAST_FACTOR);
    return value;
}

/* Of one row nothing is known. */
static double spread(adept_json_reader *r, const cJSON *of)
{
    return cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(of, "spread")) ? 0 : adept_json_number_or(r, of, "spread", 0);
}

adept_status adept_stack_factors_read(adept_stack_factors *out, adept_arena *arena, const char *path, adept_error *err)
{
    cJSON *root = NULL;
    adept_stack_factors f = {.n = 0};
    adept_status status = adept_json_parse_file(&root, path, MAX_BYTES, err);

    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = path, .err = err};
    const cJSON *layouts = adept_json_object(&r, root, "layouts"), *stacks = adept_json_array(&r, layouts, "stacks"),
                *item;
    const size_t n = adept_json_size(stacks);
    f.names = adept_json_room(&r, arena, n + 1, sizeof *f.names);
    f.factors = adept_json_room(&r, arena, n + 1, sizeof *f.factors);
    f.spreads = adept_json_room(&r, arena, n + 1, sizeof *f.spreads);
    cJSON_ArrayForEach(item, stacks)
    {
        if (r.status != ADEPT_OK) break;
        f.names[f.n] = adept_json_keep(&r, arena, adept_json_string(&r, item, "stack"));
        f.factors[f.n] = factor(&r, item);
        f.spreads[f.n++] = spread(&r, item);
    }
    const cJSON *others = adept_json_object(&r, layouts, "other_stacks");
    if (r.status == ADEPT_OK) f.factor = factor(&r, others);
    if (r.status == ADEPT_OK) f.spread = spread(&r, others);
    cJSON_Delete(root);
    if (r.status == ADEPT_OK) *out = f;
    return r.status;
}

void adept_stack_factors_apply(const adept_stack_factors *f, adept_scored *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const adept_dataset_row *m = rows[i].measured;
        const char *stack = adept_dataset_row_stack(m);
        size_t k = 0;
        while (k < f->n && strcmp(f->names[k], stack) != 0)
            k++;
        const double by = k < f->n ? f->factors[k] : f->factor;
        rows[i].time_s *= by;
        rows[i].time_low_s *= by;
        rows[i].time_high_s *= by;
    }
}

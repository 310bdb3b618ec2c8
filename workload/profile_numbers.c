/* A profile as a list of numbers: what changes with the batch, and what must not. */
#include "profile_numbers.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 15 /* longer runs of digits may not be a double: they are names */

/* ---- numbers in texts ---- */

/* The next run of digits that prints as it is written; NULL if there is none. */
static const char *next_number(const char *at, size_t *n_digits)
{
    for (;;) {
        at += strcspn(at, "0123456789");
        if (!*at) return NULL;
        *n_digits = strspn(at, "0123456789");
        if (*n_digits <= MAX_DIGITS && (*at != '0' || *n_digits == 1)) return at;
        at += *n_digits;
    }
}

/* ---- collecting ---- */

typedef struct collector {
    adept_numbers *out;
    FILE *rest;
    size_t room_plain, room_texts, room_values; /* counted first, then filled */
    bool counting;
} collector;

static void add_plain(collector *c, adept_numbers_region region, size_t offset, double value)
{
    adept_numbers *out = c->out;
    if (c->counting) {
        c->room_plain++;
        return;
    }
    out->places[out->n_plain] = (adept_numbers_place){region, offset};
    out->values[out->n_plain++] = value;
}

static void add_text(collector *c, adept_numbers_region region, size_t offset, const char *text)
{
    adept_numbers *out = c->out;
    size_t n = 0, digits;
    const char *at = text, *number;
    for (; (number = next_number(at, &digits)); at = number + digits, n++) {
        if (c->counting) continue;
        fprintf(c->rest, "%.*s#", (int)(number - at), at);
        out->values[out->n + n] = (double)strtoll(number, NULL, 10);
    }
    if (c->counting) {
        c->room_texts++;
        c->room_values += n;
        return;
    }
    fprintf(c->rest, "%s\n", at);
    out->texts[out->n_texts++] = (adept_numbers_text){{region, offset}, out->n, n};
    out->n += n;
}

static void add_places(const collector *c, const adept_profile_places *p)
{
    if (!c->counting) fprintf(c->rest, "%" PRId64 " %" PRId64 " %" PRId64 "\n", p->n, p->first, p->last);
}

static void add_op(collector *c, const adept_profile *p, size_t i, size_t *kernel)
{
    const adept_profile_op *op = &p->ops[i];
    size_t at = i * sizeof *op;
    add_plain(c, ADEPT_REGION_OPS, at + offsetof(adept_profile_op, saved_bytes), op->saved_bytes);
    add_plain(c, ADEPT_REGION_OPS, at + offsetof(adept_profile_op, gradient_bytes), op->gradient_bytes);
    add_places(c, &op->places);
    add_places(c, &op->gradient_places);
    if (!c->counting)
        fprintf(c->rest, "%s\n%s\n%s\n%s\n%" PRId64 " %d %zu\n", op->path, op->module_class, op->kind, op->op,
                op->count, op->tied, op->n_kernels);
    for (size_t j = 0; j < op->n_kernels; j++, ++*kernel) {
        const adept_kernel *k = &op->kernels[j];
        size_t base = *kernel * sizeof *k;
        if (!c->counting) fprintf(c->rest, "%d %d %d %d\n", k->pass, k->unit, k->family, k->dtype);
#define X(field) add_plain(c, ADEPT_REGION_KERNELS, base + offsetof(adept_kernel, field), k->field);
        ADEPT_KERNEL_NUMBERS(X)
#undef X
    }
}

static void add_texts(collector *c, const adept_profile *p)
{
    for (size_t i = 0; i < p->n_inputs; i++)
        add_text(c, ADEPT_REGION_INPUTS, i * sizeof *p->inputs + offsetof(adept_profile_input, shape),
                 p->inputs[i].shape);
    for (size_t i = 0; i < p->n_warnings; i++)
        add_text(c, ADEPT_REGION_WARNINGS, i * sizeof *p->warnings, p->warnings[i]);
    for (size_t i = 0; i < p->n_ops; i++) {
        size_t at = i * sizeof *p->ops;
        add_text(c, ADEPT_REGION_OPS, at + offsetof(adept_profile_op, inputs), p->ops[i].inputs);
        add_text(c, ADEPT_REGION_OPS, at + offsetof(adept_profile_op, outputs), p->ops[i].outputs);
    }
}

static void add_all(collector *c, const adept_profile *p)
{
    size_t kernel = 0;
#define X(field) add_plain(c, ADEPT_REGION_PROFILE, offsetof(adept_profile, field), p->field);
    ADEPT_MEMORY_BYTES(X)
#undef X
    for (size_t i = 0; i < p->n_ops; i++)
        add_op(c, p, i, &kernel);
    c->out->sizes[ADEPT_REGION_KERNELS] = kernel * sizeof(adept_kernel);
    c->out->n = c->out->n_plain;
    add_texts(c, p);
}

static void describe_rest(FILE *rest, const adept_profile *p)
{
    fprintf(rest, "%s %" PRId64 " %" PRId64 " %" PRId64 " %.17g %.17g\n", p->model_sha256, p->params,
            p->trainable_params, p->trainable_tensors, p->weights_bytes, p->trainable_bytes);
    fprintf(rest, "%d %d %d %s %" PRId64 " %zu %zu %zu\n", p->mode, p->precision, p->attention, p->optimizer,
            p->grad_accum, p->n_inputs, p->n_ops, p->n_warnings);
    for (size_t i = 0; i < p->n_inputs; i++)
        fprintf(rest, "%s\n", p->inputs[i].name);
}

bool adept_numbers_collect(adept_numbers *out, const adept_profile *p)
{
    size_t size;
    *out = (adept_numbers){.n = 0};
    collector c = {.out = out, .counting = true};
    add_all(&c, p);
    out->values = malloc((c.room_plain + c.room_values + 1) * sizeof *out->values);
    out->places = malloc((c.room_plain + 1) * sizeof *out->places);
    out->texts = malloc((c.room_texts + 1) * sizeof *out->texts);
    c.rest = open_memstream(&out->rest, &size);
    c.counting = false;
    if (out->values && out->places && out->texts && c.rest) {
        describe_rest(c.rest, p);
        add_all(&c, p);
    }
    bool printed = c.rest && !ferror(c.rest);
    if (c.rest) printed = fclose(c.rest) == 0 && printed;
    out->sizes[ADEPT_REGION_PROFILE] = sizeof *p;
    out->sizes[ADEPT_REGION_OPS] = p->n_ops * sizeof *p->ops;
    out->sizes[ADEPT_REGION_INPUTS] = p->n_inputs * sizeof *p->inputs;
    out->sizes[ADEPT_REGION_WARNINGS] = p->n_warnings * sizeof *p->warnings;
    return printed && out->values && out->places && out->texts && out->rest;
}

void adept_numbers_free(adept_numbers *numbers)
{
    free(numbers->values);
    free(numbers->places);
    free(numbers->texts);
    free(numbers->rest);
    *numbers = (adept_numbers){.n = 0};
}

bool adept_numbers_alike(const adept_numbers *a, const adept_numbers *b)
{
    return a->n == b->n && a->n_plain == b->n_plain && strcmp(a->rest, b->rest) == 0;
}

/* ---- copies ---- */

static void copy_kernels(adept_profile_op *ops, adept_kernel *kernels, const adept_profile *from)
{
    for (size_t i = 0; i < from->n_ops; i++) {
        ops[i].kernels = kernels;
        for (size_t j = 0; j < from->ops[i].n_kernels; j++)
            *kernels++ = from->ops[i].kernels[j];
    }
}

static void copy_array(void *to, const void *from, size_t size)
{
    if (size > 0) memcpy(to, from, size);
}

adept_numbers_copy adept_numbers_copy_of(const adept_profile *from, const adept_numbers *numbers)
{
    adept_numbers_copy copy = {.profile = NULL};
    adept_arena *arena = adept_arena_new();
    bool ok = arena != NULL;
    for (int r = 0; r < ADEPT_REGIONS && ok; r++)
        ok = (copy.regions[r] = adept_arena_alloc(arena, numbers->sizes[r] + 1)) != NULL;
    if (!ok) {
        adept_arena_free(arena);
        return copy;
    }
    adept_profile *p = (adept_profile *)(void *)copy.regions[ADEPT_REGION_PROFILE];
    adept_profile_op *ops = (adept_profile_op *)(void *)copy.regions[ADEPT_REGION_OPS];
    *p = *from;
    p->arena = arena;
    copy_array(ops, from->ops, numbers->sizes[ADEPT_REGION_OPS]);
    copy_array(copy.regions[ADEPT_REGION_INPUTS], from->inputs, numbers->sizes[ADEPT_REGION_INPUTS]);
    copy_array(copy.regions[ADEPT_REGION_WARNINGS], from->warnings, numbers->sizes[ADEPT_REGION_WARNINGS]);
    copy_kernels(ops, (adept_kernel *)(void *)copy.regions[ADEPT_REGION_KERNELS], from);
    p->ops = ops;
    p->inputs = (const adept_profile_input *)(void *)copy.regions[ADEPT_REGION_INPUTS];
    p->warnings = (const char *const *)(void *)copy.regions[ADEPT_REGION_WARNINGS];
    copy.profile = p;
    return copy;
}

static char *put(char *to, const char *text, size_t n)
{
    memcpy(to, text, n);
    return to + n;
}

static char *put_integer(char *to, double value)
{
    char digits[32], *at = digits + sizeof digits;
    uint64_t left = (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
    } while (left /= 10);
    return put(to, at, (size_t)(digits + sizeof digits - at));
}

bool adept_numbers_set_text(adept_numbers_copy *copy, const adept_numbers_text *text, const double *values)
{
    char *field = copy->regions[text->place.region] + text->place.offset;
    const char *from, *number;
    memcpy(&from, field, sizeof from);
    char *to = adept_arena_alloc(copy->profile->arena, strlen(from) + text->n * 20 + 1), *at = to;
    if (!to) return false;
    size_t digits;
    for (size_t i = 0; i < text->n && (number = next_number(from, &digits)); i++, from = number + digits) {
        at = put(at, from, (size_t)(number - from));
        at = put_integer(at, values[i]);
    }
    put(at, from, strlen(from) + 1);
    const char *printed = to;
    memcpy(field, &printed, sizeof printed);
    return true;
}

static bool own(adept_arena *arena, const char **text)
{
    return !*text || (*text = adept_arena_strdup(arena, *text)) != NULL;
}

bool adept_numbers_own_names(adept_numbers_copy *copy)
{
    adept_profile *p = copy->profile;
    adept_profile_op *ops = (adept_profile_op *)(void *)copy->regions[ADEPT_REGION_OPS];
    adept_profile_input *inputs = (adept_profile_input *)(void *)copy->regions[ADEPT_REGION_INPUTS];
    const char **warnings = (const char **)(void *)copy->regions[ADEPT_REGION_WARNINGS];
    bool ok = own(p->arena, &p->model_path) && own(p->arena, &p->model_sha256) && own(p->arena, &p->producer) &&
              own(p->arena, &p->optimizer);
    for (size_t i = 0; i < p->n_inputs && ok; i++)
        ok = own(p->arena, &inputs[i].name) && own(p->arena, &inputs[i].shape);
    for (size_t i = 0; i < p->n_warnings && ok; i++)
        ok = own(p->arena, &warnings[i]);
    for (size_t i = 0; i < p->n_ops && ok; i++)
        ok = own(p->arena, &ops[i].path) && own(p->arena, &ops[i].module_class) && own(p->arena, &ops[i].kind) &&
             own(p->arena, &ops[i].op) && own(p->arena, &ops[i].inputs) && own(p->arena, &ops[i].outputs);
    return ok;
}

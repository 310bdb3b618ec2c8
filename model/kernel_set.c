/** @file kernel_set.c  Equal kernels of all operators become one; see kernel_set.h. */
#include "kernel_set.h"
#include <stdlib.h>
#include <string.h>

typedef struct slots {
    uint32_t *of; /* index + 1 */
    size_t n;     /* a power of two */
} slots;

static adept_status reserve(adept_kernel_set *set, slots *s, const adept_profile *prof, adept_error *err)
{
    size_t most = 1 + ADEPT_MUON_PRODUCTS * prof->n_matrices; /* the optimizer */
    for (size_t i = 0; i < prof->n_ops; i++)
        most += prof->ops[i].n_kernels;
    *s = (slots){.n = 16};
    while (s->n < 2 * most)
        s->n *= 2;
    s->of = calloc(s->n, sizeof *s->of);
    set->cases = malloc(most * sizeof *set->cases);
    set->executions = malloc(most * sizeof *set->executions);
    set->uses = malloc(most * sizeof *set->uses);
    if (s->of && set->cases && set->executions && set->uses) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", most);
}

static size_t find(adept_kernel_set *set, slots *s, const adept_kernel_case *c)
{
    size_t at = (size_t)adept_kernel_case_hash(c) & (s->n - 1);
    for (; s->of[at]; at = (at + 1) & (s->n - 1))
        if (memcmp(&set->cases[s->of[at] - 1u], c, sizeof *c) == 0) return s->of[at] - 1u;
    set->cases[set->n] = *c;
    set->executions[set->n] = (adept_executions){.part = {0.0}};
    s->of[at] = (uint32_t)++set->n;
    return set->n - 1;
}

static adept_status add_operator(adept_kernel_set *set, slots *s, const adept_profile *prof, size_t index,
                                 adept_error *err)
{
    const adept_profile_op *op = &prof->ops[index];
    for (size_t j = 0; j < op->n_kernels; j++) {
        adept_kernel_case c;
        const adept_kernel *k = &op->kernels[j];
        adept_status status = adept_kernel_case_of(&c, op, k, err);
        if (status != ADEPT_OK) return status;
        double count = (double)op->count * c.repeats;
        size_t at = find(set, s, &c);
        set->executions[at].part[k->pass] += (double)prof->grad_accum * count;
        if (!set->has_uses || k->pass != ADEPT_BACKWARD || op->count <= 0) continue;
        set->uses[set->n_uses++] =
            (adept_kernel_use){(uint32_t)index, (uint32_t)at, count / (double)op->count, k->launches};
    }
    return ADEPT_OK;
}

/* Of an optimizer of matrices; its other kernels are one, behind all. */
static adept_status add_products(adept_kernel_set *set, slots *s, const adept_profile *prof, adept_error *err)
{
    const adept_optimizer *optimizer = adept_optimizer_by_name(prof->optimizer);
    double iterations = optimizer ? optimizer->iterations : 0.0;
    adept_kernel products[ADEPT_MUON_PRODUCTS];
    for (size_t i = 0; i < prof->n_matrices && iterations > 0.0; i++) {
        const adept_profile_op op = {.path = "the optimizer", .count = prof->matrices[i].n};
        adept_optimizer_products(products, &prof->matrices[i]);
        for (size_t k = 0; k < ADEPT_MUON_PRODUCTS; k++) {
            adept_kernel_case c;
            adept_status status = adept_kernel_case_of(&c, &op, &products[k], err);
            if (status != ADEPT_OK) return status;
            set->executions[find(set, s, &c)].part[ADEPT_PART_OPTIMIZER] += iterations * (double)op.count;
        }
    }
    return ADEPT_OK;
}

adept_status adept_kernel_set_new(adept_kernel_set *out, const adept_profile *prof, bool uses, adept_error *err)
{
    slots s;
    *out = (adept_kernel_set){.n_ops = prof->n_ops, .has_uses = uses};
    adept_status status = reserve(out, &s, prof, err);
    for (size_t i = 0; i < prof->n_ops && status == ADEPT_OK; i++)
        status = add_operator(out, &s, prof, i, err);
    if (status == ADEPT_OK) status = add_products(out, &s, prof, err);
    free(s.of);
    if (status == ADEPT_OK) out->executions[out->n] = adept_optimizer_execution;
    return status;
}

void adept_kernel_set_free(adept_kernel_set *set)
{
    free(set->cases);
    free(set->executions);
    free(set->uses);
    *set = (adept_kernel_set){.n = 0};
}

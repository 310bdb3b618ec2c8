#include "even_program.h"
#include <stdlib.h>

/* Executions of an operator, or gradients that are complete behind them. */
typedef struct piece {
    double place, gradient_bytes;
    int32_t op;
} piece;

static double place_of(const adept_profile_places *places, int64_t i)
{
    double span = (double)(places->last - places->first);
    return (double)places->first + (places->n > 1 ? span * (double)i / (double)(places->n - 1) : 0.0);
}

/* Forward; at one place gradients come first, and then the last operator, so that backward it is the other way round.
 */
static int by_place(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if ((x->gradient_bytes > 0.0) != (y->gradient_bytes > 0.0)) return x->gradient_bytes > 0.0 ? -1 : 1;
    return (x->op < y->op) - (x->op > y->op);
}

void even_program_set(adept_profile *profile)
{
    static adept_program_kind kinds[] = {{"aten::op", "op", ADEPT_SHARD_UNKNOWN}};
    size_t n = 0, most = 1;
    for (size_t i = 0; i < profile->n_ops; i++)
        most += (size_t)(profile->ops[i].places.n + profile->ops[i].gradient_places.n);
    piece *pieces = calloc(most, sizeof *pieces);
    adept_program p = {.n_kinds = 1, .kinds = kinds};
    p.operators = calloc(most, sizeof *p.operators);
    p.gradients = calloc(most, sizeof *p.gradients);
    if (!pieces || !p.operators || !p.gradients) abort();
    for (size_t i = 0; i < profile->n_ops; i++) {
        const adept_profile_op *op = &profile->ops[i];
        for (int64_t k = 0; k < op->places.n; k++)
            pieces[n++] = (piece){place_of(&op->places, k), 0.0, (int32_t)i};
        for (int64_t k = 0; k < op->gradient_places.n && op->gradient_bytes > 0.0; k++)
            pieces[n++] = (piece){place_of(&op->gradient_places, k), op->gradient_bytes / (double)op->gradient_places.n,
                                  (int32_t)i};
    }
    qsort(pieces, n, sizeof *pieces, by_place);
    p.n_operators = n;
    for (size_t i = 0; i < n; i++) {
        bool completes = pieces[i].gradient_bytes > 0.0;
        p.operators[i].op = completes ? -1 : pieces[i].op;
        if (completes) p.gradients[p.n_gradients++] = (adept_program_gradient){(int32_t)i, pieces[i].gradient_bytes};
    }
    free(pieces);
    profile->program = p;
}

void even_program_free(adept_profile *profile)
{
    free(profile->program.operators);
    free(profile->program.gradients);
    profile->program = (adept_program){.n_operators = 0};
}

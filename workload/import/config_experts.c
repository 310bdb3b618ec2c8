/** @file config_experts.c  Mixtures of experts: a router, the tokens in the order of their experts, products of all
 * experts at once, and back. As transformers 5 runs them (grouped products); how many tokens each expert gets is data,
 * their sum is not. */
#include "config_build.h"

static const char *const gated[4] = {"gate_proj", "up_proj", "down_proj", "act_fn"};

/* Scores of DeepSeek's: the best groups by their experts' scores, and none of the others. */
static int32_t within_groups(adept_emitter *e, const adept_architecture *a, int32_t scores)
{
    const int64_t each = a->experts / a->groups;
    int32_t best[2], rows = OP(e, "size.int", scores, INT(0));
    if (a->groups < 2) return scores;
    int32_t grouped = OP(e, "view.default", scores, LIST_OF(e, INT(-1), INT(a->groups), INT(each)));
    if (a->sigmoid) {
        SEVERAL(e, 2, best, "topk.default", grouped, INT(2), INT(-1));
        best[0] = OP(e, "sum.dim_IntList", best[0], LIST_OF(e, INT(-1)));
    } else {
        SEVERAL(e, 2, best, "max.dim", grouped, INT(-1));
    }
    int32_t of_groups = best[0];
    SEVERAL(e, 2, best, "topk.default", of_groups, INT(a->chosen_groups), INT(-1), ADEPT_OMITTED, BOOL(false));
    int32_t mask = OP(e, "scatter.value", OP(e, "zeros_like.default", of_groups), INT(1), best[1], INT(1));
    mask = OP(e, "expand.default", OP(e, "unsqueeze.default", mask, INT(-1)),
              LIST_OF(e, INT(-1), INT(a->groups), INT(each)));
    mask = OP(e, "reshape.default", mask, LIST_OF(e, rows, INT(a->experts)));
    int32_t outside = OP(e, "logical_not.default", OP(e, "to.dtype", mask, INT(11)));
    return OP(e, "masked_fill.Scalar", scores, outside, FLOAT(0));
}

/* Which experts a token goes to, and their weights: chosen[0] of (T, k), chosen[1] of numbers. */
static void route(adept_emitter *e, const adept_architecture *a, int32_t x, int32_t chosen[2])
{
    const bool exact = a->family->routing == ADEPT_ROUTED_GROUPS; /* DeepSeek routes in FP32 */
    const int64_t dims[] = {a->experts, a->hidden};
    adept_emit_place before = adept_emit_enter(e, "TopkRouter", "gate");
    int32_t weight = adept_emit_weight(e, "weight", 2, dims);
    if (exact) x = adept_emit_to_float(e, x), weight = adept_emit_to_float(e, weight);
    int32_t logits = OP(e, "linear.default", x, weight);
    int32_t scores =
        a->sigmoid ? OP(e, "sigmoid.default", logits) : OP(e, "softmax.int", adept_emit_to_float(e, logits), INT(-1));
    int32_t choice = scores;
    if (a->corrected) choice = OP(e, "add.Tensor", scores, adept_emit_frozen(e, "e_score_correction_bias", 1, dims));
    choice = within_groups(e, a, choice);
    SEVERAL(e, 2, chosen, "topk.default", choice, INT(a->chosen), INT(-1));
    if (choice != scores) chosen[0] = OP(e, "gather.default", scores, INT(1), chosen[1]);
    if (a->renormalised)
        chosen[0] =
            OP(e, "div.Tensor", chosen[0], OP(e, "sum.dim_IntList", chosen[0], LIST_OF(e, INT(-1)), BOOL(true)));
    if (exact) chosen[0] = OP(e, "mul.Tensor", chosen[0], FLOAT(2.5));
    adept_emit_leave(e, before);
}

static int32_t rows_of(adept_emitter *e, int32_t x, int32_t index)
{
    return OP(e, "index.Tensor", x, LIST_OF(e, index));
}

/* x (rows in the order of their experts, in) by a matrix (out, in) of each. Of few tokens, as where they are written
 * one by one, it counts how many experts they choose. */
static int32_t grouped(adept_emitter *e, const adept_architecture *a, const char *name, int32_t x, int64_t in,
                       int64_t out, int32_t ends)
{
    int32_t weight = adept_emit_weight(e, name, 3, (int64_t[]){a->experts, out, in});
    int32_t turned = OP(e, "transpose.int", weight, INT(-2), INT(-1));
    adept_emit_if(e, adept_emit(e, "adept::generates", 0, NULL));
    adept_emit_else(e, OP(e, "adept::grouped_mm", x, turned, ends, INT(a->chosen)));
    return adept_emit_end(e, OP(e, "_grouped_mm.default", x, turned, ends));
}

static int32_t run_experts(adept_emitter *e, const adept_architecture *a, int32_t x, const int32_t chosen[2])
{
    int32_t parts[2];
    adept_emit_place before = adept_emit_enter(e, "Experts", "experts");
    int32_t tokens = OP(e, "unsqueeze.default", OP(e, "arange.default", OP(e, "size.int", x, INT(0))), INT(1));
    tokens = OP(e, "reshape.default", OP(e, "expand.default", tokens, LIST_OF(e, INT(-1), INT(a->chosen))),
                LIST_OF(e, INT(-1)));
    int32_t weights = OP(e, "reshape.default", chosen[0], LIST_OF(e, INT(-1))),
            experts = OP(e, "reshape.default", chosen[1], LIST_OF(e, INT(-1)));
    int32_t order = OP(e, "argsort.default", experts), back = OP(e, "argsort.default", order);
    int32_t rows = rows_of(e, rows_of(e, x, tokens), order);
    int32_t counts = OP(e, "histc.default", adept_emit_to_float(e, rows_of(e, experts, order)), INT(a->experts), INT(0),
                        INT(a->experts - 1));
    int32_t ends = OP(e, "cumsum.default", counts, INT(0), INT(3));
    int32_t both = grouped(e, a, "gate_up_proj", rows, a->hidden, 2 * a->expert_ffn, ends);
    adept_emit_unpack(e, OP(e, "chunk.default", both, INT(2), INT(-1)), 2, parts);
    int32_t y = OP(e, "mul.Tensor", adept_emit_activation(e, "act_fn", a->activation, parts[0]), parts[1]);
    y = grouped(e, a, "down_proj", y, a->expert_ffn, a->hidden, ends);
    y = OP(e, "mul.Tensor", y, OP(e, "unsqueeze.default", rows_of(e, weights, order), INT(-1)));
    y = OP(e, "view.default", rows_of(e, y, back), LIST_OF(e, INT(-1), INT(a->chosen), INT(a->hidden)));
    y = adept_emit_to_type_of(e, OP(e, "sum.dim_IntList", y, LIST_OF(e, INT(1))), x);
    adept_emit_leave(e, before);
    return y;
}

int32_t adept_build_experts(adept_emitter *e, const adept_architecture *a, int32_t x)
{
    int32_t chosen[2];
    int32_t shape = LIST_OF(e, OP(e, "size.int", x, INT(0)), OP(e, "size.int", x, INT(1)), INT(a->hidden));
    int32_t tokens = OP(e, "view.default", x, LIST_OF(e, INT(-1), INT(a->hidden)));
    route(e, a, tokens, chosen);
    int32_t y = run_experts(e, a, tokens, chosen);
    if (a->shared_ffn > 0) {
        const bool one = a->family->has & ADEPT_HAS_SHARED_EXPERT;
        adept_emit_place before = adept_emit_enter(e, "MLP", "%s", one ? "shared_expert" : "shared_experts");
        int32_t shared = adept_emit_gated(e, a->activation, gated, tokens, a->hidden, a->shared_ffn);
        adept_emit_leave(e, before);
        if (one) {
            int32_t gate =
                OP(e, "sigmoid.default", adept_emit_linear(e, "shared_expert_gate", tokens, a->hidden, 1, false));
            shared = OP(e, "mul.Tensor", gate, shared);
        }
        y = OP(e, "add.Tensor", y, shared);
    }
    return OP(e, "reshape.default", y, shape);
}

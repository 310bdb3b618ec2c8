/* torch.autocast: which operators see their floating inputs in another type, and what the casts cost.
 * Source: PyTorch "Automatic Mixed Precision package", CUDA Op-Specific Behavior; aten/src/ATen/autocast_mode.cpp
 * caches the low-precision copy of leaf parameters for the duration of the forward pass. */
#include "interp.h"
#include <string.h>

static void cast_shape(adept_call *c)
{
    (void)c; /* the result is made by cast_tensor below */
}

static void cast_cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *from = c->args[0].u.t, *to = c->results[0].u.t;
    double n = (double)adept_tensor_numel(to);
    adept_cost_alu(cost, ADEPT_FORWARD, to->dtype, n, 0, adept_tensor_unique_bytes(from), adept_tensor_bytes(to));
    if (adept_cost_wants_grad(cost, from))
        adept_cost_alu(cost, ADEPT_BACKWARD, from->dtype, n, 0, adept_tensor_bytes(to),
                       n * adept_dtype_bytes(from->dtype));
}

static const adept_op cast_rows[] = {{"autocast::to", ADEPT_ROLE_SCORES, NULL}, {0}};
const adept_handler adept_cast_handler = {
    .kind = "cast", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = cast_rows, .shape = cast_shape, .cost = cast_cost};

/* Tensors that are cast: floating, not double, and no number carried as a 0-dim CPU tensor. */
static bool is_eligible(const adept_tensor *t)
{
    return adept_dtype_is_float(t->dtype) && t->dtype != ADEPT_F64 && !(t->ndim == 0 && t->n_values == 1);
}

static adept_status cast_tensor(adept_interp *in, adept_tensor **t, adept_dtype to, int32_t module)
{
    adept_tensor *from = *t;
    bool whole_param = from->param >= 0 && from == in->param_tensor[from->param];
    bool keeps = whole_param && to == in->run.cast;
    if (keeps && in->param_cast[from->param] && in->param_cast[from->param]->dtype == to) {
        *t = in->param_cast[from->param];
        return ADEPT_OK;
    }
    adept_tensor *copy = adept_run_tensor_new(&in->run, to, from->ndim, from->dims, (int32_t)in->n_records);
    adept_value *args = adept_arena_array(in->run.arena, 2, sizeof *args);
    static const char *const names[] = {"self"};
    if (!copy || !args) return adept_interp_nomem(in);
    copy->requires_grad = from->requires_grad && !in->run.no_grad;
    copy->param = from->param;
    if (keeps) {
        in->run.storages[copy->storage].resident = true;
        in->autocast_copy_bytes += adept_tensor_bytes(copy);
        in->param_cast[from->param] = copy;
    }
    args[0] = (adept_value){ADEPT_VALUE_TENSOR, {.t = from}};
    args[1] = (adept_value){ADEPT_VALUE_TENSOR, {.t = copy}};
    adept_call call = {.run = &in->run,
                       .handler = &adept_cast_handler,
                       .row = cast_rows,
                       .op = cast_rows->names,
                       .any_grad = copy->requires_grad,
                       .n_args = 1,
                       .args = args,
                       .arg_names = names,
                       .n_results = 1,
                       .results_capacity = 1,
                       .results = args + 1,
                       .record = (int32_t)in->n_records};
    *t = copy;
    return adept_interp_record(in, &call, NULL, module);
}

static bool needs_cast(const adept_tensor *t, adept_dtype to, int least_dims)
{
    return is_eligible(t) && t->ndim >= least_dims && t->dtype != to;
}

/* Visit every tensor argument in place; lists are copied before one of their entries changes. */
static adept_status cast_all(adept_interp *in, adept_value *args, int n_args, adept_dtype to, int least_dims,
                             int32_t module)
{
    for (int i = 0; i < n_args; i++) {
        adept_value *v = &args[i];
        if (v->kind == ADEPT_VALUE_TENSOR && needs_cast(v->u.t, to, least_dims)) {
            adept_status status = cast_tensor(in, &v->u.t, to, module);
            if (status) return status;
        }
        if (!adept_value_is_list(v)) continue;
        adept_list *copy = adept_run_list_new(&in->run, v->u.list->n, v->u.list->items);
        if (!copy) return adept_interp_nomem(in);
        adept_status status = ADEPT_OK;
        for (adept_value *item = copy->items; item < copy->items + copy->n && !status; item++)
            if (item->kind == ADEPT_VALUE_TENSOR && needs_cast(item->u.t, to, least_dims))
                status = cast_tensor(in, &item->u.t, to, module);
        if (status) return status;
        v->u.list = copy;
    }
    return ADEPT_OK;
}

/* What still has 32 bits in a pure run was computed from integers. A model cast as a whole would have cast it where the
 * trace, made in FP32, had nothing to do. Tensors without dimensions do not widen others. */
adept_status adept_interp_unify(adept_interp *in, adept_value *args, int n_args, int32_t module)
{
    adept_dtype low = adept_precision_low_dtype(in->run.precision);
    adept_tensor_cursor at = {args, args + n_args, 0};
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        if (t->dtype == low && t->ndim > 0) return cast_all(in, args, n_args, low, 1, module);
    return ADEPT_OK;
}

adept_status adept_interp_autocast(adept_interp *in, adept_value *args, int n_args, const adept_op *op, int32_t module)
{
    adept_cast cast = adept_op_cast(op);
    if (op->traits & ADEPT_CAST_WIDENS && n_args > 0 && args[0].kind == ADEPT_VALUE_TENSOR &&
        args[0].u.t->dtype == ADEPT_F16)
        return ADEPT_OK;
    adept_dtype to = cast == ADEPT_CAST_LOWER ? in->run.cast : ADEPT_F32;
    if (cast == ADEPT_CAST_PROMOTE) {
        adept_tensor_cursor at = {args, args + n_args, 0};
        adept_dtype wide = ADEPT_DTYPE_NONE;
        for (const adept_tensor *t; (t = adept_next_tensor(&at));)
            if (is_eligible(t) && adept_dtype_bytes(t->dtype) > adept_dtype_bytes(wide)) wide = t->dtype;
        to = wide;
        if (to == ADEPT_DTYPE_NONE) return ADEPT_OK;
    }
    return cast_all(in, args, n_args, to, 0, module);
}

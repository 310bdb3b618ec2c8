/* Shared by the handlers of elementwise operators: one kernel per operator, gradients of broadcasting, memory order. */
#include "elementwise_cost.h"

const adept_tensor *adept_elem_tensor_at(const adept_call *c, int position)
{
    return adept_value_tensor(adept_arg_at(c, position));
}

const adept_tensor *adept_elem_self(adept_call *c)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    if (!self) adept_call_fail(c, "a tensor expected");
    return self;
}

bool adept_elem_on_host(const adept_tensor *t)
{
    return t && t->ndim == 0 && t->n_values == 1;
}

bool adept_elem_all_on_host(const adept_call *c)
{
    bool any = false;
    for (int i = 0; i < adept_arg_count(c); i++) {
        const adept_tensor *t = adept_elem_tensor_at(c, i);
        if (t && !adept_elem_on_host(t)) return false;
        any = any || t;
    }
    for (int i = 0; i < adept_result_count(c); i++) {
        const adept_tensor *t = adept_result_tensor(c, i);
        if (t && !adept_elem_on_host(t)) return false;
        any = any || t;
    }
    return any;
}

double adept_elem_product(adept_dtype dtype)
{
    return adept_dtype_is_complex(dtype) ? 3 : 1;
}

double adept_elem_read(const adept_tensor *t)
{
    return !t || adept_elem_on_host(t) ? 0 : adept_tensor_unique_bytes(t);
}

void adept_elem_chain(adept_cost *cost, adept_pass pass, const adept_tensor *like, const adept_chain *chain,
                      double extra_read)
{
    double n = (double)adept_tensor_numel(like), bytes = adept_tensor_bytes(like);
    if (n == 0 || chain->launches == 0) return;
    adept_cost_stream(cost, pass, like->dtype, n * chain->launches, n * chain->flops, bytes * chain->reads + extra_read,
                      bytes * chain->writes, chain->launches);
}

void adept_elem_forward(adept_cost *cost, const adept_tensor *out, double flops_per_element, double bytes_read)
{
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){flops_per_element, 0, 1, 1}, bytes_read);
}

void adept_softmax_kernel(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double row_elements,
                          double bytes_read, double bytes_written)
{
    double flops = (pass == ADEPT_BACKWARD ? 2 : 1) * ADEPT_SOFTMAX_FLOPS * elements;
    adept_cost_rows(cost, pass, ADEPT_FAMILY_SOFTMAX, dtype, elements, row_elements, flops, bytes_read, bytes_written,
                    1);
}

void adept_elem_copy(adept_cost *cost, adept_pass pass, const adept_tensor *from, adept_dtype to)
{
    double n = (double)adept_tensor_numel(from);
    if (n > 0) adept_cost_alu(cost, pass, to, n, 0, adept_elem_read(from), n * adept_dtype_bytes(to));
}

void adept_elem_fill(adept_cost *cost, adept_pass pass, const adept_tensor *t)
{
    adept_elem_chain(cost, pass, t, &(adept_chain){0, 0, 1, 1}, 0);
}

void adept_elem_grad_to(adept_cost *cost, const adept_tensor *out, const adept_tensor *arg)
{
    double n_out = (double)adept_tensor_numel(out), n_arg = (double)adept_tensor_numel(arg);
    double size_out = adept_dtype_bytes(out->dtype), size_arg = adept_dtype_bytes(arg->dtype);
    if (n_out == 0) return;
    if (n_arg < n_out)
        adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n_out, n_out, n_out * size_out, n_arg * size_out);
    if (arg->dtype != out->dtype)
        adept_cost_alu(cost, ADEPT_BACKWARD, arg->dtype, n_arg, 0, n_arg * size_out, n_arg * size_arg);
}

void adept_elem_save_input(const adept_call *c, adept_cost *cost, const adept_tensor *t)
{
    if (!t || adept_elem_on_host(t) || !adept_cost_backward(cost)) return;
    if (!adept_call_inplace(c) || t != adept_elem_tensor_at(c, 0)) {
        adept_cost_save(cost, t);
        return;
    }
    adept_elem_copy(cost, ADEPT_FORWARD, t, t->dtype); /* SavedVariable(self.clone()) in PyTorch's generated code */
    adept_cost_save_bytes(cost, adept_tensor_bytes(t));
}

void adept_elem_scatter_back(adept_cost *cost, const adept_tensor *whole, const adept_tensor *part)
{
    adept_elem_fill(cost, ADEPT_BACKWARD, whole);
    adept_elem_chain(cost, ADEPT_BACKWARD, part, &(adept_chain){0, 1, 1, 1}, 0);
}

void adept_elem_scatter_chosen(adept_cost *cost, const adept_tensor *whole, const adept_tensor *chosen,
                               const adept_tensor *indices)
{
    adept_elem_fill(cost, ADEPT_BACKWARD, whole);
    adept_elem_chain(cost, ADEPT_BACKWARD, chosen, &(adept_chain){0, 1, 1, 1}, adept_tensor_bytes(indices));
    adept_cost_save(cost, indices);
}

/* ---------------------------------------------------------------- memory order ---------------- */

/* Stride of an operand along dimension `dim` of an `ndim`-dimensional result; 0 where it is broadcast. */
static int64_t operand_stride(const adept_tensor *t, const adept_tensor *out, int dim)
{
    int own = dim - (out->ndim - t->ndim);
    if (own < 0 || (t->dims[own] == 1 && out->dims[dim] != 1)) return 0;
    return t->strides[own];
}

/* Does dimension a belong inside (faster than) b? 1 yes, -1 no, 0 undecided. */
static int order(const adept_tensor *out, const adept_tensor *const *operands, int n, int a, int b)
{
    for (int i = 0; i < n; i++) {
        if (!operands[i]) continue;
        int64_t sa = operand_stride(operands[i], out, a), sb = operand_stride(operands[i], out, b);
        if (sa == 0 || sb == 0) continue;
        if (sa != sb) return sa < sb ? 1 : -1;
        if (out->dims[a] > out->dims[b]) return -1; /* equal strides: one of them has size 1 */
    }
    return 0;
}

static bool all_contiguous(const adept_tensor *out, const adept_tensor *const *operands, int n)
{
    for (int i = 0; i < n; i++)
        if (operands[i] && (!adept_tensor_same_shape(operands[i], out) || !adept_tensor_is_contiguous(operands[i])))
            return false;
    return true;
}

/* PyTorch, aten/src/ATen/TensorIterator.cpp, reorder_dimensions(): insertion sort in which undecided pairs stay. */
void adept_elem_set_strides(adept_tensor *out, const adept_tensor *const *operands, int n)
{
    int fast_first[ADEPT_MAX_DIMS];
    if (out->ndim < 2 || all_contiguous(out, operands, n)) return;
    for (int i = 0; i < out->ndim; i++)
        fast_first[i] = out->ndim - 1 - i;
    for (int i = 1; i < out->ndim; i++) {
        int at = i;
        for (int k = i - 1; k >= 0; k--) {
            int decision = order(out, operands, n, fast_first[k], fast_first[at]);
            if (decision > 0) break;
            if (decision == 0) continue;
            int moved = fast_first[at];
            fast_first[at] = fast_first[k];
            fast_first[k] = moved;
            at = k;
        }
    }
    int64_t stride = 1;
    for (int i = 0; i < out->ndim; i++) {
        int d = fast_first[i];
        out->strides[d] = stride;
        stride = adept_stride_after(stride, out->dims[d]);
    }
}

adept_tensor *adept_elem_out_binary(adept_call *c, const adept_value *a, const adept_value *b, adept_dtype dtype)
{
    static const adept_tensor scalar; /* a Python scalar broadcasts like a tensor without dimensions */
    const adept_tensor *ta = a->kind == ADEPT_VALUE_TENSOR ? a->u.t : &scalar;
    const adept_tensor *tb = b->kind == ADEPT_VALUE_TENSOR ? b->u.t : &scalar;
    int64_t dims[ADEPT_MAX_DIMS];
    int ndim = adept_broadcast(c, ta, tb, dims);
    adept_tensor *out = adept_out_result(c, ta, dtype, ndim, dims);
    if (adept_call_ok(c) && !adept_call_inplace(c)) adept_elem_set_strides(out, (const adept_tensor *[]){ta, tb}, 2);
    return out;
}

adept_tensor *adept_elem_out_unary(adept_call *c, const adept_tensor *self, adept_dtype dtype)
{
    adept_tensor *out = adept_out_result(c, self, dtype, self->ndim, self->dims);
    if (adept_call_ok(c) && !adept_call_inplace(c)) adept_elem_set_strides(out, &self, 1);
    return out;
}

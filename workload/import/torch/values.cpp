#include "values.hpp"
#include "failure.hpp"
#include "params.hpp"
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <cmath>
#include <cstring>

namespace adept
{
namespace
{

constexpr int max_values = 64;      /* a tensor with more elements carries no sizes */
constexpr int max_value_depth = 60; /* lists within lists; the graph takes 64 */

struct context {
    adept_arena *arena;
    const param_registry &params;
    const std::string &where; /* for messages */
};

template <typename T> T *allocate(adept_arena *arena, size_t n)
{
    void *memory = adept_arena_array(arena, n, sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T *>(memory);
}

adept_value make_string(const std::string &text, adept_arena *arena)
{
    adept_value value{};
    value.kind = ADEPT_VALUE_STRING;
    value.u.s = adept_arena_strndup(arena, text.c_str(), text.size());
    if (!value.u.s) throw std::bad_alloc();
    return value;
}

/* Bytes from the start of the storage to one past the last element, or -1 when strides or sizes are hostile. */
int64_t bytes_reached(const at::Tensor &t, const adept_tensor &meta)
{
    int64_t last = t.storage_offset();
    if (last < 0) return -1;
    for (int i = 0; i < meta.ndim; i++) {
        int64_t span = 0;
        if (meta.strides[i] < 0 || __builtin_mul_overflow(meta.dims[i] - 1, meta.strides[i], &span)) return -1;
        if (__builtin_add_overflow(last, span, &last)) return -1;
    }
    int64_t bytes = 0;
    if (__builtin_add_overflow(last, int64_t{1}, &last)) return -1;
    if (__builtin_mul_overflow(last, int64_t{adept_dtype_bytes(meta.dtype)}, &bytes)) return -1;
    return bytes;
}

/* Elements in row-major order; leaves n_values at 0 when they cannot be had. */
void read_values(const at::Tensor &t, adept_tensor *meta, adept_arena *arena)
{
    int64_t numel = adept_tensor_numel(meta);
    if (numel < 1 || numel > max_values || !t.device().is_cpu() || !t.has_storage()) return;
    int64_t reached = bytes_reached(t, *meta);
    if (reached < 0 || static_cast<uint64_t>(reached) > t.storage().nbytes()) return;
    if (t.storage().nbytes() >= ADEPT_TORCH_GAP_BYTES) return; /* never read */
    if (t.is_quantized() || !t.storage().unsafeGetStorageImpl()->data() || adept_dtype_is_complex(meta->dtype)) return;
    at::Tensor numbers = t.detach().to(at::kDouble).contiguous();
    double *values = allocate<double>(arena, static_cast<size_t>(numel));
    std::memcpy(values, numbers.data_ptr<double>(), static_cast<size_t>(numel) * sizeof *values);
    for (int64_t i = 0; i < numel; i++)
        if (meta->dtype == ADEPT_I64 && std::fabs(values[i]) > 9007199254740992.0) return; /* perhaps not exact */
    meta->values = values;
    meta->n_values = static_cast<int>(numel);
}

adept_value tensor_value(const at::Tensor &t, const context &c)
{
    adept_value value{};
    if (!t.defined()) {
        value.kind = ADEPT_VALUE_NONE;
        return value;
    }
    value.kind = ADEPT_VALUE_TENSOR;
    value.u.t = allocate<adept_tensor>(c.arena, 1);
    *value.u.t = tensor_meta(t, c.where);
    value.u.t->param = c.params.find(t);
    if (value.u.t->param < 0) read_values(t, value.u.t, c.arena); /* parameters may change: they carry no values */
    return value;
}

adept_value convert(const c10::IValue &v, const context &c, int depth);

adept_list *new_list(adept_arena *arena, size_t n)
{
    auto *list = allocate<adept_list>(arena, 1);
    list->items = allocate<adept_value>(arena, n);
    list->n = list->capacity = n;
    return list;
}

/* Any container of libtorch with size and iterators whose elements turn into an IValue. */
template <typename Items> adept_value sequence(adept_value_kind kind, const Items &items, const context &c, int depth)
{
    adept_value value{};
    value.kind = kind;
    value.u.list = new_list(c.arena, items.size());
    size_t i = 0;
    for (const auto &item : items) {
        value.u.list->items[i++] = convert(c10::IValue(item), c, depth + 1);
    }
    return value;
}

adept_value dictionary(const c10::IValue &v, const context &c, int depth)
{
    auto dict = v.toGenericDict();
    adept_value value{};
    value.kind = ADEPT_VALUE_DICT;
    value.u.list = new_list(c.arena, 2 * dict.size());
    size_t i = 0;
    for (const auto &entry : dict) {
        value.u.list->items[i++] = convert(entry.key(), c, depth + 1);
        value.u.list->items[i++] = convert(entry.value(), c, depth + 1);
    }
    return value;
}

adept_value scalar(const c10::IValue &v, adept_arena *arena)
{
    adept_value value{};
    if (v.isNone()) {
        value.kind = ADEPT_VALUE_NONE;
    } else if (v.isBool()) {
        value.kind = ADEPT_VALUE_BOOL;
        value.u.b = v.toBool();
    } else if (v.isInt()) {
        value.kind = ADEPT_VALUE_INT;
        value.u.i = v.toInt();
    } else if (v.isDouble()) {
        value.kind = ADEPT_VALUE_FLOAT;
        value.u.f = v.toDouble();
    } else if (v.isComplexDouble()) {
        auto *parts = allocate<double>(arena, 2);
        parts[0] = v.toComplexDouble().real();
        parts[1] = v.toComplexDouble().imag();
        value.kind = ADEPT_VALUE_COMPLEX;
        value.u.z = parts;
    }
    return value; /* UNSET: not a scalar */
}

adept_value convert(const c10::IValue &v, const context &c, int depth)
{
    if (depth > max_value_depth) fail_invalid(c.where + ": constant nested too deeply");
    adept_value value = scalar(v, c.arena);
    if (value.kind != ADEPT_VALUE_UNSET) return value;
    if (v.isTensor()) return tensor_value(v.toTensor(), c);
    if (v.isString()) return make_string(v.toStringRef(), c.arena);
    if (v.isDevice()) return make_string(v.toDevice().str(), c.arena);
    if (v.isEnum()) {
        auto holder = v.toEnumHolder();
        return make_string(holder->qualifiedClassName() + "." + holder->name(), c.arena);
    }
    if (v.isTuple()) return sequence(ADEPT_VALUE_TUPLE, v.toTupleRef().elements(), c, depth);
    if (v.isList()) return sequence(ADEPT_VALUE_LIST, v.toListRef(), c, depth);
    if (v.isGenericDict()) return dictionary(v, c, depth);
    fail_unsupported(c.where + ": a value of type " + v.type()->repr_str() + " cannot be represented");
}

} // namespace

adept_tensor tensor_meta(const at::Tensor &tensor, const std::string &where)
{
    adept_tensor meta{};
    const at::Layout layout = tensor.layout();
    if (layout != at::kStrided && layout != at::kSparse && layout != at::kSparseCsr)
        fail_unsupported(where + ": tensors of this layout are not supported");
    meta.dtype = adept_dtype_from_c10(static_cast<int64_t>(c10::toUnderlying(tensor.scalar_type())));
    if (meta.dtype == ADEPT_DTYPE_NONE) {
        fail_unsupported(where + ": element type " + c10::toString(tensor.scalar_type()) + " is not supported");
    }
    if (tensor.dim() > ADEPT_MAX_DIMS) {
        fail_unsupported(where + ": tensor with " + std::to_string(tensor.dim()) + " dimensions");
    }
    meta.ndim = static_cast<int>(tensor.dim());
    meta.storage = -1;
    meta.param = -1;
    meta.requires_grad = tensor.requires_grad();
    for (int i = 0; i < meta.ndim; i++) {
        meta.dims[i] = tensor.sizes()[static_cast<size_t>(i)];
        if (layout == at::kStrided) meta.strides[i] = tensor.strides()[static_cast<size_t>(i)];
    }
    if (!adept_shape_valid(meta.dtype, meta.ndim, meta.dims, 0)) fail_invalid(where + ": tensor with impossible sizes");
    if (layout == at::kStrided) return meta;
    meta.sparse = layout == at::kSparseCsr ? ADEPT_CSR : ADEPT_COO;
    meta.stored = tensor._nnz();
    if (meta.sparse == ADEPT_CSR ? meta.ndim != 2 : tensor.dense_dim() > 0)
        fail_unsupported(where + ": sparse tensors of blocks or in batches are not supported");
    return meta;
}

adept_value value_of(const c10::IValue &value, adept_arena *arena, const param_registry &params,
                     const std::string &where)
{
    return convert(value, context{arena, params, where}, 0);
}

} // namespace adept

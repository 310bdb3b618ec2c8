#include "params.hpp"
#include "failure.hpp"
#include "values.hpp"
#include <ATen/core/class_type.h>
#include <algorithm>

namespace adept
{
namespace
{

constexpr int max_module_depth = 500;
constexpr size_t max_attributes = 4000000; /* one module reachable along many paths must not unfold without end */

std::string join(const std::string &path, const std::string &name)
{
    return path.empty() ? name : path + "." + name;
}

/* Methods of packed weights that tell sizes. Of linear layers they have none. */
const char *const size_methods[] = {"stride", "padding", "output_padding", "dilation", "groups"};

c10::IValue ask(const c10::intrusive_ptr<c10::ivalue::Object> &object, const char *method)
{
    return object->type()->getMethod(method)({object});
}

/* What XNNPACK's layers hold, in the order of their state, NULL at the end. */
const char *const *context_parts(const c10::ClassType &type)
{
    static const char *const linear[] = {"weight", "bias", "min", "max", nullptr};
    static const char *const conv[] = {"weight", "bias", "stride", "padding", "dilation",
                                       "groups", "min",  "max",    nullptr};
    static const char *const transposed[] = {"weight",   "bias",   "stride", "padding", "output_padding",
                                             "dilation", "groups", "min",    "max",     nullptr};
    const std::string name = type.name() ? type.name()->qualifiedName() : "";
    if (name == "__torch__.torch.classes.xnnpack.LinearOpContext") return linear;
    if (name == "__torch__.torch.classes.xnnpack.Conv2dOpContext") return conv;
    if (name == "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext") return transposed;
    return nullptr;
}

/* "unpack" of layers, and since PyTorch 2 of tables; the state of recurrent cells, and before of tables, without it. */
const char *method_of(const c10::ClassType &type)
{
    if (context_parts(type)) return type.findMethod("__getstate__") ? "__getstate__" : nullptr;
    static const char *const prefixes[] = {"__torch__.torch.classes.quantized.", "__torch__.torch.classes.rnn."};
    for (const std::string prefix : prefixes)
        if (type.name() && type.name()->qualifiedName().compare(0, prefix.size(), prefix) == 0)
            for (const char *method : {"unpack", "__getstate__"})
                if (type.findMethod(method)) return method;
    return nullptr;
}

/* Nobody trains them any more. */
c10::IValue detached(const c10::IValue &value)
{
    return value.isTensor() && value.toTensor().defined() ? value.toTensor().detach() : c10::IValue();
}

/* In memory: of a table of 8 bits two floats stand behind each row, of one of 4 bits two of 16 bits. */
int64_t row_bytes(const at::Tensor &table)
{
    if (!table.is_quantized() || table.qscheme() != at::kPerChannelAffineFloatQParams || table.dim() != 2) return 0;
    int64_t columns = table.size(1);
    return table.scalar_type() == at::kQUInt4x2 ? (columns + 1) / 2 + 4 : columns + 8;
}

/* Version, weight, ... */
void add_table(packed_parts &parts, const std::vector<c10::IValue> &state)
{
    parts.emplace_back("weight", detached(state.at(1).toListRef().at(0)));
}

/* Kind, biases, ..., and the packed matrices of input and state, which may hold the biases. In the order of aten::lstm.
 */
void add_cell(packed_parts &parts, const std::vector<c10::IValue> &state)
{
    std::vector<c10::IValue> biases = state.at(1).toListRef().vec();
    for (const c10::IValue &packed : state.at(4).toListRef()) {
        auto tensors = ask(packed.toObject(), "unpack").toTuple();
        parts.emplace_back("weight", detached(tensors->elements().at(0)));
        if (state.at(1).toListRef().empty()) biases.push_back(tensors->elements().at(1));
    }
    for (const c10::IValue &bias : biases)
        parts.emplace_back("bias", detached(bias));
}

} // namespace

bool is_packed(const c10::ClassType &type)
{
    return method_of(type) != nullptr;
}

param_registry::param_registry(adept_graph_builder *builder, const c10::ivalue::Object &root) : builder_(builder)
{
    visit(root, "", 0);
    frozen_ = by_tensor_.empty();
}

void param_registry::adopt(const c10::IValue &value, const std::string &name)
{
    if (!value.isTensor() || !value.toTensor().defined()) return;
    const at::Tensor &tensor = value.toTensor();
    bool weight = frozen_ && tensor.dim() > 0 && (tensor.is_floating_point() || tensor.is_quantized());
    bool sparse = tensor.layout() != at::kStrided && find(tensor) < 0;
    if (sparse || weight) add(tensor, name, sparse);
}

int32_t param_registry::find(const at::Tensor &tensor) const
{
    auto found = by_tensor_.find(tensor.unsafeGetTensorImpl());
    return found == by_tensor_.end() ? -1 : found->second;
}

const packed_parts &param_registry::unpacked(const c10::intrusive_ptr<c10::ivalue::Object> &object)
{
    auto made = unpacked_.emplace(object.get(), packed_parts());
    packed_parts &parts = made.first->second;
    if (!made.second) return parts;
    const std::string asked = method_of(*object->type());
    c10::IValue answer = ask(object, asked.c_str());
    const std::vector<c10::IValue> said = answer.isTuple() ? answer.toTuple()->elements().vec() : std::vector{answer};
    if (const char *const *names = context_parts(*object->type())) {
        for (size_t i = 0; names[i]; i++)
            parts.emplace_back(names[i], said.at(i).isTensor() ? detached(said.at(i)) : said.at(i));
        return parts;
    }
    if (!answer.isTuple()) {
        parts.emplace_back("weight", detached(answer));
    } else if (asked == "unpack") {
        parts.emplace_back("weight", detached(said.at(0)));
        parts.emplace_back("bias", detached(said.at(1)));
    } else if (said.at(0).isString()) {
        add_cell(parts, said);
    } else {
        add_table(parts, said);
    }
    for (const char *method : size_methods)
        if (object->type()->findMethod(method)) parts.emplace_back(method, ask(object, method));
    return parts;
}

void param_registry::add(const at::Tensor &tensor, const std::string &name, bool is_buffer)
{
    auto found = by_tensor_.find(tensor.unsafeGetTensorImpl());
    if (found != by_tensor_.end()) {
        adept_graph_builder_param_alias(builder_, found->second);
        return;
    }
    adept_tensor meta = tensor_meta(tensor, name);
    if (meta.sparse && meta.requires_grad && !is_buffer)
        fail_unsupported(name + ": sparse parameters that are trained are not supported");
    adept_param param{};
    param.name = name.c_str();
    param.dtype = meta.dtype;
    param.ndim = meta.ndim;
    std::copy_n(meta.dims, meta.ndim, param.dims);
    param.requires_grad = meta.requires_grad;
    param.is_buffer = is_buffer;
    param.sparse = meta.sparse;
    param.stored = meta.stored;
    param.row_bytes = row_bytes(tensor);
    param.channels_last = !meta.sparse && adept_strides_channels_last(meta.ndim, meta.dims, meta.strides);
    param.row_major = !meta.sparse && adept_tensor_is_contiguous(&meta);
    param.n_names = 1;
    int32_t index = adept_graph_builder_param(builder_, &param);
    if (index < 0) throw std::bad_alloc();
    by_tensor_.emplace(tensor.unsafeGetTensorImpl(), index);
}

void param_registry::visit(const c10::ivalue::Object &module, const std::string &path, int depth)
{
    if (depth > max_module_depth) fail_invalid("module '" + path + "': modules nested too deeply");
    const auto &type = *module.type();
    size_t n = std::min(type.numAttributes(), module.slots().size());
    visited_ += n + 1;
    if (visited_ > max_attributes) fail_invalid("module '" + path + "': too many module attributes");
    for (size_t i = 0; i < n; i++) {
        const c10::IValue &slot = module.slots()[i];
        if (slot.isObject() && is_packed(*slot.toObjectRef().type())) {
            for (const auto &part : unpacked(slot.toObject()))
                if (part.second.isTensor() && part.second.toTensor().defined())
                    add(part.second.toTensor(), join(join(path, type.getAttributeName(i)), part.first), false);
        }
        if (!slot.isTensor() || !slot.toTensor().defined()) continue;
        if (type.is_parameter(i) || type.is_buffer(i)) {
            add(slot.toTensor(), join(path, type.getAttributeName(i)), type.is_buffer(i));
        }
    }
    for (size_t i = 0; i < n; i++) {
        const c10::IValue &slot = module.slots()[i];
        if (slot.isObject() && slot.toObjectRef().type()->is_module()) {
            visit(slot.toObjectRef(), join(path, type.getAttributeName(i)), depth + 1);
        }
    }
}

} // namespace adept

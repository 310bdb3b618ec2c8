#include "lower.hpp"
#include "failure.hpp"
#include "values.hpp"
#include <ATen/core/jit_type.h>
#include <algorithm>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

namespace adept
{
namespace
{

namespace jit = torch::jit;
using c10::Symbol;

/* Far beyond real models; a hostile file could otherwise call functions that call functions ... without end. */
constexpr size_t max_nodes = 1000000;
constexpr int max_depth = 600;
constexpr size_t max_path_bytes = 4096;
constexpr int max_type_depth = 30;
constexpr size_t max_looks = 20000, max_stack_bytes = 65536; /* at nodes' source, microseconds each */
constexpr size_t max_keys = 1000, max_key_bytes = 100;       /* that a program names of one dict */

adept_graph_builder *new_builder()
{
    adept_graph_builder *builder = adept_graph_builder_new();
    if (!builder) throw std::bad_alloc();
    adept_graph_builder_limit(builder, UINT64_MAX); /* the process has a limit */
    return builder;
}

/* "__torch__.torchvision.models.resnet.___torch_mangle_156.Bottleneck" -> "torchvision.models.resnet.Bottleneck" */
std::string class_name(const c10::ClassType &type)
{
    std::string name;
    if (!type.name()) return name;
    for (const std::string &atom : type.name()->atoms()) {
        if (atom == "__torch__" || atom.rfind("___torch_mangle_", 0) == 0) continue;
        if (!name.empty()) name += '.';
        name += atom;
    }
    return name;
}

/* Is it the class of that module, whatever the version of PyTorch called the file? */
bool is_context(const c10::ClassType &type, const char *package, const char *name)
{
    const std::string full = class_name(type);
    size_t dot = full.rfind('.');
    return full.rfind(package, 0) == 0 && dot != std::string::npos &&
           full.compare(dot + 1, std::string::npos, name) == 0;
}

/* Can a text on the command line say it? Values of other types have no text. */
bool can_be_given(const c10::Type &type, int depth)
{
    switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::StringType:
        return true;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
        return depth < max_type_depth &&
               std::all_of(type.containedTypes().begin(), type.containedTypes().end(),
                           [&](const c10::TypePtr &t) { return can_be_given(*t, depth + 1); });
    default:
        return false;
    }
}

} // namespace

/* ---- shared ---- */

lowering::lowering(const c10::intrusive_ptr<c10::ivalue::Object> &root)
    : builder_(new_builder()), builder_owner_(builder_, adept_graph_builder_free), params_(builder_, *root)
{
    root_.object = instance_of(root);
    root_.path = intern("");
}

const instance *lowering::instance_of(const c10::intrusive_ptr<c10::ivalue::Object> &object)
{
    auto found = by_object_.find(object.get());
    if (found != by_object_.end()) return found->second;
    auto made = std::make_unique<instance>();
    made->id = static_cast<int32_t>(instances_.size());
    made->type = object->type();
    made->object = object;
    instances_.push_back(std::move(made));
    by_object_.emplace(object.get(), instances_.back().get());
    return instances_.back().get();
}

const std::string *lowering::intern(const std::string &text)
{
    return &*strings_.insert(text).first;
}

void lowering::enter_module(frame &f, const binding &self)
{
    f.self = self;
    f.module = adept_graph_builder_module(builder_, self.path->c_str(), class_name(*self.object->type).c_str());
    if (f.module < 0) throw std::bad_alloc();
}

std::string lowering::where(const frame &f) const
{
    return f.self.path->empty() ? "in the model" : "in module '" + *f.self.path + "'";
}

const binding &lowering::bound(const frame &f, const jit::Value *value) const
{
    auto found = f.values.find(value);
    if (found == f.values.end())
        fail_invalid(where(f) + ": value %" + value->debugName() + " is used before it is computed");
    return found->second;
}

int32_t lowering::as_value(const frame &f, const binding &b, const std::string &what) const
{
    if (b.object) {
        fail_unsupported(where(f) + ": " + what + " takes an instance of " + class_name(*b.object->type) +
                         ", which is not a value");
    }
    if (b.parts)
        fail_unsupported(where(f) + ": " + what + " takes a tuple with an instance in it, which is not a value");
    return b.value;
}

int32_t lowering::value_in(const frame &f, const jit::Node &node, const jit::Value *value) const
{
    return as_value(f, bound(f, value), node.kind().toQualString());
}

int32_t lowering::fresh()
{
    return program_.n_values++;
}

int32_t lowering::define(frame &f, const jit::Value *value)
{
    int32_t defined = (f.values[value] = binding{fresh()}).value;
    types_[defined] = value->type();
    return defined;
}

void lowering::append(ir_block &out, ir_node &&node)
{
    if (++n_nodes_ > max_nodes)
        fail_invalid("the program unfolds into more than " + std::to_string(max_nodes) + " operators");
    out.nodes.push_back(std::move(node));
}

binding lowering::emit_constant(const frame &f, const c10::IValue &value, const std::string &what, ir_block &out)
{
    adept_arena *arena = adept_graph_builder_graph(builder_)->arena;
    auto *constant = static_cast<adept_value *>(adept_arena_alloc(arena, sizeof(adept_value)));
    if (!constant) throw std::bad_alloc();
    *constant = value_of(value, arena, params_, where(f) + ": " + what);
    ir_node node;
    node.op = "prim::Constant";
    node.module = f.module;
    node.constant = constant;
    binding b{fresh()};
    types_[b.value] = value.type();
    node.outputs.push_back(b.value);
    append(out, std::move(node));
    return b;
}

/* ---- inputs ---- */

/* A tuple becomes one input per element, put together again by a node. All else is one input, with its type. */
binding lowering::declare_typed_input(const frame &f, const std::string &name, const c10::TypePtr &type)
{
    auto tuple = type->cast<c10::TupleType>();
    if (!tuple) {
        if (!can_be_given(*type, 0))
            fail_unsupported("input '" + name + "' of forward has type " + type->repr_str() +
                             "; tensors, numbers, texts, and tuples, lists and dicts of them are supported");
        ir_input input{name, fresh()};
        types_[input.value] = type;
        if (type->kind() != c10::TypeKind::TensorType) input.type = type->annotation_str();
        auto dict = type->cast<c10::DictType>();
        if (dict && dict->getValueType()->kind() == c10::TypeKind::TensorType) keys_[input.value] = {};
        program_.inputs.push_back(input);
        return binding{input.value};
    }
    binding b{fresh()};
    types_[b.value] = type;
    ir_node node;
    node.op = "prim::TupleConstruct";
    for (size_t i = 0; i < tuple->elements().size(); i++) {
        node.inputs.push_back(declare_typed_input(f, name + "." + std::to_string(i), tuple->elements()[i]).value);
    }
    node.outputs.push_back(b.value);
    append(program_.body, std::move(node));
    return b;
}

/* A default need not be given. */
binding lowering::declare_input(const frame &f, const c10::Argument &argument)
{
    if (!argument.default_value()) return declare_typed_input(f, argument.name(), argument.type());
    ir_input input{argument.name(), fresh()};
    input.constant = value_of(*argument.default_value(), adept_graph_builder_graph(builder_)->arena, params_,
                              "default of input '" + input.name + "'");
    if (can_be_given(*argument.type(), 0)) input.type = argument.type()->annotation_str();
    program_.inputs.push_back(input);
    return binding{input.value};
}

/* batch["ids"], of an input: shapes can be given in that order, as if it were a tuple. */
void lowering::note_key(const frame &f, const jit::Node &node)
{
    auto keys = node.inputs().size() == 2 ? keys_.find(bound(f, node.input(0)).value) : keys_.end();
    auto key = keys == keys_.end() ? c10::nullopt : jit::constant_as<std::string>(node.input(1));
    if (!key || key->size() > max_key_bytes || keys->second.size() >= max_keys) return;
    if (std::find(keys->second.begin(), keys->second.end(), *key) == keys->second.end()) keys->second.push_back(*key);
}

/* The parts of a dict stand before it. */
std::vector<ir_input> lowering::with_parts(const std::vector<ir_input> &inputs)
{
    std::vector<ir_input> all;
    for (const ir_input &input : inputs) {
        auto keys = keys_.find(input.value);
        for (size_t i = 0; keys != keys_.end() && i < keys->second.size(); i++)
            all.push_back(ir_input{input.name + "." + keys->second[i], fresh()});
        all.push_back(input);
    }
    return all;
}

adept_graph *lowering::run()
{
    jit::Function *forward = root_.object->type->findMethod("forward");
    if (!forward) forward = root_.object->type->findMethod("forward__0"); /* overloaded: torch.nn.LSTM by itself */
    if (!forward) fail_invalid("the module has no forward method");
    frame top;
    enter_module(top, root_);
    bindings arguments{root_};
    const auto &schema = forward->getSchema();
    for (size_t i = 1; i < schema.arguments().size(); i++)
        arguments.push_back(declare_input(top, schema.arguments()[i]));
    for (const binding &result : call(*forward, arguments, top, root_, program_.body))
        program_.body.returns.push_back(as_value(top, result, "the result"));
    program_.inputs = with_parts(program_.inputs);
    return emit(program_, builder_owner_.release());
}

/* ---- calls ---- */

lowering::bindings lowering::call(jit::Function &function, const bindings &arguments, const frame &caller,
                                  const binding &self, ir_block &out)
{
    jit::GraphFunction *graph_function = jit::tryToGraphFunction(function);
    if (!graph_function)
        fail_unsupported(where(caller) + ": " + function.qualname().qualifiedName() + " is not written in TorchScript");
    graph_function->ensure_defined();
    frame callee;
    callee.module = caller.module;
    callee.self = caller.self;
    if (self.object && self.object->type->is_module()) enter_module(callee, self);
    auto graph = graph_function->graph();
    return inline_graph(*graph, arguments, callee, out);
}

lowering::bindings lowering::inline_graph(const jit::Graph &graph, const bindings &arguments, frame &callee,
                                          ir_block &out)
{
    if (graph.inputs().size() != arguments.size())
        fail_invalid(where(callee) + ": call with a wrong number of arguments");
    for (size_t i = 0; i < arguments.size(); i++)
        callee.values[graph.inputs()[i]] = arguments[i];
    lower_nodes(callee, *graph.block(), out);
    bindings results;
    for (const jit::Value *value : graph.outputs())
        results.push_back(bound(callee, value));
    return results;
}

void lowering::set_outputs(frame &f, const jit::Node &node, const bindings &results)
{
    if (results.size() != node.outputs().size()) {
        fail_invalid(where(f) + ": " + node.kind().toQualString() + " with a wrong number of results");
    }
    for (size_t i = 0; i < results.size(); i++)
        f.values[node.outputs()[i]] = results[i];
}

void lowering::lower_call_method(frame &f, const jit::Node &node, ir_block &out)
{
    const std::string &name = node.s(jit::attr::name);
    bindings arguments;
    for (const jit::Value *input : node.inputs())
        arguments.push_back(bound(f, input));
    if (arguments.empty() || !arguments[0].object) fail_unsupported(where(f) + ": method " + name + " of a value");
    jit::Function *method = arguments[0].object->type->findMethod(name);
    if (!method)
        fail_invalid(where(f) + ": class " + class_name(*arguments[0].object->type) + " has no method " + name);
    set_outputs(f, node, call(*method, arguments, f, arguments[0], out));
}

void lowering::lower_call_function(frame &f, const jit::Node &node, ir_block &out)
{
    auto type = node.inputs().at(0)->type()->cast<c10::FunctionType>();
    if (!type) fail_invalid(where(f) + ": call of a value that is not a function");
    bindings arguments;
    for (size_t i = 1; i < node.inputs().size(); i++)
        arguments.push_back(bound(f, node.inputs()[i]));
    set_outputs(f, node, call(*type->function(), arguments, f, binding(), out));
}

/* A future is what it will hold: the forked program runs where it was started. */
void lowering::lower_fork(frame &f, const jit::Node &node, ir_block &out)
{
    bindings arguments;
    for (const jit::Value *input : node.inputs())
        arguments.push_back(bound(f, input));
    frame callee;
    callee.module = f.module;
    callee.self = f.self;
    set_outputs(f, node, inline_graph(*node.g(jit::attr::Subgraph), arguments, callee, out));
}

/* Tuples with instances in them are taken apart here. @return false if the node has nothing to do with such a tuple */
bool lowering::lower_tuple(frame &f, const jit::Node &node)
{
    bindings inputs;
    for (const jit::Value *input : node.inputs())
        inputs.push_back(bound(f, input));
    if (node.kind() == c10::prim::TupleConstruct) {
        bool plain = std::none_of(inputs.begin(), inputs.end(), [](const binding &b) { return b.object || b.parts; });
        if (plain) return false;
        tuples_.push_back(std::make_unique<bindings>(std::move(inputs)));
        binding made;
        made.parts = tuples_.back().get();
        f.values[node.output()] = made;
        return true;
    }
    if (inputs.empty() || !inputs[0].parts) return false;
    const bindings &parts = *inputs[0].parts;
    if (node.kind() == c10::prim::TupleUnpack) {
        set_outputs(f, node, parts);
        return true;
    }
    auto index = node.kind() == c10::prim::TupleIndex ? jit::constant_as<int64_t>(node.inputs().at(1)) : c10::nullopt;
    int64_t i = index.value_or(0) < 0 ? *index + static_cast<int64_t>(parts.size()) : index.value_or(-1);
    if (i < 0 || i >= static_cast<int64_t>(parts.size())) return false;
    f.values[node.output()] = parts[static_cast<size_t>(i)];
    return true;
}

void lowering::lower_create_object(frame &f, const jit::Node &node)
{
    auto made = std::make_unique<instance>();
    made->id = static_cast<int32_t>(instances_.size());
    made->type = node.output()->type()->cast<c10::ClassType>();
    if (!made->type) fail_invalid(where(f) + ": object without a class");
    binding b;
    b.object = made.get();
    b.path = f.self.path;
    instances_.push_back(std::move(made));
    f.values[node.output()] = b;
}

/* ---- attributes ---- */

/* A value of the file: a parameter, or else a constant. */
binding lowering::emit_stored(const frame &f, const c10::IValue &value, const std::string &what, ir_block &out)
{
    bool is_tensor = value.isTensor() && value.toTensor().defined();
    if (is_tensor && value.toTensor().layout() != at::kStrided) params_.adopt(value, what);
    int32_t param = is_tensor ? params_.find(value.toTensor()) : -1;
    if (param < 0) return emit_constant(f, value, what, out);
    ir_node node;
    node.op = "adept::param";
    node.module = f.module;
    node.param = param;
    binding b{fresh()};
    node.outputs.push_back(b.value);
    append(out, std::move(node));
    return b;
}

/* An object of packed weights becomes the arguments that it holds: weight, bias, and the sizes of a convolution. Of a
 * cell's two matrices, which have names of their own, the biases are arguments themselves. */
void lowering::add_packed(const frame &f, const instance &packed, const char *name, ir_node &to, ir_block &out)
{
    bool of_cell = name && std::string(name).rfind("w_", 0) == 0;
    for (const auto &part : params_.unpacked(packed.object)) {
        if (of_cell && std::string(part.first) != "weight") continue;
        params_.adopt(part.second, part.first);
        to.inputs.push_back(emit_stored(f, part.second, part.first, out).value);
        to.names.push_back(of_cell ? name : part.first);
    }
}

/* A list of packed cells is one of their tensors, as aten::lstm takes them. */
bool lowering::lower_append(frame &f, const jit::Node &node, ir_block &out)
{
    const instance *object = node.kind() == c10::aten::append ? bound(f, node.input(1)).object : nullptr;
    if (!object || !object->object || !is_packed(*object->type)) return false;
    ir_node parts;
    add_packed(f, *object, nullptr, parts, out);
    for (int32_t part : parts.inputs) {
        ir_node made;
        made.op = "aten::append";
        made.module = f.module;
        made.inputs = {value_in(f, node, node.input(0)), part};
        made.names = {"self", "el"};
        made.outputs.push_back(define(f, node.output()));
        append(out, std::move(made));
    }
    return true;
}

binding lowering::get_attribute(const frame &f, const binding &owner, const std::string &name, ir_block &out)
{
    if (!owner.object) fail_unsupported(where(f) + ": attribute " + name + " of a value");
    auto assigned = state_.find({owner.object->id, name});
    if (assigned != state_.end()) return assigned->second;
    auto slot = owner.object->type->findAttributeSlot(name);
    if (!slot || !owner.object->object || *slot >= owner.object->object->slots().size()) {
        fail_invalid(where(f) + ": class " + class_name(*owner.object->type) + " has no attribute " + name + " yet");
    }
    const c10::IValue &value = owner.object->object->slots()[*slot];
    binding b;
    if (value.isObject()) {
        b.object = instance_of(value.toObject());
        b.path =
            b.object->type->is_module() ? intern(owner.path->empty() ? name : *owner.path + "." + name) : owner.path;
        if (b.path->size() > max_path_bytes) fail_invalid(where(f) + ": module path too long");
        return b;
    }
    return emit_stored(f, value, "attribute '" + name + "'", out);
}

void lowering::set_attribute(const frame &f, const binding &owner, const std::string &name, const binding &value)
{
    if (!owner.object) fail_unsupported(where(f) + ": assignment to attribute " + name + " of a value");
    state_[{owner.object->id, name}] = value;
}

/* ---- nodes ---- */

void lowering::lower_constant(frame &f, const jit::Node &node, ir_block &out)
{
    if (node.output()->type()->kind() == c10::TypeKind::FunctionType) return; /* named by its type */
    auto value = jit::toIValue(node.output());
    if (!value) fail_invalid(where(f) + ": constant without a value");
    if (value->isObject()) { /* of a frozen module */
        f.values[node.output()].object = instance_of(value->toObject());
        f.values[node.output()].path = f.self.path;
        return;
    }
    params_.adopt(*value, node.output()->debugName());
    binding b = f.values[node.output()] = emit_stored(f, *value, "constant", out);
    if (value->isBool()) answers_[b.value] = value->toBool();
}

/* A layer of XNNPACK, which clamps its result, is the layer that it was made of, and the clamp. */
void lowering::lower_prepacked(frame &f, const jit::Node &node, const char *op, ir_block &out)
{
    ir_node made, clamp;
    const instance *object = node.inputs().size() == 2 ? bound(f, node.input(1)).object : nullptr;
    if (!object || !object->object || !is_packed(*object->type))
        fail_unsupported(where(f) + ": " + node.kind().toQualString() + " without its packed weights");
    made.op = op;
    clamp.op = "aten::clamp";
    made.module = clamp.module = f.module;
    made.inputs = {value_in(f, node, node.input(0))};
    made.names = {"input"};
    clamp.inputs = {fresh()};
    clamp.names = {"self"};
    bool clamps = false;
    for (const auto &part : params_.unpacked(object->object)) {
        bool bound_of_clamp = part.first[0] == 'm';
        clamps = clamps || (bound_of_clamp && !part.second.isNone());
        ir_node &to = bound_of_clamp ? clamp : made;
        params_.adopt(part.second, part.first);
        to.inputs.push_back(emit_stored(f, part.second, part.first, out).value);
        to.names.push_back(part.first);
    }
    made.outputs.push_back(clamps ? clamp.inputs[0] : define(f, node.output()));
    append(out, std::move(made));
    if (!clamps) return;
    clamp.outputs.push_back(define(f, node.output()));
    append(out, std::move(clamp));
}

/* `with`: what a class of the program does when it is entered and left. Autocast does nothing there, libtorch sees to
 * it when the program runs; and it begins no graph's time that a profiler names a part of it. */
void lowering::lower_with(frame &f, const jit::Node &node, ir_block &out)
{
    const binding manager = bound(f, node.inputs().at(0));
    bool enters = node.kind() == c10::prim::Enter;
    if (!manager.object) fail_unsupported(where(f) + ": `with` of a value");
    for (const jit::Value *output : node.outputs())
        f.values[output] = manager;
    if (is_context(*manager.object->type, "torch.autograd.profiler.", "record_function")) return;
    if (is_context(*manager.object->type, "torch.", "autocast")) {
        const attribute_key outer{manager.object->id, "(outside)"};
        ir_node made;
        made.module = f.module;
        if (enters) {
            made.op = "adept::autocast";
            for (const char *name : {"fast_dtype", "_enabled"}) {
                made.inputs.push_back(as_value(f, get_attribute(f, manager, name, out), "autocast"));
                made.names.push_back(nullptr);
            }
            made.outputs.push_back((state_[outer] = binding{fresh()}).value);
        } else {
            made.op = "adept::autocast_end";
            auto before = state_.find(outer);
            if (before == state_.end()) fail_invalid(where(f) + ": a region that was never entered");
            made.inputs.push_back(before->second.value);
            made.names.push_back(nullptr);
        }
        append(out, std::move(made));
        return;
    }
    jit::Function *method = manager.object->type->findMethod(enters ? "__enter__" : "__exit__");
    if (!method) fail_unsupported(where(f) + ": `with` of " + class_name(*manager.object->type) + " is not supported");
    bindings arguments{manager};
    while (arguments.size() < method->getSchema().arguments().size()) /* no exception */
        arguments.push_back(emit_constant(f, c10::IValue(), "constant", out));
    bindings results = call(*method, arguments, f, manager, out);
    if (enters && node.outputs().size() == 1 && results.size() == 1) f.values[node.output()] = results[0];
}

/* What a trace recorded inside of torch.utils.checkpoint says so in its debug records alone: said once. */
void lowering::note_checkpoint(const frame &f, const jit::Node &node, ir_block &out)
{
    if (checkpointed_ || n_looked_at_++ >= max_looks) return;
    auto original = node.sourceRange().findSourceRangeThatGenerated();
    if (!original || !original->source() || original->source()->size() > max_stack_bytes) return;
    if (original->source()->text_str().str().find("torch/utils/checkpoint.py") == std::string::npos) return;
    checkpointed_ = true;
    ir_node made;
    made.op = "adept::checkpoint";
    made.module = f.module;
    append(out, std::move(made));
}

void lowering::lower_plain(frame &f, const jit::Node &node, ir_block &out)
{
    static const struct {
        const char *name, *op;
    } prepacked[] = {{"prepacked::conv2d_clamp_run", "aten::conv2d"},
                     {"prepacked::conv2d_transpose_clamp_run", "aten::conv_transpose2d"},
                     {"prepacked::linear_clamp_run", "aten::linear"}};
    for (const auto &row : prepacked) {
        if (node.kind() != Symbol::fromQualString(row.name)) continue;
        lower_prepacked(f, node, row.op, out);
        return;
    }
    note_checkpoint(f, node, out);
    ir_node made;
    made.op = node.kind().toQualString();
    if (node.kind() == Symbol::aten("set_grad_enabled")) made.op = "adept::set_grad_enabled";
    if (node.kind() == Symbol::aten("is_grad_enabled")) made.op = "adept::is_grad_enabled";
    made.module = f.module;
    const c10::FunctionSchema *schema = node.maybeSchema();
    /* Overloads called "adept" are our own declarations of operators of other versions. */
    if (schema && schema->overload_name().rfind("adept", 0) != 0) made.overload = schema->overload_name().c_str();
    for (size_t i = 0; i < node.inputs().size(); i++) {
        const instance *object = bound(f, node.inputs()[i]).object;
        if (object && object->object && is_packed(*object->type)) {
            const char *name =
                schema && i < schema->arguments().size() ? schema->arguments()[i].name().c_str() : nullptr;
            add_packed(f, *object, name, made, out);
            continue;
        }
        made.inputs.push_back(value_in(f, node, node.inputs()[i]));
        bool named = schema && i < schema->arguments().size();
        made.names.push_back(named ? schema->arguments()[i].name().c_str() : nullptr);
    }
    if (node.kind() == Symbol::prim("TupleSlice")) { /* the only pass-through node that keeps arguments in attributes */
        made.inputs.push_back(emit_constant(f, node.i(jit::attr::beg), "constant", out).value);
        made.inputs.push_back(emit_constant(f, node.i(jit::attr::end), "constant", out).value);
        made.names.push_back("beg");
        made.names.push_back("end");
    } else if (node.kind() == c10::aten::warn) {
        /* its attribute numbers the place, so that Python warns once */
    } else if (node.hasAttributes() || !node.blocks().empty()) {
        fail_unsupported(where(f) + ": " + node.kind().toQualString() + " is not supported");
    }
    for (const jit::Value *output : node.outputs())
        made.outputs.push_back(define(f, output));
    append(out, std::move(made));
}

void lowering::lower_node(frame &f, const jit::Node &node, ir_block &out)
{
    auto kind = node.kind();
    if (kind == c10::prim::Constant) {
        lower_constant(f, node, out);
    } else if (kind == c10::prim::GetAttr) {
        f.values[node.output()] = get_attribute(f, bound(f, node.input()), node.s(jit::attr::name), out);
    } else if (kind == c10::prim::SetAttr) {
        set_attribute(f, bound(f, node.inputs().at(0)), node.s(jit::attr::name), bound(f, node.inputs().at(1)));
    } else if (kind == c10::prim::CallMethod) {
        lower_call_method(f, node, out);
    } else if (kind == c10::prim::CallFunction) {
        lower_call_function(f, node, out);
    } else if (kind == c10::prim::If) {
        lower_if(f, node, out);
    } else if (kind == c10::prim::Loop) {
        lower_loop(f, node, out);
    } else if (kind == c10::prim::CreateObject) {
        lower_create_object(f, node);
    } else if (kind == c10::prim::fork) {
        lower_fork(f, node, out);
    } else if ((kind == c10::prim::TupleConstruct || kind == c10::prim::TupleUnpack || kind == c10::prim::TupleIndex) &&
               lower_tuple(f, node)) {
        return;
    } else if (kind == Symbol::aten("wait")) {
        f.values[node.output()] = bound(f, node.input());
    } else if (kind == c10::prim::Enter || kind == c10::prim::Exit) {
        lower_with(f, node, out);
    } else if ((kind == c10::aten::__is__ || kind == c10::aten::__isnot__) && answer_is_none(f, node, out)) {
        return;
    } else if (kind == c10::prim::isinstance && answer_is_instance(f, node, out)) {
        return;
    } else if (kind == c10::prim::unchecked_cast && bound(f, node.input()).object) {
        f.values[node.output()] = bound(f, node.input());
    } else {
        if (kind == c10::aten::__getitem__) note_key(f, node);
        if (!lower_append(f, node, out)) lower_plain(f, node, out);
    }
}

void lowering::lower_nodes(frame &f, const jit::Block &block, ir_block &out)
{
    /* depth_ counts blocks and calls together: both recurse on this thread's stack. */
    if (++depth_ > max_depth) fail_invalid(where(f) + ": program nested too deeply");
    for (const jit::Node *node : block.nodes())
        lower_node(f, *node, out);
    depth_--;
}

} // namespace adept

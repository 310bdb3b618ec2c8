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

bool is_tensor(const c10::Type &type)
{
    if (type.kind() == c10::TypeKind::TensorType) return true;
    auto optional = type.cast<c10::OptionalType>();
    return optional && optional->getElementType()->kind() == c10::TypeKind::TensorType;
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
                         ", which is no value");
    }
    if (b.parts) fail_unsupported(where(f) + ": " + what + " takes a tuple with an instance in it, which is no value");
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

/* Tensors become inputs of the graph; a tuple becomes one input per element, put together again by a node. A list of
 * tensors (the images of a detector) becomes one input with a dimension more in front, the batch, taken apart by a node. */
binding lowering::declare_typed_input(const frame &f, const std::string &name, const c10::TypePtr &type)
{
    binding b{fresh()};
    types_[b.value] = type;
    if (is_tensor(*type)) {
        program_.inputs.push_back(ir_input{name, b.value});
        return b;
    }
    auto list = type->cast<c10::ListType>();
    if (list && is_tensor(*list->getElementType())) {
        program_.inputs.push_back(ir_input{name, fresh()});
        ir_node node;
        node.op = "aten::unbind";
        node.overload = "int";
        node.inputs = {program_.inputs.back().value, emit_constant(f, 0, "constant", program_.body).value};
        node.names = {"self", "dim"};
        node.outputs.push_back(b.value);
        append(program_.body, std::move(node));
        return b;
    }
    auto tuple = type->cast<c10::TupleType>();
    if (!tuple)
        fail_unsupported("input '" + name + "' of forward has type " + type->repr_str() +
                         "; tensors, tuples and lists of them are supported");
    ir_node node;
    node.op = "prim::TupleConstruct";
    for (size_t i = 0; i < tuple->elements().size(); i++) {
        node.inputs.push_back(declare_typed_input(f, name + "." + std::to_string(i), tuple->elements()[i]).value);
    }
    node.outputs.push_back(b.value);
    append(program_.body, std::move(node));
    return b;
}

binding lowering::declare_input(const frame &f, const c10::Argument &argument)
{
    if (!argument.default_value()) return declare_typed_input(f, argument.name(), argument.type());
    ir_input input{argument.name(), fresh()};
    input.constant = value_of(*argument.default_value(), adept_graph_builder_graph(builder_)->arena, params_,
                              "default of input '" + input.name + "'");
    program_.inputs.push_back(input);
    return binding{input.value};
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
    if (!type) fail_invalid(where(f) + ": call of a value that is no function");
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

void lowering::lower_plain(frame &f, const jit::Node &node, ir_block &out)
{
    ir_node made;
    made.op = node.kind().toQualString();
    made.module = f.module;
    const c10::FunctionSchema *schema = node.maybeSchema();
    /* Overloads called "adept" are our own declarations of operators of other versions. */
    if (schema && schema->overload_name().rfind("adept", 0) != 0) made.overload = schema->overload_name().c_str();
    for (size_t i = 0; i < node.inputs().size(); i++) {
        const instance *object = bound(f, node.inputs()[i]).object;
        if (object && object->object && is_packed(*object->type)) {
            const char *name = schema && i < schema->arguments().size() ? schema->arguments()[i].name().c_str() : nullptr;
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
    } else if (kind == c10::prim::Enter || kind == c10::prim::Exit) { /* of an instance, which is no value */
        ir_node made;
        made.op = kind.toQualString();
        made.module = f.module;
        append(out, std::move(made));
        if (node.outputs().size() == 1) f.values[node.output()] = bound(f, node.inputs().at(0));
    } else if ((kind == c10::aten::__is__ || kind == c10::aten::__isnot__) && answer_is_none(f, node, out)) {
        return;
    } else if (kind == c10::prim::isinstance && answer_is_instance(f, node, out)) {
        return;
    } else if (kind == c10::prim::unchecked_cast && bound(f, node.input()).object) {
        f.values[node.output()] = bound(f, node.input());
    } else {
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

/** @file lower.hpp  A loaded TorchScript module as a flat program: calls inlined, attributes resolved. */
#ifndef ADEPT_TORCH_LOWER_HPP
#define ADEPT_TORCH_LOWER_HPP
#include "ir.hpp"
#include "params.hpp"
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <torch/csrc/jit/ir/ir.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace adept
{

/* A module or class instance, known while lowering and never a value of the graph. */
struct instance {
    int32_t id = 0;
    c10::ClassTypePtr type;
    c10::intrusive_ptr<c10::ivalue::Object> object; /* null: made by the program itself */
};

/* What a TorchScript value stands for: a number of the program, or an instance together with how it was reached. */
struct binding {
    int32_t value = -1;
    const instance *object = nullptr;
    const std::string *path = nullptr; /* of the module, "layer1.0.conv1" */
    const std::vector<binding> *parts = nullptr; /* a tuple with an instance in it: no value either */
};

/* What the program assigned to attributes so far; attributes not in it have their saved value. */
using attribute_key = std::pair<int32_t, std::string>; /* instance id, attribute */
using attribute_state = std::map<attribute_key, binding>;

class lowering
{
  public:
    explicit lowering(const c10::intrusive_ptr<c10::ivalue::Object> &root);

    /** Everything reachable from forward(). @throws failure, c10::Error */
    adept_graph *run();

  private:
    /* One inlined function: its values, and the module its nodes belong to. */
    struct frame {
        std::unordered_map<const torch::jit::Value *, binding> values;
        int32_t module = 0;
        binding self; /* innermost module, for paths and messages */
    };
    using bindings = std::vector<binding>;

    /* lower.cpp: inputs, calls, attributes, plain nodes */
    binding declare_input(const frame &f, const c10::Argument &argument);
    binding declare_typed_input(const frame &f, const std::string &name, const c10::TypePtr &type);
    void note_key(const frame &f, const torch::jit::Node &node);
    std::vector<ir_input> with_parts(const std::vector<ir_input> &inputs);
    bindings call(torch::jit::Function &function, const bindings &arguments, const frame &caller, const binding &self,
                  ir_block &out);
    bindings inline_graph(const torch::jit::Graph &graph, const bindings &arguments, frame &callee, ir_block &out);
    void lower_nodes(frame &f, const torch::jit::Block &block, ir_block &out);
    void lower_node(frame &f, const torch::jit::Node &node, ir_block &out);
    void lower_constant(frame &f, const torch::jit::Node &node, ir_block &out);
    void lower_call_method(frame &f, const torch::jit::Node &node, ir_block &out);
    void lower_call_function(frame &f, const torch::jit::Node &node, ir_block &out);
    void lower_fork(frame &f, const torch::jit::Node &node, ir_block &out);
    bool lower_tuple(frame &f, const torch::jit::Node &node);
    bool answer(frame &f, const torch::jit::Node &node, bool answer, ir_block &out);
    bool answer_is_none(frame &f, const torch::jit::Node &node, ir_block &out);
    bool answer_is_instance(frame &f, const torch::jit::Node &node, ir_block &out);
    void lower_create_object(frame &f, const torch::jit::Node &node);
    void lower_plain(frame &f, const torch::jit::Node &node, ir_block &out);
    void set_outputs(frame &f, const torch::jit::Node &node, const bindings &results);
    binding emit_stored(const frame &f, const c10::IValue &value, const std::string &what, ir_block &out);
    void lower_with(frame &f, const torch::jit::Node &node, ir_block &out);
    void note_checkpoint(const frame &f, const torch::jit::Node &node, ir_block &out);
    void lower_prepacked(frame &f, const torch::jit::Node &node, const char *op, ir_block &out);
    void add_packed(const frame &f, const instance &packed, const char *name, ir_node &to, ir_block &out);
    bool lower_append(frame &f, const torch::jit::Node &node, ir_block &out);
    binding get_attribute(const frame &f, const binding &owner, const std::string &name, ir_block &out);
    void set_attribute(const frame &f, const binding &owner, const std::string &name, const binding &value);

    /* lower_flow.cpp: prim::If, prim::Loop */
    const char *source_line(const torch::jit::Node &node);
    void lower_if(frame &f, const torch::jit::Node &node, ir_block &out);
    bool lower_taken_branch(frame &f, const torch::jit::Node &node, ir_block &out);
    void merge_outputs(frame &f, const torch::jit::Node &node, ir_node &into);
    void merge_states(frame &f, const attribute_state &before, attribute_state then_state, attribute_state else_state,
                      ir_node &into);
    binding branch_attribute(const frame &f, const attribute_key &key, attribute_state &state, ir_block &out);
    void lower_loop(frame &f, const torch::jit::Node &node, ir_block &out);
    ir_node lower_loop_body(frame &f, const torch::jit::Node &node, const std::vector<attribute_key> &carried,
                            ir_block &out);
    std::vector<attribute_key> changed_since(const attribute_state &before) const;

    /* shared */
    const instance *instance_of(const c10::intrusive_ptr<c10::ivalue::Object> &object);
    const std::string *intern(const std::string &text);
    void enter_module(frame &f, const binding &self);
    const binding &bound(const frame &f, const torch::jit::Value *value) const;
    int32_t value_in(const frame &f, const torch::jit::Node &node, const torch::jit::Value *value) const;
    int32_t as_value(const frame &f, const binding &b, const std::string &what) const;
    int32_t fresh();
    int32_t define(frame &f, const torch::jit::Value *value);
    void append(ir_block &out, ir_node &&node);
    binding emit_constant(const frame &f, const c10::IValue &value, const std::string &what, ir_block &out);
    std::string where(const frame &f) const;

    adept_graph_builder *builder_;
    std::unique_ptr<adept_graph_builder, void (*)(adept_graph_builder *)> builder_owner_;
    param_registry params_;
    binding root_;
    ir_program program_;
    attribute_state state_;
    std::vector<std::unique_ptr<instance>> instances_;
    std::vector<std::unique_ptr<std::vector<binding>>> tuples_;
    std::unordered_map<const void *, const instance *> by_object_;
    std::set<std::string> strings_;
    std::map<int32_t, std::vector<std::string>>
        keys_; /* of a dict that is an input: those that the program names, by its value */
    std::unordered_map<int32_t, c10::TypePtr> types_; /* of values, as narrow as the file tells: None, List[Tensor] */
    std::unordered_map<int32_t, bool> answers_; /* truth values known by now: literals, and what a value's type says */
    size_t n_nodes_ = 0, n_looked_at_ = 0;      /* of which the source was looked at */
    bool checkpointed_ = false;
    int depth_ = 0;
};

} // namespace adept
#endif

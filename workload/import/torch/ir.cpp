#include "ir.hpp"
#include "failure.hpp"
#include <memory>

namespace adept
{
namespace
{

void check(adept_status status, const adept_error &err)
{
    if (status != ADEPT_OK) throw failure(status, err.message);
}

class emitter
{
  public:
    emitter(adept_graph_builder *builder, int32_t n_values)
        : builder_(builder), numbers_(static_cast<size_t>(n_values), -1)
    {
    }

    void input(const ir_input &in)
    {
        adept_graph_input input{};
        input.name = in.name.c_str();
        input.value = define(in.value);
        input.constant = in.constant;
        input.type = in.type.empty() ? nullptr : in.type.c_str();
        int32_t number = adept_graph_builder_input(builder_, &input);
        if (number == -2) throw failure(ADEPT_E_NOMEM, "out of memory for a graph");
        if (number < 0) {
            throw failure(ADEPT_E_INTERNAL, "input '" + in.name + "' does not fit into the graph");
        }
    }

    void nodes(const ir_block &block)
    {
        for (const ir_node &n : block.nodes)
            node(n);
    }

    std::vector<int32_t> uses(const std::vector<int32_t> &values) const
    {
        std::vector<int32_t> numbers;
        for (int32_t v : values)
            numbers.push_back(numbers_.at(static_cast<size_t>(v)));
        return numbers;
    }

  private:
    int32_t define(int32_t value)
    {
        int32_t number = adept_graph_builder_value(builder_);
        if (number < 0) throw std::bad_alloc();
        numbers_.at(static_cast<size_t>(value)) = number;
        return number;
    }

    std::vector<int32_t> defines(const std::vector<int32_t> &values)
    {
        std::vector<int32_t> numbers;
        for (int32_t v : values)
            numbers.push_back(define(v));
        return numbers;
    }

    void node(const ir_node &n)
    {
        adept_error err{};
        auto inputs = uses(n.inputs);
        auto outputs = defines(n.outputs);
        adept_node_desc desc{};
        desc.op = n.op;
        desc.overload = n.overload;
        desc.module = n.module;
        desc.n_inputs = static_cast<int32_t>(inputs.size());
        desc.inputs = inputs.data();
        desc.input_names = n.names.empty() ? nullptr : n.names.data();
        desc.n_outputs = static_cast<int32_t>(outputs.size());
        desc.outputs = outputs.data();
        desc.constant = n.constant;
        desc.param = n.param;
        check(adept_graph_builder_node(builder_, &desc, &err), err);
        for (const ir_block &b : n.blocks)
            block(b);
    }

    void block(const ir_block &b)
    {
        adept_error err{};
        auto params = defines(b.params);
        check(adept_graph_builder_block_begin(builder_, static_cast<int32_t>(params.size()), params.data(), &err), err);
        nodes(b);
        auto returns = uses(b.returns);
        check(adept_graph_builder_block_end(builder_, static_cast<int32_t>(returns.size()), returns.data(), &err), err);
    }

    adept_graph_builder *builder_;
    std::vector<int32_t> numbers_; /* of our values in the graph */
};

} // namespace

adept_graph *emit(const ir_program &program, adept_graph_builder *builder)
{
    std::unique_ptr<adept_graph_builder, void (*)(adept_graph_builder *)> owner(builder, adept_graph_builder_free);
    emitter out(builder, program.n_values);
    for (const ir_input &in : program.inputs)
        out.input(in);
    out.nodes(program.body);
    auto returns = out.uses(program.body.returns);
    adept_graph *graph = nullptr;
    adept_error err{};
    adept_status status =
        adept_graph_builder_finish(owner.release(), static_cast<int32_t>(returns.size()), returns.data(), &graph, &err);
    check(status, err);
    return graph;
}

} // namespace adept

/** @file ir.hpp  The inlined program while it is being built. The graph builder wants a node's outputs before its
 * blocks, but which attributes a block assigns is known only after it was walked: so it is collected here first. */
#ifndef ADEPT_TORCH_IR_HPP
#define ADEPT_TORCH_IR_HPP
#include "adept_torch.h"
#include <string>
#include <vector>

namespace adept
{

struct ir_node;

struct ir_block {
    std::vector<int32_t> params, returns;
    std::vector<ir_node> nodes;
};

/* The strings are borrowed: operator names and schemas outlive the program. */
struct ir_node {
    const char *op = "";
    const char *overload = "";
    int32_t module = 0;
    std::vector<int32_t> inputs;
    std::vector<const char *> names;
    std::vector<int32_t> outputs;
    std::vector<ir_block> blocks;
    const adept_value *constant = nullptr;
    int32_t param = -1;
};

struct ir_input {
    std::string name;
    int32_t value = -1;
    adept_value constant{};
    std::string type{}; /* "": a tensor */
};

struct ir_program {
    std::vector<ir_input> inputs;
    ir_block body;
    int32_t n_values = 0;
};

/** Hand the program to the builder, which is consumed. @throws failure */
adept_graph *emit(const ir_program &program, adept_graph_builder *builder);

} // namespace adept
#endif

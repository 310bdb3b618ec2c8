/** @file values.hpp  libtorch's values as adept_value. Reads at most 64 elements of a tensor, and only elements that
 * its storage really holds. */
#ifndef ADEPT_TORCH_VALUES_HPP
#define ADEPT_TORCH_VALUES_HPP
#include "adept_torch.h"
#include <ATen/core/ivalue.h>
#include <string>

namespace adept
{

class param_registry;

/** Shape and type of a tensor, checked: known element type, at most ADEPT_MAX_DIMS sizes, no overflow.
 *  `where` names it in messages. */
adept_tensor tensor_meta(const at::Tensor &tensor, const std::string &where);

/** A constant; lists and tensors live in the arena. Tensors that are parameters say which one. */
adept_value value_of(const c10::IValue &value, adept_arena *arena, const param_registry &params,
                     const std::string &where);

} // namespace adept
#endif

/** @file params.hpp  Every parameter and buffer of the module tree, once each, by the identity of its tensor. */
#ifndef ADEPT_TORCH_PARAMS_HPP
#define ADEPT_TORCH_PARAMS_HPP
#include "adept_torch.h"
#include <ATen/core/ivalue.h>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace adept
{

/* What an object of packed weights holds, by the argument names of the operator that would take it unpacked. */
using packed_parts = std::vector<std::pair<const char *, c10::IValue>>;

/** Does the object pack weights: of 8 bits, as quantised layers keep them, or for XNNPACK, as optimize_for_mobile does?
 */
bool is_packed(const c10::ClassType &type);

class param_registry
{
  public:
    /** Registers all of `root` with the builder, in the order of Module.named_parameters(), buffers included. */
    param_registry(adept_graph_builder *builder, const c10::ivalue::Object &root);

    /** Index of the parameter or buffer that this very tensor is, -1 if it is none. */
    int32_t find(const at::Tensor &tensor) const;

    /** A tensor among the constants and plain attributes. A sparse one is a buffer. Where the module tree has no
     * parameters, freezing made constants of them: tensors of floats are taken for weights. */
    void adopt(const c10::IValue &value, const std::string &name);

    /** Weight, bias and sizes of an object for which is_packed(). Its tensors stay the same ones. */
    const packed_parts &unpacked(const c10::intrusive_ptr<c10::ivalue::Object> &object);

  private:
    void visit(const c10::ivalue::Object &module, const std::string &path, int depth);
    void add(const at::Tensor &tensor, const std::string &name, bool is_buffer);

    adept_graph_builder *builder_;
    std::unordered_map<const void *, int32_t> by_tensor_;
    std::unordered_map<const void *, packed_parts> unpacked_;
    size_t visited_ = 0;
    bool frozen_;
};

} // namespace adept
#endif

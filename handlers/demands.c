/* What PyTorch asks of types and dimensions, for operators whose handlers look at sizes only. */
#include "demands.h"

const adept_demand adept_demands[] = {
    /* indices, and what is written is of the type of its target */
    {"aten::index_select aten::embedding_bag", "index:i indices:i weight:f"},
    {"aten::embedding", "indices:i"},
    {"aten::gather aten::take_along_dim", "index:i indices:l"},
    {"aten::take", "index:l"},
    {"aten::scatter aten::scatter_add aten::scatter_reduce", "index:i src:=self"},
    {"aten::index_add aten::index_copy aten::index_reduce", "index:i0-1 source:=self"},
    {"aten::index_fill", "index:l0-1"},
    {"aten::one_hot", "self:l"},
    {"aten::nll_loss aten::nll_loss_nd aten::nll_loss2d aten::nll_loss_forward", "self:f"},
    {"aten::multi_margin_loss", "target:l weight:=self"},
    {"aten::masked_fill aten::masked_select aten::masked_scatter", "mask:b"},
    {"aten::where", "condition:b"},
    /* all of one type */
    {"aten::meshgrid aten::linalg_multi_dot", "tensors:="},
    {"aten::chain_matmul", "matrices:="},
    {"aten::bilinear", "input2:=input1 weight:=input1"},
    {"aten::conv1d aten::conv2d aten::conv3d aten::conv_transpose1d aten::conv_transpose2d aten::conv_transpose3d",
     "weight:=input"},
    {"aten::lerp", "end:=self"},
    {"aten::isclose", "other:=self"},
    {"aten::group_norm", "input:f2- weight:=input bias:=input"},
    {"aten::dot aten::vdot", "tensor:=self other:=self"},
    {"aten::binary_cross_entropy", "target:=self weight:=self"},
    /* no arithmetic of booleans */
    {"aten::sub aten::rsub", "self:n other:n"},
    {"aten::neg aten::negative aten::relu aten::relu6", "self:n"},
    {"aten::median aten::kthvalue aten::round", "self:n"},
    /* nor bits of numbers with a fraction */
    {"aten::bitwise_and aten::bitwise_or aten::bitwise_xor aten::bitwise_not aten::__and__ aten::__or__ aten::__xor__",
     "self:w other:w"},
    /* numbers with a fraction */
    {"aten::elu aten::selu aten::celu aten::leaky_relu aten::rrelu aten::gelu aten::silu aten::mish aten::softplus "
     "aten::hardswish aten::hardsigmoid aten::log_sigmoid aten::hardshrink aten::softshrink aten::glu",
     "self:f"},
    {"aten::prelu", "weight:=self"},
    {"aten::layer_norm aten::native_layer_norm aten::batch_norm aten::instance_norm", "input:f"},
    {"aten::kl_div", "self:f target:f"},
    {"aten::std aten::var aten::std_mean aten::var_mean", "self:f"},
    /* dimensions */
    {"aten::combinations", "self:1"},
    {"aten::renorm", "self:f2-"},
    {"aten::hsplit", "self:1-"},
    {0},
};

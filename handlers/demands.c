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
    {"aten::nll_loss aten::nll_loss_forward", "self:f"},
    {"aten::multi_margin_loss", "target:l weight:=self"},
    {"aten::masked_fill aten::masked_select aten::masked_scatter", "mask:b"},
    {"aten::where", "condition:b"},
    /* all of one type */
    {"aten::meshgrid aten::linalg_multi_dot", "tensors:="},
    {"aten::chain_matmul", "matrices:="},
    {"aten::bilinear", "input2:=input1 weight:=input1 bias:=input1"},
    {"aten::linear aten::linalg_matmul", "input:f weight:=input other:=input"},
    {"aten::matmul aten::mm aten::bmm aten::mv aten::dot aten::vdot aten::tensordot aten::addmm aten::addmv "
     "aten::baddbmm "
     "aten::addbmm",
     "self:f other:=self mat2:=self vec:=self tensor:=self mat1:=self mat:=self batch1:=self batch2:=self"},
    {"aten::conv1d aten::conv_transpose1d aten::convolution aten::cudnn_convolution aten::cudnn_convolution_transpose "
     "aten::mkldnn_convolution aten::slow_conv_transpose2d aten::conv_depthwise3d",
     "weight:f weight:=input weight:=self bias:=weight"},
    {"aten::lstm aten::gru aten::rnn_tanh aten::rnn_relu aten::lstm_cell aten::gru_cell aten::rnn_tanh_cell "
     "aten::rnn_relu_cell",
     "hx:=input params:=input hx:=data params:=data w_ih:=input w_hh:=input b_ih:=input b_hh:=input"},
    {"aten::scaled_dot_product_attention aten::_scaled_dot_product_attention aten::_scaled_dot_product_attention_math "
     "aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_cudnn_attention "
     "aten::_scaled_dot_product_efficient_attention aten::_scaled_dot_product_flash_attention_for_cpu",
     "key:=query value:=query attn_mask:~query"},
    {"aten::_native_multi_head_attention aten::_transformer_encoder_layer_fwd",
     "key:=query value:=query qkv_weight:=query qkv_weight:=src qkv_bias:=qkv_weight proj_weight:=qkv_weight "
     "proj_bias:=qkv_weight ffn_weight_1:=src ffn_bias_1:=src ffn_weight_2:=src ffn_bias_2:=src"},
    {"aten::lerp", "end:=self"},
    {"aten::isclose", "other:=self"},
    {"aten::group_norm", "input:f2- weight:=input bias:=input"},
    {"aten::binary_cross_entropy", "target:=self weight:=self"},
    /* no arithmetic of booleans */
    {"aten::sub aten::rsub aten::l1_loss", "self:n other:n target:n"},
    {"aten::hinge_embedding_loss aten::neg aten::relu aten::relu6 aten::median aten::kthvalue aten::round aten::cov "
     "aten::trunc "
     "aten::ceil aten::floor",
     "self:n input:n"},
    /* nor bits of numbers with a fraction */
    {"aten::bitwise_and aten::bitwise_or aten::bitwise_xor aten::bitwise_not aten::__and__ aten::__or__ aten::__xor__",
     "self:w other:w"},
    /* numbers with a fraction */
    {"aten::elu aten::selu aten::leaky_relu aten::gelu aten::silu aten::mish aten::softplus "
     "aten::hardswish aten::hardsigmoid aten::log_sigmoid aten::hardshrink aten::glu aten::frexp "
     "aten::frac",
     "self:f"},
    {"aten::prelu", "weight:=self"},
    {"aten::layer_norm aten::native_layer_norm aten::batch_norm aten::instance_norm", "input:f"},
    {"aten::kl_div aten::binary_cross_entropy_with_logits", "self:f target:f"},
    {"aten::cdist", "x1:f x2:f"},
    {"aten::std aten::var aten::std_mean aten::var_mean", "self:f"},
    /* dimensions */
    {"aten::combinations aten::vander", "self:1 x:1"},
    {"aten::renorm", "self:f2-"},
    {"aten::hsplit", "self:1-"},
    {0},
};

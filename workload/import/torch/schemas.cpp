#include "schemas.hpp"
#include <regex>
#include <stdexcept>
#include <torch/csrc/jit/runtime/operator.h>

namespace adept
{
namespace
{

/* The difference between the operator lists of PyTorch 1.13.1 and 2.6.0 (torch._C._jit_get_all_schemas(), both from
 * Debian), as far as a forward pass can contain it, and the matrix products and _fused_rms_norm that 2.7 and 2.8 added
 * (aten/src/ATen/native/native_functions.yaml). SymInt is written int: 1.13 has no such type in programs.
 * An operator whose arguments changed gets an overload of its own, "adept". */
const char *const schemas[] = {
    /* attention */
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., "
    "bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, "
    "Tensor cum_seq_q, Tensor cum_seq_k, int max_q, int max_k, Tensor rng_state, Tensor unused, "
    "Tensor debug_attn_mask)",
    "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
    "bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, "
    "Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)",
    "aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
    "bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
    "float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, int max_q, "
    "int max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
    "aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_bias=None, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
    "float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, int max_q, "
    "int max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
    "aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, "
    "int max_q, int max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, "
    "int? window_size_left=None, int? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None) -> "
    "(Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
    "aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, "
    "Tensor? cu_seqlens_k, int? max_seqlen_q, int? max_seqlen_k, float dropout_p, int custom_mask_type, "
    "bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> "
    "(Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, int max_seqlen_batch_q, "
    "int max_seqlen_batch_k)",
    "aten::_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int",
    "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    /* normalisation, activation */
    "aten::rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    /* matrix products with their own output type, quantised and grouped ones */
    "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor",
    "aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
    "Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> "
    "Tensor",
    "aten::_scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, "
    "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    "aten::mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    "aten::bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    "aten::addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    "aten::baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    "aten::_mixed_dtypes_linear(Tensor input, Tensor weight, Tensor scale, *, Tensor? bias=None, "
    "str? activation=None) -> Tensor",
    "aten::_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
    "aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
    "aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
    /* shapes, indices, reductions */
    "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    "aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
    "aten::slice_inverse(Tensor(a) self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> "
    "Tensor(a)",
    "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "aten::_is_all_true(Tensor self) -> Tensor",
    "aten::_is_any_true(Tensor self) -> Tensor",
    "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
    "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
    "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor",
    "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    "aten::nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
    "aten::empty_permuted(int[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::_lazy_clone(Tensor self) -> Tensor",
    /* no result, or none that a tensor depends on */
    "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
    "aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
    "aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
    "aten::_assert_tensor_metadata.adept(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None, *, "
    "Device? device=None, Layout? layout=None) -> ()",
    "aten::_print(str s) -> ()",
    "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
    "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
    "aten::get_autocast_dtype(str device_type) -> ScalarType",
    "prim::is_mtia(Tensor a) -> bool",
    "prim::is_maia(Tensor a) -> bool",
    "prim::is_xla(Tensor a) -> bool",
    "prim::itemsize(Tensor a) -> int",
    "prim::nbytes(Tensor a) -> int",
    /* arguments that became optional or were added */
    "aten::std.adept(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    "aten::var.adept(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    "aten::std_mean.adept(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "(Tensor, Tensor)",
    "aten::var_mean.adept(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "(Tensor, Tensor)",
    "aten::pad_sequence.adept(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
    "str padding_side=\"right\") -> Tensor",
    "aten::stft.adept(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
};

bool is_declared(const std::string &name, const std::string &overload)
{
    for (const auto &op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
        if (op->schema().overload_name() == overload) return true;
    }
    return false;
}

[[noreturn]] void never_run(torch::jit::Stack &)
{
    throw std::runtime_error("this operator was declared only to read the file; it cannot be run");
}

void declare_schema(const std::string &schema)
{
    std::string full_name = schema.substr(0, schema.find('('));
    size_t dot = full_name.find('.');
    std::string overload = dot == std::string::npos ? "" : full_name.substr(dot + 1);
    if (is_declared(full_name.substr(0, dot), overload)) return;
    torch::jit::registerOperator(torch::jit::Operator(schema, never_run, c10::AliasAnalysisKind::FROM_SCHEMA));
}

} // namespace

void declare_newer_operators()
{
    for (const char *schema : schemas)
        declare_schema(schema);
}

/* ---- operators nobody told us about ---- */

/* Any positional arguments, exactly these keywords, one tensor out: enough to load the file and to name the operator.
 * (A schema with "..." may have no defaults, so every set of keywords in use is an overload.) */
bool unknown_operators::declare(const std::string &name, const keywords &words)
{
    constexpr size_t most = 200; /* rounds of loading; a real file uses a handful of foreign operators */
    if (declared_.size() >= most || !declared_.emplace(name, words).second) return false;
    std::string schema = name + ".adept" + std::to_string(declared_.size()) + "(";
    if (!words.empty()) schema += "*, ";
    for (const std::string &word : words)
        schema += "Any " + word + ", ";
    schema += "...) -> Tensor";
    torch::jit::registerOperator(torch::jit::Operator(schema, never_run, c10::AliasAnalysisKind::CONSERVATIVE));
    return true;
}

bool unknown_operators::declare_from(const std::string &message)
{
    static const std::regex unknown("Unknown builtin op: ([A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*)");
    /* One of our own overloads and why it does not match: "ns::op.adept1(*, Any a, ...) -> Tensor:\n Keyword ..." */
    static const std::regex keyword("([A-Za-z0-9_]+::[A-Za-z0-9_]+)\\.adept[0-9]+\\(([^\n]*)\\.\\.\\.\\)[^\n]*\n"
                                    "\\s*Keyword argument ([A-Za-z0-9_]+) unknown");
    static const std::regex word("Any ([A-Za-z0-9_]+)");
    std::smatch match;
    if (std::regex_search(message, match, unknown)) return declare(match[1], {});
    bool progress = false;
    for (std::sregex_iterator at(message.begin(), message.end(), keyword), end; at != end; ++at) {
        std::string arguments = (*at)[2];
        keywords words{(*at)[3]};
        for (std::sregex_iterator w(arguments.begin(), arguments.end(), word); w != end; ++w)
            words.insert((*w)[1]);
        progress = declare((*at)[1], words) || progress;
    }
    return progress;
}

} // namespace adept

/** @file config_family.c  The table of families. Sizes of `usual` are those of the model cards that
 * data/configs/README.md names. */
#include "config_build.h"
#include <string.h>

/* clang-format off */
static const adept_family_names llama_names = {
    .root = "model", .embedding = "embed_tokens", .layers = "layers", .attention = "self_attn",
    .norm1 = "input_layernorm", .norm2 = "post_attention_layernorm", .mlp = "mlp", .final = "norm", .head = "lm_head",
    .qkv = "qkv_proj", .out = "o_proj", .up = "up_proj", .down = "down_proj", .act = "act_fn"};
static const adept_family_names phi_names = {
    .root = "model", .embedding = "embed_tokens", .layers = "layers", .attention = "self_attn",
    .norm1 = "input_layernorm", .mlp = "mlp", .final = "final_layernorm", .head = "lm_head", .out = "dense",
    .up = "fc1", .down = "fc2", .act = "activation_fn"};
static const adept_family_names gpt2_names = {
    .root = "transformer", .embedding = "wte", .layers = "h", .attention = "attn", .norm1 = "ln_1", .norm2 = "ln_2",
    .mlp = "mlp", .final = "ln_f", .head = "lm_head", .qkv = "c_attn", .out = "c_proj", .up = "c_fc",
    .down = "c_proj", .act = "act", .positions = "wpe"};
static const adept_family_names neox_names = {
    .root = "gpt_neox", .embedding = "embed_in", .layers = "layers", .attention = "attention",
    .norm1 = "input_layernorm", .norm2 = "post_attention_layernorm", .mlp = "mlp", .final = "final_layer_norm",
    .head = "embed_out", .qkv = "query_key_value", .out = "dense", .up = "dense_h_to_4h", .down = "dense_4h_to_h",
    .act = "act"};
static const adept_family_names mpt_names = {
    .root = "transformer", .embedding = "wte", .layers = "blocks", .attention = "attn", .norm1 = "norm_1",
    .norm2 = "norm_2", .mlp = "ffn", .final = "norm_f", .head = "lm_head", .qkv = "Wqkv", .out = "out_proj",
    .up = "up_proj", .down = "down_proj", .act = "act"};
static const adept_family_names opt_names = {
    .root = "model.decoder", .embedding = "embed_tokens", .layers = "layers", .attention = "self_attn",
    .norm1 = "self_attn_layer_norm", .norm2 = "final_layer_norm", .final = "final_layer_norm", .head = "lm_head",
    .out = "out_proj", .up = "fc1", .down = "fc2", .act = "activation_fn", .positions = "embed_positions"};
/* clang-format on */
static const adept_family_names no_names = {.root = NULL};

#define GATED ADEPT_HAS_GATE
#define BIASED (ADEPT_HAS_QKV_BIAS | ADEPT_HAS_OUT_BIAS | ADEPT_HAS_MLP_BIAS)
#define GEMMA (ADEPT_HAS_GATE | ADEPT_HAS_TIED | ADEPT_HAS_SCALED_EMBEDDING | ADEPT_HAS_FIXED_HEAD)

static const adept_family families[] = {
    {"bert", "bert", "Bert", ADEPT_CONFIG_BERT, ADEPT_LAYER, ADEPT_LEARNED, ADEPT_NOT_ROUTED, ADEPT_HAS_TIED, "gelu", 0,
     &no_names, "bert-base"},
    {"deepseek_v2", "deepseek_v2", "DeepseekV2", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED_GROUPS,
     GATED | ADEPT_HAS_LATENT, "silu", 1, &llama_names, "deepseek-v2"},
    {"deepseek_v3", "deepseek_v3", "DeepseekV3", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED_GROUPS,
     GATED | ADEPT_HAS_LATENT, "silu", 1, &llama_names, "deepseek-v3"},
    {"gemma", "gemma", "Gemma", ADEPT_CONFIG_DECODER, ADEPT_RMS_PLUS_ONE, ADEPT_ROTARY, ADEPT_NOT_ROUTED, GEMMA,
     "gelu_pytorch_tanh", 1, &llama_names, "gemma-7b"},
    {"gemma2", "gemma2", "Gemma2", ADEPT_CONFIG_DECODER, ADEPT_RMS_PLUS_ONE, ADEPT_ROTARY, ADEPT_NOT_ROUTED,
     GEMMA | ADEPT_HAS_NORMS_BEHIND | ADEPT_HAS_WINDOW, "gelu_pytorch_tanh", 1, &llama_names, "gemma-2-9b"},
    {"gemma3_text", "gemma3", "Gemma3", ADEPT_CONFIG_DECODER, ADEPT_RMS_PLUS_ONE, ADEPT_ROTARY, ADEPT_NOT_ROUTED,
     GEMMA | ADEPT_HAS_NORMS_BEHIND | ADEPT_HAS_QK_NORM | ADEPT_HAS_WINDOW, "gelu_pytorch_tanh", 1, &llama_names,
     "gemma-3-1b"},
    {"gpt2", "gpt2", "GPT2", ADEPT_CONFIG_DECODER, ADEPT_LAYER, ADEPT_LEARNED, ADEPT_NOT_ROUTED,
     BIASED | ADEPT_HAS_ONE_QKV | ADEPT_HAS_CONV1D | ADEPT_HAS_TIED, "gelu_new", 0, &gpt2_names, "gpt-2"},
    {"gpt_neox", "gpt_neox", "GPTNeoX", ADEPT_CONFIG_DECODER, ADEPT_LAYER, ADEPT_ROTARY_PART, ADEPT_NOT_ROUTED,
     BIASED | ADEPT_HAS_ONE_QKV | ADEPT_HAS_PARALLEL, "gelu", 0.25, &neox_names, "gpt-neox-20b"},
    {"llama", "llama", "Llama", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_NOT_ROUTED, GATED, "silu", 1,
     &llama_names, "llama-3-8b"},
    {"mistral", "mistral", "Mistral", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_NOT_ROUTED,
     GATED | ADEPT_HAS_WINDOW, "silu", 1, &llama_names, "mistral-7b"},
    {"mixtral", "mixtral", "Mixtral", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED,
     GATED | ADEPT_HAS_WINDOW, "silu", 1, &llama_names, "mixtral-8x7b"},
    {"mpt", "mpt", "Mpt", ADEPT_CONFIG_DECODER, ADEPT_LAYER_NO_BIAS, ADEPT_ALIBI, ADEPT_NOT_ROUTED,
     ADEPT_HAS_ONE_QKV | ADEPT_HAS_TIED, "gelu", 0, &mpt_names, "mpt-7b"},
    {"nemotron", "nemotron", "Nemotron", ADEPT_CONFIG_DECODER, ADEPT_LAYER_PLUS_ONE, ADEPT_ROTARY_PART,
     ADEPT_NOT_ROUTED, 0, "relu2", 0.5, &llama_names, "nemotron-4-15b"},
    {"opt", "opt", "OPT", ADEPT_CONFIG_DECODER, ADEPT_LAYER, ADEPT_LEARNED_COUNTED, ADEPT_NOT_ROUTED,
     BIASED | ADEPT_HAS_TIED, "relu", 0, &opt_names, "opt-1.3b"},
    {"phi", "phi", "Phi", ADEPT_CONFIG_DECODER, ADEPT_LAYER, ADEPT_ROTARY_PART, ADEPT_NOT_ROUTED,
     BIASED | ADEPT_HAS_HEAD_BIAS | ADEPT_HAS_ONE_NORM, "gelu_new", 0.5, &phi_names, "phi-2"},
    {"phi3", "phi3", "Phi3", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY_PART, ADEPT_NOT_ROUTED,
     GATED | ADEPT_HAS_ONE_QKV | ADEPT_HAS_ONE_GATE_UP | ADEPT_HAS_WINDOW, "silu", 1, &llama_names, "phi-3-mini"},
    {"qwen2", "qwen2", "Qwen2", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_NOT_ROUTED,
     GATED | ADEPT_HAS_QKV_BIAS | ADEPT_HAS_WINDOW, "silu", 1, &llama_names, "qwen2-7b"},
    {"qwen2_moe", "qwen2_moe", "Qwen2Moe", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED,
     GATED | ADEPT_HAS_QKV_BIAS | ADEPT_HAS_SHARED_EXPERT | ADEPT_HAS_WINDOW, "silu", 1, &llama_names,
     "qwen1.5-moe-a2.7b"},
    {"qwen3", "qwen3", "Qwen3", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_NOT_ROUTED,
     GATED | ADEPT_HAS_QK_NORM | ADEPT_HAS_WINDOW | ADEPT_HAS_FIXED_HEAD, "silu", 1, &llama_names, "qwen3-8b"},
    {"qwen3_moe", "qwen3_moe", "Qwen3Moe", ADEPT_CONFIG_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED,
     GATED | ADEPT_HAS_QK_NORM | ADEPT_HAS_WINDOW, "silu", 1, &llama_names, "qwen3-30b-a3b"},
    {"t5", "t5", "T5", ADEPT_CONFIG_T5, ADEPT_RMS, ADEPT_LEARNED, ADEPT_NOT_ROUTED, ADEPT_HAS_TIED, "relu", 0,
     &no_names, "t5-base"},
    {"vit", "vit", "ViT", ADEPT_CONFIG_VIT, ADEPT_LAYER, ADEPT_LEARNED, ADEPT_NOT_ROUTED, ADEPT_HAS_QKV_BIAS, "gelu", 0,
     &no_names, "vit-b-16"},
};

const char *adept_family_name(size_t index)
{
    return index < sizeof families / sizeof *families ? families[index].name : NULL;
}

const adept_family *adept_family_find(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, name) == 0) return &families[i];
    return NULL;
}

/** @file config_family.c  The table of families. Sizes of `usual` are those of the model cards that data/configs/README.md names. */
#include "config_family.h"
#include <string.h>

static const adept_family_names llama_names = {"model", "embed_tokens", "layers", "self_attn", "input_layernorm", "post_attention_layernorm",
                                               "mlp", "norm", "lm_head", "qkv_proj", "o_proj", "up_proj", "down_proj", "act_fn", ""};
static const adept_family_names phi_names = {"model", "embed_tokens", "layers", "self_attn", "input_layernorm", "",
                                             "mlp", "final_layernorm", "lm_head", "", "dense", "fc1", "fc2", "activation_fn", ""};
static const adept_family_names gpt2_names = {"transformer", "wte", "h", "attn", "ln_1", "ln_2",
                                              "mlp", "ln_f", "lm_head", "c_attn", "c_proj", "c_fc", "c_proj", "act", "wpe"};
static const adept_family_names neox_names = {"gpt_neox", "embed_in", "layers", "attention", "input_layernorm", "post_attention_layernorm",
                                              "mlp", "final_layer_norm", "embed_out", "query_key_value", "dense", "dense_h_to_4h",
                                              "dense_4h_to_h", "act", ""};
static const adept_family_names mpt_names = {"transformer", "wte", "blocks", "attn", "norm_1", "norm_2",
                                             "ffn", "norm_f", "lm_head", "Wqkv", "out_proj", "up_proj", "down_proj", "act", ""};
static const adept_family_names opt_names = {"model.decoder", "embed_tokens", "layers", "self_attn", "self_attn_layer_norm", "final_layer_norm",
                                             "", "final_layer_norm", "lm_head", "", "out_proj", "fc1", "fc2", "activation_fn",
                                             "embed_positions"};
static const adept_family_names no_names = {"", "", "", "", "", "", "", "", "", "", "", "", "", "", ""};

#define GATED ADEPT_HAS_GATE
#define BIASED (ADEPT_HAS_QKV_BIAS | ADEPT_HAS_OUT_BIAS | ADEPT_HAS_MLP_BIAS)
#define GEMMA (ADEPT_HAS_GATE | ADEPT_HAS_TIED | ADEPT_HAS_SCALED_EMBEDDING | ADEPT_HAS_FIXED_HEAD)

static const adept_family families[] = {
    {"bert", "bert", "Bert", ADEPT_BERT, ADEPT_LAYER, ADEPT_LEARNED, ADEPT_DENSE, ADEPT_HAS_TIED, "gelu", 0, &no_names,
     "{\"num_hidden_layers\":12,\"hidden_size\":768,\"num_attention_heads\":12,\"intermediate_size\":3072,\"vocab_size\":30522,"
     "\"max_position_embeddings\":512,\"type_vocab_size\":2,\"architectures\":[\"BertForMaskedLM\"]}"},
    {"deepseek_v2", "deepseek_v2", "DeepseekV2", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED_GROUPS, GATED | ADEPT_HAS_LATENT, "silu",
     1, &llama_names,
     "{\"num_hidden_layers\":60,\"hidden_size\":5120,\"num_attention_heads\":128,\"intermediate_size\":12288,\"vocab_size\":102400,"
     "\"max_position_embeddings\":163840,\"q_lora_rank\":1536,\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,"
     "\"v_head_dim\":128,\"n_routed_experts\":160,\"num_experts_per_tok\":6,\"n_shared_experts\":2,\"moe_intermediate_size\":1536,"
     "\"first_k_dense_replace\":1,\"moe_layer_freq\":1,\"n_group\":8,\"topk_group\":3,\"topk_method\":\"group_limited_greedy\"}"},
    {"deepseek_v3", "deepseek_v3", "DeepseekV3", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED_GROUPS, GATED | ADEPT_HAS_LATENT, "silu",
     1, &llama_names,
     "{\"num_hidden_layers\":61,\"hidden_size\":7168,\"num_attention_heads\":128,\"intermediate_size\":18432,\"vocab_size\":129280,"
     "\"max_position_embeddings\":163840,\"q_lora_rank\":1536,\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,"
     "\"v_head_dim\":128,\"n_routed_experts\":256,\"num_experts_per_tok\":8,\"n_shared_experts\":1,\"moe_intermediate_size\":2048,"
     "\"first_k_dense_replace\":3,\"moe_layer_freq\":1,\"n_group\":8,\"topk_group\":4,\"norm_topk_prob\":true}"},
    {"gemma", "gemma", "Gemma", ADEPT_DECODER, ADEPT_RMS_PLUS_ONE, ADEPT_ROTARY, ADEPT_DENSE, GEMMA, "gelu_pytorch_tanh", 1, &llama_names,
     "{\"num_hidden_layers\":28,\"hidden_size\":3072,\"num_attention_heads\":16,\"num_key_value_heads\":16,\"head_dim\":256,"
     "\"intermediate_size\":24576,\"vocab_size\":256000,\"max_position_embeddings\":8192}"},
    {"gemma2", "gemma2", "Gemma2", ADEPT_DECODER, ADEPT_RMS_PLUS_ONE, ADEPT_ROTARY, ADEPT_DENSE,
     GEMMA | ADEPT_HAS_NORMS_BEHIND | ADEPT_HAS_WINDOW, "gelu_pytorch_tanh", 1, &llama_names,
     "{\"num_hidden_layers\":42,\"hidden_size\":3584,\"num_attention_heads\":16,\"num_key_value_heads\":8,\"head_dim\":256,"
     "\"intermediate_size\":14336,\"vocab_size\":256000,\"max_position_embeddings\":8192,\"sliding_window\":4096,"
     "\"final_logit_softcapping\":30}"},
    {"gemma3_text", "gemma3", "Gemma3", ADEPT_DECODER, ADEPT_RMS_PLUS_ONE, ADEPT_ROTARY, ADEPT_DENSE,
     GEMMA | ADEPT_HAS_NORMS_BEHIND | ADEPT_HAS_QK_NORM | ADEPT_HAS_WINDOW, "gelu_pytorch_tanh", 1, &llama_names,
     "{\"num_hidden_layers\":26,\"hidden_size\":1152,\"num_attention_heads\":4,\"num_key_value_heads\":1,\"head_dim\":256,"
     "\"intermediate_size\":6912,\"vocab_size\":262144,\"max_position_embeddings\":32768,\"sliding_window\":512}"},
    {"gpt2", "gpt2", "GPT2", ADEPT_DECODER, ADEPT_LAYER, ADEPT_LEARNED, ADEPT_DENSE,
     BIASED | ADEPT_HAS_ONE_QKV | ADEPT_HAS_CONV1D | ADEPT_HAS_TIED, "gelu_new", 0, &gpt2_names,
     "{\"n_layer\":12,\"n_embd\":768,\"n_head\":12,\"vocab_size\":50257,\"n_positions\":1024}"},
    {"gpt_neox", "gpt_neox", "GPTNeoX", ADEPT_DECODER, ADEPT_LAYER, ADEPT_ROTARY_PART, ADEPT_DENSE,
     BIASED | ADEPT_HAS_ONE_QKV | ADEPT_HAS_PARALLEL, "gelu", 0.25, &neox_names,
     "{\"num_hidden_layers\":44,\"hidden_size\":6144,\"num_attention_heads\":64,\"intermediate_size\":24576,\"vocab_size\":50432,"
     "\"max_position_embeddings\":2048}"},
    {"llama", "llama", "Llama", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_DENSE, GATED, "silu", 1, &llama_names,
     "{\"num_hidden_layers\":32,\"hidden_size\":4096,\"num_attention_heads\":32,\"num_key_value_heads\":8,\"intermediate_size\":14336,"
     "\"vocab_size\":128256,\"max_position_embeddings\":8192}"},
    {"mistral", "mistral", "Mistral", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_DENSE, GATED | ADEPT_HAS_WINDOW, "silu", 1, &llama_names,
     "{\"num_hidden_layers\":32,\"hidden_size\":4096,\"num_attention_heads\":32,\"num_key_value_heads\":8,\"intermediate_size\":14336,"
     "\"vocab_size\":32000,\"max_position_embeddings\":32768}"},
    {"mixtral", "mixtral", "Mixtral", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED, GATED | ADEPT_HAS_WINDOW, "silu", 1, &llama_names,
     "{\"num_hidden_layers\":32,\"hidden_size\":4096,\"num_attention_heads\":32,\"num_key_value_heads\":8,\"intermediate_size\":14336,"
     "\"vocab_size\":32000,\"max_position_embeddings\":32768,\"num_local_experts\":8,\"num_experts_per_tok\":2}"},
    {"mpt", "mpt", "Mpt", ADEPT_DECODER, ADEPT_LAYER_NO_BIAS, ADEPT_ALIBI, ADEPT_DENSE, ADEPT_HAS_ONE_QKV | ADEPT_HAS_TIED, "gelu", 0,
     &mpt_names, "{\"n_layers\":32,\"d_model\":4096,\"n_heads\":32,\"vocab_size\":50432,\"max_seq_len\":2048}"},
    {"nemotron", "nemotron", "Nemotron", ADEPT_DECODER, ADEPT_LAYER_PLUS_ONE, ADEPT_ROTARY_PART, ADEPT_DENSE, 0, "relu2", 0.5, &llama_names,
     "{\"num_hidden_layers\":32,\"hidden_size\":6144,\"num_attention_heads\":48,\"num_key_value_heads\":8,\"intermediate_size\":24576,"
     "\"vocab_size\":256000,\"max_position_embeddings\":4096}"},
    {"opt", "opt", "OPT", ADEPT_DECODER, ADEPT_LAYER, ADEPT_LEARNED_COUNTED, ADEPT_DENSE, BIASED | ADEPT_HAS_TIED, "relu", 0, &opt_names,
     "{\"num_hidden_layers\":24,\"hidden_size\":2048,\"num_attention_heads\":32,\"ffn_dim\":8192,\"vocab_size\":50272,"
     "\"max_position_embeddings\":2048,\"dropout\":0.1}"},
    {"phi", "phi", "Phi", ADEPT_DECODER, ADEPT_LAYER, ADEPT_ROTARY_PART, ADEPT_DENSE, BIASED | ADEPT_HAS_HEAD_BIAS | ADEPT_HAS_ONE_NORM,
     "gelu_new", 0.5, &phi_names,
     "{\"num_hidden_layers\":32,\"hidden_size\":2560,\"num_attention_heads\":32,\"num_key_value_heads\":32,\"intermediate_size\":10240,"
     "\"vocab_size\":51200,\"max_position_embeddings\":2048,\"partial_rotary_factor\":0.4}"},
    {"phi3", "phi3", "Phi3", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY_PART, ADEPT_DENSE,
     GATED | ADEPT_HAS_ONE_QKV | ADEPT_HAS_ONE_GATE_UP | ADEPT_HAS_WINDOW, "silu", 1, &llama_names,
     "{\"num_hidden_layers\":32,\"hidden_size\":3072,\"num_attention_heads\":32,\"num_key_value_heads\":32,\"intermediate_size\":8192,"
     "\"vocab_size\":32064,\"max_position_embeddings\":4096}"},
    {"qwen2", "qwen2", "Qwen2", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_DENSE, GATED | ADEPT_HAS_QKV_BIAS | ADEPT_HAS_WINDOW, "silu", 1,
     &llama_names,
     "{\"num_hidden_layers\":28,\"hidden_size\":3584,\"num_attention_heads\":28,\"num_key_value_heads\":4,\"intermediate_size\":18944,"
     "\"vocab_size\":152064,\"max_position_embeddings\":131072}"},
    {"qwen2_moe", "qwen2_moe", "Qwen2Moe", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED,
     GATED | ADEPT_HAS_QKV_BIAS | ADEPT_HAS_SHARED_EXPERT | ADEPT_HAS_WINDOW, "silu", 1, &llama_names,
     "{\"num_hidden_layers\":24,\"hidden_size\":2048,\"num_attention_heads\":16,\"num_key_value_heads\":16,\"intermediate_size\":5632,"
     "\"vocab_size\":151936,\"max_position_embeddings\":8192,\"num_experts\":60,\"num_experts_per_tok\":4,\"moe_intermediate_size\":1408,"
     "\"shared_expert_intermediate_size\":5632}"},
    {"qwen3", "qwen3", "Qwen3", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_DENSE,
     GATED | ADEPT_HAS_QK_NORM | ADEPT_HAS_WINDOW | ADEPT_HAS_FIXED_HEAD, "silu", 1,
     &llama_names,
     "{\"num_hidden_layers\":36,\"hidden_size\":4096,\"num_attention_heads\":32,\"num_key_value_heads\":8,\"head_dim\":128,"
     "\"intermediate_size\":12288,\"vocab_size\":151936,\"max_position_embeddings\":40960}"},
    {"qwen3_moe", "qwen3_moe", "Qwen3Moe", ADEPT_DECODER, ADEPT_RMS, ADEPT_ROTARY, ADEPT_ROUTED,
     GATED | ADEPT_HAS_QK_NORM | ADEPT_HAS_WINDOW, "silu", 1, &llama_names,
     "{\"num_hidden_layers\":48,\"hidden_size\":2048,\"num_attention_heads\":32,\"num_key_value_heads\":4,\"head_dim\":128,"
     "\"intermediate_size\":6144,\"vocab_size\":151936,\"max_position_embeddings\":40960,\"num_experts\":128,\"num_experts_per_tok\":8,"
     "\"moe_intermediate_size\":768,\"norm_topk_prob\":true}"},
    {"t5", "t5", "T5", ADEPT_T5, ADEPT_RMS, ADEPT_LEARNED, ADEPT_DENSE, ADEPT_HAS_TIED, "relu", 0, &no_names,
     "{\"num_layers\":12,\"d_model\":768,\"num_heads\":12,\"d_kv\":64,\"d_ff\":3072,\"vocab_size\":32128,\"dropout_rate\":0.1,"
     "\"relative_attention_num_buckets\":32}"},
    {"vit", "vit", "ViT", ADEPT_VIT, ADEPT_LAYER, ADEPT_LEARNED, ADEPT_DENSE, ADEPT_HAS_QKV_BIAS, "gelu", 0, &no_names,
     "{\"num_hidden_layers\":12,\"hidden_size\":768,\"num_attention_heads\":12,\"intermediate_size\":3072,\"image_size\":224,"
     "\"patch_size\":16,\"num_channels\":3,\"num_labels\":1000,\"architectures\":[\"ViTForImageClassification\"]}"},
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

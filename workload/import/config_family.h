/** @file config_family.h  Families of models that adept builds itself: what they differ in, and the sizes of one model.
 * Private. Calls: config_keys. */
#ifndef ADEPT_CONFIG_FAMILY_H
#define ADEPT_CONFIG_FAMILY_H
#include "config_keys.h"

typedef enum adept_config_form {
    ADEPT_CONFIG_DECODER,
    ADEPT_CONFIG_BERT,
    ADEPT_CONFIG_VIT,
    ADEPT_CONFIG_T5
} adept_config_form;

typedef enum adept_norm {
    ADEPT_RMS,            /* x / rms(x) * weight */
    ADEPT_RMS_PLUS_ONE,   /* ... * (1 + weight): Gemma */
    ADEPT_LAYER,          /* with weight and bias */
    ADEPT_LAYER_NO_BIAS,  /* MPT */
    ADEPT_LAYER_PLUS_ONE, /* (1 + weight): Nemotron */
    ADEPT_NO_NORM
} adept_norm;

typedef enum adept_positions {
    ADEPT_ROTARY,
    ADEPT_ROTARY_PART,     /* of each head's width; the rest is put behind it again */
    ADEPT_LEARNED,         /* a table */
    ADEPT_LEARNED_COUNTED, /* a table, two rows longer, at positions counted over the mask: OPT */
    ADEPT_ALIBI            /* a bias of the scores, in an attention written out */
} adept_positions;

typedef enum adept_routing { ADEPT_NOT_ROUTED, ADEPT_ROUTED, ADEPT_ROUTED_GROUPS } adept_routing;

/* What a family has, or has unless its configuration says otherwise. */
enum {
    ADEPT_HAS_QKV_BIAS = 1 << 0,
    ADEPT_HAS_OUT_BIAS = 1 << 1,
    ADEPT_HAS_MLP_BIAS = 1 << 2,
    ADEPT_HAS_HEAD_BIAS = 1 << 3,
    ADEPT_HAS_GATE = 1 << 4,    /* down(act(gate(x)) * up(x)) */
    ADEPT_HAS_ONE_QKV = 1 << 5, /* one product makes q, k and v */
    ADEPT_HAS_ONE_GATE_UP = 1 << 6,
    ADEPT_HAS_QK_NORM = 1 << 7,      /* of each head's width */
    ADEPT_HAS_NORMS_BEHIND = 1 << 8, /* of attention and MLP, besides those before them: Gemma 2 and 3 */
    ADEPT_HAS_ONE_NORM = 1 << 9,     /* attention and MLP read the same: Phi */
    ADEPT_HAS_PARALLEL = 1 << 10,    /* attention and MLP side by side, if the configuration says so: GPT-NeoX */
    ADEPT_HAS_TIED = 1 << 11,
    ADEPT_HAS_SCALED_EMBEDDING = 1 << 12,
    ADEPT_HAS_CONV1D = 1 << 13,        /* weights (in, out): GPT-2 */
    ADEPT_HAS_LATENT = 1 << 14,        /* keys and values from a low rank: DeepSeek */
    ADEPT_HAS_SHARED_EXPERT = 1 << 15, /* beside the routed ones, with a gate of its own: Qwen2-MoE */
    ADEPT_HAS_WINDOW = 1 << 16,
    ADEPT_HAS_FIXED_HEAD =
        1 << 17 /* 128, or Gemma's 256, whatever hidden / heads is, unless the file says another width */
};

/* Names of modules in transformers; NULL is no module of its own. */
typedef struct adept_family_names {
    const char *root, *embedding, *layers, *attention, *norm1, *norm2, *mlp, *final, *head;
    const char *qkv, *out, *up, *down, *act, *positions;
} adept_family_names;

typedef struct adept_family {
    const char *name;            /* model_type */
    const char *folder, *prefix; /* of its classes */
    adept_config_form form;
    adept_norm norm;
    adept_positions positions;
    adept_routing routing;
    unsigned has;
    const char *activation;
    double rotary_share;
    const adept_family_names *names;
    const char *usual; /* its bundled model, from which adept:FAMILY takes what nobody says */
} adept_family;

/** NULL: it is none. */
const adept_family *adept_family_find(const char *name);
/** The names of all, NULL past the last one. */
const char *adept_family_name(size_t index);

/** One model. 0 is none where a size may be absent. */
typedef struct adept_architecture {
    const adept_family *family;
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions;
    int64_t rotary_dim; /* of head_dim */
    int64_t window, window_every; /* of all layers but each `window_every`-th; 0: of all */
    int64_t window_from;          /* of layers from here on */
    const cJSON *layer_types;     /* texts that say it of each layer, the JSON's; NULL: none */
    unsigned has; /* the family's, as the configuration has it */
    bool parallel, post_norm, final_norm;
    const char *activation;
    double dropout, attention_dropout, embedding_dropout;
    double logit_cap;
    bool headless, without_loss;
    int64_t embedding_width; /* OPT: other than hidden */
    /* mixtures of experts */
    int64_t experts, chosen, expert_ffn, shared_ffn, first_dense, every, groups, chosen_groups;
    bool renormalised, sigmoid, corrected;
    /* latent attention */
    int64_t q_rank, kv_rank, plain_dim, rope_dim, value_dim;
    /* T5: decoder_layers; layers are the encoder's */
    int64_t decoder_layers, buckets;
    /* BERT, ViT */
    const char *head; /* "ForMaskedLM", ...; "" the model alone */
    int64_t types, labels, image, patch, channels;
} adept_architecture;

/** Read one of a family; texts are the JSON's. Failures are the keys'. */
void adept_architecture_read(adept_architecture *a, const adept_family *family, adept_keys *k);
/** How many tokens the attention of layer i looks back; 0: all. */
int64_t adept_architecture_window(const adept_architecture *a, int64_t layer);
/** Is layer i one of experts? */
bool adept_architecture_has_experts(const adept_architecture *a, int64_t layer);
#endif

/** @file config_build.h  An architecture into operators: a file for each form of model. Private. Calls: graph, json. */
#ifndef ADEPT_CONFIG_BUILD_H
#define ADEPT_CONFIG_BUILD_H
#include "adept_append.h"
#include "adept_graph.h"
#include "adept_json.h"

/* Keys of a config.json, and words of adept:FAMILY?key=value that go before them. A key has the names that
 * families give it, the plain word of adept last: "num_hidden_layers n_layer n_layers layers". The first failure stays.
 * Whatever was asked for is known; what nobody asked for and what is not harmless, the graph warns of. */

#define ADEPT_KEYS_ASKED 128

typedef struct adept_keys {
    adept_json_reader json;
    const cJSON *file;
    const cJSON *words; /* NULL: none */
    bool usual;         /* the file is a family's usual model, which nobody gave */
    const char *asked[ADEPT_KEYS_ASKED];
    size_t n_asked;
} adept_keys;

#define ADEPT_KEY_REQUIRED INT64_MIN /* in a file, where a default would be a guess */

/** A whole number. `fallback` is taken where the key is missing or null; ADEPT_KEY_REQUIRED fails then. */
int64_t adept_keys_count(adept_keys *k, const char *names, int64_t low, int64_t high, int64_t fallback);
double adept_keys_number(adept_keys *k, const char *names, double low, double high, double fallback);
bool adept_keys_flag(adept_keys *k, const char *names, bool fallback);
const char *adept_keys_text(adept_keys *k, const char *names, const char *fallback);
/** What stands there, of any kind; NULL: nothing, or null. */
const cJSON *adept_keys_any(adept_keys *k, const char *names);
/** Is it among the words? And what the file has, whatever the words say; 0: nothing. */
bool adept_keys_in_words(adept_keys *k, const char *names);
double adept_keys_in_file(adept_keys *k, const char *names);
void adept_keys_fail(adept_keys *k, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Refuse words that nobody asked for. */
void adept_keys_check_words(adept_keys *k);
/** Keys of the file that nobody asked for and that may change the computation: `"a", "b"`; "" if there is none. */
void adept_keys_unknown(const adept_keys *k, char *text, size_t size);

/** "layers=80&hidden=8192" as an object; the caller frees it, whatever the result. @return ADEPT_E_USAGE */
adept_status adept_keys_parse_words(cJSON **out, const char *spec, const char *words, adept_error *err);

/* Writing operators into a graph one by one, as a model's code would call them. The first failure stays; after
 * it every function gives a value that is none, and one check at the end suffices. */

#define ADEPT_EMIT_PATH_BYTES 256
#define ADEPT_EMIT_CONSTANTS 256
#define ADEPT_EMIT_BLOCKS 4 /* inside one another */
#define ADEPT_OMITTED (-1)  /* an argument that is left out */

typedef struct adept_emitter {
    adept_graph_builder *b;
    adept_error *err;
    adept_status status;
    const char *folder, *prefix; /* of its classes: transformers.models.FOLDER.modeling_FOLDER.PREFIX... */
    char path[ADEPT_EMIT_PATH_BYTES];
    size_t length; /* of the path */
    int32_t module;
    int32_t if_results[ADEPT_EMIT_BLOCKS];
    int depth; /* blocks that are open: constants in them are not known outside */
    size_t n_constants;
    struct {
        adept_value value;
        int32_t number;
    } constants[ADEPT_EMIT_CONSTANTS];
    double parameters;   /* elements, for whoever must refuse absurd ones */
    int32_t last_weight; /* the parameter made last */
} adept_emitter;

/** Where operators are put. */
typedef struct adept_emit_place {
    size_t length;
    int32_t module;
} adept_emit_place;

/** The weight of an embedding, for a head that shares it. */
typedef struct adept_emit_table {
    int32_t value, param;
} adept_emit_table;

/** A module inside of the one at hand, "q_proj" or "layers.3". The class "Attention" is the family's own,
 *  one with a dot is written out. Leave it again by what this returns. */
adept_emit_place adept_emit_enter(adept_emitter *e, const char *class_name, const char *format, ...) ADEPT_PRINTF(3, 4);
void adept_emit_leave(adept_emitter *e, adept_emit_place before);

int32_t adept_emit_int(adept_emitter *e, int64_t v);
int32_t adept_emit_float(adept_emitter *e, double v);
int32_t adept_emit_bool(adept_emitter *e, bool v);

/** A tensor that the model is given. */
int32_t adept_emit_input(adept_emitter *e, const char *name);
/** A trained parameter of the module at hand, one that no gradient reaches, and a buffer. */
int32_t adept_emit_weight(adept_emitter *e, const char *name, int ndim, const int64_t *dims);
int32_t adept_emit_frozen(adept_emitter *e, const char *name, int ndim, const int64_t *dims);
int32_t adept_emit_buffer(adept_emitter *e, const char *name, int ndim, const int64_t *dims);

/** `operator` is a row of data/operator_arguments.csv, "add.Tensor", whose arguments are given in its order; or with
 * "::" any other. */
int32_t adept_emit(adept_emitter *e, const char *operator, int n, const int32_t *arguments);
void adept_emit_several(adept_emitter *e, const char *operator, int n, const int32_t *arguments, int n_results,
                        int32_t *results);
/** The list of these values; the values of a list that an operator gave. */
int32_t adept_emit_list(adept_emitter *e, int n, const int32_t *values);
void adept_emit_unpack(adept_emitter *e, int32_t list, int n, int32_t *values);
/** A condition, what it gives if it holds, and what if it does not, where operators behind adept_emit_else() run. */
void adept_emit_if(adept_emitter *e, int32_t condition);
void adept_emit_else(adept_emitter *e, int32_t then);
int32_t adept_emit_end(adept_emitter *e, int32_t otherwise);
/** The same where no operators run if it does not hold. */
int32_t adept_emit_end_if(adept_emitter *e, int32_t then, int32_t otherwise);
/** A text that the profile warns of. */
void adept_emit_note(adept_emitter *e, const char *format, ...) ADEPT_PRINTF(2, 3);

#define ADEPT_EMIT_COUNT(...) ((int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))
#define OP(e, operator, ...) adept_emit(e, operator, ADEPT_EMIT_COUNT(__VA_ARGS__), (int32_t[]){__VA_ARGS__})
#define SEVERAL(e, n, results, operator, ...)                                                                          \
    adept_emit_several(e, operator, ADEPT_EMIT_COUNT(__VA_ARGS__), (int32_t[]){__VA_ARGS__}, n, results)
#define LIST_OF(e, ...) adept_emit_list(e, ADEPT_EMIT_COUNT(__VA_ARGS__), (int32_t[]){__VA_ARGS__})
#define INT(v) adept_emit_int(e, v)
#define FLOAT(v) adept_emit_float(e, v)
#define BOOL(v) adept_emit_bool(e, v)

/* What most models are made of. `x` ends in the width `in`. */
int32_t adept_emit_linear(adept_emitter *e, const char *name, int32_t x, int64_t in, int64_t out, bool bias);
int32_t adept_emit_embedding(adept_emitter *e, const char *name, int32_t indices, int64_t rows, int64_t width,
                             adept_emit_table *table);
/** Without a weight of its own. */
int32_t adept_emit_tied_linear(adept_emitter *e, const char *name, int32_t x, adept_emit_table table, int32_t bias);
int32_t adept_emit_layer_norm(adept_emitter *e, const char *name, int32_t x, int64_t width, bool bias);
/** x / rms(x) * weight, or * (1 + weight), operator by operator as transformers has it. */
int32_t adept_emit_rms_norm(adept_emitter *e, const char *name, int32_t x, int64_t width, bool plus_one);
int32_t adept_emit_dropout(adept_emitter *e, const char *name, int32_t x, double p);
/** @param name  as configurations have it: "silu", "gelu_new", ... @return false: it is not known */
bool adept_emit_activation_known(const char *name);
int32_t adept_emit_activation(adept_emitter *e, const char *module, const char *name, int32_t x);
/** down(act(gate(x)) * up(x)). @param names  of gate, up, down and activation */
int32_t adept_emit_gated(adept_emitter *e, const char *activation, const char *const names[4], int32_t x, int64_t in,
                         int64_t width);
/** (B, S, heads * width) -> (B, heads, S, width) and back; `sizes` are the values of B and S. */
int32_t adept_emit_split_heads(adept_emitter *e, int32_t x, const int32_t sizes[2], int64_t heads, int64_t width);
int32_t adept_emit_merge_heads(adept_emitter *e, int32_t x, const int32_t sizes[2]);
int32_t adept_emit_attention(adept_emitter *e, int32_t q, int32_t k, int32_t v, double dropout, int32_t causal,
                             bool grouped);
/** Softmax of the scores in FP32, dropout, and the product with the values: an attention written out. */
int32_t adept_emit_weigh(adept_emitter *e, int32_t scores, int32_t v, double dropout);
/** x in FP32, and x in the type of another tensor. */
int32_t adept_emit_to_float(adept_emitter *e, int32_t x);
int32_t adept_emit_to_type_of(adept_emitter *e, int32_t x, int32_t other);
/** In training, the mean cross entropy of (..., classes) and labels of as many rows; else the logits themselves. */
int32_t adept_emit_loss(adept_emitter *e, int32_t logits, int32_t labels, int64_t classes, bool shifted);

/* Families of models that adept builds itself: what they differ in, and the sizes of one model. Private. */

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
    int64_t rotary_dim;           /* of head_dim */
    int64_t window, window_every; /* of all layers but each `window_every`-th; 0: of all */
    int64_t window_from;          /* of layers from here on */
    const cJSON *layer_types;     /* texts that say it of each layer, the JSON's; NULL: none */
    unsigned has;                 /* the family's, as the configuration has it */
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

/** What a model makes of its inputs, which are added first. @param specs  their shapes, "i64:BxS" */
int32_t adept_build_decoder(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);
int32_t adept_build_bert(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);
int32_t adept_build_vit(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);
int32_t adept_build_t5(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);

/** The experts of a layer on x (B, S, hidden), with a router before them, as the module `mlp` that is entered. */
int32_t adept_build_experts(adept_emitter *e, const adept_architecture *a, int32_t x);

#endif

/** @file config_emit.h  Writing operators into a graph one by one, as a model's code would call them. Private. Calls:
 * adept_graph. The first failure stays; after it every function gives a value that is none, and one check at the end
 * suffices. */
#ifndef ADEPT_CONFIG_EMIT_H
#define ADEPT_CONFIG_EMIT_H
#include "adept_graph.h"

#define ADEPT_EMIT_PATH_BYTES 256
#define ADEPT_EMIT_CONSTANTS 256
#define ADEPT_EMIT_BLOCKS 4 /* inside one another */
#define ADEPT_OMITTED (-1) /* an argument that is left out */

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
int32_t adept_emit_attention(adept_emitter *e, int32_t q, int32_t k, int32_t v, double dropout,
                             int32_t causal, bool grouped);
/** Softmax of the scores in FP32, dropout, and the product with the values: an attention written out. */
int32_t adept_emit_weigh(adept_emitter *e, int32_t scores, int32_t v, double dropout);
/** x in FP32, and x in the type of another tensor. */
int32_t adept_emit_to_float(adept_emitter *e, int32_t x);
int32_t adept_emit_to_type_of(adept_emitter *e, int32_t x, int32_t other);
/** In training, the mean cross entropy of (..., classes) and labels of as many rows; else the logits themselves. */
int32_t adept_emit_loss(adept_emitter *e, int32_t logits, int32_t labels, int64_t classes, bool shifted);
#endif

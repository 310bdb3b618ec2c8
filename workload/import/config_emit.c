/** @file config_emit.c  Operators into a graph, by the names and arguments that PyTorch has for them. */
#include "config_build.h"
#include "export_schema.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_ARGUMENTS 16
#define C10_F32 6

static int32_t failed(adept_emitter *e, adept_status status)
{
    if (e->status == ADEPT_OK) e->status = status;
    return 0;
}

static int32_t no_memory(adept_emitter *e)
{
    return failed(e, e->status == ADEPT_OK ? adept_no_memory(e->err, "a graph") : e->status);
}

/* ---- modules ---- */

adept_emit_place adept_emit_enter(adept_emitter *e, const char *class_name, const char *format, ...)
{
    adept_emit_place before = {e->length, e->module};
    char own[200];
    va_list args;
    if (e->status != ADEPT_OK) return before;
    if (e->length > 0) e->path[e->length++] = '.';
    va_start(args, format);
    int n = vsnprintf(e->path + e->length, sizeof e->path - e->length - 1, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof e->path - e->length - 1) {
        failed(e, adept_error_set(e->err, ADEPT_E_INTERNAL, "a module's path is too long: %s", e->path));
        return before;
    }
    e->length += (size_t)n;
    snprintf(own, sizeof own, "transformers.models.%s.modeling_%s.%s%s", e->folder, e->folder, e->prefix, class_name);
    e->module = adept_graph_builder_module(e->b, e->path, strchr(class_name, '.') ? class_name : own);
    if (e->module < 0) e->module = no_memory(e);
    return before;
}

void adept_emit_leave(adept_emitter *e, adept_emit_place before)
{
    e->length = before.length;
    e->path[e->length] = '\0';
    e->module = before.module;
}

/* ---- values ---- */

static bool same_value(const adept_value *a, const adept_value *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == ADEPT_VALUE_STRING) return strcmp(a->u.s, b->u.s) == 0;
    return a->kind == ADEPT_VALUE_FLOAT  ? a->u.f == b->u.f
           : a->kind == ADEPT_VALUE_BOOL ? a->u.b == b->u.b
                                         : a->u.i == b->u.i;
}

/* Each once, as far as there is room. */
static int32_t constant(adept_emitter *e, adept_value value)
{
    if (e->status != ADEPT_OK) return 0;
    for (size_t i = 0; i < e->n_constants; i++)
        if (same_value(&e->constants[i].value, &value)) return e->constants[i].number;
    int32_t number = adept_graph_builder_constant(e->b, 0, &value, e->err);
    if (number < 0) return no_memory(e);
    if (e->depth == 0 && e->n_constants < ADEPT_EMIT_CONSTANTS && value.kind != ADEPT_VALUE_STRING) {
        e->constants[e->n_constants].value = value;
        e->constants[e->n_constants++].number = number;
    }
    return number;
}

int32_t adept_emit_int(adept_emitter *e, int64_t v)
{
    return constant(e, (adept_value){ADEPT_VALUE_INT, {.i = v}});
}

int32_t adept_emit_float(adept_emitter *e, double v)
{
    return constant(e, (adept_value){ADEPT_VALUE_FLOAT, {.f = v}});
}

int32_t adept_emit_bool(adept_emitter *e, bool v)
{
    return constant(e, (adept_value){ADEPT_VALUE_BOOL, {.b = v}});
}

static int32_t emit_text(adept_emitter *e, const char *v)
{
    return constant(e, (adept_value){ADEPT_VALUE_STRING, {.s = v}});
}

static int32_t parameter(adept_emitter *e, const char *name, int ndim, const int64_t *dims, bool is_trained,
                         bool is_buffer)
{
    char full[ADEPT_EMIT_PATH_BYTES + 64];
    adept_param p = {.name = full,
                     .dtype = ADEPT_F32,
                     .ndim = ndim,
                     .requires_grad = is_trained,
                     .is_buffer = is_buffer,
                     .row_major = true};
    if (e->status != ADEPT_OK) return 0;
    snprintf(full, sizeof full, "%s%s%s", e->path, e->length ? "." : "", name);
    double elements = 1;
    for (int i = 0; i < ndim; i++)
        elements *= (double)(p.dims[i] = dims[i]);
    if (!is_buffer) e->parameters += elements;
    int32_t number = adept_graph_builder_param(e->b, &p);
    if (number == -1)
        return failed(e, adept_error_set(e->err, ADEPT_E_INVALID, "graph: parameter %s of %g elements is too large",
                                         full, elements));
    if (number < 0) return no_memory(e);
    e->last_weight = number;
    int32_t value = adept_graph_builder_param_ref(e->b, e->module, number, e->err);
    return value < 0 ? no_memory(e) : value;
}

int32_t adept_emit_weight(adept_emitter *e, const char *name, int ndim, const int64_t *dims)
{
    return parameter(e, name, ndim, dims, true, false);
}

int32_t adept_emit_buffer(adept_emitter *e, const char *name, int ndim, const int64_t *dims)
{
    return parameter(e, name, ndim, dims, false, true);
}

int32_t adept_emit_frozen(adept_emitter *e, const char *name, int ndim, const int64_t *dims)
{
    return parameter(e, name, ndim, dims, false, false);
}

int32_t adept_emit_input(adept_emitter *e, const char *name)
{
    adept_graph_input input = {.name = name, .value = e->status == ADEPT_OK ? adept_graph_builder_value(e->b) : -1};
    if (e->status != ADEPT_OK) return 0;
    return input.value < 0 || adept_graph_builder_input(e->b, &input) < 0 ? no_memory(e) : input.value;
}

/* ---- operators ---- */

/* The arguments' names of an operator of PyTorch, each cut from the table's row. */
static bool name_arguments(adept_emitter *e, const char *operator, int n, char *room, size_t size, const char **names)
{
    const char *at = adept_operator_arguments(operator);
    char *end = room;
    for (int i = 0; i < n; i++) {
        size_t length = at ? strcspn(at, "= ") : 0;
        if (length == 0 || end + length + 1 > room + size) {
            failed(e, adept_error_set(e->err, ADEPT_E_INTERNAL, "data/operator_arguments.csv: no argument %d of %s",
                                      i, operator));
            return false;
        }
        names[i] = memcpy(end, at, length);
        end[length] = '\0';
        end += length + 1;
        at += length;
        at += strspn(at, "= ");
    }
    return true;
}

void adept_emit_several(adept_emitter *e, const char *operator, int n, const int32_t *arguments, int n_results,
                        int32_t *results)
{
    const char *names[MAX_ARGUMENTS] = {NULL}, *dot = strchr(operator, '.');
    char text[400], name[100];
    bool aten = !strstr(operator, "::");
    for (int i = 0; i < n_results; i++)
        results[i] = 0;
    if (e->status != ADEPT_OK || n > MAX_ARGUMENTS ||
        (aten && !name_arguments(e, operator, n, text, sizeof text, names)))
        return;
    for (int i = 0; i < n_results; i++)
        if ((results[i] = adept_graph_builder_value(e->b)) < 0) results[i] = no_memory(e);
    if (aten) snprintf(name, sizeof name, "aten::%.*s", (int)(dot - operator), operator);
    adept_node_desc node = {.op = aten ? name : operator,
                            .overload = aten && strcmp(dot, ".default") != 0 ? dot + 1 : "",
                            .module = e->module,
                            .n_inputs = n,
                            .inputs = arguments,
                            .input_names = aten ? names : NULL,
                            .n_outputs = n_results,
                            .outputs = results,
                            .param = -1};
    if (e->status == ADEPT_OK) failed(e, adept_graph_builder_node(e->b, &node, e->err));
}

int32_t adept_emit(adept_emitter *e, const char *operator, int n, const int32_t *arguments)
{
    int32_t result;
    adept_emit_several(e, operator, n, arguments, 1, &result);
    return result;
}

int32_t adept_emit_list(adept_emitter *e, int n, const int32_t *values)
{
    return adept_emit(e, "prim::ListConstruct", n, values);
}

void adept_emit_unpack(adept_emitter *e, int32_t list, int n, int32_t *values)
{
    adept_emit_several(e, "prim::ListUnpack", 1, &list, n, values);
}

void adept_emit_if(adept_emitter *e, int32_t condition)
{
    int32_t result = 0;
    adept_emit_several(e, "prim::If", 1, &condition, 1, &result);
    if (e->status == ADEPT_OK) failed(e, adept_graph_builder_block_begin(e->b, 0, NULL, e->err));
    e->if_results[e->depth++] = result;
}

void adept_emit_else(adept_emitter *e, int32_t then)
{
    if (e->status == ADEPT_OK) failed(e, adept_graph_builder_block_end(e->b, 1, &then, e->err));
    if (e->status == ADEPT_OK) failed(e, adept_graph_builder_block_begin(e->b, 0, NULL, e->err));
}

int32_t adept_emit_end(adept_emitter *e, int32_t otherwise)
{
    if (e->status == ADEPT_OK) failed(e, adept_graph_builder_block_end(e->b, 1, &otherwise, e->err));
    return e->if_results[--e->depth];
}

int32_t adept_emit_end_if(adept_emitter *e, int32_t then, int32_t otherwise)
{
    adept_emit_else(e, then);
    return adept_emit_end(e, otherwise);
}

void adept_emit_note(adept_emitter *e, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int32_t value = emit_text(e, text);
    adept_emit_several(e, "adept::note", 1, &value, 0, NULL);
}

/* ---- layers ---- */

int32_t adept_emit_linear(adept_emitter *e, const char *name, int32_t x, int64_t in, int64_t out, bool bias)
{
    adept_emit_place before = adept_emit_enter(e, "torch.nn.modules.linear.Linear", "%s", name);
    int32_t weight = adept_emit_weight(e, "weight", 2, (int64_t[]){out, in});
    int32_t added = bias ? adept_emit_weight(e, "bias", 1, &out) : ADEPT_OMITTED;
    int32_t y = OP(e, "linear.default", x, weight, added);
    adept_emit_leave(e, before);
    return y;
}

int32_t adept_emit_embedding(adept_emitter *e, const char *name, int32_t indices, int64_t rows, int64_t width,
                             adept_emit_table *table)
{
    adept_emit_place before = adept_emit_enter(e, "torch.nn.modules.sparse.Embedding", "%s", name);
    int32_t weight = adept_emit_weight(e, "weight", 2, (int64_t[]){rows, width}), param = e->last_weight;
    int32_t y = OP(e, "embedding.default", weight, indices);
    adept_emit_leave(e, before);
    if (table) *table = (adept_emit_table){weight, param};
    return y;
}

int32_t adept_emit_tied_linear(adept_emitter *e, const char *name, int32_t x, adept_emit_table table, int32_t bias)
{
    adept_emit_place before = adept_emit_enter(e, "torch.nn.modules.linear.Linear", "%s", name);
    adept_graph_builder_param_alias(e->b, table.param);
    int32_t y = OP(e, "linear.default", x, table.value, bias);
    adept_emit_leave(e, before);
    return y;
}

int32_t adept_emit_layer_norm(adept_emitter *e, const char *name, int32_t x, int64_t width, bool bias)
{
    adept_emit_place before = adept_emit_enter(e, "torch.nn.modules.normalization.LayerNorm", "%s", name);
    int32_t weight = adept_emit_weight(e, "weight", 1, &width);
    int32_t added = bias ? adept_emit_weight(e, "bias", 1, &width) : ADEPT_OMITTED;
    int32_t y = OP(e, "layer_norm.default", x, LIST_OF(e, INT(width)), weight, added);
    adept_emit_leave(e, before);
    return y;
}

int32_t adept_emit_rms_norm(adept_emitter *e, const char *name, int32_t x, int64_t width, bool plus_one)
{
    adept_emit_place before = adept_emit_enter(e, "RMSNorm", "%s", name);
    int32_t weight = adept_emit_weight(e, "weight", 1, &width), y;
    int32_t exact = adept_emit_to_float(e, x);
    int32_t square = OP(e, "mean.dim", OP(e, "pow.Tensor_Scalar", exact, INT(2)), LIST_OF(e, INT(-1)), BOOL(true));
    y = OP(e, "mul.Tensor", exact, OP(e, "rsqrt.default", OP(e, "add.Tensor", square, FLOAT(1e-6))));
    if (plus_one) {
        y = OP(e, "mul.Tensor", y, OP(e, "add.Tensor", adept_emit_to_float(e, weight), FLOAT(1)));
        y = OP(e, "type_as.default", y, x);
    } else {
        y = OP(e, "mul.Tensor", weight, adept_emit_to_type_of(e, y, x));
    }
    adept_emit_leave(e, before);
    return y;
}

int32_t adept_emit_dropout(adept_emitter *e, const char *name, int32_t x, double p)
{
    if (p == 0) return x;
    adept_emit_place before = adept_emit_enter(e, "torch.nn.modules.dropout.Dropout", "%s", name);
    int32_t y = OP(e, "dropout.default", x, FLOAT(p), BOOL(true));
    adept_emit_leave(e, before);
    return y;
}

/* ---- activations ---- */

static int32_t scaled(adept_emitter *e, int32_t x, double factor)
{
    return OP(e, "mul.Tensor", x, FLOAT(factor));
}

/* As GPT-2's published code has it, a kernel each: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). */
static int32_t gelu_new(adept_emitter *e, int32_t x)
{
    int32_t half = scaled(e, x, 0.5), cube = scaled(e, OP(e, "pow.Tensor_Scalar", x, FLOAT(3)), 0.044715);
    int32_t inner = scaled(e, OP(e, "add.Tensor", x, cube), sqrt(2 / M_PI));
    return OP(e, "mul.Tensor", half, OP(e, "add.Tensor", OP(e, "tanh.default", inner), FLOAT(1)));
}

/* The same but for its order: 0.5 x (1 + tanh(0.79788456 x (1 + 0.044715 x x))). */
static int32_t gelu_fast(adept_emitter *e, int32_t x)
{
    int32_t square = OP(e, "add.Tensor", OP(e, "mul.Tensor", scaled(e, x, 0.044715), x), FLOAT(1));
    int32_t inner = OP(e, "mul.Tensor", scaled(e, x, 0.7978845608), square);
    return OP(e, "mul.Tensor", scaled(e, x, 0.5), OP(e, "add.Tensor", OP(e, "tanh.default", inner), FLOAT(1)));
}

static int32_t gelu_tanh(adept_emitter *e, int32_t x)
{
    return OP(e, "gelu.default", x, emit_text(e, "tanh"));
}

static int32_t gelu(adept_emitter *e, int32_t x)
{
    return OP(e, "gelu.default", x);
}

static int32_t silu(adept_emitter *e, int32_t x)
{
    return OP(e, "silu.default", x);
}

static int32_t relu(adept_emitter *e, int32_t x)
{
    return OP(e, "relu.default", x);
}

static int32_t relu2(adept_emitter *e, int32_t x)
{
    return OP(e, "square.default", relu(e, x));
}

static int32_t quick_gelu(adept_emitter *e, int32_t x)
{
    return OP(e, "mul.Tensor", x, OP(e, "sigmoid.default", scaled(e, x, 1.702)));
}

static int32_t tanh_of(adept_emitter *e, int32_t x)
{
    return OP(e, "tanh.default", x);
}

static const struct {
    const char *name, *class_name;
    int32_t (*emit)(adept_emitter *e, int32_t x);
} activations[] = {
    {"silu", "torch.nn.modules.activation.SiLU", silu},
    {"swish", "torch.nn.modules.activation.SiLU", silu},
    {"gelu", "transformers.activations.GELUActivation", gelu},
    {"gelu_fast", "transformers.activations.FastGELUActivation", gelu_fast},
    {"gelu_new", "transformers.activations.NewGELUActivation", gelu_new},
    {"gelu_pytorch_tanh", "transformers.activations.PytorchGELUTanh", gelu_tanh},
    {"relu", "torch.nn.modules.activation.ReLU", relu},
    {"relu2", "transformers.activations.ReLUSquaredActivation", relu2},
    {"quick_gelu", "transformers.activations.QuickGELUActivation", quick_gelu},
    {"tanh", "torch.nn.modules.activation.Tanh", tanh_of},
};

static size_t activation_at(const char *name)
{
    size_t i = 0;
    while (i < sizeof activations / sizeof *activations && strcmp(activations[i].name, name) != 0)
        i++;
    return i;
}

bool adept_emit_activation_known(const char *name)
{
    return activation_at(name) < sizeof activations / sizeof *activations;
}

int32_t adept_emit_activation(adept_emitter *e, const char *module, const char *name, int32_t x)
{
    const size_t i = activation_at(name);
    adept_emit_place before = adept_emit_enter(e, activations[i].class_name, "%s", module);
    int32_t y = activations[i].emit(e, x);
    adept_emit_leave(e, before);
    return y;
}

int32_t adept_emit_gated(adept_emitter *e, const char *activation, const char *const names[4], int32_t x, int64_t in,
                         int64_t width)
{
    int32_t gate = adept_emit_activation(e, names[3], activation, adept_emit_linear(e, names[0], x, in, width, false));
    int32_t up = adept_emit_linear(e, names[1], x, in, width, false);
    return adept_emit_linear(e, names[2], OP(e, "mul.Tensor", gate, up), width, in, false);
}

/* ---- attention ---- */

int32_t adept_emit_split_heads(adept_emitter *e, int32_t x, const int32_t sizes[2], int64_t heads, int64_t width)
{
    int32_t shown = OP(e, "view.default", x, LIST_OF(e, sizes[0], sizes[1], INT(heads), INT(width)));
    return OP(e, "transpose.int", shown, INT(1), INT(2));
}

int32_t adept_emit_merge_heads(adept_emitter *e, int32_t x, const int32_t sizes[2])
{
    int32_t rows = OP(e, "contiguous.default", OP(e, "transpose.int", x, INT(1), INT(2)));
    return OP(e, "reshape.default", rows, LIST_OF(e, sizes[0], sizes[1], INT(-1)));
}

int32_t adept_emit_attention(adept_emitter *e, int32_t q, int32_t k, int32_t v, double dropout, int32_t causal,
                             bool grouped)
{
    return OP(e, "scaled_dot_product_attention.default", q, k, v, ADEPT_OMITTED, FLOAT(dropout), causal, ADEPT_OMITTED,
              grouped ? BOOL(true) : ADEPT_OMITTED);
}

int32_t adept_emit_weigh(adept_emitter *e, int32_t scores, int32_t v, double dropout)
{
    int32_t weights = OP(e, "softmax.int", adept_emit_to_float(e, scores), INT(-1));
    weights = adept_emit_to_type_of(e, weights, scores);
    if (dropout > 0) weights = OP(e, "dropout.default", weights, FLOAT(dropout), BOOL(true));
    return OP(e, "matmul.default", weights, v);
}

int32_t adept_emit_to_float(adept_emitter *e, int32_t x)
{
    return OP(e, "to.dtype", x, INT(C10_F32));
}

int32_t adept_emit_to_type_of(adept_emitter *e, int32_t x, int32_t other)
{
    return OP(e, "to.dtype", x, OP(e, "prim::dtype", other));
}

/* ---- loss ---- */

int32_t adept_emit_loss(adept_emitter *e, int32_t logits, int32_t labels, int64_t classes, bool shifted)
{
    adept_emit_if(e, adept_emit(e, "aten::is_grad_enabled", 0, NULL));
    if (shifted) {
        /* transformers' ForCausalLMLoss: labels are one further than what predicts them; the last one has none. */
        int32_t padded = OP(e, "constant_pad_nd.default", labels, LIST_OF(e, INT(0), INT(1)), INT(-100));
        labels = OP(e, "contiguous.default", OP(e, "slice.Tensor", padded, INT(1), INT(1)));
    }
    int32_t rows = OP(e, "view.default", adept_emit_to_float(e, logits), LIST_OF(e, INT(-1), INT(classes)));
    int32_t loss = OP(e, "cross_entropy_loss.default", rows, OP(e, "view.default", labels, LIST_OF(e, INT(-1))));
    return adept_emit_end_if(e, loss, logits);
}

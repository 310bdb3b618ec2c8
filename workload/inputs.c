/* Inputs: which source wins, --input, adept.json or what the file stores, and what a text means for an input of that
 * type. */
#include "adept_number.h"
#include "interp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TYPE_DEPTH 32

/* ---------------------------------------------------------------- types ---------------- */

/* A part of a type as TorchScript writes it: "Dict[str, List[Tensor]]". */
typedef struct type_text {
    const char *at;
    size_t n;
} type_text;

static const type_text tensor_type = {"Tensor", 6};

static type_text type_of(const adept_graph_input *input)
{
    return input->type ? (type_text){input->type, strlen(input->type)} : tensor_type;
}

static bool is_type(type_text t, const char *name)
{
    return t.n == strlen(name) && !memcmp(t.at, name, t.n);
}

/* What stands at place i in the brackets behind `head`. @return false: another head, or no such place */
static bool type_argument(type_text t, const char *head, int64_t i, type_text *out)
{
    size_t n = strlen(head), depth = 0;
    if (t.n < n + 2 || memcmp(t.at, head, n) || t.at[n] != '[' || t.at[t.n - 1] != ']') return false;
    const char *from = t.at + n + 1, *end = t.at + t.n - 1;
    for (const char *p = from; p <= end; p++) {
        if (p < end && *p == '[') depth++;
        if (p < end && *p == ']' && depth > 0) depth--;
        if (p < end && (*p != ',' || depth > 0)) continue;
        if (i-- == 0) {
            from += strspn(from, " ");
            *out = (type_text){from, from < p ? (size_t)(p - from) : 0};
            return true;
        }
        from = p + 1;
    }
    return false;
}

static type_text without_optional(type_text t)
{
    for (int i = 0; i < MAX_TYPE_DEPTH && type_argument(t, "Optional", 0, &t); i++)
        ;
    return t;
}

static bool is_tensor(type_text t)
{
    return is_type(without_optional(t), "Tensor");
}

/* Also where one may be left out. */
static bool is_tensor_list(type_text t)
{
    type_text element;
    return type_argument(without_optional(t), "List", 0, &element) && is_type(element, "Tensor");
}

/* The part at `path`, "0.boxes" of a List[Dict[str, Tensor]]: its type. The keys of a dict of plain values may have
 * dots. */
static bool type_at(type_text t, const char *path, type_text *out, bool *in_list)
{
    type_text inner;
    *in_list = false;
    for (int depth = 0; *path; depth++) {
        size_t n = strcspn(path, ".");
        bool number = n > 0 && n < 9 && strspn(path, "0123456789") == n;
        t = without_optional(t);
        if (depth == MAX_TYPE_DEPTH) return false;
        if (type_argument(t, "Dict", 1, &inner)) {
            type_text last = without_optional(inner);
            if (!memchr(last.at, '[', last.n)) n = strlen(path);
            if (n == 0) return false;
        } else if (number && type_argument(t, "List", 0, &inner)) {
            *in_list = true;
        } else if (!number || !type_argument(t, "Tuple", atoi(path), &inner)) {
            return false;
        }
        t = inner;
        path += n + (path[n] == '.');
    }
    *out = t;
    return true;
}

/* ---------------------------------------------------------------- what is given ---------------- */

static bool is_part(const char *path, const char *whole)
{
    size_t n = strlen(whole);
    return n == 0 || (!strncmp(path, whole, n) && (path[n] == 0 || path[n] == '.'));
}

static const char *element_of(adept_interp *in, const char *whole, int i)
{
    return adept_arena_printf(in->run.arena, "%s%s%d", whole, *whole ? "." : "", i);
}

/* What is given of an input at that path, or else within it; NULL: nothing. */
static adept_given *find_given(const adept_interp *in, size_t input, const char *path, bool within)
{
    for (int32_t i = in->given_of[input]; i >= 0; i = in->given[i].earlier) {
        adept_given *g = &in->given[i];
        if (!g->replaced && (within ? is_part(g->part, path) : !strcmp(g->part, path))) return g;
    }
    return NULL;
}

static adept_status add_given(adept_interp *in, const adept_given *one)
{
    adept_given *grown =
        adept_arena_grow(in->run.arena, in->given, &in->given_capacity, in->n_given + 1, sizeof *grown);
    if (!grown || !one->part) return adept_interp_nomem(in);
    in->given = grown;
    grown[in->n_given] = *one;
    grown[in->n_given].earlier = in->given_of[one->input];
    in->given_of[one->input] = (int32_t)in->n_given++;
    return adept_interp_count(in, 1);
}

static adept_status bad_input(adept_interp *in, const char *text, const char *format, const char *what)
{
    char why[300];
    snprintf(why, sizeof why, format, what);
    return adept_error_set(in->err, in->user_shapes ? ADEPT_E_USAGE : ADEPT_E_INVALID, "%s: input '%.100s': %s",
                           in->graph->path, text, why);
}

/* For a message: what the inputs are called. */
static const char *input_names(const adept_interp *in)
{
    const char *names = "";
    for (size_t i = 0; i < in->graph->n_inputs && names && strlen(names) < 150; i++)
        if (in->dict_of[i] < 0)
            names =
                adept_arena_printf(in->run.arena, "%s%s'%.60s'", names, *names ? ", " : "", in->graph->inputs[i].name);
    return names && *names ? names : "none";
}

static adept_status add_shape(adept_interp *in, adept_given *one, const char *shape, const char *text)
{
    adept_error why = {0};
    if (!adept_input_shape_parse(&one->shape, shape, text, &why)) return add_given(in, one);
    return adept_error_set(in->err, in->user_shapes ? ADEPT_E_USAGE : ADEPT_E_INVALID, "%s: %s", in->graph->path,
                           why.message);
}

/* "xs=3x8x8,3x10x12" is xs.0 and xs.1; one shape of a list of tensors has their number in front. */
static adept_status add_list(adept_interp *in, adept_given one, type_text element, const char *value, const char *text)
{
    const char *part = one.part;
    adept_status status = ADEPT_OK;
    one.in_list = true;
    for (int i = 0; value && !status; i++) {
        const char *comma = strchr(value, ',');
        char *piece = adept_arena_strndup(in->run.arena, value, comma ? (size_t)(comma - value) : strlen(value));
        one.part = element_of(in, part, i);
        if (!piece) return adept_interp_nomem(in);
        one.literal = is_tensor(element) ? NULL : piece;
        status = one.literal ? add_given(in, &one) : add_shape(in, &one, piece, text);
        value = comma ? comma + 1 : NULL;
    }
    return status;
}

static adept_status add_named(adept_interp *in, const char *text)
{
    const adept_graph *g = in->graph;
    const char *value = strchr(text, '=') + 1;
    char *path = adept_arena_strndup(in->run.arena, text, (size_t)(value - 1 - text));
    adept_given one = {.input = -1};
    size_t longest = 0;
    type_text type = {0}, element;
    if (!path) return adept_interp_nomem(in);
    for (size_t i = 0; i < g->n_inputs;
         i++) { /* "batch.ids" is a part of "batch", whether the program names it or not */
        size_t n = strlen(g->inputs[i].name);
        if (n <= longest || in->dict_of[i] >= 0 || !is_part(path, g->inputs[i].name)) continue;
        one.input = (int32_t)i;
        longest = n;
    }
    if (one.input < 0) return bad_input(in, text, "the model has no input of that name, only %s", input_names(in));
    const adept_graph_input *input = &g->inputs[one.input];
    one.part = path + longest + (path[longest] == '.');
    if (input->constant.kind > ADEPT_VALUE_NONE && !input->type)
        return bad_input(in, text, "the file fixes its value%s", "");
    if (!type_at(type_of(input), one.part, &type, &one.in_list))
        return bad_input(in, text, "a %.150s has no such part", type_of(input).at);
    adept_given *before = find_given(in, (size_t)one.input, one.part, true);
    if (before && !before->of_file) return bad_input(in, text, "is given twice%s", "");
    bool list = type_argument(without_optional(type), "List", 0, &element), none = !strcmp(value, "none");
    if (list && *value && !none && (strchr(value, ',') || !is_tensor(element)))
        return add_list(in, one, element, value, text);
    one.listed = list && *value && !none;
    one.literal = (is_tensor(type) || one.listed) && !none ? NULL : value;
    return one.literal ? add_given(in, &one) : add_shape(in, &one, value, text);
}

/* Inputs that take a shape without a name, in their order: tensors and lists of them that nothing is said of. Those
 * that may be left out do once all others have theirs. NULL: memory is out. */
enum { CLOSED, OPEN, OPTIONAL };
static char *find_open(adept_interp *in)
{
    const adept_graph *g = in->graph;
    char *open = adept_arena_array(in->run.arena, g->n_inputs + 1, 1);
    for (size_t i = 0; open && i < g->n_inputs; i++) {
        const adept_graph_input *input = &g->inputs[i];
        int32_t dict = in->dict_of[i];
        const adept_value_kind constant = g->inputs[dict >= 0 ? (size_t)dict : i].constant.kind;
        bool takes = is_tensor(type_of(input)) || is_tensor_list(type_of(input));
        if (!takes || find_given(in, dict >= 0 ? (size_t)dict : i, "", true)) continue;
        if (constant == ADEPT_VALUE_UNSET) open[i] = OPEN;
        if (constant == ADEPT_VALUE_NONE && dict < 0) open[i] = OPTIONAL;
    }
    return open;
}

/* Of the whole input, or of the part of a dict that it is. */
static adept_status add_whole(adept_interp *in, size_t i, const adept_input_spec *shape)
{
    int32_t dict = in->dict_of[i];
    adept_given one = {.shape = *shape, .input = (int32_t)i, .part = ""};
    one.listed = is_tensor_list(type_of(&in->graph->inputs[i]));
    if (dict >= 0) {
        one.input = dict;
        one.part = in->graph->inputs[i].name + strlen(in->graph->inputs[dict].name) + 1;
    }
    return add_given(in, &one);
}

static adept_status add_unnamed(adept_interp *in, const adept_input_spec *specs, size_t n)
{
    const adept_graph *g = in->graph;
    const char *open = find_open(in);
    size_t n_open = 0, n_optional = 0, k = 0;
    adept_status status = open ? ADEPT_OK : adept_interp_nomem(in);
    for (size_t i = 0; i < g->n_inputs && open; i++) {
        n_open += open[i] == OPEN;
        n_optional += open[i] == OPTIONAL;
    }
    size_t more = n > n_open ? n - n_open : 0;
    for (size_t i = 0; i < g->n_inputs && !status && n > 0; i++) {
        bool list = is_tensor_list(type_of(&g->inputs[i]));
        if (open[i] == CLOSED || (open[i] == OPTIONAL && more == 0)) continue;
        if (k == n)
            return adept_error_set(in->err, ADEPT_E_USAGE,
                                   "%s: no shape for input '%s': the model takes %zu, %zu given; "
                                   "repeat --input in the order of the model's inputs",
                                   g->path, g->inputs[i].name, n_open, n);
        if (list && open[i] == OPEN && more > 0 && n_optional == 0) { /* the elements of a list, one by one */
            for (int element = 0; element <= (int)more && !status; element++) {
                adept_given one = {.shape = specs[k++], .input = (int32_t)i, .in_list = true};
                one.part = element_of(in, "", element);
                status = add_given(in, &one);
            }
            more = 0;
            continue;
        }
        more -= open[i] == OPTIONAL;
        status = add_whole(in, i, &specs[k++]);
    }
    if (status || k == n) return status;
    return adept_error_set(in->err, ADEPT_E_USAGE, "%s: %zu input shapes given, the model takes %zu", g->path, n, k);
}

/* Those with names first: the others are for the inputs that are left. */
static adept_status add_specs(adept_interp *in, const adept_input_spec *specs, size_t n)
{
    adept_input_spec *unnamed = adept_arena_array(in->run.arena, n, sizeof *unnamed);
    adept_status status = unnamed ? ADEPT_OK : adept_interp_nomem(in);
    size_t n_unnamed = 0;
    for (size_t i = 0; i < n && !status; i++)
        if (specs[i].text[0])
            status = add_named(in, specs[i].text);
        else
            unnamed[n_unnamed++] = specs[i];
    return status || !n_unnamed ? status : add_unnamed(in, unnamed, n_unnamed);
}

static adept_status add_hints(adept_interp *in)
{
    const adept_graph *g = in->graph;
    adept_input_spec *hints = adept_arena_array(in->run.arena, g->n_hint_specs, sizeof *hints);
    if (!hints) return adept_interp_nomem(in);
    for (size_t i = 0; i < g->n_hint_specs; i++) {
        adept_error detail;
        if (adept_input_spec_parse(&hints[i], g->hint_specs[i], &detail))
            return adept_error_set(in->err, ADEPT_E_INVALID, "%s: adept.json: %s", g->path, detail.message);
    }
    adept_status status = add_specs(in, hints, g->n_hint_specs);
    for (size_t i = 0; i < in->n_given; i++)
        in->given[i].of_file = true;
    return status;
}

static adept_status add_stored(adept_interp *in)
{
    const adept_graph *g = in->graph;
    const char *open = find_open(in);
    adept_status status = open ? ADEPT_OK : adept_interp_nomem(in);
    for (size_t i = 0; i < g->n_inputs && !status; i++) {
        const adept_graph_input *input = &g->inputs[i];
        adept_input_spec shape = {.dtype = input->dtype, .ndim = input->ndim};
        if (open[i] != OPEN) continue;
        if (!input->has_shape)
            return adept_error_set(
                in->err, ADEPT_E_USAGE,
                "%s: the file does not say the shape of input '%s'; give it with --input, for instance "
                "--input %s%sBx3x224x224 --batch 32%s",
                g->path, input->name, in->dict_of[i] >= 0 ? input->name : "", in->dict_of[i] >= 0 ? "=" : "",
                is_tensor_list(type_of(input)) ? "; this is a list: one shape has the number of its tensors in front, "
                                                 "or each has its own --input"
                                               : "");
        memcpy(shape.dims, input->dims, sizeof shape.dims);
        status = add_whole(in, i, &shape);
    }
    return status;
}

/* What is given, else what adept.json says, else what the file stores. Beside named inputs the others are as the file
 * has them. */
static adept_status choose(adept_interp *in)
{
    const adept_graph *g = in->graph;
    const adept_workload_config *config = in->config;
    bool all_named = true;
    in->given_of = adept_arena_array(in->run.arena, g->n_inputs + 1, sizeof *in->given_of);
    if (!in->given_of) return adept_interp_nomem(in);
    for (size_t i = 0; i < g->n_inputs; i++)
        in->given_of[i] = -1;
    for (size_t i = 0; i < config->n_inputs; i++)
        all_named = all_named && config->inputs[i].text[0];
    adept_status status = all_named && g->n_hint_specs ? add_hints(in) : ADEPT_OK;
    size_t n_hints = in->n_given;
    in->user_shapes = config->n_inputs > 0 || config->batch_size > 0 || config->seq_length > 0;
    if (!status) status = add_specs(in, config->inputs, config->n_inputs);
    if (!status) {
        /* What the file says of parts that somebody gives does not hold. */
        for (size_t i = n_hints; i < in->n_given; i++)
            for (int32_t k = in->given_of[in->given[i].input]; k >= 0; k = in->given[k].earlier)
                if ((size_t)k < n_hints &&
                    (is_part(in->given[k].part, in->given[i].part) || is_part(in->given[i].part, in->given[k].part)))
                    in->given[k].replaced = true;
    }
    return status || !all_named ? status : add_stored(in);
}

/* ---------------------------------------------------------------- batch and length ---------------- */

/* Integers (or a mask) of B x L: what language models take. */
static bool is_sequences(const adept_input_spec *spec)
{
    return spec->ndim == 2 && (adept_dtype_is_integer(spec->dtype) || spec->dtype == ADEPT_BOOL);
}

/* The length of inputs that have no S. Two lengths, or an input of another kind that may have the same one, leave it to
 * the user. */
static adept_status unmarked_length(int64_t *out, const adept_interp *in)
{
    static const char give[] = "give each input with --input and S for the length, for instance --input i64:BxS";
    const char *path = in->graph->path;
    int64_t length = 0;
    for (size_t i = 0; i < in->n_given; i++) {
        const adept_input_spec *shape = &in->given[i].shape;
        if (!is_sequences(shape)) continue;
        if (length > 0 && shape->dims[1] != length)
            return adept_error_set(in->err, ADEPT_E_USAGE, "%s: --seq-length: inputs have lengths of %lld and %lld; %s",
                                   path, (long long)length, (long long)shape->dims[1], give);
        length = shape->dims[1];
    }
    if (length <= 0)
        return adept_error_set(in->err, ADEPT_E_USAGE,
                               "%s: --seq-length: no input is a batch of token sequences (i64:BxL); if another "
                               "dimension is the length, %s",
                               path, give);
    for (size_t i = 0; i < in->n_given; i++)
        for (int d = 1; d < in->given[i].shape.ndim && !is_sequences(&in->given[i].shape); d++)
            if (in->given[i].shape.dims[d] == length)
                return adept_error_set(
                    in->err, ADEPT_E_USAGE,
                    "%s: --seq-length: input %zu has a dimension of %lld, which may be the length or not; %s", path,
                    i + 1, (long long)length, give);
    *out = length;
    return ADEPT_OK;
}

static bool any_given(const adept_interp *in, int64_t mark)
{
    for (size_t i = 0; i < in->n_given; i++)
        if (!in->given[i].replaced && adept_input_specs_have(&in->given[i].shape, 1, mark)) return true;
    return false;
}

/* Replace S, or with --seq-length the L of B x L. */
static adept_status apply_length(adept_interp *in)
{
    bool marked = any_given(in, ADEPT_DIM_LENGTH);
    int64_t length = in->config->seq_length, before = ADEPT_DIM_LENGTH;
    if (!marked && length <= 0) return ADEPT_OK;
    if (length <= 0) length = in->graph->hint_seq_length;
    if (length <= 0)
        return adept_error_set(in->err, ADEPT_E_USAGE,
                               "%s: the input shapes leave the sequence length open (S); give it with --seq-length",
                               in->graph->path);
    adept_status status = marked ? ADEPT_OK : unmarked_length(&before, in);
    for (size_t i = 0; i < in->n_given && status == ADEPT_OK; i++) {
        adept_input_spec *shape = &in->given[i].shape;
        for (int d = 0; d < shape->ndim; d++)
            if (shape->dims[d] == before && (marked || (d == 1 && is_sequences(shape)))) shape->dims[d] = length;
    }
    in->seq_length = length;
    return status;
}

/* Replace B, or with --batch the leading dimension of every input. */
static adept_status apply_batch(adept_interp *in)
{
    bool marked = any_given(in, ADEPT_DIM_BATCH);
    int64_t batch = in->config->batch_size ? in->config->batch_size : in->graph->hint_batch;
    if (marked && batch <= 0)
        return adept_error_set(in->err, ADEPT_E_USAGE,
                               "%s: the input shapes leave the batch open (B); give it with --batch", in->graph->path);
    bool replace_leading = !marked && in->config->batch_size > 0;
    for (size_t i = 0; i < in->n_given; i++) {
        adept_given *g = &in->given[i];
        if (replace_leading && g->in_list && !g->literal && !g->replaced)
            return adept_error_set(
                in->err, ADEPT_E_USAGE,
                "%s: --batch: the shapes in list '%s' are given one by one; write B where the batch is, or "
                "give as many shapes as the batch has",
                in->graph->path, in->graph->inputs[g->input].name);
        if (!g->literal) adept_input_spec_settle(&g->shape, batch, replace_leading, in->seq_length);
    }
    in->batch_asked = marked || replace_leading;
    if (in->batch_asked) in->batch_size = batch;
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- binding ---------------- */

/* Unless the caller chose it, the batch is how many the first tensors are. */
static void note_batch(adept_interp *in, int64_t n)
{
    if (in->batch_size == 0) in->batch_size = n;
}

static const char *full_name(const adept_interp *in, size_t input, const char *part)
{
    const char *name = in->graph->inputs[input].name;
    const char *full = *part ? adept_arena_printf(in->run.arena, "%s.%s", name, part) : name;
    return full ? full : name;
}

static adept_status bind_tensor(adept_interp *in, const adept_given *g, int first, adept_value *out)
{
    const adept_input_spec *spec = &g->shape;
    adept_dtype dtype = adept_precision_stored_dtype(in->run.precision, spec->dtype);
    char text[ADEPT_INPUT_TEXT_BYTES];
    if (!adept_shape_valid(dtype, spec->ndim, spec->dims, 0))
        return adept_error_set(in->err, ADEPT_E_USAGE, "%s: input '%s': shape %s is too large", in->graph->path,
                               full_name(in, (size_t)g->input, g->part),
                               adept_input_spec_print(spec, text, sizeof text));
    adept_tensor *t = adept_run_tensor_new(&in->run, dtype, spec->ndim - first, spec->dims + first, -1);
    if (!t) return adept_interp_nomem(in);
    if (spec->has_value && !adept_run_set_spread(&in->run, t, ADEPT_ALIKE, (double)spec->value))
        return adept_interp_nomem(in);
    *out = (adept_value){ADEPT_VALUE_TENSOR, {.t = t}};
    if (!in->run.input && adept_dtype_is_float(t->dtype)) in->run.input = t;
    return adept_interp_count(in, 1);
}

/* A text as a value of a plain type. */
static bool read_literal(type_text type, const char *text, adept_value *out)
{
    char *end;
    bool is_true = !strcmp(text, "true") || !strcmp(text, "True");
    bool any = is_type(type, "number") || is_type(type, "Scalar");
    errno = 0;
    long long i = strtoll(text, &end, 10);
    bool is_int = end > text && !*end && !errno;
    double f;
    if (is_type(type, "str") || is_type(type, "Device")) {
        *out = (adept_value){ADEPT_VALUE_STRING, {.s = text}};
    } else if (is_type(type, "bool") && (is_true || !strcmp(text, "false") || !strcmp(text, "False"))) {
        *out = (adept_value){ADEPT_VALUE_BOOL, {.b = is_true}};
    } else if ((is_type(type, "int") || any) && is_int) {
        *out = (adept_value){ADEPT_VALUE_INT, {.i = i}};
    } else if ((is_type(type, "float") || any) && adept_number_parse(&f, text)) {
        *out = (adept_value){ADEPT_VALUE_FLOAT, {.f = f}};
    } else {
        return false;
    }
    return true;
}

/* What a text for that type looks like; NULL: nothing can be given for it. */
static const char *example_of(type_text t)
{
    static const char *const examples[][2] = {{"Tensor", "Bx3x224x224"}, {"int", "3"},      {"bool", "true"},
                                              {"float", "0.5"},          {"str", "TEXT"},   {"number", "3"},
                                              {"Scalar", "3"},           {"Device", "cuda"}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (is_type(t, examples[i][0])) return examples[i][1];
    return NULL;
}

static adept_status missing(adept_interp *in, size_t input, type_text type, const char *part)
{
    const char *name = full_name(in, input, part), *form = "=";
    type_text element;
    const char *example = example_of(type);
    if (type_argument(type, "Dict", 1, &element)) {
        form = ".KEY=";
        example = example_of(without_optional(element));
        if (!example) example = "...";
    } else if (type_argument(type, "List", 0, &element)) {
        example = is_tensor(element) ? "3x224x224,3x256x256" : "8,16";
        if (!example_of(without_optional(element))) form = ".0...=", example = "...";
    } else if (!example) {
        return adept_error_set(
            in->err, ADEPT_E_UNSUPPORTED,
            "%s: input '%s' has type %.*s; tensors, numbers, texts, and lists, tuples and dicts of them can be given",
            in->graph->path, name, (int)type.n, type.at);
    }
    return adept_error_set(
        in->err, ADEPT_E_USAGE,
        "%s: input '%s' has type %.*s, and the file does not say its value; give it with --input, for instance "
        "--input %s%s%s",
        in->graph->path, name, (int)type.n, type.at, name, form, example);
}

static adept_status bind_part(adept_interp *in, size_t input, type_text type, const char *part, int depth,
                              adept_value *out);

/* Behind those that the list has. @param part  NULL: memory is out */
static adept_status bind_element(adept_interp *in, size_t input, type_text type, const char *part, int depth,
                                 adept_list *list)
{
    adept_value *grown = adept_arena_grow(in->run.arena, list->items, &list->capacity, list->n + 1, sizeof *grown);
    if (!part || !grown) return adept_interp_nomem(in);
    list->items = grown;
    return bind_part(in, input, type, part, depth + 1, &list->items[list->n++]);
}

static adept_status bind_list(adept_interp *in, size_t input, type_text element, const char *part, int depth,
                              adept_list *list)
{
    adept_given *g = find_given(in, input, part, false);
    adept_status status = ADEPT_OK;
    if (g) g->used = true;
    if (g && g->listed) {
        if (g->shape.ndim == 0)
            return bad_input(in, full_name(in, input, part), "the number of its tensors stands in front of a shape%s",
                             "");
        int64_t n = g->shape.dims[0];
        status = adept_interp_count(in, n < INT32_MAX ? (size_t)n : INT32_MAX);
        adept_value *items = status ? NULL : adept_arena_array(in->run.arena, (size_t)n + 1, sizeof *items);
        if (!items) return status ? status : adept_interp_nomem(in);
        *list = (adept_list){items, 0, (size_t)n + 1};
        for (; list->n < (size_t)n && !status; list->n++)
            status = bind_tensor(in, g, 1, &list->items[list->n]);
        return status;
    }
    for (int i = 0; !status; i++) {
        const char *inner = element_of(in, part, i);
        if (!inner) return adept_interp_nomem(in);
        if (!find_given(in, input, inner, true)) break;
        status = bind_element(in, input, element, inner, depth, list);
    }
    return status;
}

/* Its keys are those that are given, in their order. */
static adept_status bind_dict(adept_interp *in, size_t input, type_text type, const char *part, int depth,
                              adept_list *dict)
{
    type_text key_type, value;
    size_t skip = strlen(part) + (*part != 0);
    adept_status status = adept_interp_count(in, in->n_given);
    if (!type_argument(type, "Dict", 0, &key_type) || !type_argument(type, "Dict", 1, &value))
        return missing(in, input, type, part);
    type_text last = without_optional(value);
    bool plain = !memchr(last.at, '[', last.n);
    for (size_t i = 0; i < in->n_given && !status; i++) {
        const adept_given *g = &in->given[i];
        adept_value key;
        bool known = false;
        if (g->replaced || g->input != (int32_t)input || !is_part(g->part, part) || strlen(g->part) <= skip) continue;
        const char *rest = g->part + skip;
        char *name = adept_arena_strndup(in->run.arena, rest, plain ? strlen(rest) : strcspn(rest, "."));
        if (!name) return adept_interp_nomem(in);
        if (!read_literal(key_type, name, &key)) return bad_input(in, name, "is no key of a %.150s", type.at);
        for (size_t k = 0; k < dict->n && !known; k += 2)
            known = dict->items[k].kind == ADEPT_VALUE_STRING ? !strcmp(dict->items[k].u.s, name)
                                                              : dict->items[k].u.i == key.u.i;
        if (known) continue;
        adept_value *grown = adept_arena_grow(in->run.arena, dict->items, &dict->capacity, dict->n + 1, sizeof *grown);
        if (!grown) return adept_interp_nomem(in);
        dict->items = grown;
        dict->items[dict->n++] = key;
        if ((status = adept_interp_count(in, dict->n))) return status;
        const char *below = adept_arena_printf(in->run.arena, "%s%s%s", part, *part ? "." : "", name); /* "0.boxes" */
        status = bind_element(in, input, value, below, depth, dict);
    }
    return status;
}

static adept_status bind_part(adept_interp *in, size_t input, type_text type, const char *part, int depth,
                              adept_value *out)
{
    type_text element;
    adept_given *g = find_given(in, input, part, false);
    bool optional = type_argument(type, "Optional", 0, &element), any = find_given(in, input, part, true) != NULL;
    bool none = optional && (!any || (g && g->literal && !strcmp(g->literal, "none")));
    type = without_optional(type);
    if (g) g->used = true;
    if (depth > MAX_TYPE_DEPTH) return missing(in, input, type, part);
    *out = (adept_value){ADEPT_VALUE_NONE, {.i = 0}};
    if (none) return ADEPT_OK;
    if (!any) return missing(in, input, type, part);
    if (is_type(type, "Tensor")) {
        if (!g || g->literal) return bad_input(in, full_name(in, input, part), "a tensor needs a shape%s", "");
        if (!g->in_list) note_batch(in, g->shape.ndim > 0 ? g->shape.dims[0] : 1);
        return bind_tensor(in, g, 0, out);
    }
    if (example_of(type)) {
        if (g && g->literal && read_literal(type, g->literal, out)) return ADEPT_OK;
        return bad_input(in, full_name(in, input, part), "want a value like %s", example_of(type));
    }
    adept_list *list = adept_run_list_new(&in->run, 0, NULL);
    adept_status status = list ? ADEPT_OK : adept_interp_nomem(in);
    if (status) return status;
    if (type_argument(type, "List", 0, &element)) {
        bool counted = in->batch_size > 0;
        *out = (adept_value){ADEPT_VALUE_LIST, {.list = list}};
        status = bind_list(in, input, element, part, depth, list);
        bool samples = depth == 0 && !counted && list->n > 0 && (is_tensor(element) || !example_of(element));
        if (samples) in->batch_listed = true, in->batch_size = (int64_t)list->n;
    } else if (type_argument(type, "Dict", 1, &element)) {
        *out = (adept_value){ADEPT_VALUE_DICT, {.list = list}};
        status = bind_dict(in, input, type, part, depth, list);
    } else if (type_argument(type, "Tuple", 0, &element)) {
        *out = (adept_value){ADEPT_VALUE_TUPLE, {.list = list}};
        for (int i = 0; type_argument(type, "Tuple", i, &element) && !status; i++)
            status = bind_element(in, input, element, element_of(in, part, i), depth, list);
    } else {
        status = missing(in, input, type, part);
    }
    return status;
}

static adept_status bind_all(adept_interp *in)
{
    const adept_graph *g = in->graph;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < g->n_inputs && !status; i++) {
        const adept_graph_input *input = &g->inputs[i];
        adept_value *out = &in->env[input->value];
        if (in->dict_of[i] >= 0) continue;
        if (input->constant.kind == ADEPT_VALUE_UNSET || find_given(in, i, "", true))
            status = bind_part(in, i, type_of(input), "", 0, out);
        else if (!adept_interp_constant(in, out, &input->constant))
            status = adept_interp_nomem(in);
    }
    for (size_t i = 0; i < in->n_given && !status; i++)
        if (!in->given[i].used && !in->given[i].replaced)
            return bad_input(in, full_name(in, (size_t)in->given[i].input, in->given[i].part),
                             "nothing takes it: the elements of a list are counted from 0%s", "");
    note_batch(in, 1);
    return status;
}

adept_status adept_interp_bind_inputs(adept_interp *in)
{
    const adept_graph *g = in->graph;
    int32_t *dict_of = adept_arena_array(in->run.arena, g->n_inputs + 1, sizeof *dict_of), dict = -1;
    if (!dict_of) return adept_interp_nomem(in);
    for (size_t i = g->n_inputs; i-- > 0;) { /* the parts of a dict stand before it */
        if (g->inputs[i].type) dict = (int32_t)i;
        bool part = dict > (int32_t)i && is_part(g->inputs[i].name, g->inputs[dict].name) &&
                    strcmp(g->inputs[i].name, g->inputs[dict].name) != 0;
        dict_of[i] = part ? dict : -1;
    }
    in->dict_of = dict_of;
    adept_status status = in->given_of ? ADEPT_OK : choose(in);
    if (!status) status = apply_length(in);
    if (!status) status = apply_batch(in);
    return status ? status : bind_all(in);
}

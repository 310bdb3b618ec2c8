#include "graph_text.h"
#include "adept_profile.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 400
#define MAX_ITEMS 32

typedef struct state {
    adept_graph_builder *b;
    struct {
        char name[64];
        int32_t value, param; /* param >= 0: a reference is made at each use */
    } names[MAX_NAMES];
    int n_names;
    int32_t module;
    int32_t condition; /* of the open prim::If */
    int32_t results[MAX_ITEMS];
    char path[256];
    const char *hints[MAX_ITEMS]; /* in the copy of the text */
    size_t n_hints;
    int64_t batch, length;
    adept_error err;
    const char *line;
} state;

static void die(const state *s, const char *what)
{
    fprintf(stderr, "graph_text: %s: %s: %s\n", what, s->line, s->err.message);
    abort();
}

static void define(state *s, const char *name, int32_t value, int32_t param)
{
    if (s->n_names == MAX_NAMES) die(s, "too many names");
    snprintf(s->names[s->n_names].name, sizeof s->names[0].name, "%s", name);
    s->names[s->n_names].value = value;
    s->names[s->n_names++].param = param;
}

static int32_t lookup(state *s, const char *name)
{
    for (int i = s->n_names - 1; i >= 0; i--) {
        if (strcmp(s->names[i].name, name)) continue;
        if (s->names[i].param < 0) return s->names[i].value;
        return adept_graph_builder_param_ref(s->b, s->module, s->names[i].param, &s->err);
    }
    die(s, name);
    return -1;
}

static int32_t constant(state *s, adept_value v)
{
    int32_t value = adept_graph_builder_constant(s->b, s->module, &v, &s->err);
    if (value < 0) die(s, "constant");
    return value;
}

static int32_t node(state *s, const char *op, int n_inputs, const int32_t *inputs, const char *const *names,
                    int n_outputs, int32_t *outputs)
{
    for (int i = 0; i < n_outputs; i++)
        outputs[i] = adept_graph_builder_value(s->b);
    adept_node_desc desc = {.op = op, .overload = "", .module = s->module, .n_inputs = n_inputs, .inputs = inputs,
                            .input_names = names, .n_outputs = n_outputs, .outputs = outputs, .param = -1};
    if (adept_graph_builder_node(s->b, &desc, &s->err)) die(s, "node");
    return n_outputs ? outputs[0] : -1;
}

/* "a, b" or "a, b)" up to the closing character; returns how many parts; commas inside brackets do not split */
static int split(char *text, char **parts)
{
    int n = 0, depth = 0;
    bool quoted = false;
    char *start = text;
    for (char *p = text;; p++) {
        if (*p == '"') quoted = !quoted;
        depth += !quoted * ((*p == '[') - (*p == ']'));
        bool end = *p == 0;
        if (end || (*p == ',' && depth == 0 && !quoted)) {
            *p = 0;
            while (*start == ' ')
                start++;
            char *last = p;
            while (last > start && last[-1] == ' ')
                *--last = 0;
            if (*start) parts[n++] = start;
            start = p + 1;
        }
        if (end || n == MAX_ITEMS) return n;
    }
}

static int32_t parse_value(state *s, char *text)
{
    char *parts[MAX_ITEMS];
    int32_t items[MAX_ITEMS], out;
    if (text[0] == '[') {
        text[strlen(text) - 1] = 0;
        int n = split(text + 1, parts);
        for (int i = 0; i < n; i++)
            items[i] = parse_value(s, parts[i]);
        return node(s, "prim::ListConstruct", n, items, NULL, 1, &out);
    }
    if (text[0] == '"') {
        text[strlen(text) - 1] = 0;
        return constant(s, (adept_value){ADEPT_VALUE_STRING, {.s = text + 1}});
    }
    if (!strcmp(text, "none")) return constant(s, (adept_value){ADEPT_VALUE_NONE, {.i = 0}});
    if (!strcmp(text, "true")) return constant(s, (adept_value){ADEPT_VALUE_BOOL, {.b = true}});
    if (!strcmp(text, "false")) return constant(s, (adept_value){ADEPT_VALUE_BOOL, {.b = false}});
    if (isdigit((unsigned char)text[0]) || text[0] == '-') {
        if (strpbrk(text, ".e")) return constant(s, (adept_value){ADEPT_VALUE_FLOAT, {.f = atof(text)}});
        return constant(s, (adept_value){ADEPT_VALUE_INT, {.i = atoll(text)}});
    }
    return lookup(s, text);
}

static void parse_shape(const state *s, const char *text, adept_dtype *dtype, int *ndim, int64_t *dims)
{
    adept_input_spec spec;
    if (adept_input_spec_parse(&spec, text, NULL)) die(s, "shape");
    *dtype = spec.dtype;
    *ndim = spec.ndim;
    memcpy(dims, spec.dims, sizeof spec.dims);
}

static void do_input(state *s, const char *rest)
{
    char name[64] = "", shape[128] = "";
    sscanf(rest, "%63s %127s", name, shape);
    adept_graph_input input = {.name = name, .value = adept_graph_builder_value(s->b)};
    if (!strcmp(shape, "none"))
        input.constant.kind = ADEPT_VALUE_NONE;
    else if (shape[0]) {
        input.has_shape = true;
        parse_shape(s, shape, &input.dtype, &input.ndim, input.dims);
    }
    input.channels_last = strstr(rest, " channels_last") != NULL;
    if (adept_graph_builder_input(s->b, &input) < 0) die(s, "input");
    define(s, name, input.value, -1);
}

static void do_param(state *s, const char *rest)
{
    char name[64] = "", shape[128] = "";
    sscanf(rest, "%63s %127s", name, shape);
    adept_param p = {.name = name,
                     .requires_grad = strstr(rest, " grad") != NULL,
                     .is_buffer = strstr(rest, " buffer") != NULL,
                     .channels_last = strstr(rest, " channels_last") != NULL,
                     .row_major = strstr(rest, " row_major") != NULL};
    parse_shape(s, shape, &p.dtype, &p.ndim, p.dims);
    char *stored = strchr(shape, '#'), *end = NULL;
    if (stored) {
        p.stored = strtoll(stored + 1, &end, 10);
        p.sparse = *end == 'r' ? ADEPT_CSR : ADEPT_COO;
    }
    p.n_names = 1;
    int32_t index = adept_graph_builder_param(s->b, &p);
    if (index < 0) die(s, "param");
    if (strstr(rest, " tied")) adept_graph_builder_param_alias(s->b, index);
    define(s, name, -1, index);
}

static void do_node(state *s, char *line)
{
    char *place = strstr(line, " @ "), *equals = strstr(line, " = "), *names[MAX_ITEMS], *parts[MAX_ITEMS];
    const char *arg_names[MAX_ITEMS];
    int32_t inputs[MAX_ITEMS], outputs[MAX_ITEMS];
    char path[100] = "", class_name[100] = "";
    s->module = 0;
    if (place) {
        sscanf(place + 3, "%99s %99s", path, class_name);
        *place = 0;
        s->module = adept_graph_builder_module(s->b, path, class_name);
    }
    char *call = line;
    int n_out = 0;
    if (equals) {
        *equals = 0;
        n_out = split(line, names);
        call = equals + 3;
    }
    char *open = strchr(call, '('), *close = strrchr(call, ')');
    if (!open || !close) die(s, "no call");
    *open = *close = 0;
    int n_in = split(open + 1, parts);
    for (int i = 0; i < n_in; i++) {
        char *value = parts[i];
        size_t length = strcspn(value, "=[\"");
        arg_names[i] = NULL;
        if (value[length] == '=') {
            value[length] = 0;
            arg_names[i] = value;
            value += length + 1;
        }
        inputs[i] = parse_value(s, value);
    }
    node(s, call, n_in, inputs, arg_names, n_out, outputs);
    for (int i = 0; i < n_out; i++)
        define(s, names[i], outputs[i], -1);
}

static int collect(state *s, char *rest, int32_t *values)
{
    char *parts[MAX_ITEMS];
    int n = split(rest, parts);
    for (int i = 0; i < n; i++)
        values[i] = parse_value(s, parts[i]);
    return n;
}

/* prim::If with one result; nesting is not needed by the tests */
static void do_if(state *s, const char *name)
{
    s->condition = lookup(s, name);
    node(s, "prim::If", 1, &s->condition, NULL, 1, s->results);
    if (adept_graph_builder_block_begin(s->b, 0, NULL, &s->err)) die(s, "if");
}

static void do_yields(state *s, char *rest)
{
    int32_t values[MAX_ITEMS];
    int n = collect(s, rest, values);
    if (adept_graph_builder_block_end(s->b, n, values, &s->err)) die(s, "yields");
}

/* What the file says of itself. @return false if the line is none of these */
static bool do_fact(state *s, const char *line)
{
    long long number;
    if (sscanf(line, "file %255[^\n]", s->path) == 1) return true;
    if (sscanf(line, "batch %lld", &number) == 1) {
        s->batch = number;
    } else if (sscanf(line, "length %lld", &number) == 1) {
        s->length = number;
    } else if (!strncmp(line, "hint ", 5) && s->n_hints < MAX_ITEMS) {
        s->hints[s->n_hints++] = line + 5;
    } else {
        return false;
    }
    return true;
}

static void keep_facts(const state *s, adept_graph *graph)
{
    graph->path = adept_arena_strdup(graph->arena, *s->path ? s->path : "test");
    graph->hint_batch = s->batch;
    graph->hint_seq_length = s->length;
    graph->n_hint_specs = s->n_hints;
    graph->hint_specs = adept_arena_array(graph->arena, s->n_hints, sizeof *graph->hint_specs);
    if (!graph->path || !graph->hint_specs) die(s, "out of memory");
    for (size_t i = 0; i < s->n_hints; i++)
        graph->hint_specs[i] = adept_arena_strdup(graph->arena, s->hints[i]);
}

adept_graph *graph_text(const char *text)
{
    state s = {.b = adept_graph_builder_new()};
    adept_graph *graph = NULL;
    char *copy = strdup(text), *save = NULL;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        while (*line == ' ')
            line++;
        s.line = line;
        int32_t values[MAX_ITEMS];
        if (!*line || do_fact(&s, line)) continue;
        if (!strncmp(line, "input ", 6)) {
            do_input(&s, line + 6);
        } else if (!strncmp(line, "param ", 6)) {
            do_param(&s, line + 6);
        } else if (!strncmp(line, "if ", 3)) {
            do_if(&s, line + 3);
        } else if (!strncmp(line, "yields ", 7)) {
            do_yields(&s, line + 7);
        } else if (!strcmp(line, "else")) {
            if (adept_graph_builder_block_begin(s.b, 0, NULL, &s.err)) die(&s, "else");
        } else if (!strncmp(line, "end -> ", 7)) {
            define(&s, line + 7, s.results[0], -1);
        } else if (!strncmp(line, "return ", 7)) {
            int n = collect(&s, line + 7, values);
            if (adept_graph_builder_finish(s.b, n, values, &graph, &s.err)) die(&s, "return");
        } else {
            do_node(&s, line);
        }
    }
    if (!graph) die(&s, "no return");
    keep_facts(&s, graph);
    free(copy);
    return graph;
}

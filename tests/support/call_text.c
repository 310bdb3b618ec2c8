#include "call_text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 32

typedef struct parser {
    const char *p;
    adept_run_state *run;
    adept_workload_words *words;
    const char *error;
} parser;

static void skip_space(parser *s)
{
    while (*s->p == ' ')
        s->p++;
}

static bool accept(parser *s, char c)
{
    skip_space(s);
    if (*s->p != c) return false;
    s->p++;
    return true;
}

static adept_value parse_value(parser *s);

static adept_value parse_list(parser *s)
{
    adept_list *list = adept_arena_alloc(s->run->arena, sizeof *list);
    list->capacity = 64;
    list->items = adept_arena_array(s->run->arena, list->capacity, sizeof *list->items);
    while (!s->error && !accept(s, ']')) {
        if (list->n == list->capacity || !*s->p) {
            s->error = "unterminated or too long list";
            break;
        }
        list->items[list->n++] = parse_value(s);
        accept(s, ',');
    }
    return (adept_value){ADEPT_VALUE_LIST, {.list = list}};
}

static adept_value parse_string(parser *s)
{
    const char *end = strchr(s->p, '"');
    if (!end) {
        s->error = "unterminated string";
        return (adept_value){ADEPT_VALUE_NONE, {.i = 0}};
    }
    char *copy = adept_arena_strndup(s->run->arena, s->p, (size_t)(end - s->p));
    s->p = end + 1;
    return (adept_value){ADEPT_VALUE_STRING, {.s = copy}};
}

static adept_value parse_tensor(parser *s, adept_dtype dtype)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int ndim = 0;
    while (isdigit((unsigned char)*s->p) && ndim < ADEPT_MAX_DIMS) {
        dims[ndim++] = strtoll(s->p, (char **)&s->p, 10);
        if (*s->p == 'x') s->p++;
    }
    adept_tensor *t = adept_run_tensor_new(s->run, dtype, ndim, dims, -1);
    if (*s->p == '^' && ndim >= 2) {
        s->p++;
        t->strides[ndim - 2] = 1;
        t->strides[ndim - 1] = dims[ndim - 2];
    }
    if (*s->p == '=') {
        double *value = adept_arena_alloc(s->run->arena, sizeof *value);
        *value = strtod(s->p + 1, (char **)&s->p);
        t->values = value;
        t->n_values = 1;
    }
    if (*s->p == '#') {
        int64_t stored = strtoll(s->p + 1, (char **)&s->p, 10);
        adept_run_make_sparse(s->run, t, *s->p == 'r' ? ADEPT_CSR : ADEPT_COO, stored);
        s->p += *s->p == 'r';
    }
    if (*s->p == '*') {
        s->p++;
        t->requires_grad = true;
    }
    return (adept_value){ADEPT_VALUE_TENSOR, {.t = t}};
}

static adept_value parse_number(parser *s)
{
    char *end_i, *end_f;
    long long i = strtoll(s->p, &end_i, 10);
    double f = strtod(s->p, &end_f);
    if (end_f == s->p) {
        s->error = "not a value";
        return (adept_value){ADEPT_VALUE_NONE, {.i = 0}};
    }
    bool is_int = end_i == end_f;
    s->p = end_f;
    if (accept(s, 'j')) {
        double *z = adept_arena_array(s->run->arena, 2, sizeof *z);
        if (!z) abort();
        z[0] = 0, z[1] = f;
        return (adept_value){ADEPT_VALUE_COMPLEX, {.z = z}};
    }
    return is_int ? (adept_value){ADEPT_VALUE_INT, {.i = i}} : (adept_value){ADEPT_VALUE_FLOAT, {.f = f}};
}

static adept_value parse_value(parser *s)
{
    if (accept(s, '[')) return parse_list(s);
    if (accept(s, '"')) return parse_string(s);
    size_t n = 0;
    while (isalnum((unsigned char)s->p[n]))
        n++;
    if (s->p[n] == ':') {
        adept_dtype dtype = adept_dtype_from_name(s->p, n);
        if (dtype != ADEPT_DTYPE_NONE) {
            s->p += n + 1;
            return parse_tensor(s, dtype);
        }
        s->error = "unknown element type";
    }
    const struct {
        const char *word;
        adept_value value;
    } words[] = {{"true", {ADEPT_VALUE_BOOL, {.b = true}}},
                 {"false", {ADEPT_VALUE_BOOL, {.b = false}}},
                 {"none", {ADEPT_VALUE_NONE, {.i = 0}}},
                 {"unknown", {ADEPT_VALUE_UNKNOWN, {.i = 0}}}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == strlen(words[i].word) && !memcmp(s->p, words[i].word, n)) {
            s->p += n;
            return words[i].value;
        }
    return parse_number(s);
}

static void parse_flags(parser *s)
{
    while (accept(s, '@')) {
        if (!strncmp(s->p, "infer", 5))
            s->run->mode = ADEPT_MODE_INFER, s->p += 5;
        else if (!strncmp(s->p, "eager", 5))
            s->words->attention = ADEPT_ATTENTION_EAGER, s->p += 5;
        else if (!strncmp(s->p, "fused", 5))
            s->words->attention = ADEPT_ATTENTION_FUSED, s->p += 5;
        else
            s->error = "unknown flag";
    }
    if (*s->p && strncmp(s->p, "->", 2)) s->error = "text behind the call";
}

static const char *parse_call(call_text *t, const adept_handler_table *table, const char *text)
{
    parser s = {text, &t->run, &t->words, NULL};
    char op[100];
    const char *open = strchr(text, '(');
    if (!open || (size_t)(open - text) >= sizeof op) return "no operator name";
    snprintf(op, sizeof op, "%.*s", (int)(open - text), text);
    adept_value *args = adept_arena_array(t->run.arena, MAX_ARGS, sizeof *args);
    const char **names = adept_arena_array(t->run.arena, MAX_ARGS, sizeof *names);
    int n = 0;
    s.p = open + 1;
    while (!s.error && !accept(&s, ')')) {
        size_t length = 0;
        skip_space(&s);
        while (isalnum((unsigned char)s.p[length]) || s.p[length] == '_')
            length++;
        bool named = length > 0 && s.p[length] == '=';
        if (n == MAX_ARGS || !*s.p) return "too many arguments or no ')'";
        if (named) {
            names[n] = adept_arena_strndup(t->run.arena, s.p, length);
            s.p += length + 1;
        }
        args[n++] = parse_value(&s);
        accept(&s, ',');
    }
    if (!s.error) parse_flags(&s);
    if (s.error) return s.error;
    t->call = (adept_call){.run = &t->run, .n_args = n, .args = args, .arg_names = names};
    if (!adept_handler_find(table, op, &t->call.handler, &t->call.row, &t->call.inplace)) return "no handler";
    t->call.op = adept_arena_strndup(t->run.arena, op, strlen(op) - t->call.inplace);
    return NULL;
}

const char *call_text_run(call_text *t, const adept_handler_table *table, const char *text)
{
    memset(t, 0, sizeof *t);
    t->run.arena = adept_arena_new();
    t->run.words = &t->words;
    const char *error = parse_call(t, table, text);
    if (error) return error;
    if (t->run.mode == ADEPT_MODE_INFER) {
        /* nothing requires a gradient in infer, as the interpreter sees to */
        for (int i = 0; i < t->call.n_args; i++)
            if (t->call.args[i].kind == ADEPT_VALUE_TENSOR) t->call.args[i].u.t->requires_grad = false;
    }
    adept_tensor_cursor at = adept_call_arguments(&t->call);
    for (const adept_tensor *tensor; (tensor = adept_next_tensor(&at));)
        t->call.any_grad = t->call.any_grad || tensor->requires_grad;
    adept_call_demand(&t->call, adept_demand_of(table->demands, t->call.row));
    if (t->call.failure == ADEPT_CALL_FINE) t->call.handler->shape(&t->call);
    if (t->call.failure == ADEPT_CALL_FINE && table->values) table->values(&t->call);
    if (t->call.failure != ADEPT_CALL_FINE) return t->run.message;
    t->cost = (adept_cost){.call = &t->call, .backward = t->call.any_grad};
    if (t->call.handler->cost) t->call.handler->cost(&t->call, &t->cost);
    return t->call.failure == ADEPT_CALL_FINE ? NULL : t->run.message;
}

void call_text_free(call_text *t)
{
    adept_run_state_free(&t->run);
    adept_arena_free(t->run.arena);
}

static size_t print_value(const adept_value *v, char *text, size_t size)
{
    char shape[200];
    switch (v->kind) {
    case ADEPT_VALUE_TENSOR: return (size_t)snprintf(text, size, "%s", adept_tensor_print(v->u.t, shape, sizeof shape));
    case ADEPT_VALUE_INT: return (size_t)snprintf(text, size, "i:%lld", (long long)v->u.i);
    case ADEPT_VALUE_FLOAT: return (size_t)snprintf(text, size, "f:%g", v->u.f);
    case ADEPT_VALUE_COMPLEX: return (size_t)snprintf(text, size, "z:%g%+gj", v->u.z[0], v->u.z[1]);
    case ADEPT_VALUE_BOOL: return (size_t)snprintf(text, size, "b:%s", v->u.b ? "true" : "false");
    case ADEPT_VALUE_STRING: return (size_t)snprintf(text, size, "\"%s\"", v->u.s);
    case ADEPT_VALUE_NONE: return (size_t)snprintf(text, size, "none");
    case ADEPT_VALUE_LIST:
    case ADEPT_VALUE_TUPLE: {
        size_t used = (size_t)snprintf(text, size, v->kind == ADEPT_VALUE_LIST ? "[" : "(");
        for (size_t i = 0; i < v->u.list->n && used < size; i++) {
            used += (size_t)snprintf(text + used, size - used, "%s", i ? ", " : "");
            if (used < size) used += print_value(&v->u.list->items[i], text + used, size - used);
        }
        if (used < size) used += (size_t)snprintf(text + used, size - used, v->kind == ADEPT_VALUE_LIST ? "]" : ")");
        return used;
    }
    default: return (size_t)snprintf(text, size, "?");
    }
}

void call_text_print(const call_text *t, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < t->call.n_results && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s", i ? ", " : "");
        if (used < size) used += print_value(&t->call.results[i], text + used, size - used);
    }
}

call_counts call_text_counts(const call_text *t, adept_pass pass)
{
    call_counts c = {0};
    for (size_t i = 0; i < t->cost.n_kernels; i++) {
        const adept_kernel *k = &t->cost.kernels[i];
        if (k->pass != pass) continue;
        if (k->unit == ADEPT_UNIT_GEMM)
            c.gemm += k->flops;
        else if (k->unit == ADEPT_UNIT_CONV)
            c.conv += k->flops;
        else
            c.alu += k->flops;
        c.alu += k->flops_alu;
        c.read += k->bytes_read;
        c.written += k->bytes_written;
        c.launches += k->launches;
    }
    return c;
}

int call_text_differing(const adept_handler_table *table, const char *const (*rows)[2], size_t n)
{
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        call_text t;
        char found[400] = "";
        const char *error = call_text_run(&t, table, rows[i][0]);
        if (!error) call_text_print(&t, found, sizeof found);
        if (strcmp(found, rows[i][1]) != 0) {
            fprintf(stderr, "%s: %s, not %s\n", rows[i][0], error ? error : found, rows[i][1]);
            bad++;
        }
        call_text_free(&t);
    }
    return bad;
}

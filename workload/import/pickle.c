/** @file pickle.c  A pickle machine that only records. Opcodes: Python's Lib/pickletools.py; which of them torch.jit
 *  uses: torch/csrc/jit/serialization/pickler.cpp and unpickler.cpp. Calls: adept_arena. */
#include "pickle.h"
#include "adept_grow.h"
#include <stdlib.h>
#include <string.h>

/* A hostile pickle makes 60 bytes of each of its own. About 1 KB is what a tensor takes. */
#define MAX_CONTAINER_BYTES ((size_t)256 << 20)
#define MAX_ARRAY_BYTES ((size_t)64 << 20)

#define MEMO_FREE UINT32_MAX /* n_bytes of an unused place of the memo: no text is that long */

typedef struct machine {
    const unsigned char *data;
    size_t size, at, opcode_at;
    adept_arena *arena;
    adept_pickle_value *stack, *memo; /* malloc'ed */
    size_t n_stack, stack_capacity, memo_capacity;
    size_t *marks; /* malloc'ed: heights of the stack */
    size_t n_marks, marks_capacity;
    adept_pickle_items *containers;
    const char *fault; /* first thing wrong; the machine stops */
    bool no_memory, stopped;
} machine;

static void fail(machine *m, const char *fault)
{
    if (!m->fault) m->fault = fault;
}

static void fail_size(machine *m)
{
    fail(m, "makes more values than any model has");
}

static void fail_memory(machine *m)
{
    if (adept_arena_is_full(m->arena)) {
        fail_size(m);
        return;
    }
    m->no_memory = true;
    fail(m, "out of memory");
}

/* ---- growing arrays ---- */

static bool grow(machine *m, void **array, size_t n, size_t *capacity, size_t element_bytes)
{
    if (n >= MAX_ARRAY_BYTES / element_bytes) {
        fail_size(m);
        return false;
    }
    void *grown = adept_grow(*array, capacity, n + 1, element_bytes);
    if (grown)
        *array = grown;
    else
        fail_memory(m);
    return grown != NULL;
}

static void push(machine *m, adept_pickle_value v)
{
    if (grow(m, (void **)&m->stack, m->n_stack, &m->stack_capacity, sizeof *m->stack)) m->stack[m->n_stack++] = v;
}

static size_t floor_of_stack(const machine *m)
{
    return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

/* Never takes what lies below the innermost mark: that is what crashes careless readers. */
static adept_pickle_value pop(machine *m)
{
    if (m->n_stack <= floor_of_stack(m)) {
        fail(m, "takes a value from an empty stack");
        return (adept_pickle_value){ADEPT_PICKLE_NONE, 0, {0}};
    }
    return m->stack[--m->n_stack];
}

static adept_pickle_value *top(machine *m)
{
    if (m->n_stack > floor_of_stack(m)) return &m->stack[m->n_stack - 1];
    fail(m, "uses a value of an empty stack");
    return NULL;
}

/* ---- containers ---- */

static void append(machine *m, adept_pickle_items *items, const adept_pickle_value *values, size_t n)
{
    if (m->fault || n == 0) return;
    adept_pickle_value *grown =
        adept_arena_grow(m->arena, items->values, &items->capacity, items->n + n, sizeof *grown);
    if (!grown) {
        fail_memory(m);
        return;
    }
    items->values = grown;
    memcpy(items->values + items->n, values, n * sizeof *values);
    items->n += n;
}

/* Forget the innermost mark; how many values stand above it. */
static size_t take_mark(machine *m)
{
    if (m->n_marks == 0) {
        fail(m, "uses a mark that was never set");
        return 0;
    }
    return m->n_stack - m->marks[--m->n_marks];
}

/* What an opcode makes or fills, and with how many values, in one number. */
#define OF(kind, n) ((kind)*8 + (n))
#define MARKED 7 /* all above the mark */

static size_t count_of(machine *m, int arg)
{
    return arg % 8 == MARKED ? take_mark(m) : (size_t)(arg % 8);
}

/* The last values become a container. */
static void gather(machine *m, int arg)
{
    size_t n = count_of(m, arg);
    if (m->n_stack - floor_of_stack(m) < n) {
        fail(m, "takes a value from an empty stack");
        return;
    }
    adept_pickle_kind kind = (adept_pickle_kind)(arg / 8);
    adept_pickle_value v = {kind, 0, {0}};
    v.u.items = adept_arena_alloc(m->arena, sizeof *v.u.items);
    if (v.u.items) {
        v.u.items->next = m->containers;
        m->containers = v.u.items;
    } else {
        fail_memory(m);
    }
    if (m->fault) return;
    m->n_stack -= n;
    if (n > 0) append(m, v.u.items, m->stack + m->n_stack, n); /* the stack may be NULL when nothing was pushed */
    push(m, v);
}

/* The last values go into the container below them. */
static void put_into(machine *m, int arg)
{
    adept_pickle_kind kind = (adept_pickle_kind)(arg / 8);
    size_t n = count_of(m, arg);
    if (m->fault) return;
    if (m->n_stack - floor_of_stack(m) < n + 1) {
        fail(m, "has no container to put values into");
        return;
    }
    adept_pickle_value *into = &m->stack[m->n_stack - n - 1];
    if (into->kind != kind && into->kind != ADEPT_PICKLE_OBJECT) {
        fail(m, "puts values into something that is not a container");
    } else if (kind == ADEPT_PICKLE_DICT && n % 2 != 0) {
        fail(m, "puts a key without a value into a dictionary");
    } else {
        m->n_stack -= n;
        append(m, into->u.items, m->stack + m->n_stack, n);
    }
}

/* ---- arguments of opcodes ---- */

static const unsigned char *take(machine *m, size_t n)
{
    if (n > m->size - m->at) {
        fail(m, "ends within an opcode");
        return NULL;
    }
    m->at += n;
    return m->data + m->at - n;
}

static uint64_t take_number(machine *m, size_t n)
{
    const unsigned char *bytes = take(m, n);
    uint64_t v = 0;
    for (size_t i = bytes ? n : 0; i > 0; i--)
        v = v << 8 | bytes[i - 1];
    return v;
}

static void push_int(machine *m, int64_t i)
{
    push(m, (adept_pickle_value){ADEPT_PICKLE_INT, 0, {.i = i}});
}

static void push_bool(machine *m, int b)
{
    push(m, (adept_pickle_value){ADEPT_PICKLE_BOOL, 0, {.b = b != 0}});
}

/* Little-endian two's complement of up to 8 bytes. @param n_bytes 0: another byte says how many */
static void push_long(machine *m, int n_bytes)
{
    size_t n = n_bytes ? (size_t)n_bytes : (size_t)take_number(m, 1);
    if (n > 8) {
        fail(m, "holds an integer of more than 64 bits");
        return;
    }
    uint64_t v = take_number(m, n);
    if (n > 0 && n < 8 && (v >> (8 * n - 1)) & 1) v |= UINT64_MAX << (8 * n);
    push_int(m, (int64_t)v);
}

static void push_float(machine *m, int unused)
{
    (void)unused;
    const unsigned char *bytes = take(m, 8); /* big-endian, unlike everything else */
    uint64_t bits = 0;
    for (size_t i = 0; bytes && i < 8; i++)
        bits = bits << 8 | bytes[i];
    double f;
    memcpy(&f, &bits, sizeof f);
    push(m, (adept_pickle_value){ADEPT_PICKLE_FLOAT, 0, {.f = f}});
}

/* Of a length that so many bytes say. */
static void push_text(machine *m, int n_bytes)
{
    uint64_t n = take_number(m, (size_t)n_bytes);
    if (n >= MEMO_FREE || n > m->size - m->at) {
        fail(m, "ends within a string");
        return;
    }
    const char *text = (const char *)take(m, (size_t)n);
    push(m, (adept_pickle_value){ADEPT_PICKLE_TEXT, (uint32_t)n, {.text = text}});
}

static void push_global(machine *m, int unused)
{
    (void)unused;
    const unsigned char *begin = m->data + m->at;
    const unsigned char *line = memchr(begin, '\n', m->size - m->at);
    const unsigned char *end = line ? memchr(line + 1, '\n', (size_t)(m->data + m->size - line - 1)) : NULL;
    if (!end || end - begin > 65536) {
        fail(m, "ends within a name");
        return;
    }
    push(m, (adept_pickle_value){ADEPT_PICKLE_GLOBAL, (uint32_t)(end - begin), {.text = (const char *)begin}});
    m->at += (size_t)(end - begin) + 1;
}

/* ---- memo ---- */

static void memo_put(machine *m, int n_bytes)
{
    uint64_t index = take_number(m, (size_t)n_bytes);
    adept_pickle_value *v = top(m);
    if (!v) return;
    if (index >= m->size) { /* every entry takes bytes to make */
        fail(m, "numbers a value beyond its own size");
        return;
    }
    size_t old = m->memo_capacity;
    if (!grow(m, (void **)&m->memo, (size_t)index, &m->memo_capacity, sizeof *m->memo)) return;
    for (size_t i = old; i < m->memo_capacity; i++)
        m->memo[i].n_bytes = MEMO_FREE;
    m->memo[index] = *v;
}

static void memo_get(machine *m, int n_bytes)
{
    uint64_t index = take_number(m, (size_t)n_bytes);
    if (index >= m->memo_capacity || m->memo[index].n_bytes == MEMO_FREE) {
        fail(m, "refers to a value that was never numbered");
        return;
    }
    push(m, m->memo[index]);
}

/* ---- opcodes ---- */

static void set_mark(machine *m, int unused)
{
    (void)unused;
    if (grow(m, (void **)&m->marks, m->n_marks, &m->marks_capacity, sizeof *m->marks)) {
        m->marks[m->n_marks++] = m->n_stack;
    }
}

static void build(machine *m, int unused)
{
    (void)unused;
    adept_pickle_value state = pop(m), *object = top(m);
    if (m->fault) return;
    if (object->kind != ADEPT_PICKLE_OBJECT)
        fail(m, "sets the state of something that is not an object");
    else
        append(m, object->u.items, &state, 1);
}

static void push_none(machine *m, int unused)
{
    (void)unused;
    push(m, (adept_pickle_value){ADEPT_PICKLE_NONE, 0, {0}});
}

static void push_unsigned(machine *m, int n_bytes)
{
    push_int(m, (int64_t)take_number(m, (size_t)n_bytes));
}

static void drop(machine *m, int unused)
{
    (void)unused;
    pop(m);
}

static void protocol(machine *m, int latest)
{
    if (take_number(m, 1) > (uint64_t)latest) fail(m, "has an unknown protocol version");
}

static void stop(machine *m, int unused)
{
    (void)unused;
    m->stopped = true;
}

static const struct opcode {
    void (*run)(machine *m, int arg);
    int arg;
} opcodes[256] = {
    ['('] = {set_mark, 0},
    [')'] = {gather, OF(ADEPT_PICKLE_TUPLE, 0)},
    [']'] = {gather, OF(ADEPT_PICKLE_LIST, 0)},
    ['}'] = {gather, OF(ADEPT_PICKLE_DICT, 0)},
    [0x85] = {gather, OF(ADEPT_PICKLE_TUPLE, 1)},
    [0x86] = {gather, OF(ADEPT_PICKLE_TUPLE, 2)},
    [0x87] = {gather, OF(ADEPT_PICKLE_TUPLE, 3)},
    ['R'] = {gather, OF(ADEPT_PICKLE_OBJECT, 2)},  /* REDUCE */
    [0x81] = {gather, OF(ADEPT_PICKLE_OBJECT, 2)}, /* NEWOBJ */
    ['Q'] = {gather, OF(ADEPT_PICKLE_PERSISTENT, 1)},
    ['t'] = {gather, OF(ADEPT_PICKLE_TUPLE, MARKED)},
    ['l'] = {gather, OF(ADEPT_PICKLE_LIST, MARKED)},
    ['a'] = {put_into, OF(ADEPT_PICKLE_LIST, 1)},      /* APPEND */
    ['e'] = {put_into, OF(ADEPT_PICKLE_LIST, MARKED)}, /* APPENDS */
    ['s'] = {put_into, OF(ADEPT_PICKLE_DICT, 2)},      /* SETITEM */
    ['u'] = {put_into, OF(ADEPT_PICKLE_DICT, MARKED)}, /* SETITEMS */
    ['b'] = {build, 0},
    ['N'] = {push_none, 0},
    [0x88] = {push_bool, true},
    [0x89] = {push_bool, false},
    ['K'] = {push_unsigned, 1}, /* BININT1 */
    ['M'] = {push_unsigned, 2}, /* BININT2 */
    ['J'] = {push_long, 4},     /* BININT */
    [0x8a] = {push_long, 0},    /* LONG1 */
    ['G'] = {push_float, 0},
    ['U'] = {push_text, 1},  /* SHORT_BINSTRING */
    [0x8c] = {push_text, 1}, /* SHORT_BINUNICODE */
    ['T'] = {push_text, 4},  /* BINSTRING */
    ['X'] = {push_text, 4},  /* BINUNICODE */
    [0x8d] = {push_text, 8}, /* BINUNICODE8 */
    ['c'] = {push_global, 0},
    ['q'] = {memo_put, 1},
    ['r'] = {memo_put, 4},
    ['h'] = {memo_get, 1},
    ['j'] = {memo_get, 4},
    ['0'] = {drop, 0},
    [0x80] = {protocol, 5},
    ['.'] = {stop, 0},
};

/* ---- nesting ---- */

enum { UNSEEN = 0, OPEN = UINT32_MAX }; /* values of items->depth while it is being computed */

/* Leaves depth in every container; `level` is how deep this one is, which bounds the recursion. */
static void measure(machine *m, adept_pickle_items *items, uint32_t level)
{
    uint32_t deepest = 0;
    items->depth = OPEN;
    if (level > ADEPT_PICKLE_MAX_DEPTH) fail(m, "nests values too deeply");
    for (size_t i = 0; i < items->n && !m->fault; i++) {
        const adept_pickle_value *child = &items->values[i];
        if (child->kind < ADEPT_PICKLE_TUPLE) continue;
        if (child->u.items->depth == OPEN) fail(m, "has a value that contains itself");
        if (child->u.items->depth == UNSEEN) measure(m, child->u.items, level + 1);
        if (child->u.items->depth > deepest) deepest = child->u.items->depth;
    }
    if (deepest >= ADEPT_PICKLE_MAX_DEPTH) fail(m, "nests values too deeply");
    items->depth = deepest + 1;
}

/* ---- the whole ---- */

static adept_status result(machine *m, adept_pickle_value *out, const char *name, adept_error *err)
{
    if (m->no_memory) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
    if (m->fault) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: byte %zu: the pickle %s", name, m->opcode_at, m->fault);
    }
    *out = m->stack[m->n_stack - 1];
    return ADEPT_OK;
}

adept_status adept_pickle_parse(adept_pickle_value *out, adept_arena *arena, const char *name, const void *data,
                                size_t size, adept_error *err)
{
    machine m = {.data = data, .size = size, .arena = arena};
    adept_arena_limit(arena, MAX_CONTAINER_BYTES);
    while (!m.fault && !m.stopped) {
        m.opcode_at = m.at;
        const struct opcode *op = m.at < size ? &opcodes[m.data[m.at++]] : NULL;
        if (!op)
            fail(&m, "has no end");
        else if (!op->run)
            fail(&m, "has an opcode that torch.jit never writes");
        else
            op->run(&m, op->arg);
    }
    if (!m.fault && (m.n_stack != 1 || m.n_marks != 0)) fail(&m, "does not end with one value");
    if (!m.fault) {
        for (adept_pickle_items *items = m.containers; items && !m.fault; items = items->next)
            if (items->depth == UNSEEN) measure(&m, items, 1);
    }
    adept_status status = result(&m, out, name, err);
    free(m.stack);
    free(m.memo);
    free(m.marks);
    return status;
}

bool adept_pickle_is(const adept_pickle_value *v, adept_pickle_kind kind, const char *text)
{
    return v->kind == kind && v->n_bytes == strlen(text) && memcmp(v->u.text, text, v->n_bytes) == 0;
}

const adept_pickle_value *adept_pickle_item(const adept_pickle_value *v, adept_pickle_kind kind, size_t i)
{
    return v && v->kind == kind && i < v->u.items->n ? &v->u.items->values[i] : NULL;
}

const adept_pickle_value *adept_pickle_call(const adept_pickle_value *v, const char *function)
{
    const adept_pickle_value *callable = adept_pickle_item(v, ADEPT_PICKLE_OBJECT, 0);
    const adept_pickle_value *arguments = adept_pickle_item(v, ADEPT_PICKLE_OBJECT, 1);
    bool is_call =
        arguments && arguments->kind == ADEPT_PICKLE_TUPLE && adept_pickle_is(callable, ADEPT_PICKLE_GLOBAL, function);
    return is_call ? arguments : NULL;
}

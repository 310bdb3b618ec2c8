/** @file export_pickle.c  Where the tensors of a state dictionary lie. Calls: adept_arena, cJSON.
 *
 *  A torch.save archive is a pickle of {name: tensor}; a tensor is _rebuild_tensor_v2(storage, offset, sizes, strides,
 *  ...), a parameter _rebuild_parameter(tensor, ...), a storage a persistent id ('storage', type, key, device, numel).
 *  This is no unpickler: a machine for the opcodes that such files use (Python's Lib/pickletools.py describes them), on
 *  values that are texts, tuples and the three things above. Everything else is "other"; nothing is called. */
#include "adept_json.h"
#include "export_private.h"
#include <stdlib.h>
#include <string.h>

typedef enum thing_kind {
    THING_OTHER,
    THING_MARK,
    THING_TEXT,
    THING_INT,
    THING_TUPLE,
    THING_DICT,
    THING_GLOBAL,
    THING_STORAGE,
    THING_TENSOR
} thing_kind;

typedef struct thing {
    thing_kind kind;
    const char *text; /* of texts and globals; key of storages and tensors */
    int64_t number;   /* of ints; offset of tensors */
    size_t n, capacity;
    struct thing **items; /* of tuples; of dictionaries key, value, ... */
} thing;

typedef struct machine {
    const unsigned char *data;
    size_t size, at;
    const char *name;
    adept_error *err;
    adept_status status;
    adept_arena *arena;
    thing **stack;
    size_t n, capacity;
    thing **memo;
    size_t n_memo;
} machine;

static void fail(machine *m, const char *what)
{
    if (m->status != ADEPT_OK) return;
    m->status = adept_error_set(m->err, ADEPT_E_INVALID, "%s: state dictionary, byte %zu: %s", m->name, m->at, what);
}

static void fail_memory(machine *m)
{
    if (m->status == ADEPT_OK) m->status = adept_error_set(m->err, ADEPT_E_NOMEM, "%s: out of memory", m->name);
}

static const unsigned char *take(machine *m, size_t n)
{
    if (m->status != ADEPT_OK || n > m->size - m->at) {
        fail(m, "ends too early");
        return NULL;
    }
    m->at += n;
    return m->data + m->at - n;
}

static uint64_t take_number(machine *m, size_t bytes)
{
    const unsigned char *p = take(m, bytes);
    uint64_t v = 0;
    for (size_t i = 0; p && i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* ---- stack ---- */

static thing *make(machine *m, thing_kind kind)
{
    thing *t = adept_arena_alloc(m->arena, sizeof *t);
    if (!t)
        fail_memory(m);
    else
        t->kind = kind;
    return t;
}

static void push(machine *m, thing *t)
{
    if (m->status != ADEPT_OK || !t) return;
    if (m->n == m->capacity) {
        size_t capacity = m->capacity ? m->capacity * 2 : 256;
        thing **stack = realloc(m->stack, capacity * sizeof *stack);
        if (!stack) {
            fail_memory(m);
            return;
        }
        m->stack = stack;
        m->capacity = capacity;
    }
    m->stack[m->n++] = t;
}

static thing *pop(machine *m)
{
    if (m->status != ADEPT_OK) return NULL;
    if (m->n == 0 || m->stack[m->n - 1]->kind == THING_MARK) {
        fail(m, "stack is empty");
        return NULL;
    }
    return m->stack[--m->n];
}

/* Index behind the topmost mark. */
static size_t find_mark(machine *m)
{
    for (size_t i = m->n; m->status == ADEPT_OK && i > 0; i--) {
        if (m->stack[i - 1]->kind == THING_MARK) return i;
    }
    fail(m, "no mark");
    return 0;
}

/* Appends the things from `first` up to a tuple or dictionary and takes them off the stack. */
static void move_items(machine *m, thing *to, size_t first)
{
    if (m->status != ADEPT_OK || !to) return;
    size_t n = m->n - first;
    if (n > to->capacity - to->n) {
        size_t capacity = to->n + n > to->capacity * 2 ? to->n + n : to->capacity * 2;
        thing **items = adept_arena_array(m->arena, capacity, sizeof *items);
        if (!items) {
            fail_memory(m);
            return;
        }
        if (to->n) memcpy(items, to->items, to->n * sizeof *items);
        to->items = items;
        to->capacity = capacity;
    }
    if (n) memcpy(to->items + to->n, m->stack + first, n * sizeof *to->items);
    to->n += n;
    m->n = first;
}

static void push_tuple(machine *m, size_t n)
{
    if (n > m->n) {
        fail(m, "stack is empty");
        return;
    }
    thing *t = make(m, THING_TUPLE);
    move_items(m, t, m->n - n);
    push(m, t);
}

/* ---- opcodes ---- */

static void push_text(machine *m, size_t length)
{
    const unsigned char *p = take(m, length);
    thing *t = p ? make(m, THING_TEXT) : NULL;
    if (!t) return;
    t->text = adept_arena_strndup(m->arena, (const char *)p, length);
    if (!t->text) fail_memory(m);
    push(m, t);
}

static void push_int(machine *m, int64_t number)
{
    thing *t = make(m, THING_INT);
    if (t) t->number = number;
    push(m, t);
}

static const char *take_line(machine *m)
{
    const unsigned char *end = memchr(m->data + m->at, '\n', m->size - m->at);
    if (!end) {
        fail(m, "ends too early");
        return "";
    }
    size_t length = (size_t)(end - (m->data + m->at));
    const char *text = adept_arena_strndup(m->arena, (const char *)m->data + m->at, length);
    m->at += length + 1;
    if (!text) fail_memory(m);
    return text ? text : "";
}

static void push_global(machine *m)
{
    take_line(m); /* the module; functions are told by their names alone, since none is called */
    thing *t = make(m, THING_GLOBAL);
    if (t) t->text = take_line(m);
    push(m, t);
}

static void memo_put(machine *m, uint64_t index)
{
    if (m->status != ADEPT_OK) return;
    if (m->n == 0 || index >= m->size) {
        fail(m, "memo index out of range");
        return;
    }
    if (index >= m->n_memo) {
        size_t n = (size_t)index + 1 > m->n_memo * 2 ? (size_t)index + 1 : m->n_memo * 2;
        thing **memo = realloc(m->memo, n * sizeof *memo);
        if (!memo) {
            fail_memory(m);
            return;
        }
        memset(memo + m->n_memo, 0, (n - m->n_memo) * sizeof *memo);
        m->memo = memo;
        m->n_memo = n;
    }
    m->memo[index] = m->stack[m->n - 1];
}

static void memo_get(machine *m, uint64_t index)
{
    if (m->status != ADEPT_OK) return;
    if (index >= m->n_memo || !m->memo[index] || m->memo[index]->kind == THING_MARK)
        fail(m, "memo entry is missing");
    else
        push(m, m->memo[index]);
}

static const thing *item_of(const thing *tuple, size_t i, thing_kind kind)
{
    bool ok = tuple && tuple->kind == THING_TUPLE && i < tuple->n && tuple->items[i]->kind == kind;
    return ok ? tuple->items[i] : NULL;
}

static void persistent_id(machine *m)
{
    const thing *id = pop(m);
    const thing *key = item_of(id, 2, THING_TEXT);
    thing *t = make(m, key ? THING_STORAGE : THING_OTHER);
    if (t && key) t->text = key->text;
    push(m, t);
}

static void reduce(machine *m)
{
    thing *arguments = pop(m);
    const thing *function = pop(m);
    if (!arguments || !function) return;
    const char *name = function->kind == THING_GLOBAL ? function->text : "";
    thing *t;
    const thing *storage = item_of(arguments, 0, THING_STORAGE), *offset = item_of(arguments, 1, THING_INT);
    if (strcmp(name, "_rebuild_tensor_v2") == 0 && storage && offset) {
        t = make(m, THING_TENSOR);
        if (t) t->text = storage->text;
        if (t) t->number = offset->number;
    } else if (strcmp(name, "_rebuild_parameter") == 0 && item_of(arguments, 0, THING_TENSOR)) {
        t = arguments->items[0];
    } else {
        t = make(m, strcmp(name, "OrderedDict") == 0 ? THING_DICT : THING_OTHER);
    }
    push(m, t);
}

/* Items on top of the stack go into the dictionary (or list) below them. */
static void set_items(machine *m, size_t first)
{
    if (m->status != ADEPT_OK) return;
    if (first == 0 || first > m->n) {
        fail(m, "stack is empty");
        return;
    }
    bool has_mark = m->stack[first - 1]->kind == THING_MARK;
    if (first < (has_mark ? 2u : 1u)) {
        fail(m, "no dictionary below the items");
        return;
    }
    thing *to = m->stack[first - (has_mark ? 2 : 1)];
    if (to->kind == THING_DICT && (m->n - first) % 2 != 0) fail(m, "key without a value");
    if (to->kind == THING_DICT) move_items(m, to, first);
    if (m->status == ADEPT_OK) m->n = has_mark ? first - 1 : first;
}

static void pop_tuple_to_mark(machine *m)
{
    size_t first = find_mark(m);
    if (m->status != ADEPT_OK) return;
    thing *t = make(m, THING_TUPLE);
    move_items(m, t, first);
    if (m->status != ADEPT_OK) return;
    m->n--; /* the mark */
    push(m, t);
}

/* Opcodes that push something simple, or rearrange. False if the opcode is not one of them. */
static bool step_simple(machine *m, unsigned char op)
{
    switch (op) {
    case '(': /* MARK */
        push(m, make(m, THING_MARK));
        return true;
    case 'K': /* BININT1 */
        push_int(m, (int64_t)take_number(m, 1));
        return true;
    case 'M': /* BININT2 */
        push_int(m, (int64_t)take_number(m, 2));
        return true;
    case 'J': /* BININT */
        push_int(m, (int32_t)take_number(m, 4));
        return true;
    case 0x8a: { /* LONG1 */
        size_t n = (size_t)take_number(m, 1);
        uint64_t v = n <= 8 ? take_number(m, n) : (take(m, n), 0);
        push_int(m, n > 0 && n < 8 && v >> (8 * n - 1) ? (int64_t)(v | UINT64_MAX << (8 * n)) : (int64_t)v);
        return true;
    }
    case 'G': /* BINFLOAT */
        take(m, 8);
        push(m, make(m, THING_OTHER));
        return true;
    case 'N':
    case 0x88:
    case 0x89:
    case ']':
    case 0x8f: /* NONE, NEWTRUE, NEWFALSE, EMPTY_LIST, EMPTY_SET */
        push(m, make(m, THING_OTHER));
        return true;
    case ')': /* EMPTY_TUPLE */
        push(m, make(m, THING_TUPLE));
        return true;
    case '}': /* EMPTY_DICT */
        push(m, make(m, THING_DICT));
        return true;
    case 'X': /* BINUNICODE */
        push_text(m, (size_t)take_number(m, 4));
        return true;
    case 0x8c: /* SHORT_BINUNICODE */
        push_text(m, (size_t)take_number(m, 1));
        return true;
    case 'c': /* GLOBAL */
        push_global(m);
        return true;
    default:
        return false;
    }
}

static void step(machine *m, unsigned char op)
{
    switch (op) {
    case 0x80: /* PROTO */
        take(m, 1);
        break;
    case 0x95: /* FRAME */
        take(m, 8);
        break;
    case 'q': /* BINPUT */
        memo_put(m, take_number(m, 1));
        break;
    case 'r': /* LONG_BINPUT */
        memo_put(m, take_number(m, 4));
        break;
    case 'h': /* BINGET */
        memo_get(m, take_number(m, 1));
        break;
    case 'j': /* LONG_BINGET */
        memo_get(m, take_number(m, 4));
        break;
    case 't': /* TUPLE */
        pop_tuple_to_mark(m);
        break;
    case 0x85:
    case 0x86:
    case 0x87: /* TUPLE1 to TUPLE3 */
        push_tuple(m, (size_t)op - 0x84);
        break;
    case 'Q': /* BINPERSID */
        persistent_id(m);
        break;
    case 'R':
    case 0x81: /* REDUCE, NEWOBJ */
        reduce(m);
        break;
    case 'b':
    case 'a': /* BUILD, APPEND */
        pop(m);
        break;
    case 's': /* SETITEM */
        set_items(m, m->n >= 2 ? m->n - 2 : 0);
        break;
    case 'u':
    case 'e': /* SETITEMS, APPENDS */
        set_items(m, find_mark(m));
        break;
    default:
        if (!step_simple(m, op)) fail(m, "opcode that no state dictionary has");
    }
}

/* ---- result ---- */

static void collect(machine *m, adept_export_places *places)
{
    const thing *dict = pop(m);
    if (!dict) return;
    if (dict->kind != THING_DICT) {
        fail(m, "no dictionary of tensors");
        return;
    }
    places->items = adept_arena_array(places->arena, dict->n / 2, sizeof *places->items);
    if (!places->items) fail_memory(m);
    for (size_t i = 0; i + 1 < dict->n && m->status == ADEPT_OK; i += 2) {
        const thing *key = dict->items[i], *value = dict->items[i + 1];
        if (key->kind != THING_TEXT || value->kind != THING_TENSOR) continue;
        places->items[places->n++] =
            (adept_export_place){.name = key->text, .storage = value->text, .offset = value->number};
    }
}

adept_status adept_export_pickle(adept_export_places *places, const char *name, const unsigned char *data, size_t size,
                                 adept_error *err)
{
    machine m = {.data = data, .size = size, .name = name, .err = err, .arena = places->arena};
    bool stopped = false;
    while (m.status == ADEPT_OK && !stopped) {
        const unsigned char *op = take(&m, 1);
        if (!op) break;
        if (*op == '.')
            stopped = true;
        else
            step(&m, *op);
    }
    if (m.status == ADEPT_OK) collect(&m, places);
    free(m.stack);
    free(m.memo);
    return m.status;
}

/* ---- torch >= 2.8 ---- */

/* {"config": {NAME: {"path_name": "weight_0", ...}}}; the offset is in the graph's own description of the tensor. */
adept_status adept_export_weights_config(adept_export_places *places, const char *name, const char *json, size_t size,
                                         adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, json, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err};
    const cJSON *config = adept_json_object(&r, root, "config");
    size_t n = 0;
    for (const cJSON *e = config ? config->child : NULL; e; e = e->next)
        n++;
    places->items = adept_arena_array(places->arena, n, sizeof *places->items);
    for (const cJSON *e = config ? config->child : NULL; e && r.status == ADEPT_OK && places->items; e = e->next) {
        const char *path = adept_json_string(&r, e, "path_name");
        adept_export_place place = {.name = adept_arena_strdup(places->arena, e->string),
                                    .storage = adept_arena_strdup(places->arena, path)};
        if (!place.name || !place.storage)
            places->items = NULL;
        else
            places->items[places->n++] = place;
    }
    status = r.status;
    if (status == ADEPT_OK && !places->items) status = adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
    cJSON_Delete(root);
    return status;
}

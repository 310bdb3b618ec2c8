/* Python's lists, tuples and dicts. Lists are shared by reference, as in Python: a change is seen by every holder. */
#include "host_value.h"
#include <string.h>

/* What an operator takes as its first argument: bits are kinds of values. */
enum {
    NOTHING = 1 << 30, /* no argument at all */
    LISTS = 1 << ADEPT_VALUE_LIST | 1 << ADEPT_VALUE_TUPLE,
    DICTS = 1 << ADEPT_VALUE_DICT,
    CONTAINERS = LISTS | DICTS,
    STRINGS = 1 << ADEPT_VALUE_STRING,
    ANYTHING = NOTHING - 1 /* but something */
};

typedef struct container_row {
    void (*shape)(adept_call *c, const adept_value *v);
    int takes;
} container_row;

/* Index of the call's argument `position` into n elements, wrapped; -1 after a failure. */
static int64_t index_arg(adept_call *c, int position, size_t n)
{
    int64_t i;
    const adept_value *v = adept_arg_at(c, position);
    if (adept_call_refuse(c, !adept_value_as_int(v, &i), "the index depends on tensor data or is missing")) return -1;
    int64_t wrapped = i < 0 ? i + (int64_t)n : i;
    if (wrapped >= 0 && wrapped < (int64_t)n) return wrapped;
    adept_call_fail(c, "index %lld is out of range for %zu elements", (long long)i, n);
    return -1;
}

/* Position of a key's value in a dict, -1 if it has none. */
static int64_t find_key(const adept_value *dict, const adept_value *key)
{
    bool known;
    for (size_t i = 0; key && i + 1 < dict->u.list->n; i += 2)
        if (adept_host_equal(&dict->u.list->items[i], key, &known)) return (int64_t)i + 1;
    return -1;
}

/* ---------------------------------------------------------------- reading ---------------- */

static void len(adept_call *c, const adept_value *v)
{
    if (v->kind == ADEPT_VALUE_STRING)
        adept_out_int(c, (int64_t)strlen(v->u.s));
    else if (v->kind == ADEPT_VALUE_TENSOR && v->u.t->ndim > 0)
        adept_out_int(c, v->u.t->dims[0]);
    else if (v->kind == ADEPT_VALUE_DICT)
        adept_out_int(c, (int64_t)v->u.list->n / 2);
    else if (adept_value_is_list(v))
        adept_out_int(c, (int64_t)v->u.list->n);
    else
        adept_call_fail(c, "%s has no length", adept_value_kind_name(v->kind));
}

static void getitem(adept_call *c, const adept_value *v)
{
    int64_t i;
    if (v->kind == ADEPT_VALUE_STRING) {
        i = index_arg(c, 1, strlen(v->u.s));
        if (i >= 0) adept_out_string(c, (char[]){v->u.s[i], 0});
        return;
    }
    if (v->kind == ADEPT_VALUE_DICT) {
        i = find_key(v, adept_arg_at(c, 1));
        const adept_value *key = adept_arg_at(c, 1);
        if (i < 0 && key && key->kind == ADEPT_VALUE_STRING)
            adept_call_fail(c, "the dict has no key '%.80s'; those of an input are given by --input, NAME.%.80s=SHAPE",
                            key->u.s, key->u.s);
        else if (i < 0)
            adept_call_fail(c, "the dict has no such key");
    } else {
        i = index_arg(c, 1, v->u.list->n);
    }
    if (i >= 0) adept_out_value(c, &v->u.list->items[i]);
}

/* dict.get(key, default) */
static void get(adept_call *c, const adept_value *v)
{
    int64_t i = find_key(v, adept_arg_at(c, 1));
    const adept_value *fallback = adept_arg_at(c, 2);
    if (i >= 0)
        adept_out_value(c, &v->u.list->items[i]);
    else if (fallback)
        adept_out_value(c, fallback);
    else
        adept_out_none(c);
}

static void contains(adept_call *c, const adept_value *v)
{
    const adept_value *wanted = adept_arg_at(c, 1);
    bool all_known = true;
    if (adept_call_refuse(c, !wanted, "element to look for expected")) return;
    if (v->kind == ADEPT_VALUE_STRING) {
        if (wanted->kind == ADEPT_VALUE_STRING)
            adept_out_bool(c, strstr(v->u.s, wanted->u.s) != NULL);
        else
            adept_call_fail(c, "a string expected");
        return;
    }
    size_t step = v->kind == ADEPT_VALUE_DICT ? 2 : 1;
    for (size_t i = 0; i < v->u.list->n; i += step) {
        bool known;
        if (adept_host_equal(&v->u.list->items[i], wanted, &known)) {
            adept_out_bool(c, true);
            return;
        }
        all_known = all_known && known;
    }
    if (all_known)
        adept_out_bool(c, false);
    else
        adept_out_unknown(c);
}

static void count(adept_call *c, const adept_value *v)
{
    const adept_value *wanted = adept_arg_at(c, 1);
    int64_t n = 0;
    bool known = wanted != NULL;
    for (size_t i = 0; known && i < v->u.list->n; i++)
        n += adept_host_equal(&v->u.list->items[i], wanted, &known);
    if (known)
        adept_out_int(c, n);
    else
        adept_out_unknown(c);
}

static void take_every(adept_call *c, const adept_value *v, size_t first, size_t step)
{
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, v->u.list->n / step);
    if (!adept_call_ok(c)) return;
    for (size_t i = 0; i < out->n; i++)
        out->items[i] = v->u.list->items[i * step + first];
}

/* list(iterable) is a new list with the same elements. */
static void list(adept_call *c, const adept_value *v)
{
    take_every(c, v, 0, v->kind == ADEPT_VALUE_DICT ? 2 : 1); /* of a dict: its keys */
}

static void values(adept_call *c, const adept_value *v)
{
    take_every(c, v, 1, 2);
}

/* ---------------------------------------------------------------- changing ---------------- */

static void append(adept_call *c, const adept_value *v)
{
    const adept_value *element = adept_arg_at(c, 1);
    if (adept_call_refuse(c, !element, "element expected")) return;
    adept_list_append(c, v->u.list, element);
    adept_out_value(c, v);
}

static void extend(adept_call *c, const adept_value *v)
{
    const adept_value *more = adept_arg_at(c, 1);
    if (adept_call_refuse(c, !adept_value_is_list(more), "two lists expected")) return;
    adept_list_extend(c, v, more);
}

static void insert(adept_call *c, const adept_value *v)
{
    const adept_value *element = adept_arg_at(c, 2);
    adept_list *l = v->u.list;
    int64_t i, n = (int64_t)l->n;
    if (adept_call_refuse(c, !adept_value_as_int(adept_arg_at(c, 1), &i) || !element,
                          "a known index and an element expected"))
        return;
    if (i < 0) i = i < -n ? 0 : i + n;
    if (i > n) i = n;
    adept_value inserted = *element;
    adept_list_append(c, l, &inserted);
    if (!adept_call_ok(c)) return;
    memmove(l->items + i + 1, l->items + i, (size_t)(n - i) * sizeof *l->items);
    l->items[i] = inserted;
}

static void remove_at(adept_list *l, size_t i, size_t n)
{
    memmove(l->items + i, l->items + i + n, (l->n - i - n) * sizeof *l->items);
    l->n -= n;
}

static void pop(adept_call *c, const adept_value *v)
{
    int64_t i;
    if (v->kind == ADEPT_VALUE_DICT) {
        i = find_key(v, adept_arg_at(c, 1));
        if (adept_call_refuse(c, i < 0, "the dict has no such key")) return;
        adept_out_value(c, &v->u.list->items[i]);
        remove_at(v->u.list, (size_t)i - 1, 2);
        return;
    }
    i = adept_arg_at(c, 1) ? index_arg(c, 1, v->u.list->n) : (int64_t)v->u.list->n - 1;
    if (adept_call_refuse(c, i < 0, "pop from an empty list")) return;
    adept_out_value(c, &v->u.list->items[i]);
    remove_at(v->u.list, (size_t)i, 1);
}

static void delete (adept_call *c, const adept_value *v)
{
    int64_t i = v->kind == ADEPT_VALUE_DICT ? find_key(v, adept_arg_at(c, 1)) : index_arg(c, 1, v->u.list->n);
    if (i < 0)
        adept_call_fail(c, "the dict has no such key");
    else if (v->kind == ADEPT_VALUE_DICT)
        remove_at(v->u.list, (size_t)i - 1, 2);
    else
        remove_at(v->u.list, (size_t)i, 1);
}

static void clear(adept_call *c, const adept_value *v)
{
    (void)c;
    v->u.list->n = 0;
}

static void reverse(adept_call *c, const adept_value *v)
{
    adept_list *l = v->u.list;
    (void)c;
    for (size_t i = 0; i < l->n / 2; i++) {
        adept_value moved = l->items[i];
        l->items[i] = l->items[l->n - 1 - i];
        l->items[l->n - 1 - i] = moved;
    }
}

static void setitem(adept_call *c, const adept_value *v)
{
    const adept_value *key = adept_arg_at(c, 1), *element = adept_arg_at(c, 2);
    if (adept_call_refuse(c, !key || !element, "index and element expected")) return;
    int64_t i = v->kind == ADEPT_VALUE_DICT ? find_key(v, key) : index_arg(c, 1, v->u.list->n);
    if (i >= 0) {
        v->u.list->items[i] = *element;
    } else if (v->kind == ADEPT_VALUE_DICT) {
        adept_list_append(c, v->u.list, key);
        adept_list_append(c, v->u.list, element);
    }
    adept_out_value(c, v);
}

/* What another dict or a list of pairs holds, put into a dict: a key that comes again keeps its first place. */
static void fill_dict(adept_call *c, adept_list *out, const adept_value *v)
{
    size_t step = v->kind == ADEPT_VALUE_DICT ? 2 : 1;
    for (size_t i = 0; i + step <= v->u.list->n && adept_call_ok(c); i += step) {
        const adept_value *item = &v->u.list->items[i];
        bool is_pair = step == 2 || (adept_value_is_list(item) && item->u.list->n == 2);
        if (adept_call_refuse(c, !is_pair, "pairs of a key and a value expected")) return;
        const adept_value *pair = step == 2 ? item : item->u.list->items;
        const adept_value made = {ADEPT_VALUE_DICT, {.list = out}};
        int64_t at = find_key(&made, &pair[0]);
        if (at >= 0) {
            out->items[at] = pair[1];
        } else {
            adept_list_append(c, out, &pair[0]);
            adept_list_append(c, out, &pair[1]);
        }
    }
}

/* dict(): empty; of another one or of pairs */
static void new_dict(adept_call *c, const adept_value *v)
{
    adept_list *out = adept_out_list(c, ADEPT_VALUE_DICT, 0);
    if (v && adept_call_ok(c)) fill_dict(c, out, v);
}

/* dict.update(other) */
static void update(adept_call *c, const adept_value *v)
{
    const adept_value *other = adept_arg_at(c, 1);
    bool fits = other && (other->kind == ADEPT_VALUE_DICT || adept_value_is_list(other));
    if (adept_call_refuse(c, !fits || other->u.list == v->u.list, "another dict or a list of pairs expected")) return;
    fill_dict(c, v->u.list, other);
}

/* dict.items() */
static void items(adept_call *c, const adept_value *v)
{
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    for (size_t i = 0; i + 1 < v->u.list->n && adept_call_ok(c); i += 2) {
        adept_list *pair = adept_new_list(c, 2);
        if (!adept_call_ok(c)) return;
        pair->items[0] = v->u.list->items[i];
        pair->items[1] = v->u.list->items[i + 1];
        adept_list_append(c, out, &(adept_value){ADEPT_VALUE_TUPLE, {.list = pair}});
    }
}

/* rangelist(n): [0, 1, .. n-1] */
static void rangelist(adept_call *c, const adept_value *v)
{
    int64_t n;
    if (adept_call_refuse(c, !adept_value_as_int(v, &n) || n < 0 || n > 1000000,
                          "a known length of at most a million expected"))
        return;
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, (size_t)n);
    if (!adept_call_ok(c)) return;
    for (int64_t i = 0; i < n; i++)
        out->items[i] = (adept_value){ADEPT_VALUE_INT, {.i = i}};
}

/* ---------------------------------------------------------------- table ---------------- */

static const adept_op ops[] = {
    {"aten::len", ADEPT_CAST_NONE, &(const container_row){len, ANYTHING}},
    {"aten::__getitem__", ADEPT_CAST_NONE, &(const container_row){getitem, CONTAINERS | STRINGS}},
    {"aten::__contains__", ADEPT_CAST_NONE, &(const container_row){contains, CONTAINERS | STRINGS}},
    {"aten::count", ADEPT_CAST_NONE, &(const container_row){count, LISTS}},
    {"aten::list", ADEPT_CAST_NONE, &(const container_row){list, CONTAINERS}},
    {"aten::append", ADEPT_CAST_NONE, &(const container_row){append, LISTS}},
    {"aten::extend", ADEPT_CAST_NONE, &(const container_row){extend, LISTS}},
    {"aten::insert", ADEPT_CAST_NONE, &(const container_row){insert, LISTS}},
    {"aten::pop", ADEPT_CAST_NONE, &(const container_row){pop, CONTAINERS}},
    {"aten::clear", ADEPT_CAST_NONE, &(const container_row){clear, CONTAINERS}},
    {"aten::reverse", ADEPT_CAST_NONE, &(const container_row){reverse, LISTS}},
    {"aten::_set_item", ADEPT_CAST_NONE, &(const container_row){setitem, CONTAINERS}},
    {"aten::Delete", ADEPT_CAST_NONE, &(const container_row){delete, CONTAINERS}},
    {"aten::dict", ADEPT_CAST_NONE, &(const container_row){new_dict, CONTAINERS | NOTHING}},
    {"aten::update", ADEPT_CAST_NONE, &(const container_row){update, DICTS}},
    {"aten::items", ADEPT_CAST_NONE, &(const container_row){items, DICTS}},
    {"aten::keys", ADEPT_CAST_NONE, &(const container_row){list, CONTAINERS}},
    {"aten::values", ADEPT_CAST_NONE, &(const container_row){values, DICTS}},
    {"aten::get", ADEPT_CAST_NONE, &(const container_row){get, DICTS}},
    {"prim::rangelist", ADEPT_CAST_NONE, &(const container_row){rangelist, ANYTHING}},
    {0},
};

static void shape(adept_call *c)
{
    const container_row *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    if (v ? row->takes >> v->kind & 1 : row->takes & NOTHING)
        row->shape(c, v);
    else
        adept_call_unsupported(c, "not defined here for %s", v ? adept_value_kind_name(v->kind) : "a missing argument");
}

const adept_handler adept_handler_list = {.kind = "list", .shard = ADEPT_SHARD_REPLICATE, .ops = ops, .shape = shape};

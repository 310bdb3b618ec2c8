/* What operators ask of the types and dimensions of their tensors, before their handlers look at sizes. */
#include "call.h"
#include <stdlib.h>
#include <string.h>

const char *adept_demand_of(const adept_demand *demands, const adept_op *row)
{
    for (const adept_demand *d = demands; d && d->names; d++)
        if (adept_op_shares_name(d->names, row->names)) return d->text;
    return NULL;
}

/* The argument named by the n characters at `name`, NULL: it is not there. */
static const adept_value *find(const adept_call *c, const char *name, size_t n)
{
    char text[64];
    if (n >= sizeof text) return NULL;
    memcpy(text, name, n);
    text[n] = 0;
    return adept_arg(c, text);
}

static bool type_fits(char wanted, adept_dtype dtype)
{
    switch (wanted) {
    case 'f': return adept_dtype_has_fraction(dtype);
    case 'n': return dtype != ADEPT_BOOL;
    case 'w': return !adept_dtype_has_fraction(dtype);
    case 'i': return dtype == ADEPT_I32 || dtype == ADEPT_I64;
    case 'l': return dtype == ADEPT_I64;
    default: return dtype == ADEPT_BOOL || dtype == ADEPT_U8;
    }
}

/* NULL: the letter is none of a type. */
static const char *type_name(char wanted)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {{'f', "a floating type"}, {'n', "any type but bool"}, {'w', "a whole type"},
                 {'i', "i32 or i64"},      {'l', "i64"},               {'b', "bool"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].letter == wanted) return names[i].name;
    return NULL;
}

static void check_tensor(adept_call *c, const adept_tensor *t, const char *name, int n, const char *what)
{
    if (*what == '=' || *what == '~') {
        /* '=' of any two types, '~' of floating ones other than f32, which a mask may have beside any query */
        size_t length = strcspn(what + 1, " ");
        const adept_value *v = length ? find(c, what + 1, length) : find(c, name, (size_t)n);
        adept_tensor_cursor at = {v, v ? v + 1 : NULL, 0};
        const adept_tensor *other = adept_next_tensor(&at);
        if (other && (*what == '=' || (adept_dtype_has_fraction(t->dtype) && t->dtype != ADEPT_F32)))
            adept_call_same_type(c, other, t);
        return;
    }
    const char *type = type_name(*what);
    if (type && !type_fits(*what, t->dtype))
        adept_call_fail(c, "argument '%.*s', %s, has not the type that PyTorch takes, %s", n, name,
                        adept_call_shape(c, t), type);
    if (type) what++;
    if (*what < '0' || *what > '9') return;
    char *end;
    long least = strtol(what, &end, 10), most = *end != '-'    ? least
                                                : end[1] > '0' ? strtol(end + 1, NULL, 10)
                                                               : ADEPT_MAX_DIMS;
    if (t->ndim < least || t->ndim > most)
        adept_call_fail(c, "argument '%.*s', %s, has %d dimensions, which PyTorch does not take", n, name,
                        adept_call_shape(c, t), t->ndim);
}

void adept_call_demand(adept_call *c, const char *text)
{
    for (const char *at = text; at && *at && adept_call_ok(c);) {
        size_t n = strcspn(at, ":");
        const adept_value *v = find(c, at, n);
        adept_tensor_cursor tensors = {v, v ? v + 1 : NULL, 0};
        for (const adept_tensor *t; (t = adept_next_tensor(&tensors));)
            check_tensor(c, t, at, (int)n, at + n + 1);
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
}

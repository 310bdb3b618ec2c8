/* Strings: mostly the messages of assertions, sometimes the name of a device or a mode that a condition asks for. */
#include "host_value.h"
#include <ctype.h>
#include <string.h>

/* Longer strings are treated as not known. */
#define MAX_TEXT 4096

typedef struct text {
    char chars[MAX_TEXT];
    size_t n;
    bool known;
} text;

typedef struct string_row {
    void (*shape)(adept_call *c, const char *self);
} string_row;

static void put(text *t, const char *from, size_t n)
{
    if (t->n + n >= sizeof t->chars) {
        t->known = false;
        return;
    }
    memcpy(t->chars + t->n, from, n);
    t->n += n;
    t->chars[t->n] = 0;
}

static void put_value(text *t, const adept_value *v)
{
    char printed[MAX_TEXT];
    if (v && adept_host_print(v, printed, sizeof printed))
        put(t, printed, strlen(printed));
    else
        t->known = false;
}

static void out_text(adept_call *c, const text *t)
{
    if (t->known)
        adept_out_string(c, t->chars);
    else
        adept_out_unknown(c);
}

static const char *string_at(const adept_call *c, int position)
{
    const adept_value *v = adept_arg_at(c, position);
    return v && v->kind == ADEPT_VALUE_STRING ? v->u.s : NULL;
}

/* "{} of {}".format(a, b) */
static void format(adept_call *c, const char *self)
{
    text t = {.known = true};
    int next = 1;
    for (const char *p = self; *p; p++) {
        if (p[0] == '{' && p[1] == '}') {
            put_value(&t, adept_arg_at(c, next++));
            p++;
        } else if ((p[0] == '{' || p[0] == '}') && p[1] == p[0]) {
            put(&t, p++, 1);
        } else if (p[0] == '{') {
            t.known = false; /* a field with a name or a width */
            break;
        } else {
            put(&t, p, 1);
        }
    }
    out_text(c, &t);
}

static void join(adept_call *c, const char *self)
{
    const adept_value *list = adept_arg_at(c, 1);
    text t = {.known = adept_value_is_list(list)};
    for (size_t i = 0; t.known && i < list->u.list->n; i++) {
        if (i > 0) put(&t, self, strlen(self));
        put_value(&t, &list->u.list->items[i]);
    }
    out_text(c, &t);
}

/* Position of a part, -1 if it does not occur. Bounds other than the whole string are left unknown. */
static void find(adept_call *c, const char *self)
{
    const char *part = string_at(c, 1);
    int64_t start = adept_arg_int(c, "start", 0), end = adept_arg_int(c, "end", -1);
    if (!part || start != 0 || (end != -1 && end < (int64_t)strlen(self))) {
        adept_out_unknown(c);
        return;
    }
    const char *at = strstr(self, part);
    adept_out_int(c, at ? at - self : -1);
}

static void startswith(adept_call *c, const char *self)
{
    const char *part = string_at(c, 1);
    if (part)
        adept_out_bool(c, !strncmp(self, part, strlen(part)));
    else
        adept_out_unknown(c);
}

static void endswith(adept_call *c, const char *self)
{
    const char *part = string_at(c, 1);
    if (part)
        adept_out_bool(c, strlen(part) <= strlen(self) && !strcmp(self + strlen(self) - strlen(part), part));
    else
        adept_out_unknown(c);
}

static void map_chars(adept_call *c, const char *self, int (*map)(int))
{
    text t = {.known = true};
    for (const char *p = self; *p; p++)
        put(&t, (char[]){(char)map((unsigned char)*p)}, 1);
    out_text(c, &t);
}

static void lower(adept_call *c, const char *self)
{
    map_chars(c, self, tolower);
}

static void upper(adept_call *c, const char *self)
{
    map_chars(c, self, toupper);
}

static void strip(adept_call *c, const char *self)
{
    const char *blank = string_at(c, 1);
    text t = {.known = true};
    if (!blank) blank = " \n\t\r\f\v";
    self += strspn(self, blank);
    size_t n = strlen(self);
    while (n > 0 && strchr(blank, self[n - 1]))
        n--;
    put(&t, self, n);
    out_text(c, &t);
}

static const string_row str_row = {NULL};

static const adept_op ops[] = {
    {"aten::str", ADEPT_CAST_NONE, &str_row},
    {"aten::format", ADEPT_CAST_NONE, &(const string_row){format}},
    {"aten::join", ADEPT_CAST_NONE, &(const string_row){join}},
    {"aten::find", ADEPT_CAST_NONE, &(const string_row){find}},
    {"aten::startswith", ADEPT_CAST_NONE, &(const string_row){startswith}},
    {"aten::endswith", ADEPT_CAST_NONE, &(const string_row){endswith}},
    {"aten::lower", ADEPT_CAST_NONE, &(const string_row){lower}},
    {"aten::upper", ADEPT_CAST_NONE, &(const string_row){upper}},
    {"aten::strip", ADEPT_CAST_NONE, &(const string_row){strip}},
    {0},
};

static void shape(adept_call *c)
{
    const string_row *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    text t = {.known = true};
    if (!v) {
        adept_call_fail(c, "an argument is missing");
    } else if (row == &str_row) {
        put_value(&t, v);
        out_text(c, &t);
    } else if (v->kind == ADEPT_VALUE_UNKNOWN) {
        adept_out_unknown(c);
    } else if (v->kind != ADEPT_VALUE_STRING) {
        adept_call_fail(c, "%s is not a string", adept_value_kind_name(v->kind));
    } else {
        row->shape(c, v->u.s);
    }
}

const adept_handler adept_handler_string = {
    .kind = "string", .shard = ADEPT_SHARD_REPLICATE, .ops = ops, .shape = shape};

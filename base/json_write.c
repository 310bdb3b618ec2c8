/** @file json_write.c  Writing JSON in order. The layout "pretty" is cJSON's: what people and scripts have seen before.
 */
#include "adept_json_writer.h"
#include "adept_number.h"
#include "adept_utf8.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- texts ---- */

/* A character that is not plain. @return behind it */
static const char *put_special(adept_buffer *out, const char *at, const char *end)
{
    static const char values[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    uint32_t c = 0;
    size_t length = adept_utf8_decode(&c, at, end), hidden;
    const char *value = strchr(values, *at);
    char escape[16];
    if (length > 1 && adept_utf8_shown(&hidden, at, end) > 0) {
        adept_buffer_add(out, at, length);
        return at + length;
    }
    if (value)
        snprintf(escape, sizeof escape, "\\%c", names[value - values]);
    else
        snprintf(escape, sizeof escape, "\\u%04x", length ? (unsigned)c : 0xfffdu); /* nor does it steer a terminal */
    adept_buffer_text(out, escape);
    return at + (length ? length : 1);
}

static void quote(adept_buffer *out, const char *text)
{
    const char *end = text + strlen(text);
    adept_buffer_add(out, "\"", 1);
    while (text < end) {
        const char *begin = text;
        while (*text >= 0x20 && *text < 0x7f && *text != '"' && *text != '\\')
            text++;
        adept_buffer_add(out, begin, (size_t)(text - begin));
        if (text < end) text = put_special(out, text, end);
    }
    adept_buffer_add(out, "\"", 1);
}

/* ---- where a value stands ---- */

static void put_line(adept_json_writer *w, unsigned depth)
{
    adept_buffer_add(&w->out, "\n", 1);
    for (unsigned i = 0; i < depth; i++)
        adept_buffer_add(&w->out, "\t", 1);
}

static void put_key(adept_json_writer *w, const char *key)
{
    if (w->is_filled) adept_buffer_add(&w->out, ",", 1);
    if (w->blank)
        adept_buffer_text(&w->out, w->blank);
    else if (w->pretty && key)
        put_line(w, w->depth);
    else if (w->pretty && w->is_filled)
        adept_buffer_add(&w->out, " ", 1);
    w->is_filled = true;
    w->blank = NULL;
    if (!key) return;
    quote(&w->out, key);
    adept_buffer_add(&w->out, ":\t", w->pretty ? 2 : 1);
}

static void begin(adept_json_writer *w, const char *key, const char *open)
{
    put_key(w, key);
    adept_buffer_add(&w->out, open, 1);
    w->depth++;
    w->is_filled = false;
}

void adept_json_begin_object(adept_json_writer *w, const char *key)
{
    begin(w, key, "{");
}

void adept_json_begin_array(adept_json_writer *w, const char *key)
{
    begin(w, key, "[");
}

void adept_json_end_object(adept_json_writer *w)
{
    w->depth--;
    if (w->pretty) put_line(w, w->depth);
    adept_buffer_add(&w->out, "}", 1);
    w->is_filled = true;
}

void adept_json_end_array(adept_json_writer *w)
{
    w->depth--;
    adept_buffer_add(&w->out, "]", 1);
    w->is_filled = true;
}

/* ---- values ---- */

void adept_json_put_text(adept_json_writer *w, const char *key, const char *json)
{
    put_key(w, key);
    adept_buffer_text(&w->out, json);
}

void adept_json_put_number(adept_json_writer *w, const char *key, double value)
{
    put_key(w, key);
    char *room = adept_buffer_room(&w->out, ADEPT_NUMBER_SIZE);
    size_t length = room ? adept_number_print(room, value) : 0;
    w->out.size += length;
    if (length == 0) adept_buffer_text(&w->out, "null");
}

void adept_json_put_integer(adept_json_writer *w, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    adept_json_put_text(w, key, text);
}

void adept_json_put_unsigned(adept_json_writer *w, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    adept_json_put_text(w, key, text);
}

void adept_json_put_bool(adept_json_writer *w, const char *key, bool value)
{
    adept_json_put_text(w, key, value ? "true" : "false");
}

void adept_json_put_null(adept_json_writer *w, const char *key)
{
    adept_json_put_text(w, key, "null");
}

bool adept_json_begin_known(adept_json_writer *w, const char *key, bool known)
{
    if (known)
        adept_json_begin_object(w, key);
    else
        adept_json_put_null(w, key);
    return known;
}

void adept_json_put_string(adept_json_writer *w, const char *key, const char *value)
{
    if (!value) {
        adept_json_put_null(w, key);
        return;
    }
    put_key(w, key);
    quote(&w->out, value);
}

void adept_json_put_known(adept_json_writer *w, const char *key, const char *value)
{
    adept_json_put_string(w, key, value && *value ? value : NULL);
}

void adept_json_put_strings(adept_json_writer *w, const char *key, const char *const *values, size_t n)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < n; i++)
        adept_json_put_string(w, NULL, values[i]);
    adept_json_end_array(w);
}

void adept_json_put_pair(adept_json_writer *w, const char *key, double low, double high)
{
    if (!isfinite(low) || !isfinite(high)) {
        adept_json_put_null(w, key);
        return;
    }
    adept_json_begin_array(w, key);
    adept_json_put_number(w, NULL, low);
    adept_json_put_number(w, NULL, high);
    adept_json_end_array(w);
}

void adept_json_put_tree(adept_json_writer *w, const char *key, const cJSON *tree)
{
    if (cJSON_IsNumber(tree)) {
        adept_json_put_number(w, key, tree->valuedouble);
    } else if (cJSON_IsString(tree)) {
        adept_json_put_string(w, key, tree->valuestring);
    } else if (cJSON_IsBool(tree)) {
        adept_json_put_bool(w, key, cJSON_IsTrue(tree));
    } else if (cJSON_IsObject(tree) || cJSON_IsArray(tree)) {
        bool is_object = cJSON_IsObject(tree);
        begin(w, key, is_object ? "{" : "[");
        for (const cJSON *item = tree->child; item; item = item->next)
            adept_json_put_tree(w, is_object ? item->string : NULL, item);
        (is_object ? adept_json_end_object : adept_json_end_array)(w);
    } else {
        adept_json_put_null(w, key);
    }
}

/* ---- several members ---- */

static void put_members(adept_json_writer *w, const char *format, va_list *values)
{
    char key[64];
    for (const char *percent; (percent = strchr(format, '%'));) {
        size_t length = (size_t)(percent - format) - 1; /* a blank is behind the key */
        if (length >= sizeof key) length = sizeof key - 1;
        memcpy(key, format, length);
        key[length] = '\0';
        switch (percent[1]) {
        case 'g':
            adept_json_put_number(w, key, va_arg(*values, double));
            break;
        case 's':
            adept_json_put_string(w, key, va_arg(*values, const char *));
            break;
        case 'd':
            adept_json_put_bool(w, key, va_arg(*values, int) != 0);
            break;
        default: /* "%jd", a letter longer */
            adept_json_put_integer(w, key, va_arg(*values, intmax_t));
        }
        format = percent + (percent[1] == 'j' ? 3 : 2);
        format += *format == ' ';
    }
}

void adept_json_put_members(adept_json_writer *w, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    put_members(w, format, &values);
    va_end(values);
}

void adept_json_put_object(adept_json_writer *w, const char *key, const char *format, ...)
{
    va_list values;
    adept_json_begin_object(w, key);
    va_start(values, format);
    put_members(w, format, &values);
    va_end(values);
    adept_json_end_object(w);
}

void adept_json_continue(adept_json_writer *w, char *object)
{
    size_t size = object ? strlen(object) : 0, end = size;
    while (end > 0 && strchr(" \t\r\n", object[end - 1]))
        end--;
    end -= end > 0; /* its brace */
    while (end > 0 && strchr(" \t\r\n", object[end - 1]))
        end--;
    *w = (adept_json_writer){.out = {object, end, size, !object}, .pretty = true, .depth = 1};
    w->is_filled = end > 0 && object[end - 1] != '{';
}

char *adept_json_finish(adept_json_writer *w)
{
    char *text = adept_buffer_take(&w->out);
    *w = (adept_json_writer){.pretty = w->pretty};
    return text;
}

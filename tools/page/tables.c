/** @file tables.c  JSON to HTML; see tables.h. */
#include "tables.h"
#include "adept_json.h"
#include "markup.h"
#include "units.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOST_ROWS 60
#define MOST_COLUMNS 14
#define LONG_LIST 16 /* longer ones are folded away */

/* ---- names and values ---- */

static adept_text grams(double value)
{
    return adept_units_si(value, "g");
}
static adept_text percent(double value)
{
    return adept_units_percent(value / 100);
}

/* The longest ending counts. What has none has no unit. */
static const struct {
    const char *ending;
    adept_text (*print)(double);
} units[] = {{"_flops_per_s", adept_units_flop_rate},
             {"_bytes_per_s", adept_units_byte_rate},
             {"_per_s", adept_units_digits},
             {"_bytes", adept_units_bytes},
             {"_kwh", adept_units_kwh},
             {"_hz", adept_units_hertz},
             {"_percent", percent},
             {"_js", adept_units_digits},
             {"_s", adept_units_time},
             {"_j", adept_units_joule},
             {"_w", adept_units_watt},
             {"_g", grams}};
#define UNITS (sizeof units / sizeof *units)

static size_t unit_of(const char *key)
{
    size_t length = strlen(key), i = 0;
    while (i < UNITS &&
           (length <= strlen(units[i].ending) || strcmp(key + length - strlen(units[i].ending), units[i].ending) != 0))
        i++;
    return i;
}

/* "step_time_s" -> "Step time" */
static void put_name(FILE *out, const char *key)
{
    char text[128];
    size_t unit = unit_of(key), length = strlen(key);
    if (unit < UNITS && units[unit].print != adept_units_digits) length -= strlen(units[unit].ending);
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), key);
    for (char *p = text; *p; p++)
        if (*p == '_') *p = ' ';
    text[0] = (char)toupper((unsigned char)text[0]);
    adept_markup_text(out, text);
}

static void put_number(FILE *out, const char *key, double value)
{
    const size_t unit = unit_of(key);
    const bool is_share = strstr(key, "share") || strcmp(key, "mfu") == 0 || strcmp(key, "level") == 0;
    fputs((unit < UNITS                                            ? units[unit].print(value)
           : is_share                                              ? adept_units_percent(value)
           : fabs(value) < 1e15 && fabs(value - round(value)) == 0 ? adept_cell("%.0f", value)
                                                                   : adept_units_digits(value))
              .s,
          out);
}

static bool is_short(const cJSON *v)
{
    if (!cJSON_IsArray(v)) return !cJSON_IsObject(v);
    for (const cJSON *item = v->child; item; item = item->next)
        if (cJSON_IsArray(item) || cJSON_IsObject(item)) return false;
    return true;
}

/* A value that is no object, or a list of such; two numbers are the ends of an interval. */
static void put_value(FILE *out, const char *key, const cJSON *v)
{
    size_t n = 0;
    if (cJSON_IsNumber(v)) put_number(out, key, v->valuedouble);
    if (cJSON_IsString(v)) adept_markup_put(out, v->valuestring, strlen(v->valuestring), 2000);
    if (cJSON_IsBool(v)) fputs(cJSON_IsTrue(v) ? "yes" : "no", out);
    if (!cJSON_IsArray(v)) return;
    const bool is_range = adept_json_size(v) == 2 && cJSON_IsNumber(v->child) && cJSON_IsNumber(v->child->next);
    for (const cJSON *item = v->child; item && n < MOST_ROWS; item = item->next, n++) {
        if (n > 0) fputs(is_range ? " to " : ", ", out);
        put_value(out, key, item);
    }
}

static bool is_empty(const cJSON *v)
{
    return cJSON_IsNull(v) || ((cJSON_IsArray(v) || cJSON_IsObject(v)) && !v->child);
}

/* ---- rows ---- */

/* Columns of objects: short members, and those of objects inside them. */
typedef struct column {
    const char *outer, *key; /* outer NULL: none */
} column;

static void add_column(column *columns, size_t *n, const char *outer, const cJSON *v)
{
    if (!is_short(v) || cJSON_IsNull(v) || *n == MOST_COLUMNS) return;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(columns[i].key, v->string) == 0 &&
            (columns[i].outer == outer || (outer && columns[i].outer && strcmp(columns[i].outer, outer) == 0)))
            return;
    columns[(*n)++] = (column){outer, v->string};
}

static void put_rows(FILE *out, const cJSON *rows)
{
    column columns[MOST_COLUMNS];
    size_t n = 0, row = 0;
    for (const cJSON *item = rows->child; item && row < MOST_ROWS; item = item->next, row++)
        for (const cJSON *v = item->child; v; v = v->next) {
            add_column(columns, &n, NULL, v);
            for (const cJSON *inner = cJSON_IsObject(v) ? v->child : NULL; inner; inner = inner->next)
                add_column(columns, &n, v->string, inner);
        }
    fputs("<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>", out);
    for (size_t i = 0; i < n; i++) {
        fputs("<th scope=\"col\">", out);
        if (columns[i].outer) put_name(out, columns[i].outer), fputs(": ", out);
        put_name(out, columns[i].key);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    row = 0;
    for (const cJSON *item = rows->child; item && row < MOST_ROWS; item = item->next, row++) {
        fputs("<tr>", out);
        for (size_t i = 0; i < n; i++) {
            const cJSON *from = columns[i].outer ? cJSON_GetObjectItemCaseSensitive(item, columns[i].outer) : item;
            const cJSON *v = cJSON_GetObjectItemCaseSensitive(from, columns[i].key);
            fprintf(out, "<td%s>", cJSON_IsNumber(v) ? " class=\"n\"" : "");
            if (v) put_value(out, columns[i].key, v);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    if (adept_json_size(rows) > MOST_ROWS)
        fprintf(out, "<p>%zu rows, of which the first %d stand here.</p>\n", adept_json_size(rows), MOST_ROWS);
}

/* ---- all of it ---- */

static void put_object(FILE *out, const cJSON *object, int depth);

static void put_part(FILE *out, const cJSON *v, int depth)
{
    const bool folded = depth > 1 || adept_json_size(v) > LONG_LIST || strcmp(v->string, "fit") == 0 ||
                        strcmp(v->string, "config") == 0;
    if (cJSON_IsArray(v) && !cJSON_IsObject(v->child)) return; /* numbers of pictures */
    fputs(depth == 0 ? "<section>\n<h2>" : folded ? "<details><summary>" : "<h3>", out);
    put_name(out, v->string);
    fputs(depth == 0 ? "</h2>\n" : folded ? "</summary>\n" : "</h3>\n", out);
    if (depth == 0 && folded) fputs("<details><summary>All of it</summary>\n", out);
    if (cJSON_IsArray(v))
        put_rows(out, v);
    else
        put_object(out, v, depth + 1);
    fputs(folded ? "</details>\n" : "", out);
    fputs(depth == 0 ? "</section>\n" : "", out);
}

static void put_object(FILE *out, const cJSON *object, int depth)
{
    size_t n = 0;
    for (const cJSON *v = object->child; v; v = v->next) {
        if (!is_short(v) || is_empty(v) || strcmp(v->string, "schema_version") == 0) continue;
        fputs(n++ == 0 ? "<dl>\n<dt>" : "<dt>", out);
        put_name(out, v->string);
        fputs("</dt><dd>", out);
        put_value(out, v->string, v);
        fputs("</dd>\n", out);
    }
    fputs(n > 0 ? "</dl>\n" : "", out);
    for (const cJSON *v = object->child; v; v = v->next)
        if (!is_short(v) && !is_empty(v)) put_part(out, v, depth);
}

void adept_page_tables(FILE *out, const cJSON *json)
{
    const cJSON *item, *explain = cJSON_GetObjectItemCaseSensitive(json, "explain");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(explain, "sentences"))
    {
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "text");
        if (!cJSON_IsString(text)) continue;
        fputs("<p>", out);
        put_value(out, "text", text);
        fputs("</p>\n", out);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "warnings"))
    {
        if (!cJSON_IsString(item)) continue;
        fputs("<p><strong>Warning: ", out);
        put_value(out, "warning", item);
        fputs("</strong></p>\n", out);
    }
    if (cJSON_IsObject(json)) put_object(out, json, 0);
}

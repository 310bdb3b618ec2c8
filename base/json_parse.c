/** @file json_parse.c  Strict JSON (RFC 8259) to a tree of cJSON's: one pass that checks and builds. cJSON's own parser
 * takes what is no JSON, gives no position, does not tell bad text from memory that is out, and writes a static. */
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_number.h"
#include "adept_utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *name, *text, *at, *end;
    int depth;
    size_t n_values, max_values;
    char *characters; /* of the last string or number, zero-terminated */
    size_t capacity;
    adept_status status;
    adept_error *err;
} parser;

/* ---- failures ---- */

static void no_memory(parser *p)
{
    if (p->status == ADEPT_OK) p->status = adept_error_set(p->err, ADEPT_E_NOMEM, "%s: out of memory", p->name);
}

static void fail_at(parser *p, const char *place, const char *what, const char *key)
{
    int line = 1;
    const char *begin = p->text;
    for (const char *c = p->text; c < place; c++) {
        if (*c != '\n') continue;
        line++;
        begin = c + 1;
    }
    p->status = adept_error_set(p->err, ADEPT_E_INVALID, "%s:%d:%zu: not valid JSON: %s%.80s%s", p->name, line,
                                (size_t)(place - begin) + 1, what, key, *key ? "\" is given twice" : "");
    if (p->err) p->err->line = line;
}

static bool fail(parser *p, const char *what)
{
    fail_at(p, p->at, what, "");
    return false;
}

/* ---- words, numbers, strings ---- */

static void skip_blanks(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static bool take(parser *p, char c)
{
    if (p->at >= p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool scan_digits(parser *p)
{
    const char *begin = p->at;
    while (p->at < p->end && is_digit(*p->at))
        p->at++;
    return p->at > begin || fail(p, "a digit is missing");
}

static bool scan_number(parser *p)
{
    take(p, '-');
    if (take(p, '0')) {
        if (p->at < p->end && is_digit(*p->at)) return fail(p, "a number with a leading zero");
    } else if (!scan_digits(p)) {
        return false;
    }
    if (take(p, '.') && !scan_digits(p)) return false;
    if (!take(p, 'e') && !take(p, 'E')) return true;
    if (!take(p, '+')) take(p, '-');
    return scan_digits(p);
}

/* Room for that many characters and a zero. */
static bool reserve(parser *p, size_t n)
{
    char *grown = adept_grow(p->characters, &p->capacity, n + 1, 1);
    if (grown)
        p->characters = grown;
    else
        no_memory(p);
    return grown != NULL;
}

static cJSON *parse_number(parser *p)
{
    const char *begin = p->at;
    if (!scan_number(p) || !reserve(p, (size_t)(p->at - begin))) return NULL;
    memcpy(p->characters, begin, (size_t)(p->at - begin));
    p->characters[p->at - begin] = '\0';
    return cJSON_CreateNumber(adept_number_value(p->characters));
}

/* Four hexadecimal digits, -1 if there are none. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit) return -1;
        value = 16 * value + (int32_t)(digit - digits) - (digit >= digits + 16 ? 6 : 0);
    }
    return value;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* Behind "\u". */
static bool take_code(parser *p, char **out)
{
    int32_t unit = hex4(p->at, p->end);
    if (unit < 0) return fail(p, "\\u without four hexadecimal digits");
    if (unit == 0) return fail(p, "a NUL in a string");
    p->at += 4;
    if (unit >= 0xd800 && unit < 0xdc00) { /* the high half of a pair */
        int32_t low = take(p, '\\') && take(p, 'u') ? hex4(p->at, p->end) : -1;
        if (!is_low(low)) return fail(p, "half a surrogate pair");
        p->at += 4;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    } else if (is_low(unit)) {
        return fail(p, "half a surrogate pair");
    }
    *out += adept_utf8_encode(*out, (uint32_t)unit);
    return true;
}

/* One character or a run of plain ones. */
static bool take_characters(parser *p, char **out)
{
    const char *begin = p->at;
    while (p->at < p->end && *p->at >= 0x20 && *p->at < 0x7f && *p->at != '"' && *p->at != '\\')
        p->at++;
    if (p->at == begin && p->at < p->end) {
        if (take(p, '\\')) {
            /* Behind the backslash. */
            static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
            const char *name = p->at < p->end && *p->at ? strchr(names, *p->at) : NULL;
            if (!name) return take(p, 'u') ? take_code(p, out) : fail(p, "an unknown escape");
            *(*out)++ = values[name - names];
            p->at++;
            return true;
        }
        if ((unsigned char)*p->at < 0x20) return fail(p, "a control character in a string");
        size_t length = adept_utf8_decode(NULL, p->at, p->end);
        if (length == 0) return fail(p, "a byte that is no UTF-8");
        p->at += length;
    }
    memcpy(*out, begin, (size_t)(p->at - begin));
    *out += p->at - begin;
    return true;
}

/* Into p->characters; no character is longer than its escape. */
static bool parse_string(parser *p)
{
    if (!take(p, '"')) return fail(p, "a string is missing");
    const char *quote = p->at;
    while ((quote = memchr(quote, '"', (size_t)(p->end - quote))) && quote > p->at && quote[-1] == '\\')
        quote++; /* perhaps too far, which is room for more */
    if (!reserve(p, (size_t)((quote ? quote : p->end) - p->at))) return false;
    char *out = p->characters;
    while (p->at < p->end && *p->at != '"')
        if (!take_characters(p, &out)) return false;
    *out = '\0';
    return take(p, '"') || fail(p, "a string without end");
}

static cJSON *parse_word(parser *p, const char *word, cJSON *(*create)(void))
{
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) {
        fail(p, "an unknown word");
        return NULL;
    }
    p->at += length;
    return create();
}

/* ---- containers ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#define FEW 32 /* names that are compared pair by pair, which is faster */

static const char *repeated_of(const char **names, size_t n)
{
    if (n > FEW) qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++)
        for (size_t j = n > FEW ? i - 1 : 0; j < i; j++)
            if (*names[i] == *names[j] && strcmp(names[i], names[j]) == 0) return names[i];
    return NULL;
}

/* A name that an object of n members has twice; NULL: none, or memory is out. */
static const char *repeated_name(parser *p, const cJSON *object, size_t n)
{
    const char *few[FEW], **names = n > FEW ? malloc(n * sizeof *names) : few;
    if (!names) {
        no_memory(p);
        return NULL;
    }
    n = 0;
    for (const cJSON *item = object->child; item; item = item->next)
        names[n++] = item->string;
    const char *repeated = repeated_of(names, n);
    if (names != few) free(names);
    return repeated;
}

static cJSON *parse_value(parser *p);

static bool parse_member(parser *p, cJSON *object)
{
    skip_blanks(p);
    if (!parse_string(p)) return false;
    size_t size = strlen(p->characters) + 1;
    char *name = cJSON_malloc(size); /* the tree's, with its value */
    if (!name) {
        no_memory(p);
        return false;
    }
    memcpy(name, p->characters, size);
    skip_blanks(p);
    cJSON *value = take(p, ':') || fail(p, "':' is missing") ? parse_value(p) : NULL;
    if (!value) {
        cJSON_free(name);
        return false;
    }
    value->string = name;
    return cJSON_AddItemToArray(object, value);
}

static bool parse_item(parser *p, cJSON *array)
{
    cJSON *value = parse_value(p);
    return value && cJSON_AddItemToArray(array, value);
}

/* Recursion is as deep as ADEPT_JSON_MAX_DEPTH. */
static bool fill(parser *p, cJSON *container, char close)
{
    const char *begin = p->at++, *repeated = NULL;
    size_t n = 0;
    if (++p->depth > ADEPT_JSON_MAX_DEPTH) return fail(p, "nesting too deep");
    skip_blanks(p);
    if (!take(p, close)) {
        do {
            if (!(close == '}' ? parse_member : parse_item)(p, container)) return false;
            n++;
            skip_blanks(p);
        } while (take(p, ','));
        if (!take(p, close)) return fail(p, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
    }
    p->depth--;
    if (close == '}') repeated = repeated_name(p, container, n);
    if (repeated) fail_at(p, begin, "in this object the key \"", repeated);
    return p->status == ADEPT_OK;
}

static cJSON *parse_container(parser *p, cJSON *container, char close)
{
    if (container && fill(p, container, close)) return container;
    cJSON_Delete(container);
    return NULL;
}

static cJSON *parse_kind(parser *p)
{
    switch (p->at < p->end ? *p->at : '\0') {
    case '{':
        return parse_container(p, cJSON_CreateObject(), '}');
    case '[':
        return parse_container(p, cJSON_CreateArray(), ']');
    case '"':
        return parse_string(p) ? cJSON_CreateString(p->characters) : NULL;
    case 't':
        return parse_word(p, "true", cJSON_CreateTrue);
    case 'f':
        return parse_word(p, "false", cJSON_CreateFalse);
    case 'n':
        return parse_word(p, "null", cJSON_CreateNull);
    default:
        if (p->at < p->end && (*p->at == '-' || is_digit(*p->at))) return parse_number(p);
        fail(p, "a value is missing");
        return NULL;
    }
}

/* NULL with a status. */
static cJSON *parse_value(parser *p)
{
    skip_blanks(p);
    if (++p->n_values > p->max_values) {
        fail(p, "too many values");
        return NULL;
    }
    cJSON *value = parse_kind(p);
    if (!value) no_memory(p);
    return value;
}

adept_status adept_json_parse_within(cJSON **out, const char *name, const char *text, size_t size, size_t max_values,
                                     adept_error *err)
{
    parser p = {.name = name, .text = text, .at = text, .end = text + size, .max_values = max_values, .err = err};
    skip_blanks(&p);
    if (p.at == p.end) fail(&p, "empty");
    cJSON *root = p.status == ADEPT_OK ? parse_value(&p) : NULL;
    skip_blanks(&p);
    if (root && p.at < p.end) fail(&p, "text after the end of the value");
    free(p.characters);
    if (p.status == ADEPT_OK)
        *out = root;
    else
        cJSON_Delete(root);
    return p.status;
}

adept_status adept_json_parse(cJSON **out, const char *name, const char *text, size_t size, adept_error *err)
{
    if (size > ADEPT_JSON_MAX_BYTES)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %zu bytes of JSON, more than the %zu that are read", name,
                               size, ADEPT_JSON_MAX_BYTES);
    return adept_json_parse_within(out, name, text, size, ADEPT_JSON_MAX_VALUES, err);
}

adept_status adept_json_parse_file(cJSON **out, const char *path, size_t max_bytes, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, max_bytes, err);

    if (status == ADEPT_OK) status = adept_json_parse(out, path, text, size, err);
    free(text);
    return status;
}

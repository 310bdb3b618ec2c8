#include "worked_cases.h"
#include "adept_append.h"
#include "adept_grow.h"
#include "adept_number.h"
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST 9007199254740992.0 /* whole numbers up to here are exact */

/* In the order in which a case has them. */
typedef enum statement { NOTHING, NAME, CALL, FORWARD, BACKWARD } statement;

typedef struct reader {
    worked_cases *all;
    const adept_handler_table *table;
    const char *file;
    adept_error *err;
    size_t first;   /* case of this file */
    statement kind; /* of the statement under way */
    int line;       /* where it begins */
    char text[2000];
} reader;

static adept_status wrong(const reader *r, const char *what, const char *word)
{
    if (r->err) r->err->line = r->line;
    return adept_error_set(r->err, ADEPT_E_INVALID, "%s:%d: %s%.40s", r->file, r->line, what, word);
}

/* ---- numbers ---- */

static bool accept(const char **at, char c)
{
    if (**at != c) return false;
    *at += 1 + strspn(*at + 1, " ");
    return true;
}

static double sum(const char **at);

/* Of numbers: not finite where one is missing. */
static double product(const char **at)
{
    double all = 1;
    do {
        if (accept(at, '(')) {
            all *= sum(at);
            if (!accept(at, ')')) return INFINITY;
        } else if (isdigit((unsigned char)**at)) {
            all *= adept_number_value(*at);
            *at += adept_number_length(*at);
            *at += strspn(*at, " ");
        } else {
            return INFINITY;
        }
    } while (accept(at, '*'));
    return all;
}

static double sum(const char **at)
{
    double all = product(at);
    for (;;) {
        if (accept(at, '+'))
            all += product(at);
        else if (accept(at, '-'))
            all -= product(at);
        else
            return all;
    }
}

/* "alu 5 * 40, read 160" */
static adept_status parse_counts(const reader *r, call_counts *counts)
{
    static const struct {
        const char *word;
        size_t offset;
        statement only; /* NOTHING: either */
    } words[] = {{"gemm", offsetof(call_counts, gemm), NOTHING},
                 {"conv", offsetof(call_counts, conv), NOTHING},
                 {"alu", offsetof(call_counts, alu), NOTHING},
                 {"read", offsetof(call_counts, read), NOTHING},
                 {"written", offsetof(call_counts, written), NOTHING},
                 {"launches", offsetof(call_counts, launches), NOTHING},
                 {"m", offsetof(call_counts, product[0]), FORWARD},
                 {"n", offsetof(call_counts, product[1]), FORWARD},
                 {"k", offsetof(call_counts, product[2]), FORWARD},
                 {"batch", offsetof(call_counts, product[3]), FORWARD},
                 {"row_elements", offsetof(call_counts, row_elements), FORWARD},
                 {"saved", offsetof(call_counts, saved), BACKWARD}};
    const char *at = r->text;
    unsigned said = 0; /* a bit for each word */
    do {
        const char *word = at;
        size_t length = strcspn(at, " "), i = 0;
        while (i < sizeof words / sizeof *words &&
               (strlen(words[i].word) != length || memcmp(words[i].word, word, length) != 0 ||
                (words[i].only != NOTHING && words[i].only != r->kind)))
            i++;
        if (i == sizeof words / sizeof *words) return wrong(r, "no number has this name here: ", word);
        double *number = (double *)((char *)counts + words[i].offset);
        if (said & 1u << i) return wrong(r, "for the second time: ", word);
        said |= 1u << i;
        at += length + strspn(at + length, " ");
        *number = sum(&at);
        if (*at && *at != ',') return wrong(r, "not understood: ", at);
        if (!(*number >= 0 && *number <= MOST && *number == floor(*number)))
            return wrong(r, "no whole number from 0 to 2^53: ", word);
    } while (accept(&at, ','));
    return ADEPT_OK;
}

static adept_status end_statement(reader *r)
{
    worked_cases *all = r->all;
    worked_case *now = r->kind > NAME ? &all->items[all->n - 1] : NULL;
    char op[ADEPT_OP_NAME_BYTES];
    const adept_op *row;
    bool inplace;
    if (strlen(r->text) + 1 == sizeof r->text) return wrong(r, "too long: ", r->text);
    switch (r->kind) {
    case NOTHING:
        return ADEPT_OK;
    case NAME:
        for (size_t i = r->first; i < all->n; i++)
            if (!strcmp(all->items[i].name, r->text)) return wrong(r, "a name for the second time: ", r->text);
        now = adept_grow(all->items, &all->capacity, all->n + 1, sizeof *all->items);
        if (!now) return adept_no_memory(r->err, r->file);
        all->items = now;
        now[all->n++] = (worked_case){.name = adept_arena_strdup(all->arena, r->text),
                                      .file = adept_arena_strdup(all->arena, r->file),
                                      .line = r->line};
        return ADEPT_OK;
    case CALL:
        for (size_t i = 0; i + 1 < all->n; i++)
            if (!strcmp(all->items[i].call, r->text)) return wrong(r, "a call for the second time: ", r->text);
        snprintf(op, sizeof op, "%.*s", (int)strcspn(r->text, "("), r->text);
        if (!adept_handler_find(r->table, op, &now->handler, &row, &inplace)) return wrong(r, "no such operator: ", op);
        now->call = adept_arena_strdup(all->arena, r->text);
        return ADEPT_OK;
    case FORWARD:
        return parse_counts(r, &now->forward);
    case BACKWARD:
        return parse_counts(r, &now->backward);
    }
    return ADEPT_E_INTERNAL;
}

adept_status worked_cases_parse(worked_cases *all, const adept_handler_table *table, const char *file, const char *text,
                                adept_error *err)
{
    reader r = {.all = all, .table = table, .file = file, .err = err, .first = all->n};
    adept_status status = ADEPT_OK;
    if (!all->arena && !(all->arena = adept_arena_new())) return adept_no_memory(err, file);
    const char *line = text;
    for (int number = 1; *line; number++) {
        const char *begin = line + strspn(line, " "), *end = line + strcspn(line, "\n");
        size_t indent = (size_t)(begin - line);
        line = *end ? end + 1 : end;
        if (begin == end || *begin == '#') continue;
        if (indent > 4 && r.kind != NOTHING) {
            adept_append(r.text, sizeof r.text, " %.*s", (int)(end - begin), begin);
            continue;
        }
        status = end_statement(&r);
        if (status) return status;
        statement last = r.kind;
        size_t keyword = 0;
        r.line = number;
        if (indent == 0)
            r.kind = NAME;
        else if (last == NAME)
            r.kind = CALL;
        else if (!strncmp(begin, "forward ", keyword = 8))
            r.kind = FORWARD;
        else if (!strncmp(begin, "backward ", keyword = 9))
            r.kind = BACKWARD;
        else
            r.kind = NOTHING;
        bool in_order = r.kind == NAME ? last != NAME : r.kind > last && last != NOTHING;
        snprintf(r.text, sizeof r.text, "%.*s", (int)(end - begin), begin);
        if (!in_order || (indent != 0 && indent != 4)) return wrong(&r, "out of place: ", r.text);
        begin += keyword;
        begin += strspn(begin, " ");
        snprintf(r.text, sizeof r.text, "%.*s", (int)(end - begin), begin);
    }
    status = end_statement(&r);
    if (status) return status;
    if (r.kind <= NAME) return wrong(&r, "ends without a call", "");
    return adept_arena_failed(all->arena) ? adept_no_memory(err, file) : ADEPT_OK;
}

void worked_cases_free(worked_cases *all)
{
    free(all->items);
    adept_arena_free(all->arena);
    *all = (worked_cases){0};
}

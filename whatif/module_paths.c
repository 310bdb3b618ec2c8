/** @file module_paths.c  The reading side of what merging operators writes into paths. */
#include "diff_private.h"
#include "adept_grow.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the number at `at`, 0 if it is none of 1 to 9 digits. */
static size_t number_length(const char *at)
{
    size_t n = 0;

    while (isdigit((unsigned char)at[n]))
        n++;
    return n <= 9 ? n : 0;
}

static int64_t range_size(adept_index_range r)
{
    return (int64_t)r.last - r.first + 1;
}

/* "{0,2-5}" or "3" -> list. @return its length in the text, 0 if it is no such thing; `ranges` NULL only counts */
static size_t read_list(const char *text, adept_index_list *list, adept_index_range *ranges)
{
    bool braces = *text == '{';
    const char *p = text + braces;
    int64_t last = -1;

    *list = (adept_index_list){.ranges = ranges};
    do {
        adept_index_range r;
        if (list->n_ranges > 0) p++;
        size_t digits = number_length(p);
        if (digits == 0) return 0;
        r.first = r.last = atoi(p);
        p += digits;
        if (braces && *p == '-') {
            if ((digits = number_length(++p)) == 0) return 0;
            r.last = atoi(p);
            p += digits;
        }
        if (r.first <= last || r.last < r.first) return 0;
        last = r.last;
        if (ranges) ranges[list->n_ranges] = r;
        list->n_ranges++;
        list->n += range_size(r);
    } while (braces && *p == ',');
    if (braces && *p++ != '}') return 0;
    return (size_t)(p - text);
}

/* Where merging folds an index: a whole component, or what ends a component behind '_' if it is not the last one (there
 * only braces say that it was folded). */
static size_t list_length(const char *path, const char *at, adept_index_list *list)
{
    bool starts = at == path || at[-1] == '.';

    if (!starts && at[-1] != '_') return 0;
    size_t length = read_list(at, list, NULL);
    char behind = at[length];
    if (length == 0 || (behind != '.' && behind != '\0')) return 0;
    return starts || behind == '.' || *at == '{' ? length : 0;
}

bool adept_module_path_parse(adept_arena *arena, adept_module_path *out, const char *text, int64_t depth)
{
    char *pattern = malloc(strlen(text) + 1), *end = pattern;
    bool ok = pattern != NULL;
    adept_index_list list;

    *out = (adept_module_path){.n_lists = 0};
    for (const char *p = text; ok && *p;) {
        size_t length = out->n_lists < ADEPT_DIFF_PATH_INDICES ? list_length(text, p, &list) : 0;
        if (length > 0) {
            adept_index_range *ranges = adept_arena_array(arena, list.n_ranges, sizeof *ranges);
            ok = ranges != NULL;
            if (ok) read_list(p, &out->lists[out->n_lists++], ranges);
            *end++ = ADEPT_PATH_MARK;
            p += length;
        } else {
            *end++ = *p == ADEPT_PATH_MARK ? '?' : *p;
            p++;
        }
    }
    if (ok) {
        *end = '\0';
        if (depth > 0) {
            char *p = pattern;
            for (int64_t components = 0; *p; p++)
                if (*p == '.' && ++components == depth) break;
            *p = '\0';
        }
        out->pattern = adept_arena_intern(arena, pattern);
        ok = out->pattern != NULL;
    }
    free(pattern);
    if (ok) {
        size_t marks = 0;
        for (const char *p = out->pattern; *p; p++)
            marks += *p == ADEPT_PATH_MARK;
        out->n_lists = marks; /* some may be below the depth asked for */
        out->n = 1;
        for (size_t i = 0; i < marks; i++)
            if (__builtin_mul_overflow(out->n, out->lists[i].n, &out->n)) out->n = INT64_MAX;
    }
    return ok;
}

void adept_module_path_at(const adept_module_path *path, int64_t at, int32_t *indices)
{
    for (size_t i = path->n_lists; i-- > 0; at /= path->lists[i].n) {
        const adept_index_range *r = path->lists[i].ranges;
        int64_t left = at % path->lists[i].n;
        for (; left >= range_size(*r); r++)
            left -= range_size(*r);
        indices[i] = (int32_t)(r->first + left);
    }
}

static void print_list(FILE *out, const adept_index_list *list)
{
    if (list->n > 1) fputc('{', out);
    for (size_t i = 0; i < list->n_ranges; i++) {
        adept_index_range r = list->ranges[i];
        fprintf(out, "%s%d", i > 0 ? "," : "", (int)r.first);
        if (r.last > r.first) fprintf(out, "%s%d", range_size(r) > 2 ? "-" : ",", (int)r.last);
    }
    if (list->n > 1) fputc('}', out);
}

const char *adept_module_path_print(adept_arena *arena, const char *pattern, const adept_index_list *lists)
{
    adept_buffer buffer = {.data = NULL};
    size_t list = 0;
    FILE *out = adept_buffer_stream(&buffer);

    if (!out) return NULL;
    for (const char *p = pattern; *p; p++) {
        if (*p != ADEPT_PATH_MARK)
            fputc(*p, out);
        else if (lists)
            print_list(out, &lists[list++]);
        else
            fputc('*', out);
    }
    char *text = adept_buffer_close(&buffer, out);
    const char *path = text ? adept_arena_intern(arena, text) : NULL;
    free(text);
    return path;
}

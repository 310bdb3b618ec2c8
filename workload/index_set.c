/* List indices in module paths; see index_set.h. */
#include "index_set.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

bool adept_index_set_add(adept_index_set *s, int32_t v)
{
    if (s->n && v == s->items[s->n - 1]) return true;
    int32_t *grown = adept_grow(s->items, &s->capacity, s->n + 1, sizeof *grown);
    if (!grown) return false;
    s->items = grown;
    s->items[s->n++] = v;
    return true;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void adept_index_set_put(adept_buffer *out, adept_index_set *s)
{
    char text[32];
    size_t n = 0, sorted = 1;
    while (sorted < s->n && s->items[sorted - 1] <= s->items[sorted])
        sorted++;
    if (sorted < s->n) qsort(s->items, s->n, sizeof *s->items, by_number);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || s->items[i] != s->items[n - 1]) s->items[n++] = s->items[i];
    s->n = n;
    if (s->n > 1) adept_buffer_text(out, "{");
    for (size_t i = 0, j; i < s->n; i = j + 1) {
        for (j = i; j + 1 < s->n && s->items[j + 1] == s->items[j] + 1;)
            j++;
        int used = snprintf(text, sizeof text, "%s%d", i ? "," : "", s->items[i]);
        if (j > i) snprintf(text + used, sizeof text - (size_t)used, "%s%d", j > i + 1 ? "-" : ",", s->items[j]);
        adept_buffer_text(out, text);
    }
    if (s->n > 1) adept_buffer_text(out, "}");
}

size_t adept_index_length(const char *path, const char *at)
{
    size_t n = 0;
    while (isdigit((unsigned char)at[n]))
        n++;
    if (n < 1 || n > 9 || (at[n] != '.' && at[n] != 0)) return 0;
    if (at == path || at[-1] == '.') return n;
    return at[-1] == '_' && at[n] == '.' ? n : 0;
}

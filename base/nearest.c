/** @file nearest.c  Edit distance on short words: three rows, no allocation. */
#include "nearest.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORD 63

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t adept_edit_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_WORD + 1];
    size_t n = strlen(a), m = strlen(b);

    if (n > MAX_WORD || m > MAX_WORD) return n > m ? n : m; /* no word of ours is that long: as far as it can be */
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *before2 = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = before[j - 1] + (adept_lower(a[i - 1]) != adept_lower(b[j - 1]));
            now[j] = min2(replace, min2(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && adept_lower(a[i - 1]) == adept_lower(b[j - 2]) &&
                adept_lower(a[i - 2]) == adept_lower(b[j - 1]))
                now[j] = min2(now[j], before2[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

bool adept_is_nearer(size_t *best_distance, const char *text, const char *name)
{
    size_t distance = adept_edit_distance(text, name);
    size_t allowed = strlen(text) / 3 + 2; /* farther than that is another word, not a typing error */

    if (distance >= allowed || distance >= strlen(name) || distance >= *best_distance) return false;
    *best_distance = distance;
    return true;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && adept_lower(*a) == adept_lower(*b))
        a++, b++;
    return *a == *b;
}

/* What others call it, and what we do. */
static const char *const synonyms[][2] = {
    {"float32", "fp32"},       {"single", "fp32"},          {"tensorfloat32", "tf32"},
    {"bfloat16", "bf16"},      {"float16", "fp16"},         {"half", "fp16"},
    {"amp", "fp16"},           {"training", "train"},       {"inference", "infer"},
    {"eval", "infer"},         {"flash", "fused"},          {"sdpa", "fused"},
    {"nhwc", "channels_last"}, {"nvlink-bridge", "bridge"}, {"contiguous", "nchw"},
    {"fp8:tensor", "fp8"},     {"fp8-te", "fp8"},           {"fp8-tensorwise", "fp8"},
    {"unfused", "eager"},      {"local", "eager"},          {"te-default", "fused"},
    {"fused:fa1", "fused"},    {"fused:fa2", "fused"},      {"fused:fa3", "fused"},
    {"fused:triton", "fused"},
};

size_t adept_name_index(const char *text, adept_name_at name_at)
{
    const char *name;

    for (size_t i = 0; text && (name = name_at(i)) != NULL; i++)
        if (same_word(name, text)) return i;
    for (size_t i = 0; text && i < sizeof synonyms / sizeof *synonyms; i++)
        if (same_word(text, synonyms[i][0])) return adept_name_index(synonyms[i][1], name_at);
    return SIZE_MAX;
}

const char *adept_nearest(const char *text, adept_name_at name_at)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    const char *name;

    for (size_t i = 0; (name = name_at(i)) != NULL; i++)
        if (adept_is_nearer(&best_distance, text, name)) best = name;
    return best;
}

char *adept_names_list(char *text, size_t size, adept_name_at name_at)
{
    size_t used = 0;
    const char *name;

    text[0] = '\0';
    for (size_t i = 0; (name = name_at(i)) != NULL && used < size; i++) {
        int n = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", name);
        if (n < 0) break;
        used += (size_t)n;
    }
    return text;
}

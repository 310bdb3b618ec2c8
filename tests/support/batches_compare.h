/** @file batches_compare.h  Profiles made for a size against those of a walk, and files of them. Header only. */
#ifndef BATCHES_COMPARE_H
#define BATCHES_COMPARE_H
#include "adept_batches.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/** The same to the last byte of their JSON; frees both. */
static inline void profiles_are_same(adept_profile *made, adept_profile *walked, const char *model)
{
    char *a = adept_profile_to_json(made), *c = adept_profile_to_json(walked);
    assert_true(a && c);
    size_t at = 0;
    while (a[at] && a[at] == c[at])
        at++;
    if (a[at] != c[at])
        fail_msg("%s at a batch of %lld, length %lld: made \"%.60s\", walked \"%.60s\"", model,
                 (long long)walked->batch_size, (long long)walked->seq_length, a + at, c + at);
    free(a);
    free(c);
    adept_profile_free(made);
    adept_profile_free(walked);
}

/** Written, read, and written again: the same text. */
static inline adept_batches *batches_through_file(const adept_batches *b)
{
    adept_batches *read = NULL;
    adept_error err = {0};
    char *text = adept_batches_to_json(b);
    assert_non_null(text);
    if (adept_batches_from_json(&read, "toy", text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *again = adept_batches_to_json(read);
    assert_string_equal(text, again);
    free(text);
    free(again);
    return read;
}

/** Replace the first `from` behind `key`; malloc'ed. */
static inline char *replaced_behind(const char *text, const char *key, const char *from, const char *to)
{
    const char *start = strstr(text, key), *at = start ? strstr(start, from) : NULL;
    if (!at) fail_msg("no %s in the file", from);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

/** Reading what became of the text fails and says so. */
static inline void lie_is_refused(const char *text, const char *key, const char *from, const char *to, const char *says)
{
    adept_batches *read = NULL;
    adept_error err = {0};
    char *bad = replaced_behind(text, key, from, to);
    if (adept_batches_from_json(&read, "toy", bad, strlen(bad), &err) == ADEPT_OK)
        fail_msg("%s became %s, and it was read", from, to);
    if (!strstr(err.message, says)) fail_msg("%s: \"%s\"", to, err.message);
    free(bad);
}

#endif

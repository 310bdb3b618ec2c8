/** @file nearest.h  "did you mean": names close to a mistyped one. Calls: nothing. */
#ifndef ADEPT_NEAREST_H
#define ADEPT_NEAREST_H
#include <stdbool.h>
#include <stddef.h>

/** Lower case of ASCII. Not tolower(): that follows the locale. */
static inline char adept_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/** Name number `index` of a listing, NULL past the end. */
typedef const char *(*adept_name_at)(size_t index);

/** Define such a function of fixed names. */
#define ADEPT_NAMES(function, ...)                                                                                     \
    const char *function(size_t index)                                                                                 \
    {                                                                                                                  \
        static const char *const names[] = {__VA_ARGS__};                                                              \
        return index < sizeof names / sizeof *names ? names[index] : NULL;                                             \
    }
/** The same of one file's own. Not "static ADEPT_NAMES", of which clang-format makes no line of its own. */
#define ADEPT_FILE_NAMES(function, ...) static ADEPT_NAMES(function, __VA_ARGS__)

/** Number of a listed name, whatever its case, or of what others call it ("half" is fp16); SIZE_MAX if it is none
 * (`text` may be NULL). */
size_t adept_name_index(const char *text, adept_name_at name_at);

/** The listed name that differs least from `text` (edits, case ignored); NULL if none is close. */
const char *adept_nearest(const char *text, adept_name_at name_at);

/** One step of that over any other list: is this name close, and closer than the best so far (SIZE_MAX before the
 * first)? */
bool adept_is_nearer(size_t *best_distance, const char *text, const char *name);

/** All listed names, separated by commas, cut at the end of the buffer. Returns text. */
char *adept_names_list(char *text, size_t size, adept_name_at name_at);

/** Number of single-character edits (insert, delete, replace, swap neighbours) between two words, case ignored. */
size_t adept_edit_distance(const char *a, const char *b);

#endif

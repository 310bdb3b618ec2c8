/** @file diff_private.h  How a difference is made: paths with list indices, the modules of each side, which of them is
 *  which, and their rows. Private to whatif/. Calls: model, adept_arena. */
#ifndef ADEPT_DIFF_PRIVATE_H
#define ADEPT_DIFF_PRIVATE_H
#include "adept_arena.h"
#include "adept_diff.h"

/* ---- paths: "layers.{0-21}.mlp" ---- */

#define ADEPT_PATH_MARK '\001' /* stands for an index in a pattern; no path holds it */
#define ADEPT_DIFF_PATH_INDICES 8 /* of one path; further ones are compared as text */

typedef struct adept_index_range {
    int32_t first, last;
} adept_index_range;

/** The indices found at one place of a path, ascending. */
typedef struct adept_index_list {
    size_t n_ranges;
    const adept_index_range *ranges;
    int64_t n;
} adept_index_list;

typedef struct adept_module_path {
    const char *pattern; /* interned */
    size_t n_lists;
    adept_index_list lists[ADEPT_DIFF_PATH_INDICES];
    int64_t n; /* paths that it stands for, at most INT64_MAX */
} adept_module_path;

/** @param depth components to keep, 0: all. @return false when memory is out */
bool adept_module_path_parse(adept_arena *arena, adept_module_path *out, const char *text, int64_t depth);
/** Indices of its path number `at`, of n; the last list runs fastest. */
void adept_module_path_at(const adept_module_path *path, int64_t at, int32_t *indices);
/** Path of a pattern; lists of more than one index in braces. NULL lists: "*" at each. NULL when memory is out. */
const char *adept_module_path_print(adept_arena *arena, const char *pattern, const adept_index_list *lists);

/* ---- one side as a list of modules ---- */

/* Some executions of one operator of the profile. */
typedef struct adept_diff_share {
    size_t op;
    int64_t count;
} adept_diff_share;

typedef struct adept_diff_module {
    const char *key;     /* what is matched: its path, or the pattern of several that cannot be told apart; interned */
    const char *pattern; /* interned */
    bool apart;          /* indices are known */
    size_t n_indices;
    int32_t indices[ADEPT_DIFF_PATH_INDICES];
    const char *module_class; /* "" where a depth cut the path */
    size_t order;             /* of its first operator */
    size_t n_shares;
    const adept_diff_share *shares; /* in the order of the profile */
    uint64_t signature;             /* hash of what its operators are */
    int64_t count;
    adept_diff_amounts amounts;
} adept_diff_module;

typedef struct adept_diff_modules {
    const adept_profile *profile;
    adept_diff_module *items; /* by key */
    size_t n;
} adept_diff_modules;

/** What adept_diff_modules_make() works on, for both sides at once: they must agree on what can be told apart. */
typedef struct adept_diff_input {
    const adept_profile *profile;
    const adept_op_prediction *ops;
    bool parameters_known; /* per module */
} adept_diff_input;

/** @param out two. Everything lies in the arena. @return false when memory is out */
bool adept_diff_modules_make(adept_arena *arena, adept_diff_modules *out, const adept_diff_input *in, int64_t depth);

/** Do two modules run the same operators on the same shapes, equally often? */
bool adept_diff_modules_alike(const adept_diff_modules *a, size_t i, const adept_diff_modules *b, size_t j);

/* ---- which module of the old step is which of the new one ---- */

#define ADEPT_DIFF_NONE SIZE_MAX

typedef struct adept_diff_pair {
    size_t old, now; /* indices into the modules; one may be ADEPT_DIFF_NONE */
    bool renamed;
} adept_diff_pair;


/** Pairs -> rows of modules that differ in list indices only and changed alike. @return false when memory is out */
bool adept_diff_rows(adept_arena *arena, adept_diff_row **out, size_t *n, const adept_diff_pair *pairs, size_t n_pairs,
                     const adept_diff_modules *old, const adept_diff_modules *now);

#endif

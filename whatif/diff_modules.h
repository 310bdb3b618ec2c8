/** @file diff_modules.h  One side of a difference as a list of modules. Private to whatif/. Calls: model. */
#ifndef ADEPT_DIFF_MODULES_H
#define ADEPT_DIFF_MODULES_H
#include "adept_diff.h"
#include "module_paths.h"

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
    int32_t indices[ADEPT_PATH_INDICES];
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

#endif

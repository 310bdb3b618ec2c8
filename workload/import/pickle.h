/** @file pickle.h  What torch.jit writes of Python's pickle format, as a tree. Nothing is imported, called or built.
 *  Private to workload/. Calls: adept_arena, adept_error. */
#ifndef ADEPT_PICKLE_H
#define ADEPT_PICKLE_H
#include "adept_arena.h"
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum adept_pickle_kind {
    ADEPT_PICKLE_NONE,
    ADEPT_PICKLE_BOOL,
    ADEPT_PICKLE_INT,
    ADEPT_PICKLE_FLOAT,
    ADEPT_PICKLE_TEXT,
    ADEPT_PICKLE_GLOBAL, /* text is "module\nname" */
    ADEPT_PICKLE_TUPLE,  /* from here on: containers */
    ADEPT_PICKLE_LIST,
    ADEPT_PICKLE_DICT,      /* items alternate key, value */
    ADEPT_PICKLE_OBJECT,    /* callable, arguments, then whatever was put into it */
    ADEPT_PICKLE_PERSISTENT /* one item: the storage tuple of a tensor */
} adept_pickle_kind;

struct adept_pickle_items;
typedef struct adept_pickle_value {
    adept_pickle_kind kind;
    uint32_t n_bytes; /* of the text, which is not zero-terminated */
    union {
        bool b;
        int64_t i;
        double f;
        const char *text;
        struct adept_pickle_items *items;
    } u;
} adept_pickle_value;

typedef struct adept_pickle_items {
    adept_pickle_value *values;
    size_t n, capacity;
    uint32_t depth;                  /* of containers below and including this one */
    struct adept_pickle_items *next; /* all containers of the pickle, for the depth check */
} adept_pickle_items;

/* Deeper values, and values that contain themselves, make libtorch's recursive functions run out of stack. */
#define ADEPT_PICKLE_MAX_DEPTH 1000

/**
 * Parse and check a pickle: known opcodes only, stack and memo used consistently, nesting bounded.
 * @param out   borrows from arena and data
 * @param name  of the file and entry, for messages
 * @return ADEPT_E_INVALID with the offset of the fault, ADEPT_E_NOMEM
 * Thread-safe on distinct arenas.
 */
adept_status adept_pickle_parse(adept_pickle_value *out, adept_arena *arena, const char *name, const void *data,
                                size_t size, adept_error *err);

/** Item i of a container of that kind; NULL if v is NULL, not one or has too few. */
const adept_pickle_value *adept_pickle_item(const adept_pickle_value *v, adept_pickle_kind kind, size_t i);
/** The arguments, a tuple, of a call of "module\nname"; NULL if v is none. */
const adept_pickle_value *adept_pickle_call(const adept_pickle_value *v, const char *function);
/** Is it this text, or the global "module\nname"? */
bool adept_pickle_is(const adept_pickle_value *v, adept_pickle_kind kind, const char *text);

#endif

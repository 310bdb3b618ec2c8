/** @file walk.h  A program forked at a place of its run: the child goes on with a fault, the parent waits and tells
 * what became of it, puts the files of the folder back, and goes on without. So N faults cost N ends of a run.
 *
 *  It forks only where nothing is shared that the child could move: one thread, no other children, and only regular
 * files or folders open beside the standard ones. Elsewhere, and with ADEPT_WALK_ALONE in the environment, it tells
 * that the fault was not tried. Nothing here allocates. */
#ifndef ADEPT_WALK_H
#define ADEPT_WALK_H
#include <stdbool.h>
#include <stdint.h>

/** What is written of each fault; so many bytes follow of stdout, of stderr, of files, and of the stack as text. Of
 * each file of the folder that is new, changed or gone since walk_begin(): its name, a NUL, 8 bytes of its size (-1:
 * gone), and what it holds. */
struct record {
    int64_t number;  /* of the place */
    int32_t kind;    /* of the fault */
    int32_t status;  /* of waitpid(); -1: not tried */
    uint32_t size_out, size_err, size_files, size_stack;
};

/** What is asked of a program that serves, and so cannot be forked: in a file of this size, which both sides map. The
 * program fails nothing until `at` is set, and nothing more once it is 0. */
struct order {
    int64_t at;   /* the how-manieth place from now on is to fail; written last */
    int64_t kind; /* of the fault */
    int64_t seen; /* such places since it was 0 */
};

/** @return NULL where `path` is NULL */
struct order *walk_order(const char *path);

/** @return does this place fail? */
bool walk_obey(struct order *order, bool goes_on);

/** @param path  gets the records. stdout and stderr must be regular files, and the folder the program's own */
void walk_begin(const char *path);

/** Was this place, told by the functions on the stack, reached 1, 4, 16, 64, ... times by now? What a loop does a
 * thousand times fails in the same way nearly always; ADEPT_WALK_STACKS in the environment, else every place is. */
bool walk_is_due(void);

/** @return true in the child, which is to have the fault */
bool walk_case(int64_t number, int kind);

bool walk_is_forking(void);
bool walk_is_child(void);

#endif

/** @file adept_shard.h  A part of work that several machines share. Calls: nothing. */
#ifndef ADEPT_SHARD_H
#define ADEPT_SHARD_H
#include <stddef.h>

/** One of `of` parts of all work, counted from 1. {1, 1}, or {0, 0}: all. */
typedef struct adept_shard {
    size_t index, of;
} adept_shard;

#endif

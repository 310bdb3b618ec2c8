/** @file adept_tres.h  GPUs in Slurm's lists of trackable resources (AllocTRES, ReqTRES), slices and shards of them
 * too. Thread-safe. Calls: adept_number. */
#ifndef ADEPT_TRES_H
#define ADEPT_TRES_H
#include <stdbool.h>
#include <stddef.h>

/** What "billing=8,gres/gpu:a100=2,gres/gpu=2,gres/shard=4" has of GPUs. */
typedef struct adept_tres_gpus {
    double whole;  /* boards */
    double slices; /* MIG instances, gres/gpu:1g.5gb=7, */
    double sliced; /* and how much of a board they are together: 7 of 1g.5gb are 1 */
    double shards; /* gres/shard: how many there are on a board is not told */
} adept_tres_gpus;

/** @return false: a count of GPUs is not a whole number, or too large to be one */
bool adept_tres_gpus_read(adept_tres_gpus *out, const char *list);

#endif

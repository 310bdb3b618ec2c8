/** @file adept_merge.h  Measurements of the nodes of a cluster as one table, with its sums. Calls: adept_result. */
#ifndef ADEPT_MERGE_H
#define ADEPT_MERGE_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

/** A cell: that a node has no such device, or what it measured; NAN: not known. */
typedef struct adept_merge_cell {
    double value;
    bool is_there;
} adept_merge_cell;

typedef struct adept_merge_node {
    char *host;
    size_t n_files;
    adept_merge_cell *cells; /* one a column */
} adept_merge_node;

typedef struct adept_merge_column {
    char title[80]; /* "Pkg(J)", "GPU 0 (J)", "RAM (J)", "Time (s)" as EA2P has them */
    int order;
} adept_merge_column;

typedef struct adept_merge {
    adept_merge_column *columns; /* the last one is the time */
    size_t n_columns, column_capacity;
    adept_merge_node *nodes; /* in the order in which the files name them */
    size_t n_nodes, node_capacity;
    adept_merge_cell *totals; /* one a column; NAN as soon as a node's is not known */
    double energy_j;          /* all columns but the time; NAN: not known */
    char **notes;             /* what a reader should know of a number; each malloc'ed */
    size_t n_notes, note_capacity;
} adept_merge;

/**
 * Read the files that `adept measure --json` wrote on each node, or for each rank of a node. Sensors see the whole
 * node, so of files of a host whose times overlap each sensor counts once: as the longest file has it that knows its
 * energy. Files one after another are added up.
 * @param out  adept_merge_free(); set only on ADEPT_OK
 * @return ADEPT_E_INVALID: a file is no measurement; ADEPT_E_NOMEM
 */
adept_status adept_merge_files(adept_merge **out, const char *const *paths, size_t n, adept_error *err);
void adept_merge_free(adept_merge *merge);

#endif

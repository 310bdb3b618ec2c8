/** @file treemap.h  Layers as nested rectangles whose areas are their shares (squarified treemap, Bruls et al., 2000).
 *  gnuplot could draw the rectangles but neither clip a label to its cell nor nest them, so this is SVG of our own.
 *  Calls: markup, palette. */
#ifndef ADEPT_TREEMAP_H
#define ADEPT_TREEMAP_H
#include "adept_error.h"
#include "palette.h"
#include "units.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct adept_rect {
    double x, y, width, height;
} adept_rect;

/**
 * Cut an area into n rectangles with areas in proportion to the values.
 * @param values  above 0, largest first (then the rectangles are the least oblong)
 */
void adept_squarify(adept_rect *out, const double *values, size_t n, adept_rect area);

/** What gets a cell. */
typedef struct adept_treemap_item {
    const char *path;   /* module path: items nest by its parts. Borrowed */
    const char *detail; /* for the tooltip: "Conv2d"; may be "" */
    double value;       /* not above 0, or not finite: no cell */
    adept_shade shade;
    bool outside; /* no module: beside the tree of modules, whatever its name */
} adept_treemap_item;

/** A cell, or a group of cells with a heading. Children stand together behind their parents. */
typedef struct adept_treemap_node {
    const char *label; /* not terminated; borrowed from an item or static */
    size_t label_length;
    size_t offset;      /* of the paths: what the labels down to here cover */
    size_t first, last; /* items, sorted */
    size_t child, n_children;
    int depth, nesting; /* levels above it, without and with those that nearly all of the parent lies in */
    double value;
    adept_rect rect, inner; /* inner: what the children share */
    adept_shade shade;      /* of most of its value */
} adept_treemap_node;

typedef struct adept_treemap {
    adept_treemap_item *items; /* sorted copy */
    size_t n_items;
    adept_treemap_node *nodes; /* the first is the root */
    size_t n_nodes, capacity;
} adept_treemap;

/** Lay out. Cells below 1/1000 of the whole are put together as "other". Labels are borrowed from the items' paths.
 *  @return ADEPT_E_NOMEM */
adept_status adept_treemap_layout(adept_treemap *out, const adept_treemap_item *items, size_t n, adept_rect area,
                                  adept_error *err);
void adept_treemap_free(adept_treemap *map);

typedef struct adept_treemap_look {
    const char *id;    /* letters; differs between pictures of one page */
    const char *title; /* what the areas are */
    adept_text (*print)(double value);
} adept_treemap_look;

/** The picture as SVG. Nothing to draw gives a picture that says so. */
adept_status adept_treemap_draw(FILE *out, const adept_treemap_item *items, size_t n, const adept_treemap_look *look,
                                adept_error *err);

#endif

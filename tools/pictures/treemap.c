/** @file treemap.c  The layout, and its picture as SVG. Nodes are worked off in the order they are made, so that paths
 *  of any depth need no recursion. A label lies in a nested <svg>, which clips it whatever font there is. */
#include "treemap.h"
#include "adept_grow.h"
#include "markup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 3
#define SAME_LEVEL 0.8 /* a part with more of its parent than this does not count as a level of its own ... */
#define MAX_NESTING 8  /* ... but so many headings are enough */
#define LEAST_SHARE 1e-3
#define HEADING_HEIGHT 17.0
#define MARGIN 3.0
#define LEAST_GROUP_WIDTH 64.0 /* smaller groups are drawn as one cell */
#define LEAST_GROUP_HEIGHT 44.0

/* ---------------------------------------------------------------- one level -------------------------------------- */

/* The longest side ratio of a row of values with that sum, along a side. */
static double worst_ratio(double largest, double smallest, double sum, double side)
{
    double thickness = sum / side;
    double longest = largest / thickness, shortest = smallest / thickness;

    return fmax(fmax(longest / thickness, thickness / longest), fmax(shortest / thickness, thickness / shortest));
}

/* Put values[0..n) along the shorter side of what is left of the area, and take their strip off it. */
static void place_row(adept_rect *out, const double *values, size_t n, double sum, double scale, adept_rect *left)
{
    bool upright = left->width >= left->height; /* the strip is */
    double side = upright ? left->height : left->width, thickness = sum * scale / side, at = 0;

    for (size_t i = 0; i < n; i++) {
        double length = values[i] * scale / thickness;
        out[i] = upright ? (adept_rect){left->x, left->y + at, thickness, length}
                         : (adept_rect){left->x + at, left->y, length, thickness};
        at += length;
    }
    if (upright) {
        left->x += thickness;
        left->width = fmax(left->width - thickness, 0);
    } else {
        left->y += thickness;
        left->height = fmax(left->height - thickness, 0);
    }
}

void adept_squarify(adept_rect *out, const double *values, size_t n, adept_rect area)
{
    double total = 0;

    for (size_t i = 0; i < n; i++)
        total += values[i];
    double scale = area.width * area.height / total;
    for (size_t first = 0; first < n;) {
        double side = fmin(area.width, area.height), sum = values[first];
        if (!(side > 0)) { /* rounding has used up the area: these have none */
            for (; first < n; first++)
                out[first] = (adept_rect){area.x, area.y, 0, 0};
            return;
        }
        double worst = worst_ratio(values[first] * scale, values[first] * scale, sum * scale, side);
        size_t last = first + 1;
        while (last < n) {
            double wider = worst_ratio(values[first] * scale, values[last] * scale, (sum + values[last]) * scale, side);
            if (wider > worst) break;
            worst = wider;
            sum += values[last++];
        }
        place_row(out + first, values + first, last - first, sum, scale, &area);
        first = last;
    }
}

/* ---------------------------------------------------------------- the tree --------------------------------------- */

/* Paths in byte order, but '.' before all else: then the items of a module stand together. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    int x = *a == '.' ? 1 : *a ? (unsigned char)*a + 1 : 0, y = *b == '.' ? 1 : *b ? (unsigned char)*b + 1 : 0;
    return x - y;
}

static int compare_items(const void *a, const void *b)
{
    const adept_treemap_item *x = a, *y = b;

    if (x->outside != y->outside) return x->outside ? 1 : -1;
    return compare_paths(x->path, y->path);
}

/* Where the part of the path that begins at `offset` ends. */
static size_t part_end(const char *path, size_t offset)
{
    if (path[offset] == '\0') return offset;
    return offset + 1 + strcspn(path + offset + 1, ".");
}

/* A range of sorted items below one module as a node, its label all parts they have in common. */
static adept_treemap_node make_node(const adept_treemap *map, size_t first, size_t last, size_t offset, int depth)
{
    adept_treemap_node n = {.first = first, .last = last, .offset = offset, .depth = depth};
    const char *a = map->items[first].path, *b = map->items[last - 1].path;
    double of_shade[ADEPT_SHADE_COUNT] = {0};

    for (;;) { /* the first and the last of sorted paths agree where all do */
        size_t end = part_end(a, n.offset);
        if (end == n.offset || end != part_end(b, n.offset) || memcmp(a, b, end) != 0) break;
        n.offset = end;
    }
    n.label = a + offset + (a[offset] == '.');
    n.label_length = n.offset > offset ? n.offset - offset - (a[offset] == '.') : 0;
    if (n.label_length == 0) {
        n.label = map->items[first].path[0] ? "(itself)" : "(model)";
        n.label_length = strlen(n.label);
    }
    for (size_t i = first; i < last; i++) {
        n.value += map->items[i].value;
        of_shade[map->items[i].shade] += map->items[i].value;
    }
    for (int shade = 0; shade < ADEPT_SHADE_COUNT; shade++)
        if (of_shade[shade] > of_shade[n.shade]) n.shade = (adept_shade)shade;
    return n;
}

static int by_value(const void *a, const void *b)
{
    const adept_treemap_node *x = a, *y = b;

    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

/* The children of a node, largest first, the smallest put together as one. Their number. */
static size_t find_children(const adept_treemap *map, const adept_treemap_node *parent, adept_treemap_node *out)
{
    size_t n = 0, offset = parent->offset;

    for (size_t i = parent->first; i < parent->last;) {
        const adept_treemap_item *item = &map->items[i];
        size_t end = part_end(item->path, offset), last = i + 1;
        while (!item->outside && end > offset && last < parent->last && !map->items[last].outside &&
               part_end(map->items[last].path, offset) == end && memcmp(map->items[last].path, item->path, end) == 0)
            last++;
        out[n] = make_node(map, i, last, item->outside ? 0 : offset, parent->depth + 1);
        out[n].nesting = parent->nesting + 1;
        if (parent->depth > 0 && out[n].value > SAME_LEVEL * parent->value) out[n].depth--;
        n++;
        i = last;
    }
    qsort(out, n, sizeof *out, by_value);
    double least = LEAST_SHARE * map->nodes[0].value;
    size_t large = n;
    while (large > 0 && out[large - 1].value < least)
        large--;
    if (n - large < 2) return n;
    for (size_t i = large + 1; i < n; i++) {
        out[large].value += out[i].value;
        out[large].last = out[large].first; /* no longer a range: a cell of its own */
    }
    out[large].label = "other";
    out[large].label_length = strlen("other");
    return large + 1;
}

static bool is_group(const adept_treemap_node *n)
{
    if (n->last - n->first < 2 || n->last <= n->first) return false;
    if (n->depth == 0) return true;
    return n->depth < MAX_DEPTH && n->nesting < MAX_NESTING && n->rect.width >= LEAST_GROUP_WIDTH &&
           n->rect.height >= LEAST_GROUP_HEIGHT;
}

/* Room for as many nodes more. */
static bool reserve(adept_treemap *map, size_t more)
{
    adept_treemap_node *grown = adept_grow(map->nodes, &map->capacity, map->n_nodes + more, sizeof *grown);
    if (grown) map->nodes = grown;
    return grown != NULL;
}

static bool expand(adept_treemap *map, size_t at, adept_rect *rects, double *values)
{
    if (!is_group(&map->nodes[at])) return true;
    if (!reserve(map, map->nodes[at].last - map->nodes[at].first)) return false;
    adept_treemap_node *n = &map->nodes[at], *children = &map->nodes[map->n_nodes];
    double head = n->depth == 0 ? 0 : HEADING_HEIGHT, margin = n->depth == 0 ? 0 : MARGIN;

    n->inner =
        (adept_rect){n->rect.x + margin, n->rect.y + head, n->rect.width - 2 * margin, n->rect.height - head - margin};
    n->child = map->n_nodes;
    n->n_children = find_children(map, n, children);
    for (size_t i = 0; i < n->n_children; i++)
        values[i] = children[i].value;
    adept_squarify(rects, values, n->n_children, n->inner);
    for (size_t i = 0; i < n->n_children; i++)
        children[i].rect = rects[i];
    map->n_nodes += n->n_children;
    return true;
}

adept_status adept_treemap_layout(adept_treemap *out, const adept_treemap_item *items, size_t n, adept_rect area,
                                  adept_error *err)
{
    adept_rect *rects = calloc(n + 1, sizeof *rects);
    double *values = calloc(n + 1, sizeof *values);

    *out = (adept_treemap){.items = calloc(n + 1, sizeof *out->items)};
    bool ok = rects && values && out->items && reserve(out, 1);
    for (size_t i = 0; i < n && ok; i++)
        if (isfinite(items[i].value) && items[i].value > 0) out->items[out->n_items++] = items[i];
    if (ok && out->n_items > 0) {
        qsort(out->items, out->n_items, sizeof *out->items, compare_items);
        out->nodes[0] = make_node(out, 0, out->n_items, 0, 0);
        out->nodes[0].offset = 0; /* what all have in common is a heading too */
        out->nodes[0].rect = area;
        out->n_nodes = 1;
    }
    for (size_t i = 0; i < out->n_nodes && ok; i++)
        ok = expand(out, i, rects, values);
    free(rects);
    free(values);
    if (ok) return ADEPT_OK;
    adept_treemap_free(out);
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory while drawing");
}

void adept_treemap_free(adept_treemap *map)
{
    free(map->items);
    free(map->nodes);
    *map = (adept_treemap){.n_items = 0};
}

/* ---------------------------------------------------------------- the picture ------------------------------------ */

#define MAP_HEIGHT 460.0
#define NAME_PX 13.0
#define SMALL_PX 11.0
#define LEAST_CHARS 2 /* of a name; else the tooltip has to do */

/* Name, value and share for the reader who points at it, and for screen readers. */
static void put_tooltip(FILE *out, const adept_treemap *map, const adept_treemap_node *n,
                        const adept_treemap_look *look)
{
    const adept_treemap_item *item = n->last > n->first ? &map->items[n->first] : NULL;

    fputs("<title>", out);
    if (item && n->offset > 0)
        adept_markup_put(out, item->path, n->offset, 200);
    else
        adept_markup_put(out, n->label, n->label_length, 200);
    if (n->last - n->first == 1 && item->detail[0]) {
        fputs(" (", out);
        adept_markup_text(out, item->detail);
        fputc(')', out);
    }
    fprintf(out, ": %s, %s", look->print(n->value).s, adept_units_percent(n->value / map->nodes[0].value).s);
    if (n->last - n->first > 1) fprintf(out, ", %zu layers", n->last - n->first);
    fputs("</title>", out);
}

static void put_cell(FILE *out, const adept_treemap *map, const adept_treemap_node *n, const adept_treemap_look *look)
{
    const adept_rect *r = &n->rect;
    bool large = r->width >= 90 && r->height >= 24;
    double px = large ? NAME_PX : SMALL_PX;
    char share[160], ink[64];

    fputs("<g>", out);
    put_tooltip(out, map, n, look);
    adept_shade_rect(out, look->id, n->shade, r->x, r->y, r->width, r->height);
    fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" stroke=\"#fff\"/>\n", r->x,
            r->y, r->width, r->height);
    if (r->height >= px + 3 && adept_markup_fitting(n->label, n->label_length, (r->width - 8) / px) >= LEAST_CHARS) {
        snprintf(ink, sizeof ink, "fill=\"%s\"", adept_shades[n->shade].ink);
        fprintf(out, "<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", r->x, r->y, r->width, r->height);
        adept_svg_label(out, n->label, n->label_length, 5, px + 1, r->width - 8, px, ink);
        snprintf(share, sizeof share, "%s, %s", adept_units_percent(n->value / map->nodes[0].value).s,
                 look->print(n->value).s);
        if (!adept_svg_fits(share, r->width - 8, SMALL_PX)) share[strcspn(share, ",")] = '\0';
        if (r->height >= px + SMALL_PX + 9 && adept_svg_fits(share, r->width - 8, SMALL_PX))
            adept_svg_label(out, share, strlen(share), 5, px + SMALL_PX + 5, r->width - 8, SMALL_PX, ink);
        fputs("</svg>", out);
    }
    fputs("</g>\n", out);
}

static void put_group(FILE *out, const adept_treemap *map, const adept_treemap_node *n, const adept_treemap_look *look)
{
    const adept_rect *r = &n->rect;
    const adept_text share = adept_units_percent(n->value / map->nodes[0].value);
    double value_width = r->width >= 130 ? 8 + SMALL_PX * adept_markup_width(share.s, sizeof share.s) : 0;

    fputs("<g>", out);
    put_tooltip(out, map, n, look);
    fprintf(out,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#e9e9e9\" stroke=\"#ffffff\" "
            "stroke-width=\"2\"/>",
            r->x, r->y, r->width, r->height);
    fprintf(out, "<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"17\">", r->x, r->y, r->width);
    adept_svg_label(out, n->label, n->label_length, 5, 13, r->width - 8 - value_width, 12, "font-weight=\"600\"");
    if (value_width > 0)
        adept_svg_label(out, share.s, strlen(share.s), r->width - 5, 13, r->width, SMALL_PX, "text-anchor=\"end\"");
    fputs("</svg></g>\n", out);
}

static unsigned used_shades(const adept_treemap *map)
{
    unsigned shades = 0;

    for (size_t i = 0; i < map->n_nodes; i++)
        if (map->nodes[i].n_children == 0) shades |= 1u << map->nodes[i].shade;
    return shades;
}

adept_status adept_treemap_draw(FILE *out, const adept_treemap_item *items, size_t n, const adept_treemap_look *look,
                                adept_error *err)
{
    const adept_rect area = {0, ADEPT_SVG_TOP, ADEPT_SVG_WIDTH, MAP_HEIGHT};
    adept_treemap map;
    adept_status status = adept_treemap_layout(&map, items, n, area, err);

    if (status != ADEPT_OK) return status;
    adept_svg_begin(out, look->id, look->title, ADEPT_SVG_TOP + MAP_HEIGHT + ADEPT_SVG_BOTTOM);
    for (size_t i = map.n_nodes > 1 ? 1 : 0; i < map.n_nodes; i++) {
        if (map.nodes[i].n_children > 0)
            put_group(out, &map, &map.nodes[i], look);
        else
            put_cell(out, &map, &map.nodes[i], look);
    }
    if (map.n_nodes == 0) fputs("<text x=\"2\" y=\"60\" font-size=\"13\">nothing that takes any</text>\n", out);
    adept_svg_legend(out, look->id, used_shades(&map), ADEPT_SVG_TOP + MAP_HEIGHT + 10);
    adept_svg_end(out);
    adept_treemap_free(&map);
    return ADEPT_OK;
}

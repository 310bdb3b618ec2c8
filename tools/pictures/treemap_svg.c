/** @file treemap_svg.c  The treemap as SVG. A label lies in a nested <svg>, which clips it whatever font there is. */
#include "markup.h"
#include "svg.h"
#include "treemap.h"
#include <math.h>
#include <string.h>

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

static void put_line(FILE *out, const char *text, size_t length, double y, const adept_rect *r, double px,
                     const char *more)
{
    adept_svg_label(out, text, length, 5, y, r->width - 8, px, more);
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
        snprintf(ink, sizeof ink, "fill=\"%s\"", adept_shade_ink(n->shade));
        fprintf(out, "<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", r->x, r->y, r->width, r->height);
        put_line(out, n->label, n->label_length, px + 1, r, px, ink);
        snprintf(share, sizeof share, "%s, %s", adept_units_percent(n->value / map->nodes[0].value).s,
                 look->print(n->value).s);
        if (!adept_svg_fits(share, r->width - 8, SMALL_PX)) share[strcspn(share, ",")] = '\0';
        if (r->height >= px + SMALL_PX + 9 && adept_svg_fits(share, r->width - 8, SMALL_PX))
            put_line(out, share, strlen(share), px + SMALL_PX + 5, r, SMALL_PX, ink);
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

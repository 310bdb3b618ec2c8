/** @file bars.c  Parts wide enough carry their name and value; all of them are listed below, shade by shade. */
#include "bars.h"
#include <math.h>
#include <string.h>

#define LEFT 150.0
#define RIGHT 996.0
#define BAR_HEIGHT 42.0
#define ROW_HEIGHT 58.0
#define MARK_HEIGHT 20.0
#define LIST_HEIGHT 20.0
#define LIST_COLUMNS 4

void adept_bar_add(adept_bar *bar, const char *name, double value, adept_shade shade)
{
    if (!(value > 0) || !isfinite(value) || bar->n == ADEPT_BAR_PARTS) return;
    bar->parts[bar->n++] = (adept_bar_part){name, value, shade};
}

static void put_part(FILE *out, const char *id, const adept_bar *bar, const adept_bar_part *p, double x, double y,
                     double width)
{
    const adept_text value = bar->print(p->value);
    char ink[64];

    fprintf(out, "<g><title>%s: %s</title>", p->name, value.s);
    adept_shade_rect(out, id, p->shade, x, y, width, BAR_HEIGHT);
    fprintf(out,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.0f\" fill=\"none\" stroke=\"%s\" "
            "stroke-width=\"%s\"/>",
            x, y, width, BAR_HEIGHT, p->shade == ADEPT_SHADE_FREE ? ADEPT_QUIET : "#ffffff", width > 4 ? "1" : "0.4");
    snprintf(ink, sizeof ink, "fill=\"%s\"", adept_shades[p->shade].ink);
    if (adept_svg_fits(p->name, width - 8, 13))
        adept_svg_label(out, p->name, strlen(p->name), x + 5, y + 17, width, 13, ink);
    if (adept_svg_fits(value.s, width - 8, 12))
        adept_svg_label(out, value.s, strlen(value.s), x + 5, y + 34, width, 12, ink);
    fputs("</g>\n", out);
}

static void put_bar(FILE *out, const char *id, const adept_bar *bar, double y)
{
    double unit = (RIGHT - LEFT) / bar->scale, at = LEFT + bar->start * unit;
    const char *cut = strchr(bar->title, '\n');
    size_t first = cut ? (size_t)(cut - bar->title) : strlen(bar->title);

    adept_svg_label(out, bar->title, first, 2, y + 17, LEFT, 13, "font-weight=\"600\"");
    if (cut) adept_svg_label(out, cut + 1, strlen(cut + 1), 2, y + 34, LEFT, 12, "");
    for (size_t i = 0; i < bar->n; i++) {
        double width = bar->parts[i].value * unit;
        put_part(out, id, bar, &bar->parts[i], at, y, width);
        at += width;
    }
    if (!(bar->mark > 0)) return;
    double x = LEFT + bar->mark * unit;
    bool to_left = x > (LEFT + RIGHT) / 2;
    fprintf(out, "<path d=\"M%.1f %.1fv%.0f\" stroke=\"" ADEPT_INK "\" stroke-width=\"2\" stroke-dasharray=\"5 3\"/>",
            x, y - 6, BAR_HEIGHT + 12);
    adept_svg_label(out, bar->mark_name, strlen(bar->mark_name), to_left ? x - 5 : x + 5, y + BAR_HEIGHT + 18, 400, 12,
                    to_left ? "text-anchor=\"end\"" : "");
}

/* Every part of all bars once, with its value in each and its share. */
static double put_list(FILE *out, const char *id, const adept_bar *bar, double y)
{
    double total = 0, column_width = (RIGHT - LEFT) / LIST_COLUMNS;

    for (size_t i = 0; i < bar->n; i++)
        total += bar->parts[i].value;
    for (size_t i = 0; i < bar->n; i++) {
        double x = LEFT + (double)(i % LIST_COLUMNS) * column_width;
        double line_y = y + (double)(i / LIST_COLUMNS) * LIST_HEIGHT;
        char text[192];
        adept_shade_rect(out, id, bar->parts[i].shade, x, line_y, 14, 12);
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"12\" fill=\"none\" stroke=\"" ADEPT_QUIET "\"/>", x,
                line_y);
        snprintf(text, sizeof text, "%s %s", bar->parts[i].name, adept_units_percent(bar->parts[i].value / total).s);
        adept_svg_label(out, text, strlen(text), x + 19, line_y + 11, column_width - 19, 11, "");
    }
    return y + ceil((double)bar->n / LIST_COLUMNS) * LIST_HEIGHT;
}

void adept_bars_draw(FILE *out, const char *id, const char *title, const adept_bar *bars, size_t n)
{
    double height = ADEPT_SVG_TOP + 8, y = ADEPT_SVG_TOP + 8;

    for (size_t i = 0; i < n; i++)
        height += ROW_HEIGHT + (bars[i].mark > 0 ? MARK_HEIGHT : 0) +
                  (bars[i].n > 1 ? ceil((double)bars[i].n / LIST_COLUMNS) * LIST_HEIGHT : 0) + 8;
    adept_svg_begin(out, id, title, height);
    for (size_t i = 0; i < n; i++) {
        put_bar(out, id, &bars[i], y);
        y += ROW_HEIGHT + (bars[i].mark > 0 ? MARK_HEIGHT : 0) - 8;
        if (bars[i].n > 1) y = put_list(out, id, &bars[i], y);
        y += 16;
    }
    adept_svg_end(out);
}

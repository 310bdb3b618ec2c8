/** @file palette.c  Fills and hatches, and SVG with them. No text is laid out by measuring it: labels get the room that
 *  the widest common font needs. */
#include "palette.h"
#include "markup.h"
#include <string.h>

enum { HATCH_NONE, HATCH_SLASH, HATCH_BACKSLASH, HATCH_DOTS, HATCH_CROSS, HATCH_BARS, HATCH_COUNT };

const adept_shade_look adept_shades[] = {
#define X(id, fill, ink, hatch, text) {fill, ink, text, hatch},
    ADEPT_SHADE_LIST(X)
#undef X
};

/* The definitions of the hatches. */
static void put_hatches(FILE *out, const char *id)
{
    static const char *const paths[HATCH_COUNT] = {
        NULL,    "M-2 10 10 -2M-2 2 2 -2M6 10 10 6", "M-2 -2 10 10M6 -2 10 2M-2 6 2 10", "M3 4h2", "M0 0 8 8M0 8 8 0",
        "M4 0v8"};

    fputs("<defs>", out);
    for (int i = HATCH_NONE + 1; i < HATCH_COUNT; i++)
        fprintf(out,
                "<pattern id=\"%s-hatch%d\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path d=\"%s\" "
                "stroke=\"#000\" stroke-opacity=\"0.22\" stroke-width=\"%s\" fill=\"none\"/></pattern>",
                id, i, paths[i], i == HATCH_DOTS ? "2" : "1");
    fputs("</defs>\n", out);
}

void adept_shade_rect(FILE *out, const char *id, adept_shade shade, double x, double y, double width, double height)
{
    fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>", x, y, width, height,
            adept_shades[shade].fill);
    if (adept_shades[shade].hatch != HATCH_NONE && width > 3 && height > 3)
        fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"url(#%s-hatch%d)\"/>", x, y,
                width, height, id, adept_shades[shade].hatch);
}

void adept_svg_begin(FILE *out, const char *id, const char *title, double height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "role=\"img\" " ADEPT_FONT " fill=\"" ADEPT_INK "\"><title>",
            ADEPT_SVG_WIDTH, height, ADEPT_SVG_WIDTH, height);
    adept_markup_text(out, title);
    fputs("</title>", out);
    put_hatches(out, id);
    fprintf(out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", ADEPT_SVG_WIDTH, height);
    adept_svg_label(out, title, strlen(title), 2, 20, ADEPT_SVG_WIDTH - 4, 16, "font-weight=\"600\"");
}

void adept_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

bool adept_svg_fits(const char *text, double width, double font_px)
{
    return adept_markup_width(text, strlen(text)) * font_px <= width;
}

void adept_svg_label(FILE *out, const char *text, size_t length, double x, double y, double width, double font_px,
                     const char *more)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" %s>", x, y, font_px, more);
    adept_markup_put(out, text, length, adept_markup_fitting(text, length, width / font_px));
    fputs("</text>\n", out);
}

void adept_svg_legend(FILE *out, const char *id, unsigned used, double y)
{
    double x = 2;

    for (int shade = 0; shade < ADEPT_SHADE_COUNT; shade++) {
        const char *text = adept_shades[shade].text;
        if (!(used >> shade & 1u)) continue;
        adept_shade_rect(out, id, (adept_shade)shade, x, y, 22, 14);
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"22\" height=\"14\" fill=\"none\" stroke=\"" ADEPT_QUIET "\"/>", x,
                y);
        adept_svg_label(out, text, strlen(text), x + 28, y + 12, ADEPT_SVG_WIDTH, 12, "");
        x += 28 + 12 * adept_markup_width(text, strlen(text)) + 22;
    }
}

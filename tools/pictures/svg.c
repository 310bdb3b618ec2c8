/** @file svg.c  No text is laid out by measuring it: labels get the room that the widest common font needs. */
#include "svg.h"
#include "markup.h"
#include <string.h>

void adept_svg_begin(FILE *out, const char *id, const char *title, double height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "role=\"img\" " ADEPT_FONT " fill=\"" ADEPT_INK "\"><title>",
            ADEPT_SVG_WIDTH, height, ADEPT_SVG_WIDTH, height);
    adept_markup_text(out, title);
    fputs("</title>", out);
    adept_shade_hatches(out, id);
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

void adept_svg_legend(FILE *out, const char *id, unsigned shades, double y)
{
    double x = 2;

    for (int shade = 0; shade < ADEPT_SHADE_COUNT; shade++) {
        const char *text = adept_shade_text((adept_shade)shade);
        if (!(shades >> shade & 1u)) continue;
        adept_shade_rect(out, id, (adept_shade)shade, x, y, 22, 14);
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"22\" height=\"14\" fill=\"none\" stroke=\"" ADEPT_QUIET "\"/>", x,
                y);
        adept_svg_label(out, text, strlen(text), x + 28, y + 12, ADEPT_SVG_WIDTH, 12, "");
        x += 28 + 12 * adept_markup_width(text, strlen(text)) + 22;
    }
}

/** @file palette.c  Fills and hatches. */
#include "palette.h"

enum { HATCH_NONE, HATCH_SLASH, HATCH_BACKSLASH, HATCH_DOTS, HATCH_CROSS, HATCH_BARS, HATCH_COUNT };

static const struct {
    const char *fill, *ink, *text;
    int hatch;
} shades[] = {
#define X(id, fill, ink, hatch, text) {fill, ink, text, hatch},
    ADEPT_SHADE_LIST(X)
#undef X
};

const char *adept_shade_fill(adept_shade shade)
{
    return shades[shade].fill;
}

const char *adept_shade_ink(adept_shade shade)
{
    return shades[shade].ink;
}

const char *adept_shade_text(adept_shade shade)
{
    return shades[shade].text;
}

void adept_shade_hatches(FILE *out, const char *id)
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
            shades[shade].fill);
    if (shades[shade].hatch != HATCH_NONE && width > 3 && height > 3)
        fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"url(#%s-hatch%d)\"/>", x, y,
                width, height, id, shades[shade].hatch);
}

/** @file page.c  HTML; its style is page.css. */
#include "page.h"
#include "base64.h"
#include "markup.h"
#include "page_style.h"
#include <string.h>

void adept_page_element(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    adept_markup_put(out, text, strlen(text), 4000);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void adept_page_begin(FILE *out, const char *title, const char *lead)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
        "charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
        "data:; base-uri 'none'; form-action 'none'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"referrer\" content=\"no-referrer\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n<style>\n",
        out);
    fputs(adept_page_style, out);
    fputs("</style>\n", out);
    adept_page_element(out, "title", title);
    fputs("</head>\n<body>\n<main>\n", out);
    adept_page_element(out, "h1", title);
    adept_page_element(out, "p class=\"lead\"", lead);
}

void adept_page_end(FILE *out, const char *foot)
{
    adept_page_element(out, "footer", foot);
    fputs("</main>\n</body>\n</html>\n", out);
}

void adept_page_section(FILE *out, const char *id, const char *heading)
{
    fprintf(out, "<section id=\"%s\" aria-labelledby=\"%s-heading\"%s>\n<h2 id=\"%s-heading\">", id, id,
            strcmp(id, "warnings") == 0 ? " class=\"warnings\"" : "", id);
    adept_markup_text(out, heading);
    fputs("</h2>\n", out);
}

void adept_page_section_end(FILE *out)
{
    fputs("</section>\n", out);
}

void adept_page_figure_svg(FILE *out, const char *svg, const char *caption)
{
    fprintf(out, "<figure>\n%s", svg);
    adept_page_element(out, "figcaption", caption);
    fputs("</figure>\n", out);
}

/* In pieces of whole groups of three bytes. */
static void put_base64(FILE *out, const char *bytes, size_t size)
{
    char text[4097];

    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < 3072 ? size - at : 3072;
        adept_base64_encode(text, (const unsigned char *)bytes + at, n);
        fputs(text, out);
    }
}

void adept_page_figure_image(FILE *out, const char *svg, size_t size, const char *alt, const char *caption)
{
    fputs("<figure>\n<img alt=\"", out);
    adept_markup_put(out, alt, strlen(alt), 1000);
    fputs("\" src=\"data:image/svg+xml;base64,", out);
    put_base64(out, svg, size);
    fputs("\"/>\n", out);
    adept_page_element(out, "figcaption", caption);
    fputs("</figure>\n", out);
}

void adept_page_table_begin(FILE *out, const char *caption, const adept_column *columns, size_t n)
{
    fputs("<div class=\"wide\">\n<table>\n", out);
    adept_page_element(out, "caption", caption);
    fputs("<thead><tr>", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "<th scope=\"col\"%s>", columns[i].right ? " class=\"n\"" : "");
        adept_markup_text(out, columns[i].title);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void adept_page_table_row(FILE *out, const adept_column *columns, const char *const *cells, size_t n)
{
    fputs("<tr>", out);
    for (size_t i = 0; i < n; i++) {
        const char *tag = i == 0 ? "th" : "td";
        fprintf(out, "<%s%s%s>", tag, i == 0 ? " scope=\"row\"" : "", columns[i].right ? " class=\"n\"" : "");
        adept_markup_text(out, cells[i]);
        fprintf(out, "</%s>", tag);
    }
    fputs("</tr>\n", out);
}

void adept_page_table_end(FILE *out)
{
    fputs("</tbody>\n</table>\n</div>\n", out);
}

void adept_page_tiles_begin(FILE *out)
{
    fputs("<dl class=\"tiles\">\n", out);
}

void adept_page_tile(FILE *out, const char *name, const char *value, const char *note)
{
    fputs("<div class=\"tile\"><dt>", out);
    adept_markup_text(out, name);
    fputs("</dt><dd>", out);
    adept_markup_text(out, value);
    if (*note) {
        fputs(" <span class=\"note\">", out);
        adept_markup_text(out, note);
        fputs("</span>", out);
    }
    fputs("</dd></div>\n", out);
}

void adept_page_tiles_end(FILE *out)
{
    fputs("</dl>\n", out);
}

/** @file page.c  HTML; its style is page.css. */
#include "page.h"
#include "base64.h"
#include "gnuplot.h"
#include "markup.h"
#include <string.h>

/* page.css, embedded by the build. Dark pages keep light pictures: each stands on a white card. */
extern const char *const adept_page_style;

void adept_page_element(adept_page *page, const char *tag, const char *text)
{
    fprintf(page->out, "<%s>", tag);
    adept_markup_put(page->out, text, strlen(text), 4000);
    fprintf(page->out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

bool adept_page_begin(adept_page *page, const char *title, const char *lead)
{
    *page = (adept_page){.out = NULL};
    page->out = adept_buffer_stream(&page->text);
    if (!page->out) return false;
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
        "charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
        "data:; base-uri 'none'; form-action 'none'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"referrer\" content=\"no-referrer\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n<style>\n",
        page->out);
    fputs(adept_page_style, page->out);
    fputs("</style>\n", page->out);
    adept_page_element(page, "title", title);
    fputs("</head>\n<body>\n<main>\n", page->out);
    adept_page_element(page, "h1", title);
    adept_page_element(page, "p class=\"lead\"", lead);
    return true;
}

static void end_section(adept_page *page)
{
    if (page->in_section) fputs("</section>\n", page->out);
    page->in_section = false;
}

char *adept_page_end(adept_page *page, const char *foot)
{
    end_section(page);
    adept_page_element(page, "footer", foot);
    fputs("</main>\n</body>\n</html>\n", page->out);
    char *text = adept_buffer_close(&page->text, page->out);
    page->size = text ? strlen(text) : 0;
    return text;
}

void adept_page_section(adept_page *page, const char *id, const char *heading)
{
    end_section(page);
    page->in_section = true;
    fprintf(page->out, "<section id=\"%s\" aria-labelledby=\"%s-heading\"%s>\n<h2 id=\"%s-heading\">", id, id,
            strcmp(id, "warnings") == 0 ? " class=\"warnings\"" : "", id);
    adept_markup_text(page->out, heading);
    fputs("</h2>\n", page->out);
}

void adept_page_figure_svg(adept_page *page, const char *svg, const char *caption)
{
    fprintf(page->out, "<figure>\n%s", svg);
    adept_page_element(page, "figcaption", caption);
    fputs("</figure>\n", page->out);
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

void adept_page_figure_image(adept_page *page, const char *svg, size_t size, const char *alt, const char *caption)
{
    fputs("<figure>\n<img alt=\"", page->out);
    adept_markup_put(page->out, alt, strlen(alt), 1000);
    fputs("\" src=\"data:image/svg+xml;base64,", page->out);
    put_base64(page->out, svg, size);
    fputs("\"/>\n", page->out);
    adept_page_element(page, "figcaption", caption);
    fputs("</figure>\n", page->out);
}

void adept_page_table_begin(adept_page *page, const char *caption, const char *columns)
{
    page->columns = columns;
    fputs("<div class=\"wide\">\n<table>\n", page->out);
    adept_page_element(page, "caption", caption);
    fputs("<thead><tr>", page->out);
    for (size_t i = 0; i < adept_columns_count(columns); i++) {
        const adept_column column = adept_column_at(columns, i);
        fprintf(page->out, "<th scope=\"col\"%s>", column.right ? " class=\"n\"" : "");
        adept_markup_text(page->out, column.title);
        fputs("</th>", page->out);
    }
    fputs("</tr></thead>\n<tbody>\n", page->out);
}

void adept_page_table_row(adept_page *page, const char *const *cells)
{
    fputs("<tr>", page->out);
    for (size_t i = 0; i < adept_columns_count(page->columns); i++) {
        const char *tag = i == 0 ? "th" : "td", *right = adept_column_at(page->columns, i).right ? " class=\"n\"" : "";
        fprintf(page->out, "<%s%s%s>", tag, i == 0 ? " scope=\"row\"" : "", right);
        adept_markup_text(page->out, cells[i]);
        fprintf(page->out, "</%s>", tag);
    }
    fputs("</tr>\n", page->out);
}

void adept_page_table_end(adept_page *page)
{
    fputs("</tbody>\n</table>\n</div>\n", page->out);
}

void adept_page_tiles_begin(adept_page *page)
{
    fputs("<dl class=\"tiles\">\n", page->out);
}

void adept_page_tile(adept_page *page, const char *name, const char *value, const char *note)
{
    fputs("<div class=\"tile\"><dt>", page->out);
    adept_markup_text(page->out, name);
    fputs("</dt><dd>", page->out);
    adept_markup_text(page->out, value);
    if (*note) {
        fputs(" <span class=\"note\">", page->out);
        adept_markup_text(page->out, note);
        fputs("</span>", page->out);
    }
    fputs("</dd></div>\n", page->out);
}

void adept_page_tiles_end(adept_page *page)
{
    fputs("</dl>\n", page->out);
}

/** @file page.c  HTML and its style. */
#include "page.h"
#include "markup.h"
#include <string.h>

/* Dark pages keep light pictures: each stands on a white card. */
static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1a1a1a;--quiet:#555;--ground:#f5f6f7;--card:#fff;--line:#d5d8dc;--mark:#0072B2;"
    "--warn:#fff4dc;--warn-line:#c98a00}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--quiet:#b0b4b8;--ground:#15181b;--card:#1e2226;"
    "--line:#3a4046;--mark:#56B4E9;--warn:#33290f;--warn-line:#e0a92e}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,'Segoe UI','Helvetica "
    "Neue',Arial,sans-serif}\n"
    "main{max-width:1080px;margin:0 auto;padding:24px 20px 48px}\n"
    "h1{font-size:1.7rem;line-height:1.25;margin:.2em 0;overflow-wrap:anywhere}h2{font-size:1.25rem;margin:0 0 "
    ".6em}h3{font-size:1rem;margin:.8em 0 .3em}ul{margin:.2em 0 .8em;padding-left:1.3em}li{margin:.25em "
    "0;overflow-wrap:anywhere}"
    ".lead{color:var(--quiet);margin:0 0 1.2em;overflow-wrap:anywhere}\n"
    "section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:18px 20px;margin:0 0 18px}\n"
    "p{margin:.4em 0 .8em;overflow-wrap:anywhere}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(215px,1fr));gap:12px;margin:0 0 12px;padding:0}\n"
    ".tile{border:1px solid var(--line);border-left:4px solid var(--mark);border-radius:6px;padding:8px "
    "12px;margin:0}\n"
    ".tile dt{color:var(--quiet);font-size:.85rem}.tile dd{margin:0;font-size:1.45rem;font-weight:600;line-height:1.3}"
    ".tile .note{display:block;color:var(--quiet);font-size:.8rem;font-weight:400}\n"
    "figure{margin:14px 0 18px}figure svg,figure img{display:block;width:100%;height:auto;background:#fff;border:1px "
    "solid "
    "var(--line);border-radius:6px;padding:8px}\n"
    "figcaption{color:var(--quiet);font-size:.88rem;margin:6px 2px 0}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-"
    "nums}\n"
    "caption{text-align:left;color:var(--quiet);padding:0 0 6px}th,td{text-align:left;padding:5px 10px 5px "
    "0;border-bottom:1px solid var(--line);vertical-align:top;font-weight:400}\n"
    "thead th{font-weight:600;border-bottom:2px solid var(--line);white-space:nowrap}tbody "
    "th{overflow-wrap:anywhere;min-width:190px}.n{text-align:right;white-space:nowrap}\n"
    ".warnings{background:var(--warn);border-color:var(--warn-line)}.warnings ul{margin:0;padding-left:1.2em}"
    "details{margin:.6em 0}summary{cursor:pointer}pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem}"
    "footer{color:var(--quiet);font-size:.85rem}\n"
    "@media "
    "print{:root{color-scheme:light;--ink:#000;--quiet:#444;--ground:#fff;--card:#fff;--line:#bbb;--mark:#0072B2;"
    "--warn:#fff}body{font-size:11pt}main{max-width:none;padding:0}section{break-inside:auto;border:0;padding:0}"
    "figure,.tile,tr{break-inside:avoid}h2{break-after:avoid}}\n";

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
    fputs(style, out);
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

void adept_page_figure_image(FILE *out, const char *svg, size_t size, const char *alt, const char *caption)
{
    fputs("<figure>\n<img alt=\"", out);
    adept_markup_put(out, alt, strlen(alt), 1000);
    fputs("\" src=\"data:image/svg+xml;base64,", out);
    adept_markup_base64(out, svg, size);
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

/** @file page.h  Parts of a report as one HTML file that needs nothing else: no script, no network. Well-formed as XML
 * too, so that any parser can check it. Calls: markup. */
#ifndef ADEPT_PAGE_H
#define ADEPT_PAGE_H
#include "adept_grow.h"
#include "column.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** What a page of ours ends in; the version is the program's. */
#define ADEPT_PAGE_FOOT                                                                                                \
    "Predicted by adept " ADEPT_VERSION ". This page is complete: it loads nothing and runs nothing."

/** A page being written. */
typedef struct adept_page {
    FILE *out;
    adept_buffer text; /* of it */
    size_t size;       /* of the whole text, once it is ended */
    bool in_section;
    const char *columns; /* of the table that is open, borrowed */
} adept_page;

/** Everything up to the first section: policy, styles, heading. @return false when memory is out: there is no page */
bool adept_page_begin(adept_page *page, const char *title, const char *lead);
/** @return the page, malloc'ed; NULL when memory was out */
char *adept_page_end(adept_page *page, const char *foot);

/** A heading with an id to link to; sections end where the next begins. */
void adept_page_section(adept_page *page, const char *id, const char *heading);

/** Of our own making: as it stands, so that its tooltips work. */
void adept_page_figure_svg(adept_page *page, const char *svg, const char *caption);
/** Of gnuplot's: as an image, which cannot touch the page. */
void adept_page_figure_image(adept_page *page, const char *svg, size_t size, const char *alt, const char *caption);

/** @param columns  see column.h */
void adept_page_table_begin(adept_page *page, const char *caption, const char *columns);
/** @param cells  the first is the row's heading */
void adept_page_table_row(adept_page *page, const char *const *cells);
void adept_page_table_end(adept_page *page);

/** A number at a glance: "Step time", "13.6 ms", "7.26 to 25.5 ms with 80 %". The note may be "". */
void adept_page_tiles_begin(adept_page *page);
void adept_page_tile(adept_page *page, const char *name, const char *value, const char *note);
void adept_page_tiles_end(adept_page *page);

/** Text between tags: <p>text</p>. */
void adept_page_element(adept_page *page, const char *tag, const char *text);

#endif

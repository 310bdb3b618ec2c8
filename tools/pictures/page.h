/** @file page.h  Parts of a report as one HTML file that needs nothing else: no script, no network. Well-formed as XML
 * too, so that any parser can check it. Calls: markup. */
#ifndef ADEPT_PAGE_H
#define ADEPT_PAGE_H
#include "column.h"
#include <stddef.h>
#include <stdio.h>

/** Everything up to the first section: policy, styles, heading. */
void adept_page_begin(FILE *out, const char *title, const char *lead);
void adept_page_end(FILE *out, const char *foot);

/** A heading with an id to link to; sections end where the next begins. */
void adept_page_section(FILE *out, const char *id, const char *heading);
void adept_page_section_end(FILE *out);

/** Of our own making: as it stands, so that its tooltips work. */
void adept_page_figure_svg(FILE *out, const char *svg, const char *caption);
/** Of gnuplot's: as an image, which cannot touch the page. */
void adept_page_figure_image(FILE *out, const char *svg, size_t size, const char *alt, const char *caption);

void adept_page_table_begin(FILE *out, const char *caption, const adept_column *columns, size_t n);
/** @param cells  the first is the row's heading */
void adept_page_table_row(FILE *out, const adept_column *columns, const char *const *cells, size_t n);
void adept_page_table_end(FILE *out);

/** A number at a glance: "Step time", "13.6 ms", "7.26 to 25.5 ms with 80 %". The note may be "". */
void adept_page_tiles_begin(FILE *out);
void adept_page_tile(FILE *out, const char *name, const char *value, const char *note);
void adept_page_tiles_end(FILE *out);

/** Text between tags: <p>text</p>. */
void adept_page_element(FILE *out, const char *tag, const char *text);

#endif

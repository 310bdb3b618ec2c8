/** @file tables.h  A result as HTML tables, for readers without a script. Names carry their units, so that no number
 * stands without. Calls: markup, units. */
#ifndef ADEPT_PAGE_TABLES_H
#define ADEPT_PAGE_TABLES_H
#include <cjson/cJSON.h>
#include <stdio.h>

/** Everything of an object that a person reads: what is short as lists, rows as tables, what is long folded away. */
void adept_page_tables(FILE *out, const cJSON *json);

#endif

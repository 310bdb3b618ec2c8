/** @file page.h  The page: what a command printed as JSON, in one HTML file that needs nothing else. Its script draws
 * the pictures; without it the file is readable all the same. `adept serve` gives out the same script. Well-formed as
 * XML. Calls: base. */
#ifndef ADEPT_PAGE_H
#define ADEPT_PAGE_H
#include "adept_error.h"
#include <cjson/cJSON.h>
#include <stddef.h>

/* The page of `adept serve`, its style and its script, all modules of this folder in one. */
extern const char *const adept_page_html, *const adept_page_style, *const adept_page_script;
extern const size_t adept_page_html_size, adept_page_style_size, adept_page_script_size;

/**
 * @param title  may have any bytes, as may all of the JSON
 * @param json   a result of adept's
 * @param html   malloc'ed
 * @return ADEPT_E_NOMEM; ADEPT_E_INVALID for what would make a file of more than 2 MB, which names `what`
 */
adept_status adept_page_make(char **html, size_t *size, const char *title, const cJSON *json, const char *what,
                             adept_error *err);
/** Make it of a text, which is taken (NULL: memory was out), and write it to a file. @param size  of the page; NULL
 * allowed */
adept_status adept_page_write(const char *path, size_t *size, const char *title, char *json, adept_error *err);

#endif

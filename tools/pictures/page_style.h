/** @file page_style.h  tools/pictures/page.css, embedded by the build (embed_text.cmake). Dark pages keep light
 * pictures: each stands on a white card. Calls: nothing. */
#ifndef ADEPT_PAGE_STYLE_H
#define ADEPT_PAGE_STYLE_H
#include <stddef.h>

extern const char *const adept_page_style;
extern const size_t adept_page_style_size;

#endif

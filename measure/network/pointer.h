/** @file pointer.h  JSON pointers, RFC 6901. Calls: adept_json. */
#ifndef ADEPT_POINTER_H
#define ADEPT_POINTER_H
#include "adept_json.h"

/**
 * The value that a pointer names: "/sensor_descr/0/power"; "" names the document.
 * @param why  one line, where it names nothing: what there is at the place that it got to
 * @return NULL: nothing
 */
const cJSON *adept_pointer_find(const cJSON *document, const char *pointer, char *why, size_t size);

#endif

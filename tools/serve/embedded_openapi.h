/** @file embedded_openapi.h  tools/serve/openapi.json, embedded by the build (embed_text.cmake). */
#ifndef ADEPT_SERVE_EMBEDDED_OPENAPI_H
#define ADEPT_SERVE_EMBEDDED_OPENAPI_H
#include <stddef.h>

extern const char *const adept_serve_openapi;
extern const size_t adept_serve_openapi_size;

#endif

/** @file error.c  Status table and error record. Calls: nothing. */
#include "adept_error.h"
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct status_row {
    int exit_code;
    const char *text;
} status_row;

static const status_row rows[] = {
#define X(name, code, words) [ADEPT_##name] = {.exit_code = code, .text = words},
    ADEPT_STATUS_LIST(X)
#undef X
};

static const status_row *row_of(adept_status status)
{
    size_t i = (size_t)status;
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : &rows[ADEPT_E_INTERNAL];
}

adept_status adept_error_set(adept_error *err, adept_status status, const char *format, ...)
{
    if (!err) return status;
    err->status = status;
    err->line = 0;
    va_list args;
    va_start(args, format);
    if (vsnprintf(err->message, sizeof err->message, format, args) < 0) err->message[0] = '\0';
    va_end(args);
    /* Names from hostile files end up in messages: a message stays one line and never drives a terminal. */
    for (unsigned char *p = (unsigned char *)err->message; *p; p++)
        if (*p < 0x20 || *p == 0x7f) *p = ' ';
    return status;
}

adept_status adept_no_memory(adept_error *err, const char *what)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %s", what);
}

adept_status adept_system_error(adept_error *err, adept_status status, const char *file)
{
    return errno == ENOMEM ? adept_no_memory(err, file) : adept_error_set(err, status, "%s: %s", file, strerror(errno));
}

int adept_status_exit_code(adept_status status)
{
    return row_of(status)->exit_code;
}

const char *adept_status_text(adept_status status)
{
    return row_of(status)->text;
}

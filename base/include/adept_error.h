/** @file adept_error.h  The public status codes and error record, and how the parts fill it. Calls: nothing. */
#ifndef ADEPT_ERROR_H
#define ADEPT_ERROR_H

#include <adept/error.h>

#if defined(__GNUC__)
#define ADEPT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ADEPT_PRINTF(fmt, args)
#endif

/**
 * Record an error and return its status, so that `return adept_error_set(err, ...)` reads well.
 * @param err may be NULL: then only the status is returned. Thread-safe on distinct records.
 */
ADEPT_API adept_status adept_error_set(adept_error *err, adept_status status, const char *format, ...)
    ADEPT_PRINTF(3, 4);

/** "out of memory for WHAT" @return ADEPT_E_NOMEM */
adept_status adept_no_memory(adept_error *err, const char *what);

/** What errno says of a file, "FILE: no such file". @return `status`; ADEPT_E_NOMEM where memory is out */
adept_status adept_system_error(adept_error *err, adept_status status, const char *file);

/** Exit code of the command line for a status (CONTRACT: 0..7). */
ADEPT_API int adept_status_exit_code(adept_status status);

#endif

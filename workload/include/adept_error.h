/** @file adept_error.h  Status codes and the caller-owned error record. Calls: nothing. */
#ifndef ADEPT_ERROR_H
#define ADEPT_ERROR_H

#if defined(__GNUC__)
#define ADEPT_API __attribute__((visibility("default")))
#define ADEPT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ADEPT_API
#define ADEPT_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, exit code of the command line, meaning). The exit codes are a published interface: never renumber. */
#define ADEPT_STATUS_LIST(X)                                                       \
    X(OK, 0, "done")                                                               \
    X(E_INTERNAL, 1, "internal failure")                                           \
    X(E_NOMEM, 1, "out of memory")                                                 \
    X(E_IO, 1, "cannot write")                                                     \
    X(E_USAGE, 2, "wrong usage")                                                   \
    X(E_INVALID, 3, "bad input file")                                              \
    X(E_UNSUPPORTED, 4, "operator not supported")                                  \
    X(E_FIT, 5, "fit failed")                                                      \
    X(E_UNKNOWN_GPU, 6, "unknown GPU")                                             \
    X(E_CHECK, 7, "a check failed")

typedef enum adept_status {
#define X(name, code, text) ADEPT_##name,
    ADEPT_STATUS_LIST(X)
#undef X
} adept_status;

/** What went wrong, filled by the function that detected it. Owned by the caller; may be on the stack. */
typedef struct adept_error {
    adept_status status;
    int line;           /* line of the input file the message is about, 0 if none */
    char message[1024]; /* one line, names the file and the place, no trailing newline */
} adept_error;

/**
 * Record an error and return its status, so that `return adept_error_set(err, ...)` reads well.
 * @param err may be NULL: then only the status is returned. Thread-safe on distinct records.
 */
ADEPT_API adept_status adept_error_set(adept_error *err, adept_status status, const char *format, ...)
    ADEPT_PRINTF(3, 4);

/** Exit code of the command line for a status (CONTRACT: 0..7). */
ADEPT_API int adept_status_exit_code(adept_status status);

/** Constant English name of a status, never NULL. */
ADEPT_API const char *adept_status_text(adept_status status);

#ifdef __cplusplus
}
#endif
#endif

/** @file adept/error.h  Status codes and the error record, which the caller owns. Part of <adept/adept.h>. */
#ifndef ADEPT_PUBLIC_ERROR_H
#define ADEPT_PUBLIC_ERROR_H

#if defined(__GNUC__)
#define ADEPT_API __attribute__((visibility("default")))
#else
#define ADEPT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, exit code of the command line, meaning). Numbers and exit codes are published: new rows go to the end. */
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
    X(E_CHECK, 7, "a check failed")                                                \
    X(E_INFEASIBLE, 7, "no option meets the constraints")

typedef enum adept_status {
#define X(name, code, text) ADEPT_##name,
    ADEPT_STATUS_LIST(X)
#undef X
} adept_status;

/** What went wrong, filled by the function that detected it and left alone on success. May be on the stack. Wherever a
 *  function takes one it may be NULL. */
typedef struct adept_error {
    adept_status status;
    int line;           /* line of the input file the message is about, 0 if none */
    char message[1024]; /* one line, names the file and the place, no trailing newline */
} adept_error;

/** Constant English text of a status, never NULL. Thread-safe. */
ADEPT_API const char *adept_status_text(adept_status status);

#ifdef __cplusplus
}
#endif
#endif

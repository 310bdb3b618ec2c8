/** @file problem.h  Why a request is refused: an HTTP status, a word for programs, a sentence for people. Calls:
 * library. */
#ifndef ADEPT_SERVE_PROBLEM_H
#define ADEPT_SERVE_PROBLEM_H
#include "adept_error.h"
#include "adept_json_writer.h"

/* X(name, HTTP status, word in "code"). Words are published. */
#define ADEPT_SERVE_PROBLEM_LIST(X)                                                                                    \
    X(BAD_JSON, 400, "bad_json")                                                                                       \
    X(BAD_REQUEST, 400, "bad_request")                                                                                 \
    X(UNAUTHORIZED, 401, "unauthorized")                                                                               \
    X(FORBIDDEN, 403, "forbidden")                                                                                     \
    X(NOT_FOUND, 404, "not_found")                                                                                     \
    X(UNKNOWN_WORKLOAD, 404, "unknown_workload")                                                                       \
    X(UNKNOWN_GPU, 404, "unknown_gpu")                                                                                 \
    X(WRONG_METHOD, 405, "method_not_allowed")                                                                         \
    X(TOO_SLOW, 408, "too_slow")                                                                                       \
    X(TOO_LARGE, 413, "too_large")                                                                                     \
    X(WRONG_TYPE, 415, "unsupported_media_type")                                                                       \
    X(BAD_PROFILE, 422, "bad_profile")                                                                                 \
    X(CANNOT_PREDICT, 422, "cannot_predict")                                                                           \
    X(INFEASIBLE, 422, "infeasible")                                                                                   \
    X(INTERNAL, 500, "internal")                                                                                       \
    X(OVERLOADED, 503, "overloaded")

typedef enum adept_serve_problem_kind {
#define X(name, http, word) ADEPT_SERVE_##name,
    ADEPT_SERVE_PROBLEM_LIST(X)
#undef X
} adept_serve_problem_kind;

typedef struct adept_serve_problem {
    adept_serve_problem_kind kind;
    char message[1024];
} adept_serve_problem;

/** Fill it. @return false, so that `return adept_serve_refuse(...)` reads well */
bool adept_serve_refuse(adept_serve_problem *p, adept_serve_problem_kind kind, const char *format, ...)
    ADEPT_PRINTF(3, 4);
/** The same with what the library says. */
bool adept_serve_refuse_error(adept_serve_problem *p, adept_status status, const char *message);

int adept_serve_problem_http(adept_serve_problem_kind kind);
/** "error":{"status":404,"code":"not_found","message":"..."}, into an open object. */
void adept_serve_put_problem(adept_json_writer *w, const adept_serve_problem *p);

#endif

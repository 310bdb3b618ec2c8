/** @file problem.c  Why a request is refused. */
#include "problem.h"
#include <stdarg.h>
#include <stdio.h>

static const struct {
    int http;
    const char *word;
} kinds[] = {
#define X(name, http, word) {http, word},
    ADEPT_SERVE_PROBLEM_LIST(X)
#undef X
};

bool adept_serve_refuse(adept_serve_problem *p, adept_serve_problem_kind kind, const char *format, ...)
{
    va_list args;
    p->kind = kind;
    va_start(args, format);
    vsnprintf(p->message, sizeof p->message, format, args);
    va_end(args);
    return false;
}

bool adept_serve_refuse_error(adept_serve_problem *p, adept_status status, const char *message)
{
    switch (status) {
    case ADEPT_E_NOMEM:
        return adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "%s", message);
    case ADEPT_E_USAGE:
    case ADEPT_E_INVALID:
    case ADEPT_E_UNSUPPORTED:
        return adept_serve_refuse(p, ADEPT_SERVE_CANNOT_PREDICT, "%s", message);
    case ADEPT_E_INFEASIBLE:
        return adept_serve_refuse(p, ADEPT_SERVE_INFEASIBLE, "%s", message);
    default:
        return adept_serve_refuse(p, ADEPT_SERVE_INTERNAL, "%s", message);
    }
}

int adept_serve_problem_http(adept_serve_problem_kind kind)
{
    return kinds[kind].http;
}

void adept_serve_put_problem(adept_json_writer *w, const adept_serve_problem *p)
{
    adept_json_put_object(w, "error", "status %jd code %s message %s", (intmax_t)kinds[p->kind].http,
                          kinds[p->kind].word, p->message);
}

/** @file fuzz_require.h  A check that stops the fuzzer. */
#ifndef ADEPT_FUZZ_REQUIRE_H
#define ADEPT_FUZZ_REQUIRE_H
#include <stdio.h>
#include <stdlib.h>

/* Not assert(): it must hold in builds with NDEBUG too. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif

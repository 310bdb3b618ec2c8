/* Included at the top of each file that mutate.py changed. A place that can be mutated asks here whether its mutant is
 * the one chosen by ADEPT_MUTANT; with ADEPT_MUTANTS_SEEN it leaves there a folder named after itself, and another if
 * the mutant's value differs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static inline int adept_mutant_differs(int n, int differs)
{
    static int chosen = -1;
    static const char *seen;
    static unsigned char left[10000];
    if (chosen == -1) {
        const char *text = getenv("ADEPT_MUTANT");
        seen = getenv("ADEPT_MUTANTS_SEEN");
        chosen = text ? atoi(text) : 0;
    }
    unsigned char found = differs ? 3 : 1;
    if (seen && (left[n] & found) != found) {
        int kept = errno;
        char path[4096];
        left[n] |= found;
        snprintf(path, sizeof path, "%s/%d%s", seen, n, differs ? "d" : "");
        mkdir(path, 0700);
        errno = kept;
    }
    return chosen == n;
}

#define ADEPT_MUTANT(n) adept_mutant_differs(n, 1)

/* Many tests in one program, which is linked once: the name that it is called by, a link that CMake makes, says which
 * of them runs. */
#include <stdio.h>
#include <string.h>

#define DECLARE(name) int adept_main_##name(void);
#define RUN(name) \
    if (!strcmp(asked, #name)) return adept_main_##name();

#include "runner_tests.h" /* made by CMake: RUN_ALL(X) X(test_a) X(test_b) ... */
RUN_ALL(DECLARE)

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL, *asked = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    RUN_ALL(RUN)
    fprintf(stderr, "%s: no test has this name\n", asked);
    return 2;
}

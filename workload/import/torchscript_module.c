/** @file torchscript_module.c  Finds the libtorch module. Calls: nothing. */
#include "adept_import.h"
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef ADEPT_TORCH_MODULE_INSTALLED
#define ADEPT_TORCH_MODULE_INSTALLED ""
#endif

/* Relative to the program's folder; patterns, because the library folder's name differs between systems. */
static const char *const places[] = {
    "adept_torch.so",
    "../workload/import/torch/adept_torch.so",
    "../lib*/adept/adept_torch.so",
    "../lib/*/adept/adept_torch.so",
};

static bool take(char path[ADEPT_MODULE_PATH_BYTES], const char *found)
{
    if (strlen(found) >= ADEPT_MODULE_PATH_BYTES || access(found, R_OK) != 0) return false;
    strcpy(path, found);
    return true;
}

static bool take_pattern(char path[ADEPT_MODULE_PATH_BYTES], const char *pattern)
{
    glob_t found;
    bool ok = false;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !ok; i++)
            ok = take(path, found.gl_pathv[i]);
        globfree(&found);
    }
    return ok;
}

static bool beside_program(char path[ADEPT_MODULE_PATH_BYTES])
{
    char program[PATH_MAX], pattern[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return false;
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash || strpbrk(program, "*?[\\")) return false; /* would not be taken literally */
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s", program, places[i]);
        if (take_pattern(path, pattern)) return true;
    }
    return false;
}

adept_status adept_torch_module_find(char path[ADEPT_MODULE_PATH_BYTES], const char *wanted, const char *model,
                                     adept_error *err)
{
    const char *named = wanted && wanted[0] ? wanted : getenv("ADEPT_TORCH_MODULE");
    if (named && named[0]) {
        if (take(path, named)) return ADEPT_OK;
        return adept_error_set(err, ADEPT_E_UNSUPPORTED, "%s: the libtorch module %s cannot be read", model, named);
    }
    if (beside_program(path) || take(path, ADEPT_TORCH_MODULE_INSTALLED)) return ADEPT_OK;
    return adept_error_set(
        err, ADEPT_E_UNSUPPORTED,
        "%s: reading TorchScript needs the module adept_torch.so, which is not installed: in a clone "
        "sh tools/install_deps.sh torch && sh tools/build.sh build -DADEPT_WITH_TORCH=ON makes it, as does the package "
        "adept-torch, or name "
        "it in ADEPT_TORCH_MODULE; a torch.export "
        ".pt2 and a saved profile need no such module",
        model);
}

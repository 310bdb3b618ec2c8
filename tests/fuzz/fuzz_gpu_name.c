/** @file fuzz_gpu_name.c  The name of a GPU as typed: the board of that name or alias, or a message; never another. */
#include "adept_hwprofile.h"
#include "fuzz_require.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void check_found(const adept_hwprofile *hw, const char *typed)
{
    bool found = adept_hwprofile_same_name(typed, hw->name);
    for (size_t i = 0; i < hw->n_aliases; i++)
        found = found || adept_hwprofile_same_name(typed, hw->aliases[i]);
    /* or by its memory or form, with words between that say nothing */
    static const char *const parts[] = {"g", "sxm", "pcie", "nvl"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        found = found || strcasestr(typed, parts[i]);
    REQUIRE(found);
}

static void open_name(const char *typed)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    adept_status status = adept_hwprofile_open(&hw, typed, &err);
    if (status == ADEPT_OK) {
        check_found(hw, typed);
        adept_hwprofile_free(hw);
        return;
    }
    REQUIRE(hw == NULL);
    REQUIRE(status == ADEPT_E_UNKNOWN_GPU && err.status == status);
    REQUIRE(strncmp(err.message, "unknown GPU '", 13) == 0);
    REQUIRE(strchr(err.message, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *typed = malloc(size + 1); /* on the heap: a sanitizer sees its end */
    if (!typed) return 0;
    memcpy(typed, data, size);
    typed[size] = '\0';
    /* With a slash or this ending it is a file, which is not what is tested here. */
    if (!strchr(typed, '/') && !strstr(typed, ".json")) open_name(typed);
    free(typed);
    return 0;
}

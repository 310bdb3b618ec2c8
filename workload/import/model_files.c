/** @file model_files.c  Bundled models by name. Calls: nothing. */
#include "adept_import.h"
#include "adept_file.h"
#include "nearest.h"
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Folders relative to the program's own: the source tree its build lies in, the tree it is installed in. */
static bool beside_program(char folder[ADEPT_MODULE_PATH_BYTES])
{
    static const char *const places[] = {"../../data/models", "../share/adept/models"};
    char program[ADEPT_MODULE_PATH_BYTES], place[ADEPT_MODULE_PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

    if (n <= 0) return false;
    program[n] = '\0';
    const char *own = dirname(program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(place, sizeof place, "%s/%s", own, places[i]) < (int)sizeof place && adept_file_is(place, S_IFDIR))
            return realpath(place, folder) != NULL; /* PATH_MAX bytes at most, as there are */
    return false;
}

bool adept_models_folder(char folder[ADEPT_MODULE_PATH_BYTES])
{
    static const char *const built[] = {ADEPT_MODELS_INSTALLED, ADEPT_MODELS_SOURCE};

    if (beside_program(folder)) return true;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        if (built[i][0] && adept_file_is(built[i], S_IFDIR))
            return snprintf(folder, ADEPT_MODULE_PATH_BYTES, "%s", built[i]) < ADEPT_MODULE_PATH_BYTES;
    return false;
}

bool adept_models_find(char path[ADEPT_MODULE_PATH_BYTES], const char *folder, const char *name)
{
    static const char *const endings[] = {".pt", ".pt2", ".profile.json", ""};
    const char *between = folder[strlen(folder) - 1] == '/' ? "" : "/";

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (snprintf(path, ADEPT_MODULE_PATH_BYTES, "%s%s%s%s", folder, between, name, endings[i]) <
                ADEPT_MODULE_PATH_BYTES &&
            adept_file_is(path, S_IFREG))
            return true;
    return false;
}

/* The bundled model whose name differs least; "" if none is close. */
static void find_near(char near[NAME_MAX + 1], const char *folder, const char *name)
{
    size_t best = SIZE_MAX;
    DIR *listing = opendir(folder);

    near[0] = '\0';
    for (const struct dirent *file; listing && (file = readdir(listing));) {
        char known[NAME_MAX + 1];
        snprintf(known, sizeof known, "%.*s", (int)strcspn(file->d_name, "."), file->d_name);
        if (*known && adept_is_nearer(&best, name, known)) memcpy(near, known, sizeof known);
    }
    if (listing) closedir(listing);
}

/* "resnet50.pt" is a file that is there or not. */
static bool names_a_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strchr(name, '/') || access(name, F_OK) == 0 ||
           (dot && (strcmp(dot, ".pt") == 0 || strcmp(dot, ".pt2") == 0 || strcmp(dot, ".json") == 0));
}

adept_status adept_models_path(char path[ADEPT_MODULE_PATH_BYTES], const char *name, adept_error *err)
{
    char folder[ADEPT_MODULE_PATH_BYTES], near[NAME_MAX + 1];

    if (names_a_file(name) || !adept_models_folder(folder)) {
        if (snprintf(path, ADEPT_MODULE_PATH_BYTES, "%s", name) < ADEPT_MODULE_PATH_BYTES) return ADEPT_OK;
        return adept_error_set(err, ADEPT_E_INVALID, "%.80s...: %s", name, strerror(ENAMETOOLONG));
    }
    if (adept_models_find(path, folder, name)) return ADEPT_OK;
    find_near(near, folder, name);
    return adept_error_set(err, ADEPT_E_INVALID, "%s: no such file, and no model in %s%s%s%s", name, folder,
                           *near ? "; did you mean " : "", near, *near ? "?" : "");
}

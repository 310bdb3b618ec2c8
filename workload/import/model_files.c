/** @file model_files.c  Bundled models by name. Calls: nothing. */
#include "import_private.h"
#include "adept_file.h"
#include "nearest.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PROFILE ".profile.json"

/* The file that this code is in: the program, or libadept. */
static bool own_file(char path[ADEPT_MODULE_PATH_BYTES])
{
    Dl_info own, program;

    if (dladdr((void *)own_file, &own) && dladdr((void *)getauxval(AT_PHDR), &program) &&
        own.dli_fbase != program.dli_fbase) /* of the program itself it may know argv[0] only */
        return snprintf(path, ADEPT_MODULE_PATH_BYTES, "%s", own.dli_fname) < ADEPT_MODULE_PATH_BYTES;
    ssize_t n = readlink("/proc/self/exe", path, ADEPT_MODULE_PATH_BYTES - 1);
    if (n > 0) path[n] = '\0';
    return n > 0;
}

/* Folders relative to its own: the source tree its build lies in, the tree it is installed in. */
static bool beside_own_file(char folder[ADEPT_MODULE_PATH_BYTES], const char *what)
{
    static const char *const places[] = {"../../data/", "../share/adept/"};
    char own[ADEPT_MODULE_PATH_BYTES], place[ADEPT_MODULE_PATH_BYTES];

    if (!own_file(own)) return false;
    const char *beside = dirname(own);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(place, sizeof place, "%s/%s%s", beside, places[i], what) < (int)sizeof place &&
            adept_file_is(place, S_IFDIR))
            return realpath(place, folder) != NULL; /* PATH_MAX bytes at most, as there are */
    return false;
}

bool adept_is_spec(const char *name)
{
    return strncmp(name, ADEPT_SPEC_SCHEME, sizeof ADEPT_SPEC_SCHEME - 1) == 0 && access(name, F_OK) != 0;
}

static bool find_folder(char folder[ADEPT_MODULE_PATH_BYTES], const char *what)
{
    static const char *const built[] = {ADEPT_DATA_INSTALLED, ADEPT_DATA_SOURCE};

    if (beside_own_file(folder, what)) return true;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        if (built[i][0] &&
            snprintf(folder, ADEPT_MODULE_PATH_BYTES, "%s/%s", built[i], what) < ADEPT_MODULE_PATH_BYTES &&
            adept_file_is(folder, S_IFDIR))
            return true;
    return false;
}

bool adept_models_folder(char folder[ADEPT_MODULE_PATH_BYTES])
{
    return find_folder(folder, "models");
}

bool adept_configs_folder(char folder[ADEPT_MODULE_PATH_BYTES])
{
    return find_folder(folder, "configs");
}

static bool is_file(char path[ADEPT_MODULE_PATH_BYTES], const char *folder, const char *name, const char *ending)
{
    const char *between = folder[strlen(folder) - 1] == '/' ? "" : "/";

    return snprintf(path, ADEPT_MODULE_PATH_BYTES, "%s%s%s%s", folder, between, name, ending) <
               ADEPT_MODULE_PATH_BYTES &&
           adept_file_is(path, S_IFREG);
}

bool adept_models_find(char path[ADEPT_MODULE_PATH_BYTES], const char *folder, const char *name)
{
    return is_file(path, folder, name, ".pt") || is_file(path, folder, name, ".pt2") ||
           is_file(path, folder, name, PROFILE) || is_file(path, folder, name, "") ||
           is_file(path, folder, name, "/config.json");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters in lower case, and digits, with a point where something parts digits: "Llama3_8B" and "llama-3-8b" are
 * "llama3.8b", and "llama-38b" is not. */
static void letters_of(char *out, size_t size, const char *name)
{
    size_t n = 0;

    for (const char *at = name; *at && n + 2 < size; at++) {
        if (strchr("-_. ", *at)) continue;
        if (n > 0 && at > name && strchr("-_. ", at[-1]) && is_digit(*at) && is_digit(out[n - 1])) out[n++] = '.';
        out[n++] = adept_lower(*at);
    }
    out[n] = '\0';
}

/* As it is written, or with other signs between its letters: the names of Hugging Face and of rows. */
bool adept_models_config(char path[ADEPT_MODULE_PATH_BYTES], const char *name)
{
    static const char ending[] = ".json";
    char folder[ADEPT_MODULE_PATH_BYTES], wanted[NAME_MAX + 1], known[NAME_MAX + 1], stem[NAME_MAX + 1];
    bool found = false;

    if (!*name || strchr(name, '/') || !adept_configs_folder(folder)) return false;
    if (is_file(path, folder, name, ending)) return true;
    letters_of(wanted, sizeof wanted, name);
    DIR *listing = opendir(folder);
    for (const struct dirent *file; listing && !found && (file = readdir(listing));) {
        const size_t n = strlen(file->d_name);
        if (n < sizeof ending || strcmp(file->d_name + n - (sizeof ending - 1), ending) != 0) continue;
        memcpy(stem, file->d_name, n + 1);
        stem[n - (sizeof ending - 1)] = '\0';
        letters_of(known, sizeof known, stem);
        found = strcmp(known, wanted) == 0 && is_file(path, folder, stem, ending);
    }
    if (listing) closedir(listing);
    return found;
}

bool adept_models_bundled(char path[ADEPT_MODULE_PATH_BYTES], const char *name)
{
    char folder[ADEPT_MODULE_PATH_BYTES];
    const bool profile = !strchr(name, '/') && adept_models_folder(folder) && is_file(path, folder, name, PROFILE);

    return profile || adept_models_config(path, name);
}

/* A name without the ending of a file of a model. */
static void cut_ending(char *name)
{
    static const char *const endings[] = {PROFILE, ".json", ".pt2", ".pt"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strcmp(name + length - n, endings[i]) == 0) {
            name[length - n] = '\0';
            return;
        }
    }
}

adept_status adept_models_path(char path[ADEPT_MODULE_PATH_BYTES], const char *name, adept_error *err)
{
    char near[NAME_MAX + 1];

    if (adept_file_is(name, S_IFDIR) && is_file(path, name, "", "config.json")) return ADEPT_OK;
    if (strchr(name, '/') || access(name, F_OK) == 0 || adept_is_spec(name)) {
        if (snprintf(path, ADEPT_MODULE_PATH_BYTES, "%s", name) < ADEPT_MODULE_PATH_BYTES) return ADEPT_OK;
        return adept_error_set(err, ADEPT_E_INVALID, "%.80s...: %s", name, strerror(ENAMETOOLONG));
    }
    if (adept_models_bundled(path, name)) return ADEPT_OK;
    /* The bundled model whose name differs least; "" if none is close. */
    bool (*const folders[])(char *) = {adept_models_folder, adept_configs_folder};
    char folder[ADEPT_MODULE_PATH_BYTES], wanted[NAME_MAX + 1], known[NAME_MAX + 1];
    size_t best = SIZE_MAX;
    near[0] = '\0';
    snprintf(wanted, sizeof wanted, "%s", name);
    cut_ending(wanted);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        DIR *listing = folders[i](folder) ? opendir(folder) : NULL;
        for (const struct dirent *file; listing && (file = readdir(listing));) {
            snprintf(known, sizeof known, "%s", file->d_name);
            cut_ending(known);
            if (adept_is_nearer(&best, wanted, known)) memcpy(near, known, sizeof known);
        }
        if (listing) closedir(listing);
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%.200s: no such file, and no bundled model of that name%s%s%s", name,
                           *near ? "; did you mean " : "", near, *near ? "?" : "");
}

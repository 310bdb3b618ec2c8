/** @file models.c  Looking up model files. */
#include "models.h"
#include "dataset_private.h"
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_a(mode_t type, const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Folders relative to the program's own: the source tree its build lies in, the tree it is installed in. */
static const char *beside_program(adept_arena *arena)
{
    static const char *const places[] = {"../../data/models", "../share/adept/models"};
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

    if (n <= 0) return NULL;
    program[n] = '\0';
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *path = adept_arena_printf(arena, "%s/%s", folder, places[i]);
        if (is_a(S_IFDIR, path)) return path;
    }
    return NULL;
}

adept_status adept_models_folder(const char **out, adept_arena *arena, const char *wanted, adept_error *err)
{
    static const char *const built[] = {ADEPT_MODELS_INSTALLED, ADEPT_MODELS_SOURCE};

    *out = NULL;
    if (wanted) {
        if (!is_a(S_IFDIR, wanted)) return adept_error_set(err, ADEPT_E_INVALID, "--models %s: not a folder", wanted);
        *out = adept_arena_strdup(arena, wanted);
        return *out ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    *out = beside_program(arena);
    for (size_t i = 0; i < sizeof built / sizeof *built && !*out; i++)
        if (built[i][0] && is_a(S_IFDIR, built[i])) *out = built[i];
    return ADEPT_OK;
}

adept_status adept_models_find(const char **out, adept_arena *arena, const adept_measurement *m, const char *folder,
                               adept_error *err)
{
    static const char *const endings[] = {".pt", ".pt2", ".profile.json", ""};
    const char *slash = m->model[0] == '/' ? NULL : strrchr(m->file, '/');
    int csv_folder = slash ? (int)(slash + 1 - m->file) : 0;

    *out = adept_arena_printf(arena, "%.*s%s", csv_folder, m->file, m->model);
    if (is_a(S_IFREG, *out)) return ADEPT_OK;
    for (size_t i = 0; folder && i < sizeof endings / sizeof *endings; i++) {
        const char *between = folder[strlen(folder) - 1] == '/' ? "" : "/";
        *out = adept_arena_printf(arena, "%s%s%s%s", folder, between, m->model, endings[i]);
        if (is_a(S_IFREG, *out)) return ADEPT_OK;
    }
    if (adept_arena_failed(arena)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (!folder)
        return adept_row_fail(m, "model", err, "'%.200s' is no file relative to the CSV; for a name, give --models DIR",
                              m->model);
    return adept_row_fail(m, "model", err,
                          "'%.200s' is neither a file relative to the CSV nor a name in %.200s (NAME.pt, NAME.pt2 or "
                          "NAME.profile.json)",
                          m->model, folder);
}

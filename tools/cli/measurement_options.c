/** @file measurement_options.c  Measurement files on the command line, and reading them. */
#include "measurement_options.h"
#include "load.h"
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_GPU = 0x500, KEY_MODELS, KEY_NO_CACHE, KEY_EXCLUDE, KEY_TRUST, KEY_BY, KEY_PLOT, KEY_JSON };

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What was measured:", 1},
    {"gpu", KEY_GPU, "NAME|FILE", 0,
     "The GPU: a name that `adept gpus` lists, or a hardware profile (a path with '/', or ending in .json). Rows of "
     "other "
     "GPUs are left out. Required. calibrate --gpu auto: one fit for all GPUs that the column gpu names",
     1},
    {"models", KEY_MODELS, "DIR", 0,
     "Folder in which names of the column model are looked up: NAME.pt, NAME.pt2, NAME.profile.json (default: the "
     "bundled "
     "models)",
     1},
    {"exclude-suspect", KEY_EXCLUDE, NULL, 0,
     "Drop the rows that look wrong (power above the limit, repetitions that disagree, more than the peak FLOP/s, odd "
     "units); without it they are named and used",
     1},
    {"no-cache", KEY_NO_CACHE, NULL, 0,
     "Read the models anew, and keep nothing; otherwise their graphs are kept in $XDG_CACHE_HOME/adept", 1},
    {"trust", KEY_TRUST, NULL, 0, "Load TorchScript files that run code of their own when loaded (__setstate__)", 1},
    {NULL, 0, NULL, 0, "What is printed:", 6},
    {"by", KEY_BY, "COLUMN,...", 0,
     "Errors by these columns of the measurements, known to adept or not; A+B: by both together (default model, "
     "precision, gpus)",
     6},
    {"plot", KEY_PLOT, "FILE.svg", 0, "Plot predicted against measured, and the errors by model (needs gnuplot)", 6},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 6},
    {0},
};

/* ---------------------------------------------------------------- words ------------------------------------------ */

error_t adept_words_add(const struct argp_state *state, const char *option, const char *text, adept_words *words)
{
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        if (n == 0) return adept_cli_usage(state, "%s: '%s' holds an empty word", option, text);
        if (words->n == ADEPT_MAX_WORDS)
            return adept_cli_usage(state, "%s: more than %d words", option, ADEPT_MAX_WORDS);
        char *word = strndup(at, n);
        if (!word) return ENOMEM;
        words->words[words->n++] = word;
        at += n;
        if (*at == '\0') return 0;
    }
}

void adept_words_free(adept_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free((char *)words->words[i]);
    words->n = 0;
}

/* ---------------------------------------------------------------- the parser ------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    adept_measurement_options *o = state->input;

    switch (key) {
    case KEY_GPU:
        o->gpu = arg;
        return 0;
    case KEY_MODELS:
        o->models = arg;
        return 0;
    case KEY_NO_CACHE:
        o->no_cache = true;
        return 0;
    case KEY_EXCLUDE:
        o->exclude_suspect = true;
        return 0;
    case KEY_TRUST:
        o->trust = true;
        return 0;
    case KEY_BY:
        return adept_words_add(state, "--by", arg, &o->by);
    case KEY_PLOT:
        o->plot = arg;
        return *arg ? 0 : adept_cli_usage(state, "--plot: the file name is empty");
    case KEY_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->n_files == ADEPT_MAX_WORDS) return adept_cli_usage(state, "more than %d files", ADEPT_MAX_WORDS);
        o->files[o->n_files++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp adept_measurement_argp = {.options = options, .parser = parse};

error_t adept_measurement_options_check(const struct argp_state *state, const adept_measurement_options *o,
                                        const char *command)
{
    if (o->n_files == 0)
        return adept_cli_usage(state, "%s needs a MEASUREMENTS.csv; see adept %s --help", command, command);
    if (!o->gpu) return adept_cli_usage(state, "--gpu is missing; `adept gpus` lists the names");
    return 0;
}

void adept_measurement_options_free(adept_measurement_options *o)
{
    adept_words_free(&o->by);
}

/* ---------------------------------------------------------------- what is written -------------------------------- */

static adept_status check_writable(adept_cli *cli, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return adept_error_set(&cli->err, ADEPT_E_IO, "%s: cannot write: not a regular file", path);
    char *copy = strdup(path);
    if (!copy) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    bool ok = access(dirname(copy), W_OK) == 0;
    int saved = errno;
    free(copy);
    if (!ok) return adept_error_set(&cli->err, ADEPT_E_IO, "%s: cannot write: %s", path, strerror(saved));
    return ADEPT_OK;
}

/* Measurements are worth more than a fit of them. */
static adept_status check_not_measurements(adept_cli *cli, const char *path, const adept_measurement_options *o)
{
    struct stat out, in;

    if (stat(path, &out) != 0) return ADEPT_OK;
    for (size_t i = 0; i < o->n_files; i++)
        if (stat(o->files[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return adept_error_set(&cli->err, ADEPT_E_USAGE, "%s: would be written over, but it is the measurements",
                                   path);
    return ADEPT_OK;
}

adept_status adept_measurement_output_check(adept_cli *cli, const char *path, const adept_measurement_options *o)
{
    adept_status status = check_writable(cli, path);
    return status == ADEPT_OK ? check_not_measurements(cli, path, o) : status;
}

/* ---------------------------------------------------------------- reading ---------------------------------------- */

static void say_profiles(void *context, size_t done, size_t total)
{
    adept_progress_say(context, "reading the models: %zu of %zu", done, total);
}

/* `hw`: the GPU, or NULL: `shared` gets those of the rows. */
static adept_status read_all(adept_cli *cli, adept_dataset *d, const adept_hwprofile *hw, adept_shared *shared,
                             const adept_measurement_options *o, adept_progress *progress)
{
    const adept_dataset_options how = {
        .models = o->models,
        .no_cache = o->no_cache,
        .trust = o->trust,
        .progress = say_profiles,
        .context = progress,
    };
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < o->n_files && status == ADEPT_OK; i++)
        status = adept_dataset_read(d, o->files[i], &cli->err);
    if (status == ADEPT_OK)
        status = shared ? adept_dataset_select_each(d, shared, &cli->err)
                        : adept_dataset_select_gpu(d, hw, o->gpu, &cli->err);
    if (status == ADEPT_OK) status = adept_dataset_profiles(d, &how, &cli->err);
    adept_progress_end(progress);
    if (status == ADEPT_E_UNSUPPORTED) {
        size_t n;
        const adept_unsupported *ops = adept_dataset_unsupported(d, &n);
        if (n > 0) cli->details = adept_list_unsupported(ops, n);
    }
    if (status == ADEPT_OK) status = adept_dataset_check(d, &cli->err);
    if (status != ADEPT_OK || !o->exclude_suspect) return status;
    if (!adept_dataset_exclude_suspect(d)) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    return d->n > 0
               ? ADEPT_OK
               : adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: every row is suspect, nothing is left; the first: %s",
                                 o->files[0], d->rows[0].suspect);
}

adept_status adept_load_measurements(adept_cli *cli, adept_dataset **d, adept_hwprofile **hw,
                                     const adept_measurement_options *o, adept_progress *progress)
{
    adept_status status = adept_hwprofile_open(hw, o->gpu, &cli->err);

    if (status != ADEPT_OK) return status;
    *d = adept_dataset_new();
    status =
        *d ? read_all(cli, *d, *hw, NULL, o, progress) : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK) return status;
    adept_dataset_free(*d);
    adept_hwprofile_free(*hw);
    *d = NULL;
    *hw = NULL;
    return status;
}

adept_status adept_load_measurements_of_gpus(adept_cli *cli, adept_dataset **d, adept_shared *s,
                                             const adept_measurement_options *o, adept_progress *progress)
{
    *d = adept_dataset_new();
    adept_status status =
        *d ? read_all(cli, *d, NULL, s, o, progress) : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK) {
        adept_shared_weigh(s, *d);
        return ADEPT_OK;
    }
    adept_dataset_free(*d);
    *d = NULL;
    return status;
}

const char *const *adept_measurement_suspects(adept_dataset *d, size_t *n)
{
    const char **lines = adept_arena_array(d->arena, d->n + d->n_excluded + 1, sizeof *lines);

    *n = 0;
    for (size_t i = 0; lines && i < d->n + d->n_excluded; i++) {
        char text[1024];
        const adept_measurement *m = &d->rows[i];
        if (!m->suspect) continue;
        snprintf(text, sizeof text, "%.300s:%ld: suspect%s: %.600s", m->file, m->line, i < d->n ? "" : " and left out",
                 m->suspect);
        lines[*n] = adept_arena_strdup(d->arena, text);
        if (!lines[(*n)++]) return NULL;
    }
    return lines;
}

const char *const *adept_measurement_warnings(adept_dataset *d, size_t *n)
{
    size_t n_suspect;
    const char *const *suspects = adept_measurement_suspects(d, &n_suspect);
    const char **lines = adept_arena_array(d->arena, d->n_warnings + n_suspect + 1, sizeof *lines);

    *n = 0;
    if (!suspects || !lines) return NULL;
    for (size_t i = 0; i < d->n_warnings; i++)
        lines[(*n)++] = d->warnings[i];
    for (size_t i = 0; i < n_suspect; i++)
        lines[(*n)++] = suspects[i];
    return lines;
}

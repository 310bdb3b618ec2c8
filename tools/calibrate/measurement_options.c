/** @file measurement_options.c  Measurement files on the command line, and reading them. */
#include "measurement_options.h"
#include "adept_file.h"
#include "load.h"
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(member) offsetof(adept_measurement_options, member)

static const adept_option_row rows[] = {
    {.group = 1, .help = "What was measured:"},
    {"gpu", "NAME|FILE", 1,
     "The GPU: a name that `adept gpus` lists, or a hardware profile (a path with '/', or ending in .json). Rows of "
     "other GPUs are left out. Without it evaluate takes the GPU that each row names. calibrate --gpu auto: one fit "
     "for all GPUs that the column gpu names",
     ADEPT_OPT_TEXT, .at = AT(gpu)},
    {"models", "DIR", 1,
     "Folder in which names of the column model are looked up: NAME.pt, NAME.pt2, NAME.profile.json (default: the "
     "bundled models)",
     ADEPT_OPT_TEXT, .at = AT(models)},
    {"exclude-suspect", NULL, 1,
     "Drop the rows that look wrong (power above the limit, repetitions that disagree, more than the peak FLOP/s, odd "
     "units); without it they are named and used",
     ADEPT_OPT_FLAG, .at = AT(exclude_suspect)},
    {"no-cache", NULL, 1,
     "Read the models anew, and keep nothing; otherwise their graphs are kept in $XDG_CACHE_HOME/adept", ADEPT_OPT_FLAG,
     .at = AT(no_cache), .expert = true},
    {"trust", NULL, 1, "Load TorchScript files that run code of their own when loaded (__setstate__)", ADEPT_OPT_FLAG,
     .at = AT(trust), .expert = true},
    {"memory-limit", "SIZE", 1, ADEPT_MEMORY_LIMIT_HELP, ADEPT_OPT_PARSED, .at = AT(memory_bytes),
     .parse = adept_option_memory, .expert = true},
    {.group = 6, .help = "What is printed:"},
    {"by", "COLUMN,...", 6,
     "Errors by these columns of the measurements, known to adept or not; A+B: by both together (default model, "
     "precision, gpus)",
     ADEPT_OPT_LIST, .at = AT(by)},
    {"plot", "FILE", 6, "Plot predicted against measured, and the errors by model (needs gnuplot): .svg, .pdf or .png",
     ADEPT_OPT_PARSED, .at = AT(plot), .written = true, .parse = adept_option_picture},
    {"json", NULL, 6, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

const adept_options adept_measurement_options_of = {.rows = rows};

/* ---------------------------------------------------------------- what is written -------------------------------- */

adept_status adept_measurement_output_check(adept_cli *cli, const char *path)
{
    struct stat st;

    if (adept_file_is_stream(path)) return ADEPT_OK;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return adept_error_set(&cli->err, ADEPT_E_IO, "%s: cannot write: not a regular file", path);
    char *copy = strdup(path);
    if (!copy) return adept_cli_no_memory(cli);
    bool ok = access(dirname(copy), W_OK) == 0;
    int saved = errno;
    free(copy);
    if (!ok) return adept_error_set(&cli->err, ADEPT_E_IO, "%s: cannot write: %s", path, strerror(saved));
    return ADEPT_OK;
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
        .memory_bytes = o->memory_bytes,
        .progress = say_profiles,
        .context = progress,
    };
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < o->files.n && status == ADEPT_OK; i++)
        status = adept_dataset_read(d, o->files.words[i], &cli->err);
    if (status == ADEPT_OK)
        status = shared ? adept_dataset_select_each(d, shared, &cli->err)
                 : hw   ? adept_dataset_select_gpu(d, hw, o->gpu, &cli->err)
                        : adept_dataset_select_own(d, &cli->err);
    if (status == ADEPT_OK) status = adept_dataset_profiles(d, &how, &cli->err);
    adept_progress_end(progress);
    if (status == ADEPT_E_UNSUPPORTED) {
        size_t n;
        const adept_unsupported *ops = adept_dataset_unsupported(d, &n);
        if (n > 0) cli->details = adept_list_unsupported(ops, n);
    }
    if (status == ADEPT_OK) status = adept_dataset_check(d, &cli->err);
    if (status == ADEPT_OK) status = adept_dataset_sort_unused(d, &cli->err);
    if (status == ADEPT_OK && !o->exclude_suspect) status = adept_dataset_refuse_absurd(d, &cli->err);
    if (status != ADEPT_OK || !o->exclude_suspect) return status;
    if (!adept_dataset_exclude_suspect(d)) return adept_cli_no_memory(cli);
    return d->n > 0
               ? ADEPT_OK
               : adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: every row is suspect, nothing is left; the first: %s",
                                 o->files.words[0], d->rows[0].suspect);
}

adept_status adept_load_measurements(adept_cli *cli, adept_dataset **d, adept_hwprofile **hw, adept_shared *shared,
                                     const adept_measurement_options *o, adept_progress *progress)
{
    adept_status status = shared || !o->gpu ? ADEPT_OK : adept_load_gpu(cli, hw, o->gpu);

    if (status != ADEPT_OK) return status;
    *d = adept_dataset_new();
    if (*d) (*d)->listing = o->listing;
    status = *d ? read_all(cli, *d, *hw, shared, o, progress) : adept_cli_no_memory(cli);
    if (status == ADEPT_OK && shared) adept_shared_weigh(shared, *d);
    return status;
}

const char *const *adept_measurement_warnings(adept_dataset *d, bool all, size_t *n)
{
    const char **lines = adept_arena_array(d->arena, d->n_warnings + d->n + d->n_excluded + 1, sizeof *lines);

    *n = 0;
    for (size_t i = 0; lines && all && i < d->n_warnings; i++)
        lines[(*n)++] = d->warnings[i];
    for (size_t i = 0; lines && i < d->n + d->n_excluded; i++) {
        char text[1024];
        const adept_dataset_row *m = &d->rows[i];
        if (!m->suspect) continue;
        snprintf(text, sizeof text, "%.300s:%ld: suspect%s: %.600s", m->file, m->line, i < d->n ? "" : " and left out",
                 m->suspect);
        lines[*n] = adept_arena_strdup(d->arena, text);
        if (!lines[(*n)++]) return NULL;
    }
    return lines;
}

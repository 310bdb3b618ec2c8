/** @file calibrate_watch.c  `adept calibrate --watch DIR`: rows arrive, the GPU is fitted anew, and the new fit takes
 * the old one's place where rows that neither saw are predicted no worse. What drifts is named. */
#include "calibrate_options.h"
#include "adept_append.h"
#include "adept_clock.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "adept_layouts.h"
#include "table.h"
#include "units.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)64 << 20)
#define JUDGES 5u        /* one row of so many judges */
#define LEAST_JUDGES 3   /* fewer say nothing */
#define LEAST_ROWS 3     /* of a group that may have drifted, and of the others */
#define LEAST_DRIFT 0.05 /* of time or power */
#define SURE 3.0         /* so many standard errors */

/* Columns whose values are of one machine or state of it, and what a group that is off says. */
static const struct {
    const char *column, *says;
} drifting[] = {
    {"driver", "the driver changed"},       {"torch", "PyTorch changed"}, {"clock_hz", "the clock"},
    {"host", "this host, or a sick board"}, {"board", "a sick board"},    {"power_limit_w", "the power limit"},
};

/* ---------------------------------------------------------------- rows that judge -------------------------------- */

/* FNV-1a */
static uint32_t hashed(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* By all that the row says, whatever else its file and others have columns for: a row judges always, or never does. */
static bool is_judge(const adept_dataset_row *m)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < m->n_cells; i++)
        if (*m->cells[i]) sum += hashed(hashed(hashed(2166136261u, m->columns->names[i]), "="), m->cells[i]);
    return (sum ^ sum >> 16) % JUDGES == 0;
}

void adept_watch_leave_out(adept_dataset *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (is_judge(&d->rows[i])) d->rows[i].weight = 0;
}

/* ---------------------------------------------------------------- what a profile is worth ------------------------ */

typedef struct drift {
    char value[96];
    const char *column, *says;
    size_t n;
    double time, power; /* measured over predicted, against the other rows', less 1; NAN: no drift */
} drift;

typedef struct verdict {
    size_t n, judges;
    double error; /* percent, of the judges; NAN: not known */
    drift drifts[32];
    size_t n_drifts;
    adept_dataset *rows; /* what is said of them: how far repetitions lie apart, files that are off */
} verdict;

/* log(measured / predicted) of time (0) or power (1); NAN: not known */
static double off(const adept_scored *s, int quantity)
{
    return quantity == 0 ? log(s->measured->step_time_s / s->time_s) : log(s->measured->power_avg_w / s->power_w);
}

/* How far the rows of a value are from the others; NAN: not known, or no more than they scatter. */
static double drift_of(const adept_evaluation *e, const char *column, const char *value, int quantity, size_t *in)
{
    double sums[2] = {0}, squares[2] = {0};
    size_t n[2] = {0};

    for (size_t i = 0; i < e->n; i++) {
        const char *text = adept_dataset_row_text(e->rows[i].measured, column);
        double x = off(&e->rows[i], quantity);
        int which = text && strcmp(text, value) == 0;
        if (!isfinite(x)) continue;
        sums[which] += x;
        squares[which] += x * x;
        n[which]++;
    }
    *in = n[1];
    if (n[0] < LEAST_ROWS || n[1] < LEAST_ROWS) return NAN;
    double means[2], variance = 0;
    for (int i = 0; i < 2; i++) {
        means[i] = sums[i] / (double)n[i];
        variance += fmax(0, squares[i] / (double)n[i] - means[i] * means[i]) / (double)(n[i] - 1);
    }
    double difference = means[1] - means[0];
    return fabs(difference) >= LEAST_DRIFT && fabs(difference) >= SURE * sqrt(variance) ? expm1(difference) : NAN;
}

static void find_drift(verdict *v, const adept_evaluation *e)
{
    for (size_t c = 0; c < sizeof drifting / sizeof *drifting; c++)
        for (size_t i = 0; i < e->n && v->n_drifts < sizeof v->drifts / sizeof *v->drifts; i++) {
            const char *text = adept_dataset_row_text(e->rows[i].measured, drifting[c].column);
            bool is_first = text && *text;
            for (size_t j = 0; j < i && is_first; j++)
                is_first = strcmp(adept_dataset_row_text(e->rows[j].measured, drifting[c].column), text) != 0;
            if (!is_first) continue;
            size_t n[2];
            drift d = {.column = drifting[c].column, .says = drifting[c].says};
            d.time = drift_of(e, d.column, text, 0, &n[0]);
            d.power = drift_of(e, d.column, text, 1, &n[1]);
            d.n = n[0] > n[1] ? n[0] : n[1];
            snprintf(d.value, sizeof d.value, "%s", text);
            if (!isnan(d.time) || !isnan(d.power)) v->drifts[v->n_drifts++] = d;
        }
}

/* What a profile predicts of all rows, and of those that judge. */
static adept_status judge(adept_cli *cli, verdict *out, const adept_calibrate_options *o, const char *profile)
{
    adept_measurement_options of = o->measurements;
    adept_progress progress = {.shown = false};
    adept_dataset *d = NULL;
    adept_hwprofile *hw = NULL;
    adept_evaluation *e = NULL;
    adept_metrics m;

    *out = (verdict){.error = NAN};
    of.gpu = profile;
    adept_status status = adept_load_measurements(cli, &d, &hw, NULL, &of, &progress);
    if (status == ADEPT_OK && !adept_dataset_settle_unknown(d)) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = adept_evaluation_new(&e, d->arena, d->rows, d->n, NULL, 0, &cli->err);
    size_t *judges = status == ADEPT_OK ? adept_arena_array(d->arena, d->n + 1, sizeof *judges) : NULL;
    if (status == ADEPT_OK && !judges) status = adept_cli_no_memory(cli);
    for (size_t i = 0; status == ADEPT_OK && i < e->n; i++)
        if (is_judge(e->rows[i].measured)) judges[out->judges++] = i;
    if (status == ADEPT_OK) status = adept_metrics_get(&m, e->rows, judges, out->judges, &cli->err);
    if (status == ADEPT_OK) {
        out->n = e->n;
        /* 0.6 of the times' and 0.4 of the powers', or what there is of them */
        out->error = !isnan(m.mape_combined) ? m.mape_combined : m.time.n > 0 ? m.time.mape : m.power.mape;
        find_drift(out, e);
    }
    out->rows = d;
    adept_hwprofile_free(hw);
    return status;
}

/* ---------------------------------------------------------------- a round ---------------------------------------- */

typedef struct watch {
    adept_calibrate_options *o;
    adept_status (*fit)(adept_cli *cli, adept_calibrate_options *o);
    const char *output;       /* the options' own */
    char *candidate, *before; /* OUT.json.new.json, OUT.json.1 */
    uint64_t seen;            /* of the files, when they were looked at last */
} watch;

static int is_table(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 4 && strcmp(entry->d_name + length - 4, ".csv") == 0;
}

static void free_files(adept_words *files)
{
    for (size_t i = 0; i < files->n; i++)
        free((char *)files->words[i]);
    free(files->words);
    *files = (adept_words){.n = 0};
}

/* All *.csv of the folder, sorted. @param signature  changes when one of them does */
static adept_status list_files(adept_cli *cli, adept_words *files, uint64_t *signature, const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_table, alphasort);

    if (n < 0) return adept_error_set(&cli->err, ADEPT_E_INVALID, "--watch %s: %s", folder, strerror(errno));
    *files = (adept_words){.words = calloc((size_t)n + 1, sizeof *files->words)};
    *signature = ADEPT_FILE_STATE;
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (files->words && asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0) files->words[files->n++] = path;
        if (path) *signature = adept_file_state(*signature, path);
        free(entries[i]);
    }
    free(entries);
    if (files->n == (size_t)n) return ADEPT_OK;
    free_files(files);
    return adept_cli_no_memory(cli);
}

/* The profile in place of one of its name, or behind the others; the file is whole at any time. */
static adept_status put_into_fleet(adept_cli *cli, const char *path, const char *profile_path)
{
    cJSON *tree = NULL, *profile = NULL;
    adept_json_writer w = {.pretty = true};
    const cJSON *other;
    adept_status status = adept_json_parse_file(&profile, profile_path, MOST_BYTES, &cli->err);

    if (status == ADEPT_OK && access(path, F_OK) == 0)
        status = adept_json_parse_file(&tree, path, MOST_BYTES, &cli->err);
    const cJSON *others = cJSON_GetObjectItemCaseSensitive(tree, "profiles");
    if (status == ADEPT_OK && tree && !cJSON_IsArray(others))
        status = adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: not a fleet: it has no \"profiles\"", path);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile, "name"));
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "fleet");
    adept_json_begin_array(&w, "profiles");
    cJSON_ArrayForEach(other, others)
    {
        const char *its = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(other, "name"));
        if (!its || !name || strcmp(its, name) != 0) adept_json_put_tree(&w, NULL, other);
    }
    adept_json_put_tree(&w, NULL, profile);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    if (status == ADEPT_OK && !text) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = adept_file_write(path, text, strlen(text), &cli->err);
    free(text);
    cJSON_Delete(tree);
    cJSON_Delete(profile);
    return status;
}

/* The old profile stays as OUT.json.1, and there is never none. */
static adept_status put_in_place(adept_cli *cli, const watch *w)
{
    unlink(w->before);
    if (link(w->output, w->before) && errno != ENOENT) return adept_system_error(&cli->err, ADEPT_E_IO, w->before);
    return rename(w->candidate, w->output) ? adept_system_error(&cli->err, ADEPT_E_IO, w->output) : ADEPT_OK;
}

static void put_percent(char *text, size_t size, const char *what, double share)
{
    if (!isnan(share)) adept_append(text, size, "%s%s %s", *text ? ", " : "", what, adept_units_change(share).s);
}

static void say_text(const verdict *old, const verdict *now, bool kept)
{
    printf("%s  %zu rows, %zu of them left out: ", adept_clock_date().s, now->n, now->judges);
    if (now->judges < LEAST_JUDGES && !kept)
        printf("dropped: too few to judge a new fit");
    else
        printf("%s", kept ? "kept" : "dropped");
    if (!isnan(now->error)) printf("; left out, its error is %.2f %%", now->error);
    if (old && !isnan(old->error)) printf(", that of the old fit %.2f %%", old->error);
    putchar('\n');
    for (size_t i = 0; i < now->n_drifts; i++) {
        const drift *d = &now->drifts[i];
        char text[96] = "";
        put_percent(text, sizeof text, "time", d->time);
        put_percent(text, sizeof text, "power", d->power);
        adept_print_format(stdout, "  drift: the %zu rows of %s %s: %s against the others: %s?\n", d->n, d->column,
                           d->value, text, d->says);
    }
    for (size_t i = 0; i < now->rows->n_warnings; i++)
        adept_print_format(stdout, "  %s\n", now->rows->warnings[i]);
}

static adept_status say(adept_cli *cli, const watch *w, const verdict *old, const verdict *now, bool kept)
{
    adept_json_writer json = {0};

    if (!w->o->measurements.json) {
        say_text(old, now, kept);
    } else {
        adept_json_begin_object(&json, NULL);
        adept_json_put_members(&json, "schema_version %jd kind %s time %s rows %jd left_out %jd kept %d", (intmax_t)1,
                               "watch", adept_clock_date().s, (intmax_t)now->n, (intmax_t)now->judges, kept);
        adept_json_put_number(&json, "error_percent", now->error);
        adept_json_put_number(&json, "error_before_percent", old ? old->error : NAN);
        adept_json_begin_array(&json, "drift");
        for (size_t i = 0; i < now->n_drifts; i++)
            adept_json_put_object(&json, NULL,
                                  "column %s value %s rows %jd time_percent %g power_percent %g suspect %s",
                                  now->drifts[i].column, now->drifts[i].value, (intmax_t)now->drifts[i].n,
                                  100 * now->drifts[i].time, 100 * now->drifts[i].power, now->drifts[i].says);
        adept_json_end_array(&json);
        adept_repeats_put(&json, &now->rows->repeats);
        adept_json_put_strings(&json, "warnings", now->rows->warnings, now->rows->n_warnings);
        adept_json_end_object(&json);
        adept_status status = adept_json_emit(cli, &json);
        if (status != ADEPT_OK) return status;
    }
    fflush(stdout);
    return ADEPT_OK;
}

static adept_status refit(adept_cli *cli, watch *w)
{
    verdict old = {.n = 0}, now = {.n = 0};
    bool has_old = access(w->output, F_OK) == 0;

    w->o->output = w->candidate;
    adept_status status = w->fit(cli, w->o);
    w->o->output = w->output;
    if (status == ADEPT_OK) status = judge(cli, &now, w->o, w->candidate);
    if (status == ADEPT_OK && has_old) status = judge(cli, &old, w->o, w->output);
    bool keeps = status == ADEPT_OK && (!has_old || (now.judges >= LEAST_JUDGES && now.error <= old.error));
    if (keeps) status = put_in_place(cli, w);
    if (keeps && status == ADEPT_OK && w->o->fleet) status = put_into_fleet(cli, w->o->fleet, w->output);
    unlink(w->candidate);
    if (status == ADEPT_OK) status = say(cli, w, has_old ? &old : NULL, &now, keeps);
    adept_dataset_free(old.rows);
    adept_dataset_free(now.rows);
    return status;
}

static adept_status look(adept_cli *cli, watch *w)
{
    uint64_t signature = 0;
    adept_words files = {.n = 0}, *given = &w->o->measurements.files;
    adept_status status = list_files(cli, &files, &signature, w->o->watch);

    if (status != ADEPT_OK || signature == w->seen) {
        if (status == ADEPT_OK) free_files(&files);
        return status;
    }
    if (files.n > 0) {
        *given = files;
        status = refit(cli, w);
        *given = (adept_words){.n = 0};
        w->seen = signature; /* what is wrong with the files is said once */
    } else if (w->o->once) {
        status = adept_error_set(&cli->err, ADEPT_E_INVALID, "--watch %s: no *.csv in it", w->o->watch);
    }
    free_files(&files);
    return status;
}

adept_status adept_calibrate_watch(adept_cli *cli, adept_calibrate_options *o,
                                   adept_status (*fit)(adept_cli *cli, adept_calibrate_options *o))
{
    watch w = {.o = o, .fit = fit, .output = o->output};
    adept_status status = ADEPT_OK;

    if (asprintf(&w.candidate, "%s.new.json", o->output) < 0) w.candidate = NULL;
    if (asprintf(&w.before, "%s.1", o->output) < 0) w.before = NULL;
    if (!w.candidate || !w.before) status = adept_cli_no_memory(cli);
    adept_interrupt_catch();
    while (status == ADEPT_OK) {
        status = look(cli, &w);
        if (o->once || adept_interrupt_requested) break;
        /* a row that is being written, a file that is gone: the next look may do */
        if (status != ADEPT_OK && status != ADEPT_E_NOMEM) {
            adept_print_format(stderr, "adept: %s\n", cli->err.message);
            cli->err = (adept_error){0};
            status = ADEPT_OK;
        }
        for (double until_s = adept_clock_s() + o->every_s; adept_clock_s() < until_s && !adept_interrupt_requested;)
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        if (adept_interrupt_requested) break;
    }
    if (adept_interrupt_requested) { /* how it is to be ended */
        cli->exit_code = 128 + adept_interrupt_requested;
        status = ADEPT_OK;
    }
    free(w.candidate);
    free(w.before);
    return status;
}

/** @file drive_synthesis.c  `adept sweep --synthesis`: what several programs gained, each in a file of `adept sweep
 * --drive --json` with a baseline: the best setting of each and their mean, as figure 6.6 of the thesis has it, and
 * settings that all of them ran at. */
#include "adept_append.h"
#include "adept_json.h"
#include "columns.h"
#include "sweep_drive.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)256 << 20)
#define MOST_SETTING 160

/* A setting that was measured, in percent. */
typedef struct gained {
    char setting[MOST_SETTING];
    double gain, time;
    bool is_noise; /* the gain is not known to be more */
} gained;

typedef struct program {
    char command[MOST_SETTING];
    gained *points;
    size_t n, best; /* best: SIZE_MAX where nothing is known */
} program;

typedef struct synthesis {
    adept_aim aim; /* what gains are of */
    program *programs;
    size_t n;
} synthesis;

static void read_point(adept_json_reader *r, gained *g, const cJSON *point, const cJSON *vary, adept_aim aim)
{
    const cJSON *axis, *gains = adept_json_object_or_null(r, point, "gain", "gain");
    const cJSON *gain = gains ? adept_json_object(r, gains, adept_aim_name(aim)) : NULL,
                *time = gains ? adept_json_object(r, gains, "time") : NULL;

    cJSON_ArrayForEach(axis, vary)
    {
        const char *key = adept_json_string(r, axis, "key");
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(point, key);
        if (cJSON_IsString(value))
            adept_append(g->setting, sizeof g->setting, "%s%s=%s", *g->setting ? ", " : "", key, value->valuestring);
        else if (cJSON_IsNumber(value))
            adept_append(g->setting, sizeof g->setting, "%s%s=%.10g", *g->setting ? ", " : "", key, value->valuedouble);
    }
    g->gain = gain ? adept_json_number_or(r, gain, "percent", NAN) : NAN;
    g->time = time ? adept_json_number_or(r, time, "percent", NAN) : NAN;
    g->is_noise = !gain || !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(gain, "is_beyond_noise"));
}

static adept_status read_program(program *p, const char *path, adept_aim aim, adept_error *err)
{
    cJSON *tree;
    const cJSON *point, *word;
    adept_status status = adept_json_parse_file(&tree, path, MOST_BYTES, err);

    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = path, .err = err};
    if (strcmp(adept_json_string(&r, tree, "kind"), "driven") != 0 && r.status == ADEPT_OK)
        adept_json_fail(&r, "it is not what adept sweep --drive --json writes");
    if (r.status == ADEPT_OK && !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(tree, "baseline")))
        adept_json_fail(&r, "it has no baseline: nothing is held against anything (--baseline)");
    const cJSON *points = adept_json_array(&r, tree, "points"), *vary = adept_json_array(&r, tree, "vary");
    cJSON_ArrayForEach(word, adept_json_array(&r, tree, "command")) adept_append(
        p->command, sizeof p->command, "%s%s", *p->command ? " " : "", cJSON_IsString(word) ? word->valuestring : "?");
    p->points = calloc(adept_json_size(points) + 1, sizeof *p->points);
    if (!p->points) adept_json_no_memory(&r);
    p->best = SIZE_MAX;
    cJSON_ArrayForEach(point, points)
    {
        if (r.status != ADEPT_OK) break;
        read_point(&r, &p->points[p->n], point, vary, aim);
        if (!isnan(p->points[p->n].gain) && (p->best == SIZE_MAX || p->points[p->n].gain > p->points[p->best].gain))
            p->best = p->n;
        p->n++;
    }
    cJSON_Delete(tree);
    return r.status;
}

/* ---------------------------------------------------------------- what is printed -------------------------------- */

static adept_text percent_text(double percent)
{
    return isnan(percent) ? adept_cell("unknown") : adept_cell("%+.1f %%", percent);
}

/* @param what  a program, "mean", or how many programs a setting is the mean of */
static void put_row(adept_row_writer *w, const synthesis *s, const char *what, const gained *g, const char *noise)
{
    char key[32];

    snprintf(key, sizeof key, "%s_gain_percent", adept_aim_name(s->aim));
    adept_row_begin(w);
    adept_column_text(w, "program", "program", what);
    adept_column_text(w, "setting", "setting", g->setting);
    adept_column_number(w, key, adept_cell(">%s gain", adept_drive_gain_name(s->aim)).s, percent_text, g->gain);
    adept_column_number(w, "time_change_percent", ">time change", percent_text, g->time);
    adept_column_text(w, "remark", "", noise);
    adept_row_end(w);
}

static void put_programs(adept_row_writer *w, const synthesis *s)
{
    gained mean = {.setting = "the best of each"};

    for (size_t i = 0; i < s->n; i++) {
        const program *p = &s->programs[i];
        const gained best = p->best < SIZE_MAX ? p->points[p->best] : (gained){.gain = NAN, .time = NAN};
        mean.gain += best.gain / (double)s->n;
        mean.time += best.time / (double)s->n;
        put_row(w, s, s->programs[i].command, &best, best.is_noise ? "not known to be more than noise" : "");
    }
    put_row(w, s, "mean", &mean, "");
}

/* The mean of all programs at a setting. @return false: one of them did not run at it */
static bool mean_at(gained *mean, const synthesis *s, const char *setting)
{
    *mean = (gained){.gain = 0};
    snprintf(mean->setting, sizeof mean->setting, "%s", setting);
    for (size_t i = 0; i < s->n; i++) {
        const program *p = &s->programs[i];
        size_t at = 0;
        while (at < p->n && (strcmp(p->points[at].setting, setting) != 0 || isnan(p->points[at].gain)))
            at++;
        if (at == p->n) return false;
        mean->gain += p->points[at].gain / (double)s->n;
        mean->time += p->points[at].time / (double)s->n;
    }
    return true;
}

static adept_status put_common(adept_row_writer *w, const synthesis *s, adept_error *err)
{
    const program *first = &s->programs[0];
    gained *means = calloc(first->n + 1, sizeof *means);
    double best = -INFINITY;
    size_t n = 0;

    if (!means) return adept_no_memory(err, "settings");
    for (size_t i = 0; i < first->n; i++)
        if (mean_at(&means[n], s, first->points[i].setting)) best = fmax(best, means[n++].gain);
    for (size_t i = 0; i < n; i++)
        put_row(w, s, "all", &means[i], means[i].gain >= best ? "best for all" : "");
    free(means);
    return ADEPT_OK;
}

static adept_status print(adept_cli *cli, const adept_drive_options *o, const synthesis *s)
{
    adept_json_writer json = {.pretty = true};
    adept_row_writer rows = {.is_csv = o->csv, .json = o->json ? &json : NULL};

    if (o->json) {
        adept_json_begin_object(&json, NULL);
        adept_json_put_members(&json, "schema_version %jd kind %s", (intmax_t)1, "synthesis");
        adept_json_begin_array(&json, "programs");
    }
    put_programs(&rows, s);
    if (o->json) {
        adept_json_end_array(&json);
        adept_json_begin_array(&json, "settings");
    }
    adept_status status = put_common(&rows, s, &cli->err), ended = adept_rows_end(cli, &rows, o->json ? NULL : stdout);
    if (status == ADEPT_OK) status = ended;
    if (!o->json) return status;
    adept_json_end_array(&json);
    adept_json_end_object(&json);
    return status == ADEPT_OK ? adept_json_emit(cli, &json) : status;
}

adept_status adept_drive_synthesis(adept_cli *cli, const adept_drive_options *o)
{
    const adept_words *files = &o->measure.words;
    synthesis s = {.aim = o->objective, .programs = calloc(files->n + 1, sizeof *s.programs), .n = files->n};
    adept_status status = s.programs ? ADEPT_OK : adept_cli_no_memory(cli);

    for (size_t i = 0; i < s.n && status == ADEPT_OK; i++)
        status = read_program(&s.programs[i], files->words[i], s.aim, &cli->err);
    if (status == ADEPT_OK) status = print(cli, o, &s);
    for (size_t i = 0; s.programs && i < s.n; i++)
        free(s.programs[i].points);
    free(s.programs);
    return status;
}

/** @file trace_read.c  Traces as streams of jobs: rows, then placements of their GPU counts, then their samples. Calls:
 * adept_csv, zlib. */
#include "trace.h"
#include "adept_arena.h"
#include "adept_grow.h"
#include "adept_random.h"
#include "name_map.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_TEXT_BYTES ((size_t)512 << 20) /* of a trace, unpacked: a packed one of 500 KB may have as much */
#define MOST_COUNTS 256                    /* different numbers of GPUs that jobs of one kind have */

typedef struct trace_job {
    adept_stream_job job;
    double gpu_s; /* NAN: its samples are known */
    long line;
} trace_job;

typedef struct trace_reader {
    adept_jobs *jobs;
    adept_trace_options options;
    const adept_trace_format *format;
    adept_csv_table table;
    adept_notes *notes;
    adept_error *err;
    trace_job *rows;
    size_t n_rows, capacity;
    adept_name_map templates, users; /* by name */
    adept_arena *names;              /* of users */
    size_t n_skipped[ADEPT_ROW_SKIPS], n_sharing[ADEPT_TRACE_SHARES], n_impossible;
} trace_reader;

/* ---------------------------------------------------------------- the file ---------------------------------------- */

static adept_status fail_file(const char *path, const char *why, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", path, why);
}

/* zlib reads what is not packed as it stands. */
static adept_status read_text(char **text, size_t *size, const char *path, adept_error *err)
{
    adept_buffer b = {0};
    gzFile file = gzopen(path, "rb");
    if (!file) return adept_system_error(err, ADEPT_E_INVALID, path);
    int n = 0;
    for (char *room; b.size <= MAX_TEXT_BYTES && (room = adept_buffer_room(&b, 1 << 20)); b.size += (size_t)n) {
        n = gzread(file, room, 1 << 20);
        if (n <= 0) break;
    }
    int code;
    const char *why = gzerror(file, &code);
    adept_status status = ADEPT_OK;
    if (b.failed || (n < 0 && code == Z_MEM_ERROR))
        status = adept_no_memory(err, path);
    else if (b.size > MAX_TEXT_BYTES)
        status = fail_file(path, "larger than 512 MiB, unpacked", err);
    else if (n < 0)
        status = code == Z_ERRNO ? adept_system_error(err, ADEPT_E_INVALID, path) : fail_file(path, why, err);
    if (gzclose(file) == Z_BUF_ERROR && status == ADEPT_OK)
        status = fail_file(path, "the packed file ends in the middle", err);
    if (status == ADEPT_OK) {
        *size = b.size;
        *text = adept_buffer_take(&b);
        if (!*text) status = adept_no_memory(err, path);
    }
    adept_buffer_free(&b);
    return status;
}

static adept_status choose_format(trace_reader *t)
{
    char all[640] = "";
    for (const adept_trace_format *f = adept_trace_formats; f->name; f++) {
        bool named = t->options.format && strcmp(t->options.format, f->name) == 0;
        if (named || (!t->options.format && adept_trace_has_columns(&t->table, f))) t->format = f;
        if (t->format) break;
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s (%s)", n ? "; " : "", f->name, f->columns);
    }
    if (!t->format && t->options.format)
        return adept_error_set(t->err, ADEPT_E_USAGE, "no trace format is called %.40s; there are: %s",
                               t->options.format, all);
    if (!t->format)
        return adept_csv_fail(&t->table.csv,
                              "the header is of no known format: %s. native is what you write yourself of "
                              "any other trace: a row for each job, with submit_s and gpu_seconds or samples",
                              all);
    if (adept_trace_has_columns(&t->table, t->format)) return ADEPT_OK;
    return adept_csv_fail(&t->table.csv, "the header is not that of %s: it needs %s", t->format->name,
                          t->format->columns);
}

/* ---------------------------------------------------------------- rows -------------------------------------------- */

/* The kind of a job that the trace does not name: of the kinds whose usual number of GPUs is nearest, as a ratio, one
 * by weight, drawn by the job's number alone, so that a trace is the same under every seed. */
static size_t nearest_kind(const adept_jobs *jobs, const adept_trace_row *row)
{
    double best = INFINITY, sum = 0, at = 0;
    size_t chosen = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) at = sum * adept_random(0, ADEPT_RANDOM_TEMPLATES, (uint64_t)row->id);
        for (size_t k = 0; k < jobs->n_templates; k++) {
            double weight = jobs->kinds[k].weight;
            double distance = row->gpus > 0 ? fabs(log((double)row->gpus / jobs->kinds[k].typical_gpus)) : 0;
            if (weight <= 0 || distance > best) continue;
            if (pass == 0) {
                sum = distance < best ? weight : sum + weight;
                best = distance;
            } else {
                chosen = k;
                if (at < weight) return k;
                at -= weight;
            }
        }
    }
    return chosen;
}

static bool find_template(trace_reader *t, const adept_trace_row *row, size_t *index)
{
    const uintptr_t *found = row->application ? adept_name_map_get(&t->templates, row->application) : NULL;
    if (!row->application)
        *index = nearest_kind(t->jobs, row);
    else if (found)
        *index = (size_t)*found;
    else
        t->table.status =
            adept_csv_fail(&t->table.csv, "job %lld: no template is called \"%.60s\", or has it in \"applications\"",
                           (long long)row->id, row->application);
    return t->table.status == ADEPT_OK;
}

static bool find_user(trace_reader *t, const char *name, size_t *index)
{
    const uintptr_t *found = adept_name_map_get(&t->users, name);
    *index = found ? (size_t)*found : t->users.n;
    if (found) return true;
    if (!*name || strlen(name) > 63) {
        t->table.status =
            adept_csv_fail(&t->table.csv, "a user's name of 1 to 63 bytes is needed, not \"%.80s\"", name);
        return false;
    }
    char *kept = adept_arena_strdup(t->names, name);
    if (kept && adept_name_map_put(&t->users, kept, *index)) return true;
    t->table.status = adept_no_memory(t->err, "users");
    return false;
}

/* The batch of the template's placements that is nearest, as a ratio. */
static int64_t near_batch(const adept_template *template, double batch)
{
    int64_t best = 0;
    for (size_t i = 0; i < template->n_options; i++) {
        double one = (double)template->options[i].batch;
        if (best == 0 || fabs(log(one / batch)) < fabs(log((double)best / batch))) best = template->options[i].batch;
    }
    return best;
}

static void take_row(trace_reader *t)
{
    adept_trace_row row = {.samples = NAN, .gpu_s = NAN, .deadline_s = INFINITY};
    adept_trace_skip skip = t->format->take(&t->table, &row);
    uint64_t number = t->n_rows;

    if (t->table.status != ADEPT_OK) return;
    for (size_t s = 1; s < ADEPT_ROW_SKIPS; s++)
        number += t->n_skipped[s];
    if (row.id == 0) row.id = (int64_t)number + 1;
    if (skip != ADEPT_ROW_IS_JOB) {
        t->n_skipped[skip]++;
        return;
    }
    if (t->n_rows == ADEPT_MOST_JOBS) {
        t->table.status = adept_csv_fail(&t->table.csv, "more than %d jobs", ADEPT_MOST_JOBS);
        return;
    }
    trace_job *rows = adept_grow(t->rows, &t->capacity, t->n_rows + 1, sizeof *rows);
    if (!rows) {
        t->table.status = adept_no_memory(t->err, "the jobs of a trace");
        return;
    }
    t->rows = rows;
    trace_job *to = &rows[t->n_rows];
    *to = (trace_job){.gpu_s = row.gpu_s, .line = t->table.csv.line};
    adept_stream_job *job = &to->job;
    *job = (adept_stream_job){.id = row.id,
                              .submit_s = row.submit_s,
                              .samples = row.samples,
                              .gpus = row.gpus,
                              .is_urgent = row.is_urgent,
                              .deadline_s = row.tells_urgency ? row.deadline_s : NAN}; /* NAN: to be drawn */
    if (!find_template(t, &row, &job->template_index)) return;
    if (!row.user)
        job->user = adept_jobs_draw_user(t->jobs, t->options.seed, number);
    else if (!find_user(t, row.user, &job->user))
        return;
    const adept_template *template = &t->jobs->templates[job->template_index];
    if (row.batch_is_near && !t->options.is_malleable)
        job->batch = near_batch(template, row.batch);
    else if (!row.batch_is_near)
        job->batch = (int64_t)row.batch;
    t->n_sharing[row.share]++;
    t->n_rows++;
}

/* ---------------------------------------------------------------- placements -------------------------------------- */

static bool has_count(const double *counts, size_t n, double gpus)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i] == gpus) return true;
    return false;
}

static adept_status add_counts(trace_reader *t, size_t kind)
{
    const adept_template *template = &t->jobs->templates[kind];
    double known[MOST_COUNTS], fresh[MOST_COUNTS];
    size_t n_known = 0, n_fresh = 0;

    for (size_t i = 0; i < template->n_options && n_known < MOST_COUNTS; i++)
        if (!has_count(known, n_known, template->options[i].gpus)) known[n_known++] = template->options[i].gpus;
    for (size_t i = 0; i < t->n_rows; i++) {
        const adept_stream_job *job = &t->rows[i].job;
        if (job->template_index != kind || job->gpus == 0 || has_count(known, n_known, job->gpus)) continue;
        if (n_known == MOST_COUNTS)
            return adept_error_set(t->err, ADEPT_E_INVALID,
                                   "%s:%ld: jobs of %s have more than %d different numbers of GPUs", t->table.csv.name,
                                   t->rows[i].line, template->name, MOST_COUNTS);
        known[n_known++] = fresh[n_fresh++] = job->gpus;
    }
    if (n_fresh == 0) return ADEPT_OK;
    return t->jobs->kinds[kind].source ? adept_placements_add(t->jobs, kind, fresh, n_fresh, t->notes, t->err)
                                       : adept_step_times_extend(t->jobs, kind, fresh, n_fresh, t->notes, t->err);
}

static adept_status fail_impossible(const trace_reader *t, const trace_job *row)
{
    const adept_template *template = &t->jobs->templates[row->job.template_index];
    char counts[200] = "", batch[40] = "";
    for (size_t i = 0, n = 0; i < template->n_options && n < sizeof counts; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = template->options[j].gpus == template->options[i].gpus;
        if (!seen)
            n += (size_t)snprintf(counts + n, sizeof counts - n, "%s%d", n ? ", " : "", template->options[i].gpus);
    }
    if (row->job.batch > 0) snprintf(batch, sizeof batch, " with batch %lld", (long long)row->job.batch);
    adept_status status = adept_error_set(
        t->err, ADEPT_E_INVALID, "%s:%ld: job %lld needs %d GPUs%s: here %s can run on %s only", t->table.csv.name,
        row->line, (long long)row->job.id, row->job.gpus, batch, template->name, *counts ? counts : "none");
    if (t->err) t->err->line = (int)row->line;
    return status;
}

/* ---------------------------------------------------------------- samples ----------------------------------------- */

/* Where GPU-seconds were spent: on the reference GPU, at the job's batch or else the rigid configuration's or else the
 * first one, on the job's number of GPUs or the one nearest to it. */
static const adept_job_option *reference_of(const adept_jobs *jobs, const adept_stream_job *job)
{
    const adept_template *template = &jobs->templates[job->template_index];
    size_t type = jobs->reference_type;
    int gpus = job->gpus > 0 ? job->gpus : jobs->kinds[job->template_index].typical_gpus;
    const adept_job_option *best = NULL;
    double best_rank = INFINITY;

    for (size_t i = 0; type == SIZE_MAX && i < template->n_options; i++)
        if (type == SIZE_MAX || template->options[i].type < type) type = template->options[i].type;
    for (size_t i = 0; i < template->n_options; i++) {
        const adept_job_option *o = &template->options[i];
        if (o->type != type || o->limit_w != 0 || (job->batch != 0 && o->batch != job->batch)) continue;
        double rank = fabs(log((double)o->gpus / gpus)) + (o->batch == jobs->rigid_batch ? 0 : 1e-9);
        if (rank >= best_rank) continue;
        best = o;
        best_rank = rank;
    }
    return best;
}

static adept_status find_samples(trace_reader *t, const trace_job *row, adept_stream_job *job)
{
    const adept_kind *kind = &t->jobs->kinds[job->template_index];
    const char *name = t->jobs->templates[job->template_index].name;
    const adept_job_option *reference = isnan(row->gpu_s) ? NULL : reference_of(t->jobs, job);

    if (reference) {
        job->samples = fmax(1, round(row->gpu_s * (double)reference->batch / reference->step_time_s));
        if (!t->options.is_malleable) job->batch = reference->batch; /* there it takes as long as in the trace */
    } else if (isnan(job->samples) && isnan(row->gpu_s)) {
        job->samples = kind->samples;
    }
    if (!isnan(job->samples)) return ADEPT_OK;
    return adept_error_set(t->err, ADEPT_E_INVALID,
                           isnan(row->gpu_s)
                               ? "%s:%ld: job %lld: template %s has neither \"samples\" nor \"samples_for_s\""
                               : "%s:%ld: job %lld: template %s has no placement on the reference GPU",
                           t->table.csv.name, row->line, (long long)job->id, name);
}

static adept_status finish_job(trace_reader *t, const trace_job *row, uint64_t index, adept_stream_job *job)
{
    bool drawn = isnan(job->deadline_s);
    adept_status status = find_samples(t, row, job);
    if (status != ADEPT_OK) return status;
    if (t->options.is_malleable) job->gpus = 0;
    if (drawn)
        adept_jobs_draw_urgency(t->jobs, job, t->options.seed, index);
    else if (job->is_urgent && isinf(job->deadline_s) && t->jobs->deadline_factor > 0)
        adept_jobs_deadline(t->jobs, job);
    if (!job->is_urgent || isfinite(job->deadline_s)) return ADEPT_OK;
    return adept_error_set(t->err, ADEPT_E_INVALID,
                           "%s:%ld: job %lld is urgent without \"deadline_s\", and the jobs file has no \"urgent\"",
                           t->table.csv.name, row->line, (long long)job->id);
}

/* By submission, then as in the file. */
static int by_submission(const void *a, const void *b)
{
    const trace_job *x = a, *y = b;
    if (x->job.submit_s != y->job.submit_s) return x->job.submit_s < y->job.submit_s ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static adept_status finish(trace_reader *t, adept_job_stream *s)
{
    adept_status status = ADEPT_OK;

    for (size_t k = 0; k < t->jobs->n_templates && !t->options.is_malleable && status == ADEPT_OK; k++)
        if (t->jobs->kinds[k].source || t->jobs->scales_linearly) status = add_counts(t, k);
    if (t->n_rows > 0) qsort(t->rows, t->n_rows, sizeof *t->rows, by_submission);
    s->jobs = calloc(t->n_rows + 1, sizeof *s->jobs);
    if (status == ADEPT_OK && !s->jobs) status = adept_no_memory(t->err, "the jobs of a trace");
    double first_s = t->format->is_calendar && t->n_rows > 0 ? t->rows[0].job.submit_s : 0;
    for (size_t i = 0; i < t->n_rows && status == ADEPT_OK; i++) {
        const trace_job *row = &t->rows[i];
        adept_stream_job *job = &s->jobs[s->n_jobs];
        const adept_template *template = &t->jobs->templates[row->job.template_index];
        bool has_placement = false;
        *job = row->job;
        job->submit_s -= first_s;
        for (size_t k = 0; k < template->n_options && !has_placement; k++)
            has_placement =
                adept_option_suits(&template->options[k], t->options.is_malleable ? 0 : job->gpus, job->batch);
        if (!has_placement) {
            if (!t->options.drops_impossible) status = fail_impossible(t, row);
            t->n_impossible++;
            continue;
        }
        status = finish_job(t, row, i, job);
        s->n_jobs++;
    }
    return status;
}

static void note_counts(const trace_reader *t)
{
    const char *name = t->table.csv.name;
    for (size_t s = 1; s < ADEPT_ROW_SKIPS; s++)
        if (t->n_skipped[s] > 0)
            adept_notes_add(t->notes, "%s: %zu rows left out: they %s", name, t->n_skipped[s],
                            adept_trace_skip_texts[s]);
    for (size_t s = 1; s < ADEPT_TRACE_SHARES; s++)
        if (t->n_sharing[s] > 0)
            adept_notes_add(t->notes, "%s: %zu jobs %s", name, t->n_sharing[s], adept_trace_share_texts[s]);
    const char *lack = adept_trace_lack(&t->table, t->format);
    if (lack) adept_notes_add(t->notes, "%s: %s", name, lack);
    if (t->n_impossible > 0)
        adept_notes_add(t->notes, "%s: %zu jobs left out: no placement has their GPUs and batch", name,
                        t->n_impossible);
}

static adept_status set_users(const trace_reader *t, adept_job_stream *s)
{
    if (t->users.n == 0) return adept_jobs_users(t->jobs, s) ? ADEPT_OK : adept_no_memory(t->err, "users");
    s->users = calloc(t->users.n, sizeof *s->users);
    if (!s->users) return adept_no_memory(t->err, "users");
    for (; s->n_users < t->users.n; s->n_users++)
        snprintf(s->users[s->n_users], sizeof *s->users, "%s", t->users.entries[s->n_users].name);
    return ADEPT_OK;
}

static bool map_templates(trace_reader *t)
{
    bool kept = true;
    for (size_t k = 0; k < t->jobs->n_templates; k++) {
        kept = kept && adept_name_map_put(&t->templates, t->jobs->templates[k].name, k);
        for (size_t a = 0; a < t->jobs->kinds[k].n_applications; a++)
            kept = kept && adept_name_map_put(&t->templates, t->jobs->kinds[k].applications[a], k);
    }
    return kept;
}

static adept_status open_trace(trace_reader *t, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = read_text(&text, &size, path, t->err);
    if (status == ADEPT_OK && strcspn(text + strspn(text, " \t\r\n"), "[{") == 0 && size > 0)
        status = adept_trace_philly_table(&text, &size, path, t->err);
    if (status != ADEPT_OK) return status;
    size_t header = strcspn(text, "\n");
    char separator = memchr(text, '|', header) && !memchr(text, ',', header) ? '|' : ','; /* sacct -P */
    status = adept_csv_table_take(&t->table, path, text, size, separator, adept_trace_columns, adept_trace_n_columns,
                                  t->err);
    return status == ADEPT_OK ? choose_format(t) : status;
}

adept_status adept_jobs_trace(adept_job_stream *out, adept_jobs *jobs, const char *path,
                              const adept_trace_options *options, adept_notes *notes, adept_error *err)
{
    trace_reader t = {.jobs = jobs, .notes = notes, .err = err, .names = adept_arena_new()};
    adept_job_stream s = {0};
    if (options) t.options = *options;
    adept_status status = t.names && map_templates(&t) ? open_trace(&t, path) : adept_no_memory(err, path);

    while (status == ADEPT_OK && adept_csv_table_next(&t.table))
        take_row(&t);
    if (status == ADEPT_OK) status = t.table.status;
    free(t.table.text); /* rows are copies: a large trace is not kept twice */
    t.table.text = NULL;
    if (status == ADEPT_OK) status = finish(&t, &s);
    if (status == ADEPT_OK) status = set_users(&t, &s);
    if (status == ADEPT_OK && s.n_jobs == 0) status = fail_file(path, "not one job", err);
    if (status == ADEPT_OK) note_counts(&t);
    if (status == ADEPT_OK && notes && notes->failed) status = adept_no_memory(err, "notes");
    s.templates = jobs->templates;
    s.n_templates = jobs->n_templates;
    if (status == ADEPT_OK)
        *out = s;
    else
        adept_job_stream_free(&s);
    adept_csv_table_close(&t.table);
    adept_name_map_free(&t.templates);
    adept_name_map_free(&t.users);
    adept_arena_free(t.names);
    free(t.rows);
    return status;
}

/** @file attribute_slurm.c  `adept attribute --slurm RECORDING...`: whose joules they were, by the jobs of a cluster.
 */
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "attribute.h"
#include "report_jobs.h"
#include "step_options.h"
#include "units.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_TEXT_BYTES ((size_t)1 << 30) /* of sacct: some 5 million jobs */

#define AT(member) offsetof(adept_jobs_options, member)

/* ---------------------------------------------------------------- options ----------------------------------------- */

static void init(void *record)
{
    adept_jobs_options *o = record;

    o->site.carbon_g_per_kwh = o->site.pue = NAN;
    o->how.gap_w = NAN;
}

ADEPT_FILE_NAMES(base_name, "busy", "capacity")
ADEPT_FILE_NAMES(idle_name, "included", "separate")

static adept_status parse_gap(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_jobs_options *o = field;
    size_t digits = adept_number_length(text);

    o->with_gap = true;
    if (strcmp(text, "none") == 0 || strcmp(text, "proportional") == 0) {
        o->how.gap = strcmp(text, "none") == 0 ? ADEPT_GAP_NONE : ADEPT_GAP_PROPORTIONAL;
        return ADEPT_OK;
    }
    if (digits == 0 || (text[digits] && strcmp(text + digits, "W") != 0))
        return adept_cli_usage(cli, "%s: '%s' is not none, proportional or a number of watts", option, text);
    text[digits] = '\0';
    o->how.gap = ADEPT_GAP_CONSTANT;
    return adept_option_number(cli, option, text, 0, &o->how.gap_w);
}

static adept_status check(adept_cli *cli, void *record)
{
    adept_jobs_options *o = record;

    if (o->json && o->csv) return adept_cli_usage(cli, "--json and --csv exclude each other");
    if ((o->idle_is_separate == 1) != (o->idle != NULL))
        return adept_cli_usage(
            cli, "--cpu-idle separate and --idle FILE, which 'adept measure --idle-fit' writes, need each other");
    if (o->listpids.n > 0 && o->listpids.n != o->recordings.n)
        return adept_cli_usage(cli, "--listpids: %zu files for %zu recordings: each node has its own processes",
                               o->listpids.n, o->recordings.n);
    if ((o->rows != NULL) != (o->models != NULL))
        return adept_cli_usage(cli, "--calibrate-rows FILE and --models DIR need each other");
    if (o->how.gap_factor > 0 && o->how.gap_factor < 1)
        return adept_cli_usage(cli, "--gap-factor: at least 1 is needed");
    if (o->how.gap_factor > 0 && !o->with_gap) o->how.gap = ADEPT_GAP_PROPORTIONAL;
    if (o->how.gap_factor > 0 && o->how.gap != ADEPT_GAP_PROPORTIONAL)
        return adept_cli_usage(cli, "--gap-factor needs --gap proportional");
    if (adept_cli_prints(o->sacct) && adept_cli_prints(o->jobcomp))
        return adept_cli_usage(cli, "--sacct and --jobcomp cannot both be standard input");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "Which jobs there were:"},
    {"sacct", "FILE", 1, "What sacct -P printed, with its header (see below); \"-\" is standard input", ADEPT_OPT_FILE,
     .at = AT(sacct)},
    {"jobcomp", "FILE", 1, "What JobCompType=jobcomp/filetxt wrote; \"-\" is standard input", ADEPT_OPT_FILE,
     .at = AT(jobcomp)},
    {"listpids", "FILE", 1,
     "What scontrol listpids printed, where jobs cannot be seen in their processes; one for each RECORDING, in their "
     "order",
     ADEPT_OPT_WORD, .at = AT(listpids)},
    {.group = 2, .help = "How energy is given out:"},
    {"cpu-base", "NAME", 2,
     "By processor time, of all busy time (busy, default) or of all processors' time, the rest to idle (capacity)",
     ADEPT_OPT_CHOICE, .at = AT(how.cpu_base), .names = base_name, .expert = true},
    {"cpu-idle", "NAME", 2, "What processors draw idle: included (default), or separate, which goes to idle first",
     ADEPT_OPT_CHOICE, .at = AT(idle_is_separate), .names = idle_name, .expert = true},
    {"idle", "FILE", 2, "What each node draws idle, by adept measure --idle-fit", ADEPT_OPT_FILE, .at = AT(idle)},
    {"gap", "RULE", 2,
     "What only a meter of the node sees: none (default) of it is given out; proportional to the rest; or so many "
     "watts a node, likewise",
     ADEPT_OPT_PARSED, .parse = parse_gap},
    {"gap-factor", "F", 2,
     "Where a node has no such meter: what it draws over what is measured: 1.19 is the gap of 16 % that Coca4ai found",
     ADEPT_OPT_ABOVE_0, .at = AT(how.gap_factor), .expert = true},
    {"gpu-memory", "SIZE", 2, "Memory of a GPU, \"80GB\": adds how much of it jobs used", ADEPT_OPT_AMOUNT,
     .at = AT(how.gpu_memory_bytes), .units = adept_suffix_sizes, .expert = true},
    {.group = 3, .help = "What is written:"},
    {"by", "KEY", 3, "A row for each job (default), user, account, partition, state or node", ADEPT_OPT_CHOICE,
     .at = AT(by), .names = adept_group_key_name},
    {"carbon", "G|ZONE", 3, "Grams of CO2e per kWh, or where the site is: DE, Germany, EU, WORLD", ADEPT_OPT_PARSED,
     .at = AT(site), .parse = adept_option_carbon, .also = "carbon_intensity"},
    {"pue", "X", 3, "Power usage effectiveness of the site, at least 1, or average: multiplies emissions",
     ADEPT_OPT_PARSED, .at = AT(site), .parse = adept_option_pue},
    {"calibrate-rows", "FILE.csv", 3,
     "Append a row for adept calibrate of each job that adept placed and that completed", ADEPT_OPT_FILE,
     .at = AT(rows), .written = true},
    {"models", "DIR", 3, "Where the plugin's profiles are, NAME.profile.json: what the jobs of these rows ran",
     ADEPT_OPT_FILE, .at = AT(models)},
    {"json", NULL, 3, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"csv", NULL, 3, "Print CSV", ADEPT_OPT_FLAG, .at = AT(csv)},
    {0},
};

/* ---------------------------------------------------------------- what is read ------------------------------------ */

typedef struct work {
    const adept_jobs_options *options;
    adept_recorded_node *nodes; /* one a recording */
    adept_activity_log **logs;
    adept_idle_fit *fits;
    adept_batch_pids *pids;
    adept_batch_jobs *jobs;
    adept_accounting *accounting;
    adept_account_groups *by_key, *by_job;
    char **warnings;
    size_t n_warnings, capacity;
} work;

static bool warn(void *record, const char *format, ...) ADEPT_PRINTF(2, 3);
static bool warn(void *record, const char *format, ...)
{
    work *w = record;
    char **grown = adept_grow(w->warnings, &w->capacity, w->n_warnings + 1, sizeof *grown), *text = NULL;
    va_list args;

    if (!grown) return false;
    w->warnings = grown;
    va_start(args, format);
    bool ok = vasprintf(&text, format, args) >= 0;
    va_end(args);
    if (ok) w->warnings[w->n_warnings++] = text;
    return ok;
}

static adept_status read_standard_input(adept_cli *cli, char **text, size_t *size)
{
    adept_buffer all = {0};
    bool is_read = adept_file_read_rest(&all, STDIN_FILENO, MOST_TEXT_BYTES);
    int why = errno;

    *size = all.size;
    *text = adept_buffer_take(&all);
    if (!*text) return adept_cli_no_memory(cli);
    if (is_read) return ADEPT_OK;
    free(*text);
    return adept_error_set(&cli->err, ADEPT_E_INVALID, "standard input: %s",
                           *size > MOST_TEXT_BYTES ? "more than 1 GiB" : strerror(why));
}

static adept_status read_text(adept_cli *cli, char **text, size_t *size, const char *path, const char **name)
{
    bool from_standard_input = adept_cli_prints(path);

    *name = from_standard_input ? "standard input" : path;
    return from_standard_input ? read_standard_input(cli, text, size)
                               : adept_file_read(text, size, path, MOST_TEXT_BYTES, &cli->err);
}

static adept_status read_jobs(adept_cli *cli, work *w)
{
    const adept_jobs_options *o = w->options;
    const char *name;
    char *text;
    size_t size;
    double begin_s = INFINITY, end_s = -INFINITY;
    adept_status status = (w->jobs = adept_batch_jobs_new()) ? ADEPT_OK : adept_cli_no_memory(cli);

    for (size_t i = 0; i < o->recordings.n; i++) {
        const adept_activity_log *log = w->logs[i];
        if (log->n_intervals == 0) continue;
        begin_s = fmin(begin_s, log->intervals[0].begin_s);
        end_s = fmax(end_s, log->intervals[log->n_intervals - 1].end_s);
    }
    if (status == ADEPT_OK) adept_batch_jobs_limit(w->jobs, begin_s, end_s);
    if (status == ADEPT_OK && o->sacct) {
        status = read_text(cli, &text, &size, o->sacct, &name);
        if (status == ADEPT_OK) status = adept_batch_jobs_add_sacct(w->jobs, name, text, size, &cli->err);
    }
    if (status == ADEPT_OK && o->jobcomp) {
        status = read_text(cli, &text, &size, o->jobcomp, &name);
        if (status == ADEPT_OK) {
            status = adept_batch_jobs_add_jobcomp(w->jobs, name, text, &cli->err);
            free(text);
        }
    }
    return status;
}

static adept_status read_node(adept_cli *cli, work *w, size_t i)
{
    const adept_jobs_options *o = w->options;
    adept_status status = adept_activity_log_read(&w->logs[i], o->recordings.words[i], &cli->err);

    w->nodes[i].log = w->logs[i];
    if (status == ADEPT_OK && o->idle) {
        status = adept_idle_fit_load(&w->fits[i], o->idle, w->logs[i]->host, &cli->err);
        w->nodes[i].idle = &w->fits[i];
    }
    if (status == ADEPT_OK && o->listpids.n > 0) {
        char *text;
        size_t size;
        status = adept_file_read(&text, &size, o->listpids.words[i], MOST_TEXT_BYTES, &cli->err);
        if (status != ADEPT_OK) return status;
        status = adept_batch_pids_add(&w->pids[i], o->listpids.words[i], text, &cli->err);
        w->nodes[i].pids = &w->pids[i];
        free(text);
    }
    return status;
}

/* A node recorded twice at a time would count twice. Files that follow each other meet within an interval. */
static adept_status check_overlap(adept_cli *cli, const work *w, size_t last)
{
    const adept_activity_log *b = w->logs[last];

    for (size_t i = 0; i < last; i++) {
        const adept_activity_log *a = w->logs[i];
        if (strcmp(a->host, b->host) != 0 || a->n_intervals == 0 || b->n_intervals == 0) continue;
        double begin_s = fmax(a->intervals[0].begin_s, b->intervals[0].begin_s);
        double end_s = fmin(a->intervals[a->n_intervals - 1].end_s, b->intervals[b->n_intervals - 1].end_s);
        if (end_s - begin_s > fmax(a->period_s, b->period_s))
            return adept_error_set(&cli->err, ADEPT_E_INVALID,
                                   "%s, %s: both are of %s at one time, which would count twice",
                                   w->options->recordings.words[i], w->options->recordings.words[last], b->host);
    }
    return ADEPT_OK;
}

static adept_status read_nodes(adept_cli *cli, work *w)
{
    size_t n = w->options->recordings.n;
    adept_status status = ADEPT_OK;

    w->nodes = calloc(n, sizeof *w->nodes);
    w->logs = calloc(n, sizeof *w->logs);
    w->fits = calloc(n, sizeof *w->fits);
    w->pids = calloc(n, sizeof *w->pids);
    if (!w->nodes || !w->logs || !w->fits || !w->pids) return adept_cli_no_memory(cli);
    for (size_t i = 0; status == ADEPT_OK && i < n; i++) {
        status = read_node(cli, w, i);
        if (status == ADEPT_OK) status = check_overlap(cli, w, i);
    }
    return status;
}

/* ---------------------------------------------------------------- what is doubtful -------------------------------- */

/* Processes that a GPU's driver alone tells of, the first by its number. */
static bool warn_of_hidden(work *w, const adept_node_account *a, const adept_activity_log *log)
{
    const adept_gpu_use *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < log->n_processes; i++)
        n += adept_process_is_hidden(&log->processes[i]);
    for (size_t k = 0; n > 0 && !first && k < log->n_intervals; k++)
        for (size_t i = 0; !first && i < log->intervals[k].n_gpu_uses; i++)
            if (adept_process_is_hidden(&log->processes[log->intervals[k].gpu_uses[i].process]))
                first = &log->intervals[k].gpu_uses[i];
    if (!first) return true;
    return warn(
        w,
        "%s: %.40s was used by process %d%s, not visible where it was recorded: of another PID namespace, as of "
        "a container or of the host. Record on the host, or give its --listpids",
        a->host, log->meters[first->meter].name, (int)log->processes[first->process].pid, n > 1 ? " and others" : "");
}

static bool warn_of_node(work *w, const adept_node_account *a, const adept_activity_log *log)
{
    bool ok = true;

    if (log->is_cut)
        ok = warn(w, "%s: the recording ends within a block: it grows still, or its recorder was killed", a->host);
    if (!a->has[ADEPT_ENERGY_CPU])
        ok = ok && warn(w, "%s: no meter of processors or of the node: their energy is not known", a->host);
    if (!log->has[ADEPT_ACTIVITY_CPU_TIME_S])
        ok = ok && warn(w, "%s: nothing counted processor time: its energy cannot be given to jobs", a->host);
    if (a->idle_is_unknown)
        ok = ok && warn(w, "%s: --idle FILE does not say what %s draws idle: nothing goes to idle first", a->host,
                        a->cpu_is_rest ? "the node, or its memory and GPUs," : "its processors");
    if (a->sliced_s > 0)
        ok = ok && warn(w,
                        "%s: for %s jobs shared a GPU by MIG, which does not tell what each used: it is given out by "
                        "the slices that each held, and the range says how far that may be off",
                        a->host, adept_units_time(a->sliced_s).s);
    if (a->alike_s > 0)
        ok = ok && warn(w,
                        "%s: for %s jobs shared a GPU that does not tell what each used, nor which slices each held "
                        "(MIG): all have as much of it, and the range says how far that may be off",
                        a->host, adept_units_time(a->alike_s).s);
    ok = ok && warn_of_hidden(w, a, log);
    for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
        if (a->unknown_s[p] > 0)
            ok = ok && warn(w, "%s: for %s of %s no meter says %s energy: nothing is given out for it", a->host,
                            adept_units_time(a->unknown_s[p]).s, adept_units_time(a->recorded_s).s,
                            adept_energy_part_name(p));
    return ok;
}

/* Jobs that accounting has, at a time of the recordings, and of which no process was seen. */
static bool warn_of_unseen_jobs(work *w)
{
    char first[64] = "";
    size_t unseen = 0, n = adept_batch_jobs_count(w->jobs);
    double begin_s = INFINITY, end_s = -INFINITY;

    for (size_t i = 0; i < w->accounting->n_nodes; i++) {
        begin_s = fmin(begin_s, w->accounting->nodes[i].begin_s);
        end_s = fmax(end_s, w->accounting->nodes[i].end_s);
    }
    if (w->by_job->n > 0 || n == 0) return true; /* some are seen: the others may have run elsewhere */
    for (size_t i = 0; i < n; i++) {
        const adept_batch_job *job = adept_batch_jobs_at(w->jobs, i);
        if (!(job->begin_s < end_s) || job->end_s < begin_s) continue;
        if (unseen++ == 0) snprintf(first, sizeof first, "%s", job->name);
    }
    if (unseen == 0) return true;
    return warn(
        w, "no process of any job was seen, though %zu ran meanwhile (%s, ...): give --listpids, or record as root",
        unseen, first);
}

/* ---------------------------------------------------------------- all of it --------------------------------------- */

static adept_status print(adept_cli *cli, const work *w)
{
    const adept_jobs_report r = {.options = w->options,
                                 .accounting = w->accounting,
                                 .groups = w->by_key,
                                 .jobs = w->by_job,
                                 .warnings = (const char *const *)w->warnings,
                                 .n_warnings = w->n_warnings};

    return w->options->json  ? adept_jobs_print_json(cli, &r)
           : w->options->csv ? adept_jobs_print_csv(cli, &r)
                             : adept_jobs_print(cli, &r);
}

static void release(work *w)
{
    for (size_t i = 0; i < w->options->recordings.n; i++) {
        if (w->logs) adept_activity_log_free(w->logs[i]);
        if (w->pids) adept_batch_pids_free(&w->pids[i]);
    }
    for (size_t i = 0; i < w->n_warnings; i++)
        free(w->warnings[i]);
    adept_account_groups_free(w->by_key);
    adept_account_groups_free(w->by_job);
    adept_accounting_free(w->accounting);
    adept_batch_jobs_free(w->jobs);
    free(w->warnings);
    free(w->nodes);
    free(w->logs);
    free(w->fits);
    free(w->pids);
}

static adept_status run(adept_cli *cli, void *options)
{
    const adept_jobs_options *o = options;
    work w = {.options = o};
    adept_status status = read_nodes(cli, &w);

    if (status == ADEPT_OK) status = read_jobs(cli, &w);
    if (status == ADEPT_OK) status = adept_account(&w.accounting, w.nodes, o->recordings.n, w.jobs, &o->how, &cli->err);
    if (status == ADEPT_OK)
        status = adept_account_groups_of(&w.by_job, w.accounting, w.jobs, ADEPT_GROUP_JOB, &cli->err);
    if (status == ADEPT_OK) status = adept_account_groups_of(&w.by_key, w.accounting, w.jobs, o->by, &cli->err);
    bool ok = true;
    for (size_t i = 0; status == ADEPT_OK && ok && i < w.accounting->n_nodes; i++)
        ok = warn_of_node(&w, &w.accounting->nodes[i], w.logs[i]);
    if (status == ADEPT_OK && !(ok && warn_of_unseen_jobs(&w))) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK && o->rows) status = adept_jobs_append_rows(cli, o->rows, o->models, w.by_job, warn, &w);
    if (status == ADEPT_OK) status = print(cli, &w);
    release(&w);
    return status;
}

const adept_command adept_attribute_slurm = {
    .name = "attribute --slurm",
    .summary = "joules of a cluster's jobs",
    .usage = "RECORDING...",
    .doc = "Give the energy of nodes, as adept attribute record recorded them, to Slurm's jobs: by processor time, "
           "resident memory, and who holds "
           "and uses each GPU. A RECORDING is of a node. Jobs, system and idle add up to what the meters read."
           "\vExamples:\n"
           "  adept attribute --slurm node1.adept node2.adept --sacct jobs.txt\n"
           "  adept attribute --slurm *.adept --sacct jobs.txt --by state --json\n"
           "\n"
           "jobs.txt is the output of: SLURM_TIME_FORMAT=%s sacct -a -P -S DATE -o "
           "JobID,JobIDRaw,User,Account,State,Partition,Start,End,ElapsedRaw,AllocTRES,NodeList,AdminComment. "
           "Columns may stand in any order; those that are missing are not known.",
    .size = sizeof(adept_jobs_options),
    .options = {.rows = rows, .init = init, .check = check},
    .arguments = {.needs = "a RECORDING", .takes = "RECORDINGS", .most = ADEPT_ANY_NUMBER, .at = AT(recordings)},
    .run = run,
};

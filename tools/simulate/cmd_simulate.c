/** @file cmd_simulate.c  `adept simulate`: schedulers compared on time and energy, on a cluster and jobs that a file
 * describes. */
#include "adept_file.h"
#include "adept_result.h"
#include "report_simulate.h"
#include "simulate_job.h"
#include "table.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT(member) offsetof(adept_simulate_options, member)

static const char *policy_name(size_t index)
{
    return adept_policies()[index] ? adept_policies()[index]->name : NULL;
}

static void init(void *record)
{
    adept_simulate_options *o = record;

    o->seeds = 1;
    o->tick_s = 1;
    o->policy = adept_policy_options_default();
}

static adept_status check(adept_cli *cli, void *record)
{
    adept_simulate_options *o = record;

    const adept_simulate_varied *v = &o->vary;
    bool varies = v->n_clusters + v->n_rates + v->n_caps > 0;
    if (o->csv && (o->json || !varies)) return adept_cli_usage(cli, "--csv is of --vary, without --json");
    if (varies && (o->baseline || o->html || o->jobs_csv || o->power_csv || o->recommend || o->shard.of > 1))
        return adept_cli_usage(
            cli, "--vary prints rows: no --baseline, --recommend, --html, --jobs-csv, --power-csv, --shard");
    if (v->n_caps > 0 && isfinite(o->policy.cap_w))
        return adept_cli_usage(cli, "--cap and --vary cap exclude each other");
    if (v->n_rates > 0 && o->templates)
        return adept_cli_usage(cli, "--vary rate is of arrivals, and a trace has its own");
    if (v->n_clusters > 0 && o->words.n != 1)
        return adept_cli_usage(cli, "simulate needs JOBS alone where --vary names clusters");
    if (v->n_clusters == 0 && o->words.n != 2)
        return adept_cli_usage(cli, "simulate needs CLUSTER.json and JOBS; see adept simulate --help");
    if (o->policies.n == 0) return adept_cli_usage(cli, "simulate needs --policy NAME[,NAME...]");
    for (size_t i = 0; i < o->policies.n; i++) {
        const adept_policy *policy = adept_policy_by_name(o->policies.words[i]);
        if (!policy) return adept_option_unknown(cli, "--policy", o->policies.words[i], policy_name);
        o->policies.words[i] = policy->name;
        adept_error why = {0};
        if (adept_policy_options_check(policy, &o->policy, &why) != ADEPT_OK)
            return adept_cli_usage(cli, "%s", why.message);
        for (size_t k = 0; k < i; k++)
            if (strcmp(o->policies.words[k], policy->name) == 0)
                return adept_cli_usage(cli, "--policy: '%s' twice", policy->name);
    }
    if (!o->templates && (o->trace_format || o->is_malleable || o->drops_impossible))
        return adept_cli_usage(
            cli, "--trace-format, --malleable and --drop-impossible are for traces, which need --templates");
    if (o->windows > 0 && !o->templates) return adept_cli_usage(cli, "--windows is for traces, which need --templates");
    if (o->windows > 0 && (o->seeds > 1 || o->shard.of > 1))
        return adept_cli_usage(cli, "--windows cuts one run into parts, so it takes neither --seeds nor --shard");
    if (o->windows > 0) o->seeds = o->windows;
    if (o->noise >= 1 || o->reality_noise >= 1) return adept_cli_usage(cli, "noise must be below 100 %%");
    if (o->shard.of > 1 && (o->baseline || o->html))
        return adept_cli_usage(cli, "--baseline and --html need all runs: they are options of --merge, too");
    if (o->shard.of > 1 && !o->json)
        return adept_cli_usage(cli, "--shard writes its part as --json, which --merge puts together");
    return ADEPT_OK;
}

/* "5%" or "0.05" */
static adept_status parse_share(adept_cli *cli, const char *option, char *text, void *field)
{
    double *share = field;
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';

    if (percent) text[length - 1] = '\0';
    adept_status status = adept_option_number(cli, option, text, 0, share);
    if (percent) *share /= 100;
    return status;
}

/* "all", "iteration", "checkpoint:600" */
static adept_status parse_loss(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_simulate_options *o = record;
    const char *seconds = strncmp(text, "checkpoint:", 11) == 0 ? text + 11 : NULL;

    o->loss = seconds ? ADEPT_LOSS_CHECKPOINT : strcmp(text, "iteration") == 0 ? ADEPT_LOSS_ITERATION : ADEPT_LOSS_ALL;
    if (!seconds && o->loss == ADEPT_LOSS_ALL && strcmp(text, "all") != 0)
        return adept_cli_usage(cli, "%s: '%s' is not one of all, iteration, checkpoint:SECONDS", option, text);
    adept_status status = seconds ? adept_option_number(cli, option, seconds, 0, &o->checkpoint_s) : ADEPT_OK;
    if (status == ADEPT_OK && seconds && !(o->checkpoint_s > 0))
        return adept_cli_usage(cli, "%s: SECONDS must be above 0", option);
    return status;
}

/* "cap=4kW,5kW", "rate=0.003,0.005", "cluster=a.json,b.json" */
static adept_status parse_vary(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_simulate_varied *v = field;
    char *next = strchr(text, '=');
    bool is_cap = next && strncmp(text, "cap=", 4) == 0, is_rate = next && strncmp(text, "rate=", 5) == 0;

    if (!is_cap && !is_rate && !(next && strncmp(text, "cluster=", 8) == 0))
        return adept_cli_usage(cli, "%s: '%s' is not cap=W,..., rate=JOBS_PER_S,... or cluster=FILE,...", option, text);
    size_t *n = is_cap ? &v->n_caps : is_rate ? &v->n_rates : &v->n_clusters;
    if (*n > 0) return adept_cli_usage(cli, "%s: '%.*s' twice", option, (int)(next - text), text);
    next++;
    for (char *word; (word = strsep(&next, ","));) {
        if (*n == ADEPT_MOST_VARIED) return adept_cli_usage(cli, "%s: more than %d values", option, ADEPT_MOST_VARIED);
        if (!*word) return adept_cli_usage(cli, "%s: a value is missing", option);
        adept_status status = is_cap    ? adept_option_amount(cli, option, word, adept_suffix_watts, &v->caps_w[*n])
                              : is_rate ? adept_option_number(cli, option, word, 1e-9, &v->rates_per_s[*n])
                                        : ADEPT_OK;
        if (status != ADEPT_OK) return status;
        if (!is_cap && !is_rate) v->clusters[*n] = word;
        ++*n;
    }
    return ADEPT_OK;
}

ADEPT_FILE_NAMES(part_name, "time", "edp", "energy", "own")
ADEPT_FILE_NAMES(order_name, "fcfs", "sjf", "edp", "energy", "own")
ADEPT_FILE_NAMES(limits_name, "yes", "no", "own")
ADEPT_FILE_NAMES(fairness_name, "fair", "printed")

/* No cluster of --vary is written over. */
static adept_status check_outputs(adept_cli *cli, void *record)
{
    const adept_simulate_options *o = record;
    const char *const outputs[] = {o->output, o->baseline, o->html, o->jobs_csv, o->power_csv};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        for (size_t k = 0; k < o->vary.n_clusters; k++)
            if (adept_file_is_same(outputs[i], o->vary.clusters[k]))
                return adept_cli_usage(cli, "'%s' is read: it would be written over", outputs[i]);
    return ADEPT_OK;
}

/* Of one run, and of --merge. */
static const adept_option_row output_rows[] = {
    {.group = 4, .help = "Output:"},
    {"output", "FILE", 4, "Write the report to FILE instead of standard output", ADEPT_OPT_FILE, .at = AT(output),
     .written = true, .letter = 'o'},
    {"json", NULL, 4, "Print JSON, for `adept compare` and --merge", ADEPT_OPT_FLAG, .at = AT(json)},
    {"baseline", "FILE", 4, "Also keep the JSON in FILE, which must not be there yet: to compare with later",
     ADEPT_OPT_FILE, .at = AT(baseline), .written = true},
    {"recommend", NULL, 4, "Also say which policy suits which goal, by these results", ADEPT_OPT_FLAG,
     .at = AT(recommend)},
    {"html", "FILE", 4, "Write a page: Gantt chart, power against the cap, trade-offs, tables", ADEPT_OPT_FILE,
     .at = AT(html), .written = true},
    {0},
};

static const adept_options output_options_of = {.rows = output_rows, .check = check_outputs};

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is simulated:"},
    {"policy", "NAME,...", 1, "Which policies: `adept simulate --help` lists them below", ADEPT_OPT_LIST,
     .at = AT(policies)},
    {"templates", "JOBS.json", 1, "JOBS is a trace, and this file says what its jobs are", ADEPT_OPT_FILE,
     .at = AT(templates)},
    {"trace-format", "NAME", 1,
     "Of a trace whose header does not tell: native, adaptdl, philly, gavel, openb, helios, sacct", ADEPT_OPT_TEXT,
     .at = AT(trace_format)},
    {"malleable", NULL, 1, "Jobs of a trace may run on any number of GPUs", ADEPT_OPT_FLAG, .at = AT(is_malleable)},
    {"drop-impossible", NULL, 1, "Leave out jobs of a trace that no placement can run", ADEPT_OPT_FLAG,
     .at = AT(drops_impossible), .expert = true},
    {"rigid", NULL, 1, "Jobs run on the jobs file's \"rigid\" number of GPUs and batch only", ADEPT_OPT_FLAG,
     .at = AT(policy.is_rigid)},
    {"vary", "KEY=V1,V2,...", 1,
     "A row for each value and policy: KEY is cap, rate (jobs/s) or cluster (files, in place of CLUSTER.json); "
     "several keys make a grid",
     ADEPT_OPT_PARSED, .at = AT(vary), .parse = parse_vary},
    {"horizon", "TIME", 1, "End after so long, \"10h\" (default: the jobs file's; of a trace when all have ended)",
     ADEPT_OPT_AMOUNT, .at = AT(horizon_s), .units = adept_suffix_times},
    {"seeds", "N", 1, "Repeat with N seeds: mean, deviation, paired differences (default 1)", ADEPT_OPT_COUNT,
     .at = AT(seeds), .low = 1, .high = 100000},
    {"windows", "K", 1,
     "Cut what happens under a trace into K windows of equal length, for intervals in place of seeds", ADEPT_OPT_COUNT,
     .at = AT(windows), .low = 2, .high = 100000, .expert = true},
    {"seed", "N", 1, "The first seed (default 0)", ADEPT_OPT_COUNT, .at = AT(seed)},
    {.group = 2, .help = "How the world is:"},
    {"tick", "S", 2, "The scheduler wakes every S seconds (default 1; 0: at every event)", ADEPT_OPT_NUMBER,
     .at = AT(tick_s), .expert = true},
    {"noise", "SHARE", 2, "The oracle is wrong by up to this, 10%", ADEPT_OPT_PARSED, .at = AT(noise),
     .parse = parse_share, .expert = true},
    {"reality-noise", "SHARE", 2, "So is what happens, independently", ADEPT_OPT_PARSED, .at = AT(reality_noise),
     .parse = parse_share, .expert = true},
    {"interference", "SHARE", 2, "Jobs on one node slow each other down by this", ADEPT_OPT_PARSED,
     .at = AT(interference), .parse = parse_share},
    {"preempt-loss", "WHAT", 2, "What a preempted job does again: all (default), iteration, checkpoint:SECONDS",
     ADEPT_OPT_PARSED, .parse = parse_loss, .expert = true},
    {"no-idle", NULL, 2, "Idle hosts and GPUs draw no power", ADEPT_OPT_FLAG, .at = AT(no_idle), .expert = true},
    {.group = 3, .help = "Parameters of policies:"},
    {"cap", "W", 3, "Power that the cluster may draw, \"4.5kW\" (default: the cluster file's)", ADEPT_OPT_AMOUNT,
     .at = AT(policy.cap_w), .units = adept_suffix_watts},
    {"cap-margin", "SHARE", 3, "Keep this share of the cap free", ADEPT_OPT_PARSED, .at = AT(policy.cap_margin),
     .parse = parse_share, .expert = true},
    {"age-weight", "W", 3, "How much waiting counts (W_age; 0: nothing)", ADEPT_OPT_NUMBER, .at = AT(policy.age_weight),
     .expert = true},
    {"fairness", "NAME", 3, "fair (default), or as the thesis prints it, by which heavy users go first",
     ADEPT_OPT_CHOICE, .at = AT(fairness), .names = fairness_name, .expert = true},
    {"risk", "RHO", 3, "When AuraChronos takes an urgent job for endangered (default 0.5)", ADEPT_OPT_NUMBER,
     .at = AT(policy.risk), .expert = true},
    {"most-preemptions", "N", 3, "Of one job (default 3)", ADEPT_OPT_INT, .at = AT(policy.most_preemptions), .low = 1,
     .high = 1e6, .expert = true},
    {"slowdown", "SHARE", 3,
     "How much longer than by least EDP thrift lets a job take for the sake of energy (default 25%)", ADEPT_OPT_PARSED,
     .at = AT(policy.slowdown), .parse = parse_share, .expert = true},
    {"placement", "RULE", 3, "Ablation: policies place by time, edp, energy, or their own rule", ADEPT_OPT_NAME,
     .at = AT(policy.placement), .names = part_name, .expert = true},
    {"ordering", "RULE", 3, "Ablation: policies order by fcfs, sjf, edp, energy, or their own rule", ADEPT_OPT_NAME,
     .at = AT(policy.ordering), .names = order_name, .expert = true},
    {"limits", "yes|no|own", 3, "Ablation: policies see placements with power limits, or do not", ADEPT_OPT_NAME,
     .at = AT(policy.limits), .names = limits_name, .expert = true},
    {"csv", NULL, 4, "Print the rows of --vary as CSV, with all metrics", ADEPT_OPT_FLAG, .at = AT(csv)},
    {"jobs-csv", "FILE", 4, "Write a row for each job, policy and seed", ADEPT_OPT_FILE, .at = AT(jobs_csv),
     .written = true},
    {"power-csv", "FILE", 4, "Write the power curve of each policy and seed", ADEPT_OPT_FILE, .at = AT(power_csv),
     .written = true},
    {"shard", "K/N", 4, "Run only the K-th of N parts of all seeds and policies", ADEPT_OPT_PARSED, .at = AT(shard),
     .parse = adept_option_shard, .expert = true},
    {"merge", NULL, 4, "Put FILES of shards together: adept simulate --merge --help", ADEPT_OPT_PARSED,
     .parse = adept_option_of_variant, .expert = true},
    {"threads", "N", 4, "Default: as many as there are cores. They change no result", ADEPT_OPT_COUNT,
     .at = AT(threads), .low = 1, .high = 256},
    {"never-skip", NULL, 4, NULL, ADEPT_OPT_FLAG, .at = AT(never_skips)},
    {0},
};

/* ---------------------------------------------------------------- output ------------------------------------------ */

static adept_status write_csv(adept_cli *cli, const adept_simulate_job *job, const char *path, bool is_power)
{
    const adept_comparison *c = &job->comparison;
    adept_buffer csv = {0};
    adept_file_out file = {.stream = NULL};
    adept_status status = adept_file_begin(&file, path, &cli->err);

    if (status != ADEPT_OK) return status;
    fputs(is_power ? adept_sim_power_title : adept_sim_jobs_title, file.stream);
    for (size_t p = 0; status == ADEPT_OK && p < c->n_policies; p++)
        for (size_t s = 0; status == ADEPT_OK && s < c->n_seeds; s++) {
            const adept_run_result *result = &job->results[p * c->n_seeds + s];
            if (!result->records) continue; /* of another shard, or one run with the windows before it */
            const adept_job_stream *stream = &job->streams[job->n_streams > 1 ? s : 0];
            csv.size = 0;
            if (is_power)
                adept_sim_put_power(&csv, c->seeds[s], c->policies[p], result);
            else
                adept_sim_put_jobs(&csv, c->seeds[s], c->policies[p], &job->scenario.cluster, stream, result);
            if (csv.failed) status = adept_cli_no_memory(cli);
            if (status == ADEPT_OK && csv.size > 0) fwrite(csv.data, 1, csv.size, file.stream);
        }
    adept_buffer_free(&csv);
    return adept_file_end(&file, status, &cli->err);
}

static adept_status print_json(adept_cli *cli, FILE *out, const adept_comparison *c)
{
    adept_json_writer w = {.pretty = true};
    adept_status status = adept_comparison_write(&w, c, &cli->err);
    char *text = adept_json_finish(&w);
    if (status == ADEPT_OK && !text) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) fprintf(out, "%s\n", text);
    free(text);
    return status;
}

/* @param path  NULL: standard output  @param c  NULL: what --vary makes */
static adept_status write_report(adept_cli *cli, const char *path, const adept_comparison *c,
                                 const adept_simulate_options *o, bool json)
{
    adept_file_out file = {.stream = NULL};
    adept_status status = ADEPT_OK;

    if (path && !adept_cli_prints(path)) status = adept_file_begin(&file, path, &cli->err);
    if (status != ADEPT_OK) return status;
    FILE *out = file.stream ? file.stream : stdout;
    status = !c     ? adept_simulate_vary(cli, out, o)
             : json ? print_json(cli, out, c)
                    : adept_report_simulation(cli, out, c, o->recommend);
    return adept_file_end(&file, status, &cli->err);
}

/* Page, baseline and report. */
static adept_status write_all(adept_cli *cli, const adept_comparison *c, const adept_simulate_options *o)
{
    struct stat st; /* nothing is written over a baseline */
    adept_status status = o->html ? adept_simulation_write_page(cli, o->html, "Simulated policies", c) : ADEPT_OK;

    if (status == ADEPT_OK && o->baseline && lstat(o->baseline, &st) == 0)
        status = adept_error_set(&cli->err, ADEPT_E_IO, "%s: %s", o->baseline, strerror(EEXIST));
    if (status == ADEPT_OK && o->baseline) status = write_report(cli, o->baseline, c, o, true);
    return status == ADEPT_OK ? write_report(cli, o->output, c, o, o->json) : status;
}

static adept_status merge(adept_cli *cli, void *options)
{
    const adept_simulate_options *o = options;
    cJSON **trees = calloc(o->words.n, sizeof *trees);
    adept_comparison c = {.n_policies = 0};
    adept_status status = trees ? ADEPT_OK : adept_cli_no_memory(cli);

    for (size_t i = 0; status == ADEPT_OK && i < o->words.n; i++)
        status = adept_result_read(&trees[i], o->words.words[i], &cli->err);
    if (status == ADEPT_OK)
        status = adept_comparison_merge(&c, (const cJSON *const *)trees, o->words.words, o->words.n, &cli->err);
    if (status == ADEPT_OK) status = write_all(cli, &c, o);
    for (size_t i = 0; trees && i < o->words.n; i++)
        cJSON_Delete(trees[i]);
    free(trees);
    adept_comparison_free(&c);
    return status;
}

static adept_status simulate(adept_cli *cli, void *options)
{
    const adept_simulate_options *o = options;
    adept_simulate_job job;

    if (o->vary.n_clusters + o->vary.n_rates + o->vary.n_caps > 0)
        return write_report(cli, o->output, NULL, o, o->json);
    adept_status status = adept_simulate_read(cli, &job, o, NULL);
    if (status == ADEPT_OK) status = adept_simulate_make(cli, &job);
    if (status == ADEPT_OK && o->jobs_csv) status = write_csv(cli, &job, o->jobs_csv, false);
    if (status == ADEPT_OK && o->power_csv) status = write_csv(cli, &job, o->power_csv, true);
    if (status == ADEPT_OK) status = write_all(cli, &job.comparison, o);
    adept_simulate_job_free(&job);
    return status;
}

static const char *const merge_words[] = {"--merge", NULL};

static const adept_option_row merge_rows[] = {
    {"merge", NULL, 4, "What this is", ADEPT_OPT_FLAG, .at = AT(merge)},
    {0},
};

static const adept_command merge_command = {
    .name = "simulate",
    .summary = "parts of one comparison of schedulers, put together",
    .usage = "--merge FILES",
    .doc = "Put together what `adept simulate --shard K/N --json` wrote, to the last byte of one run. A page has no "
           "Gantt chart then: shards keep no runs."
           "\vExamples:\n"
           "  adept simulate --merge part1.json part2.json\n"
           "  adept simulate --merge part1.json part2.json --json -o all.json",
    .size = sizeof(adept_simulate_options),
    .options = {.rows = merge_rows, .parts = {{&output_options_of, 0}}},
    .arguments = {"FILES", NULL, ADEPT_ANY_NUMBER, AT(words)},
    .run = merge,
    .words = merge_words,
};

const adept_command adept_command_simulate = {
    .name = "simulate",
    .summary = "schedulers compared on time and energy",
    .usage = "CLUSTER.json JOBS --policy NAME[,NAME...]",
    .doc = "Simulate a cluster under scheduling policies: throughput, energy, completion times, missed deadlines, "
           "fairness, power. JOBS is a jobs file with arrivals, or a trace with --templates."
           "\vExamples:\n"
           "  adept simulate cluster.json jobs.json --policy pollux,zeus --seeds 10\n"
           "  adept simulate cluster.json jobs.json --policy zeus --vary rate=0.003,0.005\n"
           "  adept simulate --merge part1.json part2.json --json -o all.json\n"
           "\n"
           "Policies: fcfs, easy (backfill), pollux (sjf), themis (fairshare), chronos (slack), zeus (edp), hades, "
           "charon, aurachronos, min-energy, and thrift, which chooses power limits. docs/SIMULATE.md describes files, "
           "policies and numbers.",
    .size = sizeof(adept_simulate_options),
    .options = {.rows = rows, .init = init, .check = check, .parts = {{&output_options_of, 0}}},
    .arguments = {.takes = "CLUSTER.json and JOBS", .most = ADEPT_ANY_NUMBER, .at = AT(words)},
    .run = simulate,
    .variant = &merge_command,
};

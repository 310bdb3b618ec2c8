/** @file measure_options.c  The options of `adept measure`, and whether they fit together. */
#include "gnuplot.h"
#include "measure_job.h"
#include <string.h>

#define AT(member) offsetof(adept_measure_cli_options, member)

static void init(void *record)
{
    adept_measure_cli_options *o = record;

    o->repeat = 1;
}

/* "URL POINTER UNIT [NAME] [COMPONENT]"; of Redfish, which says the rest itself, the URL. */
static adept_status parse_meter(adept_cli *cli, const char *option, char *text, void *record)
{
#ifndef ADEPT_WITH_METERS
    (void)text, (void)record;
    return adept_cli_usage(cli,
                           "%s: this adept was built without meters at a URL, which need libcurl 7.85 or newer "
                           "(sh tools/install_deps.sh meters); install it and build again",
                           option);
#else
    adept_measure_cli_options *o = record;
    char *words[5] = {NULL};
    size_t n = 0;

    for (char *word; (word = strsep(&text, " "));) {
        if (!*word) continue;
        if (n == sizeof words / sizeof *words)
            return adept_cli_usage(cli, "%s: more than URL POINTER UNIT NAME COMPONENT", option);
        words[n++] = word;
    }
    if (o->n_meters == ADEPT_MOST_METERS)
        return adept_cli_usage(cli, "%s: at most %d meters", option, ADEPT_MOST_METERS);
    if (n == 0 || (n < 3 && strncmp(words[0], "redfish", strlen("redfish")) != 0))
        return adept_cli_usage(cli,
                               "%s: \"URL POINTER UNIT [NAME] [COMPONENT]\" is needed, as in "
                               "\"http://meter/status.json /sensor/0/power W\"",
                               option);
    size_t component = words[4] ? adept_name_index(words[4], adept_component_name) : ADEPT_COMPONENT_NODE;
    if (component == SIZE_MAX) return adept_option_unknown(cli, option, words[4], adept_component_name);
    o->meters[o->n_meters++] = (adept_meter){.url = words[0],
                                             .pointer = words[1],
                                             .unit = words[2],
                                             .name = words[3],
                                             .component = (adept_component)component};
    return ADEPT_OK;
#endif
}

static adept_status check_source(adept_cli *cli, const adept_measure_cli_options *o)
{
    bool waits = o->attach > 0 || o->duration_s > 0;
    int sources = (o->words.n > 0 && !o->merge) + (waits && !o->idle_fit) + (o->read != NULL) + o->list + o->merge +
                  (o->idle_fit != NULL);

    if (sources == 0)
        return adept_cli_usage(cli, "measure needs a COMMAND, --attach, --duration, --read, --merge, --idle-fit or "
                                    "--list; see adept measure --help");
    if (sources > 1)
        return adept_cli_usage(
            cli, "a COMMAND, --attach or --duration, --read, --merge, --idle-fit and --list exclude each other");
    if (o->merge && o->words.n == 0) return adept_cli_usage(cli, "--merge needs FILES");
    if (o->repeat > 1 && (o->words.n == 0 || o->merge)) return adept_cli_usage(cli, "--repeat needs a COMMAND");
    if (o->journal && (o->words.n == 0 || o->merge) && !waits)
        return adept_cli_usage(cli, "--samples is for a run that is measured now");
    if (o->by_period && (!o->read || o->csv || o->output || o->plot || o->steps))
        return adept_cli_usage(cli, "--by-period is of --read FILE, and takes --json only");
    if (o->counters && (o->words.n == 0 || o->merge)) return adept_cli_usage(cli, "--counters needs a COMMAND");
    if (o->idle_fit && o->attach > 0)
        return adept_cli_usage(cli, "--idle-fit measures an idle machine: --attach does not fit");
    return ADEPT_OK;
}

/* What would act on nothing. */
static adept_status check_idle(adept_cli *cli, const adept_measure_cli_options *o)
{
    const char *const outputs[] = {o->output, o->csv, o->plot, o->steps};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i] && (o->list || o->merge || o->idle_fit))
            return adept_cli_usage(cli, "--output, --csv, --plot and --steps-from-marks are of a run: --list, --merge "
                                        "and --idle-fit print");
    if (o->raw && !o->json) return adept_cli_usage(cli, "--raw is of --json");
    if ((o->read || o->merge) && (o->devices.n > 0 || o->n_meters > 0 || o->period_s != ADEPT_PERIOD_S))
        return adept_cli_usage(cli, "--devices, --meter and --period are of sensors that are read now");
    return ADEPT_OK;
}

static adept_status check(adept_cli *cli, void *record)
{
    const adept_measure_cli_options *o = record;
    adept_status status = check_source(cli, o);

    if (status == ADEPT_OK) status = check_idle(cli, o);
    if (status != ADEPT_OK) return status;
    if (o->ea2p && !o->csv) return adept_cli_usage(cli, "--format ea2p is of a CSV file: --csv FILE");
    return o->plot ? adept_gnuplot_check("--plot", &cli->err) : ADEPT_OK;
}

ADEPT_FILE_NAMES(format_name, "adept", "ea2p")
ADEPT_FILE_NAMES(tiers_name, "thesis", "ea2p")
ADEPT_FILE_NAMES(usage_name, "system", "process")

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is measured:"},
    {"repeat", "N", 1, "Run COMMAND N times: mean, deviation and 95 % interval", ADEPT_OPT_COUNT, .at = AT(repeat),
     .low = 1},
    {"counters", NULL, 1, "Also count instructions, cycles and cache misses of COMMAND: what bounds it", ADEPT_OPT_FLAG,
     .at = AT(counters)},
    {"attach", "PID", 1, "Measure until this process ends", ADEPT_OPT_INT, .at = AT(attach), .low = 1},
    {"duration", "TIME", 1, "Measure for so long, \"10s\"; with --attach at most", ADEPT_OPT_AMOUNT,
     .at = AT(duration_s), .units = adept_suffix_times},
    {"read", "FILE", 1, "Report what --samples kept, also of a run that was killed", ADEPT_OPT_FILE, .at = AT(read)},
    {"by-period", NULL, 1,
     "With --read: how far energies would be off, had the sensors been read 2, 4, 8, ... times less often",
     ADEPT_OPT_FLAG, .at = AT(by_period), .expert = true},
    {"merge", NULL, 1, "The arguments are FILES of --json: one table of all nodes", ADEPT_OPT_FLAG, .at = AT(merge)},
    {"idle-fit", "FILE", 1,
     "Measure the idle machine for 1, 2, 4, 8 and 16 s (or as long as --duration), and write what it draws to FILE",
     ADEPT_OPT_FILE, .at = AT(idle_fit)},
    {"list", NULL, 1, "List the sensors of this machine, and what is missing", ADEPT_OPT_FLAG, .at = AT(list)},
    {.group = 3, .help = "What is written:"},
    {"output", "FILE", 3,
     "Write the report to FILE; \"-\" is standard output. Without it, text goes to standard error, JSON to "
     "standard output",
     ADEPT_OPT_FILE, .at = AT(output), .written = true, .letter = 'o'},
    {"json", NULL, 3, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"raw", NULL, 3, "JSON holds every sample", ADEPT_OPT_FLAG, .at = AT(raw), .expert = true},
    {"csv", "FILE", 3, "Append a row for each sensor and run to FILE", ADEPT_OPT_FILE, .at = AT(csv), .written = true},
    {"format", "NAME", 3, "Of --csv: adept (default) or ea2p, whose columns are EA2P's", ADEPT_OPT_CHOICE,
     .at = AT(ea2p), .names = format_name, .expert = true},
    {"plot", "FILE", 3,
     "Draw power over time, component upon component, marked regions behind them: .svg, .pdf or .png", ADEPT_OPT_PARSED,
     .at = AT(plot), .written = true, .parse = adept_option_picture},
    {"samples", "FILE", 3, "Write every sample to FILE as it comes, which nothing may hold yet", ADEPT_OPT_FILE,
     .at = AT(journal), .written = true},
    {0},
};

const adept_options adept_measure_cli_options_of = {.rows = rows, .init = init, .check = check};

/* ---------------------------------------------------------------- how sensors are read ---------------------------- */

static adept_status check_sensors(adept_cli *cli, void *record)
{
    const adept_measure_cli_options *o = record;
    adept_error why = {0};

    adept_status status = adept_dram_options_check(&o->dram, &why);
    if (status == ADEPT_E_NOMEM) return adept_cli_no_memory(cli);
    if (status != ADEPT_OK) return adept_cli_usage(cli, "--dram-dimms: %s", why.message);
    return ADEPT_OK;
}

static const adept_option_row sensor_rows[] = {
    {.group = 2, .help = "How:"},
    {"devices", "LIST", 2,
     "Only these: components (cpu, gpu), kinds (nvml), sensors (gpu-0), PCI addresses, UUIDs (GPU-..., MIG-...) or how "
     "these begin",
     ADEPT_OPT_LIST, .at = AT(devices)},
    {"meter", "METER", 2,
     "A meter besides: \"URL POINTER UNIT [NAME] [COMPONENT]\", where POINTER says which number of the JSON; "
     "or \"redfish+https://HOST\"",
     ADEPT_OPT_PARSED, .parse = parse_meter},
    {"dram-dimms", "LIST", 2, "The memory modules, \"8x64GB DDR4\", where DRAM is estimated and SMBIOS cannot be read",
     ADEPT_OPT_FILE, .at = AT(dram.dimms), .expert = true},
    {"dram-tiers", "NAME", 2, "Which table of memory use: thesis (default) or ea2p", ADEPT_OPT_CHOICE,
     .at = AT(dram_tiers), .names = tiers_name, .expert = true},
    {"dram-usage", "NAME", 2, "Memory in use of the system (default) or of the process", ADEPT_OPT_CHOICE,
     .at = AT(dram_usage), .names = usage_name, .expert = true},
    {"dram-all-slots", NULL, 2, "Empty slots draw as well, as EA2P has it", ADEPT_OPT_FLAG, .at = AT(dram.all_slots),
     .expert = true},
    {"dram-factor", "F", 2, "What a DDR5 module draws of what the table says (default 1)", ADEPT_OPT_ABOVE_0,
     .at = AT(dram.ddr5_factor), .expert = true},
    {"sysroot", "DIR", 2, "Read /sys and /proc below this directory", ADEPT_OPT_FILE, .at = AT(sysroot),
     .expert = true},
    {0},
};

const adept_options adept_sensor_options_of = {.rows = sensor_rows, .check = check_sensors};

static void init_reading(void *record)
{
    ((adept_measure_cli_options *)record)->period_s = ADEPT_PERIOD_S;
}

static adept_status check_reading(adept_cli *cli, void *record)
{
    const adept_measure_cli_options *o = record;

    if (o->period_s >= ADEPT_SHORTEST_PERIOD_S) return ADEPT_OK;
    return adept_cli_usage(cli, "--period: at least %g us is needed", 1e6 * ADEPT_SHORTEST_PERIOD_S);
}

static const adept_option_row reading_rows[] = {
    {"period", "TIME", 2, "Between two readings: \"100ms\" is the default", ADEPT_OPT_AMOUNT, .at = AT(period_s),
     .units = adept_suffix_times},
    {"idle", "FILE", 2, "Also say what was used above idle, by --idle-fit's FILE", ADEPT_OPT_FILE, .at = AT(idle)},
    {0},
};

const adept_options adept_reading_options_of = {
    .rows = reading_rows, .init = init_reading, .check = check_reading, .parts = {{&adept_sensor_options_of, 0}}};

/* ---------------------------------------------------------------- rows of steps ----------------------------------- */

static adept_status check_steps(adept_cli *cli, void *record)
{
    const adept_measure_cli_options *o = record;

    if (o->skip > 0 && !o->steps) return adept_cli_usage(cli, "--skip-steps needs --steps-from-marks");
    if (o->row.n > 0 && !o->steps && !o->ea2p)
        return adept_cli_usage(cli, "--row needs --steps-from-marks, or --format ea2p");
    for (size_t i = 0; i < o->row.n; i++)
        if (!strchr(o->row.words[i], '=')) return adept_cli_usage(cli, "--row: '%s' is not KEY=VALUE", o->row.words[i]);
    return ADEPT_OK;
}

static const adept_option_row steps_rows[] = {
    {"steps-from-marks", "FILE", 3,
     "Append what a \"step\" took, as COMMAND marked it, to measurements for adept calibrate", ADEPT_OPT_FILE,
     .at = AT(steps), .written = true},
    {"skip-steps", "N", 3, "The first N steps warm up and do not count", ADEPT_OPT_COUNT, .at = AT(skip)},
    {"row", "KEY=VALUE,...", 3,
     "Columns of that row: model=resnet50,batch_size=32; for ea2p: project, package, algorithm, parameters",
     ADEPT_OPT_LIST, .at = AT(row)},
    {0},
};

const adept_options adept_steps_options_of = {.rows = steps_rows, .check = check_steps};

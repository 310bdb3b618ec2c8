/** @file cmd_gpus.c  `adept gpus [NAME]`: the GPUs adept knows, and where every number about one comes from. */
#include "adept_append.h"
#include "adept_model.h"
#include "adept_profile.h"
#include "adept_file.h"
#include "adept_json.h"
#include "cli.h"
#include "load.h"
#include "adept_hwprofile_json.h"
#include "table.h"
#include "units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gpus_options {
    const char *name;
    const char *shared; /* a file of `calibrate --gpu auto`; NULL: the GPU as it is */
    bool json, template;
} gpus_options;

#define AT(member) offsetof(gpus_options, member)

static adept_status check(adept_cli *cli, void *record)
{
    const gpus_options *o = record;

    if (o->template && (o->name || o->shared || o->json))
        return adept_cli_usage(cli, "--template stands alone: it is of no GPU");
    return o->shared && !o->name ? adept_cli_usage(cli, "--shared is for one GPU: give its NAME") : ADEPT_OK;
}

static const adept_option_row rows[] = {
    {"json", NULL, 1, "Print JSON; for one GPU its hardware profile, which --gpu FILE reads", ADEPT_OPT_FLAG,
     .at = AT(json)},
    {"template", NULL, 1, "Print a hardware profile to fill in: every number of a sheet, with its unit and meaning",
     ADEPT_OPT_FLAG, .at = AT(template)},
    {"shared", "FILE", 1,
     "Give NAME the parameters that `adept calibrate --gpu auto` fitted to other GPUs; with --json, a profile for "
     "--gpu",
     ADEPT_OPT_TEXT, .at = AT(shared)},
    {0},
};

/* ---------------------------------------------------------------- all of them ------------------------------------ */

static adept_text in_tera(double flops_per_s)
{
    return adept_units_digits(flops_per_s / 1e12);
}

static const char *join_aliases(const adept_hwprofile *hw, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < hw->n_aliases; i++)
        adept_append(text, size, "%s%s", i ? ", " : "", hw->aliases[i]);
    return text;
}

static void add_row(adept_table *table, const adept_hwprofile *hw)
{
    char aliases[128];
    const adept_specs *s = &hw->specs;

    adept_table_row(table,
                    ADEPT_CELLS(hw->name, in_tera(s->vector_fp32_flops_per_s).s, in_tera(s->tensor_tf32_flops_per_s).s,
                                in_tera(s->tensor_bf16_flops_per_s).s, adept_units_bytes(s->mem_bytes).s,
                                adept_units_digits(s->mem_bytes_per_s / 1e9).s, adept_units_digits(s->tdp_w).s,
                                hw->calibrated                   ? "yes"
                                : adept_calibrated_for(hw, NULL) ? "in a set"
                                : hw->transferred                ? "transferred"
                                                                 : "no",
                                join_aliases(hw, aliases, sizeof aliases)));
}

static adept_status list(adept_cli *cli, bool json)
{
    adept_table table = {.columns = "NAME|>FP32 TFLOP/s|>TF32|>BF16|>MEMORY|>GB/s|>TDP W|CALIBRATED|ALIASES"};
    adept_json_writer w = {.pretty = true};
    adept_status status = ADEPT_OK;
    const char *name;

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_begin_array(&w, "gpus");
    for (size_t i = 0; status == ADEPT_OK && (name = adept_hwprofile_builtin_name(i)) != NULL; i++) {
        adept_hwprofile *hw = NULL;
        status = adept_hwprofile_open(&hw, name, &cli->err);
        if (status == ADEPT_OK) add_row(&table, hw);
        if (status == ADEPT_OK) adept_gpu_put_summary(&w, hw);
        adept_hwprofile_free(hw);
    }
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    adept_status printed = adept_table_end(cli, &table, status == ADEPT_OK && !json ? stdout : NULL);
    if (status == ADEPT_OK && json) return adept_json_emit(cli, &w);
    adept_buffer_free(&w.out);
    return status == ADEPT_OK ? printed : status;
}

/* ---------------------------------------------------------------- one of them ------------------------------------ */

/* The unit is the suffix of the field's name: "mem_bytes_per_s" -> "B/s". */
static adept_text spec_text(const char *field, double value)
{
    static const struct {
        const char *suffix, *unit;
    } units[] = {
        {"_flops_per_s", "FLOP/s"},
        {"_bytes_per_s", "B/s"},
        {"_hz", "Hz"},
        {"_w", "W"},
    };
    size_t length = strlen(field);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].suffix);
        if (length > n && strcmp(field + length - n, units[i].suffix) == 0) return adept_units_si(value, units[i].unit);
    }
    if (length > 6 && strcmp(field + length - 6, "_bytes") == 0) return adept_units_bytes(value);
    return adept_units_digits(value);
}

static void add_spec_row(adept_table *table, const adept_hwprofile *hw, const char *field, double value,
                         const char *meaning)
{
    bool known = isfinite(value);

    adept_table_row(table, ADEPT_CELLS(field, known ? spec_text(field, value).s : "-", meaning,
                                       known ? adept_hwprofile_source(hw, field) : ""));
}

/* For what: the precisions that were measured. */
static void print_calibration(const adept_hwprofile *hw)
{
    fputs(hw->calibrated ? ", calibrated" : ", not calibrated", stdout);
    const char *before = " for ";
    for (int p = ADEPT_FP32; p < ADEPT_PRECISION_COUNT && hw->calibrated && hw->intervals; p++) {
        if (!(hw->intervals->precisions >> p & 1)) continue;
        printf("%s%s", before, adept_precision_name((adept_precision)p));
        before = ", ";
    }
    if (hw->calibrated && hw->intervals && hw->intervals->high.gpus >= 1)
        printf(" on %s", hw->intervals->high.gpus > 1 ? "several GPUs" : "one GPU");
    putchar('\n');
}

static adept_status show_text(adept_cli *cli, const adept_hwprofile *hw)
{
    char aliases[256], calibration[ADEPT_CALIBRATION_BYTES];
    adept_table table = {.columns = "NUMBER|>VALUE|MEANING|SOURCE"};

#define X(field, required, text) add_spec_row(&table, hw, #field, hw->specs.field, text);
    ADEPT_SPEC_LIST(X)
#undef X
    adept_print_format(stdout, "%s", hw->name);
    if (hw->n_aliases > 0) adept_print_format(stdout, " (also %s)", join_aliases(hw, aliases, sizeof aliases));
    adept_print_format(stdout, ": %s %s", hw->vendor, hw->architecture);
    if (hw->transferred)
        printf(", %s\n", adept_calibration_text(calibration, hw, NULL, ADEPT_PRECISION_COUNT));
    else
        print_calibration(hw);
    return adept_table_end(cli, &table, stdout);
}

/* The hardware profile's text with the fit of a shared set, which adept_hwprofile_transfer() has accepted. */
static adept_status show_with_fit(adept_cli *cli, const adept_hwprofile *hw, const char *text, size_t size)
{
    cJSON *root = NULL, *fit = NULL;
    adept_json_writer w = {.pretty = true};
    adept_status status = adept_json_parse(&root, hw->path, text, size, &cli->err);

    if (status == ADEPT_OK) status = adept_json_parse(&fit, hw->path, hw->fit_json, strlen(hw->fit_json), &cli->err);
    if (status == ADEPT_OK) {
        adept_json_begin_object(&w, NULL);
        adept_gpu_put_sheet(&w, root);
        adept_json_put_tree(&w, "fit", fit);
        adept_json_end_object(&w);
        status = adept_json_emit(cli, &w);
    }
    cJSON_Delete(fit);
    cJSON_Delete(root);
    return status;
}

static adept_status show_json(adept_cli *cli, const adept_hwprofile *hw, bool with_shared)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_gpu_text(&text, &size, hw, &cli->err);

    if (status == ADEPT_OK && with_shared)
        status = show_with_fit(cli, hw, text, size);
    else if (status == ADEPT_OK)
        fwrite(text, 1, size, stdout);
    free(text);
    return status;
}

/* A file that is refused until the numbers that must be known are filled in: null is what a sheet does not say. */
static adept_status show_template(adept_cli *cli)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd name %s", (intmax_t)1, "my-gpu");
    adept_json_begin_array(&w, "aliases");
    adept_json_end_array(&w);
    adept_json_put_members(&w, "vendor %s architecture %s", "NVIDIA", "its architecture");
    adept_json_begin_object(&w, "specs");
#define X(field, required, text)                                                                                       \
    adept_json_begin_object(&w, #field);                                                                               \
    adept_json_put_null(&w, "value");                                                                                  \
    adept_json_put_string(&w, "source", required ? text ". Needed: put a number and where it stands" : text);          \
    adept_json_end_object(&w);
    ADEPT_SPEC_LIST(X)
#undef X
    adept_json_end_object(&w);
    adept_json_put_null(&w, "fit");
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}

static adept_status transfer(adept_cli *cli, adept_hwprofile *hw, const char *path)
{
    char *text = NULL;
    size_t size;
    adept_status status = adept_file_read(&text, &size, path, 1 << 20, &cli->err);

    if (status == ADEPT_OK) status = adept_hwprofile_transfer(hw, path, text, size, &cli->err);
    free(text);
    return status;
}

static adept_status gpus(adept_cli *cli, void *options)
{
    const gpus_options *o = options;
    adept_hwprofile *hw = NULL;

    if (o->template) return show_template(cli);
    if (!o->name) return list(cli, o->json);
    adept_status status = adept_load_gpu(cli, &hw, o->name);
    if (status == ADEPT_OK && o->shared) status = transfer(cli, hw, o->shared);
    if (status == ADEPT_OK) status = o->json ? show_json(cli, hw, o->shared != NULL) : show_text(cli, hw);
    adept_hwprofile_free(hw);
    return status;
}

const adept_command adept_command_gpus = {
    .name = "gpus",
    .summary = "list the GPUs, or show one with its sources",
    .usage = "[NAME|FILE]",
    .doc = "List the GPUs adept knows, or show one with the source of each number. Peaks are dense."
           "\vExamples:\n"
           "  adept gpus\n"
           "  adept gpus a100\n"
           "  adept gpus a100 --json > mine.json\n"
           "  adept gpus --template > new.json\n"
           "  adept gpus h200 --shared ours.json --json > h200.json\n"
           "\n"
           "A hardware profile can be edited and given to predict: --gpu ./mine.json",
    .size = sizeof(gpus_options),
    .options = {.rows = rows, .check = check},
    .arguments = {NULL, "one NAME", 1, AT(name)},
    .run = gpus,
};

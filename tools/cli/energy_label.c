/** @file energy_label.c  The JSON begins with what a Hugging Face model card has under `co2_eq_emissions`, so that it
 * can be taken over; the rest is ours. A label outlives the terminal it was made on: it says itself that nothing was
 * measured. */
#include "energy_label.h"
#include "adept_json.h"
#include "grid.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENT "predicted, not measured"

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

adept_label_format adept_label_format_of(const char *path)
{
    if (ends_in(path, ".md")) return ADEPT_LABEL_MARKDOWN;
    return ends_in(path, ".json") ? ADEPT_LABEL_JSON : ADEPT_LABEL_NONE;
}

/* ---------------------------------------------------------------- what both say ----------------------------------- */

static int64_t gpus_of(const adept_label *l)
{
    return l->run->gpus > 0 ? l->run->gpus : 1;
}

static const char *calibration_of(const adept_label *l)
{
    if (adept_calibrated_for(l->hw, l->run)) return "calibrated on measurements of this GPU";
    return adept_transferred_for(l->hw, l->run) ? "not calibrated: parameters fitted to other GPUs"
                                                : "not calibrated: estimated from the specification sheet";
}

/* What the emissions and the energy of the site hold. malloc'ed; NULL when memory is out. */
static char *scope_of(const adept_totals *t)
{
    char *text = NULL;
    bool host = !isnan(t->host_power_w), pue = !isnan(t->pue);

    if (asprintf(&text,
                 "Counted: GPU boards%s%s. Left out: %s%s%sstorage and network, failed and repeated runs, making the "
                 "hardware.",
                 host ? ", hosts" : "", pue ? ", cooling and losses of the site (PUE)" : "",
                 host ? "" : "the hosts (processors, memory, fans), ", pue ? "" : "cooling and losses of the site, ",
                 "evaluation and data loading that the GPUs wait for, ") < 0)
        return NULL;
    return text;
}

/* ---------------------------------------------------------------- Markdown ---------------------------------------- */

/* "12.3 kWh (80 % interval 10.1 kWh to 15.0 kWh)" */
static void add_row(adept_grid *grid, const char *name, adept_text (*text)(double), double value, double level,
                    const double *interval)
{
    char cell[320];
    const adept_text v = text(value);

    if (isfinite(level) && isfinite(interval[0]) && isfinite(interval[1]))
        snprintf(cell, sizeof cell, "%s (%s interval: %s to %s)", v.s, adept_units_percent(level).s,
                 text(interval[0]).s, text(interval[1]).s);
    else
        snprintf(cell, sizeof cell, "%s", v.s);
    const char *cells[] = {name, cell};
    adept_grid_row(grid, cells);
}

static void add_text(adept_grid *grid, const char *name, const char *text)
{
    const char *cells[] = {name, text};

    adept_grid_row(grid, cells);
}

static adept_text grams(double value)
{
    return adept_units_si(value, "g CO2e");
}

static void add_setup(adept_grid *grid, const adept_label *l)
{
    const adept_profile *p = l->profile;
    char text[512];

    add_text(grid, "model", p->model_path);
    add_text(grid, "SHA-256", *p->model_sha256 ? p->model_sha256 : "unknown");
    snprintf(text, sizeof text, "%" PRId64 " x %.100s", gpus_of(l), l->hw->name);
    if (l->run->power_limit_w > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", limited to %s",
                 adept_units_watt(l->run->power_limit_w).s);
    if (l->run->clock_hz > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", clock %s",
                 adept_units_si(l->run->clock_hz, "Hz").s);
    add_text(grid, "hardware", text);
    snprintf(text, sizeof text, "%s, %s, batch %" PRId64 " per GPU x %" PRId64 " passes, optimizer %.40s, attention %s",
             adept_mode_name(p->mode), adept_precision_name(p->precision), p->batch_size, p->grad_accum, p->optimizer,
             adept_attention_name(p->attention));
    add_text(grid, "configuration", text);
}

static void add_numbers(adept_grid *grid, const adept_label *l)
{
    const adept_prediction *p = l->prediction;
    const adept_totals *t = l->totals;
    char text[128];

    add_row(grid, "step time", adept_units_time, p->step_time_s, p->interval_level, p->interval_time_s);
    add_row(grid, "power, all GPU boards", adept_units_watt, p->power_avg_w, p->interval_level, p->interval_power_w);
    add_row(grid, "energy per sample, GPU boards", adept_units_joule, p->energy_per_sample_j, NAN, NULL);
    snprintf(text, sizeof text, "%.0f steps, %.0f samples", t->steps, t->samples);
    if (!isnan(t->epochs)) snprintf(text + strlen(text), sizeof text - strlen(text), ", %.0f epochs", t->epochs);
    add_text(grid, "job", text);
    add_row(grid, "duration", adept_units_time, t->time_s, t->interval_level, t->interval_time_s);
    add_row(grid, "energy, GPU boards", adept_units_kwh, t->energy_kwh, t->interval_level, t->interval_energy_kwh);
    if (!isnan(t->pue) || !isnan(t->host_power_w))
        add_row(grid, "energy, site", adept_units_kwh, t->site_energy_kwh, NAN, NULL);
    if (!isnan(t->carbon_g_per_kwh))
        add_row(grid, "emissions", grams, t->co2e_g, t->interval_level, t->interval_co2e_g);
}

static void add_origin(adept_grid *grid, const adept_label *l)
{
    const adept_totals *t = l->totals;
    char text[512];

    if (!isnan(t->carbon_g_per_kwh)) {
        snprintf(text, sizeof text, "%.4g g CO2e/kWh", t->carbon_g_per_kwh);
        if (t->place) snprintf(text + strlen(text), sizeof text - strlen(text), ", %s", t->place);
        if (t->carbon_year > 0) snprintf(text + strlen(text), sizeof text - strlen(text), " %d", t->carbon_year);
        snprintf(text + strlen(text), sizeof text - strlen(text), " (%s)", t->carbon_source);
        add_text(grid, "grid", text);
    }
    if (!isnan(t->pue)) {
        snprintf(text, sizeof text, "%.3g (%s)", t->pue, t->pue_source);
        add_text(grid, "PUE", text);
    }
    snprintf(text, sizeof text, "adept " ADEPT_VERSION ", granularity %s; %s",
             adept_granularity_name(adept_granularity_of(l->hw, l->run)), calibration_of(l));
    add_text(grid, "method", text);
}

static void print_markdown(FILE *out, const adept_label *l, const char *scope)
{
    static const adept_column columns[] = {{"", false}, {STATEMENT, false}};
    adept_grid grid;

    fprintf(out, "## Energy and emissions (%s)\n\n", STATEMENT);
    adept_grid_begin(&grid, out, true, columns, 2);
    add_setup(&grid, l);
    add_numbers(&grid, l);
    add_origin(&grid, l);
    adept_grid_end(&grid); /* Markdown needs no memory */
    fprintf(out, "\n%s\n", scope);
}

static char *markdown_of(const adept_label *l, const char *scope)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    print_markdown(out, l, scope);
    bool ok = !ferror(out);
    if (fclose(out) == 0 && ok) return text;
    free(text);
    return NULL;
}

/* ---------------------------------------------------------------- JSON -------------------------------------------- */

static bool add_string(cJSON *o, const char *key, const char *text)
{
    return text && *text ? cJSON_AddStringToObject(o, key, text) != NULL : cJSON_AddNullToObject(o, key) != NULL;
}

/* null unless both ends are known. */
static bool add_pair(cJSON *o, const char *key, const double pair[2])
{
    if (!isfinite(pair[0]) || !isfinite(pair[1])) return cJSON_AddNullToObject(o, key) != NULL;
    cJSON *array = cJSON_AddArrayToObject(o, key);
    return array && cJSON_AddItemToArray(array, adept_json_new_number(pair[0])) &&
           cJSON_AddItemToArray(array, adept_json_new_number(pair[1]));
}

/* The keys of a model card's metadata. */
static bool add_card(cJSON *root, const adept_label *l)
{
    char source[128], hardware[192];
    cJSON *o = cJSON_AddObjectToObject(root, "co2_eq_emissions");

    snprintf(source, sizeof source, "adept " ADEPT_VERSION " (%s)", STATEMENT);
    snprintf(hardware, sizeof hardware, "%" PRId64 " x %.100s", gpus_of(l), l->hw->name);
    return o && adept_json_add_number(o, "emissions", l->totals->co2e_g) && add_string(o, "source", source) &&
           add_string(o, "training_type", NULL) && add_string(o, "geographical_location", l->totals->place) &&
           add_string(o, "hardware_used", hardware);
}

static bool add_config(cJSON *root, const adept_label *l)
{
    const adept_profile *p = l->profile;
    cJSON *model = cJSON_AddObjectToObject(root, "model"), *config = cJSON_AddObjectToObject(root, "config");

    return model && config && add_string(model, "path", p->model_path) &&
           add_string(model, "sha256", p->model_sha256) && adept_json_add_number(model, "params", (double)p->params) &&
           add_string(config, "gpu", l->hw->name) && adept_json_add_number(config, "gpus", (double)gpus_of(l)) &&
           adept_json_add_number(config, "nodes", l->totals->nodes) &&
           add_string(config, "mode", adept_mode_name(p->mode)) &&
           add_string(config, "precision", adept_precision_name(p->precision)) &&
           adept_json_add_number(config, "batch_size", (double)p->batch_size) &&
           adept_json_add_number(config, "grad_accum", (double)p->grad_accum) &&
           add_string(config, "optimizer", p->optimizer) &&
           add_string(config, "attention", adept_attention_name(p->attention)) &&
           adept_json_add_number(config, "power_limit_w", l->run->power_limit_w > 0 ? l->run->power_limit_w : NAN) &&
           adept_json_add_number(config, "clock_hz", l->run->clock_hz > 0 ? l->run->clock_hz : NAN);
}

static bool add_prediction(cJSON *root, const adept_label *l)
{
    const adept_prediction *p = l->prediction;

    return adept_json_add_number(root, "step_time_s", p->step_time_s) &&
           adept_json_add_number(root, "power_avg_w", p->power_avg_w) &&
           adept_json_add_number(root, "energy_step_j", p->energy_step_j) &&
           adept_json_add_number(root, "energy_per_sample_j", p->energy_per_sample_j);
}

static bool add_totals(cJSON *root, const adept_totals *t)
{
    cJSON *o = cJSON_AddObjectToObject(root, "total"), *interval = NULL;
    bool ok = o && adept_json_add_number(o, "steps", t->steps) && adept_json_add_number(o, "samples", t->samples) &&
              adept_json_add_number(o, "epochs", t->epochs) && adept_json_add_number(o, "time_s", t->time_s) &&
              adept_json_add_number(o, "gpu_hours", t->gpu_hours) &&
              adept_json_add_number(o, "energy_kwh", t->energy_kwh) &&
              adept_json_add_number(o, "host_energy_kwh", t->host_energy_kwh) &&
              adept_json_add_number(o, "site_energy_kwh", t->site_energy_kwh) &&
              adept_json_add_number(o, "co2e_g", t->co2e_g) &&
              adept_json_add_number(o, "carbon_g_per_kwh", t->carbon_g_per_kwh) &&
              add_string(o, "carbon_source", t->carbon_source) &&
              adept_json_add_number(o, "carbon_year", t->carbon_year > 0 ? t->carbon_year : NAN) &&
              adept_json_add_number(o, "pue", t->pue) && add_string(o, "pue_source", t->pue_source) &&
              adept_json_add_number(o, "host_power_w", t->host_power_w);

    if (!ok) return false;
    if (!isfinite(t->interval_level)) return cJSON_AddNullToObject(root, "interval") != NULL;
    interval = cJSON_AddObjectToObject(root, "interval");
    return interval && adept_json_add_number(interval, "level", t->interval_level) &&
           add_pair(interval, "time_s", t->interval_time_s) &&
           add_pair(interval, "energy_kwh", t->interval_energy_kwh) && add_pair(interval, "co2e_g", t->interval_co2e_g);
}

static char *json_of(const adept_label *l, const char *scope)
{
    cJSON *root = cJSON_CreateObject();
    bool ok = root && adept_json_add_number(root, "schema_version", 1) &&
              add_string(root, "kind", "adept-energy-label") && add_card(root, l) &&
              add_string(root, "statement", STATEMENT) && add_config(root, l) && add_prediction(root, l) &&
              add_totals(root, l->totals) &&
              add_string(root, "method", adept_granularity_name(adept_granularity_of(l->hw, l->run))) &&
              cJSON_AddBoolToObject(root, "calibrated", adept_calibrated_for(l->hw, l->run)) &&
              add_string(root, "calibration", calibration_of(l)) && add_string(root, "scope", scope) &&
              add_string(root, "adept_version", ADEPT_VERSION);
    char *printed = ok ? cJSON_Print(root) : NULL, *text = NULL;

    cJSON_Delete(root);
    if (printed && asprintf(&text, "%s\n", printed) < 0) text = NULL;
    cJSON_free(printed);
    return text;
}

adept_status adept_label_write(adept_cli *cli, const char *path, const adept_label *label)
{
    char *scope = scope_of(label->totals), *text = NULL;
    bool json = adept_label_format_of(path) == ADEPT_LABEL_JSON;
    adept_status status;

    if (scope) text = json ? json_of(label, scope) : markdown_of(label, scope);
    if (text)
        status = adept_file_write(path, text, strlen(text), &cli->err);
    else
        status = adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while writing %s", path);
    free(scope);
    free(text);
    return status;
}

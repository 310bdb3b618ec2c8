/** @file energy_label.c  The JSON begins with what a Hugging Face model card has under `co2_eq_emissions`, so that it
 * can be taken over; the rest is ours. A label outlives the terminal it was made on: it says itself that nothing was
 * measured. */
#include "adept_append.h"
#include "adept_clock.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_json_writer.h"
#include "report.h"
#include "table.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Bills of materials: the two formats that have members for a model's energy, CycloneDX 1.6
 * (https://cyclonedx.org/docs/1.6/json/, energyConsumptions) and SPDX 3.0.1
 * (https://spdx.github.io/spdx-spec/v3.0.1/model/AI/, EnergyConsumption). Where they have no member there is a remark.
 */

/* What makes a document one of its own. */
typedef struct identity {
    char uuid[64]; /* "urn:uuid:..." (RFC 4122, version 4) */
    adept_date created;
} identity;

static bool identify(identity *id)
{
    unsigned char b[16];

    if (getrandom(b, sizeof b, 0) != sizeof b) return false;
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    int n = snprintf(id->uuid, sizeof id->uuid, "urn:uuid:");
    for (size_t i = 0; i < sizeof b; i++)
        n += snprintf(id->uuid + n, sizeof id->uuid - (size_t)n, "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    id->created = adept_clock_date();
    return id->created.s[0] != '\0';
}

static const char *file_name(const adept_predicted_step *l)
{
    const char *slash = strrchr(l->profile->model_path, '/');
    return slash ? slash + 1 : l->profile->model_path;
}

static bool has_sha256(const adept_predicted_step *l)
{
    return l->profile->model_sha256 && *l->profile->model_sha256;
}

static char *text_of(adept_json_writer *w)
{
    adept_buffer_text(&w->out, "\n");
    return adept_json_finish(w);
}

/* ---------------------------------------------------------------- CycloneDX -------------------------------------- */

static void put_kwh(adept_json_writer *w, const char *key, double energy_kwh)
{
    adept_json_put_object(w, key, "value %g unit %s", energy_kwh, "kWh");
}

/* The grid is known by its intensity, and only where one was given. */
static void put_providers(adept_json_writer *w, const adept_totals *t)
{
    adept_json_begin_array(w, "energyProviders");
    if (!isnan(t->carbon_g_per_kwh)) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "description", adept_grid_text(t).s);
        adept_json_put_object(w, "organization", "name %s", "unknown");
        adept_json_put_string(w, "energySource", "unknown");
        put_kwh(w, "energyProvided", t->site_energy_kwh);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

static void put_consumption(adept_json_writer *w, const adept_predicted_step *l)
{
    const adept_totals *t = &l->totals;

    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "activity", adept_mode_trains(l->profile->mode) ? "training" : "inference");
    put_providers(w, t);
    put_kwh(w, "activityEnergyCost", t->site_energy_kwh);
    if (isfinite(t->co2e_g))
        adept_json_put_object(w, "co2CostEquivalent", "value %g unit %s", t->co2e_g / 1e6, "tCO2eq");
    adept_json_end_object(w);
}

static void put_component(adept_json_writer *w, const adept_predicted_step *l, const char *remarks)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "type %s name %s description %s", "machine-learning-model", file_name(l), remarks);
    if (has_sha256(l)) {
        adept_json_begin_array(w, "hashes");
        adept_json_put_object(w, NULL, "alg %s content %s", "SHA-256", l->profile->model_sha256);
        adept_json_end_array(w);
    }
    adept_json_begin_object(w, "modelCard");
    adept_json_begin_object(w, "considerations");
    adept_json_begin_object(w, "environmentalConsiderations");
    adept_json_begin_array(w, "energyConsumptions");
    put_consumption(w, l);
    adept_json_end_array(w);
    for (int i = 0; i < 4; i++)
        adept_json_end_object(w);
}

static char *cyclonedx(const adept_predicted_step *label, const char *remarks)
{
    adept_json_writer w = {.pretty = true};
    identity id;

    if (!identify(&id)) return NULL;
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "$schema %s bomFormat %s specVersion %s serialNumber %s version %jd",
                           "http://cyclonedx.org/schema/bom-1.6.schema.json", "CycloneDX", "1.6", id.uuid, (intmax_t)1);
    adept_json_begin_object(&w, "metadata");
    adept_json_put_string(&w, "timestamp", id.created.s);
    adept_json_begin_object(&w, "tools");
    adept_json_begin_array(&w, "components");
    adept_json_put_object(&w, NULL, "type %s name %s version %s", "application", "adept", ADEPT_VERSION);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    adept_json_end_object(&w);
    adept_json_begin_array(&w, "components");
    put_component(&w, label, remarks);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return text_of(&w);
}

/* ---------------------------------------------------------------- SPDX ------------------------------------------- */

#define CREATION "_:creation"

/* What every element begins with: an IRI of the document's own. */
static void begin_element(adept_json_writer *w, const identity *id, const char *type, const char *part)
{
    char iri[96];

    snprintf(iri, sizeof iri, "%s#%s", id->uuid, part);
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "type %s spdxId %s creationInfo %s", type, iri, CREATION);
}

static void put_references(adept_json_writer *w, const char *key, const identity *id, const char *const *parts,
                           size_t n)
{
    char iri[96];

    adept_json_begin_array(w, key);
    for (size_t i = 0; i < n; i++) {
        snprintf(iri, sizeof iri, "%s#%s", id->uuid, parts[i]);
        adept_json_put_string(w, NULL, iri);
    }
    adept_json_end_array(w);
}

static void put_package(adept_json_writer *w, const identity *id, const adept_predicted_step *l, const char *remarks)
{
    bool infers = !adept_mode_trains(l->profile->mode);

    begin_element(w, id, "ai_AIPackage", "model");
    adept_json_put_members(w, "name %s comment %s software_primaryPurpose %s", file_name(l), remarks, "model");
    if (has_sha256(l)) {
        adept_json_begin_array(w, "verifiedUsing");
        adept_json_put_object(w, NULL, "type %s algorithm %s hashValue %s", "Hash", "sha256", l->profile->model_sha256);
        adept_json_end_array(w);
    }
    adept_json_begin_object(w, "ai_energyConsumption");
    adept_json_put_string(w, "type", "ai_EnergyConsumption");
    adept_json_begin_array(w, infers ? "ai_inferenceEnergyConsumption" : "ai_trainingEnergyConsumption");
    adept_json_put_object(w, NULL, "type %s ai_energyQuantity %g ai_energyUnit %s", "ai_EnergyConsumptionDescription",
                          l->totals.site_energy_kwh, "kilowattHour");
    adept_json_end_array(w);
    adept_json_end_object(w);
    adept_json_end_object(w);
}

static char *spdx(const adept_predicted_step *label, const char *remarks)
{
    static const char *const tool[] = {"adept"}, *const elements[] = {"model", "adept"};
    static const char *const profiles[] = {"core", "software"};
    adept_json_writer w = {.pretty = true};
    identity id;

    if (!identify(&id)) return NULL;
    adept_json_begin_object(&w, NULL);
    adept_json_put_string(&w, "@context", "https://spdx.org/rdf/3.0.1/spdx-context.jsonld");
    adept_json_begin_array(&w, "@graph");
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "type %s @id %s specVersion %s created %s", "CreationInfo", CREATION, "3.0.1",
                           id.created.s);
    put_references(&w, "createdBy", &id, tool, 1);
    adept_json_end_object(&w);
    begin_element(&w, &id, "SoftwareAgent", "adept");
    adept_json_put_string(&w, "name", "adept " ADEPT_VERSION);
    adept_json_end_object(&w);
    put_package(&w, &id, label, remarks);
    begin_element(&w, &id, "SpdxDocument", "document");
    /* Not "ai": that asks for who supplies the model, when and where from, which a label does not know. */
    adept_json_put_strings(&w, "profileConformance", profiles, sizeof profiles / sizeof *profiles);
    put_references(&w, "rootElement", &id, elements, 1);
    put_references(&w, "element", &id, elements, 2);
    adept_json_end_object(&w);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return text_of(&w);
}

#define STATEMENT "predicted, not measured"

/* ---------------------------------------------------------------- what all say ------------------------------------ */

static const char *calibration_of(const adept_predicted_step *l)
{
    const bool among = adept_transferred_for(l->hw, l->run);
    if (adept_calibrated_in(l->hw, l->run, l->profile->precision))
        return among ? "calibrated on measurements of this GPU among others" : "calibrated on measurements of this GPU";
    if (adept_calibrated_for(l->hw, l->run)) return "calibrated on measurements of this GPU in other precisions";
    return adept_transferred_for(l->hw, l->run) ? "not calibrated: parameters fitted to other GPUs"
                                                : "not calibrated: estimated from the specification sheet";
}

/* What the emissions and the energy of the site hold. malloc'ed; NULL when memory is out. */
static char *scope_of(const adept_totals *t)
{
    char *text = NULL;
    bool host = !isnan(t->host_power_w), pue = !isnan(t->pue);

    if (asprintf(
            &text, "Counted: GPU boards%s%s. Left out: %s%s%sstorage and network, failed and repeated runs, making %s.",
            host ? ", hosts" : "", pue ? ", cooling and losses of the site (PUE)" : "",
            host ? "" : "the hosts (processors, memory, fans), ", pue ? "" : "cooling and losses of the site, ",
            "evaluation and data loading that the GPUs wait for, ",
            isnan(t->embodied_co2e_g) ? "the hardware" : "the boards (given apart) and the rest of the hardware") < 0)
        return NULL;
    return text;
}

/* What does not fit cannot run, and uses nothing. */
static const char *no_room(char *text, size_t size, const adept_predicted_step *l)
{
    const adept_memory *m = &l->prediction.memory;

    snprintf(text, size, "DOES NOT FIT: the step needs %s of each GPU's %s, so the run cannot start",
             adept_units_bytes(m->peak_bytes).s, adept_units_bytes(m->capacity_bytes).s);
    return text;
}

/* ---------------------------------------------------------------- Markdown ---------------------------------------- */

static void add_text(adept_table *table, const char *name, const char *text)
{
    adept_table_row(table, ADEPT_CELLS(name, text));
}

/* "12.3 kWh (80 % interval 10.1 kWh to 15.0 kWh)" */
static void add_row(adept_table *table, const char *name, adept_text (*text)(double), double value, double level,
                    const double *interval)
{
    char cell[320];
    const adept_text v = text(value);

    if (isfinite(level) && isfinite(interval[0]) && isfinite(interval[1]))
        snprintf(cell, sizeof cell, "%s (%s interval: %s to %s)", v.s, adept_units_percent(level).s,
                 text(interval[0]).s, text(interval[1]).s);
    else
        snprintf(cell, sizeof cell, "%s", v.s);
    add_text(table, name, cell);
}

static void add_setup(adept_table *table, const adept_predicted_step *l)
{
    const adept_profile *p = l->profile;
    char text[512];

    add_text(table, "model", file_name(l));
    if (!l->prediction.memory.fits) add_text(table, "memory", no_room(text, sizeof text, l));
    add_text(table, "SHA-256", *p->model_sha256 ? p->model_sha256 : "unknown");
    snprintf(text, sizeof text, "%" PRId64 " x %.100s", adept_run_gpus(l->run), l->hw->name);
    if (l->run->power_limit_w > 0)
        adept_append(text, sizeof text, ", limited to %s", adept_units_watt(l->run->power_limit_w).s);
    if (l->run->clock_hz > 0) adept_append(text, sizeof text, ", clock %s", adept_units_si(l->run->clock_hz, "Hz").s);
    add_text(table, "hardware", text);
    snprintf(text, sizeof text, "%s, %s, batch %" PRId64 " per GPU x %s, optimizer %.40s, attention %s",
             adept_mode_name(p->mode), adept_precision_name(p->precision), p->batch_size,
             adept_cell("%" PRId64 " pass%s", p->grad_accum, p->grad_accum == 1 ? "" : "es").s, p->optimizer,
             adept_attention_name(p->attention));
    add_text(table, "configuration", text);
}

static void add_numbers(adept_table *table, const adept_predicted_step *l)
{
    const adept_prediction *p = &l->prediction;
    const adept_totals *t = &l->totals;
    char text[512];

    add_row(table, "step time", adept_units_time, p->step_time_s, p->interval_level, p->interval_time_s);
    const bool of_node = l->run->power_scope == ADEPT_SCOPE_NODE;
    add_row(table, of_node ? "power, nodes at the wall" : "power, all GPU boards", adept_units_watt, p->power_avg_w,
            p->interval_level, p->interval_power_w);
    add_row(table, of_node ? "energy per sample, nodes" : "energy per sample, GPU boards", adept_units_joule,
            p->energy_per_sample_j, NAN, NULL);
    snprintf(text, sizeof text, "%s, %s", adept_units_count(t->steps, "step").s,
             adept_units_count(t->samples, "sample").s);
    if (!isnan(t->epochs)) adept_append(text, sizeof text, ", %s", adept_units_count(t->epochs, "epoch").s);
    add_text(table, "job", text);
    add_row(table, "duration", adept_units_time, t->time_s, t->interval_level, t->interval_time_s);
    add_row(table, "energy, GPU boards", adept_units_kwh, t->energy_kwh, t->interval_level, t->interval_energy_kwh);
    if (!isnan(t->pue) || !isnan(t->host_power_w))
        add_row(table, "energy, site", adept_units_kwh, t->site_energy_kwh, NAN, NULL);
    if (!isnan(t->carbon_g_per_kwh))
        add_row(table, "emissions", adept_units_grams, t->co2e_g, t->interval_level, t->interval_co2e_g);
    if (!isnan(t->embodied_co2e_g))
        add_row(table, "embodied, the job's share of its boards", adept_units_grams, t->embodied_co2e_g, NAN, NULL);
}

static void add_life(adept_table *table, const adept_predicted_step *l)
{
    const adept_lifetime *life = &l->life;
    char text[256];

    snprintf(text, sizeof text, "%.4g %s", life->inferences.samples, adept_lifetime_text(l).s);
    add_text(table, "inferences", text);
    add_row(table, "energy of each", adept_units_joule, life->inference_j, NAN, NULL);
    add_row(table, "energy of inferences, GPU boards", adept_units_kwh, life->inferences.energy_kwh,
            life->inferences.interval_level, life->inferences.interval_energy_kwh);
    add_row(table, "lifetime energy, GPU boards", adept_units_kwh, life->energy_kwh, l->totals.interval_level,
            life->interval_energy_kwh);
    if (!isnan(life->co2e_g)) add_row(table, "lifetime emissions", adept_units_grams, life->co2e_g, NAN, NULL);
    if (!isnan(life->cost)) {
        const char *currency = l->totals.currency;
        snprintf(text, sizeof text, "%s%s%s", adept_units_digits(life->cost).s, currency ? " " : "",
                 currency ? currency : "");
        add_text(table, "lifetime cost", text);
    }
    if (isnan(life->break_even)) return;
    snprintf(text, sizeof text, "%.3g inferences take as much energy as the training", life->break_even);
    add_text(table, "break-even", text);
}

static void add_origin(adept_table *table, const adept_predicted_step *l)
{
    const adept_totals *t = &l->totals;
    char text[512];

    if (!isnan(t->carbon_g_per_kwh)) add_text(table, "grid", adept_grid_text(t).s);
    if (!isnan(t->pue)) {
        snprintf(text, sizeof text, "%.3g (%s), DCiE %s", t->pue, t->pue_source, adept_units_percent(1 / t->pue).s);
        add_text(table, "PUE", text);
    }
    snprintf(text, sizeof text, "adept " ADEPT_VERSION ", granularity %s; %s",
             adept_granularity_name(adept_granularity_of(l->hw, l->run)), calibration_of(l));
    add_text(table, "method", text);
}

static char *markdown_of(const adept_predicted_step *l, const char *scope)
{
    adept_table table = {.columns = "|" STATEMENT, .markdown = true};
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    fprintf(out, "## Energy and emissions (%s%s)\n\n", STATEMENT,
            l->prediction.memory.fits ? "" : "; the run does not fit");
    add_setup(&table, l);
    add_numbers(&table, l);
    if (l->inference) add_life(&table, l);
    add_origin(&table, l);
    bool ok = adept_table_end(NULL, &table, out) == ADEPT_OK;
    fprintf(out, "\n%s\n", scope);
    text.failed = text.failed || !ok;
    return adept_buffer_close(&text, out);
}

/* ---------------------------------------------------------------- JSON -------------------------------------------- */

/* The keys of a model card's metadata. */
static void put_card(adept_json_writer *w, const adept_predicted_step *l)
{
    char source[128], hardware[192];

    snprintf(source, sizeof source, "adept " ADEPT_VERSION " (%s)", STATEMENT);
    snprintf(hardware, sizeof hardware, "%" PRId64 " x %.100s", adept_run_gpus(l->run), l->hw->name);
    adept_json_begin_object(w, "co2_eq_emissions");
    adept_json_put_number(w, "emissions", l->totals.co2e_g);
    adept_json_put_known(w, "source", source);
    adept_json_put_null(w, "training_type");
    adept_json_put_known(w, "geographical_location", l->totals.place);
    adept_json_put_known(w, "hardware_used", hardware);
    adept_json_end_object(w);
}

static void put_config(adept_json_writer *w, const adept_predicted_step *l)
{
    const adept_profile *p = l->profile;

    adept_json_begin_object(w, "model");
    adept_json_put_known(w, "path", file_name(l));
    adept_json_put_known(w, "sha256", p->model_sha256);
    adept_json_put_number(w, "params", (double)p->params);
    adept_json_end_object(w);
    adept_json_put_object(w, "config",
                          "gpu %s gpus %jd nodes %g mode %s precision %s batch_size %jd grad_accum %jd optimizer %s "
                          "attention %s power_limit_w %g clock_hz %g",
                          l->hw->name, adept_run_gpus(l->run), l->totals.nodes, adept_mode_name(p->mode),
                          adept_precision_name(p->precision), p->batch_size, p->grad_accum, p->optimizer,
                          adept_attention_name(p->attention), l->run->power_limit_w > 0 ? l->run->power_limit_w : NAN,
                          l->run->clock_hz > 0 ? l->run->clock_hz : NAN);
}

static void put_totals(adept_json_writer *w, const adept_totals *t)
{
    adept_json_begin_object(w, "total");
    adept_json_put_members(w,
                           "steps %g samples %g epochs %g time_s %g gpu_hours %g energy_kwh %g host_energy_kwh %g "
                           "site_energy_kwh %g co2e_g %g carbon_g_per_kwh %g",
                           t->steps, t->samples, t->epochs, t->time_s, t->gpu_hours, t->energy_kwh, t->host_energy_kwh,
                           t->site_energy_kwh, t->co2e_g, t->carbon_g_per_kwh);
    adept_json_put_known(w, "carbon_source", t->carbon_source);
    adept_json_put_number(w, "carbon_year", t->carbon_year > 0 ? t->carbon_year : NAN);
    adept_json_put_number(w, "pue", t->pue);
    adept_json_put_known(w, "pue_source", t->pue_source);
    adept_json_put_number(w, "embodied_co2e_g", t->embodied_co2e_g);
    adept_json_put_number(w, "host_power_w", t->host_power_w);
    adept_json_end_object(w);
    if (!adept_json_begin_known(w, "interval", isfinite(t->interval_level))) return;
    adept_json_put_number(w, "level", t->interval_level);
    adept_json_put_pair(w, "time_s", t->interval_time_s[0], t->interval_time_s[1]);
    adept_json_put_pair(w, "energy_kwh", t->interval_energy_kwh[0], t->interval_energy_kwh[1]);
    adept_json_put_pair(w, "co2e_g", t->interval_co2e_g[0], t->interval_co2e_g[1]);
    adept_json_end_object(w);
}

static char *json_of(const adept_predicted_step *l, const char *scope)
{
    const adept_prediction *p = &l->prediction;
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "adept-energy-label");
    put_card(&w, l);
    adept_json_put_string(&w, "statement", STATEMENT);
    put_config(&w, l);
    adept_json_put_members(&w, "step_time_s %g power_scope %s power_avg_w %g energy_step_j %g energy_per_sample_j %g",
                           p->step_time_s, adept_power_scope_name(l->run->power_scope), p->power_avg_w,
                           p->energy_step_j, p->energy_per_sample_j);
    adept_json_put_object(&w, "memory", "peak_bytes %g capacity_bytes %g fits %d", p->memory.peak_bytes,
                          p->memory.capacity_bytes, p->memory.fits);
    put_totals(&w, &l->totals);
    if (l->inference) adept_lifetime_put(&w, l);
    adept_json_put_members(&w, "method %s calibrated %d calibration %s scope %s adept_version %s",
                           adept_granularity_name(adept_granularity_of(l->hw, l->run)),
                           adept_calibrated_in(l->hw, l->run, l->profile->precision), calibration_of(l), scope,
                           ADEPT_VERSION);
    adept_json_end_object(&w);
    adept_buffer_text(&w.out, "\n");
    return adept_json_finish(&w);
}

/* ---------------------------------------------------------------- bills of materials ----------------------------- */

/* Everything that a reader should know and a bill of materials has no member for, in sentences. */
static char *remarks_of(const adept_predicted_step *l, const char *scope)
{
    const adept_profile *p = l->profile;
    const adept_totals *t = &l->totals;
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    char room[256];
    fprintf(out, "Energy " STATEMENT ", by adept " ADEPT_VERSION " (%s). ", calibration_of(l));
    if (!l->prediction.memory.fits) fprintf(out, "%s. ", no_room(room, sizeof room, l));
    fprintf(out, "%s of %s, %s, batch %" PRId64 " per GPU, on %" PRId64 " x %s: %s. ",
            adept_units_count(t->steps, "step").s, adept_mode_name(p->mode), adept_precision_name(p->precision),
            p->batch_size, adept_run_gpus(l->run), l->hw->name, adept_units_time(t->time_s).s);
    if (isfinite(t->interval_level) && isfinite(t->interval_energy_kwh[0]))
        fprintf(out, "%s interval of the GPU boards' energy: %s to %s. ", adept_units_percent(t->interval_level).s,
                adept_units_kwh(t->interval_energy_kwh[0]).s, adept_units_kwh(t->interval_energy_kwh[1]).s);
    if (isfinite(t->co2e_g))
        fprintf(out, "Emissions: %s at %s. ", adept_units_grams(t->co2e_g).s, adept_grid_text(t).s);
    if (l->inference)
        fprintf(out, "Over its life, with %.4g inferences (%s): %s; %.3g of them take as much as the training. ",
                l->life.inferences.samples, adept_lifetime_text(l).s, adept_units_kwh(l->life.energy_kwh).s,
                l->life.break_even);
    fprintf(out, "%s", scope);
    return adept_buffer_close(&text, out);
}

/* ---------------------------------------------------------------- files ------------------------------------------ */

typedef struct label_format {
    const char *end;                                                /* of the file's name */
    char *(*text)(const adept_predicted_step *, const char *scope); /* or remarks, of a bill of materials */
    bool is_bill;                                                   /* which cannot say that the energy is not known */
} label_format;

static const label_format *format_of(const char *path)
{
    static const label_format formats[] = {
        {".md", markdown_of, false},
        {".cdx.json", cyclonedx, true},
        {".spdx.json", spdx, true},
        {".json", json_of, false},
    };
    size_t n = strlen(path);

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t m = strlen(formats[i].end);
        if (n > m && strcmp(path + n - m, formats[i].end) == 0) return &formats[i];
    }
    return NULL;
}

bool adept_label_has_format(const char *path)
{
    return format_of(path) != NULL;
}

adept_status adept_label_write(adept_cli *cli, const char *path, const adept_predicted_step *label)
{
    const label_format *format = format_of(path);
    char *text = NULL;
    adept_status status;

    if (format->is_bill && !isfinite(label->totals.site_energy_kwh))
        return adept_cli_usage(cli, "--label: %s must state an energy, which is not known of %s", path,
                               label->hw->name);
    char *scope = scope_of(&label->totals), *remarks = scope && format->is_bill ? remarks_of(label, scope) : NULL;
    if (scope && (remarks || !format->is_bill)) text = format->text(label, remarks ? remarks : scope);
    if (text)
        status = adept_file_write(path, text, strlen(text), &cli->err);
    else
        status = adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while writing %s", path);
    free(remarks);
    free(scope);
    free(text);
    return status;
}

/** @file energy_label_bom.c  The label in the two formats of bills of materials that have members for a model's energy:
 * CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/, energyConsumptions) and SPDX 3.0.1
 * (https://spdx.github.io/spdx-spec/v3.0.1/model/AI/, EnergyConsumption). What they have no member for is a remark. */
#include "adept_clock.h"
#include "adept_json_writer.h"
#include "energy_label.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

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

const char *adept_label_file_name(const adept_predicted_step *l)
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
    adept_json_put_members(w, "type %s name %s description %s", "machine-learning-model", adept_label_file_name(l),
                           remarks);
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

char *adept_label_cyclonedx(const adept_predicted_step *label, const char *remarks)
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
    adept_json_put_members(w, "name %s comment %s software_primaryPurpose %s", adept_label_file_name(l), remarks,
                           "model");
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

char *adept_label_spdx(const adept_predicted_step *label, const char *remarks)
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

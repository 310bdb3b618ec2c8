/** @file export_read.c  The archive of a .pt2: finds the program and the places of its weights. Calls: libzip.
 *  torch 2.1 to 2.7 write a flat archive, later ones put everything under one root folder, with any number of models.
 */
#include "archive.h"
#include "export_private.h"
#include "import_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 200 bytes a tensor of the state dictionary: enough for 150,000. Data of weights is never read. */
#define MAX_PLACES_BYTES ((size_t)1 << 25)

typedef struct archive {
    zip_t *zip;
    const char *path;
    uint64_t memory_bytes;
    adept_error *err;
    zip_int64_t program; /* index of its entry */
    bool rooted;
    char model[256]; /* rooted: "model" of ROOT/models/model.json */
    char root[256];  /* rooted: ROOT */
} archive;

static adept_status invalid(const archive *a, const char *what)
{
    return adept_error_set(a->err, ADEPT_E_INVALID, "%s: %s", a->path, what);
}

/* ROOT/models/NAME.json? Copies both, cut off where they are too long to be anything sensible. */
static bool split_model(const char *entry, char root[256], char model[256])
{
    const char *slash = strchr(entry, '/');
    if (!slash || strncmp(slash, "/models/", 8) != 0) return false;
    const char *name = slash + 8;
    size_t n = strlen(name);
    if (n <= 5 || strcmp(name + n - 5, ".json") != 0 || memchr(name, '/', n)) return false;
    if ((size_t)(slash - entry) >= 256 || n - 5 >= 256) return false;
    snprintf(root, 256, "%.*s", (int)(slash - entry), entry);
    snprintf(model, 256, "%.*s", (int)(n - 5), name);
    return true;
}

static adept_status find_program(archive *a)
{
    char names[400] = "";
    size_t used = 0;
    int n_models = 0;
    bool is_model = false;
    a->program = zip_name_locate(a->zip, "serialized_exported_program.json", ZIP_FL_ENC_RAW);
    if (a->program >= 0) return ADEPT_OK;
    zip_int64_t n = zip_get_num_entries(a->zip, 0);
    for (zip_int64_t i = 0; i < n && !is_model; i++) {
        char root[256], model[256];
        const char *entry = zip_get_name(a->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (!entry || !split_model(entry, root, model)) continue;
        is_model = strcmp(model, "model") == 0;
        if (used < sizeof names) {
            int written = snprintf(names + used, sizeof names - used, "%s%s", n_models ? ", " : "", model);
            used += written > 0 ? (size_t)written : 0;
        }
        n_models++;
        a->rooted = true;
        a->program = i;
        memcpy(a->root, root, sizeof root);
        memcpy(a->model, model, sizeof model);
    }
    if (n_models == 0) return invalid(a, "holds no program of torch.export");
    if (n_models == 1 || is_model) return ADEPT_OK;
    return adept_error_set(a->err, ADEPT_E_INVALID,
                           "%s: holds several models (%s) and none is called 'model'; export one at a time", a->path,
                           names);
}

/* ---- weights: torch >= 2.8 ---- */

static adept_status read_config(archive *a, adept_export_places *places)
{
    char entry[600];
    snprintf(entry, sizeof entry, "%s/data/weights/%s_weights_config.json", a->root, a->model);
    zip_int64_t index = zip_name_locate(a->zip, entry, ZIP_FL_ENC_RAW);
    if (index < 0) return ADEPT_OK; /* exported without weights */
    char *json = NULL;
    size_t size = 0;
    adept_status status =
        adept_archive_read(&json, &size, a->zip, a->path, (zip_uint64_t)index, MAX_PLACES_BYTES, a->err);
    if (status == ADEPT_OK) status = adept_export_weights_config(places, a->path, json, size, a->err);
    free(json);
    return status;
}

/* ---- weights: the flat archive holds a torch.save archive ---- */

static adept_status read_inner(archive *a, zip_t *inner, adept_export_places *places)
{
    char *data = NULL;
    size_t size = 0;
    adept_status status =
        adept_archive_read_in_root(&data, &size, inner, a->path, "data.pkl", MAX_PLACES_BYTES, a->err);
    if (status == ADEPT_OK)
        status = data ? adept_export_pickle(places, a->path, data, size, a->err)
                      : invalid(a, "its state dictionary was not written by torch.save");
    free(data);
    return status;
}

/* The inner archive is opened where it lies, so that gigabytes of weights are not copied; PyTorch stores it as it is.
 */
static adept_status read_state(archive *a, adept_export_places *places)
{
    zip_int64_t index = zip_name_locate(a->zip, "serialized_state_dict.pt", ZIP_FL_ENC_RAW);
    if (index < 0) index = zip_name_locate(a->zip, "serialized_state_dict.json", ZIP_FL_ENC_RAW); /* torch 2.1 */
    if (index < 0) return ADEPT_OK;
    zip_stat_t st;
    if (zip_stat_index(a->zip, (zip_uint64_t)index, 0, &st) != 0 || st.comp_method != ZIP_CM_STORE) {
        return invalid(a, "its state dictionary is compressed, which torch.export never does");
    }
    if (st.size == 0) return ADEPT_OK;
    char name[1024];
    zip_t *inner = NULL;
    snprintf(name, sizeof name, "%s: its state dictionary", a->path);
    adept_status status = adept_archive_open_entry(&inner, a->zip, name, (zip_uint64_t)index, a->err);
    if (status == ADEPT_OK) status = read_inner(a, inner, places);
    if (inner) zip_discard(inner);
    return status;
}

/* ---- all ---- */

static adept_status read_archive(adept_graph **out, archive *a, adept_export_places *places)
{
    adept_status status = find_program(a);
    if (status != ADEPT_OK) return status;
    status = a->rooted ? read_config(a, places) : read_state(a, places);
    if (status != ADEPT_OK) return status;
    char *json = NULL;
    size_t size = 0;
    status = adept_archive_read(&json, &size, a->zip, a->path, (zip_uint64_t)a->program,
                                ADEPT_JSON_BYTES_OF(a->memory_bytes), a->err);
    if (status != ADEPT_OK) return status;
    adept_export_source source = {
        .name = a->path, .json = json, .json_size = size, .memory_bytes = a->memory_bytes, .places = places};
    return adept_export_build(out, &source, a->err);
}

adept_status adept_export_read(adept_graph **out, const adept_source *source, adept_error *err)
{
    archive a = {.path = source->name, .memory_bytes = source->memory_bytes, .err = err};
    adept_export_places places = {.arena = NULL};
    adept_status status = adept_archive_open(&a.zip, source, err);
    if (status != ADEPT_OK) return status;
    places.arena = adept_arena_new();
    adept_graph *graph = NULL;
    if (places.arena)
        status = read_archive(&graph, &a, &places);
    else
        status = adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", source->name);
    adept_export_places_free(&places);
    zip_discard(a.zip);
    return status == ADEPT_OK ? adept_source_name(out, graph, source, err) : status;
}

adept_status adept_export_import(adept_graph **out, const char *name, const void *data, size_t size,
                                 uint64_t memory_bytes, adept_error *err)
{
    adept_source source;
    adept_status status = adept_source_open(&source, name, data, size, err);
    if (status != ADEPT_OK) return status;
    if (memory_bytes > 0) source.memory_bytes = memory_bytes;
    status = adept_export_read(out, &source, err);
    adept_source_close(&source);
    return status;
}

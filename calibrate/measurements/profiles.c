/** @file profiles.c  Rows -> profiles: the graph of every model file, kept from earlier runs or imported, and a walk of
 * it for every configuration. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_file.h"
#include "dataset_private.h"
#include "sha256.h"
#include "worker_pool.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- kept graphs ------------------------------------ */

#define MAX_BYTES ((size_t)256 << 20)
static const char magic[] = "adept-cache 2 ";
#define HEAD_BYTES (sizeof magic - 1 + 64 + 1)

/* Graphs kept on disk between runs under a hash of the file they were made from. One file per graph: a line with the
 * hash of the rest, then its bytes. A file that does not match its hash (a crash, a full disk, a hand) is as good as
 * none and will be written anew. */
typedef struct graph_cache {
    char *folder;   /* malloc'ed; NULL: nothing is kept */
    char maker[65]; /* hash of the program that reads models: another build may read them differently */
} graph_cache;

/* @param folder  NULL: $XDG_CACHE_HOME/adept, else $HOME/.cache/adept; none if neither variable is set. It is made when
 * the first graph is kept. @return false when memory is out */
static bool cache_open(graph_cache *cache, const char *folder)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;

    *cache = (graph_cache){.folder = NULL};
    if (folder)
        n = asprintf(&cache->folder, "%s", folder);
    else if (base && base[0] == '/') /* XDG Base Directory Specification: relative ones are to be ignored */
        n = asprintf(&cache->folder, "%s/adept", base);
    else if (home && home[0])
        n = asprintf(&cache->folder, "%s/.cache/adept", home);
    if (n < 0) {
        cache->folder = NULL;
        return false;
    }
    if (cache->folder) {
        /* The version alone would let a rebuilt program take what its older self read: the program's own bytes count,
         * and those of the module that reads TorchScript. */
        char hashes[2][65] = {"", ""}, module[ADEPT_MODULE_PATH_BYTES], text[160];

        (void)adept_file_sha256(hashes[0], "/proc/self/exe", NULL);
        if (adept_torch_module_find(module, NULL, "", NULL) == ADEPT_OK)
            (void)adept_file_sha256(hashes[1], module, NULL);
        snprintf(text, sizeof text, "%s %s", hashes[0], hashes[1]);
        (void)adept_bytes_sha256(cache->maker, text, strlen(text), NULL);
    }
    return true;
}

/* Of what this program makes of a file, by the file's SHA-256. */
static void cache_key(char key[65], const graph_cache *cache, const char *file_sha256)
{
    char text[256];

    snprintf(text, sizeof text, "%s\n%s\n%s", ADEPT_VERSION, cache->maker, file_sha256);
    /* out of memory: an empty key, never found and never kept */
    (void)adept_bytes_sha256(key, text, strlen(text), NULL);
}

static char *path_of(const graph_cache *cache, const char *key)
{
    char *path = NULL;

    if (!cache->folder || key[0] == '\0' || asprintf(&path, "%s/%s", cache->folder, key) < 0) return NULL;
    return path;
}

/* Kept bytes, malloc'ed; NULL if there are none or they are damaged. */
static char *cache_get(const graph_cache *cache, const char *key, size_t *size)
{
    char *path = path_of(cache, key), *file = NULL;
    char hash[65];
    size_t n = 0;
    bool ok = path && adept_file_read(&file, &n, path, MAX_BYTES, NULL) == ADEPT_OK && n > HEAD_BYTES &&
              memcmp(file, magic, sizeof magic - 1) == 0 && file[HEAD_BYTES - 1] == '\n';

    free(path);
    ok = ok && adept_bytes_sha256(hash, file + HEAD_BYTES, n - HEAD_BYTES, NULL) == ADEPT_OK &&
         memcmp(hash, file + sizeof magic - 1, 64) == 0;
    if (!ok) {
        free(file);
        return NULL;
    }
    *size = n - HEAD_BYTES;
    memmove(file, file + HEAD_BYTES, *size);
    return file;
}

static bool make_folders(const char *path)
{
    char *copy = strdup(path);
    bool ok = copy != NULL;

    for (char *at = copy; ok && *at; at++) {
        if (*at != '/' || at == copy) continue;
        *at = '\0';
        ok = mkdir(copy, 0777) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
        *at = '/';
    }
    ok = ok && (mkdir(path, 0700) == 0 || errno == EEXIST);
    free(copy);
    return ok;
}

/* The old bytes, if any, survive a failure. */
static adept_status cache_put(const graph_cache *cache, const char *key, const char *bytes, size_t size,
                              adept_error *err)
{
    if (!cache->folder) return ADEPT_OK;
    char hash[65], *path = path_of(cache, key);
    char *file = path && size < MAX_BYTES ? malloc(HEAD_BYTES + size + 1) : NULL;
    adept_status status =
        file ? adept_bytes_sha256(hash, bytes, size, err) : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");

    if (status == ADEPT_OK && !make_folders(cache->folder))
        status = adept_error_set(err, ADEPT_E_IO, "%s: cannot make the folder: %s", cache->folder, strerror(errno));
    if (status == ADEPT_OK) {
        snprintf(file, HEAD_BYTES + 1, "%s%s\n", magic, hash);
        memcpy(file + HEAD_BYTES, bytes, size);
        status = adept_file_write(path, file, HEAD_BYTES + size, err);
    }
    free(file);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- profiles --------------------------------------- */

/* A distinct configuration of a model. */
typedef struct entry {
    size_t model; /* in dataset_private.models */
    adept_workload_config config;
    const char *text; /* same model and text, same profile */
    adept_profile *profile;
    adept_unsupported *unsupported;
    size_t n_unsupported;
    adept_error err;
} entry;

typedef struct maker {
    adept_dataset *d;
    const adept_dataset_options *options;
    adept_arena *arena; /* configurations, until the profiles are there */
    graph_cache cache;
    bool cache_failed;
    size_t n;
    entry *entries;
    size_t *of_row; /* entry of each row */
    bool *drop;     /* rows that cannot be used, and are listed */
} maker;

/* ---------------------------------------------------------------- model files ------------------------------------ */

/* A name in the folder that was given, or of a bundled model: of these the profile, which needs no libtorch, but for
 * layouts a configuration, whose parts can all be split. */
static bool find_name(char path[ADEPT_MODULE_PATH_BYTES], const char *wanted, const adept_dataset_row *m)
{
    const char *name = m->model;
    char bundled[ADEPT_MODULE_PATH_BYTES];

    if (wanted) return adept_models_find(path, wanted, name);
    if (m->layouts && adept_models_config(path, name)) return true;
    return adept_models_bundled(path, name) || (adept_models_folder(bundled) && adept_models_find(path, bundled, name));
}

/* A path relative to the CSV, a name in the folder that was given, the sizes in the row's columns, or a bundled name.
 * @param out  in the arena */
static adept_status find_model(const char **out, adept_arena *arena, adept_dataset_row *m, const char *wanted,
                               adept_error *err)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    const bool spec = strncmp(m->model, "adept:", 6) == 0;
    const char *slash = m->model[0] == '/' || spec ? NULL : strrchr(m->file, '/');
    int csv_folder = slash ? (int)(slash + 1 - m->file) : 0;

    *out = adept_arena_printf(arena, "%.*s%s", csv_folder, m->file, m->model);
    if (spec || adept_file_is(*out, S_IFREG)) return ADEPT_OK;
    if (adept_row_has_architecture(m) && !(wanted && adept_models_find(path, wanted, m->model)))
        return adept_row_architecture(out, arena, m, err);
    if (adept_file_is(*out, S_IFDIR) && adept_models_find(path, *out, "config.json"))
        *out = adept_arena_strdup(arena, path);
    else if (find_name(path, wanted, m))
        *out = adept_arena_strdup(arena, path);
    if (adept_arena_failed(arena)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (adept_file_is(*out, S_IFREG)) return ADEPT_OK;
    if (!wanted)
        return adept_row_fail(m, "model", err,
                              "'%.200s' is neither a file relative to the CSV nor a bundled model%s; for another name, "
                              "give --models DIR",
                              m->model, adept_dataset_row_text(m, "layers") ? ", and layers or hidden are empty" : "");
    return adept_row_fail(m, "model", err,
                          "'%.200s' is neither a file relative to the CSV nor a name in %.200s (NAME.pt, NAME.pt2 or "
                          "NAME.profile.json)",
                          m->model, wanted);
}

/* ---------------------------------------------------------------- what there is to make -------------------------- */

/* @return index of the model at that path, which is added if it is new; SIZE_MAX when memory is out */
static size_t model_at(adept_dataset *d, const char *path)
{
    struct adept_dataset_private *p = d->private_;

    for (size_t i = 0; i < p->n_models; i++)
        if (strcmp(p->models[i].path, path) == 0) return i;
    if (!adept_dataset_grow(d->arena, (void **)&p->models, p->n_models, sizeof *p->models)) return SIZE_MAX;
    p->models[p->n_models] = (adept_dataset_model){.path = path};
    return p->n_models++;
}

/* Every row says what runs; only shapes may be left to the file. */
static adept_status add_row(maker *p, size_t row, const char *path, adept_error *err)
{
    adept_input_spec specs[ADEPT_ROW_MAX_INPUTS];
    entry *e = &p->entries[p->n];
    adept_status status = adept_row_config(&e->config, specs, &p->d->rows[row], err);

    if (status != ADEPT_OK) return status;
    char *text = adept_workload_config_text(&e->config);
    e->model = model_at(p->d, path);
    e->text = text ? adept_arena_strdup(p->arena, text) : NULL;
    free(text);
    if (!e->text || e->model == SIZE_MAX || !adept_workload_config_copy(&e->config, &e->config, p->arena))
        return adept_no_memory(err, "the measurements");
    size_t same = 0;
    while (p->entries[same].model != e->model || strcmp(p->entries[same].text, e->text) != 0)
        same++; /* up to itself */
    p->of_row[row] = same;
    p->n += same == p->n;
    return ADEPT_OK;
}

static adept_status add_rows(maker *p, adept_error *err)
{
    const char *path, *wanted = p->options->models;
    adept_dataset *d = p->d;
    adept_status status = ADEPT_OK;

    if (wanted && !adept_file_is(wanted, S_IFDIR))
        status = adept_error_set(err, ADEPT_E_INVALID, "--models %s: not a folder", wanted);
    for (size_t i = 0; i < d->n && status == ADEPT_OK; i++) {
        status = find_model(&path, d->arena, &d->rows[i], wanted, err);
        if (status == ADEPT_OK) status = add_row(p, i, path, err);
        if (status == ADEPT_OK) d->rows[i].model_path = path;
        if (status == ADEPT_E_INVALID && adept_row_list_unused(d, &d->rows[i], err)) {
            p->drop[i] = true;
            status = ADEPT_OK;
        }
    }
    return status;
}

/* ---------------------------------------------------------------- graphs ----------------------------------------- */

static bool is_missing(const adept_dataset_model *m)
{
    return !m->graph && m->err.status == ADEPT_OK;
}

static void import(maker *p, adept_dataset_model *m)
{
    const adept_import_options how = {.trust = p->options->trust, .memory_bytes = p->options->memory_bytes};
    char key[ADEPT_SHA256_SIZE];
    adept_status status = adept_import_model(&m->graph, m->path, &how, &m->err);

    if (status != ADEPT_OK || p->options->no_cache || p->cache_failed || strcmp(m->graph->format, "config") == 0)
        return;
    cache_key(key, &p->cache, m->graph->sha256);
    adept_buffer bytes = {0};
    adept_error err = {0};
    status = adept_graph_write(&bytes, m->graph, &err);
    if (status == ADEPT_OK) status = cache_put(&p->cache, key, (const char *)bytes.data, bytes.size, &err);
    free(bytes.data);
    if (status == ADEPT_OK) return;
    p->cache_failed = true; /* nothing is lost but time */
    adept_dataset_warn(p->d, "models cannot be kept for the next run: %s", err.message);
}

/* ---------------------------------------------------------------- walks ------------------------------------------ */

static void walk(void *context, int worker, size_t begin, size_t end)
{
    maker *p = context;

    (void)worker;
    for (size_t i = begin; i < end; i++) {
        entry *e = &p->entries[i];
        const adept_dataset_model *m = &p->d->private_->models[e->model];
        adept_workload_config config = m->recorded;
        e->err = m->err;
        if (!m->graph) continue;
        adept_workload_config_over(&config, &e->config);
        (void)adept_profile_build(&e->profile, m->graph, adept_handlers(), &config, &e->unsupported, &e->n_unsupported,
                                  &e->err);
    }
}

static adept_status make_profiles(maker *p, adept_error *err)
{
    struct adept_dataset_private *of = p->d->private_;
    size_t n = 0, n_done = 0;

    for (size_t i = 0; i < of->n_models; i++) {
        /* What needs no import. */
        adept_dataset_model *m = &of->models[i];
        char key[ADEPT_SHA256_SIZE];
        size_t size;
        adept_file_format format;
        adept_status status = adept_file_detect(&format, m->path, NULL, 0, &m->err);
        if (status == ADEPT_OK && format == ADEPT_FORMAT_PROFILE)
            status = adept_saved_read(&m->graph, &m->recorded, m->path, p->options->memory_bytes, &m->err);
        else if (status == ADEPT_OK && format != ADEPT_FORMAT_CONFIG)
            status = adept_file_sha256(m->sha256, m->path, &m->err);
        if (status != ADEPT_OK || m->graph || format == ADEPT_FORMAT_CONFIG || p->options->no_cache) continue;
        cache_key(key, &p->cache, m->sha256);
        char *kept = cache_get(&p->cache, key, &size);
        if (kept) {
            /* The bytes are those of a file with this hash, perhaps read at another place. */
            adept_graph *graph = NULL;
            if (adept_graph_read(&graph, (const unsigned char *)kept, size, NULL) == ADEPT_OK) {
                graph->path = adept_arena_strdup(graph->arena, m->path);
                if (graph->path && strcmp(graph->sha256, m->sha256) == 0)
                    m->graph = graph;
                else
                    adept_graph_free(graph);
            }
        }
        free(kept);
    }
    for (size_t i = 0; i < of->n_models; i++)
        n += is_missing(&of->models[i]);
    for (size_t i = 0; i < of->n_models; i++) {
        if (!is_missing(&of->models[i])) continue;
        import(p, &of->models[i]);
        if (p->options->progress) p->options->progress(p->options->context, ++n_done, n);
    }
    adept_pool *pool = adept_pool_new(0); /* only now: an import forks */
    if (!pool) return adept_no_memory(err, "the measurements");
    adept_pool_run(pool, walk, p, p->n, 1);
    adept_pool_free(pool);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- into the rows ---------------------------------- */

static void keep_unsupported(adept_dataset *d, const entry *e)
{
    adept_unsupported *ops = adept_arena_array(d->arena, e->n_unsupported + 1, sizeof *ops);

    for (size_t i = 0; ops && i < e->n_unsupported; i++) {
        const adept_unsupported *o = &e->unsupported[i];
        ops[i] = (adept_unsupported){adept_arena_strdup(d->arena, o->op),
                                     o->reason ? adept_arena_strdup(d->arena, o->reason) : NULL,
                                     adept_arena_strdup(d->arena, o->path), o->count};
        if (!ops[i].op || !ops[i].path) return;
        d->private_->n_unsupported = i + 1;
    }
    d->private_->unsupported = ops;
}

/* A shape that is missing or does not fit is wrong usage of `adept profile`, but here the file says what runs. */
static adept_status fail_row(maker *p, const adept_dataset_row *m, const entry *e, adept_error *err)
{
    adept_status status = e->err.status == ADEPT_E_USAGE ? ADEPT_E_INVALID : e->err.status;

    if (status == ADEPT_E_UNSUPPORTED) keep_unsupported(p->d, e);
    return adept_row_error(m, status, e->err.message, err);
}

static adept_status hand_over(maker *p, adept_error *err)
{
    char text[32];

    for (size_t i = 0; i < p->d->n; i++) {
        const entry *e = &p->entries[p->of_row[i]];
        if (p->drop[i] || e->profile) continue;
        adept_status status = fail_row(p, &p->d->rows[i], e, err);
        p->drop[i] = adept_row_list_unused(p->d, &p->d->rows[i], err);
        if (!p->drop[i]) return status;
    }
    for (size_t i = 0; i < p->n; i++) {
        adept_profile *profile = p->entries[i].profile;
        p->entries[i].profile = NULL;
        if (!profile) continue; /* its rows are listed */
        if (!adept_dataset_own_profile(p->d, profile)) return adept_no_memory(err, "the measurements");
        for (size_t r = 0; r < p->d->n; r++) {
            adept_dataset_row *m = &p->d->rows[r];
            if (p->of_row[r] != i || p->drop[r]) continue;
            m->profile = profile;
            m->batch_size = profile->batch_size;
            snprintf(text, sizeof text, "%" PRId64, m->batch_size);
            const char *copy = adept_arena_strdup(p->d->arena, text);
            if (!copy) return adept_no_memory(err, "the measurements");
            adept_row_set_text(m, "batch_size", copy);
        }
    }
    return adept_dataset_drop(p->d, p->drop) ? ADEPT_OK : adept_no_memory(err, "the measurements");
}

adept_status adept_dataset_profiles(adept_dataset *d, const adept_dataset_options *options, adept_error *err)
{
    static const adept_dataset_options defaults = {0};
    maker p = {.d = d, .options = options ? options : &defaults, .arena = adept_arena_new()};
    adept_status status = ADEPT_OK;

    p.entries = calloc(d->n + 1, sizeof *p.entries);
    p.of_row = calloc(d->n + 1, sizeof *p.of_row);
    p.drop = calloc(d->n + 1, sizeof *p.drop);
    if (!p.arena || !p.entries || !p.of_row || !p.drop || !cache_open(&p.cache, p.options->cache))
        status = adept_no_memory(err, "the measurements");
    if (status == ADEPT_OK) status = add_rows(&p, err);
    if (status == ADEPT_OK) status = make_profiles(&p, err);
    if (status == ADEPT_OK) status = hand_over(&p, err);
    for (size_t i = 0; i < p.n; i++) {
        adept_profile_free(p.entries[i].profile);
        free(p.entries[i].unsupported);
    }
    free(p.entries);
    free(p.of_row);
    free(p.drop);
    free(p.cache.folder);
    p.cache.folder = NULL;
    adept_arena_free(p.arena);
    return status;
}

/* ---------------------------------------------------------------- other configurations --------------------------- */

adept_status adept_dataset_profile_like(adept_dataset *d, const adept_dataset_row *like,
                                        const adept_dataset_row_change *change, const adept_profile **out,
                                        adept_error *err)
{
    adept_input_spec specs[ADEPT_ROW_MAX_INPUTS];
    adept_workload_config given, config;
    adept_profile *profile = NULL;

    if (!like->model_path) return adept_error_set(err, ADEPT_E_USAGE, "the row has no profile yet");
    size_t index = model_at(d, like->model_path);
    if (index == SIZE_MAX) return adept_no_memory(err, "the measurements");
    adept_status status = adept_row_config(&given, specs, like, err);
    if (status != ADEPT_OK) return status;
    if (change->batch_size > 0) given.batch_size = change->batch_size;
    if (change->precision &&
        !adept_field_set_text(adept_workload_field(ADEPT_FIELD_precision), &given.words, change->precision))
        return adept_error_set(err, ADEPT_E_USAGE, "'%s' is not a precision", change->precision);
    config = d->private_->models[index].recorded;
    adept_workload_config_over(&config, &given);
    status =
        adept_profile_build(&profile, d->private_->models[index].graph, adept_handlers(), &config, NULL, NULL, err);
    if (status != ADEPT_OK) return status;
    if (!adept_dataset_own_profile(d, profile)) return adept_no_memory(err, "the measurements");
    *out = profile;
    return ADEPT_OK;
}

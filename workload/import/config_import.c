/** @file config_import.c  A Hugging Face config.json, or adept:FAMILY?key=value, into a graph that adept writes itself.
 * Calls: the builders of its forms, cJSON. */
#include "config_build.h"
#include "import_private.h"
#include "nearest.h"
#include "sha256.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)8 << 20)
#define MAX_VALUES 200000
#define MOST_PARAMETERS 1e15
#define USUAL_LENGTH 2048 /* of a sequence, where nobody says one and the model's positions reach */

/* ---- what is said beside the graph ---- */

static void note_default(char *text, size_t size, adept_keys *k, const char *word, const char *names, int64_t value)
{
    size_t used = strlen(text);
    if (value > 0 && !adept_keys_in_words(k, names))
        snprintf(text + used, size - used, "%s%s %" PRId64, used ? ", " : "", word, value);
}

/* ---- building ---- */

static adept_status build(adept_graph **out, const adept_architecture *a, adept_keys *k, uint64_t memory_bytes)
{
    static int32_t (*const builders[])(adept_emitter *, const adept_architecture *, const char *[2], size_t *) = {
        adept_build_decoder, adept_build_bert, adept_build_vit, adept_build_t5};
    adept_emitter e = {
        .b = adept_graph_builder_new(), .err = k->json.err, .folder = a->family->folder, .prefix = a->family->prefix};
    const char *specs[2] = {NULL};
    size_t n_specs = 0;
    if (!e.b) return adept_no_memory(e.err, k->json.name);
    adept_graph_builder_limit(e.b, memory_bytes);
    char unknown[400];
    if (adept_keys_any(k, "quantization_config compression_config"))
        adept_emit_note(&e, "\"quantization_config\": weights are counted as they are before quantisation");
    if (adept_keys_number(k, "attn_logit_softcapping", 0, 1e9, 0) > 0)
        adept_emit_note(&e, "\"attn_logit_softcapping\" is taken as part of the attention's kernel: it is not counted");
    if (adept_keys_count(k, "num_nextn_predict_layers", 0, 4096, 0) > 0)
        adept_emit_note(
            &e, "\"num_nextn_predict_layers\": layers that predict further tokens are not built, as in transformers");
    if (a->experts > 0)
        adept_emit_note(
            &e, "tokens are taken as spread evenly over the %" PRId64 " experts of a layer: how many each gets is data",
            a->experts);
    if (a->family->form == ADEPT_CONFIG_DECODER && *a->head && !strstr(a->head, "CausalLM") &&
        !strstr(a->head, "LMHeadModel"))
        adept_emit_note(&e, "the head '%.40s' is not built: the model is counted with the head of its vocabulary",
                        a->head);
    adept_keys_unknown(k, unknown, sizeof unknown);
    if (*unknown) adept_emit_note(&e, "keys that adept does not know, taken as without effect: %s", unknown);
    char text[300] = "";
    if (k->usual) {
        note_default(text, sizeof text, k, "layers", "num_hidden_layers n_layer n_layers num_layers layers", a->layers);
        note_default(text, sizeof text, k, "hidden", "hidden_size n_embd d_model hidden", a->hidden);
        note_default(text, sizeof text, k, "heads", "num_attention_heads n_head n_heads num_heads heads", a->heads);
        if (a->kv_heads != a->heads)
            note_default(text, sizeof text, k, "kv_heads", "num_key_value_heads kv_heads", a->kv_heads);
        note_default(text, sizeof text, k, "ffn", "intermediate_size n_inner ffn_dim d_ff ffn", a->ffn);
        note_default(text, sizeof text, k, "vocab", "vocab_size vocab", a->vocab);
        note_default(text, sizeof text, k, "experts", "num_local_experts num_experts n_routed_experts experts",
                     a->experts);
        if (*text) adept_emit_note(&e, "of %s by default: %s", a->family->name, text);
    }
    adept_keys_check_words(k);
    int32_t result = k->json.status == ADEPT_OK ? builders[a->family->form](&e, a, specs, &n_specs) : 0;
    if (k->json.status == ADEPT_OK && e.parameters > MOST_PARAMETERS)
        adept_keys_fail(k,
                        "\"hidden_size\", \"num_hidden_layers\" and their like make %.3g parameters, more than the %g "
                        "that are counted",
                        e.parameters, MOST_PARAMETERS);
    if (k->json.status != ADEPT_OK || e.status != ADEPT_OK) {
        adept_status status =
            k->json.status ? k->json.status : adept_graph_builder_failure(e.b, e.status, k->json.name, e.err);
        adept_graph_builder_free(e.b);
        return status;
    }
    adept_graph *g = adept_graph_builder_graph(e.b);
    g->format = "config";
    g->producer = "transformers 4.57, as adept builds it";
    const char **own = adept_arena_array(g->arena, n_specs, sizeof *own);
    for (size_t i = 0; own && i < n_specs; i++)
        own[i] = adept_arena_strdup(g->arena, specs[i]);
    g->hint_specs = own;
    g->n_hint_specs = own ? n_specs : 0;
    g->hint_batch = 1;
    if (a->family->form != ADEPT_CONFIG_VIT)
        g->hint_seq_length = a->positions < USUAL_LENGTH ? a->positions : USUAL_LENGTH;
    if (adept_arena_failed(g->arena)) {
        adept_graph_builder_free(e.b);
        return adept_no_memory(e.err, k->json.name);
    }
    return adept_graph_builder_finish(e.b, 1, &result, out, e.err);
}

/* ---- reading ---- */

static adept_status unknown_family(const char *name, const char *what, const char *type, adept_error *err)
{
    char list[400], shown[60];
    size_t n = 0;
    for (; type[n] && n + 1 < sizeof shown; n++)
        shown[n] = type[n] < ' ' ? '?' : type[n];
    shown[n] = '\0';
    return adept_error_set(err, ADEPT_E_UNSUPPORTED, "%s: %s '%s' is not a family that adept builds; it builds %s",
                           name, what, shown, adept_names_list(list, sizeof list, adept_family_name));
}

/* The part of a model of texts and images that reads texts. */
static const cJSON *text_part(adept_keys *k, const char **type)
{
    if (strcmp(*type, "gemma3") != 0) return k->file;
    *type = "gemma3_text";
    return adept_json_object(&k->json, k->file, "text_config");
}

static adept_status read_root(adept_graph **out, const char *name, const cJSON *root, const cJSON *words,
                              const adept_family *family, uint64_t memory_bytes, adept_error *err)
{
    adept_keys k = {.json = {.name = name, .err = err}, .file = root, .words = words, .usual = family != NULL};
    adept_architecture a;
    if (!cJSON_IsObject(root)) adept_keys_fail(&k, "no object: a config.json is expected");
    const char *type = family ? family->name : adept_json_string(&k.json, root, "model_type");
    if (k.json.status != ADEPT_OK) return k.json.status;
    k.file = text_part(&k, &type);
    if (k.json.status != ADEPT_OK) return k.json.status;
    if (!family) family = adept_family_find(type);
    if (!family) return unknown_family(name, "model_type", type, err);
    adept_architecture_read(&a, family, &k);
    return k.json.status == ADEPT_OK ? build(out, &a, &k, memory_bytes) : k.json.status;
}

/* @param text  malloc'ed, freed here */
static adept_status read_text(adept_graph **out, const char *name, char *text, size_t size, const cJSON *words,
                              const adept_family *family, uint64_t memory_bytes, adept_error *err)
{
    cJSON *root = NULL;
    adept_python_numbers(text, size);
    adept_status status = adept_json_parse_within(&root, name, text, size, MAX_VALUES, err);
    free(text);
    if (status == ADEPT_OK) status = read_root(out, name, root, words, family, memory_bytes, err);
    cJSON_Delete(root);
    return status;
}

static adept_status all_bytes(char **out, const adept_source *source, adept_error *err)
{
    if (source->size > MAX_BYTES)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %llu bytes, more than the %zu that a config.json may have",
                               source->name, (unsigned long long)source->size, MAX_BYTES);
    char *text = malloc((size_t)source->size + 1);
    if (!text) return adept_no_memory(err, source->name);
    if (!adept_source_read(source, 0, text, (size_t)source->size)) {
        free(text);
        return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot be read to its end", source->name);
    }
    *out = text;
    return ADEPT_OK;
}

/* What is open, with words that go before its keys. @param family  the file is its usual model; NULL: it is the file's
 * own */
static adept_status read_source(adept_graph **out, const adept_source *source, const char *name, const cJSON *words,
                                const adept_family *family, adept_error *err)
{
    char *text = NULL;
    adept_graph *graph = NULL;
    adept_status status = all_bytes(&text, source, err);
    if (status == ADEPT_OK)
        status = read_text(&graph, name, text, (size_t)source->size, words, family, source->memory_bytes, err);
    return status == ADEPT_OK ? adept_source_name(out, graph, source, err) : status;
}

/* Is the file a bundled one? It is then called by its own name, wherever the program is installed. */
static bool is_bundled(const char *path, const char *file)
{
    char name[NAME_MAX + 1], bundled[ADEPT_MODULE_PATH_BYTES];
    const char *ending = strstr(file, ".json");
    snprintf(name, sizeof name, "%.*s", ending ? (int)(ending - file) : 0, file);
    return *name && adept_models_config(bundled, name) && strcmp(bundled, path) == 0;
}

adept_status adept_config_read(adept_graph **out, const adept_source *source, adept_error *err)
{
    const char *slash = strrchr(source->name, '/');
    adept_status status = read_source(out, source, source->name, NULL, NULL, err);
    if (status != ADEPT_OK || !slash || !is_bundled(source->name, slash + 1)) return status;
    (*out)->path = adept_arena_strdup((*out)->arena, slash + 1);
    return (*out)->path ? ADEPT_OK : adept_no_memory(err, source->name);
}

/* ---- adept:BASE?key=value ---- */

/* Of the usual model of a family, or of a bundled configuration. */
static adept_status read_base(adept_graph **out, const char *spec, const char *name, const cJSON *words,
                              uint64_t memory_bytes, adept_error *err)
{
    const adept_family *family = adept_family_find(name);
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_source source;
    if (!adept_models_config(path, family ? family->usual : name))
        return family ? adept_error_set(err, ADEPT_E_INVALID, "%s: the bundled configurations are not found", spec)
                      : unknown_family(spec, "the name", name, err);
    adept_status status = adept_source_open(&source, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    source.memory_bytes = memory_bytes;
    status = read_source(out, &source, spec, words, family, err);
    adept_source_close(&source);
    return status;
}

static adept_status hash_spec(adept_graph *graph, const char *spec, adept_error *err)
{
    adept_sha256 sha;
    adept_sha256_init(&sha);
    adept_sha256_update(&sha, graph->sha256, strlen(graph->sha256)); /* of the file, where there is one */
    adept_sha256_update(&sha, spec, strlen(spec));
    adept_status status = adept_sha256_hex(&sha, graph->sha256, err);
    graph->path = adept_arena_strdup(graph->arena, spec);
    return status == ADEPT_OK && !graph->path ? adept_no_memory(err, spec) : status;
}

adept_status adept_spec_read(adept_graph **out, const char *spec, uint64_t memory_bytes, adept_error *err)
{
    const char *base = spec + sizeof ADEPT_SPEC_SCHEME - 1, *mark = strchr(base, '?');
    char name[100];
    cJSON *words = NULL;
    adept_graph *graph = NULL;
    if (memory_bytes == 0) memory_bytes = ADEPT_MEMORY_BYTES;
    if (snprintf(name, sizeof name, "%.*s", mark ? (int)(mark - base) : (int)strlen(base), base) >= (int)sizeof name)
        return adept_error_set(err, ADEPT_E_INVALID, "%.80s...: no name of a family is as long", spec);
    adept_status status = adept_keys_parse_words(&words, spec, mark ? mark + 1 : "", err);
    if (status == ADEPT_OK) status = read_base(&graph, spec, name, words, memory_bytes, err);
    cJSON_Delete(words);
    if (status == ADEPT_OK) status = hash_spec(graph, spec, err);
    if (status == ADEPT_OK)
        *out = graph;
    else
        adept_graph_free(graph);
    return status;
}

adept_status adept_config_import(adept_graph **out, const char *name, const void *data, size_t size,
                                 uint64_t memory_bytes, adept_error *err)
{
    adept_source source;
    if (!data && adept_is_spec(name)) return adept_spec_read(out, name, memory_bytes, err);
    adept_status status = adept_source_open(&source, name, data, size, err);
    if (status != ADEPT_OK) return status;
    if (memory_bytes > 0) source.memory_bytes = memory_bytes;
    status = adept_config_read(out, &source, err);
    adept_source_close(&source);
    return status;
}

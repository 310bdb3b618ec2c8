/* Saved profiles: options and graph, under a hash that is right; or the JSON of the file. */
#include "mutate.h"
#include "saved.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void put_text(cJSON *object, const char *key, const char *text)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddStringToObject(object, key, text);
}

static void put_count(cJSON *options, const char *key, int64_t *count, fuzz_random *r)
{
    *count = (int64_t)fuzz_pick(r, fuzz_pick(r, 2) ? 9 : 5000);
    cJSON_DeleteItemFromObjectCaseSensitive(options, key);
    if (*count > 0) cJSON_AddNumberToObject(options, key, (double)*count);
}

static void change_options(cJSON *options, adept_workload_config *c, fuzz_random *r)
{
    switch (fuzz_pick(r, 7)) {
    case 0:
        c->mode = (adept_mode)fuzz_pick(r, 3);
        put_text(options, "mode", adept_mode_name(c->mode));
        break;
    case 1:
        c->precision = (adept_precision)fuzz_pick(r, ADEPT_PRECISION_COUNT);
        put_text(options, "precision", adept_precision_name(c->precision));
        break;
    case 2:
        c->attention = (adept_attention)fuzz_pick(r, 3);
        put_text(options, "attention", adept_attention_name(c->attention));
        break;
    case 3:
        c->execution = (adept_execution)fuzz_pick(r, 2);
        put_text(options, "execution", adept_execution_name(c->execution));
        break;
    case 4:
        put_count(options, "batch_size", &c->batch_size, r);
        break;
    case 5:
        put_count(options, "seq_length", &c->seq_length, r);
        break;
    default:
        put_count(options, "grad_accum", &c->grad_accum, r);
    }
}

static void put_graph(cJSON *root, const adept_workload_config *config, const adept_buffer *bytes)
{
    char hash[ADEPT_SHA256_SIZE], *data = NULL;
    cJSON *graph = cJSON_GetObjectItemCaseSensitive(root, "graph");
    if (adept_saved_graph(hash, &data, config, bytes, NULL) == ADEPT_OK) {
        put_text(graph, "sha256", hash);
        put_text(graph, "data", data);
    }
    free(data);
}

size_t fuzz_mutate_saved(uint8_t *data, size_t size, size_t max_size, fuzz_random *r)
{
    adept_graph *g = NULL;
    adept_workload_config config;
    adept_buffer bytes = {0};
    cJSON *root = NULL;
    char *text = NULL;
    if (fuzz_pick(r, 4) == 0 || adept_saved_parse(&g, &config, "", (char *)data, size, 0, NULL) != ADEPT_OK)
        return fuzz_mutate_json(data, size, max_size, r);
    size_t n = 0;
    if ((root = cJSON_ParseWithLength((char *)data, size)) != NULL) {
        if (fuzz_pick(r, 3) == 0) change_options(cJSON_GetObjectItemCaseSensitive(root, "options"), &config, r);
        for (size_t left = fuzz_pick(r, 5); left > 0; left--)
            fuzz_change_graph(g, r);
        if (adept_graph_write(&bytes, g, NULL) == ADEPT_OK) {
            put_graph(root, &config, &bytes);
            text = cJSON_PrintUnformatted(root);
            n = text && strlen(text) <= max_size ? strlen(text) : 0;
        }
    }
    if (n > 0) memcpy(data, text, n);
    free(text);
    free(bytes.data);
    cJSON_Delete(root);
    adept_graph_free(g);
    return n;
}

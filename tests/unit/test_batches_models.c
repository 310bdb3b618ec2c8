/* Batch sizes of every bundled model: the profile made from a few walks is, to the last byte of its JSON, that of
 * profiling the model at the batch, at every batch checked here, between and beyond what was walked; also after a round
 * trip through a file. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "batches_compare.h"
#include "bundled_models.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct model {
    const adept_graph *graph;
    adept_workload_config config;
} model;

static size_t n_ranges, n_compared, n_unwalked, n_fixed;

static adept_status profile_at(adept_profile **out, int64_t batch, int64_t seq_length, void *context, adept_error *err)
{
    (void)seq_length;
    model *m = context;
    m->config.batch_size = batch;
    return adept_profile_build(out, m->graph, adept_handlers(), &m->config, NULL, NULL, err);
}

static bool was_walked(const adept_batches *b, int64_t batch)
{
    size_t n;
    const int64_t *checked = adept_batches_checked(b, &n);
    for (size_t i = 0; i < n; i++)
        if (checked[i] == batch) return true;
    return false;
}

static void compare(const adept_batches *b, model *m, int64_t batch, const char *path)
{
    adept_profile *made = NULL, *walked = NULL;
    adept_error err = {0};
    if (adept_batches_at(&made, b, batch, &err) != ADEPT_OK)
        fail_msg("%s at %lld: %s", path, (long long)batch, err.message);
    if (profile_at(&walked, batch, 0, m, &err) != ADEPT_OK)
        fail_msg("%s at %lld: %s", path, (long long)batch, err.message);
    profiles_are_same(made, walked, path);
    n_compared++;
    n_unwalked += !was_walked(b, batch);
}

static void check_range(model *m, int64_t low, int64_t high, const char *path)
{
    adept_batches *b = NULL, *read = NULL;
    adept_profile *outside = NULL;
    adept_error err = {0};
    const adept_batch_range range = {.low = low, .high = high, .base = low + (high - low) / 3};
    if (adept_batches_new(&b, profile_at, m, &range, &err) != ADEPT_OK) fail_msg("%s: %s", path, err.message);
    char *text = adept_batches_to_json(b);
    assert_non_null(text);
    if (adept_batches_from_json(&read, path, text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *again = adept_batches_to_json(read);
    assert_string_equal(text, again);
    const int64_t batches[] = {
        low, range.base, high, low + 1, low + 2, high - 1, low + (high - low) * 5 / 17, low + (high - low) * 11 / 17,
        37,  100,        129};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        if (batches[i] >= low && batches[i] <= high) compare(i % 2 ? b : read, m, batches[i], path);
    assert_int_equal(adept_batches_at(&outside, b, high + 1, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_batches_at(&outside, b, low - 1, &err), ADEPT_E_USAGE);
    assert_null(outside);
    n_ranges++;
    free(text);
    free(again);
    adept_batches_free(b);
    adept_batches_free(read);
}

static void check_model(const char *path, void *context)
{
    (void)context;
    adept_graph *graph = NULL;
    adept_profile *profile = NULL;
    adept_error err = {0};
    if (adept_import_model(&graph, path, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    model m = {.graph = graph};
    if (profile_at(&profile, 3, 0, &m, &err) != ADEPT_OK) {
        n_fixed++; /* traced for one batch size: there is nothing to change */
        print_message("%s: %s\n", strrchr(path, '/') + 1, err.message);
    } else {
        check_range(&m, 1, 150, path);
        m.config = (adept_workload_config){.mode = ADEPT_MODE_INFER, .precision = ADEPT_AMP_FP16};
        check_range(&m, 2, 12, path);
    }
    adept_profile_free(profile);
    adept_graph_free(graph);
}

static void all_bundled_models(void **state)
{
    (void)state;
    size_t n_models = bundled_models_each(check_model, NULL);
    print_message("%zu models, %zu of one batch size; %zu ranges, %zu profiles compared, %zu of batches not walked\n",
                  n_models, n_fixed, n_ranges, n_compared, n_unwalked);
    assert_true(n_models >= 20 && n_fixed <= n_models / 4);
    assert_true(n_unwalked > n_models);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    if (!getenv("ADEPT_TORCH_MODULE")) return 77; /* built without libtorch: no .pt can be read */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Sequence lengths of every bundled language model: the profile made for a batch and a length is, to the last byte of
 * its JSON, that of profiling the model with them, at the ends, at odd sizes and at random ones, also after a round
 * trip through a file. Where a model has positions for so many tokens only, longer ones are refused. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "batches_compare.h"
#include "bundled_models.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define HIGH_BATCH 100

typedef struct model {
    const adept_graph *graph;
    adept_workload_config config;
    const char *path;
} model;

/* Bundled language models, and how many tokens they take; 0: their trace sets no limit. */
static const struct {
    const char *name;
    int64_t most;
    size_t n_inputs;
} expected[] = {
    {"albert_base_v2", 512, 1},
    {"bert_base_qa", 512, 1},
    {"bert_large_pretrain", 512, 1},
    {"bert_large_seqcls", 512, 1},
    {"distilbert_base", 512, 1},
    {"gpt2_large", 1024, 1},
    {"gpt2_xl", 1024, 1},
    {"gpt3_27", 2048, 1},
    {"gpt3_xl", 2048, 1},
    {"llama3_8b", 0, 1},
    {"opt_13", 2048, 1},
    {"qwen2.5_0.5b", 0, 1},
    {"qwen2.5_1.5b", 0, 1},
    {"qwen2.5_3b", 0, 1},
    {"switch_base_8", 0, 2},
    {"t5_base", 0, 2},
    {"tinyllama_1.1b", 0, 1},
};
#define N_EXPECTED (sizeof expected / sizeof *expected)

/* Sanitizers look at the code, not at the numbers, and take ten times as long: one model of each kind will do. */
#ifdef __SANITIZE_ADDRESS__
#define MODELS_TAKEN 4
static bool is_taken(size_t i)
{
    return strcmp(expected[i].name, "gpt2_large") == 0 || strcmp(expected[i].name, "opt_13") == 0 ||
           strcmp(expected[i].name, "t5_base") == 0 || strcmp(expected[i].name, "tinyllama_1.1b") == 0;
}
#else
#define MODELS_TAKEN N_EXPECTED
static bool is_taken(size_t i)
{
    return i < N_EXPECTED;
}
#endif

static size_t n_models, n_compared;
static uint64_t seed = 20261122;

static int64_t random_between(int64_t low, int64_t high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

static adept_status profile_at(adept_profile **out, int64_t batch, int64_t seq_length, void *context, adept_error *err)
{
    model *m = context;
    m->config.batch_size = batch;
    m->config.seq_length = seq_length;
    return adept_profile_build(out, m->graph, adept_handlers(), &m->config, NULL, NULL, err);
}

static void compare(const adept_batches *b, model *m, int64_t batch, int64_t length)
{
    adept_profile *made = NULL, *walked = NULL;
    adept_error err = {0};
    if (adept_batches_at_length(&made, b, batch, length, &err) != ADEPT_OK) fail_msg("%s: %s", m->path, err.message);
    if (profile_at(&walked, batch, length, m, &err) != ADEPT_OK) fail_msg("%s: %s", m->path, err.message);
    profiles_are_same(made, walked, m->path);
    n_compared++;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check_sizes(const adept_batches *b, const adept_batches *read, model *m, int64_t low, int64_t high)
{
    const int64_t lengths[] = {low, low + 1, high, high - 1, 37, 64, 77, 80, 128, 768, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (lengths[i] >= low && lengths[i] <= high) {
            compare(b, m, 3, lengths[i]);
            compare(read, m, i % 3 == 0 ? 1 : 7, lengths[i]);
        }
    for (int i = 0; i < 6; i++)
        compare(i % 2 ? b : read, m, random_between(1, HIGH_BATCH), random_between(low, high));
    adept_profile *outside = NULL;
    adept_error err = {0};
    assert_int_equal(adept_batches_at_length(&outside, b, 1, high + 1, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "a sequence length of"));
    assert_int_equal(adept_batches_at_length(&outside, b, HIGH_BATCH + 1, low, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "a batch of 101"));
}

static void check_range(model *m, int64_t low, int64_t high)
{
    adept_batches *b = NULL, *read = NULL;
    adept_error err = {0};
    double start_s = now_s();
    const adept_batch_range range = {
        .low = 1, .high = HIGH_BATCH, .base = 8, .lengths = {.low = low, .high = high, .base = low + (high - low) / 3}};
    if (adept_batches_new(&b, profile_at, m, &range, &err) != ADEPT_OK) fail_msg("%s: %s", m->path, err.message);
    double built_s = now_s();
    char *text = adept_batches_to_json(b);
    assert_non_null(text);
    double written_s = now_s();
    if (adept_batches_from_json(&read, m->path, text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    print_message("%-24s lengths %4lld to %lld: %zu walks in %.1f s, %.2f MB, read in %.1f ms\n", m->path,
                  (long long)low, (long long)high, adept_batches_walks(b), built_s - start_s,
                  1e-6 * (double)strlen(text), 1e3 * (now_s() - written_s));
    assert_true(strlen(text) < 6000000);
    char *again = adept_batches_to_json(read);
    assert_string_equal(text, again);
    check_sizes(b, read, m, low, high);
    free(text);
    free(again);
    adept_batches_free(b);
    adept_batches_free(read);
}

/* One more token than there are positions. */
static void check_limit(model *m, int64_t most)
{
    adept_batches *b = NULL;
    adept_profile *p = NULL;
    adept_error err = {0};
    if (most == 0) return;
    assert_int_equal(profile_at(&p, 2, most + 1, m, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "mod"));
    const adept_batch_range range = {
        .low = 1, .high = 2, .base = 1, .lengths = {.low = 1, .high = most + 1, .base = 1}};
    assert_int_equal(adept_batches_new(&b, profile_at, m, &range, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "and a sequence length of"));
    assert_null(b);
}

static void check_model(const char *path, void *context)
{
    (void)context;
    adept_graph *graph = NULL;
    adept_error err = {0};
    const char *name = strrchr(path, '/') + 1;
    size_t i = 0;
    while (i < N_EXPECTED && (strncmp(name, expected[i].name, strlen(expected[i].name)) != 0 ||
                              strcmp(name + strlen(expected[i].name), ".pt") != 0))
        i++;
    if (i == N_EXPECTED || !is_taken(i)) return;
    if (adept_import_model(&graph, path, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_input_spec inputs[2];
    for (int k = 0; k < 2; k++)
        assert_int_equal(adept_input_spec_parse(&inputs[k], "i64:BxS", NULL), ADEPT_OK);
    model m = {.graph = graph, .path = expected[i].name};
    if (expected[i].n_inputs == 2) m.config.n_inputs = 2, m.config.inputs = inputs;
    check_limit(&m, expected[i].most);
    m.config.length_is_open = true;
    check_range(&m, 1, expected[i].most ? expected[i].most : 2500);
    m.config.mode = ADEPT_MODE_INFER;
    m.config.precision = ADEPT_AMP_BF16;
    m.config.attention = ADEPT_ATTENTION_FUSED;
    check_range(&m, 100, 500);
    adept_graph_free(graph);
    n_models++;
}

static void all_language_models(void **state)
{
    (void)state;
    bundled_models_each(check_model, NULL);
    print_message("%zu models, %zu profiles compared\n", n_models, n_compared);
    assert_int_equal(n_models, MODELS_TAKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_language_models)};
    if (!getenv("ADEPT_TORCH_MODULE")) return 77; /* built without libtorch: no .pt can be read */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

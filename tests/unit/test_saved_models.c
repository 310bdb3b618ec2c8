/* Every bundled model through a saved profile: the same bytes of JSON, the same bits of predictions, whatever it was
 * saved with and whatever is asked of it afterwards. What a language model's positions allow is what its file allows.
 */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_model.h"
#include "adept_prediction_json.h"
#include "bundled_models.h"
#include "torchscript_file.h"
#include "saved_models.h"
#include "cmocka_test.h"
#include <unistd.h>

/* How many tokens the bundled language models take; 0: their trace sets no limit. */
static const struct {
    const char *name;
    int64_t most;
    size_t n_inputs;
} language[] = {
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
#define N_LANGUAGE (sizeof language / sizeof *language)

#ifdef ADEPT_SANITIZED /* which makes each ten times as long, and another build has all of them */
#define SOME 4
#else
#define SOME 1
#endif
static size_t n_seen, n_models, n_language, n_compared, n_refused;
static adept_hwprofile *gpus[3];

/* The profile as JSON, and predictions of it; NULL and the message where it cannot be walked. malloc'ed */
static char *outcome(const adept_graph *graph, const adept_workload_config *config, adept_error *err)
{
    adept_profile *p = NULL;
    if (adept_profile_build(&p, graph, adept_handlers(), config, NULL, NULL, err) != ADEPT_OK) return NULL;
    char *all = adept_profile_to_json(p);
    for (size_t i = 0; i < 3; i++) {
        const adept_run run = {.gpus = i == 2 ? 8 : 1, .power_limit_w = i == 1 ? 0.7 * gpus[i]->specs.tdp_w : 0};
        adept_prediction prediction;
        char *grown = NULL;
        if (adept_predict(&prediction, p, gpus[i], &run, err) != ADEPT_OK) continue; /* no such units */
        char *json = adept_prediction_to_json(&prediction, p, gpus[i], &run, NULL, NULL, NULL, 0);
        assert_true(all && json && asprintf(&grown, "%s%s", all, json) > 0);
        free(all);
        free(json);
        all = grown;
    }
    adept_profile_free(p);
    assert_non_null(all);
    return all;
}

static void compare(const char *path, const adept_graph *graph, const adept_workload_config *config,
                    const adept_graph *read, const adept_workload_config *recorded)
{
    adept_error a = {0}, b = {0};
    char *want = outcome(graph, config, &a), *got = outcome(read, recorded, &b);
    if (!want || !got) {
        if (want || got) fail_msg("%s: %s%s", path, a.message, b.message);
        assert_int_equal(a.status, b.status);
        assert_string_equal(a.message, b.message);
        n_refused++;
    } else if (strcmp(want, got) != 0) {
        fail_msg("%s: differs", path);
    } else {
        n_compared++;
    }
    free(want);
    free(got);
}

/* Save with one configuration, read, and ask for it and for others. */
static void through_file(const char *path, const adept_graph *graph, const adept_workload_config *config)
{
    static const adept_workload_config over[] = {
        {.batch_size = 3},
        {.mode = ADEPT_MODE_INFER,
         .precision = ADEPT_AMP_FP16,
         .batch_size = 129},
        {.precision = ADEPT_PURE_BF16, .optimizer = "sgd", .grad_accum = 4},
        {.attention = ADEPT_ATTENTION_FUSED, .seq_length = 77},
    };
    adept_profile *p = NULL;
    adept_graph *read = NULL;
    adept_workload_config recorded;
    char *text = NULL;
    adept_error err = {0};
    if (adept_profile_build(&p, graph, adept_handlers(), config, NULL, NULL, &err) != ADEPT_OK) {
        n_refused++; /* a batch that the trace fixed, no sequence to choose the length of */
        return;
    }
    if (adept_saved_write(&text, p, graph, config, &err) != ADEPT_OK) fail_msg("%s: %s", path, err.message);
    if (adept_saved_parse(&read, &recorded, path, text, strlen(text), 0, &err) != ADEPT_OK) fail_msg("%s", err.message);
    free(text);
    adept_profile_free(p);
    compare(path, graph, config, read, &recorded);
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        adept_workload_config mine = *config, theirs = recorded;
        adept_workload_config_over(&mine, &over[i]);
        adept_workload_config_over(&theirs, &over[i]);
        compare(path, graph, &mine, read, &theirs);
    }
    adept_graph_free(read);
}

/* The last length that there are positions for, and one token more. */
static void check_lengths(const char *path, const adept_graph *graph, int64_t most, size_t n_inputs)
{
    static adept_input_spec inputs[2];
    adept_workload_config config = {.batch_size = 2, .seq_length = most ? most : 2500};
    adept_profile *p = NULL;
    adept_error err = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(adept_input_spec_parse(&inputs[i], "i64:BxS", NULL), ADEPT_OK);
    if (n_inputs == 2) config.n_inputs = 2, config.inputs = inputs;
    if (adept_profile_build(&p, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    adept_profile_free(p);
    p = NULL;
    if (!bundled_again(strrchr(path, '/') + 1)) {
        through_file(path, graph, &config);
        config.mode = ADEPT_MODE_INFER;
        config.seq_length = 1;
        through_file(path, graph, &config);
    }
    if (most == 0) return;
    config.seq_length = most + 1;
    assert_int_equal(adept_profile_build(&p, graph, adept_handlers(), &config, NULL, NULL, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "mod"));
}

/* The profile beside a bundled model holds what its file holds: tools/zoo/save_profiles.py makes it anew. */
static void check_bundled(const char *name, const adept_graph *graph)
{
    char profile[ADEPT_MODULE_PATH_BYTES];
    adept_graph *read = NULL, named = *graph;
    adept_workload_config recorded;
    adept_buffer want = {0}, got = {0};
    adept_error err = {0};
    char *stem = strndup(name, strlen(name) - strlen(".pt"));
    if (!adept_models_bundled(profile, stem)) fail_msg("%s has no profile", name);
    if (adept_saved_read(&read, &recorded, profile, 0, &err) != ADEPT_OK) fail_msg("%s", err.message);
    named.path = name; /* it was read from its folder */
    assert_int_equal(adept_graph_write(&want, &named, &err), ADEPT_OK);
    assert_int_equal(adept_graph_write(&got, read, &err), ADEPT_OK);
    if (want.size != got.size || memcmp(want.data, got.data, want.size) != 0) fail_msg("%s is out of date", profile);
    /* nothing of it is chosen: the file's own shapes and the defaults count */
    assert_true(recorded.mode == ADEPT_MODE_TRAIN && recorded.precision == ADEPT_FP32);
    assert_true(recorded.n_inputs == 0 && recorded.batch_size == 0 && !recorded.optimizer);
    adept_buffer_free(&want);
    adept_buffer_free(&got);
    adept_graph_free(read);
    free(stem);
}

static void check_model(const char *path, void *context)
{
    static const adept_workload_config configs[] = {
        {.mode = ADEPT_MODE_TRAIN},
        {.mode = ADEPT_MODE_FWBW, .precision = ADEPT_AMP_BF16, .batch_size = 7, .grad_accum = 2},
        {.mode = ADEPT_MODE_INFER, .precision = ADEPT_TF32, .attention = ADEPT_ATTENTION_FUSED, .batch_size = 1},
    };
    adept_graph *graph = NULL;
    adept_error err = {0};
    const char *name = strrchr(path, '/') + 1;
    if (SOME > 1 && context && n_seen++ % SOME != 0) return;
    if (adept_import_model(&graph, path, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (context) check_bundled(name, graph);
    for (size_t i = 0; !bundled_again(name) && i < sizeof configs / sizeof *configs; i++)
        through_file(path, graph, &configs[i]);
    for (size_t i = 0; i < N_LANGUAGE; i++) {
        size_t n = strlen(language[i].name);
        if (strncmp(name, language[i].name, n) != 0 || strcmp(name + n, ".pt") != 0) continue;
        check_lengths(path, graph, language[i].most, language[i].n_inputs);
        n_language++;
    }
    adept_graph_free(graph);
    n_models++;
}

static void all_bundled_models(void **state)
{
    (void)state;
    static const char *const names[] = {"a100-pcie-40gb", "v100-pcie-32gb", "h100-sxm-80gb"};
    adept_error err = {0};
    for (size_t i = 0; i < 3; i++)
        if (adept_hwprofile_open(&gpus[i], names[i], &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (getenv("ADEPT_TORCH_MODULE")) { /* else no .pt can be read */
        test_torchscript_inherit();
        assert_int_equal(bundled_models_each(true, check_model, &n_models), 28);
        assert_true(SOME > 1 ? n_language > 0 : n_language == N_LANGUAGE);
    }
    static const char *const exported[] = {"resnet50.pt2", "vit_b_16.pt2"};
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        snprintf(path, sizeof path, ADEPT_SHARED_DIR "/models/%s", exported[i]);
        if (access(path, R_OK) == 0) check_model(path, NULL);
    }
    print_message("%zu models, %zu walks compared, %zu refused alike\n", n_models, n_compared, n_refused);
    if (n_models == 0) skip();
    assert_true(n_compared > 5 * n_models);
    for (size_t i = 0; i < 3; i++)
        adept_hwprofile_free(gpus[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

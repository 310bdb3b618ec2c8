/* Workloads of the library: from memory, from models, through one another, and a message for bytes and options that are
 * wrong. */
#include "library_files.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void workload_from_memory(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_workload *from_file = open_workload(MLP, NULL), *w = NULL;
    size_t size;
    char *text = read_all(MLP, &size);
    assert_int_equal(adept_workload_read(&w, "mlp", text, size, NULL, &err), ADEPT_OK);
    memset(text, 'x', size); /* the bytes may go */
    char *a = NULL, *b = NULL;
    assert_int_equal(adept_workload_to_json(&a, from_file, &err), ADEPT_OK);
    assert_int_equal(adept_workload_to_json(&b, w, &err), ADEPT_OK);
    assert_string_equal(a, b);
    adept_workload_info info;
    adept_workload_describe(&info, w);
    assert_string_equal(info.mode, "train");
    assert_string_equal(info.precision, "fp32");
    assert_string_equal(info.optimizer, "adamw");
    assert_int_equal(info.batch_size, 256);
    assert_int_equal(info.params, 4239370);
    assert_true(info.flops_forward > 2 * info.macs_forward && info.flops_backward > info.flops_forward);
    adept_text_free(a);
    adept_text_free(b);
    free(text);
    adept_workload_free(w);
    adept_workload_free(from_file);
}

static void refuse_bytes(const char *bytes, size_t size, adept_status expected, const char *part)
{
    adept_error err = {0};
    adept_workload *w = NULL;
    assert_int_equal(adept_workload_read(&w, "upload", bytes, size, NULL, &err), expected);
    assert_null(w);
    if (!strstr(err.message, "upload") || !strstr(err.message, part))
        fail_msg("\"%s\" does not name upload and \"%s\"", err.message, part);
}

static void bad_bytes_are_messages(void **state)
{
    (void)state;
    refuse_bytes("", 0, ADEPT_E_INVALID, "empty");
    refuse_bytes("{", 1, ADEPT_E_INVALID, "");
    refuse_bytes("{}", 2, ADEPT_E_INVALID, "");
    refuse_bytes("hello", 5, ADEPT_E_INVALID, "neither a zip archive");
    refuse_bytes("PK\3\4 not one", 12, ADEPT_E_INVALID, "zip archive");
    size_t size;
    char *text = read_all(MLP, &size);
    for (size_t n = 0; n < size - 2; n += 97) /* cut off anywhere */
        refuse_bytes(text, n, ADEPT_E_INVALID, "");
    free(text);
    char *torchscript = read_all(ADEPT_SOURCE_DIR "/tests/cli/data/unsupported.pt", &size);
    refuse_bytes(torchscript, size, ADEPT_E_UNSUPPORTED, "adept profile");
    free(torchscript);
    adept_error err = {0};
    adept_workload *w = NULL;
    assert_int_equal(adept_workload_open(&w, ADEPT_SOURCE_DIR "/tests/cli/data/unsupported.pt", NULL, &err),
                     ADEPT_E_UNSUPPORTED);
    assert_int_equal(adept_workload_open(&w, "/nonexistent", NULL, &err), ADEPT_E_INVALID);
    assert_int_equal(adept_workload_open(&w, NULL, NULL, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_open(NULL, MLP, NULL, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_read(&w, "x", NULL, 3, NULL, &err), ADEPT_E_USAGE);
    assert_null(w);
    adept_workload_free(NULL);
    adept_gpu_free(NULL);
    adept_oracle_free(NULL);
    adept_text_free(NULL);
}

static void bad_options_are_messages(void **state)
{
    (void)state;
    static const char *const other[] = {"Bx1000", NULL}, *const unknown[] = {"grad_acum=2", NULL},
                             *const no_count[] = {"grad_accum=0", NULL},
                             *const no_word[] = {"mode=train", "precision=fp31", NULL};
    const adept_model_options wrong[] = {{.mode = "walk"},
                                         {.precision = "fp31"},
                                         {.optimizer = "magic"},
                                         {.attention = "none"},
                                         {.n_inputs = 1},
                                         {.batch_size = -1},
                                         {.seq_length = -1},
                                         {.grad_accum = -1},
                                         {.inputs = other, .n_inputs = 1},
                                         {.seq_length = 7},
                                         {.memory_format = "fhwc"},
                                         {.optimizer_impl = "apex"},
                                         {.optimizer_extras = "clip,"},
                                         {.execution = "lazy"},
                                         {.framework = "jax"},
                                         {.words = other},
                                         {.words = unknown},
                                         {.words = no_count},
                                         {.words = no_word}};
    adept_workload *loaded = open_workload(MLP, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        adept_error err = {0};
        adept_workload *w = NULL;
        assert_int_equal(adept_workload_open(&w, MLP, &wrong[i], &err), ADEPT_E_USAGE);
        assert_null(w);
        assert_true(strlen(err.message) > 10);
        assert_int_equal(adept_workload_with(&w, loaded, &wrong[i], &err), ADEPT_E_USAGE);
        assert_null(w);
    }
    adept_workload_free(loaded);
}

/* A bundled model by its name, under options, and what is called nearly so. */
static void bundled_model(void **state)
{
    (void)state;
    adept_error err = {0};
    const adept_model_options options = {.mode = "infer", .precision = "bf16", .batch_size = 3};
    adept_workload *w = open_workload("resnet50", &options);
    adept_workload_info info;
    adept_workload_describe(&info, w);
    assert_string_equal(info.model, "resnet50.pt");
    assert_int_equal(info.batch_size, 3);
    assert_int_equal(info.params, 25557032);
    assert_true(info.macs_forward == 3 * 4089184256.0); /* of images of 224 x 224 */
    adept_workload_free(w);
    assert_int_equal(adept_workload_open(&w, "resnet5O", NULL, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message,
                        "resnet5O: no such file, and no bundled model of that name; did you mean resnet50?");
}

/* torch.export's archives come with the optional reference data. */
/* A configuration in place of a file of PyTorch: by a bundled name, in words, from memory. */
static void configured_model(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model_type\":\"llama\",\"num_hidden_layers\":32,\"hidden_size\":4096,\"num_attention_heads\":32,"
        "\"num_key_value_heads\":8,\"intermediate_size\":14336,\"vocab_size\":128256}";
    adept_error err = {0};
    adept_model_options options = {.batch_size = 2, .seq_length = 64};
    adept_workload *of[3] = {open_workload("llama-3-8b", &options), open_workload("adept:llama", &options), NULL};
    if (adept_workload_read(&of[2], "memory", text, sizeof text - 1, &options, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    for (int i = 0; i < 3; i++) {
        adept_workload_info info, first;
        adept_workload_describe(&info, of[i]);
        adept_workload_describe(&first, of[0]);
        assert_int_equal(info.params, 8030261248);
        assert_true(info.macs_forward == first.macs_forward && info.flops_backward == first.flops_backward);
        assert_int_equal(info.seq_length, 64);
    }
    for (int i = 0; i < 3; i++)
        adept_workload_free(of[i]);
    assert_int_equal(adept_workload_open(&of[0], "adept:mamba", NULL, &err), ADEPT_E_UNSUPPORTED);
}

static void exported_model(void **state)
{
    (void)state;
    const char *path = ADEPT_SHARED_DIR "/models/resnet50.pt2";
    if (access(path, R_OK) != 0) skip();
    adept_error err = {0};
    const adept_model_options options = {.mode = "infer", .precision = "bf16"};
    adept_workload *file = open_workload(path, &options), *memory = NULL;
    size_t size;
    char *bytes = read_all(path, &size);
    if (adept_workload_read(&memory, path, bytes, size, &options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    free(bytes);
    char *a = NULL, *b = NULL;
    assert_int_equal(adept_workload_to_json(&a, file, NULL), ADEPT_OK);
    assert_int_equal(adept_workload_to_json(&b, memory, NULL), ADEPT_OK);
    assert_string_equal(a, b); /* hash of the file included */
    adept_workload_info info;
    adept_workload_describe(&info, memory);
    assert_string_equal(info.mode, "infer");
    assert_string_equal(info.precision, "bf16");
    assert_int_equal(info.params, 25557032); /* torchvision's ResNet-50 */
    assert_true(info.flops_backward == 0);
    adept_text_free(a);
    adept_text_free(b);
    adept_workload_free(memory);
    adept_workload_free(file);
}

static char *json_of(const adept_workload *w)
{
    char *text = NULL;
    assert_int_equal(adept_workload_to_json(&text, w, NULL), ADEPT_OK);
    return text;
}

/* What a workload is made into, directly, through another one, from a file and from the model, is the same to the byte.
 */
static void check_ways(const char *path, const adept_model_options *options)
{
    static const adept_model_options between = {.mode = "infer",
                                                .precision = "bf16",
                                                .optimizer = "sgd",
                                                .attention = "fused",
                                                .batch_size = 3,
                                                .grad_accum = 7};
    adept_error err = {0};
    adept_workload *loaded = open_workload(path, NULL), *want = open_workload(path, options), *w[3] = {NULL},
                   *other = NULL, *saved = NULL;
    if (adept_workload_with(&w[0], loaded, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_workload_with(&other, loaded, &between, &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *text = json_of(loaded), *expected = json_of(want);
    if (adept_workload_read(&saved, "saved", text, strlen(text), NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_workload_with(&w[1], saved, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_workload_read(&w[2], "saved", text, strlen(text), options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (int i = 0; i < 3; i++) {
        char *got = json_of(w[i]);
        assert_string_equal(got, expected);
        adept_text_free(got);
        adept_workload_free(w[i]);
    }
    char *of_other = json_of(other); /* nothing of it has changed meanwhile */
    adept_workload_info info;
    adept_workload_describe(&info, other);
    assert_true(info.batch_size == 3 && info.grad_accum == 7 && info.flops_backward == 0);
    assert_string_equal(info.precision, "bf16");
    assert_non_null(strstr(of_other, "\"options\""));
    adept_text_free(of_other);
    adept_text_free(text);
    adept_text_free(expected);
    adept_workload_free(other);
    adept_workload_free(saved);
    adept_workload_free(loaded);
    adept_workload_free(want);
}

static void every_way_to_a_workload(void **state)
{
    (void)state;
    static const char *const shape[] = {"9x1024"};
    const adept_model_options options[] = {
        {.batch_size = 33},
        {.mode = "infer", .precision = "fp16"},
        {.mode = "fwbw", .precision = "pure-bf16", .grad_accum = 2, .batch_size = 1},
        {.optimizer = "adadelta", .inputs = shape, .n_inputs = 1},
        {.memory_format = "channels_last", .optimizer_impl = "fused", .optimizer_extras = "clip,ema"},
        {.execution = "compile"},
        {.framework = "torch1"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        check_ways(MLP, &options[i]);
    const adept_model_options length = {.attention = "fused", .batch_size = 2, .seq_length = 99};
    check_ways(LENGTHS, &length);
    const char *path = ADEPT_SHARED_DIR "/models/resnet50.pt2";
    if (access(path, R_OK) == 0)
        for (size_t i = 0; i < 3; i++)
            check_ways(path, &options[i]);
}

/* Sizes of a language model; what is not given is kept, and there are positions for 100 tokens. */
static void other_sequence_lengths(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_workload *w = open_workload(LENGTHS, NULL), *at = NULL, *other = NULL, *opened = NULL;
    adept_workload_info info;
    adept_workload_describe(&info, w);
    assert_true(info.batch_size == 4 && info.seq_length == 16);
    double flops = info.flops_forward;
    static const int64_t lengths[] = {1, 7, 33, 100};
    for (size_t i = 0; i < 4; i++) {
        if (adept_workload_at(&at, w, 3, lengths[i], &err) != ADEPT_OK) fail_msg("%s", err.message);
        adept_workload_describe(&info, at);
        assert_true(info.batch_size == 3 && info.seq_length == lengths[i]);
        assert_true((info.flops_forward > flops) == (3 * lengths[i] > 4 * 16));
        assert_int_equal(adept_workload_at(&other, at, 5, 0, &err), ADEPT_OK); /* keeps the length */
        adept_workload_describe(&info, other);
        assert_true(info.batch_size == 5 && info.seq_length == lengths[i]);
        adept_workload_free(other);
        const adept_model_options options = {.batch_size = 3, .seq_length = lengths[i]};
        opened = open_workload(LENGTHS, &options);
        char *got = json_of(at), *want = json_of(opened);
        assert_string_equal(got, want);
        adept_text_free(got);
        adept_text_free(want);
        adept_workload_free(opened);
        adept_workload_free(at);
    }
    at = NULL;
    assert_int_equal(adept_workload_at(&at, w, 0, 101, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "position 100 lies beyond the table of 100"));
    assert_int_equal(adept_workload_at(&at, w, -1, 0, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_at(&at, w, 0, -1, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_at(&at, NULL, 0, 0, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_at(NULL, w, 0, 0, &err), ADEPT_E_USAGE);
    assert_null(at);
    assert_int_equal(adept_workload_at(&at, w, 0, 0, &err), ADEPT_OK);
    char *a = json_of(w), *b = json_of(at);
    assert_string_equal(a, b);
    adept_text_free(a);
    adept_text_free(b);
    adept_workload_free(at);
    adept_workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workload_from_memory),
        cmocka_unit_test(bad_bytes_are_messages),
        cmocka_unit_test(bad_options_are_messages),
        cmocka_unit_test(bundled_model), cmocka_unit_test(configured_model), cmocka_unit_test(exported_model),
        cmocka_unit_test(every_way_to_a_workload),
        cmocka_unit_test(other_sequence_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

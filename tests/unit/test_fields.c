/* The table of words: every door knows every word, and docs/WORDS.md is what the table says.
 * ADEPT_WRITE_WORDS=1 build/tests/test_fields writes the document anew. */
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_measurements.h"
#include "adept_sweep.h"
#include "field_options.h"
#include "load.h"
#include "serve/request.h"
#include "step_options.h"
#include "cmocka_test.h"
#include <adept/adept.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define WORDS ADEPT_SOURCE_DIR "/docs/WORDS.md"
#define N_FIELDS (ADEPT_N_WORKLOAD_FIELDS + ADEPT_N_RUN_FIELDS)

static bool is_of_run(size_t i)
{
    return i >= ADEPT_N_WORKLOAD_FIELDS;
}

static const adept_field *field_at(size_t i)
{
    return is_of_run(i) ? adept_run_field(i - ADEPT_N_WORKLOAD_FIELDS) : adept_workload_field(i);
}

/* A value that is not what is taken for nothing. */
static const char *value_of(const adept_field *f)
{
    switch (f->kind) {
    case ADEPT_FIELD_SWITCH:
        return "true";
    case ADEPT_FIELD_COUNT:
        return "2";
    case ADEPT_FIELD_AMOUNT:
        return f->unit == ADEPT_WATTS     ? "200"
               : f->unit == ADEPT_SECONDS ? "0.001"
               : f->unit == ADEPT_NO_UNIT ? "0.9"
                                          : "1e9";
    case ADEPT_FIELD_STAGES:
        return "2/3";
    default:
        return f->names(1);
    }
}

static bool has_option(const adept_options *options, const adept_field *f)
{
    for (const adept_option_row *row = options->rows; row->name || row->help; row++)
        if (row->name && row->help && strcmp(row->name, f->option) == 0) /* a row without help only reads differently */
            return row->also && strcmp(row->also, f->name) == 0 && strcmp(row->help, f->help) == 0;
    return false;
}

static void columns_and_keys(const adept_field *f)
{
    char text[200];
    adept_error err = {0};
    adept_sweep_axis axis;
    adept_dataset *d = adept_dataset_new();
    snprintf(text, sizeof text, "model,step_time_s,%s\na,1,%s\n", f->name, value_of(f));
    if (adept_dataset_parse(d, "t.csv", text, strlen(text), &err) != ADEPT_OK) fail_msg("a column: %s", err.message);
    assert_true(strcmp(adept_dataset_row_text(d->rows, f->name), f->fallback) != 0);
    adept_dataset_free(d);
    for (int alias = 0; alias < 2; alias++) {
        snprintf(text, sizeof text, "%s=%s", alias ? f->option : f->name, value_of(f));
        if (adept_sweep_axis_parse(&axis, text, &err) != ADEPT_OK) fail_msg("a key of sweep: %s", err.message);
        assert_ptr_equal(axis.field, f);
        adept_sweep_axis_free(&axis);
    }
}

static void over_http(const adept_field *f, bool of_run)
{
    char text[200];
    adept_serve_body b;
    adept_serve_problem p;
    bool bare = adept_field_is_number(f) || f->kind == ADEPT_FIELD_SWITCH;
    snprintf(text, sizeof text, "{\"%s\":%s%s%s}", f->name, bare ? "" : "\"", value_of(f), bare ? "" : "\"");
    if (!adept_serve_body_read(&b, text, strlen(text), 0, &p)) fail_msg("HTTP: %s: %s", text, p.message);
    assert_false(adept_field_is_zero(f, of_run ? (void *)&b.run.run : (void *)&b.run.words));
    adept_serve_body_free(&b);
}

/* Asked of the library as Python does, then in its JSON, and kept by a saved profile. */
static void in_the_library(const adept_field *f, bool of_run)
{
    char word[100], key[64], *text;
    const char *const words[] = {word, NULL}, *const nodes[] = {"gpus=4", "internode_bytes_per_s=1e10", word, NULL},
                      *const scope[] = {"host_active_w=70", word, NULL};
    adept_error err = {0};
    adept_workload *w, *again;
    adept_gpu *gpu;
    adept_oracle *o;
    bool given = false;
    for (size_t i = 0; of_run ? adept_run_word(i) != NULL : adept_workload_word(i) != NULL; i++)
        given = given || strcmp(of_run ? adept_run_word(i) : adept_workload_word(i), f->name) == 0;
    assert_true(given);
    snprintf(word, sizeof word, "%s=%s", f->name, value_of(f));
    snprintf(key, sizeof key, "\"%s\":", f->name);
    /* words of some modes need the mode, and a model that has it */
    const char *const generation[] = {"mode=generate", "prompt=9", "tokens=3", word, NULL},
                      *const denoising[] = {"mode=infer", word, NULL};
    const size_t at = of_run ? 0 : (size_t)(f - adept_workload_field(0));
    const bool generates = at >= ADEPT_FIELD_prompt && at < ADEPT_FIELD_denoise_steps;
    const adept_model_options options = {.words = of_run || at == ADEPT_FIELD_seq_length ? NULL
                                                  : generates                            ? generation
                                                  : at == ADEPT_FIELD_denoise_steps      ? denoising
                                                                                         : words};
    if (adept_workload_open(&w, generates ? "adept:gpt2?layers=1" : MLP, &options, &err) != ADEPT_OK)
        fail_msg("libadept: %s", err.message);
    assert_int_equal(adept_gpu_open(&gpu, "a100-pcie-40gb", NULL), ADEPT_OK);
    assert_int_equal(adept_oracle_new(&o, w, gpu, NULL, NULL), ADEPT_OK);
    /* of layouts, those that a small model of two products has no room for are refused */
    static const char *const impossible[] = {"virtual_stages",        "schedule",    "cp", "ep", "loss", "pp",
                                             "activation_checkpoint", "global_batch"};
    const char *const shared[] = {"gpus=2", strcmp(f->name, "sp") == 0 ? "tp=2" : "overlap=auto", word, NULL};
    bool can = true, of_layout = f >= adept_run_field(ADEPT_RUN_FIELD_dp) &&
                                 f <= adept_run_field(ADEPT_RUN_FIELD_trainer) && of_run;
    can = f->kind != ADEPT_FIELD_STAGES;
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
        can = can && strcmp(f->name, impossible[i]) != 0;
    const adept_request request = {.oracle = o,
                                   .words = !of_run                                                         ? NULL
                                            : of_layout                                                     ? shared
                                            : strcmp(f->name, "nodes") == 0 || strstr(f->name, "internode") ? nodes
                                            : strcmp(f->name, "power_scope") == 0                           ? scope
                                                                                                            : words};
    adept_status status = adept_predict_json(&text, &request, &err);
    if (!can) {
        assert_int_equal(status, ADEPT_E_USAGE);
        assert_int_equal(adept_predict_json(&text, &(adept_request){.oracle = o}, &err), ADEPT_OK);
        status = ADEPT_OK;
    }
    if (status != ADEPT_OK) fail_msg("libadept: %s: %s", word, err.message);
    if (can && !strstr(text, key) && f != adept_workload_field(ADEPT_FIELD_seq_length))
        fail_msg("%s is not in %s", key, text);
    adept_text_free(text);
    assert_int_equal(adept_workload_to_json(&text, w, NULL), ADEPT_OK);
    if (options.words && !strstr(strstr(text, "\"options\""), key)) fail_msg("a saved profile has no %s", key);
    if (adept_workload_read(&again, "again", text, strlen(text), NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *kept;
    assert_int_equal(adept_workload_to_json(&kept, again, NULL), ADEPT_OK);
    assert_string_equal(kept, text);
    adept_text_free(kept);
    adept_text_free(text);
    adept_workload_free(again);
    adept_oracle_free(o);
    adept_gpu_free(gpu);
    adept_workload_free(w);
}

static void every_door_knows_every_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FIELDS; i++) {
        const adept_field *f = field_at(i);
        if (!has_option(is_of_run(i) ? &adept_run_options_of : &adept_workload_options_of, f))
            fail_msg("there is no --%s", f->option);
        columns_and_keys(f);
        over_http(f, is_of_run(i));
        in_the_library(f, is_of_run(i));
    }
}

/* ---- the document ---- */

static void put_row(adept_buffer *out, const adept_field *f)
{
    char values[256], text[1024];
    switch (f->kind) {
    case ADEPT_FIELD_COUNT:
        snprintf(values, sizeof values, "a whole number from 1");
        break;
    case ADEPT_FIELD_AMOUNT:
        snprintf(values, sizeof values, "%s, above 0",
                 f->unit == ADEPT_WATTS     ? "W"
                 : f->unit == ADEPT_HERTZ   ? "Hz"
                 : f->unit == ADEPT_SECONDS ? "s"
                 : f->unit == ADEPT_BYTES   ? "bytes"
                 : f->unit == ADEPT_NO_UNIT ? "a number"
                                            : "bytes/s");
        break;
    case ADEPT_FIELD_SWITCH:
        snprintf(values, sizeof values, "true, false");
        break;
    case ADEPT_FIELD_STAGES:
        snprintf(values, sizeof values, "whole numbers by stage: `8/6/6/4`");
        break;
    default:
        if (f->names(12)) /* a table of its own */
            snprintf(values, sizeof values, "`%s`, `%s`, ...", f->names(0), f->names(1));
        else
            adept_names_list(values, sizeof values, f->names);
    }
    snprintf(text, sizeof text, "| `%s` | `--%s` | %s | %s |\n", f->name, f->option, values,
             *f->fallback ? f->fallback : "");
    adept_buffer_text(out, text);
}

static void the_document_is_the_table(void **state)
{
    (void)state;
    static const char begin[] = "<!-- made of the table by tests/unit/test_fields.c -->\n", end[] = "<!-- end -->\n";
    adept_buffer out = {0};
    char *text;
    size_t size;
    assert_int_equal(adept_file_read(&text, &size, WORDS, 1 << 20, NULL), ADEPT_OK);
    const char *from = strstr(text, begin), *to = from ? strstr(from, end) : NULL;
    assert_non_null(to);
    adept_buffer_add(&out, text, (size_t)(from - text) + sizeof begin - 1);
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (i == 0 || i == ADEPT_N_WORKLOAD_FIELDS) {
            adept_buffer_text(&out, i ? "\n| of a run | short option | values | not given |\n"
                                      : "\n| of a workload | short option | values | not given |\n");
            adept_buffer_text(&out, "|---|---|---|---|\n");
        }
        put_row(&out, field_at(i));
    }
    adept_buffer_text(&out, "\n");
    adept_buffer_text(&out, to);
    char *made = adept_buffer_take(&out);
    assert_non_null(made);
    if (getenv("ADEPT_WRITE_WORDS")) assert_int_equal(adept_file_write(WORDS, made, strlen(made), NULL), ADEPT_OK);
    else assert_string_equal(made, text);
    free(made);
    free(text);
}

/* docs/WORDS.md says why of each. */
static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const others[] = {"granularity",       "saturation",   "input", "assume",
                                         "allow_unsupported", "memory_limit", "trust"};
    char *text;
    size_t size;
    assert_int_equal(adept_file_read(&text, &size, WORDS, 1 << 20, NULL), ADEPT_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char key[64];
        adept_sweep_axis axis;
        snprintf(key, sizeof key, "| `%s` |", others[i]);
        if (!strstr(text, key)) fail_msg("docs/WORDS.md does not say why %s is no word", others[i]);
        snprintf(key, sizeof key, "%s=1", others[i]);
        assert_int_equal(adept_sweep_axis_parse(&axis, key, NULL), ADEPT_E_USAGE);
        assert_null(adept_field_find(adept_workload_field, others[i], strlen(others[i])));
        assert_null(adept_field_find(adept_run_field, others[i], strlen(others[i])));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_door_knows_every_word),
        cmocka_unit_test(the_document_is_the_table),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/** @file load.c  What runs, and reading it: the only place where the program decides between a model and a saved
 *  profile. A file is read once, and its graph walked once per workload. */
#include "load.h"
#include "adept_grow.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_json.h"
#include "adept_optimizer.h"
#include "field_options.h"
#include "table.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- options ---------------------------------------- */

#define AT(member) offsetof(adept_workload_options, member)

static adept_status parse_input(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;
    adept_error err = {0};

    if (o->config.n_inputs == ADEPT_MAX_INPUT_OPTIONS)
        return adept_cli_usage(cli, "%s: more than %d inputs", option, ADEPT_MAX_INPUT_OPTIONS);
    if (adept_input_spec_parse(&o->inputs[o->config.n_inputs], text, &err) != ADEPT_OK)
        return adept_cli_usage(cli, "--%s", err.message); /* "input '3y': ..." */
    o->config.inputs = o->inputs;
    o->config.n_inputs++;
    return ADEPT_OK;
}

static adept_status add_assumption(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;
    adept_error err = {0};

    if (o->config.n_assume == ADEPT_MAX_ASSUME_OPTIONS)
        return adept_cli_usage(cli, "%s: more than %d assumptions", option, ADEPT_MAX_ASSUME_OPTIONS);
    if (adept_assumption_check(text, &err) != ADEPT_OK) return adept_cli_usage(cli, "%s: %s", option, err.message);
    o->assume[o->config.n_assume++] = text;
    o->config.assume = o->assume;
    return ADEPT_OK;
}

/* "--assume-trips" "5" assumes "trips=5". */
static adept_status parse_assume_one(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;
    const char *key = option + strlen("--assume-");
    char *said = *key == 'b' ? o->branch : *key == 't' ? o->trips : o->fraction;

    snprintf(said, sizeof o->trips, "%s=%s", key, text);
    return add_assumption(cli, option, said, o);
}

/* A number or a text of a file, as an assumption has it: KEY:EXPRESSION without blanks. */
static void put_cost(adept_json_reader *r, adept_buffer *text, const cJSON *object, const char *member, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, member);
    char number[32];

    if (!value) return;
    snprintf(number, sizeof number, "%.17g", cJSON_IsNumber(value) ? value->valuedouble : 0);
    if (!cJSON_IsNumber(value) && !cJSON_IsString(value))
        adept_json_fail(r, "%s is neither a number nor an expression", member);
    adept_buffer_text(text, "@");
    adept_buffer_text(text, key);
    adept_buffer_text(text, ":");
    for (const char *at = cJSON_IsString(value) ? value->valuestring : number; *at; at++)
        if (*at != ' ') adept_buffer_add(text, at, 1);
}

/* "mylib::op=Bx128@flops:2*a0*a1.1@back_kernels:0" of an element of "operators" */
static char *operator_text(adept_json_reader *r, const cJSON *op)
{
    static const char *const known[] = {"name",          "results", "flops",       "bytes_read",
                                        "bytes_written", "kernels", "saved_bytes", "backward"},
                             *const known_back[] = {"flops", "bytes_read", "bytes_written", "kernels"};
    const cJSON *result, *results = cJSON_GetObjectItemCaseSensitive(op, "results"),
                         *back = cJSON_GetObjectItemCaseSensitive(op, "backward");
    adept_buffer text = {.data = NULL};

    adept_json_check_keys(r, op, " in operators", known, sizeof known / sizeof *known);
    adept_buffer_text(&text, adept_json_string(r, op, "name"));
    adept_buffer_text(&text, "=");
    cJSON_ArrayForEach(result, results)
    {
        if (!cJSON_IsString(result)) adept_json_fail(r, "results are shapes, as \"Bx128\"");
        if (result->prev && result != results->child) adept_buffer_text(&text, ",");
        adept_buffer_text(&text, cJSON_IsString(result) ? result->valuestring : "");
    }
    put_cost(r, &text, op, "flops", "flops");
    put_cost(r, &text, op, "bytes_read", "read");
    put_cost(r, &text, op, "bytes_written", "written");
    put_cost(r, &text, op, "kernels", "kernels");
    put_cost(r, &text, op, "saved_bytes", "saved");
    if (cJSON_IsObject(back)) {
        adept_json_check_keys(r, back, " in backward", known_back, sizeof known_back / sizeof *known_back);
        put_cost(r, &text, back, "flops", "back_flops");
        put_cost(r, &text, back, "bytes_read", "back_read");
        put_cost(r, &text, back, "bytes_written", "back_written");
        put_cost(r, &text, back, "kernels", "back_kernels");
    } else if (back) {
        adept_buffer_text(&text, "@back_kernels:0");
    }
    if (text.failed) adept_json_no_memory(r);
    return adept_buffer_take(&text);
}

/* A file of operators that adept does not know: what they compute and move, by their shapes. */
static adept_status parse_operators(adept_cli *cli, const char *option, char *path, void *record)
{
    adept_workload_options *o = record;
    cJSON *tree = NULL;
    const cJSON *op;
    adept_status status = adept_json_parse_file(&tree, path, (size_t)1 << 20, &cli->err);

    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = path, .err = &cli->err};
    cJSON_ArrayForEach(op, adept_json_array(&r, tree, "operators"))
    {
        char *text = operator_text(&r, op);
        char **grown =
            text ? adept_grow(o->operators, &o->operators_capacity, o->n_operators + 1, sizeof *grown) : NULL;
        if (r.status == ADEPT_OK && !grown) adept_json_no_memory(&r);
        if (!grown) {
            free(text);
            break;
        }
        o->operators = grown;
        o->operators[o->n_operators++] = text;
        if (r.status == ADEPT_OK) r.status = add_assumption(cli, option, text, o);
        if (r.status != ADEPT_OK) break;
    }
    cJSON_Delete(tree);
    return r.status;
}

adept_status adept_option_batch(adept_cli *cli, const char *option, char *text, void *field)
{
    const adept_option_row number = {option + strspn(option, "-"), "N", 2, NULL, ADEPT_OPT_COUNT, .low = 1};
    if (strcmp(text, "max") != 0) return adept_option_take(cli, &number, field, text);
    return adept_cli_usage(cli, "%s max is for predict, explain and report: a number is needed here", option);
}

static void release_operators(void *record)
{
    adept_workload_options *o = record;

    for (size_t i = 0; i < o->n_operators; i++)
        free(o->operators[i]);
    free(o->operators);
}

static const adept_option_row rows[] = {
    {.group = 2, .help = "What runs:"},
    {"input", "SPEC", 2,
     "Shape of the model's next input, [DTYPE:]D1xD2x...; B is the batch, S the sequence length: Bx3x224x224, "
     "i64:BxS. Behind whole numbers =NUMBER says what all of them are: lengths, i64:B=50. Repeat it for each input. "
     "NAME=VALUE gives an input, or a part of it, by name: n=3, on=true, batch.ids=i64:BxS, xs=3x8x8,3x10x12. Default: "
     "what the file stores",
     ADEPT_OPT_PARSED, .parse = parse_input},
    {"batch", "N", 2, NULL, ADEPT_OPT_PARSED, .at = AT(config.batch_size), .parse = adept_option_batch,
     .also = "batch_size"},
#define X(name, ...) ADEPT_FIELD_OPTION(2, AT(config.name), AT(config.given[ADEPT_FIELD_##name]), name, __VA_ARGS__)
    ADEPT_WORKLOAD_FIELDS(X)
#undef X
        {"micro-batch", "N", 2, "The same as --batch: samples of one replica of the model and pass", ADEPT_OPT_PARSED,
         .at = AT(config.batch_size), .parse = adept_option_batch, .expert = true},
    {"allow-unsupported", NULL, 2,
     "Count an operator adept does not know as an elementwise copy, with a warning, instead of refusing the model",
     ADEPT_OPT_FLAG, .at = AT(config.allow_unsupported), .expert = true},
    {"assume", "OP=SHAPE", 2,
     "Count OP, which adept does not know, as such a copy with results of that shape, several joined by commas: "
     "mylib::topk=Bx8,i64:Bx8. Repeatable",
     ADEPT_OPT_PARSED, .parse = add_assumption, .expert = true},
    {"operator", "FILE.json", 2,
     "What operators that adept does not know compute and move, by the shapes of their arguments and results "
     "(docs/TUTORIAL.md). Repeatable",
     ADEPT_OPT_PARSED, .parse = parse_operators, .expert = true},
    {"assume-branch", "SIDE", 2, "Take that side, true or false, of an `if` that depends on data, with a warning",
     ADEPT_OPT_PARSED, .parse = parse_assume_one, .expert = true},
    {"assume-trips", "N", 2, "How often a loop runs whose end depends on data, with a warning", ADEPT_OPT_PARSED,
     .parse = parse_assume_one, .expert = true},
    {"assume-fraction", "F", 2,
     "What data chooses (nonzero, a mask as index, experts of a mixture) of its elements, 0 to 1; all by default, "
     "with a warning",
     ADEPT_OPT_PARSED, .parse = parse_assume_one, .expert = true},
    {"trust", NULL, 2, "Load a TorchScript file that runs code of its own when loaded (__setstate__)", ADEPT_OPT_FLAG,
     .at = AT(trust), .expert = true},
    {"memory-limit", "SIZE", 2, ADEPT_MEMORY_LIMIT_HELP, ADEPT_OPT_PARSED, .at = AT(config.memory_bytes),
     .parse = adept_option_memory, .expert = true},
    {0},
};

const adept_options adept_workload_options_of = {.rows = rows, .release = release_operators};

/* ---------------------------------------------------------------- one profile ------------------------------------ */

char *adept_list_unsupported(const adept_unsupported *ops, size_t n)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    for (size_t i = 0; i < n; i++)
        adept_print_format(out, "adept:   %s: %" PRId64 " time%s, first in %s: %s\n", ops[i].op, ops[i].count,
                           ops[i].count == 1 ? "" : "s", ops[i].path && *ops[i].path ? ops[i].path : "the model itself",
                           ops[i].reason ? ops[i].reason : "no handler");
    return adept_buffer_close(&text, out);
}

adept_status adept_load_graph(adept_cli *cli, adept_graph **graph, adept_workload_config *config, const char *model,
                              const adept_workload_options *options)
{
    const uint64_t memory = options->config.memory_bytes;
    const adept_import_options import = {.trust = options->trust, .memory_bytes = memory};
    adept_file_format format;
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_status status = adept_models_path(path, model, &cli->err);

    if (status == ADEPT_OK) status = adept_file_detect(&format, path, NULL, 0, &cli->err);
    if (status != ADEPT_OK) return status;
    *config = (adept_workload_config){.mode = ADEPT_MODE_TRAIN};
    status = format == ADEPT_FORMAT_PROFILE ? adept_saved_read(graph, config, path, memory, &cli->err)
                                            : adept_import_model(graph, path, &import, &cli->err);
    if (status == ADEPT_OK) adept_workload_config_over(config, &options->config);
    return status;
}

void adept_load_say_taken(const adept_hwprofile *hw)
{
    if (hw->taken && !hw->by_alias) fprintf(stderr, "adept: %s\n", hw->taken);
}

adept_status adept_load_gpu(adept_cli *cli, adept_hwprofile **hw, const char *name)
{
    adept_status status = adept_hwprofile_open(hw, name, &cli->err);

    if (status == ADEPT_OK) adept_load_say_taken(*hw);
    return status;
}

adept_status adept_load_walk(adept_cli *cli, adept_profile **out, const adept_graph *graph,
                             const adept_workload_config *config)
{
    adept_unsupported *unsupported = NULL;
    size_t n_unsupported = 0;

    adept_status status =
        adept_profile_build(out, graph, adept_handlers(), config, &unsupported, &n_unsupported, &cli->err);
    if (status == ADEPT_E_UNSUPPORTED) cli->details = adept_list_unsupported(unsupported, n_unsupported);
    free(unsupported);
    return status;
}

adept_status adept_load_profile(adept_cli *cli, adept_profile **out, const char *path,
                                const adept_workload_options *options)
{
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_status status = adept_load_graph(cli, &graph, &config, path, options);

    if (status == ADEPT_OK) status = adept_load_walk(cli, out, graph, &config);
    adept_graph_free(graph);
    return status;
}

/* ---------------------------------------------------------------- those of a sweep ------------------------------- */

adept_status adept_sweep_source_open(adept_cli *cli, adept_sweep_source *out, const char *path,
                                     const adept_workload_options *options)
{
    *out = (adept_sweep_source){.graph = NULL};
    adept_status status = adept_load_graph(cli, &out->graph, &out->config, path, options);
    return status == ADEPT_OK ? adept_load_walk(cli, &out->base, out->graph, &out->config) : status;
}

void adept_sweep_source_close(adept_sweep_source *s)
{
    adept_profile_free(s->made);
    adept_profile_free(s->base);
    adept_graph_free(s->graph);
}

/* Accumulation passes change no operator, and need no other matrices, as an optimizer of these does. */
static bool same_operators(const adept_workload_config *a, const adept_workload_config *b)
{
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const size_t at = adept_workload_field(i)->at, size = adept_workload_field(i)->size;
        if (i != ADEPT_FIELD_grad_accum &&
            (a->given[i] != b->given[i] ||
             memcmp((const char *)&a->words + at, (const char *)&b->words + at, size) != 0))
            return false;
    }
    return true;
}

static adept_status make(adept_sweep_source *s, const adept_workload_config *given, adept_error *err)
{
    static const adept_workload_config nothing = {.batch_size = 0};
    adept_workload_config config = s->config, operators = *given;
    adept_profile *made = NULL;
    adept_status status = ADEPT_OK;
    operators.grad_accum = 0;
    adept_workload_config_over(&config, &operators);
    if (!same_operators(given, &nothing))
        status = adept_profile_build(&made, s->graph, adept_handlers(), &config, NULL, NULL, err);
    if (status != ADEPT_OK) return status;
    adept_profile_free(s->made);
    s->made = made;
    s->of = *given;
    return ADEPT_OK;
}

adept_status adept_sweep_source_profile(const adept_profile **out, const adept_workload_config *given, void *context,
                                        adept_error *err)
{
    adept_sweep_source *s = context;
    adept_status status = same_operators(given, &s->of) ? ADEPT_OK : make(s, given, err);
    if (status != ADEPT_OK) return status;
    s->changed = s->made ? *s->made : *s->base;
    if (given->grad_accum > 0) s->changed.grad_accum = given->grad_accum;
    *out = &s->changed;
    return ADEPT_OK;
}

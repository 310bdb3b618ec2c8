/** @file measurements.c  The columns of the measurement CSV (CONTRACT): texts to numbers, defaults, messages. */
#include "adept_import.h"
#include "adept_file.h"
#include "adept_number.h"
#include "adept_optimizer.h"
#include "adept_csv.h"
#include "dataset_private.h"
#include "nearest.h"
#include "sha256.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { TEXT, NAME, CHOICE, SIZED, STAGES, SWITCH, COUNT, POSITIVE, SHARE, WEIGHT } kind;

static const char *answer_at(size_t index)
{
    static const char *const answers[] = {"0", "1", NULL};
    return answers[index];
}

static ADEPT_NAMES(status_at, "ok", "oom")

/* X(name, field of the row, kind, text where the cell is empty, words of a name or a choice): columns that are neither
 * words of the workload nor of the run, which all have a column. A number whose text is none is not given: 0, or NAN
 * where it would be measured. A name stays a text in the row; a choice becomes its number, and a switch 0 or 1: how far
 * gradients are clipped changes nothing. */
#define COLUMN_LIST(X)                                                                                                 \
    X(model, model, TEXT, "", NULL)                                                                                    \
    X(input, input, TEXT, "", NULL)                                                                                    \
    X(gpu, gpu, TEXT, "", NULL)                                                                                        \
    X(compile, compile, CHOICE, "0", answer_at)                                                                        \
    X(torch, torch, TEXT, "", NULL)                                                                                    \
    X(step_time_s, step_time_s, POSITIVE, "", NULL)                                                                    \
    X(avg_power_w, power_avg_w, POSITIVE, "", NULL)                                                                    \
    X(avg_clock_hz, clock_avg_hz, POSITIVE, "", NULL)                                                                  \
    X(peak_memory_bytes, peak_memory_bytes, POSITIVE, "", NULL)                                                        \
    X(gpu_utilization, gpu_utilization, SHARE, "", NULL)                                                               \
    X(status, status, CHOICE, "ok", status_at)                                                                         \
    X(stack, stack, TEXT, "", NULL)                                                                                    \
    X(source, source, TEXT, "", NULL)                                                                                  \
    X(weight, weight, WEIGHT, "1", NULL)                                                                               \
    X(assume, assume, TEXT, "", NULL)

enum {
#define X(name, ...) COLUMN_##name,
    COLUMN_LIST(X) ADEPT_WORKLOAD_FIELDS(X) ADEPT_RUN_FIELDS(X)
#undef X
        N_KNOWN
};

static const struct {
    const char *name, *fallback;
    kind kind;
    size_t offset;
    adept_name_at names;
} known[N_KNOWN] = {
#define X(name, field, kind, fallback, names) {#name, fallback, kind, offsetof(adept_dataset_row, field), names},
    COLUMN_LIST(X)
#undef X
#define KIND_WORD CHOICE
#define KIND_NODE CHOICE
#define KIND_NAME NAME
#define KIND_SET CHOICE
#define KIND_SIZED SIZED
#define KIND_STAGES STAGES
#define KIND_SWITCH SWITCH
#define KIND_COUNT COUNT
#define KIND_AMOUNT POSITIVE
#define X(name, kind, type, names, fallback, ...)                                                                      \
    {#name, fallback, KIND_##kind, offsetof(adept_dataset_row, name), names},
        ADEPT_WORKLOAD_FIELDS(X)
#undef X
#define X(name, kind, type, names, fallback, ...)                                                                      \
    {#name, fallback, KIND_##kind, offsetof(adept_dataset_row, run.name), names},
            ADEPT_RUN_FIELDS(X)
#undef X
};

/* Where the cells of one file go. */
typedef struct layout {
    size_t n;
    int known[ADEPT_CSV_MAX_CELLS];     /* cell -> COLUMN_..., -1 */
    double unit[ADEPT_CSV_MAX_CELLS];   /* cell -> what its number is multiplied by */
    size_t column[ADEPT_CSV_MAX_CELLS]; /* cell -> index into dataset->columns */
    bool present[N_KNOWN];
    bool layouts; /* columns of an architecture or of how it is shared out */
} layout;

/* ---------------------------------------------------------------- the header ------------------------------------ */

static size_t find_column(const adept_columns *columns, const char *name)
{
    size_t i = 0;
    while (i < columns->n && strcmp(columns->names[i], name) != 0)
        i++;
    return i;
}

static bool add_column(adept_dataset *d, const char *name, size_t *index)
{
    *index = find_column(&d->columns, name);
    if (*index < d->columns.n) return true;
    char *copy = adept_arena_strdup(d->arena, name);
    if (!copy || !adept_dataset_grow(d->arena, (void **)&d->columns.names, d->columns.n, sizeof *d->columns.names))
        return false;
    ((const char **)d->columns.names)[d->columns.n++] = copy;
    return true;
}

/* A blank before or behind a name or a number is never meant. */
static const char *trimmed(adept_arena *arena, const adept_csv_cell *cell)
{
    const char *begin = cell->text + strspn(cell->text, " \t");
    size_t n = strlen(begin);
    while (n > 0 && (begin[n - 1] == ' ' || begin[n - 1] == '\t'))
        n--;
    return adept_arena_strndup(arena, begin, n);
}

static const char *const units_of_time[] = {"step_time_ms", "step_time_us", "step_time_ns", "step_time",
                                            "time_s",       "time_ms",      "latency_ms",   NULL};

static adept_status missing_column(const adept_csv *csv, const adept_dataset *d, const layout *l, const char *name)
{
    if (l->n == 1)
        return adept_csv_fail(
            csv, "column %s is missing; the header is a single cell: are the columns separated by commas?", name);
    if (strcmp(name, "step_time_s") == 0)
        for (size_t i = 0; i < l->n; i++)
            for (size_t k = 0; units_of_time[k]; k++)
                if (strcmp(d->columns.names[l->column[i]], units_of_time[k]) == 0)
                    return adept_csv_fail(csv, "column step_time_s is missing; there is %s: convert it to seconds",
                                          units_of_time[k]);
    return adept_csv_fail(csv, "column %s is missing from the header", name);
}

/* Other names of columns: as trainers have them, too. */
static const char *const other_names[][2] = {
    {"micro_batch", "batch_size"},
    {"micro_batch_size", "batch_size"},
    {"mbs", "batch_size"},
    {"global_batch_size", "global_batch"},
    {"gbs", "global_batch"},
    {"sequence_parallel", "sp"},
    {"vp", "virtual_stages"},
    {"vpp", "virtual_stages"},
    {"sharding", "fsdp"},
    {"zero_stage", "zero"},
    {"tensor_parallel", "tp"},
    {"tensor_parallel_size", "tp"},
    {"tensor_model_parallel_size", "tp"},
    {"pipeline_parallel", "pp"},
    {"pipeline_parallel_size", "pp"},
    {"pipeline_model_parallel_size", "pp"},
    {"context_parallel", "cp"},
    {"context_parallel_size", "cp"},
    {"expert_parallel", "ep"},
    {"expert_parallel_size", "ep"},
    {"expert_model_parallel_size", "ep"},
    {"data_parallel", "dp"},
    {"data_parallel_size", "dp"},
    {"recompute", "activation_checkpoint"},
    {"activation_checkpointing", "activation_checkpoint"},
};
#define N_OTHER_NAMES (sizeof other_names / sizeof *other_names)

/* A column by another unit. Trainers print GB of 1e9 bytes and GiB. */
typedef struct other_unit {
    const char *name;
    double unit;
    int column;
} other_unit;

static const other_unit other_units[] = {
    {"peak_memory_gb", 1e9, COLUMN_peak_memory_bytes},
    {"peak_memory_gib", 0x1p30, COLUMN_peak_memory_bytes},
    {"peak_memory_mb", 1e6, COLUMN_peak_memory_bytes},
    {"peak_memory_mib", 0x1p20, COLUMN_peak_memory_bytes},
};
#define N_OTHER_UNITS (sizeof other_units / sizeof *other_units)

/* Columns of what cannot be predicted yet. What is said must be what is predicted. */
static const char *const not_predicted[] = {"activation_offload", "activation_cpu_offload"};
#define N_NOT_PREDICTED (sizeof not_predicted / sizeof *not_predicted)

/* Columns with a meaning; NULL past the end. */
static const char *column_at(size_t index)
{
    if (index < N_KNOWN) return known[index].name;
    index -= N_KNOWN;
    if (index < N_OTHER_NAMES) return other_names[index][0];
    index -= N_OTHER_NAMES;
    if (index < N_OTHER_UNITS) return other_units[index].name;
    index -= N_OTHER_UNITS;
    return index < N_NOT_PREDICTED ? not_predicted[index] : NULL;
}

/* The known column of that name, or of that other name; -1: none. */
static int column_of(const char *name)
{
    for (size_t i = 0; i < N_OTHER_NAMES; i++)
        if (strcasecmp(other_names[i][0], name) == 0) name = other_names[i][1];
    for (int k = 0; k < N_KNOWN; k++)
        if (strcmp(known[k].name, name) == 0) return k;
    return -1;
}

/* NULL: the column of that name is in no other unit. */
static const other_unit *other_unit_of(const char *name)
{
    for (size_t i = 0; i < N_OTHER_UNITS; i++)
        if (strcasecmp(other_units[i].name, name) == 0) return &other_units[i];
    return NULL;
}

/* Length of a name without the unit at its end. */
static size_t without_unit(const char *name)
{
    static const char *const units[] = {"_bytes_per_s", "_bytes", "_size", "_seconds", "_sec",  "_s",
                                        "_ms",          "_us",    "_ns",   "_watts",   "_watt", "_w",
                                        "_kw",          "_hz",    "_khz",  "_mhz",     "_ghz"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i]);
        if (length > n && strcmp(name + length - n, units[i]) == 0) return length - n;
    }
    return length;
}

/* One or two letters too many, too few, swapped or, in long words, wrong: a short word with another letter is another
 * word (cpus, notes, cost). */
static bool is_misspelt(const char *name, const char *right)
{
    size_t distance = adept_edit_distance(name, right), length = strlen(right), differ = 0;

    if (distance == 0 || length < 4 || distance > (length < 8 ? 1 : 2)) return false;
    for (size_t i = 0; i < length && strlen(name) == length; i++)
        differ += name[i] != right[i];
    return length >= 7 || differ != 1;
}

/* The column that a name which is none must have meant: power_limit, Batch-Size, clock_mhz, the name of an option.
 * NULL: its own. */
static const char *meant(const char *name)
{
    static const char *const others[][2] = {
        {"internode_bandwidth", "internode_bytes_per_s"}, {"gpu_launch", "host_launch_s"},
        {"sequence_length", "seq_length"},                {"seq_len", "seq_length"},    {"power_avg", "avg_power_w"},
        {"num_gpus", "gpus"},                             {"n_gpus", "gpus"},         {"dtype", "precision"},
    };
    char plain[64];
    size_t n = strlen(name);

    if (column_of(name) >= 0 || other_unit_of(name)) return NULL;
    for (size_t i = 0; column_at(i); i++)
        if (strcmp(column_at(i), name) == 0) return NULL;
    if (n >= sizeof plain) return NULL;
    for (size_t i = 0; i <= n; i++)
        plain[i] = strchr("- .", name[i]) && name[i] ? '_' : adept_lower(name[i]);
    size_t stem = without_unit(plain);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i][0]) == stem && strncmp(others[i][0], plain, stem) == 0) return others[i][1];
    for (size_t i = 0; column_at(i); i++) {
        const char *right = column_at(i);
        size_t right_stem = without_unit(right);
        bool same_stem = right[right_stem] && right_stem == stem && strncmp(right, plain, stem) == 0;
        if (strcmp(right, plain) == 0 || same_stem || is_misspelt(plain, right)) return right;
    }
    return NULL;
}

static adept_status read_header(adept_dataset *d, const adept_csv *csv, layout *l, adept_error *err)
{
    l->n = csv->n_cells;
    for (size_t i = 0; i < l->n; i++) {
        const char *name = trimmed(d->arena, &csv->cells[i]);
        if (!name) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
        if (*name == '\0') return adept_csv_fail(csv, "column %zu has no name in the header", i + 1);
        if (!add_column(d, name, &l->column[i])) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
        for (size_t j = 0; j < i; j++)
            if (l->column[j] == l->column[i])
                return adept_csv_fail(csv, "column %s stands twice in the header", name);
        l->known[i] = column_of(name);
        if (l->known[i] >= 0) l->present[l->known[i]] = true;
    }
    for (size_t i = 0; i < l->n; i++) {
        const other_unit *other = other_unit_of(d->columns.names[l->column[i]]);
        l->unit[i] = 1;
        if (!other || l->present[other->column]) continue; /* the plain name counts, or else the first of them */
        l->known[i] = other->column;
        l->unit[i] = other->unit;
        l->present[other->column] = true;
    }
    if (!l->present[COLUMN_model]) return missing_column(csv, d, l, "model");
    if (!l->present[COLUMN_step_time_s] && !l->present[COLUMN_peak_memory_bytes])
        return missing_column(csv, d, l, "step_time_s");
    /* A column that is ignored because of its spelling makes other numbers without a word. */
    for (size_t i = 0; i < l->n; i++) {
        const char *name = d->columns.names[l->column[i]];
        const char *right = meant(name);
        for (size_t k = 0; right && k < l->n; k++)
            if (strcmp(d->columns.names[l->column[k]], right) == 0) right = NULL; /* that one counts */
        if (right) return adept_csv_fail(csv, "column %.80s is not known; did you mean %s?", name, right);
    }
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- cells to numbers ------------------------------ */

static adept_status parse_number(const adept_dataset_row *m, int column, const char *text, double low, bool low_allowed,
                                 double *out, adept_error *err)
{
    const char *name = known[column].name;

    if (!adept_number_parse(out, text)) return adept_row_fail(m, name, err, "'%.60s' is not a number", text);
    if (*out < low || (!low_allowed && *out <= low))
        return adept_row_fail(m, name, err, "%.60s is not %s %g", text, low_allowed ? "at least" : "above", low);
    return ADEPT_OK;
}

static adept_status parse_count(const adept_dataset_row *m, int column, const char *text, int64_t *out,
                                adept_error *err)
{
    double value;

    /* "8.0" is what a table tool makes of 8. */
    if (!adept_number_parse(&value, text) || value != floor(value))
        return adept_row_fail(m, known[column].name, err, "'%.60s' is not a whole number", text);
    if (value < 1 || value > 9007199254740992.0)
        return adept_row_fail(m, known[column].name, err, "%.60s is not in 1 .. 2^53", text);
    *out = (int64_t)value;
    return ADEPT_OK;
}

static adept_status parse_word(adept_dataset_row *m, int column, const char *text, adept_error *err)
{
    void *field = (char *)m + known[column].offset;
    const adept_name_at names = known[column].names;
    char list[256];
    int stage;
    int64_t group;
    if (column == COLUMN_fsdp && adept_row_zero_word(text, &stage, &group)) { /* DeepSpeed's word */
        static const char *const stages[] = {"none", "zero1", "zero2", "zero3"};
        m->run.zero = stage + 1;
        if (group == 0) m->texts[column] = stages[stage];
        if (group > 0) m->run.fsdp = adept_sized(ADEPT_FSDP_HYBRID, (int)group);
        return ADEPT_OK;
    }
    if (column == COLUMN_optimizer_extras && adept_optimizer_extras_parse(field, text)) return ADEPT_OK; /* several */
    const adept_field sized = {.kind = ADEPT_FIELD_SIZED, .names = names};
    if (known[column].kind == SIZED && adept_field_set_text(&sized, field, text)) return ADEPT_OK;
    size_t i =
        known[column].kind == SIZED || column == COLUMN_optimizer_extras ? SIZE_MAX : adept_name_index(text, names);
    if (i != SIZE_MAX && known[column].kind == NAME) *(const char **)field = names(i);
    if (i != SIZE_MAX && known[column].kind == CHOICE) *(int *)field = (int)i, m->texts[column] = names(i);
    if (i != SIZE_MAX) return ADEPT_OK;
    if (column == COLUMN_host || column == COLUMN_node)
        return ADEPT_OK; /* the name of a machine of which nothing is known */
    return adept_row_fail(m, known[column].name, err, "'%.60s' is not one of %s", text,
                          adept_names_list(list, sizeof list, names));
}

static ADEPT_NAMES(word_for_nothing, "none", "no", "false", "off", "disabled", "no_shard", "auto")

/* Does a cell say that nothing of the kind is done? @param parts  it counts parts, and all in one part is nothing */
static bool says_nothing(const char *text, bool parts)
{
    double number;

    if (adept_number_parse(&number, text)) return number == 0.0 || (parts && number == 1.0);
    return *text == '\0' || adept_name_index(text, word_for_nothing) != SIZE_MAX;
}

/* A cell, or the text that stands for an empty one. Numbers get one text, so that "8.0" and "8" are one group. */
static adept_status parse_cell(const adept_dataset *d, adept_dataset_row *m, int column, double unit, const char *text,
                               adept_error *err)
{
    void *field = (char *)m + known[column].offset;
    double number = NAN;
    adept_status status = ADEPT_OK;

    text = adept_row_program_word(known[column].name, text);
    m->texts[column] = text;
    switch (known[column].kind) {
    case TEXT:
        *(const char **)field = text;
        return ADEPT_OK;
    case NAME:
    case CHOICE:
    case SIZED:
        return parse_word(m, column, text, err);
    case STAGES: {
        const adept_field list = {.kind = ADEPT_FIELD_STAGES};
        if (!*text || adept_field_set_text(&list, field, text)) return ADEPT_OK;
        return adept_row_fail(m, known[column].name, err, "'%.60s' is not " ADEPT_STAGES_MEANS, text);
    }
    case SWITCH:
        *(bool *)field = !says_nothing(text, false);
        m->texts[column] = answer_at(*(bool *)field);
        return ADEPT_OK;
    case COUNT:
        status = parse_count(m, column, text, field, err);
        number = (double)*(int64_t *)field;
        break;
    case POSITIVE:
    case SHARE:
    case WEIGHT:
        status = parse_number(m, column, text, 0, known[column].kind == WEIGHT, field, err);
        number = *(double *)field *= unit;
        if (status == ADEPT_OK && known[column].kind == SHARE && number > 1)
            status = adept_row_fail(m, known[column].name, err, "%.60s is above 1: divide percent by 100", text);
    }
    if (status != ADEPT_OK) return status;
    m->texts[column] = adept_arena_printf(d->arena, "%.15g", number);
    return adept_arena_failed(d->arena) ? adept_error_set(err, ADEPT_E_NOMEM, "out of memory") : ADEPT_OK;
}

/* ---------------------------------------------------------------- lists in cells -------------------------------- */

static const char separators[] = "; \t";

static adept_status read_assumptions(adept_dataset *d, adept_dataset_row *m, adept_error *err)
{
    adept_error why = {0};
    for (const char *at = m->assume + strspn(m->assume, separators); *at; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        const char *word = adept_arena_strndup(d->arena, at, length);
        if (!word || !adept_dataset_grow(d->arena, (void **)&m->assumptions, m->n_assumptions, sizeof word))
            return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
        if (adept_assumption_check(word, &why) != ADEPT_OK) return adept_row_fail(m, "assume", err, "%s", why.message);
        m->assumptions[m->n_assumptions++] = word;
        at += length;
    }
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- inputs ---------------------------------------- */

adept_status adept_row_config(adept_workload_config *config, adept_input_spec *inputs, const adept_dataset_row *m,
                              adept_error *err)
{
    *config = (adept_workload_config){
        .words = m->words,
        .inputs = inputs,
        .assume = m->assumptions,
        .n_assume = m->n_assumptions,
    };
    memset(config->given, true, sizeof config->given);
    for (const char *at = m->input + strspn(m->input, separators); *at; at += strspn(at, separators)) {
        char word[256];
        size_t n = strcspn(at, separators);
        adept_error why = {0};
        if (config->n_inputs == ADEPT_ROW_MAX_INPUTS)
            return adept_row_fail(m, "input", err, "more than %d inputs", ADEPT_ROW_MAX_INPUTS);
        if (n >= sizeof word) return adept_row_fail(m, "input", err, "'%.60s...' is too long", at);
        memcpy(word, at, n);
        word[n] = '\0';
        if (adept_input_spec_parse(&inputs[config->n_inputs], word, &why) != ADEPT_OK)
            return adept_row_fail(m, "input", err, "%s", why.message);
        config->n_inputs++;
        at += n;
    }
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- rows ------------------------------------------ */

adept_status adept_row_check_layout(adept_dataset_row *m, adept_error *err)
{
    const adept_mesh_words words = adept_run_mesh(&m->run);
    adept_mesh mesh;
    adept_error why = {0};

    for (size_t i = 0; i < N_NOT_PREDICTED; i++) {
        const char *text = adept_dataset_row_text(m, not_predicted[i]);
        if (text && !says_nothing(text, false))
            return adept_row_fail(m, not_predicted[i], err, "'%.60s' cannot be predicted yet", text);
    }
    if (!adept_mesh_is_said(&words)) return ADEPT_OK;
    if (adept_mesh_of(&mesh, &words, m->profile, &why) != ADEPT_OK)
        return adept_row_error(m, ADEPT_E_INVALID, why.message, err);
    if (mesh.plain) { /* as a row that says but its GPUs */
        m->run.dp = m->run.tp = m->run.pp = m->run.cp = m->run.ep = m->run.virtual_stages = m->run.global_batch = 0;
        m->run.zero = m->run.fsdp = 0;
    }
    return ADEPT_OK;
}

/* @param listing  of layouts: memory, too, is a measurement */
static adept_status check_row(adept_dataset_row *m, bool listing, adept_error *err)
{
    adept_workload_config config;
    adept_input_spec inputs[ADEPT_ROW_MAX_INPUTS];

    if (*m->model == '\0') return adept_row_fail(m, "model", err, "is empty");
    if (isnan(m->step_time_s) && isnan(m->power_avg_w) &&
        !(listing && (!isnan(m->peak_memory_bytes) || m->status == ADEPT_ROW_OOM)))
        return adept_row_fail(m, "step_time_s", err, "is empty, and so is avg_power_w: the row measures nothing");
    if (m->compile && m->execution == ADEPT_GRAPHS)
        return adept_row_fail(m, "compile", err, "is 1, but execution is graphs");
    const char *graphs = adept_dataset_row_text(m, "cuda_graph");
    if (graphs && !says_nothing(graphs, false) && !m->compile && m->execution == ADEPT_EAGER)
        m->execution = ADEPT_GRAPHS;
    if (m->compile) m->execution = ADEPT_COMPILE;
    m->texts[COLUMN_execution] = adept_execution_name(m->execution);
    if (*m->torch) {
        const adept_framework framework = strncmp(m->torch, "1.", 2) == 0 ? ADEPT_TORCH1 : ADEPT_TORCH2;
        if (m->framework == ADEPT_TORCH1 && framework != m->framework)
            return adept_row_fail(m, "torch", err, "is '%.40s', but framework is torch1", m->torch);
        m->framework = framework;
        m->texts[COLUMN_framework] = adept_framework_name(framework);
    }
    if (m->mode != ADEPT_MODE_TRAIN) m->texts[COLUMN_optimizer] = m->optimizer = "none";
    return adept_row_config(&config, inputs, m, err);
}

/* The cells of a record: those of known columns as the row's numbers, the others as they are. */
static adept_status read_cells(adept_dataset *d, const adept_csv *csv, const layout *l, adept_dataset_row *m,
                               const char **cells, bool said[N_KNOWN], adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (int k = 0; k < N_KNOWN; k++) {
        bool is_number = known[k].kind >= COUNT, given = !is_number || known[k].fallback[0] == '1';
        m->texts[k] = known[k].fallback;
        if (given && status == ADEPT_OK) status = parse_cell(d, m, k, 1, known[k].fallback, err);
    }
    for (size_t i = 0; i < l->n && status == ADEPT_OK; i++) {
        const int k = l->known[i];
        const char *text =
            k >= 0 ? trimmed(d->arena, &csv->cells[i]) : adept_arena_strdup(d->arena, csv->cells[i].text);
        if (!text) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
        cells[l->column[i]] = text;
        if (k < 0 || *text == '\0' || status != ADEPT_OK) continue;
        if (l->layouts && (adept_row_says_nothing(text) || (known[k].kind >= COUNT && strcasecmp(text, "none") == 0)))
            continue; /* tables of people and of Python */
        const char *before = said[k] ? m->texts[k] : NULL;
        status = parse_cell(d, m, k, l->unit[i], text, err);
        said[k] = true;
        if (status == ADEPT_OK && before && strcmp(before, m->texts[k]) != 0)
            status = adept_row_fail(m, d->columns.names[l->column[i]], err, "'%.60s' is not %.60s, the row's %s", text,
                                    before, known[k].name);
    }
    return status;
}

static adept_status read_row(adept_dataset *d, const adept_csv *csv, const layout *l, const char *path,
                             adept_error *err)
{
    const char **cells = adept_arena_array(d->arena, d->columns.n, sizeof *cells);
    adept_dataset_row m = {.file = path,
                           .line = csv->line,
                           .columns = &d->columns,
                           .n_cells = d->columns.n,
                           .cells = cells,
                           .texts = adept_arena_array(d->arena, N_KNOWN, sizeof *m.texts),
                           .step_time_s = NAN,
                           .power_avg_w = NAN,
                           .clock_avg_hz = NAN,
                           .peak_memory_bytes = NAN,
                           .gpu_utilization = NAN};

    if (!cells || !m.texts) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    for (size_t i = 0; i < d->columns.n; i++)
        cells[i] = "";
    if (csv->n_cells != l->n) {
        const char *why = csv->n_cells > l->n ? "; a text with a comma must stand in quotes" : "";
        return adept_csv_fail(csv, "%zu cells, but the header has %zu%s", csv->n_cells, l->n, why);
    }
    bool said[N_KNOWN] = {false};
    adept_status status = read_cells(d, csv, l, &m, cells, said, err);
    if (status == ADEPT_OK) status = read_assumptions(d, &m, err);
    m.layouts = l->layouts;
    if (status == ADEPT_OK && l->layouts) {
        const adept_row_cells given = {said[COLUMN_gpus],
                                       said[COLUMN_nodes],
                                       said[COLUMN_grad_accum],
                                       said[COLUMN_activation_checkpoint],
                                       said[COLUMN_fsdp] || said[COLUMN_zero],
                                       said[COLUMN_sp],
                                       said[COLUMN_trainer],
                                       said[COLUMN_execution] || said[COLUMN_compile],
                                       said[COLUMN_precision],
                                       said[COLUMN_ep]};
        status = adept_row_settle_tokens(&m, &given, err);
        if (status == ADEPT_OK) adept_row_settle(&m, &given);
        if (status == ADEPT_OK) status = adept_row_settle_clocks(&m, err);
    }
    if (status == ADEPT_OK) status = check_row(&m, d->listing, err);
    if (status != ADEPT_OK) return status;
    size_t length;
    const char *name = adept_model_name(&length, m.model);
    m.texts[COLUMN_model] = m.model_name = adept_arena_strndup(d->arena, name, length);
    if (!m.model_name ||
        !adept_dataset_grow(d->arena, (void **)&d->rows, d->n, sizeof *d->rows))
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    d->rows[d->n++] = m;
    return ADEPT_OK;
}

/* Columns of an architecture or of how it is shared out. */
static bool is_of_layouts(const adept_dataset *d, const layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const int k = l->known[i];
        if (k == COLUMN_tp || k == COLUMN_pp || k == COLUMN_cp || k == COLUMN_ep || k == COLUMN_fsdp ||
            k == COLUMN_zero || k == COLUMN_activation_checkpoint ||
            adept_column_is_layers(d->columns.names[l->column[i]]))
            return true;
    }
    return false;
}

static adept_status read_records(adept_dataset *d, adept_csv *csv, adept_source_file *file, adept_error *err)
{
    layout l = {.n = 0};
    bool more;
    adept_status status = adept_csv_next(csv, &more);

    if (status == ADEPT_OK && !more) return adept_error_set(err, ADEPT_E_INVALID, "%s: the file is empty", file->path);
    if (status == ADEPT_OK) status = read_header(d, csv, &l, err);
    file->layouts = l.layouts = status == ADEPT_OK && is_of_layouts(d, &l);
    while (status == ADEPT_OK) {
        status = adept_csv_next(csv, &more);
        if (status != ADEPT_OK || !more) break;
        status = read_row(d, csv, &l, file->path, err);
        file->n_rows++;
        if (status == ADEPT_E_INVALID && adept_dataset_list_unused(d, file->path, csv->line, file->layouts, err))
            status = ADEPT_OK;
    }
    return status;
}

static bool warn_of_copy(adept_dataset *d, const adept_source_file *file)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (strcmp(d->files[i].sha256, file->sha256) == 0)
            return adept_dataset_warn(d, "%s is a copy of %s: its rows count twice", file->path, d->files[i].path);
    return true;
}

adept_status adept_dataset_parse(adept_dataset *d, const char *path, const char *text, size_t size, adept_error *err)
{
    adept_csv csv;
    const char *slash = strrchr(path, '/');
    adept_source_file file = {.path = adept_arena_strdup(d->arena, path)};

    file.name = adept_arena_strdup(d->arena, slash ? slash + 1 : path);
    if (!file.path || !file.name ||
        !adept_dataset_grow(d->arena, (void **)&d->files, d->n_files, sizeof *d->files))
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = adept_bytes_sha256(file.sha256, text, size, err);
    if (status != ADEPT_OK) return status;
    status = adept_csv_open(&csv, path, text, size, ADEPT_CSV_MAX_LINE_BYTES, err);
    if (status == ADEPT_OK) status = read_records(d, &csv, &file, err);
    adept_csv_close(&csv);
    if (status != ADEPT_OK) return status;
    if (file.n_rows == 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: a header, but no rows", path);
    bool ok = warn_of_copy(d, &file);
    d->files[d->n_files++] = file;
    return ok ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

adept_status adept_dataset_read(adept_dataset *d, const char *path, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, ADEPT_CSV_MAX_FILE_BYTES, err);

    if (status == ADEPT_OK) status = adept_dataset_parse(d, path, text, size, err);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- texts ----------------------------------------- */

const char *adept_dataset_row_text(const adept_dataset_row *m, const char *column)
{
    for (int k = 0; k < N_KNOWN; k++)
        if (strcmp(known[k].name, column) == 0) return m->texts[k];
    if (strcmp(column, "file") == 0) {
        const char *slash = strrchr(m->file, '/');
        return slash ? slash + 1 : m->file;
    }
    size_t i = find_column(m->columns, column);
    if (i == m->columns->n) return NULL;
    return i < m->n_cells ? m->cells[i] : ""; /* a column of a later file */
}

void adept_row_set_text(adept_dataset_row *m, const char *column, const char *text)
{
    for (int k = 0; k < N_KNOWN; k++)
        if (strcmp(known[k].name, column) == 0) m->texts[k] = text;
}

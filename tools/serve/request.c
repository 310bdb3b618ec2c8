/** @file request.c  Bodies of POST requests. Tables say which keys there are; one function reads any of them. */
#include "request.h"
#include "adept_append.h"
#include "adept_json.h"
#include "adept_model.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_kind {
    FIELD_NAME,     /* char[ADEPT_SERVE_NAME_SIZE] */
    FIELD_ASSUME,   /* char[ADEPT_SERVE_ASSUME_SIZE] */
    FIELD_CHOICE,   /* const char *, one of `words` */
    FIELD_WORD,     /* int32_t, index in `words` */
    FIELD_COUNT,    /* int64_t of 1 or more */
    FIELD_NUMBER,   /* double */
    FIELD_POSITIVE, /* double above 0 */
    FIELD_BOOL,     /* bool */
    FIELD_FLAG,     /* int32_t */
    FIELD_GOAL,     /* adept_goal */
    FIELD_TEXT,     /* char *: an object, printed */
    FIELD_SET,      /* a set of words: its bits */
    FIELD_SIZED,    /* a word and its number */
    FIELD_STAGES,   /* numbers by stage of a pipeline */
    FIELD_LIST      /* const cJSON * */
} field_kind;

typedef struct field {
    const char *key;
    field_kind kind;
    size_t offset;
    adept_name_at words;
    unsigned allowed; /* bit that allows it; 0: always */
} field;

ADEPT_FILE_NAMES(granularities, "operator", "model")
ADEPT_FILE_NAMES(objectives, "time", "energy", "edp", "ed2p") /* in the order of ADEPT_LEAST_ */

#define IN_RUN(member) offsetof(adept_serve_run, member)
static const field run_fields[] = {
    {"workload", FIELD_NAME, IN_RUN(workload), NULL, 0},
    {"gpu", FIELD_NAME, IN_RUN(gpu), NULL, 0},
    {"granularity", FIELD_CHOICE, IN_RUN(granularity), granularities, 0},
    {"assume", FIELD_ASSUME, IN_RUN(assume), NULL, 0},
    {NULL, FIELD_NAME, 0, NULL, 0},
};

#define IN_BODY(member) offsetof(adept_serve_body, member)
static const field body_fields[] = {
    {"requests", FIELD_LIST, IN_BODY(list), NULL, ADEPT_SERVE_REQUESTS},
    {"options", FIELD_LIST, IN_BODY(list), NULL, ADEPT_SERVE_OPTIONS},
    {"goal", FIELD_GOAL, IN_BODY(goal), NULL, ADEPT_SERVE_GOAL},
    {"profile", FIELD_TEXT, IN_BODY(profile), NULL, ADEPT_SERVE_PROFILE},
    {"compact", FIELD_BOOL, IN_BODY(compact), NULL, ADEPT_SERVE_COMPACT},
    {"details", FIELD_BOOL, IN_BODY(details), NULL, ADEPT_SERVE_DETAILS},
    {"mix", FIELD_LIST, IN_BODY(list), NULL, ADEPT_SERVE_MIX},
    {"rate_per_s", FIELD_POSITIVE, IN_BODY(queries.rate_per_s), NULL, ADEPT_SERVE_MIX},
    {"requests", FIELD_COUNT, IN_BODY(queries.requests), NULL, ADEPT_SERVE_MIX},
    {"seed", FIELD_COUNT, IN_BODY(queries.seed), NULL, ADEPT_SERVE_MIX},
    {NULL, FIELD_NAME, 0, NULL, 0},
};

static const field goal_fields[] = {
    {"objective", FIELD_WORD, offsetof(adept_goal, objective), objectives, 0},
    {"samples", FIELD_POSITIVE, offsetof(adept_goal, samples), NULL, 0},
    {"steps", FIELD_POSITIVE, offsetof(adept_goal, steps), NULL, 0},
    {"power_budget_w", FIELD_POSITIVE, offsetof(adept_goal, power_budget_w), NULL, 0},
    {"deadline_s", FIELD_POSITIVE, offsetof(adept_goal, deadline_s), NULL, 0},
    {"energy_budget_j", FIELD_POSITIVE, offsetof(adept_goal, energy_budget_j), NULL, 0},
    {"ignore_memory", FIELD_FLAG, offsetof(adept_goal, ignore_memory), NULL, 0},
    {NULL, FIELD_NAME, 0, NULL, 0},
};

/* ---- one value ---- */

static bool wrong(const field *f, const char *what, adept_serve_problem *p)
{
    return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"%s\" is not %s", f->key, what);
}

/* An array of texts, joined by ';'. */
static bool read_assume(char *out, const field *f, const cJSON *array, adept_serve_problem *p)
{
    const cJSON *item;
    size_t used = 0;
    if (!cJSON_IsArray(array)) return wrong(f, "an array", p);
    *out = '\0';
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsString(item) || !*item->valuestring || strchr(item->valuestring, ';'))
            return wrong(f, "an array of texts without ';'", p);
        size_t size = strlen(item->valuestring) + (used > 0);
        if (size >= ADEPT_SERVE_ASSUME_SIZE - used) return wrong(f, "at most 511 bytes", p);
        if (used > 0) out[used] = ';';
        memcpy(out + used + (used > 0), item->valuestring, strlen(item->valuestring) + 1);
        used += size;
    }
    return true;
}

static bool read_word(size_t *out, const field *f, const cJSON *value, adept_serve_problem *p)
{
    char list[512];
    *out = adept_name_index(cJSON_GetStringValue(value), f->words);
    return *out != SIZE_MAX || adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"%s\" is not one of %s", f->key,
                                                  adept_names_list(list, sizeof list, f->words));
}

/* A set, joined by commas, or a word with a number: both have 4 bytes. */
static bool read_set(unsigned *out, const field *f, const cJSON *value, adept_serve_problem *p)
{
    unsigned set;
    const adept_field of_set = {.kind = f->kind == FIELD_SET ? ADEPT_FIELD_SET : ADEPT_FIELD_SIZED, .names = f->words};
    size_t index;
    if (!cJSON_IsString(value) || !adept_field_set_text(&of_set, &set, value->valuestring))
        return read_word(&index, f, NULL, p);
    *out = set;
    return true;
}

static bool read_number(double *out, const field *f, const cJSON *value, adept_serve_problem *p)
{
    if (!cJSON_IsNumber(value)) return wrong(f, "a number", p);
    *out = value->valuedouble;
    return isfinite(*out) || wrong(f, "a number that a double can hold", p);
}

static bool read_count(int64_t *out, const field *f, const cJSON *value, adept_serve_problem *p)
{
    double number = 0.0; /* gcc at -O3 does not know that wrong() is false */
    if (!read_number(&number, f, value, p)) return false;
    if (!(number >= 1.0 && number <= 0x1p53) || number != floor(number))
        return wrong(f, "a whole number from 1 to 2^53", p);
    *out = (int64_t)number;
    return true;
}

/* A profile is handed on as text: the library reads it. */
static bool print_object(char **out, const field *f, const cJSON *value, adept_serve_problem *p)
{
    adept_json_writer w = {0};
    if (!cJSON_IsObject(value)) return wrong(f, "an object", p);
    adept_json_put_tree(&w, NULL, value);
    *out = adept_json_finish(&w);
    return *out || adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "out of memory");
}

static bool read_goal(adept_goal *out, const cJSON *object, adept_serve_problem *p);

static bool read_value(void *record, const field *f, const cJSON *value, adept_serve_problem *p)
{
    void *at = (char *)record + f->offset;
    size_t index, size;
    double *number = at;
    switch (f->kind) {
    case FIELD_NAME:
        if (!cJSON_IsString(value)) return wrong(f, "a string", p);
        size = strlen(value->valuestring) + 1;
        if (size == 1 || size > ADEPT_SERVE_NAME_SIZE) return wrong(f, "a name of 1 to 127 bytes", p);
        memcpy(at, value->valuestring, size);
        return true;
    case FIELD_ASSUME:
        return read_assume(at, f, value, p);
    case FIELD_CHOICE:
        if (!read_word(&index, f, value, p)) return false;
        *(const char **)at = f->words(index);
        return true;
    case FIELD_WORD:
        if (!read_word(&index, f, value, p)) return false;
        *(int32_t *)at = (int32_t)index;
        return true;
    case FIELD_COUNT:
        return read_count(at, f, value, p);
    case FIELD_NUMBER:
        return read_number(number, f, value, p);
    case FIELD_POSITIVE:
        return read_number(number, f, value, p) && (*number > 0.0 || wrong(f, "above 0", p));
    case FIELD_BOOL:
        *(bool *)at = cJSON_IsTrue(value);
        return cJSON_IsBool(value) || wrong(f, "true or false", p);
    case FIELD_FLAG:
        *(int32_t *)at = cJSON_IsTrue(value);
        return cJSON_IsBool(value) || wrong(f, "true or false", p);
    case FIELD_SET:
    case FIELD_SIZED:
        return read_set(at, f, value, p);
    case FIELD_STAGES: {
        const adept_field list = {.kind = ADEPT_FIELD_STAGES};
        return (cJSON_IsString(value) && adept_field_set_text(&list, at, value->valuestring)) ||
               wrong(f, ADEPT_STAGES_MEANS, p);
    }
    case FIELD_LIST:
        *(const cJSON **)at = value;
        return cJSON_IsArray(value) || wrong(f, "an array", p);
    case FIELD_TEXT:
        return print_object(at, f, value, p);
    case FIELD_GOAL:
        break;
    }
    return cJSON_IsObject(value) ? read_goal(at, value, p) : wrong(f, "an object", p);
}

/* ---- objects ---- */

/* One or two tables of fields and what they fill; of a run, words too. */
typedef struct object_kind {
    const char *name;       /* "a request" */
    const field *fields[2]; /* the second may be NULL */
    void *records[2];
    unsigned allowed;
    adept_serve_run *run;   /* NULL: it has none */
    adept_plan_words *plan; /* likewise */
} object_kind;

static const adept_field *find_word(const adept_field *(*field_at)(size_t), const char *key)
{
    for (size_t i = 0; field_at(i); i++)
        if (strcmp(field_at(i)->name, key) == 0) return field_at(i);
    return NULL;
}

/* A word of the workload, of the run or of a search. @return is it one? */
static bool read_field(bool *ok, const object_kind *kind, const char *key, const cJSON *value, adept_serve_problem *p)
{
    static const field_kind kinds[] = {
        [ADEPT_FIELD_WORD] = FIELD_WORD,   [ADEPT_FIELD_NAME] = FIELD_CHOICE,    [ADEPT_FIELD_SET] = FIELD_SET,
        [ADEPT_FIELD_SIZED] = FIELD_SIZED, [ADEPT_FIELD_SWITCH] = FIELD_BOOL,    [ADEPT_FIELD_STAGES] = FIELD_STAGES,
        [ADEPT_FIELD_COUNT] = FIELD_COUNT, [ADEPT_FIELD_AMOUNT] = FIELD_POSITIVE};
    const adept_field *of_workload = find_word(adept_workload_field, key), *of_run = find_word(adept_run_field, key);
    const adept_field *of = of_workload ? of_workload : of_run;
    adept_serve_run *run = kind->run;
    void *record = of_workload ? (void *)&run->words : (void *)&run->run;
    if (!of && kind->plan) of = find_word(adept_plan_field, key), record = kind->plan;
    if (!of) return false;
    const field f = {of->name, kinds[of->kind], of->at, of->names, 0};
    *ok = cJSON_IsNull(value) || read_value(record, &f, value, p);
    if (of_workload && !cJSON_IsNull(value)) run->given[of - adept_workload_field(0)] = true;
    return true;
}

static const field *find_field(const object_kind *kind, const char *key, int *table)
{
    for (*table = 0; *table < 2 && kind->fields[*table]; (*table)++)
        for (const field *f = kind->fields[*table]; f->key; f++)
            if (strcmp(f->key, key) == 0 && (!f->allowed || (f->allowed & kind->allowed))) return f;
    return NULL;
}

/* null stands for what is not given. */
static bool read_object(const object_kind *kind, const cJSON *object, adept_serve_problem *p)
{
    for (const cJSON *value = object->child; value; value = value->next) {
        int table;
        bool ok = true;
        if (kind->run && read_field(&ok, kind, value->string, value, p)) {
            if (!ok) return false;
            continue;
        }
        const field *f = find_field(kind, value->string, &table);
        if (!f)
            return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "unknown key \"%.63s\" in %s", value->string,
                                      kind->name);
        if (!cJSON_IsNull(value) && !read_value(kind->records[table], f, value, p)) return false;
    }
    return true;
}

static bool read_goal(adept_goal *out, const cJSON *object, adept_serve_problem *p)
{
    const object_kind kind = {"\"goal\"", {goal_fields, NULL}, {out, NULL}, 0, NULL, NULL};
    if (!read_object(&kind, object, p)) return false;
    if (out->samples > 0.0 && out->steps > 0.0)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"samples\" and \"steps\" exclude each other");
    return true;
}

bool adept_serve_row_read(adept_query_row *row, double *arrival_s, const cJSON *element, adept_serve_problem *p)
{
    static const field fields[] = {{"prompt", FIELD_POSITIVE, offsetof(adept_query_row, prompt), NULL, 0},
                                   {"tokens", FIELD_POSITIVE, offsetof(adept_query_row, tokens), NULL, 0},
                                   {"share", FIELD_POSITIVE, offsetof(adept_query_row, share), NULL, 0},
                                   {NULL, FIELD_NAME, 0, NULL, 0}},
                       arrival[] = {{"arrival_s", FIELD_NUMBER, 0, NULL, 0}, {NULL, FIELD_NAME, 0, NULL, 0}};
    const cJSON *arrival_of = cJSON_GetObjectItemCaseSensitive(element, "arrival_s");
    const bool arrives = arrival_of && !cJSON_IsNull(arrival_of);
    const object_kind kind = {
        "an element of \"mix\"", {fields, arrival_of ? arrival : NULL}, {row, arrival_s}, 0, NULL, NULL};
    *row = (adept_query_row){.share = arrives ? 1 : 0};
    if (!cJSON_IsObject(element))
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "%s is not an object", kind.name);
    return read_object(&kind, element, p);
}

bool adept_serve_run_read(adept_serve_run *run, const cJSON *element, adept_serve_problem *p)
{
    const object_kind kind = {"a request", {run_fields, NULL}, {run, NULL}, 0, run, NULL};
    if (!cJSON_IsObject(element)) return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "a request is not an object");
    return read_object(&kind, element, p);
}

bool adept_serve_body_read(adept_serve_body *out, const char *text, size_t size, unsigned allowed,
                           adept_serve_problem *p)
{
    adept_error err = {0};
    *out = (adept_serve_body){0};
    if (size == 0) return adept_serve_refuse(p, ADEPT_SERVE_BAD_JSON, "the body is empty, a JSON object is expected");
    adept_status status = adept_json_parse_within(&out->root, "body", text, size, ADEPT_SERVE_MAX_VALUES, &err);
    if (status != ADEPT_OK)
        return adept_serve_refuse(p, status == ADEPT_E_NOMEM ? ADEPT_SERVE_OVERLOADED : ADEPT_SERVE_BAD_JSON, "%s",
                                  err.message);
    if (!cJSON_IsObject(out->root)) return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "the body is not an object");
    const object_kind kind = {"the body",       {run_fields, body_fields},
                              {&out->run, out}, allowed,
                              &out->run,        allowed & ADEPT_SERVE_PLAN ? &out->plan : NULL};
    if (!read_object(&kind, out->root, p)) return false;
    cJSON_DeleteItemFromObjectCaseSensitive(out->root, "profile"); /* ten times as large as its text */
    if (out->profile && *out->run.workload)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"profile\" and \"workload\" exclude each other");
    if (out->list && out->compact)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST,
                                  "\"compact\" is for one request: a list is answered so anyway");
    if (out->details && (out->list || out->compact))
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST,
                                  "\"details\" are of one request, and not of a compact one");
    if (!out->list && (allowed & ADEPT_SERVE_OPTIONS))
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"options\" is missing");
    if ((allowed & ADEPT_SERVE_MIX) && !out->list)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"mix\" is missing");
    if (out->queries.requests > ADEPT_SERVE_MAX_QUERIES)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"requests\" is at most %d", ADEPT_SERVE_MAX_QUERIES);
    out->n = adept_json_size(out->list);
    return out->n <= ADEPT_SERVE_MAX_RUNS ||
           adept_serve_refuse(p, ADEPT_SERVE_TOO_LARGE, "more than %d requests in one body", ADEPT_SERVE_MAX_RUNS);
}

void adept_serve_body_free(adept_serve_body *b)
{
    cJSON_Delete(b->root);
    free(b->profile);
    *b = (adept_serve_body){.n = 0};
}

/* ---- words as libadept takes them ---- */

_Static_assert((ADEPT_N_WORKLOAD_FIELDS + ADEPT_N_RUN_FIELDS) * (ADEPT_FIELD_TEXT_BYTES + 32) < ADEPT_SERVE_WORDS_SIZE,
               "all words fit");

static void add_word(char text[ADEPT_SERVE_WORDS_SIZE], const adept_field *f, const void *record)
{
    char value[ADEPT_FIELD_TEXT_BYTES];
    const char *word = adept_field_text(value, f, record);
    adept_append(text, ADEPT_SERVE_WORDS_SIZE, "%s%s=%s", *text ? ";" : "", f->name,
                 *word ? word : f->fallback); /* of a set: none */
}

void adept_serve_workload_words(char text[ADEPT_SERVE_WORDS_SIZE], const adept_serve_run *run,
                                const adept_workload_info *own)
{
    *text = '\0';
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        bool same = (i == ADEPT_FIELD_batch_size && run->words.batch_size == own->batch_size) ||
                    (i == ADEPT_FIELD_seq_length && run->words.seq_length == own->seq_length);
        if (run->given[i] && !same) add_word(text, adept_workload_field(i), &run->words);
    }
}

void adept_serve_run_words(char text[ADEPT_SERVE_WORDS_SIZE], const adept_serve_run *run)
{
    *text = '\0';
    for (size_t i = 0; i < ADEPT_N_RUN_FIELDS; i++)
        if (!adept_field_is_zero(adept_run_field(i), &run->run)) add_word(text, adept_run_field(i), &run->run);
}

void adept_serve_plan_words(char text[ADEPT_SERVE_WORDS_SIZE], const adept_serve_run *run,
                            const adept_plan_words *asked)
{
    const adept_field *f;
    adept_serve_run_words(text, run);
    for (size_t i = 0; (f = adept_plan_field(i)); i++)
        if (!adept_field_is_zero(f, asked)) add_word(text, f, asked);
    if (run->given[ADEPT_FIELD_batch_size]) add_word(text, adept_workload_field(ADEPT_FIELD_batch_size), &run->words);
}

void adept_serve_put_schemas(adept_buffer *out, bool of_plan)
{
    static const char *const types[] = {
        [ADEPT_FIELD_WORD] = "string",   [ADEPT_FIELD_NAME] = "string",   [ADEPT_FIELD_SET] = "string",
        [ADEPT_FIELD_SIZED] = "string",  [ADEPT_FIELD_STAGES] = "string", [ADEPT_FIELD_SWITCH] = "boolean",
        [ADEPT_FIELD_COUNT] = "integer", [ADEPT_FIELD_AMOUNT] = "number"};
    const adept_field *f;
    for (size_t i = 0; (f = of_plan                       ? adept_plan_field(i)
                            : i < ADEPT_N_WORKLOAD_FIELDS ? adept_workload_field(i)
                                                          : adept_run_field(i - ADEPT_N_WORKLOAD_FIELDS));
         i++) {
        const char *const type[] = {types[f->kind], "null"};
        adept_json_writer w = {0};
        adept_json_begin_object(&w, NULL);
        adept_json_put_strings(&w, "type", type, 2);
        if (f->kind == ADEPT_FIELD_COUNT) adept_json_put_integer(&w, "minimum", 1);
        if (f->kind == ADEPT_FIELD_AMOUNT) adept_json_put_integer(&w, "exclusiveMinimum", 0);
        if (f->kind == ADEPT_FIELD_WORD) {
            adept_json_begin_array(&w, "enum");
            for (size_t k = 0; f->names(k); k++)
                adept_json_put_string(&w, NULL, f->names(k));
            adept_json_put_null(&w, NULL);
            adept_json_end_array(&w);
        }
        adept_json_put_string(&w, "description", f->help);
        adept_json_end_object(&w);
        char *schema = adept_json_finish(&w);
        adept_buffer_text(out, i > 0 ? ",\"" : "\"");
        adept_buffer_text(out, f->name);
        adept_buffer_text(out, "\":");
        adept_buffer_text(out, schema ? schema : "{}");
        out->failed = out->failed || !schema;
        free(schema);
    }
}

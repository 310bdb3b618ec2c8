/** @file request.c  Bodies of POST requests. Tables say which keys there are; one function reads any of them. */
#include "request.h"
#include <math.h>
#include <string.h>

typedef enum field_kind {
    FIELD_NAME,        /* char[ADEPT_SERVE_NAME_SIZE] */
    FIELD_GRANULARITY, /* const char * */
    FIELD_WORD,        /* int32_t, index in `words` */
    FIELD_COUNT,       /* int64_t of 1 or more */
    FIELD_POSITIVE,    /* double above 0 */
    FIELD_BOOL,        /* bool */
    FIELD_FLAG,        /* int32_t */
    FIELD_OBJECT,      /* adept_serve_span */
    FIELD_LIST
} field_kind;

typedef struct field {
    const char *key;
    field_kind kind;
    size_t offset;
    const char *const *words; /* ends with NULL */
    unsigned allowed;         /* bit that allows it; 0: always */
} field;

static const char *const granularities[] = {"operator", "model", NULL};
/* In the order of ADEPT_ALLREDUCE_, ADEPT_OVERLAP_ and ADEPT_LEAST_. */
static const char *const allreduce_words[] = {"ring", "tree", "auto", NULL};
static const char *const overlap_words[] = {"auto", "fixed", "bucketed", NULL};
static const char *const objectives[] = {"time", "energy", "edp", NULL};

#define IN_RUN(member) offsetof(adept_serve_run, member)
static const field run_fields[] = {
    {"workload", FIELD_NAME, IN_RUN(workload), NULL, 0},
    {"gpu", FIELD_NAME, IN_RUN(gpu), NULL, 0},
    {"batch_size", FIELD_COUNT, IN_RUN(batch_size), NULL, 0},
    {"seq_length", FIELD_COUNT, IN_RUN(seq_length), NULL, 0},
    {"gpus", FIELD_COUNT, IN_RUN(request.gpus), NULL, 0},
    {"power_limit_w", FIELD_POSITIVE, IN_RUN(request.power_limit_w), NULL, 0},
    {"clock_hz", FIELD_POSITIVE, IN_RUN(request.clock_hz), NULL, 0},
    {"granularity", FIELD_GRANULARITY, IN_RUN(granularity), granularities, 0},
    {"nodes", FIELD_COUNT, IN_RUN(request.nodes), NULL, 0},
    {"internode_bytes_per_s", FIELD_POSITIVE, IN_RUN(request.internode_bytes_per_s), NULL, 0},
    {"internode_latency_s", FIELD_POSITIVE, IN_RUN(request.internode_latency_s), NULL, 0},
    {"bucket_bytes", FIELD_POSITIVE, IN_RUN(request.bucket_bytes), NULL, 0},
    {"allreduce", FIELD_WORD, IN_RUN(request.allreduce), allreduce_words, 0},
    {"overlap", FIELD_WORD, IN_RUN(request.overlap), overlap_words, 0},
    {NULL, FIELD_NAME, 0, NULL, 0},
};

#define IN_BODY(member) offsetof(adept_serve_body, member)
static const field body_fields[] = {
    {"requests", FIELD_LIST, IN_BODY(list), NULL, ADEPT_SERVE_REQUESTS},
    {"options", FIELD_LIST, IN_BODY(list), NULL, ADEPT_SERVE_OPTIONS},
    {"goal", FIELD_OBJECT, IN_BODY(goal), NULL, ADEPT_SERVE_GOAL},
    {"profile", FIELD_OBJECT, IN_BODY(profile), NULL, ADEPT_SERVE_PROFILE},
    {"compact", FIELD_BOOL, IN_BODY(compact), NULL, ADEPT_SERVE_COMPACT},
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

static bool read_name(char *out, const field *f, adept_serve_span value, adept_serve_problem *p)
{
    if (adept_serve_json_kind(value) != '"') return wrong(f, "a string", p);
    if (adept_serve_json_text(out, ADEPT_SERVE_NAME_SIZE, value) && *out) return true;
    return wrong(f, "a name of 1 to 127 bytes", p);
}

static bool read_word(size_t *out, const field *f, adept_serve_span value, adept_serve_problem *p)
{
    char word[32], list[160] = "";
    bool is_text = adept_serve_json_kind(value) == '"' && adept_serve_json_text(word, sizeof word, value);
    for (*out = 0; f->words[*out]; (*out)++) {
        if (is_text && strcmp(word, f->words[*out]) == 0) return true;
        strcat(strcat(list, *out ? ", " : ""), f->words[*out]); /* our own words: they fit */
    }
    return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"%s\" is not one of %s", f->key, list);
}

static bool read_number(double *out, const field *f, adept_serve_span value, adept_serve_problem *p)
{
    if (adept_serve_json_kind(value) != '0') return wrong(f, "a number", p);
    return adept_serve_json_number(out, value) || wrong(f, "a number that a double can hold", p);
}

static bool read_count(int64_t *out, const field *f, adept_serve_span value, adept_serve_problem *p)
{
    double number;
    if (!read_number(&number, f, value, p)) return false;
    if (!(number >= 1.0 && number <= 0x1p53) || number != floor(number))
        return wrong(f, "a whole number from 1 to 2^53", p);
    *out = (int64_t)number;
    return true;
}

static bool read_bool(bool *out, const field *f, adept_serve_span value, adept_serve_problem *p)
{
    char kind = adept_serve_json_kind(value);
    *out = kind == 't';
    return kind == 't' || kind == 'f' || wrong(f, "true or false", p);
}

static bool read_goal(adept_goal *out, adept_serve_span object, adept_serve_problem *p);

static bool read_value(void *record, const field *f, adept_serve_span value, adept_serve_problem *p)
{
    void *at = (char *)record + f->offset;
    size_t index;
    double *number = at;
    bool flag;
    switch (f->kind) {
    case FIELD_NAME:
        return read_name(at, f, value, p);
    case FIELD_GRANULARITY:
        if (!read_word(&index, f, value, p)) return false;
        *(const char **)at = f->words[index];
        return true;
    case FIELD_WORD:
        if (!read_word(&index, f, value, p)) return false;
        *(int32_t *)at = (int32_t)index;
        return true;
    case FIELD_COUNT:
        return read_count(at, f, value, p);
    case FIELD_POSITIVE:
        return read_number(number, f, value, p) && (*number > 0.0 || wrong(f, "above 0", p));
    case FIELD_BOOL:
        return read_bool(at, f, value, p);
    case FIELD_FLAG:
        if (!read_bool(&flag, f, value, p)) return false;
        *(int32_t *)at = flag;
        return true;
    case FIELD_LIST:
        *(adept_serve_span *)at = value;
        return adept_serve_json_kind(value) == '[' || wrong(f, "an array", p);
    case FIELD_OBJECT:
        break;
    }
    if (adept_serve_json_kind(value) != '{') return wrong(f, "an object", p);
    if (f->allowed == ADEPT_SERVE_GOAL) return read_goal(at, value, p);
    *(adept_serve_span *)at = value;
    return true;
}

/* ---- objects ---- */

/* One or two tables of fields; the first is of `records[0]`, its duplicates are found by bits of seen[0]. */
typedef struct object_kind {
    const char *name;       /* "a request" */
    const field *fields[2]; /* the second may be NULL */
    void *records[2];
    unsigned allowed;
} object_kind;

static bool unknown_key(const object_kind *kind, adept_serve_span key, adept_serve_problem *p)
{
    char name[64];
    if (!adept_serve_json_text(name, sizeof name, key)) strcpy(name, "(a long name, or one with a NUL)");
    return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "unknown key \"%s\" in %s", name, kind->name);
}

static const field *find_field(const object_kind *kind, adept_serve_span key, int *table)
{
    char name[64];
    if (!adept_serve_json_text(name, sizeof name, key)) return NULL;
    for (*table = 0; *table < 2 && kind->fields[*table]; (*table)++)
        for (const field *f = kind->fields[*table]; f->key; f++)
            if (strcmp(f->key, name) == 0) return !f->allowed || (f->allowed & kind->allowed) ? f : NULL;
    return NULL;
}

/* null stands for what is not given. */
static bool read_object(const object_kind *kind, adept_serve_span object, adept_serve_problem *p)
{
    adept_serve_cursor c = adept_serve_json_inside(object);
    adept_serve_span key, value;
    unsigned seen[2] = {0, 0};
    while (adept_serve_json_next_member(&c, &key, &value)) {
        int table;
        const field *f = find_field(kind, key, &table);
        if (!f) return unknown_key(kind, key, p);
        unsigned bit = 1u << (unsigned)(f - kind->fields[table]);
        if (seen[table] & bit)
            return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"%s\" stands twice in %s", f->key, kind->name);
        seen[table] |= bit;
        if (adept_serve_json_kind(value) == 'n') continue;
        if (!read_value(kind->records[table], f, value, p)) return false;
    }
    return true;
}

static bool read_goal(adept_goal *out, adept_serve_span object, adept_serve_problem *p)
{
    const object_kind kind = {"\"goal\"", {goal_fields, NULL}, {out, NULL}, 0};
    if (!read_object(&kind, object, p)) return false;
    if (out->samples > 0.0 && out->steps > 0.0)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"samples\" and \"steps\" exclude each other");
    return true;
}

bool adept_serve_run_read(adept_serve_run *run, adept_serve_span element, adept_serve_problem *p)
{
    const object_kind kind = {"a request", {run_fields, NULL}, {run, NULL}, 0};
    if (adept_serve_json_kind(element) != '{')
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "a request is not an object");
    return read_object(&kind, element, p);
}

static bool count_runs(adept_serve_body *b, adept_serve_problem *p)
{
    adept_serve_cursor c = adept_serve_json_inside(b->list);
    adept_serve_span element;
    while (adept_serve_json_next(&c, &element))
        if (++b->n > ADEPT_SERVE_MAX_RUNS)
            return adept_serve_refuse(p, ADEPT_SERVE_TOO_LARGE, "more than %d requests in one body",
                                      ADEPT_SERVE_MAX_RUNS);
    return true;
}

bool adept_serve_body_read(adept_serve_body *out, const char *text, size_t size, unsigned allowed,
                           adept_serve_problem *p)
{
    adept_error err = {0};
    adept_serve_span root;
    *out = (adept_serve_body){0};
    if (size == 0) return adept_serve_refuse(p, ADEPT_SERVE_BAD_JSON, "the body is empty, a JSON object is expected");
    if (adept_serve_json_check(&root, text, size, &err) != ADEPT_OK)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_JSON, "%s", err.message);
    if (adept_serve_json_kind(root) != '{')
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "the body is not an object");
    const object_kind kind = {"the body", {run_fields, body_fields}, {&out->run, out}, allowed};
    if (!read_object(&kind, root, p)) return false;
    if (out->profile.at && *out->run.workload)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"profile\" and \"workload\" exclude each other");
    if (out->list.at && out->compact)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST,
                                  "\"compact\" is for one request: a list is answered so anyway");
    if (!out->list.at && (allowed & ADEPT_SERVE_OPTIONS))
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"options\" is missing");
    return !out->list.at || count_runs(out, p);
}

/** @file options.c  The command line: getopt_long's rules, with our own messages; values of options. argp only prints
 * the help. */
#include "cli.h"
#include "adept_append.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_shard.h"
#include <argp.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const adept_suffix adept_suffix_sizes[] = {{"", 1},       {"B", 1},         {"kB", 1e3},      {"MB", 1e6}, {"GB", 1e9},
                                           {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
const adept_suffix adept_suffix_times[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                                           {"min", 60},  {"h", 3600},  {"d", 86400}, {NULL, 0}};
const adept_suffix adept_suffix_watts[] = {{"", 1}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};

adept_status adept_cli_usage(adept_cli *cli, const char *format, ...)
{
    char text[sizeof cli->err.message];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "%s", text);
}

adept_status adept_cli_no_memory(adept_cli *cli)
{
    return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
}

bool adept_cli_prints(const char *output)
{
    return output && strcmp(output, "-") == 0;
}

/* ---------------------------------------------------------------- numbers ---------------------------------------- */

static adept_status take_whole(adept_cli *cli, const char *option, const char *text, const adept_option_row *o,
                               int64_t *out)
{
    const char *digits = text + (*text == '+' || *text == '-');
    const size_t length = adept_number_length(text);
    double whole = NAN; /* 1.28e6: exact where the product is whole and up to 2^53 */

    if (length > 0 && !text[length] && strpbrk(text, "eE") && !adept_number_parse(&whole, text)) whole = INFINITY;
    const bool exponent = whole == floor(whole);
    if (!exponent && (!*digits || digits[strspn(digits, "0123456789")]))
        return adept_cli_usage(cli, "%s: '%s' is not a whole number", option, text);
    if (exponent && fabs(whole) > 9007199254740992.0)
        return adept_cli_usage(cli, "%s: '%s' is out of range: with an exponent, up to 2^53", option, text);
    int64_t value = exponent ? (int64_t)whole : 0;
    if (!exponent && !adept_integer_parse(&value, text, NULL, INT64_MIN, INT64_MAX))
        return adept_cli_usage(cli, "%s: '%s' is out of range: from %.0f to %" PRId64, option, text, o->low,
                               o->high > 0 ? (int64_t)o->high : INT64_MAX);
    if (value < (int64_t)o->low)
        return adept_cli_usage(cli, "%s: '%s' is too small, at least %.0f is needed", option, text, o->low);
    if (o->high > 0 && value > (int64_t)o->high)
        return adept_cli_usage(cli, "%s: '%s' is more than %.0f", option, text, o->high);
    *out = value;
    return ADEPT_OK;
}

static adept_status take_int(adept_cli *cli, const char *option, const char *text, const adept_option_row *o, int *out)
{
    int64_t value = 0;
    adept_status status = take_whole(cli, option, text, o, &value);

    if (status == ADEPT_OK && (value < INT_MIN || value > INT_MAX))
        return adept_cli_usage(cli, "%s: '%s' is out of range", option, text);
    if (status == ADEPT_OK) *out = (int)value;
    return status;
}

adept_status adept_option_number(adept_cli *cli, const char *option, const char *text, double low, double *out)
{
    size_t length = adept_number_length(text);
    double value;

    if (length == 0 || text[length]) return adept_cli_usage(cli, "%s: '%s' is not a number", option, text);
    if (!adept_number_parse(&value, text))
        return adept_cli_usage(cli, "%s: '%s' is out of range: from %g to %g", option, text, low, DBL_MAX);
    if (value < low) return adept_cli_usage(cli, "%s: '%s' is too small, at least %g is needed", option, text, low);
    *out = value;
    return ADEPT_OK;
}

static adept_status take_above_0(adept_cli *cli, const char *option, const char *text, double *out)
{
    adept_status status = adept_option_number(cli, option, text, -DBL_MAX, out);

    return status != ADEPT_OK || *out > 0 ? status : adept_cli_usage(cli, "%s: '%s' is not above 0", option, text);
}

adept_status adept_option_amount(adept_cli *cli, const char *option, const char *text, const adept_suffix *units,
                                 double *out)
{
    char number[64];
    size_t digits = adept_number_length(text);
    double value;

    const adept_suffix *unit = units;
    while (unit->name && strcmp(unit->name, text + digits) != 0)
        unit++;
    if (!unit->name || digits == 0 || digits >= sizeof number) {
        char list[128] = "";
        for (; units->name; units++)
            if (*units->name) adept_append(list, sizeof list, "%s%s", *list ? ", " : "", units->name);
        return adept_cli_usage(cli, "%s: '%s' is not a number with a unit: %s", option, text, list);
    }
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    adept_status status = adept_option_number(cli, option, number, -DBL_MAX, &value);
    if (status != ADEPT_OK) return status;
    *out = value * unit->scale;
    if (!(*out > 0) || !isfinite(*out))
        return adept_cli_usage(cli, "%s: '%s' is out of range: above 0, up to %g%s", option, text,
                               fmin(DBL_MAX, DBL_MAX / unit->scale), unit->name);
    return ADEPT_OK;
}

adept_status adept_option_percent(adept_cli *cli, const char *option, char *text, void *field)
{
    double *share = field;
    adept_status status = adept_option_number(cli, option, text, 0, share);

    *share /= 100;
    return status;
}

adept_status adept_option_memory(adept_cli *cli, const char *option, char *text, void *field)
{
    double bytes;
    adept_status status = adept_option_amount(cli, option, text, adept_suffix_sizes, &bytes);
    if (status != ADEPT_OK) return status;
    if (bytes < 512e6 || bytes > 1e15)
        return adept_cli_usage(cli, "%s: '%s' is not from 512MB to 1000000GB", option, text);
    *(uint64_t *)field = (uint64_t)bytes;
    return ADEPT_OK;
}

adept_status adept_option_shard(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_shard *shard = field;
    const char *slash;
    int64_t index, of;

    if (!adept_integer_parse(&index, text, &slash, 1, 100000) || *slash != '/' ||
        !adept_integer_parse(&of, slash + 1, NULL, index, 100000))
        return adept_cli_usage(cli, "%s: '%s' is not K/N, as in 1/8", option, text);
    *shard = (adept_shard){(size_t)index, (size_t)of};
    return ADEPT_OK;
}

adept_status adept_option_of_variant(adept_cli *cli, const char *option, char *text, void *field)
{
    (void)text, (void)field;
    return adept_cli_usage(cli, "write %s in full", option);
}

ADEPT_FILE_NAMES(picture_ending, ".svg", ".pdf", ".png")

adept_status adept_option_picture(adept_cli *cli, const char *option, char *text, void *field)
{
    const char *end = strrchr(text, '.');

    if (*text == '\0') return adept_cli_usage(cli, "%s: the file name is empty", option);
    if (!adept_file_is_stream(text) && adept_name_index(end, picture_ending) == SIZE_MAX)
        return adept_cli_usage(cli, "%s: '%s' ends in neither .svg, .pdf nor .png", option, text);
    *(const char **)field = text;
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- words ------------------------------------------ */

static bool append(adept_words *words, const char *word)
{
    const char **grown = adept_grow(words->words, &words->capacity, words->n + 2, sizeof *grown);

    if (!grown) return false;
    words->words = grown;
    words->words[words->n++] = word;
    words->words[words->n] = NULL;
    return true;
}

static adept_status take_list(adept_cli *cli, const char *option, char *text, adept_words *words)
{
    size_t length = strlen(text);

    if (length == 0 || *text == ',' || text[length - 1] == ',' || strstr(text, ",,"))
        return adept_cli_usage(cli, "%s: '%s' holds an empty word", option, text);
    for (char *word; (word = strsep(&text, ","));)
        if (!append(words, word)) return adept_cli_no_memory(cli);
    return ADEPT_OK;
}

adept_status adept_option_unknown(adept_cli *cli, const char *option, const char *word, adept_name_at names)
{
    char list[512];

    return adept_cli_usage(cli, "%s: '%s' is not one of %s", option, word, adept_names_list(list, sizeof list, names));
}

adept_status adept_option_names(adept_cli *cli, const char *option, char *text, adept_name_at names, bool *given)
{
    for (size_t i = 0; names(i); i++)
        given[i] = false;
    for (char *word; (word = strsep(&text, ","));) {
        size_t i = 0;
        while (names(i) && strcmp(names(i), word) != 0)
            i++;
        if (!names(i)) return adept_option_unknown(cli, option, word, names);
        given[i] = true;
    }
    return ADEPT_OK;
}

static adept_status take_choice(adept_cli *cli, const char *option, const char *text, adept_name_at names, size_t *out)
{
    *out = adept_name_index(text, names);
    return *out != SIZE_MAX ? ADEPT_OK : adept_option_unknown(cli, option, text, names);
}

/* ---------------------------------------------------------------- all of them ------------------------------------ */

adept_status adept_option_take(adept_cli *cli, const adept_option_row *o, void *record, char *text)
{
    char option[64];
    void *field = (char *)record + o->at;
    size_t index;
    adept_status status;

    snprintf(option, sizeof option, "--%s", o->name);
    if (o->given > 0) *((bool *)record + o->given) = true;
    switch (o->kind) {
    case ADEPT_OPT_FLAG:
        *(bool *)field = true;
        return ADEPT_OK;
    case ADEPT_OPT_COUNT:
        return take_whole(cli, option, text, o, field);
    case ADEPT_OPT_INT:
        return take_int(cli, option, text, o, field);
    case ADEPT_OPT_NUMBER:
        return adept_option_number(cli, option, text, o->low, field);
    case ADEPT_OPT_ABOVE_0:
        return take_above_0(cli, option, text, field);
    case ADEPT_OPT_AMOUNT:
        return o->units ? adept_option_amount(cli, option, text, o->units, field)
                        : take_above_0(cli, option, text, field);
    case ADEPT_OPT_PARSED:
        return o->parse(cli, option, text, field);
    case ADEPT_OPT_LIST:
        return take_list(cli, option, text, field);
    case ADEPT_OPT_CHOICE:
        status = take_choice(cli, option, text, o->names, &index);
        *(int *)field = (int)o->low + (int)index;
        return status;
    case ADEPT_OPT_NAME:
        status = take_choice(cli, option, text, o->names, &index);
        *(const char **)field = status == ADEPT_OK ? o->names(index) : NULL;
        return status;
    default:
        if (*text == '\0' && o->kind != ADEPT_OPT_TEXT)
            return adept_cli_usage(cli, "%s: the file name is empty", option);
        if (o->kind == ADEPT_OPT_WORD) return append(field, text) ? ADEPT_OK : adept_cli_no_memory(cli);
        *(const char **)field = text;
        return ADEPT_OK;
    }
}

/* An option, and the record that its value goes to. */
typedef struct entry {
    const adept_option_row *option;
    void *record;
} entry;

typedef struct parser {
    adept_cli *cli;
    const adept_command *command;
    void *record;
    entry *entries;
    size_t n, capacity;
    char **next;        /* words of the command line not yet taken, up to a NULL */
    size_t n_arguments; /* taken */
    bool done;          /* --help, --help-all or --version is answered: nothing is left to do */
} parser;

static const adept_option_row common[] = {
    {"help", NULL, -1, "Print this help", ADEPT_OPT_PARSED, .letter = 'h'},
    {"help-all", NULL, -1, "Print this help, options for experts too", ADEPT_OPT_PARSED, .expert = true},
    {"version", NULL, -1, "Print the version", ADEPT_OPT_PARSED, .letter = 'V'},
    {0},
};

/* ---------------------------------------------------------------- records ---------------------------------------- */

/* @return false: memory is out */
static bool collect_rows(parser *p, const adept_option_row *rows, void *record)
{
    for (; rows && (rows->name || rows->help); rows++) {
        entry *grown = adept_grow(p->entries, &p->capacity, p->n + 1, sizeof *grown);
        if (!grown) return false;
        p->entries = grown;
        p->entries[p->n++] = (entry){rows, record};
    }
    return true;
}

/* Every record begins, also where memory is out: every one is released. */
static bool begin(parser *p, const adept_options *options, char *record)
{
    if (options->init) options->init(record);
    bool ok = collect_rows(p, options->rows, record);
    for (size_t i = 0; i < ADEPT_MOST_PARTS && options->parts[i].options; i++)
        ok = begin(p, options->parts[i].options, record + options->parts[i].at) && ok;
    return ok;
}

/* Parts first: what holds them may ask whether they fit each other. */
static adept_status check(adept_cli *cli, const adept_options *options, char *record)
{
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < ADEPT_MOST_PARTS && options->parts[i].options && status == ADEPT_OK; i++)
        status = check(cli, options->parts[i].options, record + options->parts[i].at);
    return status == ADEPT_OK && options->check ? options->check(cli, record) : status;
}

static void release(const adept_options *options, char *record)
{
    for (size_t i = 0; i < ADEPT_MOST_PARTS && options->parts[i].options; i++)
        release(options->parts[i].options, record + options->parts[i].at);
    if (options->release) options->release(record);
}

static void free_words(void *words)
{
    free(((adept_words *)words)->words);
}

static void end(parser *p)
{
    const adept_arguments *a = &p->command->arguments;

    release(&p->command->options, p->record);
    for (size_t i = 0; i < p->n; i++)
        if (p->entries[i].option->kind == ADEPT_OPT_WORD || p->entries[i].option->kind == ADEPT_OPT_LIST)
            free_words((char *)p->entries[i].record + p->entries[i].option->at);
    if (a->most == ADEPT_ANY_NUMBER) free_words((char *)p->record + a->at);
    free(p->entries);
    free(p->record);
}

/* ---------------------------------------------------------------- --help ----------------------------------------- */

/* Rows of `common` have no record. */
static bool is_common(const entry *e)
{
    return e->record == NULL;
}

/* A frame of its own: tests/faults knows what argp does there without memory. */
__attribute__((noinline)) static adept_status print_help(const parser *p, bool all)
{
    struct argp_option *rows = calloc(p->n + 1, sizeof *rows); /* zeros end them */
    char name[64];
    size_t n_more = 0;

    if (!rows) return adept_cli_no_memory(p->cli);
    for (size_t i = 0; i < p->n; i++) {
        const adept_option_row *o = p->entries[i].option;
        const bool is_more = o->help && o->expert && !all;
        n_more += is_more && !is_common(&p->entries[i]);
        rows[i] = (struct argp_option){.name = o->name,
                                       .key = o->letter ? o->letter
                                              : o->name ? 0x100 + (int)i
                                                        : 0,
                                       .arg = o->value,
                                       .flags = o->help && !is_more ? 0 : OPTION_HIDDEN,
                                       .doc = o->help,
                                       .group = o->group};
    }
    const struct argp argp = {.options = rows, .args_doc = p->command->usage, .doc = p->command->doc};
    snprintf(name, sizeof name, "adept %s", p->command->name);
    setenv("ARGP_HELP_FMT", "no-dup-args-note", 0); /* -o is the only short option with a value: no need for it */
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    const char *variant = p->command->words ? p->command->words[0] : NULL; /* "--drive" */
    if (n_more > 0)
        printf("\n%zu more option%s for experts: %s%s%s --help-all\n", n_more, n_more == 1 ? "" : "s", name,
               variant ? " " : "", variant ? variant : "");
    free(rows);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- the command line ------------------------------- */

static adept_status take(parser *p, const entry *e, char *value)
{
    if (!is_common(e)) return adept_option_take(p->cli, e->option, e->record, value);
    p->done = true;
    if (e->option->letter != 'V') return print_help(p, e->option->expert);
    puts("adept " ADEPT_VERSION);
    return ADEPT_OK;
}

/* NULL: the command has none of this name. */
static const adept_option_row *option_called(const parser *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->entries[i].option->name && strcmp(p->entries[i].option->name, name) == 0) return p->entries[i].option;
    return NULL;
}

/* What others call an option, and ours. */
static const char *const other_names[][2] = {
    {"dtype", "precision"},
    {"amp", "precision"},
    {"num-gpus", "gpus"},
    {"n-gpus", "gpus"},
    {"world-size", "gpus"},
    {"tensor-parallel-size", "tp"},
    {"tensor-parallel", "tp"},
    {"pipeline-parallel", "pp"},
    {"context-parallel", "cp"},
    {"expert-parallel", "ep"},
    {"sequence-parallel", "sp"},
    {"zero-stage", "zero"},
    {"tensor-model-parallel-size", "tp"},
    {"pipeline-model-parallel-size", "pp"},
    {"gradient-checkpointing", "activation-checkpoint"},
    {"num-nodes", "nodes"},
    {"power-cap", "power-limit"},
    {"gradient-accumulation-steps", "grad-accum"},
    {"sequence-length", "seq-length"},
    {"seq-len", "seq-length"},
    {"micro-batch-size", "batch"},
    {"bs", "batch"},
    {"gpu-launch", "host-launch"},
    {"device", "gpu"},
};

/* What cannot be predicted yet. Of options that commands have which predict: those with --gpus. */
static const struct {
    const char *name, *what;
} missing[] = {
    {"deepspeed", "say --zero 1, 2 or 3 and --trainer deepspeed"},
    {"activation-offload", "adept cannot move activations to the host yet: all are saved"},
};

static adept_status check_missing(const parser *p, const char *name)
{
    size_t length;

    for (size_t i = 0; i < sizeof missing / sizeof *missing && option_called(p, "gpus") && !option_called(p, name);
         i++) {
        length = strlen(missing[i].name); /* --tensor-parallel-size, --zero-stage */
        if (strncmp(name, missing[i].name, length) == 0 && (name[length] == '\0' || name[length] == '-'))
            return adept_cli_usage(p->cli, "--%s: %s", name, missing[i].what);
    }
    return ADEPT_OK;
}

static adept_status unknown_option(const parser *p, const char *word, const char *name)
{
    const char *best = NULL, *command = p->command->name;
    size_t best_distance = SIZE_MAX;

    for (size_t i = 0; i < p->n; i++) {
        const char *known = p->entries[i].option->name;
        if (known && adept_is_nearer(&best_distance, name, known)) best = known;
    }
    for (size_t i = 0; i < p->n; i++) { /* --batch-size */
        const char *known = p->entries[i].option->name;
        size_t length = known ? strlen(known) : 0;
        if (length > 0 && strncmp(name, known, length) == 0 && name[length] == '-') best = known;
    }
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (strcmp(name, other_names[i][0]) == 0 && option_called(p, other_names[i][1])) best = other_names[i][1];
    if (!best) return adept_cli_usage(p->cli, "unknown option '%s'; see adept %s --help", word, command);
    return adept_cli_usage(p->cli, "unknown option '%s'; did you mean --%s? (adept %s --help%s)", word, best, command,
                           option_called(p, best)->expert ? "-all" : "");
}

static bool is_also(const adept_option_row *o, const char *name)
{
    const char *also = o->also ? o->also : "";

    while (*also && (*also == *name || (*also == '_' && *name == '-')))
        also++, name++;
    return o->also && *also == *name;
}

/* The option of which `name` is the begin; all of it goes before others. */
static const entry *find_long(const parser *p, const char *name, bool *ambiguous)
{
    const entry *match = NULL;

    *ambiguous = false;
    for (size_t i = 0; i < p->n; i++)
        if (is_also(p->entries[i].option, name)) return &p->entries[i];
    for (size_t i = 0; i < p->n; i++) {
        const char *known = p->entries[i].option->name;
        if (!known || strncmp(known, name, strlen(name)) != 0) continue;
        *ambiguous = match != NULL && strlen(known) > strlen(name);
        match = &p->entries[i];
        if (strlen(known) == strlen(name) || is_common(match)) break; /* --hel is --help, not --help-all as well */
    }
    return match;
}

static adept_status take_long(parser *p, char *word)
{
    char name[64];
    char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    bool ambiguous;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    if (check_missing(p, name) != ADEPT_OK) return ADEPT_E_USAGE; /* before --ep is taken for --epochs */
    const entry *e = find_long(p, name, &ambiguous);
    if (!e) return unknown_option(p, word, name);
    const adept_option_row *o = e->option,
                           si = {name, o->value, .kind = ADEPT_OPT_ABOVE_0, .at = o->at, .given = o->given};
    const entry of_si = {&si, e->record};
    if (ambiguous) return adept_cli_usage(p->cli, "option '%s' is ambiguous; write it in full", word);
    if (!o->value && value) return adept_cli_usage(p->cli, "option '--%s' takes no value", o->name);
    if (o->value && !value && *p->next) value = *p->next++;
    if (o->value && !value) return adept_cli_usage(p->cli, "option '--%s' needs a value (%s)", o->name, o->value);
    bool by_si = o->kind == ADEPT_OPT_AMOUNT && strcmp(name, o->name) != 0 && is_also(o, name);
    return take(p, by_si ? &of_si : e, value);
}

/* "-o FILE", "-oFILE", "-Vo FILE" */
static adept_status take_short(parser *p, char *word)
{
    adept_status status = ADEPT_OK;

    for (char *letter = word + 1; *letter && status == ADEPT_OK && !p->done; letter++) {
        const entry *e = NULL;
        const char one[2] = {*letter, '\0'};
        for (size_t i = 0; i < p->n; i++)
            if (p->entries[i].option->letter == *letter) e = &p->entries[i];
        if (!e) return unknown_option(p, word, one);
        if (!e->option->value) {
            status = take(p, e, NULL);
            continue;
        }
        char *value = letter[1] ? letter + 1 : *p->next ? *p->next++ : NULL;
        if (value) return take(p, e, value);
        return adept_cli_usage(p->cli, "option '-%c' needs a value (%s)", *letter, e->option->value);
    }
    return status;
}

static adept_status take_argument(parser *p, const char *word)
{
    const adept_arguments *a = &p->command->arguments;
    void *field = (char *)p->record + a->at;

    if (a->most == 0) return adept_cli_usage(p->cli, "%s takes no argument, '%s' given", p->command->name, word);
    if (p->n_arguments == a->most)
        return adept_cli_usage(p->cli, "%s takes %s, '%s' is one too many", p->command->name, a->takes, word);
    if (a->most < ADEPT_ANY_NUMBER)
        ((const char **)field)[p->n_arguments] = word;
    else if (!append(field, word))
        return adept_cli_no_memory(p->cli);
    p->n_arguments++;
    return ADEPT_OK;
}

static adept_status parse(parser *p)
{
    adept_status status = ADEPT_OK;
    bool options_end = false;

    while (*p->next && status == ADEPT_OK && !p->done) {
        char *word = *p->next++;
        if (!options_end && strcmp(word, "--") == 0)
            options_end = true;
        else if (options_end || word[0] != '-' || word[1] == '\0') {
            status = take_argument(p, word);
            options_end = options_end || p->command->takes_program;
        } else
            status = word[1] == '-' ? take_long(p, word) : take_short(p, word);
    }
    const adept_arguments *a = &p->command->arguments;
    size_t least = !a->needs ? 0 : a->most == ADEPT_ANY_NUMBER ? 1 : a->most;
    if (status != ADEPT_OK || p->done || p->n_arguments >= least) return status;
    return adept_cli_usage(p->cli, "%s needs %s; see adept %s --help", p->command->name, a->needs, p->command->name);
}

static bool is_read(const char *written, const char *name)
{
    return name && access(name, F_OK) == 0 && adept_file_is_same(written, name);
}

static bool is_one_read(const char *written, const adept_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        if (is_read(written, words->words[i])) return true;
    return false;
}

/* What is read would be lost, and the first of two that are written. A hardware profile may be replaced by its fit. */
static adept_status check_written(const parser *p, const char *option, char *const *field)
{
    const adept_arguments *a = &p->command->arguments;
    const void *arguments = (char *)p->record + a->at;
    const bool any = a->most == ADEPT_ANY_NUMBER;
    bool lost = any && !p->command->takes_program && is_one_read(*field, arguments);

    for (size_t i = 0; i < p->n_arguments && !any; i++)
        lost = lost || is_read(*field, ((const char *const *)arguments)[i]);
    for (size_t i = 0; i < p->n; i++) {
        const adept_option_row *other = p->entries[i].option;
        if (!p->entries[i].record) continue; /* --help */
        char *const *value = (void *)((char *)p->entries[i].record + other->at);
        if (other->kind == ADEPT_OPT_WORD) lost = lost || is_one_read(*field, (const void *)value);
        if (other->kind == ADEPT_OPT_FILE && !other->written) lost = lost || is_read(*field, *value);
        if (other->written && value != field && adept_file_is_same(*field, *value))
            return adept_cli_usage(p->cli, "--%s: '%s' would be written twice", option, *field);
    }
    return lost ? adept_cli_usage(p->cli, "--%s: '%s' is read: it would be written over", option, *field) : ADEPT_OK;
}

static adept_status check_all_written(const parser *p)
{
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < p->n && status == ADEPT_OK; i++) {
        const adept_option_row *o = p->entries[i].option;
        if (!o->written) continue;
        char *const *field = (void *)((char *)p->entries[i].record + o->at);
        if (*field) status = check_written(p, o->name, field);
    }
    return status;
}

adept_status adept_command_run(const adept_command *command, adept_cli *cli, int argc, char **argv)
{
    for (const struct adept_subcommand *sub = command->subcommands; sub && sub->word && argc > 1; sub++)
        if (strcmp(argv[1], sub->word) == 0) return adept_command_run(sub->command, cli, argc - 1, argv + 1);
    const adept_command *variant = command->variant;
    for (char **word = argv; variant && *word && strcmp(*word, "--") != 0; word++)
        for (size_t i = 0; variant->words[i]; i++)
            if (strcmp(*word, variant->words[i]) == 0) command = variant;
    parser p = {.cli = cli, .command = command, .next = argv + 1};

    if (command->missing) return adept_cli_usage(cli, "%s", command->missing);
    p.record = calloc(1, command->size);
    if (!p.record) return adept_cli_no_memory(cli);
    bool ok = begin(&p, &command->options, p.record) && collect_rows(&p, common, NULL);
    adept_status status = ok ? parse(&p) : adept_cli_no_memory(cli);
    if (status == ADEPT_OK && !p.done) status = check_all_written(&p);
    if (status == ADEPT_OK && !p.done) status = check(cli, &command->options, p.record);
    if (status == ADEPT_OK && !p.done) status = command->run(cli, p.record);
    end(&p);
    return status;
}

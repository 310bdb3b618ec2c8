/** @file parse.c  argp with our own messages: one line that names the option, and exit code 2 for all of them.
 *  argp's ARGP_NO_ERRS silences getopt; what getopt objected to is then looked up in the option tables. */
#include "cli.h"
#include "nearest.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A parser returns it when --help or --version was answered. Any errno that argp itself never returns would do. */
#define STOP ECANCELED

#define MAX_OPTIONS 64

typedef struct option_list {
    const struct argp_option *options[MAX_OPTIONS];
    size_t n;
} option_list;

static void collect_options(const struct argp *argp, option_list *list)
{
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc || o->group); o++)
        if (o->name && list->n < MAX_OPTIONS) list->options[list->n++] = o;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        collect_options(child->argp, list);
}

/* state->hook is private to each parser; the root argp is what all of them see. */
static adept_parse *parse_of(const struct argp_state *state)
{
    return (adept_parse *)state->root_argp;
}

static adept_error *error_of(const struct argp_state *state)
{
    return &parse_of(state)->cli->err;
}

error_t adept_cli_usage(const struct argp_state *state, const char *format, ...)
{
    char text[sizeof((adept_error *)0)->message];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    adept_error_set(error_of(state), ADEPT_E_USAGE, "%s", text);
    return EINVAL;
}

error_t adept_cli_one_model(const struct argp_state *state, const char **model, const char *word)
{
    if (*model)
        return adept_cli_usage(state, "%s takes one MODEL or PROFILE, '%s' is one too many", parse_of(state)->command,
                               word);
    *model = word;
    return 0;
}

static void unknown_option(const struct argp_state *state, const char *word, const char *name)
{
    const adept_parse *parse = parse_of(state);
    option_list list = {.n = 0};
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;

    collect_options(state->root_argp, &list);
    for (size_t i = 0; i < list.n; i++)
        if (adept_is_nearer(&best_distance, name, list.options[i]->name)) best = list.options[i]->name;
    if (best)
        adept_cli_usage(state, "unknown option '%s'; did you mean --%s? (adept %s --help)", word, best, parse->command);
    else
        adept_cli_usage(state, "unknown option '%s'; see adept %s --help", word, parse->command);
}

/* Say what is wrong with a long option, if anything is. */
static bool explain_long(const struct argp_state *state, const char *word)
{
    char name[64];
    option_list list = {.n = 0};
    const struct argp_option *match = NULL;
    int matches = 0;
    size_t length = strcspn(word + 2, "=");

    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word + 2);
    collect_options(state->root_argp, &list);
    for (size_t i = 0; i < list.n; i++) {
        const char *option = list.options[i]->name;
        if (strncmp(option, name, strlen(name)) != 0) continue;
        match = list.options[i];
        matches++;
        if (strlen(option) == strlen(name)) {
            matches = 1;
            break;
        }
    }
    bool has_value = word[2 + length] == '=';
    if (matches == 0)
        unknown_option(state, word, name);
    else if (matches > 1)
        adept_cli_usage(state, "option '%s' is ambiguous; write it in full", word);
    else if (match->arg && !has_value)
        adept_cli_usage(state, "option '--%s' needs a value (%s)", match->name, match->arg);
    else if (!match->arg && has_value)
        adept_cli_usage(state, "option '--%s' takes no value", match->name);
    else
        return false;
    return true;
}

static bool explain_short(const struct argp_state *state, const char *word)
{
    option_list list = {.n = 0};

    collect_options(state->root_argp, &list);
    for (const char *letter = word + 1; *letter; letter++) {
        const struct argp_option *match = NULL;
        for (size_t i = 0; i < list.n; i++)
            if (list.options[i]->key == *letter) match = list.options[i];
        if (!match) {
            const char one[2] = {*letter, '\0'};
            unknown_option(state, word, one);
            return true;
        }
        if (match->arg) {
            if (letter[1] != '\0') return false; /* the rest is its value */
            adept_cli_usage(state, "option '-%c' needs a value (%s)", *letter, match->arg);
            return true;
        }
    }
    return false;
}

static bool explain(const struct argp_state *state, const char *word)
{
    if (!word || word[0] != '-' || word[1] == '\0') return false;
    return word[1] == '-' ? explain_long(state, word) : explain_short(state, word);
}

/* getopt stopped: the culprit is the word just taken, or, inside a group of short options, the next one. */
static void explain_failure(const struct argp_state *state)
{
    if (error_of(state)->status != ADEPT_OK) return;
    int next = state->next;
    if (next > 0 && explain(state, state->argv[next - 1])) return;
    if (next < state->argc && explain(state, state->argv[next])) return;
    adept_cli_usage(state, "the arguments cannot be understood; see adept %s --help", parse_of(state)->command);
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    adept_parse *parse = parse_of(state);

    (void)arg;
    switch (key) {
    case 'h':
        parse->help_shown = true;
        setenv("ARGP_HELP_FMT", "no-dup-args-note", 0); /* -o is the only short option with a value: no need for it */
        argp_help(state->root_argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, state->name);
        return STOP;
    case 'V':
        parse->help_shown = true;
        puts("adept " ADEPT_VERSION);
        return STOP;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_root(int key, char *arg, struct argp_state *state)
{
    adept_parse *parse = parse_of(state);

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = parse->input;
        return 0;
    case ARGP_KEY_ERROR:
        if (!parse->help_shown) explain_failure(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

adept_status adept_cli_parse(adept_parse *parse, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"help", 'h', NULL, 0, "Print this help", -1},
        {"version", 'V', NULL, 0, "Print the version", -1},
        {0},
    };
    static const struct argp common = {.options = options, .parser = parse_common};
    char name[64];
    struct argp command = *parse->argp;
    const struct argp_child children[] = {{&command, 0, NULL, 0}, {&common, 0, NULL, 0}, {0}};

    parse->root =
        (struct argp){.parser = parse_root, .args_doc = command.args_doc, .doc = command.doc, .children = children};

    command.args_doc = NULL; /* argp would print what parent and child both have twice */
    command.doc = NULL;
    snprintf(name, sizeof name, "adept %s", parse->command);
    char *const own_name = argv[0];
    argv[0] = name; /* argp calls the program by it */
    error_t failed =
        argp_parse(&parse->root, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER, NULL, NULL);
    argv[0] = own_name;
    if (parse->help_shown || failed == 0) return ADEPT_OK;
    if (parse->cli->err.status == ADEPT_OK)
        return adept_error_set(&parse->cli->err, ADEPT_E_NOMEM, "out of memory while reading the arguments");
    return parse->cli->err.status;
}

adept_status adept_cli_run(const adept_cli_body *body, adept_cli *cli, int argc, char **argv)
{
    void *options = calloc(1, body->options_size);
    adept_parse p = {.argp = body->argp, .command = body->command, .cli = cli, .input = options};

    if (!options) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = adept_cli_parse(&p, argc, argv);
    if (status == ADEPT_OK && !p.help_shown) status = body->run(cli, options);
    if (body->release) body->release(options);
    free(options);
    return status;
}

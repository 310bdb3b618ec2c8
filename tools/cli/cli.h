/** @file cli.h  What the commands share: their table row, the error they hand back, argument parsing. Calls:
 * adept_error. */
#ifndef ADEPT_CLI_H
#define ADEPT_CLI_H
#include "adept_error.h"
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/** One run of the program: where a command leaves what went wrong. main() prints it and picks the exit code. */
typedef struct adept_cli {
    adept_error err;
    char *details; /* malloc'ed lines to print after the message, each ending in a newline; NULL if none */
} adept_cli;

/** One row of the command table: a subcommand, defined in its own cmd_NAME.c. */
typedef struct adept_command {
    const char *name;    /* "predict" */
    const char *summary; /* one line for `adept --help` */
    /** argv[0] is the command's name. Writes to stdout only what belongs to the result, and only on success. */
    adept_status (*run)(adept_cli *cli, int argc, char **argv);
} adept_command;

extern const adept_command adept_command_predict;
extern const adept_command adept_command_profile;
extern const adept_command adept_command_sweep;
extern const adept_command adept_command_diff;
extern const adept_command adept_command_explain;
extern const adept_command adept_command_gpus;
extern const adept_command adept_command_handlers;
extern const adept_command adept_command_calibrate;
extern const adept_command adept_command_evaluate;
extern const adept_command adept_command_report;
extern const adept_command adept_command_serve;

/** What a command's parser fills on behalf of adept_cli_parse(). */
typedef struct adept_parse {
    struct argp root;        /* first, filled by adept_cli_parse(): how the parsers below find this record */
    const struct argp *argp; /* the command's */
    const char *command;     /* "predict" */
    adept_cli *cli;
    void *input;     /* state->input of the command's parser */
    bool help_shown; /* --help or --version was given and answered: nothing is left to do */
} adept_parse;

/**
 * Parse a command's arguments. --help and --version are added to its options and answered on stdout. Every error is
 * one line in cli->err with status ADEPT_E_USAGE. Options and arguments may be mixed, whatever POSIXLY_CORRECT says.
 */
adept_status adept_cli_parse(adept_parse *parse, int argc, char **argv);

/** A command whose options are one structure, all zero before they are parsed. */
typedef struct adept_cli_body {
    const struct argp *argp;
    const char *command;
    size_t options_size;
    adept_status (*run)(adept_cli *cli, const void *options);
    void (*release)(void *options); /* of what the options own, also after an error; NULL: nothing */
} adept_cli_body;

/** Parse and run it, unless help was all that was asked for. The options are on the heap: input specs make them large.
 */
adept_status adept_cli_run(const adept_cli_body *body, adept_cli *cli, int argc, char **argv);

/** For parsers: keep the message and stop the parse. */
error_t adept_cli_usage(const struct argp_state *state, const char *format, ...) ADEPT_PRINTF(2, 3);

/** For ARGP_KEY_ARG of a command that takes one MODEL or PROFILE. */
error_t adept_cli_one_model(const struct argp_state *state, const char **model, const char *word);

/** The commands' table, ends with NULL. */
extern const adept_command *const adept_commands[];

#endif

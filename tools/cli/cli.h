/** @file cli.h  What the commands share: their table row, and the error they hand back. Calls: options. */
#ifndef ADEPT_CLI_H
#define ADEPT_CLI_H
#include "options.h"

/** One run of the program: where a command leaves what went wrong. main() prints it and picks the exit code. */
typedef struct adept_cli {
    adept_error err;
    char *details; /* malloc'ed lines to print after the message, each ending in a newline; NULL if none */
} adept_cli;

/** One row of the command table: a subcommand, defined in its own cmd_NAME.c. */
typedef struct adept_command {
    const char *name;    /* "predict" */
    const char *summary; /* one line for `adept --help` */
    const char *missing; /* why this build cannot run it; NULL: it can */
    const char *usage;   /* "MODEL|PROFILE --gpu NAME|FILE" */
    const char *doc;     /* what it does; behind a '\v', examples */
    size_t size;         /* of the record of its options; on the heap, for input specs make it large */
    adept_options options;
    adept_arguments arguments;
    /** Writes to stdout only what belongs to the result, and only on success. */
    adept_status (*run)(adept_cli *cli, void *options);
} adept_command;

/**
 * Parse a command's arguments and run it. --help and --version are added to its options and answered on stdout. Every
 * error of usage is one line in cli->err. Options and arguments may be mixed, whatever POSIXLY_CORRECT says.
 * @param argv  argv[0] is the command's name
 */
adept_status adept_command_run(const adept_command *command, adept_cli *cli, int argc, char **argv);

/** The commands' table, ends with NULL. */
extern const adept_command *const adept_commands[];

/** The error for memory that is out. */
adept_status adept_cli_no_memory(adept_cli *cli);

#endif

/** @file cli.h  What the commands share: their table row, the error they hand back, and options as tables: what each is
 *  called, what --help says of it, and where its value goes. Calls: adept_error. */
#ifndef ADEPT_CLI_H
#define ADEPT_CLI_H
#include "adept_error.h"
#include "nearest.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One run of the program: where a command leaves what went wrong. main() prints it and picks the exit code. */
typedef struct adept_cli {
    adept_error err;
    char *details; /* malloc'ed lines to print after the message, each ending in a newline; NULL if none */
    int exit_code; /* of a program that a command ran, which is adept's own then; 0 else */
} adept_cli;

/* ---- options ---- */

typedef enum adept_option_kind {
    ADEPT_OPT_HEADING, /* no option: its help stands above those of its group */
    ADEPT_OPT_FLAG,    /* bool */
    ADEPT_OPT_TEXT,    /* const char *, borrowed from argv as all texts are */
    ADEPT_OPT_FILE,    /* the same, not empty */
    ADEPT_OPT_WORD,    /* adept_words: one more each time */
    ADEPT_OPT_LIST,    /* adept_words: all between commas */
    ADEPT_OPT_COUNT,   /* int64_t, from `low` to `high` */
    ADEPT_OPT_INT,     /* int, likewise */
    ADEPT_OPT_NUMBER,  /* double, at least `low` */
    ADEPT_OPT_ABOVE_0, /* double */
    ADEPT_OPT_AMOUNT,  /* double above 0 with one of `units`, of which "" is a number without */
    ADEPT_OPT_CHOICE,  /* enum: place of the word in `names`, counted from `low` */
    ADEPT_OPT_NAME,    /* const char *, one of `names` */
    ADEPT_OPT_PARSED   /* by `parse` */
} adept_option_kind;

/* A unit that may stand behind a number, "MHz", and what it multiplies by; a list ends with a NULL name. */
typedef struct adept_suffix {
    const char *name;
    double scale;
} adept_suffix;

/** "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"; "ns" to "d", of which none may be left out; "W", "kW", "MW". */
extern const adept_suffix adept_suffix_sizes[], adept_suffix_times[], adept_suffix_watts[];

typedef struct adept_words {
    const char **words; /* and a NULL behind the last; freed by adept_command_run() */
    size_t n, capacity;
} adept_words;

/** Reads the value of an option; `field` is where its row says. May cut the text to pieces. */
typedef adept_status (*adept_option_parser)(adept_cli *cli, const char *option, char *text, void *field);

/** A row of a table, which ends with a zeroed one. */
typedef struct adept_option_row {
    const char *name;  /* "gpus" */
    const char *value; /* "N"; NULL: it takes none */
    int group;         /* of the help, which is sorted by it */
    const char *help;  /* NULL: hidden */
    adept_option_kind kind;
    size_t at; /* where its value goes, behind the record's begin */
    int letter;
    size_t given;     /* a bool that it sets, behind the record's begin; 0: none */
    double low, high; /* high 0: none */
    const adept_suffix *units;
    adept_name_at names;
    adept_option_parser parse;
    bool expert;      /* few need it: only --help-all lists it */
    bool written;     /* the text is a file that is written: none that the command line gives to be read */
    const char *also; /* another name, with '_' for '-'; of an amount, in units of SI; NULL: none */
} adept_option_row;

#define ADEPT_MOST_PARTS 6

/** A record of options: its own ones, and records inside it with theirs. */
typedef struct adept_options {
    const adept_option_row *rows;
    void (*init)(void *record);                          /* NULL: all zero */
    adept_status (*check)(adept_cli *cli, void *record); /* do they fit together? NULL: always */
    void (*release)(void *record);                       /* of what it owns, also after an error; NULL: nothing */
    struct {
        const struct adept_options *options; /* NULL: no more */
        size_t at;
    } parts[ADEPT_MOST_PARTS];
} adept_options;

/** Words that are no options. */
typedef struct adept_arguments {
    const char *needs; /* "a MODEL or PROFILE"; NULL: none is needed */
    const char *takes; /* "one MODEL or PROFILE" */
    size_t most;       /* const char *[most] at `at`; ADEPT_ANY_NUMBER: adept_words */
    size_t at;
} adept_arguments;
#define ADEPT_ANY_NUMBER SIZE_MAX

/** For parsers and checks: keep the message. @return ADEPT_E_USAGE */
adept_status adept_cli_usage(adept_cli *cli, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Put the value of an option into its record. @param text  NULL: it takes none; may be cut */
adept_status adept_option_take(adept_cli *cli, const adept_option_row *row, void *record, char *text);

/** "--mode: 'x' is not one of train, fwbw, infer" */
adept_status adept_option_unknown(adept_cli *cli, const char *option, const char *word, adept_name_at names);

/** Finite decimal number of at least `low`; no hexadecimal, no infinity, no NaN, no blanks, nothing behind it. */
adept_status adept_option_number(adept_cli *cli, const char *option, const char *text, double low, double *out);

/** Such a number above 0 with one of the units, "4.5kW". */
adept_status adept_option_amount(adept_cli *cli, const char *option, const char *text, const adept_suffix *units,
                                 double *out);

/** An adept_option_parser of a percentage of at least 0. @param field  a double: the share, 0.1 of "10" */
adept_status adept_option_percent(adept_cli *cli, const char *option, char *text, void *field);

/** Which of the names stand in "NAME,NAME,..."; `given` has an element for each. */
adept_status adept_option_names(adept_cli *cli, const char *option, char *text, adept_name_at names, bool *given);

/** Of --memory-limit, wherever it is an option. */
#define ADEPT_MEMORY_LIMIT_HELP                                                                                        \
    "What reading a model may take of memory, about; above 1GiB, the default, with more processor time in "            \
    "proportion. "                                                                                                     \
    "Files that take more are refused"
/** An adept_option_parser of an amount of memory, as in 8GiB. @param field  a uint64_t, bytes */
adept_status adept_option_memory(adept_cli *cli, const char *option, char *text, void *field);

/** An adept_option_parser of a picture's file: its ending, .svg, .pdf or .png, is what it is written as. @param field
 * a const char * */
adept_status adept_option_picture(adept_cli *cli, const char *option, char *text, void *field);

/** An adept_option_parser of the words of a variant: written in full they never get here. @return ADEPT_E_USAGE */
adept_status adept_option_of_variant(adept_cli *cli, const char *option, char *text, void *field);

/** An adept_option_parser of "K/N", as in 1/8. @param field  an adept_shard */
adept_status adept_option_shard(adept_cli *cli, const char *option, char *text, void *field);

/* ---- commands ---- */

/** One row of the command table: a subcommand, defined in its own cmd_NAME.c. */
typedef struct adept_command adept_command;
struct adept_command {
    const char *name;    /* "predict" */
    const char *summary; /* one line for `adept --help` */
    const char *missing; /* why this build cannot run it; NULL: it can */
    const char *usage;   /* "MODEL|PROFILE --gpu NAME|FILE" */
    const char *doc;     /* what it does; behind a '\v', examples */
    size_t size;         /* of the record of its options; on the heap, for input specs make it large */
    adept_options options;
    adept_arguments arguments;
    /* arguments are a program and its own options: from the first on, no word is an option of adept's */
    bool takes_program;
    /** Writes to stdout only what belongs to the result, and only on success. */
    adept_status (*run)(adept_cli *cli, void *options);
    /** What the name stands for where one of `words` is given, with options of its own; NULL: nothing else */
    const adept_command *variant;
    const char *const *words; /* of a variant: "--drive", ..., NULL */
    /** What its first word decides; the rest is a command line of its own. Ends with a zeroed one; NULL: nothing */
    const struct adept_subcommand {
        const char *word;
        const adept_command *command; /* argv[0] is the word */
    } *subcommands;
};

/**
 * Parse a command's arguments and run it. --help, --help-all and --version are added to its options and answered on
 * stdout. Every error of usage is one line in cli->err. Options and arguments may be mixed, whatever POSIXLY_CORRECT
 * says.
 * @param argv  argv[0] is the command's name
 */
adept_status adept_command_run(const adept_command *command, adept_cli *cli, int argc, char **argv);

/** The commands' table, ends with NULL. */
extern const adept_command *const adept_commands[];

/** Is what -o writes on standard output, where nothing else may stand then? `output` may be NULL. */
bool adept_cli_prints(const char *output);
/** The error for memory that is out. */
adept_status adept_cli_no_memory(adept_cli *cli);

#endif

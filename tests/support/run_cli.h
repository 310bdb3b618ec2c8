/** @file run_cli.h  Runs the program that the environment variable ADEPT names, as a shell would. */
#ifndef RUN_CLI_H
#define RUN_CLI_H

typedef struct cli_result {
    int exit_code;   /* -1: it did not run, or a signal ended it */
    char *out, *err; /* never NULL */
} cli_result;

/** @param arguments as in printf; the shell splits the result into words. */
cli_result cli_run(const char *arguments, ...) __attribute__((format(printf, 1, 2)));
void cli_result_free(cli_result *result);

/** A folder for the calling test program, removed with cli_folder_remove(). */
const char *cli_folder(void);
void cli_folder_remove(void);

#endif

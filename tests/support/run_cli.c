#include "run_cli.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char folder[64];

const char *cli_folder(void)
{
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/adept-test-XXXXXX");
        if (!mkdtemp(folder)) abort();
    }
    return folder;
}

void cli_folder_remove(void)
{
    char command[128];

    if (!folder[0]) return;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "%s stays behind\n", folder);
    folder[0] = '\0';
}

static char *read_text(const char *name)
{
    char path[128];
    char *text = NULL;
    size_t size = 0;

    snprintf(path, sizeof path, "%s/%s", cli_folder(), name);
    FILE *f = fopen(path, "r");
    FILE *copy = open_memstream(&text, &size);
    if (!copy) abort();
    for (int c; f && (c = fgetc(f)) != EOF;)
        fputc(c, copy);
    if (f) fclose(f);
    fclose(copy);
    return text;
}

cli_result cli_run(const char *arguments, ...)
{
    char words[4096], command[4608];
    va_list args;

    va_start(args, arguments);
    vsnprintf(words, sizeof words, arguments, args);
    va_end(args);
    snprintf(command, sizeof command, "\"$ADEPT\" %s >%s/out 2>%s/err", words, cli_folder(), cli_folder());
    int status = system(command);
    return (cli_result){
        .exit_code = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .out = read_text("out"),
        .err = read_text("err"),
    };
}

void cli_result_free(cli_result *result)
{
    free(result->out);
    free(result->err);
}

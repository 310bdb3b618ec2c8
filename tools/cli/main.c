/** @file main.c  `adept COMMAND ...`: picks the command, prints its error, turns its status into the exit code. */
#include "cli.h"
#include "adept_sensor.h"
#include "progress.h"
#include "table.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *command_name(size_t index)
{
    return adept_commands[index] ? adept_commands[index]->name : NULL;
}

static void print_help(void)
{
    puts("Usage: adept COMMAND [OPTION...]\n"
         "Time, power and energy of a deep-learning step before it runs.\n");
    for (size_t i = 0; adept_commands[i]; i++)
        printf("  %-10s %s\n", adept_commands[i]->name, adept_commands[i]->summary);
    puts("\n"
         "  --help     Print this help; adept help COMMAND describes a command\n"
         "  --version  Print the version\n"
         "\n"
         "Examples:\n"
         "  adept predict model.pt --gpu a100\n"
         "  adept profile model.pt -o model.profile.json\n"
         "  adept predict model.profile.json --gpu h100 --gpus 4 --steps 1000\n"
         "  adept calibrate runs.csv --gpu a100 -o mine.json\n"
         "\n"
         "Exit codes: 0 done, 1 internal failure, 2 wrong usage, 3 bad input file, 4 operator not supported,\n"
         "5 fit failed, 6 unknown GPU, 7 a check failed, 130 Ctrl-C.");
}

static adept_status unknown_command(adept_cli *cli, const char *word)
{
    char list[256];
    const char *kind = word[0] == '-' ? "option" : "command";
    const char *near = adept_nearest(word, command_name);

    adept_names_list(list, sizeof list, command_name);
    if (near)
        return adept_error_set(&cli->err, ADEPT_E_USAGE, "unknown %s '%s'; did you mean '%s'? (commands: %s)", kind,
                               word, near, list);
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "unknown %s '%s'; commands: %s", kind, word, list);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static adept_status dispatch(adept_cli *cli, int argc, char **argv)
{
    static char help_option[] = "--help";
    if (argc < 2) {
        print_help();
        return adept_error_set(&cli->err, ADEPT_E_USAGE, "no command given");
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) { /* "adept help predict" is "adept predict --help" */
        argv[1] = argv[2];
        argv[2] = help_option;
    }
    if (is_one_of(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0) {
        print_help();
        return ADEPT_OK;
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        puts("adept " ADEPT_VERSION);
        return ADEPT_OK;
    }
    for (size_t i = 0; adept_commands[i]; i++)
        if (strcmp(argv[1], adept_commands[i]->name) == 0)
            return adept_command_run(adept_commands[i], cli, argc - 1, argv + 1);
    return unknown_command(cli, argv[1]);
}

/* A result that did not reach the disk or the pipe is no result. */
static adept_status close_output(adept_cli *cli)
{
    bool failed = ferror(stdout) != 0;

    if (adept_print_failed) return adept_cli_no_memory(cli);
    errno = 0;
    if (fflush(stdout) == 0 && !failed && fclose(stdout) == 0) return ADEPT_OK;
    return adept_error_set(&cli->err, ADEPT_E_IO, "cannot write standard output%s%s", errno ? ": " : "",
                           errno ? strerror(errno) : "");
}

/* Has what reads the output ended, as `head` does when it has enough, and is that all that failed? */
static bool nobody_reads(const adept_cli *cli)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    bool unread = poll(&output, 1, 0) == 1 && output.revents & POLLERR;

    return unread && cli->err.status == ADEPT_E_IO && (ferror(stdout) || strstr(cli->err.message, strerror(EPIPE)));
}

int main(int argc, char **argv)
{
    adept_cli cli = {.details = NULL};

    /* A descriptor the caller left closed would be given to the first file opened, which would then receive our output.
     * The stand-ins cannot be used either way round: writing to standard output still fails. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) _exit(1);
    signal(SIGCHLD, SIG_DFL); /* ignored, as some daemons hand it on, nobody would know how a child ended */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like any other, but nothing to say */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file at the limit of its size */
    adept_status status = dispatch(&cli, argc, argv);
    if (status == ADEPT_OK) status = close_output(&cli);
    if (status != ADEPT_OK && !nobody_reads(&cli)) {
        fputs("adept: ", stderr);
        adept_print_clean(stderr, cli.err.message[0] ? cli.err.message : adept_status_text(cli.err.status));
        fputc('\n', stderr);
        if (cli.details) fputs(cli.details, stderr);
    }
    free(cli.details);
    int code = cli.exit_code                                       ? cli.exit_code
               : status != ADEPT_OK && adept_interrupt_requested ? 128 + adept_interrupt_requested
                                                                 : adept_status_exit_code(status);
    if (!adept_sensors_are_stuck()) return code;
    fflush(NULL);
    _exit(code); /* exit() would run what a driver's library does at its end, beside the call that it never came back from */
}

/** @file main.c  `adept COMMAND ...`: picks the command, prints its error, turns its status into the exit code. */
#include "cli.h"
#include "adept_arena.h"
#include "adept_file.h"
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
         "  --options  After COMMAND: --options FILE reads options from a file's lines, such as 'gpu = a100'\n"
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

/* The words of a file of options, in place of "--options FILE" at `place`: an option a line, as "gpu = a100", "gpu
 * a100" or "--gpu=a100"; one without a value, "json". They stand directly behind the command: what the command line
 * itself says comes later, and so holds where one may be given once. */
static adept_arena *file_words; /* freed by main() */

static adept_status read_options(adept_cli *cli, int place, int *argc, char ***argv)
{
    char *text, **old = *argv;
    const char *path = old[place + 1];
    size_t size, n = 0, lines = 1;
    adept_status status = adept_file_read(&text, &size, path, (size_t)1 << 20, &cli->err);

    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    file_words = adept_arena_new();
    char **words = file_words ? adept_arena_array(file_words, lines + (size_t)*argc + 1, sizeof *words) : NULL;
    if (words) words[n++] = old[0], words[n++] = old[1];
    char *rest = text;
    for (int line = 1; words && status == ADEPT_OK && rest; line++) {
        char *at = strsep(&rest, "\n"), *end = at + strlen(at);
        at += strspn(at, " \t-");
        while (end > at && strchr(" \t\r", end[-1]))
            *--end = '\0';
        if (*at == '\0' || *at == '#') continue;
        size_t length = strcspn(at, " \t=");
        char *value = at + length + strspn(at + length, " \t");
        if (*value == '=') value += 1 + strspn(value + 1, " \t");
        if (length == 0 || strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-") < length)
            status = adept_error_set(&cli->err, ADEPT_E_INVALID, "%s:%d: not an option; 'gpu = a100' is an option",
                                     path, line);
        else if (!(words[n++] =
                       (char *)adept_arena_printf(file_words, *value ? "--%.*s=%s" : "--%.*s", (int)length, at, value)))
            status = adept_cli_no_memory(cli);
    }
    free(text);
    if (!words) return adept_cli_no_memory(cli);
    for (int i = 2; i < *argc; i++)
        if (i != place && i != place + 1) words[n++] = old[i];
    words[n] = NULL;
    *argc = (int)n;
    *argv = words;
    return status;
}

static adept_status dispatch(adept_cli *cli, int argc, char **argv)
{
    static char help_option[] = "--help";
    int place = 0; /* of --options; of `measure` only directly behind it: other words may be its command's */
    for (int i = 2; i < argc && place == 0 && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--options") == 0) place = i;
        if (strcmp(argv[1], "measure") == 0) break;
    }
    if (place > 0) {
        if (place + 1 == argc) return adept_cli_usage(cli, "--options needs a FILE");
        adept_status status = read_options(cli, place, &argc, &argv);
        if (status != ADEPT_OK) return status;
    }
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

int main(int argc, char **argv)
{
    adept_cli cli = {.details = NULL};

    /* A descriptor the caller left closed would be given to the first file opened, which would then receive our output.
     * The stand-ins cannot be used either way round: writing to standard output still fails. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) _exit(1);
    static char line[BUFSIZ];
    setvbuf(stderr, line, _IOLBF, sizeof line); /* a message is one write, however many parts it is put together of */
    signal(SIGCHLD, SIG_DFL); /* ignored, as some daemons hand it on, nobody would know how a child ended */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like any other, but nothing to say */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file at the limit of its size */
    adept_status status = dispatch(&cli, argc, argv);
    if (status == ADEPT_OK) status = close_output(&cli);
    /* Has what reads the output ended, as `head` does when it has enough, and is that all that failed? */
    struct pollfd output = {.fd = STDOUT_FILENO};
    const bool unread = status != ADEPT_OK && poll(&output, 1, 0) == 1 && output.revents & POLLERR &&
                        cli.err.status == ADEPT_E_IO && (ferror(stdout) || strstr(cli.err.message, strerror(EPIPE)));
    if (status != ADEPT_OK && !unread) {
        fputs("adept: ", stderr);
        adept_print_clean(stderr, cli.err.message[0] ? cli.err.message : adept_status_text(cli.err.status));
        fputc('\n', stderr);
        if (cli.details) fputs(cli.details, stderr);
    }
    free(cli.details);
    adept_arena_free(file_words);
    int code = cli.exit_code                                     ? cli.exit_code
               : status != ADEPT_OK && adept_interrupt_requested ? 128 + adept_interrupt_requested
                                                                 : adept_status_exit_code(status);
    if (!adept_sensors_are_stuck()) return code;
    fflush(NULL);
    /* exit() would run what a driver's library does at its end, beside the call that it never came back from */
    _exit(code);
}

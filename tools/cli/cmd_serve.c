/** @file cmd_serve.c  `adept serve`: predictions over HTTP, on TCP and on a Unix socket. */
#include "cli.h"
#include "number.h"
#include "http.h"
#include "listen.h"
#include "server.h"
#include "table.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_ADDRESS "127.0.0.1:8787"
#define DEFAULT_CONNECTIONS 4096
#define MAX_THREADS 256
#define SPARE_FILES 64 /* descriptors beside those of connections */

enum {
    KEY_LISTEN = 0x300,
    KEY_ALLOW_REMOTE,
    KEY_SOCKET,
    KEY_SOCKET_MODE,
    KEY_PROFILES,
    KEY_GPU,
    KEY_THREADS,
    KEY_MAX_BODY,
    KEY_MAX_CONNECTIONS,
    KEY_TIMEOUT,
    KEY_CACHE,
    KEY_LOG
};

/* Arguments of options that may be repeated; as many as there are words on the command line have room. */
typedef struct words {
    const char **items;
    size_t n;
} words;

typedef struct serve_options {
    const char *listen, *socket; /* NULL: not given */
    bool allow_remote, log;
    mode_t socket_mode;
    words folders, files, gpus;
    int64_t threads, max_connections, timeout_s, cache; /* 0: not given */
    double max_body_bytes;
} serve_options;

static void append(words *w, const char *word)
{
    w->items[w->n++] = word;
}

static error_t parse_mode(const struct argp_state *state, const char *arg, mode_t *out)
{
    size_t n = strlen(arg);
    if (n < 3 || n > 4 || strspn(arg, "01234567") != n || (n == 4 && arg[0] != '0'))
        return adept_cli_usage(state, "--socket-mode: '%s' is not an octal mode such as 0660", arg);
    *out = (mode_t)strtoul(arg, NULL, 8);
    return 0;
}

static error_t parse_limit(int key, char *arg, const struct argp_state *state, serve_options *o)
{
    switch (key) {
    case KEY_THREADS:
        if (adept_number_int(state, "--threads", arg, 1, &o->threads) != 0) return EINVAL;
        return o->threads <= MAX_THREADS ? 0
                                         : adept_cli_usage(state, "--threads: '%s' is more than %d", arg, MAX_THREADS);
    case KEY_MAX_BODY:
        if (adept_number_quantity(state, "--max-body", arg, adept_suffix_sizes, &adept_suffix_sizes[0],
                                  &o->max_body_bytes) != 0)
            return EINVAL;
        if (o->max_body_bytes >= 1024 && o->max_body_bytes <= 1 << 30) return 0;
        return adept_cli_usage(state, "--max-body: '%s' is not between 1 KiB and 1 GiB", arg);
    case KEY_MAX_CONNECTIONS:
        if (adept_number_int(state, "--max-connections", arg, 1, &o->max_connections) != 0) return EINVAL;
        return o->max_connections <= 1000000
                   ? 0
                   : adept_cli_usage(state, "--max-connections: '%s' is more than 1000000", arg);
    case KEY_TIMEOUT:
        if (adept_number_int(state, "--timeout", arg, 1, &o->timeout_s) != 0) return EINVAL;
        return o->timeout_s <= 3600 ? 0 : adept_cli_usage(state, "--timeout: '%s' is more than 3600 s", arg);
    case KEY_CACHE:
        if (adept_number_int(state, "--cache", arg, 1, &o->cache) != 0) return EINVAL;
        return o->cache <= 1000000 ? 0 : adept_cli_usage(state, "--cache: '%s' is more than 1000000", arg);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t check(const struct argp_state *state, const serve_options *o)
{
    if (!o->socket && o->socket_mode) return adept_cli_usage(state, "--socket-mode needs --socket");
    if (!o->listen && o->allow_remote) return adept_cli_usage(state, "--allow-remote needs --listen");
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    serve_options *o = state->input;
    switch (key) {
    case KEY_LISTEN:
        o->listen = arg;
        return 0;
    case KEY_ALLOW_REMOTE:
        o->allow_remote = true;
        return 0;
    case KEY_SOCKET:
        o->socket = arg;
        return 0;
    case KEY_SOCKET_MODE:
        return parse_mode(state, arg, &o->socket_mode);
    case KEY_PROFILES:
        append(&o->folders, arg);
        return 0;
    case ARGP_KEY_ARG:
        append(&o->files, arg);
        return 0;
    case KEY_GPU:
        append(&o->gpus, arg);
        return 0;
    case KEY_LOG:
        o->log = true;
        return 0;
    case ARGP_KEY_END:
        return check(state, o);
    default:
        return parse_limit(key, arg, state, o);
    }
}

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Where it listens:", 1},
    {"listen", KEY_LISTEN, "ADDRESS:PORT", 0,
     "HTTP on this address; port 0 picks a free one (default " DEFAULT_ADDRESS ", or none with --socket)", 1},
    {"allow-remote", KEY_ALLOW_REMOTE, NULL, 0,
     "Accept an address that other machines can reach. There is no authentication: whoever reaches it may ask", 1},
    {"socket", KEY_SOCKET, "PATH", 0, "HTTP on a Unix socket", 1},
    {"socket-mode", KEY_SOCKET_MODE, "MODE", 0, "Permissions of the socket (default 0600)", 1},
    {NULL, 0, NULL, 0, "What it knows:", 2},
    {"profiles", KEY_PROFILES, "DIR", 0,
     "Serve all NAME.profile.json and NAME.pt2 of a folder, by NAME; may be repeated", 2},
    {"gpu", KEY_GPU, "FILE", 0, "Serve a hardware profile too, in place of a GPU of the same name; may be repeated", 2},
    {NULL, 0, NULL, 0, "Limits:", 3},
    {"threads", KEY_THREADS, "N", 0, "Threads for each of address and socket (default 1)", 3},
    {"max-body", KEY_MAX_BODY, "SIZE", 0, "Largest request body, 512KiB, 16MiB, ... (default 8MiB)", 3},
    {"max-connections", KEY_MAX_CONNECTIONS, "N", 0,
     "Connections at a time for each of address and socket; others wait (default 4096, or what the limit on open files "
     "leaves)",
     3},
    {"timeout", KEY_TIMEOUT, "S", 0, "Close connections without traffic for S seconds; work on one body no longer (default 10)", 3},
    {"cache", KEY_CACHE, "N", 0, "Pairs of workload and GPU that are kept compiled (default 1024)", 3},
    {NULL, 0, NULL, 0, "Output:", 4},
    {"log", KEY_LOG, NULL, 0, "A line on stderr for every request", 4},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[PROFILE...]",
    .doc = "Answer predictions over HTTP, in JSON, until SIGTERM or SIGINT. PROFILE is what `adept profile -o` wrote, "
           "or a torch.export "
           ".pt2; clients name it by its file name without folder and ending, and can name no file."
           "\vExamples:\n"
           "  adept serve resnet50.profile.json\n"
           "  adept serve --profiles ./profiles --socket ./adept.sock --threads 4\n"
           "  adept serve a.profile.json --listen 0.0.0.0:80 --allow-remote --log\n"
           "\n"
           "  curl localhost:8787/openapi.json describes what it answers.",
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

static adept_status load(adept_cli *cli, adept_server **out, const serve_options *o)
{
    adept_serve_catalogue *c = NULL;
    adept_status status = adept_serve_catalogue_new(&c, o->gpus.items, o->gpus.n, &cli->err);
    for (size_t i = 0; status == ADEPT_OK && i < o->folders.n; i++)
        status = adept_serve_catalogue_add_folder(c, o->folders.items[i], &cli->err);
    for (size_t i = 0; status == ADEPT_OK && i < o->files.n; i++)
        status = adept_serve_catalogue_add(c, o->files.items[i], &cli->err);
    if (status == ADEPT_OK) return adept_server_new(out, c, (size_t)(o->cache ? o->cache : 1024), &cli->err);
    adept_serve_catalogue_free(c);
    return status;
}

/* Every connection is an open file. @param n  in: what was asked for, 0: nothing; out: what it is for each listener */
static adept_status set_connections(adept_cli *cli, unsigned *n, const serve_options *o)
{
    struct rlimit limit;
    bool both = o->socket && o->listen;
    uint64_t each = o->max_connections ? (uint64_t)o->max_connections : DEFAULT_CONNECTIONS;
    uint64_t wanted = each * (both ? 2 : 1) + SPARE_FILES + 4 * (uint64_t)o->threads;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "no limit on open files");
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < wanted) {
        uint64_t spare = wanted - each * (both ? 2 : 1);
        if (o->max_connections || limit.rlim_cur < spare + 16)
            return adept_error_set(&cli->err, ADEPT_E_USAGE,
                                   "--max-connections: %llu open files are needed, the limit is %llu (ulimit -n)",
                                   (unsigned long long)wanted, (unsigned long long)limit.rlim_cur);
        each = (limit.rlim_cur - spare) / (both ? 2 : 1);
    }
    *n = (unsigned)(each < (uint64_t)o->threads ? (uint64_t)o->threads : each); /* libmicrohttpd shares them out */
    return ADEPT_OK;
}

static void say(const char *before, const char *what)
{
    fputs(before, stderr);
    adept_print_clean(stderr, what);
    fputc('\n', stderr);
}

/* Listens, then says where. */
static adept_status open_sockets(adept_cli *cli, adept_http_options *http, adept_serve_socket_file *file,
                                 const serve_options *o)
{
    char bound[ADEPT_SERVE_ADDRESS_SIZE];
    adept_status status = ADEPT_OK;
    http->tcp = http->local = -1;
    const char *address = o->listen ? o->listen : o->socket ? NULL : DEFAULT_ADDRESS;
    if (address) status = adept_serve_listen_tcp(&http->tcp, bound, address, o->allow_remote, &cli->err);
    if (status == ADEPT_OK && o->socket)
        status =
            adept_serve_listen_unix(&http->local, file, o->socket, o->socket_mode ? o->socket_mode : 0600, &cli->err);
    if (status != ADEPT_OK) {
        if (http->tcp >= 0) close(http->tcp);
        return status;
    }
    if (o->allow_remote) say("adept serve: warning: no authentication; other machines may ask at ", bound);
    if (address) say("adept serve: listening on http://", bound);
    if (o->socket) say("adept serve: listening on unix:", o->socket);
    return ADEPT_OK;
}

/* Signals are taken here and nowhere else; all threads inherit that they are blocked. */
static void serve_until_signal(adept_http *h, const sigset_t *signals)
{
    const struct timespec second = {.tv_sec = 1};
    while (sigtimedwait(signals, NULL, &second) < 0)
        adept_http_tend(h);
}

static adept_status serve(adept_cli *cli, const serve_options *o)
{
    adept_server *server = NULL;
    adept_http *h = NULL;
    adept_serve_socket_file file = {0};
    adept_http_options http = {.threads = (unsigned)o->threads,
                               .timeout_s = o->timeout_s ? (unsigned)o->timeout_s : 10,
                               .max_body_bytes = o->max_body_bytes > 0 ? (size_t)o->max_body_bytes : (size_t)8 << 20,
                               .log = o->log};
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    adept_status status = load(cli, &server, o);
    if (status == ADEPT_OK) adept_server_limit_time(server, http.timeout_s * UINT64_C(1000000000));
    if (status == ADEPT_OK) status = set_connections(cli, &http.max_connections, o);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    if (status == ADEPT_OK) status = open_sockets(cli, &http, &file, o);
    if (status == ADEPT_OK) status = adept_http_start(&h, server, &http, &cli->err);
    if (status == ADEPT_OK) {
        serve_until_signal(h, &signals);
        adept_http_stop(h);
    }
    adept_serve_socket_remove(&file);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    adept_server_free(server);
    return status;
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    const char **room = calloc(3 * (size_t)argc, sizeof *room);
    serve_options o = {
        .folders = {room, 0}, .files = {room + argc, 0}, .gpus = {room + 2 * (size_t)argc, 0}, .threads = 1};
    adept_parse p = {.argp = &argp, .command = "serve", .cli = cli, .input = &o};
    if (!room) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = adept_cli_parse(&p, argc, argv);
    if (status == ADEPT_OK && !p.help_shown) status = serve(cli, &o);
    free(room);
    return status;
}

const adept_command adept_command_serve = {"serve", "answer predictions over HTTP, for schedulers", run};

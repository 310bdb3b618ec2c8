/** @file cmd_serve.c  `adept serve`: predictions over HTTP, on TCP and on a Unix socket. */
#include "adept_file.h"
#include "adept_import.h"
#include "cli.h"
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
#include <time.h>
#include <unistd.h>

#define DEFAULT_ADDRESS "127.0.0.1:8787"
#define DEFAULT_CONNECTIONS 4096
#define SPARE_FILES 64 /* descriptors beside those of connections */

typedef struct serve_options {
    const char *listen, *socket, *token_file; /* NULL: not given */
    bool allow_remote, log;
    mode_t socket_mode;
    adept_words folders, files, gpus, host_names;
    int64_t threads, max_connections, timeout_s, cache; /* max_connections 0: not given */
    double max_body_bytes;
} serve_options;

#define AT(member) offsetof(serve_options, member)

static adept_status parse_mode(adept_cli *cli, const char *option, char *text, void *field)
{
    mode_t *mode = field;
    size_t n = strlen(text);
    if (n < 3 || n > 4 || strspn(text, "01234567") != n || (n == 4 && text[0] != '0'))
        return adept_cli_usage(cli, "%s: '%s' is not an octal mode such as 0660", option, text);
    *mode = (mode_t)strtoul(text, NULL, 8);
    return ADEPT_OK;
}

static void init(void *record)
{
    serve_options *o = record;
    o->threads = 1;
    o->cache = 1024;
    o->timeout_s = 10;
    o->max_body_bytes = 8 << 20;
}

static adept_status check(adept_cli *cli, void *record)
{
    const serve_options *o = record;
    if (o->max_body_bytes < 1024 || o->max_body_bytes > 1 << 30)
        return adept_cli_usage(cli, "--max-body is not between 1 KiB and 1 GiB");
    if (!o->socket && o->socket_mode) return adept_cli_usage(cli, "--socket-mode needs --socket");
    if (!o->listen && o->allow_remote) return adept_cli_usage(cli, "--allow-remote needs --listen");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "Where it listens:"},
    {"listen", "ADDRESS:PORT", 1,
     "HTTP on this address; port 0 picks a free one (default " DEFAULT_ADDRESS ", or none with --socket)",
     ADEPT_OPT_TEXT, .at = AT(listen)},
    {"allow-remote", NULL, 1,
     "Accept an address that other machines can reach. Without --token-file everybody who reaches it may ask",
     ADEPT_OPT_FLAG, .at = AT(allow_remote)},
    {"host-name", "NAME", 1,
     "Answer to this name too; a request may call the server by an address or localhost. May be repeated",
     ADEPT_OPT_WORD, .at = AT(host_names), .expert = true},
    {"token-file", "FILE", 1, "Answer only requests with the token in this file: Authorization: Bearer TOKEN",
     ADEPT_OPT_FILE, .at = AT(token_file)},
    {"socket", "PATH", 1, "HTTP on a Unix socket", ADEPT_OPT_TEXT, .at = AT(socket)},
    {"socket-mode", "MODE", 1, "Permissions of the socket (default 0600)", ADEPT_OPT_PARSED, .at = AT(socket_mode),
     .parse = parse_mode, .expert = true},
    {.group = 2, .help = "What it knows:"},
    {"profiles", "DIR", 2,
     "Serve all NAME.profile.json and NAME.pt2 of a folder, by NAME; may be repeated. Default: the bundled "
     "models, unless there is a PROFILE",
     ADEPT_OPT_WORD, .at = AT(folders)},
    {"gpu", "FILE", 2,
     "Serve a hardware profile too, or all of a fleet's file, in place of GPUs of the same names; may be repeated. "
     "Loaded anew when it changes; all is, on SIGHUP",
     ADEPT_OPT_WORD, .at = AT(gpus)},
    {.group = 3, .help = "Limits:"},
    {"threads", "N", 3, "Threads, of address and of socket (default 1)", ADEPT_OPT_COUNT, .at = AT(threads), .low = 1,
     .high = 256},
    {"max-body", "SIZE", 3, "Largest request body, 512KiB, 16MiB, ... (default 8MiB)", ADEPT_OPT_AMOUNT,
     .at = AT(max_body_bytes), .units = adept_suffix_sizes, .expert = true},
    {"max-connections", "N", 3,
     "Connections at a time for each of address and socket; others wait (default 4096, or what the limit on open "
     "files leaves)",
     ADEPT_OPT_COUNT, .at = AT(max_connections), .low = 1, .high = 1e6, .expert = true},
    {"timeout", "S", 3, "Close connections without traffic for S seconds; work on one body no longer (default 10)",
     ADEPT_OPT_COUNT, .at = AT(timeout_s), .low = 1, .high = 3600, .expert = true},
    {"cache", "N", 3, "Pairs of workload and GPU that are kept compiled (default 1024)", ADEPT_OPT_COUNT,
     .at = AT(cache), .low = 1, .high = 16384, .expert = true},
    {.group = 4, .help = "Output:"},
    {"log", NULL, 4, "A line on stderr for every request", ADEPT_OPT_FLAG, .at = AT(log)},
    {0},
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

static adept_status load(adept_serve_catalogue **out, const serve_options *o, adept_error *err)
{
    adept_serve_catalogue *c = NULL;
    adept_status status = adept_serve_catalogue_new(&c, o->gpus.words, o->gpus.n, err);
    for (size_t i = 0; status == ADEPT_OK && i < o->folders.n; i++)
        status = adept_serve_catalogue_add_folder(c, o->folders.words[i], err);
    char bundled[ADEPT_MODULE_PATH_BYTES];
    if (status == ADEPT_OK && o->folders.n + o->files.n == 0 && adept_models_folder(bundled))
        status = adept_serve_catalogue_add_folder(c, bundled, err);
    for (size_t i = 0; status == ADEPT_OK && i < o->files.n; i++)
        status = adept_serve_catalogue_add(c, o->files.words[i], err);
    if (status == ADEPT_OK)
        *out = c;
    else
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
    if (o->allow_remote)
        adept_print_format(stderr, "adept serve: warning: %s; other machines may ask at %s\n",
                           o->token_file ? "no encryption" : "no authentication", bound);
    if (address) adept_print_format(stderr, "adept serve: listening on http://%s\n", bound);
    if (o->socket) adept_print_format(stderr, "adept serve: listening on unix:%s\n", o->socket);
    return ADEPT_OK;
}

/* Changes when a file of --gpu does. */
static uint64_t state_of(const serve_options *o)
{
    uint64_t state = ADEPT_FILE_STATE;
    for (size_t i = 0; i < o->gpus.n; i++) {
        char *path = strdup(o->gpus.words[i]), *name = path ? strstr(path, ".json#") : NULL;
        if (name) name[strlen(".json")] = '\0';
        if (path) state = adept_file_state(state, path);
        free(path);
    }
    return state;
}

/* What cannot be loaded changes nothing: the server goes on by what it has. */
static void reload(adept_server *server, const serve_options *o)
{
    adept_serve_catalogue *c = NULL;
    adept_error err = {0};
    adept_status status = load(&c, o, &err);
    if (status == ADEPT_OK) status = adept_server_renew(server, c, &err);
    if (status == ADEPT_OK)
        fprintf(stderr, "adept serve: loaded anew\n");
    else
        adept_print_format(stderr, "adept serve: not loaded anew: %s\n", err.message);
}

/* Signals are taken here and nowhere else; all threads inherit that they are blocked. */
static int serve_until_signal(adept_http *h, adept_server *server, const serve_options *o, const sigset_t *signals)
{
    const struct timespec second = {.tv_sec = 1};
    uint64_t loaded = state_of(o);
    for (;;) {
        int signal = sigtimedwait(signals, NULL, &second);
        if (signal == SIGTERM || signal == SIGINT) return signal;
        adept_http_tend(h);
        uint64_t now = state_of(o);
        if (signal == SIGHUP || now != loaded) reload(server, o);
        loaded = now;
    }
}

static adept_status serve(adept_cli *cli, void *options)
{
    const serve_options *o = options;
    adept_server *server = NULL;
    adept_http *h = NULL;
    char *token = NULL;
    adept_serve_socket_file file = {0};
    adept_http_options http = {.threads = (unsigned)o->threads,
                               .timeout_s = (unsigned)o->timeout_s,
                               .max_body_bytes = (size_t)o->max_body_bytes,
                               .door = {.names = o->host_names.words, .n_names = o->host_names.n},
                               .log = o->log};
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    adept_status status = adept_http_open_library(&cli->err);
    if (status == ADEPT_OK && o->token_file) status = adept_serve_token_read(&token, o->token_file, &cli->err);
    http.door.token = token;
    adept_serve_catalogue *catalogue = NULL;
    if (status == ADEPT_OK) status = load(&catalogue, o, &cli->err);
    if (status == ADEPT_OK) status = adept_server_new(&server, catalogue, (size_t)o->cache, &cli->err);
    if (status == ADEPT_OK) adept_server_limit_time(server, http.timeout_s * UINT64_C(1000000000));
    if (status == ADEPT_OK) adept_server_confine_uploads(server, adept_import_confine);
    if (status == ADEPT_OK) status = set_connections(cli, &http.max_connections, o);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    if (status == ADEPT_OK) status = open_sockets(cli, &http, &file, o);
    if (status == ADEPT_OK) status = adept_http_start(&h, server, &http, &cli->err);
    if (status == ADEPT_OK) {
        if (serve_until_signal(h, server, o, &signals) == SIGINT) cli->exit_code = 128 + SIGINT;
        adept_http_stop(h);
    }
    adept_serve_socket_remove(&file);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    adept_server_free(server);
    free(token);
    return status;
}

const adept_command adept_command_serve = {
    .name = "serve",
    .summary = "answer predictions over HTTP, for schedulers",
    .usage = "[PROFILE...]",
    .doc = "Answer predictions over HTTP, in JSON, until SIGTERM or SIGINT. PROFILE is what `adept profile -o` wrote, "
           "a torch.export .pt2, or the name of a bundled model; clients name it by its file name without folder and "
           "ending, and can name no file."
           "\vExamples:\n"
           "  adept serve resnet50.profile.json\n"
           "  adept serve --profiles ./profiles --socket ./adept.sock --threads 4\n"
           "  adept serve a.profile.json --listen 0.0.0.0:80 --allow-remote --log\n"
           "\n"
           "  curl localhost:8787/openapi.json describes what it answers.",
    .size = sizeof(serve_options),
    .options = {.rows = rows, .init = init, .check = check},
    .arguments = {NULL, NULL, ADEPT_ANY_NUMBER, AT(files)},
    .run = serve,
};

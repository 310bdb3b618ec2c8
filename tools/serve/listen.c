/** @file listen.c  Sockets: loopback only unless asked, and stale socket files. */
#include "listen.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

/* ---- TCP ---- */

typedef struct parts {
    char host[256], port[8];
} parts;

/* HOST:PORT or [HOST]:PORT */
static bool split(parts *out, const char *address)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address) return false;
    const char *host = address;
    size_t length = (size_t)(colon - address), digits = strlen(colon + 1);
    if (*host == '[') {
        if (length < 3 || colon[-1] != ']') return false;
        host++;
        length -= 2;
    } else if (memchr(host, ':', length)) {
        return false; /* IPv6 needs brackets */
    }
    if (length >= sizeof out->host || digits == 0 || digits > 5 || strspn(colon + 1, "0123456789") != digits)
        return false;
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    memcpy(out->port, colon + 1, digits + 1);
    return true;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
    if (a->sa_family != AF_INET6) return false;
    const struct in6_addr *ip = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(ip) || (IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127);
}

static adept_status failed(int fd, const char *what, const char *address, adept_error *err)
{
    int why = errno;
    if (fd >= 0) close(fd);
    return adept_error_set(err, ADEPT_E_IO, "cannot %s %s: %s", what, address, strerror(why));
}

static adept_status describe(char bound[ADEPT_SERVE_ADDRESS_SIZE], int fd, const char *address, adept_error *err)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    char host[64], port[8];
    if (getsockname(fd, (struct sockaddr *)(void *)&a, &size) != 0) return failed(fd, "listen on", address, err);
    if (getnameinfo((struct sockaddr *)(void *)&a, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        close(fd);
        return adept_error_set(err, ADEPT_E_IO, "cannot tell the address of %s", address);
    }
    snprintf(bound, ADEPT_SERVE_ADDRESS_SIZE, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return ADEPT_OK;
}

static adept_status open_tcp(int *out, const struct addrinfo *a, const char *address, adept_error *err)
{
    const int on = 1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (a->ai_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return failed(fd, "listen on", address, err);
    *out = fd;
    return ADEPT_OK;
}

adept_status adept_serve_listen_tcp(int *fd, char bound[ADEPT_SERVE_ADDRESS_SIZE], const char *address,
                                    bool allow_remote, adept_error *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    parts p;
    if (!split(&p, address))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "--listen: '%s' is not ADDRESS:PORT, as in 127.0.0.1:8787 or [::1]:8787", address);
    int why = strtol(p.port, NULL, 10) > 65535 ? EAI_SERVICE : getaddrinfo(p.host, p.port, &hints, &found);
    if (why == EAI_MEMORY) return adept_no_memory(err, "--listen");
    if (why == EAI_SYSTEM) return failed(-1, "listen on", address, err);
    if (why != 0) return adept_error_set(err, ADEPT_E_USAGE, "--listen: '%s': %s", address, gai_strerror(why));
    adept_status status;
    if (!allow_remote && !is_loopback(found->ai_addr))
        status = adept_error_set(err, ADEPT_E_USAGE,
                                 "--listen: %s can be reached from other machines, and nothing is encrypted; "
                                 "--allow-remote says that this is meant",
                                 address);
    else
        status = open_tcp(fd, found, address, err);
    freeaddrinfo(found);
    return status == ADEPT_OK ? describe(bound, *fd, address, err) : status;
}

/* ---- Unix ---- */

/* Whether somebody listens: a connection that is refused is none. */
static bool is_listened_on(const struct sockaddr_un *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return true; /* not known: then it is left alone */
    bool refused = connect(fd, (const struct sockaddr *)(const void *)a, sizeof *a) != 0 && errno == ECONNREFUSED;
    close(fd);
    return !refused;
}

static adept_status make_room(const struct sockaddr_un *a, adept_error *err)
{
    struct stat st;
    if (lstat(a->sun_path, &st) != 0) {
        if (errno == ENOENT) return ADEPT_OK;
        return failed(-1, "listen on", a->sun_path, err);
    }
    if (!S_ISSOCK(st.st_mode))
        return adept_error_set(err, ADEPT_E_USAGE, "--socket: %s exists and is not a socket", a->sun_path);
    if (is_listened_on(a))
        return adept_error_set(err, ADEPT_E_USAGE, "--socket: another server listens on %s", a->sun_path);
    return unlink(a->sun_path) == 0 ? ADEPT_OK : failed(-1, "replace", a->sun_path, err);
}

adept_status adept_serve_listen_unix(int *fd, adept_serve_socket_file *file, const char *path, mode_t mode,
                                     adept_error *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct stat st;
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof a.sun_path)
        return adept_error_set(err, ADEPT_E_USAGE, "--socket: a path of 1 to %zu bytes is needed, '%.60s%s' has %zu",
                               sizeof a.sun_path - 1, path, length > 60 ? "..." : "", length);
    memcpy(a.sun_path, path, length + 1);
    adept_status status = make_room(&a, err);
    if (status != ADEPT_OK) return status;
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) return failed(s, "listen on", path, err);
    mode_t before = umask(0777 & ~mode); /* never open for longer than it should be */
    int bound = bind(s, (const struct sockaddr *)(const void *)&a, sizeof a);
    umask(before);
    if (bound != 0) return failed(s, "listen on", path, err);
    if (lstat(path, &st) != 0 || listen(s, BACKLOG) != 0) {
        status = failed(s, "listen on", path, err);
        unlink(path);
        return status;
    }
    *file = (adept_serve_socket_file){path, st.st_dev, st.st_ino};
    *fd = s;
    return ADEPT_OK;
}

void adept_serve_socket_remove(const adept_serve_socket_file *file)
{
    struct stat st;
    if (file->path && lstat(file->path, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode)
        unlink(file->path);
}

/** @file listen.h  The sockets that the server listens on. Calls: adept_error. */
#ifndef ADEPT_SERVE_LISTEN_H
#define ADEPT_SERVE_LISTEN_H
#include "adept_error.h"
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#define ADEPT_SERVE_ADDRESS_SIZE 80

/**
 * @param fd       set on ADEPT_OK, non-blocking
 * @param bound    set on ADEPT_OK to "127.0.0.1:8787", with the port that was chosen for port 0
 * @param address  "127.0.0.1:8787", "[::1]:8787", "localhost:8787"
 * @return ADEPT_E_USAGE for text that is no address, or that is reached from elsewhere unless `allow_remote`;
 * ADEPT_E_IO
 */
adept_status adept_serve_listen_tcp(int *fd, char bound[ADEPT_SERVE_ADDRESS_SIZE], const char *address,
                                    bool allow_remote, adept_error *err);

/** Of a socket file that we made, to remove no other. */
typedef struct adept_serve_socket_file {
    const char *path; /* borrowed; NULL: none */
    dev_t device;
    ino_t inode;
} adept_serve_socket_file;

/**
 * A file left by a server that ended without removing it is replaced; one that is listened on, or is no socket, is not.
 * @param mode  permissions, 0600
 */
adept_status adept_serve_listen_unix(int *fd, adept_serve_socket_file *file, const char *path, mode_t mode,
                                     adept_error *err);
/** Remove it, if it is still ours. */
void adept_serve_socket_remove(const adept_serve_socket_file *file);

#endif

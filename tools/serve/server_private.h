/** @file server_private.h  What a server holds. For server.c and predictions.c only. */
#ifndef ADEPT_SERVE_SERVER_PRIVATE_H
#define ADEPT_SERVE_SERVER_PRIVATE_H
#include "oracles.h"
#include "server.h"

struct adept_server {
    adept_serve_catalogue *catalogue;
    adept_serve_oracles *oracles;
    adept_serve_metrics metrics;
    uint64_t max_time_ns; /* of one body's list */
};

#endif

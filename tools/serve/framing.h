/** @file framing.h  Where requests begin and end in the bytes of a connection, by the letter of RFC 9112. libmicrohttpd
 *  is lenient: it takes a bare CR or LF for the end of a line, and skips header lines that it cannot read. A proxy that
 *  reads the same bytes in another way would take one request for two. Calls: nothing. */
#ifndef ADEPT_SERVE_FRAMING_H
#define ADEPT_SERVE_FRAMING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What has arrived on a connection; zero before the first byte. */
typedef struct adept_serve_framing {
    int state, after_lf;       /* what the next byte belongs to */
    bool is_old;               /* HTTP/1.0 */
    bool is_chunked, has_body; /* as the headers say */
    bool is_trailer;           /* header lines behind the chunks */
    uint64_t left_bytes;       /* of the body or the chunk */
    char name[20], value[20];  /* of a header line, cut */
    unsigned name_length, value_length;
    uint64_t heads; /* requests whose headers are complete */
} adept_serve_framing;

/**
 * @param whole  set to how many of the bytes end whole requests
 * @return how many bytes may stand where they stand; less than `size`: the next may not, and nothing can be said of
 * what follows it
 */
size_t adept_serve_framing_take(adept_serve_framing *f, size_t *whole, const char *data, size_t size);

#endif

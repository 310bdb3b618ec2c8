/** @file admit.c  Who may ask.
 *
 *  A page of a stranger cannot read answers of another host. But it can have the name of its own host lead to this
 *  server, and then it asks its own host. So the server answers to names that nobody else can have. */
#include "admit.h"
#include "adept_file.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHORTEST_TOKEN 16
#define LONGEST_TOKEN 512

/* ---- hosts ---- */

/* HOST, HOST:PORT or [HOST]:PORT without port and brackets. @return is it of that form? */
static bool split(char host[256], bool *is_bracketed, const char *text)
{
    *is_bracketed = *text == '[';
    const char *begin = text + *is_bracketed, *end = begin + strcspn(begin, *is_bracketed ? "]" : ":");
    const char *behind = end + (*is_bracketed && *end);
    size_t length = (size_t)(end - begin);
    if (length == 0 || length > 255 || (*is_bracketed && !*end)) return false;
    if (*behind && (*behind != ':' || behind[1 + strspn(behind + 1, "0123456789")])) return false;
    memcpy(host, begin, length);
    host[length] = '\0';
    return true;
}

static bool is_ours(const adept_serve_door *door, const char *text)
{
    char host[256];
    unsigned char address[16];
    bool is_bracketed;
    if (!split(host, &is_bracketed, text)) return false;
    if (inet_pton(is_bracketed ? AF_INET6 : AF_INET, host, address) == 1) return true;
    bool found = !is_bracketed && strcasecmp(host, "localhost") == 0;
    for (size_t i = 0; i < door->n_names && !is_bracketed; i++)
        found = found || strcasecmp(host, door->names[i]) == 0;
    return found;
}

/* ---- the token ---- */

/* In a time that does not depend on where they differ. */
static bool has_token(const char *authorization, const char *token)
{
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) return false;
    const char *given = authorization + 7;
    size_t n = strlen(given), length = strlen(token);
    volatile unsigned char differs = n != length;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ token[i % length]);
    return differs == 0;
}

adept_status adept_serve_token_read(char **token, const char *path, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, LONGEST_TOKEN + 1, err);
    if (status != ADEPT_OK) return status;
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        text[--size] = '\0';
    bool is_plain = size >= SHORTEST_TOKEN && size <= LONGEST_TOKEN;
    for (size_t i = 0; i < size; i++)
        is_plain = is_plain && text[i] > ' ' && text[i] < 0x7f;
    if (is_plain) {
        *token = text;
        return ADEPT_OK;
    }
    free(text);
    return adept_error_set(err, ADEPT_E_INVALID,
                           "%s: not a token: one line of %d to %d letters, digits and signs, without blanks", path,
                           SHORTEST_TOKEN, LONGEST_TOKEN);
}

/* ---- all together ---- */

const char *adept_serve_turn_away(adept_serve_problem_kind *kind, const adept_serve_door *door,
                                  const adept_serve_headers *h)
{
    *kind = ADEPT_SERVE_BAD_REQUEST;
    if (h->is_repeated) return "a header is given twice";
    if (h->transfer_encoding && h->content_length) return "Content-Length and Transfer-Encoding exclude each other";
    if (h->transfer_encoding && strcasecmp(h->transfer_encoding, "chunked") != 0)
        return "the only Transfer-Encoding is chunked";
    if (!h->host && h->needs_host && !h->is_local) return "the header Host is missing";
    *kind = ADEPT_SERVE_FORBIDDEN;
    if (h->host && !h->is_local && !is_ours(door, h->host))
        return "Host is no address, not localhost and no --host-name";
    const char *origin = h->origin ? h->origin : ""; /* "null" is a stranger's, too: of a sandboxed page */
    const size_t scheme = strncasecmp(origin, "http://", 7) == 0 ? 7 : strncasecmp(origin, "https://", 8) == 0 ? 8 : 0;
    if (h->origin && (scheme == 0 || !h->host || strcasecmp(origin + scheme, h->host) != 0))
        return "web pages of others may not ask";
    *kind = ADEPT_SERVE_UNAUTHORIZED;
    if (door->token && !h->is_open && !has_token(h->authorization, door->token))
        return "this needs the header Authorization: Bearer TOKEN";
    return NULL;
}

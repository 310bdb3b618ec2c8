/** @file page.c  One file: style, the result as tables, the same as JSON, and the script that shows it. The script
 * stands under its own hash, so that nothing else can run. */
#include "page.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "base64.h"
#include "markup.h"
#include "sha256.h"
#include "tables.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)2000000)

/* Of what stands between the tags of the script, as the policy wants it. */
static adept_status hash_script(char text[64], adept_error *err)
{
    char hex[ADEPT_SHA256_SIZE];
    unsigned char digest[32];
    adept_status status = adept_bytes_sha256(hex, adept_page_script, adept_page_script_size, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < sizeof digest; i++) {
        unsigned byte = 0;
        sscanf(hex + 2 * i, "%2x", &byte);
        digest[i] = (unsigned char)byte;
    }
    adept_base64_encode(text, digest, sizeof digest);
    return ADEPT_OK;
}

static void put_page(FILE *out, const char *title, const cJSON *json, const char *text, const char *hash)
{
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
        "charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-%s'; style-src "
        "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"referrer\" content=\"no-referrer\"/>\n<link rel=\"icon\" "
        "href=\"data:,\"/>\n<style>\n%s</style>\n<title>",
        hash, adept_page_style);
    adept_markup_text(out, title);
    fputs("</title>\n</head>\n<body>\n<main id=\"page\">\n<h1>", out);
    adept_markup_text(out, title);
    fputs("</h1>\n", out);
    adept_page_tables(out, json);
    fputs("</main>\n<footer>Made by adept " ADEPT_VERSION ". This page is complete: it loads nothing.</footer>\n"
          "<script type=\"application/json\" id=\"result\">",
          out);
    /* No text of a file can end the element or begin another: JSON has another way to say these characters. */
    for (const char *p = text; *p; p++)
        if (*p == '<' || *p == '>' || *p == '&')
            fprintf(out, "\\u%04x", (unsigned)*p);
        else
            fputc(*p, out);
    fprintf(out, "</script>\n<script type=\"module\">%s</script>\n</body>\n</html>\n", adept_page_script);
}

adept_status adept_page_make(char **html, size_t *size, const char *title, const cJSON *json, const char *what,
                             adept_error *err)
{
    char hash[64];
    adept_buffer buffer = {.data = NULL};
    adept_json_writer compact = {.pretty = false};
    adept_status status = hash_script(hash, err);
    if (status != ADEPT_OK) return status;
    adept_json_put_tree(&compact, NULL, json);
    char *text = adept_json_finish(&compact);
    FILE *out = text ? adept_buffer_stream(&buffer) : NULL;
    if (out) put_page(out, title, json, text, hash);
    free(text);
    *html = out ? adept_buffer_close(&buffer, out) : NULL;
    if (!*html) return adept_no_memory(err, "the page");
    *size = strlen(*html);
    if (*size <= MOST_BYTES) return ADEPT_OK;
    free(*html);
    *html = NULL;
    return adept_error_set(err, ADEPT_E_INVALID,
                           "%s: its page would have %.1f MB, more than the 2 MB that open everywhere", what,
                           (double)*size / 1e6);
}

adept_status adept_page_write(const char *path, size_t *size, const char *title, char *json, adept_error *err)
{
    cJSON *tree = NULL;
    char *html = NULL;
    size_t bytes = 0;
    adept_status status =
        json ? adept_json_parse(&tree, path, json, strlen(json), err) : adept_no_memory(err, "the page");
    free(json);
    if (status == ADEPT_OK) status = adept_page_make(&html, &bytes, title, tree, path, err);
    cJSON_Delete(tree);
    if (status == ADEPT_OK) status = adept_file_write(path, html, bytes, err);
    free(html);
    if (size) *size = bytes;
    return status;
}

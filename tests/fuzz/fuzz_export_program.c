/* The JSON of a .pt2. A zero byte in the input ends the program and begins a weights config. What is accepted must be a
 * graph that the stream can carry: the stream's reader checks every number in it. */
#include "adept_import.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_graph(const adept_graph *g)
{
    adept_graph *copy = NULL;
    adept_buffer bytes = {0};
    adept_error err = {0};
    if (adept_graph_write(&bytes, g, &err) != ADEPT_OK) abort();
    if (adept_graph_read(&copy, bytes.data, bytes.size, &err) != ADEPT_OK) abort();
    adept_graph_free(copy);
    free(bytes.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const char *json = (const char *)data;
    const char *zero = memchr(json, 0, size);
    size_t json_size = zero ? (size_t)(zero - json) : size;
    adept_graph *g = NULL;
    adept_error err = {0};
    adept_status status =
        adept_export_parse(&g, "fuzz", json, json_size, zero ? zero + 1 : NULL, zero ? size - json_size - 1 : 0, &err);
    if (status == ADEPT_OK)
        check_graph(g);
    else if (g || err.status != status || !err.message[0])
        abort();
    adept_graph_free(g);
    return 0;
}

/* The graph stream: what is accepted must survive being written and read again, byte for byte. */
#include "adept_graph.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_graph *g = NULL, *copy = NULL;
    adept_buffer once = {0}, twice = {0};
    adept_error err = {0};
    adept_status status = adept_graph_read(&g, data, size, &err);
    if (status != ADEPT_OK) {
        if (g || err.status != status || !err.message[0]) abort();
        return 0;
    }
    /* The writer refuses one thing the reader takes: fewer bytes than values, when the input had longer numbers. */
    if (adept_graph_write(&once, g, &err) == ADEPT_OK) {
        if (adept_graph_read(&copy, once.data, once.size, &err) != ADEPT_OK) abort();
        if (adept_graph_write(&twice, copy, &err) != ADEPT_OK) abort();
        if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0) abort();
    }
    adept_graph_free(g);
    adept_graph_free(copy);
    free(once.data);
    free(twice.data);
    return 0;
}

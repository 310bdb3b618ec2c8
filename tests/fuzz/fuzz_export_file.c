/* A whole .pt2 archive: zip directory, entry choice, nested archive, program. */
#include "adept_import.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    adept_file_format format;
    adept_graph *g = NULL;
    adept_error err = {0};
    adept_status status = adept_file_detect(&format, path, NULL, 0, &err);
    if (status != ADEPT_OK && (err.status != status || !err.message[0])) abort();
    status = adept_export_import(&g, path, NULL, 0, 0, &err);
    if (status == ADEPT_OK ? !g : g != NULL) abort();
    adept_graph_free(g);
    close(fd);
    return 0;
}

/** @file fuzz_smbios.c  Firmware's tables: modules within bounds, or a message. First byte: how many bytes of entry
 * point follow, before the table; its highest bit has the checksum made right. */
#include "fuzz_require.h"
#include "smbios.h"
#include <stdint.h>
#include <string.h>

static void make_checksum(unsigned char *entry, size_t size)
{
    size_t at = size > 4 && entry[3] == '3' ? 5 : 4, length = size > 6 ? entry[at + 1] : 0;
    if (length == 0 || length > size) return;
    entry[at] = 0;
    for (size_t i = 0; i < length; i++)
        if (i != at) entry[at] = (unsigned char)(entry[at] - entry[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    size_t entry_bytes = data[0] & 0x7F;
    if (entry_bytes > size - 1) entry_bytes = size - 1;
    size_t table_bytes = size - 1 - entry_bytes;
    unsigned char *entry = malloc(entry_bytes + !entry_bytes), *table = malloc(table_bytes + !table_bytes);
    REQUIRE(entry && table);
    memcpy(entry, data + 1, entry_bytes);
    memcpy(table, data + 1 + entry_bytes, table_bytes);
    if (data[0] & 0x80) make_checksum(entry, entry_bytes);

    adept_dimms dimms = {.n = 0};
    adept_error err = {0};
    adept_status status = adept_smbios_read(&dimms, entry, entry_bytes, table, table_bytes, &err);
    if (status == ADEPT_OK) {
        REQUIRE(dimms.n + dimms.n_empty + dimms.n_unknown <= table_bytes / 6);
        for (size_t i = 0; i < dimms.n; i++)
            REQUIRE(dimms.list[i].size_gib > 0 && dimms.list[i].size_gib <= 0x7FFFFFFF / 1024.0);
    } else {
        REQUIRE(err.status == status && strncmp(err.message, "SMBIOS: ", 8) == 0);
        REQUIRE(dimms.list == NULL && dimms.n == 0);
    }
    adept_dimms_free(&dimms);
    free(entry);
    free(table);
    return 0;
}

/** @file smbios.c  SMBIOS tables: "System Management BIOS Reference Specification" (DMTF DSP0134), sections 5.2 (entry
 * points), 6.1 (structures) and 7.18 (type 17, a memory device). Nothing is believed: each length is held against what
 * is there before a byte of it is read. */
#include "smbios.h"
#include "adept_grow.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_DEVICE = 17, END_OF_TABLE = 127 };
enum { HEADER_BYTES = 4 }; /* type, length, handle */

typedef struct bytes {
    const unsigned char *data;
    size_t size;
} bytes;

static unsigned word_at(const unsigned char *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static uint32_t double_word_at(const unsigned char *at)
{
    return word_at(at) | (uint32_t)word_at(at + 2) << 16;
}

/* ---------------------------------------------------------------- modules ---------------------------------------- */

adept_status adept_dimms_add(adept_dimms *dimms, adept_dimm dimm, adept_error *err)
{
    adept_dimm *list = adept_grow(dimms->list, &dimms->capacity, dimms->n + 1, sizeof *list);

    if (!list) return adept_no_memory(err, "memory modules");
    dimms->list = list;
    list[dimms->n++] = dimm;
    return ADEPT_OK;
}

void adept_dimms_free(adept_dimms *dimms)
{
    free(dimms->list);
    *dimms = (adept_dimms){.n = 0};
}

/* ROM, flash, EEPROM and the like, and modules that keep what they hold ("logical non-volatile device"). */
static bool is_no_dram(unsigned type)
{
    return (type >= 0x08 && type <= 0x0C) || type == 0x1F;
}

/* A structure of type 17, whose `length` bytes are there. */
static adept_status add_device(adept_dimms *dimms, const unsigned char *device, size_t length, size_t offset,
                               adept_error *err)
{
    enum { SIZE = 0x0C, TYPE = 0x12, EXTENDED_SIZE = 0x1C };
    const unsigned in_kib = 0x8000, unknown = 0xFFFF, extended = 0x7FFF;

    if (length <= TYPE)
        return adept_error_set(err, ADEPT_E_INVALID, "SMBIOS: a memory device of %zu bytes, at byte %zu of the table",
                               length, offset);
    unsigned size = word_at(device + SIZE);
    if (is_no_dram(device[TYPE])) return ADEPT_OK;
    if (size == 0 || size == unknown) {
        dimms->n_empty += size == 0;
        dimms->n_unknown += size == unknown;
        return ADEPT_OK;
    }
    double mib = size & in_kib ? (size & ~in_kib) / 1024.0 : size;
    if (size == extended) { /* of 32 GiB - 1 MiB or more: since version 2.7, in MiB, the highest bit reserved */
        if (length < EXTENDED_SIZE + 4)
            return adept_error_set(
                err, ADEPT_E_INVALID,
                "SMBIOS: a memory device without the extended size that it names, at byte %zu of the table", offset);
        mib = double_word_at(device + EXTENDED_SIZE) & 0x7FFFFFFF;
    }
    if (mib == 0) { /* it says that there is one, of no size */
        dimms->n_unknown++;
        return ADEPT_OK;
    }
    return adept_dimms_add(dimms, (adept_dimm){mib / 1024, device[TYPE]}, err);
}

/* ---------------------------------------------------------------- tables ----------------------------------------- */

static bool adds_up_to_zero(const unsigned char *data, size_t size)
{
    unsigned sum = 0;

    for (size_t i = 0; i < size; i++)
        sum += data[i];
    return (sum & 0xFF) == 0;
}

/* How much of the table the entry point announces, and how many structures (0: up to the end-of-table). */
static adept_status read_entry(bytes entry, size_t *most_bytes, unsigned *structures, adept_error *err)
{
    /* Version 2.1 printed the length of its entry point as 0x1E, one too few, and firmware followed it. */
    bool is_2 = entry.size >= 0x1E && memcmp(entry.data, "_SM_", 4) == 0;
    bool is_3 = entry.size >= 0x18 && memcmp(entry.data, "_SM3_", 5) == 0;
    size_t least = is_2 ? 0x1E : 0x18;

    if (!is_2 && !is_3) return adept_error_set(err, ADEPT_E_INVALID, "SMBIOS: no entry point of version 2.1 or later");
    size_t length = entry.data[is_2 ? 5 : 6];
    if (length < least || length > entry.size || !adds_up_to_zero(entry.data, length))
        return adept_error_set(err, ADEPT_E_INVALID, "SMBIOS: the entry point's length or checksum is wrong");
    *most_bytes = is_2 ? word_at(entry.data + 0x16) : double_word_at(entry.data + 0x0C);
    *structures = is_2 ? word_at(entry.data + 0x1C) : 0;
    return ADEPT_OK;
}

/* Bytes of the structure at `offset` with the texts behind it, which end with two zeros. 0: it is torn */
static size_t structure_bytes(bytes table, size_t offset)
{
    const unsigned char *at = table.data + offset;
    size_t left = table.size - offset;

    if (left < HEADER_BYTES || at[1] < HEADER_BYTES || at[1] > left) return 0;
    for (size_t end = at[1]; end + 2 <= left; end++)
        if (at[end] == 0 && at[end + 1] == 0) return end + 2;
    return 0;
}

static adept_status read_table(adept_dimms *dimms, bytes table, unsigned structures, adept_error *err)
{
    size_t offset = 0;

    for (unsigned n = 0; structures == 0 || n < structures; n++) {
        const unsigned char *at = table.data + offset;
        if (offset < table.size && at[0] == END_OF_TABLE) break;
        size_t size = structure_bytes(table, offset);
        if (size == 0)
            return adept_error_set(err, ADEPT_E_INVALID,
                                   "SMBIOS: the table is torn in structure %u, at byte %zu of %zu", n, offset,
                                   table.size);
        adept_status status = at[0] == MEMORY_DEVICE ? add_device(dimms, at, at[1], offset, err) : ADEPT_OK;
        if (status != ADEPT_OK) return status;
        offset += size;
    }
    return ADEPT_OK;
}

adept_status adept_smbios_read(adept_dimms *out, const void *entry, size_t entry_bytes, const void *table,
                               size_t table_bytes, adept_error *err)
{
    adept_dimms dimms = {.n = 0};
    unsigned structures = 0;
    size_t most_bytes = 0;
    adept_status status = read_entry((bytes){entry, entry_bytes}, &most_bytes, &structures, err);

    if (table_bytes > most_bytes) table_bytes = most_bytes; /* what follows is no part of it */
    if (status == ADEPT_OK) status = read_table(&dimms, (bytes){table, table_bytes}, structures, err);
    if (status == ADEPT_OK)
        *out = dimms;
    else
        adept_dimms_free(&dimms);
    return status;
}

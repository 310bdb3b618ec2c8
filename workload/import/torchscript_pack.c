/** @file torchscript_pack.c  Writes the archive that libtorch gets: PKWARE's APPNOTE 6.3, everything stored, sizes and
 *  places always in the records of 64 bits. Checksums are 0: libtorch is built without looking at them. */
#include "torchscript_pack.h"

#define VERSION 45 /* that has numbers of 64 bits */

static void put(adept_buffer *b, uint64_t number, int n_bytes)
{
    unsigned char bytes[8];
    for (int i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    adept_buffer_add(b, bytes, (size_t)n_bytes);
}

/* 4.3.7 */
static void put_local_header(adept_buffer *b, const char *name)
{
    put(b, 0x04034b50, 4);
    put(b, VERSION, 2);
    put(b, 0, 2 + 2); /* flags; stored */
    put(b, 0, 4 + 4); /* time and date; checksum */
    put(b, UINT64_MAX, 4 + 4);
    put(b, strlen(name), 2);
    put(b, 0, 2);
    adept_buffer_text(b, name);
}

/* 4.3.12 and 4.5.3 */
static void put_directory_entry(adept_torch_pack *p, const char *name, uint64_t size, uint64_t at)
{
    adept_buffer *b = &p->directory;
    put(b, 0x02014b50, 4);
    put(b, VERSION, 2);
    put(b, VERSION, 2);
    put(b, 0, 2 + 2);
    put(b, 0, 4 + 4);
    put(b, UINT64_MAX, 4 + 4);
    put(b, strlen(name), 2);
    put(b, 4 + 24, 2);
    put(b, 0, 2 + 2 + 2); /* comment, disk, attributes */
    put(b, 0, 4);
    put(b, UINT32_MAX, 4);
    adept_buffer_text(b, name);
    put(b, 1, 2);
    put(b, 24, 2);
    put(b, size, 8);
    put(b, size, 8);
    put(b, at, 8);
    p->n_entries++;
}

void adept_torch_pack_begin(adept_torch_pack *p, uint64_t gap_bytes)
{
    p->file.gap_bytes = gap_bytes;
    put_local_header(&p->bytes, "gap");
    p->file.gap_at = p->bytes.size;
}

/* Those of gaps all begin at the one there is, whose header is the first. */
void adept_torch_pack_add(adept_torch_pack *p, const char *name, const void *data, uint64_t size)
{
    if (!data) {
        put_directory_entry(p, name, size, 0);
        p->weight_bytes += size;
        return;
    }
    put_directory_entry(p, name, size, p->file.gap_bytes + p->bytes.size);
    put_local_header(&p->bytes, name);
    adept_buffer_add(&p->bytes, data, size);
}

/* 4.3.14, 4.3.15 and 4.3.16 */
bool adept_torch_pack_end(adept_torch_pack *p, const char *name)
{
    adept_buffer *b = &p->bytes;
    uint64_t directory_at = p->file.gap_bytes + b->size, end_at = directory_at + p->directory.size;
    adept_buffer_add(b, p->directory.data, p->directory.size);
    put(b, 0x06064b50, 4);
    put(b, 44, 8);
    put(b, VERSION, 2);
    put(b, VERSION, 2);
    put(b, 0, 4 + 4);
    put(b, p->n_entries, 8);
    put(b, p->n_entries, 8);
    put(b, p->directory.size, 8);
    put(b, directory_at, 8);
    put(b, 0x07064b50, 4);
    put(b, 0, 4);
    put(b, end_at, 8);
    put(b, 1, 4);
    put(b, 0x06054b50, 4);
    put(b, 0, 2 + 2);
    put(b, UINT32_MAX, 2 + 2);
    put(b, UINT64_MAX, 4 + 4);
    put(b, 0, 2);
    p->file.name = name;
    p->file.bytes = b->data;
    p->file.n_bytes = b->size;
    return !b->failed && !p->directory.failed;
}

void adept_torch_pack_free(adept_torch_pack *p)
{
    adept_buffer_free(&p->bytes);
    adept_buffer_free(&p->directory);
}

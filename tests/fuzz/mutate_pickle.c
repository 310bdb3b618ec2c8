/* Pickles: opcodes, whole with their arguments, are dropped, doubled, exchanged and replaced; arguments change. */
#include "mutate.h"
#include <string.h>

#define OPCODES 2048

static struct {
    size_t at, size;
} ops[OPCODES];

static size_t number(const uint8_t *bytes, size_t n)
{
    size_t v = 0;
    while (n-- > 0)
        v = v << 8 | bytes[n];
    return v;
}

/* Bytes of the opcode at `data` and its arguments; more than `size`: cut off. */
static size_t length_of(const uint8_t *data, size_t size)
{
    const uint8_t *line;
    size_t bytes = 0; /* of the length of a text */
    switch (data[0]) {
    case 'K':
    case 'q':
    case 'h':
    case 0x80:
        return 2;
    case 'M':
        return 3;
    case 'J':
    case 'r':
    case 'j':
        return 5;
    case 'G':
        return 9;
    case 'U':
    case 0x8c:
    case 0x8a:
        bytes = 1;
        break;
    case 'T':
    case 'X':
        bytes = 4;
        break;
    case 0x8d:
        bytes = 8;
        break;
    case 'c':
        line = memchr(data, '\n', size);
        line = line ? memchr(line + 1, '\n', (size_t)(data + size - line - 1)) : NULL;
        return line ? (size_t)(line - data) + 1 : SIZE_MAX;
    default:
        return 1;
    }
    return bytes < size && number(data + 1, bytes) < size ? 1 + bytes + number(data + 1, bytes) : SIZE_MAX;
}

static size_t split(const uint8_t *data, size_t size)
{
    size_t n = 0;
    for (size_t at = 0; at < size && n < OPCODES; n++) {
        size_t length = length_of(data + at, size - at);
        if (length > size - at) length = size - at;
        ops[n].at = at;
        ops[n].size = length;
        at += length;
    }
    return n;
}

/* What stands at `at` becomes `n` bytes of `with`. */
static size_t splice(uint8_t *data, size_t size, size_t max_size, size_t at, size_t old, const uint8_t *with, size_t n)
{
    if (size - old + n > max_size) return 0;
    memmove(data + at + n, data + at + old, size - at - old);
    memcpy(data + at, with, n);
    return size - old + n;
}

static size_t change(uint8_t *data, size_t size, size_t max_size, fuzz_random *r)
{
    static const uint8_t plain[] = {'(', ')', ']', '}', 0x85, 0x86, 0x87, 'R',  0x81, 'Q', 't',
                                    'l', 'a', 'e', 's', 'u',  'b',  'N',  0x88, 0x89, '0', '.'};
    static const uint8_t numbered[] = {'K', 'q', 'h'};
    size_t n = split(data, size);
    if (n == 0) return 0;
    size_t a = fuzz_pick(r, n), b = fuzz_pick(r, n);
    uint8_t copy[512], *at = data + ops[a].at;
    if (ops[b].size > sizeof copy) return 0;
    memcpy(copy, data + ops[b].at, ops[b].size);
    uint8_t one[2] = {plain[fuzz_pick(r, sizeof plain)], (uint8_t)fuzz_pick(r, fuzz_pick(r, 2) ? 8 : 256)};
    switch (fuzz_pick(r, 7)) {
    case 0:
        return splice(data, size, max_size, ops[a].at, ops[a].size, copy, 0);
    case 1:
        return splice(data, size, max_size, ops[a].at, ops[a].size, copy, ops[b].size);
    case 2:
        return splice(data, size, max_size, ops[a].at, 0, copy, ops[b].size);
    case 3:
        return splice(data, size, max_size, ops[a].at, 0, one, 1);
    case 4:
        return splice(data, size, max_size, ops[a].at, ops[a].size, one, 1);
    case 5:
        one[0] = numbered[fuzz_pick(r, sizeof numbered)];
        return splice(data, size, max_size, ops[a].at, 0, one, 2);
    default:
        if (ops[a].size > 1 && ops[a].size <= 9)
            LLVMFuzzerMutate(at + 1, ops[a].size - 1, ops[a].size - 1);
        else if (ops[a].size > 9)
            at[5 + fuzz_pick(r, ops[a].size - 5)] = (uint8_t)(' ' + fuzz_pick(r, 95));
        return size;
    }
}

size_t fuzz_mutate_pickle(uint8_t *data, size_t size, size_t max_size, fuzz_random *r)
{
    size_t n = change(data, size, max_size, r);
    for (size_t left = fuzz_pick(r, 4); left > 0 && n > 0; left--)
        n = change(data, n, max_size, r);
    return n;
}

/** @file sha256.c  SHA-256 as FIPS 180-4 section 6.2 defines it. Calls: nothing. */
#include "sha256.h"
#include "adept_import.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Section 4.2.2: first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const uint32_t adept_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate_right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const unsigned char *block)
{
    for (int t = 0; t < 16; t++) {
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               block[4 * t + 3];
    }
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    schedule(w, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + adept_sha256_constants[t] + w[t];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void adept_sha256_blocks_portable(uint32_t state[8], const unsigned char *data, size_t n_blocks)
{
    for (; n_blocks > 0; n_blocks--, data += 64)
        compress(state, data);
}

/* Section 5.3.3 */
void adept_sha256_init(adept_sha256 *s)
{
    adept_sha256_blocks_fn *fast = adept_sha256_blocks_x86();
    *s = (adept_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
        .blocks = fast ? fast : adept_sha256_blocks_portable,
    };
}

void adept_sha256_update(adept_sha256 *s, const void *data, size_t size)
{
    const unsigned char *p = data;
    s->total_bytes += size;
    if (s->pending) {
        size_t n = sizeof s->block - s->pending;
        if (n > size) n = size;
        memcpy(s->block + s->pending, p, n);
        s->pending += n;
        p += n;
        size -= n;
        if (s->pending < sizeof s->block) return;
        s->blocks(s->state, s->block, 1);
        s->pending = 0;
    }
    size_t whole = size / sizeof s->block * sizeof s->block;
    s->blocks(s->state, p, whole / sizeof s->block);
    s->pending = size - whole;
    if (s->pending) memcpy(s->block, p + whole, s->pending);
}

void adept_sha256_hex(adept_sha256 *s, char hex[65])
{
    uint64_t bits = s->total_bytes * 8;
    s->block[s->pending++] = 0x80;
    if (s->pending > 56) {
        memset(s->block + s->pending, 0, sizeof s->block - s->pending);
        s->blocks(s->state, s->block, 1);
        s->pending = 0;
    }
    memset(s->block + s->pending, 0, 56 - s->pending);
    for (int i = 0; i < 8; i++)
        s->block[56 + i] = (unsigned char)(bits >> (56 - 8 * i));
    s->blocks(s->state, s->block, 1);
    for (int i = 0; i < 64; i++)
        hex[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}

void adept_bytes_sha256(char hex[65], const void *data, size_t size)
{
    adept_sha256 sha;
    adept_sha256_init(&sha);
    adept_sha256_update(&sha, data, size);
    adept_sha256_hex(&sha, hex);
}

adept_status adept_file_sha256(char hex[65], const char *path, adept_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot open: %s", path, strerror(errno));
    adept_sha256 sha;
    adept_sha256_init(&sha);
    unsigned char buffer[65536];
    ssize_t n;
    do {
        n = read(fd, buffer, sizeof buffer);
        if (n > 0) adept_sha256_update(&sha, buffer, (size_t)n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    int saved = errno;
    close(fd);
    if (n < 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot read: %s", path, strerror(saved));
    adept_sha256_hex(&sha, hex);
    return ADEPT_OK;
}

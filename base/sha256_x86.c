/** @file sha256_x86.c  SHA-256 with the SHA instructions of x86 (Intel SDM vol. 2, SHA256RNDS2, SHA256MSG1/2): hashing
 * a model file then costs less than reading it. Calls: nothing. */
#include "sha256.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

/* Four rounds: the instruction does two with the lower half of its third operand. */
#define FOUR_ROUNDS(w)                                                                                                 \
    do {                                                                                                               \
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, w);                                                                   \
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_srli_si128(w, 8));                                                \
    } while (0)

__attribute__((target("sha,sse4.1,ssse3"))) static void blocks_x86(uint32_t state[8], const unsigned char *data,
                                                                   size_t n_blocks)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i *constants = (const __m128i *)adept_sha256_constants;
    /* The instructions want the state as (a b e f) and (c d g h), a and c in the highest lanes. */
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (; n_blocks > 0; n_blocks--, data += 64) {
        __m128i abef_before = abef, cdgh_before = cdgh, m[4];
        for (int i = 0; i < 4; i++) {
            m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)data + i), big_endian);
            FOUR_ROUNDS(_mm_add_epi32(m[i], _mm_loadu_si128(constants + i)));
        }
        for (int i = 4; i < 16; i++) { /* w[t] = s1(w[t-2]) + w[t-7] + s0(w[t-15]) + w[t-16], four at a time */
            __m128i *oldest = &m[i & 3], newest = m[(i + 3) & 3];
            __m128i seven_ago = _mm_alignr_epi8(newest, m[(i + 2) & 3], 4);
            __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*oldest, m[(i + 1) & 3]), seven_ago);
            *oldest = _mm_sha256msg2_epu32(sum, newest);
            FOUR_ROUNDS(_mm_add_epi32(*oldest, _mm_loadu_si128(constants + i)));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    uint32_t high[4], low[4];
    _mm_storeu_si128((__m128i *)high, abef);
    _mm_storeu_si128((__m128i *)low, cdgh);
    state[0] = high[3];
    state[1] = high[2];
    state[2] = low[3];
    state[3] = low[2];
    state[4] = high[1];
    state[5] = high[0];
    state[6] = low[1];
    state[7] = low[0];
}

adept_sha256_blocks_fn *adept_sha256_blocks_x86(void)
{
    unsigned a, b, c, d;
    bool has_sse = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    bool has_sha = has_sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29); /* CPUID.7.0:EBX.SHA */
    return has_sha ? blocks_x86 : NULL;
}

#else

adept_sha256_blocks_fn *adept_sha256_blocks_x86(void)
{
    return NULL;
}

#endif

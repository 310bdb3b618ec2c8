/** @file adept_random.h  Random numbers by keys: a draw depends on seed, stream and index alone, never on what was
 * drawn before, so that policies, threads and machines see the same. SplitMix64 (Steele, Lea and Flood 2014).
 * Thread-safe. Calls: nothing. */
#ifndef ADEPT_RANDOM_H
#define ADEPT_RANDOM_H
#include <math.h>
#include <stdint.h>

/** Which kind of number; one for each use, so that no use disturbs another. */
typedef enum adept_random_stream {
    ADEPT_RANDOM_ARRIVALS,
    ADEPT_RANDOM_TEMPLATES,
    ADEPT_RANDOM_USERS,
    ADEPT_RANDOM_URGENCY,
    ADEPT_RANDOM_SIZES,
    ADEPT_RANDOM_NOISE_TIME,
    ADEPT_RANDOM_NOISE_POWER,
    ADEPT_RANDOM_TRUTH_TIME,
    ADEPT_RANDOM_TRUTH_POWER,
    ADEPT_RANDOM_FAILURES,
    ADEPT_RANDOM_BOOTSTRAP
} adept_random_stream;

/** splitmix64, the finaliser of java.util.SplittableRandom (public domain): every bit of the input moves every output
 * bit. */
static inline uint64_t adept_random_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/** Evenly in [0, 1). */
static inline double adept_random(uint64_t seed, adept_random_stream stream, uint64_t index)
{
    uint64_t key = adept_random_mix(adept_random_mix(seed) ^ adept_random_mix((uint64_t)stream + 0x1000)) ^
                   adept_random_mix(index + 0x2000);
    return (double)(adept_random_mix(key) >> 11) * 0x1p-53;
}

/** Exponential with a mean. */
static inline double adept_random_exponential(uint64_t seed, adept_random_stream stream, uint64_t index, double mean)
{
    return -mean * log1p(-adept_random(seed, stream, index));
}

#endif

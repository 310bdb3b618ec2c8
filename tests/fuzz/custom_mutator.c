/* What libFuzzer calls in a target that has a mutator: ADEPT_MUTATE on what follows ADEPT_PREFIX bytes. */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    fuzz_random r = {seed * UINT64_C(0x9E3779B97F4A7C15) | 1};
    size_t n = 0;
    if (size > ADEPT_PREFIX && fuzz_pick(&r, 4) > 0)
        n = ADEPT_MUTATE(data + ADEPT_PREFIX, size - ADEPT_PREFIX, max_size - ADEPT_PREFIX, &r);
    return n > 0 ? n + ADEPT_PREFIX : LLVMFuzzerMutate(data, size, max_size);
}

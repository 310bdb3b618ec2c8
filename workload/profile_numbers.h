/** @file profile_numbers.h  A profile as a list of numbers and what is left without them. Private to workload/. */
#ifndef ADEPT_PROFILE_NUMBERS_H
#define ADEPT_PROFILE_NUMBERS_H
#include "adept_profile.h"

/* Changes whenever numbers are listed in another order: files record it. */
#define ADEPT_NUMBERING 2

#define ADEPT_MEMORY_BYTES(X) X(activations_bytes) X(temporary_bytes) X(autocast_copy_bytes)

/* Arrays that a copy of a profile has of its own. */
typedef enum adept_numbers_region {
    ADEPT_REGION_PROFILE,
    ADEPT_REGION_OPS,
    ADEPT_REGION_KERNELS, /* of all operators, one after the other */
    ADEPT_REGION_INPUTS,
    ADEPT_REGION_WARNINGS,
    ADEPT_REGIONS
} adept_numbers_region;

/* A field in one of them. */
typedef struct adept_numbers_place {
    adept_numbers_region region;
    size_t offset;
} adept_numbers_place;

/* A text of shapes: "f32:8x512" has the numbers 32, 8 and 512. */
typedef struct adept_numbers_text {
    adept_numbers_place place;
    size_t first, n; /* numbers */
} adept_numbers_text;

/* First the n_plain numbers that are fields of their own, then those inside texts. */
typedef struct adept_numbers {
    size_t n, n_plain, n_texts;
    double *values;
    adept_numbers_place *places; /* n_plain */
    adept_numbers_text *texts;
    size_t sizes[ADEPT_REGIONS]; /* in bytes */
    char *rest;                  /* everything else, as text */
} adept_numbers;

/** @return false when memory is out; free in every case */
bool adept_numbers_collect(adept_numbers *out, const adept_profile *profile);
void adept_numbers_free(adept_numbers *numbers);
/** Are two profiles the same but for their numbers? */
bool adept_numbers_alike(const adept_numbers *a, const adept_numbers *b);

/* A profile with other numbers. Names are the original's. */
typedef struct adept_numbers_copy {
    adept_profile *profile; /* NULL: memory is out */
    char *regions[ADEPT_REGIONS];
} adept_numbers_copy;
adept_numbers_copy adept_numbers_copy_of(const adept_profile *profile, const adept_numbers *numbers);
/** Copy names too, so that nothing of the original is used. @return false when memory is out */
bool adept_numbers_own_names(adept_numbers_copy *copy);
/** Print one text again with values[0 .. n) as its numbers. @return false when memory is out */
bool adept_numbers_set_text(adept_numbers_copy *copy, const adept_numbers_text *text, const double *values);

#endif

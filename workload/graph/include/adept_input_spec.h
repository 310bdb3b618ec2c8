/** @file adept_input_spec.h  Inputs as text: shapes, "[DTYPE:]D1xD2x...[=NUMBER]", and what a named one is, "n=3".
 * Calls: adept_value. */
#ifndef ADEPT_INPUT_SPEC_H
#define ADEPT_INPUT_SPEC_H
#include "adept_error.h"
#include "adept_value.h"

/* Dimensions of a spec that are chosen later. */
#define ADEPT_DIM_BATCH (-1)  /* written B */
#define ADEPT_DIM_LENGTH (-2) /* written S: the sequence length */

#define ADEPT_INPUT_TEXT_BYTES 256

/** Shape of one input, "[DTYPE:]D1xD2x...", with what all its elements are where they are whole numbers, "=50"; or
 * "NAME=VALUE", which means what the type of that input, or of that part of one, says. */
typedef struct adept_input_spec {
    adept_dtype dtype;
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS]; /* positive, ADEPT_DIM_BATCH or ADEPT_DIM_LENGTH */
    char text[ADEPT_INPUT_TEXT_BYTES]; /* "batch.ids=i64:Bx128", "n=3", "sizes=8,16"; "": a shape without a name */
    bool has_value;
    int64_t value;
} adept_input_spec;

/** @return ADEPT_E_USAGE with a message quoting the text. Thread-safe. */
ADEPT_API adept_status adept_input_spec_parse(adept_input_spec *out, const char *text, adept_error *err);
/** A shape alone. `of` is the text that it is part of, for messages. */
adept_status adept_input_shape_parse(adept_input_spec *out, const char *shape, const char *of, adept_error *err);
/** The same text again. */
char *adept_input_spec_print(const adept_input_spec *spec, char *text, size_t size);
/** Does a dimension of one of them stand open so? */
bool adept_input_specs_have(const adept_input_spec *specs, size_t n, int64_t mark);
/** Put numbers for B and S; `leading` also puts the batch for the first dimension, as --batch does. */
ADEPT_API void adept_input_spec_settle(adept_input_spec *spec, int64_t batch_size, bool leading, int64_t seq_length);

#endif

/** @file run_fields.c  The table of a run's words; see adept_fields.h. */
#include "adept_model.h"

static const adept_field fields[ADEPT_N_RUN_FIELDS] = {
#define X(...) ADEPT_FIELD_ROW(adept_run, __VA_ARGS__)
    ADEPT_RUN_FIELDS(X)
#undef X
};

const adept_field *adept_run_field(size_t index)
{
    return index < ADEPT_N_RUN_FIELDS ? &fields[index] : NULL;
}

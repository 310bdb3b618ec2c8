/** @file fuzz_csv.c  Measurement files: whatever comes, rows within their bounds or a message with a place. */
#include "adept_measurements.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static void check_row(const adept_dataset *d, const adept_dataset_row *m)
{
    REQUIRE(m->model[0] != '\0' && m->model_name != NULL);
    REQUIRE(m->step_time_s > 0 || isnan(m->step_time_s));
    REQUIRE(m->power_avg_w > 0 || isnan(m->power_avg_w));
    REQUIRE(!isnan(m->step_time_s) || !isnan(m->power_avg_w));
    REQUIRE(!isinf(m->step_time_s) && !isinf(m->power_avg_w));
    REQUIRE(m->weight >= 0 && isfinite(m->weight));
    REQUIRE(m->run.gpus >= 1 && m->grad_accum >= 1 && m->batch_size >= 0);
    REQUIRE(m->run.power_limit_w >= 0 && isfinite(m->run.power_limit_w));
    REQUIRE(m->line >= 2);
    for (size_t i = 0; i < d->columns.n; i++)
        REQUIRE(adept_dataset_row_text(m, d->columns.names[i]) != NULL);
    REQUIRE(adept_dataset_row_text(m, "weight") != NULL); /* known, whether the file has it or not */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    REQUIRE(d != NULL);
    adept_status status = adept_dataset_parse(d, "fuzz.csv", (const char *)data, size, &err);
    if (status == ADEPT_OK) {
        REQUIRE(d->n > 0 && d->n_files == 1 && d->files[0].n_rows == d->n);
        for (size_t i = 0; i < d->n; i++)
            check_row(d, &d->rows[i]);
    } else {
        REQUIRE(err.status == status && strncmp(err.message, "fuzz.csv:", 9) == 0);
        REQUIRE(strchr(err.message, '\n') == NULL);
    }
    adept_dataset_free(d);
    return 0;
}

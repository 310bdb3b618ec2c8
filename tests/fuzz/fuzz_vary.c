/** @file fuzz_vary.c  --vary KEY=VALUES: whatever comes, values that every point can have, or one line that says what
 * is wrong. */
#include "adept_number.h"
#include "adept_sweep.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_sweep_axis axis;
    adept_error err = {0};
    char *text = malloc(size + 1);
    REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    adept_status status = adept_sweep_axis_parse(&axis, text, &err);
    if (status == ADEPT_OK) {
        REQUIRE(axis.n > 0 && (axis.numbers != NULL) != (axis.words != NULL));
        for (size_t i = 0; i < axis.n; i++) {
            if (axis.words) {
                REQUIRE(axis.words[i][0] != '\0');
                continue;
            }
            char number[ADEPT_NUMBER_SIZE];
            REQUIRE(isfinite(axis.numbers[i]));
            REQUIRE(axis.numbers[i] >= 0 || adept_sweep_best_limit_name(&axis, i));
            adept_number_print(number, axis.numbers[i]);
            REQUIRE(strtod(number, NULL) == axis.numbers[i]);
            if (i > 1000) break; /* a range of millions is like its beginning */
        }
        adept_sweep_axis_free(&axis);
    } else {
        REQUIRE(status == ADEPT_E_USAGE || status == ADEPT_E_NOMEM);
        REQUIRE(err.status == status && err.message[0] != '\0');
    }
    free(text);
    return 0;
}

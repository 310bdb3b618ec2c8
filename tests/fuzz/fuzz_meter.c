/** @file fuzz_meter.c  Replies of meters and service processors. The first line is a JSON pointer, the rest the
 * document; all of it is a reply of DCMI as well. */
#include "adept_json.h"
#include "dcmi.h"
#include "fuzz_require.h"
#include "pointer.h"
#include <stdint.h>
#include <string.h>

static void check_dcmi(const uint8_t *data, size_t size)
{
    adept_dcmi_power power = {-1, -1, -1};
    const char *why = adept_dcmi_reply(&power, data, size);

    if (why && power.now_w == -1) return; /* no numbers */
    const double *numbers_w[] = {&power.now_w, &power.least_w, &power.most_w};
    for (size_t i = 0; i < 3; i++)
        REQUIRE(*numbers_w[i] >= 0 && *numbers_w[i] <= 65535);
    adept_dcmi_is_credible(&power);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t length = end ? (size_t)(end - data) : 0;
    cJSON *document = NULL;

    check_dcmi(data, size);
    if (!end || adept_json_parse(&document, "fuzz", (const char *)end + 1, size - length - 1, NULL) != ADEPT_OK)
        return 0;
    char *pointer = calloc(1, length + 1), why[64] = "";
    REQUIRE(pointer != NULL);
    memcpy(pointer, data, length);
    const cJSON *found = adept_pointer_find(document, pointer, why, sizeof why);
    REQUIRE((found == NULL) == (why[0] != '\0'));
    REQUIRE(strlen(why) < sizeof why && (*pointer || found == document));
    free(pointer);
    cJSON_Delete(document);
    return 0;
}

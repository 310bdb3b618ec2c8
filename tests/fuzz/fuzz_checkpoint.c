/** @file fuzz_checkpoint.c  Checkpoints of a fit: what is read prints to the same text again; all else is an error. */
#include "checkpoint_private.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static adept_checkpoint *empty(void)
{
    adept_checkpoint *c = adept_checkpoint_alloc("checkpoint.json");
    REQUIRE(c != NULL);
    REQUIRE(cJSON_AddStringToObject(c->options, "seed", "1") != NULL);
    return c;
}

static void check_readable(const adept_checkpoint *c)
{
    char *first = adept_checkpoint_print(c);
    adept_checkpoint *again = empty();
    REQUIRE(first != NULL);
    REQUIRE(adept_checkpoint_parse(again, "again", first, strlen(first), NULL) == ADEPT_OK);
    char *second = adept_checkpoint_print(again);
    REQUIRE(second != NULL && strcmp(first, second) == 0);
    adept_checkpoint_free(again);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_checkpoint *c = empty();
    adept_error err = {0};
    char *text = malloc(size + 1); /* on the heap: a sanitizer sees its end */
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    adept_status status = adept_checkpoint_parse(c, "fuzz", text, size, &err);
    if (status == ADEPT_OK)
        check_readable(c);
    else
        REQUIRE((status == ADEPT_E_INVALID || status == ADEPT_E_USAGE) && err.message[0] && !strchr(err.message, '\n'));
    adept_checkpoint_free(c);
    free(text);
    return 0;
}

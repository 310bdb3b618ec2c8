/** @file fuzz_checkpoint.c  Checkpoints of a fit: what is read prints to the same text again; all else is an error. The
 * input is what stands behind the digest. */
#include "checkpoint.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static adept_checkpoint *empty(void)
{
    adept_checkpoint *c = adept_checkpoint_alloc("checkpoint.json");
    REQUIRE(c != NULL);
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
    char hex[ADEPT_SHA256_SIZE], *text = NULL;
    REQUIRE(adept_bytes_sha256(hex, data, size, NULL) == ADEPT_OK);
    int head = asprintf(&text, "{\"sha256\":\"%s\",", hex);
    text = realloc(text, (size_t)head + size + 1); /* on the heap: a sanitizer sees its end */
    REQUIRE(head > 0 && text != NULL);
    memcpy(text + head, data, size);
    text[(size_t)head + size] = '\0';
    size += (size_t)head;
    adept_status status = adept_checkpoint_parse(c, "fuzz", text, size, &err);
    if (status == ADEPT_OK)
        check_readable(c);
    else
        REQUIRE((status == ADEPT_E_INVALID) && err.message[0] && !strchr(err.message, '\n'));
    adept_checkpoint_free(c);
    free(text);
    return 0;
}

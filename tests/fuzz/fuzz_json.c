/** @file fuzz_json.c  JSON of strangers: whatever comes, a tree that can be written and read again, or one line that
 * says what is wrong, with its place. */
#include "adept_json.h"
#include "adept_json_writer.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *print(const cJSON *root)
{
    adept_json_writer w = {0};
    adept_json_put_tree(&w, NULL, root);
    char *text = adept_json_finish(&w);
    REQUIRE(text != NULL);
    return text;
}

static void check_error(const adept_error *err)
{
    REQUIRE(err->status == ADEPT_E_INVALID);
    REQUIRE(strncmp(err->message, "fuzz.json:", 10) == 0);
    REQUIRE(strchr(err->message, '\n') == NULL);
    REQUIRE(err->line >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cJSON *root = NULL, *again = NULL;
    adept_error err = {0};
    char *exact = malloc(size ? size : 1); /* exactly as large: sanitizers see every overrun */
    REQUIRE(exact != NULL);
    memcpy(exact, data, size);
    if (adept_json_parse_within(&root, "fuzz.json", exact, size, 100000, &err) != ADEPT_OK) {
        REQUIRE(root == NULL);
        check_error(&err);
    } else {
        char *text = print(root);
        REQUIRE(adept_json_parse(&again, "again", text, strlen(text), &err) == ADEPT_OK);
        char *second = print(again);
        REQUIRE(strcmp(text, second) == 0); /* but for infinite numbers, which the first printing made null */
        free(second);
        free(text);
    }
    cJSON_Delete(again);
    cJSON_Delete(root);
    free(exact);
    return 0;
}

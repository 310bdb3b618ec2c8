/** @file fuzz_serve.c  Any request is answered, with JSON that says what is wrong if something is. Input: "METHOD
 * PATH\n" and the body; without such a line, all of it is the body of POST /v1/predict. */
#include "fuzz_require.h"
#include "serve/server.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static adept_server *open_server(void)
{
    adept_serve_catalogue *c = NULL;
    adept_server *s = NULL;
    REQUIRE(adept_serve_catalogue_new(&c, NULL, 0, NULL) == ADEPT_OK);
    REQUIRE(adept_serve_catalogue_add(c, ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json", NULL) == ADEPT_OK);
    REQUIRE(adept_server_new(&s, c, 16, NULL) == ADEPT_OK);
    return s;
}

/* "POST /v1/choose" of the first line. @return where the body begins */
static size_t split(char method[16], char path[128], const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    const uint8_t *blank = end ? memchr(data, ' ', (size_t)(end - data)) : NULL;
    strcpy(method, "POST");
    strcpy(path, "/v1/predict");
    if (!blank || blank - data >= 16 || end - blank > 127 || !isupper(data[0]) || memchr(data, 0, (size_t)(end - data)))
        return 0;
    memcpy(method, data, (size_t)(blank - data));
    method[blank - data] = '\0';
    memcpy(path, blank + 1, (size_t)(end - blank - 1));
    path[end - blank - 1] = '\0';
    return (size_t)(end - data) + 1;
}

static void check_problem(const cJSON *root, int http_status)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(error, "code"),
                *status = cJSON_GetObjectItemCaseSensitive(error, "status");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(error, "message");
    REQUIRE(cJSON_IsString(code) && cJSON_IsString(message) && message->valuestring[0]);
    REQUIRE(cJSON_IsNumber(status) && (int)status->valuedouble == http_status);
    REQUIRE(http_status >= 400 && http_status < 500);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static adept_server *server; /* kept, so that its cache is at work */
    char method[16], path[128];
    if (!server) server = open_server();
    size_t begin = split(method, path, data, size);
    char *body = malloc(size - begin ? size - begin : 1); /* exactly as large: sanitizers see every overrun */
    REQUIRE(body);
    if (size > begin) memcpy(body, data + begin, size - begin);
    const adept_serve_request request = {
        .method = method, .path = path, .content_type = "application/json", .body = body, .body_size = size - begin};
    adept_serve_reply reply;
    adept_server_answer(server, &reply, &request);
    if (strncmp(reply.content_type, "text/plain", 10) == 0) {
        REQUIRE(reply.http_status == 200 && reply.size > 0);
    } else {
        cJSON *root = cJSON_ParseWithLengthOpts(reply.data, reply.size, NULL, 0);
        REQUIRE(root && cJSON_IsObject(root));
        if (reply.http_status != 200) check_problem(root, reply.http_status);
        cJSON_Delete(root);
    }
    free(reply.owned);
    free(body);
    return 0;
}

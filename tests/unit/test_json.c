/* Reading and writing files, parse errors with their place, and the sticky JSON reader. */
#include "adept_file.h"
#include "adept_json.h"
#include "cmocka_test.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/adept-json-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails if a test left a file, for instance a temporary one */
}

static const char *in_folder(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static int count_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void test_write_and_read(void **state)
{
    (void)state;
    char path[128];
    in_folder(path, sizeof path, "a.json");
    adept_error err = {0};
    assert_int_equal(adept_file_write(path, "hello", 5, &err), ADEPT_OK);
    struct stat st;
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(adept_file_write(path, "new\0text", 8, &err), ADEPT_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640); /* the replaced file's mode stays */
    assert_int_equal(count_files(), 1);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(adept_file_read(&text, &size, path, 8, &err), ADEPT_OK);
    assert_int_equal(size, 8);
    assert_memory_equal(text, "new\0text\0", 9);
    free(text);
    assert_int_equal(adept_file_read(&text, &size, path, 7, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, path));
    unlink(path);
}

static void test_write_follows_link(void **state)
{
    (void)state;
    char path[128], link[128];
    in_folder(path, sizeof path, "target");
    in_folder(link, sizeof link, "link");
    adept_error err = {0};
    assert_int_equal(adept_file_write(path, "old", 3, &err), ADEPT_OK);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(adept_file_write(link, "fresh", 5, &err), ADEPT_OK);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 5);
    unlink(link);
    unlink(path);
}

static void test_write_failures(void **state)
{
    (void)state;
    char path[128];
    adept_error err = {0};
    in_folder(path, sizeof path, "missing/a.json");
    assert_int_equal(adept_file_write(path, "x", 1, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(adept_file_write(folder, "x", 1, &err), ADEPT_E_IO);
    assert_int_equal(adept_file_write("/dev/full", "x", 1, &err), ADEPT_E_IO);
    assert_int_equal(count_files(), 0);
}

static void test_read_failures(void **state)
{
    (void)state;
    char path[128];
    char *text = NULL;
    size_t size;
    adept_error err = {0};
    assert_int_equal(adept_file_read(&text, &size, folder, 100, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "directory"));
    in_folder(path, sizeof path, "none");
    assert_int_equal(adept_file_read(&text, &size, path, 100, &err), ADEPT_E_INVALID);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(adept_file_read(&text, &size, path, 100, &err), ADEPT_E_INVALID); /* and does not hang */
    assert_null(text);
    unlink(path);
}

static void test_parse_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "t.json:1:1:"},     {" \n ", "t.json:2:2:"}, {"{\n  \"a\": 1,\n  \"b\" 2\n}", "t.json:3:7:"},
        {"[1, 2,", "t.json:1:"}, {"{} x", "t.json:1:4:"}, {"{\"a\":1", "t.json:1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *root = NULL;
        adept_error err = {0};
        assert_int_equal(adept_json_parse(&root, "t.json", cases[i].text, strlen(cases[i].text), &err),
                         ADEPT_E_INVALID);
        assert_null(root);
        if (strncmp(err.message, cases[i].place, strlen(cases[i].place)) != 0) {
            fail_msg("'%s' gave '%s'", cases[i].text, err.message);
        }
    }
}

static void test_parse_line(void **state)
{
    (void)state;
    cJSON *root = NULL;
    adept_error err = {0};
    const char *text = "{\n\n  \"a\": nope\n}";
    assert_int_equal(adept_json_parse(&root, "t.json", text, strlen(text), &err), ADEPT_E_INVALID);
    assert_int_equal(err.line, 3);
}

/* The text need not end in zero, and nesting is bounded. */
static void test_parse_hostile(void **state)
{
    (void)state;
    cJSON *root = NULL;
    adept_error err = {0};
    char *exact = malloc(2);
    memcpy(exact, "[]", 2);
    assert_int_equal(adept_json_parse(&root, "t", exact, 2, &err), ADEPT_OK);
    cJSON_Delete(root);
    root = NULL;
    free(exact);
    size_t depth = 100000;
    char *deep = malloc(depth);
    memset(deep, '[', depth);
    assert_int_equal(adept_json_parse(&root, "t", deep, depth, &err), ADEPT_E_INVALID);
    assert_null(root);
    free(deep);
}

/* ---- strictness ---- */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static adept_status check(const char *json, size_t size, adept_error *err)
{
    cJSON *root = NULL;
    char *exact = malloc(size ? size : 1); /* sanitizers see every byte read too many */
    assert_non_null(exact);
    memcpy(exact, json, size);
    adept_status status = adept_json_parse(&root, "t", exact, size, err);
    assert_true((status == ADEPT_OK) == (root != NULL));
    cJSON_Delete(root);
    free(exact);
    return status;
}

static void test_accepts(void **state)
{
    (void)state;
    static const char *const good[] = {"{}",
                                       "[]",
                                       " null ",
                                       "true",
                                       "false",
                                       "0",
                                       "-0",
                                       "1",
                                       "-12.5e+10",
                                       "1E-3",
                                       "0.5",
                                       "\"\"",
                                       "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                                       "\"\\ud83d\\ude00\"",
                                       "\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"",
                                       "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}",
                                       "\t[\r\n1 , 2 ] "};
    for (size_t i = 0; i < COUNT(good); i++) {
        adept_error err = {0};
        if (check(good[i], strlen(good[i]), &err) != ADEPT_OK) fail_msg("%s: %s", good[i], err.message);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{,}",
                                      "nul",
                                      "nulll",
                                      "True",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "-",
                                      "+1",
                                      "01",
                                      "-01",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "1_0",
                                      "\"",
                                      "\"\\\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\",
                                      "\"\t\"",
                                      "\"\n\"",
                                      "\"\x80\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xe0\x9f\xbf\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xff\"",
                                      "\"\xc3\"",
                                      "\"\xf0\x9f\x98\"",
                                      "'a'",
                                      "1 1",
                                      "{} {}",
                                      "/* */ 1",
                                      "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        adept_error err = {0};
        if (check(bad[i], strlen(bad[i]), &err) != ADEPT_E_INVALID || strncmp(err.message, "t:1:", 4) != 0 ||
            !strstr(err.message, "not valid JSON: "))
            fail_msg("'%s' is accepted (%s)", bad[i], err.message);
    }
    adept_error err = {0};
    assert_int_equal(check("[\"\0\"]", 5, &err), ADEPT_E_INVALID);
    assert_int_equal(check("[\"\\u0000\"]", 10, &err), ADEPT_E_INVALID);
    assert_int_equal(check("[1]\0", 4, &err), ADEPT_E_INVALID);
    assert_int_equal(check("{\n \"a\": 1,\n  \"b\" 2}", 19, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "t:3:7: not valid JSON: ':' is missing");
    assert_int_equal(err.line, 3);
}

static void test_depth(void **state)
{
    (void)state;
    for (int depth = ADEPT_JSON_MAX_DEPTH; depth <= ADEPT_JSON_MAX_DEPTH + 1; depth++) {
        char json[2 * ADEPT_JSON_MAX_DEPTH + 8];
        memset(json, '[', (size_t)depth);
        memset(json + depth, ']', (size_t)depth);
        assert_int_equal(check(json, 2 * (size_t)depth, NULL),
                         depth > ADEPT_JSON_MAX_DEPTH ? ADEPT_E_INVALID : ADEPT_OK);
    }
}

static void test_number_of_values(void **state)
{
    (void)state;
    adept_error err = {0};
    cJSON *root = NULL;
    assert_int_equal(adept_json_parse_within(&root, "t", "[1,{\"a\":2}]", 11, 4, &err), ADEPT_OK);
    cJSON_Delete(root);
    assert_int_equal(adept_json_parse_within(&root, "t", "[1,{\"a\":2}]", 11, 3, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "t:1:9: not valid JSON: too many values");
    size_t size = 2 * (ADEPT_JSON_MAX_VALUES + 1);
    char *many = malloc(size);
    assert_non_null(many);
    for (size_t i = 0; i < size; i++)
        many[i] = "0,"[i % 2];
    many[0] = '[';
    many[1] = ' ';
    assert_int_equal(adept_json_parse(&root, "t", many, size, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "too many values"));
    free(many);
}

/* Few members are compared in pairs, many are sorted; escapes are one and the same name. */
static void test_repeated_names(void **state)
{
    (void)state;
    adept_error err = {0};
    static const char different[] = "{\"a\":{\"b\":1},\"b\":{\"a\":1}}",
                      same_one[] = "{\"x\":\n {\"ab\":1,\"c\":2,\"a\\u0062\":3}}";
    assert_int_equal(check(different, strlen(different), &err), ADEPT_OK);
    assert_int_equal(check(same_one, strlen(same_one), &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "t:2:2: not valid JSON: in this object the key \"ab\" is given twice");
    for (int n = 2; n < 200; n += 3)
        for (int same = 0; same < 2; same++) {
            char json[4000] = "{";
            for (int i = 0; i < n; i++)
                sprintf(json + strlen(json), "%s\"k%d\":0", i ? "," : "", same && i == n - 1 ? n / 2 - 1 : i);
            strcat(json, "}");
            assert_int_equal(check(json, strlen(json), &err), same ? ADEPT_E_INVALID : ADEPT_OK);
        }
}

static void test_values(void **state)
{
    (void)state;
    static const char json[] =
        " { \"a\\u0062\" : [ 1 , \"]\\\"\" ,{\"x\":[]}],\"\":-2.5e3 , \"z\":null,\"s\":\"\\ud83d\\ude00\\u00e9\\n\\/\","
        "\"half\":0.1,\"big\":1e999,\"long\":"
        "100000000000000000000000000000000000000000000000000000000000000000000000000000.0} ";
    cJSON *root = NULL;
    adept_error err = {0};
    if (adept_json_parse(&root, "t", json, sizeof json - 1, &err) != ADEPT_OK) fail_msg("%s", err.message);
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(root, "ab");
    assert_int_equal(adept_json_size(a), 3);
    assert_int_equal(adept_json_size(root), 7);
    assert_true(a->child->valuedouble == 1);
    assert_string_equal(a->child->next->valuestring, "]\"");
    assert_true(cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(a->child->next->next, "x")));
    assert_true(cJSON_GetObjectItemCaseSensitive(root, "")->valuedouble == -2500);
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(root, "z")));
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(root, "s")->valuestring, "\xf0\x9f\x98\x80\xc3\xa9\n/");
    assert_true(cJSON_GetObjectItemCaseSensitive(root, "half")->valuedouble == 0.1);
    assert_true(isinf(cJSON_GetObjectItemCaseSensitive(root, "big")->valuedouble));
    assert_true(cJSON_GetObjectItemCaseSensitive(root, "long")->valuedouble == 1e77);
    cJSON_Delete(root);
}

/* Memory that is out is never said to be bad input, wherever it goes out. */
static size_t allocations_left;

static void *scarce_malloc(size_t size)
{
    return allocations_left > 0 && allocations_left-- > 0 ? malloc(size) : NULL;
}

static void test_memory_out(void **state)
{
    (void)state;
    static const char json[] = "{\"a\":[1,true,null,\"text\"],\"b\":{\"c\":false}}";
    cJSON_Hooks hooks = {scarce_malloc, free};
    size_t n = 0;
    cJSON_InitHooks(&hooks);
    for (adept_status status = ADEPT_E_NOMEM; status != ADEPT_OK; n++) {
        cJSON *root = NULL;
        adept_error err = {0};
        allocations_left = n;
        status = adept_json_parse(&root, "t", json, sizeof json - 1, &err);
        if (status != ADEPT_OK) assert_int_equal(status, ADEPT_E_NOMEM);
        assert_true((status == ADEPT_OK) == (root != NULL));
        cJSON_Delete(root);
        assert_true(n < 100);
    }
    assert_true(n > 8);
    cJSON_InitHooks(NULL);
}

/* ---- the sticky reader ---- */

static const char text[] = "{\"n\":2.5,\"i\":9007199254740992,\"neg\":-1,\"half\":0.5,\"inf\":1e999,\"s\":\"x\","
                           "\"t\":true,\"f\":false,\"o\":{\"k\":1},\"a\":[1]}";

static void test_getters(void **state)
{
    (void)state;
    cJSON *root = NULL;
    adept_error err = {0};
    assert_int_equal(adept_json_parse(&root, "t", text, sizeof text - 1, &err), ADEPT_OK);
    adept_json_reader r = {.name = "t", .err = &err};
    assert_true(adept_json_number(&r, root, "n") == 2.5);
    assert_true(adept_json_number_or(&r, root, "absent", 7) == 7);
    assert_true(adept_json_count(&r, root, "i") == INT64_C(9007199254740992));
    assert_true(adept_json_bool(&r, root, "t"));
    assert_false(adept_json_bool(&r, root, "f"));
    assert_string_equal(adept_json_string(&r, root, "s"), "x");
    assert_string_equal(adept_json_string_or(&r, root, "absent", "d"), "d");
    assert_true(adept_json_number(&r, adept_json_object(&r, root, "o"), "k") == 1);
    assert_int_equal(cJSON_GetArraySize(adept_json_array(&r, root, "a")), 1);
    assert_int_equal(r.status, ADEPT_OK);
    cJSON_Delete(root);
}

/* Which getter, on which key, fails: each must name file and key. */
static void expect_failure(const char *key, void (*get)(adept_json_reader *, const cJSON *, const char *))
{
    cJSON *root = NULL;
    adept_error err = {0};
    assert_int_equal(adept_json_parse(&root, "t", text, sizeof text - 1, &err), ADEPT_OK);
    adept_json_reader r = {.name = "file.json", .err = &err};
    get(&r, root, key);
    assert_int_equal(r.status, ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "file.json: "));
    assert_non_null(strstr(err.message, key));
    char first[sizeof err.message];
    memcpy(first, err.message, sizeof first);
    assert_true(adept_json_number_or(&r, root, "n", 3) == 3); /* sticky: later calls give the fallback */
    assert_string_equal(err.message, first);
    cJSON_Delete(root);
}

static void get_number(adept_json_reader *r, const cJSON *o, const char *key)
{
    assert_true(adept_json_number(r, o, key) == 0);
}

static void get_count(adept_json_reader *r, const cJSON *o, const char *key)
{
    assert_true(adept_json_count(r, o, key) == 0);
}

static void get_bool(adept_json_reader *r, const cJSON *o, const char *key)
{
    assert_false(adept_json_bool(r, o, key));
}

static void get_string(adept_json_reader *r, const cJSON *o, const char *key)
{
    assert_string_equal(adept_json_string(r, o, key), "");
}

static void get_object(adept_json_reader *r, const cJSON *o, const char *key)
{
    assert_null(adept_json_object(r, o, key));
}

static void get_array(adept_json_reader *r, const cJSON *o, const char *key)
{
    assert_null(adept_json_array(r, o, key));
}

static void test_getter_failures(void **state)
{
    (void)state;
    expect_failure("absent", get_number);
    expect_failure("s", get_number);
    expect_failure("inf", get_number);
    expect_failure("neg", get_count);
    expect_failure("half", get_count);
    expect_failure("n", get_bool);
    expect_failure("n", get_string);
    expect_failure("a", get_object);
    expect_failure("o", get_array);
    expect_failure("absent", get_array);
}

static void test_place_and_memory(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_json_reader r = {.name = "t", .err = &err, .where = "node 3"};
    adept_json_fail(&r, "'%s' is odd", "x");
    assert_string_equal(err.message, "t: node 3: 'x' is odd");
    adept_json_no_memory(&r); /* the first failure stays */
    assert_int_equal(r.status, ADEPT_E_INVALID);
    r.status = ADEPT_OK;
    adept_json_no_memory(&r);
    assert_int_equal(r.status, ADEPT_E_NOMEM);
    assert_string_equal(err.message, "t: out of memory");
    adept_arena *arena = adept_arena_new();
    assert_string_equal(adept_json_keep(&r, arena, "kept"), ""); /* after a failure */
    r.status = ADEPT_OK;
    assert_string_equal(adept_json_keep(&r, arena, "kept"), "kept");
    adept_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_read),  cmocka_unit_test(test_write_follows_link),
        cmocka_unit_test(test_write_failures),  cmocka_unit_test(test_read_failures),
        cmocka_unit_test(test_parse_errors),    cmocka_unit_test(test_parse_line),
        cmocka_unit_test(test_parse_hostile),   cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses),         cmocka_unit_test(test_depth),
        cmocka_unit_test(test_number_of_values), cmocka_unit_test(test_repeated_names),
        cmocka_unit_test(test_values),          cmocka_unit_test(test_memory_out),
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_getter_failures), cmocka_unit_test(test_place_and_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

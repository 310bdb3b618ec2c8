/* Reading and writing files, parse errors with their place, and the sticky JSON reader. */
#include "adept_json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_read),  cmocka_unit_test(test_write_follows_link),
        cmocka_unit_test(test_write_failures),  cmocka_unit_test(test_read_failures),
        cmocka_unit_test(test_parse_errors),    cmocka_unit_test(test_parse_line),
        cmocka_unit_test(test_parse_hostile),   cmocka_unit_test(test_getters),
        cmocka_unit_test(test_getter_failures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* Archives that libtorch must never see. All are made here; libtorch takes no part. */
#include "adept_import.h"
#include "torchscript_file.h"
#include "zip_file.h"
#include "cmocka_test.h"
#include <unistd.h>

#define MODEL(name) ADEPT_SOURCE_DIR "/tests/golden/models/" name ".pt"

static char file[64];
static adept_error err;

static int set_up(void **state)
{
    (void)state;
    strcpy(file, "/tmp/adept_test_check_XXXXXX");
    int fd = mkstemp(file);
    if (fd < 0) return -1;
    return close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(file);
}

/* The smallest archive that passes, with one more entry (its data may be NULL: no content). */
static void write_with(const char *name, const void *data, size_t size)
{
    const test_entry entries[] = {TEST_TEXT("m/data.pkl", "\x80\x02N."),
                                  TEST_TEXT("m/constants.pkl", "\x80\x02)."),
                                  TEST_TEXT("m/version", "3\n"),
                                  TEST_TEXT("m/code/__torch__.py", "class M(Module):\n  pass\n"),
                                  {name, data, size}};
    test_zip_write(file, entries, name ? 5 : 4, true);
}

static void accepts(bool trust)
{
    if (test_torchscript_check(file, trust, &err) != ADEPT_OK) fail_msg("%s", err.message);
}

static void refuses(bool trust, const char *part)
{
    if (test_torchscript_check(file, trust, &err) != ADEPT_E_INVALID) fail_msg("accepted: %s", part);
    if (!strstr(err.message, part)) fail_msg("expected \"%s\" in \"%s\"", part, err.message);
    assert_non_null(strstr(err.message, file));
    assert_null(strchr(err.message, '\n'));
}

static void with_code(const char *code, size_t size)
{
    write_with("m/code/__torch__/more.py", code, size);
}

/* ---- what is accepted ---- */

static void test_good(void **state)
{
    (void)state;
    static const char *const models[] = {MODEL("tied"), MODEL("mixed"), MODEL("flow_train"), MODEL("foreign")};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        assert_int_equal(test_torchscript_check(models[i], false, &err), ADEPT_OK);
    write_with(NULL, NULL, 0);
    accepts(false);
    write_with("m/data/0", "1234", 4);
    accepts(false);
}

/* ---- the container ---- */

static void test_no_archive(void **state)
{
    (void)state;
    unlink(file);
    refuses(false, "cannot open");
    test_file_write(file, "", 0);
    refuses(false, "empty");
    test_file_write(file, "\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
    refuses(false, "torch.save");
    unsigned char noise[5000];
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    test_file_write(file, noise, sizeof noise);
    refuses(false, "");
    assert_int_equal(test_torchscript_check("/", false, &err), ADEPT_E_INVALID);
}

static void test_truncated(void **state)
{
    (void)state;
    size_t size;
    char *whole = test_file_read(MODEL("mixed"), &size);
    for (size_t n = 0; n < size; n += n < 64 || n + 64 > size ? 1 : 97) {
        test_file_write(file, whole, n);
        refuses(false, "");
    }
    test_file_write(file, whole, size);
    accepts(false);
    free(whole);
}

static void test_appended(void **state)
{
    (void)state;
    size_t size;
    char *whole = test_file_read(MODEL("tied"), &size);
    char *twice = malloc(2 * size);
    assert_non_null(twice);
    memcpy(twice, whole, size);
    memcpy(twice + size, whole, size);
    test_file_write(file, twice, size + 1); /* one byte more */
    refuses(false, "after the end");
    test_file_write(file, twice, 2 * size); /* readers choose differently between two directories */
    refuses(false, "");
    free(twice);
    free(whole);
}

/* Damage anywhere may be harmless (in weights), but never crashes the check. */
static void test_damaged(void **state)
{
    (void)state;
    size_t size;
    char *whole = test_file_read(MODEL("tied"), &size);
    int refused = 0;
    for (size_t at = 0; at < size; at += 5) {
        char kept = whole[at];
        whole[at] ^= 0x55;
        test_file_write(file, whole, size);
        refused += test_torchscript_check(file, false, &err) != ADEPT_OK;
        whole[at] = kept;
    }
    assert_true(refused > 50); /* the directory alone is hundreds of bytes long */
    free(whole);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const outside[] = {"x", "n/data/1", "/m/data/1"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        write_with(outside[i], "1", 1);
        refuses(false, "outside the archive's folder");
    }
    static const char *const leaving[] = {"m/../x", "m/data/..", "../m/x"};
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) {
        write_with(leaving[i], "1", 1);
        refuses(false, "leaves the archive");
    }
    write_with("m/data\\1", "1", 1);
    refuses(false, "plain name");
    write_with("m/data/\n", "1", 1);
    refuses(false, "plain name");
    write_with("m/data/..1", "1", 1);
    accepts(false);
    const test_entry bare = TEST_TEXT("data.pkl", "N.");
    test_zip_write(file, &bare, 1, false);
    refuses(false, "not in a folder");
}

/* libtorch's zip reader ignores case: another spelling may hide the entry that counts. */
static void test_duplicates(void **state)
{
    (void)state;
    write_with("m/DATA.pkl", "N.", 2);
    refuses(false, "twice");
    write_with("m/Code/__TORCH__.PY", "x", 1);
    refuses(false, "twice");
    write_with("m/CODE/__torch__/other.Py", "def __setstate__", 16);
    refuses(false, "__setstate__");
}

static void test_missing(void **state)
{
    (void)state;
    write_with(NULL, NULL, 0);
    char copy[80];
    snprintf(copy, sizeof copy, "%s.copy", file);
    rename(file, copy);
    test_zip_replace(file, copy, "m/constants.pkl", NULL, 0);
    refuses(false, "weights only");
    test_zip_replace(file, copy, "m/data.pkl", NULL, 0);
    refuses(false, "data.pkl");
    test_zip_replace(file, copy, "m/version", NULL, 0);
    refuses(false, "version");
    test_zip_replace(file, copy, "m/model.json", "{}", 2);
    refuses(false, "before 1.2");
    unlink(copy);
    const test_entry foreign[] = {TEST_TEXT("photos/a.jpg", "1"), TEST_TEXT("photos/b.jpg", "2")};
    test_zip_write(file, foreign, 2, true);
    refuses(false, "not a TorchScript archive");
}

static void test_sizes(void **state)
{
    (void)state;
    char *zeros = calloc(1, 80 << 20);
    assert_non_null(zeros);
    write_with("m/data/0", zeros, 80 << 20); /* 80 MB in 80 KB */
    refuses(false, "zip bomb");
    write_with("m/code/__torch__/big.py", zeros, 65 << 20); /* more code than is read */
    refuses(false, "too large");
    free(zeros);
    /* The claimed size of an entry: 4 bytes at offset 24 of its record in the directory (APPNOTE 4.3.12). */
    size_t size;
    write_with("m/data/0", "1234567890", 10);
    char *whole = test_file_read(file, &size);
    char *record = NULL;
    for (size_t i = 0; i + 46 < size; i++) {
        if (memcmp(whole + i, "PK\1\2", 4) == 0 && memcmp(whole + i + 46, "m/data/0", 8) == 0) record = whole + i;
    }
    assert_non_null(record);
    memset(record + 24, 0x7f, 4);
    test_file_write(file, whole, size);
    refuses(false, "");
    free(whole);
}

/* ---- the code ---- */

static void test_setstate(void **state)
{
    (void)state;
    static const char code[] = "class A(Module):\n  def __setstate__(self, state: int) -> NoneType:\n    return None\n";
    with_code(code, sizeof code - 1);
    refuses(false, "__setstate__");
    refuses(false, "--trust");
    accepts(true);
    assert_int_equal(test_torchscript_check(MODEL("state"), false, &err), ADEPT_E_INVALID);
    assert_int_equal(test_torchscript_check(MODEL("state"), true, &err), ADEPT_OK);
}

/* "((( ... )))" of any depth. */
static void with_nesting(const char *before, char open, size_t n, const char *after)
{
    size_t a = strlen(before), b = strlen(after);
    char *code = malloc(a + n + b);
    assert_non_null(code);
    memcpy(code, before, a);
    memset(code + a, open, n);
    memcpy(code + a + n, after, b);
    with_code(code, a + n + b);
    free(code);
}

static void test_nesting(void **state)
{
    (void)state;
    with_nesting("x = ", '(', 1000, "\n");
    accepts(false);
    static const char brackets[] = "([{";
    for (size_t i = 0; i < 3; i++) {
        with_nesting("x = ", brackets[i], 1001, "\n");
        refuses(false, "nested too deeply");
        refuses(true, "nested too deeply");
    }
    with_nesting("x = \"a\\\"", '(', 2000, "\"\n"); /* text, not code */
    accepts(false);
    with_nesting("# ", '(', 2000, "\n");
    accepts(false);
    with_nesting("x = '''\n'", '[', 2000, "'''\n");
    accepts(false);
    with_nesting("x = 'a'\n# it's\ny = ", '(', 1001, "\n"); /* the quote in the comment opens nothing */
    refuses(false, "nested too deeply");
    with_nesting("x = '", '(', 1001, "\ny = '");
    accepts(false);
    with_nesting("def f():\n", ' ', 2001, "x = 1\n");
    refuses(false, "nested too deeply");
    char balanced[8000]; /* many brackets, none within another */
    for (size_t i = 0; i < sizeof balanced; i++)
        balanced[i] = i % 2 ? ')' : '(';
    with_code(balanced, sizeof balanced);
    accepts(false);
}

/* ---- the pickles ---- */

static void with_pickle(const char *name, const void *data, size_t size)
{
    char copy[80];
    write_with(NULL, NULL, 0);
    snprintf(copy, sizeof copy, "%s.copy", file);
    rename(file, copy);
    test_zip_replace(file, copy, name, data, size);
    unlink(copy);
}

static void test_pickles(void **state)
{
    (void)state;
    static const char *const names[] = {"m/data.pkl", "m/constants.pkl"};
    char nested[2002];
    nested[0] = 'N';
    memset(nested + 1, 0x85, sizeof nested - 2);
    nested[sizeof nested - 1] = '.';
    for (size_t i = 0; i < 2; i++) {
        with_pickle(names[i], "R.", 2);
        refuses(false, "empty stack");
        refuses(true, "empty stack");
        with_pickle(names[i], "", 0);
        refuses(false, names[i]);
        with_pickle(names[i], nested, sizeof nested);
        refuses(false, "too deeply");
        with_pickle(names[i],
                    "]q\x01h\x01"
                    "a.",
                    7);
        refuses(false, "contains itself");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_archive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_appended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_duplicates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_setstate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nesting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pickles, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("torchscript check", tests, NULL, NULL);
}

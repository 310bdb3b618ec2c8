/* SHA-256 against the examples of FIPS 180-4 (csrc.nist.gov, "SHA256.pdf") and the usual million letters a. */
#include "sha256.h"
#include "cmocka_test.h"
#include <unistd.h>

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define TWO_BLOCK "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void check(const char *text, size_t size, const char *expected)
{
    char hex[65];
    adept_sha256 s;
    adept_sha256_init(&s);
    adept_sha256_update(&s, text, size);
    assert_int_equal(adept_sha256_hex(&s, hex, NULL), ADEPT_OK);
    assert_string_equal(hex, expected);
    for (size_t step = 1; step < 70; step += 6) { /* the same in pieces */
        adept_sha256_init(&s);
        for (size_t at = 0; at < size; at += step) {
            adept_sha256_update(&s, text + at, size - at < step ? size - at : step);
        }
        assert_int_equal(adept_sha256_hex(&s, hex, NULL), ADEPT_OK);
        assert_string_equal(hex, expected);
    }
}

static void test_nist(void **state)
{
    (void)state;
    check("abc", 3, ABC);
    check("", 0, EMPTY);
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check(two, strlen(two), TWO_BLOCK);
}

static void test_million(void **state)
{
    (void)state;
    char *text = malloc(1000000);
    assert_non_null(text);
    memset(text, 'a', 1000000);
    check(text, 1000000, MILLION_A);
    free(text);
}

static void test_file(void **state)
{
    (void)state;
    char path[] = "/tmp/adept-sha-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    close(fd);
    char hex[65];
    adept_error err = {0};
    assert_int_equal(adept_file_sha256(hex, path, &err), ADEPT_OK);
    assert_string_equal(hex, ABC);
    unlink(path);
    assert_int_equal(adept_file_sha256(hex, path, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(adept_file_sha256(hex, "/tmp", &err), ADEPT_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nist),
        cmocka_unit_test(test_million),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

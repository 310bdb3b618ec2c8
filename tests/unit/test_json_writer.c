/* JSON written in order: the layouts, escapes, and memory that is out. */
#include "adept_json.h"
#include "adept_json_writer.h"
#include "cmocka_test.h"

static void write_everything(adept_json_writer *w)
{
    static const char *const words[] = {"a", NULL, "\xc3\xa9"};
    adept_json_begin_object(w, NULL);
    adept_json_put_number(w, "number", 0.1);
    adept_json_put_number(w, "unknown", NAN);
    adept_json_put_integer(w, "integer", INT64_MIN);
    adept_json_put_unsigned(w, "unsigned", UINT64_MAX);
    adept_json_put_bool(w, "yes", true);
    adept_json_put_bool(w, "no", false);
    adept_json_put_string(w, "text", "t");
    adept_json_put_known(w, "known", "k");
    adept_json_put_known(w, "empty", "");
    adept_json_put_strings(w, "words", words, 3);
    adept_json_put_pair(w, "pair", 1, 2);
    adept_json_put_pair(w, "no pair", 1, INFINITY);
    adept_json_begin_array(w, "empty array");
    adept_json_end_array(w);
    adept_json_begin_object(w, "empty object");
    adept_json_end_object(w);
    adept_json_begin_array(w, "objects");
    for (int i = 0; i < 2; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_integer(w, "i", i);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_put_text(w, "raw", "{\"x\":[]}");
    adept_json_put_null(w, "null");
    adept_json_end_object(w);
}

static void compact(void **state)
{
    (void)state;
    adept_json_writer w = {0};
    write_everything(&w);
    char *text = adept_json_finish(&w);
    assert_string_equal(text, "{\"number\":0.1,\"unknown\":null,\"integer\":-9223372036854775808,"
                              "\"unsigned\":18446744073709551615,\"yes\":true,\"no\":false,\"text\":\"t\","
                              "\"known\":\"k\",\"empty\":null,\"words\":[\"a\",null,\"\xc3\xa9\"],\"pair\":[1,2],"
                              "\"no pair\":null,\"empty array\":[],\"empty object\":{},"
                              "\"objects\":[{\"i\":0},{\"i\":1}],\"raw\":{\"x\":[]},\"null\":null}");
    free(text);
    assert_true(!w.out.data && w.depth == 0 && !w.is_filled); /* as it began */
}

/* What cJSON prints of the same values, byte by byte. */
static void pretty(void **state)
{
    (void)state;
    cJSON *root = NULL;
    adept_json_writer w = {0}, again = {.pretty = true};
    write_everything(&w);
    char *text = adept_json_finish(&w);
    adept_json_put_number(&w, NULL, 0.1); /* a value alone is a document, too */
    char *alone = adept_json_finish(&w);
    assert_string_equal(alone, "0.1");
    assert_int_equal(adept_json_parse(&root, "t", text, strlen(text), NULL), ADEPT_OK);
    cJSON_DeleteItemFromObjectCaseSensitive(root, "integer"); /* no double: cJSON prints other digits */
    cJSON_DeleteItemFromObjectCaseSensitive(root, "unsigned");
    adept_json_put_tree(&again, NULL, root);
    char *printed = adept_json_finish(&again), *expected = cJSON_Print(root);
    assert_string_equal(printed, expected);
    assert_true(again.pretty);
    free(alone);
    free(text);
    free(printed);
    cJSON_free(expected);
    cJSON_Delete(root);
}

static void expect_text(const char *value, const char *expected)
{
    adept_json_writer w = {0};
    adept_json_put_string(&w, NULL, value);
    char *text = adept_json_finish(&w);
    assert_string_equal(text, expected);
    free(text);
}

static void escapes(void **state)
{
    (void)state;
    expect_text("a\"\\/\b\f\n\r\t\x01\x1f\x7f", "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
    expect_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    expect_text("\xc2\x9b\xe2\x80\xae\xc2\xa0", "\"\\u009b\\u202e\xc2\xa0\""); /* control, direction; a blank */
    expect_text("\xc3 \xed\xa0\x80\xf0\x9f", "\"\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\""); /* no UTF-8 */
    expect_text("", "\"\"");
    expect_text(NULL, "null");
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_null(&w, "a\n\"");
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    assert_string_equal(text, "{\"a\\n\\\"\":null}");
    free(text);
}

/* A document goes on where another function has ended it. */
static void continued(void **state)
{
    (void)state;
    adept_json_writer w = {.pretty = true};
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "a", 1);
    adept_json_end_object(&w);
    adept_buffer_text(&w.out, "\n");
    adept_json_continue(&w, adept_json_finish(&w));
    adept_json_put_integer(&w, "b", 2);
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    assert_string_equal(text, "{\n\t\"a\":\t1,\n\t\"b\":\t2\n}");
    free(text);
    adept_json_continue(&w, strdup("{\n}"));
    adept_json_put_integer(&w, "b", 2);
    adept_json_end_object(&w);
    text = adept_json_finish(&w);
    assert_string_equal(text, "{\n\t\"b\":\t2\n}");
    free(text);
    adept_json_continue(&w, NULL); /* memory was out */
    adept_json_put_integer(&w, "b", 2);
    adept_json_end_object(&w);
    assert_null(adept_json_finish(&w));
}

/* Rows go out as they are written, each on a line of its own. */
static void row_by_row(void **state)
{
    (void)state;
    adept_json_writer w = {0};
    adept_buffer all = {0};
    adept_json_begin_array(&w, NULL);
    for (int i = 0; i < 3; i++) {
        w.blank = "\n  ";
        adept_json_put_integer(&w, NULL, i);
        adept_buffer_add(&all, w.out.data, w.out.size);
        w.out.size = 0;
    }
    adept_json_end_array(&w);
    char *end = adept_json_finish(&w), *text = adept_buffer_take(&all);
    assert_string_equal(end, "]");
    assert_string_equal(text, "[\n  0,\n  1,\n  2");
    free(end);
    free(text);
}

static void memory_out(void **state)
{
    (void)state;
    adept_json_writer w = {0};
    adept_json_begin_array(&w, NULL);
    w.out.failed = true; /* anywhere */
    adept_json_put_string(&w, NULL, "x");
    adept_json_put_number(&w, NULL, 1);
    adept_json_end_array(&w);
    assert_null(adept_json_finish(&w));
    adept_json_begin_array(&w, NULL); /* and it can be used anew */
    adept_json_end_array(&w);
    char *text = adept_json_finish(&w);
    assert_string_equal(text, "[]");
    free(text);
}

/* Several members by a format: each as its own function writes it. */
static void by_format(void **state)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "a_s %g none %g word %s no_word %s n %jd yes %d no %d", 0.1, NAN, "x\"",
                           (const char *)*state, (intmax_t)INT64_MIN, true, false);
    adept_json_put_object(&w, "o", "b %jd", (intmax_t)7);
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    assert_string_equal(text, "{\"a_s\":0.1,\"none\":null,\"word\":\"x\\\"\",\"no_word\":null,"
                              "\"n\":-9223372036854775808,\"yes\":true,\"no\":false,\"o\":{\"b\":7}}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_format),  cmocka_unit_test(compact),   cmocka_unit_test(pretty),
        cmocka_unit_test(escapes),    cmocka_unit_test(continued), cmocka_unit_test(row_by_row),
        cmocka_unit_test(memory_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

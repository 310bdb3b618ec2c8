/* Texts of files in SVG, HTML and gnuplot's language: nothing of them is markup or a command. */
#include "gnuplot.h"
#include "markup.h"
#include "page.h"
#include "cmocka_test.h"

static char *markup(const char *text, size_t length, size_t max_chars)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    adept_markup_put(file, text, length, max_chars);
    fclose(file);
    return out;
}

static void gives(const char *text, size_t max_chars, const char *expected)
{
    char *out = markup(text, strlen(text), max_chars);
    assert_string_equal(out, expected);
    free(out);
}

#define BAD "\xEF\xBF\xBD"

static void markup_is_escaped(void **state)
{
    (void)state;
    gives("</title><script>alert('1') & \"2\"</script>", 99,
          "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;) &amp; &quot;2&quot;&lt;/script&gt;");
    gives("&lt;", 99, "&amp;lt;");
    gives("layers.{0-21}.\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80", 99,
          "layers.{0-21}.\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80");
}

static void what_is_no_text_is_replaced(void **state)
{
    (void)state;
    gives("a\nb\tc\x01\x7F", 99, "a" BAD "b" BAD "c" BAD BAD);
    gives("\xC2\x85|\xE2\x80\xAE|\xEF\xBB\xBF|\xEF\xBF\xBE", 99,
          BAD "|" BAD "|" BAD "|" BAD); /* NEL, right to left, BOM, no character */
    gives("\xFF|\x80|\xC3|\xE4\xB8|\xC0\xAF|\xED\xA0\x80|\xF4\x90\x80\x80|\xF0\x80\x80\xAF", 999,
          BAD "|" BAD "|" BAD "|" BAD BAD "|" BAD BAD "|" BAD BAD BAD "|" BAD BAD BAD BAD "|" BAD BAD BAD BAD);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    gives("abcdef", 6, "abcdef");
    gives("abcdefg", 6, "abcde\xE2\x80\xA6");
    gives("\xC3\xA9\xC3\xA9\xC3\xA9", 2, "\xC3\xA9\xE2\x80\xA6");
    gives("<<<", 2, "&lt;\xE2\x80\xA6"); /* characters are counted, not what they become */
    gives("abc", 0, "");
    char *part = markup("abc\0def", 7, 99); /* ends at a zero */
    assert_string_equal(part, "abc");
    free(part);
    part = markup("abcdef", 2, 99);
    assert_string_equal(part, "ab");
    free(part);
}

static void texts_are_no_commands(void **state)
{
    (void)state;
    char *out = NULL, longer[300];
    size_t size;
    FILE *file = open_memstream(&out, &size);
    adept_gnuplot_text(file, "a\"; system('x') `y` \\n $z @w\nEOD\nexit <b>&");
    fclose(file);
    assert_string_equal(out, "\"a   system( x )  y   n  z  w EOD exit  b  \"");
    free(out);
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    file = open_memstream(&out, &size);
    adept_gnuplot_text(file, longer);
    fclose(file);
    assert_int_equal(size, 82);
    free(out);
}

static void gnuplot_that_fails(void **state)
{
    (void)state;
    size_t size = 7;
    char path[4096];
    adept_error err;
    const char *before = getenv("PATH");
    if (adept_gnuplot_check("this", NULL) == ADEPT_OK) {
        assert_null(adept_gnuplot_draw("this is no program\n", "x.svg", &size));
        char *svg = adept_gnuplot_draw("set terminal svg\nplot x\n", "x.svg", &size);
        assert_non_null(svg);
        assert_non_null(memmem(svg, size, "</svg>", 6));
        free(svg);
    }
    snprintf(path, sizeof path, "%s", before ? before : "");
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(adept_gnuplot_check("this", &err), ADEPT_E_INTERNAL);
    assert_string_equal(err.message, "this needs gnuplot, which cannot be started (Debian: gnuplot-nox)");
    assert_null(adept_gnuplot_draw("plot x\n", "x.svg", &size));
    setenv("PATH", path, 1);
}

/* Whatever a result says, its page has one script of ours and text. */
static void pages_escape_everything(void **state)
{
    (void)state;
    static const char json[] =
        "{\"schema_version\":1,\"model\":{\"path\":\"</"
        "script><b>\\\"x\"},\"rows\":[{\"a<i>\":\"<script>\",\"step_time_s\":0.0123}],"
        "\"warnings\":[\"<img src=x>&\"],\"power_avg_w\":320.4,\"interval_s\":[0.5,1500],\"fits\":true}";
    cJSON *tree = cJSON_Parse(json);
    char *html = NULL;
    size_t size = 0, scripts = 0;
    assert_int_equal(adept_page_make(&html, &size, "<script>1</script>", tree, "x.json", NULL), ADEPT_OK);
    assert_int_equal(size, strlen(html));
    for (const char *at = html; (at = strstr(at, "<script")); at++)
        scripts++;
    assert_int_equal(scripts, 2); /* the JSON, and the page's own */
    assert_null(strstr(html, "<b>"));
    assert_null(strstr(html, "<img"));
    assert_null(strstr(html, "<i>"));
    assert_non_null(strstr(html, "<title>&lt;script&gt;1&lt;/script&gt;</title>"));
    assert_non_null(strstr(html, "\\u003c/script\\u003e\\u003cb\\u003e"));
    assert_non_null(strstr(html, "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"));
    assert_non_null(strstr(html, "<dt>Power avg</dt><dd>320 W</dd>")); /* names carry units, and people see both */
    assert_non_null(strstr(html, "<dt>Interval</dt><dd>500 ms to 25 min 00 s</dd>"));
    assert_non_null(strstr(html, "<td class=\"n\">12.3 ms</td>"));
    free(html);
    cJSON *list = cJSON_AddArrayToObject(tree, "points");
    for (int i = 0; i < 120000; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString("twenty characters..."));
    adept_error err;
    assert_int_equal(adept_page_make(&html, &size, "t", tree, "x.json", &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "x.json: its page would have"));
    cJSON_Delete(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),       cmocka_unit_test(what_is_no_text_is_replaced),
        cmocka_unit_test(long_texts_are_cut),     
        cmocka_unit_test(texts_are_no_commands),   cmocka_unit_test(gnuplot_that_fails),
        cmocka_unit_test(pages_escape_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

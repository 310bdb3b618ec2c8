/* Texts of files in SVG, HTML and gnuplot's language: nothing of them is markup or a command. */
#include "gnuplot.h"
#include "markup.h"
#include "page.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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
    assert_int_equal(adept_markup_length("a\xC3\xA9\xFF", 4), 3);
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

static void pages_escape_everything(void **state)
{
    (void)state;
    static const char columns[] = "<i>|>n";
    const char *const cells[] = {"<b>\"x\"</b>", "&"};
    adept_page page;
    assert_true(adept_page_begin(&page, "<script>1</script>", "'lead'"));
    adept_page_table_begin(&page, "c<", columns);
    adept_page_table_row(&page, cells);
    adept_page_table_end(&page);
    adept_page_tile(&page, "a<", "b<", "c<");
    adept_page_figure_image(&page, "<svg/>", 6, "an \"alt\"<", "cap<");
    char *out = adept_page_end(&page, "f<");
    assert_non_null(out);
    assert_null(strstr(out, "<script"));
    assert_null(strstr(out, "<i>"));
    assert_null(strstr(out, "<b>"));
    assert_non_null(strstr(out, "<title>&lt;script&gt;1&lt;/script&gt;</title>"));
    assert_non_null(strstr(out, "<th scope=\"row\">&lt;b&gt;&quot;x&quot;&lt;/b&gt;</th><td class=\"n\">&amp;</td>"));
    assert_non_null(strstr(out, "<img alt=\"an &quot;alt&quot;&lt;\" src=\"data:image/svg+xml;base64,PHN2Zy8+\"/>"));
    assert_non_null(strstr(out, "Content-Security-Policy\" content=\"default-src 'none';"));
    free(out);
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

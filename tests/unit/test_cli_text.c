/* Numbers as people read them, "did you mean", tables: the parts of the reports that no other test sees closely. */
#include "nearest.h"
#include "adept_csv_writer.h"
#include "columns.h"
#include "table.h"
#include "units.h"
#include "cmocka_test.h"

static void three_digits_and_a_prefix(void **state)
{
    (void)state;
    assert_string_equal(adept_units_si(0.0123, "s").s, "12.3 ms");
    assert_string_equal(adept_units_si(1.234e12, "FLOP").s, "1.23 TFLOP");
    assert_string_equal(adept_units_si(312, "W").s, "312 W");
    assert_string_equal(adept_units_si(999.4, "W").s, "999 W");
    assert_string_equal(adept_units_si(999.6, "W").s, "1.00 kW"); /* not 1000 W */
    assert_string_equal(adept_units_si(9.996e-6, "s").s, "10.0 us");
    assert_string_equal(adept_units_si(-2.5e3, "J").s, "-2.50 kJ");
    assert_string_equal(adept_units_si(0, "W").s, "0 W");
    assert_string_equal(adept_units_si(NAN, "W").s, "unknown");
    assert_string_equal(adept_units_si(INFINITY, "W").s, "unknown");
    assert_string_equal(adept_units_si(25557032, "").s, "25.6 M");
    assert_string_equal(adept_units_si(161, "").s, "161");
    assert_string_equal(adept_units_si(0, "").s, "0");
}

static void capacities_use_powers_of_1024(void **state)
{
    (void)state;
    assert_string_equal(adept_units_bytes(42949672960.0).s, "40.0 GiB"); /* 40 * 2^30 */
    assert_string_equal(adept_units_bytes(1000).s, "1000 B");
    assert_string_equal(adept_units_bytes(1024).s, "1.00 KiB");
    assert_string_equal(adept_units_bytes(1048064).s, "1.00 MiB"); /* 1023.5 KiB would print as 1024 */
    assert_string_equal(adept_units_bytes(0).s, "0 B");
    assert_string_equal(adept_units_bytes(NAN).s, "unknown");
}

static void long_times_are_said_as_people_do(void **state)
{
    (void)state;
    assert_string_equal(adept_units_time(0.000453).s, "453 us");
    assert_string_equal(adept_units_time(59.94).s, "59.9 s");
    assert_string_equal(adept_units_time(59.96).s, "1 min 00 s");
    assert_string_equal(adept_units_time(200).s, "3 min 20 s");
    assert_string_equal(adept_units_time(3599.9).s, "1 h 00 min");
    assert_string_equal(adept_units_time(7500).s, "2 h 05 min");
    assert_string_equal(adept_units_time(48 * 3600).s, "2.00 days");
    assert_string_equal(adept_units_time(86400 * 365.0).s, "365 days");
    assert_string_equal(adept_units_time(NAN).s, "unknown");
    assert_string_equal(adept_units_kwh(0.0214).s, "21.4 Wh");
    assert_string_equal(adept_units_kwh(3.2).s, "3.20 kWh");
    assert_string_equal(adept_units_kwh(1234).s, "1.23 MWh");
}

static void plain_digits(void **state)
{
    (void)state;
    assert_string_equal(adept_units_digits(1234.4).s, "1234");
    assert_string_equal(adept_units_digits(0.012345).s, "0.0123");
    assert_string_equal(adept_units_digits(12.345).s, "12.3");
    assert_string_equal(adept_units_digits(1e-7).s, "1.00e-07");
    assert_string_equal(adept_units_digits(NAN).s, "-");
    assert_string_equal(adept_units_percent(0.8923).s, "89.2 %");
    assert_string_equal(adept_units_percent(NAN).s, "unknown");
    assert_string_equal(adept_units_change(0.1234).s, "+12.3 %");
    assert_string_equal(adept_units_change(-0.0006).s, "-0.1 %");
    assert_string_equal(adept_units_change(-0.0004).s, "0 %");
    assert_string_equal(adept_units_change(NAN).s, "unknown");
    assert_string_equal(adept_units_bar(0.5, 10).s, "#####");
    assert_string_equal(adept_units_bar(0.001, 10).s, "#"); /* seen, however small */
    assert_string_equal(adept_units_bar(0, 10).s, "");
    assert_string_equal(adept_units_bar(2, 10).s, "##########");
    assert_string_equal(adept_units_bar(NAN, 10).s, "");
}

static const char *fruit(size_t index)
{
    static const char *const names[] = {"apple", "pear", "peach", NULL};
    return names[index];
}

static void edits_between_words(void **state)
{
    (void)state;
    assert_int_equal(adept_edit_distance("", "abc"), 3);
    assert_int_equal(adept_edit_distance("abc", ""), 3);
    assert_int_equal(adept_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(adept_edit_distance("predcit", "predict"), 1); /* neighbours swapped */
    assert_int_equal(adept_edit_distance("GPU", "gpu"), 0);
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(adept_edit_distance(longer, "a"), 199); /* beyond any name: no search in it */
    assert_string_equal(adept_nearest("aple", fruit), "apple");
    assert_string_equal(adept_nearest("paech", fruit), "peach");
    assert_null(adept_nearest("banana", fruit));
    assert_null(adept_nearest("", fruit));
    char list[12];
    assert_string_equal(adept_names_list(list, sizeof list, fruit), "apple, pear");
}

static char *print_table(const char *columns, size_t n_columns, const char *const *cells, size_t n_rows)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    adept_cli cli = {0};
    adept_table table = {.columns = columns, .indent = 2};

    for (size_t i = 0; i < n_rows; i++)
        adept_table_row(&table, cells + i * n_columns);
    assert_int_equal(adept_table_end(&cli, &table, out), ADEPT_OK);
    fclose(out);
    return text;
}

static void columns_are_aligned(void **state)
{
    (void)state;
    static const char columns[] = "name|>empty|>n|why";
    const char *cells[] = {"a", "", "1", "", "bcdef", "", "1234", "x"};
    char *text = print_table(columns, 4, cells, 2);

    assert_string_equal(text, "  name      n  why\n"
                              "  a         1\n"
                              "  bcdef  1234  x\n");
    free(text);
}

static void text_of_a_file_cannot_steer_the_terminal(void **state)
{
    (void)state;
    static const char columns[] = "path|>n";
    /* escape, newline, delete, and U+009B (one-character CSI); U+00E9 is a letter and one column wide */
    const char *cells[] = {"a\033[31m\n\x7f\xc2\x9b", "1", "\xc3\xa9", "2"};
    char *text = print_table(columns, 2, cells, 2);

    assert_string_equal(text, "  path       n\n"
                              "  a?[31m???  1\n"
                              "  \xc3\xa9          2\n");
    free(text);
}

/* What somebody wrote, a process's name for instance, ends up in a terminal or a spreadsheet. */
static void text_of_others_is_harmless_in_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"plain \xc3\xa9", "plain \xc3\xa9"},
        {"a,b\"c", "\"a,b\"\"c\""},
        {"=cmd|calc", "'=cmd|calc"},
        {"@SUM(1,2)", "\"'@SUM(1,2)\""},
        {"+1+1", "'+1+1"},
        {"-x", "'-x"},
        {"-1.5e3", "-1.5e3"},
        {"+7", "+7"},
        {"-", "-"},
        {"a=b", "a=b"},
        {"\t=1", "?=1"},
        {"\033[2J\xc2\x9b\x9b\r\n\x7f", "?[2J?????"},
        {"\xe2\x80\xae" "evil\xe2\x80\xa8\xff", "?evil??"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_buffer row = {0};
        adept_csv_put_text(&row, cases[i].text);
        char *cell = adept_buffer_take(&row);
        assert_string_equal(cell, cases[i].cell);
        free(cell);
    }
}

static void say_planet(adept_row_writer *w, const char *name, const char *moon, double year_s)
{
    adept_row_begin(w);
    adept_column_text(w, "name", "Planet", name);
    adept_column_text(w, "moon", NULL, moon);
    adept_column_known(w, "year_s", ">Year", adept_units_time, year_s);
    adept_column_number(w, NULL, ">Power", adept_units_watt, year_s);
    adept_row_end(w);
}

static char *planets(adept_row_writer w)
{
    char *text;
    size_t size;
    adept_cli cli = {0};
    FILE *out = open_memstream(&text, &size);

    say_planet(&w, "Venus, 2nd", NULL, NAN);
    say_planet(&w, "Earth", "Moon", 20);
    assert_int_equal(adept_rows_end(&cli, &w, out), ADEPT_OK);
    fclose(out);
    return text;
}

static void one_row_is_said_once_for_every_format(void **state)
{
    (void)state;
    adept_json_writer json = {0};
    char *people = planets((adept_row_writer){0}), *csv = planets((adept_row_writer){.is_csv = true});

    assert_string_equal(people, "Planet        Year    Power\n"
                                "Venus, 2nd          unknown\n"
                                "Earth       20.0 s   20.0 W\n");
    assert_string_equal(csv, "name,moon,year_s\n\"Venus, 2nd\",,\nEarth,Moon,20\n");
    adept_json_begin_array(&json, NULL);
    char *nothing = planets((adept_row_writer){.json = &json});
    adept_json_end_array(&json);
    char *objects = adept_json_finish(&json);
    assert_string_equal(nothing, "");
    assert_string_equal(objects, "[{\"name\":\"Venus, 2nd\",\"moon\":null,\"year_s\":null},"
                                 "{\"name\":\"Earth\",\"moon\":\"Moon\",\"year_s\":20}]");
    free(people);
    free(csv);
    free(nothing);
    free(objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_digits_and_a_prefix),
        cmocka_unit_test(capacities_use_powers_of_1024),
        cmocka_unit_test(long_times_are_said_as_people_do),
        cmocka_unit_test(plain_digits),
        cmocka_unit_test(edits_between_words),
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(text_of_a_file_cannot_steer_the_terminal),
        cmocka_unit_test(text_of_others_is_harmless_in_csv),
        cmocka_unit_test(one_row_is_said_once_for_every_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

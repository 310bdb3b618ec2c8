/* Command lines: as many options as a command has are taken, and its help lists them. */
#include "cli.h"
#include "cmocka_test.h"

#define MANY 300

typedef struct record {
    bool given[MANY];
} record;

static char names[MANY][16];
static adept_option_row rows[MANY + 1];
static size_t n_given;

static adept_status count_given(adept_cli *cli, void *options)
{
    (void)cli;
    n_given = 0;
    for (size_t i = 0; i < MANY; i++)
        n_given += ((record *)options)->given[i];
    return ADEPT_OK;
}

static int make_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "option-%03zu", i);
        rows[i] = (adept_option_row){names[i], NULL, 1, "One of many", ADEPT_OPT_FLAG, .at = i * sizeof(bool)};
    }
    return 0;
}

static adept_status run(adept_cli *cli, char *word)
{
    static const adept_command command = {.name = "many",
                                          .usage = "",
                                          .doc = "Has many options",
                                          .size = sizeof(record),
                                          .options = {.rows = rows},
                                          .run = count_given};
    char name[] = "many", first[] = "--option-000";
    char *argv[] = {name, first, word, NULL};
    return adept_command_run(&command, cli, 3, argv);
}

static void the_last_of_many_options(void **state)
{
    (void)state;
    adept_cli cli = {0};
    char last[] = "--option-299", none[] = "--option-300";
    assert_int_equal(run(&cli, last), ADEPT_OK);
    assert_int_equal(n_given, 2);
    assert_int_equal(run(&cli, none), ADEPT_E_USAGE);
}

/* What a command prints of itself. */
static void help_lists_the_last(void **state)
{
    (void)state;
    adept_cli cli = {0};
    char help[] = "--help", text[65536];
    FILE *before = stdout, *out = tmpfile();
    assert_non_null(out);
    stdout = out;
    adept_status status = run(&cli, help);
    stdout = before;
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    assert_int_equal(status, ADEPT_OK);
    assert_non_null(strstr(text, "--option-299 "));
    assert_non_null(strstr(text, "--version"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_of_many_options),
        cmocka_unit_test(help_lists_the_last),
    };
    return cmocka_run_group_tests(tests, make_rows, NULL);
}

/* The program gnuplot is fed: what is drawn, and that nothing of the measurements can be a command. */
#include "adept_fit_report.h"
#include "plot.h"
#include "cmocka_test.h"

static adept_dataset_row measured[3];
static adept_scored scored[3];
static adept_arena *arena; /* of the evaluation that a test looks at */

/* Two models: times 1, 2 and 4 s predicted as 1.1, 1.6 and 4 s; power of the first row only. */
static adept_evaluation *evaluation(const char *first_model)
{
    static const double times_s[] = {1, 2, 4}, predicted_s[] = {1.1, 1.6, 4};
    adept_evaluation *e = NULL;
    for (int i = 0; i < 3; i++) {
        measured[i] = (adept_dataset_row){.model_name = i < 2 ? first_model : "b",
                                          .step_time_s = times_s[i],
                                          .power_avg_w = i == 0 ? 200 : NAN,
                                          .weight = 1};
        scored[i] = (adept_scored){&measured[i], predicted_s[i], 250, NAN, NAN, NAN, NAN, .fold = 0};
    }
    arena = adept_arena_new();
    assert_int_equal(adept_evaluation_of(&e, arena, scored, 3, NULL, 0, NULL), ADEPT_OK);
    return e;
}

static void has(const char *script, const char *text)
{
    if (!strstr(script, text)) fail_msg("'%s' is not in\n%s", text, script);
}

static void times_and_powers(void **state)
{
    (void)state;
    adept_evaluation *e = evaluation("a");
    char *script = adept_plot_script(e, NULL, "mine");
    has(script, "$time_rows << EOD\n1000 1100\n2000 1600\n4000 4000\nEOD\n"); /* ms */
    has(script, "$power_rows << EOD\n200 250\nEOD\n");
    has(script, "$time_held_out << EOD\nEOD\n");
    /* a: mean of 10 and 20 %, power 25 %; b: exact, no power */
    has(script, "$models << EOD\n\"a\" 15 NaN 25 NaN\n\"b\" 0 NaN NaN NaN\nEOD\n");
    has(script, "layout 1,3 title \"mine\"");
    assert_null(strstr(script, "title 'held out'"));
    free(script);
    adept_arena_free(arena);
}

static void held_out_rows_are_drawn_beside(void **state)
{
    (void)state;
    adept_evaluation *e = evaluation("a");
    char *script = adept_plot_script(e, e, "mine");
    has(script, "$time_held_out << EOD\n1000 1100\n2000 1600\n4000 4000\nEOD\n");
    has(script, "\"a\" 15 15 25 25\n");
    has(script, "title 'held out'");
    free(script);
    adept_arena_free(arena);
}

static void only_times(void **state)
{
    (void)state;
    adept_evaluation *e = evaluation("a");
    e->rows[0].power_w = NAN; /* a GPU whose power is not known */
    char *script = adept_plot_script(e, NULL, "mine");
    has(script, "layout 1,2 ");
    assert_null(strstr(script, "set title 'Power'"));
    free(script);
    adept_arena_free(arena);
}

static void names_are_no_commands(void **state)
{
    (void)state;
    adept_evaluation *e = evaluation("a\"; system('x') `y` \\n $z @w\nEOD\nexit");
    char *script = adept_plot_script(e, NULL, "t\"'`\\\n!");
    static const char *const never[] = {"system('", "`", "\\", "$z", "@w", "\nexit"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(script, never[i])) fail_msg("'%s' is in\n%s", never[i], script);
    has(script, "\"a   system( x )  y   n  z  w EOD exit\"");
    free(script);
    adept_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_powers),
        cmocka_unit_test(held_out_rows_are_drawn_beside),
        cmocka_unit_test(only_times),
        cmocka_unit_test(names_are_no_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

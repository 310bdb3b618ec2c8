/* Interrupted fits: the same bits as uninterrupted ones for any number of threads, killed or stopped; checkpoints of
 * something else or with damage are refused. */
#include "adept_calibrate.h"
#include "checkpoint.h"
#include "adept_json.h"
#include "adept_file.h"
#include "synthetic_rows.h"
#include "cmocka_test.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N THESIS_N_POINTS

static char folder[64], path[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/adept-checkpoint-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/checkpoint.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static synthetic *made(void)
{
    synthetic *s = synthetic_new("a100-sxm-40gb", 0.02, 5);
    assert_non_null(s);
    return s;
}

static adept_fit_options small_options(void)
{
    adept_fit_options o = adept_fit_options_default();
    o.population_per_parameter = 4;
    o.max_generations = 500;
    o.n_scalars = SYNTHETIC_N_SCALARS;
    o.scalars = synthetic_scalars;
    o.threads = 1;
    return o;
}

static adept_fit *fit_of(const synthetic *s, const adept_fit_options *options)
{
    adept_fit *fit = NULL;
    adept_error err = {0};
    if (adept_calibrate(&fit, s->rows, N, s->hw, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return fit;
}

static void same_run(const adept_fit_run *a, const adept_fit_run *b)
{
    assert_string_equal(a->name, b->name);
    assert_memory_equal(&a->loss.total, &b->loss.total, sizeof(double));
    assert_int_equal(a->generations, b->generations);
    assert_true(a->evaluations == b->evaluations && a->converged == b->converged && a->n_free == b->n_free);
}

/* Every bit of everything that may be written to a file. */
static void same(const adept_fit *a, const adept_fit *b)
{
    assert_int_equal(a->n_parameters, b->n_parameters);
    assert_memory_equal(a->theta, b->theta, a->n_parameters * sizeof(double));
    assert_memory_equal(&a->loss.total, &b->loss.total, sizeof(double));
    assert_int_equal(a->generations, b->generations);
    assert_true(a->evaluations == b->evaluations && a->converged == b->converged && a->interrupted == b->interrupted);
    for (size_t i = 0; i < a->n_parameters; i++) {
        assert_int_equal(a->parameters[i].state, b->parameters[i].state);
        assert_string_equal(a->parameters[i].reason, b->parameters[i].reason);
    }
    assert_int_equal(a->n_stages, b->n_stages);
    for (size_t i = 0; i < a->n_stages; i++)
        same_run(&a->stages[i], &b->stages[i]);
    assert_int_equal(a->n_saturations, b->n_saturations);
    for (size_t i = 0; i < a->n_saturations; i++)
        same_run(&a->saturations[i], &b->saturations[i]);
}

static adept_checkpoint *opened(bool resume)
{
    adept_checkpoint *c = NULL;
    adept_error err = {0};
    if (adept_checkpoint_open(&c, path, resume, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return c;
}

/* ---- threads ---- */

static void the_number_of_threads_changes_nothing(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    o.max_generations = 100;
    adept_fit *one = fit_of(s, &o), *again = fit_of(s, &o);
    o.threads = 2;
    adept_fit *two = fit_of(s, &o);
    o.threads = 5;
    adept_fit *five = fit_of(s, &o);
    same(one, again);
    same(one, two);
    same(one, five);
    o.seed = 2;
    adept_fit *other = fit_of(s, &o);
    assert_memory_not_equal(one->theta, other->theta, one->n_parameters * sizeof(double));
    adept_fit_free(one);
    adept_fit_free(again);
    adept_fit_free(two);
    adept_fit_free(five);
    adept_fit_free(other);
    synthetic_free(s);
}

/* ---- interruptions ---- */

static volatile sig_atomic_t stop;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static void set_timer_ms(long ms)
{
    struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000}};
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Stop the fit again and again, each time a little later, and resume it from its file until it ends by itself. */
static adept_fit *fit_in_pieces(const synthetic *s, adept_fit_options o, long first_ms, int *pieces)
{
    struct sigaction action = {.sa_handler = on_alarm}, old;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    unlink(path);
    adept_fit *fit = NULL;
    o.stop = &stop;
    for (*pieces = 0;; ++*pieces) {
        o.threads = 1 + *pieces % 2; /* nor does their number matter from one piece to the next */
        o.checkpoint = opened(*pieces > 0);
        stop = 0;
        set_timer_ms(first_ms * (1 + *pieces));
        fit = fit_of(s, &o);
        set_timer_ms(0);
        adept_checkpoint_free(o.checkpoint);
        if (!fit->interrupted) break;
        assert_true(isfinite(fit->loss.total)); /* the best so far */
        adept_fit_free(fit);
    }
    sigaction(SIGALRM, &old, NULL);
    return fit;
}

static void in_pieces_or_at_once(const synthetic *s, const adept_fit_options *o)
{
    int pieces;
    adept_fit *whole = fit_of(s, o);
    assert_false(whole->interrupted);
    /* So that it falls into some pieces, however fast the machine. */
    long first_ms = (long)(whole->wall_s * 1000.0 / 6.0) + 1;
    adept_fit *parts = fit_in_pieces(s, *o, first_ms, &pieces);
    assert_true(pieces >= 1);
    same(whole, parts);
    adept_fit_free(whole);
    adept_fit_free(parts);
}

static void a_fit_in_pieces_ends_the_same(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    in_pieces_or_at_once(s, &o);
    synthetic_free(s);
}

static void stages_in_pieces_end_the_same(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    o.n_scalars = 0;
    o.stage = "S7";
    o.max_generations = 150;
    in_pieces_or_at_once(s, &o);
    synthetic_free(s);
}

static void saturations_in_pieces_end_the_same(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    o.max_generations = 150;
    o.compare_saturations = true;
    in_pieces_or_at_once(s, &o);
    synthetic_free(s);
}

/* ---- several fits in one checkpoint ---- */

static void finished_folds_are_not_fitted_again(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    o.max_generations = 60;
    bool use[N];
    adept_fit *plain[3], *kept[3];
    unlink(path);
    adept_checkpoint *c = opened(false);
    for (int round = 0; round < 2; round++) {
        for (size_t fold = 0; fold < 3; fold++) {
            for (size_t i = 0; i < N; i++)
                use[i] = fold == 0 || i % 3 != fold;
            adept_fit_options f = o;
            f.use = use;
            f.checkpoint = round == 0 ? NULL : c;
            (round == 0 ? plain : kept)[fold] = fit_of(s, &f);
        }
    }
    assert_int_equal(c->n_sub_fits, 3);
    assert_int_equal(adept_checkpoint_save(c, NULL), ADEPT_OK);
    adept_checkpoint_free(c);
    c = opened(true);
    assert_int_equal(c->n_sub_fits, 3);
    for (size_t fold = 0; fold < 3; fold++) {
        for (size_t i = 0; i < N; i++)
            use[i] = fold == 0 || i % 3 != fold;
        adept_fit_options f = o;
        volatile sig_atomic_t stopped = 1; /* a finished fold needs no time */
        f.use = use;
        f.checkpoint = c;
        f.stop = &stopped;
        adept_fit *again = fit_of(s, &f);
        same(plain[fold], kept[fold]);
        same(plain[fold], again);
        adept_fit_free(again);
        adept_fit_free(plain[fold]);
        adept_fit_free(kept[fold]);
    }
    adept_checkpoint_free(c);
    synthetic_free(s);
}

/* What differs in anything that changes a result is another sub-fit, though the measurements are the same. */
static void sub_fits_are_told_apart(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options(), others[6];
    o.max_generations = 40;
    for (size_t k = 0; k < 6; k++)
        others[k] = o;
    others[1].seed = 2;
    others[2].fixed = synthetic_truth;
    others[2].n_fixed = 4;
    others[3].tol = 0.5;
    others[4].prior_weight = 0.1;
    others[5].polish = false;
    unlink(path);
    adept_checkpoint *c = opened(false);
    for (size_t k = 0; k < 6; k++) {
        adept_fit *plain = fit_of(s, &others[k]);
        others[k].checkpoint = c;
        adept_fit *kept = fit_of(s, &others[k]);
        same(plain, kept);
        assert_int_equal(c->n_sub_fits, k + 1);
        adept_fit_free(plain);
        adept_fit_free(kept);
    }
    adept_checkpoint_free(c);
    synthetic_free(s);
}

/* ---- several fits at once ---- */

typedef struct side {
    const synthetic *s;
    adept_fit_options o;
    bool use[N];
    pthread_t thread;
    adept_fit *fit;
} side;

static void *fit_aside(void *argument)
{
    side *w = argument;
    if (adept_calibrate(&w->fit, w->s->rows, N, w->s->hw, &w->o, NULL) != ADEPT_OK) w->fit = NULL;
    return NULL;
}

static void fits_may_run_side_by_side(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    o.max_generations = 60;
    unlink(path);
    static side sides[3];
    adept_checkpoint *c = opened(false);
    for (size_t k = 0; k < 3; k++) {
        sides[k] = (side){.s = s, .o = o};
        for (size_t i = 0; i < N; i++)
            sides[k].use[i] = i % 3 != k;
        sides[k].o.use = sides[k].use;
        sides[k].o.checkpoint = c;
        assert_int_equal(pthread_create(&sides[k].thread, NULL, fit_aside, &sides[k]), 0);
    }
    for (size_t k = 0; k < 3; k++) {
        pthread_join(sides[k].thread, NULL);
        assert_non_null(sides[k].fit);
        sides[k].o.checkpoint = NULL;
        adept_fit *alone = fit_of(s, &sides[k].o);
        same(alone, sides[k].fit);
        adept_fit_free(alone);
        adept_fit_free(sides[k].fit);
    }
    assert_int_equal(c->n_sub_fits, 3);
    adept_checkpoint_free(c);
    synthetic_free(s);
}

/* ---- kill -9 ---- */

static adept_fit_options long_options(void)
{
    adept_fit_options o = small_options();
    o.tol = 0.0; /* runs through all its generations: the child must not be done before it is killed */
    o.stage = "S7";
    o.n_scalars = 0;
    o.max_generations = 1500; /* seconds: parts are written once a second */
    return o;
}

/* Is a sub-fit in the file? Others are still to come. */
static bool has_part(void)
{
    char *text = NULL;
    size_t size;
    bool has = adept_file_read(&text, &size, path, 1 << 26, NULL) == ADEPT_OK && strstr(text, "\"parts\":[{");
    free(text);
    return has;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void a_killed_fit_goes_on_from_its_file(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = long_options();
    unlink(path);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        adept_fit *fit = NULL;
        adept_fit_options endless = o;
        if (adept_checkpoint_open(&endless.checkpoint, path, false, NULL) != ADEPT_OK) _exit(1);
        if (adept_calibrate(&fit, s->rows, N, s->hw, &endless, NULL) != ADEPT_OK) _exit(2);
        pause();
        _exit(0);
    }
    for (int i = 0; i < 30000 && !has_part(); i++)
        sleep_ms(10);
    bool written = has_part();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(written);
    adept_fit *whole = fit_of(s, &o);
    o.checkpoint = opened(true);
    assert_true(o.checkpoint->n_sub_fits >= 1);
    adept_fit *resumed = fit_of(s, &o);
    same(whole, resumed);
    adept_checkpoint_free(o.checkpoint);
    adept_fit_free(whole);
    adept_fit_free(resumed);
    synthetic_free(s);
}

/* ---- a disk without room ---- */

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    volatile sig_atomic_t stopped = 1;
    unlink(path);
    o.stop = &stopped;
    o.checkpoint = opened(false);
    adept_fit_free(fit_of(s, &o));
    char *before = NULL, *after = NULL;
    size_t n_before, n_after;
    assert_int_equal(adept_file_read(&before, &n_before, path, 1 << 26, NULL), ADEPT_OK);
    struct rlimit limit, small = {100, RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small.rlim_max = limit.rlim_max;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    adept_fit *fit = NULL;
    adept_error err = {0};
    adept_status status = adept_calibrate(&fit, s->rows, N, s->hw, &o, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, old);
    assert_int_equal(status, ADEPT_E_IO);
    assert_null(fit);
    assert_int_equal(adept_file_read(&after, &n_after, path, 1 << 26, NULL), ADEPT_OK);
    assert_int_equal(n_before, n_after);
    assert_memory_equal(before, after, n_before);
    free(before);
    free(after);
    adept_checkpoint_free(o.checkpoint);
    synthetic_free(s);
}

/* ---- refusals ---- */

/* A fit that the file is not of. */
static void refuse(const synthetic *s, const adept_fit_options *options)
{
    adept_fit_options o = *options;
    adept_fit *fit = NULL;
    adept_error err = {0};
    o.checkpoint = opened(true);
    assert_int_equal(adept_calibrate(&fit, s->rows, N, s->hw, &o, &err), ADEPT_E_USAGE);
    assert_null(fit);
    if (!strstr(err.message, "checkpoint.json: is of another fit: other measurements, another GPU, other options"))
        fail_msg("\"%s\"", err.message);
    adept_checkpoint_free(o.checkpoint);
}

/* One that it is of. */
static void accept(const synthetic *s, adept_fit_options o)
{
    o.checkpoint = opened(true);
    adept_fit_free(fit_of(s, &o));
    adept_checkpoint_free(o.checkpoint);
}

static void write_checkpoint(const synthetic *s, adept_fit_options o)
{
    volatile sig_atomic_t stopped = 1;
    unlink(path);
    o.stop = &stopped;
    o.checkpoint = opened(false);
    adept_fit_free(fit_of(s, &o));
    o.max_generations = 3; /* another part, a finished one */
    stopped = 0;
    adept_fit_free(fit_of(s, &o));
    assert_int_equal(adept_checkpoint_save(o.checkpoint, NULL), ADEPT_OK);
    adept_checkpoint_free(o.checkpoint);
}

static void checkpoints_of_something_else_are_refused(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options(), other = o;
    write_checkpoint(s, o);
    accept(s, o);
    other.threads = 3; /* changes no result */
    accept(s, other);
    other = o;
    other.seed = 2;
    refuse(s, &other);
    other = o;
    other.strategy = ADEPT_DE_RAND1BIN;
    refuse(s, &other);
    other = o;
    other.n_scalars = 2;
    refuse(s, &other);
    const adept_parameter fixed = {"t_fixed_s", 0.001};
    other = o;
    other.fixed = &fixed;
    other.n_fixed = 1;
    refuse(s, &other);
    other = o;
    other.max_generations = 501;
    refuse(s, &other);
    s->rows[7].step_time_s *= 1.0000001;
    refuse(s, &o);
    synthetic_measure(s, 0.02, 5);
    s->rows[2].weight = 2.0;
    refuse(s, &o);
    synthetic_measure(s, 0.02, 5);
    s->rows[2].run.gpus = 2;
    refuse(s, &o);
    synthetic_free(s);
    s = synthetic_new("h100-sxm-80gb", 0.02, 5);
    assert_non_null(s);
    refuse(s, &o);
    synthetic_free(s);
}

static adept_status open_text(const char *text, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_true(write(file, text, size) == (ssize_t)size);
    close(file);
    adept_checkpoint *c = NULL;
    adept_error err = {0};
    adept_status status = adept_checkpoint_open(&c, path, true, &err);
    assert_true((status == ADEPT_OK) == (c != NULL));
    adept_checkpoint_free(c);
    return status;
}

static void damage_is_noticed_everywhere(void **state)
{
    (void)state;
    synthetic *s = made();
    adept_fit_options o = small_options();
    o.population_per_parameter = 1;
    o.max_generations = 20;
    write_checkpoint(s, o);
    char *text = NULL;
    size_t size;
    assert_int_equal(adept_file_read(&text, &size, path, 1 << 26, NULL), ADEPT_OK);
    assert_int_equal(open_text(text, size), ADEPT_OK);
    size_t step = size / 300 + 1;
    for (size_t i = 0; i < size; i += i < 1500 ? 7 : step) {
        char keep = text[i];
        text[i] = (char)(keep ^ 1);
        if (open_text(text, size) == ADEPT_OK) fail_msg("byte %zu of %zu, '%c'", i, size, keep);
        text[i] = (char)0xff;
        if (open_text(text, size) == ADEPT_OK) fail_msg("byte %zu of %zu, '%c'", i, size, keep);
        text[i] = keep;
        assert_int_not_equal(open_text(text, i), ADEPT_OK); /* cut off there */
    }
    static const char *const nonsense[] = {"",
                                           "{}",
                                           "[]",
                                           "null",
                                           "{\"kind\":\"adept checkpoint\"}",
                                           "{\"schema_version\":2,\"kind\":\"adept checkpoint\"}",
                                           "{\"schema_version\":1,\"kind\":\"profile\"}"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        assert_int_equal(open_text(nonsense[i], strlen(nonsense[i])), ADEPT_E_INVALID);
    free(text);
    synthetic_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_threads_changes_nothing),
        cmocka_unit_test(a_fit_in_pieces_ends_the_same),
        cmocka_unit_test(stages_in_pieces_end_the_same),
        cmocka_unit_test(saturations_in_pieces_end_the_same),
        cmocka_unit_test(finished_folds_are_not_fitted_again),
        cmocka_unit_test(sub_fits_are_told_apart),
        cmocka_unit_test(fits_may_run_side_by_side),
        cmocka_unit_test(a_killed_fit_goes_on_from_its_file),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(checkpoints_of_something_else_are_refused),
        cmocka_unit_test(damage_is_noticed_everywhere),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

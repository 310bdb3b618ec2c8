/* Differences of hand-made workloads: who is matched with whom, and that nothing is lost on the way. */
#include "adept_diff.h"
#include "toy_model.h"
#include "cmocka_test.h"

#define NEAR(value, expected)                                                                                          \
    assert_true(fabs((double)(value) - (double)(expected)) <= 1e-9 * (1.0 + fabs((double)(expected))))
#define MAX_OPS 16

/* A line of a hand-made model: `flops` says which operator it is. */
typedef struct line {
    const char *path;
    int64_t count;
    double flops;
} line;

typedef struct model {
    adept_profile prof;
    adept_profile_op ops[MAX_OPS];
    adept_kernel kernels[MAX_OPS];
    char shapes[MAX_OPS][32];
} model;

static toy_gpu gpu;
static adept_run run;

static void make(model *m, const line *lines, size_t n)
{
    toy_work base;

    toy_work_init(&base);
    memset(m, 0, sizeof *m);
    m->prof = base.prof;
    m->prof.model_path = "toy";
    m->prof.activations_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        m->kernels[i] = base.kernels[0];
        m->kernels[i].flops = lines[i].flops;
        m->kernels[i].flops_alu = 0;
        m->kernels[i].bytes_read = 2e6;
        m->kernels[i].bytes_written = 1e6;
        snprintf(m->shapes[i], sizeof m->shapes[i], "f32:%.0f", lines[i].flops);
        m->ops[i] = base.ops[0];
        m->ops[i].path = lines[i].path;
        m->ops[i].count = lines[i].count;
        m->ops[i].inputs = m->ops[i].outputs = m->shapes[i];
        m->ops[i].n_kernels = 1;
        m->ops[i].kernels = &m->kernels[i];
        m->ops[i].saved_bytes = 1000;
        m->ops[i].gradient_bytes = 10.0 * (double)lines[i].count;
        m->prof.activations_bytes += 1000 * (double)lines[i].count;
    }
    m->prof.ops = m->ops;
    m->prof.n_ops = n;
    adept_profile_summarise(&m->prof);
}

#define MAKE(m, ...)                                                                                                   \
    do {                                                                                                               \
        const line lines_[] = {__VA_ARGS__};                                                                           \
        make(m, lines_, sizeof lines_ / sizeof *lines_);                                                               \
    } while (0)

static void check_sums(const adept_diff *d)
{
    for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++) {
        double old = 0, now = 0, scale = fmax(fabs(d->old_total.v[k]), fabs(d->now_total.v[k]));
        for (size_t i = 0; i < d->n_rows; i++) {
            old += d->rows[i].old.v[k];
            now += d->rows[i].now.v[k];
        }
        for (int i = 0; i < ADEPT_DIFF_PARTS; i++) {
            old += d->parts[i].old.v[k];
            now += d->parts[i].now.v[k];
        }
        assert_true(fabs(old - d->old_total.v[k]) <= 1e-12 * scale);
        assert_true(fabs(now - d->now_total.v[k]) <= 1e-12 * scale);
    }
}

static adept_diff *diff_at(const model *old, const model *now, int64_t depth)
{
    const adept_diff_side a = {&old->prof, &gpu.hw, &run}, b = {&now->prof, &gpu.hw, &run};
    adept_diff *d = NULL;
    adept_error err = {0};

    if (adept_diff_new(&d, &a, &b, depth, &err) != ADEPT_OK) fail_msg("%s", err.message);
    check_sums(d);
    return d;
}

static adept_diff *diff(const model *old, const model *now)
{
    return diff_at(old, now, 0);
}

static const adept_diff_row *row(const adept_diff *d, const char *path)
{
    for (size_t i = 0; i < d->n_rows; i++)
        if (strcmp(d->rows[i].path, path) == 0) return &d->rows[i];
    fail_msg("no row %s", path);
    return NULL;
}

static double change(const adept_diff_row *r, adept_diff_amount amount)
{
    return r->now.v[amount] - r->old.v[amount];
}

static void nothing_changed(void **state)
{
    (void)state;
    model m;
    MAKE(&m, {"layers.{0-3}.up", 4, 1e9}, {"layers.{0-3}.relu", 7, 2e9}, {"", 1, 3e9});
    adept_diff *d = diff(&m, &m);

    assert_int_equal(d->n_rows, 3);
    assert_int_equal(row(d, "layers.{0-3}.up")->modules, 4);
    assert_int_equal(row(d, "layers.*.relu")->modules, 0); /* 7 do not divide among 4 */
    assert_int_equal(row(d, "layers.*.relu")->count, 7);
    assert_int_equal(row(d, "")->modules, 1);
    for (size_t i = 0; i < d->n_rows; i++)
        assert_int_equal(d->rows[i].status, ADEPT_DIFF_SAME);
    for (size_t q = 0; q < ADEPT_DIFF_QUANTITIES; q++)
        assert_true(adept_diff_growth(d, (adept_diff_quantity)q) == 0);
    assert_int_equal(d->n_warnings, 0);
    adept_diff_free(d);
}

static void two_more_layers(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"layers.{0-21}.up", 22, 1e9}, {"layers.{0-21}.add", 44, 2e9}, {"head", 1, 5e9});
    MAKE(&b, {"layers.{0-23}.up", 24, 1e9}, {"layers.{0-23}.add", 48, 2e9}, {"head", 1, 5e9});
    adept_diff *d = diff(&a, &b);
    const adept_diff_row *up = row(d, "layers.{22,23}.up"), *add = row(d, "layers.{22,23}.add");

    assert_int_equal(d->n_rows, 5);
    assert_int_equal(up->status, ADEPT_DIFF_ADDED);
    assert_int_equal(up->modules, 2);
    assert_int_equal(up->count, 2);
    assert_int_equal(up->old_count, 0);
    /* two accumulation passes */
    NEAR(change(up, ADEPT_DIFF_flops), 2 * 2 * 1e9);
    NEAR(change(up, ADEPT_DIFF_bytes), 2 * 2 * 3e6);
    NEAR(change(up, ADEPT_DIFF_activations_bytes), 2 * 1000);
    NEAR(change(up, ADEPT_DIFF_parameters_bytes), 2 * 10);
    NEAR(change(add, ADEPT_DIFF_flops), 2 * 4 * 2e9);
    assert_int_equal(add->count, 4);
    assert_int_equal(row(d, "layers.{0-21}.up")->status, ADEPT_DIFF_SAME);
    assert_int_equal(row(d, "layers.{0-21}.up")->modules, 22);
    assert_string_equal(d->rows[0].path, "layers.{22,23}.add"); /* the largest change of time */
    assert_true(adept_diff_growth(d, ADEPT_DIFF_OF_TIME) > 0);
    adept_diff_free(d);
}

static void one_layer_of_a_list(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"layers.{0-5}.up", 6, 1e9});
    MAKE(&b, {"layers.{0,1,3-5}.up", 5, 1e9}, {"layers.2.up", 1, 4e9});
    adept_diff *d = diff(&a, &b);

    assert_int_equal(d->n_rows, 2);
    assert_int_equal(row(d, "layers.2.up")->status, ADEPT_DIFF_CHANGED);
    NEAR(change(row(d, "layers.2.up"), ADEPT_DIFF_flops), 2 * 3e9);
    assert_int_equal(row(d, "layers.{0,1,3-5}.up")->status, ADEPT_DIFF_SAME);
    adept_diff_free(d);
}

static void another_path_same_work(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"model.layers.{0,1}.q", 2, 1e9}, {"model.layers.{0,1}.o", 2, 1e9}, {"model.norm", 1, 3e9});
    MAKE(&b, {"net.blocks.{0-2}.q", 3, 1e9}, {"net.blocks.{0-2}.o", 3, 1e9}, {"net.final", 1, 3e9});
    adept_diff *d = diff(&a, &b);
    const adept_diff_row *q = row(d, "net.blocks.{0,1}.q");

    assert_int_equal(q->status, ADEPT_DIFF_RENAMED); /* by the end of the path, although q and o do the same work */
    assert_string_equal(q->old_path, "model.layers.{0,1}.q");
    assert_string_equal(row(d, "net.blocks.{0,1}.o")->old_path, "model.layers.{0,1}.o");
    assert_int_equal(row(d, "net.blocks.2.q")->status, ADEPT_DIFF_ADDED);
    assert_int_equal(row(d, "net.final")->status, ADEPT_DIFF_RENAMED); /* the only one of its kind on both sides */
    assert_string_equal(row(d, "net.final")->old_path, "model.norm");
    adept_diff_free(d);
}

static void who_is_who_is_not_guessed(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"x.one", 1, 1e9}, {"x.two", 1, 1e9}, {"", 1, 9e9}, {"gone", 1, 7e9});
    MAKE(&b, {"y.three", 1, 1e9}, {"fresh", 1, 8e9}, {"top", 1, 9e9});
    adept_diff *d = diff(&a, &b);

    assert_int_equal(row(d, "y.three")->status, ADEPT_DIFF_ADDED); /* x.one or x.two? */
    assert_int_equal(row(d, "x.one")->status, ADEPT_DIFF_REMOVED);
    assert_int_equal(row(d, "x.two")->status, ADEPT_DIFF_REMOVED);
    assert_int_equal(row(d, "gone")->status, ADEPT_DIFF_REMOVED); /* other work than fresh */
    assert_int_equal(row(d, "fresh")->status, ADEPT_DIFF_ADDED);
    assert_int_equal(row(d, "")->status, ADEPT_DIFF_REMOVED); /* the model itself has no other name */
    assert_int_equal(row(d, "top")->status, ADEPT_DIFF_ADDED);
    adept_diff_free(d);
}

static void uneven_lists_stay_one(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"l.{0-3}.relu", 7, 1e9}, {"l.{0-3}.conv", 4, 2e9});
    MAKE(&b, {"l.{0-4}.relu", 10, 1e9}, {"l.{0-4}.conv", 5, 2e9});
    adept_diff *d = diff(&a, &b);

    assert_int_equal(d->n_rows, 3);
    assert_int_equal(row(d, "l.*.relu")->status, ADEPT_DIFF_CHANGED);
    assert_int_equal(row(d, "l.*.relu")->old_count, 7);
    assert_int_equal(row(d, "l.*.relu")->count, 10);
    NEAR(change(row(d, "l.*.relu"), ADEPT_DIFF_flops), 2 * 3e9);
    assert_int_equal(row(d, "l.4.conv")->status, ADEPT_DIFF_ADDED);
    adept_diff_free(d);
    d = diff_at(&a, &b, 2); /* the conv's layers still are told apart */
    assert_int_equal(row(d, "l.4")->status, ADEPT_DIFF_ADDED);
    assert_int_equal(row(d, "l.{0-3}")->modules, 4);
    assert_int_equal(row(d, "l.*")->count, 10);
    adept_diff_free(d);
    d = diff_at(&a, &b, 1);
    assert_int_equal(d->n_rows, 1);
    assert_int_equal(row(d, "l")->count, 15);
    adept_diff_free(d);
}

static void lists_of_lists(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"b.{0-2}.l.{0,1}.n", 6, 1e9}, {"enc_layer_{0-2}.x", 3, 2e9}, {"ln_1", 1, 3e9});
    MAKE(&b, {"b.{0-2}.l.0.n", 3, 1e9}, {"b.0.l.1.n", 1, 1e9}, {"enc_layer_{0,2}.x", 2, 2e9}, {"ln_1", 1, 3e9});
    adept_diff *d = diff(&a, &b);

    /* b.0 has both, b.1 and b.2 one: no product of lists says this */
    assert_int_equal(row(d, "b.{1,2}.l.1.n")->status, ADEPT_DIFF_REMOVED);
    assert_int_equal(row(d, "b.0.l.{0,1}.n")->status, ADEPT_DIFF_SAME);
    assert_int_equal(row(d, "b.1.l.0.n")->status, ADEPT_DIFF_SAME);
    assert_int_equal(row(d, "enc_layer_1.x")->status, ADEPT_DIFF_REMOVED);
    assert_int_equal(row(d, "enc_layer_{0,2}.x")->modules, 2);
    adept_diff_free(d);
}

/* diff(a, b) = -diff(b, a), row by row. */
static void there_and_back(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"m.{0-4}.up", 5, 1e9}, {"m.{0-4}.down", 5, 2e9}, {"head", 1, 3e9}, {"old", 1, 4e9}, {"p.x", 2, 6e9});
    MAKE(&b, {"m.{0-6}.up", 7, 1e9}, {"m.{0-6}.down", 7, 3e9}, {"head", 2, 3e9}, {"new", 1, 5e9}, {"q.x", 2, 6e9});
    adept_diff *d = diff(&a, &b), *back = diff(&b, &a);

    assert_int_equal(d->n_rows, back->n_rows);
    for (size_t i = 0; i < d->n_rows; i++) {
        const adept_diff_row *r = &d->rows[i], *s = row(back, r->old_path);
        static const adept_diff_status other[] = {ADEPT_DIFF_SAME, ADEPT_DIFF_CHANGED, ADEPT_DIFF_REMOVED,
                                                  ADEPT_DIFF_ADDED, ADEPT_DIFF_RENAMED};
        assert_string_equal(s->old_path, r->path);
        assert_int_equal(s->status, other[r->status]);
        assert_int_equal(s->modules, r->modules);
        for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++)
            assert_true(change(s, (adept_diff_amount)k) == -change(r, (adept_diff_amount)k));
    }
    for (int i = 0; i < ADEPT_DIFF_PARTS; i++)
        for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++)
            assert_true(d->parts[i].old.v[k] == back->parts[i].now.v[k]);
    adept_diff_free(d);
    adept_diff_free(back);
}

static void sorted_by_what_is_asked(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"z", 1, 1e9}, {"y", 1, 1e9}, {"x", 1, 1e9});
    MAKE(&b, {"z", 1, 1e9}, {"y", 1, 5e9}, {"x", 1, 3e9});
    b.ops[2].saved_bytes = 5000;
    adept_diff *d = diff(&a, &b);

    assert_string_equal(d->rows[0].path, "y");
    assert_string_equal(d->rows[1].path, "x");
    adept_diff_sort(d, ADEPT_DIFF_activations_bytes);
    assert_string_equal(d->rows[0].path, "x");
    assert_string_equal(d->rows[1].path, "y");
    assert_string_equal(d->rows[2].path, "z");
    adept_diff_free(d);
    /* what changed as much, by its name of now */
    MAKE(&a, {"p", 1, 1e9}, {"q", 1, 2e9});
    MAKE(&b, {"y", 1, 1e9}, {"x", 1, 2e9});
    d = diff(&a, &b);
    assert_string_equal(d->rows[0].path, "x");
    assert_string_equal(d->rows[0].old_path, "q");
    assert_string_equal(d->rows[1].path, "y");
    adept_diff_free(d);
    /* what did not change, by its name as well */
    MAKE(&a, {"a.9", 1, 1e9}, {"a.10", 1, 2e9});
    d = diff(&a, &a);
    assert_string_equal(d->rows[0].path, "a.10");
    assert_string_equal(d->rows[1].path, "a.9");
    adept_diff_free(d);
}

/* Two alike that now stand in another module, in the other order: their own names say who is who. */
static void names_of_one_part_are_kept(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"x", 1, 1e9}, {"y", 1, 1e9});
    MAKE(&b, {"m.y", 1, 1e9}, {"m.x", 1, 1e9});
    adept_diff *d = diff(&a, &b);
    assert_int_equal(d->n_rows, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(d->rows[i].path + 2, d->rows[i].old_path);
        assert_memory_equal(d->rows[i].path, "m.", 2);
    }
    adept_diff_free(d);
}

static void what_is_not_known_stays_unknown(void **state)
{
    (void)state;
    model a, b;
    MAKE(&a, {"x", 1, 1e13}); /* enough that the step does not wait for the host */
    MAKE(&b, {"x", 1, 2e13});
    a.ops[0].gradient_bytes = b.ops[0].gradient_bytes = 0; /* as a profile of inference */
    b.prof.batch_size++;
    gpu.hw.specs.tdp_w = NAN;
    adept_diff *d = NULL;
    const adept_diff_side old = {&a.prof, &gpu.hw, &run}, now = {&b.prof, &gpu.hw, &run};

    assert_int_equal(adept_diff_new(&d, &old, &now, 0, NULL), ADEPT_OK);
    toy_gpu_init(&gpu);
    assert_true(isnan(adept_diff_growth(d, ADEPT_DIFF_OF_ENERGY)));
    assert_true(adept_diff_growth(d, ADEPT_DIFF_OF_TIME) > 0);
    assert_true(isnan(d->rows[0].now.v[ADEPT_DIFF_energy_j]));
    assert_true(isnan(d->rows[0].now.v[ADEPT_DIFF_parameters_bytes]));
    assert_int_equal(d->rows[0].status, ADEPT_DIFF_CHANGED);
    assert_int_equal(d->n_warnings, 1);
    assert_string_equal(d->warnings[0], "batch size differs: 16 before, 17 now");
    adept_diff_free(d);
}

static void growth_by_hand(void **state)
{
    (void)state;
    adept_diff d = {.old = {.step_time_s = 2, .memory.peak_bytes = 0},
                    .now = {.step_time_s = 2.1, .memory.peak_bytes = 1}};

    NEAR(adept_diff_growth(&d, ADEPT_DIFF_OF_TIME), 0.05);
    assert_true(isinf(adept_diff_growth(&d, ADEPT_DIFF_OF_MEMORY)));
    assert_true(adept_diff_growth(&d, ADEPT_DIFF_OF_FLOPS) == 0);
}

/* A path may say anything. */
static void absurd_paths(void **state)
{
    (void)state;
    model a;
    MAKE(&a, {"{0-999999999}.{0-999999999}.{0-999999999}.{0-999999999}", 4, 1e9}, {"{3-1}.{,}.{1-}.{}", 1, 1e9},
         {"{0-99999}", 100000, 1e9}, {"..", 1, 1e9}, {"\001.\001", 1, 1e9}, {"0.1.2.3.4.5.6.7.8.9", 1, 1e9},
         {"9999999999.{0,0}", 1, 1e9});
    adept_diff *d = diff(&a, &a);

    assert_int_equal(d->n_rows, 7);
    row(d, "*.*.*.*");
    row(d, "*"); /* more than are told apart */
    row(d, "{3-1}.{,}.{1-}.{}");
    row(d, "?.?");
    adept_diff_free(d);
}

static int setup(void **state)
{
    (void)state;
    toy_gpu_init(&gpu);
    run = (adept_run){.granularity = ADEPT_GRANULARITY_OPERATOR};
    return 0;
}

static int setup_model(void **state)
{
    setup(state);
    run.granularity = ADEPT_GRANULARITY_MODEL;
    run.gpus = 2;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_changed, setup),
        cmocka_unit_test_setup(two_more_layers, setup),
        cmocka_unit_test_setup(one_layer_of_a_list, setup),
        cmocka_unit_test_setup(another_path_same_work, setup),
        cmocka_unit_test_setup(who_is_who_is_not_guessed, setup),
        cmocka_unit_test_setup(uneven_lists_stay_one, setup),
        cmocka_unit_test_setup(lists_of_lists, setup),
        cmocka_unit_test_setup(there_and_back, setup),
        cmocka_unit_test_setup(there_and_back, setup_model),
        cmocka_unit_test_setup(sorted_by_what_is_asked, setup),
        cmocka_unit_test_setup(names_of_one_part_are_kept, setup),
        cmocka_unit_test_setup(what_is_not_known_stays_unknown, setup),
        cmocka_unit_test_setup(growth_by_hand, setup),
        cmocka_unit_test_setup(absurd_paths, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

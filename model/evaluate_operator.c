/** @file evaluate_operator.c  Rows of granularity "operator"; see operator_step.h. */
#include "operator_step.h"
#include "operator_own.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Executions of a kernel in the backward pass before a bucket is complete, and after the one before it is. */
typedef struct bucket_part {
    uint32_t kernel, bucket;
    double executions;
} bucket_part;

/* Buckets of the rows that send in them: one more than close in the pass, for what is left at its end. */
typedef struct pass_buckets {
    double bucket_bytes; /* 0: no row does */
    size_t n, n_parts;
    adept_ready_gradient *of; /* owned; kernels' times are not known yet */
    bucket_part *parts;       /* owned; by kernel, then by bucket */
} pass_buckets;

/* One pass of one workload on one GPU: what all rows of it share. */
typedef struct pass {
    const adept_profile *profile; /* only compared while rows are added, never read later */
    adept_framework framework;
    const adept_hwprofile *hw;
    adept_kernel_set set;           /* owned */
    adept_operator_kernel *kernels; /* the set's, on the GPU; owned */
    pass_buckets buckets;
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
    bool shared; /* theta is several GPUs': this one's own follows from it */
    adept_operator_owner owner;
    double own[ADEPT_OPERATOR_PARAMETERS]; /* what it does not share */
} pass;

typedef struct operator_row {
    size_t pass;
    bool in_buckets;
    adept_operator_numbers numbers;
} operator_row;

struct adept_operator_rows {
    size_t n_rows, n_passes;
    operator_row *rows;
    pass *passes;
};

/* ---- compiling ---- */

static adept_status set_own(pass *p, const adept_hwprofile *hw, adept_error *err)
{
    p->shared = hw->transferred;
    if (!p->shared) return ADEPT_OK;
    adept_status status = adept_operator_parameters_get(p->own, hw, err);
    p->owner = adept_operator_owner_of(hw, p->own[ADEPT_OP_p_static_w]);
    return status;
}

/* Derivatives by this GPU's own parameters, as its framework has them, to those by theta. */
static void own_slopes(double slopes[ADEPT_OPERATOR_PARAMETERS], const pass *p, const double *theta, const double *own)
{
    adept_operator_framework_slopes(slopes, own, p->framework);
    if (!p->shared) return;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
        if (adept_operator_is_own(i)) slopes[i] = 0.0;
    adept_operator_own_slopes(slopes, theta, &p->owner);
}

static adept_status compile_pass(pass *p, const adept_placement *at, adept_error *err)
{
    *p = (pass){.profile = at->profile, .framework = at->profile->framework, .hw = at->hw};
    memcpy(p->menus, at->hw->tiles ? at->hw->tiles : adept_tile_menu_default, sizeof p->menus);
    adept_status status = set_own(p, at->hw, err);
    if (status == ADEPT_OK) status = adept_kernel_set_new(&p->set, at->profile, false, err);
    if (status != ADEPT_OK) return status;
    p->kernels = calloc(p->set.n + 1, sizeof *p->kernels);
    if (!p->kernels) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", p->set.n);
    for (size_t i = 0; i < p->set.n && status == ADEPT_OK; i++)
        status = adept_operator_place(&p->kernels[i], &p->set.cases[i], at->profile->precision, at->hw, err);
    return status;
}

/* Buckets of one pass at most: evaluating allocates nothing. */
#define MOST_BUCKETS 1024

static int by_kernel(const void *a, const void *b)
{
    const bucket_part *x = a, *y = b;
    if (x->kernel != y->kernel) return x->kernel < y->kernel ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

/* What runs before which bucket depends on bytes alone. @param first  where the uses of each operator begin */
static adept_status cut_buckets(pass_buckets *out, const adept_profile *prof, const adept_kernel_set *set,
                                size_t *first, adept_error *err)
{
    const adept_program *program = &prof->program;
    size_t n_parts = 0, next = program->n_gradients;
    double filled = 0.0, launches = 0.0;
    for (size_t i = 0, op = 0; i <= set->n_uses; i++)
        while (op <= (i < set->n_uses ? set->uses[i].op : set->n_ops))
            first[op++] = i;
    for (size_t i = 0; i < program->n_operators; i++) {
        int32_t op = program->operators[i].op;
        if (op >= 0) n_parts += first[op + 1] - first[op];
    }
    out->parts = malloc((n_parts + 1) * sizeof *out->parts);
    out->of = calloc(MOST_BUCKETS, sizeof *out->of);
    if (!out->parts || !out->of) return adept_no_memory(err, "buckets");
    for (size_t i = program->n_operators; i-- > 0;) {
        int32_t op = program->operators[i].op;
        for (size_t u = op < 0 ? 0 : first[op]; op >= 0 && u < first[op + 1]; u++) {
            const adept_kernel_use *use = &set->uses[u];
            out->parts[out->n_parts++] = (bucket_part){use->kernel, (uint32_t)out->n, use->repeats};
            launches += use->launches;
        }
        for (; next > 0 && program->gradients[next - 1].at == (int32_t)i; next--) {
            filled += program->gradients[next - 1].bytes;
            if (!adept_bucket_closes(filled, out->bucket_bytes, (double)out->n)) continue;
            if (out->n + 1 == MOST_BUCKETS)
                return adept_error_set(err, ADEPT_E_USAGE,
                                       "more than %d buckets a step: an evaluator takes fewer, larger ones",
                                       MOST_BUCKETS - 1);
            out->of[out->n++] = (adept_ready_gradient){{.launches = launches}, filled, 0.0};
            filled = 0.0;
        }
    }
    out->of[out->n] = (adept_ready_gradient){{.launches = launches}, filled + adept_gradients_left(prof), 0.0};
    qsort(out->parts, out->n_parts, sizeof *out->parts, by_kernel);
    size_t n = 0;
    for (size_t i = 0; i < out->n_parts; i++) {
        const bucket_part *part = &out->parts[i];
        if (n > 0 && by_kernel(&out->parts[n - 1], part) == 0)
            out->parts[n - 1].executions += part->executions;
        else
            out->parts[n++] = *part;
    }
    out->n_parts = n;
    return ADEPT_OK;
}

static adept_status compile_buckets(pass_buckets *out, const adept_placement *at, double bucket_bytes, adept_error *err)
{
    adept_kernel_set set;
    adept_status status = adept_kernel_set_new(&set, at->profile, true, err); /* as the pass's own, and with uses */
    size_t *first = calloc(set.n_ops + 1, sizeof *first);
    if (!first && status == ADEPT_OK) status = adept_no_memory(err, "buckets");
    out->bucket_bytes = bucket_bytes;
    if (status == ADEPT_OK) status = cut_buckets(out, at->profile, &set, first, err);
    free(first);
    adept_kernel_set_free(&set);
    return status;
}

static adept_status add_row(adept_operator_rows *rows, size_t index, const adept_placement *at, adept_error *err)
{
    operator_row *r = &rows->rows[index];
    adept_placed placed;
    adept_run run = at->run;
    double bucket_bytes = 0.0;
    run.granularity = ADEPT_GRANULARITY_OPERATOR;
    adept_status status = adept_place(&placed, NULL, at, NULL, 0, err);
    if (status == ADEPT_OK && run.overlap == ADEPT_OVERLAP_BUCKETED)
        status =
            adept_buckets_bytes(&bucket_bytes, adept_gradients_known(at->profile), at->hw, &run, &placed.network, err);
    if (status != ADEPT_OK) return status;
    r->numbers = adept_operator_numbers_of(&placed, at->hw);
    if (!(r->numbers.launches[ADEPT_PART_FORWARD] > 0.0))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: nothing to run, or a count out of range");
    r->in_buckets = bucket_bytes > 0.0;
    /* Rows of a workload on a GPU are of one pass, but for those of different buckets. */
    size_t i = 0;
    for (; i < rows->n_passes; i++) {
        const pass *p = &rows->passes[i];
        double other = p->buckets.bucket_bytes;
        if (p->profile == at->profile && p->hw == at->hw &&
            (bucket_bytes == 0.0 || other == 0.0 || other == bucket_bytes))
            break;
    }
    r->pass = i;
    pass *p = &rows->passes[r->pass];
    if (r->pass == rows->n_passes) {
        rows->n_passes++;
        status = compile_pass(p, at, err);
    }
    if (status == ADEPT_OK && r->in_buckets && p->buckets.bucket_bytes == 0.0)
        status = compile_buckets(&p->buckets, at, bucket_bytes, err);
    return status;
}

adept_status adept_operator_rows_new(adept_operator_rows **out, const adept_placement *rows, size_t n_rows, size_t *at,
                                     adept_error *err)
{
    adept_operator_rows *r = calloc(1, sizeof *r);
    adept_status status = ADEPT_OK;
    *at = 0;
    if (r) {
        r->rows = calloc(n_rows, sizeof *r->rows);
        r->passes = calloc(n_rows, sizeof *r->passes);
        r->n_rows = n_rows;
    }
    if (!r || !r->rows || !r->passes)
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n_rows);
    for (size_t i = 0; i < n_rows && status == ADEPT_OK; i++) {
        *at = i;
        status = add_row(r, i, &rows[i], err);
    }
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_operator_rows_free(r);
    return status;
}

void adept_operator_rows_free(adept_operator_rows *r)
{
    if (!r) return;
    for (size_t i = 0; r->passes && i < r->n_passes; i++) {
        adept_kernel_set_free(&r->passes[i].set);
        free(r->passes[i].kernels);
        free(r->passes[i].buckets.of);
        free(r->passes[i].buckets.parts);
    }
    free(r->passes);
    free(r->rows);
    free(r);
}

/* ---- evaluating ---- */

/* Distinct kernels that a step's list tells apart without allocating; the largest of the bundled models has 1700. */
#define MOST_KERNELS 2048
/* Rows of one pass whose derivatives need every kernel once more are worked out side by side: each kernel's law is
 * evaluated once for them. */
#define CHUNK 8

/* Where an evaluation's results go; each may be NULL. */
typedef struct outputs {
    double *time_s, *power_w, *dtime_s, *dpower_w;
} outputs;

/* A pass with its parameters: everything but the run. */
typedef struct state {
    const adept_operator_rows *rows;
    const pass *at;
    const double *shared, *theta; /* as given, and the GPU's own */
    adept_kernel_list list;
    adept_list_slopes slopes;
    double columns[ADEPT_LIST_NUMBERS(MOST_KERNELS)];
    adept_clock_cells cells;
    adept_buckets buckets; /* each one gradient, complete where the bucket is */
    adept_ready_gradient ready[MOST_BUCKETS];
} state;

/* A row and its derivatives: under a limit the clock moves with every kernel, and buckets with those before them. */
typedef struct moving_row {
    size_t row;
    adept_step step;
    adept_step_path path;
    adept_balance_slopes balance;
    adept_ready_slopes ready;
} moving_row;

static bool is_limited(const adept_step *step)
{
    return step->limited && !step->floored;
}

/* A kernel's share of what runs before a row's bucket. @param part  the kernel's first */
static void add_ready(moving_row *r, const adept_timed_slopes *slopes, const bucket_part *part, const bucket_part *end)
{
    double executions = 0.0;
    for (const uint32_t kernel = part < end ? part->kernel : 0; part < end && part->kernel == kernel; part++)
        if (part->bucket <= r->path.gradient) executions += part->executions;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS && executions > 0.0; i++) {
        r->ready.time_s[i] += executions * slopes->time_s[i];
        r->ready.clocked_s[i] += executions * slopes->clocked_s[i];
    }
}

/* All kernels, the optimizer's behind them: each to the list and to buckets, with its derivatives to the sums of slopes
 * too; or to those of `n` rows. */
static void add_kernels(state *s, const adept_operator_numbers *of_pass, bool gradient, moving_row *rows, size_t n)
{
    const pass *at = s->at;
    const bucket_part *part = at->buckets.parts, *end = part + at->buckets.n_parts;
    adept_timed_kernel t;
    adept_timed_slopes slopes, *wanted = gradient ? &slopes : NULL;
    for (size_t i = 0; i <= at->set.n; i++) {
        const adept_executions *executions = &at->set.executions[i];
        if (i < at->set.n)
            adept_operator_time_of(&t, wanted, &at->kernels[i], s->theta, at->menus, NULL);
        else
            adept_operator_optimizer_time(&t, wanted, of_pass, s->theta);
        if (n == 0) {
            adept_kernel_list_add(&s->list, &t, executions);
            if (gradient) adept_list_slopes_add(&s->slopes, &t, &slopes, executions);
        }
        for (size_t k = 0; k < n; k++) {
            if (is_limited(&rows[k].step))
                adept_balance_slopes_add(&rows[k].balance, &t, &slopes, adept_executions_all(executions),
                                         rows[k].step.clock_ratio, &s->list.board, &s->rows->rows[rows[k].row].numbers,
                                         s->theta);
            if (rows[k].path.ready != 0.0 && part < end && part->kernel == i) add_ready(&rows[k], &slopes, part, end);
        }
        for (; part < end && part->kernel == i; part++) {
            adept_span *before = &s->ready[part->bucket].before.kernels;
            if (n > 0) continue;
            before->clocked_s += part->executions * t.clocked_s;
            before->memory_s += part->executions * (t.time_s - t.clocked_s);
        }
    }
}

static void put(const state *s, const moving_row *r, bool gradient, const outputs *out)
{
    const adept_operator_numbers *n = &s->rows->rows[r->row].numbers;
    double dtime[ADEPT_OPERATOR_PARAMETERS], dpower[ADEPT_OPERATOR_PARAMETERS];
    if (out->time_s) out->time_s[r->row] = r->step.step_s;
    if (out->power_w) out->power_w[r->row] = n->gpus * r->step.power_w;
    if (!gradient) return;
    adept_operator_step_slopes(dtime, dpower, &r->step, &r->path, &s->list, &s->slopes, &r->ready, &r->balance, n,
                               s->theta);
    own_slopes(dtime, s->at, s->shared, s->theta);
    own_slopes(dpower, s->at, s->shared, s->theta);
    for (size_t k = 0; k < ADEPT_OPERATOR_PARAMETERS; k++) {
        if (out->dtime_s) out->dtime_s[r->row * ADEPT_OPERATOR_PARAMETERS + k] = dtime[k];
        if (out->dpower_w) out->dpower_w[r->row * ADEPT_OPERATOR_PARAMETERS + k] = n->gpus * dpower[k];
    }
}

static void put_moving(state *s, moving_row *rows, size_t n, const outputs *out)
{
    if (n == 0) return;
    for (size_t k = 0; k < n; k++) {
        rows[k].balance = (adept_balance_slopes){.by_clock = 0.0};
        rows[k].ready = (adept_ready_slopes){{0.0}, {0.0}};
    }
    add_kernels(s, &s->rows->rows[rows[0].row].numbers, true, rows, n);
    for (size_t k = 0; k < n; k++)
        put(s, &rows[k], true, out);
}

static void find_path(moving_row *r, const state *s)
{
    adept_task tasks[ADEPT_STEP_TASKS];
    adept_operator_path(&r->path, tasks, &r->step, &s->list, &s->rows->rows[r->row].numbers, NULL, 0.0, s->theta);
}

static void find_path_of_buckets(moving_row *r, const state *s)
{
    adept_task tasks[ADEPT_STEP_TASKS + 2 * MOST_BUCKETS];
    adept_operator_path(&r->path, tasks, &r->step, &s->list, &s->rows->rows[r->row].numbers, &s->buckets,
                        s->at->buckets.bucket_bytes, s->theta);
}

static void evaluate_pass(state *s, size_t index, const outputs *out)
{
    const pass *at = s->at;
    moving_row rows[CHUNK];
    size_t n = 0, first = 0;
    bool gradient = out->dtime_s || out->dpower_w;
    while (s->rows->rows[first].pass != index)
        first++;
    const adept_operator_numbers *of_pass = &s->rows->rows[first].numbers;
    const adept_board board = adept_board_of(s->theta, of_pass->tdp_w, of_pass->min_clock, of_pass->averages);
    adept_kernel_list_init(&s->list, &board, s->columns, MOST_KERNELS, s->cells);
    if (at->buckets.of) memcpy(s->ready, at->buckets.of, (at->buckets.n + 1) * sizeof *s->ready);
    if (gradient) memset(&s->slopes, 0, sizeof s->slopes);
    add_kernels(s, of_pass, gradient, NULL, 0);
    adept_kernel_list_close(&s->list);
    for (size_t i = 1; i <= at->buckets.n; i++) {
        adept_span *before = &s->ready[i].before.kernels;
        before->clocked_s += s->ready[i - 1].before.kernels.clocked_s;
        before->memory_s += s->ready[i - 1].before.kernels.memory_s;
    }
    if (at->buckets.of)
        s->buckets =
            (adept_buckets){at->buckets.n, s->ready, s->ready[at->buckets.n].before, s->ready[at->buckets.n].bytes};
    for (size_t i = first; i < s->rows->n_rows; i++) {
        const operator_row *row = &s->rows->rows[i];
        moving_row *r = &rows[n];
        if (row->pass != index) continue;
        r->row = i;
        r->balance.by_clock = 0.0;
        adept_operator_step(&r->step, &s->list, &row->numbers, row->in_buckets ? &s->buckets : NULL,
                            at->buckets.bucket_bytes, s->theta);
        if (gradient) (row->in_buckets ? find_path_of_buckets : find_path)(r, s);
        if (!gradient || !(is_limited(&r->step) || r->path.ready != 0.0)) {
            put(s, r, gradient, out);
            continue;
        }
        if (++n < CHUNK) continue;
        put_moving(s, rows, n, out);
        n = 0;
    }
    put_moving(s, rows, n, out);
}

void adept_operator_rows_evaluate(const adept_operator_rows *rows, const double *theta, double *time_s, double *power_w,
                                  double *dtime_s, double *dpower_w)
{
    const outputs out = {time_s, power_w, dtime_s, dpower_w};
    double own[ADEPT_OPERATOR_PARAMETERS];
    state s; /* large: not cleared */
    s.rows = rows;
    s.shared = theta;
    s.theta = own;
    for (size_t p = 0; p < rows->n_passes; p++) {
        s.at = &rows->passes[p];
        /* This GPU's own, as its framework has them. */
        memcpy(own, theta, ADEPT_OPERATOR_PARAMETERS * sizeof *own);
        for (size_t i = 0; s.at->shared && i < ADEPT_OPERATOR_PARAMETERS; i++)
            if (adept_operator_is_own(i)) own[i] = s.at->own[i];
        if (s.at->shared) adept_operator_own(own, theta, &s.at->owner);
        adept_operator_take_framework(own, s.at->framework);
        evaluate_pass(&s, p, &out);
    }
}

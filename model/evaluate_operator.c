/** @file evaluate_operator.c  Rows of granularity "operator"; see operator_step.h. */
#include "operator_step.h"
#include "operator_own.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass of one workload on one GPU: what all rows of it share. */
typedef struct pass {
    const adept_profile *profile; /* only compared while rows are added, never read later */
    adept_framework framework;
    const adept_hwprofile *hw;
    adept_kernel_set set;           /* owned */
    adept_operator_kernel *kernels; /* the set's, on the GPU; owned */
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
    bool shared; /* theta is several GPUs': this one's own follows from it */
    adept_operator_owner owner;
    double own[ADEPT_OPERATOR_PARAMETERS]; /* what it does not share */
} pass;

typedef struct operator_row {
    size_t pass;
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

/* This GPU's own, as its framework has them. */
static void own_theta(double own[ADEPT_OPERATOR_PARAMETERS], const pass *p, const double *theta)
{
    memcpy(own, theta, ADEPT_OPERATOR_PARAMETERS * sizeof *own);
    for (size_t i = 0; p->shared && i < ADEPT_OPERATOR_PARAMETERS; i++)
        if (adept_operator_is_own(i)) own[i] = p->own[i];
    if (p->shared) adept_operator_own(own, theta, &p->owner);
    adept_operator_take_framework(own, p->framework);
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
        status = adept_operator_place(&p->kernels[i], &p->set.shapes[i], at->profile->precision, at->hw, err);
    return status;
}

static adept_status add_row(adept_operator_rows *rows, size_t index, const adept_placement *at, adept_error *err)
{
    operator_row *r = &rows->rows[index];
    adept_placed placed;
    adept_status status = adept_place(&placed, NULL, at, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    r->numbers = adept_operator_numbers_of(&placed, at->hw);
    if (!(r->numbers.launches[ADEPT_PART_FORWARD] > 0.0))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: nothing to run, or a count out of range");
    for (r->pass = 0; r->pass < rows->n_passes; r->pass++)
        if (rows->passes[r->pass].profile == at->profile && rows->passes[r->pass].hw == at->hw) return ADEPT_OK;
    rows->n_passes++;
    return compile_pass(&rows->passes[r->pass], at, err);
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
    }
    free(r->passes);
    free(r->rows);
    free(r);
}

/* ---- evaluating ---- */

/* Distinct kernels that a step's list tells apart without allocating; the largest of the bundled models has 1700. */
#define MOST_KERNELS 2048
/* Rows under a limit of one pass that are worked out side by side: each kernel's law is evaluated once for them. */
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
} state;

/* All kernels, the optimizer's behind them: each to the list, with its derivatives to the sums of slopes too; or, of `n`
 * rows, to their balances at their clocks. */
static void add_kernels(state *s, const adept_operator_numbers *of_pass, bool gradient, const size_t *rows,
                        const adept_step *steps, adept_balance_slopes *balance, size_t n)
{
    adept_timed_kernel t;
    adept_timed_slopes slopes, *wanted = gradient ? &slopes : NULL;
    for (size_t i = 0; i <= s->at->set.n; i++) {
        const adept_executions *executions = &s->at->set.executions[i];
        if (i < s->at->set.n)
            adept_operator_time_of(&t, wanted, &s->at->kernels[i], s->theta, s->at->menus);
        else
            adept_operator_optimizer_time(&t, wanted, of_pass, s->theta);
        if (n == 0) {
            adept_kernel_list_add(&s->list, &t, executions);
            if (gradient) adept_list_slopes_add(&s->slopes, &t, &slopes, executions);
        }
        for (size_t k = 0; k < n; k++)
            adept_balance_slopes_add(&balance[k], &t, &slopes, adept_executions_all(executions), steps[k].clock_ratio,
                                     &s->list.board, &s->rows->rows[rows[k]].numbers, s->theta);
    }
}

static void put(const state *s, size_t row, const adept_step *step, const adept_balance_slopes *balance,
                const outputs *out)
{
    const adept_operator_numbers *n = &s->rows->rows[row].numbers;
    double dtime[ADEPT_OPERATOR_PARAMETERS], dpower[ADEPT_OPERATOR_PARAMETERS];
    if (out->time_s) out->time_s[row] = step->step_s;
    if (out->power_w) out->power_w[row] = n->gpus * step->power_w;
    if (!out->dtime_s && !out->dpower_w) return;
    adept_operator_step_slopes(dtime, dpower, step, &s->list, &s->slopes, balance, n, s->theta);
    own_slopes(dtime, s->at, s->shared, s->theta);
    own_slopes(dpower, s->at, s->shared, s->theta);
    for (size_t k = 0; k < ADEPT_OPERATOR_PARAMETERS; k++) {
        if (out->dtime_s) out->dtime_s[row * ADEPT_OPERATOR_PARAMETERS + k] = dtime[k];
        if (out->dpower_w) out->dpower_w[row * ADEPT_OPERATOR_PARAMETERS + k] = n->gpus * dpower[k];
    }
}

/* Rows whose clock moves with every kernel: their derivatives need all of them once more. */
static void put_limited(state *s, const size_t *rows, const adept_step *steps, size_t n, const outputs *out)
{
    adept_balance_slopes balance[CHUNK];
    memset(balance, 0, n * sizeof *balance);
    if (n == 0) return;
    add_kernels(s, &s->rows->rows[rows[0]].numbers, true, rows, steps, balance, n);
    for (size_t k = 0; k < n; k++)
        put(s, rows[k], &steps[k], &balance[k], out);
}

static void evaluate_pass(state *s, size_t index, const outputs *out)
{
    static const adept_balance_slopes none;
    adept_step steps[CHUNK];
    size_t limited[CHUNK], n = 0, first = 0;
    bool gradient = out->dtime_s || out->dpower_w;
    while (s->rows->rows[first].pass != index)
        first++;
    const adept_operator_numbers *of_pass = &s->rows->rows[first].numbers;
    const adept_board board = adept_board_of(s->theta, of_pass->tdp_w, of_pass->min_clock, of_pass->averages);
    adept_kernel_list_init(&s->list, &board, s->columns, MOST_KERNELS);
    if (gradient) memset(&s->slopes, 0, sizeof s->slopes);
    add_kernels(s, of_pass, gradient, NULL, NULL, NULL, 0);
    adept_kernel_list_close(&s->list);
    for (size_t i = first; i < s->rows->n_rows; i++) {
        if (s->rows->rows[i].pass != index) continue;
        adept_operator_step(&steps[n], &s->list, &s->rows->rows[i].numbers, NULL, 0.0, s->theta);
        if (!gradient || !steps[n].limited || steps[n].floored) {
            put(s, i, &steps[n], &none, out);
            continue;
        }
        limited[n++] = i;
        if (n < CHUNK) continue;
        put_limited(s, limited, steps, n, out);
        n = 0;
    }
    put_limited(s, limited, steps, n, out);
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
        own_theta(own, s.at, theta);
        evaluate_pass(&s, p, &out);
    }
}

/** @file evaluate_operator.c  Rows of granularity "operator"; see evaluate_operator.h. */
#include "evaluate_operator.h"
#include "operator_own.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A distinct kernel and how often each pass runs it. */
typedef struct counted_kernel {
    adept_operator_kernel kernel;
    double counts[2]; /* by adept_pass */
} counted_kernel;

/* One pass of one workload on one GPU: what all rows of it share. */
typedef struct pass {
    const adept_profile *profile; /* only compared while rows are added, never read later */
    const adept_hwprofile *hw;
    size_t n;
    counted_kernel *kernels; /* distinct ones */
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
    bool shared; /* theta is several GPUs': this one's own follows from it */
    adept_operator_owner owner;
    double p_static_w, bw_eff_bytes_per_s;
} pass;

typedef struct row {
    size_t pass;
    adept_operator_numbers numbers;
} row;

struct adept_operator_rows {
    size_t n_rows, n_passes;
    row *rows;
    pass *passes;
};

/* ---- compiling ---- */

static void add_kernel(pass *p, const adept_operator_kernel *k)
{
    for (size_t i = 0; i < p->n; i++) {
        if (!adept_operator_kernel_same(&p->kernels[i].kernel, k)) continue;
        p->kernels[i].counts[k->pass] += k->count;
        return;
    }
    p->kernels[p->n].kernel = *k;
    p->kernels[p->n++].counts[k->pass] = k->count;
}

static adept_status set_own(pass *p, const adept_hwprofile *hw, adept_error *err)
{
    double own[ADEPT_OPERATOR_PARAMETERS];
    p->shared = hw->transferred;
    if (!p->shared) return ADEPT_OK;
    adept_status status = adept_operator_parameters_get(own, hw, err);
    p->p_static_w = own[ADEPT_OP_p_static_w];
    p->bw_eff_bytes_per_s = own[ADEPT_OP_bw_eff_bytes_per_s];
    p->owner = adept_operator_owner_of(hw, p->p_static_w);
    return status;
}

static void own_theta(double own[ADEPT_OPERATOR_PARAMETERS], const pass *p, const double *theta)
{
    memcpy(own, theta, ADEPT_OPERATOR_PARAMETERS * sizeof *own);
    if (!p->shared) return;
    own[ADEPT_OP_p_static_w] = p->p_static_w;
    own[ADEPT_OP_bw_eff_bytes_per_s] = p->bw_eff_bytes_per_s;
    adept_operator_own(own, theta, &p->owner);
}

/* Derivatives by this GPU's own parameters to those by theta. */
static void own_slopes(double slopes[ADEPT_OPERATOR_PARAMETERS], const pass *p, const double *theta)
{
    if (!p->shared) return;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
        if (adept_operator_is_own(i)) slopes[i] = 0.0;
    adept_operator_own_slopes(slopes, theta, &p->owner);
}

static adept_status compile_pass(pass *p, const adept_placement *at, adept_error *err)
{
    const adept_profile *prof = at->profile;
    size_t most = 0;
    for (size_t i = 0; i < prof->n_ops; i++)
        most += prof->ops[i].n_kernels;
    *p = (pass){.profile = prof, .hw = at->hw, .kernels = calloc(most ? most : 1, sizeof *p->kernels)};
    if (!p->kernels) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", most);
    memcpy(p->menus, at->hw->tiles ? at->hw->tiles : adept_tile_menu_default, sizeof p->menus);
    adept_status own = set_own(p, at->hw, err);
    if (own != ADEPT_OK) return own;
    for (size_t i = 0; i < prof->n_ops; i++) {
        for (size_t j = 0; j < prof->ops[i].n_kernels; j++) {
            adept_operator_kernel k;
            adept_status status =
                adept_operator_kernel_of(&k, &prof->ops[i], &prof->ops[i].kernels[j], prof, at->hw, err);
            if (status != ADEPT_OK) return status;
            add_kernel(p, &k);
        }
    }
    return ADEPT_OK;
}

static adept_status add_row(adept_operator_rows *rows, size_t index, const adept_placement *at, adept_error *err)
{
    row *r = &rows->rows[index];
    adept_step step;
    adept_status status = adept_step_compile(&step, NULL, at, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    r->numbers = adept_operator_numbers_of(&step, &at->hw->specs);
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
    for (size_t i = 0; r->passes && i < r->n_passes; i++)
        free(r->passes[i].kernels);
    free(r->passes);
    free(r->rows);
    free(r);
}

/* ---- evaluating ---- */

/* Rows of one pass that are summed side by side: each kernel's law is evaluated once for them. */
#define CHUNK 8

typedef struct sum {
    size_t row;
    adept_operator_clock clock;
    adept_operator_total total;
    adept_operator_total_gradient by_theta;
} sum;

static adept_executions executions_of(const counted_kernel *k, double passes)
{
    return (adept_executions){.part = {passes * k->counts[ADEPT_FORWARD], passes * k->counts[ADEPT_BACKWARD]}};
}

/* The kernels of a pass at full clock. The optimizer, which rows need not share, comes on top. */
static void list_kernels(adept_operator_list *list, const pass *p, double passes, const double *theta)
{
    adept_operator_time t;
    list->n = 0;
    for (size_t k = 0; k < p->n; k++) {
        const adept_executions executions = executions_of(&p->kernels[k], passes);
        adept_operator_time_of(&t, &p->kernels[k].kernel, theta, p->menus, false);
        adept_operator_list_add(list, &t, &executions);
    }
}

static void add_to_all(sum *sums, size_t n, const adept_operator_rows *rows, const adept_operator_time *t,
                       const adept_executions *executions, const double *theta, bool gradient)
{
    for (size_t i = 0; i < n; i++)
        adept_operator_add(&sums[i].total, gradient ? &sums[i].by_theta : NULL, t, executions, sums[i].clock,
                           &rows->rows[sums[i].row].numbers, theta);
}

static void sum_chunk(sum *sums, size_t n, const adept_operator_rows *rows, const pass *p, const double *theta,
                      bool gradient)
{
    adept_operator_list list;
    adept_operator_time t;
    list_kernels(&list, p, rows->rows[sums[0].row].numbers.passes, theta);
    adept_operator_optimizer_time(&t, &rows->rows[sums[0].row].numbers, theta, false);
    adept_operator_list_add(&list, &t, &adept_optimizer_execution);
    for (size_t i = 0; i < n; i++) {
        const adept_operator_numbers *numbers = &rows->rows[sums[i].row].numbers;
        sums[i].clock = adept_operator_solve(&list, numbers, theta);
    }
    if (!gradient && list.n < ADEPT_OPERATOR_MAX_ENTRIES) { /* the list has all of it */
        for (size_t i = 0; i < n; i++)
            adept_operator_add_list(&sums[i].total, &list, sums[i].clock, &rows->rows[sums[i].row].numbers, theta);
        return;
    }
    for (size_t k = 0; k < p->n; k++) {
        const adept_executions executions = executions_of(&p->kernels[k], rows->rows[sums[0].row].numbers.passes);
        adept_operator_time_of(&t, &p->kernels[k].kernel, theta, p->menus, gradient);
        add_to_all(sums, n, rows, &t, &executions, theta, gradient);
    }
    adept_operator_optimizer_time(&t, &rows->rows[sums[0].row].numbers, theta, gradient);
    add_to_all(sums, n, rows, &t, &adept_optimizer_execution, theta, gradient);
}

static void finish(const sum *s, const adept_operator_numbers *n, const pass *p, const double *shared,
                   const double *theta, double *time_s, double *power_w, double *dtime_s, double *dpower_w)
{
    double dtime[ADEPT_OPERATOR_PARAMETERS], dpower[ADEPT_OPERATOR_PARAMETERS];
    adept_operator_state state = adept_operator_finish(&s->total, n, theta);
    if (time_s) time_s[s->row] = state.step_s;
    if (power_w) power_w[s->row] = n->gpus * state.power_w;
    if (!dtime_s && !dpower_w) return;
    adept_operator_finish_gradient(dtime, dpower, &s->by_theta, &s->total, &state, s->clock, n, theta);
    own_slopes(dtime, p, shared);
    own_slopes(dpower, p, shared);
    for (size_t k = 0; k < ADEPT_OPERATOR_PARAMETERS; k++) {
        if (dtime_s) dtime_s[s->row * ADEPT_OPERATOR_PARAMETERS + k] = dtime[k];
        if (dpower_w) dpower_w[s->row * ADEPT_OPERATOR_PARAMETERS + k] = n->gpus * dpower[k];
    }
}

void adept_operator_rows_evaluate(const adept_operator_rows *rows, const double *theta, double *time_s, double *power_w,
                                  double *dtime_s, double *dpower_w)
{
    sum sums[CHUNK];
    bool gradient = dtime_s || dpower_w;
    for (size_t p = 0; p < rows->n_passes; p++) {
        const pass *at = &rows->passes[p];
        double own[ADEPT_OPERATOR_PARAMETERS];
        own_theta(own, at, theta);
        for (size_t next = 0; next < rows->n_rows;) {
            size_t n = 0;
            for (; next < rows->n_rows && n < CHUNK; next++) {
                if (rows->rows[next].pass != p) continue;
                memset(&sums[n], 0, gradient ? sizeof sums[n] : offsetof(sum, by_theta));
                sums[n++].row = next;
            }
            if (n == 0) break;
            sum_chunk(sums, n, rows, at, own, gradient);
            for (size_t i = 0; i < n; i++)
                finish(&sums[i], &rows->rows[sums[i].row].numbers, at, theta, own, time_s, power_w, dtime_s, dpower_w);
        }
    }
}

/* ---- influence ---- */

static void note_influence(adept_influence *out, const adept_operator_rows *rows, const double *theta, size_t index)
{
    double dtime[ADEPT_OPERATOR_PARAMETERS], dpower[ADEPT_OPERATOR_PARAMETERS];
    for (size_t i = 0; i < rows->n_rows; i++) {
        sum s = {.row = i};
        const adept_operator_numbers *n = &rows->rows[i].numbers;
        const pass *at = &rows->passes[rows->rows[i].pass];
        double own[ADEPT_OPERATOR_PARAMETERS];
        own_theta(own, at, theta);
        sum_chunk(&s, 1, rows, at, own, true);
        adept_operator_state state = adept_operator_finish(&s.total, n, own);
        adept_operator_finish_gradient(dtime, dpower, &s.by_theta, &s.total, &state, s.clock, n, own);
        own_slopes(dtime, at, theta);
        own_slopes(dpower, at, theta);
        out->time = out->time || dtime[index] != 0.0;
        out->power = out->power || (isfinite(dpower[index]) && dpower[index] != 0.0);
    }
}

adept_influence adept_operator_rows_influence(const adept_operator_rows *rows, const double *defaults, size_t index)
{
    adept_influence out = {0};
    double theta[ADEPT_OPERATOR_PARAMETERS];
    memcpy(theta, defaults, sizeof theta);
    note_influence(&out, rows, theta, index);
    theta[ADEPT_OP_t_host_s] = adept_operator_parameter_info(ADEPT_OP_t_host_s)->high;
    note_influence(&out, rows, theta, index);
    bool without_limit = out.time;
    memcpy(theta, defaults, sizeof theta);
    for (int i = ADEPT_OP_e_simt_j; i <= ADEPT_OP_e_mem_j; i++)
        theta[i] = adept_operator_parameter_info((size_t)i)->high;
    theta[ADEPT_OP_t_host_s] = adept_operator_parameter_info(ADEPT_OP_t_host_s)->low;
    note_influence(&out, rows, theta, index);
    bool power_law = index >= ADEPT_OP_p_static_w && index < ADEPT_OPERATOR_PARAMETERS;
    out.time_by_limit_only = out.time && (power_law || !without_limit);
    return out;
}

/** @file kernel_fit.c  The kernel law fitted to measured kernels, one family after the other; see adept_kernels.h. */
#include "kernel_fit.h"
#include "adept_operator_model.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

/* Which tiles a library uses, from the times of its kernels: greedy search over short menus. With one tile missing,
 * the law is off by tens of percent wherever the library would use it; with one too many, the law is too fast wherever
 * the library does not. So tiles are added one at a time, the parameters fitted anew with each, and a tile must pay for
 * itself. */

#define SEARCH_EVALUATIONS 40
#define CHOSEN_EVALUATIONS 200 /* else the next tile would be paid for with what this one's parameters still owe */
#define LEAST_GAIN 0.015       /* of the loss, relative */
#define MAX_MENU 4
#define MAX_CANDIDATES 64

static const struct {
    double m, n;
} tile_sides[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}, {128, 32},
                  {32, 128},  {64, 32},   {32, 64},   {32, 32},  {16, 128}, {128, 16}, {16, 64},  {64, 16}};
#define N_SIDES (sizeof tile_sides / sizeof tile_sides[0])
static const int winograd_sides[] = {0, 2, 4};

typedef struct search {
    const adept_kernel_problem *problem;
    adept_tile_menu menu; /* so far */
    const double *x;      /* start */
    size_t n;
    adept_tile candidates[MAX_CANDIDATES];
    double loss[MAX_CANDIDATES];
    double found[MAX_CANDIDATES][ADEPT_KERNEL_MAX_FREE];
    adept_status status[MAX_CANDIDATES];
    adept_error err[MAX_CANDIDATES];
} search;

static bool on_menu(const adept_tile_menu *menu, const adept_tile *tile)
{
    for (size_t i = 0; i < menu->n; i++)
        if (menu->tiles[i].winograd == tile->winograd && menu->tiles[i].m == tile->m && menu->tiles[i].n == tile->n)
            return true;
    return false;
}

static void try_candidates(void *context, int worker, size_t begin, size_t end)
{
    search *s = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        adept_tile_menu menu = s->menu;
        menu.tiles[menu.n++] = s->candidates[i];
        memcpy(s->found[i], s->x, sizeof s->found[i]);
        s->status[i] =
            adept_kernel_descend(s->problem, &menu, s->found[i], &s->loss[i], SEARCH_EVALUATIONS, &s->err[i]);
    }
}

/* Of all candidates on top of the menu so far. */
static adept_status find_best(size_t *best, search *s, adept_pool *pool, adept_error *err)
{
    /* Winograd's algorithm serves few shapes, so the first tile of a menu is a plain one. */
    s->n = 0;
    size_t algorithms = s->problem->family == ADEPT_FAMILY_CONV && s->menu.n > 0 ? 3 : 1;
    for (size_t a = 0; a < algorithms; a++) {
        for (size_t i = 0; i < N_SIDES && s->n < MAX_CANDIDATES; i++) {
            adept_tile tile = {winograd_sides[a], tile_sides[i].m, tile_sides[i].n};
            if (!on_menu(&s->menu, &tile)) s->candidates[s->n++] = tile;
        }
    }
    adept_pool_run(pool, try_candidates, s, s->n, 1);
    *best = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->status[i] != ADEPT_OK) return adept_error_set(err, s->status[i], "%s", s->err[i].message);
        if (s->loss[i] < s->loss[*best]) *best = i;
    }
    return ADEPT_OK;
}

/* Find the tiles that the library seems to have: the best single one, then others while they help. x is warm-started
 *  and becomes the parameters of the menu found. The result does not depend on the number of threads. */
static adept_status choose_tiles(const adept_kernel_problem *p, adept_tile_menu *menu, double *x, adept_pool *pool,
                                 adept_error *err)
{
    search *s = calloc(1, sizeof *s);
    double loss = INFINITY, start[ADEPT_KERNEL_MAX_FREE];
    adept_status status = ADEPT_OK;
    if (!s) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the search of tiles");
    s->problem = p;
    s->x = start;
    while (status == ADEPT_OK && s->menu.n < MAX_MENU) {
        size_t best;
        memcpy(start, x, sizeof start);
        status = find_best(&best, s, pool, err);
        if (status != ADEPT_OK || !(s->loss[best] < loss * (1.0 - LEAST_GAIN))) break;
        s->menu.tiles[s->menu.n++] = s->candidates[best];
        memcpy(x, s->found[best], sizeof s->found[best]);
        status = adept_kernel_descend(p, &s->menu, x, &loss, CHOSEN_EVALUATIONS, err);
    }
    *menu = s->menu;
    free(s);
    return status;
}

/* Errors of the kernel law, beside those of a roofline with one fitted factor. */

#define SHORT_S 1e-4

/* No kernel of this sheet is faster. */
static double roofline_s(const adept_kernel_row *row)
{
    const adept_kernel_case *c = &row->work;
    const adept_kernel_gpu *gpu = &row->on;
    double keys = c->causal > 0.0 ? adept_kernel_causal_keys(c->m, c->n, c->causal, 1.0) : c->n;
    double product_s = 2.0 * c->m * keys * c->k * c->batch / gpu->flops_per_s;
    return fmax(fmax(product_s, c->alu_flops / gpu->alu_flops_per_s), c->bytes / gpu->bytes_per_s);
}

/* Errors on the rows of one operator (NULL: all) and one GPU (SIZE_MAX: all) below a time, beside those of a roofline.
 */
static adept_kernel_error errors_of(const adept_kernel_fit *fit, const adept_kernel_row *rows, size_t n, const char *op,
                                    size_t gpu, double below_s, double factor, double *scratch)
{
    adept_kernel_error e = {0};
    for (size_t i = 0; i < n; i++) {
        if ((op && strcmp(op, rows[i].op) != 0) || (gpu != SIZE_MAX && rows[i].gpu != gpu) ||
            !(rows[i].time_s < below_s))
            continue;
        double error = adept_kernel_row_predict_s(fit, &rows[i]) / rows[i].time_s - 1.0;
        scratch[e.n++] = fabs(error);
        e.mape += fabs(error);
        e.bias += error;
        e.roofline_mape += fabs(factor * roofline_s(&rows[i]) / rows[i].time_s - 1.0);
    }
    if (e.n == 0) return e;
    gsl_sort(scratch, 1, e.n);
    e.median = 100.0 * gsl_stats_median_from_sorted_data(scratch, 1, e.n);
    e.p90 = 100.0 * gsl_stats_quantile_from_sorted_data(scratch, 1, e.n, 0.9);
    e.mape *= 100.0 / (double)e.n;
    e.bias *= 100.0 / (double)e.n;
    e.roofline_mape *= 100.0 / (double)e.n;
    return e;
}

static bool is_listed(const adept_kernel_fit *fit, size_t first, const char *op)
{
    for (size_t i = first; i < fit->n_ops; i++)
        if (strcmp(fit->ops[i].op, op) == 0) return true;
    return false;
}

bool adept_kernel_score(adept_kernel_fit *fit, adept_kernel_family family, const adept_kernel_row *fitted,
                        size_t n_fitted, const adept_kernel_row *held_out, size_t n_held_out)
{
    size_t first = fit->n_ops;
    double *scratch = calloc(n_fitted + n_held_out + 1, sizeof *scratch);
    if (!scratch) return false;
    /* Measured over roofline, the median: the factor that makes the roofline's absolute log error smallest. */
    for (size_t i = 0; i < n_fitted; i++)
        scratch[i] = fitted[i].time_s / roofline_s(&fitted[i]);
    gsl_sort(scratch, 1, n_fitted);
    double factor = n_fitted ? gsl_stats_median_from_sorted_data(scratch, 1, n_fitted) : 1.0;
    fit->in_sample[family] = errors_of(fit, fitted, n_fitted, NULL, SIZE_MAX, INFINITY, factor, scratch);
    fit->held_out[family] = errors_of(fit, held_out, n_held_out, NULL, SIZE_MAX, INFINITY, factor, scratch);
    for (size_t gpu = 0; gpu < fit->n_gpus; gpu++)
        fit->gpu_held_out[family][gpu] = errors_of(fit, held_out, n_held_out, NULL, gpu, INFINITY, factor, scratch);
    for (size_t i = 0; i < n_held_out && fit->n_ops < ADEPT_KERNEL_MAX_OPS; i++) {
        const char *op = held_out[i].op;
        if (is_listed(fit, first, op)) continue;
        memcpy(fit->ops[fit->n_ops].op, op, sizeof held_out[i].op);
        fit->ops[fit->n_ops].family = family;
        fit->ops[fit->n_ops].short_held_out =
            errors_of(fit, held_out, n_held_out, op, SIZE_MAX, SHORT_S, factor, scratch);
        fit->ops[fit->n_ops++].held_out = errors_of(fit, held_out, n_held_out, op, SIZE_MAX, INFINITY, factor, scratch);
    }
    free(scratch);
    return true;
}

#define HELD_OUT 0.2
#define ROWS_PER_FAMILY 2000
#define ROWS_OF_EACH_GPU 1000 /* where there are several */
#define MIN_ROWS 50
#define MOST_EVALUATIONS 400

/* Of a parameter: bounds, default, and spread of its logarithm. */
typedef struct range {
    double low, high, fallback, prior;
} range;

/* Overhead parameters come behind those of the law. */
enum { EVENT, THROTTLE, ONSET, DRIFT, N_OVERHEAD };
static const range overhead_range[N_OVERHEAD] = {
    [EVENT] = {1e-6, 1e-3, 3e-5, 0.7},
    [THROTTLE] = {1e-3, 5, 0.05, 1.0},
    [ONSET] = {1e-3, 1, 0.02, 1.0},
    [DRIFT] = {1e-12, 1e-5, 1e-9, 3.0}, /* none, unless rows show it */
};

/* What each family fits; earlier families' values stay. -1 ends the list. */
static const int family_parameters[ADEPT_FAMILY_COUNT][12] = {
    [ADEPT_FAMILY_STREAM] = {ADEPT_KP_beta_mem, ADEPT_KP_beta_alu, -1},
    [ADEPT_FAMILY_SOFTMAX] = {ADEPT_KP_c_softmax, ADEPT_KP_c_softmax_wide, -1},
    [ADEPT_FAMILY_NORM] = {ADEPT_KP_c_norm, ADEPT_KP_c_norm_wide, ADEPT_KP_row_norm_s, -1},
    [ADEPT_FAMILY_BATCH_NORM] = {-1}, /* no measurements have these */
    [ADEPT_FAMILY_DEPTHWISE] = {-1},
    [ADEPT_FAMILY_ATTENTION] = {ADEPT_KP_beta_attention, ADEPT_KP_c_exp, ADEPT_KP_c_wide_heads,
                                ADEPT_KP_wave_attention_s, ADEPT_KP_reload_attention, ADEPT_KP_cache_attention,
                                ADEPT_KP_clock_flops_attention, ADEPT_KP_c_attention_back, ADEPT_KP_around_attention,
                                -1},
    [ADEPT_FAMILY_TENSOR] = {ADEPT_KP_beta_tensor, ADEPT_KP_r_tile_tensor, ADEPT_KP_r_depth_tensor,
                             ADEPT_KP_wave_tensor_s, ADEPT_KP_reload_tensor, ADEPT_KP_split_tensor_s,
                             ADEPT_KP_cache_tensor, -1},
    [ADEPT_FAMILY_GEMM] = {ADEPT_KP_beta_gemm, ADEPT_KP_r_tile_gemm, ADEPT_KP_r_depth_gemm, ADEPT_KP_wave_gemm_s,
                           ADEPT_KP_reload_gemm, ADEPT_KP_split_s, ADEPT_KP_r_pitch_bytes, ADEPT_KP_c_pages, -1},
    [ADEPT_FAMILY_BMM] = {ADEPT_KP_beta_bmm, ADEPT_KP_r_tile_bmm, ADEPT_KP_r_depth_bmm, ADEPT_KP_wave_bmm_s,
                          ADEPT_KP_reload_bmm, -1},
    [ADEPT_FAMILY_CONV] = {ADEPT_KP_beta_conv, ADEPT_KP_r_tile_conv, ADEPT_KP_r_depth_conv, ADEPT_KP_wave_conv_s,
                           ADEPT_KP_reload_conv, ADEPT_KP_c_transform, -1},
};
static const adept_kernel_family order[] = {ADEPT_FAMILY_TENSOR,  ADEPT_FAMILY_ATTENTION, ADEPT_FAMILY_STREAM,
                                            ADEPT_FAMILY_SOFTMAX, ADEPT_FAMILY_NORM,      ADEPT_FAMILY_GEMM,
                                            ADEPT_FAMILY_BMM,     ADEPT_FAMILY_CONV};

/* ---------------------------------------------------------------- prediction ------------------------------------ */

static double call_s(double kernel_s, double earlier, const adept_kernel_overhead *o)
{
    return kernel_s * (1.0 + o->throttle * kernel_s / (kernel_s + o->onset_s)) + o->event_s + o->drift_s * earlier;
}

double adept_kernel_row_predict_s(const adept_kernel_fit *fit, const adept_kernel_row *row)
{
    double kernel_s = adept_kernel_law(&row->work, &row->on, fit->theta, fit->menus, 0.0, NULL).time_s;
    return call_s(kernel_s, row->earlier, &fit->overhead[row->work.family][row->gpu]);
}

/* ---------------------------------------------------------------- objective ------------------------------------- */

static range range_of(const adept_kernel_problem *p, size_t i)
{
    if (i >= p->n_law) return overhead_range[(i - p->n_law) % N_OVERHEAD];
    const adept_parameter_info *info = adept_operator_parameter_info((size_t)p->law[i]);
    return (range){info->low, info->high, info->fallback, adept_operator_parameter_prior((size_t)p->law[i])};
}

static size_t n_free(const adept_kernel_problem *p)
{
    return p->n_law + N_OVERHEAD * p->n_gpus;
}

static void unpack(const adept_kernel_problem *p, const double *x, double *theta, adept_kernel_overhead *overheads)
{
    memcpy(theta, p->theta, sizeof p->theta);
    for (size_t i = 0; i < p->n_law; i++)
        theta[p->law[i]] = exp(x[i]);
    for (size_t g = 0; g < p->n_gpus; g++) {
        const double *of_gpu = x + p->n_law + N_OVERHEAD * g;
        overheads[g] =
            (adept_kernel_overhead){exp(of_gpu[EVENT]), exp(of_gpu[THROTTLE]), exp(of_gpu[ONSET]), exp(of_gpu[DRIFT])};
    }
}

/* One row's part of the loss, and of the gradient if that is wanted. */
static double add_row(const adept_kernel_problem *p, size_t r, const double *theta, const adept_tile_menu *menus,
                      const adept_kernel_overhead *overheads, double *gradient)
{
    const adept_kernel_row *row = &p->rows[r];
    const adept_kernel_overhead *o = &overheads[row->gpu];
    double weight = p->weights ? p->weights[r] : 1.0;
    adept_kernel_gradient by_theta;
    if (gradient) memset(&by_theta, 0, sizeof by_theta);
    double kernel_s = adept_kernel_law(&row->work, &row->on, theta, menus, 1.0, gradient ? &by_theta : NULL).time_s;
    double predicted_s = call_s(kernel_s, row->earlier, o), log_ratio = log(predicted_s / row->time_s);
    double rounded = sqrt(log_ratio * log_ratio + p->smoothing * p->smoothing);
    if (!gradient) return weight * rounded;
    double slope = weight * log_ratio / rounded / predicted_s, late = kernel_s + o->onset_s;
    double by_kernel = 1.0 + o->throttle * (kernel_s * kernel_s + 2.0 * kernel_s * o->onset_s) / (late * late);
    double *by_overhead = gradient + p->n_law + N_OVERHEAD * row->gpu;
    for (size_t i = 0; i < p->n_law; i++)
        gradient[i] += slope * by_kernel * by_theta.time_s[p->law[i]] * theta[p->law[i]];
    by_overhead[EVENT] += slope * o->event_s;
    by_overhead[DRIFT] += slope * o->drift_s * row->earlier;
    by_overhead[THROTTLE] += slope * o->throttle * kernel_s * kernel_s / late;
    by_overhead[ONSET] -= slope * o->throttle * kernel_s * kernel_s / (late * late) * o->onset_s;
    return weight * rounded;
}

/* Mean |log(predicted / measured)|, its corner at 0 rounded, plus the priors in the weight of a few rows each. */
double adept_kernel_loss(const adept_kernel_problem *p, const adept_tile_menu *menu, const double *x, double *gradient)
{
    double theta[ADEPT_KP_COUNT], loss = 0.0;
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
    adept_kernel_overhead overheads[ADEPT_KERNEL_MAX_GPUS];
    size_t n = n_free(p);
    unpack(p, x, theta, overheads);
    memcpy(menus, adept_tile_menu_default, sizeof menus);
    if (p->family < ADEPT_TILED_FAMILIES) menus[p->family] = *menu;
    if (gradient) memset(gradient, 0, n * sizeof *gradient);
    for (size_t r = 0; r < p->n; r++)
        loss += add_row(p, r, theta, menus, overheads, gradient);
    for (size_t i = 0; i < n; i++) {
        range r = range_of(p, i);
        double z = (x[i] - log(r.fallback)) / r.prior;
        loss += 0.5 * p->prior_weight * z * z;
        if (gradient) gradient[i] = (gradient[i] + p->prior_weight * z / r.prior) / (double)p->n;
    }
    return loss / (double)p->n;
}

typedef struct descent {
    const adept_kernel_problem *problem;
    const adept_tile_menu *menu;
    nlopt_opt opt;
} descent;

static double objective(unsigned n, const double *x, double *gradient, void *data)
{
    descent *d = data;
    (void)n;
    if (d->problem->stop && *d->problem->stop) nlopt_force_stop(d->opt);
    double loss = adept_kernel_loss(d->problem, d->menu, x, gradient);
    return isfinite(loss) ? loss : HUGE_VAL;
}

adept_status adept_kernel_descend(const adept_kernel_problem *p, const adept_tile_menu *menu, double *x, double *loss,
                                  int max_evaluations, adept_error *err)
{
    size_t n = n_free(p);
    double low[ADEPT_KERNEL_MAX_FREE], high[ADEPT_KERNEL_MAX_FREE];
    descent d = {p, menu, nlopt_create(NLOPT_LD_LBFGS, (unsigned)n)};
    if (!d.opt) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the kernel fit");
    for (size_t i = 0; i < n; i++) {
        low[i] = log(range_of(p, i).low);
        high[i] = log(range_of(p, i).high);
    }
    nlopt_set_min_objective(d.opt, objective, &d);
    nlopt_set_lower_bounds(d.opt, low);
    nlopt_set_upper_bounds(d.opt, high);
    nlopt_set_ftol_rel(d.opt, 1e-6);
    nlopt_set_maxeval(d.opt, max_evaluations);
    nlopt_result result = nlopt_optimize(d.opt, x, loss);
    nlopt_destroy(d.opt);
    if (p->stop && *p->stop) return adept_error_set(err, ADEPT_E_FIT, "the kernel fit was stopped");
    if (result == NLOPT_OUT_OF_MEMORY) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the kernel fit");
    *loss = adept_kernel_loss(p, menu, x, NULL);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- one family ------------------------------------ */

static void begin(adept_kernel_problem *p, const adept_kernel_fit *fit, double *x)
{
    p->n_law = 0;
    memcpy(p->theta, fit->theta, sizeof p->theta);
    for (const int *parameter = family_parameters[p->family]; *parameter >= 0; parameter++)
        p->law[p->n_law++] = *parameter;
    for (size_t i = 0; i < n_free(p); i++)
        x[i] = log(range_of(p, i).fallback);
}

/* Of matrix units tiles are known that a search, which adds them one by one, does not find: all of them pay together.
 */
static adept_status try_known_tiles(const adept_kernel_fit *fit, adept_kernel_problem *p, adept_tile_menu *menu,
                                    double *x, double loss, adept_error *err)
{
    const adept_tile_menu *known = &adept_tile_menu_default[p->family];
    double known_x[ADEPT_KERNEL_MAX_FREE], known_loss = INFINITY;
    begin(p, fit, known_x);
    adept_status status = adept_kernel_descend(p, known, known_x, &known_loss, MOST_EVALUATIONS, err);
    if (status != ADEPT_OK || !(known_loss < loss)) return status;
    *menu = *known;
    memcpy(x, known_x, n_free(p) * sizeof *x);
    return ADEPT_OK;
}

static adept_status fit_family(adept_kernel_fit *fit, adept_kernel_problem *p, adept_pool *pool, adept_error *err)
{
    double x[ADEPT_KERNEL_MAX_FREE], loss = INFINITY;
    adept_tile_menu menu = {0};
    adept_status status = ADEPT_OK;
    begin(p, fit, x);
    if (p->family < ADEPT_TILED_FAMILIES) status = choose_tiles(p, &menu, x, pool, err);
    if (status == ADEPT_OK) status = adept_kernel_descend(p, &menu, x, &loss, MOST_EVALUATIONS, err);
    if (status == ADEPT_OK && p->family == ADEPT_FAMILY_TENSOR) status = try_known_tiles(fit, p, &menu, x, loss, err);
    if (status != ADEPT_OK) return status;
    unpack(p, x, fit->theta, fit->overhead[p->family]);
    for (size_t i = 0; i < p->n_law; i++)
        fit->fitted[p->law[i]] = true;
    if (p->family < ADEPT_TILED_FAMILIES) fit->menus[p->family] = menu;
    return ADEPT_OK;
}

/* Rows of one family, long enough to be seen behind the overhead, in random order: those to fit, and those held out. */
typedef struct drawing {
    const adept_kernel_rows *rows; /* of all families */
    size_t n_gpus;
    size_t most; /* to fit, of each GPU */
    gsl_rng *rng;
    adept_kernel_row *fitted, *held_out, *room; /* `room` for one GPU's */
    double *weights;
    size_t n_fitted, n_held_out, n_gpus_drawn;
} drawing;

static void draw_gpu(drawing *d, adept_kernel_family family, size_t gpu)
{
    size_t n = 0;
    for (size_t i = 0; i < d->rows->n; i++) {
        const adept_kernel_row *row = &d->rows->rows[i];
        if (row->gpu == gpu && row->work.family == family && row->time_s >= row->least_s) d->room[n++] = *row;
    }
    if (n < MIN_ROWS) return;
    gsl_ran_shuffle(d->rng, d->room, n, sizeof *d->room);
    size_t kept = n - (size_t)(HELD_OUT * (double)n), used = kept < d->most ? kept : d->most;
    memcpy(d->fitted + d->n_fitted, d->room, used * sizeof *d->room);
    for (size_t i = 0; i < used; i++)
        d->weights[d->n_fitted + i] = 1.0 / (double)used;
    d->n_fitted += used;
    memcpy(d->held_out + d->n_held_out, d->room + kept, (n - kept) * sizeof *d->room);
    d->n_held_out += n - kept;
    d->n_gpus_drawn++;
}

static adept_status fit_and_score(adept_kernel_fit *fit, drawing *d, const volatile sig_atomic_t *stop,
                                  adept_pool *pool, adept_error *err)
{
    size_t n_families = 0;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        adept_kernel_family family = order[i];
        d->n_fitted = d->n_held_out = d->n_gpus_drawn = 0;
        for (size_t gpu = 0; gpu < d->n_gpus; gpu++)
            draw_gpu(d, family, gpu);
        for (size_t k = 0; k < d->n_fitted; k++) /* 1 on average */
            d->weights[k] *= (double)d->n_fitted / (double)d->n_gpus_drawn;
        if (d->n_fitted == 0) continue;
        adept_kernel_problem p = {.rows = d->fitted,
                                  .n = d->n_fitted,
                                  .weights = d->n_gpus > 1 ? d->weights : NULL,
                                  .n_gpus = d->n_gpus,
                                  .family = family,
                                  .smoothing = 0.01,
                                  .prior_weight = 0.1,
                                  .stop = stop};
        adept_status status = fit_family(fit, &p, pool, err);
        if (status != ADEPT_OK) return status;
        if (!adept_kernel_score(fit, family, d->fitted, d->n_fitted, d->held_out, d->n_held_out))
            return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the kernel fit");
        n_families++;
    }
    if (n_families > 0) return ADEPT_OK;
    return adept_error_set(
        err, ADEPT_E_FIT,
        "no family of kernels has the %d rows that a fit needs of at least 0.1 ms, or 10 us by graph or profiler",
        MIN_ROWS);
}

adept_status adept_kernel_fit_run(adept_kernel_fit *out, const adept_kernel_rows *rows,
                                  const adept_kernel_fit_options *options, adept_error *err)
{
    adept_kernel_fit fit = {.n_gpus = 1};
    for (size_t i = 0; i < rows->n; i++)
        if (rows->rows[i].gpu >= fit.n_gpus) fit.n_gpus = rows->rows[i].gpu + 1;
    if (fit.n_gpus > ADEPT_KERNEL_MAX_GPUS)
        return adept_error_set(err, ADEPT_E_USAGE, "kernels of more than %d GPUs", ADEPT_KERNEL_MAX_GPUS);
    drawing d = {.rows = rows,
                 .n_gpus = fit.n_gpus,
                 .most = options->rows_per_family ? options->rows_per_family
                         : fit.n_gpus > 1         ? ROWS_OF_EACH_GPU
                                                  : ROWS_PER_FAMILY,
                 .rng = gsl_rng_alloc(gsl_rng_mt19937),
                 .fitted = calloc(3 * (rows->n + 1), sizeof *d.fitted),
                 .weights = calloc(rows->n + 1, sizeof *d.weights)};
    adept_pool *pool = adept_pool_new(options->threads);
    adept_status status;
    if (d.rng && d.fitted && d.weights && pool) {
        d.held_out = d.fitted + rows->n + 1;
        d.room = d.held_out + rows->n + 1;
        gsl_rng_set(d.rng, (unsigned long)options->seed);
        for (size_t i = 0; i < ADEPT_KP_COUNT; i++)
            fit.theta[i] = adept_operator_parameter_info(i)->fallback;
        memcpy(fit.menus, adept_tile_menu_default, sizeof fit.menus);
        status = fit_and_score(&fit, &d, options->stop, pool, err);
    } else {
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the kernel fit");
    }
    if (d.rng) gsl_rng_free(d.rng);
    free(d.fitted);
    free(d.weights);
    adept_pool_free(pool);
    if (status == ADEPT_OK) *out = fit;
    return status;
}

/** @file evaluate.c  The evaluator: its parameters, its rows in blocks, and evaluating them; see adept_evaluate.h. */
#include "adept_evaluate.h"
#include "node.h"
#include "operator_step.h"
#include "thesis.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_MODEL_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))
#define MAX_NAME_SIZE 64

/* Entries of theta before the scalars. */
#define MAX_PARAMETERS                                                                                                 \
    ((size_t)ADEPT_OPERATOR_PARAMETERS > N_MODEL_PARAMETERS ? (size_t)ADEPT_OPERATOR_PARAMETERS : N_MODEL_PARAMETERS)

struct adept_evaluator {
    size_t n_rows, n_blocks, n_scalars, n_parameters; /* n_parameters: of the granularity */
    adept_row_block *blocks;
    adept_pieces pieces; /* the blocks' */
    adept_operator_rows *operator_rows; /* granularity "operator": then there are no blocks */
    adept_node_law
        *nodes; /* of rows whose power is their nodes'; by_boards 0: the boards'. NULL: there is no such row */
    size_t static_w, host_idle_w, host_active_w; /* what the laws depend on: indices of parameters */
    adept_saturation_kind saturation;
    double defaults[MAX_PARAMETERS + ADEPT_MAX_SCALARS];
    adept_parameter_info infos[MAX_PARAMETERS + ADEPT_MAX_SCALARS];
    char scalar_names[ADEPT_MAX_SCALARS][MAX_NAME_SIZE];
    char scalar_meanings[ADEPT_MAX_SCALARS][512];
};

/* ---- parameters ---- */

static adept_status check_scalars(const adept_evaluator *e, const adept_scalar *scalars, size_t n, adept_error *err)
{
    if (n > ADEPT_MAX_SCALARS)
        return adept_error_set(err, ADEPT_E_USAGE, "%zu targeted scalars are more than %d", n, ADEPT_MAX_SCALARS);
    for (size_t i = 0; i < n; i++) {
        adept_status status = adept_scalar_check(&scalars[i], err);
        if (status != ADEPT_OK) return status;
        bool taken = false;
        for (size_t j = 0; j < e->n_parameters; j++)
            taken = taken || strcmp(scalars[i].name, e->infos[j].name) == 0;
        for (size_t j = 0; j < i; j++)
            taken = taken || strcmp(scalars[i].name, scalars[j].name) == 0;
        if (taken)
            return adept_error_set(err, ADEPT_E_USAGE, "scalar %s: the name is that of another parameter",
                                   scalars[i].name);
    }
    return ADEPT_OK;
}

/* Of rows on several GPUs, the set they share; what each has of its own is then the first one's. */
static adept_status operator_defaults(double *theta, const adept_hwprofile *hw, adept_error *err)
{
    double own[ADEPT_OPERATOR_PARAMETERS];
    adept_status status = adept_operator_parameters_get(own, hw, err);
    memcpy(theta, own, sizeof own);
    if (status != ADEPT_OK || !hw->transferred) return status;
    status = adept_operator_parameters_shared(theta, hw, err);
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
        if (adept_operator_is_own(i)) theta[i] = own[i];
    return status;
}

/* ---- rows ---- */

/* Say which row the message is about. */
static adept_status in_row(adept_error *err, size_t row, adept_status status)
{
    if (!err || status == ADEPT_OK) return status;
    char message[sizeof err->message];
    snprintf(message, sizeof message, "row %zu: %.*s", row, (int)sizeof message - 32, err->message);
    return adept_error_set(err, status, "%s", message);
}

static adept_status add_row(adept_evaluator *e, adept_row_block *b, const adept_placement *at,
                            const adept_scalar *scalars, adept_error *err)
{
    adept_placed placed;
    e->pieces.first = e->pieces.n;
    e->pieces.row = (uint16_t)b->n;
    adept_status status = adept_place(&placed, &e->pieces, at, scalars, e->n_scalars, err);
    if (status != ADEPT_OK) return status;
    double sum = placed.numbers.pass[ADEPT_PASS_LAUNCHES] + placed.numbers.pass[ADEPT_PASS_OPT_S];
    for (int i = 0; i < ADEPT_WORK_OPT; i++)
        sum += placed.numbers.work[i];
    for (size_t i = e->pieces.first; i < e->pieces.n; i++)
        if (e->pieces.items[i].column != ADEPT_WORK_OPT) sum += e->pieces.items[i].amount;
    bool has_dimensions = true; /* 0 saturates to 0, where work would take forever */
    for (int i = 0; i < ADEPT_DIMENSIONS; i++)
        has_dimensions = has_dimensions && placed.numbers.dim[i] > 0.0;
    if (!(sum > 0.0 && isfinite(sum) && has_dimensions))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: nothing to run, or a count out of range");
    adept_row_block_add(b, &placed.numbers);
    b->n_pieces += e->pieces.n - e->pieces.first;
    return ADEPT_OK;
}

/* ---- either granularity ---- */

static adept_status fill_operator(adept_evaluator *e, const adept_placement *rows, const char *saturation,
                                  adept_error *err)
{
    size_t row = 0;
    if (e->n_scalars > 0)
        return adept_error_set(err, ADEPT_E_USAGE, "targeted scalars belong to granularity \"model\"");
    e->saturation = ADEPT_SATURATION_SIGMOID;
    adept_status status = adept_operator_check_saturation(saturation, err);
    if (status != ADEPT_OK) return status;
    status = adept_operator_rows_new(&e->operator_rows, rows, e->n_rows, &row, err);
    return in_row(err, row, status);
}

static adept_status fill_model(adept_evaluator *e, const adept_placement *rows, const char *saturation,
                               const adept_scalar *scalars, adept_error *err)
{
    e->n_blocks = (e->n_rows - 1) / ADEPT_BLOCK_ROWS + 1;
    e->blocks = calloc(e->n_blocks, sizeof *e->blocks);
    if (!e->blocks) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", e->n_rows);
    adept_status status = check_scalars(e, scalars, e->n_scalars, err);
    for (size_t i = 0; i < e->n_scalars && status == ADEPT_OK; i++) {
        snprintf(e->scalar_names[i], sizeof e->scalar_names[i], "%s", scalars[i].name);
        snprintf(e->scalar_meanings[i], sizeof e->scalar_meanings[i], "time multiplier of %s where %s is %s",
                 adept_term_name(scalars[i].term), adept_scalar_target_name(scalars[i].target), scalars[i].pattern);
        e->infos[e->n_parameters + i] = (adept_parameter_info){
            .name = e->scalar_names[i],
            .low = ADEPT_SCALAR_LOW,
            .high = ADEPT_SCALAR_HIGH,
            .fallback = 1.0,
            .log_scale = true,
            .meaning = e->scalar_meanings[i],
        };
        e->defaults[e->n_parameters + i] = fmin(ADEPT_SCALAR_HIGH, fmax(ADEPT_SCALAR_LOW, scalars[i].value));
    }
    if (status == ADEPT_OK) status = adept_saturation_of(&e->saturation, saturation, rows[0].hw, err);
    if (status == ADEPT_OK) {
        for (size_t i = 0; i < e->n_rows && status == ADEPT_OK; i++)
            status = in_row(err, i, add_row(e, &e->blocks[i / ADEPT_BLOCK_ROWS], &rows[i], scalars, err));
        for (size_t i = 0, first = 0; i < e->n_blocks; first += e->blocks[i++].n_pieces)
            if (e->blocks[i].n_pieces > 0) e->blocks[i].pieces = e->pieces.items + first;
    }
    return status;
}

/* ---- power of nodes ---- */

static size_t index_of(const adept_evaluator *e, const char *name)
{
    size_t i = 0;
    while (strcmp(e->infos[i].name, name) != 0)
        i++;
    return i;
}

/* Idle boards draw what this GPU's idle do, whatever several share. */
static adept_status set_node(adept_node_law *law, const adept_placement *at, adept_granularity granularity,
                             adept_error *err)
{
    double own[ADEPT_OPERATOR_PARAMETERS];
    adept_status status = adept_node_law_of(law, &at->run, err);
    if (status != ADEPT_OK || granularity != ADEPT_GRANULARITY_OPERATOR || !at->hw->transferred) return status;
    status = adept_operator_parameters_get(own, at->hw, err);
    law->constant_w += law->by_static * own[ADEPT_OP_p_static_w];
    law->by_static = 0.0;
    return status;
}

/* What was found of boards becomes that of their nodes. */
static void take_nodes(const adept_evaluator *e, const double *theta, double *power_w, double *dpower_w)
{
    const size_t n = adept_evaluator_n_parameters(e);
    const adept_node_watts watts = {theta[e->static_w], theta[e->host_idle_w], theta[e->host_active_w]};
    for (size_t i = 0; e->nodes && i < e->n_rows; i++) {
        const adept_node_law *law = &e->nodes[i];
        if (law->by_boards == 0.0) continue;
        if (power_w) power_w[i] = adept_node_w(law, power_w[i], &watts);
        if (!dpower_w) continue;
        double *slopes = dpower_w + i * n;
        for (size_t k = 0; k < n; k++)
            slopes[k] *= law->by_boards;
        slopes[e->static_w] += law->by_static;
        slopes[e->host_idle_w] += law->by_idle;
        slopes[e->host_active_w] += law->by_active;
    }
}

/* What has no exact derivatives is left to adept_predict(). */
static adept_status check_communication(const adept_run *run, adept_granularity granularity, adept_error *err)
{
    bool fixed = run->overlap == ADEPT_OVERLAP_AUTO || run->overlap == ADEPT_OVERLAP_FIXED;
    if (!fixed && granularity == ADEPT_GRANULARITY_MODEL)
        return adept_error_set(err, ADEPT_E_USAGE, "granularity \"model\" hides a fixed share of the all-reduce");
    if (run->allreduce == ADEPT_ALLREDUCE_AUTO && granularity == ADEPT_GRANULARITY_MODEL)
        return adept_error_set(err, ADEPT_E_USAGE, "granularity \"model\" needs one algorithm of the all-reduce");
    return ADEPT_OK;
}

adept_status adept_evaluator_new(adept_evaluator **out, const adept_placement *rows, size_t n_rows,
                                 adept_granularity granularity, const char *saturation, const adept_scalar *scalars,
                                 size_t n_scalars, adept_error *err)
{
    if (n_rows == 0) return adept_error_set(err, ADEPT_E_USAGE, "there is no row to evaluate");
    for (size_t i = 0; i < n_rows; i++) {
        adept_status allowed = in_row(err, i, check_communication(&rows[i].run, granularity, err));
        if (allowed != ADEPT_OK) return allowed;
    }
    adept_evaluator *e = calloc(1, sizeof *e);
    if (!e) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n_rows);
    e->n_rows = n_rows;
    e->n_scalars = n_scalars;
    /* The granularity's own. */
    const adept_parameter_info *info;
    adept_status status = granularity == ADEPT_GRANULARITY_OPERATOR
                              ? operator_defaults(e->defaults, rows[0].hw, err)
                              : adept_model_parameters_get((adept_model_parameters *)e->defaults, rows[0].hw, err);
    for (size_t i = 0; status == ADEPT_OK && (info = adept_granularity_parameter_info(granularity, i)); i++) {
        e->infos[i] = *info;
        e->defaults[i] = fmin(info->high, fmax(info->low, e->defaults[i])); /* what a sheet gives may lie outside */
        e->n_parameters = i + 1;
    }
    if (status == ADEPT_OK)
        status = granularity == ADEPT_GRANULARITY_OPERATOR ? fill_operator(e, rows, saturation, err)
                                                           : fill_model(e, rows, saturation, scalars, err);
    if (status == ADEPT_OK) {
        e->static_w = index_of(e, "p_static_w");
        e->host_idle_w = index_of(e, "p_host_idle_w");
        e->host_active_w = index_of(e, "p_host_active_w");
        for (size_t i = 0; i < e->n_rows && status == ADEPT_OK; i++) {
            if (rows[i].run.power_scope != ADEPT_SCOPE_NODE) continue;
            if (!e->nodes) e->nodes = calloc(e->n_rows, sizeof *e->nodes);
            status = e->nodes ? in_row(err, i, set_node(&e->nodes[i], &rows[i], granularity, err))
                              : adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", e->n_rows);
        }
    }
    if (status == ADEPT_OK)
        *out = e;
    else
        adept_evaluator_free(e);
    return status;
}

void adept_evaluator_free(adept_evaluator *e)
{
    if (!e) return;
    free(e->blocks);
    free(e->nodes);
    free(e->pieces.items);
    adept_operator_rows_free(e->operator_rows);
    free(e);
}

size_t adept_evaluator_n_rows(const adept_evaluator *e)
{
    return e->n_rows;
}

size_t adept_evaluator_n_parameters(const adept_evaluator *e)
{
    return e->n_parameters + e->n_scalars;
}

const adept_parameter_info *adept_evaluator_parameter(const adept_evaluator *e, size_t index)
{
    return index < adept_evaluator_n_parameters(e) ? &e->infos[index] : NULL;
}

double adept_evaluator_default(const adept_evaluator *e, size_t index)
{
    return index < adept_evaluator_n_parameters(e) ? e->defaults[index] : NAN;
}

const char *adept_evaluator_saturation(const adept_evaluator *e)
{
    return adept_saturation_name(e->saturation);
}

/* ---- evaluation ---- */

void adept_evaluate_gradient(const adept_evaluator *e, const double *theta, double *time_s, double *power_w,
                             double *dtime_s, double *dpower_w)
{
    const size_t n = adept_evaluator_n_parameters(e);
    adept_theta t;
    adept_block_steps s;
    if (e->operator_rows) {
        adept_operator_rows_evaluate(e->operator_rows, theta, time_s, power_w, dtime_s, dpower_w);
        take_nodes(e, theta, power_w, dpower_w);
        return;
    }
    memcpy(&t.p, theta, sizeof t.p);
    memcpy(t.scalar, theta + N_MODEL_PARAMETERS, e->n_scalars * sizeof *theta);
    t.saturation = e->saturation;
    for (size_t i = 0, done = 0; i < e->n_blocks; done += e->blocks[i++].n) {
        const adept_row_block *b = &e->blocks[i];
        adept_block_step(&s, b, &t);
        if (time_s) memcpy(time_s + done, s.step_s, b->n * sizeof *time_s);
        if (power_w) memcpy(power_w + done, s.power_w, b->n * sizeof *power_w);
        if (dtime_s || dpower_w)
            adept_block_slopes(dtime_s ? dtime_s + done * n : NULL, dpower_w ? dpower_w + done * n : NULL, n, &s, b,
                               &t);
    }
    take_nodes(e, theta, power_w, dpower_w);
}

void adept_evaluate(const adept_evaluator *e, const double *theta, double *time_s, double *power_w)
{
    adept_evaluate_gradient(e, theta, time_s, power_w, NULL, NULL);
}

/** @file fit_parameters.c  Which parameters a fit may change; see fit_parts.h. */
#define HAVE_INLINE /* of gsl_rng_uniform */
#include "fit_parts.h"
#include "adept_operator_model.h"
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#define N_PROBES 64          /* random points at which a parameter must change something to be fitted */
#define LEAST_INFLUENCE 1e-9 /* relative change of a prediction over the parameter's whole range */

/* Fixed unless asked for: their effect is another parameter's too, or they are no property of the GPU. A granularity
 * that has no parameter of the name is not concerned. */
static const struct convention {
    const char *name, *reason;
} conventions[] = {
    {"c_gemm", "only c_gemm / beta_gemm has an effect"},
    {"c_conv", "only c_conv / beta_conv has an effect"},
    {"c_alu", "only c_alu / beta_alu has an effect"},
    {"k_wset", "lambda_miss and c_mem take its place"},
    {"overlap", "l_hop_s and bw_eff_bytes_per_s take its place"},
    {"grad_bytes_lowp", "a property of the training program"},
    {"t_sample_s", "a property of the training program"},
};

/* Granularity "operator" has too many parameters for a few steps. What is fitted to steps: a factor for each kind of
 * work (the shape of the law is the kernels' business), what no kernel alone shows, and the power law. */
static const char *const of_steps[] = {
    "beta_gemm",
    "beta_bmm",
    "beta_conv",
    "beta_mem",
    "beta_tensor",
    "c_norm",
    "c_depthwise",
    "c_depthwise_half",
    "c_depthwise_half_back",
    "c_depthwise_half_back_planes",
    "c_batch_norm",
    "cycles_batch_norm_planes",
    "c_layout",
    "c_layout_pointwise",
    "c_layout_tf32",
    "c_softmax",
    "c_torch1",
    "c_opt",
    "t_launch_s",
    "t_host_s",
    "t_fixed_s",
    "l_hop_s",
    "bw_eff_bytes_per_s",
    "p_static_w",
    "u_active",
    "u_wait",
    "e_simt_j",
    "e_tensor_j",
    "e_mem_j",
    "mem_core_share",
    "v_slope",
    "p_host_idle_w",
    "p_host_active_w",
};

/* Boards that reach their limit by themselves show in times how much energy arithmetic takes. The rest of the power law
 * would only say the same once more. */
static const char *const of_throttling[] = {"e_simt_j", "e_tensor_j"};

bool adept_fit_base_is_alike(const adept_hwprofile *base, const adept_fit_options *options)
{
    return !base->calibrated || base->granularity == options->granularity;
}

/* ---- targeted scalars ---- */

static bool is_named(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static void put_scalar(adept_scalar *list, size_t *n, const adept_scalar *scalar, bool replace,
                       const adept_fit_options *options)
{
    if (is_named(scalar->name, options->without, options->n_without)) return;
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(list[i].name, scalar->name) != 0) continue;
        if (replace) list[i] = *scalar;
        return;
    }
    list[(*n)++] = *scalar;
}

adept_status adept_fit_scalars(adept_scalar **out, size_t *n, adept_arena *arena, const adept_hwprofile *base,
                               const adept_fit_options *options, adept_error *err)
{
    size_t last = 0;
    if (options->stage) {
        adept_status status = adept_stage_find(&last, options->stage, err);
        if (status != ADEPT_OK) return status;
    }
    if (base->n_scalars > ADEPT_MAX_SCALARS || options->n_scalars > ADEPT_MAX_SCALARS)
        return adept_error_set(err, ADEPT_E_USAGE, "at most %d targeted scalars", ADEPT_MAX_SCALARS);
    adept_scalar *list = adept_arena_array(arena, base->n_scalars + options->n_scalars + last + 1, sizeof *list);
    if (!list) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    *n = 0;
    for (size_t i = 0; i < base->n_scalars && adept_fit_base_is_alike(base, options); i++)
        put_scalar(list, n, &base->scalars[i], true, options);
    for (size_t i = 0; i < options->n_scalars; i++)
        put_scalar(list, n, &options->scalars[i], true, options);
    for (size_t i = 0; options->stage && i <= last; i++)
        if (adept_stage_at(i)->scalar) put_scalar(list, n, adept_stage_at(i)->scalar, false, options);
    *out = list;
    return ADEPT_OK;
}

/* ---- what the user says ---- */

static adept_fit_parameter *find(adept_fit_parameter *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].info.name, name) == 0) return &list[i];
    return NULL;
}

static adept_status unknown(const char *option, const char *name, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "%s %s: there is no such parameter", option, name);
}

static void hold(adept_fit_parameter *p, double value, adept_fit_state state, const char *reason)
{
    p->value = p->start = value;
    p->state = state;
    p->reason = reason;
}

static adept_status hold_fixed(adept_fit_parameter *list, size_t n, const adept_fit_options *options, adept_error *err)
{
    for (size_t i = 0; i < options->n_fixed; i++) {
        const adept_parameter *fix = &options->fixed[i];
        adept_fit_parameter *p = find(list, n, fix->name);
        if (!p) return unknown("--fix", fix->name, err);
        double value = isnan(fix->value) ? p->start : fix->value;
        if (!(value >= p->info.low && value <= p->info.high))
            return adept_error_set(err, ADEPT_E_USAGE, "--fix %s=%g: outside [%g, %g]", fix->name, value, p->info.low,
                                   p->info.high);
        hold(p, value, ADEPT_FIT_FIXED, "--fix");
    }
    return ADEPT_OK;
}

/* A targeted scalar of that name is not in the list at all: adept_fit_scalars() left it out. */
static bool is_dropped_scalar(const char *name, const adept_hwprofile *base, const adept_fit_options *options)
{
    for (size_t i = 0; i < base->n_scalars; i++)
        if (strcmp(base->scalars[i].name, name) == 0) return true;
    for (size_t i = 0; i < options->n_scalars; i++)
        if (strcmp(options->scalars[i].name, name) == 0) return true;
    const adept_stage *stage;
    for (size_t i = 0; options->stage && (stage = adept_stage_at(i)); i++)
        if (stage->scalar && strcmp(stage->scalar->name, name) == 0) return true;
    return false;
}

static adept_status hold_without(adept_fit_parameter *list, size_t n, const adept_hwprofile *base,
                                 const adept_fit_options *options, adept_error *err)
{
    for (size_t i = 0; i < options->n_without; i++) {
        const char *name = options->without[i];
        adept_fit_parameter *p = find(list, n, name);
        if (!p && is_dropped_scalar(name, base, options)) continue;
        if (!p) return unknown("--without", name, err);
        if (p->info.fallback != 1.0)
            return adept_error_set(err, ADEPT_E_USAGE, "--without %s: not a scalar (use --fix %s=VALUE)", name, name);
        hold(p, 1.0, ADEPT_FIT_FIXED, "--without");
    }
    return ADEPT_OK;
}

static adept_status check_freed(adept_fit_parameter *list, size_t n, const adept_fit_options *options, adept_error *err)
{
    for (size_t i = 0; i < options->n_freed; i++) {
        const adept_fit_parameter *p = find(list, n, options->freed[i]);
        if (!p) return unknown("--free", options->freed[i], err);
        if (p->state == ADEPT_FIT_FIXED)
            return adept_error_set(err, ADEPT_E_USAGE, "--free %s contradicts %s", options->freed[i], p->reason);
    }
    return ADEPT_OK;
}

/* NULL: nothing speaks against fitting it. */
static const char *convention_of(const char *name, const adept_fit_options *options)
{
    for (size_t i = 0; i < sizeof conventions / sizeof conventions[0]; i++)
        if (strcmp(conventions[i].name, name) == 0) return conventions[i].reason;
    bool to_steps = options->granularity != ADEPT_GRANULARITY_OPERATOR ||
                    is_named(name, of_steps, sizeof of_steps / sizeof of_steps[0]);
    return to_steps ? NULL : "told by measured kernels, not by steps";
}

static bool is_asked_for(const adept_fit_parameter *p, const adept_fit_options *options)
{
    return is_named(p->info.name, options->freed, options->n_freed);
}

/* ---- what the rows say ---- */

/* Marks which parameters change a measured number at theta, to first order, over their whole range. */
static void mark_influences(bool *touched, const adept_objective *o, const double *theta, double *scratch)
{
    size_t n = o->n_parameters;
    double *predicted = scratch, *derivatives = predicted + 2 * o->n_rows;
    adept_evaluate_gradient(o->evaluator, theta, predicted, predicted + o->n_rows, derivatives,
                            derivatives + n * o->n_rows);
    for (size_t i = 0; i < n; i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(o->evaluator, i);
        double range = info->log_scale ? theta[i] * log(info->high / info->low) : info->high - info->low;
        for (size_t k = 0; k < o->n_times + o->n_powers && !touched[i]; k++) {
            size_t at = o->targets[k].at;
            touched[i] = fabs(derivatives[at * n + i] / predicted[at]) * range > LEAST_INFLUENCE;
        }
    }
}

static adept_status hold_untouched(adept_fit_parameter *list, const adept_objective *o,
                                   const adept_fit_options *options, bool limited, adept_arena *arena, adept_error *err)
{
    bool *touched = adept_arena_array(arena, o->n_parameters, sizeof *touched);
    double *scratch = adept_arena_array(arena, adept_objective_n_gradient_scratch(o), sizeof *scratch);
    double *theta = adept_arena_array(arena, o->n_parameters, sizeof *theta);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    if (!touched || !scratch || !theta || !rng) {
        if (rng) gsl_rng_free(rng);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    gsl_rng_set(rng, 1);
    for (int probe = 0; probe < N_PROBES; probe++) {
        for (size_t i = 0; i < o->n_parameters; i++) {
            const adept_parameter_info *info = &list[i].info;
            double share = gsl_rng_uniform(rng);
            theta[i] = list[i].start;
            if (list[i].state != ADEPT_FIT_FREE) continue;
            double value = info->log_scale ? info->low * pow(info->high / info->low, share)
                                           : info->low + share * (info->high - info->low);
            theta[i] = fmin(fmax(value, info->low), info->high);
        }
        mark_influences(touched, o, theta, scratch);
    }
    gsl_rng_free(rng);
    for (size_t i = 0; i < o->n_parameters; i++) {
        if (list[i].state != ADEPT_FIT_FREE || is_asked_for(&list[i], options)) continue;
        bool throttling = options->granularity == ADEPT_GRANULARITY_OPERATOR &&
                          is_named(list[i].info.name, of_throttling, sizeof of_throttling / sizeof of_throttling[0]);
        bool of_power = o->n_powers == 0 && !limited && !throttling && adept_is_power_parameter(list[i].info.name);
        if (of_power)
            hold(&list[i], list[i].start, ADEPT_FIT_UNDETERMINED, "no row has power or a power limit");
        else if (!touched[i])
            hold(&list[i], list[i].start, ADEPT_FIT_UNDETERMINED, "these rows do not depend on it");
    }
    return ADEPT_OK;
}

/* ---- the choice ---- */

static void set_start(adept_fit_parameter *p, const adept_hwprofile *base)
{
    for (size_t i = 0; i < base->n_parameters; i++)
        if (strcmp(base->parameters[i].name, p->info.name) == 0) p->start = base->parameters[i].value;
    p->start = fmin(fmax(p->start, p->info.low), p->info.high);
    p->value = p->start;
}

adept_status adept_fit_parameters_choose(adept_fit_parameter *out, const adept_objective *o,
                                         const adept_hwprofile *base, const adept_fit_options *options, bool limited,
                                         adept_arena *arena, adept_error *err)
{
    size_t n = o->n_parameters;
    for (size_t i = 0; i < n; i++) {
        out[i] = (adept_fit_parameter){.info = *adept_evaluator_parameter(o->evaluator, i), .reason = ""};
        out[i].start = adept_evaluator_default(o->evaluator, i);
        if (adept_fit_base_is_alike(base, options)) set_start(&out[i], base);
    }
    adept_status status = hold_fixed(out, n, options, err);
    if (status == ADEPT_OK) status = hold_without(out, n, base, options, err);
    if (status == ADEPT_OK) status = check_freed(out, n, options, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < n; i++) {
        const char *reason = convention_of(out[i].info.name, options);
        if (reason && out[i].state == ADEPT_FIT_FREE && !is_asked_for(&out[i], options))
            hold(&out[i], out[i].start, ADEPT_FIT_CONVENTION, reason);
    }
    return hold_untouched(out, o, options, limited, arena, err);
}

size_t adept_fit_parameters_in_stage(bool *is_free, const adept_fit_parameter *parameters, size_t n, size_t stage)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        is_free[i] = parameters[i].state == ADEPT_FIT_FREE &&
                     (stage == ADEPT_EVERY_STAGE || adept_stage_of(parameters[i].info.name) <= stage);
        count += is_free[i];
    }
    return count;
}

void adept_fit_parameters_settle(adept_fit_parameter *parameters, const adept_objective *o, double *theta,
                                 const adept_fit_options *options, bool *touched, double *scratch)
{
    memset(touched, 0, o->n_parameters * sizeof *touched);
    mark_influences(touched, o, theta, scratch);
    for (size_t i = 0; i < o->n_parameters; i++) {
        adept_fit_parameter *p = &parameters[i];
        if (p->state != ADEPT_FIT_FREE || touched[i] || is_asked_for(p, options)) continue;
        double fitted = theta[i], before = adept_objective_parts(o, theta, scratch).total;
        theta[i] = p->start;
        if (adept_objective_parts(o, theta, scratch).total <= before) {
            p->state = ADEPT_FIT_UNDETERMINED;
            p->reason = "the fitted model does not depend on it at these rows";
        } else {
            theta[i] = fitted;
        }
    }
}

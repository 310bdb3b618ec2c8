/** @file backward.c  Buckets of gradients beside the kernels of the backward pass; see backward.h. */
#include "backward.h"
#include <math.h>
#include <stdlib.h>

/* A fit to steps of several GPUs has the share that fits them. */
static bool fitted_share(const adept_hwprofile *hw, const adept_run *run)
{
    return adept_calibrated_for(hw, run) && hw->intervals && hw->intervals->high.gpus > 1.0;
}

adept_status adept_backward_wanted(bool *wanted, bool places_known, const adept_hwprofile *hw,
                                   const adept_run *run, const adept_network *net, adept_error *err)
{
    bool by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR,
         asked = run->overlap == ADEPT_OVERLAP_BUCKETED;
    *wanted = false;
    if (asked && !by_operator)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "buckets need the time of every operator: granularity \"model\" has none");
    if (net->n == 0 || !by_operator || run->overlap == ADEPT_OVERLAP_FIXED) return ADEPT_OK;
    if (asked && !places_known)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "buckets: the profile does not say where its parameters are; make it anew with adept profile");
    *wanted = asked || (places_known && !fitted_share(hw, run));
    return ADEPT_OK;
}

static adept_status time_op(adept_backward_op *out, const adept_profile_op *op, const adept_profile *prof,
                            const adept_hwprofile *hw, const double *theta, const adept_tile_menu *menus,
                            adept_error *err)
{
    adept_operator_time t;
    for (size_t i = 0; i < op->n_kernels && op->count > 0; i++) {
        adept_operator_kernel k;
        if (op->kernels[i].pass != ADEPT_BACKWARD) continue;
        adept_status status = adept_operator_kernel_of(&k, op, &op->kernels[i], prof, hw, err);
        if (status != ADEPT_OK) return status;
        adept_operator_time_of(&t, &k, theta, menus, false);
        double repeats = k.count / (double)op->count;
        out->core_s += repeats * t.core_s;
        out->memory_s += repeats * (t.time_s - t.core_s);
        out->launches += op->kernels[i].launches;
    }
    return ADEPT_OK;
}

adept_status adept_backward_init(adept_backward *out, const adept_profile *prof, const adept_hwprofile *hw,
                                 const adept_run *run, const double *theta, const adept_tile_menu *menus,
                                 adept_error *err)
{
    *out = (adept_backward){.n_ops = prof->n_ops,
                            .bucket_bytes = run->bucket_bytes > 0.0 ? run->bucket_bytes : ADEPT_BUCKET_BYTES};
    adept_status status = adept_backward_plan_new(&out->plan, prof, err);
    if (status != ADEPT_OK) return status;
    out->ops = calloc(prof->n_ops + 1, sizeof *out->ops);
    out->time_s = calloc(prof->n_ops + 1, sizeof *out->time_s);
    if (!out->ops || !out->time_s)
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the times of %zu operators", prof->n_ops);
    for (size_t i = 0; i < prof->n_ops && status == ADEPT_OK; i++) {
        status = time_op(&out->ops[i], &prof->ops[i], prof, hw, theta, menus, err);
        out->launches += (double)prof->ops[i].count * out->ops[i].launches;
    }
    return status;
}

void adept_backward_free(adept_backward *b)
{
    adept_backward_plan_free(&b->plan);
    free(b->ops);
    free(b->time_s);
    *b = (adept_backward){0};
}

/* Kernels and the gaps between them; stretched evenly where the host is slower. */
adept_communication adept_backward_communicate(adept_backward *b, double clock, const adept_network *net,
                                               const double *theta)
{
    const adept_bucket_rule rule = {
        .first_bytes = fmin(ADEPT_FIRST_BUCKET_BYTES, b->bucket_bytes),
        .bytes = b->bucket_bytes,
        .l_hop_s = theta[ADEPT_OP_l_hop_s],
        .bw_bytes_per_s = theta[ADEPT_OP_bw_eff_bytes_per_s],
        .net = net,
    };
    double stretch = adept_operator_stretch(theta, clock), device_s = 0.0;
    for (size_t i = 0; i < b->n_ops; i++) {
        const adept_backward_op *op = &b->ops[i];
        b->time_s[i] = op->core_s / clock + op->memory_s * stretch + op->launches * theta[ADEPT_OP_t_launch_s];
    }
    for (size_t i = 0; i < b->plan.n; i++)
        device_s += b->plan.pieces[i].executions * b->time_s[b->plan.pieces[i].op];
    double host_s = b->launches * theta[ADEPT_OP_t_host_s];
    for (size_t i = 0; i < b->n_ops && host_s > device_s && device_s > 0.0; i++)
        b->time_s[i] *= host_s / device_s;
    return adept_communicate_buckets(&b->plan, b->time_s, &rule);
}

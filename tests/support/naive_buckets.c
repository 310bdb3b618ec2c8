#include "naive_buckets.h"
#include "naive_operator.h"
#include "naive_step.h"
#include "placed_kernel.h"
#include <math.h>
#include <stdlib.h>

typedef struct timeline {
    double now_s, link_free_s; /* of the backward pass; when the last all-reduce ends */
    double filled_bytes;
    naive_communication sum;
} timeline;

static void send(timeline *t, const naive_bucket_rule *rule)
{
    if (!(t->filled_bytes > 0.0)) return;
    double takes_s = adept_network_allreduce_s(rule->net, t->filled_bytes, rule->l_hop_s, rule->bw_bytes_per_s);
    t->link_free_s = fmax(t->link_free_s, t->now_s) + takes_s;
    t->sum.total_s += takes_s;
    t->sum.buckets += 1.0;
    t->filled_bytes = 0.0;
}

naive_communication naive_communicate_buckets(const adept_profile *prof, const double *op_backward_s,
                                              const naive_bucket_rule *rule)
{
    timeline t = {0};
    const adept_program *program = &prof->program;
    double rest_bytes = prof->trainable_bytes;
    for (size_t i = program->n_operators; i-- > 0;) {
        int32_t op = program->operators[i].op;
        if (op >= 0) t.now_s += op_backward_s[op];
        for (size_t k = 0; k < program->n_gradients; k++) {
            if (program->gradients[k].at != (int32_t)i) continue;
            rest_bytes -= program->gradients[k].bytes;
            t.filled_bytes += program->gradients[k].bytes;
            if (t.filled_bytes >= (t.sum.buckets > 0.0 ? rule->bytes : rule->first_bytes)) send(&t, rule);
        }
    }
    t.filled_bytes += fmax(0.0, rest_bytes);
    send(&t, rule);
    t.sum.exposed_s = fmin(t.sum.total_s, fmax(0.0, t.link_free_s - t.now_s)); /* rounding could make it more */
    return t.sum;
}

/* One execution's backward at a clock, kernels and the gaps between them. */
static double backward_s(double *host_s, const adept_profile_op *op, const adept_profile *prof,
                         const adept_hwprofile *hw, const double *theta, double launch_s, double clock)
{
    double time_s = 0.0, n = 0.0;
    for (size_t i = 0; i < op->n_kernels && op->count > 0; i++) {
        placed_kernel k;
        if (op->kernels[i].pass != ADEPT_BACKWARD) continue;
        if (placed_kernel_of(&k, op, &op->kernels[i], prof, hw, NULL) != ADEPT_OK) abort();
        const adept_timed_kernel t = placed_kernel_time(&k, hw, theta);
        double waits_s = t.time_s - t.clocked_s, knee = theta[ADEPT_OP_clock_knee];
        double stretch = pow((1.0 + pow(knee / clock, 8)) / (1.0 + pow(knee, 8)), 0.125);
        time_s += k.count / (double)op->count * (t.clocked_s / clock + waits_s * stretch);
        n += op->kernels[i].launches;
    }
    *host_s = n * launch_s;
    return time_s + n * theta[ADEPT_OP_t_launch_s];
}

naive_communication naive_communication_of(const adept_profile *prof, const adept_hwprofile *hw, const adept_run *run,
                                           double clock_ratio)
{
    double theta[ADEPT_OPERATOR_PARAMETERS], *op_s = calloc(2 * prof->n_ops + 1, sizeof *op_s);
    double *op_host_s = op_s + prof->n_ops, device_s = 0.0, host_s = 0.0,
           bytes = run->bucket_bytes > 0.0 ? run->bucket_bytes : ADEPT_BUCKET_BYTES;
    adept_network net;
    if (!op_s || adept_operator_parameters_get(theta, hw, NULL) != ADEPT_OK) abort();
    if (adept_network_of(&net, run, NULL) != ADEPT_OK) abort();
    const naive_operator step = naive_operator_predict(&(adept_placement){prof, hw, *run}, theta);
    for (size_t i = 0; i < prof->n_ops; i++)
        op_s[i] = backward_s(&op_host_s[i], &prof->ops[i], prof, hw, theta, step.launch_s[1], clock_ratio);
    for (size_t i = 0; i < prof->n_ops; i++) {
        device_s += (double)prof->ops[i].count * op_s[i];
        host_s += (double)prof->ops[i].count * op_host_s[i];
    }
    net.in_switch = naive_switch_adds(hw, run);
    adept_network_of_nccl(&net, &net, (double)run->gpus);
    /* where the GPU waits, gradients are complete when the host has launched what makes them */
    bool waits = step.host_bound && host_s > device_s;
    const naive_bucket_rule rule = {fmin(ADEPT_FIRST_BUCKET_BYTES, bytes), bytes, theta[ADEPT_OP_l_hop_s],
                                    theta[ADEPT_OP_bw_eff_bytes_per_s], &net};
    naive_communication c = naive_communicate_buckets(prof, waits ? op_host_s : op_s, &rule);
    free(op_s);
    return c;
}

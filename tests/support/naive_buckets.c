#include "naive_buckets.h"
#include <math.h>

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

naive_communication naive_communicate_buckets(const adept_backward_plan *plan, const double *op_backward_s,
                                              const naive_bucket_rule *rule)
{
    timeline t = {0};
    for (size_t i = 0; i < plan->n; i++) {
        const adept_backward_piece *p = &plan->pieces[i];
        t.now_s += p->executions * op_backward_s[p->op];
        t.filled_bytes += p->gradient_bytes;
        if (t.filled_bytes >= (t.sum.buckets > 0.0 ? rule->bytes : rule->first_bytes)) send(&t, rule);
    }
    t.filled_bytes += plan->rest_bytes;
    send(&t, rule);
    t.sum.exposed_s = fmin(t.sum.total_s, fmax(0.0, t.link_free_s - t.now_s)); /* rounding could make it more */
    return t.sum;
}

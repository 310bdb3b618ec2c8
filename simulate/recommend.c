/** @file recommend.c  Which policy for which aim: the four leaves of the thesis's decision tree, but decided by what
 * came out. */
#include "adept_sim_results.h"
#include "adept_append.h"
#include "units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const adept_sim_aim_limits adept_sim_aim_usual = {.throughput_sigma = 1, .least_jain = 0.9, .most_missed = 0.01};

/* What a policy keeps to, and what the best of those has most or least of. */
typedef struct leaf {
    const char *name;
    const char *limited; /* a metric; its mean, or for the cap its worst seed, keeps to the limit */
    const char *wanted;  /* a metric */
    const char *superlative;
} leaf;

static const leaf leaves[ADEPT_SIM_AIMS] = {
    {"energy-performance", "throughput_per_h", "energy_per_job_j", "least energy per finished job"},
    {"energy-fairness", "jain", "energy_per_job_j", "least energy per finished job"},
    {"strict-sla", "miss_rate", "energy_per_job_j", "least energy per finished job"},
    {"power-budget", "peak_power_w", "throughput_per_h", "highest throughput"},
};

const char *adept_sim_aim_name(size_t aim)
{
    return aim < ADEPT_SIM_AIMS ? leaves[aim].name : NULL;
}

typedef struct chooser {
    const adept_comparison *c;
    const leaf *leaf;
    const adept_sim_metric *limited, *wanted;
    double limit;
    double *values; /* of the wanted metric, for each policy that keeps to the limit; NAN: it does not */
    double closest; /* to the limit, of those that do not */
    size_t closest_policy;
} chooser;

static adept_text text_of(const adept_sim_metric *metric, double value)
{
    if (metric->at == offsetof(adept_outcome, miss_rate)) return adept_units_percent(value);
    if (strcmp(metric->unit, "J") == 0) return adept_units_kwh(value / 3.6e6);
    return *metric->unit == 'W'
               ? adept_units_watt(value)
               : adept_cell("%s%s%s", adept_units_digits(value).s, *metric->unit ? " " : "", metric->unit);
}

/* The first policy is the reference: it may be missed by what seeds differ in. */
static adept_status find_limit(chooser *k, adept_sim_aim aim, const adept_sim_aim_limits *limits, adept_error *err)
{
    adept_statistics s;
    adept_status status = adept_comparison_statistics(&s, k->c, 0, k->limited, err);

    if (status != ADEPT_OK) return status;
    k->limit = aim == ADEPT_SIM_AIM_PERFORMANCE ? s.mean - limits->throughput_sigma * (isnan(s.sd) ? 0 : s.sd)
               : aim == ADEPT_SIM_AIM_FAIRNESS  ? limits->least_jain
               : aim == ADEPT_SIM_AIM_DEADLINES ? limits->most_missed
                                                : k->c->cap_w;
    return ADEPT_OK;
}

/* What is not known keeps to no limit. */
static adept_status weigh(chooser *k, size_t policy, bool worst_seed, adept_error *err)
{
    adept_statistics limited, wanted;
    adept_status status = adept_comparison_statistics(&limited, k->c, policy, k->limited, err);

    if (status == ADEPT_OK) status = adept_comparison_statistics(&wanted, k->c, policy, k->wanted, err);
    if (status != ADEPT_OK) return status;
    double value = worst_seed ? limited.most : limited.mean, beyond = (k->limit - value) * k->limited->better;
    bool is_nearer = isnan(k->closest) || beyond < (k->limit - k->closest) * k->limited->better;
    k->values[policy] = beyond <= 0 ? wanted.mean : NAN;
    if (beyond > 0 && is_nearer) {
        k->closest = value;
        k->closest_policy = policy;
    }
    return ADEPT_OK;
}

/* @return SIZE_MAX: none but `other` keeps to the limit */
static size_t best_but(const chooser *k, size_t other)
{
    size_t best = SIZE_MAX;

    for (size_t p = 0; p < k->c->n_policies; p++) {
        if (p == other || isnan(k->values[p])) continue;
        if (best == SIZE_MAX || (k->values[p] - k->values[best]) * k->wanted->better > 0) best = p;
    }
    return best;
}

/* What less energy costs: the limit may be on something else. */
static adept_status tell_throughput(char *why, size_t size, const chooser *k, const adept_recommendation *r,
                                    adept_error *err)
{
    adept_paired p;
    adept_status status =
        adept_comparison_paired(&p, k->c, 0, r->policy, adept_sim_metric_by_name("throughput_per_h"), NULL, err);

    if (status == ADEPT_OK && !isnan(p.share))
        adept_append(why, size, "; its throughput differs by %s from that of %.60s", adept_units_change(p.share).s,
                 k->c->policies[0]);
    return status;
}

/* How much worse the second is, and whether seeds tell them apart. */
static adept_status tell_second(char *why, size_t size, const chooser *k, const adept_recommendation *r,
                                adept_error *err)
{
    adept_paired p = {.n = 0};
    adept_status status = adept_comparison_paired(&p, k->c, r->policy, r->second, k->wanted, NULL, err);
    bool apart = p.low * p.high > 0;

    if (status != ADEPT_OK) return status;
    adept_append(why, size, "; next is %.60s with %+.3g %%", k->c->policies[r->second], 100 * p.share);
    if (p.n > 1)
        adept_append(why, size, ", which %zu %ss %s", p.n, adept_comparison_repeat(k->c),
                     apart ? "tell apart" : "do not tell apart");
    return status;
}

static adept_status tell(adept_recommendation *r, const chooser *k, adept_error *err)
{
    char condition[160];

    snprintf(condition, sizeof condition, "%s %s %s", k->limited->name,
             k->limited->better > 0 ? ">=" : "<=", text_of(k->limited, k->limit).s);
    if (r->policy == SIZE_MAX) {
        snprintf(r->why, sizeof r->why, "none of %zu has %s", k->c->n_policies, condition);
        if (!isnan(k->closest))
            adept_append(r->why, sizeof r->why, "; %.60s comes closest with %s",
                         k->c->policies[k->closest_policy], text_of(k->limited, k->closest).s);
        return ADEPT_OK;
    }
    snprintf(r->why, sizeof r->why, "%s, %s, of %zu of %zu with %s", k->leaf->superlative,
             text_of(k->wanted, k->values[r->policy]).s, r->n_kept, k->c->n_policies, condition);
    adept_status status =
        r->second == SIZE_MAX ? ADEPT_OK : tell_second(r->why, sizeof r->why, k, r, err);
    if (status != ADEPT_OK || k->wanted->better > 0 || r->policy == 0) return status;
    return tell_throughput(r->why, sizeof r->why, k, r, err);
}

adept_status adept_recommend(adept_recommendation *out, const adept_comparison *c, adept_sim_aim aim,
                             const adept_sim_aim_limits *limits, adept_error *err)
{
    chooser k = {.c = c,
                 .leaf = &leaves[aim],
                 .limited = adept_sim_metric_by_name(leaves[aim].limited),
                 .wanted = adept_sim_metric_by_name(leaves[aim].wanted),
                 .values = calloc(c->n_policies + 1, sizeof *k.values),
                 .closest = NAN};
    adept_recommendation r = {.policy = SIZE_MAX, .second = SIZE_MAX};
    adept_status status = k.values ? find_limit(&k, aim, limits, err) : adept_no_memory(err, "recommendations");

    if (status == ADEPT_OK && aim == ADEPT_SIM_AIM_BUDGET && !isfinite(c->cap_w)) {
        snprintf(r.why, sizeof r.why, "no power budget is given");
    } else if (status == ADEPT_OK) {
        for (size_t p = 0; status == ADEPT_OK && p < c->n_policies; p++) {
            status = weigh(&k, p, aim == ADEPT_SIM_AIM_BUDGET, err);
            r.n_kept += status == ADEPT_OK && !isnan(k.values[p]);
        }
        r.policy = best_but(&k, SIZE_MAX);
        r.second = r.policy == SIZE_MAX ? SIZE_MAX : best_but(&k, r.policy);
        if (status == ADEPT_OK) status = tell(&r, &k, err);
    }
    free(k.values);
    if (status == ADEPT_OK) *out = r;
    return status;
}

/** @file policies.c  Finding a policy, and what it may be told. */
#include "adept_policy.h"
#include "packer.h"
#include <math.h>
#include <string.h>

const adept_policy *adept_policy_by_name(const char *name)
{
    for (const adept_policy *const *p = adept_policies(); *p; p++)
        if (strcmp((*p)->name, name) == 0 || ((*p)->alias && strcmp((*p)->alias, name) == 0)) return *p;
    return NULL;
}

bool adept_policy_decide(const adept_policy *policy, adept_view *view, const adept_policy_options *options)
{
    return policy->decide ? policy->decide(view, options) : adept_pack(view, options, policy->packing);
}

static bool is_own(const char *choice)
{
    return !choice || strcmp(choice, "own") == 0;
}

bool adept_policy_sees_limits(const adept_policy *policy, const adept_policy_options *options)
{
    return is_own(options->limits) ? policy->uses_limits : strcmp(options->limits, "yes") == 0;
}

adept_policy_options adept_policy_options_default(void)
{
    return (adept_policy_options){.age_weight = NAN, .cap_w = INFINITY, .risk = NAN, .slowdown = NAN, .scarcity = NAN};
}

adept_status adept_policy_options_check(const adept_policy *policy, const adept_policy_options *o, adept_error *err)
{
    adept_rule metric;
    const char *limits = is_own(o->limits) ? "no" : o->limits;

    if (o->age_weight < 0 || isinf(o->age_weight))
        return adept_error_set(err, ADEPT_E_USAGE, "the weight of ages must be 0 or more, not %g", o->age_weight);
    if (!(o->cap_w > 0))
        return adept_error_set(err, ADEPT_E_USAGE, "the power cap must be above 0 W, not %g", o->cap_w);
    if (!(o->cap_margin >= 0 && o->cap_margin < 1))
        return adept_error_set(err, ADEPT_E_USAGE, "the margin of the power cap must be 0 or more and below 1, not %g",
                               o->cap_margin);
    if (o->risk < 0) return adept_error_set(err, ADEPT_E_USAGE, "the risk must be 0 or more, not %g", o->risk);
    if (o->most_preemptions < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "a job cannot be preempted %d times at most", o->most_preemptions);
    if (o->slowdown < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "the slowdown must be 0 or more, not %g", o->slowdown);
    if (o->scarcity < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "the scarcity must be 0 or more, not %g", o->scarcity);
    if (!is_own(o->placement) && (!adept_rule_by_name(&metric, o->placement) || metric == ADEPT_BY_SUBMISSION))
        return adept_error_set(err, ADEPT_E_USAGE, "unknown placement '%s': time, edp, energy or own", o->placement);
    if (!is_own(o->ordering) && !adept_rule_by_name(&metric, o->ordering))
        return adept_error_set(err, ADEPT_E_USAGE, "unknown ordering '%s': fcfs, sjf, edp, energy or own", o->ordering);
    if (strcmp(limits, "yes") != 0 && strcmp(limits, "no") != 0)
        return adept_error_set(err, ADEPT_E_USAGE, "power limits are seen: yes, no or own, not '%s'", limits);
    if (!policy->packing && !(is_own(o->placement) && is_own(o->ordering)))
        return adept_error_set(err, ADEPT_E_USAGE, "policy '%s' is not a packer: it takes no placement and no ordering",
                               policy->name);
    return ADEPT_OK;
}

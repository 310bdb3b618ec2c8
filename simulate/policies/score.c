/** @file score.c */
#include "adept_score.h"
#include <math.h>

double adept_score_edp(double time_s, double power_w)
{
    return power_w * time_s * time_s;
}

double adept_score_aged_time(double time_s, double age_weight, double age_s)
{
    return time_s - age_weight * age_s;
}

double adept_score_aged(double metric, double age_weight, double age_s)
{
    return metric / (1 + age_weight * age_s);
}

double adept_score_fair(double metric, double used_gpu_s, double mean_used_gpu_s, bool printed)
{
    return printed ? metric / (used_gpu_s + 1) : metric * (used_gpu_s + 1) / (mean_used_gpu_s + 1);
}

double adept_score_slack(double deadline_s, double now_s, double time_s)
{
    return deadline_s - (now_s + time_s);
}

double adept_score_scarcity(double waiting, double running)
{
    return 3 * waiting / (running + 1);
}

double adept_score_thrift(double energy_j, double gpu_s, double scarcity)
{
    return log(energy_j) + scarcity * log(gpu_s);
}

/** @file idle_fit.c  Lines through idle runs, and the file of them:
 *  {"schema_version": 1, "kind": "idle", "hosts": {"n1": {"cpu": {"alpha_j": ..., ...}}}} */
#include "adept_idle_fit.h"
#include "adept_file.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)16 << 20)

/* ---------------------------------------------------------------- the line --------------------------------------- */

static double mean(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

/* Sum of the products of deviations from the means. */
static double co_deviation(const double *x, double x_mean, const double *y, double y_mean, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (x[i] - x_mean) * (y[i] - y_mean);
    return sum;
}

adept_status adept_idle_line_fit(adept_idle_line *out, const double *time_s, const double *energy_j, size_t n,
                                 adept_error *err)
{
    if (n < 2) return adept_error_set(err, ADEPT_E_FIT, "an idle fit needs runs of two lengths at least");
    double time_mean = mean(time_s, n), energy_mean = mean(energy_j, n);
    double times = co_deviation(time_s, time_mean, time_s, time_mean, n);
    double energies = co_deviation(energy_j, energy_mean, energy_j, energy_mean, n);

    if (!isfinite(times) || !isfinite(energies))
        return adept_error_set(err, ADEPT_E_FIT, "an idle run has a time or an energy that is not known");
    if (times <= 0) return adept_error_set(err, ADEPT_E_FIT, "an idle fit needs runs of two lengths at least");
    adept_idle_line line = {.n = n};
    line.beta_w = co_deviation(time_s, time_mean, energy_j, energy_mean, n) / times;
    line.alpha_j = energy_mean - line.beta_w * time_mean;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        double residual = energy_j[i] - adept_idle_energy_j(&line, time_s[i]);
        squares += residual * residual;
    }
    double variance = n > 2 ? squares / (double)(n - 2) : NAN;
    line.beta_se_w = sqrt(variance / times);
    line.alpha_se_j = sqrt(variance * (1 / (double)n + time_mean * time_mean / times));
    line.rmse_j = sqrt(squares / (double)n);
    line.r2 = energies > 0 ? 1 - squares / energies : NAN;
    *out = line;
    return ADEPT_OK;
}

double adept_idle_energy_j(const adept_idle_line *line, double time_s)
{
    return line->n > 0 ? line->alpha_j + line->beta_w * time_s : NAN;
}

/* ---------------------------------------------------------------- the file --------------------------------------- */

static double number_or_null(adept_json_reader *r, const cJSON *parent, const char *key)
{
    return cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(parent, key)) ? NAN : adept_json_number(r, parent, key);
}

/* The hosts of a file; a line that is wrong anywhere in it fails all of it. */
static adept_status open_file(cJSON **tree, const cJSON **hosts, const char *path, adept_error *err)
{
    adept_json_reader r = {.name = path, .err = err};

    r.status = adept_json_parse_file(tree, path, MAX_FILE_BYTES, err);
    if (r.status == ADEPT_OK && (adept_json_number_or(&r, *tree, "schema_version", 0) != 1 ||
                                 strcmp(adept_json_string_or(&r, *tree, "kind", ""), "idle") != 0))
        adept_json_fail(&r, "is not a file of idle runs: 'adept measure --idle-fit' writes them");
    *hosts = adept_json_object(&r, *tree, "hosts");
    return r.status;
}

adept_status adept_idle_fit_save(const adept_idle_fit *fit, const char *path, adept_error *err)
{
    cJSON *old = NULL;
    const cJSON *hosts = NULL, *host = NULL;
    adept_status status = access(path, F_OK) == 0 ? open_file(&old, &hosts, path, err) : ADEPT_OK;
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "idle");
    adept_json_begin_object(&w, "hosts");
    cJSON_ArrayForEach(host, hosts)
    {
        if (strcmp(host->string, fit->host) != 0) adept_json_put_tree(&w, host->string, host);
    }
    adept_json_begin_object(&w, fit->host);
    for (size_t i = 0; i < ADEPT_COMPONENTS; i++) {
        const adept_idle_line *l = &fit->lines[i];
        if (l->n == 0) continue;
        adept_json_put_object(&w, adept_component_name(i),
                              "alpha_j %g alpha_se_j %g beta_w %g beta_se_w %g rmse_j %g r2 %g n %jd", l->alpha_j,
                              l->alpha_se_j, l->beta_w, l->beta_se_w, l->rmse_j, l->r2, (intmax_t)l->n);
    }
    adept_json_end_object(&w);
    adept_json_end_object(&w);
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    if (status == ADEPT_OK)
        status = text ? adept_file_write(path, text, strlen(text), err) : adept_no_memory(err, "an idle fit");
    free(text);
    cJSON_Delete(old);
    return status;
}

static void say_which_hosts(adept_json_reader *r, const cJSON *hosts, const char *wanted)
{
    char names[256] = "";
    const cJSON *host = NULL;

    cJSON_ArrayForEach(host, hosts)
    {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", host->string);
    }
    adept_json_fail(r, "has no idle runs of host '%s', but of: %s", wanted, names[0] ? names : "none");
}

adept_status adept_idle_fit_load(adept_idle_fit *out, const char *path, const char *host, adept_error *err)
{
    cJSON *tree = NULL;
    const cJSON *hosts = NULL;
    adept_idle_fit fit = {0};
    adept_json_reader r = {.name = path, .err = err};

    r.status = open_file(&tree, &hosts, path, err);
    const cJSON *components = r.status == ADEPT_OK ? cJSON_GetObjectItemCaseSensitive(hosts, host) : NULL;
    if (!cJSON_IsObject(components)) say_which_hosts(&r, hosts, host);
    snprintf(fit.host, sizeof fit.host, "%s", host);
    for (size_t i = 0; i < ADEPT_COMPONENTS; i++) {
        const cJSON *line = adept_json_object_or_null(&r, components, adept_component_name(i), adept_component_name(i));
        if (line) {
            fit.lines[i].alpha_j = adept_json_number(&r, line, "alpha_j");
            fit.lines[i].beta_w = adept_json_number(&r, line, "beta_w");
            fit.lines[i].alpha_se_j = number_or_null(&r, line, "alpha_se_j");
            fit.lines[i].beta_se_w = number_or_null(&r, line, "beta_se_w");
            fit.lines[i].rmse_j = adept_json_number(&r, line, "rmse_j");
            fit.lines[i].r2 = number_or_null(&r, line, "r2");
            fit.lines[i].n = (size_t)adept_json_count(&r, line, "n");
        }
    }
    if (r.status == ADEPT_OK) *out = fit;
    cJSON_Delete(tree);
    return r.status;
}

/** @file vary.c  KEY=VALUES of --vary and --set, with the key that was meant where one is misspelt. */
#include "vary.h"
#include "nearest.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static error_t unknown_key(const struct argp_state *state, const char *option, const char *text)
{
    char key[80];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, "="), text);
    const char *near = adept_nearest(key, adept_sweep_key_name);
    if (near) return adept_cli_usage(state, "%s: unknown key '%s'; did you mean '%s'?", option, key, near);
    return adept_cli_usage(state,
                           "%s: unknown key '%s'; keys are batch, precision, gpu, gpus, power_limit_w, ..., specs.NAME "
                           "and fit.parameters.NAME (adept sweep --help)",
                           option, key);
}

static bool is_known(const char *text)
{
    char key[80];
    size_t n = strcspn(text, "=");
    adept_sweep_axis axis;
    adept_error err = {0};
    snprintf(key, sizeof key, "%.*s=", (int)n, text);
    if (!text[n] || n >= sizeof key - 2) return true; /* another complaint */
    if (adept_sweep_axis_parse(&axis, key, &err) == ADEPT_OK) adept_sweep_axis_free(&axis);
    return strncmp(err.message, "unknown key", strlen("unknown key")) != 0;
}

error_t adept_vary_add(const struct argp_state *state, const char *option, const char *text, adept_sweep_axis *list,
                       size_t *n)
{
    adept_error err = {0};
    if (*n == ADEPT_SWEEP_MAX_AXES)
        return adept_cli_usage(state, "%s: more than %d keys", option, ADEPT_SWEEP_MAX_AXES);
    if (!is_known(text)) return unknown_key(state, option, text);
    adept_status status = adept_sweep_axis_parse(&list[*n], text, &err);
    if (status == ADEPT_E_NOMEM) return ENOMEM;
    if (status != ADEPT_OK) return adept_cli_usage(state, "%s: %s", option, err.message);
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(list[i].key, list[*n].key) != 0) continue;
        adept_sweep_axis_free(&list[*n]);
        return adept_cli_usage(state, "%s: %s is given twice", option, list[i].key);
    }
    ++*n;
    return 0;
}

error_t adept_vary_set(const struct argp_state *state, const char *text, adept_sweep_axis *list, size_t *n)
{
    error_t failed = adept_vary_add(state, "--set", text, list, n);
    if (failed) return failed;
    const adept_sweep_axis *axis = &list[*n - 1];
    if (axis->level != ADEPT_SWEEP_HARDWARE)
        return adept_cli_usage(
            state, "--set: %s is no number of the hardware, those are specs.NAME and fit.parameters.NAME", axis->key);
    return axis->n == 1 ? 0 : adept_cli_usage(state, "--set: %s takes one value", axis->key);
}

/* ---- on a GPU ---- */

static void parameter_key(char *key, size_t size, const adept_hwprofile *hw, size_t index)
{
    snprintf(key, size, "fit.parameters.%s", hw->parameters[index].name);
}

adept_status adept_vary_check(adept_cli *cli, const adept_hwprofile *hw, const adept_sweep_axis *axis)
{
    char key[96], nearest[128] = "";
    size_t best = strlen(axis->key) / 3 + 2;
    if (axis->kind != ADEPT_VARY_PARAMETER) return ADEPT_OK;
    for (size_t i = 0; i < hw->n_parameters; i++) {
        parameter_key(key, sizeof key, hw, i);
        size_t distance = adept_edit_distance(axis->key, key);
        if (distance == 0) return ADEPT_OK;
        if (distance >= best) continue;
        best = distance;
        snprintf(nearest, sizeof nearest, "; did you mean '%s'?", key);
    }
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "%s has no %s%s", hw->name, axis->key, nearest);
}

adept_status adept_vary_apply(adept_cli *cli, adept_hwprofile *hw, const adept_sweep_axis *list, size_t n)
{
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        status = adept_vary_check(cli, hw, &list[i]);
        if (status == ADEPT_OK) status = adept_sweep_set_number(hw, &list[i], 0, &cli->err);
    }
    if (status == ADEPT_OK && n > 0 && adept_hwprofile_check(hw, &cli->err) != ADEPT_OK) {
        const adept_error found = cli->err;
        status = adept_error_set(&cli->err, ADEPT_E_USAGE, "--set: %s", found.message);
    }
    return status;
}

void adept_vary_warn(adept_prediction *p, const adept_sweep_axis *list, size_t n)
{
    const size_t most = sizeof p->warnings / sizeof p->warnings[0];
    for (size_t i = 0; i < n && p->n_warnings < most; i++)
        snprintf(p->warnings[p->n_warnings++], sizeof p->warnings[0],
                 "a hypothetical GPU: %s set to %s%.6g; parameters that were fitted to the real one are kept",
                 list[i].key, list[i].relative ? "x" : "", list[i].numbers[0]);
}

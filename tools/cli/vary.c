/** @file vary.c  KEY=VALUES of --vary and --set, with the key that was meant where one is misspelt. */
#include "vary.h"
#include <stdio.h>
#include <string.h>

static adept_status unknown_key(adept_cli *cli, const char *option, const char *text)
{
    char key[80];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, "="), text);
    const char *near = adept_nearest(key, adept_sweep_key_name);
    if (near) return adept_cli_usage(cli, "%s: unknown key '%s'; did you mean '%s'?", option, key, near);
    return adept_cli_usage(cli,
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

adept_status adept_vary_add(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_vary_options *o = field;
    adept_sweep_axis *axis = &o->axes[o->n];
    adept_error err = {0};
    if (o->n == ADEPT_SWEEP_MAX_AXES)
        return adept_cli_usage(cli, "%s: more than %d keys", option, ADEPT_SWEEP_MAX_AXES);
    if (!is_known(text)) return unknown_key(cli, option, text);
    adept_status status = adept_sweep_axis_parse(axis, text, &err);
    if (status == ADEPT_E_NOMEM) return adept_cli_no_memory(cli);
    if (status != ADEPT_OK) return adept_cli_usage(cli, "%s: %s", option, err.message);
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->axes[i].key, axis->key) != 0) continue;
        adept_sweep_axis_free(axis);
        return adept_cli_usage(cli, "%s: %s is given twice", option, o->axes[i].key);
    }
    o->n++;
    return ADEPT_OK;
}

void adept_vary_release(void *record)
{
    adept_vary_options *o = record;
    for (size_t i = 0; i < o->n; i++)
        adept_sweep_axis_free(&o->axes[i]);
}

static adept_status parse_set(adept_cli *cli, const char *option, char *text, void *field)
{
    const adept_vary_options *o = field;
    adept_status status = adept_vary_add(cli, option, text, field);
    if (status != ADEPT_OK) return status;
    const adept_sweep_axis *axis = &o->axes[o->n - 1];
    if (axis->level != ADEPT_SWEEP_HARDWARE)
        return adept_cli_usage(cli, "%s: %s is no number of the hardware, those are specs.NAME and fit.parameters.NAME",
                               option, axis->key);
    return axis->n == 1 ? ADEPT_OK : adept_cli_usage(cli, "%s: %s takes one value", option, axis->key);
}

static const adept_option_row set_rows[] = {
    {"set", "KEY=VALUE", 1,
     "Predict a hypothetical GPU: change a number of its hardware profile, as in --set specs.mem_bytes_per_s=2e12, or "
     "relative, =x1.2; the calibrated fit stays. Repeatable",
     ADEPT_OPT_PARSED, .parse = parse_set},
    {0},
};

const adept_options adept_set_options_of = {.rows = set_rows, .release = adept_vary_release};

/* ---- on a GPU ---- */

static void parameter_key(char *key, size_t size, const adept_hwprofile *hw, size_t index)
{
    snprintf(key, size, "fit.parameters.%s", hw->parameters[index].name);
}

adept_status adept_vary_check(adept_cli *cli, const adept_hwprofile *hw, const adept_sweep_axis *axis)
{
    char key[96], nearest[128] = "";
    size_t best = SIZE_MAX;
    if (axis->kind != ADEPT_VARY_PARAMETER) return ADEPT_OK;
    for (size_t i = 0; i < hw->n_parameters; i++) {
        parameter_key(key, sizeof key, hw, i);
        if (strcmp(axis->key, key) == 0) return ADEPT_OK;
        if (adept_is_nearer(&best, axis->key, key))
            snprintf(nearest, sizeof nearest, "; did you mean '%s'?", key);
    }
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "%s has no %s%s", hw->name, axis->key, nearest);
}

adept_status adept_set_open(adept_cli *cli, adept_hwprofile **hw, const char *gpu, const adept_vary_options *o)
{
    adept_status status = adept_hwprofile_open(hw, gpu, &cli->err);
    for (size_t i = 0; i < o->n && status == ADEPT_OK; i++) {
        status = adept_vary_check(cli, *hw, &o->axes[i]);
        if (status == ADEPT_OK) status = adept_sweep_set_number(*hw, &o->axes[i], 0, &cli->err);
    }
    if (status == ADEPT_OK && o->n > 0 && adept_hwprofile_check(*hw, &cli->err) != ADEPT_OK) {
        const adept_error found = cli->err;
        status = adept_error_set(&cli->err, ADEPT_E_USAGE, "--set: %s", found.message);
    }
    return status;
}

void adept_set_warn(adept_prediction *p, const adept_vary_options *o)
{
    const size_t most = sizeof p->warnings / sizeof p->warnings[0];
    for (size_t i = 0; i < o->n && p->n_warnings < most; i++)
        snprintf(p->warnings[p->n_warnings++], sizeof p->warnings[0],
                 "a hypothetical GPU: %s set to %s%.6g; parameters that were fitted to the real one are kept",
                 o->axes[i].key, o->axes[i].relative ? "x" : "", o->axes[i].numbers[0]);
}

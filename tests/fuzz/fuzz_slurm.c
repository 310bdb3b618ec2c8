/** @file fuzz_slurm.c  What reaches the Slurm plugin. First byte: '#' a configuration, '@' a GRES list, else a comment.
 */
#include "adept_slurm.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <string.h>

static void check_message(const adept_error *err)
{
    size_t length = strnlen(err->message, sizeof err->message);
    REQUIRE(err->status != ADEPT_OK && length > 0 && length < sizeof err->message);
}

static void read_comment(const char *text)
{
    adept_slurm_wish w;
    adept_error err = {0};
    if (adept_slurm_wish_read(&w, text, &err) != ADEPT_OK) {
        check_message(&err);
        for (const char *c = err.message; *c; c++)
            REQUIRE(*c >= ' ' && *c <= '~'); /* it goes to a terminal */
        return;
    }
    REQUIRE(w.profile[0] != '\0' && w.profile[0] != '.' && !strchr(w.profile, '/'));
    REQUIRE(w.batch >= 0 && w.objective >= -1 && w.objective <= ADEPT_SLURM_THRIFT);
    REQUIRE(w.samples >= 0 && w.steps >= 0 && w.deadline_s >= 0 && w.power_budget_w >= 0 && w.energy_budget_j >= 0);
    REQUIRE(!(w.samples > 0 && w.steps > 0));
}

static void read_config(const char *text, size_t size)
{
    adept_slurm_config *c = NULL;
    adept_error err = {0};
    if (adept_slurm_config_read(&c, "adept.conf", text, size, &err) != ADEPT_OK) {
        REQUIRE(c == NULL);
        check_message(&err);
        return;
    }
    REQUIRE(c->profile_dir[0] == '/' && c->n_places > 0 && c->n_places <= ADEPT_SLURM_PLACES_MAX);
    for (size_t i = 0; i < c->n_places; i++)
        REQUIRE(c->places[i].gpu && c->places[i].gpus && c->places[i].n_limits <= ADEPT_SLURM_LIMITS_MAX);
    adept_slurm_config_free(c);
}

static void read_gres(const char *text)
{
    adept_slurm_fixed fixed = {0}, again = {0};
    char written[256];
    adept_error err = {0};
    if (adept_slurm_gres_read(&fixed, text, &err) != ADEPT_OK) return check_message(&err);
    REQUIRE(fixed.gpus >= 0 && fixed.gpus <= ADEPT_SLURM_GPUS_MAX);
    if (adept_slurm_gres_write(written, sizeof written, text, "v100", 3, &err) != ADEPT_OK) return check_message(&err);
    REQUIRE(adept_slurm_gres_read(&again, written, NULL) == ADEPT_OK);
    REQUIRE(again.gpus == 3 && strcmp(again.gres_type, "v100") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* on the heap: a sanitizer sees its end */
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    /* A GPU with a slash or this ending is a file, which is not what is tested here. */
    if (size > 0 && data[0] == '#') {
        if (!strstr(text, "Gpu=/") && !strstr(text, ".json")) read_config(text, size);
    } else if (size > 0 && data[0] == '@') {
        read_gres(text + 1);
    } else {
        read_comment(text);
    }
    free(text);
    return 0;
}

/** @file fuzz_hwprofile.c  Hardware profile JSON: whatever comes, a profile that can be used or a message. */
#include "adept_hwprofile.h"
#include "fuzz_require.h"
#include "adept_model.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static void check_error(adept_status status, const adept_hwprofile *hw, const adept_error *err)
{
    REQUIRE(hw == NULL);
    REQUIRE(err->status == status);
    REQUIRE(err->message[0] != '\0');
    REQUIRE(strchr(err->message, '\n') == NULL);
}

static void check_intervals(const adept_intervals *in)
{
    const adept_range_point point = {1, 1e12, 1e9, 2, 300};
    REQUIRE(in->level > 0 && in->level < 1 && in->widen >= 1);
    REQUIRE(isnan(in->time_log[0]) || in->time_log[0] <= in->time_log[1]);
    REQUIRE(isnan(in->power_log[0]) || in->power_log[0] <= in->power_log[1]);
    const adept_profile prof = {.mode = ADEPT_MODE_TRAIN, .precision = ADEPT_FP32, .execution = ADEPT_EAGER};
    double outside = adept_intervals_outside(in, &point, &prof);
    REQUIRE(outside >= 0 && isfinite(outside));
}

static void check_tiles(const adept_tile_menu *menus)
{
    for (int family = 0; family < ADEPT_TILED_FAMILIES; family++) {
        bool direct = false;
        REQUIRE(menus[family].n >= 1 && menus[family].n <= ADEPT_MAX_TILES);
        for (size_t i = 0; i < menus[family].n; i++) {
            const adept_tile *tile = &menus[family].tiles[i];
            REQUIRE(tile->m >= 8 && tile->m <= 512 && tile->n >= 8 && tile->n <= 512);
            REQUIRE(tile->winograd == 0 || tile->winograd == 2 || tile->winograd == 4);
            direct = direct || tile->winograd == 0;
        }
        REQUIRE(direct);
    }
}

static void check_profile(adept_hwprofile *hw)
{
#define X(name, required, text)                                                                                        \
    REQUIRE(hw->specs.name > 0 || (!required && isnan(hw->specs.name)));                                               \
    REQUIRE(adept_hwprofile_source(hw, #name) != NULL);
    ADEPT_SPEC_LIST(X)
#undef X
    REQUIRE(hw->name[0] != '\0');
    for (size_t i = 0; i < hw->n_aliases; i++)
        REQUIRE(hw->aliases[i][0] != '\0');
    REQUIRE((hw->calibrated || hw->transferred) == (hw->fit_json != NULL));
    REQUIRE((hw->calibrated || hw->transferred) == (hw->n_parameters > 0));
    for (size_t i = 0; i < hw->n_parameters; i++)
        REQUIRE(isfinite(hw->parameters[i].value));
    REQUIRE(hw->n_scalars <= ADEPT_MAX_SCALARS);
    for (size_t i = 0; i < hw->n_scalars; i++)
        REQUIRE(adept_scalar_check(&hw->scalars[i], NULL) == ADEPT_OK);
    if (hw->intervals) check_intervals(hw->intervals);
    if (hw->tiles) check_tiles(hw->tiles);
    if (hw->calibrated && hw->granularity == ADEPT_GRANULARITY_OPERATOR) REQUIRE(hw->n_scalars == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    adept_status status = adept_hwprofile_from_json(&hw, "fuzz.json", (const char *)data, size, &err);
    if (status == ADEPT_OK)
        check_profile(hw);
    else
        check_error(status, hw, &err);
    adept_hwprofile_free(hw);
    return 0;
}

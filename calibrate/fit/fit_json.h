/** @file fit_json.h  Parts of a fit's JSON. Private to calibrate/. Calls: adept_json_writer. */
#ifndef ADEPT_CALIBRATE_FIT_JSON_H
#define ADEPT_CALIBRATE_FIT_JSON_H
#include "adept_json_writer.h"
#include "fit_report.h"

/** fit.tiles: the menus of the three tiled families. */
void adept_put_tiles(adept_json_writer *w, const adept_tile_menu *menus);

/** The keys of CONTRACT's `overall`, into an open object. */
void adept_put_metrics(adept_json_writer *w, const adept_metrics *m);

/** The `fit` of a hardware profile. date NULL: left out. */
void adept_put_fit(adept_json_writer *w, const adept_fit_report *r, const char *date);
#endif

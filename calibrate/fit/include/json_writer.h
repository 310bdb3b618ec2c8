/** @file json_writer.h  Building JSON without checking every call: running out of memory is remembered. For the fit and
 *  its report. Calls: cJSON. */
#ifndef ADEPT_CALIBRATE_JSON_WRITER_H
#define ADEPT_CALIBRATE_JSON_WRITER_H
#include "adept_json.h"
#include "adept_kernels.h"

typedef struct json_writer {
    bool failed;
} json_writer;

cJSON *adept_put_object(json_writer *w, cJSON *parent, const char *key);
cJSON *adept_put_array(json_writer *w, cJSON *parent, const char *key);
cJSON *adept_push_object(json_writer *w, cJSON *array);
void adept_put_number(json_writer *w, cJSON *parent, const char *key, double value); /* not finite: null */
void adept_put_integer(json_writer *w, cJSON *parent, const char *key, int64_t value);
void adept_put_unsigned(json_writer *w, cJSON *parent, const char *key, uint64_t value);
void adept_put_bool(json_writer *w, cJSON *parent, const char *key, bool value);
void adept_put_string(json_writer *w, cJSON *parent, const char *key, const char *value); /* NULL: null */
void adept_put_null(json_writer *w, cJSON *parent, const char *key);
void adept_put_range(json_writer *w, cJSON *parent, const char *key, double low, double high); /* NAN: null */
void adept_push_string(json_writer *w, cJSON *array, const char *value);

/** The text of `root`, which is freed, or NULL when memory was out anywhere. Compact unless `pretty`. */
char *adept_json_finish(json_writer *w, cJSON *root, bool pretty);

/** fit.tiles: the menus of the three tiled families. */
void adept_put_tiles(json_writer *w, cJSON *fit_object, const adept_tile_menu *menus);

/** A part of a fit of granularity "operator", as it stands in the profile: "kernels". The caller's to delete;
 * NULL if there is none. */
cJSON *adept_kernel_part(const adept_hwprofile *hw, const char *key);

#endif

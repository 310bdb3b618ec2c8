/** @file groups_json.h  The rows of --by as JSON. Calls: adept_json_writer. */
#ifndef ADEPT_GROUPS_JSON_H
#define ADEPT_GROUPS_JSON_H
#include "adept_json_writer.h"
#include "groups.h"

/**
 * "by" and "groups", into an open object.
 * @param passes   accumulation passes a row stands for (its counts are of one)
 * @param times    what the rows' times are
 */
void adept_groups_put_json(adept_json_writer *w, const adept_groups *groups, const adept_grouping *grouping,
                           double passes, adept_row_times times);

#endif

/** @file groups_json.h  The rows of --by as JSON. Calls: cJSON. */
#ifndef ADEPT_GROUPS_JSON_H
#define ADEPT_GROUPS_JSON_H
#include "groups.h"

/**
 * Append "by" and "groups" to the text of a JSON object.
 * @param text     malloc'ed; replaced
 * @param passes   accumulation passes a row stands for (its counts are of one)
 * @param times    what the rows' times are
 */
adept_status adept_groups_append_json(adept_cli *cli, char **text, const adept_groups *groups,
                                      const adept_grouping *grouping, double passes, adept_row_times times);

#endif

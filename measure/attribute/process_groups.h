/** @file process_groups.h  Processes by command, user, ...: which group each of a recording's processes belongs to.
 * Calls: adept_attribution, name_map. */
#ifndef ADEPT_PROCESS_GROUPS_H
#define ADEPT_PROCESS_GROUPS_H
#include "adept_attribution.h"
#include "name_map.h"

/** Groups that no process makes stand first; in a report, last. */
enum { ADEPT_GROUP_OTHER, ADEPT_GROUP_STATIC, ADEPT_GROUP_IDLE_GPU, ADEPT_SPECIAL_GROUPS };

typedef struct adept_process_groups {
    adept_arena *arena; /* of their texts */
    adept_attribution_by by;
    adept_name_map keys;
    adept_attribution_group *list;
    size_t n, capacity;
    size_t **of_process; /* of each process of each recording */
    size_t n_sources;
} adept_process_groups;

/** @param arena  of the texts. @return false when memory is out; adept_process_groups_free() in any case */
bool adept_process_groups_make(adept_process_groups *groups, adept_arena *arena, adept_attribution_by by,
                               const adept_attribution_source *sources, size_t n_sources);
void adept_process_groups_free(adept_process_groups *groups);

#endif

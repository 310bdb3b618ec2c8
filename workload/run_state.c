/* What outlives the calls of a run: memory of tensors, lists. */
#include "call.h"
#include "adept_grow.h"
#include <stdlib.h>
#include <string.h>

int32_t adept_run_storage_new(adept_run_state *run, double bytes, int32_t param, bool resident)
{
    if (run->n_storages == INT32_MAX) return -1;
    adept_storage *grown = adept_grow(run->storages, &run->storages_capacity, run->n_storages + 1, sizeof *grown);
    if (!grown) return -1;
    run->storages = grown;
    run->storages[run->n_storages] = (adept_storage){bytes, param, -1, resident, false};
    return (int32_t)run->n_storages++;
}

void adept_run_state_free(adept_run_state *run)
{
    free(run->storages);
    run->storages = NULL;
    run->n_storages = run->storages_capacity = 0;
}

adept_list *adept_run_list_new(adept_run_state *run, size_t n, const adept_value *items)
{
    adept_list *list = adept_arena_alloc(run->arena, sizeof *list);
    adept_value *copy = adept_arena_array(run->arena, n + 1, sizeof *copy);
    if (!list || !copy) return NULL;
    if (items && n) memcpy(copy, items, n * sizeof *copy);
    *list = (adept_list){copy, n, n + 1};
    return list;
}

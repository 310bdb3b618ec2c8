/** @file process_groups.c */
#include "process_groups.h"
#include "adept_grow.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>

#define NAME(name, word) word,
ADEPT_NAMES(adept_attribution_by_name, ADEPT_ATTRIBUTION_BY_LIST(NAME))
#undef NAME

static const char *label_of(const adept_process_groups *g, const adept_process *p)
{
    switch (g->by) {
    case ADEPT_BY_PROCESS:
        return adept_arena_printf(g->arena, "%s [%d]", p->command, (int)p->pid);
    case ADEPT_BY_COMMAND:
        return adept_arena_printf(g->arena, "%s", p->command);
    case ADEPT_BY_USER:
        return adept_arena_printf(g->arena, "uid %u", (unsigned)p->uid);
    case ADEPT_BY_CGROUP:
        return adept_arena_printf(g->arena, "%s", *p->cgroup ? p->cgroup : "(not known)");
    default:
        return p->job >= 0 ? adept_arena_printf(g->arena, "job %lld", (long long)p->job) : "no job";
    }
}

static bool add(adept_process_groups *g, const char *label, const char *key)
{
    adept_attribution_group *grown = adept_grow(g->list, &g->capacity, g->n + 1, sizeof *grown);

    if (!grown) return false;
    g->list = grown;
    g->list[g->n++] = (adept_attribution_group){.label = label, .key = key, .low = NAN, .high = NAN};
    return true;
}

/* A process that lives through two recordings is one. */
static bool find(size_t *group, adept_process_groups *g, const adept_process *p)
{
    const char *label = label_of(g, p), *key = label;

    if (g->by == ADEPT_BY_PROCESS)
        key = adept_arena_printf(g->arena, "%d %llu %s", (int)p->pid, (unsigned long long)p->start_ticks, p->command);
    uintptr_t *known = adept_name_map_get(&g->keys, key);
    *group = known ? (size_t)*known : g->n;
    if (!known && (!adept_name_map_put(&g->keys, key, g->n) || !add(g, label, key))) return false;
    g->list[*group].n_processes++;
    return !adept_arena_failed(g->arena);
}

bool adept_process_groups_make(adept_process_groups *g, adept_arena *arena, adept_attribution_by by,
                               const adept_attribution_source *sources, size_t n_sources)
{
    *g = (adept_process_groups){
        .arena = arena, .by = by, .of_process = calloc(n_sources, sizeof *g->of_process), .n_sources = n_sources};
    bool ok = g->of_process && add(g, "Other", "") && add(g, "static", "") && add(g, "idle GPUs", "");

    for (size_t i = 0; i < n_sources && ok; i++) {
        const adept_activity_log *log = sources[i].log;
        g->of_process[i] = calloc(log->n_processes + 1, sizeof **g->of_process);
        ok = g->of_process[i] != NULL;
        for (size_t p = 0; p < log->n_processes && ok; p++)
            ok = find(&g->of_process[i][p], g, &log->processes[p]);
    }
    return ok;
}

void adept_process_groups_free(adept_process_groups *g)
{
    for (size_t i = 0; g->of_process && i < g->n_sources; i++)
        free(g->of_process[i]);
    free(g->of_process);
    free(g->list);
    adept_name_map_free(&g->keys);
    *g = (adept_process_groups){.n = 0};
}

/** @file account_groups.c  Shares summed up. A job on several nodes, or in several files of a recording, counts once.
 */
#include "adept_account_groups.h"
#include "adept_grow.h"
#include "adept_slots.h"
#include "name_map.h"
#include "nearest.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define NAME(name, word) word,
ADEPT_NAMES(adept_group_key_name, ADEPT_GROUP_KEY_LIST(NAME))
#undef NAME

double adept_batch_job_elapsed_s(const adept_batch_job *job)
{
    return isnan(job->elapsed_s) ? job->end_s - job->begin_s : job->elapsed_s;
}

bool adept_account_is_whole(const adept_account_group *job)
{
    if (!job->job || isnan(job->job->end_s)) return false;
    double length_s = job->job->end_s - job->job->begin_s, nodes = fmax(job->job->n_nodes, 1);
    return job->covered_s >= nodes * fmax(0, length_s - 1);
}

/* ---------------------------------------------------------------- names ------------------------------------------- */

static const char *or_unknown(const char *text)
{
    return *text ? text : "(unknown)";
}

/* Of a job that no text names only its number and its user's are known. */
static const char *key_of(adept_account_groups *g, adept_group_key key, const adept_share *s,
                          const adept_batch_job *job, const char *host)
{
    switch (key) {
    case ADEPT_GROUP_JOB:
        return adept_arena_printf(g->arena, "%" PRId64, s->job); /* two jobs may have one name */
    case ADEPT_GROUP_NODE:
        return host;
    case ADEPT_GROUP_USER:
        return job && *job->user ? job->user : adept_arena_printf(g->arena, "uid %" PRIu32, s->uid);
    case ADEPT_GROUP_ACCOUNT:
        return or_unknown(job ? job->account : "");
    case ADEPT_GROUP_PARTITION:
        return or_unknown(job ? job->partition : "");
    default:
        return adept_batch_state_name(job ? job->state : ADEPT_BATCH_UNKNOWN);
    }
}

static adept_account_group *group_of(adept_account_groups *g, adept_name_map *names, const char *name)
{
    uintptr_t *found = adept_name_map_get(names, name);

    if (found) return &g->list[*found];
    const char *own = adept_arena_strdup(g->arena, name);
    adept_account_group *grown = own ? adept_grow(g->list, &g->capacity, g->n + 1, sizeof *grown) : NULL;
    if (!grown) return NULL;
    g->list = grown;
    if (!adept_name_map_put(names, own, g->n)) return NULL;
    g->list[g->n] = (adept_account_group){.name = own, .id = -1};
    return &g->list[g->n++];
}

/* ---------------------------------------------------------------- sums -------------------------------------------- */

static void add(adept_account_group *to, const adept_share *s)
{
    for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++) {
        to->energy_j[p] += s->energy_j[p];
        to->total_j += s->energy_j[p];
    }
    to->gpu_low_j += s->gpu_low_j;
    to->gpu_high_j += s->gpu_high_j;
    to->cpu_time_s += s->cpu_time_s;
    to->gpu_time_s += s->gpu_time_s;
    adept_use_add(&to->multiprocessors, &s->multiprocessors);
    adept_use_add(&to->memory, &s->memory);
}

/* Pairs of a group and a job that were counted. */
typedef struct counted {
    struct pair {
        const void *group;
        int64_t job;
    } * list, wanted;
    size_t n, capacity;
    adept_slots slots;
    uint64_t seed;
} counted;

static bool is_wanted(const void *context, size_t item)
{
    const counted *c = context;
    return c->list[item].group == c->wanted.group && c->list[item].job == c->wanted.job;
}

/* @param mark  a name of the group that stays where it is. @return false when memory is out */
static bool count_job(counted *c, adept_account_group *to, const void *mark, int64_t job)
{
    uint64_t hash = adept_hash_bytes(adept_hash_bytes(c->seed, &mark, sizeof mark), &job, sizeof job);

    c->wanted = (struct pair){mark, job};
    if (adept_slots_find(&c->slots, hash, is_wanted, c) != ADEPT_SLOTS_NONE) return true;
    struct pair *grown = adept_grow(c->list, &c->capacity, c->n + 1, sizeof *grown);
    if (!grown) return false;
    c->list = grown;
    c->list[c->n] = c->wanted;
    to->n_jobs++;
    return adept_slots_add(&c->slots, hash, c->n++);
}

static double covered_s(const adept_batch_job *job, const adept_node_account *node)
{
    if (isnan(job->begin_s)) return NAN;
    double end_s = isnan(job->end_s) ? node->end_s : fmin(job->end_s, node->end_s);
    return fmax(0, end_s - fmax(job->begin_s, node->begin_s));
}

static bool add_job_share(adept_account_groups *g, counted *c, adept_name_map *names, const adept_share *s,
                          const adept_node_account *node, const adept_batch_jobs *jobs, adept_group_key key)
{
    const adept_batch_job *job = jobs ? adept_batch_jobs_during(jobs, s->job, node->begin_s, node->end_s) : NULL;
    adept_batch_state state = job ? job->state : ADEPT_BATCH_UNKNOWN;
    adept_account_group *group = group_of(g, names, key_of(g, key, s, job, node->host));
    adept_account_group *by_state = adept_batch_state_is_lost(state)   ? &g->lost
                                    : adept_batch_state_is_open(state) ? &g->open
                                                                       : NULL;

    if (!group || adept_arena_failed(g->arena)) return false;
    if (key == ADEPT_GROUP_JOB) {
        group->id = s->job;
        group->job = job;
        group->covered_s = job ? group->covered_s + covered_s(job, node) : NAN;
    }
    add(group, s);
    add(&g->jobs, s);
    if (by_state) add(by_state, s);
    return count_job(c, group, group->name, s->job) && count_job(c, &g->jobs, &g->jobs, s->job) &&
           (!by_state || count_job(c, by_state, by_state, s->job));
}

static int by_energy(const void *a, const void *b)
{
    const adept_account_group *left = a, *right = b;

    if (left->total_j != right->total_j) return left->total_j < right->total_j ? 1 : -1;
    return (left->id > right->id) - (left->id < right->id);
}

adept_status adept_account_groups_of(adept_account_groups **out, const adept_accounting *a,
                                     const adept_batch_jobs *jobs, adept_group_key key, adept_error *err)
{
    adept_account_groups *g = calloc(1, sizeof *g);
    adept_name_map names = {.n = 0};
    counted c = {.seed = adept_hash_begin()};
    bool ok = g && (g->arena = adept_arena_new());

    if (ok) g->system.id = g->idle.id = g->hidden.id = g->jobs.id = g->all.id = g->lost.id = g->open.id = -1;
    for (size_t i = 0; ok && i < a->n_shares; i++) {
        const adept_share *s = &a->shares[i];
        add(&g->all, s);
        if (s->holder == ADEPT_HOLDER_JOB)
            ok = add_job_share(g, &c, &names, s, &a->nodes[s->node], jobs, key);
        else
            add(s->holder == ADEPT_HOLDER_SYSTEM ? &g->system
                : s->holder == ADEPT_HOLDER_IDLE ? &g->idle
                                                 : &g->hidden,
                s);
    }
    adept_name_map_free(&names);
    adept_slots_free(&c.slots);
    free(c.list);
    if (!ok) {
        adept_account_groups_free(g);
        return adept_no_memory(err, "the accounting of jobs");
    }
    g->all.n_jobs = g->jobs.n_jobs;
    /* What several of a group may each have of one GPU they do not have together: no group has more than all GPUs'
     * energy, which is known. */
    double all_j = g->all.energy_j[ADEPT_ENERGY_GPU];
    adept_account_group *const sums[] = {&g->system, &g->idle, &g->hidden, &g->jobs, &g->lost, &g->open};
    for (size_t i = 0; i < g->n; i++)
        g->list[i].gpu_high_j = fmin(g->list[i].gpu_high_j, all_j);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        sums[i]->gpu_high_j = fmin(sums[i]->gpu_high_j, all_j);
    g->all.gpu_low_j = g->all.gpu_high_j = all_j;
    if (g->n > 0) qsort(g->list, g->n, sizeof *g->list, by_energy);
    *out = g;
    return ADEPT_OK;
}

void adept_account_groups_free(adept_account_groups *g)
{
    if (!g) return;
    adept_arena_free(g->arena);
    free(g->list);
    free(g);
}

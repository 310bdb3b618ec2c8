/** @file accounting_node.c  Who is on a node: seats for jobs, from the first interval in which a process of them did
 * something to the last. */
#include "accounting_node.h"
#include "adept_grow.h"
#include "adept_slots.h"
#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- seats ------------------------------------------- */

typedef struct seat_map {
    adept_slots slots;
    uint64_t seed;
    const node_run *run;
    int64_t job; /* looked for */
} seat_map;

static bool is_job(const void *context, size_t item)
{
    const seat_map *m = context;
    return m->run->seats[item].share.job == m->job;
}

static seat *add_seat(node_run *r, adept_holder holder, int64_t job)
{
    seat *grown = adept_grow(r->seats, &r->seat_capacity, r->n_seats + 1, sizeof *grown);

    if (!grown) return NULL;
    r->seats = grown;
    seat *s = &r->seats[r->n_seats++];
    *s = (seat){.share = {.holder = holder, .job = job}, .begin_s = -INFINITY, .end_s = INFINITY, .first = SIZE_MAX};
    return s;
}

/* What accounting knows of a job counts for what cannot be seen in its processes: since when, until when, and its GPUs.
 */
static bool add_job(node_run *r, seat_map *map, int64_t job, const adept_process *p, const adept_batch_jobs *jobs)
{
    const adept_activity_log *log = r->node->log;
    double begin_s = log->intervals[0].begin_s, end_s = log->intervals[log->n_intervals - 1].end_s;
    const adept_batch_job *known = jobs ? adept_batch_jobs_during(jobs, job, begin_s, end_s) : NULL;
    seat *s = add_seat(r, ADEPT_HOLDER_JOB, job);

    if (!s || !adept_slots_add(&map->slots, adept_hash_bytes(map->seed, &job, sizeof job), r->n_seats - 1))
        return false;
    s->share.uid = p->uid;
    if (!known) return true;
    if (!isnan(known->begin_s)) s->begin_s = known->begin_s;
    if (!isnan(known->end_s)) s->end_s = known->end_s;
    s->gpus = known->gpus / (known->n_nodes > 1 ? known->n_nodes : 1);
    s->slice = known->slice;
    return true;
}

static bool take_seat(node_run *r, seat_map *map, uint32_t process, const adept_batch_jobs *jobs)
{
    const adept_process *p = &r->node->log->processes[process];

    map->job = p->job >= 0 || !r->node->pids ? p->job : adept_batch_pids_job(r->node->pids, p->pid);
    if (map->job < 0) {
        r->seat_of[process] = adept_process_is_hidden(p) ? HIDDEN_SEAT : SYSTEM_SEAT;
        return true;
    }
    size_t found = adept_slots_find(&map->slots, adept_hash_bytes(map->seed, &map->job, sizeof map->job), is_job, map);
    r->seat_of[process] = (uint32_t)(found == ADEPT_SLOTS_NONE ? r->n_seats : found);
    return found != ADEPT_SLOTS_NONE || add_job(r, map, map->job, p, jobs);
}

#define NOBODY UINT32_MAX

/* Seats in the order in which they are first seen. */
static bool take_seats(node_run *r, const adept_batch_jobs *jobs)
{
    const adept_activity_log *log = r->node->log;
    seat_map map = {.seed = adept_hash_begin(), .run = r};
    bool ok = add_seat(r, ADEPT_HOLDER_SYSTEM, -1) && add_seat(r, ADEPT_HOLDER_IDLE, -1) &&
              add_seat(r, ADEPT_HOLDER_HIDDEN, -1);

    for (size_t i = 0; i < log->n_processes; i++)
        r->seat_of[i] = NOBODY;
    for (size_t k = 0; ok && k < log->n_intervals; k++) {
        const adept_activity_interval *t = &log->intervals[k];
        for (size_t i = 0; ok && i < t->n_activities + t->n_gpu_uses; i++) {
            uint32_t process =
                i < t->n_activities ? t->activities[i].process : t->gpu_uses[i - t->n_activities].process;
            if (r->seat_of[process] == NOBODY) ok = take_seat(r, &map, process, jobs);
            if (ok) {
                seat *s = &r->seats[r->seat_of[process]];
                if (s->first == SIZE_MAX) s->first = k;
                s->last = k;
                r->last_of[process] = k;
            }
        }
    }
    adept_slots_free(&map.slots);
    return ok;
}

/* ---------------------------------------------------------------- intervals --------------------------------------- */

static void leave(node_run *r, const adept_activity_interval *t, size_t interval)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n_activities; i++) {
        uint32_t process = t->activities[i].process;
        if (r->last_of[process] != interval) continue;
        r->seats[r->seat_of[process]].memory_bytes -= (double)r->memory_of[process];
        r->memory_of[process] = 0;
    }
    for (size_t i = 0; i < r->n_active; i++)
        if (r->active[i] < FIRST_JOB_SEAT || r->seats[r->active[i]].last > interval) r->active[kept++] = r->active[i];
    r->n_active = kept;
}

static void run(node_run *r)
{
    const adept_activity_log *log = r->node->log;
    size_t next = FIRST_JOB_SEAT;

    r->active[r->n_active++] = SYSTEM_SEAT;
    r->active[r->n_active++] = IDLE_SEAT;
    r->active[r->n_active++] = HIDDEN_SEAT;
    for (size_t k = 0; k < log->n_intervals; k++) {
        while (next < r->n_seats && r->seats[next].first == k)
            r->active[r->n_active++] = next++;
        /* CPU time of the interval. Memory stays what it was until a process is seen for the last time; one that ended
         * has none. */
        const adept_activity_interval *t = &log->intervals[k];
        for (size_t i = 0; i < r->n_active; i++)
            r->seats[r->active[i]].cpu_s = 0;
        for (size_t i = 0; i < t->n_activities; i++) {
            const adept_activity *a = &t->activities[i];
            seat *s = &r->seats[r->seat_of[a->process]];
            float bytes = a->values[ADEPT_ACTIVITY_MEMORY_BYTES], cpu_s = a->values[ADEPT_ACTIVITY_CPU_TIME_S];
            if (cpu_s > 0) s->cpu_s += (double)cpu_s;
            if (!(bytes >= 0)) bytes = 0;
            s->memory_bytes += (double)bytes - (double)r->memory_of[a->process];
            r->memory_of[a->process] = bytes;
        }
        for (size_t i = 0; i < r->n_active; i++)
            r->seats[r->active[i]].share.cpu_time_s += r->seats[r->active[i]].cpu_s;
        if (log->intervals[k].end_s > log->intervals[k].begin_s) adept_accounting_interval(r, &log->intervals[k]);
        leave(r, &log->intervals[k], k);
    }
}

/* ---------------------------------------------------------------- nodes ------------------------------------------- */

/* What can be given out: of processors without a meter, what the node's meter reads beyond memory and GPUs. */
static void look_at_meters(node_run *r)
{
    const adept_activity_log *log = r->node->log;
    adept_node_account *a = r->account;

    for (size_t i = 0; i < log->n_meters; i++) {
        adept_component c = log->meters[i].component;
        if (log->meters[i].n_samples == 0) continue; /* a second die, or what was never there */
        if (c == ADEPT_COMPONENT_CPU) a->has[ADEPT_ENERGY_CPU] = true;
        if (c == ADEPT_COMPONENT_DRAM) a->has[ADEPT_ENERGY_DRAM] = true;
        if (c == ADEPT_COMPONENT_GPU) a->has[ADEPT_ENERGY_GPU] = true;
        if (c == ADEPT_COMPONENT_GPU) r->n_gpus++;
        r->has_external = r->has_external || adept_meter_is_of_node(log, i);
    }
    a->cpu_is_rest = !a->has[ADEPT_ENERGY_CPU] && r->has_external;
    a->has[ADEPT_ENERGY_CPU] = a->has[ADEPT_ENERGY_CPU] || a->cpu_is_rest;
    a->has[ADEPT_ENERGY_GAP] = r->options->gap != ADEPT_GAP_NONE;
    if (!r->has_external) a->external_j = a->beside_j = NAN;
    a->host = log->host;
    a->begin_s = log->n_intervals > 0 ? log->intervals[0].begin_s : NAN;
    a->end_s = log->n_intervals > 0 ? log->intervals[log->n_intervals - 1].end_s : NAN;
    for (size_t k = 0; k < log->n_intervals; k++)
        a->recorded_s += fmax(0, log->intervals[k].end_s - log->intervals[k].begin_s);
}

static bool keep_shares(adept_accounting *a, const node_run *r, size_t node)
{
    adept_share *grown = adept_grow(a->shares, &a->capacity, a->n_shares + r->n_seats, sizeof *grown);

    if (!grown) return false;
    a->shares = grown;
    for (size_t i = 0; i < r->n_seats; i++) {
        a->shares[a->n_shares] = r->seats[i].share;
        a->shares[a->n_shares++].node = node;
    }
    return true;
}

static bool account_node(adept_accounting *a, size_t index, const adept_recorded_node *node,
                         const adept_batch_jobs *jobs, const adept_accounting_options *options)
{
    size_t n = node->log->n_processes;
    node_run r = {.node = node,
                  .options = options,
                  .account = &a->nodes[index],
                  .seat_of = calloc(n + 1, sizeof *r.seat_of),
                  .last_of = calloc(n + 1, sizeof *r.last_of),
                  .memory_of = calloc(n + 1, sizeof *r.memory_of)};
    bool ok = r.seat_of && r.last_of && r.memory_of;

    if (ok) look_at_meters(&r);
    ok = ok && take_seats(&r, jobs);
    if (ok) {
        r.active = calloc(r.n_seats, sizeof *r.active);
        r.cuts = calloc(2 * r.n_seats + 2, sizeof *r.cuts);
        r.holders = calloc(r.n_seats, sizeof *r.holders);
        ok = r.active && r.cuts && r.holders;
    }
    if (ok) run(&r);
    ok = ok && keep_shares(a, &r, index);
    free(r.seat_of);
    free(r.last_of);
    free(r.memory_of);
    free(r.active);
    free(r.cuts);
    free(r.holders);
    free(r.seats);
    return ok;
}

adept_status adept_account(adept_accounting **out, const adept_recorded_node *nodes, size_t n,
                           const adept_batch_jobs *jobs, const adept_accounting_options *options, adept_error *err)
{
    adept_accounting *a = calloc(1, sizeof *a);
    bool ok = a && (a->nodes = calloc(n + 1, sizeof *a->nodes));

    for (size_t i = 0; ok && i < n; i++)
        ok = account_node(a, a->n_nodes++, &nodes[i], jobs, options);
    if (!ok) {
        adept_accounting_free(a);
        return adept_no_memory(err, "the accounting of jobs");
    }
    *out = a;
    return ADEPT_OK;
}

void adept_accounting_free(adept_accounting *a)
{
    if (!a) return;
    free(a->shares);
    free(a->nodes);
    free(a);
}

/** @file engine_nodes.c  GPUs of nodes: who fits, who gets which, what idle ones draw. Nodes stand in lists by type and
 * idle GPUs, so that the tightest that fits is found at once, also among thousands. */
#include "engine.h"
#include "adept_random.h"
#include <stdlib.h>
#include <string.h>

static const adept_cluster_node *node_of(const adept_engine *e, size_t node)
{
    return &e->cluster->nodes[node];
}

static adept_node_list *list_of(const adept_engine *e, size_t type, int idle)
{
    return &e->lists[type * (size_t)(e->most_gpus + 1) + (size_t)idle];
}

/* ---------------------------------------------------------------- lists ------------------------------------------- */

static void unlink_node(adept_engine *e, size_t node)
{
    adept_node_now *n = &e->nodes[node];
    adept_node_list *list = list_of(e, node_of(e, node)->type, n->idle);

    *(n->previous == NONE ? &list->first : &e->nodes[n->previous].next) = n->next;
    *(n->next == NONE ? &list->last : &e->nodes[n->next].previous) = n->previous;
    if (n->idle == node_of(e, node)->gpus) e->whole_gpus[node_of(e, node)->type] -= n->idle;
}

/* Awake ones before those that sleep. */
static void link_node(adept_engine *e, size_t node)
{
    adept_node_now *n = &e->nodes[node];
    adept_node_list *list = list_of(e, node_of(e, node)->type, n->idle);
    bool first = n->state == ADEPT_NODE_AWAKE;

    n->previous = first ? NONE : list->last;
    n->next = first ? list->first : NONE;
    *(n->previous == NONE ? &list->first : &e->nodes[n->previous].next) = node;
    *(n->next == NONE ? &list->last : &e->nodes[n->next].previous) = node;
    if (n->idle == node_of(e, node)->gpus) e->whole_gpus[node_of(e, node)->type] += n->idle;
}

/* ---------------------------------------------------------------- power ------------------------------------------- */

/* Of everything on a node but jobs. */
static double power_of(const adept_engine *e, size_t node)
{
    const adept_cluster_node *about = node_of(e, node);
    const adept_node_now *n = &e->nodes[node];

    if (n->state == ADEPT_NODE_FAILED) return 0;
    if (n->state == ADEPT_NODE_ASLEEP) return e->cluster->sleep_w;
    double busy = about->gpus > 0 ? (double)(about->gpus - n->idle) / about->gpus : 0;
    return n->idle * e->cluster->types[about->type].idle_w + about->host_idle_w + about->host_busy_w * busy;
}

static void settle(adept_engine *e, size_t node)
{
    double power_w = power_of(e, node);

    adept_type_use *of_type = &e->uses[node_of(e, node)->type];

    of_type->nodes_energy_j += (e->now_s - of_type->since_s) * of_type->nodes_power_w;
    of_type->since_s = e->now_s;
    of_type->nodes_power_w += power_w - e->nodes[node].power_w;
    e->nodes_power_w += power_w - e->nodes[node].power_w;
    e->nodes[node].power_w = power_w;
}

static void wait_for_sleep(adept_engine *e, size_t node)
{
    adept_node_now *n = &e->nodes[node];

    n->idle_turn++;
    if (n->state == ADEPT_NODE_AWAKE && n->idle == node_of(e, node)->gpus && e->cluster->sleep_after_s < INFINITY)
        adept_engine_event(e, e->now_s + e->cluster->sleep_after_s, ADEPT_EVENT_SLEEP, node, n->idle_turn);
}

static void use(adept_engine *e, size_t node, int gpus)
{
    adept_node_now *n = &e->nodes[node];

    unlink_node(e, node);
    n->idle -= gpus;
    if (n->state == ADEPT_NODE_ASLEEP) n->state = ADEPT_NODE_AWAKE;
    link_node(e, node);
    wait_for_sleep(e, node);
    settle(e, node);
}

/* ---------------------------------------------------------------- what fits --------------------------------------- */

int adept_nodes_most_idle(const adept_engine *e, size_t type)
{
    for (int idle = e->most_gpus; idle > 0; idle--)
        if (list_of(e, type, idle)->first != NONE) return idle > e->whole_gpus[type] ? idle : e->whole_gpus[type];
    return 0;
}

bool adept_nodes_fit(const adept_engine *e, const adept_job_option *option)
{
    for (int idle = option->gpus; idle <= e->most_gpus; idle++)
        if (list_of(e, option->type, idle)->first != NONE) return true;
    return option->gpus > 0 && e->whole_gpus[option->type] >= option->gpus;
}

bool adept_nodes_ever_fit(const adept_engine *e, const adept_job_option *option)
{
    int64_t whole = 0;

    for (size_t i = 0; i < e->cluster->n_nodes; i++)
        if (node_of(e, i)->type == option->type) whole += node_of(e, i)->gpus;
    return option->gpus > 0 && option->gpus <= whole;
}

/* ---------------------------------------------------------------- which GPUs -------------------------------------- */

/* The tightest node that has room for all; NONE */
static size_t tightest(const adept_engine *e, const adept_job_option *option)
{
    size_t node = NONE;

    for (int idle = option->gpus; node == NONE && idle <= e->most_gpus; idle++)
        node = list_of(e, option->type, idle)->first;
    return node;
}

/* The wholly idle nodes of a type, the largest first. @param node  the one before; NONE: the first is asked for
 * @return NONE: there are no more */
static size_t next_whole(const adept_engine *e, size_t type, size_t node)
{
    int idle = node == NONE ? e->most_gpus : e->nodes[node].idle;

    node = node == NONE ? list_of(e, type, idle)->first : e->nodes[node].next;
    while (node == NONE || node_of(e, node)->gpus != idle) {
        if (node == NONE && --idle == 0) return NONE;
        node = node == NONE ? list_of(e, type, idle)->first : e->nodes[node].next;
    }
    return node;
}

/* Which GPUs a placement that fits would get: on the tightest node that has room, or else on whole idle nodes. NULL:
 * memory is out */
static adept_allocation *pick(const adept_engine *e, const adept_job_option *option, size_t *n)
{
    size_t node = tightest(e, option);
    adept_allocation *shares = malloc((node != NONE ? 1 : e->cluster->n_nodes) * sizeof *shares);
    int left = option->gpus;

    *n = 0;
    if (shares && node != NONE) shares[(*n)++] = (adept_allocation){node, left};
    if (!shares || node != NONE) return shares;
    for (node = next_whole(e, option->type, NONE); node != NONE && left > 0; node = next_whole(e, option->type, node)) {
        int gpus = node_of(e, node)->gpus;
        shares[(*n)++] = (adept_allocation){node, left < gpus ? left : gpus};
        left -= gpus;
    }
    return shares;
}

/* ---------------------------------------------------------------- what would fit ---------------------------------- */

/* GPUs of nodes as they would be, as runs end one after the other. */
typedef struct would_be {
    const adept_engine *e;
    const adept_job_option *option;
    int *idle;
    int whole; /* idle GPUs of the option's type on nodes of which nothing is used */
    bool fits; /* the option, by now */
} would_be;

static void count(would_be *w, size_t node)
{
    const adept_cluster_node *about = node_of(w->e, node);

    if (about->type != w->option->type || w->e->nodes[node].state == ADEPT_NODE_FAILED) return;
    if (w->idle[node] == about->gpus) w->whole += about->gpus;
    w->fits |= w->idle[node] >= w->option->gpus || w->whole >= w->option->gpus;
}

/* @param taken  GPUs that will not be there. @return false: memory is out, and the run ends with that */
static bool begin(would_be *w, adept_engine *e, const adept_job_option *option, const adept_allocation *taken,
                  size_t n_taken)
{
    *w = (would_be){.e = e, .option = option, .idle = malloc((e->cluster->n_nodes + 1) * sizeof *w->idle)};
    e->failed |= !w->idle;
    for (size_t i = 0; w->idle && i < e->cluster->n_nodes; i++)
        w->idle[i] = e->nodes[i].idle;
    for (size_t s = 0; w->idle && s < n_taken; s++)
        w->idle[taken[s].node] -= taken[s].gpus;
    for (size_t i = 0; w->idle && i < e->cluster->n_nodes; i++)
        count(w, i);
    return w->idle != NULL;
}

static void end_run(would_be *w, const adept_run_now *run)
{
    for (size_t s = 0; s < run->n_shares; s++) {
        w->idle[run->shares[s].node] += run->shares[s].gpus;
        count(w, run->shares[s].node);
    }
}

bool adept_nodes_fit_without(adept_engine *e, const size_t *runs, size_t n, const adept_job_option *option)
{
    would_be w;

    if (!begin(&w, e, option, NULL, 0)) return false;
    for (size_t i = 0; i < n && !w.fits; i++)
        end_run(&w, &e->runs[runs[i]]);
    free(w.idle);
    return w.fits;
}

typedef struct ending {
    double time_s;
    size_t run;
} ending;

static int by_time(const void *a, const void *b)
{
    const ending *x = a, *y = b;
    return x->time_s != y->time_s ? (x->time_s > y->time_s) - (x->time_s < y->time_s)
                                  : (x->run > y->run) - (x->run < y->run);
}

/* Runs as they should end. NULL: memory is out */
static ending *list_endings(adept_engine *e)
{
    ending *endings = malloc((e->n_runs + 1) * sizeof *endings);

    e->failed |= !endings;
    for (size_t i = 0; endings && i < e->n_runs; i++)
        endings[i] = (ending){fmax(e->now_s, e->shown[i].expected_end_s), i};
    if (endings) qsort(endings, e->n_runs, sizeof *endings, by_time);
    return endings;
}

double adept_nodes_fit_at(adept_engine *e, const adept_job_option *option)
{
    would_be w;
    double at_s = e->now_s;

    if (!begin(&w, e, option, NULL, 0)) return INFINITY;
    ending *endings = w.fits ? NULL : list_endings(e);
    for (size_t i = 0; endings && i < e->n_runs && !w.fits; i++) {
        end_run(&w, &e->runs[endings[i].run]);
        at_s = endings[i].time_s;
    }
    free(w.idle);
    free(endings);
    return w.fits ? at_s : INFINITY;
}

bool adept_nodes_fit_beside(adept_engine *e, const adept_job_option *option, double at_s,
                            const adept_job_option *started)
{
    size_t n = 0;
    adept_allocation *taken = pick(e, started, &n);
    would_be w;

    e->failed |= !taken;
    if (!taken || !begin(&w, e, option, taken, n)) {
        free(taken);
        return false;
    }
    for (size_t i = 0; i < e->n_runs && !w.fits; i++)
        if (e->shown[i].expected_end_s <= at_s) end_run(&w, &e->runs[i]);
    free(w.idle);
    free(taken);
    return w.fits;
}

/* ---------------------------------------------------------------- added power ------------------------------------- */

static double added_on(const adept_engine *e, size_t node, int gpus)
{
    const adept_cluster_node *about = node_of(e, node);
    int idle = e->nodes[node].idle - gpus;
    double after_w = idle * e->cluster->types[about->type].idle_w + about->host_idle_w +
                     about->host_busy_w * (about->gpus - idle) / about->gpus;

    return after_w - e->nodes[node].power_w;
}

double adept_nodes_added_power_w(const adept_engine *e, const adept_job_option *option)
{
    size_t node = tightest(e, option);
    double added_w = 0;

    if (node != NONE) return added_on(e, node, option->gpus);
    /* It does not fit yet, and nobody knows where it will: hosts are left out. */
    if (e->whole_gpus[option->type] < option->gpus) return -option->gpus * e->cluster->types[option->type].idle_w;
    for (int left = option->gpus; left > 0; left -= node_of(e, node)->gpus) {
        node = next_whole(e, option->type, node);
        added_w += added_on(e, node, left < node_of(e, node)->gpus ? left : node_of(e, node)->gpus);
    }
    return added_w;
}

/* ---------------------------------------------------------------- taking and giving ------------------------------- */

adept_allocation *adept_nodes_take(adept_engine *e, const adept_job_option *option, size_t *n, double *ready_s)
{
    adept_allocation *shares = pick(e, option, n);

    *ready_s = e->now_s;
    for (size_t s = 0; shares && s < *n; s++) {
        if (e->nodes[shares[s].node].state == ADEPT_NODE_ASLEEP) *ready_s = e->now_s + e->cluster->wake_s;
        use(e, shares[s].node, shares[s].gpus);
    }
    return shares;
}

void adept_nodes_give(adept_engine *e, const adept_allocation *shares, size_t n)
{
    for (size_t s = 0; s < n; s++)
        use(e, shares[s].node, -shares[s].gpus);
}

void adept_nodes_sleep(adept_engine *e, size_t node, uint64_t turn)
{
    adept_node_now *n = &e->nodes[node];

    if (n->idle_turn != turn || n->state != ADEPT_NODE_AWAKE) return;
    unlink_node(e, node);
    n->state = ADEPT_NODE_ASLEEP;
    link_node(e, node);
    settle(e, node);
}

void adept_nodes_fail(adept_engine *e, size_t node)
{
    unlink_node(e, node);
    e->nodes[node].state = ADEPT_NODE_FAILED;
    e->nodes[node].idle_turn++;
    settle(e, node);
}

void adept_nodes_repair(adept_engine *e, size_t node)
{
    e->nodes[node].state = ADEPT_NODE_AWAKE;
    link_node(e, node);
    wait_for_sleep(e, node);
    settle(e, node);
}

bool adept_nodes_begin(adept_engine *e)
{
    const adept_cluster *c = e->cluster;

    for (size_t i = 0; i < c->n_nodes; i++)
        if (c->nodes[i].gpus > e->most_gpus) e->most_gpus = c->nodes[i].gpus;
    size_t n_lists = c->n_types * (size_t)(e->most_gpus + 1);
    e->nodes = calloc(c->n_nodes + 1, sizeof *e->nodes);
    e->lists = malloc((n_lists + 1) * sizeof *e->lists);
    e->whole_gpus = calloc(c->n_types + 1, sizeof *e->whole_gpus);
    if (!e->nodes || !e->lists || !e->whole_gpus) return false;
    for (size_t i = 0; i < n_lists; i++)
        e->lists[i] = (adept_node_list){NONE, NONE};
    for (size_t i = c->n_nodes; i-- > 0;) { /* each goes to the front: the first is taken first */
        e->nodes[i].idle = c->nodes[i].gpus;
        e->total_gpus += c->nodes[i].gpus;
        link_node(e, i);
        wait_for_sleep(e, i);
        settle(e, i);
        if (c->mtbf_s < INFINITY)
            adept_engine_event(e, adept_random_exponential(e->in->seed, ADEPT_RANDOM_FAILURES, i << 32, c->mtbf_s),
                               ADEPT_EVENT_FAIL, i, 0);
    }
    return true;
}

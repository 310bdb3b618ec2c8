/** @file communication.c  All-reduces by ring and tree, inside and between nodes; see communication.h. */
#include "communication.h"
#include "nearest.h"
#include <math.h>

/* ---- one all-reduce ---- */

/* In the order of their enumerations. */
ADEPT_NAMES(adept_allreduce_name, "ring", "tree", "auto")
ADEPT_NAMES(adept_link_name, "board", "bridge")
ADEPT_NAMES(adept_overlap_name, "auto", "fixed", "bucketed", "none")

/* n ranks in a ring: every byte passes 2 (n-1)/n links in 2 (n-1) steps (eq 4.8). */
static void ring(double n, double *hops, double *volume)
{
    *hops = 2.0 * (n - 1.0);
    *volume = *hops / n;
}

/* Two binary trees, each of half the data: up and down again, in 2 ceil(log2 n) steps once the pipeline is filled;
 * every rank receives and sends each byte twice, whatever n is. */
static void tree(double n, double *hops, double *volume)
{
    *hops = 0.0;
    for (double reached = 1.0; reached < n; reached *= 2.0)
        *hops += 2.0;
    *volume = n > 1.0 ? 2.0 : 0.0;
}

/* Several nodes: reduce-scatter in every node, all-reduce of the shards between nodes, all-gather in every node. The
 * first and the last together are a ring's all-reduce; between nodes all shards share the node's network. */
static adept_allreduce_law law_of(const adept_run *run, double gpus, double nodes, bool by_tree)
{
    adept_allreduce_law law = {0};
    double hops, volume;
    if (nodes <= 1.0) {
        (by_tree ? tree : ring)(gpus, &law.hops, &law.volume);
        return law;
    }
    ring(gpus / nodes, &law.hops, &law.volume);
    (by_tree ? tree : ring)(nodes, &hops, &volume);
    law.between_s = hops * (run->internode_latency_s > 0.0 ? run->internode_latency_s : ADEPT_INTERNODE_LATENCY_S);
    law.between_s_per_byte = volume / run->internode_bytes_per_s;
    return law;
}

static adept_status check(const adept_run *run, int64_t gpus, int64_t nodes, adept_error *err)
{
    if (nodes < 1) return adept_error_set(err, ADEPT_E_USAGE, "the number of nodes must be at least 1");
    if (nodes > 1 && gpus % nodes != 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%lld GPUs cannot be shared equally by %lld nodes: --gpus counts all", (long long)gpus,
                               (long long)nodes);
    if (!(run->internode_latency_s >= 0.0) || !isfinite(run->internode_latency_s))
        return adept_error_set(err, ADEPT_E_USAGE, "the latency between nodes must not be negative");
    if (nodes > 1 && !(run->internode_bytes_per_s > 0.0 && isfinite(run->internode_bytes_per_s)))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "several nodes need the bandwidth between them: --internode-bandwidth");
    return ADEPT_OK;
}

adept_status adept_network_of(adept_network *out, const adept_run *run, adept_error *err)
{
    int64_t gpus = run->gpus == 0 ? 1 : run->gpus, nodes = run->nodes == 0 ? 1 : run->nodes;
    adept_status status = check(run, gpus, nodes, err);
    out->n = 0; /* laws behind the last one are left as they are: a prediction has no time to clear them */
    out->in_switch = false;
    out->link_ratio = 1.0;
    out->flat = run->overlap == ADEPT_OVERLAP_NONE;
    if (status != ADEPT_OK || gpus < 2) return status;
    if (run->allreduce != ADEPT_ALLREDUCE_TREE) out->laws[out->n++] = law_of(run, (double)gpus, (double)nodes, false);
    if (run->allreduce != ADEPT_ALLREDUCE_RING) out->laws[out->n++] = law_of(run, (double)gpus, (double)nodes, true);
    return ADEPT_OK;
}

/* NCCL sends 4 bytes of data with 4 of flags (LL), 120 with 8 (LL128, NVLink's packets), or data alone, whose arrival
 * takes longer to tell (Simple). Latencies are relative to LL's. These, and what follows, are rounded from a fit to
 * nccl-tests on A100 and H100 SXM, L40S and V100 PCIe (docs/accuracy/NOTES.md). */
static const struct {
    double latency, volume;
} protocols[] = {{1.0, 2.0}, {2.3, 16.0 / 15.0}, {4.0, 1.0}};
/* Starting takes as long as that many hops. */
#define STARTING_HOPS 9.0
/* A GPU also moves its own data, whatever the links carry: this share of it, as if by a link. A bus bandwidth is that
 * of 8 GPUs, where the volume is the ring's 1.75. */
#define OWN_VOLUME 0.75
#define OF_8_GPUS (1.75 / (1.75 + OWN_VOLUME))
/* A switch that adds gets all bytes once and sends 1/n of them to each of n GPUs, which send the sums for all to get;
 * its reductions take longer than the links alone. NCCL takes rings up to 4 GPUs. */
#define SWITCH_VOLUME 1.27
#define SWITCH_MIN_GPUS 5.0

void adept_network_take_link(adept_network *net, double link_ratio)
{
    net->link_ratio = link_ratio;
    for (size_t i = 0; i < net->n; i++)
        net->laws[i].volume *= link_ratio;
}

void adept_network_of_nccl(adept_network *out, const adept_network *net, double gpus)
{
    const size_t n_protocols = sizeof protocols / sizeof *protocols, n = net->n * n_protocols;
    for (size_t i = n; i-- > 0;) { /* the last first: out may be net */
        adept_allreduce_law law = net->laws[i / n_protocols];
        if (law.hops > 0.0) { /* else every node has one GPU */
            law.hops = (law.hops + STARTING_HOPS) * protocols[i % n_protocols].latency;
            law.volume = (law.volume + OWN_VOLUME * net->link_ratio) * OF_8_GPUS * protocols[i % n_protocols].volume;
        }
        out->laws[i] = law;
    }
    bool adds = n > 0 && net->in_switch && gpus >= SWITCH_MIN_GPUS;
    out->flat = net->flat;
    out->link_ratio = net->link_ratio;
    out->in_switch = false;
    out->n = n;
    if (!adds) return;
    out->laws[n] = out->laws[n_protocols - 1];
    out->laws[out->n++].volume = SWITCH_VOLUME * (1.0 + 1.0 / gpus);
}

/* Of what a rank's adapters could carry; nccl-tests over 200 and 400 Gbit/s InfiniBand reach .8 to .9. */
#define ADAPTER_SHARE 0.85
/* All-to-all's bus bandwidth, of an all-reduce's: 8 B200, .597 against .742 of the link (shared specification, section
 * 2). */
#define ALL_TO_ALL_SHARE 0.8

/* What is sent to `places`, of `copies` sent one by one to places drawn at random: each place gets one of what comes to
 * it. */
static double sent_once(double places, double copies)
{
    return copies > 1.0 && places > 1.0 ? places * (1.0 - pow(1.0 - 1.0 / places, copies)) / copies : 1.0;
}

double adept_collective_s(adept_collective kind, const adept_group_of *g, double bytes, double l_hop_s, double bw)
{
    const double n = g->ranks, nodes = ceil(n / g->in_node);
    if (!(n > 1.0) || !(bytes > 0.0)) return 0.0;
    if (nodes < 2.0) {
        /* In one node: as the all-reduce's laws, of which a gather or a scatter is a half. */
        const double own = OWN_VOLUME * (kind == ADEPT_ALL_REDUCE ? 1.0 : 0.5);
        double hops, volume, best_s = INFINITY;
        ring(n, &hops, &volume);
        if (kind != ADEPT_ALL_REDUCE) hops *= 0.5, volume *= 0.5;
        if (kind == ADEPT_ALL_TO_ALL) hops = 1.0, volume *= sent_once(n, g->copies) / ALL_TO_ALL_SHARE;
        if (kind == ADEPT_SEND) hops = volume = 1.0;
        for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
            best_s = fmin(best_s, (hops + STARTING_HOPS) * protocols[i].latency * l_hop_s +
                                      (volume + own) * OF_8_GPUS * protocols[i].volume * bytes / bw);
        if (kind == ADEPT_ALL_REDUCE && g->in_switch && n >= SWITCH_MIN_GPUS)
            best_s = fmin(best_s, (hops + STARTING_HOPS) * protocols[2].latency * l_hop_s +
                                      SWITCH_VOLUME * (1.0 + 1.0 / n) * bytes / bw);
        return best_s;
    }
    /* Rings go through all ranks, in at one adapter of a node and out at another: as many rings as there are ranks in
     * the node. */
    const double adapter = ADAPTER_SHARE * g->adapter_bytes_per_s, bus = fmin(bw, g->in_node * adapter);
    double hops, volume;
    ring(n, &hops, &volume);
    switch (kind) {
    case ADEPT_SEND:
        return g->latency_s + bytes / fmin(bw, adapter);
    case ADEPT_ALL_TO_ALL:
        return nodes * g->latency_s +
               bytes * (sent_once(nodes, g->copies) * (nodes - 1.0) / nodes / adapter +
                        sent_once(n, g->copies) * (g->in_node - 1.0) / n / (ALL_TO_ALL_SHARE * bw));
    case ADEPT_ALL_REDUCE:
        return 2.0 * nodes * g->latency_s + (hops - 2.0 * nodes) * l_hop_s + volume * bytes / bus;
    default:
        return nodes * g->latency_s + 0.5 * ((hops - 2.0 * nodes) * l_hop_s + volume * bytes / bus);
    }
}

const adept_allreduce_law *adept_network_law(const adept_network *net, double bytes, double l_hop_s,
                                             double bw_bytes_per_s)
{
    const adept_allreduce_law *best = NULL;
    double best_s = INFINITY;
    for (size_t i = 0; i < net->n; i++) {
        double time_s = adept_allreduce_law_s(&net->laws[i], bytes, l_hop_s, bw_bytes_per_s);
        if (best && !(time_s < best_s)) continue;
        best = &net->laws[i];
        best_s = time_s;
    }
    return best;
}

double adept_network_allreduce_s(const adept_network *net, double bytes, double l_hop_s, double bw_bytes_per_s)
{
    const adept_allreduce_law *law = adept_network_law(net, bytes, l_hop_s, bw_bytes_per_s);
    return law ? adept_allreduce_law_s(law, bytes, l_hop_s, bw_bytes_per_s) : 0.0;
}

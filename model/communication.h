/** @file communication.h  The all-reduce of data-parallel training. Private to model/. Calls: workload. */
#ifndef ADEPT_COMMUNICATION_H
#define ADEPT_COMMUNICATION_H
#include "adept_model.h"
#include "adept_partition.h"

/* An all-reduce of `bytes` takes hops * l_hop + volume * bytes / bw inside a node and between_s + between_s_per_byte *
 * bytes between nodes. */
typedef struct adept_allreduce_law {
    double hops, volume, between_s, between_s_per_byte;
} adept_allreduce_law;

static inline double adept_allreduce_law_s(const adept_allreduce_law *law, double bytes, double l_hop_s,
                                           double bw_bytes_per_s)
{
    return law->hops * l_hop_s + law->volume * bytes / bw_bytes_per_s +
           (law->between_s + law->between_s_per_byte * bytes);
}

/* Ring and tree by each of the protocols, and one more by the switch. */
#define ADEPT_NETWORK_LAWS 7

/* Of the algorithms allowed the fastest is taken. n 0: nothing is sent. */
typedef struct adept_network {
    size_t n;
    bool in_switch; /* the switch between the GPUs can add, too */
    double link_ratio; /* of the sheet's bandwidth and that of the link in use, which volumes are multiplied by */
    bool flat;      /* one all-reduce of all gradients, copied together, after the backward pass */
    adept_allreduce_law laws[ADEPT_NETWORK_LAWS];
} adept_network;

/** @return ADEPT_E_USAGE if the GPUs do not fill the nodes, or nothing is said of the network between them */
adept_status adept_network_of(adept_network *out, const adept_run *run, adept_error *err);

/** Other links than the sheet's. Once, before adept_network_of_nccl(). */
void adept_network_take_link(adept_network *net, double link_ratio);

/** The same network as NCCL uses it, which granularity "operator" counts on: docs/MODEL.md, section 8.
 *  @param out  may be net */
void adept_network_of_nccl(adept_network *out, const adept_network *net, double gpus);

/* One hop between nodes if nothing else is said: a few microseconds of an RDMA network and of NCCL's proxy. A round
 * guess. */
#define ADEPT_INTERNODE_LATENCY_S 1e-5

/* Ranks that send to each other. */
typedef struct adept_group_of {
    double ranks, in_node;     /* all, and those of them in one node */
    double adapter_bytes_per_s; /* what each has of its node's network */
    double latency_s;           /* of one hop between nodes */
    bool in_switch;             /* the switch between a node's GPUs can add */
    /* of an all-to-all: experts of a token that goes but once to each node and GPU of theirs; 0: once to each expert */
    double copies;
} adept_group_of;

/** One call of a collective. @param bytes  of the whole tensor; of a send those that a rank sends, of an all-to-all
 * those that it has */
double adept_collective_s(adept_collective kind, const adept_group_of *group, double bytes, double l_hop_s,
                          double bw_bytes_per_s);

/** The law that holds for that many bytes; NULL if nothing is sent. */
const adept_allreduce_law *adept_network_law(const adept_network *net, double bytes, double l_hop_s,
                                             double bw_bytes_per_s);
/** Time in s; 0 if nothing is sent. */
double adept_network_allreduce_s(const adept_network *net, double bytes, double l_hop_s, double bw_bytes_per_s);

#endif

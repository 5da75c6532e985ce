/*
 * Programs of the link between two hosts: one marks packets at the queue, one drops packets on arrival, one forwards
 * packets through the middle of the link, and one lists the entries of a socket storage map.
 */
#include "../../src/bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

#define DATA 200 /* longer packets carry data */

/* Interfaces in the middle of the link. */
#define LEFT 2
#define RIGHT 3

/* Contexts whose members the verifier translates. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qdisc_skb_head {
	u32 qlen;
};

struct Qdisc {
	struct qdisc_skb_head q;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

struct settings {
	u32 mark_above; /* packets in the queue of the interface */
	u32 mark_waiting; /* packets in flight */
	u32 mark_every; /* every n-th data packet, regardless of the queue; 0: none */
	u32 lose_first; /* first lost data packet, from 1 */
	u32 lose_count; /* number of consecutive losses */
};

struct counts {
	u64 sent; /* data packets, before the queue */
	u64 marked;
	u64 arrived; /* data packets, including lost ones */
	u64 lost;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct settings);
} wire_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counts);
} wire_counts SEC(".maps");

char _license[] SEC("license") = "Dual MIT/GPL";

/* Marks before the queue. */
SEC("tc")
int wire_mark(struct __sk_buff *skb)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(skb);
	struct settings *settings;
	struct counts *counts;
	u32 zero = 0;
	u64 number;

	settings = bpf_map_lookup_elem(&wire_settings, &zero);
	counts = bpf_map_lookup_elem(&wire_counts, &zero);
	if (!settings || !counts || skb->len < DATA)
		return TC_ACT_OK;
	number = __sync_fetch_and_add(&counts->sent, 1) + 1;
	if (packet->dev->qdisc->q.qlen > settings->mark_above || number - counts->arrived > settings->mark_waiting ||
	    (settings->mark_every && number % settings->mark_every == 0))
		if (bpf_skb_ecn_set_ce(skb))
			__sync_fetch_and_add(&counts->marked, 1);
	return TC_ACT_OK;
}

/* Drops at the receiver, so that the sender does not learn of a loss from its own interface. */
SEC("tc")
int wire_lose(struct __sk_buff *skb)
{
	struct settings *settings;
	struct counts *counts;
	u32 zero = 0;
	u64 number;

	settings = bpf_map_lookup_elem(&wire_settings, &zero);
	counts = bpf_map_lookup_elem(&wire_counts, &zero);
	if (!settings || !counts || skb->len < DATA)
		return TC_ACT_OK;
	number = __sync_fetch_and_add(&counts->arrived, 1) + 1;
	if (number < settings->lose_first || number - settings->lose_first >= settings->lose_count)
		return TC_ACT_OK;
	__sync_fetch_and_add(&counts->lost, 1);
	return TC_ACT_SHOT;
}

/* Forwards in the middle. The copy belongs to no socket, so the packet no longer counts for its sender's queue. */
SEC("tc")
int wire_pass(struct __sk_buff *skb)
{
	bpf_clone_redirect(skb, skb->ifindex == LEFT ? RIGHT : LEFT, 0);
	return TC_ACT_SHOT;
}

/* Writes the network namespace of each entry's socket. */
SEC("iter/bpf_sk_storage_map")
int wire_entries(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	u32 number;

	if (!sk || !ctx->value)
		return 0;
	number = sk->__sk_common.skc_net.net->ns.inum;
	bpf_seq_write(ctx->meta->seq, &number, sizeof(number));
	return 0;
}

/* Iterator that writes a record for each socket of these congestion controls. */
#ifndef DUETIME_STATUS_H
#define DUETIME_STATUS_H

struct socket_record {
	u64 remaining_bytes;
	s64 left_ns; /* until the deadline */
	u64 imminence;
	u64 bytes_acked;
	u32 local_address[4];
	u32 remote_address[4];
	u32 network_namespace; /* its inode number */
	u16 family;
	u16 local_port;
	u16 remote_port;
	u8 tcp_state;
	u8 ecn;
	u32 algorithm;
	u32 messages;
	u32 alpha;
	u32 cwnd;
	u32 ssthresh;
	u32 mss;
	u32 srtt_us;
	u32 delivered;
	u32 marks;
	u32 reductions;
	u32 losses;
	u32 retransmits;
	u32 deadline; /* 1 if a message is announced */
};

SEC("iter/bpf_sk_storage_map")
int duetime_sockets(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct flow *flow = ctx->value;
	struct socket_record record = {};
	struct tcp_sock *tp;
	u64 acked;

	if (!sk || !flow || flow->algorithm == ALGORITHM_OTHER)
		return 0;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	acked = tp->bytes_acked;
	record.bytes_acked = acked;
	record.family = sk->__sk_common.skc_family;
	if (record.family == AF_INET6) {
		BPF_CORE_READ_INTO(&record.local_address, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32);
		BPF_CORE_READ_INTO(&record.remote_address, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr32);
	} else {
		record.local_address[0] = sk->__sk_common.skc_rcv_saddr;
		record.remote_address[0] = sk->__sk_common.skc_daddr;
	}
	record.network_namespace = sk->__sk_common.skc_net.net->ns.inum;
	record.local_port = sk->__sk_common.skc_num;
	record.remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	record.tcp_state = sk->__sk_common.skc_state;
	record.ecn = (tp->ecn_flags & TCP_ECN_OK) != 0;
	record.algorithm = flow->algorithm;
	record.messages = flow->messages_announced & 15;
	record.alpha = flow->alpha;
	record.imminence = flow->imminence;
	record.cwnd = tp->snd_cwnd;
	record.ssthresh = tp->snd_ssthresh;
	record.mss = tp->mss_cache;
	record.srtt_us = tp->srtt_us >> 3;
	record.delivered = tp->delivered;
	record.marks = tp->delivered_ce;
	record.reductions = flow->reductions;
	record.losses = flow->losses;
	record.retransmits = tp->total_retrans;
	/* The verifier allows no variable index into the iterator's value. */
#pragma unroll
	for (u32 i = 0; i < MAX_MESSAGES; i++) {
		struct message *message = &flow->messages[i];

		if (record.messages && i == flow->first && acked < message->end) {
			record.deadline = 1;
			record.remaining_bytes = message->end - at_least(acked, message->start);
			record.left_ns = message->deadline_ns - bpf_ktime_get_ns();
		}
	}
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

#endif

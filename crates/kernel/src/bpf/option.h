/* Deadlines as a socket option: setsockopt and getsockopt of the level SOL_DUETIME, for any process. */
#ifndef DUETIME_OPTION_H
#define DUETIME_OPTION_H

#define MAX_OPTION 4096 /* bytes of an option that the kernel passes */

#define REFUSE(error)                      \
	do {                               \
		bpf_set_retval(-(error));  \
		return 0;                  \
	} while (0)

static __always_inline int is_tcp(struct bpf_sock *sk)
{
	return (sk->family == AF_INET || sk->family == AF_INET6) && sk->type == SOCK_STREAM &&
	       sk->protocol == IPPROTO_TCP;
}

/* Returns tp->write_seq. The verifier restricts this program to its own view of a socket, which lacks the field, but
 * allows a copy from a pointer that it cannot track. */
static __always_inline u32 write_seq(struct bpf_sock *sk)
{
	struct bpf_sock *pointer = sk;
	struct tcp_sock *tp = 0;
	u32 seq = 0;

	bpf_probe_read_kernel(&tp, sizeof(tp), &pointer);
	bpf_core_read(&seq, sizeof(seq), &tp->write_seq);
	return seq;
}

#define ANOTHER 1 /* option of another level, processed by the kernel */

/* Checks the option and its socket before its value, of `length` bytes up to `end`, is read. Returns 0, ANOTHER, or a
 * negative error. */
static __always_inline int check_option(struct bpf_sockopt *ctx, int length, void *end)
{
	struct bpf_sock *sk = ctx->sk;

	if (ctx->level != SOL_DUETIME) {
		if (ctx->optlen > MAX_OPTION)
			ctx->optlen = 0;
		return ANOTHER;
	}
	if (!sk || !is_tcp(sk))
		return -EOPNOTSUPP;
	if (ctx->optname != DUETIME_DEADLINE)
		return -ENOPROTOOPT;
	if (ctx->optlen != length || end > ctx->optval_end)
		return -EINVAL;
	return 0;
}

SEC("cgroup/setsockopt")
int duetime_setsockopt(struct bpf_sockopt *ctx)
{
	struct duetime_deadline *deadline = ctx->optval;
	int refused = check_option(ctx, sizeof(*deadline), deadline + 1);
	struct bpf_sock *sk = ctx->sk;
	struct bpf_tcp_sock *tp;
	struct flow *flow;
	u64 start;

	if (refused == ANOTHER)
		return 1;
	if (!sk || refused)
		REFUSE(-refused);
	if (sk->state == TCP_LISTEN || (deadline->flags & ~DUETIME_CLEAR) || deadline->reserved)
		REFUSE(EINVAL);
	tp = bpf_tcp_sock(sk);
	if (!tp)
		REFUSE(EOPNOTSUPP);
	if (deadline->flags & DUETIME_CLEAR) {
		if (deadline->bytes || deadline->deadline_us)
			REFUSE(EINVAL);
		flow = bpf_sk_storage_get(&duetime_flows, sk, 0, 0);
		if (flow)
			flow->messages_announced = 0;
		ctx->optlen = -1;
		return 1;
	}
	if (deadline->bytes == 0)
		REFUSE(EINVAL);
	if (deadline->deadline_us == 0 || deadline->deadline_us >> 63)
		REFUSE(ETIME);
	if (deadline->bytes > DUETIME_MAX_BYTES || deadline->deadline_us > DUETIME_MAX_US)
		REFUSE(ERANGE);
	flow = bpf_sk_storage_get(&duetime_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		REFUSE(ENOMEM);
	first_message(flow, tp->bytes_acked);
	if (flow->by_policy) {
		flow->by_policy = 0; /* the program takes precedence */
		flow->messages_announced = 0;
	}
	start = tp->bytes_acked + (u32)(write_seq(sk) - tp->snd_una);
	if (sk->state == TCP_CLOSE)
		start++; /* the SYN is acknowledged as one byte */
	if (announce(flow, start, deadline->bytes, bpf_ktime_get_ns() + deadline->deadline_us * 1000))
		REFUSE(ENOBUFS);
	ctx->optlen = -1; /* skip the kernel's own handler */
	return 1;
}

SEC("cgroup/getsockopt")
int duetime_getsockopt(struct bpf_sockopt *ctx)
{
	struct duetime_status *status = ctx->optval;
	int refused = check_option(ctx, sizeof(*status), status + 1);
	struct imminence_options options = {
		.d_min = parameters.imminence.d_min,
		.d_max = parameters.imminence.d_max,
		.d_expired = parameters.imminence.d_expired,
		.precise = parameters.imminence.precise,
	};
	struct bpf_sock *sk = ctx->sk;
	struct progress progress = {};
	struct bpf_tcp_sock *tp;
	struct message *message;
	struct flow *flow;
	s64 left = 0;

	if (refused == ANOTHER)
		return 1;
	if (!sk || refused)
		REFUSE(-refused);
	tp = bpf_tcp_sock(sk);
	if (!tp)
		REFUSE(EOPNOTSUPP);
	flow = bpf_sk_storage_get(&duetime_flows, sk, 0, 0);
	status->remaining_bytes = 0;
	status->left_us = 0;
	status->alpha = 0;
	status->messages = 0;
	status->imminence = FACTOR_ONE;
	status->marks = tp->delivered_ce;
	status->reductions = 0;
	if (flow) {
		fill_progress(&progress, flow, tp->bytes_acked, larger(tp->mss_cache, 1), larger(tp->snd_cwnd, 1), tp->srtt_us);
		message = first_message(flow, tp->bytes_acked);
		if (message) {
			u64 from = at_least(message->start, tp->bytes_acked);

			left = (s64)(message->deadline_ns - bpf_ktime_get_ns());
			status->remaining_bytes = message->end - from;
			/* BPF has no signed division: round towards zero. */
			status->left_us = left < 0 ? -(s64)((u64)-left / 1000) : (s64)((u64)left / 1000);
		}
		status->alpha = flow->alpha;
		status->messages = flow->messages_announced;
		options.d_max = d_max_of(flow, options.d_max);
		status->imminence = imminence_of(&options, &progress);
		status->reductions = flow->reductions;
	}
	ctx->optlen = sizeof(*status);
	barrier(); /* the kernel rejects a combined store of both */
	ctx->retval = 0;
	return 1;
}

/* Records the creator of a socket for the rules of the policy. */
SEC("cgroup/sock_create")
int duetime_sock_create(struct bpf_sock *sk)
{
	struct origin *origin;

	if (!is_tcp(sk))
		return 1;
	origin = bpf_sk_storage_get(&duetime_origins, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!origin)
		return 1;
	bpf_get_current_comm(origin->process, sizeof(origin->process));
	origin->user = bpf_get_current_uid_gid();
	for (int level = 0; level < MAX_LEVELS; level++)
		origin->cgroups[level] = bpf_get_current_ancestor_cgroup_id(level);
	return 1;
}

#endif

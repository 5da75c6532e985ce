/*
 * Congestion controller: DCTCP's reaction to marks with D2TCP's penalty, NewReno's reaction to losses, and the kernel's
 * slow start and congestion avoidance.
 *
 * The hook cong_control makes all decisions and returns nothing. The private state holds the true window, and the hook
 * overwrites the socket's. A skipped call, or a hook whose result is ignored, therefore delays a reaction by at most
 * one acknowledgement. All-zero private state is valid: `live` is not set, and the next hook initialises it.
 */
#ifndef DUETIME_CONTROLLER_H
#define DUETIME_CONTROLLER_H

struct parameters {
	struct imminence_options imminence;
	u32 gain_shift;
	u32 initial_alpha;
	u32 min_window; /* minimum window after a reduction by marks, in segments */
	u32 reserved;
};

const volatile struct parameters parameters SEC(".rodata.parameters") = {
	.imminence = {.d_min = FACTOR_ONE / 2, .d_max = 2 * FACTOR_ONE, .d_expired = FACTOR_ONE / 2},
	.gain_shift = 4,
	.initial_alpha = FRACTION_ONE,
	.min_window = 2,
};

/* At most 104 bytes, the size of icsk_ca_priv. */
struct state {
	u32 live;
	u32 cwnd; /* segments */
	u32 fraction; /* bytes of the window beyond `cwnd` segments */
	u32 ssthresh; /* segments */
	u32 alpha;
	u32 window_end;	      /* alpha is updated when this is acknowledged */
	u32 window_delivered; /* tp->delivered at the start of the window */
	u32 window_marked;    /* tp->delivered_ce at the start of the window */
	u32 delivered;	      /* tp->delivered at the last call */
	u32 marked;	      /* tp->delivered_ce at the last call */
	u32 reduced_end;      /* no second reduction until this is acknowledged */
	u32 prior_rcv_nxt;    /* receiver: tp->rcv_nxt at the previous packet */
	u32 loss_cwnd;	      /* before the last loss, to undo it */
	u32 loss_ssthresh;
	u32 prr_delivered; /* RFC 6937: since recovery began */
	u32 prr_sent;	   /* tp->prr_out when it began */
	u32 initial_cwnd;
	u32 reductions;
	u32 losses;
	u8 ca_state; /* the kernel's state at the last call */
	u8 ce;	     /* receiver: the last packet was marked */
	u8 reduced;  /* within the window of `reduced_end` */
	u8 asked;    /* the kernel requested a reduction without a mark */
	u8 undone;   /* the last loss was spurious */
	u8 reserved[3];
};

_Static_assert(sizeof(struct state) <= 104, "the private state is too large");

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;

static __always_inline int before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static __always_inline struct state *state_of(struct tcp_sock *tp)
{
	return (struct state *)tp->inet_conn.icsk_ca_priv;
}

static __always_inline u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

static __always_inline u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

static __always_inline u8 ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

/* Initialises the state of a new connection, or of one whose state was lost. */
static __always_inline void begin(struct tcp_sock *tp, struct state *state)
{
	state->cwnd = larger(tp->snd_cwnd, 1);
	state->fraction = 0;
	state->ssthresh = TCP_INFINITE_SSTHRESH;
	state->alpha = parameters.initial_alpha;
	state->window_end = tp->snd_nxt;
	state->window_delivered = state->delivered = tp->delivered;
	state->window_marked = state->marked = tp->delivered_ce;
	state->prior_rcv_nxt = tp->rcv_nxt;
	state->initial_cwnd = state->cwnd;
	state->loss_cwnd = 0;
	state->reductions = 0;
	state->losses = 0;
	state->ca_state = TCP_CA_Open;
	state->ce = 0;
	state->reduced = 0;
	state->asked = 0;
	state->undone = 0;
	state->live = 1;
}

static __always_inline struct flow *flow_of(struct tcp_sock *tp)
{
	return bpf_sk_storage_get(&duetime_flows, (void *)tp, 0, 0);
}

/* Publishes private state for other programs and adds its progress to the totals, once per window of data. */
static __always_inline void publish(struct tcp_sock *tp, struct state *state, struct flow *flow)
{
	struct totals *totals = totals_of(flow->algorithm);
	u64 bytes = tp->bytes_acked;
	u32 delivered = tp->delivered;
	u32 marked = tp->delivered_ce;

	if (totals) {
		/* The kernel may have reset them before it releases the controller. */
		if (bytes > flow->counted_bytes)
			totals->acked_bytes += bytes - flow->counted_bytes;
		totals->delivered += increase(delivered, flow->counted_delivered);
		totals->marked += increase(marked, flow->counted_marked);
		totals->reductions += increase(state->reductions, flow->reductions);
		totals->losses += increase(state->losses, flow->losses);
	}
	flow->counted_bytes = bytes;
	flow->counted_delivered = delivered;
	flow->counted_marked = marked;
	flow->alpha = state->alpha;
	flow->reductions = state->reductions;
	flow->losses = state->losses;
}

/* Handles a change of the kernel's loss recovery state. */
static __always_inline void enter(struct tcp_sock *tp, struct state *state, u8 now)
{
	u8 was = state->ca_state;

	if (now == was)
		return;
	state->ca_state = now;
	if (now >= TCP_CA_Recovery && was < TCP_CA_Recovery) {
		/* A loss halves the window regardless of alpha (RFC 8257 3.5, RFC 5681 3.1). */
		state->loss_cwnd = state->cwnd;
		state->loss_ssthresh = state->ssthresh;
		state->ssthresh = larger(state->cwnd / 2, 2);
		state->fraction = 0;
		state->undone = 0;
		state->losses++;
		state->prr_delivered = 0;
		state->prr_sent = tp->prr_out;
	}
	if (now == TCP_CA_Loss)
		state->cwnd = larger(smaller(state->cwnd, tp->snd_cwnd), 1);
	else if (was == TCP_CA_Recovery && !state->undone)
		state->cwnd = state->ssthresh;
	if (now == TCP_CA_CWR)
		state->asked = 1;
}

/* Sets the window by proportional rate reduction: one window of recovery sends ssthresh segments (RFC 6937 3.1). */
static __always_inline void repair(struct tcp_sock *tp, struct state *state, u32 acked)
{
	s32 in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	s32 sent = tp->prr_out - state->prr_sent;
	s32 missing = (s32)state->ssthresh - in_flight;
	s32 send;

	state->prr_delivered += acked;
	if (missing < 0) {
		u64 share = (u64)state->ssthresh * state->prr_delivered + state->loss_cwnd - 1;

		send = (s32)(share / larger(state->loss_cwnd, 1)) - sent;
	} else {
		s32 earned = (s32)state->prr_delivered - sent;

		if (earned < (s32)acked)
			earned = acked;
		send = earned + 1 < missing ? earned + 1 : missing;
	}
	if (send < 0)
		send = 0;
	if (send == 0 && sent == 0)
		send = 1; /* send the first retransmission immediately */
	state->cwnd = larger(in_flight + send, 1);
}

/* Reduces W to W (1 - p/2), with p = alpha^d for a flow with a deadline (D2TCP 3.1). */
static __always_inline void reduce(struct tcp_sock *tp, struct state *state, struct flow *flow, int deadlines)
{
	u32 mss = larger(tp->mss_cache, 1);
	u32 p = state->alpha;
	u64 window;

	if (deadlines && flow) {
		struct progress progress;
		struct imminence_options options = {
			.d_min = parameters.imminence.d_min,
			.d_max = d_max_of(flow, parameters.imminence.d_max),
			.d_expired = parameters.imminence.d_expired,
			.precise = parameters.imminence.precise,
		};

		refresh_policy(tp, flow);
		fill_progress(&progress, flow, tp->bytes_acked, mss, state->cwnd, tp->srtt_us);
		progress.window += state->fraction;
		flow->imminence = imminence_of(&options, &progress);
		p = fraction_power(p, flow->imminence);
	}
	window = (u64)state->cwnd * mss + state->fraction;
	window = reduced(window, p, (u64)parameters.min_window * mss);
	state->ssthresh = window / mss;
	if (state->ssthresh <= state->cwnd) {
		state->cwnd = state->ssthresh;
		state->fraction = window - (u64)state->ssthresh * mss;
	}
	tp->snd_cwnd_cnt = 0;
	state->reduced_end = tp->snd_nxt;
	state->reduced = 1;
	state->reductions++;
	if (flow)
		publish(tp, state, flow);
}

/* Grows the window with the kernel's own slow start and congestion avoidance, as in its Reno. */
static __always_inline void grow(struct tcp_sock *tp, struct state *state, u32 acked)
{
	int slow = state->cwnd < state->ssthresh;

	if (acked == 0)
		return;
	if (slow ? state->cwnd >= 2 * tp->max_packets_out : !BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return; /* limited by the application, not by the window */
	tp->snd_cwnd = state->cwnd;
	tp->snd_ssthresh = state->ssthresh;
	if (slow)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	state->cwnd = tp->snd_cwnd;
}

/* Sets the pacing rate as the kernel does (tcp_update_pacing_rate): the window per round trip, times the percentage of a
 * sysctl, at most SO_MAX_PACING_RATE. srtt_us is in 1/8 us. */
static __always_inline void set_pacing_rate(struct tcp_sock *tp, struct state *state)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	struct net *net = sk->__sk_common.skc_net.net;
	u32 percent = state->cwnd < state->ssthresh / 2 ? net->ipv4.sysctl_tcp_pacing_ss_ratio :
							  net->ipv4.sysctl_tcp_pacing_ca_ratio;
	u64 rate = (u64)tp->mss_cache * percent * (8 * 1000000 / 100);
	u64 max_rate = sk->sk_max_pacing_rate;

	if (tp->srtt_us == 0)
		return;
	rate = rate * larger(state->cwnd, tp->packets_out) / tp->srtt_us;
	sk->sk_pacing_rate = rate < max_rate ? rate : max_rate;
}

static __always_inline void update_alpha(struct tcp_sock *tp, struct state *state, struct flow *flow)
{
	u32 delivered = state->delivered - state->window_delivered;
	u32 marked = state->marked - state->window_marked;

	if (delivered)
		state->alpha = fraction_averaged(state->alpha, parameters.gain_shift & 31, smaller(marked, delivered),
						 delivered);
	state->window_delivered = state->delivered;
	state->window_marked = state->marked;
	state->window_end = tp->snd_nxt;
	if (flow)
		publish(tp, state, flow);
}

/* Counts the messages that are acknowledged. */
static __always_inline void settle(struct tcp_sock *tp, struct flow *flow)
{
	if (flow->messages_announced == 0)
		return;
	refresh_policy(tp, flow);
	first_message(flow, tp->bytes_acked);
}

/* Counts a connection that ends, or selects another congestion control. At the end, messages that are not acknowledged
 * missed their deadlines; the rest of a message by a policy of fixed size may have had no bytes. */
static __always_inline void finish(struct tcp_sock *tp, struct state *state, struct flow *flow)
{
	struct totals *totals;

	settle(tp, flow);
	if (tp->inet_conn.icsk_inet.sk.__sk_common.skc_state == TCP_CLOSE) {
		if (!flow->by_policy || flow->policy_bytes == 0)
			count_messages(flow, 0, flow->messages_announced);
		flow->messages_announced = 0;
	}
	publish(tp, state, flow);
	totals = totals_of(flow->algorithm);
	if (totals)
		totals->closed++;
	flow->algorithm = ALGORITHM_OTHER;
}

/* Processes an acknowledgement, after the kernel has detected losses and before it sends. */
static __always_inline void control(struct tcp_sock *tp, int deadlines)
{
	struct state *state = state_of(tp);
	struct flow *flow = flow_of(tp);
	u8 now = ca_state(tp);
	u32 acked, marked;

	if (!state->live)
		begin(tp, state);
	acked = tp->delivered - state->delivered;
	marked = tp->delivered_ce - state->marked;
	state->delivered += acked;
	state->marked += marked;

	/* The kernel may lower the window (a timeout, a changed MTU); other changes are overwritten. */
	if (state->ca_state == now && now != TCP_CA_Recovery && tp->snd_cwnd < state->cwnd)
		state->cwnd = larger(tp->snd_cwnd, 1);
	enter(tp, state, now);
	if (flow)
		settle(tp, flow);
	if (!before(tp->snd_una, state->window_end))
		update_alpha(tp, state, flow);
	if (state->reduced && before(state->reduced_end, tp->snd_una))
		state->reduced = 0;
	if (now == TCP_CA_Recovery)
		repair(tp, state, acked);
	else if (!state->reduced && now != TCP_CA_Loss && (marked || state->asked))
		reduce(tp, state, flow, deadlines);
	else if (!state->reduced)
		grow(tp, state, acked);
	state->asked = 0;

	tp->snd_cwnd = state->cwnd;
	tp->snd_ssthresh = state->ssthresh;
	set_pacing_rate(tp, state);
}

/* Sets the ECN echo so that acknowledgements report the mark of the packets that they cover, even if delayed (RFC 8257
 * 3.2). */
static __always_inline void set_echo(struct tcp_sock *tp, u8 ce)
{
	u8 flags = tp->ecn_flags & ~TCP_ECN_DEMAND_CWR;

	tp->ecn_flags = ce ? flags | TCP_ECN_DEMAND_CWR : flags;
}

static __always_inline void receive(struct tcp_sock *tp, struct state *state, u8 ce)
{
	if (state->ce != ce) {
		u8 pending = tp->inet_conn.icsk_ack.pending;

		if (pending & ICSK_ACK_TIMER) {
			/* Acknowledge the earlier packets with their own mark. */
			set_echo(tp, state->ce);
			bpf_tcp_send_ack(tp, state->prior_rcv_nxt);
			pending = tp->inet_conn.icsk_ack.pending;
		}
		tp->inet_conn.icsk_ack.pending = pending | ICSK_ACK_NOW;
	}
	state->ce = ce;
	state->prior_rcv_nxt = tp->rcv_nxt;
	set_echo(tp, ce);
}

/* Decays the window when data follows a pause longer than the timeout, as in the kernel (RFC 2861). The first burst
 * after the pause has already been sent. */
static __always_inline void restart(struct tcp_sock *tp, struct state *state)
{
	struct net *net = tp->inet_conn.icsk_inet.sk.__sk_common.skc_net.net;
	u32 rto = larger(tp->inet_conn.icsk_rto, 1);
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime;
	u32 cwnd;

	if (!net->ipv4.sysctl_tcp_slow_start_after_idle || (s32)idle <= (s32)rto)
		return;
	cwnd = state->cwnd >> smaller((idle - 1) / rto, 31);
	state->ssthresh = larger(state->ssthresh, state->cwnd - state->cwnd / 4);
	state->cwnd = larger(cwnd, smaller(state->initial_cwnd, state->cwnd));
	state->fraction = 0;
	tp->snd_cwnd = state->cwnd;
	tp->snd_ssthresh = state->ssthresh;
}

/* Handles the first data sent while nothing is in flight. */
static __always_inline void start(struct tcp_sock *tp, struct state *state)
{
	struct flow *flow;

	if (tp->packets_out)
		return; /* retransmission of all outstanding data */
	restart(tp, state);
	flow = flow_of(tp);
	if (flow)
		begin_message(tp, flow);
}

static __always_inline void initialise(struct tcp_sock *tp, u32 algorithm)
{
	struct totals *totals;
	struct flow *flow;
	char reno[] = "reno";

	/* Without ECN the peer would not report marks, but the kernel would send ECT for this controller, so that switches
	 * would mark instead of dropping. Reno does not, and otherwise behaves alike. */
	if (!(tp->ecn_flags & TCP_ECN_OK) && !bpf_setsockopt(tp, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno)))
		return;
	begin(tp, state_of(tp));
	flow = bpf_sk_storage_get(&duetime_flows, (void *)tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return;
	flow->algorithm = algorithm;
	flow->imminence = FACTOR_ONE;
	flow->counted_bytes = tp->bytes_acked;
	flow->counted_delivered = tp->delivered;
	flow->counted_marked = tp->delivered_ce;
	flow->reductions = 0;
	flow->losses = 0;
	publish(tp, state_of(tp), flow);
	totals = totals_of(algorithm);
	if (totals)
		totals->opened++;
}

#endif

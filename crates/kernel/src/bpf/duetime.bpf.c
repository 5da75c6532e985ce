/* DCTCP and D2TCP as loadable congestion controls, and deadlines as a socket option. */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#define DUETIME_TYPES
#define DUETIME_U32 u32
#define DUETIME_U64 u64
#define DUETIME_S64 s64
#include "../../include/duetime.h"

#define EFAULT 14
#define ENOMEM 12
#define EINVAL 22
#define ERANGE 34
#define ETIME 62
#define EOPNOTSUPP 95
#define ENOPROTOOPT 92
#define ENOBUFS 105

#include "arithmetic.h"
#include "totals.h"
#include "flow.h"
#include "policy.h"
#include "controller.h"

/* The calling kernel code is under GPL version 2, and the verifier requires a compatible licence. */
char _license[] SEC("license") = "Dual MIT/GPL";

/* Congestion control. The argument `sk` is a `struct tcp_sock` for the verifier. */

SEC("struct_ops")
int duetime_dctcp_init(u64 *ctx)
{
	initialise((void *)ctx[0], ALGORITHM_DCTCP);
	return 0;
}

SEC("struct_ops")
int duetime_d2tcp_init(u64 *ctx)
{
	initialise((void *)ctx[0], ALGORITHM_D2TCP);
	return 0;
}

SEC("struct_ops")
int duetime_release(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *flow = flow_of(tp);

	if (flow && flow->algorithm != ALGORITHM_OTHER)
		finish(tp, state_of(tp), flow);
	return 0;
}

/* cong_control has 2 arguments before Linux 6.10 and 4 since; only the first is used. */
SEC("struct_ops")
int duetime_dctcp_control(u64 *ctx)
{
	control((void *)ctx[0], 0);
	return 0;
}

SEC("struct_ops")
int duetime_d2tcp_control(u64 *ctx)
{
	control((void *)ctx[0], 1);
	return 0;
}

SEC("struct_ops")
int duetime_set_state(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct state *state = state_of(tp);

	if (state->live)
		enter(tp, state, ctx[1]);
	return 0;
}

SEC("struct_ops")
int duetime_cwnd_event(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct state *state = state_of(tp);
	u32 event = ctx[1];

	if (event != CA_EVENT_TX_START && event != CA_EVENT_ECN_NO_CE && event != CA_EVENT_ECN_IS_CE)
		return 0;
	if (!state->live)
		begin(tp, state);
	if (event == CA_EVENT_TX_START)
		start(tp, state);
	else
		receive(tp, state, event == CA_EVENT_ECN_IS_CE);
	return 0;
}

/* cong_control sets the threshold when it sees the loss. */
SEC("struct_ops")
int duetime_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct state *state = state_of(tp);

	return state->live ? state->ssthresh : tp->snd_ssthresh;
}

/* Restores the window after a spurious loss. */
SEC("struct_ops")
int duetime_undo_cwnd(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct state *state = state_of(tp);

	if (!state->live)
		return tp->snd_cwnd;
	if (state->loss_cwnd) {
		state->cwnd = larger(state->cwnd, state->loss_cwnd);
		state->ssthresh = larger(state->ssthresh, state->loss_ssthresh);
		state->undone = 1;
		state->loss_cwnd = 0;
	}
	return state->cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops duetime_dctcp = {
	.init = (void *)duetime_dctcp_init,
	.release = (void *)duetime_release,
	.cong_control = (void *)duetime_dctcp_control,
	.set_state = (void *)duetime_set_state,
	.cwnd_event = (void *)duetime_cwnd_event,
	.ssthresh = (void *)duetime_ssthresh,
	.undo_cwnd = (void *)duetime_undo_cwnd,
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
	.name = "duetime_dctcp",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops duetime_d2tcp = {
	.init = (void *)duetime_d2tcp_init,
	.release = (void *)duetime_release,
	.cong_control = (void *)duetime_d2tcp_control,
	.set_state = (void *)duetime_set_state,
	.cwnd_event = (void *)duetime_cwnd_event,
	.ssthresh = (void *)duetime_ssthresh,
	.undo_cwnd = (void *)duetime_undo_cwnd,
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
	.name = "duetime_d2tcp",
};

#include "option.h"
#include "status.h"

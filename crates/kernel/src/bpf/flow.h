/*
 * What is kept for a socket beside the window: its messages with deadlines, and what others may read of its controller.
 */
#ifndef DUETIME_FLOW_H
#define DUETIME_FLOW_H

#define MOST_MESSAGES 8 /* a power of two */

/* Positions count the stream's bytes from the first ever acknowledged, so that they never wrap. */
struct message {
	u64 start;
	u64 end;
	u64 deadline_ns; /* on CLOCK_MONOTONIC */
};

enum algorithm {
	ALGORITHM_OTHER, /* another congestion control, or none yet */
	ALGORITHM_DCTCP,
	ALGORITHM_D2TCP,
};

struct flow {
	struct message messages[MOST_MESSAGES];
	u32 first;    /* the message that is sent or acknowledged */
	u32 messages_announced;
	u64 imminence; /* d of the last reduction */
	u32 alpha;
	u32 reductions;
	u32 algorithm;
	u32 policy_generation; /* of the policy that the next two are from; 0: none was looked at */
	u64 policy_bytes;      /* 0: what is written and not acknowledged */
	u64 policy_deadline_ns; /* 0: the policy has no deadline for it */
	u32 by_policy;	       /* the announced message is the policy's */
	u32 losses;	       /* windows halved by loss, and timeouts */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} duetime_flows SEC(".maps");

/* The first message that is not acknowledged up to `acked`, or NULL. Forgets those before it. */
static __always_inline struct message *first_message(struct flow *flow, u64 acked)
{
	struct message *message;

	for (int i = 0; i < MOST_MESSAGES; i++) {
		if (flow->messages_announced == 0)
			return 0;
		message = &flow->messages[flow->first & (MOST_MESSAGES - 1)];
		if (acked < message->end)
			return message;
		flow->first = (flow->first + 1) & (MOST_MESSAGES - 1);
		flow->messages_announced--;
	}
	return 0;
}

static __always_inline int announce(struct flow *flow, u64 start, u64 bytes, u64 deadline_ns)
{
	struct message *message;

	if (flow->messages_announced >= MOST_MESSAGES)
		return -ENOBUFS;
	message = &flow->messages[(flow->first + flow->messages_announced) & (MOST_MESSAGES - 1)];
	message->start = start;
	message->end = start + bytes;
	message->deadline_ns = deadline_ns;
	flow->messages_announced++;
	return 0;
}

/* What the deadline depends on, for the message that is sent now. */
static __always_inline void fill_progress(struct progress *progress, struct flow *flow, u64 acked, u32 mss, u32 cwnd,
					  u32 srtt_us)
{
	struct message *message = first_message(flow, acked);
	u64 now;

	progress->has_deadline = 0;
	progress->mss = mss;
	progress->window = (u64)cwnd * mss;
	progress->srtt_ps = (u64)(srtt_us >> 3) * 1000000;
	progress->remaining = 0;
	progress->left_ps = 0;
	if (!message || acked < message->start)
		return; /* bytes without a deadline come first */
	now = bpf_ktime_get_ns();
	progress->has_deadline = 1;
	progress->remaining = message->end - acked;
	if (message->deadline_ns > now)
		progress->left_ps = (message->deadline_ns - now) * 1000;
}

#endif

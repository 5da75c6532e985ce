/*
 * Per-socket state in addition to the window: messages with deadlines, and the published state of the controller. The next
 * attachment, perhaps of another version, uses the map again: see handover.rs before changing its meaning.
 */
#ifndef DUETIME_FLOW_H
#define DUETIME_FLOW_H

#define MAX_MESSAGES 8 /* a power of two */

/* Positions count the stream's bytes from the first ever acknowledged, so that they never wrap. */
struct message {
	u64 start;
	u64 end;
	u64 deadline_ns; /* on CLOCK_MONOTONIC */
};

struct flow {
	struct message messages[MAX_MESSAGES];
	u32 first;    /* index of the current message */
	u32 messages_announced;
	u64 imminence; /* d of the last reduction */
	u32 alpha;
	u32 reductions;
	u32 algorithm;
	u32 policy_generation; /* of the policy of the next three fields; 0: none looked up */
	u64 policy_bytes;      /* 0: all written and unacknowledged bytes */
	u64 policy_deadline_ns; /* 0: no matching rule with a deadline */
	u64 policy_d_max;	/* 0: no limit but the parameters' */
	u32 by_policy;	       /* 1 if the policy announced the message */
	u32 losses;	       /* window reductions by losses, and timeouts */
	u64 counted_bytes;     /* in the totals so far */
	u32 counted_delivered;
	u32 counted_marked;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} duetime_flows SEC(".maps");

/* Counts messages whose deadlines were met and missed. */
static __always_inline void count_messages(struct flow *flow, u64 met, u64 missed)
{
	struct totals *totals = totals_of(flow->algorithm);

	if (totals) {
		totals->met += met;
		totals->missed += missed;
	}
}

/* Returns the first message that is not acknowledged up to `acked`, or NULL. Counts those before it and forgets them. */
static __always_inline struct message *first_message(struct flow *flow, u64 acked)
{
	struct message *message, *first = 0;
	u64 ended = 0, missed = 0;
	u64 now, late;

	if (flow->messages_announced == 0)
		return 0;
	now = bpf_ktime_get_ns();
	for (int i = 0; i < MAX_MESSAGES; i++) {
		if (flow->messages_announced == 0)
			break;
		message = &flow->messages[flow->first & (MAX_MESSAGES - 1)];
		if (acked < message->end) {
			first = message;
			break;
		}
		/* Without a branch, since the verifier would walk both sides for each message. */
		late = (message->deadline_ns - now) >> 63;
		OPAQUE(late);
		missed += late;
		ended++;
		flow->first = (flow->first + 1) & (MAX_MESSAGES - 1);
		flow->messages_announced--;
	}
	if (ended)
		count_messages(flow, ended - missed, missed);
	return first;
}

static __always_inline int announce(struct flow *flow, u64 start, u64 bytes, u64 deadline_ns)
{
	struct message *message;

	if (flow->messages_announced >= MAX_MESSAGES)
		return -ENOBUFS;
	message = &flow->messages[(flow->first + flow->messages_announced) & (MAX_MESSAGES - 1)];
	message->start = start;
	message->end = start + bytes;
	message->deadline_ns = deadline_ns;
	flow->messages_announced++;
	return 0;
}

/* Returns the maximum d of the flow: its rule's, if that is lower than the parameters'. Without a branch, as in
 * arithmetic.h. */
static __always_inline u64 d_max_of(const struct flow *flow, u64 d_max)
{
	u64 limit = ((flow->policy_d_max - 1) & ~(3ull << 62)) + 1; /* 2^62 for none */
	u64 lower = (limit - d_max) >> 63;

	OPAQUE(lower);
	return d_max + ((limit - d_max) & (0 - lower));
}

/* Fills in the state that determines the imminence of the current message. */
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
		return; /* earlier bytes have no deadline */
	now = bpf_ktime_get_ns();
	progress->has_deadline = 1;
	progress->remaining = message->end - acked;
	if (message->deadline_ns > now)
		progress->left_ps = (message->deadline_ns - now) * 1000;
}

#endif

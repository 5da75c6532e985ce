/*
 * Rules of the policy file: deadlines for programs that set none, and limits of d. A message begins with the first data
 * sent while nothing is in flight.
 */
#ifndef DUETIME_POLICY_H
#define DUETIME_POLICY_H

#define MAX_RULES 16
#define MAX_LEVELS 8 /* of cgroups */

#define RULE_CGROUP 1u
#define RULE_PROCESS 2u
#define RULE_USER 4u

struct rule {
	u64 bytes; /* 0: all written and unacknowledged bytes */
	u64 deadline_us; /* 0: only limits d */
	u64 d_max;	 /* as a factor; 0: no limit but the parameters' */
	u64 cgroup; /* its id */
	char process[16];
	u16 local_first, local_last;
	u16 remote_first, remote_last;
	u32 conditions; /* RULE_* to check in addition to the ports */
	u32 user;
};

struct policy {
	u32 count;
	u32 reserved;
	struct rule rules[MAX_RULES];
};

/* Index of the active policy, and number of policies so far. One value, so that a policy is replaced atomically. */
struct selection {
	u32 slot;
	u32 generation; /* 0: no policy */
};

/* Creator of the socket; accepted sockets inherit it from their listening socket. */
struct origin {
	char process[16];
	u64 cgroups[MAX_LEVELS];
	u32 user;
	u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct policy);
} duetime_policy SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct selection);
} duetime_select SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct origin);
} duetime_origins SEC(".maps");

static __always_inline int from_cgroup(const struct origin *origin, u64 cgroup)
{
	for (int level = 0; level < MAX_LEVELS; level++)
		if (origin->cgroups[level] == cgroup)
			return 1;
	return 0;
}

static __always_inline int from_process(const struct origin *origin, const char *process)
{
	for (int i = 0; i < 16; i++) {
		if (origin->process[i] != process[i])
			return 0;
		if (process[i] == 0)
			return 1;
	}
	return 1;
}

static __always_inline int matches(const struct rule *rule, const struct origin *origin, u16 local, u16 remote)
{
	if (local < rule->local_first || local > rule->local_last || remote < rule->remote_first ||
	    remote > rule->remote_last)
		return 0;
	if ((rule->conditions & RULE_CGROUP) && !(origin && from_cgroup(origin, rule->cgroup)))
		return 0;
	if ((rule->conditions & RULE_PROCESS) && !(origin && from_process(origin, rule->process)))
		return 0;
	if ((rule->conditions & RULE_USER) && !(origin && origin->user == rule->user))
		return 0;
	return 1;
}

/* Looks up the first matching rule, unless the flow has looked up this policy before. */
static __always_inline void look_up_policy(struct tcp_sock *tp, struct flow *flow)
{
	struct sock_common *common = &tp->inet_conn.icsk_inet.sk.__sk_common;
	struct selection *selection;
	struct policy *policy;
	struct origin *origin;
	u32 zero = 0, slot;
	u16 local, remote;

	selection = bpf_map_lookup_elem(&duetime_select, &zero);
	if (!selection || selection->generation == flow->policy_generation)
		return;
	flow->policy_generation = selection->generation;
	flow->policy_deadline_ns = 0;
	flow->policy_d_max = 0;
	slot = selection->slot;
	policy = bpf_map_lookup_elem(&duetime_policy, &slot);
	if (!policy)
		return;
	origin = bpf_sk_storage_get(&duetime_origins, (void *)tp, 0, 0);
	local = common->skc_num;
	remote = bpf_ntohs(common->skc_dport);
	for (u32 i = 0; i < MAX_RULES; i++) {
		if (i >= policy->count)
			return;
		if (matches(&policy->rules[i], origin, local, remote)) {
			flow->policy_bytes = policy->rules[i].bytes;
			flow->policy_deadline_ns = policy->rules[i].deadline_us * 1000;
			flow->policy_d_max = policy->rules[i].d_max;
			return;
		}
	}
}

/* Begins a message by policy when the first data is sent while nothing is in flight, unless the program has announced
 * one. */
static __always_inline void begin_message(struct tcp_sock *tp, struct flow *flow)
{
	u64 acked = tp->bytes_acked;
	u64 bytes;

	look_up_policy(tp, flow);
	if (flow->by_policy) {
		flow->messages_announced = 0; /* the unused rest of the last message */
		flow->by_policy = 0;
	}
	if (flow->policy_deadline_ns == 0 || first_message(flow, acked))
		return;
	bytes = flow->policy_bytes;
	if (bytes == 0)
		bytes = tp->write_seq - tp->snd_una;
	if (announce(flow, acked, bytes, bpf_ktime_get_ns() + flow->policy_deadline_ns) == 0)
		flow->by_policy = 1;
}

/* Extends a message of unknown length to all written and unacknowledged bytes. */
static __always_inline void refresh_policy(struct tcp_sock *tp, struct flow *flow)
{
	if (flow->by_policy && flow->policy_bytes == 0)
		flow->messages[flow->first & (MAX_MESSAGES - 1)].end =
			tp->bytes_acked + (u32)(tp->write_seq - tp->snd_una);
}

#endif

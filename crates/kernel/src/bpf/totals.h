/*
 * Totals of each controller over all its sockets, for monitoring. Every processor has its own, so that no update is lost.
 */
#ifndef DUETIME_TOTALS_H
#define DUETIME_TOTALS_H

enum algorithm {
	ALGORITHM_OTHER, /* another congestion control, or none yet */
	ALGORITHM_DCTCP,
	ALGORITHM_D2TCP,
};

struct totals {
	u64 opened; /* connections */
	u64 closed;
	u64 acked_bytes;
	u64 delivered;	/* packets */
	u64 marked;	/* packets delivered with a mark */
	u64 reductions; /* of windows by marks */
	u64 losses;	/* window reductions by losses, and timeouts */
	u64 met;	/* messages acknowledged by their deadlines */
	u64 missed;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct totals);
} duetime_totals SEC(".maps");

/* Returns this processor's totals of a controller, or NULL for ALGORITHM_OTHER. */
static __always_inline struct totals *totals_of(u32 algorithm)
{
	u32 key = algorithm - ALGORITHM_DCTCP;

	return bpf_map_lookup_elem(&duetime_totals, &key);
}

/* Returns the increase of a counter of a socket, or 0 if it was reset. */
static __always_inline u32 increase(u32 now, u32 before)
{
	s32 more = now - before;

	return more > 0 ? more : 0;
}

#endif

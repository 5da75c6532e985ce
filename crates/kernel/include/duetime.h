/*
 * Deadlines for messages of a TCP socket with the congestion control duetime_d2tcp.
 *
 *   struct duetime_deadline deadline = { .bytes = 10240, .deadline_us = 35000 };
 *   setsockopt(fd, SOL_DUETIME, DUETIME_DEADLINE, &deadline, sizeof(deadline));
 *   write(fd, message, 10240);
 *
 * The message is the next `bytes` bytes that the program writes. At most 8 messages may be announced and
 * unacknowledged. No privilege is required. On error, nothing is stored and errno is:
 *
 *   EINVAL       wrong option length, `bytes` is 0, an unknown flag, or a listening socket
 *   ERANGE       `bytes` is above DUETIME_MAX_BYTES, or `deadline_us` above DUETIME_MAX_US
 *   ETIME        `deadline_us` is 0 or, read as a signed number, negative: the deadline has passed
 *   ENOBUFS      8 messages are announced and unacknowledged
 *   EFAULT       the pointer is invalid
 *   EOPNOTSUPP   not a TCP socket
 *   ENOPROTOOPT  unknown option of this level, a socket created outside the cgroup, or nothing is attached
 *   ENOMEM       the socket's option memory is exhausted
 *
 * getsockopt with the same level and option fills a struct duetime_status.
 */
#ifndef DUETIME_H
#define DUETIME_H

#ifndef DUETIME_TYPES
#include <stdint.h>
#define DUETIME_U32 uint32_t
#define DUETIME_U64 uint64_t
#define DUETIME_S64 int64_t
#endif

#define SOL_DUETIME 53970
#define DUETIME_DEADLINE 1

#define DUETIME_MAX_BYTES (1ull << 37)
#define DUETIME_MAX_US 86400000000ull /* one day */

/* Flags of struct duetime_deadline. */
#define DUETIME_CLEAR 1u /* forget the announced messages; `bytes` and `deadline_us` must be 0 */

struct duetime_deadline {
	DUETIME_U64 bytes;	 /* length of the message, from the next byte written */
	DUETIME_U64 deadline_us; /* microseconds from now */
	DUETIME_U32 flags;
	DUETIME_U32 reserved; /* 0 */
};

struct duetime_status {
	DUETIME_U64 remaining_bytes; /* unacknowledged, of the first announced message; 0 without one */
	DUETIME_S64 left_us;	     /* until its deadline; negative if it has passed */
	DUETIME_U32 alpha;	     /* average marked fraction, times 2^20 */
	DUETIME_U32 messages;	     /* announced and unacknowledged */
	DUETIME_U64 imminence;	     /* d, times 2^16 */
	DUETIME_U32 marks;	     /* packets acknowledged with a mark */
	DUETIME_U32 reductions;	     /* window reductions by marks */
};

#endif

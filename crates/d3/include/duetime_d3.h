/* D3 as sockets over UDP: see duetime_d3(3). */
#ifndef DUETIME_D3_H
#define DUETIME_D3_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct d3_socket_s d3_socket_t;
typedef struct d3_stream_s d3_stream_t;

/* Codes of d3_error(). */
enum {
    D3_NONE = 0,         /* no failure */
    D3_SYSTEM = 1,       /* system error or invalid argument */
    D3_QUENCHED = 2,     /* the flow was ended because it cannot meet its deadline */
    D3_PEER_ABORTED = 3, /* the peer's flow was quenched or aborted */
    D3_REFUSED = 4,      /* the peer accepts no streams */
    D3_RESET = 5,        /* the peer does not know the stream */
    D3_TIMED_OUT = 6,    /* the peer did not answer in time */
    D3_VERSION = 7,      /* the peer uses another version */
    D3_TOO_MANY = 8,     /* too many streams are open */
    D3_FINISHED = 9,     /* the flow is already finished */
    D3_ALREADY_OPEN = 10,/* the flow is already declared */
    D3_ABORTED = 11,     /* the flow was aborted */
    D3_TOO_LONG = 12,    /* packets of the configured length exceed the interface's MTU */
    D3_BLOCKED = 13      /* a timeout of d3_set_timeouts or d3_accept_within passed, or a d3_try_ call would wait */
};

typedef struct {
    uint64_t bits_per_second;         /* rate of the interface */
    uint64_t slowest_bits_per_second; /* rate of the network's slowest link; 0: the interface's */
    uint32_t mtu;                     /* largest IP packet in bytes; 0: 1500 */
    int backlog;                      /* streams that wait for d3_accept; 0: accept none */
} d3_options_t;

typedef struct {
    uint64_t granted_bps;     /* rate granted for the current round trip */
    uint64_t requests;        /* rate requests sent */
    uint64_t retransmissions; /* data packets retransmitted */
    uint64_t acked;           /* bytes acknowledged by the peer */
    uint64_t received;        /* bytes received in order */
    int exceeded;             /* 1 if more bytes were sent than declared */
} d3_statistics_t;

d3_socket_t *d3_socket(const char *address, uint64_t bits_per_second, int backlog);
d3_socket_t *d3_socket_with(const char *address, const d3_options_t *options);
int d3_port(const d3_socket_t *socket);
d3_stream_t *d3_connect(const d3_socket_t *socket, const char *address, uint64_t bytes,
                        uint64_t deadline_us);
d3_stream_t *d3_accept(const d3_socket_t *socket);
d3_stream_t *d3_accept_within(const d3_socket_t *socket, uint64_t timeout_ms);
d3_stream_t *d3_try_accept(const d3_socket_t *socket);
int d3_incoming_fd(const d3_socket_t *socket);
int d3_open(const d3_stream_t *stream, uint64_t bytes, uint64_t deadline_us);
int d3_set_timeouts(const d3_stream_t *stream, uint64_t receive_ms, uint64_t send_ms);
int d3_peer(const d3_stream_t *stream, char *out, size_t length);
ssize_t d3_send(const d3_stream_t *stream, const void *data, size_t length);
ssize_t d3_recv(const d3_stream_t *stream, void *data, size_t length);
ssize_t d3_try_send(const d3_stream_t *stream, const void *data, size_t length);
ssize_t d3_try_recv(const d3_stream_t *stream, void *data, size_t length);
int d3_changed_fd(const d3_stream_t *stream);
int d3_finish(const d3_stream_t *stream);
int d3_abort(const d3_stream_t *stream);
int d3_close(d3_stream_t *stream);
int d3_statistics(const d3_stream_t *stream, d3_statistics_t *out);
void d3_socket_close(d3_socket_t *socket);
int d3_error(void);
const char *d3_message(void);

#ifdef __cplusplus
}
#endif

#endif

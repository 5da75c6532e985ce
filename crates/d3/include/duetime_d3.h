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

/* What d3_error() says. */
enum {
    D3_NONE = 0,         /* no call has failed */
    D3_SYSTEM = 1,       /* an error of the system, or a bad argument */
    D3_QUENCHED = 2,     /* the deadline cannot be met: the flow was ended */
    D3_GIVEN_UP = 3,     /* the peer abandoned its flow */
    D3_REFUSED = 4,      /* the peer accepts no streams */
    D3_RESET = 5,        /* the peer knows the stream no more */
    D3_TIMED_OUT = 6,    /* the peer did not answer in time */
    D3_VERSION = 7,      /* the peer speaks another version */
    D3_TOO_MANY = 8,     /* too many streams are open */
    D3_FINISHED = 9,     /* the flow was finished before */
    D3_ALREADY_OPEN = 10,/* the flow was announced before */
    D3_ABORTED = 11,     /* the flow was aborted */
    D3_TOO_LONG = 12     /* the interface does not accept packets of the configured length */
};

typedef struct {
    uint64_t granted_bps;     /* rate granted for the present round trip */
    uint64_t requests;        /* rate requests sent */
    uint64_t retransmissions; /* data packets sent again */
    uint64_t acked;           /* bytes that the peer has acknowledged */
    uint64_t received;        /* bytes received in order */
    int exceeded;             /* more was sent than announced */
} d3_statistics_t;

d3_socket_t *d3_socket(const char *address, uint64_t bits_per_second, int backlog);
d3_socket_t *d3_socket_slowest(const char *address, uint64_t bits_per_second,
                               uint64_t slowest_bits_per_second, int backlog);
int d3_port(const d3_socket_t *socket);
d3_stream_t *d3_connect(const d3_socket_t *socket, const char *address, uint64_t bytes,
                        uint64_t deadline_us);
d3_stream_t *d3_accept(const d3_socket_t *socket);
int d3_open(const d3_stream_t *stream, uint64_t bytes, uint64_t deadline_us);
ssize_t d3_send(const d3_stream_t *stream, const void *data, size_t length);
ssize_t d3_recv(const d3_stream_t *stream, void *data, size_t length);
int d3_finish(const d3_stream_t *stream);
int d3_close(d3_stream_t *stream);
int d3_statistics(const d3_stream_t *stream, d3_statistics_t *out);
void d3_socket_close(d3_socket_t *socket);
int d3_error(void);
const char *d3_message(void);

#ifdef __cplusplus
}
#endif

#endif

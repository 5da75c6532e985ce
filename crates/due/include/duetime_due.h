/* Messages with deadlines over UDP; the guide is docs/due-sockets.md.
 *
 * On failure, functions return NULL or -1 and record the reason for due_error and due_message, per thread. Threads can use
 * a socket at the same time. */
#ifndef DUETIME_DUE_H
#define DUETIME_DUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct due_socket_s due_socket_t;
typedef struct due_sending_s due_sending_t;

/* Codes of due_error. */
enum {
    DUE_NONE = 0,        /* no failure */
    DUE_SYSTEM = 1,      /* system error or invalid argument */
    DUE_UNREACHABLE = 2, /* the peer's port is closed */
    DUE_REFUSED = 3,     /* the peer accepts no messages, none of this length, or has no memory */
    DUE_TIMED_OUT = 4,   /* the peer did not reply in time */
    DUE_TOO_LONG = 5,    /* packets of the configured length exceed the interface's MTU */
    DUE_BLOCKED = 6      /* the timeout of due_wait or due_receive passed, or due_try_receive found no message */
};

typedef struct {
    uint64_t bits_per_second; /* rate of the interface */
    uint32_t mtu;             /* largest IP packet in bytes; 0: 1500 */
    const char *link_file;    /* path of the file of the sockets that share the link (Linux); NULL: none */
} due_options_t;

/* Message to send. */
typedef struct {
    const void *data;
    size_t length;
    uint64_t deadline_us; /* time until the deadline; 0: none */
    uint64_t query;       /* query that the message belongs to, from due_random_query; 0: none */
    int is_request;       /* 1: without a deadline, but another host waits for the message; otherwise 0 */
} due_outgoing_t;

/* Received message. */
typedef struct {
    const void *data;
    size_t length;
    int64_t time_left_us; /* time until the deadline, 0 if it has passed, -1 without a deadline */
    uint64_t query;       /* 0: none */
    char from[64];        /* address of the sender, such as "10.0.0.2:7000" */
} due_incoming_t;

/* Opens a socket on an address, such as "0.0.0.0:7000"; port 0: any free port. If an interface has several sockets,
 * they need the same link_file. */
due_socket_t *due_socket(const char *address, const due_options_t *options);
/* Returns the socket's port. */
int due_port(const due_socket_t *socket);
/* Copies a message and submits it. Waits while too many bytes are under way. */
due_sending_t *due_send(const due_socket_t *socket, const char *peer, const due_outgoing_t *message);
/* Submits an answer to the sender of a message, with its query and deadline. `message` must be a pointer that due_receive
 * or due_try_receive returned, not a copy of the structure. */
due_sending_t *due_answer(const due_socket_t *socket, const due_incoming_t *message, const void *data,
                          size_t length);
/* Waits until the peer's socket has received the message, at most timeout_ms milliseconds (0: no limit). Returns 0. */
int due_wait(due_sending_t *sending, uint64_t timeout_ms);
/* Abandons a message. Frees `sending`. */
void due_abort(due_sending_t *sending);
/* Frees `sending`. The message stays under way. */
void due_release(due_sending_t *sending);
/* Waits for the next message, at most timeout_ms milliseconds (0: no limit). */
due_incoming_t *due_receive(const due_socket_t *socket, uint64_t timeout_ms);
/* Returns the next message, or NULL with DUE_BLOCKED if none has arrived. */
due_incoming_t *due_try_receive(const due_socket_t *socket);
/* Returns a descriptor for poll() and event loops, which report it readable when due_try_receive may return a message.
 * Do not read from it or close it. */
int due_incoming_fd(const due_socket_t *socket);
/* Frees a message that due_receive or due_try_receive returned. */
void due_free(due_incoming_t *message);
/* Draws the number of a query. Returns 0 on failure. */
uint64_t due_random_query(void);
/* Frees a socket. Messages under way are sent for at most 10 s, while the process runs. */
void due_socket_close(due_socket_t *socket);
/* Returns the code of the calling thread's last failure. */
int due_error(void);
/* Returns a description of the calling thread's last failure, valid until its next failure. */
const char *due_message(void);

#ifdef __cplusplus
}
#endif

#endif

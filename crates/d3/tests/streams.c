/* A server answers 50 streams while one client's bytes wait for a slow reader: IPv4 and IPv6, packets of 1280 and 9000
 * bytes. */
#define _DEFAULT_SOURCE
#include <duetime_d3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE d3_message
#include "must.h"

#define STREAMS 50
#define ANSWER 20000
#define SLOW 3000000
#define GIGABIT 1000000000u

static unsigned char zeros[SLOW];
static pthread_barrier_t answered;

/* Returns the number of bytes up to the end of the peer's flow. */
static size_t read_all(const d3_stream_t *stream)
{
    static _Thread_local char part[1 << 16];
    size_t length = 0;
    ssize_t count;
    while ((count = d3_recv(stream, part, sizeof part)) > 0)
        length += (size_t)count;
    MUST(count == 0);
    return length;
}

static void *serve(void *pointer)
{
    d3_stream_t *stream = pointer;
    char first;
    MUST(d3_recv(stream, &first, 1) == 1);
    if (first == 's') {
        pthread_barrier_wait(&answered);
        MUST(read_all(stream) == SLOW);
    } else {
        MUST(read_all(stream) == 4);
        MUST(d3_open(stream, ANSWER, 5000000) == 0);
        MUST(d3_send(stream, zeros, ANSWER) == ANSWER);
    }
    MUST(d3_close(stream) == 0);
    return NULL;
}

static void *ask(void *pointer)
{
    d3_stream_t *stream = pointer;
    MUST(d3_send(stream, "query", 5) == 5 && d3_finish(stream) == 0);
    MUST(read_all(stream) == ANSWER);
    MUST(d3_close(stream) == 0);
    return NULL;
}

static void *send_slowly(void *pointer)
{
    d3_stream_t *stream = pointer;
    size_t sent = 0;
    MUST(d3_send(stream, "s", 1) == 1);
    while (sent < SLOW) {
        ssize_t count = d3_send(stream, zeros + sent, SLOW - sent);
        MUST(count > 0);
        sent += (size_t)count;
    }
    MUST(d3_close(stream) == 0);
    return NULL;
}

static void exchange(const char *host, uint32_t mtu)
{
    d3_options_t options = {.bits_per_second = GIGABIT, .mtu = mtu, .backlog = 64};
    pthread_t serving[STREAMS], asking[STREAMS];
    char address[32];
    snprintf(address, sizeof address, "%s:0", host);
    d3_socket_t *server = d3_socket_with(address, &options);
    d3_socket_t *client = d3_socket_with(address, &options);
    MUST(server != NULL && client != NULL);
    snprintf(address, sizeof address, "%s:%d", host, d3_port(server));
    MUST(pthread_barrier_init(&answered, NULL, 2) == 0);
    for (int i = 0; i < STREAMS; i++) {
        d3_stream_t *stream = d3_connect(client, address, i == 0 ? 1 + SLOW : 5, 5000000);
        MUST(stream != NULL);
        MUST(pthread_create(&asking[i], NULL, i == 0 ? send_slowly : ask, stream) == 0);
        stream = d3_accept_within(server, 5000);
        MUST(stream != NULL && pthread_create(&serving[i], NULL, serve, stream) == 0);
    }
    for (int i = 1; i < STREAMS; i++)
        MUST(pthread_join(asking[i], NULL) == 0);
    pthread_barrier_wait(&answered);
    MUST(pthread_join(asking[0], NULL) == 0);
    for (int i = 0; i < STREAMS; i++)
        MUST(pthread_join(serving[i], NULL) == 0);
    d3_socket_close(client);
    d3_socket_close(server);
}

int main(void)
{
    const char *hosts[] = {"127.0.0.1", "[::1]"};
    const uint32_t mtus[] = {1280, 9000};
    for (int host = 0; host < 2; host++)
        for (int mtu = 0; mtu < 2; mtu++)
            exchange(hosts[host], mtus[mtu]);
    printf("%d streams each\n", STREAMS);
    return 0;
}

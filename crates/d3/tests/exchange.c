/* Runs a server that answers 5 bytes with 300000 and a client, and checks errors. */
#define _DEFAULT_SOURCE
#include <duetime_d3.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE d3_message
#include "must.h"

#define ANSWER 300000
#define GIGABIT 1000000000u

static unsigned char answer[ANSWER];

static void *serve(void *socket)
{
    char query[16];
    d3_stream_t *stream = d3_accept(socket);
    MUST(stream != NULL);
    size_t length = 0;
    ssize_t part;
    while ((part = d3_recv(stream, query + length, sizeof query - length)) > 0)
        length += (size_t)part;
    MUST(part == 0 && length == 5 && memcmp(query, "query", 5) == 0);
    MUST(d3_open(stream, ANSWER, 5000000) == 0);
    MUST(d3_open(stream, ANSWER, 5000000) == -1 && d3_error() == D3_ALREADY_OPEN);
    MUST(d3_send(stream, answer, ANSWER) == ANSWER);
    MUST(d3_close(stream) == 0);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < ANSWER; i++)
        answer[i] = (unsigned char)(i * 7 / 3);
    d3_socket_t *server = d3_socket("127.0.0.1:0", GIGABIT, 16);
    MUST(server != NULL);
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", d3_port(server));
    pthread_t serving;
    MUST(pthread_create(&serving, NULL, serve, server) == 0);

    /* A faster interface in the same network. */
    d3_options_t options = {
        .bits_per_second = 10ull * GIGABIT, .slowest_bits_per_second = GIGABIT, .mtu = 1280};
    d3_socket_t *client = d3_socket_with("127.0.0.1:0", &options);
    MUST(client != NULL);
    d3_stream_t *stream = d3_connect(client, address, 5, 5000000);
    MUST(stream != NULL);
    char peer[32];
    MUST(d3_peer(stream, peer, sizeof peer) == (int)strlen(address));
    MUST(strcmp(peer, address) == 0);
    MUST(d3_peer(stream, peer, strlen(address)) == -1 && d3_error() == D3_SYSTEM);
    /* The server answers after the query. */
    MUST(d3_set_timeouts(stream, 1, 0) == 0);
    MUST(d3_recv(stream, peer, 1) == -1 && d3_error() == D3_BLOCKED);
    MUST(d3_set_timeouts(stream, 0, 0) == 0);
    MUST(d3_send(stream, "query", 5) == 5);
    MUST(d3_finish(stream) == 0);
    MUST(d3_send(stream, "more", 4) == -1 && d3_error() == D3_FINISHED);
    static unsigned char received[ANSWER + 1];
    size_t length = 0;
    struct pollfd changed = {.fd = d3_changed_fd(stream), .events = POLLIN};
    ssize_t part;
    while ((part = d3_try_recv(stream, received + length, sizeof received - length)) != 0)
        if (part > 0)
            length += (size_t)part;
        else
            MUST(d3_error() == D3_BLOCKED && poll(&changed, 1, 5000) == 1);
    MUST(length == ANSWER && memcmp(received, answer, ANSWER) == 0);
    d3_statistics_t statistics;
    MUST(d3_statistics(stream, &statistics) == 0);
    MUST(statistics.received == ANSWER && statistics.acked == 5 && !statistics.exceeded);
    MUST(d3_close(stream) == 0);
    MUST(pthread_join(serving, NULL) == 0);

    /* An aborted flow. */
    MUST(d3_accept_within(server, 1) == NULL && d3_error() == D3_BLOCKED);
    MUST(d3_try_accept(server) == NULL && d3_error() == D3_BLOCKED);
    struct pollfd incoming = {.fd = d3_incoming_fd(server), .events = POLLIN};
    MUST(incoming.fd >= 0 && poll(&incoming, 1, 0) == 1);
    MUST(d3_try_accept(server) == NULL && poll(&incoming, 1, 0) == 0);
    stream = d3_connect(client, address, ANSWER, 0);
    MUST(stream != NULL && poll(&incoming, 1, 5000) == 1);
    d3_stream_t *accepted = d3_try_accept(server);
    MUST(accepted != NULL && d3_try_send(accepted, "part", 4) == 4);
    MUST(d3_abort(stream) == 0);
    MUST(d3_recv(accepted, received, 1) == -1 && d3_error() == D3_PEER_ABORTED);
    d3_close(accepted);
    d3_close(stream);

    /* Calls that must fail. */
    snprintf(address, sizeof address, "127.0.0.1:%d", d3_port(client));
    MUST(d3_connect(server, address, 1, 0) == NULL && d3_error() == D3_REFUSED);
    MUST(d3_accept(client) == NULL && d3_error() == D3_SYSTEM);
    MUST(d3_incoming_fd(client) == -1 && d3_error() == D3_SYSTEM);
    MUST(d3_try_recv(NULL, received, 1) == -1 && d3_try_send(NULL, "", 0) == -1);
    MUST(d3_changed_fd(NULL) == -1 && d3_try_accept(NULL) == NULL);
    MUST(d3_socket("nonsense", GIGABIT, 0) == NULL && d3_error() == D3_SYSTEM);
    MUST(d3_socket(NULL, GIGABIT, 0) == NULL);
    MUST(d3_socket_with("127.0.0.1:0", NULL) == NULL && d3_error() == D3_SYSTEM);
    options.mtu = 10;
    MUST(d3_socket_with("127.0.0.1:0", &options) == NULL && d3_error() == D3_SYSTEM);
    MUST(d3_recv(NULL, received, 1) == -1 && strlen(d3_message()) > 0);
    d3_socket_close(client);
    d3_socket_close(server);
    printf("%zu bytes, in order\n", length);
    return 0;
}

/* Asks a worker a query and gets its answer, and checks errors. */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <duetime_due.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE due_message
#include "must.h"

#define ANSWER 300000
#define GIGABIT 1000000000u

static unsigned char answer[ANSWER];

static void *work(void *socket)
{
    due_incoming_t *query = due_receive(socket, 0);
    MUST(query != NULL && query->length == 5 && memcmp(query->data, "query", 5) == 0);
    MUST(query->query != 0 && query->time_left_us > 0 && query->time_left_us <= 5000000);
    due_sending_t *sending = due_answer(socket, query, answer, ANSWER);
    MUST(sending != NULL && due_wait(sending, 0) == 0);
    due_release(sending);
    due_free(query);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < ANSWER; i++)
        answer[i] = (unsigned char)(i * 7 / 3);
    due_options_t options = {.bits_per_second = GIGABIT};
    due_socket_t *worker = due_socket("127.0.0.1:0", &options);
    MUST(worker != NULL);
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%d", due_port(worker));
    pthread_t working;
    MUST(pthread_create(&working, NULL, work, worker) == 0);

    /* The worker's link_file is NULL. */
    options.link_file = "/no/such/folder/link";
    MUST(due_socket("127.0.0.1:0", &options) == NULL && due_error() == DUE_SYSTEM);
    MUST(strstr(due_message(), "/no/such/folder/link: ") != NULL);
    options.link_file = NULL;

    options.mtu = 1280;
    due_socket_t *parent = due_socket("127.0.0.1:0", &options);
    MUST(parent != NULL);
    due_outgoing_t query = {
        .data = "query", .length = 5, .deadline_us = 5000000, .query = due_random_query()};
    due_sending_t *sending = due_send(parent, address, &query);
    MUST(sending != NULL && due_wait(sending, 5000) == 0);
    due_release(sending);
    struct pollfd incoming = {.fd = due_incoming_fd(parent), .events = POLLIN};
    due_incoming_t *received;
    while ((received = due_try_receive(parent)) == NULL)
        MUST(due_error() == DUE_BLOCKED && poll(&incoming, 1, 5000) == 1);
    MUST(received->length == ANSWER);
    MUST(memcmp(received->data, answer, ANSWER) == 0);
    MUST(received->query == query.query && received->time_left_us > 0);
    MUST(strcmp(received->from, address) == 0);
    size_t length = received->length;
    due_free(received);
    MUST(pthread_join(working, NULL) == 0);
    MUST(due_receive(parent, 1) == NULL && due_error() == DUE_BLOCKED);

    /* An empty message without a deadline, an abandoned one, and one to a closed port. */
    due_outgoing_t empty = {.is_request = 1};
    sending = due_send(parent, address, &empty);
    MUST(sending != NULL && due_wait(sending, 0) == 0);
    due_release(sending);
    received = due_receive(worker, 0);
    MUST(received != NULL && received->length == 0 && received->time_left_us == -1);
    MUST(received->query == 0);
    due_free(received);
    sending = due_send(parent, address, &query);
    MUST(sending != NULL);
    due_abort(sending);
    due_socket_close(worker);
    /* A plain socket closes at once; the thread of a due socket may still run, and then refuses. */
    int closed = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof local;
    MUST(bind(closed, (struct sockaddr *)&local, size) == 0);
    MUST(getsockname(closed, (struct sockaddr *)&local, &size) == 0);
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(local.sin_port));
    close(closed);
    sending = due_send(parent, address, &query);
    MUST(sending != NULL && due_wait(sending, 4000) == -1 && due_error() == DUE_UNREACHABLE);
    due_release(sending);

    /* Calls that must fail. */
    MUST(due_send(parent, "nonsense", &query) == NULL && due_error() == DUE_SYSTEM);
    MUST(due_send(parent, address, NULL) == NULL && due_error() == DUE_SYSTEM);
    MUST(due_send(NULL, address, &query) == NULL && strlen(due_message()) > 0);
    query.data = NULL;
    MUST(due_send(parent, address, &query) == NULL);
    MUST(due_socket("nonsense", &options) == NULL && due_error() == DUE_SYSTEM);
    MUST(due_socket(NULL, &options) == NULL && due_socket("127.0.0.1:0", NULL) == NULL);
    options.mtu = 10;
    MUST(due_socket("127.0.0.1:0", &options) == NULL && due_error() == DUE_SYSTEM);
    MUST(due_try_receive(NULL) == NULL && due_incoming_fd(NULL) == -1);
    MUST(due_receive(NULL, 1) == NULL && due_wait(NULL, 1) == -1 && due_port(NULL) == -1);
    due_free(NULL);
    due_release(NULL);
    due_abort(NULL);
    due_socket_close(parent);
    printf("%zu bytes, in order\n", length);
    return 0;
}

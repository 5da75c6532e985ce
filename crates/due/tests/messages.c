/* A server answers 50 queries at once: IPv4 and IPv6, packets of 1280 and 9000 bytes. */
#include <duetime_due.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE due_message
#include "must.h"

#define QUERIES 50
#define ANSWER 20000
#define GIGABIT 1000000000u

static unsigned char answer[ANSWER];

static void exchange(const char *host, uint32_t mtu)
{
    due_options_t options = {.bits_per_second = GIGABIT, .mtu = mtu};
    due_sending_t *sending[QUERIES];
    char address[32];
    snprintf(address, sizeof address, "%s:0", host);
    due_socket_t *server = due_socket(address, &options);
    due_socket_t *client = due_socket(address, &options);
    MUST(server != NULL && client != NULL);
    snprintf(address, sizeof address, "%s:%d", host, due_port(server));
    for (int i = 0; i < QUERIES; i++) {
        due_outgoing_t query = {
            .data = "query", .length = 5, .deadline_us = 5000000, .query = due_random_query()};
        sending[i] = due_send(client, address, &query);
        MUST(sending[i] != NULL);
    }
    /* The client reads nothing before the server has answered all. */
    for (int i = 0; i < QUERIES; i++) {
        due_incoming_t *query = due_receive(server, 5000);
        MUST(query != NULL && query->length == 5 && query->time_left_us > 0);
        due_sending_t *answering = due_answer(server, query, answer, ANSWER);
        MUST(answering != NULL && due_wait(answering, 5000) == 0);
        due_release(answering);
        due_free(query);
    }
    for (int i = 0; i < QUERIES; i++) {
        due_incoming_t *received = due_receive(client, 5000);
        MUST(received != NULL && received->length == ANSWER);
        MUST(memcmp(received->data, answer, ANSWER) == 0 && strcmp(received->from, address) == 0);
        due_free(received);
        MUST(due_wait(sending[i], 5000) == 0);
        due_release(sending[i]);
    }
    due_socket_close(client);
    due_socket_close(server);
}

int main(void)
{
    const char *hosts[] = {"127.0.0.1", "[::1]"};
    const uint32_t mtus[] = {1280, 9000};
    for (int i = 0; i < ANSWER; i++)
        answer[i] = (unsigned char)(i * 7 / 3);
    for (int host = 0; host < 2; host++)
        for (int mtu = 0; mtu < 2; mtu++)
            exchange(hosts[host], mtus[mtu]);
    printf("%d queries each\n", QUERIES);
    return 0;
}

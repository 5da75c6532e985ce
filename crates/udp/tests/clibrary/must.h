/* Requires conditions; MESSAGE is the library's function that returns the message of the last failure. */
#ifndef DUETIME_TEST_MUST_H
#define DUETIME_TEST_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                             \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, MESSAGE());  \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

#endif

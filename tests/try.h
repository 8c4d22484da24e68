/* What generated code does behind every runtime call, for programs that are written by hand. */
#ifndef PLACE_TESTS_TRY_H
#define PLACE_TESTS_TRY_H

#include <stdint.h>

/* Returns the call's status from the function around it unless that is PLACE_OK. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        int32_t status_ = (call);                                                                  \
        if (status_)                                                                               \
            return status_;                                                                        \
    } while (0)

#endif

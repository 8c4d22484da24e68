/* The table of runtime calls as data: what prints the reference page, and what a test walks. */
#include <stddef.h>
#include "runtime/call_table.h"

#define SECTION(heading) {.kind = CALL_ROW_SECTION, .name = "", .text = heading},
#define CALL(call, first_abi, effect_, what)                                                       \
    {.kind = CALL_ROW_CALL, .name = #call, .since = first_abi, .effect = #effect_, .text = what},
#define ARGUMENT(type_, argument, access_, what)                                                   \
    {.kind = CALL_ROW_ARGUMENT,                                                                    \
     .name = #argument,                                                                            \
     .type = #type_,                                                                               \
     .access = #access_,                                                                           \
     .text = what},

static const struct call_row rows[] = {
#include "runtime/calls.def"
};

const struct call_row *call_table(int *count) {
    *count = (int)(sizeof rows / sizeof rows[0]);
    return rows;
}

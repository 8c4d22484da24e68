/* The rows of runtime/calls.def as data. */
#pragma once

enum call_row_kind {
    CALL_ROW_SECTION,  /* heading of the rows that follow */
    CALL_ROW_CALL,     /* a function; its arguments follow */
    CALL_ROW_ARGUMENT, /* an argument of the last function */
};

struct call_row {
    enum call_row_kind kind;
    const char *name;
    const char *type;   /* of an argument: PTR, I32, I64 or F64 */
    const char *access; /* of an argument */
    const char *effect; /* of a call */
    int since;          /* of a call: the ABI version that brought it */
    const char *text;
};

/* All rows in the order of the table, their number in *count. */
const struct call_row *call_table(int *count);

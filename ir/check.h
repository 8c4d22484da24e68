// Our own failures, as against the user's: an invariant of the compiler that does not hold.
// Always compiled in; prints file and line and aborts.
#ifndef PLACE_IR_CHECK_H
#define PLACE_IR_CHECK_H

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_failed(__FILE__, __LINE__, #condition);                                          \
    } while (0)

_Noreturn void check_failed(const char *file, int line, const char *condition);

#endif

// What the compiler tells the runtime of a judged program (runtime/place.h).
#ifndef PLACE_DRIVER_DESCRIBE_H
#define PLACE_DRIVER_DESCRIBE_H

#include "driver/compile.h"
#include "runtime/place.h"

// The descriptor with the account's predictions, without entries. In the compilation's arena.
struct place_program *describe_program(struct compilation *);

#endif

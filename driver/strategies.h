// The strategies of a file that can be compiled without arguments: those that `compare` and the end of `check` put side
// by side.
#ifndef PLACE_DRIVER_STRATEGIES_H
#define PLACE_DRIVER_STRATEGIES_H

#include "driver/options.h"
#include "frontend/frontend.h"

struct strategy_names {
    const char **items; // as the file names them, in its order
    uint32_t n, cap;
};

// Those without parameters, and `main`, whose parameters have defaults. The arena owns list and names.
struct strategy_names lone_strategies(struct arena *, const struct ast_file *);
// Whether another strategy of the file says `use` of it.
bool is_used_strategy(const struct ast_file *, const char *name);
// The same options for one strategy of several: what is set may be meant for another of them.
struct options options_of_strategy(const struct options *, const char *name);

#endif

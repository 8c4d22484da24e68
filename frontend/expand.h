// Expanding a strategy into flat statements: what its parts share. Private to frontend/.
#ifndef PLACE_FRONTEND_EXPAND_H
#define PLACE_FRONTEND_EXPAND_H

#include "frontend/resolve.h"

// A parameter of a strategy with what it was given.
struct binding {
    const char *name;
    enum { BINDING_AXES, BINDING_VALUE } kind;
    struct axis_list axes;         // AXES
    struct span span;              // AXES: where the user can change them
    const struct ast_value *value; // VALUE
};

// One strategy being expanded; `outer` is the one whose `use` brought it.
struct frame {
    const struct frame *outer;
    const struct ast_item *strategy;
    struct span use;      // in the outer strategy
    unsigned scope_roles; // of the `in` around the `use` that the file's own strategy has
    struct binding *bindings;
    uint32_t n_bindings;
    unsigned depth;
};

// What surrounds a statement.
struct scope {
    struct selector selector;
    uint32_t depth;                         // of `in`
    struct axis_list relaxed[N_CONDITIONS]; // by every `relax` around it
};

struct expansion {
    struct resolver *r;
    struct strategy_config *strategy;
    uint32_t splits_capacity, modes_capacity, relaxations_capacity;
};

// The chain from the user's statement to the text at `span` in the frame's strategy.
struct origin origin_in_frame(struct arena *arena, const struct frame *frame, struct span span);
// A product in which parameters may stand for axes. False: reported.
bool resolve_product(struct resolver *r, const struct frame *frame, const struct ast_names *names,
                     struct axis_list *list);
// Where a user can change it: of a parameter alone, what it was given.
struct span product_span(const struct frame *frame, const struct ast_names *names);
// The value that a name which is a parameter stands for, else the value itself.
const struct ast_value *substitute(const struct frame *frame, const struct ast_value *value);

// ---- resolve_modes.c --------------------------------------------------------------------------
void expand_mode(struct expansion *e, const struct frame *frame, const struct scope *scope,
                 const struct ast_statement *statement);
void expand_states(struct expansion *e, const struct frame *frame, const struct scope *scope,
                   const struct ast_statement *statement);

// ---- resolve_schedule.c -----------------------------------------------------------------------
// Takes a split that is a pipeline's, as its dimensions or its schedule say, for what it is. False: it
// is none. `good`: its dimensions and axes are known.
bool expand_pipeline(struct expansion *e, const struct frame *frame,
                     const struct ast_statement *statement, const struct split_statement *split,
                     bool good);

// ---- schedule_file.c --------------------------------------------------------------------------
// The schedule of the file at `path`, which the strategy names at `from`. NULL: reported.
const struct schedule_file *read_schedule_file(struct resolver *r, const char *path,
                                               const char *name, struct span from);

#endif

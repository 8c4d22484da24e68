// Statements about what has owners: how often one of these is the owner, the first, who owns as much as
// any, or the last, who owns as little.
#include "passes/account/account.h"

// How often the member is this owner.
static int64_t owned_trips(const struct program *program, const struct statement_walk *walk,
                           const struct ownership *owner, int64_t member) {
    struct loop loops[LIMIT_LOOP_DEPTH];
    struct owner_trips trips = {loops, walk->depth, owner->item,
                                mesh_group_size(&program->job->mesh, &owner->axes)};
    for (int i = 0; i < walk->depth; i++)
        loops[i] = *walk_loop(walk, i);
    return owner_trips(&trips, member);
}

static bool is_between_owners(const struct statement *statement) {
    return statement->kind == STATEMENT_START && exchange_has_owner(&statement->start.exchange);
}

// How often the member sends: as the owner to all, or to another.
static int64_t sending_trips(const struct program *program, const struct statement_walk *walk,
                             int64_t member) {
    struct ownership owner = statement_ownership(program, walk->statement);
    int64_t owned = owned_trips(program, walk, &owner, member);
    return walk->statement->start.exchange.kind == COLLECTIVE_REDUCE ? walk_trips(walk) - owned
                                                                     : owned;
}

// What is sent in one execution by who sends: of an owner to all others, to an owner once.
static int64_t sent_at_once(const struct program *program, const struct transfer *start) {
    const struct buffer *first = &program->buffers[start->pieces[0].from.buffer];
    struct carriage carriage = carriage_new(&program->job->mesh, &start->exchange, first->dtype);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        struct tensor_type type =
            buffer_type(program, &program->buffers[start->pieces[i].from.buffer]);
        carriage_add_whole(&carriage, ROLE_NONE, N_STATES, type.dtype, type_elements(&type));
    }
    return carriage_sent(&carriage, carriage_algorithm(&carriage), &carriage.of[0]);
}

// What the member sends to owners over the axes, or as one, in a step of training.
static int64_t sent_by(const struct program *program, const struct axis_list *axes,
                       int64_t member) {
    int64_t sent = 0;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        if (!is_between_owners(walk.statement) || !axis_list_equal(&start->exchange.axes, axes))
            continue;
        sent = size_plus(
            sent, size_times(sending_trips(program, &walk, member), sent_at_once(program, start)));
    }
    return sent;
}

// The more a member owns the more it gives to all, and the less it sends to others.
static int64_t member_sending_most(const struct program *program, const struct axis_list *axes) {
    int64_t last = mesh_group_size(&program->job->mesh, axes) - 1;
    return sent_by(program, axes, last) > sent_by(program, axes, 0) ? last : 0;
}

int64_t account_trips(const struct program *program, const struct statement_walk *walk) {
    struct ownership owner = statement_ownership(program, walk->statement);
    bool starts = walk->statement->kind == STATEMENT_START;
    if (mesh_group_size(&program->job->mesh, &owner.axes) == 1 ||
        (starts && !is_between_owners(walk->statement)))
        return walk_trips(walk);
    return starts ? sending_trips(program, walk, member_sending_most(program, &owner.axes))
                  : owned_trips(program, walk, &owner, 0);
}

int64_t account_trips_of_copy(const struct program *program, const struct statement_walk *walk,
                              const struct transfer_piece *piece) {
    struct ownership owner = reference_ownership(program, &piece->from);
    return mesh_group_size(&program->job->mesh, &owner.axes) == 1
               ? walk_trips(walk)
               : owned_trips(program, walk, &owner, 0);
}

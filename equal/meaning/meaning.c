// Computations, instruction by instruction. What is called is read where it is called; a loop whose condition is known
// each time is read turn by turn.
#include "equal/meaning/meaning.h"

#include <string.h>

#include "equal/meaning/read.h"
#include "ir/check.h"

struct viewed unread_value(const struct at *at, const char *why) {
    struct viewed value = value_unknown(at->r->c, &at->all);
    struct unread unread = {at->by, why, at->r->c->serial};
    ARENA_PUSH(at->r->c->arena, at->r->unread, at->r->n_unread, at->r->cap_unread, unread);
    return value;
}

// ---- given ------------------------------------------------------------------------------------

// Whether integers without a sign, which lie as those with one, have one that is no such.
static bool has_beyond_signed(const struct literal *literal) {
    for (int64_t i = 0; i < literal->n; i++)
        if (literal->integers[i] < 0)
            return true;
    return false;
}

static struct viewed read_constant(const struct at *at) {
    const struct literal *literal = at->by->attributes->literal;
    struct calculus *c = at->r->c;
    enum element element = at->by->shape->element;
    if (element == ELEMENT_TYPE_U64 && has_beyond_signed(literal))
        return unread_value(at, "numbers of 64 bits without a sign are too large");
    if (literal->n > 1)
        return value_array(c, literal, &at->all);
    if (literal->integers)
        return value_fraction(c, literal->integers[0], 1);
    // Single precision is as near to a fraction as rounding is. Of fewer bits the number that they have is meant, which is
    // far from what would be rounded to it.
    return value_real(c, literal->reals[0], element == ELEMENT_TYPE_F64 ? 53 : 24);
}

static bool read_given(const struct at *at, struct viewed *made) {
    struct affine index;
    switch (at->by->primitive) {
    case PRIM_CONSTANT:
        *made = read_constant(at);
        return true;
    case PRIM_IOTA: {
        uint32_t k = (uint32_t)at->by->attributes->dimensions.of[0];
        index = affine_coordinate(k, at->by->shape->sizes[k]);
        *made = value_index(at->r->c, &index);
        return true;
    }
    case PRIM_PARTITION_ID:
        index = affine_coordinate(COORDINATE_DEVICE, at->r->graph->n_devices);
        *made = value_index(at->r->c, &index);
        return true;
    case PRIM_REPLICA_ID:
        *made = value_zero(at->r->c);
        return true;
    default:
        return false;
    }
}

// ---- computations -----------------------------------------------------------------------------

static const struct meaning *read_computation(struct reading *r, uint32_t number,
                                              const struct meaning *parameters);

// Why what has a rule is unknown: a bound was reached, or its places cannot be said.
static const char *why_unknown(const struct calculus *c) {
    if (c->products_left <= 0)
        return "it takes more products and summands than are made for a proof";
    switch (c->reached) {
    case BOUND_FACTORS:
        return arena_format(c->arena, "it is a product of more than %d factors", MAX_PRODUCT);
    case BOUND_SUMMANDS:
        return arena_format(
            c->arena,
            "it is a sum of more than %d summands, equal ones counted as far as 64 bits can",
            MOST_SUMMANDS);
    case BOUND_PARTS:
        return "it puts together more parts than there are dimensions to tell them apart";
    case BOUND_OPERANDS:
        return "its operands have more dimensions than are told apart";
    case BOUND_NONE:
        break;
    }
    return "its elements are no digits of dimensions that others have, or of too many";
}

// What has no rule, or member `number` of it: the same where the same is done to the same, if that can be said.
static struct meaning unread_meaning(const struct at *at, uint32_t number,
                                     const struct array_shape *shape, const char *why) {
    struct meaning meaning = {0};
    struct at part = *at;
    part.all = coordinates_of(shape, at->r->graph->n_devices);
    if (!shape->is_tuple) {
        bool control = primitive_rows[at->by->primitive].class == PRIMITIVE_CONTROL;
        if (control || !read_opaque(&part, number, shape, &meaning.value))
            meaning.value = unread_value(
                &part, at->r->c->reached == BOUND_OPERANDS ? why_unknown(at->r->c) : why);
        return meaning;
    }
    struct meaning *members = ARENA_ARRAY(at->r->c->arena, struct meaning, shape->n_members + 1);
    for (uint32_t i = 0; i < shape->n_members; i++)
        members[i] = unread_meaning(at, i, shape->members[i], why);
    meaning.members = members;
    return meaning;
}

static bool read_call(const struct at *at, uint32_t computation, struct meaning *made) {
    struct meaning *arguments =
        ARENA_ARRAY(at->r->c->arena, struct meaning, at->by->n_operands + 1);
    for (uint32_t i = 0; i < at->by->n_operands; i++)
        arguments[i] = at->meanings[at->by->operands[i]];
    const struct meaning *root = read_computation(at->r, computation, arguments);
    if (root)
        *made = *root;
    return root;
}

// Whether a loop's condition, if it compares two numbers, has come nearer to its end than in the turn before: else it
// would go on for ever, or for as long as integers last.
static bool comes_nearer(const struct at *at, const struct meaning *condition, int64_t *distance) {
    const struct computation *of = &at->r->graph->computations[at->by->attributes->called[0]];
    const struct instruction *root = &of->instructions[of->root];
    int64_t a, b, d[2], before = *distance;
    if (root->primitive != PRIM_COMPARE ||
        !value_number(at->r->c, condition[root->operands[0]].value, &a, &d[0]) ||
        !value_number(at->r->c, condition[root->operands[1]].value, &b, &d[1]) ||
        __builtin_sub_overflow(a, b, distance) || *distance == INT64_MIN)
        return true;
    *distance = *distance < 0 ? -*distance : *distance;
    return *distance < before;
}

static bool read_while(const struct at *at, struct meaning *made) {
    struct meaning state = at->meanings[at->by->operands[0]];
    uint32_t condition = at->by->attributes->called[0];
    int64_t distance = INT64_MAX;
    for (;;) {
        int64_t n, d;
        const struct meaning *meanings = meanings_of_call(at->r, condition, &state);
        if (!meanings)
            return false;
        const struct meaning *goes_on = &meanings[at->r->graph->computations[condition].root];
        if (!value_number(at->r->c, goes_on->value, &n, &d))
            return false;
        if (n == 0)
            break;
        if (!comes_nearer(at, meanings, &distance))
            return false;
        const struct meaning *next = read_computation(at->r, at->by->attributes->called[1], &state);
        if (!next)
            return false;
        state = *next;
    }
    *made = state;
    return true;
}

// All branches, of which each place has one.
static bool read_branches(const struct at *at, struct meaning *made) {
    const struct instruction_attributes *a = at->by->attributes;
    struct meaning *branches = ARENA_ARRAY(at->r->c->arena, struct meaning, a->n_called + 1);
    if (a->n_called == 0 || !can_choose_branches(at))
        return false;
    for (uint32_t i = 0; i < a->n_called; i++) {
        struct meaning argument = at->meanings[at->by->operands[1 + i]];
        const struct meaning *root = read_computation(at->r, a->called[i], &argument);
        if (!root)
            return false;
        branches[i] = *root;
    }
    *made = choose_branches(at, branches);
    return true;
}

static bool read_conditional(const struct at *at, struct meaning *made) {
    int64_t n, d, branch;
    const struct instruction_attributes *a = at->by->attributes;
    if (!value_number(at->r->c, operand_value(at, 0), &n, &d))
        return read_branches(at, made);
    branch = shape_kind(operand_shape(at, 0)) == NUMBER_TRUTH ? n == 0 : n / d;
    if (branch < 0 || branch >= a->n_called)
        branch = a->n_called - 1;
    struct meaning argument = at->meanings[at->by->operands[1 + branch]];
    const struct meaning *root = read_computation(at->r, a->called[branch], &argument);
    if (root)
        *made = *root;
    return root;
}

static bool read_control(const struct at *at, struct meaning *made) {
    switch (at->by->primitive) {
    case PRIM_CALL:
        return read_call(at, at->by->attributes->called[0], made);
    case PRIM_WHILE:
        return read_while(at, made);
    case PRIM_CONDITIONAL:
        return read_conditional(at, made);
    default:
        return false;
    }
}

static bool read_tuple(const struct at *at, struct meaning *made) {
    struct meaning *members = ARENA_ARRAY(at->r->c->arena, struct meaning, at->by->n_operands + 1);
    for (uint32_t i = 0; i < at->by->n_operands; i++)
        members[i] = at->meanings[at->by->operands[i]];
    made->members = members;
    return true;
}

static bool read_collectives(const struct at *at, struct meaning *made) {
    const struct array_shape *shape = at->by->shape;
    if (!shape->is_tuple)
        return read_collective(at, 0, shape, &made->value);
    struct meaning *members = ARENA_ARRAY(at->r->c->arena, struct meaning, shape->n_members + 1);
    for (uint32_t i = 0; i < shape->n_members; i++) {
        struct at part = *at;
        part.all = coordinates_of(shape->members[i], at->r->graph->n_devices);
        if (i >= at->by->n_operands ||
            !read_collective(&part, i, shape->members[i], &members[i].value))
            return false;
        members[i].value = wrapped_around(&part, shape->members[i], members[i].value);
    }
    made->members = members;
    return true;
}

static bool read_other(const struct at *at, struct meaning *made) {
    switch (at->by->primitive) {
    case PRIM_TUPLE:
        return read_tuple(at, made);
    case PRIM_GET_TUPLE_ELEMENT:
        *made = at->meanings[at->by->operands[0]].members[at->by->attributes->index];
        return true;
    case PRIM_CUSTOM_CALL: // what it says of layouts is no matter of values
        if (at->by->n_operands != 1 || strcmp(at->by->attributes->target, "Sharding") != 0 ||
            operand_shape(at, 0) != at->by->shape)
            return false;
        *made = at->meanings[at->by->operands[0]];
        return true;
    case PRIM_COPY:
    case PRIM_OPTIMIZATION_BARRIER:
        *made = at->meanings[at->by->operands[0]];
        return true;
    case PRIM_GATHER:
    case PRIM_SCATTER:
        return read_indexed(at, &made->value);
    case PRIM_REDUCE_WINDOW:
        return read_fold(at, &made->value);
    default:
        break;
    }
    switch (primitive_rows[at->by->primitive].class) {
    case PRIMITIVE_GIVEN:
        return read_given(at, &made->value);
    case PRIMITIVE_POINTWISE:
        return read_elements(at, &made->value);
    case PRIMITIVE_MOVE:
        return read_move(at, &made->value);
    case PRIMITIVE_FOLD:
        return read_fold(at, &made->value);
    case PRIMITIVE_COLLECTIVE:
        return read_collectives(at, made);
    case PRIMITIVE_CONTROL:
        return read_control(at, made);
    default:
        return false;
    }
}

// What is called has noted its own.
static void note_unread(struct reading *r, const struct instruction *by, uint32_t serial) {
    bool noted = r->n_unread && r->unread[r->n_unread - 1].serial > serial;
    struct unread unread = {by, why_unknown(r->c), r->c->serial};
    if (!noted)
        ARENA_PUSH(r->c->arena, r->unread, r->n_unread, r->cap_unread, unread);
}

static const char *why_unread(enum primitive primitive) {
    switch (primitive) {
    case PRIM_WHILE:
        return "how often it turns is not known, or too often to follow it turn by turn";
    case PRIM_CONDITIONAL:
        return "devices that take different ones meet in one of them";
    default:
        return "it has no rule";
    }
}

static const struct meaning *read_all(struct reading *r, const struct computation *of,
                                      const struct meaning *parameters) {
    struct meaning *meanings = ARENA_ARRAY(r->c->arena, struct meaning, of->n + 1);
    for (uint32_t i = 0; i < of->n; i++) {
        const struct instruction *by = &of->instructions[i];
        struct at at = {r, of, by, meanings, coordinates_of(by->shape, r->graph->n_devices)};
        uint32_t serial = r->c->serial;
        r->c->reached = BOUND_NONE;
        if (r->depth > 1 && ++r->n_read > MOST_INSTRUCTIONS_CALLED)
            return NULL;
        if (by->primitive == PRIM_PARAMETER)
            meanings[i] = parameters[by->attributes->index];
        else if (!read_other(&at, &meanings[i]))
            meanings[i] = unread_meaning(&at, 0, by->shape, why_unread(by->primitive));
        if (!meanings[i].members)
            meanings[i].value =
                in_device_digits(&at, wrapped_around(&at, by->shape, meanings[i].value));
        if (r->c->serial != serial)
            note_unread(r, by, serial);
        arena_reuse(&r->c->scratch); // nothing of what is around a call lies there
    }
    return meanings;
}

const struct meaning *meanings_of_call(struct reading *r, uint32_t computation,
                                       const struct meaning *parameters) {
    r->depth++;
    const struct meaning *meanings = read_all(r, &r->graph->computations[computation], parameters);
    r->depth--;
    return meanings;
}

static const struct meaning *read_computation(struct reading *r, uint32_t number,
                                              const struct meaning *parameters) {
    const struct meaning *meanings = meanings_of_call(r, number, parameters);
    return meanings ? &meanings[r->graph->computations[number].root] : NULL;
}

void meanings_read(struct reading *r) {
    r->depth = 1;
    r->meanings = read_all(r, &r->graph->computations[r->graph->entry], r->parameters);
}

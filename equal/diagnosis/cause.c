// Causes: each value on the way is known, or would be if it were summed over axes of the mesh, or neither. The first
// that is neither, though all that it is made of is known or would be, is the cause.
#include "equal/diagnosis/cause.h"

#include "ir/check.h"

enum { MOST_TURNS = 1000 };

enum soundness { STATE_UNSEEN, STATE_KNOWN, STATE_SUMMAND, STATE_PART, STATE_WRONG };

struct seen {
    uint8_t state; // enum soundness
    uint64_t axes; // over which it is a summand, or a part
};

// A computation that is looked at: the entry, or one that it calls.
struct search {
    const struct finding *f;
    const struct computation *of;
    const struct meaning *meanings;
    struct seen *seen; // by instruction
};

static struct search search_in(const struct finding *f, uint32_t computation,
                               const struct meaning *meanings) {
    const struct computation *of = &f->many->graph->computations[computation];
    return (struct search){f, of, meanings, ARENA_ARRAY(f->c->arena, struct seen, of->n + 1)};
}

static bool is_known(const struct finding *f, struct viewed value) {
    return value.of.of.node < f->n_known;
}

// ---- summands ---------------------------------------------------------------------------------

static int64_t axis_stride(const struct device_mesh *mesh, uint32_t axis) {
    int64_t stride = 1;
    for (uint32_t a = axis + 1; a < mesh->n_axes; a++)
        stride *= mesh->axes[a].size;
    return stride;
}

// The value folded over axes of the mesh. False: it cannot be said.
static bool fold_axes(const struct finding *f, struct viewed value, uint64_t axes, bool largest,
                      const struct coordinates *coordinates, struct viewed *made) {
    struct coordinates all = *coordinates;
    struct affine device = affine_constant(0);
    struct substitution by = {0};
    uint64_t folded = 0;
    for (uint32_t a = 0; a < f->mesh->n_axes; a++) {
        int64_t size = f->mesh->axes[a].size, stride = axis_stride(f->mesh, a);
        struct piece piece = {stride, stride, size, 0, COORDINATE_DEVICE};
        if (axes >> a & 1) {
            uint32_t k = add_coordinate(&all, size);
            piece = (struct piece){stride, 1, size, 0, k};
            folded |= UINT64_C(1) << k;
        }
        affine_push(&device, piece);
    }
    by.of[COORDINATE_DEVICE] = &device;
    by.sizes[COORDINATE_DEVICE] = f->mesh->n_devices;
    struct viewed moved;
    if (!affine_normal(&device) || !value_move(f->c, value, &by, &moved))
        return false;
    *made = largest ? value_fold(f->c, KIND_LARGEST, moved, folded, &all)
                    : value_product(f->c, &moved, 1, folded, &all);
    return true;
}

// The axes of which the value has digits.
static uint64_t axes_of(const struct finding *f, struct viewed value) {
    struct view view;
    uint64_t axes = 0;
    view_get(&f->c->views, value.view, &view);
    for (uint32_t a = 0; a < f->mesh->n_axes; a++) {
        int64_t stride = axis_stride(f->mesh, a), end = stride * f->mesh->axes[a].size;
        for (uint32_t k = 0; k < view.n; k++)
            for (uint32_t i = 0; i < view.of[k].n; i++) {
                const struct piece *piece = &view.of[k].pieces[i];
                bool on = piece->coordinate == COORDINATE_DEVICE && piece->stride < end &&
                          stride < piece->stride * piece->extent;
                axes |= (uint64_t)on << a;
            }
    }
    return axes;
}

// The fewest axes over which the value's sum, or largest, is known.
static struct seen look(const struct finding *f, struct viewed value,
                        const struct coordinates *all) {
    uint64_t own = axes_of(f, value);
    if (is_known(f, value))
        return (struct seen){STATE_KNOWN, 0};
    for (int largest = 0; largest < 2; largest++)
        for (uint64_t axes = 1; axes < UINT64_C(1) << f->mesh->n_axes; axes++) {
            struct viewed made;
            if ((axes & ~own) || !fold_axes(f, value, axes, largest, all, &made) ||
                !is_known(f, made))
                continue;
            return (struct seen){largest ? STATE_PART : STATE_SUMMAND, axes};
        }
    return (struct seen){STATE_WRONG, 0};
}

static struct seen see_meaning(const struct finding *f, const struct array_shape *shape,
                               const struct meaning *meaning) {
    struct seen worst = {STATE_KNOWN, 0};
    for (uint32_t i = 0; meaning->members && i < shape->n_members; i++) {
        struct seen member = see_meaning(f, shape->members[i], &meaning->members[i]);
        worst = member.state > worst.state ? member : worst;
    }
    struct coordinates all = coordinates_of(shape, f->mesh->n_devices);
    return meaning->members ? worst : look(f, meaning->value, &all);
}

static struct seen see(struct search *s, uint32_t i) {
    if (s->seen[i].state == STATE_UNSEEN) {
        s->seen[i] = see_meaning(s->f, s->of->instructions[i].shape, &s->meanings[i]);
        arena_reuse(&s->f->c->scratch);
    }
    return s->seen[i];
}

// ---- the first --------------------------------------------------------------------------------

// Marks what the instruction is made of, as far as nothing in between is sound: what that is made of was healed.
static void mark_needed(struct search *s, uint32_t from, bool *needed) {
    needed[from] = true;
    for (uint32_t i = from + 1; i-- > 0;) {
        if (!needed[i] || (i != from && see(s, i).state != STATE_WRONG))
            continue;
        for (uint32_t k = 0; k < s->of->instructions[i].n_operands; k++)
            needed[s->of->instructions[i].operands[k]] = true;
    }
}

static bool operands_are_sound(struct search *s, const struct instruction *by) {
    for (uint32_t k = 0; k < by->n_operands; k++)
        if (see(s, by->operands[k]).state == STATE_WRONG)
            return false;
    return true;
}

static const char *find_unread(const struct finding *f, const struct instruction *by) {
    for (uint32_t i = 0; i < f->many->n_unread; i++)
        if (f->many->unread[i].instruction == by)
            return f->many->unread[i].why;
    return NULL;
}

static struct cause cause_at(struct search *s, const struct instruction *by) {
    struct cause cause = {.kind = CAUSE_OTHER, .at = by, .why = find_unread(s->f, by)};
    if (cause.why) {
        cause.kind = CAUSE_UNREAD;
        return cause;
    }
    for (uint32_t k = 0; k < by->n_operands; k++) {
        struct seen seen = see(s, by->operands[k]);
        if (seen.state != STATE_SUMMAND && seen.state != STATE_PART)
            continue;
        cause.kind = seen.state == STATE_SUMMAND ? CAUSE_SUMMAND : CAUSE_PART;
        cause.operand = graph_operand(s->of, by, k);
        cause.axes = seen.axes;
        break;
    }
    return cause;
}

static bool find_first(struct search *s, uint32_t from, struct cause *cause);

// Inside of what is called with sound operands: of a loop's turns the first that leaves something wrong.
static bool find_called(struct search *s, uint32_t at, struct cause *cause) {
    const struct instruction *by = &s->of->instructions[at];
    const struct instruction_attributes *a = by->attributes;
    bool loops = by->primitive == PRIM_WHILE;
    if (by->primitive != PRIM_CALL && !loops)
        return false;
    uint32_t computation = a->called[loops ? 1 : 0];
    struct meaning *parameters = ARENA_ARRAY(s->f->c->arena, struct meaning, by->n_operands + 1);
    for (uint32_t k = 0; k < by->n_operands; k++)
        parameters[k] = s->meanings[by->operands[k]];
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        const struct meaning *meanings = meanings_of_call(s->f->many, computation, parameters);
        if (!meanings)
            return false;
        struct search inner = search_in(s->f, computation, meanings);
        uint32_t root = inner.of->root;
        if (see(&inner, root).state == STATE_WRONG)
            return find_first(&inner, root, cause);
        if (!loops)
            return false;
        parameters[0] = meanings[root];
    }
    return false;
}

static bool find_first(struct search *s, uint32_t from, struct cause *cause) {
    bool *needed = ARENA_ARRAY(s->f->c->arena, bool, s->of->n + 1);
    mark_needed(s, from, needed);
    for (uint32_t i = 0; i <= from; i++) {
        const struct instruction *by = &s->of->instructions[i];
        if (!needed[i] || by->primitive == PRIM_TUPLE || see(s, i).state != STATE_WRONG ||
            !operands_are_sound(s, by))
            continue;
        if (!find_called(s, i, cause))
            *cause = cause_at(s, by);
        return true;
    }
    return false;
}

// ---- results ----------------------------------------------------------------------------------

static bool by_factor(struct calculus *c, struct viewed expected, struct viewed found,
                      struct cause *cause) {
    if (!term_equal(expected.of.of, found.of.of) || expected.view != found.view)
        return false;
    scale_id inverse = scale_invert(&c->terms, expected.of.scale);
    const struct scale *factor =
        scale_get(&c->terms, scale_multiply(&c->terms, found.of.scale, inverse));
    if (factor->serial || factor->n_factors)
        return false;
    cause->kind = CAUSE_FACTOR;
    cause->numerator = factor->numerator;
    cause->denominator = factor->denominator;
    return true;
}

// Where a value comes from: an instruction of a computation, or a member of the tuple that it makes.
struct source_of {
    const struct computation *of;
    uint32_t at, member;
    bool is_member;
};

static bool enter_call(const struct graph *graph, struct source_of *from) {
    const struct instruction *by = &from->of->instructions[from->at];
    if (by->primitive != PRIM_CALL)
        return false;
    from->of = &graph->computations[by->attributes->called[0]];
    from->at = from->of->root;
    return true;
}

// The only operand that is more than one number for all places, where elements are made of elements or moved.
static bool step_back(struct source_of *from) {
    const struct instruction *by = &from->of->instructions[from->at];
    enum primitive_class class = primitive_rows[by->primitive].class;
    uint32_t n = 0, only = 0;
    if (by->primitive == PRIM_GET_TUPLE_ELEMENT) {
        from->is_member = true;
        from->member = (uint32_t)by->attributes->index;
        from->at = by->operands[0];
        return true;
    }
    if (by->primitive == PRIM_TUPLE && from->is_member) {
        from->is_member = false;
        from->at = by->operands[from->member];
        return true;
    }
    for (uint32_t k = 0; k < by->n_operands; k++) {
        const struct instruction *operand = graph_operand(from->of, by, k);
        while (operand->n_operands == 1 && operand->primitive == PRIM_BROADCAST)
            operand = graph_operand(from->of, operand, 0);
        if (operand->shape->rank > 0 || by->n_operands == 1) {
            only = by->operands[k];
            n++;
        }
    }
    from->at = only;
    return n == 1 && (class == PRIMITIVE_POINTWISE || class == PRIMITIVE_MOVE);
}

// The last collective on the way, which should have made the result right, else the result itself.
static const struct instruction *last_collective(const struct search *s, uint32_t result) {
    struct source_of from = {s->of, result, 0, false};
    for (;;) {
        const struct instruction *by = &from.of->instructions[from.at];
        if (primitive_rows[by->primitive].class == PRIMITIVE_COLLECTIVE)
            return by;
        if (!enter_call(s->f->many->graph, &from) && !step_back(&from))
            return &s->of->instructions[result];
    }
}

static uint32_t result_instruction(const struct search *s, uint32_t result) {
    const struct instruction *root = &s->of->instructions[s->of->root];
    return root->primitive == PRIM_TUPLE ? root->operands[result] : s->of->root;
}

struct cause find_cause(const struct finding *f, uint32_t result, struct viewed expected,
                        struct viewed found, const struct coordinates *all) {
    struct search s = search_in(f, f->many->graph->entry, f->many->meanings);
    uint32_t from = result_instruction(&s, result);
    struct cause cause = {.kind = CAUSE_RESULT, .at = &s.of->instructions[from]};
    if (by_factor(f->c, expected, found, &cause)) {
        cause.at = last_collective(&s, from);
        return cause;
    }
    if (find_first(&s, from, &cause))
        return cause;
    struct seen last = look(f, found, all);
    if (last.state == STATE_SUMMAND || last.state == STATE_PART) {
        cause.kind = last.state == STATE_SUMMAND ? CAUSE_SUMMAND : CAUSE_PART;
        cause.operand = cause.at;
        cause.axes = last.axes;
    }
    return cause;
}

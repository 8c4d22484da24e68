// Causes: each value on the way is known, or would be if it were summed over axes of the mesh, or neither. The first
// that is neither, though all that it is made of is known or would be, is the cause.
#include "equal/diagnosis/cause.h"

#include "ir/check.h"

enum soundness { STATE_UNSEEN, STATE_KNOWN, STATE_SUMMAND, STATE_PART, STATE_WRONG };

struct seen {
    uint8_t state; // enum soundness
    uint64_t axes; // over which it is a summand, or a part
};

struct search {
    const struct finding *f;
    const struct computation *entry;
    struct seen *seen; // by instruction of the entry
};

static struct coordinates coordinates_of_shape(const struct finding *f,
                                               const struct array_shape *shape) {
    struct coordinates all = {{0}};
    for (uint32_t k = 0; k < shape->rank; k++)
        all.sizes[k] = shape->sizes[k];
    all.sizes[COORDINATE_DEVICE] = f->mesh->n_devices;
    return all;
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
    struct coordinates all = coordinates_of_shape(f, shape);
    return meaning->members ? worst : look(f, meaning->value, &all);
}

static struct seen see(struct search *s, uint32_t i) {
    if (s->seen[i].state == STATE_UNSEEN) {
        s->seen[i] = see_meaning(s->f, s->entry->instructions[i].shape, &s->f->many->meanings[i]);
        arena_reuse(&s->f->c->scratch);
    }
    return s->seen[i];
}

// ---- the first --------------------------------------------------------------------------------

// Marks what the instruction is made of.
static void mark_needed(const struct search *s, uint32_t from, bool *needed) {
    needed[from] = true;
    for (uint32_t i = from + 1; i-- > 0;)
        for (uint32_t k = 0; needed[i] && k < s->entry->instructions[i].n_operands; k++)
            needed[s->entry->instructions[i].operands[k]] = true;
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
        cause.operand = graph_operand(s->entry, by, k);
        cause.axes = seen.axes;
        break;
    }
    return cause;
}

static bool find_first(struct search *s, uint32_t from, struct cause *cause) {
    bool *needed = ARENA_ARRAY(s->f->c->arena, bool, s->entry->n + 1);
    mark_needed(s, from, needed);
    for (uint32_t i = 0; i <= from; i++) {
        const struct instruction *by = &s->entry->instructions[i];
        if (!needed[i] || by->primitive == PRIM_TUPLE || see(s, i).state != STATE_WRONG ||
            !operands_are_sound(s, by))
            continue;
        *cause = cause_at(s, by);
        return true;
    }
    return false;
}

// ---- results ----------------------------------------------------------------------------------

static bool by_factor(const struct calculus *c, struct viewed expected, struct viewed found,
                      struct cause *cause) {
    const struct scale *a = scale_get(&c->terms, expected.of.scale);
    const struct scale *b = scale_get(&c->terms, found.of.scale);
    if (!term_equal(expected.of.of, found.of.of) || expected.view != found.view || a->serial ||
        b->serial || a->n_factors != b->n_factors)
        return false;
    for (uint32_t i = 0; i < a->n_factors; i++)
        if (!term_equal(a->factors[i].of, b->factors[i].of) ||
            a->factors[i].power != b->factors[i].power)
            return false;
    cause->kind = CAUSE_FACTOR;
    cause->numerator = b->numerator * a->denominator;
    cause->denominator = b->denominator * a->numerator;
    for (int64_t d = 2; d <= 1 << 16 && cause->denominator != 1; d++)
        while (cause->numerator % d == 0 && cause->denominator % d == 0)
            cause->numerator /= d, cause->denominator /= d;
    return true;
}

// The last collective on the way, which should have made the result right, else the result itself.
static const struct instruction *last_collective(const struct search *s, uint32_t from) {
    uint32_t i = from;
    while (s->entry->instructions[i].n_operands == 1 &&
           primitive_rows[s->entry->instructions[i].primitive].class != PRIMITIVE_COLLECTIVE)
        i = s->entry->instructions[i].operands[0];
    bool found = primitive_rows[s->entry->instructions[i].primitive].class == PRIMITIVE_COLLECTIVE;
    return &s->entry->instructions[found ? i : from];
}

static uint32_t result_instruction(const struct search *s, uint32_t result) {
    const struct instruction *root = &s->entry->instructions[s->entry->root];
    return root->primitive == PRIM_TUPLE ? root->operands[result] : s->entry->root;
}

struct cause find_cause(const struct finding *f, uint32_t result, struct viewed expected,
                        struct viewed found, const struct coordinates *all) {
    struct search s = {.f = f, .entry = &f->many->graph->computations[f->many->graph->entry]};
    s.seen = ARENA_ARRAY(f->c->arena, struct seen, s.entry->n + 1);
    uint32_t from = result_instruction(&s, result);
    struct cause cause = {.kind = CAUSE_RESULT, .at = &s.entry->instructions[from]};
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

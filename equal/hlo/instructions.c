// Instructions. Some forms of the text are others in a graph:
//
//     fusion                       a call of what was fused
//     X-start, X-update, X-done    X, and copies of it; the start's tuple also holds what only the machine needs
//     %name#1                      get-tuple-element of %name, before the instruction that is given it
//     replica-id                   partition-id, where the devices of the program are its replicas
//
// What the graph has no primitive for is opaque, and so is what depends on how its operand lies in memory.
#include "equal/hlo/instructions.h"

#include <string.h>

#include "equal/hlo/attributes.h"
#include "equal/hlo/literals.h"

// Which part of an asynchronous instruction one is.
enum part { PART_WHOLE, PART_START, PART_DONE };
struct opcode {
    struct word word;
    enum primitive primitive;
    enum part part;
};

struct words opcode_words(struct arena *scratch) {
    struct words words = {.arena = scratch};
    for (int i = 0; i < N_PRIMITIVES; i++)
        words_number(&words, (struct word){primitive_rows[i].word,
                                           (uint32_t)strlen(primitive_rows[i].word)});
    return words;
}

static enum primitive find_primitive(const struct reader *r, struct word word) {
    if (word_is(word, "fusion") || word_is(word, "async"))
        return PRIM_CALL;
    uint32_t number = words_find(&r->opcodes, word);
    return number == UINT32_MAX ? PRIM_OPAQUE : (enum primitive)number;
}

static enum primitive find_before(const struct reader *r, struct word word, const char *suffix) {
    uint32_t length = (uint32_t)strlen(suffix);
    if (!word_ends(word, suffix, length))
        return PRIM_OPAQUE;
    word.length -= length;
    return find_primitive(r, word);
}

static struct opcode find_opcode(const struct reader *r, struct word word) {
    enum primitive primitive = find_primitive(r, word);
    if (primitive != PRIM_OPAQUE)
        return (struct opcode){word, primitive, PART_WHOLE};
    primitive = find_before(r, word, "-start");
    if (primitive != PRIM_OPAQUE)
        return (struct opcode){word, primitive, PART_START};
    if (find_before(r, word, "-done") != PRIM_OPAQUE ||
        find_before(r, word, "-update") != PRIM_OPAQUE)
        return (struct opcode){word, PRIM_COPY, PART_DONE};
    return (struct opcode){word, PRIM_OPAQUE, PART_WHOLE};
}

// ---- names --------------------------------------------------------------------------------------
static struct named_instruction *owner_of(struct reader *r, struct word name) {
    uint32_t number = words_number(&r->names, name);
    while (r->n_named <= number)
        ARENA_PUSH(r->s.scratch, r->named, r->n_named, r->named_cap,
                   (struct named_instruction){UINT32_MAX, 0});
    return &r->named[number];
}

static const char *name_string(struct reader *r, struct word name) {
    return words_string(&r->names, words_number(&r->names, name), r->s.arena);
}

static uint32_t add_instruction(struct reader *r, const struct instruction *instruction,
                                struct as_written written) {
    ARENA_PUSH(r->s.scratch, r->instructions, r->n, r->cap, *instruction);
    uint32_t n = r->n - 1;
    ARENA_PUSH(r->s.scratch, r->written, n, r->written_cap, written);
    return r->n - 1;
}

static const uint32_t *keep_operands(struct reader *r, const uint32_t *operands, uint32_t n) {
    return arena_copy(r->s.arena, operands, n * sizeof *operands);
}

static bool take_element(struct reader *r, uint32_t tuple, struct word name, struct word index) {
    const struct instruction *of = &r->instructions[tuple];
    int64_t number = 0;
    for (uint32_t i = 0; i < index.length; i++)
        if (index.text[i] < '0' || index.text[i] > '9' || number > INT32_MAX)
            return scan_fail(&r->s, E902, name, "`%.*s` is no number of an element", WORD(index));
        else
            number = 10 * number + index.text[i] - '0';
    if (!index.length || !of->shape->is_tuple || number >= of->shape->n_members)
        return scan_fail(&r->s, E905, name, "no element of a tuple");
    struct instruction_attributes *attributes =
        ARENA_NEW(r->s.arena, struct instruction_attributes);
    attributes->index = number;
    struct instruction element = *of;
    element.primitive = PRIM_GET_TUPLE_ELEMENT;
    element.shape = of->shape->members[number];
    element.operands = keep_operands(r, &tuple, 1);
    element.n_operands = 1;
    element.attributes = attributes;
    element.name = name_string(r, name);
    element.span = scan_span(&r->s, name);
    struct as_written written = {{name.text, 0}, r->written[tuple].is_row_major, false};
    uint32_t added = add_instruction(r, &element, written);
    *owner_of(r, name) = (struct named_instruction){r->n_computations, added};
    return true;
}

static bool fail_unknown(struct reader *r, struct word name) {
    struct diagnostic *d = scan_report(
        &r->s, E904, name, "`%.*s` is not defined before this in its computation", WORD(name));
    if (d && owner_of(r, name)->computation != UINT32_MAX)
        diagnostic_note(d, "an instruction of another computation has this name");
    return false;
}

// The instruction that has this name; behind each `#` is the number of an element.
static bool find_operand(struct reader *r, struct word name, uint32_t *operand) {
    struct named_instruction *owner = owner_of(r, name);
    if (owner->computation != r->n_computations) {
        struct word known = name;
        const char *mark = memchr(name.text, '#', name.length);
        known.length = mark ? (uint32_t)(mark - name.text) : name.length;
        owner = owner_of(r, known);
        if (owner->computation != r->n_computations)
            return fail_unknown(r, known);
        for (uint32_t tuple = owner->instruction; known.length < name.length;) {
            struct word index = {name.text + known.length + 1, 0};
            while (index.text + index.length < name.text + name.length &&
                   index.text[index.length] != '#')
                index.length++;
            known.length += 1 + index.length;
            owner = owner_of(r, known);
            if (owner->computation != r->n_computations && !take_element(r, tuple, known, index))
                return false;
            tuple = owner_of(r, known)->instruction;
        }
        owner = owner_of(r, name);
    }
    *operand = owner->instruction;
    return true;
}

static struct word operand_name(struct scanner *s) {
    scan_take(s, '%');
    struct word name = scan_word(s);
    while (name.length && *s->at == '#') {
        s->at++;
        while (*s->at >= '0' && *s->at <= '9')
            s->at++;
    }
    return scan_from(s, name.text);
}

// ---- what stands in parentheses -----------------------------------------------------------------
struct operands {
    uint32_t *of;
    uint32_t n, cap;
};

static bool read_operand(struct reader *r, struct operands *operands) {
    struct scanner *s = &r->s;
    if (scan_peek(s) == '(' && !skip_shape(s))
        return false;
    struct word name = operand_name(s);
    if (*s->at == '[') { // that was a shape's beginning
        s->at = name.text;
        if (!skip_shape(s))
            return false;
        name = operand_name(s);
    }
    uint32_t operand;
    if (!name.length)
        return scan_expected(s, "an operand");
    if (!find_operand(r, name, &operand))
        return false;
    ARENA_PUSH(s->scratch, operands->of, operands->n, operands->cap, operand);
    return true;
}

static bool read_operands(struct reader *r, struct operands *operands) {
    if (!scan_need(&r->s, '('))
        return false;
    while (!scan_take(&r->s, ')'))
        if ((operands->n && !scan_need(&r->s, ',')) || !read_operand(r, operands))
            return false;
    return true;
}

static bool read_parameter(struct reader *r, struct draft *draft) {
    return scan_need(&r->s, '(') && scan_number(&r->s, &draft->to.index) && scan_need(&r->s, ')');
}

static bool read_constant(struct reader *r, const struct array_shape *shape, struct draft *draft) {
    return scan_need(&r->s, '(') && read_literal(&r->s, shape, &draft->to.literal) &&
           scan_need(&r->s, ')');
}

// What is passed over in parentheses is kept beside the attributes.
static bool keep_parentheses(struct reader *r, struct draft *draft) {
    if (scan_peek(&r->s) != '(')
        return scan_expected(&r->s, "`(`");
    const char *begin = r->s.at;
    if (!scan_balanced(&r->s))
        return false;
    ARENA_PUSH(r->s.scratch, draft->others, draft->n_others, draft->others_cap,
               scan_from(&r->s, begin));
    return true;
}

// ---- attributes ---------------------------------------------------------------------------------
static const char *join_others(struct reader *r, const struct draft *draft) {
    if (!draft->n_others)
        return NULL;
    size_t length = 0;
    for (uint32_t i = 0; i < draft->n_others; i++)
        length += draft->others[i].length + 2;
    char *joined = arena_alloc(r->s.arena, length), *to = joined;
    for (uint32_t i = 0; i < draft->n_others; i++) {
        if (i > 0) {
            memcpy(to, ", ", 2);
            to += 2;
        }
        memcpy(to, draft->others[i].text, draft->others[i].length);
        to += draft->others[i].length;
    }
    return joined;
}

static void keep_called(struct reader *r, struct draft *draft) {
    const struct called_list *called = &draft->called;
    uint32_t *kept = ARENA_ARRAY(r->s.arena, uint32_t, called->n), n = 0;
    for (int attribute = 0; attribute < N_ATTRIBUTES && n < called->n; attribute++)
        for (uint32_t i = 0; has_attribute(draft, attribute) && i < called->n; i++)
            if (called->of[i].attribute == (enum attribute)attribute)
                kept[n++] = called->of[i].computation;
    for (uint32_t i = 0; i < n; i++) {
        const struct called_size *size = &r->sizes[kept[i]];
        if (size->depth + 1 > r->size.depth)
            r->size.depth = size->depth + 1;
        r->size.n_executed += size->n_executed;
    }
    draft->to.called = kept;
    draft->to.n_called = n;
}

// The numbers of all_to_all's groups are devices' where it has a channel; the others' are then still those of
// replicas, unless they say that they are not.
static enum group_members members_of(enum primitive primitive, const struct draft *draft) {
    bool has_channel = has_attribute(draft, ATTRIBUTE_CHANNEL_ID);
    if (draft->uses_global_ids || (has_channel && primitive == PRIM_ALL_TO_ALL))
        return GROUPS_OF_DEVICES;
    return has_channel ? GROUPS_OF_WHOLE_REPLICAS : GROUPS_OF_REPLICAS;
}

// Pairs of the one replica that there is, which sends to itself: so does each of its devices.
static bool spread_pairs(struct reader *r, struct draft *draft, struct word at) {
    for (uint32_t i = 0; i < draft->to.n_pairs; i++)
        if (draft->to.pairs[i].from || draft->to.pairs[i].to)
            return scan_fail(&r->s, E906, at, "these pairs are of replicas, and there is one");
    draft->to.counts_replicas = true;
    if (draft->to.n_pairs == 0)
        return true;
    draft->to.pairs = pairs_to_self(&r->s, &r->groups);
    draft->to.n_pairs = r->groups.devices.n;
    return true;
}

static bool resolve_devices(struct reader *r, enum primitive primitive, struct draft *draft,
                            struct word at) {
    if (primitive_rows[primitive].class != PRIMITIVE_COLLECTIVE)
        return true;
    bool are_replicas = r->groups.devices.are_replicas || r->groups.devices.n == 1;
    if (r->groups.devices.are_replicas && has_attribute(draft, ATTRIBUTE_CHANNEL_ID) &&
        (primitive == PRIM_COLLECTIVE_PERMUTE || primitive == PRIM_ALL_TO_ALL))
        return scan_fail(&r->s, E906, at,
                         "with a channel its numbers are of partitions, of which there is one");
    if (primitive == PRIM_COLLECTIVE_PERMUTE)
        return has_attribute(draft, ATTRIBUTE_CHANNEL_ID) || are_replicas ||
               spread_pairs(r, draft, at);
    enum group_members members = members_of(primitive, draft);
    draft->to.counts_replicas = members == GROUPS_OF_REPLICAS && !are_replicas;
    draft->to.groups = read_groups(&r->s, &r->groups, draft->groups, members);
    return draft->to.groups;
}

static const struct instruction_attributes *keep_attributes(struct reader *r, struct opcode opcode,
                                                            struct draft *draft) {
    struct instruction_attributes *to = &draft->to;
    if (opcode.primitive == PRIM_GATHER || opcode.primitive == PRIM_SCATTER)
        to->indices = arena_copy(r->s.arena, &draft->indices, sizeof draft->indices);
    if (draft->called.n)
        keep_called(r, draft);
    if (opcode.primitive == PRIM_OPAQUE || opcode.primitive == PRIM_CUSTOM_CALL)
        to->target = hlo_string(r, draft->target.length ? draft->target : opcode.word);
    if (draft->sharding.length)
        to->sharding = hlo_string(r, draft->sharding);
    if (draft->keeps_others)
        to->others = join_others(r, draft);
    static const struct instruction_attributes none;
    if (memcmp(to, &none, sizeof none) == 0)
        return r->no_attributes;
    return arena_copy(r->s.arena, to, sizeof *to);
}

// ---- the instruction ----------------------------------------------------------------------------
// Refuses what only stands in front of the partitioner: the way from whole arrays into a `shard_map` and out of it.
static bool check_partitioned(struct reader *r, const struct draft *draft, struct word name) {
    static const char *const ways[] = {"SPMDFullToShardShape", "SPMDShardToFullShape",
                                       "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"};
    size_t i = 0;
    while (i < sizeof ways / sizeof *ways && !word_is(draft->target, ways[i]))
        i++;
    if (i == sizeof ways / sizeof *ways)
        return true;
    struct diagnostic *d = scan_report(
        &r->s, E908, name, "a program of whole arrays and of parts, in front of the partitioner");
    if (d)
        diagnostic_help(d, "for the program of the many take the text behind XLA's pass "
                           "`spmd-partitioning`; that of one device has no `shard_map`");
    return false;
}

// The result of what is started, among what its tuple holds; a copy's, which comes before its operand, has the same shape.
static bool take_result(struct reader *r, struct opcode opcode, struct word name,
                        const struct array_shape **shape) {
    if (opcode.part != PART_START || opcode.primitive == PRIM_ALL_REDUCE)
        return true;
    if (!(*shape)->is_tuple || (*shape)->n_members < 2)
        return scan_fail(&r->s, E905, name,
                         "what is started gives a tuple of its operand and its result");
    *shape = (*shape)->members[1];
    return true;
}

// What waits for what was started copies its result. An update is printed with the start's tuple.
static bool wait_for(struct reader *r, const struct operands *operands, struct word name,
                     struct opcode *opcode, const struct array_shape **shape) {
    if (opcode->part != PART_DONE)
        return true;
    if (operands->n != 1 || !r->written[operands->of[0]].is_started)
        return scan_fail(&r->s, E905, name, "`%.*s` of what was not started", WORD(opcode->word));
    const struct array_shape *result = r->instructions[operands->of[0]].shape;
    if (word_ends(opcode->word, "-done", 5) && *shape != result)
        return scan_fail(&r->s, E905, name, "not the shape of what was started");
    *shape = result;
    if (result->is_tuple)
        opcode->primitive = PRIM_OPTIMIZATION_BARRIER;
    return true;
}

// A bitcast gives the elements in the order in which they lie in memory, which is that of their numbers if neither side
// has a layout of its own; to another type it gives their bits.
static enum primitive understood_bitcast(const struct reader *r, const struct operands *operands,
                                         const struct written_shape *shape) {
    if (operands->n != 1 || !shape->is_row_major || !r->written[operands->of[0]].is_row_major)
        return PRIM_OPAQUE;
    bool same_type = r->instructions[operands->of[0]].shape->element == shape->shape->element;
    return same_type ? PRIM_BITCAST : PRIM_BITCAST_CONVERT;
}

static enum primitive understood(struct reader *r, struct opcode opcode,
                                 const struct operands *operands,
                                 const struct written_shape *shape) {
    if (shape->is_dynamic || (opcode.primitive == PRIM_CONSTANT && !literal_is_read(shape->shape)))
        return PRIM_OPAQUE;
    if (opcode.primitive == PRIM_BITCAST)
        return understood_bitcast(r, operands, shape);
    if (r->groups.devices.are_replicas) { // a graph counts its devices by partitions
        if (opcode.primitive == PRIM_REPLICA_ID)
            return PRIM_PARTITION_ID;
        if (opcode.primitive == PRIM_PARTITION_ID)
            return PRIM_REPLICA_ID;
    }
    return opcode.primitive;
}

static bool read_parentheses(struct reader *r, struct opcode opcode, struct written_shape *shape,
                             struct operands *operands, struct draft *draft) {
    if (opcode.primitive == PRIM_PARAMETER)
        return read_parameter(r, draft);
    if (opcode.primitive != PRIM_CONSTANT)
        return read_operands(r, operands);
    return literal_is_read(shape->shape) ? read_constant(r, shape->shape, draft)
                                         : keep_parentheses(r, draft);
}

// The text of what an opaque bitcast is of, with its layout.
static void keep_layouts(struct reader *r, const struct operands *operands, struct word shape,
                         struct draft *draft) {
    ARENA_PUSH(r->s.scratch, draft->others, draft->n_others, draft->others_cap, shape);
    for (uint32_t i = 0; i < operands->n; i++)
        ARENA_PUSH(r->s.scratch, draft->others, draft->n_others, draft->others_cap,
                   r->written[operands->of[i]].shape);
}

static bool check_count(struct reader *r, struct opcode opcode, const struct operands *operands,
                        struct word name) {
    int n = primitive_rows[opcode.primitive].operands;
    return n < 0 || operands->n == (uint32_t)n ||
           scan_fail(&r->s, E905, name, "`%.*s` has %d operand%s, not %u", WORD(opcode.word), n,
                     plural_s(n), operands->n);
}

static bool check_ranges(struct reader *r, enum primitive primitive, const struct draft *draft,
                         const struct operands *operands, struct word name) {
    if (primitive != PRIM_SLICE && primitive != PRIM_PAD)
        return true;
    uint32_t n = primitive == PRIM_SLICE ? draft->n_slices : draft->n_padding;
    return r->instructions[operands->of[0]].shape->rank == n ||
           scan_fail(&r->s, E905, name, "not one range for each dimension");
}

static bool define(struct reader *r, struct word name, uint32_t instruction) {
    struct named_instruction *owner = owner_of(r, name);
    if (owner->computation == r->n_computations)
        return scan_fail(&r->s, E902, name, "`%.*s` is defined twice", WORD(name));
    *owner = (struct named_instruction){r->n_computations, instruction};
    return true;
}

// `= shape opcode(...), ...`
static bool read_definition(struct reader *r, struct word name) {
    struct scanner *s = &r->s;
    struct written_shape shape;
    struct operands operands = {0};
    struct draft draft = {.seen = 0};
    struct as_written written = {0};
    if (!scan_need(s, '='))
        return false;
    scan_blanks(s);
    const char *begin = s->at;
    if (!read_shape(s, &r->shapes, &shape))
        return false;
    written.shape = scan_from(s, begin);
    struct opcode opcode = find_opcode(r, scan_word(s));
    if (!opcode.word.length)
        return scan_expected(s, "an opcode");
    if (!read_parentheses(r, opcode, &shape, &operands, &draft))
        return false;
    if (opcode.primitive == PRIM_PARAMETER && shape.is_dynamic)
        return scan_fail(s, E908, name, "a parameter whose sizes are known only when it runs");
    opcode.primitive = understood(r, opcode, &operands, &shape);
    if (opcode.primitive == PRIM_OPAQUE && word_is(opcode.word, "bitcast"))
        keep_layouts(r, &operands, written.shape, &draft);
    draft.keeps_others = primitive_rows[opcode.primitive].class == PRIMITIVE_OTHER;
    if (!read_attributes(r, opcode.primitive, &draft) ||
        !need_attributes(r, opcode.primitive, &draft, name) ||
        !wait_for(r, &operands, name, &opcode, &shape.shape) ||
        !check_count(r, opcode, &operands, name) ||
        !check_ranges(r, opcode.primitive, &draft, &operands, name) ||
        !take_result(r, opcode, name, &shape.shape) ||
        !resolve_devices(r, opcode.primitive, &draft, name) || !check_partitioned(r, &draft, name))
        return false;
    r->has_shardings |= draft.sharding.length || draft.is_for_partitioner;
    written.is_row_major = shape.is_row_major;
    written.is_started = opcode.part == PART_START || word_ends(opcode.word, "-update", 7);
    struct instruction instruction = {
        .primitive = opcode.primitive,
        .shape = shape.shape,
        .operands = keep_operands(r, operands.of, operands.n),
        .n_operands = operands.n,
        .attributes = keep_attributes(r, opcode, &draft),
        .name = name_string(r, name),
        .path = draft.path.length ? reader_quoted(r, draft.path) : NULL,
        .frame = draft.frame,
        .span = scan_span(s, name),
    };
    return define(r, name, add_instruction(r, &instruction, written));
}

bool read_instruction(struct reader *r, bool *is_root) {
    scan_take(&r->s, '%');
    struct word name = scan_word(&r->s);
    *is_root = word_is(name, "ROOT");
    if (*is_root) {
        scan_take(&r->s, '%');
        name = scan_word(&r->s);
    }
    if (!name.length)
        return scan_expected(&r->s, "an instruction or `}`");
    return read_definition(r, name);
}

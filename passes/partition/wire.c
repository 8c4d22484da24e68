// Partition, codes: gradients that travel compressed (`wire` in the language). Where a summand is
// to be summed over the axes of the wire, each device compresses what it has, with what the last
// step's code lacked; the codes of all are gathered, and each device decodes and adds them in the
// order of the group, so that all have the same bits:
//
//   call compress_U(g, residual) -> (code, residual)
//   start all_gather over dp { code -> codes }
//   call decompress_U(codes, g) -> (g)
//
// Nothing is reduced on the way, so that a device sends its code to all others: the bytes grow with
// their number, where those of an all_reduce hardly do.
#include "passes/partition/partition.h"

#include "ir/diagnostic.h"

// ---- storage ----------------------------------------------------------------------------------

static buffer_id add_code(struct partitioner *p, const struct buffer *reference, const char *suffix,
                          int64_t words, const struct axis_list *flat) {
    struct buffer buffer = *reference;
    buffer.name = name_with(p->arena, reference->name, suffix);
    buffer.class = CLASS_TRANSIENT;
    buffer.dtype = DTYPE_I32;
    buffer.rank = 1;
    buffer.dims[0] = (struct dim){DIM_FLAT, words};
    buffer.layout = (struct layout){.flat = *flat};
    buffer.stack = STACK_NONE;
    buffer.count = 1;
    buffer.first_layer = buffer.layer_step = buffer.pad_elements = 0;
    return program_add_buffer(p->program, buffer);
}

// The residual lies as what is compressed: an optimizer that the wire's axes cut takes its part of
// the whole sum, one that others cut has only its own part to send.
void make_codes(struct partitioner *p, const struct buffer *reference) {
    static const struct axis_list none = {0};
    struct tensor_storage *storage = storage_of(p, reference);
    if (storage->wire.n == 0 || !p->reference->tensors[reference->tensor].trainable)
        return;
    const struct buffer *own = &p->program->buffers[storage->own_gradient];
    bool whole = axis_list_has(&own->layout.flat, storage->wire.axes[0]);
    storage->sent = whole ? storage->gradient : storage->own_gradient;
    struct buffer residual = p->program->buffers[storage->sent];
    residual.name = arena_format(p->arena, "%s.residual", reference->name);
    residual.class = CLASS_RESIDUAL;
    residual.window_of = NO_ID;
    storage->residual = program_add_buffer(p->program, residual);
    struct tensor_type type = buffer_type(p->program, &residual);
    int64_t words = wire_words(p->placement.wire, type_elements(&type));
    words = size_times(words, mesh_group_size(&p->program->mesh, &storage->wire));
    storage->code = add_code(p, reference, ".code", words, &storage->wire);
    storage->codes = add_code(p, reference, ".codes", words, &none);
}

// ---- units ------------------------------------------------------------------------------------

static value_id add_parameter(struct partitioner *p, struct unit *unit, struct reference place,
                              const char *suffix) {
    const struct buffer *buffer = &p->program->buffers[place.buffer];
    const char *tensor = p->program->tensors[buffer->tensor].name;
    return unit_add_parameter(p->program, unit, arena_format(p->arena, "%s.%s", tensor, suffix),
                              buffer_type(p->program, buffer), false);
}

static struct op *add_op(struct partitioner *p, struct unit *unit, enum op_kind kind,
                         const char *suffix, const value_id *operands, struct reference place,
                         struct span span) {
    const struct tensor *tensor = &p->program->tensors[p->program->buffers[place.buffer].tensor];
    struct op *op =
        unit_add_op(p->program, unit, kind, arena_format(p->arena, "%s.%s", tensor->name, suffix),
                    operands, 2, span);
    op->n_roles = tensor->n_roles;
    for (unsigned i = 0; i < tensor->n_roles; i++)
        op->roles[i] = tensor->roles[i];
    op_set_word(p->program, op, ATTRIBUTE_WAY, wire_way_names[p->placement.wire.way]);
    if (p->placement.wire.way == WIRE_TOPK)
        op_set_integer(p->program, op, ATTRIBUTE_KEPT, p->placement.wire.kept);
    const char *why;
    op_infer_types(p->program, unit, op, &why);
    return op;
}

// A unit with two operands for every gradient, by the parts of their names.
static struct unit *add_unit(struct partitioner *p, const struct statement *from, const char *verb,
                             const char *const parts[2], const struct reference *operands,
                             uint32_t n, uint32_t *id) {
    const char *name = arena_format(p->arena, "%s_%s", verb, unit_name(p, from));
    *id = add_local_unit(p, name, from->span);
    struct unit *unit = &p->program->units[*id];
    unit->phase = PHASE_BACKWARD;
    for (uint32_t i = 0; i < 2 * n; i++)
        add_parameter(p, unit, operands[i], parts[i % 2]);
    return unit;
}

// Of every gradient itself and its residual.
static uint32_t add_compression(struct partitioner *p, const struct statement *from,
                                const struct reference *operands, uint32_t n) {
    static const char *const parts[2] = {"gradient", "residual"};
    uint32_t id;
    struct unit *unit = add_unit(p, from, "compress", parts, operands, n, &id);
    for (uint32_t i = 0; i < n; i++) {
        value_id pair[2] = {2 * i, 2 * i + 1};
        struct op *op = add_op(p, unit, OP_COMPRESS, "sent", pair, operands[2 * i], from->span);
        unit_add_result(p->program, unit, op->results[0], NO_ID);
        unit_add_result(p->program, unit, op->results[1], pair[1]);
    }
    return id;
}

// The codes of all devices, and the gradient in whose place their sum is.
static uint32_t add_decompression(struct partitioner *p, const struct statement *from,
                                  const struct reference *operands, uint32_t n) {
    static const char *const parts[2] = {"codes", "gradient"};
    uint32_t id;
    struct unit *unit = add_unit(p, from, "decompress", parts, operands, n, &id);
    for (uint32_t i = 0; i < n; i++) {
        value_id pair[2] = {2 * i, 2 * i + 1};
        struct op *op = add_op(p, unit, OP_DECOMPRESS, "total", pair, operands[2 * i], from->span);
        unit_add_result(p->program, unit, op->results[0], pair[1]);
    }
    return id;
}

// Ranges of layers share their units, if they lie alike.
static const struct coding *find_coding(struct partitioner *p, const struct statement *from,
                                        const struct reference *compressed,
                                        const struct reference *decompressed, uint32_t n) {
    for (const struct coding *made = p->codings[from->call.unit]; made; made = made->before)
        if (has_types(p, &p->program->units[made->compress], compressed, 2 * n))
            return made;
    struct coding *made = ARENA_NEW(p->arena, struct coding);
    made->compress = add_compression(p, from, compressed, n);
    made->decompress = add_decompression(p, from, decompressed, n);
    made->before = p->codings[from->call.unit];
    return p->codings[from->call.unit] = made;
}

// ---- the schedule -----------------------------------------------------------------------------

// Where the update reads a part of the whole, padding is read with it: zeros.
static void clear_padding(struct partitioner *p, const struct statement *from,
                          struct reference gradient) {
    const struct tensor_storage *s = gradient_storage(p, gradient);
    if (s->sent != NO_ID && s->sent != s->own_gradient)
        push_statement(p, (struct statement){.kind = STATEMENT_ZERO,
                                             .span = from->span,
                                             .zero = tensor_item(p, s->sent, gradient)});
}

// A call's gradients that travel so, with the places that they pass through.
struct sent {
    struct reference *compressed, *made;        // gradient and residual; code and residual
    struct reference *decompressed, *gradients; // codes and gradient; gradient
    struct transfers gathers;
    struct freed freed;
    uint32_t n;
};

static void add_sent(struct partitioner *p, struct sent *sent, struct reference gradient) {
    const struct tensor_storage *s = gradient_storage(p, gradient);
    if (s->sent == NO_ID)
        return;
    struct reference place = tensor_item(p, s->sent, gradient);
    struct reference residual = tensor_item(p, s->residual, gradient);
    struct reference code = tensor_item(p, s->code, gradient);
    struct reference codes = tensor_item(p, s->codes, gradient);
    struct axis_list axes = axes_of_sum(p, axis_list_mask(&s->wire));
    uint32_t i = sent->n++;
    sent->compressed[2 * i] = sent->decompressed[2 * i + 1] = sent->gradients[i] = place;
    sent->compressed[2 * i + 1] = sent->made[2 * i + 1] = residual;
    sent->made[2 * i] = code;
    sent->decompressed[2 * i] = codes;
    add_piece(p, &sent->gathers, COLLECTIVE_ALL_GATHER, &axes, code, codes,
              state_span(p, reference_buffer(p, gradient), STATE_GRADIENTS, &axes), NO_BUCKET);
    free_item(p, &sent->freed, code);
    free_item(p, &sent->freed, codes);
}

static void push_unit(struct partitioner *p, const struct statement *from, uint32_t unit,
                      struct reference *operands, struct reference *results) {
    push_statement(
        p, (struct statement){.kind = STATEMENT_CALL,
                              .span = from->span,
                              .call = {.unit = unit, .operands = operands, .results = results}});
}

void send_codes(struct partitioner *p, const struct statement *from,
                const struct written *written) {
    uint32_t room = 2 * written->n + 1;
    struct sent sent = {.compressed = ARENA_ARRAY(p->arena, struct reference, room),
                        .made = ARENA_ARRAY(p->arena, struct reference, room),
                        .decompressed = ARENA_ARRAY(p->arena, struct reference, room),
                        .gradients = ARENA_ARRAY(p->arena, struct reference, room)};
    for (uint32_t i = 0; i < written->n; i++)
        add_sent(p, &sent, written->results[i]);
    if (sent.n == 0)
        return;
    const struct coding *coding = find_coding(p, from, sent.compressed, sent.decompressed, sent.n);
    push_unit(p, from, coding->compress, sent.compressed, sent.made);
    for (uint32_t i = 0; i < written->n; i++)
        clear_padding(p, from, written->results[i]);
    emit_transfers(p, &sent.gathers, arena_format(p->arena, "gather.%s", unit_name(p, from)));
    push_unit(p, from, coding->decompress, sent.decompressed, sent.gradients);
    emit_free(p, from, &sent.freed);
}

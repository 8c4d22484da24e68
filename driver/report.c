// What the storage that was found amounts to: rows of tensors that lie alike, and their letters.
//
// The letters are the verifier's findings about the final program, never the strategy's words: what
// is printed as sharded is sharded. Tensors of one role that lie alike are one row, so the table is
// as long as the model has kinds of parts, not tensors.
#include "driver/report.h"

#include <string.h>

static const char *role_path(struct arena *arena, const struct tensor *tensor) {
    const char *path = "";
    for (unsigned i = 0; i < tensor->n_roles; i++)
        path = arena_format(arena, "%s%s%s", path, i ? "." : "", role_names[tensor->roles[i]]);
    return path;
}

// In storage; the work that a row is cut by follows from its role.
static bool lie_alike(const struct placement_row *row, const struct buffer *buffer,
                      const struct found *found) {
    return row->found->sharded == found->sharded && row->found->gathered == found->gathered &&
           row->found->data == found->data && row->buffer->dtype == buffer->dtype;
}

// Activations have no tensor; what blocks hand on stands for them: a block reads one item of it and
// writes the next.
static bool is_handed_on(const struct program *program, buffer_id id) {
    const struct buffer *buffer = &program->buffers[id];
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (buffer->class == CLASS_ACTIVATIONS && buffer->stack == STACK_LAYERS &&
           walk_next(&walk)) {
        struct access access;
        bool read = false, written = false;
        for (uint32_t i = 0; (access = statement_access(program, walk.statement, i)).at; i++) {
            read |= access.at->buffer == id && !access.written;
            written |= access.at->buffer == id && access.written;
        }
        if (walk.statement->kind == STATEMENT_CALL && read && written)
            return true;
    }
    return false;
}

// Into the row of its kind, or as a new one. A window has no bytes of its own and is no row.
static void add_buffer(struct compilation *c, struct placement_table *table, buffer_id id) {
    const struct buffer *buffer = &c->final->buffers[id];
    const struct found *found = &c->verdict.buffers[id];
    enum state state = class_states[buffer->class];
    bool activation = is_handed_on(c->final, id);
    if (state == N_STATES || buffer->window_of != NO_ID || (buffer->tensor == NO_ID && !activation))
        return;
    const char *role =
        activation ? "layers" : role_path(&c->arena, &c->final->tensors[buffer->tensor]);
    int64_t bytes = buffer_bytes(c->final, buffer), begin = buffer->first_layer;
    int64_t end = buffer->stack == STACK_LAYERS ? begin + buffer->count - activation : 0;
    for (uint32_t i = 0; i < table->n; i++) {
        struct placement_row *row = &table->rows[i];
        if (row->state == state && strcmp(row->role, role) == 0 && row->begin == begin &&
            row->end == end && lie_alike(row, buffer, found)) {
            row->bytes += bytes;
            return;
        }
    }
    struct placement_row row = {.state = state,
                                .role = role,
                                .begin = begin,
                                .end = end,
                                .buffer = buffer,
                                .found = found,
                                .bytes = bytes};
    ARENA_PUSH(&c->arena, table->rows, table->n, table->cap, row);
}

struct placement_table placement_rows(struct compilation *c) {
    struct placement_table table = {0};
    for (int state = 0; state < N_STATES; state++)
        for (buffer_id id = 0; id < c->final->n_buffers; id++)
            if (class_states[c->final->buffers[id].class] == (enum state)state)
                add_buffer(c, &table, id);
    return table;
}

const char *mode_letter(const struct placement_row *row, unsigned axis) {
    uint32_t bit = UINT32_C(1) << axis;
    // An activation cut by the batch is kept whole by the device that computed it.
    if (row->state == STATE_ACTIVATIONS && row->found->data & bit)
        return "R";
    if (!(row->found->sharded & bit))
        return "R";
    return row->state == STATE_PARAMETERS && row->found->gathered & bit ? "S*" : "S";
}

// One letter for a state of many tensors: what most of its bytes are.
const char *mode_of_state(const struct placement_table *table, enum state state, unsigned axis) {
    static const char *const letters[] = {"R", "S", "S*"};
    int64_t bytes[3] = {0};
    for (uint32_t i = 0; i < table->n; i++)
        for (int k = 0; k < 3; k++)
            if (table->rows[i].state == state &&
                strcmp(mode_letter(&table->rows[i], axis), letters[k]) == 0)
                bytes[k] += table->rows[i].bytes;
    int most = 0;
    for (int k = 1; k < 3; k++)
        if (bytes[k] > bytes[most])
            most = k;
    return letters[most];
}

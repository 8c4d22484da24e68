// See gradients.h. An op that updates says so in its row: it has operands `p` and `g`, of one
// shape. Where elements of g stand in the whole is where those of p do, and where p is the call
// says. Where several ops update, as Muon's do, the first scales the gradient by the clip factor.
#include "tests/oracle/gradients.h"

#include <math.h>
#include <string.h>

int64_t tensor_elements(const struct tensor *tensor) {
    int64_t n = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        n *= tensor->dims[i].size;
    return n;
}

static int64_t tensor_items(const struct tensor *tensor) {
    return tensor->layers ? tensor->layers : 1;
}

struct gradients *gradients_new(struct arena *arena, const struct program *final) {
    struct gradients *g = ARENA_NEW(arena, struct gradients);
    *g = (struct gradients){final, arena, {NULL}};
    for (int timing = 0; timing < N_TIMINGS; timing++)
        g->logical[timing] = ARENA_ARRAY(arena, double *, final->job->n_tensors + 1);
    return g;
}

void gradients_clear(struct gradients *g) {
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (uint32_t t = 0; t < g->program->job->n_tensors; t++) {
            const struct tensor *tensor = &g->program->job->tensors[t];
            int64_t n = tensor_elements(tensor) * tensor_items(tensor);
            for (int64_t i = 0; g->logical[timing][t] && i < n; i++)
                g->logical[timing][t][i] = NAN;
        }
}

// The operand of that name in the op's row; -1: none.
static int operand_named(enum op_kind kind, char name) {
    const char *names = op_rows[kind].operands;
    for (int i = 0; *names; i++) {
        size_t length = strcspn(names, " ");
        if (length == 1 && *names == name)
            return i;
        names += length + (names[length] == ' ');
    }
    return -1;
}

static double *whole_of(struct gradients *g, enum timing timing, uint32_t tensor) {
    double **whole = &g->logical[timing][tensor];
    const struct tensor *t = &g->program->job->tensors[tensor];
    int64_t n = tensor_elements(t) * tensor_items(t);
    if (!*whole) {
        *whole = ARENA_ARRAY(g->arena, double, n);
        for (int64_t i = 0; i < n; i++)
            (*whole)[i] = NAN;
    }
    return *whole;
}

// A decay scales what is updated, which may be a copy of what persists.
static bool is_updated(const struct unit *unit, value_id parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

void gradients_see(struct gradients *g, const struct moment *moment, const struct array *operands) {
    const struct program *program = g->program;
    int p = operand_named(moment->op->kind, 'p'), of_g = operand_named(moment->op->kind, 'g');
    bool scales = moment->op->kind == OP_SCALE;
    if (scales)
        p = of_g = 0;
    if (p < 0 || of_g < 0)
        return;
    const struct call *call = &moment->statement->call;
    const struct unit *unit = &program->job->units[call->unit];
    value_id root = value_root(unit, moment->op->operands[p]);
    if (root >= unit->n_parameters)
        return;
    buffer_id id = call->operands[root].buffer;
    const struct buffer *buffer = &program->buffers[id];
    if (scales && (unit->phase != PHASE_UPDATE || moment->op->operands[p] != root ||
                   class_persistent[buffer->class] || is_updated(unit, root)))
        return;
    int64_t item = reference_item(program, &call->operands[root], moment->variables);
    int64_t layer = buffer_layer(buffer, item);
    // A place to which what is updated is copied has slots: the loop over layers says whose it is.
    const struct buffer *place = &program->buffers[buffer_whole(program, id)];
    if (buffer->tensor != NO_ID && program->job->tensors[buffer->tensor].layers &&
        !buffer_stack(place, STACK_LAYERS) && moment->depth > 0)
        layer = moment->variables[moment->depth - 1];
    if (buffer->tensor == NO_ID)
        return;
    const struct tensor *tensor = &program->job->tensors[buffer->tensor];
    int64_t item_of_tensor = layer - tensor->first_layer;
    if (item_of_tensor < 0 || item_of_tensor >= tensor_items(tensor))
        return;
    double *whole =
        whole_of(g, moment->timing, buffer->tensor) + item_of_tensor * tensor_elements(tensor);
    int64_t n = type_elements(&operands[of_g].type);
    struct arena scratch = {0};
    int64_t *places = ARENA_ARRAY(&scratch, int64_t, n);
    layout_places(program, id, item, moment->device, places);
    for (int64_t i = 0; i < n; i++)
        if (places[i] >= 0)
            whole[places[i]] = operands[of_g].data[i];
    arena_free(&scratch);
}

// Programs that are alike: which would print the same text (print.c), but for what can be derived
// again from the rest: frees, offsets, frames and the places of values. Names are compared, not
// numbers, since a text has no others.
#include <string.h>

#include "ir/ir.h"

struct pair {
    const struct program *a, *b;
    const struct step *step_a, *step_b;
};

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

// ---- header -----------------------------------------------------------------------------------

static bool meshes_alike(const struct mesh *a, const struct mesh *b) {
    if (a->n_axes != b->n_axes || a->n_products != b->n_products)
        return false;
    for (uint32_t i = 0; i < a->n_axes; i++) {
        const struct mesh_axis *x = &a->axes[i], *y = &b->axes[i];
        if (!same_text(x->name, y->name) || x->size != y->size ||
            x->link_bytes_per_s != y->link_bytes_per_s || x->link_latency_s != y->link_latency_s)
            return false;
    }
    for (uint32_t i = 0; i < a->n_products; i++)
        if (!same_text(a->products[i].name, b->products[i].name) ||
            !axis_list_equal(&a->products[i].axes, &b->products[i].axes))
            return false;
    return true;
}

static bool sizes_alike(const struct sizes *a, const struct sizes *b) {
    return a->batch == b->batch && a->sequence == b->sequence &&
           a->microbatches == b->microbatches && a->layers == b->layers && a->vocab == b->vocab;
}

static bool policies_alike(const struct policy *a, const struct policy *b) {
    return a->parameters == b->parameters && a->master == b->master && a->moments == b->moments &&
           a->gradients == b->gradients && a->compute == b->compute &&
           a->accumulate == b->accumulate && a->gather == b->gather && a->reduce == b->reduce &&
           same_text(a->types, b->types) && a->reproducible == b->reproducible &&
           a->reproducible_of == b->reproducible_of && a->microbatch == b->microbatch &&
           axis_list_equal(&a->islands, &b->islands) && a->average_every == b->average_every &&
           axis_list_equal(&a->wire_axes, &b->wire_axes) && wire_equal(a->wire, b->wire);
}

static bool dims_alike(const struct dim *a, unsigned rank_a, const struct dim *b, unsigned rank_b) {
    if (rank_a != rank_b)
        return false;
    for (unsigned i = 0; i < rank_a; i++)
        if (a[i].dimension != b[i].dimension || a[i].size != b[i].size)
            return false;
    return true;
}

static bool roles_alike(const uint8_t *a, unsigned n_a, const uint8_t *b, unsigned n_b) {
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static bool tensor_types_alike(const struct job *job_a, const struct tensor *a,
                               const struct job *job_b, const struct tensor *b) {
    return tensor_parameters(job_a, a) == tensor_parameters(job_b, b) &&
           tensor_master(job_a, a) == tensor_master(job_b, b) &&
           tensor_moments(job_a, a) == tensor_moments(job_b, b) &&
           tensor_gradients(job_a, a) == tensor_gradients(job_b, b) &&
           tensor_gather(job_a, a) == tensor_gather(job_b, b) &&
           tensor_reduce(job_a, a) == tensor_reduce(job_b, b);
}

static bool tensors_alike(const struct tensor *a, const struct tensor *b) {
    if (!same_text(a->name, b->name) || !dims_alike(a->dims, a->rank, b->dims, b->rank) ||
        !roles_alike(a->roles, a->n_roles, b->roles, b->n_roles) || a->layers != b->layers ||
        a->first_layer != b->first_layer || !same_text(a->model_name, b->model_name) ||
        a->init != b->init || a->init_std != b->init_std || a->n_parts != b->n_parts)
        return false;
    for (unsigned i = 0; i < a->n_parts; i++)
        if (!same_text(a->parts[i].name, b->parts[i].name) || a->parts[i].size != b->parts[i].size)
            return false;
    return a->trainable == b->trainable && same_text(a->saved_name, b->saved_name) &&
           a->saved_columns == b->saved_columns &&
           a->saved_columns_begin == b->saved_columns_begin &&
           a->saved_transposed == b->saved_transposed;
}

static bool layouts_alike(const struct buffer *a, const struct buffer *b) {
    struct axis_list inner_a = buffer_inner_axes(a), inner_b = buffer_inner_axes(b);
    for (unsigned i = 0; i < a->rank; i++)
        if (!axis_list_equal(&a->layout.cuts[i], &b->layout.cuts[i]) ||
            a->layout.zigzag[i] != b->layout.zigzag[i])
            return false;
    return axis_list_equal(&a->layout.flat, &b->layout.flat) &&
           axis_list_equal(&a->layout.owners, &b->layout.owners) &&
           axis_list_equal(&inner_a, &inner_b);
}

static bool buffers_alike(const struct pair *p, const struct buffer *a, const struct buffer *b) {
    bool windows = a->window_of != NO_ID, tensors = a->tensor != NO_ID;
    if (!same_text(a->name, b->name) || a->class != b->class || a->dtype != b->dtype ||
        a->host != b->host || a->tier != b->tier ||
        !dims_alike(a->dims, a->rank, b->dims, b->rank) || !layouts_alike(a, b) ||
        !stacks_equal(&a->stacks, &b->stacks) ||
        round_up(1, a->pad_elements) != round_up(1, b->pad_elements) ||
        windows != (b->window_of != NO_ID) || tensors != (b->tensor != NO_ID))
        return false;
    return (!windows ||
            same_text(p->a->buffers[a->window_of].name, p->b->buffers[b->window_of].name)) &&
           (!tensors ||
            same_text(p->a->job->tensors[a->tensor].name, p->b->job->tensors[b->tensor].name));
}

// ---- units ------------------------------------------------------------------------------------

static bool types_alike(const struct tensor_type *a, const struct tensor_type *b) {
    return a->dtype == b->dtype && dims_alike(a->dims, a->rank, b->dims, b->rank);
}

static bool names_alike(const struct unit *a, const struct unit *b, const value_id *of_a,
                        const value_id *of_b, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (!same_text(a->values[of_a[i]].name, b->values[of_b[i]].name))
            return false;
    return true;
}

static bool ops_alike(const struct unit *u, const struct op *a, const struct unit *v,
                      const struct op *b) {
    if (a->kind != b->kind || a->n_operands != b->n_operands || a->n_results != b->n_results ||
        !op_attributes_equal(a, b) || !roles_alike(a->roles, a->n_roles, b->roles, b->n_roles) ||
        !names_alike(u, v, a->operands, b->operands, a->n_operands) ||
        !names_alike(u, v, a->results, b->results, a->n_results))
        return false;
    for (unsigned i = 0; i < a->n_results; i++)
        if (!types_alike(&u->values[a->results[i]].type, &v->values[b->results[i]].type))
            return false;
    return true;
}

static bool unit_results_alike(const struct unit *u, const struct unit_result *a,
                               const struct unit *v, const struct unit_result *b) {
    bool in_place = a->in_parameter != NO_ID;
    return names_alike(u, v, &a->value, &b->value, 1) && in_place == (b->in_parameter != NO_ID) &&
           (!in_place || names_alike(u, v, &a->in_parameter, &b->in_parameter, 1));
}

static bool units_alike(const struct unit *a, const struct unit *b) {
    if (!same_text(a->name, b->name) || a->phase != b->phase ||
        a->n_parameters != b->n_parameters || a->n_results != b->n_results || a->n_ops != b->n_ops)
        return false;
    for (uint32_t i = 0; i < a->n_parameters; i++)
        if (a->consumed[i] != b->consumed[i] || !same_text(a->values[i].name, b->values[i].name) ||
            !types_alike(&a->values[i].type, &b->values[i].type))
            return false;
    for (uint32_t i = 0; i < a->n_results; i++)
        if (!unit_results_alike(a, &a->results[i], b, &b->results[i]))
            return false;
    for (uint32_t i = 0; i < a->n_ops; i++)
        if (!ops_alike(a, &a->ops[i], b, &b->ops[i]))
            return false;
    return true;
}

// ---- steps ------------------------------------------------------------------------------------

// Whether two statements of one kind name the same places; calls of one unit do so in one order.
static bool places_alike(const struct pair *p, const struct statement *a,
                         const struct statement *b) {
    struct access x, y;
    for (uint32_t i = 0;; i++) {
        x = statement_access(p->a, a, i);
        y = statement_access(p->b, b, i);
        if (!x.at || !y.at)
            return !x.at && !y.at;
        const struct buffer *buffer = &p->a->buffers[x.at->buffer];
        if (!same_text(buffer->name, p->b->buffers[y.at->buffer].name))
            return false;
        for (unsigned k = 0; k < buffer->stacks.n; k++)
            if (!index_equal(x.at->indices[k], y.at->indices[k]))
                return false;
    }
}

static bool handles_alike(const struct pair *p, uint32_t a, struct index at_a, uint32_t b,
                          struct index at_b) {
    return same_text(p->step_a->handles[a].name, p->step_b->handles[b].name) &&
           index_equal(at_a, at_b);
}

static bool starts_alike(const struct pair *p, const struct transfer *a, const struct transfer *b) {
    const struct exchange *x = &a->exchange, *y = &b->exchange;
    return x->kind == y->kind && axis_list_equal(&x->axes, &y->axes) && x->dim == y->dim &&
           x->concat_dim == y->concat_dim && x->shift == y->shift && x->peer == y->peer &&
           x->operation == y->operation &&
           handles_alike(p, a->handle, a->handle_index, b->handle, b->handle_index);
}

static bool blocks_alike(const struct pair *p, const struct block *a, const struct block *b);

static bool loops_alike(const struct pair *p, const struct loop *a, const struct loop *b) {
    return same_text(a->name, b->name) && a->begin == b->begin && a->end == b->end &&
           a->stride == b->stride && a->descending == b->descending &&
           blocks_alike(p, &a->body, &b->body);
}

static bool statements_alike(const struct pair *p, const struct statement *a,
                             const struct statement *b) {
    if (a->kind != b->kind || !places_alike(p, a, b))
        return false;
    switch (a->kind) {
    case STATEMENT_LOOP:
        return loops_alike(p, &a->loop, &b->loop);
    case STATEMENT_CALL:
        return same_text(p->a->job->units[a->call.unit].name, p->b->job->units[b->call.unit].name);
    case STATEMENT_START:
        return starts_alike(p, &a->start, &b->start);
    case STATEMENT_WAIT:
        return handles_alike(p, a->wait.handle, a->wait.index, b->wait.handle, b->wait.index);
    case STATEMENT_TASK:
        return a->task.kind == b->task.kind && a->task.stage == b->task.stage &&
               index_equal(a->task.microbatch, b->task.microbatch);
    case STATEMENT_ZERO:
    case STATEMENT_FREE:
        break;
    }
    return true;
}

static uint32_t skip_frees(const struct block *block, uint32_t at) {
    while (at < block->n && statement_only_frees(&block->statements[at]))
        at++;
    return at;
}

static bool blocks_alike(const struct pair *p, const struct block *a, const struct block *b) {
    uint32_t i = skip_frees(a, 0), k = skip_frees(b, 0);
    while (i < a->n && k < b->n) {
        if (!statements_alike(p, &a->statements[i], &b->statements[k]))
            return false;
        i = skip_frees(a, i + 1);
        k = skip_frees(b, k + 1);
    }
    return i == a->n && k == b->n;
}

// ---- the whole --------------------------------------------------------------------------------

// Buffers but for frames, which stand behind all others.
static uint32_t count_buffers(const struct program *program) {
    uint32_t n = program->n_buffers;
    while (n > 0 && program_is_frame(program, n - 1))
        n--;
    return n;
}

static bool parts_alike(const struct mesh_part *a, const struct mesh_part *b) {
    return same_text(a->name, b->name) && axis_list_equal(&a->axes, &b->axes) &&
           a->begin == b->begin && a->end == b->end;
}

static bool programs_alike(const struct program *a, const struct program *b) {
    struct pair p = {.a = a, .b = b};
    uint32_t n = count_buffers(a);
    if (!parts_alike(&a->part, &b->part) || n != count_buffers(b))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!buffers_alike(&p, &a->buffers[i], &b->buffers[i]))
            return false;
    for (int kind = 0; kind < N_STEPS; kind++) {
        p.step_a = &a->steps[kind];
        p.step_b = &b->steps[kind];
        if (p.step_a->present != p.step_b->present ||
            !blocks_alike(&p, &p.step_a->body, &p.step_b->body))
            return false;
    }
    return true;
}

bool job_is_alike(const struct job *a, const struct job *b) {
    if (!same_text(a->name, b->name) || !meshes_alike(&a->mesh, &b->mesh) ||
        !sizes_alike(&a->sizes, &b->sizes) || !policies_alike(&a->policy, &b->policy) ||
        a->n_tensors != b->n_tensors || a->n_units != b->n_units || a->n_programs != b->n_programs)
        return false;
    for (uint32_t i = 0; i < a->n_tensors; i++)
        if (!tensors_alike(&a->tensors[i], &b->tensors[i]) ||
            !tensor_types_alike(a, &a->tensors[i], b, &b->tensors[i]))
            return false;
    for (uint32_t i = 0; i < a->n_units; i++)
        if (!units_alike(&a->units[i], &b->units[i]))
            return false;
    for (uint32_t i = 0; i < a->n_programs; i++)
        if (!programs_alike(a->programs[i], b->programs[i]))
            return false;
    return true;
}

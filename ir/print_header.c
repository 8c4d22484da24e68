// What stands in a step's text beside its schedules; parse_header.c reads it.
#include <string.h>

#include "ir/print.h"

// Names of products are printed for the reader; lists of axes are printed by their axes.
void print_mesh(struct printer *p) {
    const struct mesh *mesh = &p->job->mesh;
    for (uint32_t i = 0; i < mesh->n_axes; i++) {
        put(p, "axis %s = %" PRId64, mesh->axes[i].name, mesh->axes[i].size);
        if (mesh->axes[i].link_bytes_per_s > 0) {
            put(p, " link ");
            put_real(p, mesh->axes[i].link_bytes_per_s);
            put(p, " ");
            put_real(p, mesh->axes[i].link_latency_s);
        }
        put_spanned_end(p, mesh->axes[i].span);
    }
    for (uint32_t i = 0; i < mesh->n_products; i++) {
        put(p, "product %s = ", mesh->products[i].name);
        put_axes(p, &mesh->products[i].axes);
        put_spanned_end(p, mesh->products[i].span);
    }
}

void print_sizes(struct printer *p) {
    const struct sizes *sizes = &p->job->sizes;
    put(p, "sizes batch = %" PRId64 " sequence = %" PRId64, sizes->batch, sizes->sequence);
    put(p, " microbatches = %" PRId64 " layers = %" PRId64, sizes->microbatches, sizes->layers);
    put(p, " vocab = %" PRId64, sizes->vocab);
    end_line(p);
}

void print_policy(struct printer *p) {
    const struct policy *policy = &p->job->policy;
    put(p, "policy parameters = %s master = %s moments = %s gradients = %s",
        dtype_names[policy->parameters], dtype_names[policy->master], dtype_names[policy->moments],
        dtype_names[policy->gradients]);
    break_before(p, 60);
    put(p, " compute = %s accumulate = %s gather = %s reduce = %s", dtype_names[policy->compute],
        dtype_names[policy->accumulate], dtype_names[policy->gather], dtype_names[policy->reduce]);
    if (policy->types) {
        break_before(p, 60);
        put(p, " types \"%s\"", policy->types);
    }
    if (policy->reproducible) {
        break_before(p, 60);
        put(p, " reproducible = %" PRId64 " of %s microbatch = %" PRId64, policy->reproducible,
            dimensions_text(policy->reproducible_of, &p->scratch), policy->microbatch);
    } else {
        put(p, " reproducible = 0");
    }
    if (policy->islands.n) {
        break_before(p, 60);
        put(p, " relax over ");
        put_axes(p, &policy->islands);
        put(p, " every = %" PRId64, policy->average_every);
    }
    if (policy->wire_axes.n) {
        break_before(p, 60);
        put(p, " wire over ");
        put_axes(p, &policy->wire_axes);
        put(p, " way = %s", wire_way_names[policy->wire.way]);
        if (policy->wire.way == WIRE_TOPK)
            put(p, " kept = %" PRId64, policy->wire.kept);
    }
    end_line(p);
}

// Types of what is stored, updated and kept, and of what travels, where the policy does not say them.
static void put_tensor_types(struct printer *p, const struct tensor *tensor) {
    const struct policy *policy = &p->job->policy;
    const struct {
        const char *what;
        enum dtype own, shared;
    } rows[] = {{"stored", tensor->parameters, policy->parameters},
                {"master", tensor->master, policy->master},
                {"moments", tensor->moments, policy->moments},
                {"gradients", tensor->gradients, policy->gradients},
                {"gather", tensor->gather, policy->gather},
                {"reduce", tensor->reduce, policy->reduce}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].own != DTYPE_NONE && rows[i].own != rows[i].shared)
            put(p, " %s %s", rows[i].what, dtype_names[rows[i].own]);
}

// What is as it is by default is left out, so that most tensors are one line.
void print_tensor(struct printer *p, const struct tensor *tensor) {
    put(p, "tensor %s ", tensor->name);
    put_dims(p, tensor->dims, tensor->rank, NULL);
    put_roles(p, tensor->roles, tensor->n_roles);
    if (tensor->layers)
        put(p, " layers %" PRId64, tensor->layers);
    if (tensor->first_layer)
        put(p, " from %" PRId64, tensor->first_layer);
    if (tensor->model_name)
        put(p, " of %s", tensor->model_name);
    put(p, " init %s", init_names[tensor->init]);
    if (tensor->init == INIT_NORMAL) {
        put(p, " ");
        put_real(p, tensor->init_std);
    }
    for (unsigned i = 0; i < tensor->n_parts; i++) {
        if (i == 0)
            break_before(p, 60);
        put(p, "%s %s %" PRId64, i ? "," : " parts", tensor->parts[i].name, tensor->parts[i].size);
    }
    if (!tensor->trainable)
        put(p, " frozen");
    put_tensor_types(p, tensor);
    if (tensor->saved_name) {
        break_before(p, (int)strlen(tensor->saved_name) + 40);
        put(p, " saved \"%s\"", tensor->saved_name);
    }
    if (tensor->saved_columns)
        put(p, " columns %" PRId64 " %" PRId64, tensor->saved_columns_begin, tensor->saved_columns);
    if (tensor->saved_transposed)
        put(p, " transposed");
    put_spanned_end(p, tensor->span);
}

static void put_stacks(struct printer *p, const struct buffer *buffer) {
    for (unsigned i = 0; i < buffer->stacks.n; i++) {
        const struct stack *stack = &buffer->stacks.list[i];
        put(p, "%s %s %" PRId64, i ? "," : "", stack_names[stack->kind], stack->count);
        struct axis_list inner = buffer_inner_axes(buffer);
        if (stack->kind == STACK_MICROBATCHES && inner.n) {
            put(p, " around ");
            put_axes(p, &inner);
        }
        if (stack->first_layer)
            put(p, " from %" PRId64, stack->first_layer);
        if (stack->layer_step > 1)
            put(p, " by %" PRId64, stack->layer_step);
    }
}

// Prints in the order that the parser reads (parse_header.c).
void print_buffer(struct printer *p, const struct buffer *buffer) {
    put(p, "buffer %s : %s %s", buffer->name, class_names[buffer->class],
        dtype_names[buffer->dtype]);
    put_dims(p, buffer->dims, buffer->rank, &buffer->layout);
    if (buffer->layout.flat.n) {
        put(p, " flat/");
        put_axes(p, &buffer->layout.flat);
    }
    if (buffer->layout.owners.n) {
        put(p, " owner/");
        put_axes(p, &buffer->layout.owners);
    }
    if (buffer->tensor != NO_ID) {
        break_before(p, (int)strlen(p->job->tensors[buffer->tensor].name) + 4);
        put(p, " of %s", p->job->tensors[buffer->tensor].name);
    }
    if (buffer->host != HOST_NONE)
        put(p, " host %s", host_role_names[buffer->host]);
    put_stacks(p, buffer);
    if (buffer->pad_elements > 1)
        put(p, " pad %" PRId64, buffer->pad_elements);
    if (buffer->window_of != NO_ID) {
        const char *parent = p->program->buffers[buffer->window_of].name;
        break_before(p, (int)strlen(parent) + 11);
        put(p, " window of %s", parent);
    }
    if (buffer->tier != TIER_DEVICE && buffer->window_of == NO_ID)
        put(p, " on %s", tier_names[buffer->tier]);
    if (buffer->offset_bytes >= 0)
        put(p, " at %" PRId64, buffer->offset_bytes);
    put_spanned_end(p, buffer->span);
}

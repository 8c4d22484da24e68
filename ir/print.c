// The text form of programs (docs/program.md): what `emit` prints, people edit and parse.c reads
// back.
//
// One `step NAME { ... }` holds the header (mesh, sizes, policy), the tensors, the buffers and the
// schedules; one `unit NAME.UNIT { ... }` follows for each unit. Everything is printed that cannot
// be inferred, and nothing twice, so that print(parse(print(p))) is the same text.
#include "ir/ir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"

// Lines are collected so that long lists can be broken at the column limit.
struct printer {
    FILE *to;
    const struct job *job;
    const struct program *program; // whose buffers are named
    const struct print_options *options;
    int indent, column;
    const char *variables[LIMIT_LOOP_DEPTH]; // names of the enclosing loops' variables
    int depth;
    struct arena scratch; // names and indices, until all is printed
};

enum { COLUMN_LIMIT = 100 };

static void put(struct printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Indents where a line begins, and counts columns for the breaking of lists.
static void put(struct printer *p, const char *format, ...) {
    if (p->column == 0)
        p->column = fprintf(p->to, "%*s", p->indent * 2, "");
    va_list args;
    va_start(args, format);
    p->column += vfprintf(p->to, format, args);
    va_end(args);
}

static void end_line(struct printer *p) {
    fputc('\n', p->to);
    p->column = 0;
}

// The line's end, with the place of its cause where spans are asked for.
static void put_spanned_end(struct printer *p, struct span span) {
    if (p->options->sources && span.source != NO_SOURCE) {
        struct source_place place = source_place(p->options->sources, span);
        put(p, " @%u:%u", place.line, place.column);
    }
    end_line(p);
}

// Breaks before an element of a list of `width` characters that would not fit.
static void break_before(struct printer *p, int width) {
    if (p->column + width <= COLUMN_LIMIT)
        return;
    end_line(p);
    put(p, "    ");
}

const char *real_text(double value, char text[REAL_TEXT_BYTES]) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

const char *text_sum(struct arena *arena, const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return arena_format(arena, "%016" PRIx64, hash);
}

static void put_real(struct printer *p, double value) {
    char text[REAL_TEXT_BYTES];
    put(p, "%s", real_text(value, text));
}

static void put_axes(struct printer *p, const struct axis_list *axes) {
    for (unsigned i = 0; i < axes->n; i++)
        put(p, "%s%s", i ? "*" : "", p->job->mesh.axes[axes->axes[i]].name);
}

// A cut stands behind the size of its dimension: `heads=4/tp`.
static void put_dims(struct printer *p, const struct dim *dims, unsigned rank,
                     const struct layout *layout) {
    put(p, "[");
    for (unsigned i = 0; i < rank; i++) {
        put(p, "%s%s=%" PRId64, i ? ", " : "", dimension_names[dims[i].dimension], dims[i].size);
        if (layout && layout->cuts[i].n) {
            put(p, "/");
            put_axes(p, &layout->cuts[i]);
            if (layout->zigzag[i])
                put(p, " zigzag %s", p->job->mesh.axes[layout->zigzag[i] - 1].name);
        }
    }
    put(p, "]");
}

static void put_roles(struct printer *p, const uint8_t *roles, unsigned n) {
    if (n == 0)
        return;
    put(p, " role ");
    for (unsigned i = 0; i < n; i++)
        put(p, "%s%s", i ? "." : "", role_names[roles[i]]);
}

// ---- header -----------------------------------------------------------------------------------

// Names of products are printed for the reader; lists of axes are printed by their axes.
static void print_mesh(struct printer *p) {
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

static void print_sizes(struct printer *p) {
    const struct sizes *sizes = &p->job->sizes;
    put(p, "sizes batch = %" PRId64 " sequence = %" PRId64, sizes->batch, sizes->sequence);
    put(p, " microbatches = %" PRId64 " layers = %" PRId64, sizes->microbatches, sizes->layers);
    put(p, " vocab = %" PRId64, sizes->vocab);
    end_line(p);
}

static void print_policy(struct printer *p) {
    const struct policy *policy = &p->job->policy;
    put(p, "policy parameters = %s master = %s moments = %s gradients = %s",
        dtype_names[policy->parameters], dtype_names[policy->master], dtype_names[policy->moments],
        dtype_names[policy->gradients]);
    break_before(p, 60);
    put(p, " compute = %s accumulate = %s gather = %s reduce = %s", dtype_names[policy->compute],
        dtype_names[policy->accumulate], dtype_names[policy->gather], dtype_names[policy->reduce]);
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

// What is as it is by default is left out, so that most tensors are one line.
static void print_tensor(struct printer *p, const struct tensor *tensor) {
    put(p, "tensor %s ", tensor->name);
    put_dims(p, tensor->dims, tensor->rank, NULL);
    put_roles(p, tensor->roles, tensor->n_roles);
    if (tensor->layers)
        put(p, " layers %" PRId64, tensor->layers);
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

// In the order that the parser reads (parse_header.c).
static void print_buffer(struct printer *p, const struct buffer *buffer) {
    put(p, "buffer %s : %s %s", buffer->name, class_names[buffer->class],
        dtype_names[buffer->dtype]);
    put_dims(p, buffer->dims, buffer->rank, &buffer->layout);
    if (buffer->layout.flat.n) {
        put(p, " flat/");
        put_axes(p, &buffer->layout.flat);
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
    if (buffer->offset_bytes >= 0)
        put(p, " at %" PRId64, buffer->offset_bytes);
    put_spanned_end(p, buffer->span);
}

// ---- units ------------------------------------------------------------------------------------

static void put_type(struct printer *p, const struct tensor_type *type) {
    put(p, "%s", dtype_names[type->dtype]);
    put_dims(p, type->dims, type->rank, NULL);
}

// Nothing for what is not planned, nor for what a call's statement says already.
static void put_storage(struct printer *p, const struct unit *unit, const struct value *value) {
    switch (value->storage) {
    case STORAGE_UNPLANNED:
    case STORAGE_PARAMETER:
        break;
    case STORAGE_RESULT:
        put(p, " out");
        break;
    case STORAGE_FRAME:
        put(p, " at %" PRId64, value->offset_bytes);
        break;
    case STORAGE_IN_PLACE:
        put(p, " in %%%s", unit->values[value->base].name);
        break;
    case STORAGE_INLINE:
        put(p, " inline");
        break;
    }
}

// In the form of its kind; reals as the shortest decimal that reads back.
static void put_attribute(struct printer *p, const struct attribute *attribute) {
    put(p, "%s=", attribute_names[attribute->name]);
    switch (attribute_kinds[attribute->name]) {
    case KIND_INTEGER:
        put(p, "%" PRId64, attribute->integer);
        break;
    case KIND_REAL:
        put_real(p, attribute->real);
        break;
    case KIND_WORD:
        put(p, "\"%s\"", attribute->word);
        break;
    case KIND_AXES:
        put_axes(p, &attribute->axes);
        break;
    case KIND_DIMENSION:
        put(p, "%s", dimension_names[attribute->integer]);
        break;
    }
}

static int type_width(const struct tensor_type *type) {
    return 8 + 14 * type->rank;
}

// Types are printed though they follow from the operands: a person reads sizes, not signatures.
static void print_op(struct printer *p, const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_results; i++)
        put(p, "%s%%%s", i ? ", " : "", unit->values[op->results[i]].name);
    put(p, " = %s(", op_rows[op->kind].text);
    for (unsigned i = 0; i < op->n_operands; i++) {
        const char *name = unit->values[op->operands[i]].name;
        put(p, i ? "," : "");
        break_before(p, (int)strlen(name) + 3);
        put(p, "%s%%%s", i ? " " : "", name);
    }
    put(p, ")");
    for (unsigned i = 0; i < op->n_attributes; i++) {
        put(p, i ? ", " : " {");
        put_attribute(p, &op->attributes[i]);
    }
    put(p, op->n_attributes ? "} :" : " :");
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *value = &unit->values[op->results[i]];
        put(p, i ? "," : "");
        break_before(p, type_width(&value->type));
        put(p, " ");
        put_type(p, &value->type);
        put_storage(p, unit, value);
    }
    put_roles(p, op->roles, op->n_roles);
    put_spanned_end(p, op->span);
}

// Of the buffer that holds the unit's frame, one name in all programs; NULL: it needs none.
static const char *frame_name(const struct job *job, uint32_t unit) {
    for (uint32_t i = 0; i < job->n_programs; i++) {
        buffer_id frame = program_frame(job->programs[i], unit);
        if (frame != NO_ID)
            return job->programs[i]->buffers[frame].name;
    }
    return NULL;
}

// Parameters, results, ops: results are named before the ops that make them, as a head is.
static void print_unit(struct printer *p, const struct unit *unit) {
    put(p, "unit %s.%s {", p->job->name, unit->name);
    put_spanned_end(p, unit->span);
    p->indent++;
    put(p, "phase %s", phase_names[unit->phase]);
    end_line(p);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        put(p, "parameter %s%%%s : ", unit->consumed[i] ? "consumed " : "", unit->values[i].name);
        put_type(p, &unit->values[i].type);
        end_line(p);
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        put(p, "result %%%s", unit->values[result->value].name);
        if (result->in_parameter != NO_ID)
            put(p, " in %%%s", unit->values[result->in_parameter].name);
        end_line(p);
    }
    if (unit->frame_bytes >= 0) {
        const char *frame = frame_name(p->job, (uint32_t)(unit - p->job->units));
        put(p, "frame %" PRId64, unit->frame_bytes);
        if (frame)
            put(p, " of %s", frame);
        end_line(p);
    }
    for (uint32_t i = 0; i < unit->n_ops; i++)
        print_op(p, unit, &unit->ops[i]);
    p->indent--;
    put(p, "}");
    end_line(p);
}

// ---- steps ------------------------------------------------------------------------------------

static const char *index_text(struct printer *p, struct index index) {
    CHECK(index.variable < p->depth);
    const char *text = index.variable < 0 ? "" : p->variables[(int)index.variable];
    if (index.offset || index.variable < 0)
        text = arena_format(&p->scratch, *text && index.offset > 0 ? "%s+%" PRId64 : "%s%" PRId64,
                            text, index.offset);
    return index.modulus ? arena_format(&p->scratch, "%s mod %" PRId64, text, index.modulus) : text;
}

static const char *reference_text(struct printer *p, struct reference reference) {
    const struct buffer *buffer = &p->program->buffers[reference.buffer];
    const char *text = buffer->name;
    for (unsigned i = 0; i < buffer->stacks.n; i++)
        text = arena_format(&p->scratch, "%s[%s]", text, index_text(p, reference.indices[i]));
    return text;
}

static void put_argument(struct printer *p, const char *name, struct reference reference,
                         bool first) {
    const char *text = reference_text(p, reference);
    put(p, first ? "" : ",");
    break_before(p, (int)(strlen(name) + strlen(text)) + 6);
    put(p, "%s%s = %s", first ? "" : " ", name, text);
}

// Every argument by the unit's name for it. Results in a parameter's place are not said twice.
static void print_call(struct printer *p, const struct call *call) {
    const struct unit *unit = &p->job->units[call->unit];
    put(p, "call %s(", unit->name);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        put_argument(p, unit->values[i].name, call->operands[i], i == 0);
    put(p, ")");
    bool first = true;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        if (unit->results[i].in_parameter != NO_ID)
            continue;
        if (first)
            put(p, " -> (");
        put_argument(p, unit->values[unit->results[i].value].name, call->results[i], first);
        first = false;
    }
    if (!first)
        put(p, ")");
}

// All pieces, since each may be edited away; `dim` only where the whole is not cut flat.
static void print_start(struct printer *p, const struct step *step, const struct transfer *start) {
    const struct exchange *exchange = &start->exchange;
    put(p, "start %s over ", collective_names[exchange->kind]);
    put_axes(p, &exchange->axes);
    if (exchange->dim >= 0)
        put(p, " dim %d", exchange->dim);
    if (exchange->concat_dim >= 0)
        put(p, " concat_dim %d", exchange->concat_dim);
    if (exchange->kind == COLLECTIVE_PERMUTE)
        put(p, " shift %" PRId64, exchange->shift);
    if (exchange->operation)
        put(p, " operation %s", operation_names[exchange->operation]);
    put(p, " as %s[%s] {", step->handles[start->handle].name, index_text(p, start->handle_index));
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const char *from = reference_text(p, start->pieces[i].from);
        const char *to = reference_text(p, start->pieces[i].to);
        put(p, i ? "," : "");
        break_before(p, (int)(strlen(from) + strlen(to)) + 8);
        put(p, " %s -> %s", from, to);
    }
    put(p, " }");
}

static void print_block(struct printer *p, const struct step *step, const struct block *block);

// `3`, or of a loop that goes with the one around it `2*g+3`.
static const char *bound_text(struct printer *p, const struct loop *loop, int64_t bound) {
    if (!loop->stride)
        return arena_format(&p->scratch, "%" PRId64, bound);
    CHECK(p->depth > 0);
    const char *base =
        arena_format(&p->scratch, "%" PRId64 "*%s", loop->stride, p->variables[p->depth - 1]);
    return bound ? arena_format(&p->scratch, "%s+%" PRId64, base, bound) : base;
}

static void print_loop(struct printer *p, const struct step *step, const struct loop *loop,
                       struct span span) {
    put(p, "for %s = %s .. %s%s {", loop->name, bound_text(p, loop, loop->begin),
        bound_text(p, loop, loop->end), loop->descending ? " descending" : "");
    put_spanned_end(p, span);
    CHECK(p->depth < LIMIT_LOOP_DEPTH);
    p->variables[p->depth++] = loop->name;
    p->indent++;
    print_block(p, step, &loop->body);
    p->indent--;
    p->depth--;
    put(p, "}");
    end_line(p);
}

static void print_free(struct printer *p, const struct statement *statement) {
    put(p, "free");
    for (uint32_t i = 0; i < statement->free.n_items; i++) {
        const char *text = reference_text(p, statement->free.items[i]);
        put(p, i ? "," : "");
        break_before(p, (int)strlen(text) + 2);
        put(p, " %s", text);
    }
}

static void print_statement(struct printer *p, const struct step *step,
                            const struct statement *statement) {
    switch (statement->kind) {
    case STATEMENT_LOOP:
        print_loop(p, step, &statement->loop, statement->span);
        return;
    case STATEMENT_CALL:
        print_call(p, &statement->call);
        break;
    case STATEMENT_START:
        print_start(p, step, &statement->start);
        break;
    case STATEMENT_WAIT:
        put(p, "wait %s[%s]", step->handles[statement->wait.handle].name,
            index_text(p, statement->wait.index));
        break;
    case STATEMENT_ZERO:
        put(p, "zero %s", reference_text(p, statement->zero));
        break;
    case STATEMENT_FREE:
        print_free(p, statement);
        break;
    }
    put_spanned_end(p, statement->span);
}

static void print_block(struct printer *p, const struct step *step, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        print_statement(p, step, &block->statements[i]);
}

static void print_step(struct printer *p, enum step_kind kind) {
    const struct step *step = &p->program->steps[kind];
    put(p, "%s {", step_names[kind]);
    put_spanned_end(p, step->span);
    p->indent++;
    print_block(p, step, &step->body);
    p->indent--;
    put(p, "}");
    end_line(p);
}

// What one part has for itself.
static void print_program(struct printer *p, const struct program *program) {
    p->program = program;
    for (uint32_t i = 0; i < program->n_buffers; i++)
        print_buffer(p, &program->buffers[i]);
    for (int s = 0; s < N_STEPS; s++)
        if (program->steps[s].present)
            print_step(p, s);
}

static void print_arena(struct printer *p, const struct program *program) {
    if (program->arena_bytes < 0)
        return;
    put(p, "arena %" PRId64, program->arena_bytes);
    end_line(p);
}

static void print_part(struct printer *p, const struct program *program) {
    const struct mesh_part *part = &program->part;
    put(p, "part %s over ", part->name);
    put_axes(p, &part->axes);
    put(p, " %" PRId64 " .. %" PRId64 " {", part->begin, part->end);
    put_spanned_end(p, part->span);
    p->indent++;
    print_arena(p, program);
    print_program(p, program);
    p->indent--;
    put(p, "}");
    end_line(p);
}

// Where all devices are one part, its lines are the step's.
void job_print(const struct job *job, FILE *to, const struct print_options *options) {
    static const struct print_options defaults = {0};
    struct printer p = {.to = to, .job = job, .options = options ? options : &defaults};
    bool parted = job->programs[0]->part.name;
    put(&p, "step %s {", job->name);
    end_line(&p);
    p.indent++;
    print_mesh(&p);
    print_sizes(&p);
    print_policy(&p);
    if (!parted)
        print_arena(&p, job->programs[0]);
    for (uint32_t i = 0; i < job->n_tensors; i++)
        print_tensor(&p, &job->tensors[i]);
    for (uint32_t i = 0; i < job->n_programs; i++)
        if (parted)
            print_part(&p, job->programs[i]);
        else
            print_program(&p, job->programs[i]);
    p.indent--;
    put(&p, "}");
    end_line(&p);
    for (uint32_t i = 0; i < job->n_units; i++)
        print_unit(&p, &job->units[i]);
    arena_free(&p.scratch);
}

char *job_text(const struct job *job, struct arena *arena) {
    char *text;
    size_t length;
    FILE *to = memory_given(open_memstream(&text, &length));
    job_print(job, to, NULL);
    memory_written(to);
    char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

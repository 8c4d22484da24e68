// What an accepted program pays and need not (W8xx), with the price in bytes a step. All is read
// off the final program and its account, so a step that was written out is told as a derived one
// is; only whether a sum adds equal copies is known to the verifier alone.
#include "driver/costs.h"

#include <inttypes.h>

#include "driver/report.h"

static const char *bytes(struct compilation *c, int64_t n) {
    return bytes_text(&c->arena, (double)n);
}

// The account that the prices of transfers are of, if nothing says which rank of a pipeline pays them.
static const struct account *sending_account(const struct compilation *c) {
    return c->accounts[sends_most(c)];
}

static const char *axes(struct compilation *c, const struct axis_list *list) {
    return mesh_axes_text(&c->final->job->mesh, list, &c->arena);
}

// ---- W811: gathers in every microbatch --------------------------------------------------------

// An owner gives all others what they lack.
static bool gathers_parameters(const struct program *program, const struct statement *statement) {
    return statement->kind == STATEMENT_START &&
           (collective_gathers(statement->start.exchange.kind) ||
            statement->start.exchange.kind == COLLECTIVE_BROADCAST) &&
           program->buffers[statement->start.pieces[0].to.buffer].tensor != NO_ID;
}

static bool in_microbatches(const struct program *program, const struct statement_walk *walk) {
    for (int i = 0; i < walk->depth; i++)
        if (loop_counts_microbatches(program, walk_loop(walk, i), i))
            return true;
    return false;
}

// Which buffers are filled anew in each microbatch: in a loop over these, or in a pipeline's tasks, each of which is of
// one, whatever loops there are. What the first of them needs may start in front of all.
static const bool *gathered_anew(struct compilation *c, const struct program *program) {
    bool *anew = ARENA_ARRAY(&c->arena, bool, program->n_buffers + 1), in_task = false;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (walk.statement->kind == STATEMENT_TASK)
            in_task = walk.statement->task.kind != N_TASK_KINDS;
        if (gathers_parameters(program, walk.statement) &&
            (in_task || in_microbatches(program, &walk)))
            anew[walk.statement->start.pieces[0].to.buffer] = true;
    }
    return anew;
}

// What a statement of the file has sent for it.
struct sender {
    struct span span;
    int64_t sent;
};

struct senders {
    struct sender *items;
    uint32_t n, capacity;
};

static void add_sent(struct compilation *c, struct senders *senders, struct span span,
                     int64_t sent) {
    for (uint32_t i = 0; i < senders->n; i++)
        if (span_equal(senders->items[i].span, span)) {
            senders->items[i].sent += sent;
            return;
        }
    ARENA_PUSH(&c->arena, senders->items, senders->n, senders->capacity,
               (struct sender){span, sent});
}

static const struct sender *most_sent(const struct senders *senders) {
    const struct sender *most = senders->items;
    for (uint32_t i = 1; i < senders->n; i++)
        if (senders->items[i].sent > most->sent)
            most = &senders->items[i];
    return most;
}

// One warning for all gathers, where most is sent: a larger microbatch changes them together, and an
// option there what costs most.
static void check_gathers(struct compilation *c) {
    const struct account *account = sending_account(c);
    const struct program *program = c->final->job->programs[sends_most(c)];
    struct senders senders = {0};
    int64_t sent = 0, microbatches = program->job->sizes.microbatches;
    const bool *anew = gathered_anew(c, program);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (microbatches > 1 && walk_next(&walk)) {
        if (!gathers_parameters(program, walk.statement) ||
            !anew[walk.statement->start.pieces[0].to.buffer])
            continue;
        add_sent(c, &senders, walk.statement->span, account->sent[walk.statement->id]);
        sent += account->sent[walk.statement->id];
    }
    if (sent == 0)
        return;
    struct diagnostic *d =
        report(c->diagnostics, W811, most_sent(&senders)->span,
               "parameters are gathered anew for each of %" PRId64 " microbatches", microbatches);
    diagnostic_say(d, "a step sends %s for it", bytes(c, sent));
    diagnostic_note(d, "gathered once they would cost %s; in all, a step sends %s",
                    bytes(c, sent / microbatches), bytes(c, account->total_bytes));
}

// ---- W815: gathers of single tensors ----------------------------------------------------------

// All gathers of a step, since those that other statements ask for are the same for both.
static int64_t gathers(const struct compilation *c) {
    const struct account *account = sending_account(c);
    int64_t count = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        const struct account_transfer *t = &account->transfers[i];
        if (collective_gathers(t->kind) && t->state == STATE_PARAMETERS && t->phase != PHASE_UPDATE)
            count += t->count;
    }
    return count;
}

// One tensor at a time takes less memory only if it is freed behind its use.
static void check_units(struct compilation *c) {
    const struct strategy_config *strategy = &c->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes && !c->edited; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state != STATE_PARAMETERS || !mode->sets_extent ||
            mode->extent != EXTENT_GATHERED || mode->unit != UNIT_TENSOR ||
            !mode->kept_after_forward || gathers(c) == 0)
            continue;
        struct diagnostic *d = report(c->diagnostics, W815, origin_span(&mode->origin),
                                      "each tensor is gathered by a collective of its own");
        diagnostic_say(d, "a step has %" PRId64 " gathers, of the same bytes", gathers(c));
        diagnostic_note(d, "all are kept until backward: no memory is saved by gathering them one "
                           "by one");
        diagnostic_origin(d, &mode->origin);
        diagnostic_help(d, "leave `unit` out: then one collective carries what a layer needs");
    }
}

// ---- W812: sums of copies ---------------------------------------------------------------------

// What is sent by the statements that stand at a place; of a pipeline by the rank that sends most there.
static int64_t sent_at(const struct compilation *c, const struct span *spans, struct span span) {
    const struct job *job = c->final->job;
    int64_t most = 0;
    for (uint32_t i = 0; i < job->n_programs; i++) {
        int64_t sent = 0;
        for (uint32_t id = 0; id < job->n_ids; id++)
            if (spans[id].source == span.source && spans[id].begin == span.begin)
                sent += c->accounts[i]->sent[id];
        most = sent > most ? sent : most;
    }
    return most;
}

// Warns at the collective itself; what makes the factor good again may be anywhere behind it.
static void check_sums_of_copies(struct compilation *c) {
    const struct span *spans = job_spans(c->final->job, &c->arena);
    for (uint32_t i = 0; i < c->verdict.n_copies; i++) {
        const struct copies_summed *sum = &c->verdict.copies[i];
        const struct mesh_axis *axis = &c->final->job->mesh.axes[sum->axis];
        struct diagnostic *d = report(c->diagnostics, W812, sum->span,
                                      "this adds up %" PRId64
                                      " equal copies: all devices of `%s` already hold the same",
                                      axis->size, axis->name);
        diagnostic_say(d, "a step sends %s for it", bytes(c, sent_at(c, spans, sum->span)));
        diagnostic_help(d, "leave it out, and the later division by %" PRId64, axis->size);
    }
}

// ---- W813: whole sums of which parts are read -------------------------------------------------

// Where a sum's result is read from: nowhere but in parts, over these axes, or elsewhere too.
struct readers {
    struct axis_list parts;
    bool whole;
};

static void add_reader(const struct program *program, buffer_id sum, const struct statement *by,
                       struct access access, struct readers *readers) {
    const struct buffer *buffer = &program->buffers[access.at->buffer];
    bool scattered =
        by->kind == STATEMENT_START && by->start.exchange.kind == COLLECTIVE_REDUCE_SCATTER;
    bool summed = by->kind == STATEMENT_START && by->start.exchange.kind == COLLECTIVE_ALL_REDUCE;
    if (access.written || by->kind == STATEMENT_FREE)
        return;
    if (buffer->window_of == sum)
        readers->parts = buffer->layout.owners.n ? buffer->layout.owners : buffer->layout.flat;
    else if (access.at->buffer == sum && scattered)
        readers->parts = by->start.exchange.axes;
    else if (access.at->buffer == sum && !summed)
        readers->whole = true;
}

// Readers behind the sum, and where it stands in a loop those in the rest of the loop, which come
// by again.
static struct readers readers_of(const struct program *program, const struct statement_walk *at,
                                 buffer_id sum) {
    struct readers readers = {0};
    const struct loop *around = walk_loop(at, 0);
    bool behind = false;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        behind |= walk.statement == at->statement || (around && &walk.statement->loop == around);
        struct access access;
        for (uint32_t i = 0; behind && (access = statement_access(program, walk.statement, i)).at;
             i++)
            add_reader(program, sum, walk.statement, access, &readers);
    }
    return readers;
}

// The parts that all pieces of the sum are read in; no axis: some piece is read whole, or nowhere.
static struct axis_list parts_wanted(const struct program *program,
                                     const struct statement_walk *at) {
    const struct transfer *sum = &at->statement->start;
    struct axis_list parts = {0};
    for (uint32_t i = 0; i < sum->n_pieces; i++) {
        struct readers readers = readers_of(program, at, sum->pieces[i].to.buffer);
        if (readers.whole || readers.parts.n == 0)
            return (struct axis_list){0};
        parts = readers.parts;
    }
    return parts;
}

// What a reduce_scatter would send in place of an all_reduce that sends `sent`: a ring goes round
// once in place of twice; a small sum sends all to each other, or all in every round.
static int64_t sent_scattered(const struct program *program, const struct transfer *sum,
                              int64_t sent) {
    int64_t members = mesh_group_size(&program->job->mesh, &sum->exchange.axes), bytes = 0;
    for (uint32_t i = 0; i < sum->n_pieces; i++) {
        struct tensor_type type =
            buffer_type(program, &program->buffers[sum->pieces[i].from.buffer]);
        bytes = size_plus(bytes, type_bytes(&type));
    }
    switch (exchange_algorithm(&sum->exchange, members, bytes)) {
    case ALGORITHM_DIRECT:
        return sent / members;
    case ALGORITHM_DOUBLING:
        return sent / exchange_most_partials(members) / members * (members - 1);
    case ALGORITHM_RING:
        break;
    }
    return sent / 2;
}

// Summed to parts first, the rest of the axes have that much less to add.
static int64_t sent_by_parts(const struct program *program, const struct transfer *sum,
                             const struct axis_list *parts, int64_t sent) {
    for (unsigned i = 0; i < sum->exchange.axes.n; i++)
        if (axis_list_has(parts, sum->exchange.axes.axes[i]))
            return sent_scattered(program, sum, sent);
    return sent / mesh_group_size(&program->job->mesh, parts);
}

// Where sums are ordered, one over other axes than the parts' cannot change places with theirs.
static bool must_come_first(const struct program *program, const struct transfer *sum,
                            const struct axis_list *parts) {
    uint64_t before = axis_list_mask(parts) & ~axis_list_mask(&sum->exchange.axes);
    return program->job->policy.reproducible && before;
}

static void check_sums_of_part(struct compilation *c, uint32_t part) {
    const struct program *program = c->final->job->programs[part];
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct transfer *sum = &walk.statement->start;
        if (walk.statement->kind != STATEMENT_START || sum->exchange.kind != COLLECTIVE_ALL_REDUCE)
            continue;
        struct axis_list parts = parts_wanted(program, &walk);
        int64_t sent = c->accounts[part]->sent[walk.statement->id];
        if (parts.n == 0 || sent == 0 || must_come_first(program, sum, &parts))
            continue;
        struct diagnostic *d = report(c->diagnostics, W813, walk.statement->span,
                                      "every device of `%s` gets this whole sum, but each device "
                                      "of `%s` reads only a part of it",
                                      axes(c, &sum->exchange.axes), axes(c, &parts));
        diagnostic_say(d, "a step sends %s for it", bytes(c, sent));
        diagnostic_help(d, "use reduce_scatter over `%s`, which would send about %s here",
                        axes(c, &parts), bytes(c, sent_by_parts(program, sum, &parts, sent)));
    }
}

// Sums in steps; inside units partition sums what an operation needs whole. One part after the other, until something
// is told: what is so of one is so of others.
static void check_whole_sums(struct compilation *c) {
    uint32_t told = c->diagnostics->n_items;
    for (uint32_t i = 0; i < c->final->job->n_programs && c->diagnostics->n_items == told; i++)
        check_sums_of_part(c, i);
}

// ---- W814: tensor axes on slow links ----------------------------------------------------------

// What an axis carries inside units: the layers wait for it, one after the other. What a pipeline's stages send each
// other is awaited once for all layers of a stage, and travels while other microbatches are computed.
static int64_t activations_sent(const struct compilation *c, unsigned axis) {
    const struct account *account = sending_account(c);
    int64_t sent = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        const struct account_transfer *t = &account->transfers[i];
        if (t->state == STATE_ACTIVATIONS && t->kind != COLLECTIVE_SEND &&
            axis_list_has(&t->axes, axis))
            sent += t->bytes;
    }
    return sent;
}

// The fastest link of the axes that carry nothing of the kind; NULL: no link's speed is known.
static const struct mesh_axis *fastest_other(const struct compilation *c) {
    const struct mesh *mesh = &c->final->job->mesh;
    const struct mesh_axis *fastest = NULL;
    for (uint32_t i = 0; i < mesh->n_axes; i++) {
        const struct mesh_axis *axis = &mesh->axes[i];
        if (axis->size > 1 && activations_sent(c, i) == 0 &&
            (!fastest || axis->link_bytes_per_s > fastest->link_bytes_per_s))
            fastest = axis;
    }
    return fastest;
}

// Only where both speeds are known. What an axis carries for gradients and parameters is not asked:
// it travels while devices compute.
static void check_links(struct compilation *c) {
    const struct mesh *mesh = &c->final->job->mesh;
    const struct mesh_axis *other = fastest_other(c);
    for (uint32_t i = 0; i < mesh->n_axes && other; i++) {
        const struct mesh_axis *axis = &mesh->axes[i];
        int64_t sent = activations_sent(c, i);
        if (sent == 0 || axis->link_bytes_per_s <= 0 ||
            axis->link_bytes_per_s >= other->link_bytes_per_s)
            continue;
        struct diagnostic *d =
            report(c->diagnostics, W814, axis->span,
                   "every layer waits for `%s`, whose link is slower than that of `%s`", axis->name,
                   other->name);
        diagnostic_say(d, "a step sends %s here: %.3g ms", bytes(c, sent),
                       1e3 * (double)sent / axis->link_bytes_per_s);
        diagnostic_label(d, other->span, "here the same would take %.3g ms",
                         1e3 * (double)sent / other->link_bytes_per_s);
        diagnostic_help(d, "give `%s` the devices that are linked best", axis->name);
    }
}

void check_costs(struct compilation *c) {
    check_gathers(c);
    check_units(c);
    check_sums_of_copies(c);
    check_whole_sums(c);
    check_links(c);
    check_pipeline_costs(c);
}

// Mistakes in schedules and memory plans. Most kinds of mutations can be planted in units as well.
#include <string.h>

#include "tests/oracle/mutate_parts.h"

// ---- drop, double, move -----------------------------------------------------------------------

static bool drop_statement(struct mutant *m) {
    struct site site;
    if (!choose_site(m, choose(m, 10) ? SIMPLE : LOOPS, &site))
        return false;
    touched(m, statement_at(&site)->span, "a statement dropped");
    remove_statement(site.block, site.at);
    return true;
}

// With everything that waits for it.
static bool drop_transfer(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    uint32_t handle = statement_at(&site)->start.handle;
    touched(m, statement_at(&site)->span, "a transfer dropped");
    remove_statement(site.block, site.at);
    m->among = ALL_STATEMENTS;
    struct sites waits = find_sites(m, WAITS);
    for (uint32_t i = waits.n; i-- > 0;)
        if (waits.items[i].step == site.step &&
            statement_at(&waits.items[i])->wait.handle == handle)
            remove_statement(waits.items[i].block, waits.items[i].at);
    return true;
}

static bool drop_piece(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site) || statement_at(&site)->start.n_pieces < 2)
        return false;
    struct transfer *start = &statement_at(&site)->start;
    uint32_t at = choose(m, start->n_pieces);
    memmove(start->pieces + at, start->pieces + at + 1,
            (--start->n_pieces - at) * sizeof *start->pieces);
    return touched(m, statement_at(&site)->span, "a piece of a transfer dropped");
}

bool drop(struct mutant *m) {
    switch (choose(m, 6)) {
    case 0:
    case 1:
        return drop_statement(m);
    case 2:
        return drop_transfer(m);
    case 3:
        return drop_piece(m);
    default:
        return drop_op(m);
    }
}

static bool double_statement(struct mutant *m) {
    struct site site;
    if (!choose_site(m, choose(m, 10) ? SIMPLE : SIMPLE | LOOPS, &site))
        return false;
    struct statement copy = *statement_at(&site);
    touched(m, copy.span, "a statement doubled");
    block_insert(m->program->arena, site.block, coin(m) ? site.at : choose(m, site.block->n + 1),
                 copy);
    return true;
}

// Begun again where it has been waited for, and waited for again.
static bool double_transfer(struct mutant *m) {
    struct site start, site = {0};
    if (!choose_site(m, STARTS, &start))
        return false;
    struct statement copy = *statement_at(&start);
    struct sites waits = find_sites(m, WAITS);
    for (uint32_t i = 0; i < waits.n; i++) {
        const struct statement *wait = statement_at(&waits.items[i]);
        if (waits.items[i].step == start.step && wait->wait.handle == copy.start.handle &&
            index_equal(wait->wait.index, copy.start.handle_index))
            site = waits.items[i];
    }
    if (!site.block)
        return false;
    struct statement wait = *statement_at(&site);
    block_insert(m->program->arena, site.block, site.at + 1, wait);
    block_insert(m->program->arena, site.block, site.at + 1, copy);
    return touched(m, copy.span, "a transfer doubled");
}

bool double_something(struct mutant *m) {
    switch (choose(m, 3)) {
    case 0:
        return double_statement(m);
    case 1:
        return double_transfer(m);
    default:
        return double_op(m);
    }
}

static bool is_inside(const struct block *block, const struct block *outer) {
    if (block == outer)
        return true;
    for (uint32_t i = 0; i < outer->n; i++)
        if (outer->statements[i].kind == STATEMENT_LOOP &&
            is_inside(block, &outer->statements[i].loop.body))
            return true;
    return false;
}

// Before or behind any statement of the same step; near by as often as far.
static bool move_statement_of(struct mutant *m, unsigned kinds, const char *what) {
    struct site from, to;
    if (!choose_site(m, kinds, &from))
        return false;
    if (coin(m)) {
        to = from;
        to.at = choose(m, from.block->n);
    } else {
        enum among among = m->among;
        m->among = ALL_STATEMENTS;
        bool chosen = choose_site(m, SIMPLE | LOOPS, &to);
        m->among = among;
        if (!chosen || to.step != from.step)
            return false;
    }
    struct statement moved = *statement_at(&from);
    if (to.at == from.at && to.block == from.block)
        return false;
    if (moved.kind == STATEMENT_LOOP && is_inside(to.block, &moved.loop.body))
        return false;
    touched(m, moved.span, what);
    // Changing a block moves the blocks inside it: what is inside the other changes first.
    if (to.block != from.block && is_inside(to.block, from.block)) {
        block_insert(m->program->arena, to.block, to.at, moved);
        remove_statement(from.block, from.at);
        return true;
    }
    remove_statement(from.block, from.at);
    block_insert(m->program->arena, to.block, to.at < to.block->n ? to.at : to.block->n, moved);
    return true;
}

bool move(struct mutant *m) {
    if (choose(m, 3) == 0)
        return move_op(m);
    return move_statement_of(m, choose(m, 8) ? SIMPLE : LOOPS, "a statement moved");
}

bool re_time(struct mutant *m) {
    return move_statement_of(m, STARTS | WAITS | ZEROS | FREES, "a statement moved in time");
}

// ---- groups -----------------------------------------------------------------------------------

static bool re_axis_transfer(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct axis_list *axes = &statement_at(&site)->start.exchange.axes, old = *axes;
    *axes = (struct axis_list){0};
    for (unsigned i = 0; i < m->program->job->mesh.n_axes; i++)
        if (coin(m))
            axes->axes[axes->n++] = (uint8_t)i;
    if (axis_list_equal(axes, &old))
        return false;
    return touched(m, statement_at(&site)->span, "a transfer over other axes");
}

bool re_axis(struct mutant *m) {
    return choose(m, 3) ? re_axis_transfer(m) : re_axis_op(m);
}

static bool reverse_axes(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct axis_list *axes = &statement_at(&site)->start.exchange.axes, old = *axes;
    for (unsigned i = 0; i < old.n; i++)
        axes->axes[i] = old.axes[old.n - 1 - i];
    return old.n > 1 && touched(m, statement_at(&site)->span, "axes in another order");
}

bool swap_group(struct mutant *m) {
    struct site one, two;
    if (choose(m, 3) == 0)
        return reverse_axes(m);
    if (!choose_site(m, STARTS, &one) || !choose_site(m, STARTS, &two))
        return false;
    struct axis_list *a = &statement_at(&one)->start.exchange.axes,
                     *b = &statement_at(&two)->start.exchange.axes;
    struct axis_list moved = *a;
    if (axis_list_equal(a, b))
        return false;
    *a = *b;
    *b = moved;
    touched(m, statement_at(&one)->span, "the axes of two transfers exchanged");
    return touched(m, statement_at(&two)->span, m->what);
}

// ---- shards, versions, layers -----------------------------------------------------------------

static bool exchange_pieces(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    uint32_t a = choose(m, start->n_pieces), b = choose(m, start->n_pieces);
    struct reference moved = start->pieces[a].from;
    if (a == b)
        return false;
    start->pieces[a].from = start->pieces[b].from;
    start->pieces[b].from = moved;
    return touched(m, statement_at(&site)->span, "the sources of two pieces exchanged");
}

static bool other_piece_buffer(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    struct transfer_piece *piece = &start->pieces[choose(m, start->n_pieces)];
    struct reference *reference = coin(m) ? &piece->from : &piece->to;
    buffer_id other = other_buffer(m, reference->buffer, false);
    if (other == NO_ID)
        return false;
    reference->buffer = other;
    return touched(m, statement_at(&site)->span, "a piece of another buffer");
}

// The order of axes that cut a buffer, or another axis of the same size.
static bool other_layout(struct mutant *m) {
    struct buffer *buffer = &m->program->buffers[choose(m, m->program->n_buffers)];
    unsigned d = choose(m, buffer->rank + 1u);
    struct axis_list *axes = d < buffer->rank ? &buffer->layout.cuts[d] : &buffer->layout.flat;
    const struct mesh *mesh = &m->program->job->mesh;
    if (axes->n == 0)
        return false;
    uint8_t *axis = &axes->axes[choose(m, axes->n)];
    if (axes->n > 1 && coin(m)) {
        uint8_t moved = *axis;
        *axis = axes->axes[0];
        axes->axes[0] = moved;
    } else {
        uint8_t other = (uint8_t)choose(m, mesh->n_axes);
        if (other == *axis || mesh->axes[other].size != mesh->axes[*axis].size ||
            (axis_list_mask(axes) >> other & 1))
            return false;
        *axis = other;
    }
    return touched(m, buffer->span, "a buffer cut in another way");
}

bool wrong_shard(struct mutant *m) {
    switch (choose(m, 4)) {
    case 0:
        return exchange_pieces(m);
    case 1:
        return other_piece_buffer(m);
    case 2:
        return other_layout(m);
    default:
        return slice_elsewhere(m);
    }
}

static bool is_of_parameters(const struct mutant *m, buffer_id id) {
    return m->program->buffers[id].class == CLASS_PARAMETERS;
}

static bool writes_parameters(const struct mutant *m, const struct statement *statement) {
    for (uint32_t i = 0;; i++) {
        struct access access = statement_access(m->program, statement, i);
        if (!access.at)
            return false;
        if (access.written && is_of_parameters(m, access.at->buffer))
            return true;
    }
}

// An update, or the gather of what was updated, before or behind others.
static bool move_update(struct mutant *m) {
    struct sites sites = find_sites(m, CALLS | STARTS);
    uint32_t n = 0;
    struct site from = {0};
    for (uint32_t i = 0; i < sites.n; i++)
        if (writes_parameters(m, statement_at(&sites.items[i])) && choose(m, ++n) == 0)
            from = sites.items[i];
    if (n == 0)
        return false;
    struct statement moved = *statement_at(&from);
    uint32_t to = choose(m, from.block->n);
    if (to == from.at)
        return false;
    touched(m, moved.span, "an update or its gather moved");
    remove_statement(from.block, from.at);
    block_insert(m->program->arena, from.block, to, moved);
    return true;
}

static struct reference *choose_access(struct mutant *m, const struct statement *statement) {
    struct reference *found = NULL;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(m->program, statement, i)).at; i++)
        if (choose(m, i + 1) == 0)
            found = access.at;
    return found;
}

// An index by a loop's variable, and of what.
struct chosen_index {
    struct index *index; // NULL: there is none
    buffer_id buffer;
    unsigned stack;
};

static struct chosen_index choose_index(struct mutant *m, const struct statement *statement) {
    struct chosen_index found = {0};
    struct access access;
    uint32_t n = 0;
    for (uint32_t i = 0; (access = statement_access(m->program, statement, i)).at; i++)
        for (unsigned k = 0; k < MAX_STACKS; k++)
            if (access.at->indices[k].variable >= 0 && choose(m, ++n) == 0)
                found = (struct chosen_index){&access.at->indices[k], access.at->buffer, k};
    return found;
}

static bool other_state(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS | STARTS, &site))
        return false;
    struct reference *reference = choose_access(m, statement_at(&site));
    buffer_id other = reference ? other_buffer(m, reference->buffer, true) : NO_ID;
    if (other == NO_ID)
        return false;
    reference->buffer = other;
    return touched(m, statement_at(&site)->span, "another state of the same tensor");
}

bool wrong_version(struct mutant *m) {
    return coin(m) ? move_update(m) : other_state(m);
}

bool wrong_layer(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS | STARTS | ZEROS | FREES, &site))
        return false;
    struct chosen_index chosen = choose_index(m, statement_at(&site));
    if (!chosen.index)
        return false;
    int64_t count = m->program->buffers[chosen.buffer].stacks.list[chosen.stack].count;
    if (choose(m, 4) == 0)
        *chosen.index = index_constant(choose(m, (uint32_t)count));
    else
        chosen.index->offset += coin(m) ? 1 : -1;
    return touched(m, statement_at(&site)->span, "another item of a buffer");
}

// ---- time -------------------------------------------------------------------------------------

static bool drop_wait(struct mutant *m) {
    struct site site;
    if (!choose_site(m, WAITS, &site))
        return false;
    touched(m, statement_at(&site)->span, "a wait dropped");
    remove_statement(site.block, site.at);
    return true;
}

bool missing_wait(struct mutant *m) {
    return choose(m, 3) ? drop_wait(m) : drop_wait_op(m);
}

// ---- copies between tiers ---------------------------------------------------------------------

static bool drop_start(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    touched(m, statement_at(&site)->span, "a start dropped");
    remove_statement(site.block, site.at);
    return true;
}

// The item that it brings from or to.
static bool other_copied_item(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    struct transfer_piece *piece = &start->pieces[choose(m, start->n_pieces)];
    struct index *index = coin(m) ? &piece->from.indices[0] : &piece->to.indices[0];
    index->offset += coin(m) ? 1 : -1;
    return touched(m, statement_at(&site)->span, "another item copied");
}

static bool move_copy(struct mutant *m) {
    return move_statement_of(m, coin(m) ? STARTS : WAITS, "a copy moved in time");
}

static bool double_start(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct statement copy = *statement_at(&site);
    block_insert(m->program->arena, site.block, site.at + 1, copy);
    return touched(m, copy.span, "a start doubled");
}

bool other_copy(struct mutant *m) {
    static bool (*const ways[])(struct mutant *) = {
        drop_transfer, drop_piece,      drop_start,         drop_wait, double_transfer,
        double_start,  exchange_pieces, other_piece_buffer, move_copy, other_copied_item};
    m->among = choose(m, 4) ? COPIES_OF_COMPUTED : COPIES;
    if (find_sites(m, STARTS).n == 0)
        m->among = COPIES;
    bool planted = ways[choose(m, sizeof ways / sizeof *ways)](m);
    m->among = ALL_STATEMENTS;
    return planted;
}

// ---- slots ------------------------------------------------------------------------------------

static void shorten(struct index *index, int64_t modulus) {
    if (index->modulus)
        index->modulus = modulus;
    else if (index->variable < 0)
        index->offset %= modulus;
}

// A buffer of slots has one fewer, wherever it is named.
static bool fewer_slots(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS | STARTS, &site))
        return false;
    struct chosen_index chosen = choose_index(m, statement_at(&site));
    if (!chosen.index || chosen.index->modulus < 2)
        return false;
    buffer_id id = chosen.buffer;
    int64_t modulus = chosen.index->modulus - 1;
    struct sites all = find_sites(m, SIMPLE);
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t k = 0;; k++) {
            struct access access = statement_access(m->program, statement_at(&all.items[i]), k);
            if (!access.at)
                break;
            if (access.at->buffer != id)
                continue;
            shorten(&access.at->indices[chosen.stack], modulus);
            touched(m, statement_at(&all.items[i])->span, "one slot fewer");
        }
    return touched(m, m->program->buffers[id].span, "one slot fewer");
}

static bool other_slot(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS | STARTS | FREES, &site))
        return false;
    struct chosen_index chosen = choose_index(m, statement_at(&site));
    if (!chosen.index || chosen.index->modulus < 2)
        return false;
    chosen.index->offset++;
    return touched(m, statement_at(&site)->span, "another slot");
}

static bool other_handle(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS | WAITS, &site))
        return false;
    struct statement *statement = statement_at(&site);
    struct index *index = statement->kind == STATEMENT_START ? &statement->start.handle_index
                                                             : &statement->wait.index;
    if (index->modulus > 1 && coin(m))
        index->modulus--;
    else
        index->offset++;
    return touched(m, statement->span, "another slot of a handle");
}

bool slot_short(struct mutant *m) {
    switch (choose(m, 3)) {
    case 0:
        return fewer_slots(m);
    case 1:
        return other_slot(m);
    default:
        return other_handle(m);
    }
}

bool other_key(struct mutant *m) {
    return change_word(m);
}

// ---- order ------------------------------------------------------------------------------------

static bool other_direction(struct mutant *m) {
    struct site site;
    if (!choose_site(m, LOOPS, &site))
        return false;
    struct loop *loop = &statement_at(&site)->loop;
    loop->descending = !loop->descending;
    return touched(m, statement_at(&site)->span, "a loop the other way round");
}

static bool exchange_neighbours(struct mutant *m) {
    struct site site;
    if (!choose_site(m, SIMPLE | LOOPS, &site) || site.at + 1 >= site.block->n)
        return false;
    struct statement *first = statement_at(&site), moved = *first;
    touched(m, moved.span, "two statements exchanged");
    first[0] = first[1];
    first[1] = moved;
    return touched(m, first[0].span, m->what);
}

static bool other_order_of_pieces(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    uint32_t a = choose(m, start->n_pieces), b = choose(m, start->n_pieces);
    struct transfer_piece moved = start->pieces[a];
    start->pieces[a] = start->pieces[b];
    start->pieces[b] = moved;
    return a != b && touched(m, statement_at(&site)->span, "pieces in another order");
}

bool other_order(struct mutant *m) {
    switch (choose(m, 5)) {
    case 0:
        return other_direction(m);
    case 1:
        return exchange_neighbours(m);
    case 2:
        return other_order_of_pieces(m);
    default:
        return exchange_summands(m);
    }
}

// ---- other values, places, bounds -------------------------------------------------------------

static bool exchange_operands(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS, &site))
        return false;
    struct call *call = &statement_at(&site)->call;
    uint32_t n = m->program->job->units[call->unit].n_parameters;
    if (n < 2)
        return false;
    uint32_t a = choose(m, n), b = choose(m, n);
    struct reference moved = call->operands[a];
    call->operands[a] = call->operands[b];
    call->operands[b] = moved;
    return a != b && touched(m, statement_at(&site)->span, "two operands exchanged");
}

static bool other_operand(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS | ZEROS | FREES, &site))
        return false;
    struct reference *reference = choose_access(m, statement_at(&site));
    buffer_id other = reference ? other_buffer(m, reference->buffer, false) : NO_ID;
    if (other == NO_ID)
        return false;
    reference->buffer = other;
    return touched(m, statement_at(&site)->span, "another buffer");
}

bool other_value(struct mutant *m) {
    switch (choose(m, 4)) {
    case 0:
        return exchange_operands(m);
    case 1:
        return other_operand(m);
    default:
        return read_other_value(m);
    }
}

static bool move_buffer(struct mutant *m) {
    struct program *program = m->program;
    struct buffer *moved = &program->buffers[choose(m, program->n_buffers)];
    const struct buffer *to = &program->buffers[choose(m, program->n_buffers)];
    int64_t shift = choose(m, 3) ? 0 : 8;
    if (moved->window_of != NO_ID || to->window_of != NO_ID || moved == to ||
        moved->offset_bytes == to->offset_bytes + shift)
        return false;
    moved->offset_bytes = to->offset_bytes + shift;
    touched(m, to->span, "a buffer where another is");
    return touched(m, moved->span, m->what);
}

bool other_place(struct mutant *m) {
    return coin(m) ? move_buffer(m) : move_value(m);
}

bool other_bounds(struct mutant *m) {
    struct site site;
    if (!choose_site(m, LOOPS, &site))
        return false;
    struct loop *loop = &statement_at(&site)->loop;
    if (coin(m))
        loop->begin++;
    else
        loop->end--;
    return touched(m, statement_at(&site)->span, "a loop with other bounds");
}

// ---- what is made when it is needed, what has owners --------------------------------------------

static bool move_simple(struct mutant *m) {
    return move_statement_of(m, SIMPLE, "a statement moved");
}

bool made_otherwise(struct mutant *m) {
    static bool (*const ways[])(struct mutant *) = {
        drop_statement, double_statement,  move_simple,     move_simple,        drop_transfer,
        drop_piece,     drop_wait,         exchange_pieces, other_piece_buffer, other_state,
        other_operand,  exchange_operands, wrong_layer,     wrong_layer,        other_slot};
    if (!find_made(m))
        return false;
    m->among = MADE;
    bool planted = ways[choose(m, sizeof ways / sizeof *ways)](m);
    m->among = ALL_STATEMENTS;
    return planted;
}

// The next layer, or one layer always, in all that the statement names of owners, or of layers.
static bool other_owned_item(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS | STARTS, &site))
        return false;
    struct index from = statement_ownership(m->program, statement_at(&site)).item;
    bool all = coin(m), next = coin(m);
    uint32_t layer = choose(m, (uint32_t)m->program->job->sizes.layers);
    struct access access;
    for (uint32_t i = 0; (access = statement_access(m->program, statement_at(&site), i)).at; i++) {
        const struct buffer *buffer = &m->program->buffers[access.at->buffer];
        if (buffer->stacks.n == 0 || !index_equal(access.at->indices[0], from) ||
            (!all && buffer->layout.owners.n == 0))
            continue;
        access.at->indices[0] =
            next && from.variable >= 0
                ? index_variable(from.variable, from.offset + 1, buffer->stacks.list[0].count)
                : index_constant(layer % buffer->stacks.list[0].count);
    }
    return touched(m, statement_at(&site)->span, "another owner's item");
}

// Everything that has owners along some axes has them along others, and is sent there.
static bool other_owner_axes(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct axis_list old = statement_at(&site)->start.exchange.axes, axes = {0};
    for (unsigned i = 0; i < m->program->job->mesh.n_axes; i++)
        if (coin(m))
            axes.axes[axes.n++] = (uint8_t)i;
    if (axes.n == 0 || axis_list_equal(&axes, &old))
        return false;
    struct sites starts = find_sites(m, STARTS);
    for (uint32_t i = 0; i < starts.n; i++) {
        struct statement *start = statement_at(&starts.items[i]);
        if (!axis_list_equal(&start->start.exchange.axes, &old))
            continue;
        start->start.exchange.axes = axes;
        touched(m, start->span, "owners along other axes");
    }
    for (buffer_id i = 0; i < m->program->n_buffers; i++)
        if (axis_list_equal(&m->program->buffers[i].layout.owners, &old))
            m->program->buffers[i].layout.owners = axes;
    return true;
}

bool other_owner(struct mutant *m) {
    static bool (*const ways[])(struct mutant *) = {
        drop_statement,     double_statement, move_simple,       drop_transfer,
        drop_piece,         double_transfer,  exchange_pieces,   drop_wait,
        other_piece_buffer, other_state,      exchange_operands, other_owned_item,
        other_owned_item,   other_owned_item, other_owner_axes};
    m->among = OWNED;
    bool planted = ways[choose(m, sizeof ways / sizeof *ways)](m);
    m->among = ALL_STATEMENTS;
    return planted;
}

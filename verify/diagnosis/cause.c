// The place of the mistake of which a fault shows. A fault arises where something is read that
// cannot be read so; what is wrong with it was done before, and may have looked right there. It is
// told
//
//   where a value that is none of the reference's was made of values that are (history.h), or
//     where what another op had made was made again, which so stands in the place of something else
//     where a transfer brought what is wrong there, or zeros
//   where a summand that is needed whole was summed before, over too few axes; not where that cut
//     up the sum, for its parts say that these axes were right
//   where a part that meets parts which are cut in another way was cut
//   of a sum that lacks layers or microbatches, at the loop that does not go over them, or at what
//     clears it too often or too late
//   of what nobody has written, at the loop that would have, but goes over nothing
//   of what is read while a transfer is still to bring it, at the transfer if it changes nothing:
//     it starts too early
//
// and beside it where the fault arose. Where nothing of this is so it is told there.
#include "verify/diagnosis/cause.h"

#include "verify/machine/store.h"

static bool same_span(struct span a, struct span b) {
    return a.source == b.source && a.begin == b.begin;
}

// It is told there, and beside it where it arose.
static void move_fault(struct fault *fault, struct span to, const char *said, const char *other) {
    fault->other = fault->span;
    fault->other_said = other;
    fault->span = to;
    fault->said = said;
}

// ---- what is made again -----------------------------------------------------------------------

// Collectives pass on what they are given, and so do copies.
static bool is_passed_on(const struct proof *p, const struct making *making) {
    for (uint32_t i = 0; i < making->n_operands; i++) {
        uint32_t operand = making_operand(p->history, making, i);
        if (operand && scaled_equal(making_at(p, operand)->value, making->value))
            return true;
    }
    return false;
}

static bool makes_same(const struct making *a, const struct making *b) {
    return b->moment == a->moment && b->name && b->op && b->op != a->op &&
           b->op->kind == a->op->kind && scaled_equal(a->value, b->value);
}

// The same value from another op of the same call: before it, or behind it.
static bool is_made_again(const struct proof *p, uint32_t made, bool behind) {
    const struct making *making = making_at(p, made);
    if (!making->op || making->op->kind == OP_IOTA || (behind && is_passed_on(p, making)))
        return false;
    uint32_t i = made;
    while (behind ? ++i <= p->history->n : --i > 0) {
        if (making_at(p, i)->moment != making->moment)
            return false;
        if (makes_same(making, making_at(p, i)))
            return true;
    }
    return false;
}

// The making from which the sum has the same value already; 0: there is none.
static uint32_t added_before(struct proof *p, uint32_t sum, uint32_t added) {
    struct lineage way = lineage_of(p, sum, false);
    for (uint32_t id; (id = lineage_next(&way));)
        if (id != added && scaled_equal(making_at(p, id)->value, making_at(p, added)->value))
            return id;
    return 0;
}

// Whether the reference has the sum so far without the value, but not with it.
static bool is_added_astray(struct proof *p, uint32_t made) {
    for (uint32_t id = made + 1; id <= p->history->n; id++) {
        const struct making *sum = making_at(p, id);
        if (!sum->name || !is_sum(sum) || sum->n_operands != 2)
            continue;
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t other = making_operand(p->history, sum, !i);
            if (making_operand(p->history, sum, i) == made && other)
                return !history_has_sum(p, sum->value) &&
                       (!is_sum(making_at(p, other)) ||
                        history_has_sum(p, making_at(p, other)->value));
        }
    }
    return false;
}

// What made again what a guilty op was given: another op of the unit, or the whole call.
struct again {
    const struct making *making; // NULL: nothing
    bool by_call;
};

static struct again summand_again(struct proof *p, uint32_t sum, uint32_t operand) {
    uint32_t before = sum < operand ? added_before(p, sum, operand) : 0;
    if (!before)
        return (struct again){NULL, false};
    const struct making *first = making_at(p, before), *second = making_at(p, operand);
    bool alike = first->op && second->op && first->op->kind == second->op->kind;
    if (alike && first->op != second->op && is_added_astray(p, before))
        return (struct again){first, false};
    return (struct again){second, first->op == second->op};
}

static struct again made_again(struct proof *p, const struct making *guilty) {
    for (uint32_t i = 0; guilty->op && i < guilty->n_operands; i++) {
        uint32_t operand = making_operand(p->history, guilty, i);
        uint32_t other = guilty->n_operands == 2 ? making_operand(p->history, guilty, !i) : 0;
        struct again again = {NULL, false};
        if (operand && other && is_sum(guilty))
            again = summand_again(p, other, operand);
        if (operand && !again.making && is_made_again(p, operand, false))
            again.making = making_at(p, operand);
        if (again.making)
            return again;
    }
    for (uint32_t i = 0; guilty->op && !is_sum(guilty) && i < guilty->n_operands; i++) {
        uint32_t operand = making_operand(p->history, guilty, i);
        if (operand && is_made_again(p, operand, true))
            return (struct again){making_at(p, operand), false};
    }
    return (struct again){NULL, false};
}

// ---- what is brought to a call ----------------------------------------------------------------

// Whether a value is what an op wants to be given. Ops that are not linear are given a value and its
// scale as one term.
static bool is_wanted(const struct proof *p, struct scaled value, struct term wanted) {
    const struct terms *terms = p->world->terms;
    return term_equal(value.of, wanted) || (term_kind(terms, wanted) == NODE_SCALED &&
                                            scaled_equal(value, term_part(terms, wanted, 0)));
}

// Whether the value is in the call: then the op should have read that.
static bool is_at_hand(const struct proof *p, const struct making *reader, struct term wanted) {
    for (uint32_t id = p->history->n; id > 0; id--) {
        const struct making *making = making_at(p, id);
        if (making->moment != reader->moment)
            continue;
        if (making->name && is_wanted(p, making->value, wanted))
            return true;
        for (uint32_t i = 0; i < making->n_operands; i++) {
            uint32_t operand = making_operand(p->history, making, i);
            if (operand && term_equal(making_at(p, operand)->value.of, wanted))
                return true;
        }
    }
    return false;
}

// Whether the transfer has brought what is wanted, too, to another place that is not used again:
// then the call should have read that.
static bool is_kept(const struct proof *p, const struct making *brought, struct term wanted) {
    for (uint32_t id = p->history->n; brought->is_kept && id > 0; id--) {
        const struct making *making = making_at(p, id);
        if (making->is_transfer && same_span(making->span, brought->span) &&
            term_equal(making->value.of, wanted))
            return true;
    }
    return false;
}

// Whether what is wanted was made of what was brought, which so is what it should be.
static bool is_made_of(struct proof *p, struct term wanted, uint32_t brought) {
    for (uint32_t id = p->history->n; id > brought; id--) {
        const struct making *making = making_at(p, id);
        if (!making->name || !term_equal(making->value.of, wanted))
            continue;
        struct lineage way = lineage_of(p, id, false);
        while (lineage_next(&way))
            continue;
        return lineage_has(&way, brought);
    }
    return false;
}

static bool brings_zeros(const struct proof *p, uint32_t made) {
    return is_zeros(p, made) && making_at(p, made)->is_transfer;
}

// Zeros that a transfer brought, or that it brought to a sum, which so adds nothing.
static uint32_t zeros_brought(const struct proof *p, uint32_t made) {
    const struct making *making = made_like(p, made);
    if (brings_zeros(p, made))
        return made;
    for (uint32_t i = 0; is_sum(making) && i < making->n_operands; i++)
        if (brings_zeros(p, making_operand(p->history, making, i)))
            return making_operand(p->history, making, i);
    return 0;
}

// The last operand that came from another part; 0: none did.
static uint32_t message_among(const struct proof *p, const struct making *reader) {
    uint32_t message = 0;
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        message = operand && making_at(p, operand)->is_message ? operand : message;
    }
    return message;
}

// The transfer that brought what the op is given instead of what it wants. Of two values that are
// of different layers it is the one that was brought, of several that from another part: which of
// its layers a part has is said in many places, and what it receives in one.
static uint32_t carrier(struct proof *p, const struct fault *fault, const struct making *reader) {
    uint32_t brought = 0, n_brought = 0, message = message_among(p, reader);
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        const struct making *making = operand ? making_at(p, operand) : NULL;
        if (making && zeros_brought(p, operand))
            return zeros_brought(p, operand);
        if (!making || !making->is_transfer)
            continue;
        brought = operand;
        n_brought++;
        bool differs = fault->code != E512 || !message || operand == message;
        if (differs && fault->has_given && term_equal(making->value.of, fault->given.of) &&
            !is_at_hand(p, reader, fault->wanted.of) && !is_made_of(p, fault->wanted.of, operand))
            return is_kept(p, making, fault->wanted.of) ? 0 : operand;
    }
    if (fault->code == E512 && message)
        return message;
    return fault->code == E512 && n_brought == 1 && !making_at(p, brought)->is_kept ? brought : 0;
}

// What is wrong with the value, told where what the op reads was brought or made, if that is wrong.
static struct fault *made_fault(struct proof *p, const struct making *making,
                                const struct making **cause) {
    struct fault *fault = diagnose_making(p, making);
    struct again again = made_again(p, making);
    uint32_t brought = making->op ? carrier(p, fault, making) : 0;
    if (brought) {
        *cause = making_at(p, brought);
        move_fault(fault, (*cause)->span, "this brings what is wrong here", "here it is read");
    } else if (again.making) {
        *cause = again.making;
        move_fault(fault, again.by_call ? (*cause)->call : (*cause)->span,
                   "this makes what is made elsewhere", "here it is used");
    }
    return fault;
}

struct fault *cause_of_value(struct proof *p, uint32_t made, bool *detour) {
    uint32_t guilty = history_first_guilty(p, made, detour);
    if (!guilty)
        return NULL;
    const struct making *making = making_at(p, guilty), *cause = making;
    struct fault *fault = lacking_fault(p, making);
    if (!fault)
        fault = made_fault(p, making, &cause);
    fault->made = guilty;
    fault->when = cause->when;
    fault->order = cause->order;
    return fault;
}

// ---- sums that are not finished ---------------------------------------------------------------

// The last collective that summed on the way to what is a summand over these axes still; one that
// cuts up the sum only where no other did.
static const struct making *last_sum(const struct proof *p, uint32_t made, uint32_t axes) {
    const struct making *cut = NULL;
    while (made) {
        const struct making *making = making_at(p, made);
        uint32_t next = making->recalled;
        if (making->adds_up && !making->cuts_up)
            return making;
        if (making->adds_up && !cut)
            cut = making;
        for (uint32_t i = 0; !making->recalled && i < making->n_operands; i++) {
            uint32_t operand = making_operand(p->history, making, i);
            if (operand > next && making_at(p, operand)->partial & axes)
                next = operand;
        }
        made = next;
    }
    return cut;
}

// A sum that is cut up lies as its axes say, and that is held to what its buffer says: it is right,
// and another behind it is missing. Of others it is as likely that they are over the wrong axes.
static bool tell_reduction(struct proof *p, struct fault *fault, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        uint32_t axes = operand ? making_at(p, operand)->partial : 0;
        const struct making *sum = axes ? last_sum(p, operand, axes) : NULL;
        if (!sum)
            continue;
        const char *said = arena_format(
            p->world->arena, "the sum is over other axes only, and still in parts over %s",
            mask_text(p->world, sum->partial));
        if (sum->cuts_up)
            fault_also(fault, sum->span, said);
        else
            move_fault(fault, sum->span, said,
                       fault->said ? fault->said : "here the sum is needed");
        return !sum->cuts_up;
    }
    return false;
}

// ---- what the reader was given -----------------------------------------------------------------

static bool tell_value(struct proof *p, struct fault *fault, const struct making *reader) {
    const struct fault *first = NULL;
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        bool detour;
        const struct fault *cause =
            cause_of_value(p, making_operand(p->history, reader, i), &detour);
        if (cause && !detour)
            first = fault_first(first, cause);
    }
    if (!first)
        return false;
    if (fault->code == E410 && first->code == E412) { // of one cause: no sum before this one
        if (tell_reduction(p, fault, making_at(p, first->made)))
            return true;
        move_fault(fault, first->span, first->message, "here the sum is needed");
    } else {
        move_fault(fault, first->span, first->said, fault->message);
        fault->code = first->code;
        fault->message = first->message;
    }
    fault->when = first->when;
    fault->order = first->order;
    return true;
}

// ---- sums that lack microbatches ---------------------------------------------------------------

// The loop over microbatches in which one was last added to the sum, on the way to it.
static const struct statement *last_time_loop(struct proof *p, uint32_t sum) {
    uint32_t node = summand_of(p->world, making_at(p, sum)->value, 0).node;
    struct lineage way = lineage_of(p, sum, false);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(p, id);
        bool adds = is_sum(making) || making->recalled;
        if (making->time_loop && adds && layers_of(p->world, making->value, node))
            return making->time_loop;
    }
    return NULL;
}

// The first microbatch of the node that the sum lacks, and whether it has a later one.
struct gap {
    int32_t first;
    bool goes_on;
};
static struct gap gap_of(const struct world *w, struct scaled sum, uint32_t node) {
    struct gap gap = {0, false};
    bool longer;
    do {
        gap.goes_on = longer = false;
        for (uint32_t i = 0, n = n_summands(w, sum); i < n; i++) {
            struct summand one = summand_of(w, sum, i);
            if (one.node != node || one.m_begin == ALL_MICROBATCHES ||
                number_is_symbolic(one.m_begin))
                continue;
            gap.goes_on = gap.goes_on || one.m_begin > gap.first;
            longer = longer || (one.m_begin <= gap.first && one.m_end > gap.first);
            if (one.m_begin <= gap.first && one.m_end > gap.first)
                gap.first = one.m_end;
        }
    } while (longer);
    return gap;
}

// The first sum on the way to the value that goes on without a microbatch which that lacks.
static const struct making *first_skipping(struct proof *p, uint32_t made) {
    const struct making *first = NULL;
    struct scaled value = making_at(p, made)->value;
    for (uint32_t i = 0, n = n_summands(p->world, value); i < n; i++) {
        uint32_t node = summand_of(p->world, value, i).node;
        struct gap lacks = gap_of(p->world, value, node);
        struct lineage way = lineage_of(p, made, true);
        for (uint32_t id; lacks.goes_on && (id = lineage_next(&way));) {
            const struct making *making = making_at(p, id);
            struct gap gap = gap_of(p->world, making->value, node);
            bool adds =
                is_sum(made_like(p, id)) && term_is_collected(p->world->terms, making->value.of);
            if (adds && gap.goes_on && gap.first == lacks.first && (!first || making < first))
                first = making;
        }
    }
    return first;
}

// A sum that lacks microbatches: those that its loop does not go over, or what was summed before it
// was cleared again. Each loop of a pipeline goes over some only, and what others lack shows in the sum.
static void tell_collection(struct proof *p, struct fault *fault, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        if (!operand || !term_is_collected(p->world->terms, making_at(p, operand)->value.of))
            continue;
        const struct statement *loop = last_time_loop(p, operand);
        const struct making *cleared = clearing(p, operand, true);
        bool goes_over_some =
            loop && (loop->loop.begin != 0 || loop->loop.end != p->world->terms->microbatches);
        const struct making *skipping = first_skipping(p, operand);
        bool of_tasks = reader->program->part.axes.n && (!loop || loop_has_tasks(&loop->loop));
        if (of_tasks && !cleared) {
            move_fault(fault, skipping ? skipping->call : behind_sum(p, reader, operand, 0),
                       "it goes on here", "here all are needed");
            fault->order = skipping ? skipping->order : fault->order;
        } else if (goes_over_some)
            move_fault(fault, loop->span, "it does not go over all microbatches",
                       "here all are needed");
        else if (cleared)
            move_fault(fault, cleared->span, "cleared for every microbatch", "here all are needed");
        return;
    }
}

// ---- what is never written --------------------------------------------------------------------

static bool writes(const struct program *program, const struct statement *loop, buffer_id buffer) {
    struct statement_walk walk = walk_statements(&loop->loop.body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(program, walk.statement, i)).at; i++)
            if (access.written && owner_of(program, access.at->buffer) == buffer)
                return true;
    }
    return false;
}

// A loop that goes over nothing would have written it.
static void tell_empty_loop(const struct program *program, struct fault *fault) {
    for (int s = 0; s < N_STEPS; s++) {
        const struct statement *loop = empty_loop(&program->steps[s].body);
        if (!loop || !writes(program, loop, fault->never))
            continue;
        move_fault(fault, loop->span, "this goes over nothing", "it is read here");
        return;
    }
}

// ---- transfers --------------------------------------------------------------------------------

// What is read while a transfer brings it: if that brings what was there, it starts too early.
static void tell_transfer(struct proof *p, struct fault *fault) {
    for (uint32_t id = p->history->n; id > 0; id--) {
        const struct making *making = making_at(p, id);
        if (making->order > fault->order || !making->is_transfer ||
            !same_span(making->span, *fault->by))
            continue;
        if (making->is_unchanged)
            move_fault(fault, making->span, "this brings what was there before", "it is read here");
        return;
    }
}

// The last on the way to the value, as it is or as a summand of it.
static const struct making *last_transfer(struct proof *p, uint32_t made) {
    struct lineage way = lineage_of(p, made, true);
    for (uint32_t id; (id = lineage_next(&way));)
        if (making_at(p, id)->is_transfer)
            return making_at(p, id);
    return NULL;
}

// The first transfer on the way to what is cut wrongly that arrived in another way than its buffer
// says, as it is or as a summand.
static bool tell_misfit(struct proof *p, struct fault *fault, const struct making *reader) {
    const struct making *first = NULL;
    for (uint32_t i = 0; i < reader->n_operands && !first; i++) {
        struct lineage way = lineage_of(p, making_operand(p->history, reader, i), true);
        for (uint32_t id; (id = lineage_next(&way));) {
            if (!making_at(p, id)->is_transfer || !making_at(p, id)->is_misfit)
                continue;
            first = making_at(p, id);
            way.brought = first->name;
        }
    }
    if (first)
        move_fault(fault, first->span,
                   arena_format(p->world->arena,
                                "what arrives in `%s` lies in another way than that says",
                                first->name),
                   fault->said ? fault->said : "here it is read");
    return first != NULL;
}

// What is to be summed is no summand any more: then what summed before summed over too much.
static void tell_complete(const struct proof *p, struct fault *fault, const struct making *reader) {
    uint32_t operand = reader->n_operands ? making_operand(p->history, reader, 0) : 0;
    const struct making *sum = operand ? made_like(p, operand) : NULL;
    if (!sum || sum->partial || !sum->adds_up)
        return;
    move_fault(fault, sum->span, "this has summed it already", "here it is summed again");
}

// Zeros where an op needs more, maybe by way of what was made of them: what cleared what nobody had
// read, or else the last transfer of them.
static void tell_zeros(struct proof *p, struct fault *fault, const struct making *reader) {
    const struct making *cleared = NULL, *brought = NULL;
    for (uint32_t i = 0; i < reader->n_operands && !cleared; i++) {
        struct lineage way = lineage_of(p, making_operand(p->history, reader, i), false);
        for (uint32_t id; !cleared && (id = lineage_next(&way));) {
            if (!is_zeros(p, id))
                continue;
            cleared = clears_unread(p, making_at(p, id));
            brought = brought || !making_at(p, id)->is_transfer ? brought : making_at(p, id);
        }
    }
    if (cleared)
        move_fault(fault, cleared->span, "cleared before anything reads what it held",
                   "it is read here");
    else if (brought)
        move_fault(fault, brought->span, "this brings zeros", "they are read here");
}

static void tell_reader(struct proof *p, struct fault *fault, const struct making *reader) {
    const struct making *cut =
        fault->has_odd ? last_transfer(p, making_operand(p->history, reader, fault->odd)) : NULL;
    bool cuts = fault->code == E411 || fault->code == E510;
    if (tell_value(p, fault, reader) || (cuts && tell_misfit(p, fault, reader)))
        return;
    if (cut)
        move_fault(fault, cut->span, "this cuts it", "here it meets the others");
    else if (fault->code == E410)
        tell_reduction(p, fault, reader);
    else if (fault->code == E411)
        tell_complete(p, fault, reader);
    else if (fault->code == E412)
        tell_collection(p, fault, reader);
    else if (fault->code == E490)
        tell_zeros(p, fault, reader);
}

const struct fault *cause_tell(struct proof *p, const struct fault *found) {
    if (!p->history || found->told)
        return found;
    struct fault *fault = arena_copy(p->world->arena, found, sizeof *found);
    fault->told = true;
    if (fault->is_never)
        tell_empty_loop(fault->program, fault);
    else if (fault->code == E610 && fault->by && !same_span(*fault->by, fault->span))
        tell_transfer(p, fault);
    else if (fault->made)
        tell_reader(p, fault, making_at(p, fault->made));
    return fault;
}

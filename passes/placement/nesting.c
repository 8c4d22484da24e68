// place, nesting: shards inside shards. The update reads a device's parts of the gradient, the
// optimizer's states and the parameter together, so those of the state that is cut by most axes
// must lie in those of the others. The axes are put into the order that nests them; a product of
// axes says an order, and one that says another is refused.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"

static const char *product_text(struct placing *p, const struct axis_list *axes) {
    const char *text = "";
    for (unsigned i = 0; i < axes->n; i++)
        text = arena_format(p->arena, "%s%s%s", text, i ? " * " : "", axis_name(p, axes->axes[i]));
    return text;
}

// A tensor's parts that must hold those of the optimizer's states.
struct holder {
    const char *what;
    enum state state; // which says so
    const struct axis_list *axes;
};
enum { N_HOLDERS = 3 };

static void holders_of(const struct storage *storage, struct holder holders[N_HOLDERS]) {
    holders[0] =
        (struct holder){"the parameters", STATE_PARAMETERS, &storage->shards[STATE_PARAMETERS]};
    holders[1] =
        (struct holder){"the gradients", STATE_GRADIENTS, &storage->shards[STATE_GRADIENTS]};
    holders[2] = (struct holder){"each microbatch's reduced gradients", STATE_GRADIENTS,
                                 &storage->scattered_each};
}

// The first axis of `a` that is not in `b`; -1: it has all.
static int axis_beyond(const struct axis_list *a, const struct axis_list *b) {
    for (unsigned i = 0; i < a->n; i++)
        if (!axis_list_has(b, a->axes[i]))
            return a->axes[i];
    return -1;
}

// One of two kinds of shards must lie inside the other; else no order of the axes serves both.
static bool check_chain(struct placing *p, const struct storage *storage) {
    struct holder holders[N_HOLDERS];
    holders_of(storage, holders);
    for (int i = 1; i < N_HOLDERS; i++)
        for (int k = 0; k < i; k++) {
            int outer = axis_beyond(holders[k].axes, holders[i].axes);
            int inner = axis_beyond(holders[i].axes, holders[k].axes);
            if (outer < 0 || inner < 0)
                continue;
            not_yet(p, stored_origin(storage, holders[i].state, (unsigned)inner),
                    arena_format(p->arena,
                                 "cutting %s over `%s` and %s over `%s`, neither inside the other,",
                                 holders[i].what, axis_name(p, (unsigned)inner), holders[k].what,
                                 axis_name(p, (unsigned)outer)),
                    "cut both over the same axes, or one over some of the other's");
            return false;
        }
    return true;
}

// Two axes of one statement's product that the optimizer's shards need in the other order.
struct reversal {
    enum state state;
    unsigned outer, inner; // as the shards need them
};

static unsigned place_in(const struct axis_list *axes, unsigned axis) {
    unsigned i = 0;
    while (i < axes->n && axes->axes[i] != axis)
        i++;
    return i;
}

static bool find_reversal(const struct storage *storage, struct reversal *out) {
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        for (unsigned k = 1; k < storage->shards[state].n; k++)
            for (unsigned i = 0; i < k; i++) {
                unsigned outer = storage->shards[state].axes[i],
                         inner = storage->shards[state].axes[k];
                const struct mode_statement *mode = storage->modes[state][outer];
                if (!mode || mode != storage->modes[state][inner] ||
                    place_in(&mode->axes, outer) < place_in(&mode->axes, inner))
                    continue;
                *out = (struct reversal){(enum state)state, outer, inner};
                return true;
            }
    return false;
}

// Shards nest: a state that is cut by fewer axes than another holds its shards whole, so the axes
// that cut most come first. Shards of the optimizer are cut out of the parameter's, and out of what
// is left of a gradient when each microbatch has been reduced. Among equals the order is as said, or
// that with those over data axes last.
//
// Where `parameters : gathered(b)`, `gradients : sharded(a)`, `gradients : sharded(b)` and the
// optimizer is sharded over c, a and b, by a statement for each, the lists are
//
//                        as said    axis  cuts beside the optimizer     nested
//   optimizer            a, b, c    b     parameters, gradients, each   b, a, c
//   parameters           b          a     gradients, each               b
//   gradients            a, b       c     nothing else                  b, a
//   each microbatch's    a, b                                           b, a
//
// A device's part of the optimizer's states then lies in its part of the gradient, and that in its
// part of the parameter.
static void nest(const struct placing *p, struct storage *storage, struct axis_list *const *nested,
                 int n_nested, bool model_first) {
    struct axis_list *shards = storage->shards, ordered = {0}, all = shards[STATE_OPTIMIZER];
    for (int k = 0; k < n_nested; k++)
        axis_list_add_all(&all, nested[k]);
    if (model_first) {
        struct axis_list data = axis_list_within(&all, &p->placement->tokens);
        all = axis_list_without(&all, &p->placement->tokens);
        axis_list_add_all(&all, &data);
    }
    int sets[MAX_AXES] = {0}; // that have an axis
    for (int k = 0; k < n_nested; k++)
        for (unsigned i = 0; i < nested[k]->n; i++)
            sets[nested[k]->axes[i]]++;
    for (int level = n_nested; level >= 0; level--)
        for (unsigned i = 0; i < all.n; i++)
            if (sets[all.axes[i]] == level)
                axis_list_add(&ordered, all.axes[i]);
    for (int k = 0; k < n_nested; k++)
        *nested[k] = axis_list_within(&ordered, nested[k]);
    shards[STATE_OPTIMIZER] = axis_list_within(&ordered, &shards[STATE_OPTIMIZER]);
}

// Do the optimizer's shards lie in those of all other states?
static bool all_nest(const struct storage *storage) {
    struct holder holders[N_HOLDERS];
    holders_of(storage, holders);
    for (int i = 0; i < N_HOLDERS; i++)
        if (!axis_list_begins(&storage->shards[STATE_OPTIMIZER], holders[i].axes))
            return false;
    return true;
}

static bool nests_as_said(const struct storage *storage) {
    struct reversal found;
    return all_nest(storage) && !find_reversal(storage, &found);
}

// Where the order is free, the part of a parameter that is kept lies around its shards: then it is
// gathered out of them in one stride, and the whole out of it in another. Where products say otherwise
// it is cut out of the whole. And where sums are ordered, gradients are summed over axes of the model
// first: with parts over these outermost only a part travels on. Where products say otherwise, they
// are cut out of what data axes have summed.
//
// For instance, of `parameters : gathered(AXES, after_forward = sharded(inner))`, with an optimizer
// sharded over the same AXES:
//
//   AXES            shards         kept    gathered
//   inner * outer   inner, outer   inner   over outer once, over inner before each use
//   outer * inner   outer, inner   inner   over both before the first use, over inner before others
void order_shards(struct placing *p, struct storage *storage) {
    struct axis_list *shards = storage->shards;
    struct axis_list reduced = axis_list_within(&shards[STATE_OPTIMIZER], &storage->reduced_each);
    storage->scattered_each = shards[STATE_GRADIENTS];
    if (p->placement->microbatches > 1)
        axis_list_add_all(&storage->scattered_each, &reduced);
    struct axis_list *nested[] = {&shards[STATE_PARAMETERS], &shards[STATE_GRADIENTS],
                                  &storage->scattered_each, &storage->kept_shards};
    enum { N_NESTED = sizeof nested / sizeof *nested };
    struct axis_list said[N_NESTED], owners = shards[STATE_OPTIMIZER];
    for (int k = 0; k < N_NESTED; k++)
        said[k] = *nested[k];
    for (int model_first = p->placement->ordered; model_first >= 0; model_first--)
        for (int kept = storage->kept_shards.n > 0; kept >= 0; kept--) {
            for (int k = 0; k < N_NESTED; k++)
                *nested[k] = said[k];
            shards[STATE_OPTIMIZER] = owners;
            nest(p, storage, nested, N_NESTED - 1 + kept, model_first);
            if (nests_as_said(storage))
                return;
        }
}

static const struct holder *holder_of(const struct holder holders[N_HOLDERS],
                                      const struct reversal *found) {
    for (int i = 0; i < N_HOLDERS; i++)
        if (axis_list_has(holders[i].axes, found->outer) &&
            !axis_list_has(holders[i].axes, found->inner))
            return &holders[i];
    return NULL;
}

// The product with those of its axes that `order` has in that order.
static struct axis_list reordered(const struct axis_list *product, const struct axis_list *order) {
    struct axis_list axes = *product;
    for (unsigned i = 0, next = 0; i < axes.n; i++) {
        if (!axis_list_has(order, axes.axes[i]))
            continue;
        while (!axis_list_has(product, order->axes[next]))
            next++;
        axes.axes[i] = order->axes[next++];
    }
    return axes;
}

// All products, of all states and tensors: with one of them mended the next would be refused. What
// a tuple or `use` says of several states is one product.
static void propose_order(struct placing *p, struct diagnostic *d, const struct axis_list *order) {
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        struct axis_list axes = reordered(&mode->axes, order);
        if (mode->state != STATE_ACTIVATIONS && mode->extent != EXTENT_REPLICATED &&
            !axis_list_equal(&axes, &mode->axes) && !is_edited(d, mode->axes_span))
            diagnostic_edit(d, mode->axes_span, "%s", product_text(p, &axes));
    }
}

// E309. A product has an order, and by it a device's part of one state is not, or does not lie in,
// its part of another.
static void report_order(struct placing *p, const struct storage *storage,
                         const struct reversal *found) {
    const struct mode_statement *mode = storage->modes[found->state][found->outer];
    const char *order = product_text(p, &storage->shards[STATE_OPTIMIZER]);
    struct axis_list said = effective_axes(p, &mode->axes);
    struct holder holders[N_HOLDERS];
    holders_of(storage, holders);
    const struct holder *holder = holder_of(holders, found);
    struct diagnostic *d;
    if (holder) {
        d = report(p->diagnostics, E309, origin_span(&mode->origin),
                   "shards over `%s` do not lie in those of %s over `%s`", product_text(p, &said),
                   holder->what, product_text(p, holder->axes));
        diagnostic_say(d, "the outer cut is over `%s`", axis_name(p, found->inner));
        diagnostic_label(d, origin_span(stored_origin(storage, holder->state, found->outer)),
                         "cut over `%s` only", product_text(p, holder->axes));
    } else {
        d = report(p->diagnostics, E309, origin_span(&mode->origin),
                   "%s are cut over `%s`, but the optimizer over `%s`", state_names[found->state],
                   product_text(p, &said), order);
        diagnostic_say(d, "a device's part of one is not its part of the other");
        diagnostic_label(d, origin_span(stored_origin(storage, STATE_OPTIMIZER, found->outer)),
                         "the update works on parts in this order");
    }
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d,
                    "name the axes in one order in every product that has them, `%s`, or each in a "
                    "statement of its own, which says no order",
                    order);
    propose_order(p, d, &storage->shards[STATE_OPTIMIZER]);
}

void check_nesting(struct placing *p, const struct storage *storage) {
    struct reversal found;
    if (check_chain(p, storage) && find_reversal(storage, &found))
        report_order(p, storage, &found);
}

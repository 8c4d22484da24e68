// Which inputs are read in turns: views of them that lack a digit, whose place is a number.
#include "equal/values/turns.h"

#include "equal/values/make.h"

// The digit that an index of so many places lacks. False: none, or several.
static bool find_gap(const struct affine *index, int64_t size, struct turn *turn) {
    int64_t at = 1;
    uint32_t n = 0;
    for (uint32_t i = index->n + 1; i-- > 0;) {
        int64_t next = i > 0 ? index->pieces[i - 1].coefficient : size;
        if (next < at || next % at != 0 || (i > 0 && index->pieces[i - 1].shift != 0))
            return false;
        if (next > at) {
            turn->stride = at;
            turn->count = next / at;
            n++;
        }
        if (i == 0)
            break;
        int64_t extent = index->pieces[i - 1].extent;
        if (extent > size / next) // the quotient of an index of which no end is known
            return false;
        at = next * extent;
    }
    return n == 1 && turn->count <= MOST_TURNS_OF && index->base % turn->stride == 0;
}

static void add_turn(struct turn_list *list, struct turn turn) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->of[i].input == turn.input && list->of[i].dimension == turn.dimension)
            return;
    if (list->n < MOST_TURN_LISTS)
        list->of[list->n++] = turn;
}

void turns_find(const struct calculus *c, uint32_t first, struct turn_list *list) {
    list->n = 0;
    for (uint32_t node = first; node < c->terms.n_nodes; node++) {
        struct term term = {node, 0}, of;
        if (term_kind(&c->terms, term) != KIND_VIEW)
            continue;
        of = term_part(&c->terms, term, 0).of;
        if (term_kind(&c->terms, of) != KIND_INPUT)
            continue;
        const int64_t *words = value_attributes(c, term);
        struct turn turn = {.input = term_node(&c->terms, of)->key->attributes - 1};
        struct view view;
        view_get(&c->views, (view_id)words[1 + words[0]], &view);
        for (turn.dimension = 0; turn.dimension < view.n; turn.dimension++)
            if (find_gap(&view.of[turn.dimension], value_space(c, of)->sizes[turn.dimension],
                         &turn))
                add_turn(list, turn);
    }
}

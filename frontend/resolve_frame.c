// What the text of a strategy means in the frame in which it is expanded: names that may be
// parameters, and where a statement comes from.
#include "frontend/expand.h"

#include <string.h>

// The chain goes from the inside out: the statement in the library, brought by a `use` there,
// brought by the user's. The outermost link is the one that a message underlines, since that is the
// text one can change.
struct origin origin_in_frame(struct arena *arena, const struct frame *frame, struct span span) {
    struct origin origin = origin_statement(span);
    for (; frame->outer; frame = frame->outer) {
        struct origin *inner = ARENA_NEW(arena, struct origin);
        *inner = origin;
        origin = (struct origin){.kind = ORIGIN_USE, .span = frame->use, .inner = inner};
    }
    return origin;
}

// A parameter hides an axis of the mesh that has its name, as in any language.
static const struct binding *find_binding(const struct frame *frame, const char *name) {
    for (uint32_t i = 0; i < frame->n_bindings; i++)
        if (strcmp(frame->bindings[i].name, name) == 0)
            return &frame->bindings[i];
    return NULL;
}

// One name at a time, because a parameter may itself stand for a product.
bool resolve_product(struct resolver *r, const struct frame *frame, const struct ast_names *names,
                     struct axis_list *list) {
    *list = (struct axis_list){0};
    for (uint32_t i = 0; i < names->n; i++) {
        const struct ast_name *name = &names->items[i];
        const struct binding *binding = find_binding(frame, name->text);
        struct ast_names one = {.items = (struct ast_name *)name, .n = 1, .span = name->span};
        struct axis_list added;
        if (binding && binding->kind == BINDING_VALUE) {
            report(r->diagnostics, E105, name->span, "`%s` is a parameter, but no axis",
                   name->text);
            return false;
        }
        if (binding)
            added = binding->axes;
        else if (!resolve_axes(r, &one, &added))
            return false;
        if (axis_list_mask(list) & axis_list_mask(&added)) {
            report(r->diagnostics, E120, name->span, "`%s` brings an axis in twice", name->text);
            return false;
        }
        for (uint32_t k = 0; k < added.n; k++)
            list->axes[list->n++] = added.axes[k];
    }
    return true;
}

struct span product_span(const struct frame *frame, const struct ast_names *names) {
    const struct binding *binding =
        names->n == 1 ? find_binding(frame, names->items[0].text) : NULL;
    return binding && binding->kind == BINDING_AXES ? binding->span : names->span;
}

// Only a name alone is replaced: parameters stand for values, not for parts of them.
const struct ast_value *substitute(const struct frame *frame, const struct ast_value *value) {
    const struct binding *binding =
        value->kind == AST_NAME ? find_binding(frame, value->name) : NULL;
    return binding && binding->kind == BINDING_VALUE ? binding->value : value;
}

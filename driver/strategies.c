// See strategies.h.
#include "driver/strategies.h"

#include <string.h>

static bool stands_alone(const struct ast_item *item) {
    return item->kind == ITEM_STRATEGY &&
           (item->strategy.parameters.n == 0 || strcmp(item->name.text, "main") == 0);
}

struct strategy_names lone_strategies(struct arena *arena, const struct ast_file *file) {
    struct strategy_names names = {0};
    for (uint32_t i = 0; i < file->n; i++)
        if (stands_alone(&file->items[i])) {
            const char *name = arena_format(arena, "%s", file->items[i].name.text);
            ARENA_PUSH(arena, names.items, names.n, names.cap, name);
        }
    return names;
}

static bool body_uses(const struct ast_body *body, const char *name) {
    bool uses = false;
    for (uint32_t i = 0; i < body->n && !uses; i++) {
        const struct ast_statement *s = &body->items[i];
        if (s->kind == STATEMENT_USE)
            uses = strcmp(s->use.name.text, name) == 0;
        else if (s->kind == STATEMENT_IN || s->kind == STATEMENT_RELAX)
            uses = body_uses(s->kind == STATEMENT_IN ? &s->in.body : &s->relax.body, name);
    }
    return uses;
}

bool is_used_strategy(const struct ast_file *file, const char *name) {
    for (uint32_t i = 0; i < file->n; i++)
        if (file->items[i].kind == ITEM_STRATEGY && body_uses(&file->items[i].strategy.body, name))
            return true;
    return false;
}

struct options options_of_strategy(const struct options *options, const char *name) {
    struct options own = *options;
    own.values[OPTION_STRATEGY] = name;
    own.one_of_several = true;
    return own;
}

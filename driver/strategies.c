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

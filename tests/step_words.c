// See step_words.h.
#include "tests/step_words.h"

#include <ctype.h>
#include <string.h>

#include "ir/ir.h"

// Words of the grammar that stand in each other's place, and those of ops' attributes.
static const char *const statements[] = {"call", "start", "wait", "zero", "free", "task"};
static const char *const places[] = {"inline", "out"};
static const char *const clauses[] = {"every",  "way",  "kept", "over", "as",   "of",     "host",
                                      "around", "from", "by",   "pad",  "flat", "window", "on"};
static const char *const tasks[] = {"F", "B", "I", "W"};
static const char *const activations[] = {"tanh", "erf"};

#define TABLE_OF(name, words)                                                                      \
    { name, words, sizeof(words) / sizeof *(words) }
static const struct word_table tables[] = {
    TABLE_OF("class", class_names),
    TABLE_OF("element type", dtype_names),
    TABLE_OF("dimension", dimension_names),
    TABLE_OF("collective", collective_names),
    TABLE_OF("operation", operation_names),
    TABLE_OF("way", wire_way_names),
    TABLE_OF("host role", host_role_names),
    TABLE_OF("role", role_names),
    TABLE_OF("phase", phase_names),
    TABLE_OF("step", step_names),
    TABLE_OF("initial values", init_names),
    TABLE_OF("attribute", attribute_names),
    TABLE_OF("statement", statements),
    TABLE_OF("stack", stack_names),
    TABLE_OF("tier", tier_names),
    TABLE_OF("place", places),
    TABLE_OF("clause", clauses),
    TABLE_OF("task", tasks),
    TABLE_OF("activation", activations),
    TABLE_OF("rate", rate_names),
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// Parts of longer names are none, but those of a path of roles, behind `role `.
static bool is_in_name(const char *text, size_t begin, size_t at, size_t end_of_word) {
    size_t first = at;
    while (first > begin && (is_of_word(text[first - 1]) || strchr(".%", text[first - 1])))
        first--;
    bool longer = first < at || text[end_of_word] == '.';
    return longer && !(first >= begin + 5 && strncmp(text + first - 5, "role ", 5) == 0);
}

static void add(struct arena *arena, struct step_words *words, const char *text, size_t begin,
                size_t end, const struct word_table *table) {
    for (size_t i = 0; i < table->n; i++)
        if (strlen(table->words[i]) == end - begin &&
            strncmp(table->words[i], text + begin, end - begin) == 0)
            ARENA_PUSH(arena, words->items, words->n, words->capacity,
                       (struct step_word){begin, end, table, i});
}

// Those of the header: `axis dp = 4`.
static const struct word_table *axes_of(struct arena *arena, const char *text, size_t end) {
    struct word_table *table = ARENA_NEW(arena, struct word_table);
    const char **names = ARENA_ARRAY(arena, const char *, MAX_AXES);
    *table = (struct word_table){.name = "axis", .words = names};
    const char *at = text;
    while (table->n < MAX_AXES && (at = strstr(at, "\n  axis ")) && at < text + end) {
        at += strlen("\n  axis ");
        size_t length = 0;
        while (is_of_word(at[length]))
            length++;
        names[table->n++] = arena_string(arena, at, length);
    }
    return table;
}

static const struct word_table *ops_of(struct arena *arena) {
    struct word_table *table = ARENA_NEW(arena, struct word_table);
    const char **names = ARENA_ARRAY(arena, const char *, N_OPS);
    for (int op = 0; op < N_OPS; op++)
        names[op] = op_rows[op].text;
    *table = (struct word_table){"op", names, N_OPS};
    return table;
}

struct step_words step_words_of(struct arena *arena, const char *text, size_t begin, size_t end) {
    struct step_words words = {0};
    const struct word_table *axes = axes_of(arena, text + begin, end - begin);
    const struct word_table *ops = ops_of(arena);
    for (size_t at = begin, behind; at < end; at = behind) {
        behind = at + 1;
        if (!is_of_word(text[at]))
            continue;
        while (behind < end && is_of_word(text[behind]))
            behind++;
        if (is_in_name(text, begin, at, behind))
            continue;
        for (size_t i = 0; i < N_TABLES; i++)
            add(arena, &words, text, at, behind, &tables[i]);
        add(arena, &words, text, at, behind, ops);
        add(arena, &words, text, at, behind, axes);
    }
    return words;
}

char *text_replaced(struct arena *arena, const char *text, size_t begin, size_t end,
                    const char *by) {
    return arena_format(arena, "%.*s%s%s", (int)begin, text, by, text + end);
}

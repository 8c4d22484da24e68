// placec explain CODE...: the pages of diagnostics' codes; `placec explain roles`: the table of
// roles; `placec explain coming-from`: what other systems' settings are here.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "driver/options.h"
#include "frontend/frontend.h"
#include "ir/diagnostic.h"
#include "ir/ir.h"
#include "runtime/host/columns.h"

static void print_role(enum role role, int depth) {
    if (role != ROLE_NONE)
        print_words(stdout, role_owns[role],
                    printf("%*s%-*s ", 2 * depth, "", 16 - 2 * depth, role_names[role]));
    for (int i = ROLE_NONE + 1; i < N_ROLES; i++)
        if (role_parents[i] == role)
            print_role(i, depth + (role != ROLE_NONE));
}

static int explain_roles(void) {
    print_words(
        stdout,
        "A selector names roles, `layers[0:4].attention.norm`; a role alone matches at every "
        "depth.",
        0);
    putchar('\n');
    print_role(ROLE_NONE, 0);
    return STATUS_OK;
}

static int explain_coming_from(void) {
    printf("What settings of other systems are here. N stands for their value.\n");
    for (int s = 0; s < N_OTHER_SYSTEMS; s++) {
        printf("\n%s\n", other_system_names[s]);
        for (int i = 0; i < n_other_words; i++) {
            const struct other_word *word = &other_words[i];
            if (!(word->systems >> s & 1))
                continue;
            printf("  %s\n", word->theirs);
            char line[512];
            size_t n =
                (size_t)snprintf(line, sizeof line, word->is_name ? "`%s`" : "%s", word->ours);
            for (size_t k = 0; k < n && k < sizeof line; k++)
                line[k] = line[k] == '$' ? 'N' : line[k];
            printf("%6s", "");
            print_words(stdout, line, 6);
        }
    }
    return STATUS_OK;
}

#define TOPIC(name, function) +1
enum {
    N_TOPICS = 0
#include "driver/topics.def"
};
#undef TOPIC

static int unknown_code(const struct options *options, const char *given) {
    const char *known[N_DIAGNOSTIC_CODES + N_TOPICS] = {
#define TOPIC(name, function) name,
#include "driver/topics.def"
#undef TOPIC
    };
    for (int i = 0; i < N_DIAGNOSTIC_CODES; i++)
        known[N_TOPICS + i] = diagnostic_rows[i].text;
    usage_unknown(options, "there is no code or topic", given, known, sizeof known / sizeof *known,
                  "codes stand in brackets behind `error` and `warning`, as in error[E402]");
    return STATUS_REFUSED;
}

static bool begins_code(const char *line) {
    return strncmp(line, "```", 3) == 0;
}

static bool begins_item(const char *line) {
    return strncmp(line, "- ", 2) == 0;
}

// Ends a paragraph of several lines as one: at the line's end that is behind it, which is returned.
static char *join_paragraph(char *line) {
    for (;; line++) {
        line += strcspn(line, "\n");
        if (!*line || !line[1] || line[1] == '\n' || begins_code(line + 1) || begins_item(line + 1))
            return line;
        *line = ' ';
    }
}

// The lines of an item stand below its first word.
static void print_paragraph(const char *text) {
    bool item = begins_item(text);
    if (item)
        fputs("- ", stdout);
    print_words(stdout, item ? text + 2 : text, item ? 2 : 0);
}

// Paragraphs as wide as a terminal, code as it stands.
static void print_page(char *page) {
    bool code = false;
    while (*page) {
        bool fence = begins_code(page), as_it_stands = code || fence || *page == '\n';
        char *end = as_it_stands ? page + strcspn(page, "\n") : join_paragraph(page);
        bool last = !*end;
        *end = 0;
        if (as_it_stands)
            puts(page);
        else
            print_paragraph(page);
        code ^= fence;
        page = last ? end : end + 1;
    }
}

// Pages are embedded in the command: it explains itself wherever it was copied to.
static int explain_code(const struct options *options, const char *given) {
    int code = diagnostic_find(given);
    if (code < 0)
        return unknown_code(options, given);
    const char *page = diagnostic_page(code);
    struct arena arena = {0};
    printf("%s: %s\n\n", diagnostic_rows[code].text, diagnostic_rows[code].title);
    print_page(arena_format(&arena, "%s", page ? page : "This code has no page yet.\n"));
    arena_free(&arena);
    return STATUS_OK;
}

static int explain(const struct options *options, const char *given) {
    static const struct {
        const char *name;
        int (*explain)(void);
    } topics[] = {
#define TOPIC(name, function) {name, function},
#include "driver/topics.def"
#undef TOPIC
    };
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        if (strcmp(topics[i].name, given) == 0)
            return topics[i].explain();
    return explain_code(options, given);
}

// Several, in their order: a refused file may have several errors.
int verb_explain(const struct options *options) {
    int status = STATUS_OK;
    for (int i = 0; i < options->n_operands; i++) {
        const char *given = options->operands[i];
        if (i > 0)
            putchar('\n');
        int one = explain(options, given);
        status = one == STATUS_OK ? status : one;
    }
    return status;
}

// Parsing one source.
//
// flex and bison are reentrant here: all state is in struct parser, which a call makes and ends.
// The grammar has two goals, a file and one setting of the command line; which is meant is said by
// a token that the text does not have (tokens.c).
#include "frontend/tokens.h"
#include "ir/check.h"

#include <string.h>

// flex's own header would bring macros of all names; these are the functions that are needed.
int place_scan_lex_init_extra(struct parser *extra, void **scanner);
int place_scan_lex_destroy(void *scanner);
struct yy_buffer_state *place_scan__scan_bytes(const char *bytes, int n, void *scanner);

// One scanner and one parser per text; nothing outlives the call but nodes and messages.
static void parse(struct parser *p, uint32_t source) {
    const struct source_file *file = &p->diagnostics->sources->items[source];
    p->source = source;
    p->text = file->text;
    p->length = file->length;
    p->held_token = -1;
    CHECK(place_scan_lex_init_extra(p, &p->scanner) == 0);
    p->offset = text_begin(p->text, p->length);
    place_scan__scan_bytes(p->text + p->offset, (int)(p->length - p->offset), p->scanner);
    place_parse(p); // what is wrong has been reported
    place_scan_lex_destroy(p->scanner);
}

// What could be read is in `file` also where something could not: the rest is still looked up.
void parse_source_with_tokens(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                              struct ast_file *file, struct token_list *tokens) {
    struct parser p = {
        .arena = arena, .diagnostics = diagnostics, .goal = PARSE_FILE, .tokens = tokens};
    parse(&p, source);
    *file = p.file;
    file->source = source;
}

void parse_source(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                  struct ast_file *file) {
    parse_source_with_tokens(arena, diagnostics, source, file, NULL);
}

// `name = value` as in a block. Without a value: reported.
struct ast_field parse_setting(struct arena *arena, struct diagnostics *diagnostics,
                               uint32_t source) {
    struct parser p = {.arena = arena, .diagnostics = diagnostics, .goal = PARSE_SETTING};
    parse(&p, source);
    return p.setting;
}

// The words of syntax errors. bison tells what was found and what could have been; the sentence that a
// person reads is composed here, with what was probably meant.
#include "frontend/actions.h"
#include "frontend/resolve.h"
#include "frontend/tokens.h"
#include "ir/ir.h"

#include <ctype.h>
#include <string.h>

// bison's name of a symbol in a sentence: keywords and signs in backquotes, kinds as they are.
static const char *symbol_in_sentence(struct arena *arena, const char *symbol) {
    if (symbol[0] == '\'')
        return arena_format(arena, "`%c`", symbol[1]);
    if (strchr(symbol, ' '))
        return symbol;
    return arena_format(arena, "`%s`", symbol);
}

// A setting of the command line has an end, but is no file.
static const char *symbol_of_goal(const struct parser *p, const char *symbol) {
    bool is_end = strcmp(symbol, "the end of the file") == 0;
    return is_end && p->goal == PARSE_SETTING ? "the end" : symbol;
}

static bool contains(const char *const *symbols, int n, const char *symbol) {
    for (int i = 0; i < n; i++)
        if (strcmp(symbols[i], symbol) == 0)
            return true;
    return false;
}

// "`,`, `)` or `by`"; NULL when the list would explain nothing.
static const char *expected_words(struct arena *arena, const char *const *expected, int n) {
    enum { MOST_SAID = 5 };
    if (contains(expected, n, "split"))
        return "a statement or `}`";
    if (contains(expected, n, "import"))
        return "`import`, `model`, `device`, `mesh`, `train`, `strategy`, `step` or `unit`";
    if (contains(expected, n, "a number with a unit"))
        return contains(expected, n, "')'") ? "a value or `)`" : "a value";
    if (contains(expected, n, "')'") && contains(expected, n, "','"))
        return "`,` or `)`";
    if (n == 0 || n > MOST_SAID)
        return NULL;
    const char *words = "";
    for (int i = 0; i < n; i++)
        words = arena_format(arena, "%s%s%s", words,
                             !i           ? ""
                             : i == n - 1 ? " or "
                                          : ", ",
                             symbol_in_sentence(arena, expected[i]));
    return words;
}

// What stands in the text, but long tokens by their kind and virtual ones by their sign.
static const char *found_words(struct parser *p, struct span span, const char *found) {
    if (strncmp(found, "the ", 4) == 0) // "unexpected end of the file"
        return found + 4;
    if (strcmp(found, "a string in quotes") == 0 || strcmp(found, "a program in braces") == 0 ||
        span.begin == span.end)
        return symbol_in_sentence(p->arena, found);
    return arena_format(p->arena, "`%.*s`", (int)(span.end - span.begin), p->text + span.begin);
}

// A name that is nearly a keyword which may stand here.
static void suggest_keyword(struct parser *p, struct diagnostic *d, struct span span,
                            const char *const *expected, int n) {
    const char *keywords[16];
    size_t n_keywords = 0;
    for (int i = 0; i < n; i++)
        if (expected[i][0] != '\'' && !strchr(expected[i], ' '))
            keywords[n_keywords++] = expected[i];
    const char *word = arena_string(p->arena, p->text + span.begin, span.end - span.begin);
    diagnostic_meant(d, span, word, keywords, n_keywords);
}

// The word in front, with nothing but these characters between.
static struct span word_behind_which(const struct parser *p, struct span span,
                                     const char *between) {
    uint32_t end = span.begin;
    while (end > 0 && strchr(between, p->text[end - 1]))
        end--;
    uint32_t begin = end;
    while (begin > 0 && (isalnum((unsigned char)p->text[begin - 1]) || p->text[begin - 1] == '_'))
        begin--;
    return span_of(span.source, begin, end);
}

// The word in front of one, which the parser took for the name of a state.
static struct span word_before(const struct parser *p, struct span span) {
    return word_behind_which(p, span, " \t\r\n");
}

// The number behind a word and a sign or nothing, `zero_stage = 2`, `fsdp(8)`; NULL: none.
static const char *number_behind(const struct parser *p, struct span word) {
    const char *at = p->text + word.end;
    at += strspn(at, " \t");
    at += strspn(at, "=:(");
    at += strspn(at, " \t");
    size_t digits = strspn(at, "0123456789");
    return digits ? arena_string(p->arena, at, digits) : NULL;
}

static bool is_before_word(const struct parser *p, struct span span, const char *word) {
    const char *behind = p->text + span.end + strspn(p->text + span.end, " \t\r\n");
    size_t length = strlen(word);
    return strncmp(behind, word, length) == 0 && strchr(" \t\r\n", behind[length]);
}

// A misspelt keyword at the beginning of a statement reads as the name of a state: what cannot
// stand there is the word behind it. What is done over axes is a split, whatever the verb.
static void suggest_statement(struct parser *p, struct diagnostic *d, struct span span) {
    static const char *const statements[] = {"split", "states", "use", "in", "relax"};
    struct span before = word_before(p, span);
    const char *word = arena_string(p->arena, p->text + before.begin, before.end - before.begin);
    if (!diagnostic_meant(d, before, word, statements, sizeof statements / sizeof *statements) &&
        is_before_word(p, span, "over"))
        diagnostic_meant(d, before, "split", statements, 1);
}

// `zero3(dp)`: a strategy by its name alone.
static void suggest_use(struct parser *p, struct diagnostic *d, struct span span) {
    struct span before = word_before(p, span);
    const char *word = arena_string(p->arena, p->text + before.begin, before.end - before.begin);
    diagnostic_help(d, "another strategy is taken in with `use %s(...)`", word);
    diagnostic_edit(d, before, "use %s", word);
}

static bool is_option_of_mode(const char *word) {
    static const char *const options[] = {
#define MODE(...)
#define OPTION(mode, text, reader, states)                    text,
#define RELAXED_OPTION(mode, text, reader, states, condition) text,
#include "frontend/modes.def"
#undef RELAXED_OPTION
#undef OPTION
#undef MODE
    };
    return table_find(options, sizeof options / sizeof *options, word) >= 0;
}

// A field where its block is not: whether the word is one. `value` is what it would be set to.
static bool help_block_of(struct parser *p, struct diagnostic *d, const char *word,
                          const char *value) {
    const char *setting = setting_of(p->arena, word, value);
    if (setting)
        diagnostic_help(d, "`%s` is said in `%.*s { ... }`", word, (int)strcspn(setting, "."),
                        setting);
    return setting;
}

// `precision { ... }` in a strategy.
static void suggest_block(struct parser *p, struct diagnostic *d, struct span word) {
    help_block_of(p, d, arena_string(p->arena, p->text + word.begin, word.end - word.begin), "");
}

// `optimizer = sharded(dp)`; a number is of something that is said elsewhere.
static void suggest_mode(struct parser *p, struct diagnostic *d, struct span span) {
    struct span before = word_before(p, span);
    const char *number = number_behind(p, before);
    if (!number) {
        diagnostic_help(d, "modes stand behind `:`");
        diagnostic_edit(d, span, ":");
        return;
    }
    const char *word = arena_string(p->arena, p->text + before.begin, before.end - before.begin);
    if (help_block_of(p, d, word, number))
        return;
    if (is_option_of_mode(word))
        diagnostic_help(d, "options stand in a mode: `STATE : MODE(AXES, %s = %s)`", word, number);
    else
        diagnostic_help(d, "an axis and its size stand in the mesh: `mesh NAME { %s = %s }`", word,
                        number);
}

// A file's name without quotes, up to the next blank or bracket. What begins a line is the next statement.
static void suggest_quotes(struct parser *p, struct diagnostic *d, struct span span) {
    uint32_t length = (uint32_t)strcspn(p->text + span.begin, " \t\r\n\"{}()");
    if (length == 0 || begins_line(p, span.begin))
        return;
    const char *name = arena_string(p->arena, p->text + span.begin, length);
    diagnostic_help(d, "a file's name stands in quotes: `\"%s\"`", name);
    diagnostic_edit(d, span_of(span.source, span.begin, span.begin + length), "\"%s\"", name);
}

// Where what stands before this place ends.
static uint32_t without_blanks(const struct parser *p, uint32_t end) {
    while (end > 0 && strchr(" \t\r\n", p->text[end - 1]))
        end--;
    return end;
}

// Suggests a comma behind what stands before the span.
static void suggest_comma(struct parser *p, struct diagnostic *d, struct span span) {
    uint32_t end = without_blanks(p, span.begin);
    diagnostic_help(d, "a comma stands between two of these");
    diagnostic_edit(d, span_of(span.source, end, end), ",");
}

// What a value begins with that a field's name does not go on with.
static bool is_value_or_colon(const char *found) {
    return strcmp(found, "a number") == 0 || strcmp(found, "a number with a unit") == 0 ||
           strcmp(found, "a string in quotes") == 0 || strcmp(found, "':'") == 0;
}

// `microbatch 2`, or `batch: 8` as elsewhere.
static void suggest_equals(struct parser *p, struct diagnostic *d, struct span span) {
    struct span before = word_before(p, span);
    bool is_sign = p->text[span.begin] == ':';
    diagnostic_help(d, "the value stands behind `=`");
    struct span at = is_sign ? span : span_of(span.source, before.end, before.end);
    diagnostic_edit(d, at, "%s=", at.begin > before.end ? "" : " ");
}

static bool is_word(const struct parser *p, struct span span, const char *word) {
    return span.end - span.begin == strlen(word) &&
           strncmp(p->text + span.begin, word, strlen(word)) == 0;
}

// Where a comma may not stand: between axes, or between what is in braces.
static void suggest_no_comma(struct parser *p, struct diagnostic *d, struct span span) {
    struct span axis = word_before(p, span), before = word_before(p, axis);
    if (is_word(p, before, "over") || is_word(p, before, "on")) {
        diagnostic_help(d, "the axes of a product are joined by `*`, outermost first");
        diagnostic_edit(d, span, " *");
    } else {
        diagnostic_help(d, "nothing stands between what is in braces: leave `,` out");
        diagnostic_edit(d, span, "%s", "");
    }
}

// `sharded(by tensor)`, `sharded(dp, by tensor)`, `sharded(dp, by = tensor)`: the way to cut is no option.
static void suggest_way_to_cut(struct parser *p, struct diagnostic *d, struct span span) {
    uint32_t before = without_blanks(p, span.begin);
    uint32_t behind = span.end + (uint32_t)strspn(p->text + span.end, " \t");
    diagnostic_help(d, "how a state is cut stands behind its axes: `sharded(dp by tensor)`");
    if (before > 0 && p->text[before - 1] == ',')
        diagnostic_edit(d,
                        span_of(span.source, without_blanks(p, before - 1),
                                p->text[behind] == '=' ? behind + 1 : span.end),
                        " by");
}

// `states : offloaded`: a mode where a letter of each state is taken.
static void suggest_letters(struct parser *p, struct diagnostic *d, struct span span) {
    if (is_word(p, word_behind_which(p, span, " \t:"), "states"))
        diagnostic_help(d,
                        "`states` takes a letter of each, as in `states : (R, S, S, R) on dp`; "
                        "of one state say `optimizer : %.*s`",
                        (int)(span.end - span.begin), p->text + span.begin);
}

// ---- `of` behind a field's value ----------------------------------------------------------------

// The grammar knows no field by its name: dimensions may stand behind the value of any, so that
// what is told of them elsewhere is not a mistake in signs. But they are for this one.
static bool takes_dimensions(const struct parser *p) {
    const struct ast_path *field = &p->assigned;
    return field->n && strcmp(field->items[field->n - 1].name.text, "reproducible") == 0;
}

// Whether the span may stand behind a field: not in a value's brackets nor in front of a strategy's
// body, where `of` has other meanings. A bracket that is itself what cannot stand here encloses
// nothing.
static bool is_behind_field(const struct parser *p, struct span span) {
    uint32_t n = p->n_brackets;
    if (n && p->brackets[n - 1].span.begin == span.begin)
        n--;
    return n ? p->brackets[n - 1].kind == '{' : p->goal == PARSE_SETTING;
}

// Keeps the symbols that are worth saying. Returns how many.
static int keep_meant(const struct parser *p, struct span span, const char *const *symbols, int n,
                      const char **meant) {
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (strcmp(symbols[i], "of") != 0 || !is_behind_field(p, span) || takes_dimensions(p))
            meant[kept++] = symbol_of_goal(p, symbols[i]);
    return kept;
}

static bool is_dimension(const struct parser *p, struct span span) {
    for (int i = 0; i < N_DIMENSIONS; i++)
        if (is_word(p, span, dimension_names[i]))
            return true;
    return false;
}

// `8 of (batch, ffn)`, `8 of batch ffn`, `8 batch`, `8 of batch, ` and a field: what is wrong is in
// the list, or in what stands for `of`.
static void suggest_dimensions(struct parser *p, struct diagnostic *d, struct span span,
                               const char *const *expected, int n) {
    if (!is_behind_field(p, span) || !takes_dimensions(p))
        return;
    bool begins_field = contains(expected, n, "'='");
    bool in_list = !begins_field && (contains(expected, n, "','") || n == 1);
    bool beside = begins_field && (is_dimension(p, span) || is_dimension(p, word_before(p, span)));
    if (in_list || beside)
        diagnostic_help(d, "dimensions stand behind `of`, with commas between: "
                           "`reproducible = 8 of batch, ffn`");
}

// ---- words of other systems ---------------------------------------------------------------------

// A word that another system has, be it what cannot stand here or what is before that. Then what is
// wrong is not the sign between.
static bool suggest_said_here(struct parser *p, struct diagnostic *d, struct span span) {
    struct span words[] = {span, word_behind_which(p, span, " \t:=")};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word =
            arena_string(p->arena, p->text + words[i].begin, words[i].end - words[i].begin);
        if (help_said_here(d, word, number_behind(p, words[i])))
            return true;
    }
    return false;
}

// ---- a config.json ------------------------------------------------------------------------------

// An object is the first thing in the text: what says what a model is was given in place of what
// says how to train it.
static bool is_json(const struct parser *p, struct span span) {
    return p->goal == PARSE_FILE && p->text[span.begin] == '{' &&
           strspn(p->text, " \t\r\n") == span.begin;
}

// A whole file around it, of sizes that fit any model.
static void report_json_text(struct parser *p, struct span span) {
    const char *path = p->diagnostics->sources->items[p->source].name;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct diagnostic *d =
        report(p->diagnostics, E101, span,
               "this is JSON: it may say what a model is, but not how to train it");
    diagnostic_note(d, "model m from \"%s\"", name);
    diagnostic_note(d, "device d { memory = 80 GiB }");
    diagnostic_note(d, "mesh devices of d { dp = 8 }");
    diagnostic_note(d, "train { batch = 64  sequence = 1024  optimizer = adamw(lr = 3e-4) }");
    diagnostic_note(d, "strategy main { split batch over dp }");
    diagnostic_help(d, "write these lines into a .place file beside it, with sizes of your own");
}

// ---- the whole ---------------------------------------------------------------------------------

// The word that cannot stand here, what could, the bracket it may be about, and the keyword that
// was probably meant. Only the first mistake of a part is reported; bison skips to the next part.
void report_unexpected(struct parser *p, struct span span, const char *found,
                       const char *const *symbols, int n_symbols) {
    if (p->stopped)
        return; // the text was cut off; that has been said
    const char **expected = ARENA_ARRAY(p->arena, const char *, (size_t)n_symbols + 1);
    int n_expected = keep_meant(p, span, symbols, n_symbols, expected);
    p->wrong_at = span.begin;
    if (is_json(p, span)) {
        report_json_text(p, span);
        return;
    }
    const char *wanted = expected_words(p->arena, expected, n_expected);
    struct diagnostic *d = report(p->diagnostics, E101, span, "unexpected %s",
                                  found_words(p, span, symbol_of_goal(p, found)));
    if (wanted)
        diagnostic_say(d, "expected %s", wanted);
    if (suggest_said_here(p, d, span))
        return;
    const struct open_bracket *open = p->n_brackets ? &p->brackets[p->n_brackets - 1] : NULL;
    if (open && open->kind != '{' && open->span.begin < span.begin)
        diagnostic_label(d, open->span, "`%c` opened here", open->kind);
    if (strcmp(found, "by") == 0 && open && open->kind == '(')
        suggest_way_to_cut(p, d, span);
    if (contains(expected, n_expected, "'('") && n_expected == 1)
        suggest_letters(p, d, span);
    if (strcmp(found, "','") == 0 && open && open->kind == '{' && p->text[span.begin] == ',')
        suggest_no_comma(p, d, span);
    if (contains(expected, n_expected, "a string in quotes") && n_expected == 1)
        suggest_quotes(p, d, span);
    if (strcmp(found, "'='") == 0 && wanted && strcmp(wanted, "a value") == 0) {
        diagnostic_help(d, "leave it out");
        diagnostic_edit(d, span, "%s", "");
    }
    if (contains(expected, n_expected, "','") && contains(expected, n_expected, "')'") &&
        (found[0] != '\'' || found[1] == '(') && !begins_line(p, span.begin))
        suggest_comma(p, d, span);
    bool behind_name =
        contains(expected, n_expected, "':'") && contains(expected, n_expected, "'['");
    if (strcmp(found, "'('") == 0 && behind_name)
        suggest_use(p, d, span);
    if (strcmp(found, "'='") == 0 && behind_name)
        suggest_mode(p, d, span);
    if (strcmp(found, "'{'") == 0 && behind_name)
        suggest_block(p, d, word_before(p, span));
    if (contains(expected, n_expected, "'='") &&
        (contains(expected, n_expected, "'['") || n_expected == 1) && is_value_or_colon(found))
        suggest_equals(p, d, span);
    if (!d->help)
        suggest_dimensions(p, d, span, expected, n_expected);
    if (strcmp(found, "a name") != 0 || d->help)
        return;
    suggest_keyword(p, d, span, expected, n_expected);
    if (!d->help && contains(expected, n_expected, "import"))
        suggest_block(p, d, span);
    if (!d->help && contains(expected, n_expected, "over")) {
        diagnostic_help(d, "axes stand behind `over`");
        diagnostic_edit(d, span, "over");
    }
    if (!d->help && behind_name)
        suggest_statement(p, d, span);
}

void report_parser_failure(struct parser *p, struct span span, const char *message) {
    report(p->diagnostics, E123, span, "the text cannot be parsed here: %s", message);
}

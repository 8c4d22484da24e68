// See program_edit.h. A statement is the lines from the one that holds the piece to where its
// brackets are closed and nothing announces more.
#include "tests/program_edit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    size_t begin, end;
};

// NULL: not so many.
static const char *find(const char *text, const char *what, int nth) {
    const char *at = strstr(text, what);
    for (int i = 0; at && i < nth; i++)
        at = strstr(at + 1, what);
    return at;
}

static bool announces_more(const char *text, size_t newline) {
    return newline > 0 && strchr(":,(>", text[newline - 1]);
}

static bool statement(const char *text, const char *what, int nth, struct range *found) {
    const char *at = find(text, what, nth);
    if (!at)
        return false;
    struct range range = {(size_t)(at - text), 0};
    while (range.begin > 0 && text[range.begin - 1] != '\n')
        range.begin--;
    int depth = 0;
    for (size_t i = range.begin; text[i]; i++) {
        depth += strchr("([{", text[i]) != NULL;
        depth -= strchr(")]}", text[i]) != NULL;
        range.end = i + 1;
        if (text[i] == '\n' && depth <= 0 && !announces_more(text, i))
            break;
    }
    *found = range;
    return true;
}

// text[0..begin) + middle + text[end..)
static char *splice(struct arena *arena, const char *text, size_t begin, const char *middle,
                    size_t end) {
    return arena_format(arena, "%.*s%s%s", (int)begin, text, middle, text + end);
}

static char *replace_all(struct arena *arena, const char *text, const char *what, const char *to) {
    char *result = arena_string(arena, text, strlen(text));
    size_t from = 0;
    if (!find(text, what, 0))
        return NULL;
    for (char *at; (at = strstr(result + from, what));) {
        size_t begin = (size_t)(at - result);
        result = splice(arena, result, begin, to, begin + strlen(what));
        from = begin + strlen(to);
    }
    return result;
}

static char *apply(struct arena *arena, const char *text, const struct edit *edit) {
    if (edit->kind == EDIT_REPLACE_ALL)
        return replace_all(arena, text, edit->what, edit->to);
    if (edit->kind == EDIT_REPLACE) {
        const char *found = find(text, edit->what, edit->nth);
        size_t at = (size_t)(found - text);
        return found ? splice(arena, text, at, edit->to, at + strlen(edit->what)) : NULL;
    }
    struct range own, target;
    if (!statement(text, edit->what, edit->nth, &own))
        return NULL;
    const char *moved = arena_string(arena, text + own.begin, own.end - own.begin);
    switch (edit->kind) {
    case EDIT_DOUBLE:
        return splice(arena, text, own.end, moved, own.end);
    case EDIT_INSERT_BEFORE:
        return splice(arena, text, own.begin, arena_format(arena, "%s\n", edit->to), own.begin);
    case EDIT_INSERT_BEHIND:
        return splice(arena, text, own.end, arena_format(arena, "%s\n", edit->to), own.end);
    default:
        break;
    }
    char *rest = splice(arena, text, own.begin, "", own.end);
    if (edit->kind == EDIT_DELETE)
        return rest;
    if (!statement(rest, edit->to, edit->to_nth, &target))
        return NULL;
    size_t at = edit->kind == EDIT_MOVE_BEFORE ? target.begin : target.end;
    return splice(arena, rest, at, moved, at);
}

char *program_try_edit(struct arena *arena, const char *text, const struct edit *edits) {
    char *result = arena_string(arena, text, strlen(text));
    for (; result && edits->kind != EDIT_END; edits++)
        result = apply(arena, result, edits);
    return result;
}

char *program_edit(struct arena *arena, const char *text, const struct edit *edits) {
    char *result = arena_string(arena, text, strlen(text));
    for (; edits->kind != EDIT_END; edits++) {
        result = apply(arena, result, edits);
        if (!result) {
            fprintf(stderr, "no `%s` (%d) in the program\n", edits->what, edits->nth);
            abort();
        }
    }
    return result;
}

const struct overlap overlaps[] = {{"hidden", "logits"},
                                   {"dhidden", "hidden"},
                                   {"loss_sum", "inverse_count"},
                                   {"targets", "tokens"},
                                   {"frame.head_backward", "logits"},
                                   {"saved.attention.v", "block.mlp.up.weight"}};
const size_t n_overlaps = sizeof overlaps / sizeof *overlaps;

void overlap_buffers(struct program *program, const struct overlap *overlap) {
    buffer_id moved = program_find_buffer(program, overlap->moved);
    buffer_id to = program_find_buffer(program, overlap->to);
    program->buffers[moved].offset_bytes = program->buffers[to].offset_bytes;
}

void overlap_keys_and_queries(struct program *program) {
    struct unit *unit = &program->job->units[job_find_unit(program->job, "block_forward")];
    struct value *q = &unit->values[unit_find_value(unit, "attention.q")];
    struct value *k = &unit->values[unit_find_value(unit, "attention.k")];
    k->offset_bytes = q->offset_bytes + type_bytes(&q->type) - 8;
}

struct program *program_read(struct arena *arena, const char *text, uint32_t source) {
    struct text_error error = {0};
    struct program *program = job_only(job_parse(arena, text, strlen(text), source, &error));
    if (!program) {
        fprintf(stderr, "%s\n%s at `%.60s`\n", text, error.message, text + error.span.begin);
        abort();
    }
    job_number(program->job);
    return program;
}

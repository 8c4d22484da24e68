// Comments. Each that names a file is a frame of its own: there are no more of them than lines.
#define _GNU_SOURCE // memmem
#include "equal/fx/frames.h"

#include <string.h>

static struct word line_at(const struct scanner *s) {
    const char *end = memchr(s->at, '\n', (size_t)(s->end - s->at));
    return (struct word){s->at, (uint32_t)((end ? end : s->end) - s->at)};
}

static const char *find(struct word in, const char *text) {
    return memmem(in.text, in.length, text, strlen(text));
}

static struct word behind(struct word line, const char *at) {
    return (struct word){at, (uint32_t)(line.text + line.length - at)};
}

// `:12` behind a file's name, in which there may be colons, too.
static const char *find_line_number(struct word line, uint32_t *number) {
    const char *end = line.text + line.length;
    for (const char *at = line.text; (at = memchr(at, ':', (size_t)(end - at))); at++) {
        uint64_t value = 0;
        const char *digit = at + 1;
        for (; digit < end && *digit >= '0' && *digit <= '9' && value < UINT32_MAX; digit++)
            value = 10 * value + (uint64_t)(*digit - '0');
        if (digit > at + 1 && value < UINT32_MAX &&
            (digit == end || *digit == ' ' || *digit == ',')) {
            *number = (uint32_t)value;
            return at;
        }
    }
    return NULL;
}

// `forward, code: ...` behind ` in `.
static struct word function_of(struct word line, const char *from) {
    struct word rest = behind(line, from);
    const char *in = find(rest, " in ");
    if (!in)
        return (struct word){from, 0};
    rest = behind(line, in + 4);
    struct word name = {rest.text, 0};
    while (name.length < rest.length && rest.text[name.length] != ',')
        name.length++;
    return name;
}

static void read_comment(struct reader *r, struct word line) {
    static const char mark[] = "File: ";
    const char *file = find(line, mark);
    if (!file) {
        if (find(line, "No stacktrace"))
            r->frame = 0;
        return;
    }
    struct word path = behind(line, file + sizeof mark - 1);
    struct source_frame frame = {.line = 0};
    const char *colon = find_line_number(path, &frame.line);
    if (!colon || colon == path.text)
        return;
    struct word function = function_of(line, colon);
    path.length = (uint32_t)(colon - path.text);
    frame.file = words_string(&r->strings, words_number(&r->strings, path), r->s.arena);
    if (function.length)
        frame.function = words_string(&r->strings, words_number(&r->strings, function), r->s.arena);
    ARENA_PUSH(r->s.scratch, r->frames, r->n_frames, r->frames_cap, frame);
    r->frame = r->n_frames - 1;
}

void fx_read_comments(struct reader *r) {
    while (scan_peek(&r->s) == '#') {
        struct word line = line_at(&r->s);
        read_comment(r, line);
        r->s.at += line.length;
    }
}

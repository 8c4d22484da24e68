// Finds where values of JSON stand. Brackets, texts and commas are all that must be known of a sound text.
#include "equal/layout/json_places.h"

#include <string.h>

struct place_scan {
    const char *text;
    uint32_t source, at;
    struct arena *arena;
};

// Goes to the next byte that is neither blank nor between values.
static char next_byte(struct place_scan *scan) {
    scan->at += (uint32_t)strspn(scan->text + scan->at, " \t\r\n,:");
    return scan->text[scan->at];
}

// Passes a text, whose opening quote is here; the span is what stands inside of the quotes.
static struct span pass_text(struct place_scan *scan) {
    uint32_t begin = ++scan->at;
    for (; scan->text[scan->at] != '"'; scan->at++)
        if (scan->text[scan->at] == '\\')
            scan->at++;
    return span_of(scan->source, begin, scan->at++);
}

static struct span pass_word(struct place_scan *scan) {
    uint32_t begin = scan->at;
    scan->at += (uint32_t)strcspn(scan->text + scan->at, " \t\r\n,:]}");
    return span_of(scan->source, begin, scan->at);
}

static struct json_place *pass_value(struct place_scan *scan);

// Passes what stands between brackets, the first of which is here.
static const struct json_place *pass_members(struct place_scan *scan) {
    bool is_object = scan->text[scan->at++] == '{';
    const struct json_place *first = NULL, **last = &first;
    for (char c = next_byte(scan); c != ']' && c != '}'; c = next_byte(scan)) {
        struct span key = is_object ? pass_text(scan) : span_nowhere();
        struct json_place *member = pass_value(scan);
        member->key = key;
        *last = member;
        last = &member->next;
    }
    scan->at++;
    return first;
}

static struct json_place *pass_value(struct place_scan *scan) {
    struct json_place *place = ARENA_NEW(scan->arena, struct json_place);
    char c = next_byte(scan);
    if (c == '"') {
        place->value = pass_text(scan);
    } else if (c == '{' || c == '[') {
        place->value = span_of(scan->source, scan->at, scan->at + 1);
        place->first = pass_members(scan);
    } else {
        place->value = pass_word(scan);
    }
    return place;
}

const struct json_place *json_places(uint32_t source, uint32_t begin,
                                     const struct source_files *sources, struct arena *arena) {
    struct place_scan scan = {sources->items[source].text, source, begin, arena};
    return pass_value(&scan);
}

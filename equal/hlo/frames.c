// Tables in front of the computations:
//
//     FileNames                      FileLocations
//     1 "train.py"                   1 {file_name_id=1 function_name_id=1 line=73 end_line=73 column=8 end_column=20}
//     FunctionNames                  StackFrames
//     1 "block"                      1 {file_location_id=1 parent_frame_id=1}
//
// Entries are numbered from 1 on. A parent's number is printed one too large, so that the outermost frame seems to be
// its own parent, and frames name only frames before them.
#include "equal/hlo/frames.h"

struct frames frames_new(const struct scanner *s) {
    struct frames frames = {.strings = {.arena = s->scratch}, .lines = {.arena = s->scratch}};
    ARENA_PUSH(s->scratch, frames.frames, frames.n, frames.cap, (struct source_frame){0});
    frames.n_of_table = 1;
    return frames;
}

static bool fail_reference(struct scanner *s, struct word entry) {
    return scan_fail(s, E904, entry, "names an entry that no table before it has");
}

// "1 ", which must be the number that comes next.
static bool read_entry_number(struct scanner *s, uint32_t before) {
    scan_blanks(s);
    const char *begin = s->at;
    int64_t number;
    return scan_number(s, &number) && (number == (int64_t)before + 1 ||
                                       scan_fail(s, E902, scan_from(s, begin),
                                                 "entry %u of the table is expected", before + 1));
}

static bool read_names(struct scanner *s, struct frames *f, uint32_t **names, uint32_t *n,
                       uint32_t *cap) {
    while (scan_peek(s) >= '0' && *s->at <= '9') {
        struct word name;
        if (!read_entry_number(s, *n) || !scan_quoted(s, &name))
            return false;
        ARENA_PUSH(s->scratch, *names, *n, *cap, words_number(&f->strings, name));
    }
    return true;
}

// "{name=number name=number}": those that are asked for, in this order, others passed over.
static bool read_fields(struct scanner *s, const char *const *names, int64_t *const *numbers,
                        int n) {
    if (!scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}')) {
        struct word name = scan_word(s);
        int64_t number;
        if (!name.length)
            return scan_expected(s, "`}`");
        if (!scan_need(s, '=') || !scan_number(s, &number))
            return false;
        for (int i = 0; i < n; i++)
            if (word_is(name, names[i]))
                *numbers[i] = number;
    }
    return true;
}

static bool read_locations(struct scanner *s, struct frames *f) {
    static const char *const names[] = {"file_name_id", "function_name_id", "line"};
    while (scan_peek(s) >= '0' && *s->at <= '9') {
        const char *begin = s->at;
        struct frame_location at = {0};
        int64_t *const numbers[] = {&at.file, &at.function, &at.line};
        if (!read_entry_number(s, f->n_locations) || !read_fields(s, names, numbers, 3))
            return false;
        if (at.file < 1 || at.file > f->n_files || at.function < 0 || at.function > f->n_functions)
            return fail_reference(s, scan_from(s, begin));
        ARENA_PUSH(s->scratch, f->locations, f->n_locations, f->locations_cap, at);
    }
    return true;
}

static const char *string_of(struct scanner *s, struct frames *f, uint32_t number) {
    return words_string(&f->strings, number, s->arena);
}

static void add_frame(struct scanner *s, struct frames *f, const struct frame_location *at,
                      int64_t parent) {
    struct source_frame frame = {.file = string_of(s, f, f->files[at->file - 1]),
                                 .line =
                                     at->line > 0 && at->line < UINT32_MAX ? (uint32_t)at->line : 0,
                                 .parent = (uint32_t)parent};
    if (at->function)
        frame.function = string_of(s, f, f->functions[at->function - 1]);
    ARENA_PUSH(s->scratch, f->frames, f->n, f->cap, frame);
    f->n_of_table = f->n;
}

static bool read_stack_frames(struct scanner *s, struct frames *f) {
    static const char *const names[] = {"file_location_id", "parent_frame_id"};
    int64_t excess = 0; // of the numbers of parents
    while (scan_peek(s) >= '0' && *s->at <= '9') {
        const char *begin = s->at;
        int64_t location = 0, parent = 0;
        int64_t *const numbers[] = {&location, &parent};
        if (!read_entry_number(s, f->n - 1) || !read_fields(s, names, numbers, 2))
            return false;
        if (f->n == 1)
            excess = parent == 1;
        parent -= parent > 0 ? excess : 0;
        if (location < 1 || location > f->n_locations || parent < 0 || parent >= f->n)
            return fail_reference(s, scan_from(s, begin));
        add_frame(s, f, &f->locations[location - 1], parent);
    }
    return true;
}

bool read_frame_table(struct scanner *s, struct frames *f, struct word name) {
    if (word_is(name, "FileNames"))
        return read_names(s, f, &f->files, &f->n_files, &f->files_cap);
    if (word_is(name, "FunctionNames"))
        return read_names(s, f, &f->functions, &f->n_functions, &f->functions_cap);
    if (word_is(name, "FileLocations"))
        return read_locations(s, f);
    return word_is(name, "StackFrames") && read_stack_frames(s, f);
}

uint32_t frame_of_table(const struct frames *f, int64_t number) {
    return number > 0 && number < f->n_of_table ? (uint32_t)number : 0;
}

uint32_t frame_of_line(struct scanner *s, struct frames *f, struct word file, int64_t line) {
    uint32_t name = words_number(&f->strings, file);
    if (line < 0 || line >= UINT32_MAX)
        line = 0;
    int64_t key[] = {name, line};
    bool added;
    uint32_t number = f->n_of_table + intern(&f->lines, key, sizeof key, &added);
    struct source_frame frame = {.file = string_of(s, f, name), .line = (uint32_t)line};
    if (added)
        ARENA_PUSH(s->scratch, f->frames, f->n, f->cap, frame);
    return number;
}

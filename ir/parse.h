// The parser of the text form of programs, between its files. The parser itself is declared in
// ir/ir.h (job_parse).
//
//   parse.c          whole texts: finds the parts, reads them in order
//   parse_tokens.c   characters to tokens; where the text is wrong
//   parse_pieces.c   names, numbers, choices, axes, dimensions, types
//   parse_header.c   mesh, sizes, policy, tensors, parts, buffers
//   parse_unit.c     units: parameters, operations, results
//   parse_step.c     schedules: loops, calls, transfers
#ifndef PLACE_IR_PARSE_H
#define PLACE_IR_PARSE_H

#include "ir/ir.h"
#include "ir/limits.h"
#include "ir/names.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,  // a name, dots included
    TOKEN_VALUE, // %name
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_PUNCTUATION, // one character, or "->" as '>' or ".." as ':'
};

enum { ARROW = '>', RANGE = '~' };

struct token {
    enum token_kind kind;
    char punctuation;
    const char *text; // of the name, string or number; NUL-terminated, in the arena
    double real;
    int64_t integer;
    uint32_t begin, end;
};

// Where a schedule stands, that is read when all units are known.
struct schedule_place {
    struct program *program;
    enum step_kind kind;
    uint32_t begin;
    bool in_part;
};

struct parser {
    struct arena *arena;
    const char *text;
    uint32_t at, length, source;
    struct token token; // the current one
    uint32_t last_end;  // of the token before
    struct job *job;
    struct program *program; // of the part that is read
    uint32_t lines;          // that the step has had so far, of those of its header
    uint32_t part_lines;     // and the part
    struct names buffers;    // of a program, as far as they are known
    const struct program *named;
    struct schedule_place *schedules;
    uint32_t n_schedules, cap_schedules;
    const char *variables[LIMIT_LOOP_DEPTH]; // of the loops around the token, outermost first
    int depth;
    struct text_error *error;
};

// ---- tokens (parse_tokens.c) ------------------------------------------------------------------
// Keeps the first error and makes every later token the end of the text.
void text_fail_at(struct parser *, uint32_t begin, uint32_t end, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// Fails the text at the current token.
#define FAIL(p, ...) text_fail_at((p), (p)->token.begin, (p)->token.end, __VA_ARGS__)
bool text_failed(const struct parser *);
// Notes which of n names is near the token, before the text is failed there. `first` is the first
// one, of a column of rows that are `stride` bytes each.
void text_meant(struct parser *, const struct token *, const char *const *first, size_t n,
                size_t stride);
#define COLUMN(rows, n, name) (n) ? &(rows)->name : NULL, (n), sizeof *(rows)
#define TABLE(names, n)       (names), (n), sizeof *(names)
void text_advance(struct parser *); // reads the next token into `token`

// ---- pieces (parse_pieces.c) ------------------------------------------------------------------
// `at` looks at the current token, `accept` also goes on if it is the one asked for, `expect` fails
// the text if it is not. Punctuation is a character, ARROW or RANGE.
bool text_at(const struct parser *, char punctuation);
bool text_accept(struct parser *, char punctuation);
void text_expect(struct parser *, char punctuation);
bool text_at_word(const struct parser *, const char *word);
bool text_accept_word(struct parser *, const char *word);
void text_expect_word(struct parser *, const char *word);
// One token's value. `what` says in the message what should stand here: "a buffer".
const char *text_name(struct parser *, const char *what);
int64_t text_integer(struct parser *);
int64_t text_bytes(struct parser *); // a size or an offset: a whole number that is not negative
double text_real(struct parser *);
const char *text_string(struct parser *);
int text_choice(struct parser *, const char *const *names, int n, const char *what);
enum dtype text_dtype(struct parser *);        // or `none`, of a state that there is not
enum dtype text_element_type(struct parser *); // of what has elements
// Several tokens: `dp*tp`; `[hidden=128, heads=4/tp]`, with cuts only where `layout` is given, to
// the rank; an element type and such a list; `attention.qkv`, to the number of roles.
struct axis_list text_axes(struct parser *);
unsigned text_dims(struct parser *, struct dim dims[MAX_RANK], struct layout *layout);
struct tensor_type text_type(struct parser *);
unsigned text_roles(struct parser *, uint8_t roles[MAX_ROLES]);
// The buffer of that name, in a program of the job; NO_ID: there is none.
buffer_id text_find_buffer(struct parser *, const struct program *, const char *name);
struct span text_span(const struct parser *, uint32_t begin); // to the end of the token before

// ---- parts ------------------------------------------------------------------------------------
// One line that is no schedule, of a step or of a part of one (parse_header.c).
void parse_header(struct parser *, bool in_part);
// `part NAME over AXES BEGIN .. END`, up to its brace.
struct mesh_part parse_part_head(struct parser *);
// Parses from `{` to behind `}`, for the unit of this id. Buffers must be known, for the frame
// (parse_unit.c).
void parse_unit_body(struct parser *, struct unit *, uint32_t id);
// A schedule, from its name on; buffers and units must be known (parse_step.c).
void parse_step(struct parser *, enum step_kind);

#endif

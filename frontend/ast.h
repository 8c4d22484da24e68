// The syntax tree of a `.place` file: what is written, nothing looked up yet. Nodes are tagged
// unions; lists are arrays in the compilation's arena; every node has the span of its text.
//
// Only the grammar's actions make nodes, through the constructors at the end.
#ifndef PLACE_FRONTEND_AST_H
#define PLACE_FRONTEND_AST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/arena.h"
#include "ir/span.h"

enum measuring_unit {
#define UNIT(name, text, measure, factor) MEASURING_##name,
#include "frontend/units.def"
#undef UNIT
    N_MEASURING_UNITS // also: a word after a number that is no unit; reported where it stands
};
enum measure { MEASURE_BYTES, MEASURE_BYTES_PER_S, MEASURE_SECONDS, MEASURE_FLOPS_PER_S };
struct measuring_unit_row {
    const char *text;
    enum measure measure;
    double factor;
};
extern const struct measuring_unit_row measuring_unit_rows[N_MEASURING_UNITS];
int measuring_unit_find(const char *text, size_t length); // -1: no unit, case counts

// ---- leaves -----------------------------------------------------------------------------------

struct ast_name {
    const char *text;
    struct span span;
};
struct ast_names {
    struct ast_name *items;
    uint32_t n, capacity;
    struct span span;
};

struct ast_number {
    const char *text; // as written
    double value;     // infinite when it overflows
    bool is_integer;  // `integer` holds it exactly
    int64_t integer;
};

// `layers[0:16:2]`; a bound that is missing is not `has_`, one in brackets alone is `is_index`.
struct ast_slice {
    bool has_begin, has_end, has_step, is_index;
    int64_t begin, end, step;
    struct span span;
};
struct ast_step {
    struct ast_name name;
    bool has_slice;
    struct ast_slice slice;
    struct span span; // with the brackets
};
struct ast_path {
    struct ast_step *items;
    uint32_t n, capacity;
    struct span span;
};
struct ast_paths {
    struct ast_path *items;
    uint32_t n, capacity;
    struct span span;
};

// ---- values -----------------------------------------------------------------------------------

enum ast_value_kind {
    AST_NUMBER,
    AST_QUANTITY, // a number with its unit
    AST_STRING,
    AST_NAME,
    AST_CALL,     // cosine(3e-4, warmup = 2000)
    AST_DOTTED,   // a.b.c
    AST_TUPLE,    // (0.9, 0.95)
    AST_SEQUENCE, // [embedding + 7, 14 of 8]
    AST_SUM,      // inside lists only: embedding + 7
    AST_REPEAT,   // inside lists only: 14 of 8
    AST_OF,       // in fields only: 8 of batch, heads
};

struct ast_value;
struct ast_argument;
struct ast_values {
    struct ast_value **items;
    uint32_t n, capacity;
    struct span span;
};
struct ast_arguments {
    struct ast_argument *items;
    uint32_t n, capacity;
    struct span span;
};

struct ast_quantity {
    struct ast_number number;
    enum measuring_unit unit;
    // What was reported of a word that is no unit nor near one: who reads the value adds which
    // units it takes.
    struct diagnostic *unknown;
};

struct ast_value {
    enum ast_value_kind kind;
    struct span span;
    union {
        struct ast_number number;
        struct ast_quantity quantity;
        const char *string;
        const char *name;
        struct {
            struct ast_name name;
            struct ast_arguments arguments;
        } call;
        struct ast_names dotted;
        struct ast_values elements; // TUPLE, LIST, SUM
        struct {
            struct ast_number count;
            struct ast_value *each;
        } repeat;
        struct {
            struct ast_value *value;
            struct ast_names names;
        } of;
    };
};

enum ast_argument_kind {
    ARGUMENT_VALUE,   // [name =] value
    ARGUMENT_PRODUCT, // dp * cp
    ARGUMENT_BY,      // tp by sequence
};
struct ast_argument {
    enum ast_argument_kind kind;
    struct ast_name name; // VALUE: text NULL when there is none
    struct span span;
    struct ast_value *value; // VALUE
    struct ast_names axes;   // PRODUCT, BY
    struct ast_name by;      // BY
};

// ---- blocks of fields -------------------------------------------------------------------------

struct ast_field;
struct ast_block {
    struct ast_field *items;
    uint32_t n, capacity;
    struct span span;
};
struct ast_field {
    struct span span;
    struct ast_paths paths;  // `optimizer.norm, optimizer.head = ...`; of a block its one name
    struct ast_value *value; // NULL: a block
    struct ast_block block;
};

// ---- items ------------------------------------------------------------------------------------

enum ast_axis_kind { AXIS_SIZE, AXIS_PRODUCT };
struct ast_axis {
    enum ast_axis_kind kind;
    struct ast_name name;
    struct span span;
    struct ast_value *size;    // SIZE
    bool has_link;             // SIZE
    struct ast_arguments link; // SIZE
    struct ast_names factors;  // PRODUCT
};
struct ast_axes {
    struct ast_axis *items;
    uint32_t n, capacity;
};

struct ast_parameter { // of a strategy: `axis a`, `axis a = dp`
    struct ast_name kind, name;
    struct ast_value *value; // NULL: no default
};
struct ast_parameters {
    struct ast_parameter *items;
    uint32_t n, capacity;
};

struct ast_mode { // `gathered(dp, unit = layer)`
    struct ast_name name;
    struct ast_arguments arguments;
    struct span span;
};
struct ast_modes {
    struct ast_mode *items;
    uint32_t n, capacity;
    struct span span;
};

enum { MOST_RESIDENCIES = 2 };
struct ast_letter { // `S*+O`, `S+O+M`
    struct ast_name extent;
    bool starred;
    struct ast_name residencies[MOST_RESIDENCIES]; // text NULL: none, nor any behind it
    struct span span;
};
struct ast_letters {
    struct ast_letter *items;
    uint32_t n, capacity;
    struct span span;
};

struct ast_statement;
struct ast_body {
    struct ast_statement *items;
    uint32_t n, capacity;
    struct span span;
};

enum ast_schedule_kind { SCHEDULE_NONE, SCHEDULE_METHOD, SCHEDULE_FILE };
struct ast_schedule {
    enum ast_schedule_kind kind;
    struct ast_value *value;        // METHOD; FILE: a string
    struct ast_arguments arguments; // FILE; of a method they are its value's
    struct span span;
};

enum ast_statement_kind {
    STATEMENT_SPLIT,  // split batch, sequence over dp * cp schedule ...
    STATEMENT_MODE,   // gradients.attention : sharded(dp)
    STATEMENT_STATES, // states : (S*, S, S, R) on dp
    STATEMENT_USE,    // use zero3(dp)
    STATEMENT_IN,     // in layers[0:16] { ... }
    STATEMENT_RELAX,  // relax gradient_integrity over island { ... }
};
struct ast_statement {
    enum ast_statement_kind kind;
    struct span span;
    union {
        struct {
            struct ast_names dimensions, axes;
            struct ast_schedule schedule;
        } split;
        struct {
            struct ast_paths states;
            struct ast_modes modes;
        } mode;
        struct {
            struct ast_letters letters;
            struct ast_names axes;
        } states;
        struct {
            struct ast_name name;
            bool has_arguments;
            struct ast_arguments arguments;
        } use;
        struct {
            struct ast_paths selectors;
            struct ast_body body;
        } in;
        struct {
            struct ast_names conditions, axes;
            struct ast_body body;
        } relax;
    };
};

enum ast_item_kind {
    ITEM_IMPORT,
    ITEM_MODEL_FILE,   // model NAME from "config.json" { overrides }
    ITEM_MODEL_FAMILY, // model NAME : FAMILY { fields }
    ITEM_DEVICE,
    ITEM_MESH,
    ITEM_TRAIN,
    ITEM_STRATEGY,
    ITEM_STEP, // the explicit layer: the braces are the program parser's business
    ITEM_UNIT,
};
struct ast_item {
    enum ast_item_kind kind;
    struct span span;
    struct ast_name name; // TRAIN: the keyword itself; UNIT: the strategy's
    union {
        struct ast_name import; // the string
        struct {
            struct ast_name source; // the string, or the family's name
            bool has_block;
            struct ast_block block;
        } model;
        struct ast_block device, train;
        struct {
            struct ast_name device;
            struct ast_axes axes;
        } mesh;
        struct {
            struct ast_parameters parameters;
            struct ast_name of, on; // text NULL: left out
            struct ast_body body;
        } strategy;
        struct {
            struct ast_name unit;    // UNIT
            struct ast_name program; // text and span of the braces, both included
        } program;
    };
};
struct ast_file {
    struct ast_item *items;
    uint32_t n, capacity;
    uint32_t source;
};

// Prints the file in the language, in the one canonical layout: parsing what is printed and
// printing it again gives the same bytes.
void ast_print(const struct ast_file *file, FILE *out);
// A value as it stands in the canonical layout; for messages.
char *ast_value_text(struct arena *arena, const struct ast_value *value);

#endif

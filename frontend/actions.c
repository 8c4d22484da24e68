// Making the nodes of the syntax tree. Nothing is judged here, but for numbers that cannot be
// represented at all.
//
// The grammar's actions hold no logic: each calls one of these with what its symbols carry. Nodes
// are in the arena of the parse, so an action that bison never reaches leaks nothing. Lists are
// passed and returned by value; their items grow in the arena.
#include "frontend/actions.h"

#include <math.h>

#include "frontend/tokens.h"

// ---- lists ------------------------------------------------------------------------------------

// A list's span grows with it, so that a message can underline the whole of it.
#define PUSH_SPANNED(p, list, item, at)                                                            \
    do {                                                                                           \
        (list).span = (list).n ? span_join((list).span, at) : (at);                                \
        ARENA_PUSH((p)->arena, (list).items, (list).n, (list).capacity, item);                     \
    } while (0)

struct ast_names ast_names_add(struct parser *p, struct ast_names list, struct ast_name name) {
    PUSH_SPANNED(p, list, name, name.span);
    return list;
}

struct ast_path ast_path_add(struct parser *p, struct ast_path list, struct ast_step step) {
    PUSH_SPANNED(p, list, step, step.span);
    return list;
}

struct ast_paths ast_paths_add(struct parser *p, struct ast_paths list, struct ast_path path) {
    PUSH_SPANNED(p, list, path, path.span);
    return list;
}

struct ast_values ast_values_add(struct parser *p, struct ast_values list,
                                 struct ast_value *value) {
    PUSH_SPANNED(p, list, value, value->span);
    return list;
}

struct ast_arguments ast_arguments_add(struct parser *p, struct ast_arguments list,
                                       struct ast_argument argument) {
    PUSH_SPANNED(p, list, argument, argument.span);
    return list;
}

// Fields, axes and statements that could not be read arrive empty and leave no trace: the rest of
// the block is still looked up.
struct ast_block ast_block_add(struct parser *p, struct ast_block list, struct ast_field field) {
    if (field.paths.n)
        ARENA_PUSH(p->arena, list.items, list.n, list.capacity, field);
    return list;
}

struct ast_axes ast_axes_add(struct parser *p, struct ast_axes list, struct ast_axis axis) {
    if (axis.name.text)
        ARENA_PUSH(p->arena, list.items, list.n, list.capacity, axis);
    return list;
}

struct ast_parameters ast_parameters_add(struct parser *p, struct ast_parameters list,
                                         struct ast_parameter parameter) {
    ARENA_PUSH(p->arena, list.items, list.n, list.capacity, parameter);
    return list;
}

struct ast_modes ast_modes_add(struct parser *p, struct ast_modes list, struct ast_mode mode) {
    PUSH_SPANNED(p, list, mode, mode.span);
    return list;
}

struct ast_letters ast_letters_add(struct parser *p, struct ast_letters list,
                                   struct ast_letter letter) {
    PUSH_SPANNED(p, list, letter, letter.span);
    return list;
}

struct ast_body ast_body_add(struct parser *p, struct ast_body list,
                             struct ast_statement *statement) {
    if (statement)
        ARENA_PUSH(p->arena, list.items, list.n, list.capacity, *statement);
    return list;
}

void ast_skip(struct parser *p) {
    tokens_abandon_brackets(p);
}

// ---- slices -----------------------------------------------------------------------------------

// A number that no integer holds is beyond all layers; one with a fraction is no layer's.
static int64_t whole_number(struct parser *p, const struct ast_number *number, struct span span) {
    if (number->is_integer || fabs(number->value) >= 0x1p53)
        return number->integer;
    report(p->diagnostics, E105, span, "layers have whole numbers, and %s is none", number->text);
    return (int64_t)number->value;
}

// The lexer has no negative numbers: `-4` is a sign and a number, here and in values.
static int64_t bound_value(struct parser *p, struct ast_bound bound) {
    int64_t value = bound.said ? whole_number(p, &bound.number, bound.span) : 0;
    return bound.negative ? -value : value;
}

// `layers[3]`, and the empty `layers[]`, which resolution refuses.
struct ast_slice ast_slice_index(struct parser *p, struct ast_bound bound) {
    return (struct ast_slice){
        .has_begin = bound.said, .is_index = true, .begin = bound_value(p, bound), .step = 1};
}

// `[begin:end:step]`; a bound that is not said stays so, since what it means depends on the model.
struct ast_slice ast_slice_range(struct parser *p, struct ast_bound begin, struct ast_bound end,
                                 const struct ast_number *step, struct span step_span) {
    return (struct ast_slice){
        .has_begin = begin.said,
        .has_end = end.said,
        .has_step = step != NULL,
        .begin = bound_value(p, begin),
        .end = bound_value(p, end),
        .step = step ? whole_number(p, step, step_span) : 1,
    };
}

// ---- values -----------------------------------------------------------------------------------

static struct ast_value *new_value(struct parser *p, enum ast_value_kind kind, struct span span) {
    struct ast_value *value = ARENA_NEW(p->arena, struct ast_value);
    value->kind = kind;
    value->span = span;
    return value;
}

// The text keeps its sign, because the tree is printed from texts: 1e-3 stays 1e-3.
static struct ast_number signed_number(struct parser *p, struct ast_number number, bool negative) {
    if (negative) {
        number.text = arena_format(p->arena, "-%s", number.text);
        number.value = -number.value;
        number.integer = -number.integer;
    }
    return number;
}

struct ast_value *ast_number(struct parser *p, struct span span, struct ast_number number,
                             bool negative) {
    struct ast_value *value = new_value(p, AST_NUMBER, span);
    value->number = signed_number(p, number, negative);
    return value;
}

// A number with its unit, still as written: the factor is applied where the measure is known. No
// measure is negative; that is said there too.
struct ast_value *ast_quantity(struct parser *p, struct span span, struct ast_quantity quantity,
                               bool negative) {
    struct ast_value *value = new_value(p, AST_QUANTITY, span);
    value->quantity = quantity;
    value->quantity.number = signed_number(p, quantity.number, negative);
    return value;
}

struct ast_value *ast_string(struct parser *p, struct span span, struct ast_name string) {
    struct ast_value *value = new_value(p, AST_STRING, span);
    value->string = string.text;
    return value;
}

struct ast_value *ast_word(struct parser *p, struct span span, struct ast_name name) {
    struct ast_value *value = new_value(p, AST_NAME, span);
    value->name = name.text;
    return value;
}

// `name()` has an empty list of arguments; a name alone is no call.
struct ast_value *ast_call(struct parser *p, struct span span, struct ast_name name,
                           const struct ast_arguments *arguments) {
    struct ast_value *value = new_value(p, AST_CALL, span);
    value->call.name = name;
    if (arguments)
        value->call.arguments = *arguments;
    return value;
}

// The grammar reads the first name as a value's before it sees the dot.
struct ast_value *ast_dotted(struct parser *p, struct span span, struct ast_name first,
                             struct ast_names rest) {
    struct ast_value *value = new_value(p, AST_DOTTED, span);
    value->dotted = ast_names_add(p, (struct ast_names){0}, first);
    for (uint32_t i = 0; i < rest.n; i++)
        value->dotted = ast_names_add(p, value->dotted, rest.items[i]);
    return value;
}

struct ast_value *ast_elements(struct parser *p, struct span span, enum ast_value_kind kind,
                               struct ast_values elements) {
    struct ast_value *value = new_value(p, kind, span);
    value->elements = elements;
    return value;
}

// `a + b + c` arrives as (a + b) + c and becomes one list of three.
struct ast_value *ast_sum(struct parser *p, struct span span, struct ast_value *left,
                          struct ast_value *right) {
    struct ast_value *value = new_value(p, AST_SUM, span);
    if (left->kind == AST_SUM) // the grammar associates to the left: one flat node
        value->elements = left->elements;
    else
        value->elements = ast_values_add(p, (struct ast_values){0}, left);
    value->elements = ast_values_add(p, value->elements, right);
    return value;
}

// `14 of 8` in a list: so many of the same.
struct ast_value *ast_repeat(struct parser *p, struct span span, struct ast_number count,
                             struct ast_value *each) {
    struct ast_value *value = new_value(p, AST_REPEAT, span);
    value->repeat.count = count;
    value->repeat.each = each;
    return value;
}

struct ast_value *ast_of(struct parser *p, struct span span, struct ast_value *limited,
                         struct ast_names names) {
    struct ast_value *value = new_value(p, AST_OF, span);
    value->of.value = limited;
    value->of.names = names;
    return value;
}

struct ast_argument ast_argument_value(struct span span, struct ast_name name,
                                       struct ast_value *value) {
    return (struct ast_argument){
        .kind = ARGUMENT_VALUE, .name = name, .span = span, .value = value};
}

// `a * b` and `a by d`; a single axis without `by` arrives as a plain value, a name.
struct ast_argument ast_argument_axes(struct span span, struct ast_names axes, struct ast_name by) {
    return (struct ast_argument){
        .kind = by.text ? ARGUMENT_BY : ARGUMENT_PRODUCT, .span = span, .axes = axes, .by = by};
}

// ---- fields and axes --------------------------------------------------------------------------

struct ast_paths ast_assigned(struct parser *p, struct ast_paths paths) {
    p->assigned = paths.items[paths.n - 1];
    return paths;
}

struct ast_block ast_block_end(struct parser *p, struct span span, struct ast_block block) {
    p->assigned = (struct ast_path){0};
    block.span = span;
    return block;
}

struct ast_field ast_field_value(struct span span, struct ast_paths paths,
                                 struct ast_value *value) {
    return (struct ast_field){.span = span, .paths = paths, .value = value};
}

// A block is a field without a value. Its name becomes a path of one step, as other fields have.
struct ast_field ast_field_block(struct parser *p, struct span span, struct ast_name name,
                                 const struct ast_block *block) {
    struct ast_path path =
        ast_path_add(p, (struct ast_path){0}, (struct ast_step){.name = name, .span = name.span});
    return (struct ast_field){
        .span = span, .paths = ast_paths_add(p, (struct ast_paths){0}, path), .block = *block};
}

// `dp = 4 link(...)`. The size is a value yet, so that a word there is told in terms of the axis.
struct ast_axis ast_axis_size(struct span span, struct ast_name name, struct ast_value *size,
                              const struct ast_arguments *link) {
    struct ast_axis axis = {.kind = AXIS_SIZE, .name = name, .span = span, .size = size};
    axis.has_link = link != NULL;
    if (link)
        axis.link = *link;
    return axis;
}

struct ast_axis ast_axis_product(struct span span, struct ast_name name, struct ast_names factors) {
    return (struct ast_axis){.kind = AXIS_PRODUCT, .name = name, .span = span, .factors = factors};
}

// ---- statements -------------------------------------------------------------------------------

// Statements are tagged unions; each constructor below fills the arm of its kind.
static struct ast_statement *new_statement(struct parser *p, enum ast_statement_kind kind,
                                           struct span span) {
    struct ast_statement *statement = ARENA_NEW(p->arena, struct ast_statement);
    statement->kind = kind;
    statement->span = span;
    return statement;
}

struct ast_statement *ast_split(struct parser *p, struct span span, struct ast_names dimensions,
                                struct ast_names axes, struct ast_schedule schedule) {
    struct ast_statement *statement = new_statement(p, STATEMENT_SPLIT, span);
    statement->split.dimensions = dimensions;
    statement->split.axes = axes;
    statement->split.schedule = schedule;
    return statement;
}

struct ast_statement *ast_mode_statement(struct parser *p, struct span span,
                                         struct ast_paths states, struct ast_modes modes) {
    struct ast_statement *statement = new_statement(p, STATEMENT_MODE, span);
    statement->mode.states = states;
    statement->mode.modes = modes;
    return statement;
}

struct ast_statement *ast_states(struct parser *p, struct span span, struct ast_letters letters,
                                 struct ast_names axes) {
    struct ast_statement *statement = new_statement(p, STATEMENT_STATES, span);
    statement->states.letters = letters;
    statement->states.axes = axes;
    return statement;
}

struct ast_statement *ast_use(struct parser *p, struct span span, struct ast_name name,
                              const struct ast_arguments *arguments) {
    struct ast_statement *statement = new_statement(p, STATEMENT_USE, span);
    statement->use.name = name;
    statement->use.has_arguments = arguments != NULL;
    if (arguments)
        statement->use.arguments = *arguments;
    return statement;
}

struct ast_statement *ast_in(struct parser *p, struct span span, struct ast_paths selectors,
                             const struct ast_body *body) {
    struct ast_statement *statement = new_statement(p, STATEMENT_IN, span);
    statement->in.selectors = selectors;
    statement->in.body = *body;
    return statement;
}

struct ast_statement *ast_relax(struct parser *p, struct span span, struct ast_names conditions,
                                struct ast_names axes, const struct ast_body *body) {
    struct ast_statement *statement = new_statement(p, STATEMENT_RELAX, span);
    statement->relax.conditions = conditions;
    statement->relax.axes = axes;
    statement->relax.body = *body;
    return statement;
}

// ---- items ------------------------------------------------------------------------------------

// An item has the name by which others refer to it; its span is the whole of its text.
static struct ast_item *new_item(struct parser *p, enum ast_item_kind kind, struct span span,
                                 struct ast_name name) {
    struct ast_item *item = ARENA_NEW(p->arena, struct ast_item);
    item->kind = kind;
    item->span = span;
    item->name = name;
    return item;
}

struct ast_item *ast_import(struct parser *p, struct span span, struct ast_name path) {
    struct ast_item *item = new_item(p, ITEM_IMPORT, span, path);
    item->import = path;
    return item;
}

// `model m from "config.json" { ... }`: the block is optional and overrides the file.
struct ast_item *ast_model_file(struct parser *p, struct span span, struct ast_name name,
                                struct ast_name file, const struct ast_block *block) {
    struct ast_item *item = new_item(p, ITEM_MODEL_FILE, span, name);
    item->model.source = file;
    item->model.has_block = block != NULL;
    if (block)
        item->model.block = *block;
    return item;
}

struct ast_item *ast_model_family(struct parser *p, struct span span, struct ast_name name,
                                  struct ast_name family, const struct ast_block *block) {
    struct ast_item *item = ast_model_file(p, span, name, family, block);
    item->kind = ITEM_MODEL_FAMILY;
    return item;
}

struct ast_item *ast_device(struct parser *p, struct span span, struct ast_name name,
                            const struct ast_block *block) {
    struct ast_item *item = new_item(p, ITEM_DEVICE, span, name);
    item->device = *block;
    return item;
}

struct ast_item *ast_mesh(struct parser *p, struct span span, struct ast_name name,
                          struct ast_name device, const struct ast_axes *axes) {
    struct ast_item *item = new_item(p, ITEM_MESH, span, name);
    item->mesh.device = device;
    item->mesh.axes = *axes;
    return item;
}

// `train` has no name of its own; its keyword stands in where an item is pointed at.
struct ast_item *ast_train(struct parser *p, struct span span, struct span keyword,
                           const struct ast_block *block) {
    struct ast_item *item = new_item(p, ITEM_TRAIN, span, (struct ast_name){"train", keyword});
    item->train = *block;
    return item;
}

// `of` and `on` have no text where the strategy does not say which model and mesh it is for.
struct ast_item *ast_strategy(struct parser *p, struct span span, struct ast_name name,
                              const struct ast_parameters *parameters, struct ast_name of,
                              struct ast_name on, const struct ast_body *body) {
    struct ast_item *item = new_item(p, ITEM_STRATEGY, span, name);
    item->strategy.parameters = *parameters;
    item->strategy.of = of;
    item->strategy.on = on;
    item->strategy.body = *body;
    return item;
}

struct ast_item *ast_step_program(struct parser *p, struct span span, struct ast_name name,
                                  struct ast_name program) {
    struct ast_item *item = new_item(p, ITEM_STEP, span, name);
    item->program.program = program;
    return item;
}

// The braces are kept as text: what is in them is read when there is a program to compare it with.
struct ast_item *ast_unit_program(struct parser *p, struct span span, struct ast_name strategy,
                                  struct ast_name unit, struct ast_name program) {
    struct ast_item *item = new_item(p, ITEM_UNIT, span, strategy);
    item->program.unit = unit;
    item->program.program = program;
    return item;
}

void ast_add_item(struct parser *p, struct ast_item *item) {
    if (item)
        ARENA_PUSH(p->arena, p->file.items, p->file.n, p->file.capacity, *item);
}

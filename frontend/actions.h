// The constructors that the grammar's actions call. Lists are values that grow: `_add` returns the
// list with the element. Private to frontend/ and grammar/.
#ifndef PLACE_FRONTEND_ACTIONS_H
#define PLACE_FRONTEND_ACTIONS_H

#include "frontend/parser.h"

struct ast_bound { // of a slice
    bool said, negative;
    struct ast_number number;
    struct span span;
};

struct ast_names ast_names_add(struct parser *p, struct ast_names list, struct ast_name name);
struct ast_path ast_path_add(struct parser *p, struct ast_path list, struct ast_step step);
struct ast_paths ast_paths_add(struct parser *p, struct ast_paths list, struct ast_path path);
struct ast_slice ast_slice_index(struct parser *p, struct ast_bound bound);
struct ast_slice ast_slice_range(struct parser *p, struct ast_bound begin, struct ast_bound end,
                                 const struct ast_number *step, struct span step_span);

struct ast_value *ast_number(struct parser *p, struct span span, struct ast_number number,
                             bool negative);
struct ast_value *ast_quantity(struct parser *p, struct span span, struct ast_quantity quantity,
                               bool negative);
struct ast_value *ast_string(struct parser *p, struct span span, struct ast_name string);
struct ast_value *ast_word(struct parser *p, struct span span, struct ast_name name);
// `arguments` is NULL for `name()`.
struct ast_value *ast_call(struct parser *p, struct span span, struct ast_name name,
                           const struct ast_arguments *arguments);
struct ast_value *ast_dotted(struct parser *p, struct span span, struct ast_name first,
                             struct ast_names rest);
struct ast_value *ast_elements(struct parser *p, struct span span, enum ast_value_kind kind,
                               struct ast_values elements);
struct ast_value *ast_sum(struct parser *p, struct span span, struct ast_value *left,
                          struct ast_value *right);
struct ast_value *ast_repeat(struct parser *p, struct span span, struct ast_number count,
                             struct ast_value *each);
struct ast_value *ast_of(struct parser *p, struct span span, struct ast_value *limited,
                         struct ast_names names);
struct ast_values ast_values_add(struct parser *p, struct ast_values list, struct ast_value *value);

struct ast_argument ast_argument_value(struct span span, struct ast_name name,
                                       struct ast_value *value);
struct ast_argument ast_argument_axes(struct span span, struct ast_names axes, struct ast_name by);
struct ast_arguments ast_arguments_add(struct parser *p, struct ast_arguments list,
                                       struct ast_argument argument);

// What an error left behind is all zero; adding it changes nothing. `assigned` and the end of a
// block are noted for messages.
struct ast_paths ast_assigned(struct parser *p, struct ast_paths paths);
struct ast_block ast_block_end(struct parser *p, struct span span, struct ast_block block);
struct ast_field ast_field_value(struct span span, struct ast_paths paths, struct ast_value *value);
struct ast_field ast_field_block(struct parser *p, struct span span, struct ast_name name,
                                 const struct ast_block *block);
struct ast_block ast_block_add(struct parser *p, struct ast_block list, struct ast_field field);
struct ast_axis ast_axis_size(struct span span, struct ast_name name, struct ast_value *size,
                              const struct ast_arguments *link);
struct ast_axis ast_axis_product(struct span span, struct ast_name name, struct ast_names factors);
struct ast_axes ast_axes_add(struct parser *p, struct ast_axes list, struct ast_axis axis);
struct ast_parameters ast_parameters_add(struct parser *p, struct ast_parameters list,
                                         struct ast_parameter parameter);
struct ast_modes ast_modes_add(struct parser *p, struct ast_modes list, struct ast_mode mode);
struct ast_letters ast_letters_add(struct parser *p, struct ast_letters list,
                                   struct ast_letter letter);
void ast_skip(struct parser *p); // a part that could not be read

struct ast_statement *ast_split(struct parser *p, struct span span, struct ast_names dimensions,
                                struct ast_names axes, struct ast_schedule schedule);
struct ast_statement *ast_mode_statement(struct parser *p, struct span span,
                                         struct ast_paths states, struct ast_modes modes);
struct ast_statement *ast_states(struct parser *p, struct span span, struct ast_letters letters,
                                 struct ast_names axes);
struct ast_statement *ast_use(struct parser *p, struct span span, struct ast_name name,
                              const struct ast_arguments *arguments);
struct ast_statement *ast_in(struct parser *p, struct span span, struct ast_paths selectors,
                             const struct ast_body *body);
struct ast_statement *ast_relax(struct parser *p, struct span span, struct ast_names conditions,
                                struct ast_names axes, const struct ast_body *body);
struct ast_body ast_body_add(struct parser *p, struct ast_body list,
                             struct ast_statement *statement);

struct ast_item *ast_import(struct parser *p, struct span span, struct ast_name path);
struct ast_item *ast_model_file(struct parser *p, struct span span, struct ast_name name,
                                struct ast_name file, const struct ast_block *block);
struct ast_item *ast_model_family(struct parser *p, struct span span, struct ast_name name,
                                  struct ast_name family, const struct ast_block *block);
struct ast_item *ast_device(struct parser *p, struct span span, struct ast_name name,
                            const struct ast_block *block);
struct ast_item *ast_mesh(struct parser *p, struct span span, struct ast_name name,
                          struct ast_name device, const struct ast_axes *axes);
struct ast_item *ast_train(struct parser *p, struct span span, struct span keyword,
                           const struct ast_block *block);
struct ast_item *ast_strategy(struct parser *p, struct span span, struct ast_name name,
                              const struct ast_parameters *parameters, struct ast_name of,
                              struct ast_name on, const struct ast_body *body);
struct ast_item *ast_step_program(struct parser *p, struct span span, struct ast_name name,
                                  struct ast_name program);
struct ast_item *ast_unit_program(struct parser *p, struct span span, struct ast_name strategy,
                                  struct ast_name unit, struct ast_name program);
void ast_add_item(struct parser *p, struct ast_item *item); // NULL: nothing

// Syntax errors, composed in syntax_errors.c. Symbols are named as bison names them.
void report_unexpected(struct parser *p, struct span span, const char *found,
                       const char *const *expected, int n_expected);
void report_parser_failure(struct parser *p, struct span span, const char *message);

#endif

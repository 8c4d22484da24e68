/* The grammar of the language (docs/language.md). Actions only call the constructors of frontend/actions.h; there is
   nothing to destroy, since all nodes are in the compilation's arena.

   After a mistake the parser goes on with the next item, field, axis or statement; a brace that
   follows the mistake is read as if it belonged to it, so that its closing brace ends nothing else. */
%require "3.8"
%define api.pure full
%define api.prefix {place_}
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac full
%locations
%param {struct parser *p}
%expect 0

%code requires {
#include "frontend/actions.h"
}
%code {
#include "frontend/tokens.h"

#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
    ((current) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                               \
                     : span_of(YYRHSLOC(rhs, 0).source, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end))
#define YYMAXDEPTH 4000

static void yyerror(struct span *span, struct parser *p, const char *message);
}

%union {
    struct ast_name name;
    struct ast_names names;
    struct ast_number number;
    struct ast_quantity quantity;
    struct ast_slice slice;
    struct ast_bound bound;
    struct ast_step step;
    struct ast_path path;
    struct ast_paths paths;
    struct ast_value *value;
    struct ast_values values;
    struct ast_argument argument;
    struct ast_arguments arguments;
    struct ast_field field;
    struct ast_block block;
    struct ast_axis axis;
    struct ast_axes axes;
    struct ast_parameter parameter;
    struct ast_parameters parameters;
    struct ast_mode mode;
    struct ast_modes modes;
    struct ast_letter letter;
    struct ast_letters letters;
    struct ast_schedule schedule;
    struct ast_statement *statement;
    struct ast_body body;
    struct ast_item *item;
}

%token END 0 "the end of the file"
%token <name> NAME "a name" STRING "a string in quotes" PROGRAM "a program in braces"
%token <number> NUMBER "a number"
%token <quantity> QUANTITY "a number with a unit"
%token IMPORT "import" MODEL "model" DEVICE "device" MESH "mesh" TRAIN "train"
%token STRATEGY "strategy" STEP "step" UNIT "unit"
%token SPLIT "split" OVER "over" SCHEDULE "schedule" FROM "from" STATES "states" ON "on" OF "of"
%token USE "use" IN "in" RELAX "relax" LINK "link" BY "by"
%token GOAL_FILE "a file" GOAL_SETTING "a setting"

%type <name> of on
%type <names> names factors product dotted
%type <slice> slice
%type <bound> bound
%type <step> step
%type <path> path
%type <paths> paths assigned
%type <value> value element sum
%type <values> list
%type <argument> arg
%type <arguments> args
%type <field> field
%type <block> fields block
%type <axis> axis
%type <axes> axes
%type <parameter> param
%type <parameters> plist params
%type <mode> mode
%type <modes> modes
%type <letter> letter extent
%type <letters> letters
%type <schedule> schedule
%type <statement> stmt
%type <body> stmts body
%type <item> item

%%

goal: GOAL_FILE items
    | GOAL_SETTING field { p->setting = $2; }
    ;

items: %empty
    | items item { ast_add_item(p, $2); }
    ;

item: IMPORT STRING { $$ = ast_import(p, @$, $2); }
    | MODEL NAME FROM STRING { $$ = ast_model_file(p, @$, $2, $4, NULL); }
    | MODEL NAME FROM STRING block { $$ = ast_model_file(p, @$, $2, $4, &$5); }
    | MODEL NAME ':' NAME block { $$ = ast_model_family(p, @$, $2, $4, &$5); }
    | DEVICE NAME block { $$ = ast_device(p, @$, $2, &$3); }
    | MESH NAME OF NAME '{' axes '}' { $$ = ast_mesh(p, @$, $2, $4, &$6); }
    | TRAIN block { $$ = ast_train(p, @$, @1, &$2); }
    | STRATEGY NAME params of on body { $$ = ast_strategy(p, @$, $2, &$3, $4, $5, &$6); }
    | STEP NAME PROGRAM { $$ = ast_step_program(p, @$, $2, $3); }
    | UNIT NAME '.' NAME PROGRAM { $$ = ast_unit_program(p, @$, $2, $4, $5); }
    | error { $$ = NULL; ast_skip(p); }
    ;

block: '{' fields '}' { $$ = ast_block_end(p, @$, $2); }
    ;
fields: %empty { $$ = (struct ast_block){0}; }
    | fields field { $$ = ast_block_add(p, $1, $2); }
    ;
field: assigned value { $$ = ast_field_value(@$, $1, $2); }
    | assigned value OF names { $$ = ast_field_value(@$, $1, ast_of(p, span_join(@2, @4), $2, $4)); }
    | NAME block { $$ = ast_field_block(p, @$, $1, &$2); }
    | error { $$ = (struct ast_field){0}; ast_skip(p); }
    | error block { $$ = (struct ast_field){0}; }
    ;

assigned: paths '=' { $$ = ast_assigned(p, $1); }
    ;

axes: %empty { $$ = (struct ast_axes){0}; }
    | axes axis { $$ = ast_axes_add(p, $1, $2); }
    ;
axis: NAME '=' value { $$ = ast_axis_size(@$, $1, $3, NULL); }
    | NAME '=' value LINK '(' args ')' { $$ = ast_axis_size(@$, $1, $3, &$6); }
    | NAME '=' factors { $$ = ast_axis_product(@$, $1, $3); }
    | error { $$ = (struct ast_axis){0}; ast_skip(p); }
    | error '{' axes '}' { $$ = (struct ast_axis){0}; }
    ;
factors: NAME '*' NAME { $$ = ast_names_add(p, ast_names_add(p, (struct ast_names){0}, $1), $3); }
    | factors '*' NAME { $$ = ast_names_add(p, $1, $3); }
    ;
product: NAME { $$ = ast_names_add(p, (struct ast_names){0}, $1); }
    | factors
    ;

params: %empty { $$ = (struct ast_parameters){0}; }
    | '(' plist ')' { $$ = $2; }
    ;
plist: param { $$ = ast_parameters_add(p, (struct ast_parameters){0}, $1); }
    | plist ',' param { $$ = ast_parameters_add(p, $1, $3); }
    ;
param: NAME NAME { $$ = (struct ast_parameter){$1, $2, NULL}; }
    | NAME NAME '=' value { $$ = (struct ast_parameter){$1, $2, $4}; }
    ;
of: %empty { $$ = (struct ast_name){0}; }
    | OF NAME { $$ = $2; }
    ;
on: %empty { $$ = (struct ast_name){0}; }
    | ON NAME { $$ = $2; }
    ;

body: '{' stmts '}' { $$ = $2; $$.span = @$; }
    ;
stmts: %empty { $$ = (struct ast_body){0}; }
    | stmts stmt { $$ = ast_body_add(p, $1, $2); }
    ;
stmt: SPLIT names OVER product schedule { $$ = ast_split(p, @$, $2, $4, $5); }
    | paths ':' modes { $$ = ast_mode_statement(p, @$, $1, $3); }
    | STATES ':' '(' letters ')' ON product { $$ = ast_states(p, @$, $4, $7); }
    | USE NAME { $$ = ast_use(p, @$, $2, NULL); }
    | USE NAME '(' args ')' { $$ = ast_use(p, @$, $2, &$4); }
    | IN paths body { $$ = ast_in(p, @$, $2, &$3); }
    | RELAX names OVER product body { $$ = ast_relax(p, @$, $2, $4, &$5); }
    | error { $$ = NULL; ast_skip(p); }
    | error body { $$ = NULL; }
    ;
schedule: %empty { $$ = (struct ast_schedule){0}; }
    | SCHEDULE value { $$ = (struct ast_schedule){SCHEDULE_METHOD, $2, .span = @$}; }
    | SCHEDULE FROM STRING { $$ = (struct ast_schedule){SCHEDULE_FILE, ast_string(p, @3, $3), .span = @$}; }
    | SCHEDULE FROM STRING '(' args ')' { $$ = (struct ast_schedule){SCHEDULE_FILE, ast_string(p, @3, $3), $5, @$}; }
    ;
modes: mode { $$ = ast_modes_add(p, (struct ast_modes){0}, $1); }
    | modes ',' mode { $$ = ast_modes_add(p, $1, $3); }
    ;
mode: NAME { $$ = (struct ast_mode){.name = $1, .span = @$}; }
    | NAME '(' args ')' { $$ = (struct ast_mode){.name = $1, .arguments = $3, .span = @$}; }
    ;
letters: letter { $$ = ast_letters_add(p, (struct ast_letters){0}, $1); }
    | letters ',' letter { $$ = ast_letters_add(p, $1, $3); }
    ;
letter: extent
    | extent '+' NAME { $$ = $1; $$.residencies[0] = $3; $$.span = @$; }
    | extent '+' NAME '+' NAME { $$ = $1; $$.residencies[0] = $3; $$.residencies[1] = $5; $$.span = @$; }
    ;
extent: NAME { $$ = (struct ast_letter){.extent = $1, .span = @$}; }
    | NAME '*' { $$ = (struct ast_letter){.extent = $1, .starred = true, .span = @$}; }
    ;

args: arg { $$ = ast_arguments_add(p, (struct ast_arguments){0}, $1); }
    | args ',' arg { $$ = ast_arguments_add(p, $1, $3); }
    ;
arg: value { $$ = ast_argument_value(@$, (struct ast_name){0}, $1); }
    | NAME '=' value { $$ = ast_argument_value(@$, $1, $3); }
    | factors { $$ = ast_argument_axes(@$, $1, (struct ast_name){0}); }
    | product BY NAME { $$ = ast_argument_axes(@$, $1, $3); }
    ;
value: NUMBER { $$ = ast_number(p, @$, $1, false); }
    | '-' NUMBER { $$ = ast_number(p, @$, $2, true); }
    | QUANTITY { $$ = ast_quantity(p, @$, $1, false); }
    | '-' QUANTITY { $$ = ast_quantity(p, @$, $2, true); }
    | STRING { $$ = ast_string(p, @$, $1); }
    | NAME { $$ = ast_word(p, @$, $1); }
    | NAME '(' args ')' { $$ = ast_call(p, @$, $1, &$3); }
    | NAME '(' ')' { $$ = ast_call(p, @$, $1, NULL); }
    | NAME '.' dotted { $$ = ast_dotted(p, @$, $1, $3); }
    | '(' list ')' { $$ = ast_elements(p, @$, AST_TUPLE, $2); }
    | '[' list ']' { $$ = ast_elements(p, @$, AST_SEQUENCE, $2); }
    ;
dotted: NAME { $$ = ast_names_add(p, (struct ast_names){0}, $1); }
    | dotted '.' NAME { $$ = ast_names_add(p, $1, $3); }
    ;
list: element { $$ = ast_values_add(p, (struct ast_values){0}, $1); }
    | list ',' element { $$ = ast_values_add(p, $1, $3); }
    ;
element: sum
    | NUMBER OF sum { $$ = ast_repeat(p, @$, $1, $3); }
    ;
sum: value
    | sum '+' value { $$ = ast_sum(p, @$, $1, $3); }
    ;

names: NAME { $$ = ast_names_add(p, (struct ast_names){0}, $1); }
    | names ',' NAME { $$ = ast_names_add(p, $1, $3); }
    ;
paths: path { $$ = ast_paths_add(p, (struct ast_paths){0}, $1); }
    | paths ',' path { $$ = ast_paths_add(p, $1, $3); }
    ;
path: step { $$ = ast_path_add(p, (struct ast_path){0}, $1); }
    | path '.' step { $$ = ast_path_add(p, $1, $3); }
    ;
step: NAME { $$ = (struct ast_step){.name = $1, .span = @1}; }
    | NAME '[' slice ']' { $$ = (struct ast_step){$1, true, $3, @$}; $$.slice.span = @3; }
    ;
slice: bound { $$ = ast_slice_index(p, $1); }
    | bound ':' bound { $$ = ast_slice_range(p, $1, $3, NULL, span_nowhere()); }
    | bound ':' bound ':' NUMBER { $$ = ast_slice_range(p, $1, $3, &$5, @5); }
    ;
bound: %empty { $$ = (struct ast_bound){0}; }
    | NUMBER { $$ = (struct ast_bound){.said = true, .number = $1, .span = @$}; }
    | '-' NUMBER { $$ = (struct ast_bound){true, true, $2, @$}; }
    ;

%%

static const char *symbol_words(yysymbol_kind_t symbol) {
    return yysymbol_name(symbol);
}

// The message itself is composed in frontend/syntax_errors.c, which does not know bison's tables.
static int yyreport_syntax_error(const yypcontext_t *context, struct parser *p) {
    enum { MOST = 12 };
    yysymbol_kind_t symbols[MOST];
    const char *expected[MOST];
    int n = yypcontext_expected_tokens(context, symbols, MOST);
    for (int i = 0; i < n; i++)
        expected[i] = symbol_words(symbols[i]);
    report_unexpected(p, *yypcontext_location(context), symbol_words(yypcontext_token(context)),
                      expected, n > 0 ? n : 0);
    return 0;
}

static void yyerror(struct span *span, struct parser *p, const char *message) {
    report_parser_failure(p, *span, message); // only "memory exhausted"
}

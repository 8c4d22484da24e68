// The text: a class, its function `forward`, and lines up to the one that returns.
//
//     class GraphModule(torch.nn.Module):
//         def forward(self, primals_1: "f32[4, 8]", primals_2: "f32[8]"):
//             # File: train.py:12 in forward, code: return x + b
//             add: "f32[4, 8]" = torch.ops.aten.add.Tensor(primals_1, primals_2);  primals_1 = primals_2 = None
//             return (add,)
//
// What stands behind it, as the modules that it calls, is not looked at: who names one is refused.
#include "equal/fx/read.h"

#include <string.h>

#include "equal/fx/annotations.h"
#include "equal/fx/frames.h"
#include "equal/fx/groups.h"
#include "equal/fx/lines.h"
#include "equal/fx/operations.h"
#include "equal/fx/ranks.h"
#include "equal/graph/check.h"

// ---- the header -------------------------------------------------------------------------------

// `class NAME(torch.nn.Module):`, of an exported program behind `ExportedProgram:`
static bool read_class(struct reader *r, struct graph *graph) {
    struct scanner *s = &r->s;
    fx_read_comments(r);
    struct word word = scan_word(s);
    if (word_is(word, "ExportedProgram") && scan_take(s, ':'))
        word = scan_word(s);
    if (!word_is(word, "class"))
        return scan_fail(s, E902, word, "expected `class NAME(torch.nn.Module):`");
    struct word name = scan_word(s);
    graph->name = arena_string(s->arena, name.text, name.length);
    if (scan_peek(s) != '(')
        return scan_expected(s, "`(torch.nn.Module)`");
    return scan_balanced(s) && scan_need(s, ':');
}

// `x: "f32[4, 8]"`; what has no shape is no array, or holds several, which are flattened later.
static bool read_given(struct reader *r) {
    struct scanner *s = &r->s;
    const struct array_shape *shape;
    struct word name = scan_word(s);
    if (!name.length)
        return scan_expected(s, "what the graph is given");
    if (scan_take(s, ':'))
        return fx_read_annotation(r, &shape) && fx_add_parameter(r, name, shape);
    struct named_value *named = fx_named(r, name);
    if (named->kind != NAMED_NOTHING)
        return scan_fail(s, E902, name, "`%.*s` is given twice", WORD(name));
    named->kind = NAMED_OTHER;
    return true;
}

// `def forward(self, a, b):`
static bool read_forward(struct reader *r) {
    struct scanner *s = &r->s;
    if (!word_is(scan_word(s), "def") || !word_is(scan_word(s), "forward"))
        return scan_expected(s, "`def forward(self, ...):`");
    if (!scan_need(s, '(') || !word_is(scan_word(s), "self"))
        return scan_expected(s, "`self`");
    while (!scan_take(s, ')')) {
        if (!scan_need(s, ','))
            return false;
        if (scan_take(s, ')'))
            break;
        if (!read_given(r))
            return false;
    }
    return scan_need(s, ':');
}

// ---- all --------------------------------------------------------------------------------------

static bool read_lines(struct reader *r) {
    for (bool is_last = false; !is_last;) {
        fx_read_comments(r);
        if (r->s.failed)
            return false;
        if (r->s.at == r->s.end)
            return scan_fail(&r->s, E902, (struct word){r->s.end, 0},
                             "the text ends before the graph returns");
        if (!fx_read_line(r, &is_last))
            return false;
    }
    return true;
}

static bool has_digits(const char *at, const char *end) {
    const char *begin = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > begin && at == end;
}

// Whether a name is only a number, `primals_3`, `tangents_1`, `arg0_1`: what has no shape is numbered, too, so that the
// same number is another parameter in another program.
static bool is_number(const char *name) {
    static const char *const stems[] = {"primals_", "tangents_", "arg"};
    const char *end = name + strlen(name);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t length = strlen(stems[i]);
        if (strncmp(name, stems[i], length) != 0)
            continue;
        if (i == 2 && end - name > 2 && strcmp(end - 2, "_1") == 0)
            end -= 2;
        return has_digits(name + length, end);
    }
    return false;
}

static void keep_entry(struct reader *r, struct graph *graph) {
    struct arena *arena = r->s.arena;
    uint32_t *parameters = ARENA_ARRAY(arena, uint32_t, r->n_parameters);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->instructions[i].primitive == PRIM_PARAMETER) {
            parameters[r->instructions[i].attributes->index] = i;
            graph->has_numbered_parameters |= is_number(r->instructions[i].name);
        }
    struct computation entry = {
        .name = "forward",
        .instructions = arena_copy(arena, r->instructions, r->n * sizeof *r->instructions),
        .n = r->n,
        .root = r->root,
        .parameters = parameters,
        .n_parameters = r->n_parameters};
    graph->entry = r->n_computations;
    ARENA_PUSH(r->s.scratch, r->computations, r->n_computations, r->computations_cap, entry);
}

static void keep_groups(const struct reader *r, struct graph *graph) {
    const char **names = ARENA_ARRAY(r->s.arena, const char *, r->n_groups);
    for (uint32_t i = 0; i < r->n_groups; i++)
        names[i] = arena_string(r->s.arena, r->groups[i].name.text, r->groups[i].name.length);
    graph->process_groups = names;
    graph->n_process_groups = r->n_groups;
}

static void keep_graph(struct reader *r, struct graph *graph) {
    struct arena *arena = r->s.arena;
    keep_entry(r, graph);
    keep_groups(r, graph);
    graph->computations =
        arena_copy(arena, r->computations, r->n_computations * sizeof *r->computations);
    graph->n_computations = r->n_computations;
    graph->n_devices = r->n_devices;
    graph->frames = arena_copy(arena, r->frames, r->n_frames * sizeof *r->frames);
    graph->n_frames = r->n_frames;
    graph->is_partitioned = r->n_devices > 1;
}

static struct reader reader_new(uint32_t source, const struct layout_given *given,
                                struct arena *arena, struct arena *scratch,
                                struct diagnostics *diagnostics) {
    struct reader r = {.s = scanner_new(source, arena, scratch, diagnostics),
                       .given = given,
                       .n_devices = given ? given->mesh.n_devices : 1,
                       .shapes = known_shapes_new(arena, scratch),
                       .operations = fx_operation_words(scratch),
                       .strings = {.arena = scratch},
                       .names = {.arena = scratch},
                       .group_words = {.arena = scratch},
                       .root = UINT32_MAX,
                       .no_attributes = ARENA_NEW(arena, struct instruction_attributes)};
    ARENA_PUSH(scratch, r.frames, r.n_frames, r.frames_cap, (struct source_frame){0});
    return r;
}

// The text does not say how many devices execute it.
static bool has_mesh(struct reader *r) {
    struct word at = {r->s.begin, 0};
    if (!r->given)
        return true;
    if (!r->given->has_mesh) {
        struct diagnostic *d =
            scan_report(&r->s, E910, at, "this text does not say how many devices execute it");
        if (d)
            diagnostic_help(d, "give the mesh with which it was traced, as in `--mesh dp=2,tp=3`, "
                               "in the order of its axes");
        return false;
    }
    return r->n_devices <= MAX_GRAPH_DEVICES ||
           scan_fail(&r->s, E907, at, "programs of 1 to %d devices are read", MAX_GRAPH_DEVICES);
}

bool fx_is_text(uint32_t source, const struct diagnostics *diagnostics) {
    const struct source_file *file = &diagnostics->sources->items[source];
    static const char *const beginnings[] = {"class ", "ExportedProgram:"};
    const char *at = file->text + text_begin(file->text, file->length);
    at += strspn(at, " \t\r\n");
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(at, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

struct graph *fx_read(uint32_t source, const struct layout_given *given, struct arena *arena,
                      struct diagnostics *diagnostics) {
    struct arena scratch = {0};
    struct reader r = reader_new(source, given, arena, &scratch, diagnostics);
    struct graph *graph = ARENA_NEW(arena, struct graph);
    bool good = has_mesh(&r) && fx_compare_ranks(&r) && read_class(&r, graph) && read_forward(&r) &&
                read_lines(&r) && fx_heard_ranks(&r) && fx_find_groups(&r);
    if (good)
        keep_graph(&r, graph);
    arena_free(&scratch);
    return good && graph_check(graph, diagnostics) ? graph : NULL;
}

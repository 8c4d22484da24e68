// The module: its header, tables of places in the user's program, and computations, the last of which is usually the
// entry. Everything is read in one pass over the bytes; names stay where they stand until somebody needs a string.
#define _GNU_SOURCE // memmem
#include "equal/hlo/read.h"

#include <string.h>

#include "equal/graph/check.h"
#include "equal/hlo/attributes.h"
#include "equal/hlo/computations.h"
#include "equal/hlo/instructions.h"

// ---- other files --------------------------------------------------------------------------------
// What people take for an HLO text, told by what stands near its beginning.
static const struct {
    const char *mark, *what, *help;
} other_files[] = {
    {"stablehlo.", "this is StableHLO, not HLO text",
     "print the program with `lower(...).as_text(\"hlo\")`, or dump it with "
     "--xla_dump_hlo_as_text"},
    {"mhlo.", "this is MHLO, not HLO text",
     "print the program with `lower(...).as_text(\"hlo\")`, or dump it with "
     "--xla_dump_hlo_as_text"},
    {"module @", "this is MLIR, not HLO text",
     "print the program with `lower(...).as_text(\"hlo\")`, or dump it with "
     "--xla_dump_hlo_as_text"},
    {"BufferAssignment", "this is a buffer assignment, not HLO text",
     "take *.before_optimizations.txt and *.after_spmd-partitioning.*.txt of the same dump"},
    {"hlo_module {", "this is a proto as text, not HLO text",
     "dump it with --xla_dump_hlo_as_text"},
    {"torch.ops.", "an FX text begins with `class NAME(torch.nn.Module):`",
     "take what `gm.print_readable(print_output=False)` gives, alone; a log has more in its lines"},
    {"lambda ; ", "this is a jaxpr, not HLO text",
     "print the program with `lower(...).as_text(\"hlo\")`"},
};
enum { LOOKED_THROUGH = 4096 };

static bool begins_within(const struct scanner *s, const char *mark) {
    size_t length = (size_t)(s->end - s->begin);
    return memmem(s->begin, length < LOOKED_THROUGH ? length : LOOKED_THROUGH, mark, strlen(mark));
}

static bool fail_other_file(struct scanner *s) {
    s->at = s->begin;
    scan_blanks(s);
    struct word at = {s->at, 0};
    static const char *const dump = "dump the program with "
                                    "XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\"";
    const char *what =
        s->at == s->end ? "the file is empty" : "an HLO text begins with `HloModule`";
    const char *help = dump;
    if (memchr(s->begin, '\0', (size_t)(s->end - s->begin)))
        what = "this is no text";
    else
        for (size_t i = 0; i < sizeof other_files / sizeof *other_files; i++)
            if (begins_within(s, other_files[i].mark)) {
                what = other_files[i].what;
                help = other_files[i].help;
                break;
            }
    struct diagnostic *d = scan_report(s, E901, at, "%s", what);
    if (d)
        diagnostic_help(d, "%s", help);
    return false;
}

// ---- header -------------------------------------------------------------------------------------
static bool read_count(struct scanner *s, struct word name, int64_t *count) {
    if (!scan_number(s, count))
        return false;
    return (*count >= 1 && *count <= MAX_GRAPH_DEVICES) ||
           scan_fail(s, E907, name, "programs of 1 to %d devices are read", MAX_GRAPH_DEVICES);
}

// `HloModule jit_step, entry_computation_layout={...}, num_partitions=8`
static bool read_header(struct reader *r, struct graph *graph) {
    struct scanner *s = &r->s;
    if (!word_is(scan_word(s), "HloModule"))
        return fail_other_file(s);
    int64_t partitions = 1, replicas = 1;
    struct word name = scan_word(s), partitions_at = name;
    graph->name = arena_string(s->arena, name.text, name.length);
    while (scan_take(s, ',')) {
        struct word attribute = scan_word(s);
        if (!attribute.length)
            return scan_expected(s, "an attribute of the module");
        if (!scan_need(s, '='))
            return false;
        if (word_is(attribute, "num_partitions"))
            partitions_at = attribute;
        const char *value = s->at;
        bool good = word_is(attribute, "num_partitions")  ? read_count(s, attribute, &partitions)
                    : word_is(attribute, "replica_count") ? read_count(s, attribute, &replicas)
                                                          : scan_value(s);
        if (!good)
            return false;
        r->has_shardings |= mentions_partitioner(scan_from(s, value));
    }
    if (partitions > 1 && replicas > 1)
        return scan_fail(s, E908, partitions_at, "a program of both partitions and replicas");
    struct devices devices = {(uint32_t)(partitions * replicas), replicas > 1};
    graph->n_devices = devices.n;
    r->groups = groups_new(s, devices);
    return true;
}

// ---- the rest -----------------------------------------------------------------------------------
// A table, or a computation, at the word.
static bool read_part(struct reader *r, struct word name, uint32_t *entry) {
    struct scanner *s = &r->s;
    if (r->n_computations == 0 && read_frame_table(s, &r->frames, name))
        return true;
    if (s->failed)
        return false;
    if (word_is(name, "HloModule"))
        return scan_fail(s, E902, name, "a second module in one file");
    bool is_entry = word_is(name, "ENTRY");
    if (is_entry) {
        scan_take(s, '%');
        name = scan_word(s);
        if (*entry != UINT32_MAX)
            return scan_fail(s, E902, name, "a second ENTRY");
        *entry = r->n_computations;
    }
    if (!name.length)
        return scan_expected(s, "a computation");
    return read_computation(r, name);
}

static bool read_parts(struct reader *r, uint32_t *entry) {
    struct scanner *s = &r->s;
    *entry = UINT32_MAX;
    while (scan_peek(s) || s->at < s->end) {
        scan_take(s, '%');
        if (!read_part(r, scan_word(s), entry))
            return false;
    }
    if (s->failed)
        return false;
    if (*entry != UINT32_MAX)
        return true;
    return scan_fail(s, E902, (struct word){s->end, 0}, "no computation is ENTRY");
}

// Behind the pass that partitions a device's program is the entry, and XLA names it so. Of other texts nothing may be
// left that is said to this pass.
static bool is_behind_partitioner(const struct reader *r, const struct graph *graph) {
    const char *name = graph->computations[graph->entry].name;
    struct word word = {name, (uint32_t)strlen(name)};
    return graph->n_devices > 1 && (word_ends(word, "_spmd", 5) || !r->has_shardings);
}

static void keep_graph(struct reader *r, struct graph *graph) {
    graph->computations =
        arena_copy(r->s.arena, r->computations, r->n_computations * sizeof *r->computations);
    graph->n_computations = r->n_computations;
    graph->frames =
        arena_copy(r->s.arena, r->frames.frames, r->frames.n * sizeof *r->frames.frames);
    graph->n_frames = r->frames.n;
    graph->axes = r->groups.axes;
    graph->n_axes = r->groups.n_axes;
    graph->is_partitioned = is_behind_partitioner(r, graph);
}

static struct reader reader_new(uint32_t source, struct arena *arena, struct arena *scratch,
                                struct diagnostics *diagnostics) {
    struct reader r = {.s = scanner_new(source, arena, scratch, diagnostics),
                       .shapes = {.known = known_shapes_new(arena, scratch)},
                       .opcodes = opcode_words(scratch),
                       .attributes = attribute_words(scratch),
                       .strings = {.arena = scratch},
                       .names = {.arena = scratch},
                       .computation_names = {.arena = scratch},
                       .no_attributes = ARENA_NEW(arena, struct instruction_attributes)};
    r.frames = frames_new(&r.s);
    return r;
}

struct graph *hlo_read(uint32_t source, struct arena *arena, struct diagnostics *diagnostics) {
    struct arena scratch = {0};
    struct reader r = reader_new(source, arena, &scratch, diagnostics);
    struct graph *graph = ARENA_NEW(arena, struct graph);
    bool good = read_header(&r, graph) && read_parts(&r, &graph->entry);
    if (good)
        keep_graph(&r, graph);
    arena_free(&scratch);
    return good && graph_check(graph, diagnostics) ? graph : NULL;
}

// The text form of programs (docs/program.md): what `emit` prints, people edit and parse.c reads
// back.
//
// One `step NAME { ... }` holds the header (mesh, sizes, policy), the tensors, the buffers and the
// schedules; one `unit NAME.UNIT { ... }` follows for each unit. Everything is printed that cannot
// be inferred, and nothing twice, so that print(parse(print(p))) is the same text.
#include "ir/print.h"

#include <stdlib.h>

const char *text_sum(struct arena *arena, const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return arena_format(arena, "%016" PRIx64, hash);
}

// What one part has for itself.
static void print_program(struct printer *p, const struct program *program) {
    p->program = program;
    for (uint32_t i = 0; i < program->n_buffers; i++)
        print_buffer(p, &program->buffers[i]);
    for (int s = 0; s < N_STEPS; s++)
        if (program->steps[s].present)
            print_step(p, s);
}

static void print_arena(struct printer *p, const struct program *program) {
    if (program->arena_bytes[TIER_DEVICE] < 0)
        return;
    put(p, "arena %" PRId64, program->arena_bytes[TIER_DEVICE]);
    for (int i = TIER_DEVICE + 1; i < N_TIERS; i++)
        if (program->arena_bytes[i] > 0)
            put(p, ", %" PRId64 " on %s", program->arena_bytes[i], tier_names[i]);
    end_line(p);
}

static void print_part(struct printer *p, const struct program *program) {
    const struct mesh_part *part = &program->part;
    put(p, "part %s over ", part->name);
    put_axes(p, &part->axes);
    put(p, " %" PRId64 " .. %" PRId64 " {", part->begin, part->end);
    put_spanned_end(p, part->span);
    p->indent++;
    print_arena(p, program);
    print_program(p, program);
    p->indent--;
    put(p, "}");
    end_line(p);
}

// Where all devices are one part, its lines are the step's.
void job_print(const struct job *job, FILE *to, const struct print_options *options) {
    static const struct print_options defaults = {0};
    struct printer p = {.to = to, .job = job, .options = options ? options : &defaults};
    bool parted = job->programs[0]->part.name;
    put(&p, "step %s {", job->name);
    end_line(&p);
    p.indent++;
    print_mesh(&p);
    print_sizes(&p);
    print_policy(&p);
    if (!parted)
        print_arena(&p, job->programs[0]);
    for (uint32_t i = 0; i < job->n_tensors; i++)
        print_tensor(&p, &job->tensors[i]);
    for (uint32_t i = 0; i < job->n_programs; i++)
        if (parted)
            print_part(&p, job->programs[i]);
        else
            print_program(&p, job->programs[i]);
    p.indent--;
    put(&p, "}");
    end_line(&p);
    for (uint32_t i = 0; i < job->n_units; i++)
        print_unit(&p, &job->units[i]);
    arena_free(&p.scratch);
}

char *job_text(const struct job *job, struct arena *arena) {
    char *text;
    size_t length;
    FILE *to = memory_given(open_memstream(&text, &length));
    job_print(job, to, NULL);
    memory_written(to);
    char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

// Fuzzes the texts that say where arrays lie: any bytes, taken as a spec, as a sharding, as a mesh and as an
// assumption, give a pairing or messages, never more; and a pairing writes a spec that gives it again.
#include <stdio.h>

#include "equal/layout/assumptions.h"
#include "equal_layout_program.h"
#include "fuzz.h"

static const char one_text[] = "parameter a['x'] s32[8,8]\nparameter a['w'] f32[48]\n"
                               "parameter b['w'] f32[48]\nresult f32[8]\nresult f32[]\n";
static const char many_text[] = "devices 4\naxes dp=2 tp=2\nparameter a['x'] s32[4,4]\n"
                                "parameter a['w'] f32[24]\nparameter b['w'] f32[48]\n"
                                "result f32[2]\nresult f32[]\n";
static const char settled[] = "parameter x [8,8] : dp, tp\nparameter w [48] : -\n"
                              "parameter a.w [48] : tp\nresult 0 [8] : dp*tp\n";

struct trial {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    struct pairing_question question;
    uint32_t spec;
    const char *mesh_text;
};

static void begin(struct trial *t) {
    *t = (struct trial){.spec = NO_SOURCE};
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    t->question.one = layout_program("one", one_text, &t->arena, t->diagnostics);
    t->question.many = layout_program("many", many_text, &t->arena, t->diagnostics);
}

// Messages are shown, which looks at all that they point to.
static const struct pairing *pair(struct trial *t) {
    struct layout_given given;
    const struct pairing *pairing = NULL;
    t->question.given = &given;
    if (layout_given_read(&given, t->spec, t->mesh_text, &t->arena, t->diagnostics))
        pairing = pair_programs(&t->question, &t->arena, t->diagnostics);
    CHECK((pairing != NULL) == (t->diagnostics->n_errors == 0));
    return pairing;
}

static void end(struct trial *t) {
    FILE *nowhere = fopen("/dev/null", "w");
    diagnostics_print(t->diagnostics, nowhere, true);
    fclose(nowhere);
    arena_free(&t->arena);
}

static char *written_spec(const char *text, size_t length) {
    struct trial t;
    char *written = NULL;
    size_t n;
    begin(&t);
    t.spec = source_add(&t.sources, &t.arena, "spec", text, length);
    const struct pairing *pairing = pair(&t);
    if (pairing) {
        FILE *out = open_memstream(&written, &n);
        pairing_write_spec(pairing, out);
        fclose(out);
    }
    end(&t);
    return written;
}

static void take_sharding(const char *text) {
    struct trial t;
    begin(&t);
    const struct computation *entry = &t.question.many->computations[0];
    struct instruction *parameter = &entry->instructions[entry->parameters[0]];
    struct instruction_attributes *with = ARENA_NEW(&t.arena, struct instruction_attributes);
    *with = *parameter->attributes;
    with->sharding = text;
    parameter->attributes = with;
    pair(&t);
    end(&t);
}

static void take_mesh(const char *text) {
    struct trial t;
    begin(&t);
    t.mesh_text = text;
    pair(&t);
    end(&t);
}

static void take_assumption(const char *text) {
    struct trial t;
    struct assumptions all = {.n = 0};
    begin(&t);
    t.spec = source_add(&t.sources, &t.arena, "spec", settled, strlen(settled));
    const struct pairing *pairing = pair(&t);
    CHECK(!pairing || assumptions_add(&all, text, pairing, &t.arena, t.diagnostics) ==
                          (t.diagnostics->n_errors == 0));
    for (uint32_t i = 0; i < all.n; i++)
        assumption_text(&all.of[i], &t.arena);
    end(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = memory_given(malloc(size + 1));
    memcpy(text, data, size);
    text[size] = 0;
    take_sharding(text);
    take_mesh(text);
    take_assumption(text);
    hold_canonical(written_spec, data, size);
    free(text);
    return 0;
}

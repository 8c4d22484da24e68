// The descriptor as C: what `build` compiles and links beside the program's object. Arrays first,
// one per kind, then the structure that points at them, then a main.
#include "backend/backend.h"
#include "backend/symbols.h"

#include <inttypes.h>
#include <stdio.h>

// ---- words ------------------------------------------------------------------------------------

// A string literal, or NULL. Three octal digits end an escape, whatever follows it.
static void print_string(FILE *to, const char *text) {
    if (!text) {
        fputs("NULL", to);
        return;
    }
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\' || *c == '?' || *c < ' ' || *c > '~')
            fprintf(to, "\\%03o", *c);
        else
            fputc(*c, to);
    fputc('"', to);
}

static void print_field(FILE *to, const char *name, const char *text) {
    fprintf(to, ".%s = ", name);
    print_string(to, text);
    fputs(", ", to);
}

static void print_axes(FILE *to, const char *name, const struct place_axes *axes) {
    if (axes->n == 0)
        return;
    fprintf(to, ".%s = {%d, {", name, axes->n);
    for (int i = 0; i < axes->n; i++)
        fprintf(to, "%s%d", i ? ", " : "", axes->axes[i]);
    fputs("}}, ", to);
}

// ---- arrays -----------------------------------------------------------------------------------

// An array of nothing is no array in C, so it has a zero element that nobody reads.
static void begin_array(FILE *to, const char *type, const char *name, int32_t n) {
    fprintf(to, "\nstatic const struct %s %s[] = {\n", type, name);
    if (n == 0)
        fputs("    {0},\n", to);
}

// Fields that are zero are left out where that is shorter; designators keep the rest independent of
// the order in runtime/place.h.
static void print_mesh(FILE *to, const struct place_program *p) {
    begin_array(to, "place_axis", "axes", p->n_axes);
    for (int32_t i = 0; i < p->n_axes; i++) {
        fputs("    {", to);
        print_field(to, "name", p->axes[i].name);
        fprintf(to, ".size = %" PRId64 ", .stride = %" PRId64 "},\n", p->axes[i].size,
                p->axes[i].stride);
    }
    fputs("};\n", to);
}

static void print_fused(FILE *to, const struct place_tensor *t) {
    fprintf(to, "\n     .plane = %" PRId64 ", .n_fused = %d, .fused = {", t->plane, t->n_fused);
    for (int32_t i = 0; i < t->n_fused; i++) {
        fputs("{", to);
        print_field(to, "name", t->fused[i].name);
        fprintf(to, ".begin = %" PRId64 ", .elements = %" PRId64 "}, ", t->fused[i].begin,
                t->fused[i].elements);
    }
    fputs("}, ", to);
}

// Reals are printed in hexadecimal, which loses nothing.
static void print_tensors(FILE *to, const struct place_program *p) {
    begin_array(to, "place_tensor", "tensors", p->n_tensors);
    for (int32_t i = 0; i < p->n_tensors; i++) {
        const struct place_tensor *t = &p->tensors[i];
        fputs("    {", to);
        print_field(to, "name", t->name);
        print_field(to, "saved_name", t->saved_name);
        if (t->n_fused)
            print_fused(to, t);
        fprintf(to,
                ".layers = %" PRId64 ", .first_layer = %" PRId64
                ", .init = %d, .init_std = %a, .dtype = %d, .saved_rows = %" PRId64
                ", .saved_columns_begin = %" PRId64 ", .saved_columns = %" PRId64
                ", .saved_transposed = %d},\n",
                t->layers, t->first_layer, (int)t->init, t->init_std, (int)t->dtype, t->saved_rows,
                t->saved_columns_begin, t->saved_columns, t->saved_transposed);
    }
    fputs("};\n", to);
}

static void print_dimensions(FILE *to, const struct place_buffer *b) {
    fputs("\n     .dims = {", to);
    for (int32_t i = 0; i < b->rank; i++) {
        fputs("{", to);
        print_field(to, "name", b->dims[i].name);
        print_axes(to, "cut", &b->dims[i].cut);
        if (b->dims[i].chunks)
            fprintf(to, ".chunks = %" PRId64 ", .chunk = %" PRId64 ", ", b->dims[i].chunks,
                    b->dims[i].chunk);
        fprintf(to, ".size = %" PRId64 "}, ", b->dims[i].size);
    }
    fputs("},", to);
}

static void print_buffers(FILE *to, const struct place_part *p, int32_t part) {
    char name[32];
    snprintf(name, sizeof name, "buffers_%d", part);
    begin_array(to, "place_buffer", name, p->n_buffers);
    for (int32_t i = 0; i < p->n_buffers; i++) {
        const struct place_buffer *b = &p->buffers[i];
        fputs("    {", to);
        print_field(to, "name", b->name);
        fprintf(to, ".tensor = %d, .class = %d, .dtype = %d, .tier = %d, .rank = %d,", b->tensor,
                (int)b->class, (int)b->dtype, (int)b->tier, b->rank);
        if (b->rank > 0)
            print_dimensions(to, b);
        fputs("\n     ", to);
        print_axes(to, "flat", &b->flat);
        print_axes(to, "owners", &b->owners);
        fprintf(to,
                ".stacks = {{%d, %" PRId64 "}, {%d, %" PRId64 "}}, .count = %" PRId64
                ", .slots = %" PRId64 ", .inner = %d, .first_item = %" PRId64
                ", .item_step = %" PRId64 ", .stride_bytes = %" PRId64 ", .offset_bytes = %" PRId64
                ", .window_of = %d},\n",
                (int)b->stacks[0].kind, b->stacks[0].count, (int)b->stacks[1].kind,
                b->stacks[1].count, b->count, b->slots, b->inner, b->first_item, b->item_step,
                b->stride_bytes, b->offset_bytes, b->window_of);
    }
    fputs("};\n", to);
}

static void print_statements(FILE *to, const struct place_program *p) {
    begin_array(to, "place_statement", "statements", p->n_statements);
    for (int32_t i = 0; i < p->n_statements; i++) {
        const struct place_statement *s = &p->statements[i];
        fputs("    {", to);
        print_field(to, "file", s->file);
        print_field(to, "text", s->text);
        fprintf(to, ".line = %d, .column = %d, .depth = %d},\n", s->line, s->column, s->depth);
    }
    fputs("};\n", to);
}

static void print_effects(FILE *to, const struct place_part *p, int32_t part) {
    char name[32];
    snprintf(name, sizeof name, "effects_%d", part);
    begin_array(to, "place_effect", name, p->n_effects);
    for (int32_t i = 0; i < p->n_effects; i++) {
        const struct place_effect *effect = &p->effects[i];
        const struct place_index *at = effect->indices;
        fprintf(to,
                "    {%d, %d, %d, {{%d, %" PRId64 ", %" PRId64 "}, {%d, %" PRId64 ", %" PRId64
                "}}},\n",
                effect->statement, effect->kind, effect->buffer, at[0].variable, at[0].offset,
                at[0].modulus, at[1].variable, at[1].offset, at[1].modulus);
    }
    fputs("};\n", to);
}

static void print_groups(FILE *to, const struct place_program *p) {
    begin_array(to, "place_group", "groups", p->n_groups);
    for (int32_t i = 0; i < p->n_groups; i++) {
        fputs("    {", to);
        print_axes(to, "axes", &p->groups[i].axes);
        print_field(to, "name", p->groups[i].name);
        fprintf(to, ".train_bytes = %" PRId64 "},\n", p->groups[i].train_bytes);
    }
    fputs("};\n", to);
}

static void print_relaxed(FILE *to, const struct place_program *p) {
    begin_array(to, "place_relaxed", "relaxed", p->n_relaxed);
    for (int32_t i = 0; i < p->n_relaxed; i++) {
        fputs("    {", to);
        print_field(to, "condition", p->relaxed[i].condition);
        print_axes(to, "axes", &p->relaxed[i].axes);
        fprintf(to, ".line = %d},\n", p->relaxed[i].line);
    }
    fputs("};\n", to);
}

// ---- parts ------------------------------------------------------------------------------------

static void print_predicted(FILE *to, const struct place_memory *m) {
    fprintf(to,
            "     .memory = {.peak = %" PRId64 ", .parameters = %" PRId64 ", .optimizer = %" PRId64
            ", .gradients = %" PRId64 ", .activations = %" PRId64 ", .transient = %" PRId64 "},\n",
            m->peak, m->parameters, m->optimizer, m->gradients, m->activations, m->transient);
}

static void print_carried(FILE *to, const char *name, const int32_t buffers[PLACE_N_CARRIED],
                          const char *end) {
    fprintf(to, ".%s = {%d, %d, %d}%s", name, buffers[PLACE_LOSS_SCALE], buffers[PLACE_GOOD_STEPS],
            buffers[PLACE_UPDATES], end);
}

// Entries are named as the object defines them; a step that the job has not stays null.
static void print_part(FILE *to, const struct place_part *p, const struct job *job,
                       uint32_t number) {
    const struct place_wellknown *w = &p->wellknown;
    struct arena scratch = {0};
    fputs("    {", to);
    print_field(to, "name", p->name);
    print_axes(to, "axes", &p->axes);
    fprintf(to, ".begin = %" PRId64 ", .end = %" PRId64, p->begin, p->end);
    fprintf(to, ", .arena_bytes = {%" PRId64 ", %" PRId64 ", %" PRId64 "},\n",
            p->arena_bytes[PLACE_DEVICE], p->arena_bytes[PLACE_HOST], p->arena_bytes[PLACE_DISK]);
    fprintf(to, "     .n_buffers = %d, .buffers = buffers_%u,\n", p->n_buffers, number);
    fprintf(to, "     .n_effects = %d, .effects = effects_%u,\n", p->n_effects, number);
    fprintf(to,
            "     .wellknown = {.tokens = %d, .targets = %d, .step = %d, .loss = %d, "
            ".grad_norm = %d, .learning_rate = %d, .logits = %d, .samples = %d, .microbatch = %d, "
            ".layer = %d, .draw_key = %d, .scale = %d, ",
            w->tokens, w->targets, w->step, w->loss, w->grad_norm, w->learning_rate, w->logits,
            w->samples, w->microbatch, w->layer, w->draw_key, w->scale);
    print_carried(to, "found", w->found, ", ");
    print_carried(to, "left", w->left, "},\n");
    print_predicted(to, &p->memory);
    for (int s = 0; s < N_STEPS; s++)
        if (job->programs[number]->steps[s].present)
            fprintf(to, "     .%s = %s,\n", step_names[s], step_symbol(&scratch, job, number, s));
    fputs("    },\n", to);
    arena_free(&scratch);
}

static void declare_entries(FILE *to, const struct job *job) {
    struct arena scratch = {0};
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++)
            if (job->programs[i]->steps[s].present)
                fprintf(to, "place_entry %s;\n", step_symbol(&scratch, job, i, s));
    arena_free(&scratch);
}

static void print_parts(FILE *to, const struct place_program *p, const struct job *job) {
    for (int32_t i = 0; i < p->n_parts; i++) {
        print_buffers(to, &p->parts[i], i);
        print_effects(to, &p->parts[i], i);
    }
    begin_array(to, "place_part", "parts", p->n_parts);
    for (int32_t i = 0; i < p->n_parts; i++)
        print_part(to, &p->parts[i], job, (uint32_t)i);
    fputs("};\n", to);
}

// ---- the structure ----------------------------------------------------------------------------

static void print_counts(FILE *to, const struct place_program *p) {
    fprintf(to,
            "    .n_axes = %d, .axes = axes, .devices = %" PRId64
            ", .n_handles = %d, .direct_members = %d, .message_bytes = %" PRId64 ",\n",
            p->n_axes, p->devices, p->n_handles, p->direct_members, p->message_bytes);
    fprintf(to, "    .n_tensors = %d, .tensors = tensors,\n", p->n_tensors);
    fprintf(to, "    .n_statements = %d, .statements = statements,\n", p->n_statements);
    fprintf(to, "    .n_stages = %d, .n_parts = %d, .parts = parts,\n", p->n_stages, p->n_parts);
    fprintf(to, "    .n_groups = %d, .groups = groups,\n", p->n_groups);
    fprintf(to, "    .n_relaxed = %d, .relaxed = relaxed,\n    ", p->n_relaxed);
    print_axes(to, "islands", &p->islands);
    fprintf(to, ".average_every = %" PRId64 ", .library_products = %d, .bf16_products = %d,\n",
            p->average_every, p->library_products, p->bf16_products);
    fprintf(to,
            "    .batch = %" PRId64 ", .sequence = %" PRId64 ", .microbatches = %" PRId64
            ", .vocab = %" PRId64 ",\n    .seed = UINT64_C(%" PRIu64 "), .flops_per_token = %a,\n"
            "    .rate_ends = %" PRId64 ",\n",
            p->batch, p->sequence, p->microbatches, p->vocab, p->seed, p->flops_per_token,
            p->rate_ends);
}

// Features that the instructions of a level need beyond those of the level below; the words are
// those of __builtin_cpu_supports, which knows levels themselves in new compilers only.
static const char *const features_v2[] = {"sse4.2", "ssse3", "popcnt"};
static const char *const features_v3[] = {"avx2", "fma", "bmi", "bmi2"};
static const char *const features_v4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                                          "avx512vl"};

static void print_features(FILE *to, const char *const *features, size_t n) {
    for (size_t i = 0; i < n; i++)
        fprintf(to, " &&\n           __builtin_cpu_supports(\"%s\")", features[i]);
}

// A machine that lacks the instructions gets a sentence, not a signal.
static void print_main(FILE *to, const char *level) {
#define LENGTH(array) (sizeof(array) / sizeof *(array))
    fputs("\nstatic int runs_here(void) {\n    __builtin_cpu_init();\n    return 1", to);
    print_features(to, features_v2, LENGTH(features_v2));
    if (level[1] >= '3')
        print_features(to, features_v3, LENGTH(features_v3));
    if (level[1] >= '4')
        print_features(to, features_v4, LENGTH(features_v4));
    fprintf(
        to,
        ";\n}\n\nint main(int argc, char **argv) {\n    if (!runs_here()) {\n"
        "        fputs(\"this program was built for machines of level x86-64-%s, which this \"\n"
        "              \"one is not; build it with --cpu for an older level\\n\", stderr);\n"
        "        return 1;\n    }\n    return place_main(argc, argv, &program);\n}\n",
        level);
#undef LENGTH
}

void descriptor_print(const struct place_program *p, const struct job *job, const char *level,
                      FILE *to) {
    fputs("/* The descriptor of a compiled program, made by placec. */\n"
          "#include <stdio.h>\n#include \"place.h\"\n\n",
          to);
    declare_entries(to, job);
    print_mesh(to, p);
    print_tensors(to, p);
    print_statements(to, p);
    print_parts(to, p, job);
    print_groups(to, p);
    print_relaxed(to, p);
    fprintf(to, "\nstatic const struct place_program program = {\n    .abi_version = %d, ",
            p->abi_version);
    print_field(to, "name", p->name);
    print_field(to, "plan_hash", p->plan_hash);
    print_field(to, "library_directory", p->library_directory);
    fputs("\n    ", to);
    print_field(to, "model", p->model);
    print_field(to, "training", p->training);
    print_field(to, "config_json", p->config_json);
    print_field(to, "config_unseen", p->config_unseen);
    print_field(to, "config_lacks", p->config_lacks);
    fputs("\n", to);
    print_counts(to, p);
    fputs("};\n", to);
    print_main(to, level);
}

// How fast HLO text is read (equal/hlo): a step of so many layers on so many devices is written as XLA prints it, and
// read some times; of the fastest: "bytes seconds MB/s bytes", of the text, of reading, of what a graph keeps.
//
//     bench_hlo LAYERS DEVICES
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/arguments.h"
#include "equal/hlo/read.h"
#include "ir/check.h"

enum { TIMES = 5, MOST_LAYERS = 100000, OPS_OF_LAYER = 24 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Products, sums over devices and pointwise work in about the proportion in which steps have them.
static void write_layer(FILE *to, int layer, int devices) {
    static const char *const op_name = "jit(step)/transpose(jvp(block))/dot_general";
    for (int i = 0; i < OPS_OF_LAYER; i++) {
        int n = layer * OPS_OF_LAYER + i;
        fprintf(to, "  %%x.%d = f32[16,512,64]{2,1,0} ", n + 1);
        if (i % 6 == 0)
            fprintf(to,
                    "dot(%%x.%d, %%w), lhs_contracting_dims={2}, rhs_contracting_dims={0}, "
                    "metadata={op_name=\"%s\" stack_frame_id=%d}\n",
                    n, op_name, 1 + i % 2);
        else if (i % 6 == 1)
            fprintf(
                to,
                "all-reduce(%%x.%d), channel_id=%d, replica_groups=mesh['dp'=%d,'tp'=%d] {'tp'}, "
                "use_global_device_ids=true, to_apply=%%add, "
                "metadata={op_name=\"psum\" stack_frame_id=%d}\n",
                n, n + 1, devices / 2, 2, 1 + i % 2);
        else
            fprintf(to, "%s(%%x.%d, %%x.%d), metadata={op_name=\"%s\" stack_frame_id=%d}\n",
                    i % 2 ? "add" : "multiply", n, n, op_name, 1 + i % 2);
    }
}

static char *write_text(int layers, int devices, size_t *length) {
    char *text = NULL;
    FILE *to = memory_given(open_memstream(&text, length));
    fprintf(to,
            "HloModule jit_step, num_partitions=%d\n\nFileNames\n1 \"train.py\"\n\nFunctionNames\n"
            "1 \"block\"\n\nFileLocations\n"
            "1 {file_name_id=1 function_name_id=1 line=73 end_line=73 column=8 end_column=20}\n\n"
            "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
            "2 {file_location_id=1 parent_frame_id=2}\n\n"
            "%%add (l: f32[], r: f32[]) -> f32[] {\n  %%l = f32[] parameter(0)\n"
            "  %%r = f32[] parameter(1)\n  ROOT %%s = f32[] add(%%l, %%r)\n}\n\n"
            "ENTRY %%main_spmd (x.0: f32[16,512,64], w: f32[64,64]) -> f32[16,512,64] {\n"
            "  %%x.0 = f32[16,512,64]{2,1,0} parameter(0)\n  %%w = f32[64,64]{1,0} parameter(1)\n",
            devices);
    for (int layer = 0; layer < layers; layer++)
        write_layer(to, layer, devices);
    fprintf(to, "}\n");
    memory_written(to);
    return text;
}

int main(int argc, char **argv) {
    int layers, devices;
    if (argc != 3 || !read_count(argv[1], MOST_LAYERS, &layers) ||
        !read_count(argv[2], MAX_GRAPH_DEVICES, &devices) || devices % 2) {
        fprintf(stderr, "usage: bench_hlo LAYERS DEVICES, an even number of these\n");
        return 2;
    }
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    size_t length, kept_bytes = 0;
    char *text = write_text(layers, devices, &length);
    uint32_t source = source_add(&sources, &arena, "step.hlo", text, length);
    double best = 0;
    for (int i = 0; i < TIMES; i++) {
        struct arena kept = {0};
        double begin = seconds();
        const struct graph *graph = hlo_read(source, &kept, diagnostics);
        double taken = seconds() - begin;
        CHECK(graph);
        best = i == 0 || taken < best ? taken : best;
        kept_bytes = arena_used_bytes(&kept);
        arena_free(&kept);
    }
    printf("%zu %.6f %.0f %zu\n", length, best, (double)length / best / 1e6, kept_bytes);
    free(text);
    arena_free(&arena);
    return 0;
}

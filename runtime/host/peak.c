/* The peak by which a run's rate is told (see peak.h). */
#include <stdint.h>
#include <stdlib.h>
#include "runtime/calls.h"
#include "runtime/clock.h"
#include "runtime/context.h"
#include "runtime/host/peak.h"
#include "runtime/team.h"
#include "runtime/workspace.h"

enum { SIZE = 384, TIMES = 4 }; /* that stays in cache; the best of so many */

static int32_t multiply(struct place_context *context, bool by_library, float *memory) {
    const float *a = memory, *b = memory + SIZE * SIZE;
    float *c = memory + 2 * SIZE * SIZE;
    return by_library ? place_product(context, -1, PLACE_F32, PLACE_F32, 0, 0, SIZE, SIZE, SIZE, a,
                                      SIZE, b, SIZE, 0, c, SIZE)
                      : place_product_blocks(context, -1, PLACE_F32, PLACE_F32, 0, 0, SIZE, SIZE,
                                             SIZE, 1, 0, a, SIZE, b, SIZE, 0, c, SIZE);
}

static double best_rate(struct place_context *context, bool by_library, float *memory) {
    double best = 0;
    for (int i = 0; i < TIMES; i++) {
        double begin = clock_seconds();
        if (multiply(context, by_library, memory) != PLACE_OK)
            break;
        double rate = 2.0 * SIZE * SIZE * SIZE / (clock_seconds() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

double measure_peak(const struct kernels *kernels, bool by_library, int cores) {
    float *memory = calloc(3 * SIZE * SIZE, sizeof *memory);
    struct place_context *context = calloc(1, sizeof *context);
    struct team *team = team_create(1, PLACE_WORKSPACE_BYTES_PER_THREAD);
    double best = 0;
    if (memory && context && team) {
        context->team = team;
        context->kernels = kernels;
        best = best_rate(context, by_library, memory);
    }
    team_destroy(team);
    free(context);
    free(memory);
    return best * cores;
}

/* See islands.h. */
#include "runtime/host/islands.h"
#include "runtime/mesh.h"

struct rank_loss loss_of_all(const struct place_program *program, const void *records,
                             size_t bytes) {
    const struct place_part *part = part_that_tells(program);
    int32_t teller = rank_at(program, &part->axes, part->begin, 0);
    const char *record = records, *told = record + (size_t)teller * bytes;
    struct rank_loss all = {.loss = ((const struct rank_loss *)told)->loss};
    double sum = 0;
    for (int64_t rank = 0; rank < program->devices; rank++, record += bytes) {
        const struct rank_loss *one = (const struct rank_loss *)record;
        if (one->targets > 0) /* an island without any has no loss */
            sum += one->loss * (double)one->targets;
        all.targets += one->targets;
    }
    if (program->islands.n > 0 && all.targets > 0)
        all.loss = sum / (double)all.targets;
    return all;
}

bool averages_after(const struct place_program *program, int64_t step, bool last) {
    return program->parts->average && (last || step % program->average_every == 0);
}

// What a policy says by itself: each of its clauses has a meaning. Whether the statements keep to
// it is the verifier's matter, and whether it is the file's the driver's.
#include "ir/ir.h"
#include "ir/limits.h"

// Islands and a step that averages go together. The reference program is one island's: it has no
// mesh to name them by.
static const char *check_islands(const struct job *job) {
    const struct policy *policy = &job->policy;
    bool averages = job->programs[0]->steps[STEP_AVERAGE].present;
    if (averages ? policy->islands.n == 0 && job->mesh.n_axes > 0 : policy->islands.n > 0)
        return "a step `average` and `relax over` in the policy go together";
    return policy->islands.n > 0 && policy->average_every < 1
               ? "`every` in the policy is less than one step"
               : NULL;
}

// What gradients are compressed to, and over which axes, go together.
static const char *check_wire(const struct policy *policy) {
    struct wire wire = policy->wire;
    bool kept = wire.way == WIRE_TOPK ? wire.kept >= 1 && wire.kept <= WIRE_BLOCK : wire.kept == 0;
    return (policy->wire_axes.n > 0) == (wire.way != WIRE_NONE) && kept
               ? NULL
               : "`wire over` in the policy says no way to compress";
}

// Sums are binary trees over the microbatches of all devices, and over blocks of what is divided.
static const char *check_reproducible(const struct policy *policy, struct arena *arena) {
    uint32_t divided = policy->reproducible_of;
    if (!policy->reproducible)
        return NULL;
    if (!is_power_of_two(policy->reproducible) || policy->reproducible > LIMIT_REPRODUCIBLE)
        return arena_format(arena, "`reproducible` in the policy is no power of two from 1 to %d",
                            LIMIT_REPRODUCIBLE);
    for (int i = 0; i < N_DIMENSIONS; i++)
        if (divided >> i & 1 && !dimension_splittable[i])
            return "`reproducible` in the policy is of a dimension that nothing divides";
    if (!(divided >> DIM_BATCH & 1))
        return "`reproducible` in the policy is not of the batch";
    return policy->microbatch < 1 ? "`microbatch` in the policy is less than one sequence" : NULL;
}

const char *job_check_policy(const struct job *job, struct arena *arena) {
    const char *wrong = check_reproducible(&job->policy, arena);
    if (!wrong)
        wrong = check_islands(job);
    return wrong ? wrong : check_wire(&job->policy);
}

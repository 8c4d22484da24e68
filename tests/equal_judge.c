// Judges pairs of HLO texts by execution (equal_truth.h).
//
// usage: equal_judge FOLDER ...
// A line for each folder says equal, different (by how much, and in which result) or why it cannot be executed; some
// mistakes do not bite. Status 1: a pair that is not wrong is not equal, or one cannot be executed.
#include <inttypes.h>
#include <stdio.h>

#include "equal_truth.h"

static void print_executed(const char *folder, const struct executed_pair *executed) {
    if (executed->truth == TRUTH_EQUAL)
        printf("%s equal\n", folder);
    else if (executed->truth == TRUTH_UNKNOWN)
        printf("%s cannot be executed: %s\n", folder, executed->why);
    else
        printf("%s different by %.3g in result %" PRIu32 " (%s) on device %" PRIu32 "\n", folder,
               executed->difference.relative, executed->difference.result, executed->result,
               executed->difference.device);
}

static enum truth judge(const char *folder) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    struct pair_sources pair = pair_sources_read(folder, &sources, &arena);
    struct executed_pair executed = pair_execute(&pair, &arena, diagnostics);
    print_executed(folder, &executed);
    diagnostics_print(diagnostics, stdout, false);
    arena_free(&arena);
    return executed.truth;
}

int main(int n_arguments, char **arguments) {
    uint32_t counts[2][N_TRUTHS] = {0}; // of right pairs, and of wrong ones
    for (int i = 1; i < n_arguments; i++)
        counts[is_wrong_variant(arguments[i])][judge(arguments[i])]++;
    const uint32_t *right = counts[0], *wrong = counts[1];
    printf("right: %" PRIu32 " equal, %" PRIu32 " different; wrong: %" PRIu32 " different, %" PRIu32
           " do not bite; %" PRIu32 " cannot be executed\n",
           right[TRUTH_EQUAL], right[TRUTH_DIFFERENT], wrong[TRUTH_DIFFERENT], wrong[TRUTH_EQUAL],
           right[TRUTH_UNKNOWN] + wrong[TRUTH_UNKNOWN]);
    return right[TRUTH_DIFFERENT] + right[TRUTH_UNKNOWN] + wrong[TRUTH_UNKNOWN] > 0;
}

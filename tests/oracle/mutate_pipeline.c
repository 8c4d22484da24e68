// Mistakes in pipelines.
#include "tests/oracle/mutate_parts.h"

bool swap_tasks(struct mutant *m) {
    return false;
}

/* Prints the reference page of the runtime's calls from their table, in Markdown. A program of the
 * build, not of the runtime: `share/place/runtime_calls.md` is its output. */
#include <stdio.h>

#define SECTION(title) printf("\n## %s\n", title);
#define CALL(name, since, effect, work, text)                                                      \
    printf("\n### `place_%s`\n\n%s. %s, since ABI %d.\n\n| argument | type | access | |\n"         \
           "|---|---|---|---|\n",                                                                  \
           #name, text, #effect, since);
#define ARGUMENT(kind, name, access, text)                                                         \
    printf("| `%s` | %s | %s | %s |\n", #name, #kind, #access, text);

int main(void) {
    printf("# What generated code calls\n\n"
           "Each is `int32_t place_NAME(struct place_context *context, int32_t statement, "
           "arguments...)` and "
           "returns an enum place_status. Tensors are contiguous and row-major; `f64*` is a scalar "
           "of a step in "
           "memory. The table and its conventions are `runtime/calls.def`.\n");
#include "runtime/calls.def"
    return 0;
}

// Release: where frees stand in schedules of every shape, as text before and after. What it makes
// of derived programs is compared with goldens (passes_test_partition), and with what is counted
// while they run (backend_test_live).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "tests/program_edit.h"

// x and y are stacked by layers, slot is used in turn, rows and columns both, one is alone; copy reads a and writes b, add
// adds a to b.
static const char head[] =
    "step main {\n"
    "  axis dp = 2\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 4 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  buffer in : input f64[hidden=4]\n"
    "  buffer out : output f64[hidden=4]\n"
    "  buffer x : activations f64[hidden=4] layers 5\n"
    "  buffer y : gradients f64[hidden=4] layers 5\n"
    "  buffer slot : transient f64[hidden=4] slots 2\n"
    "  buffer rows : activations f64[hidden=4] slots 2, layers 4\n"
    "  buffer columns : activations f64[hidden=4] layers 4, slots 2\n"
    "  buffer one : transient f64[hidden=4]\n"
    "  buffer two : transient f64[hidden=4]\n"
    "  buffer logits : activations f64[batch=1, sequence=1, vocab=4] host logits\n"
    "  buffer part : transient f64[hidden=4] flat/dp window of one\n"
    "  buffer parts : transient f64[hidden=4] flat/dp slots 2 window of slot\n";
static const char units[] = "}\n" UNIT_COPY UNIT_ADD;

// The text of one step after the pass, without its first and last line.
static char *released(struct arena *arena, const char *kind, const char *body) {
    const char *text = arena_format(arena, "%s  %s {\n%s  }\n%s", head, kind, body, units);
    struct program *program = program_read(arena, text, 0);
    assert_true(passes_run(program->job, &(struct pass_context){0}, PASS_RELEASE, PASS_RELEASE));
    const char *wrong = job_check(program->job, arena, NULL);
    if (wrong)
        fail_msg("%s", wrong);
    char *printed;
    size_t length;
    FILE *to = open_memstream(&printed, &length);
    job_print(program->job, to, NULL);
    fclose(to);
    char *begin = strchr(strstr(printed, arena_format(arena, "  %s {", kind)), '\n') + 1;
    char *end = strstr(begin, "\n  }\n");
    char *kept = arena_string(arena, begin, (size_t)(end + 1 - begin));
    free(printed);
    return kept;
}

static void check(const char *kind, const char *body, const char *expected) {
    struct arena arena = {0};
    assert_string_equal(released(&arena, kind, body), expected);
    arena_free(&arena);
}

static void behind_the_last_use(void **state) {
    check("train",
          "    call copy(a = in) -> (b = one)\n"
          "    call copy(a = one) -> (b = two)\n"
          "    call copy(a = one) -> (b = x[0])\n"
          "    call copy(a = two) -> (b = out)\n",
          "    call copy(a = in) -> (b = one)\n"
          "    call copy(a = one) -> (b = two)\n"
          "    call copy(a = one) -> (b = x[0])\n"
          "    free x[0], one\n"
          "    call copy(a = two) -> (b = out)\n"
          "    free two\n");
}

// Frees that stand elsewhere are not kept: neither early nor late ones, nor those of half a list.
static void frees_are_placed_anew(void **state) {
    check("train",
          "    zero one\n"
          "    free two\n"
          "    zero two\n"
          "    call add(a = one, b = two)\n"
          "    call copy(a = two) -> (b = out)\n"
          "    free one\n",
          "    zero one\n"
          "    zero two\n"
          "    call add(a = one, b = two)\n"
          "    free one\n"
          "    call copy(a = two) -> (b = out)\n"
          "    free two\n");
}

// What is written anew is dead before; what is added to is not.
static void lives_end_where_values_do(void **state) {
    check("train",
          "    zero one\n"
          "    call copy(a = one) -> (b = out)\n"
          "    zero one\n"
          "    call add(a = in, b = one)\n"
          "    call copy(a = one) -> (b = out)\n",
          "    zero one\n"
          "    call copy(a = one) -> (b = out)\n"
          "    free one\n"
          "    zero one\n"
          "    call add(a = in, b = one)\n"
          "    call copy(a = one) -> (b = out)\n"
          "    free one\n");
}

// Forward and backward over layers: an item goes where the descending loop has read it, the one
// that only the middle reads goes there, and slots by their remainder.
static void by_layer_and_slot(void **state) {
    check("train",
          "    call copy(a = in) -> (b = x[0])\n"
          "    for l = 0 .. 4 {\n"
          "      call copy(a = x[l]) -> (b = x[l+1])\n"
          "    }\n"
          "    call copy(a = x[4]) -> (b = slot[0])\n"
          "    for l = 0 .. 4 descending {\n"
          "      call add(a = x[l], b = slot[l+1 mod 2])\n"
          "      call copy(a = slot[l+1 mod 2]) -> (b = slot[l mod 2])\n"
          "    }\n"
          "    call copy(a = slot[0]) -> (b = out)\n",
          "    call copy(a = in) -> (b = x[0])\n"
          "    for l = 0 .. 4 {\n"
          "      call copy(a = x[l]) -> (b = x[l+1])\n"
          "    }\n"
          "    call copy(a = x[4]) -> (b = slot[0])\n"
          "    free x[4]\n"
          "    for l = 0 .. 4 descending {\n"
          "      call add(a = x[l], b = slot[l+1 mod 2])\n"
          "      free x[l]\n"
          "      call copy(a = slot[l+1 mod 2]) -> (b = slot[l mod 2])\n"
          "      free slot[l+1 mod 2]\n"
          "    }\n"
          "    call copy(a = slot[0]) -> (b = out)\n"
          "    free slot[0]\n");
}

// A loop that goes with the one around it names items of every of its iterations: they go there.
static void in_groups(void **state) {
    check("train",
          "    for l = 0 .. 4 {\n"
          "      zero x[l]\n"
          "    }\n"
          "    for g = 0 .. 2 descending {\n"
          "      for l = 2*g .. 2*g+2 {\n"
          "        call copy(a = x[l]) -> (b = slot[l mod 2])\n"
          "      }\n"
          "      for l = 2*g .. 2*g+2 descending {\n"
          "        call copy(a = slot[l mod 2]) -> (b = out)\n"
          "      }\n"
          "    }\n",
          "    for l = 0 .. 4 {\n"
          "      zero x[l]\n"
          "    }\n"
          "    for g = 0 .. 2 descending {\n"
          "      for l = 2*g .. 2*g+2 {\n"
          "        call copy(a = x[l]) -> (b = slot[l mod 2])\n"
          "        free x[l]\n"
          "      }\n"
          "      for l = 2*g .. 2*g+2 descending {\n"
          "        call copy(a = slot[l mod 2]) -> (b = out)\n"
          "        free slot[l mod 2]\n"
          "      }\n"
          "    }\n");
}

// Each stack by the loop that names it: two microbatches in flight, by slot and layer. What the
// next one's loop over layers reads dies in it.
static void by_slot_of_microbatch_and_layer(void **state) {
    check("train",
          "    for l = 0 .. 4 {\n"
          "      zero rows[0][l]\n"
          "      zero columns[l][0]\n"
          "    }\n"
          "    for m = 1 .. 6 {\n"
          "      for l = 0 .. 4 {\n"
          "        call copy(a = in) -> (b = rows[m mod 2][l])\n"
          "        call copy(a = rows[m mod 2][l]) -> (b = columns[l][m mod 2])\n"
          "      }\n"
          "      for l = 0 .. 4 descending {\n"
          "        call add(a = rows[m-1 mod 2][l], b = columns[l][m-1 mod 2])\n"
          "        call copy(a = columns[l][m-1 mod 2]) -> (b = out)\n"
          "      }\n"
          "    }\n"
          "    call copy(a = columns[3][1]) -> (b = out)\n"
          "    for l = 0 .. 4 {\n"
          "      call copy(a = rows[1][l]) -> (b = out)\n"
          "    }\n",
          "    for l = 0 .. 4 {\n"
          "      zero rows[0][l]\n"
          "      zero columns[l][0]\n"
          "    }\n"
          "    for m = 1 .. 6 {\n"
          "      for l = 0 .. 4 {\n"
          "        call copy(a = in) -> (b = rows[m mod 2][l])\n"
          "        call copy(a = rows[m mod 2][l]) -> (b = columns[l][m mod 2])\n"
          "      }\n"
          "      for l = 0 .. 4 descending {\n"
          "        call add(a = rows[m-1 mod 2][l], b = columns[l][m-1 mod 2])\n"
          "        free rows[m+1 mod 2][l]\n"
          "        call copy(a = columns[l][m-1 mod 2]) -> (b = out)\n"
          "        free columns[l][m+1 mod 2]\n"
          "      }\n"
          "    }\n"
          "    for l = 0 .. 3 {\n"
          "      free columns[l][1]\n"
          "    }\n"
          "    call copy(a = columns[3][1]) -> (b = out)\n"
          "    free columns[3][1]\n"
          "    for l = 0 .. 4 {\n"
          "      call copy(a = rows[1][l]) -> (b = out)\n"
          "      free rows[1][l]\n"
          "    }\n");
}

// The layers of one slot die at once, behind the loop that needs them to its end; and those of both
// slots behind all loops.
static void all_layers_of_a_slot_at_once(void **state) {
    check("train",
          "    for m = 0 .. 6 {\n"
          "      for l = 0 .. 4 {\n"
          "        zero rows[m mod 2][l]\n"
          "        zero columns[l][m mod 2]\n"
          "      }\n"
          "      for k = 0 .. 3 {\n"
          "        for l = 0 .. 4 {\n"
          "          call copy(a = rows[m mod 2][l]) -> (b = out)\n"
          "          call copy(a = columns[l][m mod 2]) -> (b = out)\n"
          "        }\n"
          "      }\n"
          "    }\n"
          "    for m = 0 .. 2 {\n"
          "      for l = 0 .. 4 {\n"
          "        zero columns[l][m]\n"
          "      }\n"
          "    }\n"
          "    for k = 0 .. 3 {\n"
          "      for l = 0 .. 4 {\n"
          "        call copy(a = columns[l][0]) -> (b = out)\n"
          "        call copy(a = columns[l][1]) -> (b = out)\n"
          "      }\n"
          "    }\n",
          "    for m = 0 .. 6 {\n"
          "      for l = 0 .. 4 {\n"
          "        zero rows[m mod 2][l]\n"
          "        zero columns[l][m mod 2]\n"
          "      }\n"
          "      for k = 0 .. 3 {\n"
          "        for l = 0 .. 4 {\n"
          "          call copy(a = rows[m mod 2][l]) -> (b = out)\n"
          "          call copy(a = columns[l][m mod 2]) -> (b = out)\n"
          "        }\n"
          "      }\n"
          "      for l = 0 .. 4 {\n"
          "        free rows[m mod 2][l], columns[l][m mod 2]\n"
          "      }\n"
          "    }\n"
          "    for m = 0 .. 2 {\n"
          "      for l = 0 .. 4 {\n"
          "        zero columns[l][m]\n"
          "      }\n"
          "    }\n"
          "    for k = 0 .. 3 {\n"
          "      for l = 0 .. 4 {\n"
          "        call copy(a = columns[l][0]) -> (b = out)\n"
          "        call copy(a = columns[l][1]) -> (b = out)\n"
          "      }\n"
          "    }\n"
          "    for l = 0 .. 4 {\n"
          "      free columns[l][0], columns[l][1]\n"
          "    }\n");
    static const char before[] = "    for l = 0 .. 6 {\n" // by whose variable the slot is named
                                 "      for k = 0 .. 4 {\n"
                                 "        zero rows[l mod 2][k]\n"
                                 "      }\n"
                                 "      for j = 0 .. 3 {\n"
                                 "        for k = 0 .. 4 {\n"
                                 "          call copy(a = rows[l mod 2][k]) -> (b = out)\n"
                                 "        }\n"
                                 "      }\n";
    struct arena arena = {0};
    check("train", arena_format(&arena, "%s    }\n", before),
          arena_format(&arena,
                       "%s      for l2 = 0 .. 4 {\n"
                       "        free rows[l mod 2][l2]\n      }\n    }\n",
                       before));
    arena_free(&arena);
}

// What the last iteration alone uses last is freed behind the loop: of the loop over microbatches,
// of which three iterations stand for all; and of layers, whose edge is another item's.
static void behind_the_loop(void **state) {
    check("train",
          "    zero one\n"
          "    for m = 0 .. 100 {\n"
          "      call copy(a = one) -> (b = two)\n"
          "      call copy(a = two) -> (b = out)\n"
          "    }\n"
          "    for l = 0 .. 4 {\n"
          "      zero y[l]\n"
          "    }\n"
          "    for l = 0 .. 3 {\n"
          "      call add(a = y[l+1], b = y[l])\n"
          "    }\n",
          "    zero one\n"
          "    for m = 0 .. 100 {\n"
          "      call copy(a = one) -> (b = two)\n"
          "      call copy(a = two) -> (b = out)\n"
          "      free two\n"
          "    }\n"
          "    free one\n"
          "    for l = 0 .. 4 {\n"
          "      zero y[l]\n"
          "    }\n"
          "    for l = 0 .. 3 {\n"
          "      call add(a = y[l+1], b = y[l])\n"
          "      free y[l]\n"
          "    }\n"
          "    free y[3]\n");
}

// Layers that die at once die in a loop, those of other buffers beside them: here what the loop
// over microbatches needs to its end.
static void all_layers_at_once(void **state) {
    check("train",
          "    for l = 0 .. 4 {\n"
          "      zero x[l]\n"
          "      zero y[l]\n"
          "    }\n"
          "    zero x[4]\n"
          "    for m = 0 .. 3 {\n"
          "      for l = 0 .. 4 {\n"
          "        call copy(a = x[l]) -> (b = out)\n"
          "        call copy(a = y[l]) -> (b = out)\n"
          "      }\n"
          "    }\n",
          "    for l = 0 .. 4 {\n"
          "      zero x[l]\n"
          "      zero y[l]\n"
          "    }\n"
          "    zero x[4]\n"
          "    free x[4]\n"
          "    for m = 0 .. 3 {\n"
          "      for l = 0 .. 4 {\n"
          "        call copy(a = x[l]) -> (b = out)\n"
          "        call copy(a = y[l]) -> (b = out)\n"
          "      }\n"
          "    }\n"
          "    for l = 0 .. 4 {\n"
          "      free x[l], y[l]\n"
          "    }\n");
}

// A few iterations stand for all of a loop that names nothing by its variable.
static void longer_than_can_be_followed(void **state) {
    static const char body[] = "    for g = 0 .. 3 {\n"
                               "      for l = 300000*g .. 300000*g+300000 {\n"
                               "        zero one\n"
                               "        free one\n"
                               "      }\n"
                               "    }\n"
                               "    for m = 0 .. 1048576 {\n"
                               "      zero two\n"
                               "      call copy(a = two) -> (b = out)\n"
                               "      free two\n"
                               "    }\n";
    check("train", body, body);
}

// Inside the loop over microbatches behind the loop over layers; and not at all where the same item
// is written in the loop for what comes behind it.
static void out_of_one_loop_only(void **state) {
    check("train",
          "    for m = 0 .. 2 {\n"
          "      zero one\n"
          "      for l = 0 .. 3 {\n"
          "        call copy(a = one) -> (b = out)\n"
          "      }\n"
          "    }\n"
          "    zero two\n"
          "    for l = 0 .. 3 {\n"
          "      call copy(a = two) -> (b = slot[0])\n"
          "      call copy(a = two) -> (b = slot[1])\n"
          "      call copy(a = slot[1]) -> (b = out)\n"
          "    }\n"
          "    call add(a = slot[0], b = two)\n",
          "    for m = 0 .. 2 {\n"
          "      zero one\n"
          "      for l = 0 .. 3 {\n"
          "        call copy(a = one) -> (b = out)\n"
          "      }\n"
          "      free one\n"
          "    }\n"
          "    zero two\n"
          "    for l = 0 .. 3 {\n"
          "      call copy(a = two) -> (b = slot[0])\n"
          "      call copy(a = two) -> (b = slot[1])\n"
          "      call copy(a = slot[1]) -> (b = out)\n"
          "      free slot[1]\n"
          "    }\n"
          "    call add(a = slot[0], b = two)\n"
          "    free slot[0], two\n");
}

// A transfer holds what it carries until its wait; a window is its whole's bytes.
static void transfers_hold_their_pieces(void **state) {
    check("train",
          "    zero one\n"
          "    start reduce_scatter over dp as r[0] { one -> part }\n"
          "    zero two\n"
          "    start all_reduce over dp as s[0] { two -> two }\n"
          "    wait r[0]\n"
          "    wait s[0]\n",
          "    zero one\n"
          "    start reduce_scatter over dp as r[0] { one -> part }\n"
          "    zero two\n"
          "    start all_reduce over dp as s[0] { two -> two }\n"
          "    wait r[0]\n"
          "    free one\n"
          "    wait s[0]\n"
          "    free two\n");
}

// A life begins with what is written of a window if the rest is gathered from it: nothing of before is
// read then. Anything else that is read in between is of the life that there was.
static void windows_begin_lives(void **state) {
    static const char gathered[] = "      start all_gather over dp as r[0] { part -> one }\n"
                                   "      wait r[0]\n"
                                   "      call copy(a = one) -> (b = out)\n";
    struct arena arena = {0};
    check("train",
          arena_format(&arena, "    for m = 0 .. 3 {\n      zero part\n%s    }\n", gathered),
          arena_format(&arena, "    for m = 0 .. 3 {\n      zero part\n%s      free one\n    }\n",
                       gathered));
    check("train",
          arena_format(&arena,
                       "    zero one\n    for m = 0 .. 3 {\n      zero part\n"
                       "      call copy(a = one) -> (b = out)\n%s    }\n",
                       gathered),
          arena_format(&arena,
                       "    zero one\n    for m = 0 .. 3 {\n      zero part\n"
                       "      call copy(a = one) -> (b = out)\n%s    }\n    free one\n",
                       gathered));
    arena_free(&arena);
    // Nothing is gathered from the window.
    check("train",
          "    zero one\n"
          "    call copy(a = one) -> (b = out)\n"
          "    zero part\n"
          "    start all_reduce over dp as r[0] { part -> part }\n"
          "    wait r[0]\n"
          "    call copy(a = one) -> (b = out)\n",
          "    zero one\n"
          "    call copy(a = one) -> (b = out)\n"
          "    zero part\n"
          "    start all_reduce over dp as r[0] { part -> part }\n"
          "    wait r[0]\n"
          "    call copy(a = one) -> (b = out)\n"
          "    free one\n");
    check("train", "    zero part\n    zero one\n    call copy(a = one) -> (b = out)\n",
          "    zero part\n    free one\n    zero one\n    call copy(a = one) -> (b = out)\n"
          "    free one\n");
}

// In slots that are used in turn, ahead of what reads them.
static void windows_begin_lives_by_slot(void **state) {
    check(
        "train",
        "    for m = 0 .. 3 {\n"
        "      zero parts[0]\n"
        "      start all_gather over dp as r[0] { parts[0] -> slot[0] }\n"
        "      for l = 0 .. 9 {\n"
        "        zero parts[l+1 mod 2]\n"
        "        start all_gather over dp as r[l+1 mod 2] { parts[l+1 mod 2] -> slot[l+1 mod 2] }\n"
        "        wait r[l mod 2]\n"
        "        call copy(a = slot[l mod 2]) -> (b = out)\n"
        "      }\n"
        "      wait r[1]\n"
        "      call copy(a = slot[1]) -> (b = out)\n"
        "    }\n",
        "    for m = 0 .. 3 {\n"
        "      zero parts[0]\n"
        "      start all_gather over dp as r[0] { parts[0] -> slot[0] }\n"
        "      for l = 0 .. 9 {\n"
        "        zero parts[l+1 mod 2]\n"
        "        start all_gather over dp as r[l+1 mod 2] { parts[l+1 mod 2] -> slot[l+1 mod 2] }\n"
        "        wait r[l mod 2]\n"
        "        call copy(a = slot[l mod 2]) -> (b = out)\n"
        "        free slot[l mod 2]\n"
        "      }\n"
        "      wait r[1]\n"
        "      call copy(a = slot[1]) -> (b = out)\n"
        "      free slot[1]\n"
        "    }\n");
}

// An item is of the microbatch and layer in which its transfer starts and is waited for, whichever
// of them says the slot of the transfer.
static void transfers_by_slot_and_layer(void **state) {
    static const char *const slots[] = {"l mod 2", "m mod 2", "0"};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        struct arena arena = {0};
        const char *before = arena_format(&arena,
                                          "    for m = 0 .. 6 {\n"
                                          "      for l = 0 .. 4 {\n"
                                          "        zero columns[l][m mod 2]\n"
                                          "        start all_reduce over dp as r[%s] { "
                                          "columns[l][m mod 2] -> rows[m mod 2][l] }\n"
                                          "        wait r[%s]\n",
                                          slots[i], slots[i]);
        const char *behind = "        call copy(a = rows[m mod 2][l]) -> (b = out)\n";
        check("train", arena_format(&arena, "%s%s      }\n    }\n", before, behind),
              arena_format(&arena,
                           "%s        free columns[l][m mod 2]\n%s"
                           "        free rows[m mod 2][l]\n      }\n    }\n",
                           before, behind));
        arena_free(&arena);
    }
    check("train",
          "    for m = 0 .. 6 {\n"
          "      for l = 0 .. 4 {\n"
          "        zero rows[m mod 2][l]\n"
          "      }\n"
          "      for l = 0 .. 4 {\n"
          "        start all_reduce over dp as r[0] { rows[m mod 2][l] -> one }\n"
          "        wait r[0]\n"
          "        call copy(a = one) -> (b = out)\n"
          "      }\n"
          "    }\n",
          "    for m = 0 .. 6 {\n"
          "      for l = 0 .. 4 {\n"
          "        zero rows[m mod 2][l]\n"
          "      }\n"
          "      for l = 0 .. 4 {\n"
          "        start all_reduce over dp as r[0] { rows[m mod 2][l] -> one }\n"
          "        wait r[0]\n"
          "        free rows[m mod 2][l]\n"
          "        call copy(a = one) -> (b = out)\n"
          "        free one\n"
          "      }\n"
          "    }\n");
}

// What nobody reads dies at once, but for what an evaluation leaves to the host.
static void unread_results(void **state) {
    check("train", "    zero one\n    zero logits\n",
          "    zero one\n    free one\n    zero logits\n    free logits\n");
    check("evaluate",
          "    for m = 0 .. 2 {\n"
          "      zero one\n"
          "      zero logits\n"
          "      zero two\n"
          "    }\n",
          "    for m = 0 .. 2 {\n"
          "      zero one\n"
          "      free one\n"
          "      zero logits\n"
          "      zero two\n"
          "      free two\n"
          "    }\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_the_last_use),
        cmocka_unit_test(frees_are_placed_anew),
        cmocka_unit_test(lives_end_where_values_do),
        cmocka_unit_test(by_layer_and_slot),
        cmocka_unit_test(by_slot_of_microbatch_and_layer),
        cmocka_unit_test(all_layers_of_a_slot_at_once),
        cmocka_unit_test(transfers_by_slot_and_layer),
        cmocka_unit_test(in_groups),
        cmocka_unit_test(behind_the_loop),
        cmocka_unit_test(all_layers_at_once),
        cmocka_unit_test(longer_than_can_be_followed),
        cmocka_unit_test(out_of_one_loop_only),
        cmocka_unit_test(transfers_hold_their_pieces),
        cmocka_unit_test(windows_begin_lives),
        cmocka_unit_test(windows_begin_lives_by_slot),
        cmocka_unit_test(unread_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

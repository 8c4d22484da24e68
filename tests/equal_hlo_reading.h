// Texts of HLO that tests have read, whole or a line at a time.
#ifndef PLACE_TESTS_EQUAL_HLO_READING_H
#define PLACE_TESTS_EQUAL_HLO_READING_H

#include "equal/hlo/read.h"

struct reading {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const struct graph *graph; // NULL: refused
};

struct reading read_bytes(const char *text, size_t length);
void forget(struct reading *);
// Fails where the text is refused.
struct reading read_right(const char *text);
// Fails where the text is read, or refused otherwise: with another code, or in words without these.
void assert_refused(const char *text, size_t length, enum diagnostic_code, const char *message);
const struct computation *entry_of(const struct reading *);
const struct instruction *named(const struct reading *, const char *name); // in the entry

// Computations and parameters that lines of the tests use.
#define STEPS                                                                                      \
    "body { t = (s32[], f32[4,6]) parameter(0) i = s32[] get-tuple-element(t), index=0"            \
    " x = f32[4,6] get-tuple-element(t), index=1"                                                  \
    " ROOT c = (s32[], f32[4,6]) tuple(i, x) }\n"                                                  \
    "more { t = (s32[], f32[4,6]) parameter(0) ROOT c = pred[] constant(true) }\n"                 \
    "half { x = f32[4,6] parameter(0) ROOT y = f32[2,6] slice(x), slice={[0:2], [0:6]} }\n"        \
    "rest { x = f32[4,6] parameter(0) ROOT y = f32[2,6] slice(x), slice={[2:4], [0:6]} }\n"        \
    "add { l = f32[] parameter(0) r = f32[] parameter(1) ROOT s = f32[] add(l, r) }\n"             \
    "less { l = f32[] parameter(0) r = f32[] parameter(1)"                                         \
    " ROOT s = pred[] compare(l, r), direction=LT }\n"                                             \
    "both { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2)"                  \
    " d = f32[] parameter(3) e = f32[] add(a, c) f = f32[] add(b, d)"                              \
    " ROOT s = (f32[], f32[]) tuple(e, f) }\n"
#define GIVEN                                                                                      \
    "a = f32[4,6] parameter(0)\n b = f32[6,8] parameter(1)\n i = s32[] parameter(2)\n"             \
    "p = pred[4,6] parameter(3)\n v = f32[6] parameter(4)\n ix = s32[5,1] parameter(5)\n"          \
    "u = f32[5,6] parameter(6)\n t = (s32[], f32[4,6]) parameter(7)\n n = s32[4,6] parameter(8)\n" \
    "none = f32[0,6] parameter(9)\n cx = c64[4] parameter(10)\n us = s32[5,6] parameter(11)\n"     \
    "r9 = f32[1,1,1,1,1,1,1,1,1] parameter(12)\n"                                                  \
    "z = f32[] constant(0)\n q = pred[] constant(true)\n"

// A module of so many devices whose entry ends with these lines, which the caller frees; the same as read, or refused.
char *module_of(const char *lines, int devices);
struct reading read_line(const char *lines, int devices);
void assert_line_refused(const char *lines, int devices, enum diagnostic_code, const char *message);

#define GROUPED(groups)                                                                            \
    "channel_id=1, replica_groups=" groups ", use_global_device_ids=true, to_apply=add"

#endif

// What `check` says of a judged program: which mode every state has on every axis, computed from
// the storage that the verifier found; memory; communication. As text for people and as JSON.
#ifndef PLACE_DRIVER_REPORT_H
#define PLACE_DRIVER_REPORT_H

#include "driver/compile.h"
#include "ir/names.h"

// A group of tensors that say the same: the buffers of one class about tensors of one role path, or
// about the same layers of them.
struct placement_row {
    enum state state;
    const char *role;            // "layers.attention.qkv"
    int64_t begin, end, step;    // every so many layers; all 0: not repeated by layer
    const struct buffer *buffer; // the first of the group
    const struct found *found;
    int64_t bytes; // of all its buffers, on one device
};
struct role_work; // report.c
struct placement_table {
    struct placement_row *rows;
    uint32_t n, cap;
    struct names worked; // roles of which the step has ops that cost more than a pass: in `work`
    struct role_work *work;
    uint32_t n_work, cap_work;
};
struct placement_table placement_rows(struct compilation *);

// The letter of a row's mode on an axis: R, S, S*.
const char *mode_letter(const struct placement_row *row, unsigned axis);
// Does backward compute again what forward's ops of this role do in a layer (0: the role is in
// none)?
bool role_is_recomputed(const struct placement_table *, const char *role, int64_t layer);
// The letter that most bytes of the state have on the axis.
const char *mode_of_state(const struct placement_table *, enum state, unsigned axis);

void report_text(struct compilation *, FILE *to);
// One object, whatever the outcome; errors included.
void report_json(struct compilation *, FILE *to);

#endif

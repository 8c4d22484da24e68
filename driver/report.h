// What `check` says of a judged program: which mode every state has on every axis, computed from
// the storage that the verifier found; memory; communication. As text for people and as JSON.
#ifndef PLACE_DRIVER_REPORT_H
#define PLACE_DRIVER_REPORT_H

#include "driver/compile.h"
#include "driver/layer_index.h"
#include "ir/names.h"

enum { REPORT_COLUMNS = 80 }; // that a report for people takes at most

// A group of tensors that say the same: the buffers of one class about tensors of one role path, or
// about the same layers of them.
struct row_tensor {
    uint32_t tensor;
    int64_t bytes; // of one layer, on one device
};
extern const char *const residency_names[N_RESIDENCIES]; // as a file says them

struct placement_row {
    enum state state;
    uint32_t role;
    struct layers layers;
    enum residency residency;
    const struct buffer *buffer; // the first of the group
    const struct found *found;
    int64_t bytes;              // of all its buffers, on one device
    int64_t stored_bytes;       // of these without residuals: how those lie is said by nobody; of
                                // what is not kept, as if it were
    struct row_tensor *tensors; // of activations none
    uint32_t n_tensors, cap_tensors;
};
struct placement_role {
    const char *path;                     // "layers.attention.qkv"
    struct layer_index rows[N_STATES];    // by their numbers
    struct layer_index forward, backward; // what costs more than a pass over its values: `work`
};
struct placement_table {
    struct placement_row *rows;
    struct placement_role *roles; // in the order in which rows and work first have them
    const struct op **work;
    uint32_t n, cap, n_roles, cap_roles, n_work, cap_work;
    struct names row_of, role_of;               // by what a row says, by path
    const char *most_bytes[N_STATES][MAX_AXES]; // the letters that most bytes of a state have
};
struct placement_table placement_rows(struct compilation *);
// Whether each buffer holds gradients that are updated with before the norm of all is known.
const bool *consumed_gradients(struct arena *, const struct program *);

// Whether a buffer is a master copy of which parameters are made for each use, since nothing keeps them.
bool is_made_of_master(const struct program *, buffer_id);

// "layers.attention.qkv"
const char *role_path(struct arena *, const uint8_t *roles, unsigned n);

// The letter of a row's mode on an axis: R, S, S*.
const char *mode_letter(const struct placement_row *row, unsigned axis);
// The letter of what a state keeps of a tensor of a role, in a layer (0: the role is in none); "-":
// it keeps nothing.
const char *tensor_letter(const struct placement_table *, uint32_t role, enum state, int64_t layer,
                          uint32_t tensor, unsigned axis);
// Does backward compute again what forward's ops of this role do in a layer (0: the role is in
// none)?
bool role_is_recomputed(const struct placement_table *, uint32_t role, int64_t layer);

void report_text(struct compilation *, const struct options *, FILE *to);
// Parts of it. Lines of the table of modes (report_modes.c): of a role, or of tensors of it that
// lie otherwise.
struct mode_line {
    const char *role;    // "layers[0:16].mlp.down"
    const char *apart;   // "bias"; NULL: the role itself
    const char **tuples; // of every axis
};
struct mode_lines {
    struct mode_line *items;
    uint32_t n, cap;
};
struct mode_lines find_mode_lines(struct compilation *, const struct placement_table *);
// "layers[0:16].mlp.up", or "layers[1:16:2].mlp.up"; of all layers "layers.mlp.up".
const char *sliced_role(struct compilation *, const char *role, struct layer_range layers);
void report_modes(struct compilation *, const struct placement_table *, FILE *to);
// Prints what each strategy of the file keeps and sends (report_strategies.c), where there are several and none is
// named: the others are compiled for it, with these options.
void report_strategies(struct compilation *, const struct options *, FILE *to);
// Prints the routes of a derived program: the way of each state of each role (ir/route.h).
void report_routes(struct compilation *, FILE *to);
// One object, whatever the outcome; errors included.
void report_json(struct compilation *, FILE *to);
int64_t model_parameters(struct compilation *); // how many the model has
// What a device sends in such a step over these axes; NULL: over all.
int64_t bytes_sent(const struct account *, enum step_kind, const struct axis_list *);

#endif

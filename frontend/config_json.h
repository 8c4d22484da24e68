// Reading of a config.json, between its files. What the rest of the frontend calls is in
// frontend/resolve.h.
//
//   config_json.c   the file, what is said of every field
//   config_rope.c   rotary positions, which such files say in several places
#ifndef PLACE_FRONTEND_CONFIG_JSON_H
#define PLACE_FRONTEND_CONFIG_JSON_H

#include <jansson.h>

#include "frontend/resolve.h"

// Where a file says a thing: `key`, or `key` of the table `table`.
struct config_place {
    const char *table; // NULL: the file's own
    const char *key;   // NULL: nowhere yet
};

struct config_reader {
    struct resolver *r;
    uint32_t source; // the config.json itself
    const json_t *root;
    struct model_draft *draft;
    enum model_kind kind;
    // Who has said what rotary positions are: a second one must say the same.
    struct config_place theta, scaling;
};

// For messages. "`rope_theta` of `rope_parameters`"
struct span config_span(const struct config_reader *, struct config_place);
const char *config_place_text(const struct config_reader *, struct config_place);
// One form for every value that cannot be used, at its key: "`KEY` must be WANTED".
struct diagnostic *report_config_value(const struct config_reader *, struct config_place,
                                       const char *wanted);
// What is not known may change the model: it is told, and nothing is proposed that passes it over.
void report_config_key(const struct config_reader *, struct config_place);
// Into the model's field of that name, with the bounds of the field's own kind. False: reported.
bool take_config_value(const struct config_reader *, struct config_place, const json_t *value,
                       const char *field);
// JSON's text of a value; numbers are compared by what they are, so 1.0 is 1.
bool is_config_value(const json_t *value, const char *text);

// ---- config_rope.c ----------------------------------------------------------------------------
// The file's own `rope_theta`.
void take_rope_theta(struct config_reader *, struct config_place, const json_t *value);
// `rope_scaling`, or the `rope_parameters` of newer writers, with everything in it.
void take_rope_table(struct config_reader *, const char *name, const json_t *table);

#endif

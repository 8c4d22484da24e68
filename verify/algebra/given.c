// What a step is given, as leaves of terms: states, and what the host writes. See given.h.
#include "verify/algebra/given.h"

#include <string.h>

// A byte for what kind of leaf it is, then the name: equal for the reference and the final program.
static uint32_t leaf_name(struct terms *terms, char kind, const char *name) {
    char few[128];
    size_t length = strlen(name) + 1;
    char *key = length < sizeof few ? few : arena_alloc(terms->arena, length + 1);
    key[0] = kind;
    memcpy(key + 1, name, length);
    return intern(&terms->attributes, key, (uint32_t)length + 1, NULL);
}

struct term given_state(struct terms *terms, enum buffer_class class, const struct tensor *tensor,
                        int32_t layer) {
    uint32_t name = leaf_name(terms, (char)('A' + class), tensor->name);
    return term_given(terms, NODE_STATE, name, tensor->layers > 0, layer);
}

struct term given_by_host(struct terms *terms, enum host_role role, int32_t item) {
    bool indexed = role == HOST_LAYER || role == HOST_MICROBATCH;
    return term_given(terms, NODE_INPUT, leaf_name(terms, 'i', host_role_names[role]), indexed,
                      indexed ? item : 0);
}

bool is_given_by_host(struct terms *terms, struct term term, enum host_role role) {
    return term_kind(terms, term) == NODE_INPUT && // this saves time: no other is equal
           term_equal(term, given_by_host(terms, role, term.at));
}

const char *given_name(const struct terms *terms, struct term leaf) {
    return (const char *)interned(&terms->attributes, term_node(terms, leaf)->key->attributes) + 1;
}

enum buffer_class given_class(const struct terms *terms, struct term state) {
    const char *name = interned(&terms->attributes, term_node(terms, state)->key->attributes);
    return (enum buffer_class)(name[0] - 'A');
}

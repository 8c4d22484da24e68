// What an op says beside its operands, as a part of terms: attributes are packed one behind the
// other in the order of their table, a byte for the name and then the value, and interned, so that
// equal attributes are equal numbers. What counts positions is a leaf of its own.
#include "verify/algebra/attributes.h"

#include <string.h>

#include "ir/check.h"

uint32_t attributes_pack(struct terms *terms, const struct attribute *all, unsigned n) {
    char bytes[512];
    uint32_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        CHECK(i == 0 || all[i - 1].name < all[i].name);
        const void *from = &all[i].integer;
        uint32_t length = sizeof all[i].integer;
        if (attribute_kinds[all[i].name] == KIND_REAL)
            from = &all[i].real;
        if (attribute_kinds[all[i].name] == KIND_WORD) {
            from = all[i].word;
            length = (uint32_t)strlen(all[i].word) + 1;
        }
        CHECK(size + 1 + length <= sizeof bytes);
        bytes[size++] = (char)all[i].name;
        memcpy(bytes + size, from, length);
        size += length;
    }
    return size ? intern(&terms->attributes, bytes, size, NULL) + 1 : 0;
}

bool attributes_next(const struct terms *terms, uint32_t packed, uint32_t *at,
                     struct attribute *found) {
    if (!packed || *at >= terms->attributes.entries[packed - 1].size)
        return false;
    const char *bytes = interned(&terms->attributes, packed - 1);
    *found = (struct attribute){.name = (enum attribute_name)bytes[(*at)++]};
    const char *value = bytes + *at;
    enum attribute_kind kind = attribute_kinds[found->name];
    if (kind == KIND_WORD)
        found->word = value;
    else if (kind == KIND_REAL)
        memcpy(&found->real, value, sizeof found->real);
    else
        memcpy(&found->integer, value, sizeof found->integer);
    *at += kind == KIND_WORD ? (uint32_t)strlen(value) + 1 : (uint32_t)sizeof found->integer;
    return true;
}

// Ops that say where, not what (axes, dim), have no term.
uint32_t attributes_of(struct terms *terms, const struct op *op) {
    struct attribute all[N_ATTRIBUTES];
    unsigned n = 0;
    for (unsigned name = 0; name < N_ATTRIBUTES; name++) {
        const struct attribute *attribute = op_attribute(op, name);
        if (!attribute || name == ATTRIBUTE_BLOCKS) // in which order, not what
            continue;
        CHECK(attribute_kinds[name] != KIND_AXES && name != ATTRIBUTE_DIM);
        all[n++] = *attribute;
    }
    return attributes_pack(terms, all, n);
}

bool term_attribute(const struct terms *terms, struct term term, enum attribute_name name,
                    struct attribute *found) {
    uint32_t packed = terms->nodes[term.node].key->attributes, at = 0;
    while (attributes_next(terms, packed, &at, found))
        if (found->name == name)
            return true;
    return false;
}

// ---- positions --------------------------------------------------------------------------------

static const int64_t *iota_key(const struct terms *terms, struct term iota) {
    return interned(&terms->attributes, terms->nodes[iota.node].key->attributes - 1);
}

enum dimension iota_dimension(const struct terms *terms, struct term iota) {
    return (enum dimension)iota_key(terms, iota)[0];
}

int64_t iota_count(const struct terms *terms, struct term iota) {
    return iota_key(terms, iota)[1];
}

struct scaled iota_term(struct builder *builder, int64_t dimension, int64_t count) {
    int64_t key[2] = {dimension, count};
    uint32_t attributes = intern(&builder->terms->attributes, key, sizeof key, NULL) + 1;
    return (struct scaled){term_leaf(builder, OP_IOTA, attributes, false, 0), SCALE_ONE};
}

// What an op says beside its operands, as a part of terms: attributes are packed one behind the
// other in the order of their table, a byte for the name and then the value, and interned, so that
// equal attributes are equal numbers. What counts positions is a leaf of its own.
#include "verify/algebra/attributes.h"

#include <string.h>

#include "ir/check.h"

// Equal attributes get equal numbers. Of ops that say where, not what (axes, dim), none has a term.
uint32_t attributes_of(struct terms *terms, const struct op *op) {
    char bytes[512];
    uint32_t size = 0;
    for (unsigned name = 0; name < N_ATTRIBUTES; name++) {
        const struct attribute *attribute = op_attribute(op, name);
        if (!attribute || name == ATTRIBUTE_BLOCKS) // in which order, not what
            continue;
        CHECK(attribute_kinds[name] != KIND_AXES && name != ATTRIBUTE_DIM);
        const void *from = &attribute->integer;
        uint32_t length = sizeof attribute->integer;
        if (attribute_kinds[name] == KIND_REAL)
            from = &attribute->real;
        if (attribute_kinds[name] == KIND_WORD) {
            from = attribute->word;
            length = (uint32_t)strlen(attribute->word) + 1;
        }
        CHECK(size + 1 + length <= sizeof bytes);
        bytes[size++] = (char)name;
        memcpy(bytes + size, from, length);
        size += length;
    }
    return size ? intern(&terms->attributes, bytes, size, NULL) + 1 : 0;
}

bool term_attribute(const struct terms *terms, struct term term, enum attribute_name name,
                    void *value) {
    const struct intern *all = &terms->attributes;
    uint32_t attributes = terms->nodes[term.node].key->attributes;
    if (!attributes)
        return false;
    const char *at = interned(all, attributes - 1);
    for (const char *end = at + all->entries[attributes - 1].size; at < end;) {
        enum attribute_name found = (enum attribute_name) * at++;
        if (found == name)
            memcpy(value, at, sizeof(int64_t));
        if (found == name)
            return true;
        at += attribute_kinds[found] == KIND_WORD ? strlen(at) + 1 : sizeof(int64_t);
    }
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

// Blocks: the lengths in which an op works on dimensions, by their names, "sequence=16 ffn=64".
// What is said of a dimension holds for all operands that have it: of each a power of two of blocks
// is there, the same ones on every mesh, so that a device's are a node of the tree that joins all.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "ir/ir.h"
#include "ir/limits.h"

// The dimension whose blocks stand at `at`, and their length; where the text goes on, behind them.
// NULL: no dimension and no length.
static const char *read_block(const char *at, enum dimension *dimension, int64_t *length) {
    size_t name = strcspn(at, "= ");
    int found = 0;
    while (found < N_DIMENSIONS && (strlen(dimension_names[found]) != name ||
                                    memcmp(dimension_names[found], at, name) != 0))
        found++;
    if (found == N_DIMENSIONS || at[name] != '=' || at[name + 1] < '1' || at[name + 1] > '9')
        return NULL;
    char *behind;
    *dimension = (enum dimension)found;
    *length = strtoll(at + name + 1, &behind, 10);
    return *behind == ' ' && behind[1] ? behind + 1 : *behind ? NULL : behind;
}

int64_t op_block(const struct op *op, enum dimension dimension) {
    const struct attribute *blocks = op_attribute(op, ATTRIBUTE_BLOCKS);
    const char *at = blocks ? blocks->word : "";
    enum dimension named;
    int64_t length;
    while (*at && (at = read_block(at, &named, &length)))
        if (named == dimension)
            return length;
    return 0;
}

// ---- what fits --------------------------------------------------------------------------------

static bool is_in_blocks(int64_t size, int64_t length) {
    int64_t blocks = size / length;
    return blocks * length == size && is_power_of_two(blocks);
}

// Has some operand the dimension, and each that has it a power of two of blocks?
static bool fits_operands(const struct unit *unit, const struct op *op, enum dimension dimension,
                          int64_t length) {
    bool found = false;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        for (unsigned d = 0; d < type->rank; d++) {
            if (type->dims[d].dimension != dimension)
                continue;
            if (!is_in_blocks(type->dims[d].size, length))
                return false;
            found = true;
        }
    }
    return found;
}

// What the op takes for one dimension may have several names: of heads, and of the keys' heads.
static bool agree_where_paired(const struct unit *unit, const struct op *op,
                               const struct op_labels *labels) {
    int64_t lengths[UCHAR_MAX + 1];
    bool seen[UCHAR_MAX + 1] = {false};
    for (unsigned i = 0; i < op->n_operands; i++)
        for (unsigned d = 0; labels->operands[i][d]; d++) {
            unsigned char label = (unsigned char)labels->operands[i][d];
            int64_t length = op_block(op, unit->values[op->operands[i]].type.dims[d].dimension);
            if (seen[label] && lengths[label] != length)
                return false;
            seen[label] = true;
            lengths[label] = length;
        }
    return true;
}

// How many blocks a device joins in what an operand's dimensions give to a result that has them
// not.
static int64_t joined_blocks(const struct unit *unit, const struct op *op,
                             const struct op_labels *labels, unsigned result) {
    char seen[MAX_OPERANDS * MAX_RANK + 1] = "";
    int64_t joined = 1;
    for (unsigned i = 0; i < op->n_operands; i++)
        for (unsigned d = 0; labels->operands[i][d]; d++) {
            const char label[2] = {labels->operands[i][d]};
            const struct dim *dim = &unit->values[op->operands[i]].type.dims[d];
            int64_t length = op_block(op, dim->dimension);
            if (!length || strchr(labels->results[result], *label) || strchr(seen, *label))
                continue;
            strcat(seen, label);
            joined *= dim->size / length;
            if (joined > LIMIT_BLOCKS)
                return joined;
        }
    return joined;
}

static bool says_blocks(const struct unit *unit, const struct op *op, const char *text) {
    enum dimension dimension;
    uint32_t seen = 0;
    int64_t length;
    const char *at = text;
    do {
        at = read_block(at, &dimension, &length);
        if (!at || seen >> dimension & 1 || !fits_operands(unit, op, dimension, length))
            return false;
        seen |= 1u << dimension;
    } while (*at);
    return true;
}

const char *op_wrong_blocks(const struct unit *unit, const struct op *op, struct arena *arena) {
    const struct attribute *blocks = op_attribute(op, ATTRIBUTE_BLOCKS);
    struct op_labels labels;
    if (!blocks)
        return NULL;
    if (!says_blocks(unit, op, blocks->word))
        return arena_format(arena,
                            "`%s` does not say lengths of blocks, as `ffn=11` does, of which a "
                            "dimension has a power of two",
                            blocks->word);
    CHECK(op_labels_of(unit, op, &labels));
    if (!agree_where_paired(unit, op, &labels))
        return arena_format(arena,
                            "`%s` names a dimension of one operand, and not what another has in "
                            "its place",
                            blocks->word);
    for (unsigned result = 0; result < op->n_results; result++)
        if (joined_blocks(unit, op, &labels, result) > LIMIT_BLOCKS)
            return arena_format(arena,
                                "blocks of `%s` would be joined as a tree of more than %d: make "
                                "them longer",
                                blocks->word, LIMIT_BLOCKS);
    return NULL;
}

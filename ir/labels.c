// Labels: what the semantic signatures of ops.def say about the dimensions of an op's operands and
// results, and about their elements. They are found by matching the signature with the ranks of the
// operands.
#include "ir/ir.h"

#include <string.h>

#include "ir/check.h"

// What a signature says of one operand or result.
struct signature_item {
    const char *letters;
    unsigned length;
};

// The comma-separated items, operands first and results behind the arrow. False: there is none.
static bool split_signature(const char *signature, unsigned n_operands, unsigned n_results,
                            struct signature_item items[MAX_OPERANDS + MAX_RESULTS]) {
    unsigned n = 0, wanted = n_operands + n_results;
    bool behind_arrow = false;
    const char *begin = signature, *c = signature;
    for (;; c++) {
        bool arrow = *c == '-';
        if (*c && *c != ',' && !arrow)
            continue;
        if (n < n_operands + (behind_arrow ? n_results : 0))
            items[n++] = (struct signature_item){begin, (unsigned)(c - begin)};
        if (!*c)
            break;
        if (arrow) {
            CHECK(n == n_operands);
            behind_arrow = true;
            c++;
        }
        begin = c + 1;
    }
    CHECK(!behind_arrow || n == wanted);
    return behind_arrow;
}

static bool is_capital(char letter) {
    return letter >= 'A' && letter <= 'Z';
}

// Characters of expanded capitals start behind the letters, MAX_RANK per capital, so that they
// collide neither with small labels nor with one another.
static char capital_label(char capital, int position) {
    return (char)(FIRST_CAPITAL_LABEL + (capital - 'X') * MAX_RANK + position);
}

// How many dimensions the capitals X, Y, Z stand for; -1: not known yet.
struct capitals {
    int length[3];
};

// The length of the one capital in an item that is not known yet, from the operand's rank. Two of
// them can be told apart only by the attribute `keep`; else `left` says that they are not known.
// False: no length fits.
static bool resolve_capital(struct signature_item item, int rank, struct capitals *capitals,
                            int keep, bool *left) {
    int known = 0, unknown = -1, n_unknown = 0;
    for (unsigned i = 0; i < item.length; i++) {
        int capital = item.letters[i] - 'X';
        if (!is_capital(item.letters[i])) {
            known++;
        } else if (capitals->length[capital] >= 0) {
            known += capitals->length[capital];
        } else {
            n_unknown++;
            unknown = capital;
        }
    }
    if (n_unknown > 1 && keep >= 0) { // the second capital's length is an attribute
        capitals->length[unknown] = keep;
        return resolve_capital(item, rank, capitals, -1, left);
    }
    *left |= n_unknown > 1;
    if (n_unknown == 1 && rank >= known)
        capitals->length[unknown] = rank - known;
    return n_unknown == 1 ? rank >= known : n_unknown > 1 || rank == known;
}

// Capitals to as many labels as they are long, each capital with characters of its own. How many
// labels; -1: more than a tensor has dimensions.
static int expand(struct signature_item item, const struct capitals *capitals,
                  char out[MAX_RANK + 1]) {
    int n = 0;
    for (unsigned i = 0; i < item.length; i++) {
        char letter = item.letters[i];
        int repeat = is_capital(letter) ? capitals->length[letter - 'X'] : 1;
        if (repeat < 0 || n + repeat > MAX_RANK)
            return -1;
        for (int k = 0; k < repeat; k++)
            out[n++] = is_capital(letter) ? capital_label(letter, k) : letter;
    }
    out[n] = 0;
    return n;
}

// Labels of an attribute come from a text, so they may be anything: small letters are wanted, none
// twice in an item, and as many items as there are operands and results.
static bool labels_well_formed(const char *labels, unsigned n_operands, unsigned n_results) {
    uint32_t seen = 0;
    unsigned items = 1;
    bool behind_arrow = false;
    for (const char *c = labels; *c; c++) {
        if (*c >= 'a' && *c <= 'z') {
            if (seen >> (*c - 'a') & 1)
                return false;
            seen |= 1u << (*c - 'a');
            continue;
        }
        seen = 0;
        if (*c == ',') {
            items++;
        } else if (c[0] == '-' && c[1] == '>' && !behind_arrow && items == n_operands) {
            behind_arrow = true;
            items = 1;
            c++;
        } else {
            return false;
        }
    }
    return behind_arrow && items == n_results;
}

// Twice over the operands where one may tell what capitals of an earlier one stand for.
bool op_labels_of(const struct unit *unit, const struct op *op, struct op_labels *labels) {
    const char *signature = op_rows[op->kind].signature;
    if (signature[0] == '@') { // "@labels"
        const struct attribute *attribute = op_attribute(op, ATTRIBUTE_LABELS);
        if (!attribute || !labels_well_formed(attribute->word, op->n_operands, op->n_results))
            return false;
        signature = attribute->word;
    }
    struct signature_item items[MAX_OPERANDS + MAX_RESULTS];
    if (!split_signature(signature, op->n_operands, op->n_results, items))
        return false;
    struct capitals capitals = {{-1, -1, -1}};
    bool left = false;
    for (int pass = 0; pass < 2 && (pass == 0 || left); pass++) {
        int keep = pass ? (int)op_integer(op, ATTRIBUTE_KEEP, -1) : -1;
        for (unsigned i = 0; i < op->n_operands; i++) {
            int rank = unit->values[op->operands[i]].type.rank;
            if (!resolve_capital(items[i], rank, &capitals, keep, &left))
                return false;
        }
    }
    for (unsigned i = 0; i < op->n_operands; i++)
        if (expand(items[i], &capitals, labels->operands[i]) !=
            unit->values[op->operands[i]].type.rank)
            return false;
    for (unsigned i = 0; i < op->n_results; i++)
        if (expand(items[op->n_operands + i], &capitals, labels->results[i]) < 0)
            return false;
    return true;
}

// ---- element types ----------------------------------------------------------------------------

enum dtype op_computes_in(const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_operands + op->n_results; i++) {
        value_id value = i < op->n_operands ? op->operands[i] : op->results[i - op->n_operands];
        char letter = op_element(op->kind, i);
        if (unit->values[value].type.dtype == DTYPE_F64 && letter != ELEMENT_SCALAR &&
            letter != ELEMENT_DOUBLE)
            return DTYPE_F64;
    }
    return DTYPE_F32;
}

// Elements of one operand or result against its letter, and against those of the same letter before.
static const char *wrong_element(char letter, enum dtype dtype, enum dtype computed,
                                 enum dtype *same) {
    switch (letter) {
    case ELEMENT_ANY:
    case ELEMENT_ANY_RESULT:
        return NULL;
    case ELEMENT_INTEGER:
        return dtype == DTYPE_I32 ? NULL : "is given numbers where it wants integers";
    case ELEMENT_SCALAR:
        return dtype == DTYPE_F64 ? NULL : "is given a scalar that is not f64";
    case ELEMENT_DOUBLE:
        return dtype == DTYPE_F64 ? NULL : "is given elements that are not f64";
    case ELEMENT_COMPUTED:
        return dtype == computed ? NULL : "is given elements of another type than it computes in";
    default:
        if (!dtype_is_floating(dtype))
            return "is given integers where it wants numbers";
        if (*same == DTYPE_NONE)
            *same = dtype;
        return dtype == *same ? NULL : "is given elements of several types";
    }
}

// A result without dimensions of which the row says no type is f64; so must be what it is made of.
static bool makes_scalar_of_others(const struct unit *unit, const struct op *op) {
    bool others = false, scalar = false;
    if (op->kind == OP_CAST)
        return false;
    for (unsigned i = 0; i < op->n_operands; i++)
        others |= op_element(op->kind, i) >= 'a' &&
                  dtype_is_floating(unit->values[op->operands[i]].type.dtype) &&
                  unit->values[op->operands[i]].type.dtype != DTYPE_F64;
    for (unsigned i = 0; i < op->n_results; i++)
        scalar |= op_element(op->kind, op->n_operands + i) >= 'a' &&
                  unit->values[op->results[i]].type.rank == 0;
    return others && scalar;
}

const char *op_wrong_elements(const struct unit *unit, const struct op *op) {
    enum dtype computed = op_computes_in(unit, op), same['z' + 1] = {DTYPE_NONE};
    for (unsigned i = 0; i < op->n_operands + op->n_results; i++) {
        bool operand = i < op->n_operands;
        value_id value = operand ? op->operands[i] : op->results[i - op->n_operands];
        const struct tensor_type *type = &unit->values[value].type;
        char letter = op_element(op->kind, i);
        const char *wrong = wrong_element(letter, type->dtype, computed, &same[(int)letter]);
        if (wrong)
            return wrong;
    }
    return makes_scalar_of_others(unit, op)
               ? "makes a scalar, which is f64, of elements that are not"
               : NULL;
}

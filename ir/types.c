// Shapes and labels: what the semantic signatures of ops.def say about sizes. An op's labels are
// found by matching the signature with the ranks of its operands; sizes follow label by label.
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>

#include "ir/check.h"

int64_t type_elements(const struct tensor_type *type) {
    int64_t elements = 1;
    for (unsigned i = 0; i < type->rank; i++)
        elements = size_times(elements, type->dims[i].size);
    return elements;
}

int64_t type_bytes(const struct tensor_type *type) {
    return size_times(type_elements(type), dtype_bytes[type->dtype]);
}

const char *tensor_type_text(struct arena *arena, const struct tensor_type *type) {
    const char *text = arena_format(arena, "%s[", dtype_names[type->dtype]);
    for (unsigned i = 0; i < type->rank; i++)
        text = arena_format(arena, "%s%s%s=%" PRId64, text, i ? ", " : "",
                            dimension_names[type->dims[i].dimension], type->dims[i].size);
    return arena_format(arena, "%s]", text);
}

// Whether element type and sizes are equal; what the dimensions are called does not count.
bool type_equal(const struct tensor_type *a, const struct tensor_type *b) {
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (unsigned i = 0; i < a->rank; i++)
        if (a->dims[i].size != b->dims[i].size)
            return false;
    return true;
}

// ---- buffers ----------------------------------------------------------------------------------

bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

int64_t power_of_two_from(int64_t n) {
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

int64_t greatest_common_divisor(int64_t a, int64_t b) {
    return b ? greatest_common_divisor(b, a % b) : a;
}

int64_t least_common_multiple(int64_t a, int64_t b) {
    return a / greatest_common_divisor(a, b) * b;
}

// One item before the flat cut: every dimension divided by the axes that cut it, a batch that is
// stacked by microbatches by their number too.
static struct tensor_type whole_type(const struct mesh *mesh, const struct buffer *buffer) {
    struct tensor_type type = {.dtype = buffer->dtype, .rank = buffer->rank};
    for (unsigned i = 0; i < buffer->rank; i++) {
        type.dims[i] = buffer->dims[i];
        type.dims[i].size /= mesh_group_size(mesh, &buffer->layout.cuts[i]);
        if (buffer->dims[i].dimension == DIM_BATCH)
            type.dims[i].size /= buffer_microbatches(buffer);
    }
    return type;
}

int64_t flat_part(int64_t elements, int64_t parts, int64_t pad_elements) {
    return round_up(round_up(elements, parts) / parts, pad_elements);
}

struct tensor_type buffer_type_on(const struct mesh *mesh, const struct buffer *buffer) {
    struct tensor_type type = whole_type(mesh, buffer);
    if (buffer->layout.flat.n == 0)
        return type;
    int64_t parts = mesh_group_size(mesh, &buffer->layout.flat);
    int64_t chunk = flat_part(type_elements(&type), parts, buffer->pad_elements);
    return (struct tensor_type){.dtype = buffer->dtype, .rank = 1, .dims = {{DIM_FLAT, chunk}}};
}

struct tensor_type buffer_type(const struct program *program, const struct buffer *buffer) {
    return buffer_type_on(&program->job->mesh, buffer);
}

int64_t buffer_item_bytes_on(const struct mesh *mesh, const struct buffer *buffer) {
    struct tensor_type type = buffer_type_on(mesh, buffer);
    int64_t elements = round_up(type_elements(&type), buffer->pad_elements);
    return size_times(elements, dtype_bytes[buffer->dtype]);
}

int64_t buffer_item_bytes(const struct program *program, const struct buffer *buffer) {
    return buffer_item_bytes_on(&program->job->mesh, buffer);
}

int64_t buffer_bytes(const struct program *program, const struct buffer *buffer) {
    if (buffer->window_of != NO_ID)
        return 0;
    return size_times(buffer_items(buffer), buffer_item_bytes(program, buffer));
}

struct axis_list buffer_window_axes(const struct program *program, const struct buffer *buffer) {
    struct axis_list axes = {0};
    if (buffer->window_of == NO_ID)
        return axes;
    unsigned outer = program->buffers[buffer->window_of].layout.flat.n;
    for (unsigned i = outer; i < buffer->layout.flat.n; i++)
        axes.axes[axes.n++] = buffer->layout.flat.axes[i];
    return axes;
}

struct axis_list buffer_inner_axes(const struct buffer *buffer) {
    struct axis_list inner = {0};
    for (unsigned i = 0; i < buffer->rank; i++) {
        const struct axis_list *cuts = &buffer->layout.cuts[i];
        if (buffer->dims[i].dimension == DIM_BATCH)
            for (unsigned k = cuts->n - buffer->layout.n_inner; k < cuts->n; k++)
                axis_list_add(&inner, cuts->axes[k]);
    }
    return inner;
}

buffer_id buffer_whole(const struct program *program, buffer_id id) {
    buffer_id whole = program->buffers[id].window_of;
    return whole == NO_ID ? id : whole;
}

bool buffer_is_persistent(const struct buffer *buffer) {
    return class_persistent[buffer->class];
}

bool buffer_outlives_step(const struct buffer *buffer) {
    return buffer_is_persistent(buffer) || buffer->class == CLASS_INPUT ||
           buffer->class == CLASS_OUTPUT;
}

// ---- orders -----------------------------------------------------------------------------------

struct order order_of_cuts(const struct mesh *mesh, const struct axis_list *cuts, int zigzag) {
    struct order order = {.outer = 1};
    for (unsigned i = 0; i < cuts->n && order.chunks == 0; i++) {
        int64_t size = mesh->axes[cuts->axes[i]].size;
        if (cuts->axes[i] == zigzag)
            order.chunks = 2 * size;
        else
            order.outer *= size;
    }
    return order.chunks > 2 ? order : (struct order){0}; // one device has both ends in order
}

bool order_fits(struct order order, int64_t size) {
    return order.chunks == 0 || size % (order.outer * order.chunks) == 0;
}

int64_t order_element(struct order order, int64_t size, int64_t place) {
    if (order.chunks == 0)
        return place;
    int64_t chunk = size / (order.outer * order.chunks);
    int64_t number = place / chunk % order.chunks;
    int64_t from = number % 2 ? order.chunks - 1 - number / 2 : number / 2;
    return place + (from - number) * chunk;
}

// ---- labels -----------------------------------------------------------------------------------

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

// Characters of expanded capitals start behind the letters, four per capital, so that they collide
// neither with small labels nor with one another.
static char capital_label(char capital, int position) {
    return (char)(128 + (capital - 'X') * MAX_RANK + position);
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

// ---- inference --------------------------------------------------------------------------------

struct label_sizes {
    struct dim dims[256];
    bool known[256];
};

static bool collect_sizes(const struct unit *unit, const struct op *op,
                          const struct op_labels *labels, struct label_sizes *sizes) {
    memset(sizes->known, 0, sizeof sizes->known);
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        for (unsigned k = 0; k < type->rank; k++) {
            unsigned char label = (unsigned char)labels->operands[i][k];
            if (sizes->known[label] && sizes->dims[label].size != type->dims[k].size)
                return false;
            if (!sizes->known[label])
                sizes->dims[label] = type->dims[k];
            sizes->known[label] = true;
        }
    }
    return true;
}

// Scalars are f64. A tensor of which the op's row says nothing has the type of the op's first
// floating tensor operand; what is cast, the one that it has been given.
static enum dtype result_dtype(const struct unit *unit, const struct op *op, unsigned result,
                               unsigned rank) {
    const struct tensor_type *old = &unit->values[op->results[result]].type;
    if (op->kind == OP_CAST && old->dtype != DTYPE_NONE)
        return old->dtype;
    if (op_makes(op->kind, result) != DTYPE_NONE)
        return op_makes(op->kind, result);
    if (rank == 0)
        return DTYPE_F64;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        if (type->rank > 0 && type->dtype != DTYPE_I32)
            return type->dtype;
    }
    return DTYPE_F64;
}

// A result with all the labels of an operand has its dimensions: a gradient those of what it is of,
// where operands call one label by different names (query heads and key heads).
static void name_like_operand(const struct unit *unit, const struct op *op,
                              const struct op_labels *labels, const char *result,
                              struct tensor_type *type) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        if (strcmp(labels->operands[i], result) != 0)
            continue;
        for (unsigned k = 0; k < type->rank; k++)
            type->dims[k].dimension = unit->values[op->operands[i]].type.dims[k].dimension;
        return;
    }
}

// How long a code is follows from what is in it, and of how many it is from how long they are.
// NULL, or what is wrong.
static const char *size_codes(const struct unit *unit, const struct op *op,
                              struct label_sizes *sizes) {
    bool compresses = op->kind == OP_COMPRESS;
    const struct tensor_type *g = &unit->values[op->operands[compresses ? 0 : 1]].type;
    const struct tensor_type *other = &unit->values[op->operands[compresses ? 1 : 0]].type;
    struct wire wire = op_wire(op);
    if (wire.way == WIRE_NONE)
        return "says no way to compress";
    if (g->dtype == DTYPE_I32 || other->dtype != (compresses ? g->dtype : DTYPE_I32))
        return "is given numbers where it wants codes, or the other way round";
    int64_t words = wire_words(wire, type_elements(g));
    if (compresses)
        sizes->dims['w'] = (struct dim){DIM_FLAT, words};
    sizes->known['w'] = true;
    return compresses || sizes->dims['w'].size % words == 0 ? NULL : "is given no whole codes";
}

bool op_infer_types(struct arena *arena, struct unit *unit, struct op *op, const char **why) {
    struct op_labels labels;
    struct label_sizes sizes;
    const char *text = op_rows[op->kind].text;
    *why = NULL;
    // Collectives and iota: their result is not a matter of their operands' sizes alone.
    if (op->n_operands == 0 || op_rows[op->kind].kernel == KERNEL_COLLECTIVE ||
        op->kind == OP_SLICE)
        return true;
    if (!op_labels_of(unit, op, &labels)) {
        *why = arena_format(arena, "ranks of the operands do not fit `%s`", text);
        return false;
    }
    if (!collect_sizes(unit, op, &labels, &sizes)) {
        *why = arena_format(arena, "operands of `%s` differ in a size that must be equal", text);
        return false;
    }
    bool codes = op->kind == OP_COMPRESS || op->kind == OP_DECOMPRESS;
    const char *wrong = codes ? size_codes(unit, op, &sizes) : NULL;
    if (op->kind == OP_LEARNING_RATE && op_rate(op) == N_RATES)
        wrong = "says no curve of a rate";
    if (wrong) {
        *why = arena_format(arena, "`%s` %s", text, wrong);
        return false;
    }
    for (unsigned i = 0; i < op->n_results; i++) {
        struct tensor_type type = {.rank = (uint8_t)strlen(labels.results[i])};
        for (unsigned k = 0; k < type.rank; k++) {
            unsigned char label = (unsigned char)labels.results[i][k];
            if (!sizes.known[label]) {
                *why = arena_format(arena, "a size of the result of `%s` is not known", text);
                return false;
            }
            type.dims[k] = sizes.dims[label];
        }
        name_like_operand(unit, op, &labels, labels.results[i], &type);
        type.dtype = result_dtype(unit, op, i, type.rank);
        unit->values[op->results[i]].type = type;
    }
    return true;
}

// ---- element types ----------------------------------------------------------------------------

// A second operand of another floating type is converted where loops are made for the op.
static bool converts_second(enum op_kind kind) {
    return kind == OP_ADD || kind == OP_ACCUMULATE || kind == OP_ADD_BIAS || kind == OP_MUL ||
           kind == OP_CAST;
}

// A scalar by the signature, whatever the operands.
static bool is_scalar(enum op_kind kind, struct signature_item item) {
    return item.length == 0 && strcmp(op_rows[kind].signature, "@labels") != 0;
}

const char *op_mixed_elements(const struct unit *unit, const struct op *op) {
    const struct op_row *row = &op_rows[op->kind];
    struct signature_item items[MAX_OPERANDS + MAX_RESULTS] = {{0}};
    enum dtype common = DTYPE_NONE;
    split_signature(row->signature, op->n_operands, op->n_results, items);
    for (unsigned i = 0; i < op->n_operands; i++) {
        enum dtype dtype = unit->values[op->operands[i]].type.dtype;
        bool integer = op_takes_integers(op->kind, i);
        if (op->kind != OP_CAST && integer != (dtype == DTYPE_I32))
            return integer ? "is given numbers where it wants integers"
                           : "is given integers where it wants numbers";
        if (!integer && is_scalar(op->kind, items[i]) && dtype != DTYPE_F64)
            return "is given a scalar that is not f64";
        if (integer || is_scalar(op->kind, items[i]))
            continue;
        if (common == DTYPE_NONE)
            common = dtype;
        else if (dtype != common && !converts_second(op->kind))
            return "is given elements of several types";
    }
    for (unsigned i = 0; i < op->n_results && op->kind != OP_CAST; i++) {
        const struct tensor_type *type = &unit->values[op->results[i]].type;
        if (op_makes(op->kind, i) == DTYPE_NONE &&
            !is_scalar(op->kind, items[op->n_operands + i]) && common != DTYPE_NONE &&
            type->dtype != common)
            return "makes a scalar, which is f64, of elements that are not";
    }
    return NULL;
}

// ---- cost -------------------------------------------------------------------------------------

double op_flops(const struct unit *unit, const struct op *op) {
    int cost = op_rows[op->kind].cost;
    if (op->n_operands == 0)
        return 0;
    const struct tensor_type *first = &unit->values[op->operands[0]].type;
    if (cost >= 0)
        return (double)cost * (double)type_elements(first);
    struct op_labels labels;
    struct label_sizes sizes;
    if (!op_labels_of(unit, op, &labels) || !collect_sizes(unit, op, &labels, &sizes))
        return 0;
    double product = 1;
    for (int i = 0; i < 256; i++)
        if (sizes.known[i])
            product *= (double)sizes.dims[i].size;
    if (cost == COST_EINSUM)
        return 2 * product;
    // A causal mask leaves half of the scores: two products forward, five backward, 2 FLOP each.
    return product * (cost == COST_ATTENTION ? 2 : 5);
}

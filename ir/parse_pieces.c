// The pieces that every part of the text form is made of: punctuation, names, numbers, choices from
// the closed tables, axes, dimensions, types, roles.
//
// A piece that is not there fails the text, and then has a value which is safe to go on with.
#include "ir/parse.h"

#include <inttypes.h>
#include <string.h>

#include "ir/diagnostic.h"

bool text_at(const struct parser *p, char c) {
    return p->token.kind == TOKEN_PUNCTUATION && p->token.punctuation == c;
}

bool text_accept(struct parser *p, char c) {
    if (!text_at(p, c))
        return false;
    text_advance(p);
    return true;
}

// ARROW and RANGE are two characters each in the text, and are named so.
void text_expect(struct parser *p, char c) {
    if (text_accept(p, c))
        return;
    if (c == ARROW)
        FAIL(p, "expected `->` here");
    else if (c == RANGE)
        FAIL(p, "expected `..` here");
    else
        FAIL(p, "expected `%c` here", c);
}

bool text_at_word(const struct parser *p, const char *word) {
    return p->token.kind == TOKEN_WORD && strcmp(p->token.text, word) == 0;
}

bool text_accept_word(struct parser *p, const char *word) {
    if (!text_at_word(p, word))
        return false;
    text_advance(p);
    return true;
}

void text_expect_word(struct parser *p, const char *word) {
    if (text_accept_word(p, word))
        return;
    text_meant(p, &p->token, &word, 1, 0);
    FAIL(p, "expected `%s` here", word);
}

const char *text_name(struct parser *p, const char *what) {
    const char *text = p->token.text;
    if (p->token.kind != TOKEN_WORD)
        FAIL(p, "expected the name of %s here", what);
    else
        text_advance(p);
    return text;
}

static int64_t integer_up_to(struct parser *p, int64_t most) {
    int64_t value = p->token.integer;
    if (p->token.kind != TOKEN_NUMBER || strpbrk(p->token.text, ".eE")) {
        FAIL(p, "expected a whole number here");
        return 0;
    }
    if (value > most || value < -most) {
        FAIL(p, "`%s` is too large", p->token.text);
        return 0;
    }
    text_advance(p);
    return value;
}

// Bounded so that sums of a few of them cannot overflow; products are another matter (sizes.h).
int64_t text_integer(struct parser *p) {
    return integer_up_to(p, LIMIT_TEXT_NUMBER);
}

int64_t text_bytes(struct parser *p) {
    if (p->token.kind == TOKEN_NUMBER && p->token.integer < 0)
        FAIL(p, "`%s` is no number of bytes: it is negative", p->token.text);
    return integer_up_to(p, LIMIT_DEVICE_BYTES);
}

double text_real(struct parser *p) {
    double value = p->token.real;
    if (p->token.kind != TOKEN_NUMBER)
        FAIL(p, "expected a number here");
    else
        text_advance(p);
    return value;
}

const char *text_string(struct parser *p) {
    const char *text = p->token.text;
    if (p->token.kind != TOKEN_STRING)
        FAIL(p, "expected a string here");
    else
        text_advance(p);
    return text;
}

// A name from one of the closed tables.
int text_choice(struct parser *p, const char *const *names, int n, const char *what) {
    int found = p->token.kind == TOKEN_WORD ? table_find(names, n, p->token.text) : -1;
    if (found < 0) {
        text_meant(p, &p->token, TABLE(names, (size_t)n));
        FAIL(p, "`%s` is not %s", p->token.text, what);
        return 0;
    }
    text_advance(p);
    return found;
}

enum dtype text_dtype(struct parser *p) {
    return text_choice(p, dtype_names, N_DTYPES, "an element type");
}

enum dtype text_element_type(struct parser *p) {
    struct token at = p->token;
    enum dtype dtype = text_dtype(p);
    if (dtype == DTYPE_NONE)
        text_fail_at(p, at.begin, at.end, "`%s` is the type of no elements", at.text);
    return dtype;
}

static void fail_no_axis(struct parser *p) {
    const struct mesh *mesh = &p->job->mesh;
    const char *names[2 * MAX_AXES];
    size_t n = mesh_names(mesh, names);
    text_meant(p, &p->token, TABLE(names, n));
    FAIL(p, "`%s` is not an axis of this mesh", p->token.text);
}

// The axes that one name stands for; none: it was no name of any.
static struct axis_list named_axes(struct parser *p) {
    const struct mesh *mesh = &p->job->mesh;
    bool word = p->token.kind == TOKEN_WORD;
    int axis = word ? mesh_find_axis(mesh, p->token.text) : -1;
    const struct mesh_product *product = word ? mesh_find_product(mesh, p->token.text) : NULL;
    if (product)
        return product->axes;
    if (axis >= 0)
        return (struct axis_list){.n = 1, .axes = {(uint8_t)axis}};
    fail_no_axis(p);
    return (struct axis_list){0};
}

// A product of axes, or of names of products; each axis at most once, since a device has one
// coordinate on it.
struct axis_list text_axes(struct parser *p) {
    struct axis_list axes = {0};
    do {
        struct axis_list named = named_axes(p);
        for (unsigned i = 0; i < named.n && !text_failed(p); i++) {
            if (axis_list_has(&axes, named.axes[i]))
                FAIL(p, "axis `%s` stands twice in this product",
                     p->job->mesh.axes[named.axes[i]].name);
            axis_list_add(&axes, named.axes[i]);
        }
        text_advance(p);
    } while (!text_failed(p) && text_accept(p, '*'));
    return axes;
}

// Parses, behind the axes that cut a dimension, the one of them that does so in zigzag.
static void parse_zigzag(struct parser *p, const struct dim *dim, const struct axis_list *cuts,
                         uint8_t *zigzag) {
    uint32_t begin = p->token.begin;
    if (!text_accept_word(p, "zigzag"))
        return;
    struct axis_list axes = text_axes(p);
    if (text_failed(p))
        return;
    const struct mesh *mesh = &p->job->mesh;
    *zigzag = (uint8_t)(axes.axes[0] + 1);
    if (axes.n != 1 || !axis_list_has(cuts, axes.axes[0]))
        text_fail_at(p, begin, p->last_end, "one of the axes that cut it lies in zigzag");
    else if (!order_fits(order_of_cuts(mesh, cuts, axes.axes[0]), dim->size))
        text_fail_at(p, begin, p->last_end, "%" PRId64 " is not divisible by twice this axis",
                     dim->size);
}

unsigned text_dims(struct parser *p, struct dim dims[MAX_RANK], struct layout *layout) {
    unsigned rank = 0;
    text_expect(p, '[');
    while (!text_failed(p) && !text_at(p, ']')) {
        if (rank == MAX_RANK) {
            FAIL(p, "a tensor has at most %d dimensions", MAX_RANK);
            break;
        }
        dims[rank].dimension = text_choice(p, dimension_names, N_DIMENSIONS, "a dimension");
        text_expect(p, '=');
        if (p->token.kind == TOKEN_NUMBER && p->token.integer <= 0)
            FAIL(p, "a dimension has at least one element");
        dims[rank].size = text_integer(p);
        if (layout && text_accept(p, '/')) {
            uint32_t begin = p->token.begin;
            layout->cuts[rank] = text_axes(p);
            if (!text_failed(p) &&
                dims[rank].size % mesh_group_size(&p->job->mesh, &layout->cuts[rank]))
                text_fail_at(p, begin, p->last_end, "these axes do not divide %" PRId64,
                             dims[rank].size);
            parse_zigzag(p, &dims[rank], &layout->cuts[rank], &layout->zigzag[rank]);
        }
        rank++;
        if (!text_accept(p, ','))
            break;
    }
    text_expect(p, ']');
    return rank;
}

// A type of a unit's value: local sizes, no cuts.
struct tensor_type text_type(struct parser *p) {
    struct tensor_type type = {.dtype = text_element_type(p)};
    type.rank = (uint8_t)text_dims(p, type.dims, NULL);
    return type;
}

// One role of a path, which `rest` is from there on: the path with the role that is near it.
static void meant_role(struct parser *p, const char *rest, const char *name) {
    const char *near = nearest_name(name, role_names + 1, N_ROLES - 1);
    size_t before = (size_t)(rest - p->token.text);
    if (near && !text_failed(p))
        p->error->meant = arena_format(p->arena, "%.*s%s%s", (int)before, p->token.text, near,
                                       rest + strlen(name));
}

unsigned text_roles(struct parser *p, uint8_t roles[MAX_ROLES]) {
    unsigned n = 0;
    const char *path = p->token.text;
    if (p->token.kind != TOKEN_WORD) {
        FAIL(p, "expected a role here");
        return 0;
    }
    while (*path && !text_failed(p)) {
        size_t length = strcspn(path, ".");
        const char *name = arena_string(p->arena, path, length);
        int role = table_find(role_names, N_ROLES, name);
        if (role <= 0 || n == MAX_ROLES) {
            meant_role(p, path, name);
            FAIL(p, "`%s` is not a role", name);
        } else {
            roles[n++] = (uint8_t)role;
        }
        path += length + (path[length] == '.');
    }
    text_advance(p);
    return n;
}

// The table follows the program's list, which the header of a step begins anew.
buffer_id text_find_buffer(struct parser *p, const struct program *program, const char *name) {
    if (p->named != program || p->buffers.n > program->n_buffers)
        p->buffers = (struct names){.arena = p->arena};
    p->named = program;
    for (buffer_id id; (id = p->buffers.n) < program->n_buffers;)
        names_add(&p->buffers, program->buffers[id].name, id);
    return names_find(&p->buffers, name);
}

struct span text_span(const struct parser *p, uint32_t begin) {
    return (struct span){p->source, begin, p->last_end > begin ? p->last_end : begin + 1};
}

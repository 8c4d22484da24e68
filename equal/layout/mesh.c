// Meshes of devices: read from text, made of digits, asked for their axes.
#include "equal/layout/mesh.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ir/sizes.h"

static bool is_name_byte(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

// Whether a spec can name the axis, in which other signs have a meaning.
static bool is_axis_name(const char *name) {
    const char *at = name;
    while (is_name_byte(*at))
        at++;
    return at > name && !*at;
}

const char *device_mesh_add(struct device_mesh *mesh, const char *name, int64_t size) {
    int64_t n_devices = size_times(mesh->n_devices, size);
    if (device_mesh_find(mesh, name) >= 0)
        return "is an axis already";
    if (!is_axis_name(name))
        return "is no name of an axis, which has letters, digits, `_` and `.`";
    if (size < 1)
        return "has no devices";
    if (mesh->n_axes == MAX_MESH_AXES)
        return "is one axis more than there may be";
    if (n_devices > UINT32_MAX)
        return "makes more devices than can be numbered";
    mesh->axes[mesh->n_axes++] = (struct device_axis){name, size};
    mesh->n_devices = (uint32_t)n_devices;
    return NULL;
}

// ---- text -------------------------------------------------------------------------------------

static void report_no_mesh(struct diagnostics *diagnostics, struct span span) {
    struct diagnostic *d = report(diagnostics, E910, span, "this is no mesh");
    diagnostic_help(d, "write axes and their sizes, as in `dp=2,tp=3`; the last varies fastest in "
                       "the number of a device");
}

// The size of an axis; -1: no number stands there. What is too large becomes SIZE_BEYOND.
static int64_t scan_size(const char *text, uint32_t *at, uint32_t end) {
    if (*at == end || !isdigit((unsigned char)text[*at]))
        return -1;
    int64_t size = 0;
    for (; *at < end && isdigit((unsigned char)text[*at]); ++*at)
        size = size_plus(size_times(size, 10), text[*at] - '0');
    return size;
}

static void skip_blanks(const char *text, uint32_t *at, uint32_t end) {
    while (*at < end && isspace((unsigned char)text[*at]))
        ++*at;
}

// The size of the axis that begins here; -1: none does. The blanks behind it are passed, too.
static int64_t scan_axis(const char *text, uint32_t *at, struct span of, struct span *name) {
    skip_blanks(text, at, of.end);
    *name = span_of(of.source, *at, *at);
    while (*at < of.end && is_name_byte(text[*at]))
        ++*at;
    name->end = *at;
    skip_blanks(text, at, of.end);
    if (name->begin == name->end || *at == of.end || text[*at] != '=')
        return -1;
    ++*at;
    skip_blanks(text, at, of.end);
    int64_t size = scan_size(text, at, of.end);
    skip_blanks(text, at, of.end);
    return size;
}

bool device_mesh_read(struct device_mesh *mesh, struct span span, struct arena *arena,
                      struct diagnostics *diagnostics) {
    const char *text = diagnostics->sources->items[span.source].text;
    uint32_t at = span.begin;
    *mesh = (struct device_mesh){.n_devices = 1};
    for (bool more = true; more;) {
        struct span name;
        int64_t size = scan_axis(text, &at, span, &name);
        more = at < span.end && text[at] == ',';
        if (size < 0 || (at < span.end && !more)) {
            report_no_mesh(diagnostics, span);
            return false;
        }
        at++;
        const char *axis = arena_string(arena, text + name.begin, name.end - name.begin);
        const char *why = device_mesh_add(mesh, axis, size);
        if (why) {
            report(diagnostics, E910, name, "`%s` %s", axis, why);
            return false;
        }
    }
    return true;
}

const char *device_mesh_text(const struct device_mesh *mesh, struct arena *arena) {
    const char *text = "";
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        text = arena_format(arena, "%s%s%s=%" PRId64, text, i ? "," : "", mesh->axes[i].name,
                            mesh->axes[i].size);
    return text;
}

// ---- digits -----------------------------------------------------------------------------------

struct stride_chain stride_chain_of(uint32_t n_devices) {
    return (struct stride_chain){{1, n_devices}, n_devices > 1 ? 2 : 1};
}

static bool cut_at(struct stride_chain *chain, int64_t stride) {
    uint32_t i = 0;
    while (i < chain->n && chain->of[i] < stride)
        i++;
    if (i < chain->n && chain->of[i] == stride)
        return true;
    if (i == chain->n || chain->n > MAX_MESH_AXES || stride % chain->of[i - 1] ||
        chain->of[i] % stride)
        return false;
    memmove(chain->of + i + 1, chain->of + i, (chain->n - i) * sizeof *chain->of);
    chain->of[i] = stride;
    chain->n++;
    return true;
}

bool stride_chain_cut(struct stride_chain *chain, const struct digit_list *digits) {
    struct stride_chain cut = *chain;
    for (uint32_t i = 0; i < digits->n; i++)
        if (!cut_at(&cut, digits->of[i].stride) ||
            !cut_at(&cut, digits->of[i].stride * digits->of[i].size))
            return false;
    *chain = cut;
    return true;
}

struct device_mesh device_mesh_of_chain(const struct stride_chain *chain, struct arena *arena) {
    struct device_mesh mesh = {.n_devices = 1};
    if (chain->n <= 2) {
        device_mesh_add(&mesh, "devices", chain->of[chain->n - 1]);
        return mesh;
    }
    for (uint32_t i = chain->n - 1; i > 0; i--)
        device_mesh_add(&mesh, arena_format(arena, "axis_%u", mesh.n_axes),
                        chain->of[i] / chain->of[i - 1]);
    return mesh;
}

// Appends the axes of one digit, which must begin and end where axes do.
static bool add_digit(const struct device_mesh *mesh, struct device_digit digit, struct cut *cut) {
    int64_t stride = mesh->n_devices, end = digit.stride * digit.size;
    for (uint32_t i = 0; i < mesh->n_axes && end > digit.stride; i++) {
        int64_t size = mesh->axes[i].size;
        if (size > 1 && stride == end) {
            if (cut->n == MAX_MESH_AXES)
                return false;
            cut->axes[cut->n++] = (uint8_t)i;
            end /= size;
        }
        stride /= size;
    }
    return end == digit.stride;
}

bool device_mesh_axes_of(const struct device_mesh *mesh, const struct digit_list *digits,
                         struct cut *cut) {
    for (uint32_t i = 0; i < digits->n; i++)
        if (!add_digit(mesh, digits->of[i], cut))
            return false;
    return true;
}

int device_mesh_find(const struct device_mesh *mesh, const char *axis) {
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        if (strcmp(mesh->axes[i].name, axis) == 0)
            return (int)i;
    return -1;
}

int64_t cut_size(const struct device_mesh *mesh, const struct cut *cut) {
    int64_t size = 1;
    for (uint32_t i = 0; i < cut->n; i++)
        size = size_times(size, mesh->axes[cut->axes[i]].size);
    return size;
}

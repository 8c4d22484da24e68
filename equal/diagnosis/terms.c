// A term is known where the program of one device has made it, too. What is not may be so once it is folded over axes of
// the mesh: then a device has a summand of it, or the largest of a part.
#include "equal/diagnosis/terms.h"

static bool is_known(const struct terms_known *f, struct viewed value) {
    return value.of.of.node < f->n_known;
}

// ---- summands ---------------------------------------------------------------------------------

// The value folded over axes of the mesh. False: it cannot be said.
static bool fold_axes(const struct terms_known *f, struct viewed value, uint64_t axes, bool largest,
                      const struct coordinates *coordinates, struct viewed *made) {
    struct coordinates all = *coordinates;
    struct affine device = affine_constant(0);
    struct substitution by = {0};
    uint64_t folded = 0;
    for (uint32_t a = 0; a < f->mesh->n_axes; a++) {
        int64_t size = f->mesh->axes[a].size, stride = mesh_stride(f->mesh, a);
        struct piece piece = {stride, stride, size, 0, COORDINATE_DEVICE};
        if (axes >> a & 1) {
            uint32_t k = add_coordinate(&all, size);
            piece = (struct piece){stride, 1, size, 0, k};
            folded |= UINT64_C(1) << k;
        }
        affine_push(&device, piece);
    }
    by.of[COORDINATE_DEVICE] = &device;
    by.sizes[COORDINATE_DEVICE] = f->mesh->n_devices;
    struct viewed moved;
    if (!affine_normal(&device) || !value_move(f->c, value, &by, &moved))
        return false;
    *made = largest ? value_fold(f->c, KIND_LARGEST, moved, folded, &all)
                    : value_product(f->c, &moved, 1, folded, &all);
    return true;
}

// The axes of which the value has digits.
static uint64_t axes_of(const struct terms_known *f, struct viewed value) {
    struct view view;
    uint64_t axes = 0;
    view_get(&f->c->views, value.view, &view);
    for (uint32_t a = 0; a < f->mesh->n_axes; a++) {
        int64_t stride = mesh_stride(f->mesh, a), end = stride * f->mesh->axes[a].size;
        for (uint32_t k = 0; k < view.n; k++)
            for (uint32_t i = 0; i < view.of[k].n; i++) {
                const struct piece *piece = &view.of[k].pieces[i];
                bool on = piece->coordinate == COORDINATE_DEVICE && piece->stride < end &&
                          stride < piece->stride * piece->extent;
                axes |= (uint64_t)on << a;
            }
    }
    return axes;
}

// The fewest axes over which the value's sum, or largest, is known.
struct seen terms_say(const struct terms_known *f, struct viewed value,
                      const struct coordinates *all) {
    uint64_t own = axes_of(f, value);
    if (is_known(f, value))
        return (struct seen){STATE_KNOWN, 0};
    for (int largest = 0; largest < 2; largest++)
        for (uint64_t axes = 1; axes < UINT64_C(1) << f->mesh->n_axes; axes++) {
            struct viewed made;
            if ((axes & ~own) || !fold_axes(f, value, axes, largest, all, &made) ||
                !is_known(f, made))
                continue;
            return (struct seen){largest ? STATE_PART : STATE_SUMMAND, axes};
        }
    return (struct seen){STATE_WRONG, 0};
}

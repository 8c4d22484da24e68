// Which devices meet in a process group.
#include "equal/layout/process_groups.h"

#include <inttypes.h>
#include <string.h>

#include "equal/layout/shapes.h"
#include "equal/layout/spec.h"

struct finder {
    const struct layout_given *given;
    const struct process_group *group;
    struct arena *arena;
    struct diagnostics *diagnostics;
};

// ---- along axes -------------------------------------------------------------------------------

// The devices that differ along these axes, the outermost first.
static const struct device_groups *along(const struct finder *f, const struct cut *cut) {
    const struct device_mesh *mesh = &f->given->mesh;
    struct device_groups *groups = ARENA_NEW(f->arena, struct device_groups);
    uint32_t *devices = ARENA_ARRAY(f->arena, uint32_t, mesh->n_devices), n = 0;
    int64_t strides[MAX_MESH_AXES], stride = 1;
    for (uint32_t a = mesh->n_axes; a-- > 0; stride *= mesh->axes[a].size)
        strides[a] = stride;
    groups->size = (uint32_t)cut_size(mesh, cut);
    groups->n_groups = mesh->n_devices / groups->size;
    groups->devices = devices;
    for (uint32_t first = 0; first < mesh->n_devices; first++) {
        bool is_first = true;
        for (uint32_t i = 0; i < cut->n; i++)
            is_first &= first / strides[cut->axes[i]] % mesh->axes[cut->axes[i]].size == 0;
        for (uint32_t place = 0; is_first && place < groups->size; place++) {
            int64_t device = first, rest = place;
            for (uint32_t i = cut->n; i-- > 0; rest /= mesh->axes[cut->axes[i]].size)
                device += rest % mesh->axes[cut->axes[i]].size * strides[cut->axes[i]];
            devices[n++] = (uint32_t)device;
        }
    }
    return groups;
}

// ---- what the spec says -----------------------------------------------------------------------

static const struct spec_group *find_said(const struct finder *f) {
    const struct layout_spec *spec = f->given->spec;
    for (uint32_t i = 0; spec && i < spec->n_groups; i++)
        if (strcmp(spec->groups[i].name, f->group->name) == 0)
            return &spec->groups[i];
    return NULL;
}

static bool refuse(const struct finder *f, const struct spec_group *said, const char *why) {
    struct diagnostic *d =
        report(f->diagnostics, E909, said->span, "group `%s`: %s", said->name, why);
    diagnostic_help(d, "name axes of the mesh, or list each device of the program once, in lists "
                       "of equal length");
    return false;
}

static bool find_axes(const struct finder *f, const struct spec_group *said, struct cut *cut) {
    const struct device_mesh *mesh = &f->given->mesh;
    for (uint32_t i = 0; i < said->n_axes; i++) {
        int axis = device_mesh_find(mesh, said->axes[i].name);
        if (axis < 0)
            return refuse(f, said,
                          arena_format(f->arena, "`%s` is no axis of the mesh %s",
                                       said->axes[i].name, device_mesh_text(mesh, f->arena)));
        for (uint32_t k = 0; k < cut->n; k++)
            if (cut->axes[k] == axis)
                return refuse(f, said, "an axis is named twice");
        cut->axes[cut->n++] = (uint8_t)axis;
    }
    return true;
}

static const struct device_groups *listed(const struct finder *f, const struct spec_group *said) {
    uint32_t n = f->given->mesh.n_devices;
    struct device_groups *groups = ARENA_NEW(f->arena, struct device_groups);
    uint32_t *devices = ARENA_ARRAY(f->arena, uint32_t, n);
    bool *seen = ARENA_ARRAY(f->arena, bool, n);
    uint64_t n_listed = (uint64_t)said->n_lists * said->size;
    if (n_listed != n) {
        refuse(f, said, arena_format(f->arena, "it lists %" PRIu64 " devices of %u", n_listed, n));
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t device = said->devices[i];
        if (device < 0 || device >= n || seen[device]) {
            refuse(f, said,
                   arena_format(f->arena, "device %" PRId64 " is listed twice, or is none of %u",
                                device, n));
            return NULL;
        }
        seen[device] = true;
        devices[i] = (uint32_t)device;
    }
    *groups = (struct device_groups){said->n_lists, said->size, devices};
    return groups;
}

static const struct device_groups *said_groups(const struct finder *f,
                                               const struct spec_group *said) {
    struct cut cut = {.n = 0};
    if (!said->n_axes)
        return listed(f, said);
    return find_axes(f, said, &cut) ? along(f, &cut) : NULL;
}

// ---- all --------------------------------------------------------------------------------------

static void report_open(const struct finder *f) {
    const struct device_mesh *mesh = &f->given->mesh;
    const char *name = f->group->name, *axis = mesh->axes[0].name;
    struct diagnostic *d = report(f->diagnostics, E909, f->group->span,
                                  "nothing says which devices of the mesh %s meet in group `%s`",
                                  device_mesh_text(mesh, f->arena), name);
    diagnostic_help(d,
                    "say it in the spec: `group %s : %s`, or in JSON `\"groups\": {\"%s\": "
                    "[\"%s\"]}`, with the axis over which it is",
                    name, axis, name, axis);
}

const struct device_groups *process_groups_find(const struct layout_given *given,
                                                const struct process_group *group,
                                                struct arena *arena,
                                                struct diagnostics *diagnostics) {
    const struct finder f = {given, group, arena, diagnostics};
    const struct device_mesh *mesh = &given->mesh;
    const struct spec_group *said = find_said(&f);
    struct cut cut = {.n = 0};
    int axis = device_mesh_find(mesh, group->name);
    if (said)
        return said_groups(&f, said);
    if (axis >= 0) {
        cut = (struct cut){.axes = {(uint8_t)axis}, .n = 1};
    } else {
        // Several sets of axes may have as many devices: a flattened one as another one.
        int64_t size = mesh->n_axes <= 1 ? mesh->n_devices : group->size;
        if (!size || fit_cuts(mesh, &size, 1, &cut) != FITS_ONCE) {
            report_open(&f);
            return NULL;
        }
    }
    return along(&f, &cut);
}

// Process groups of a text.
#include "equal/fx/groups.h"

#include <inttypes.h>
#include <string.h>

#include "equal/layout/process_groups.h"

bool fx_group_named(struct reader *r, struct word name, int64_t size, uint32_t *number) {
    *number = words_number(&r->group_words, name);
    if (*number == r->n_groups)
        ARENA_PUSH(r->s.scratch, r->groups, r->n_groups, r->groups_cap,
                   (struct group_name){name, 0});
    struct group_name *group = &r->groups[*number];
    if (group->size && size && group->size != size)
        return scan_fail(&r->s, E906, name,
                         "group `%.*s` has %" PRId64 " devices here, %" PRId64 " before",
                         WORD(name), size, group->size);
    group->size = size ? size : group->size;
    return true;
}

static bool fail_size(struct reader *r, const struct group_name *group, uint32_t size) {
    struct diagnostic *d = scan_report(&r->s, E906, group->name,
                                       "%" PRId64 " devices meet in group `%.*s`, which has %u",
                                       group->size, WORD(group->name), size);
    if (d && r->n_devices == 1)
        diagnostic_help(d, "the first program is that of one device; is this that of the many?");
    else if (d)
        diagnostic_help(d, "give the mesh with which the program was traced, as in `--mesh tp=2`");
    return false;
}

static const struct device_groups *find_group(struct reader *r, const struct group_name *group) {
    static const uint32_t itself;
    static const struct device_groups alone = {1, 1, &itself};
    if (!r->given)
        return &alone;
    const struct process_group asked = {
        arena_string(r->s.scratch, group->name.text, group->name.length), group->size,
        scan_span(&r->s, group->name)};
    const struct device_groups *found =
        process_groups_find(r->given, &asked, r->s.arena, r->s.diagnostics);
    r->s.failed |= !found;
    return found;
}

// Equal groups of different names are one pointer.
static const struct device_groups *distinct(const struct device_groups **found, uint32_t n,
                                            uint32_t n_devices) {
    for (uint32_t i = 0; i < n; i++)
        if (found[i]->size == found[n]->size && memcmp(found[i]->devices, found[n]->devices,
                                                       n_devices * sizeof *found[n]->devices) == 0)
            return found[i];
    return found[n];
}

bool fx_find_groups(struct reader *r) {
    const struct device_groups **found =
        ARENA_ARRAY(r->s.scratch, const struct device_groups *, r->n_groups + 1);
    for (uint32_t i = 0; i < r->n_groups; i++) {
        found[i] = find_group(r, &r->groups[i]);
        if (!found[i])
            return false;
        if (r->groups[i].size && r->groups[i].size != found[i]->size)
            return fail_size(r, &r->groups[i], found[i]->size);
        found[i] = distinct(found, i, r->n_devices);
    }
    for (uint32_t i = 0; i < r->n_open; i++) {
        const struct open_collective *open = &r->open[i];
        open->attributes->groups = found[open->group];
        if (open->divisor)
            *open->divisor = found[open->group]->size;
    }
    return true;
}

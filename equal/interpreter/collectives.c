// Collectives: what devices of a group make of each other's arrays. A group of which only some devices are here does
// not meet.
#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/region.h"
#include "equal/interpreter/walk.h"

// The members of a group: where they stand among the devices of the meeting, in the group's order.
struct group {
    const struct meeting *meeting;
    const uint32_t *members;
    uint32_t size;
};

typedef void group_operation(const struct group *, uint32_t operand);

static const struct array *input(const struct group *group, uint32_t member, uint32_t operand) {
    return group->meeting->in[group->members[member]][operand];
}

// Several operands have a tuple of results.
static struct array *output(const struct group *group, uint32_t member, uint32_t operand) {
    struct array *out = group->meeting->out[group->members[member]];
    return out->shape->is_tuple ? out->members[operand] : out;
}

static int64_t dimension_of(const struct group *group) {
    return group->meeting->instruction->attributes->dimensions.of[0];
}

static void all_gather(const struct group *group, uint32_t operand) {
    for (uint32_t to = 0; to < group->size; to++) {
        int64_t begin[MAX_GRAPH_RANK] = {0};
        for (uint32_t from = 0; from < group->size; from++) {
            const struct array *part = input(group, from, operand);
            copy_box(part, output(group, to, operand),
                     (struct box){.sizes = part->shape->sizes, .to = begin});
            begin[dimension_of(group)] += part->shape->sizes[dimension_of(group)];
        }
    }
}

// Combines, in the group's order, what the members have from `from` on, so many elements in a row.
static void combine(const struct group *group, const struct region *region, uint32_t operand,
                    int64_t from, int64_t lanes) {
    struct array *const *parameters = region->parameters;
    for (int64_t lane = 0; lane < lanes; lane++)
        array_set(parameters[0], lane, input(group, 0, operand), from + lane);
    for (uint32_t member = 1; member < group->size; member++) {
        for (int64_t lane = 0; lane < lanes; lane++)
            array_set(parameters[1], lane, input(group, member, operand), from + lane);
        region_execute(group->meeting->machine, region, lanes);
        for (int64_t lane = 0; lane < lanes; lane++)
            array_set(parameters[0], lane, region->results[0], lane);
    }
}

// Where an element of the whole lies in the part of the member that has it.
static int64_t place_in_part(const struct group *group, const struct array *whole,
                             const struct array *part, int64_t at, uint32_t *member) {
    int64_t strides[MAX_GRAPH_RANK], d = dimension_of(group);
    shape_strides(whole->shape, strides);
    int64_t row = strides[d], size = part->shape->sizes[d];
    int64_t index = at / row % whole->shape->sizes[d];
    int64_t outer = at / row / whole->shape->sizes[d];
    *member = (uint32_t)(index / size);
    return (outer * size + index % size) * row + at % row;
}

static void give(const struct group *group, const struct array *combined, uint32_t operand,
                 int64_t at, int64_t lane) {
    if (group->meeting->instruction->primitive == PRIM_ALL_REDUCE) {
        for (uint32_t member = 0; member < group->size; member++)
            array_set(output(group, member, operand), at, combined, lane);
        return;
    }
    uint32_t member;
    int64_t to =
        place_in_part(group, input(group, 0, operand), output(group, 0, operand), at, &member);
    array_set(output(group, member, operand), to, combined, lane);
}

static void reduce_and_give(const struct group *group, uint32_t operand) {
    struct machine *machine = group->meeting->machine;
    const struct region *region =
        region_of(machine, group->meeting->instruction->attributes->called[0]);
    if (!region)
        return;
    int64_t n = input(group, 0, operand)->shape->n_elements;
    for (int64_t first = 0; first < n; first += REGION_LANES) {
        int64_t lanes = n - first < REGION_LANES ? n - first : REGION_LANES;
        combine(group, region, operand, first, lanes);
        for (int64_t lane = 0; lane < lanes; lane++)
            give(group, region->parameters[0], operand, first + lane, lane);
    }
}

// A dimension is cut into as many pieces as there are members; piece number i goes to member i.
static void exchange_pieces(const struct group *group, uint32_t operand) {
    int64_t d = dimension_of(group);
    for (uint32_t from = 0; from < group->size; from++)
        for (uint32_t to = 0; to < group->size; to++) {
            const struct array *whole = input(group, from, operand);
            int64_t sizes[MAX_GRAPH_RANK], begin[MAX_GRAPH_RANK] = {0}, end[MAX_GRAPH_RANK] = {0};
            memcpy(sizes, whole->shape->sizes, whole->shape->rank * sizeof *sizes);
            sizes[d] /= group->size;
            begin[d] = to * sizes[d];
            end[d] = from * sizes[d];
            copy_box(whole, output(group, to, operand), (struct box){sizes, begin, end});
        }
}

// Operand number i goes to member i, whose results are in the order of who sent them.
static void exchange_operands(const struct group *group, uint32_t operand) {
    for (uint32_t from = 0; from < group->size; from++) {
        const struct array *sent = input(group, from, operand);
        copy_box(sent, output(group, operand, from), (struct box){.sizes = sent->shape->sizes});
    }
}

static group_operation *operation_of(const struct instruction *instruction) {
    switch (instruction->primitive) {
    case PRIM_ALL_GATHER:
        return all_gather;
    case PRIM_ALL_TO_ALL:
        return instruction->attributes->dimensions.n ? exchange_pieces : exchange_operands;
    default:
        return reduce_and_give;
    }
}

// ---- who meets ----

// Where a device stands among those that are here, which are in order; as many as there are: nowhere.
static uint32_t position_of(const struct meeting *meeting, uint32_t device) {
    uint32_t i = device < meeting->n_devices ? device + 1 : meeting->n_devices;
    while (i-- > 0 && meeting->devices[i] >= device)
        if (meeting->devices[i] == device)
            return i;
    return meeting->n_devices;
}

static void execute_in_group(const struct meeting *meeting, const uint32_t *members,
                             uint32_t size) {
    struct group group = {meeting, members, size};
    for (uint32_t operand = 0; operand < meeting->instruction->n_operands; operand++)
        operation_of(meeting->instruction)(&group, operand);
}

static void refuse_meeting(const struct meeting *meeting) {
    machine_refuse(meeting->machine, "devices that do not meet");
}

// A group of which no device is here is left out.
static void meet(const struct meeting *meeting, const uint32_t *devices, uint32_t size) {
    uint32_t *members = ARENA_ARRAY(&meeting->machine->scratch, uint32_t, size), here = 0;
    for (uint32_t i = 0; i < size; i++) {
        members[i] = position_of(meeting, devices[i]);
        here += members[i] < meeting->n_devices;
    }
    if (here == size)
        execute_in_group(meeting, members, size);
    else if (here)
        refuse_meeting(meeting);
}

static void hand_on(const struct meeting *meeting, uint32_t from, uint32_t to) {
    struct array *out = meeting->out[to];
    for (uint32_t k = 0; k < meeting->instruction->n_operands; k++) {
        const struct array *in = meeting->in[from][k];
        copy_box(in, out->shape->is_tuple ? out->members[k] : out,
                 (struct box){.sizes = in->shape->sizes});
    }
}

// Who gets nothing has zeros.
static void permute(const struct meeting *meeting) {
    const struct instruction_attributes *attributes = meeting->instruction->attributes;
    for (uint32_t i = 0; i < attributes->n_pairs; i++) {
        uint32_t from = position_of(meeting, attributes->pairs[i].from);
        uint32_t to = position_of(meeting, attributes->pairs[i].to);
        if (from < meeting->n_devices && to < meeting->n_devices)
            hand_on(meeting, from, to);
        else if (from < meeting->n_devices || to < meeting->n_devices)
            refuse_meeting(meeting);
    }
}

void execute_collective(const struct meeting *meeting) {
    const struct device_groups *groups = meeting->instruction->attributes->groups;
    if (meeting->instruction->primitive == PRIM_COLLECTIVE_PERMUTE)
        return permute(meeting);
    for (uint32_t g = 0; g < groups->n_groups; g++)
        meet(meeting, groups->devices + g * groups->size, groups->size);
}

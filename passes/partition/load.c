// Partition, loads: hops of one kind that are made side by side; see hops.h.
#include "passes/partition/hops.h"

const char *load_name(const struct plan *plan, const struct load *load, char between) {
    return arena_format(plan->arena, "%s%c%s", hop_rows[load->kind].handle, between,
                        plan->reference->job->units[load->call->call.unit].name);
}

struct reference cargo_item(struct draft *draft, struct cursor at, const struct load *load,
                            uint32_t i, int station) {
    const struct cargo *cargo = &load->items[i];
    return station_item(draft, at, cargo->way, station, cargo->of, load->call->call.unit);
}

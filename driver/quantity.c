// See quantity.h.
#include "driver/quantity.h"

#include <stdbool.h>

struct unit_row {
    double least;
    const char *text;
};

// Units from the largest down; what is less than all of them is counted in the last.
static const struct unit_row units[][7] = {
    [COUNTS] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}, {1, ""}},
    [FLOPS_A_SECOND] = {{1e18, "EFLOP/s"},
                        {1e15, "PFLOP/s"},
                        {1e12, "TFLOP/s"},
                        {1e9, "GFLOP/s"},
                        {1e6, "MFLOP/s"},
                        {1, "FLOP/s"}},
    [BYTES_A_SECOND] =
        {{1e15, "PB/s"}, {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}},
    [SECONDS] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}},
};

// Three digits, but of a whole number that has no prefix all.
const char *quantity_text(struct arena *arena, double value, enum quantity quantity) {
    const struct unit_row *unit = units[quantity];
    while (unit[1].text && value < 0.9995 * unit->least)
        unit++;
    double scaled = value / unit->least;
    if (quantity == COUNTS && unit->least <= 1)
        return arena_format(arena, "%.0f", scaled);
    int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    bool said =
        quantity == FLOPS_A_SECOND || quantity == BYTES_A_SECOND; // by a person, in few digits
    const char *number = said && scaled < 999.5 ? arena_format(arena, "%.3g", scaled)
                                                : arena_format(arena, "%.*f", decimals, scaled);
    return arena_format(arena, "%s %s", number, unit->text);
}

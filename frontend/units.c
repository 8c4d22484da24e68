// The table of units, and finding one by its exact spelling: MB and Mb are not the same.
#include "frontend/ast.h"

#include <string.h>

const struct measuring_unit_row measuring_unit_rows[N_MEASURING_UNITS] = {
#define UNIT(name, text, measure, factor) {text, MEASURE_##measure, factor},
#include "frontend/units.def"
#undef UNIT
};

int measuring_unit_find(const char *text, size_t length) {
    for (int i = 0; i < N_MEASURING_UNITS; i++)
        if (strlen(measuring_unit_rows[i].text) == length &&
            memcmp(measuring_unit_rows[i].text, text, length) == 0)
            return i;
    return -1;
}

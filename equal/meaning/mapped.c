// Dimensions over which an op without a rule maps: at each place of such a one it makes of what operands have there what it
// makes of all, as a sort does of each row. So who has some of the rows makes some of the result.
#include <stdlib.h>
#include <string.h>

#include "equal/graph/window.h"
#include "equal/meaning/read.h"

// ---- convolution ------------------------------------------------------------------------------

// Where labels as "bf01_oi01->bf01" name a dimension by a letter: in the array whose labels begin there. NOT_MAPPED: they do
// not.
static int labelled(const char *labels, char letter, uint32_t rank) {
    for (uint32_t d = 0; d < rank && labels[d]; d++)
        if (labels[d] == letter)
            return (int)d;
    return NOT_MAPPED;
}

static bool is_grouped(const char *others) {
    return strstr(others, "feature_group_count=") || strstr(others, "batch_group_count=");
}

// Rows of the array are mapped over, and features that the kernel makes; over features that it reads is summed.
static int mapped_of_convolution(const struct instruction *by, uint32_t operand, uint32_t k) {
    const char *others = by->attributes->others;
    const char *array = others ? strstr(others, "dim_labels=") : NULL;
    if (!array || is_grouped(others))
        return NOT_MAPPED;
    array += strlen("dim_labels=");
    const char *kernel = strchr(array, '_'), *result = strstr(array, "->");
    if (!kernel || !result || kernel > result)
        return NOT_MAPPED;
    uint32_t rank = by->shape->rank;
    if (labelled(array, 'b', rank) == (int)k && operand == 0)
        return labelled(result + 2, 'b', rank);
    if (labelled(kernel + 1, 'o', rank) == (int)k && operand == 1)
        return labelled(result + 2, 'f', rank);
    bool is_read = operand == 0 ? labelled(array, 'f', rank) == (int)k
                                : labelled(kernel + 1, 'i', rank) == (int)k;
    return is_read && rank < MAX_GRAPH_RANK ? (int)rank : NOT_MAPPED;
}

// ---- others -----------------------------------------------------------------------------------

static int mapped_of_window(const struct instruction *by, uint32_t operand, uint32_t k) {
    struct window window;
    if (operand >= by->n_operands / 2 || !window_read(by->attributes->others, &window) ||
        k >= window.rank)
        return NOT_MAPPED;
    const struct window_dimension *of = &window.dimensions[k];
    bool maps = of->size == 1 && of->stride == 1 && of->low == 0 && of->high == 0 &&
                of->base_dilation == 1 && of->dilation == 1;
    return maps ? (int)k : NOT_MAPPED;
}

static int mapped_of_reduce(const struct instruction *by, uint32_t operand, uint32_t k) {
    const struct number_list *gone = &by->attributes->dimensions;
    int kept = 0;
    if (operand >= by->n_operands / 2 || list_has(gone, k))
        return NOT_MAPPED;
    for (uint32_t d = 0; d < k; d++)
        kept += !list_has(gone, d);
    return kept;
}

// Fourier transforms are of as many last dimensions as have a length; of these it says how many.
static uint32_t transformed_dimensions(const struct instruction *by) {
    const char *others = by->attributes->others;
    const char *lengths = others ? strstr(others, "fft_length={") : NULL;
    uint32_t n = 1;
    for (const char *at = lengths; at && *at && *at != '}'; at++)
        n += *at == ',';
    return lengths ? n : MAX_GRAPH_RANK;
}

// Where matrices, or what else the last dimensions are, lie side by side.
static int mapped_of_last(const struct at *at, uint32_t operand, uint32_t k, uint32_t n_last) {
    return k + n_last < operand_shape(at, operand)->rank ? (int)k : NOT_MAPPED;
}

int mapped_dimension(const struct at *at, uint32_t operand, uint32_t k) {
    switch (at->by->primitive) {
    case PRIM_SORT:
        return list_has(&at->by->attributes->dimensions, k) ? NOT_MAPPED : (int)k;
    case PRIM_TOP_K:
        return mapped_of_last(at, operand, k, 1);
    case PRIM_FFT:
        return mapped_of_last(at, operand, k, transformed_dimensions(at->by));
    case PRIM_CHOLESKY:
    case PRIM_TRIANGULAR_SOLVE:
        return mapped_of_last(at, operand, k, 2);
    case PRIM_REDUCE:
        return mapped_of_reduce(at->by, operand, k);
    case PRIM_REDUCE_WINDOW:
        return mapped_of_window(at->by, operand, k);
    case PRIM_CONVOLUTION:
        return mapped_of_convolution(at->by, operand, k);
    default:
        return NOT_MAPPED;
    }
}

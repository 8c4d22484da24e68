/* A rank's parts of the tensors of files (see parts.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/file.h"
#include "runtime/host/items.h"
#include "runtime/host/parts.h"
#include "runtime/host/segments.h"
#include "runtime/kernels/rows.h"
#include "runtime/transport/collective.h"

enum {
    PANEL_ELEMENTS = 1 << 20,
    /* What is not the rank's, and is shorter than this, is read along with what is. */
    GAP_ELEMENTS = 1 << 10,
    ELEMENT_BYTES = 8 /* of the widest type */
};

struct panel {
    int64_t begin, end;                /* elements of the entry that it stands for */
    unsigned char has[PANEL_ELEMENTS]; /* 1: the element is the rank's */
    _Alignas(64) char data[PANEL_ELEMENTS * ELEMENT_BYTES];
};

struct panel *panel_new(void) {
    size_t bytes = (sizeof(struct panel) + 63) / 64 * 64;
    return aligned_alloc(64, bytes);
}

void panel_free(struct panel *panel) {
    free(panel);
}

/* ---- what lies where ------------------------------------------------------------------------ */

/* Cuts a segment to what falls into the panel. False: nothing does. */
static bool clip(const struct panel *panel, struct segment *s) {
    int64_t before = 0, upto = s->length;
    if (s->in_entry < panel->begin)
        before = (panel->begin - s->in_entry + s->stride - 1) / s->stride;
    if (s->in_entry + (upto - 1) * s->stride >= panel->end)
        upto = s->in_entry >= panel->end ? 0 : (panel->end - 1 - s->in_entry) / s->stride + 1;
    if (before >= upto)
        return false;
    s->local += before;
    s->in_entry += before * s->stride;
    s->length = upto - before;
    return true;
}

enum direction { MARK, TAKE, GIVE }; /* mark; mark and copy to the panel; copy from it */

/* Goes over what the rank has of the panel. Whether there is anything. */
static bool visit(struct held_item *held, struct panel *panel, const struct entry *entry,
                  const struct component *component, enum direction direction) {
    size_t element = (size_t)dtype_size(entry->dtype);
    const struct place_context *context = held->context;
    struct segment_walk walk = segments_begin(context->program, entry, component, context->rank);
    struct segment s;
    bool any = false;
    while (segments_next(&walk, &s)) {
        if (!clip(panel, &s))
            continue;
        int64_t at = s.in_entry - panel->begin;
        char *there = panel->data + at * (int64_t)element;
        if (direction == GIVE)
            elements_apart(held->bytes + s.local * (int64_t)element, 1, there, s.stride, s.length,
                           element);
        else if (s.stride == 1)
            memset(panel->has + at, 1, (size_t)s.length);
        else
            for (int64_t i = 0; i < s.length; i++)
                panel->has[at + i * s.stride] = 1;
        if (direction == TAKE)
            segment_take(entry, component, held->bytes, &s, there);
        any = true;
    }
    return any;
}

/* The next stretch, from `*at` on, of elements that the rank has. */
static bool next_stretch(const struct panel *panel, int64_t *at, int64_t *length) {
    int64_t n = panel->end - panel->begin;
    const unsigned char *first = memchr(panel->has + *at, 1, (size_t)(n - *at));
    if (!first)
        return false;
    *at = first - panel->has;
    const unsigned char *behind = memchr(first, 0, (size_t)(n - *at));
    *length = (behind ? behind : panel->has + n) - first;
    return true;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Finalizer of SplitMix64 (Steele et al., OOPSLA 2014). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static content_sum sum_stretch(const struct panel *panel, size_t element, int64_t at, int64_t n) {
    content_sum sum = 0;
    const char *from = panel->data + at * (int64_t)element;
    uint64_t number = (uint64_t)(panel->begin + at);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, from + i * (int64_t)element, element);
        sum += mix((number + (uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ bits);
    }
    return sum;
}

/* The sum, as one loop for each size, which the compiler makes vectors of. */
static content_sum sum_of(const struct panel *panel, size_t element, int64_t at, int64_t n) {
    switch (element) {
    case 8:
        return sum_stretch(panel, 8, at, n);
    case 4:
        return sum_stretch(panel, 4, at, n);
    default:
        return sum_stretch(panel, element, at, n);
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

static int64_t byte_of(const struct place_in_file *file, const struct panel *panel, size_t element,
                       int64_t at) {
    return file->offset + (panel->begin + at) * (int64_t)element;
}

static void move_panel(struct panel *panel, const struct entry *entry, int64_t begin) {
    int64_t end = entry_elements(entry);
    panel->begin = begin;
    panel->end = end - begin < PANEL_ELEMENTS ? end : begin + PANEL_ELEMENTS;
    memset(panel->has, 0, (size_t)(panel->end - begin));
}

static int write_item(struct held_item *held, struct panel *panel, const struct entry *entry,
                      const struct component *component, const struct place_in_file *file,
                      content_sum *sum) {
    size_t element = (size_t)dtype_size(entry->dtype);
    for (int64_t begin = 0; begin < entry_elements(entry); begin = panel->end) {
        move_panel(panel, entry, begin);
        if (!visit(held, panel, entry, component, TAKE))
            continue;
        for (int64_t at = 0, n; next_stretch(panel, &at, &n); at += n) {
            *sum += sum_of(panel, element, at, n);
            if (file_write(file->descriptor, panel->data + at * (int64_t)element,
                           (size_t)n * element, byte_of(file, panel, element, at)) != 0)
                return -1;
        }
    }
    return 0;
}

/* Releases the item, whatever was done with it; errno stays. */
static int leave_item(struct held_item *held, int status) {
    int reason = errno;
    item_release(held);
    errno = reason;
    return status;
}

int part_write(struct place_context *context, struct panel *panel, const struct entry *entry,
               const struct component *component, const struct place_in_file *file,
               content_sum *sum) {
    struct held_item held;
    if (item_open(context, component->buffer, component->item, &held) != 0)
        return -1;
    return leave_item(&held, write_item(&held, panel, entry, component, file, sum));
}

/* Whether an element is infinite or no number: all bits of its exponent are set. */
static bool has_exponent_4(const char *from, int64_t n, uint32_t exponent) {
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, from + i * 4, 4);
        any |= (bits & exponent) == exponent;
    }
    return any;
}

static bool has_exponent(const char *from, int64_t n, size_t element, uint64_t exponent) {
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, from + i * (int64_t)element, element);
        any |= (bits & exponent) == exponent;
    }
    return any;
}

bool elements_are_finite(enum place_dtype dtype, const void *elements, int64_t n) {
    const char *from = elements;
    switch (dtype) {
    case PLACE_F32:
        return !has_exponent_4(from, n, UINT32_C(0x7f800000));
    case PLACE_F64:
        return !has_exponent(from, n, 8, UINT64_C(0x7ff0000000000000));
    case PLACE_BF16:
        return !has_exponent(from, n, 2, 0x7f80);
    case PLACE_F16:
        return !has_exponent(from, n, 2, 0x7c00);
    case PLACE_I32:
        break;
    }
    return true;
}

/* Where the entry has fewer digits a large number may be none in it. */
static bool segment_is_finite(const struct entry *entry, const struct component *component,
                              const char *held, struct segment s) {
    enum { SOME = 256 };
    char taken[SOME * ELEMENT_BYTES];
    int64_t end = s.local + s.length;
    if (!component_is_rounded(entry, component))
        return elements_are_finite(entry->dtype, held + s.local * dtype_size(entry->dtype),
                                   s.length);
    bool finite = true;
    s.stride = 1;
    for (; finite && s.local < end; s.local += s.length) {
        s.length = end - s.local < SOME ? end - s.local : SOME;
        segment_take(entry, component, held, &s, taken);
        finite = elements_are_finite(entry->dtype, taken, s.length);
    }
    return finite;
}

int part_is_finite(struct place_context *context, const struct entry *entry,
                   const struct component *component, bool *finite) {
    struct segment_walk walk = segments_begin(context->program, entry, component, context->rank);
    struct held_item held;
    struct segment s;
    if (item_open(context, component->buffer, component->item, &held) != 0)
        return -1;
    *finite = true;
    while (*finite && segments_next(&walk, &s))
        *finite = segment_is_finite(entry, component, held.bytes, s);
    item_release(&held);
    return 0;
}

/* ---- elements of other widths -----------------------------------------------------------------
 */

size_t stored_bytes(enum stored_type type, size_t held) {
    switch (type) {
    case STORED_F16:
    case STORED_BF16:
        return 2;
    case STORED_F32:
        return 4;
    case STORED_F64:
        return 8;
    default:
        return held;
    }
}

/* Whether the types are one. */
static bool is_as_held(enum stored_type type, enum place_dtype held) {
    static const enum stored_type types[] = {[PLACE_F32] = STORED_F32,
                                             [PLACE_F64] = STORED_F64,
                                             [PLACE_BF16] = STORED_BF16,
                                             [PLACE_I32] = STORED_OTHER,
                                             [PLACE_F16] = STORED_F16};
    return type == STORED_AS_HELD || type == types[held];
}

bool can_be_widened(enum stored_type from, enum place_dtype to) {
    if (from == STORED_OTHER || to == PLACE_I32)
        return false;
    return is_as_held(from, to) || to == PLACE_F64 || (to == PLACE_F32 && from != STORED_F64);
}

/* The type in memory of what is not STORED_AS_HELD. */
static enum place_dtype dtype_of_stored(enum stored_type type) {
    static const enum place_dtype dtypes[] = {[STORED_F16] = PLACE_F16,
                                              [STORED_BF16] = PLACE_BF16,
                                              [STORED_F32] = PLACE_F32,
                                              [STORED_F64] = PLACE_F64};
    return dtypes[type];
}

/* Converts in place, some elements at a time: from the last to the first where what is held is
 * wider, else the other way. */
static void convert(struct panel *panel, enum stored_type type, enum place_dtype held) {
    enum { AT_ONCE = 256 };
    int64_t n = panel->end - panel->begin, blocks = (n + AT_ONCE - 1) / AT_ONCE;
    if (is_as_held(type, held))
        return;
    enum place_dtype stored = dtype_of_stored(type);
    for (int64_t i = 0; i < blocks; i++) {
        int64_t first = (dtype_size(stored) < dtype_size(held) ? blocks - 1 - i : i) * AT_ONCE;
        int64_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        double values[AT_ONCE];
        widen_row_f64(stored, values, panel->data + first * dtype_size(stored), count);
        round_row_f64(held, panel->data + first * dtype_size(held), values, count);
    }
}

/* Reads what is marked, and short gaps along with it. */
static int read_marked(struct panel *panel, size_t element, const struct place_in_file *file) {
    int64_t at = 0, n, begin, end = -1;
    bool more = next_stretch(panel, &at, &n);
    while (more) {
        begin = at;
        do {
            end = at + n;
            at = end;
            more = next_stretch(panel, &at, &n);
        } while (more && at - end < GAP_ELEMENTS);
        size_t bytes = (size_t)(end - begin) * element;
        if (file_read(file->descriptor, panel->data + begin * (int64_t)element, bytes,
                      byte_of(file, panel, element, begin)) != bytes)
            return -1;
    }
    return 0;
}

static int read_item(struct held_item *held, struct panel *panel, const struct entry *entry,
                     const struct component *component, const struct place_in_file *file,
                     content_sum *sum) {
    size_t element = (size_t)dtype_size(entry->dtype);
    for (int64_t begin = 0; begin < entry_elements(entry); begin = panel->end) {
        move_panel(panel, entry, begin);
        if (!visit(held, panel, entry, component, MARK))
            continue;
        if (read_marked(panel, stored_bytes(file->type, element), file) != 0)
            return -1;
        convert(panel, file->type, entry->dtype);
        if (!component_is_rounded(entry, component))
            visit(held, panel, entry, component, GIVE);
        for (int64_t at = 0, n; next_stretch(panel, &at, &n); at += n)
            *sum += sum_of(panel, element, at, n);
    }
    return 0;
}

enum part_end part_read(struct place_context *context, struct panel *panel,
                        const struct entry *entry, const struct component *component,
                        const struct place_in_file *file, content_sum *sum) {
    struct held_item held;
    if (item_open(context, component->buffer, component->item, &held) != 0)
        return PART_ITEM_FAILED;
    if (read_item(&held, panel, entry, component, file, sum) != 0) {
        leave_item(&held, -1);
        return PART_FILE_FAILED;
    }
    return item_keep(&held) == 0 ? PART_IS_READ : PART_ITEM_FAILED;
}

int whole_sum(struct panel *panel, int64_t n, size_t element, const struct place_in_file *file,
              content_sum *sum) {
    *sum = 0;
    for (int64_t begin = 0; begin < n; begin = panel->end) {
        panel->begin = begin;
        panel->end = n - begin < PANEL_ELEMENTS ? n : begin + PANEL_ELEMENTS;
        size_t bytes = (size_t)(panel->end - begin) * element;
        if (file_read(file->descriptor, panel->data, bytes, byte_of(file, panel, element, 0)) !=
            bytes)
            return -1;
        *sum += sum_of(panel, element, 0, panel->end - begin);
    }
    return 0;
}

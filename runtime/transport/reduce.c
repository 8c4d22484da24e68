/* Sums on wires: what members of a group give, joined in a binary tree (collective_reduce). All
 * element types and operations share one loop, which is compiled for each of them. */
#include <emmintrin.h>
#include <string.h>
#include "runtime/transport/collective.h"

/* What is summed at once: the nodes of a tree, four registers of those that every x86-64 has. One
 * core reads and writes with them as fast as its second cache gives. */
typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(16)));
enum { REGISTERS = 4, MOST_LINE_BYTES = 64 };
struct line {
    floats registers[REGISTERS];
};

/* An element type with an operation. */
struct arithmetic {
    int64_t line_bytes; /* of memory that fill a line */
    struct line (*load)(const char *from);
    struct line (*join)(struct line a, struct line b);
    void (*store)(char *to, struct line line, bool streams); /* `to` is aligned to 16 bytes */
};

static inline words load_words(const char *from) {
    return (words)_mm_loadu_si128((const __m128i *)from);
}

static inline void store_words(char *to, words value, bool streams) {
    if (streams)
        _mm_stream_si128((__m128i *)to, (__m128i)value);
    else
        _mm_store_si128((__m128i *)to, (__m128i)value);
}

static inline struct line load_line(const char *from) {
    struct line line;
    for (int k = 0; k < REGISTERS; k++)
        line.registers[k] = (floats)load_words(from + 16 * k);
    return line;
}

static inline void store_line(char *to, struct line line, bool streams) {
    for (int k = 0; k < REGISTERS; k++)
        store_words(to + 16 * k, (words)line.registers[k], streams);
}

/* bf16 is the upper half of a single. Inner nodes are singles, and the root alone is rounded. */
static inline struct line load_line_of_bf16(const char *from) {
    const __m128i lower_half = _mm_setzero_si128();
    struct line line;
    for (int k = 0; k < REGISTERS; k += 2) {
        __m128i upper_half = (__m128i)load_words(from + 8 * k);
        line.registers[k] = (floats)_mm_unpacklo_epi16(lower_half, upper_half);
        line.registers[k + 1] = (floats)_mm_unpackhi_epi16(lower_half, upper_half);
    }
    return line;
}

/* Rounds to the nearest, halves to the even one. What is not a number was bf16 before, or is the
 * one that the CPU makes: its lower half is zero, so it stays what it is. Each result is in the
 * lower half of a word, its sign above, as a pack wants it. */
static inline __m128i rounded_to_bf16(floats value) {
    words bits = (words)value;
    return _mm_srai_epi32((__m128i)(bits + 0x7fff + ((bits >> 16) & 1)), 16);
}

/* Halves in the lower halves of words, as the singles that have their values. An exponent of zeros
 * means that no leading one is added: such a number gets one, which is subtracted. */
static inline floats widened_from_f16(words half) {
    const words lowest = (words){} + (113 << 23); /* 2^-14, the smallest exponent */
    words magnitude = (half & 0x7fff) << 13;
    words normal = magnitude + (112 << 23);
    words endless = (words)(magnitude >= 0x0f800000) & 0x38000000 /* infinite, or no number */;
    words small = (words)((floats)(magnitude + lowest) - (floats)lowest);
    words is_small = (words)(magnitude < 0x00800000);
    return (floats)((half & 0x8000) << 16 | (is_small & small) | (~is_small & (normal + endless)));
}

static inline struct line load_line_of_f16(const char *from) {
    const __m128i nothing = _mm_setzero_si128();
    struct line line;
    for (int k = 0; k < REGISTERS; k += 2) {
        __m128i halves = (__m128i)load_words(from + 8 * k);
        line.registers[k] = widened_from_f16((words)_mm_unpacklo_epi16(halves, nothing));
        line.registers[k + 1] = widened_from_f16((words)_mm_unpackhi_epi16(halves, nothing));
    }
    return line;
}

/* Rounds to the nearest, halves to the even one, as above. What is below the smallest exponent is
 * rounded by the addition of a number whose last digit is theirs. */
static inline __m128i rounded_to_f16(floats value) {
    const words unit = (words){} + (126 << 23); /* 1/2, whose last digit is 2^-24 */
    words bits = (words)value, magnitude = bits & 0x7fffffff;
    words normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    words small = (words)((floats)magnitude + (floats)unit) - unit;
    words is_small = (words)(magnitude < (113 << 23));
    words is_large = (words)(magnitude >= (143 << 23)); /* 2^16 */
    words no_number = (words)(magnitude > 0x7f800000) & (magnitude >> 13 & 0x3ff);
    words half = (is_small & small) | (is_large & (0x7c00 | no_number)) |
                 (~is_small & ~is_large & normal) | (bits >> 16 & 0x8000);
    return _mm_srai_epi32(_mm_slli_epi32((__m128i)half, 16), 16);
}

/* The type is a constant, so that its function is compiled into the loop. */
static inline __attribute__((always_inline)) void
store_rounded_line(char *to, struct line line, bool streams, __m128i (*rounded)(floats)) {
    for (int k = 0; k < REGISTERS; k += 2)
        store_words(
            to + 8 * k,
            (words)_mm_packs_epi32(rounded(line.registers[k]), rounded(line.registers[k + 1])),
            streams);
}
static inline void store_line_of_bf16(char *to, struct line line, bool streams) {
    store_rounded_line(to, line, streams, rounded_to_bf16);
}
static inline void store_line_of_f16(char *to, struct line line, bool streams) {
    store_rounded_line(to, line, streams, rounded_to_f16);
}

/* What is not a number is not smaller than anything, and so stays, and differs from itself, and so
 * is taken. */
static inline floats choose(words take, floats b, floats a) {
    return (floats)((take & (words)b) | (~take & (words)a));
}
static inline floats larger_floats(floats a, floats b) {
    return choose((words)((a < b) | (b != b)), b, a);
}
static inline floats larger_doubles(floats a, floats b) {
    doubles x = (doubles)a, y = (doubles)b;
    return choose((words)((x < y) | (y != y)), b, a);
}
static inline floats sum_of_floats(floats a, floats b) {
    return a + b;
}
static inline floats sum_of_doubles(floats a, floats b) {
    return (floats)((doubles)a + (doubles)b);
}

static inline struct line join_lines(struct line a, struct line b, floats (*of)(floats, floats)) {
    for (int k = 0; k < REGISTERS; k++)
        a.registers[k] = of(a.registers[k], b.registers[k]);
    return a;
}
static struct line add_floats(struct line a, struct line b) {
    return join_lines(a, b, sum_of_floats);
}
static struct line add_doubles(struct line a, struct line b) {
    return join_lines(a, b, sum_of_doubles);
}
static struct line maximum_of_floats(struct line a, struct line b) {
    return join_lines(a, b, larger_floats);
}
static struct line maximum_of_doubles(struct line a, struct line b) {
    return join_lines(a, b, larger_doubles);
}

enum { TREE_LEVELS = 32 }; /* of at most 2^32 sources */

static inline struct line load_part(const struct arithmetic *arithmetic, const char *from,
                                    int64_t bytes) {
    if (bytes == arithmetic->line_bytes)
        return arithmetic->load(from);
    char part[MOST_LINE_BYTES] = {0};
    memcpy(part, from, (size_t)bytes);
    return arithmetic->load(part);
}

static inline struct line load_pair(const struct arithmetic *arithmetic, const char *const *sources,
                                    int64_t n, int64_t pair, int64_t at, int64_t bytes) {
    struct line line = load_part(arithmetic, sources[2 * pair] + at, bytes);
    if (2 * pair + 1 == n)
        return line;
    return arithmetic->join(line, load_part(arithmetic, sources[2 * pair + 1] + at, bytes));
}

/* The root over all sources at one place, of a line or of `bytes` bytes. Pairs are joined as a
 * binary counter counts: for each one in the number of the next pair a subtree waits. */
static inline __attribute__((always_inline)) struct line
join_sources(const struct arithmetic *arithmetic, const char *const *sources, int64_t n, int64_t at,
             int64_t bytes) {
    struct line waiting[TREE_LEVELS];
    int64_t last = (n - 1) / 2;
    for (int64_t pair = 0;; pair++) {
        struct line line = load_pair(arithmetic, sources, n, pair, at, bytes);
        int level = 0;
        for (; pair >> level & 1; level++)
            line = arithmetic->join(waiting[level], line);
        if (pair < last) {
            waiting[level] = line;
            continue;
        }
        for (; last >> level; level++)
            if (last >> level & 1)
                line = arithmetic->join(waiting[level], line);
        return line;
    }
}

/* Reduces from `begin` to before `end` in bytes, the first to where dst points: whole lines from
 * where dst is aligned, and parts of one at both ends. All sources are read at a place before it is
 * written, so dst may be there in one of them. */
static inline __attribute__((always_inline)) void
reduce_bytes(const struct arithmetic *arithmetic, char *dst, const char *const *sources, int64_t n,
             int64_t begin, int64_t end, bool streams) {
    const int64_t whole = arithmetic->line_bytes;
    while (begin < end) {
        int64_t to_border = whole - (int64_t)((uintptr_t)dst % (uintptr_t)whole);
        int64_t part = to_border < end - begin ? to_border : end - begin;
        if (part < whole) {
            _Alignas(16) char root[MOST_LINE_BYTES];
            arithmetic->store(root, join_sources(arithmetic, sources, n, begin, part), false);
            memcpy(dst, root, (size_t)part);
            begin += part;
            dst += part;
        }
        for (; begin + whole <= end; begin += whole, dst += whole)
            arithmetic->store(dst, join_sources(arithmetic, sources, n, begin, whole), streams);
    }
}

/* The arithmetic is a constant, so that its functions are compiled into the loop. */
#define DEFINE_REDUCE(name, line_bytes, load, join, store)                                         \
    static void name(char *dst, const char *const *sources, int64_t n, int64_t begin, int64_t end, \
                     bool streams) {                                                               \
        static const struct arithmetic arithmetic = {line_bytes, load, join, store};               \
        reduce_bytes(&arithmetic, dst, sources, n, begin, end, streams);                           \
    }
DEFINE_REDUCE(sum_f32, 64, load_line, add_floats, store_line)
DEFINE_REDUCE(sum_f64, 64, load_line, add_doubles, store_line)
DEFINE_REDUCE(sum_bf16, 32, load_line_of_bf16, add_floats, store_line_of_bf16)
DEFINE_REDUCE(sum_f16, 32, load_line_of_f16, add_floats, store_line_of_f16)
DEFINE_REDUCE(maximum_f32, 64, load_line, maximum_of_floats, store_line)
DEFINE_REDUCE(maximum_f64, 64, load_line, maximum_of_doubles, store_line)
DEFINE_REDUCE(maximum_bf16, 32, load_line_of_bf16, maximum_of_floats, store_line_of_bf16)
DEFINE_REDUCE(maximum_f16, 32, load_line_of_f16, maximum_of_floats, store_line_of_f16)

typedef void (*reduce_function)(char *, const char *const *, int64_t, int64_t, int64_t, bool);
static const reduce_function reduce_functions[][PLACE_MAX + 1] = {
    [PLACE_F32] = {sum_f32, maximum_f32},
    [PLACE_F64] = {sum_f64, maximum_f64},
    [PLACE_BF16] = {sum_bf16, maximum_bf16},
    [PLACE_F16] = {sum_f16, maximum_f16},
};

void collective_reduce(const struct collective *collective, void *dst, const void *const *sources,
                       int64_t n, int64_t begin, int64_t end, bool streams) {
    int64_t element = dtype_size(collective->dtype);
    reduce_functions[collective->dtype][collective->operation](
        dst, (const char *const *)sources, n, begin * element, end * element, streams);
}

/* ---- partial sums on their way: singles, by the same steps as above ----------------------------
 */

enum { LINE_ELEMENTS = sizeof(struct line) / sizeof(float) };

enum place_dtype dtype_added_as(enum place_dtype dtype) {
    return dtype_size(dtype) == 2 ? PLACE_F32 : dtype;
}

void widen_elements(enum place_dtype dtype, void *to, const void *from, int64_t elements) {
    for (int64_t i = 0, some; i < elements; i += some) {
        uint16_t part[LINE_ELEMENTS] = {0};
        some = elements - i < LINE_ELEMENTS ? elements - i : LINE_ELEMENTS;
        memcpy(part, (const uint16_t *)from + i, (size_t)some * sizeof *part);
        struct line line = dtype == PLACE_BF16 ? load_line_of_bf16((const char *)part)
                                               : load_line_of_f16((const char *)part);
        memcpy((float *)to + i, &line, (size_t)some * sizeof(float));
    }
}

void round_elements(enum place_dtype dtype, void *to, const void *from, int64_t elements) {
    for (int64_t i = 0, some; i < elements; i += some) {
        struct line line = {0};
        _Alignas(16) uint16_t part[LINE_ELEMENTS];
        some = elements - i < LINE_ELEMENTS ? elements - i : LINE_ELEMENTS;
        memcpy(&line, (const float *)from + i, (size_t)some * sizeof(float));
        if (dtype == PLACE_BF16)
            store_line_of_bf16((char *)part, line, false);
        else
            store_line_of_f16((char *)part, line, false);
        memcpy((uint16_t *)to + i, part, (size_t)some * sizeof *part);
    }
}

/* Portions of collectives (portion.h). Elements of a portion are numbered piece by piece, padding
 * and all, since the wire's unit is a whole chunk; where each member gets something else, first all
 * that is for one member. */
#include <string.h>
#include <unistd.h>
#include "runtime/transport/portion.h"

/* What goes to several members fits the second cache tile by tile, and sums on their way to them
 * the first. */
enum { TILE_BYTES = 64 << 10, BLOCK_BYTES = 4 << 10 };

static int64_t element_bytes(const struct portions *portions) {
    return dtype_size(portions->collective->dtype);
}

/* The elements of one piece that one member gives to another, or sums. */
static int64_t part_elements(const struct collective *collective, int32_t piece, int32_t n) {
    const struct place_piece *p = &collective->pieces[piece];
    return collective->kind == PLACE_PERMUTE ? p->valid
                                             : p->outer * collective_chunk(collective, piece, n);
}

/* Parts of one piece in a portion. */
static int32_t parts_of_a_piece(const struct collective *collective, int32_t n) {
    return collective->kind == PLACE_ALL_TO_ALL ? n : 1;
}

static int64_t portion_elements(const struct collective *collective, int32_t n) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += part_elements(collective, i, n);
    return parts_of_a_piece(collective, n) * elements;
}

static int64_t tile_elements(const struct collective *collective) {
    return TILE_BYTES / dtype_size(collective->dtype);
}

int64_t portion_tiles(const struct collective *collective, int32_t n) {
    int64_t elements = tile_elements(collective);
    return (portion_elements(collective, n) + elements - 1) / elements;
}

int64_t portions_bytes(const struct collective *collective, int32_t n) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective->pieces[i].valid;
    return 2 * n * elements * dtype_size(collective->dtype);
}

/* Half of the last cache, which is seldom ours alone. */
int64_t portions_cached_bytes(void) {
    int64_t last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return (last > 0 ? last : 32 << 20) / 2;
}

static void count_sent(const struct portions *portions, int32_t from, int64_t elements) {
    atomic_fetch_add_explicit(&portions->sent_bytes[from], elements * element_bytes(portions),
                              memory_order_relaxed);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* A run of a piece's whole, from element `at` on, into the results of all. */
static void sum_for_all(const struct portions *portions, int32_t piece, int64_t at, int64_t count) {
    const int64_t element = element_bytes(portions), most = BLOCK_BYTES / element;
    const void **sources = &portions->sources[piece * portions->n];
    void **results = &portions->results[piece * portions->n];
    _Alignas(64) char block[BLOCK_BYTES];
    for (int64_t run; count > 0; at += run, count -= run) {
        run = count < most ? count : most;
        collective_reduce(portions->collective, block, sources, portions->n, at, at + run, false);
        for (int32_t i = 0; i < portions->n; i++)
            copy_run((char *)results[i] + at * element, block, run * element, portions->streams);
    }
}

/* A member's chunk of a piece, from its begin-th element to before its end-th. */
static void sum_part(const struct portions *portions, int32_t place, int32_t piece, int64_t begin,
                     int64_t end) {
    const struct collective *collective = portions->collective;
    struct chunk_range range = collective_range(collective, piece, portions->n, place);
    char *own = portions->results[piece * portions->n + place];
    bool for_all = collective->kind == PLACE_ALL_REDUCE;
    for (int32_t i = 0; i < portions->n; i++)
        if (i != place) {
            count_sent(portions, i, end - begin);
            count_sent(portions, place, for_all ? end - begin : 0);
        }
    int64_t padding = range.outer * range.row; /* begins here */
    while (begin < end && begin < padding) {
        int64_t left = (end < padding ? end : padding) - begin, in_row = begin % range.row;
        int64_t run = left < range.row - in_row ? left : range.row - in_row;
        int64_t at = range.begin + begin / range.row * range.stride + in_row;
        if (for_all)
            sum_for_all(portions, piece, at, run);
        else
            collective_reduce(collective, own + begin * element_bytes(portions),
                              &portions->sources[piece * portions->n], portions->n, at, at + run,
                              portions->streams);
        begin += run;
    }
    if (!for_all && begin < end)
        memset(own + begin * element_bytes(portions), 0,
               (size_t)((end - begin) * element_bytes(portions)));
}

/* ---- copies --------------------------------------------------------------------------------- */

/* Copies what a member gives to another of one piece, from the begin-th element to before the
 * end-th. */
static void give_part(const struct portions *portions, int32_t giver, int32_t taker, int32_t piece,
                      int64_t begin, int64_t end) {
    const struct collective *collective = portions->collective;
    const struct place_piece *p = &collective->pieces[piece];
    struct chunk_range all = chunk_range_of(1, part_elements(collective, piece, portions->n), 1, 0);
    struct chunk_copy copy = {
        .dst = portions->results[piece * portions->n + taker],
        .src = portions->sources[piece * portions->n + giver],
        .from = collective->kind == PLACE_ALL_TO_ALL
                    ? chunk_range_of(p->outer, p->chunk, portions->n, taker)
                    : all,
        .to = collective->kind == PLACE_PERMUTE
                  ? all
                  : collective_result_range(collective, piece, portions->n, giver),
        .element = element_bytes(portions),
        .streams = portions->streams,
    };
    int64_t padding = copy.to.outer * copy.to.row; /* begins here */
    if (copy.dst + copy.to.begin * copy.element != copy.src + copy.from.begin * copy.element)
        chunk_copy_part(&copy, begin, end < padding ? end : padding);
    if (giver != taker)
        count_sent(portions, giver, end - begin);
}

/* ---- owners --------------------------------------------------------------------------------- */

/* A run of a whole, in a member's portion of it. */
struct owned_run {
    int64_t at, count;
};

static struct owned_run owned_run(const struct portions *portions, int32_t place, int32_t piece,
                                  int64_t begin, int64_t end) {
    struct chunk_range range = collective_range(portions->collective, piece, portions->n, place);
    end = end < range.row ? end : range.row;
    return (struct owned_run){range.begin + begin, end > begin ? end - begin : 0};
}

static void sum_to_owner(const struct portions *portions, int32_t piece, struct owned_run run) {
    int32_t n = portions->n, owner = portions->collective->shift;
    char *result = portions->results[piece * n + owner];
    for (int32_t i = 0; i < n; i++)
        count_sent(portions, i, i == owner ? 0 : run.count);
    collective_reduce(portions->collective, result + run.at * element_bytes(portions),
                      &portions->sources[piece * n], n, run.at, run.at + run.count,
                      portions->streams);
}

static void give_owners(const struct portions *portions, int32_t piece, struct owned_run run) {
    int32_t n = portions->n, owner = portions->collective->shift;
    int64_t begin = run.at * element_bytes(portions), bytes = run.count * element_bytes(portions);
    const char *from = portions->sources[piece * n + owner];
    for (int32_t i = 0; i < n; i++) {
        char *to = portions->results[piece * n + (owner + i) % n];
        if (to != from)
            copy_run(to + begin, from + begin, bytes, portions->streams);
    }
    count_sent(portions, owner, (n - 1) * run.count);
}

/* ---- portions ------------------------------------------------------------------------------- */

static void do_part(const struct portions *portions, int32_t place, int32_t number, int32_t piece,
                    int64_t begin, int64_t end) {
    int32_t n = portions->n;
    switch (portions->collective->kind) {
    case PLACE_ALL_REDUCE:
    case PLACE_REDUCE_SCATTER:
        sum_part(portions, place, piece, begin, end);
        break;
    case PLACE_ALL_GATHER:
        for (int32_t i = 0; i < n; i++)
            give_part(portions, place, (place + i) % n, piece, begin, end);
        break;
    case PLACE_ALL_TO_ALL:
        give_part(portions, place, (place + number) % n, piece, begin, end);
        break;
    case PLACE_PERMUTE:
        give_part(portions, place, (place + portions->collective->shift % n) % n, piece, begin,
                  end);
        break;
    case PLACE_REDUCE:
        sum_to_owner(portions, piece, owned_run(portions, place, piece, begin, end));
        break;
    case PLACE_BROADCAST:
        give_owners(portions, piece, owned_run(portions, place, piece, begin, end));
        break;
    case PLACE_SEND:
    case PLACE_RECEIVE:
        break; /* is no collective (local_messages.c) */
    }
}

void portion_do_tile(const struct portions *portions, int32_t place, int64_t tile) {
    const struct collective *collective = portions->collective;
    int64_t begin = tile * tile_elements(collective), end = begin + tile_elements(collective);
    int64_t at = 0; /* where a part begins */
    for (int32_t number = 0; number < parts_of_a_piece(collective, portions->n); number++)
        for (int32_t i = 0; i < collective->n_pieces && at < end; i++) {
            int64_t elements = part_elements(collective, i, portions->n);
            int64_t from = begin > at ? begin - at : 0;
            int64_t to = end - at < elements ? end - at : elements;
            if (from < to)
                do_part(portions, place, number, i, from, to);
            at += elements;
        }
    if (portions->streams)
        streams_end();
}

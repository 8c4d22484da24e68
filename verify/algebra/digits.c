// Digits and forms; see digits.h. The moves of digits that collectives make are here as arithmetic
// on lists; which of them a value's type allows is collective.c's matter.
#include "verify/algebra/digits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

void digits_init(struct digits *digits, struct arena *arena, const struct mesh *mesh) {
    *digits = (struct digits){.arena = arena, .mesh = mesh};
    digits->dim_keys.arena = digits->form_keys.arena = arena;
}

// ---- making -----------------------------------------------------------------------------------

// What tells a dimension from others.
static uint32_t significant_bytes(const struct dim_key *key) {
    size_t bytes = key->n_digits * sizeof *key->digits + key->n_levels * sizeof *key->levels;
    return (uint32_t)(offsetof(struct dim_key, digits) + bytes);
}

static dim_id dim_intern(struct digits *digits, const struct dim_key *key) {
    bool added;
    dim_id id = intern(&digits->dim_keys, key, significant_bytes(key), &added);
    if (!added)
        return id;
    struct dim_info info = {
        .key = arena_copy(digits->arena, key, sizeof *key), .local = 1, .total = 1};
    for (uint32_t i = 0; i < key->n_digits; i++) {
        info.total *= key->digits[i].size;
        if (key->digits[i].owner == OWNER_LOCAL)
            info.local *= key->digits[i].size;
        else if (key->digits[i].owner == OWNER_TIME)
            info.time = true;
        else
            info.owners |= 1u << (key->digits[i].owner - OWNER_AXIS);
    }
    if (key->n_levels) {
        const struct form_info *whole = form_get(digits, key->whole);
        info.flat = true;
        info.owners |= whole->owners;
        info.time = whole->time;
        info.local = info.total = key->levels[key->n_levels - 1].chunk;
        for (uint32_t i = 0; i < key->n_levels; i++) {
            info.owners |= 1u << key->levels[i].axis;
            info.total *= digits->mesh->axes[key->levels[i].axis].size;
        }
        info.padded = info.total != whole->elements;
    }
    ARENA_PUSH(digits->arena, digits->dims, digits->n_dims, digits->cap_dims, info);
    return id;
}

// Digits of what `like` counts, which has none, or is the dimension that was cut otherwise.
static dim_id dim_counted(struct digits *digits, const struct digit *list, uint32_t n,
                          const struct dim_key *like) {
    struct dim_key key;
    memset(&key, 0, sizeof key);
    key.order = like->order;
    key.of_batch = like->of_batch;
    for (uint32_t i = 0; i < n; i++) {
        struct digit *last = key.n_digits ? &key.digits[key.n_digits - 1] : NULL;
        if (list[i].size == 1)
            continue;
        if (last && last->owner == OWNER_LOCAL && list[i].owner == OWNER_LOCAL) {
            last->size *= list[i].size;
            continue;
        }
        CHECK(key.n_digits < MAX_DIGITS);
        key.digits[key.n_digits++] = list[i];
    }
    return dim_intern(digits, &key);
}

dim_id dim_make(struct digits *digits, const struct digit *list, uint32_t n, struct order order) {
    return dim_counted(digits, list, n, &(struct dim_key){.order = order});
}

dim_id dim_of_batch(struct digits *digits, dim_id dim) {
    struct dim_key key = *dim_get(digits, dim)->key;
    key.of_batch = true;
    return dim_intern(digits, &key);
}

static form_id form_intern(struct digits *digits, const struct form_key *key) {
    bool added;
    form_id id = intern(&digits->form_keys, key, sizeof *key, &added);
    if (!added)
        return id;
    struct form_info info = {.key = interned(&digits->form_keys, id), .elements = 1};
    for (uint32_t i = 0; i < key->rank; i++) {
        const struct dim_info *dim = dim_get(digits, key->dims[i]);
        info.owners |= dim->owners;
        info.time |= dim->time;
        info.padded |= dim->padded;
        info.elements *= dim->local;
    }
    if (key->codes)
        info.owners |= form_get(digits, key->of)->owners;
    ARENA_PUSH(digits->arena, digits->forms, digits->n_forms, digits->cap_forms, info);
    return id;
}

form_id form_make(struct digits *digits, const dim_id *dims, uint32_t rank) {
    struct form_key key = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        key.dims[i] = dims[i];
    return form_intern(digits, &key);
}

form_id form_of_codes(struct digits *digits, form_id of, int64_t words, int64_t codes,
                      uint32_t padding) {
    struct form_key key = {.rank = 1, .codes = (uint32_t)codes, .of = of, .padding = padding};
    key.dims[0] = dim_cut(digits, &(struct axis_list){0}, -1, 1, size_times(words, codes));
    return form_intern(digits, &key);
}

bool form_is_code(const struct digits *digits, form_id form) {
    return form != FORM_ANY && form_get(digits, form)->key->codes > 0;
}

dim_id dim_cut_around(struct digits *digits, const struct axis_list *axes, int zigzag, int64_t time,
                      unsigned n_inner, int64_t local) {
    struct digit list[MAX_AXES + 2];
    uint32_t n = 0;
    for (unsigned i = 0; i <= axes->n; i++) {
        if (i + n_inner == axes->n)
            list[n++] = (struct digit){.size = time, .owner = OWNER_TIME};
        if (i < axes->n)
            list[n++] = (struct digit){.size = digits->mesh->axes[axes->axes[i]].size,
                                       .owner = OWNER_AXIS + axes->axes[i]};
    }
    list[n++] = (struct digit){.size = local};
    return dim_make(digits, list, n, order_of_cuts(digits->mesh, axes, zigzag));
}

dim_id dim_cut(struct digits *digits, const struct axis_list *axes, int zigzag, int64_t time,
               int64_t local) {
    return dim_cut_around(digits, axes, zigzag, time, 0, local);
}

form_id form_local(struct digits *digits, const struct dim *dims, uint32_t rank) {
    dim_id made[MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        made[i] = dim_cut(digits, &(struct axis_list){0}, -1, 1, dims[i].size);
    return form_make(digits, made, rank);
}

bool form_is_flat(const struct digits *digits, form_id form) {
    const struct form_key *key = form_get(digits, form)->key;
    return key->rank == 1 && dim_get(digits, key->dims[0])->flat;
}

bool form_fits(const struct digits *digits, form_id form, const struct tensor_type *type) {
    if (form == FORM_ANY)
        return true;
    const struct form_key *key = form_get(digits, form)->key;
    if (key->rank != type->rank)
        return false;
    for (unsigned i = 0; i < key->rank; i++)
        if (dim_get(digits, key->dims[i])->local != type->dims[i].size)
            return false;
    return true;
}

static form_id with_dim(struct digits *digits, form_id form, int dim, dim_id to) {
    struct form_key key = *form_get(digits, form)->key;
    key.dims[dim] = to;
    return form_make(digits, key.dims, key.rank);
}

// ---- cuts along a dimension -------------------------------------------------------------------

const char *form_cut(struct digits *digits, form_id *form, int dim, unsigned axis) {
    const struct form_key *key = form_get(digits, *form)->key;
    int64_t size = digits->mesh->axes[axis].size;
    if (dim >= (int)key->rank || dim_get(digits, key->dims[dim])->flat)
        return "there is no such dimension";
    const struct dim_key *old = dim_get(digits, key->dims[dim])->key;
    struct digit list[MAX_DIGITS + 1];
    uint32_t n = 0, i = 0;
    while (i < old->n_digits && old->digits[i].owner != OWNER_LOCAL)
        list[n++] = old->digits[i++];
    if (i == old->n_digits || old->digits[i].size % size || old->n_digits + 1 > MAX_DIGITS)
        return "the dimension's outermost local digit is not divisible by the axis";
    list[n++] = (struct digit){.size = size, .owner = OWNER_AXIS + (int32_t)axis};
    list[n++] = (struct digit){.size = old->digits[i].size / size, .owner = OWNER_LOCAL};
    for (i++; i < old->n_digits; i++)
        list[n++] = old->digits[i];
    *form = with_dim(digits, *form, dim, dim_counted(digits, list, n, old));
    return NULL;
}

static bool owns_besides(const struct digits *digits, const struct form_key *form, int dim,
                         unsigned axis) {
    bool owns = false;
    for (int i = 0; i < (int)form->rank; i++)
        owns |= i != dim && dim_get(digits, form->dims[i])->owners >> axis & 1;
    return owns;
}

// A gather puts the parts one behind the other, so the axis's digit must be the most significant of
// what is local afterwards. Of [dp 4][2] device i has the elements 2 i and 2 i + 1, which so come
// to lie as 0 1 2 3 4 5 6 7: that is [8]. Of [2][dp 4] it has i and 4 + i, and they would lie as 0
// 4 1 5 2 6 3 7, which is no list of digits of the dimension. Nor may it own one of another
// dimension: what comes from the others is other parts of that.
const char *form_join(struct digits *digits, form_id *form, int dim, unsigned axis) {
    const struct form_key *key = form_get(digits, *form)->key;
    if (dim >= (int)key->rank || dim_get(digits, key->dims[dim])->flat)
        return "there is no such dimension";
    const struct dim_key *old = dim_get(digits, key->dims[dim])->key;
    struct digit list[MAX_DIGITS];
    bool local_before = false, found = false;
    for (uint32_t i = 0; i < old->n_digits; i++) {
        list[i] = old->digits[i];
        if (list[i].owner == OWNER_AXIS + (int32_t)axis) {
            if (local_before || list[i].shift)
                return "parts would come to lie in another order than the dimension's";
            list[i].owner = OWNER_LOCAL;
            found = true;
        }
        local_before |= list[i].owner == OWNER_LOCAL;
    }
    if (!found)
        return "the axis does not cut this dimension";
    if (owns_besides(digits, key, dim, axis))
        return "the axis cuts another dimension, too, and no two devices have the same part of it";
    *form = with_dim(digits, *form, dim, dim_counted(digits, list, old->n_digits, old));
    return NULL;
}

dim_id dim_unshifted(struct digits *digits, dim_id dim, unsigned axis, int64_t *shift) {
    struct dim_key key = *dim_get(digits, dim)->key;
    *shift = 0;
    for (uint32_t i = 0; i < key.n_digits; i++)
        if (key.digits[i].owner == OWNER_AXIS + (int)axis) {
            *shift = key.digits[i].shift;
            key.digits[i].shift = 0;
        }
    return dim_intern(digits, &key);
}

// ---- flat -------------------------------------------------------------------------------------

const char *form_cut_flat(struct digits *digits, form_id *form, const struct axis_list *axes,
                          int64_t chunk) {
    struct dim_key key;
    memset(&key, 0, sizeof key);
    key.whole = *form;
    int64_t elements = form_get(digits, *form)->elements, chunks = 1;
    if (form_is_flat(digits, *form))
        key = *dim_get(digits, form_get(digits, *form)->key->dims[0])->key;
    for (unsigned i = 0; i < axes->n; i++)
        chunks *= digits->mesh->axes[axes->axes[i]].size;
    if (chunk * chunks < elements)
        return "the chunks are too small";
    for (unsigned i = 0; i < axes->n; i++) {
        int64_t size = digits->mesh->axes[axes->axes[i]].size;
        chunks /= size;
        if (size == 1)
            continue;
        if (key.n_levels == MAX_LEVELS)
            return "too many axes";
        key.levels[key.n_levels++] = (struct level){.axis = axes->axes[i], .chunk = chunk * chunks};
    }
    if (key.n_levels == 0)
        return NULL;
    dim_id dim = dim_intern(digits, &key);
    *form = form_make(digits, &dim, 1);
    return NULL;
}

const char *form_join_flat(struct digits *digits, form_id *form, const struct axis_list *axes,
                           int64_t chunk) {
    for (unsigned i = axes->n; i-- > 0;) {
        if (digits->mesh->axes[axes->axes[i]].size == 1)
            continue;
        if (!form_is_flat(digits, *form))
            return "the axis does not cut this tensor's flat form";
        struct dim_key key = *dim_get(digits, form_get(digits, *form)->key->dims[0])->key;
        struct level *last = &key.levels[key.n_levels - 1];
        if (last->axis != axes->axes[i] || last->shift || last->chunk != chunk)
            return "parts would come to lie in another order than the tensor's";
        if (form_get(digits, key.whole)->owners >> last->axis & 1)
            return "the axis cuts a dimension, too, and no two devices have the same part of it";
        memset(last, 0, sizeof *last);
        if (--key.n_levels == 0) {
            *form = key.whole;
            continue;
        }
        // The next level's parts come with what is behind them: with no padding, or it would lie
        // between two.
        chunk *= digits->mesh->axes[axes->axes[i]].size;
        dim_id dim = dim_intern(digits, &key);
        *form = form_make(digits, &dim, 1);
    }
    return NULL;
}

bool form_leave_idle(struct digits *digits, form_id *form, unsigned axis) {
    struct dim_key key = *dim_get(digits, form_get(digits, *form)->key->dims[0])->key;
    uint32_t at = 0;
    while (at < key.n_levels && key.levels[at].axis != (int32_t)axis)
        at++;
    if (at == key.n_levels) // it is no flat form, or not over this axis
        return false;
    if (key.levels[at].shift) // another digit
        return false;
    if (form_get(digits, key.whole)->owners >> axis & 1)
        return false;
    int64_t elements = at ? key.levels[at - 1].chunk : form_get(digits, key.whole)->elements;
    bool last = at + 1 == key.n_levels; // then its chunk is the local part
    if (last ? key.levels[at].chunk != elements : key.levels[at].chunk < elements)
        return false;
    memmove(&key.levels[at], &key.levels[at + 1], (key.n_levels - at - 1) * sizeof *key.levels);
    memset(&key.levels[--key.n_levels], 0, sizeof *key.levels);
    *form = key.whole;
    if (key.n_levels) {
        dim_id dim = dim_intern(digits, &key);
        *form = form_make(digits, &dim, 1);
    }
    return true;
}

// ---- permutations -----------------------------------------------------------------------------

static dim_id dim_shift(struct digits *digits, dim_id id, unsigned axis, int64_t by) {
    struct dim_key key = *dim_get(digits, id)->key;
    int64_t size = digits->mesh->axes[axis].size;
    for (uint32_t i = 0; i < key.n_digits; i++)
        if (key.digits[i].owner == OWNER_AXIS + (int32_t)axis)
            key.digits[i].shift = (int32_t)((key.digits[i].shift + by) % size);
    for (uint32_t i = 0; i < key.n_levels; i++)
        if (key.levels[i].axis == (int32_t)axis)
            key.levels[i].shift = (int32_t)((key.levels[i].shift + by) % size);
    if (key.n_levels)
        form_shift(digits, &key.whole, axis, by);
    return dim_intern(digits, &key);
}

void form_shift(struct digits *digits, form_id *form, unsigned axis, int64_t by) {
    struct form_key key = *form_get(digits, *form)->key;
    for (uint32_t i = 0; i < key.rank; i++)
        if (dim_get(digits, key.dims[i])->owners >> axis & 1)
            key.dims[i] = dim_shift(digits, key.dims[i], axis, by);
    *form = form_make(digits, key.dims, key.rank);
}

static dim_id dim_at_a_time(struct digits *digits, dim_id id) {
    const struct dim_info *dim = dim_get(digits, id);
    struct digit list[MAX_DIGITS];
    uint32_t n = 0;
    if (dim->flat)
        return id;
    for (uint32_t i = 0; i < dim->key->n_digits; i++)
        if (dim->key->digits[i].owner != OWNER_TIME)
            list[n++] = dim->key->digits[i];
    return dim_counted(digits, list, n, dim->key);
}

form_id form_at_a_time(struct digits *digits, form_id form) {
    struct form_key key = *form_get(digits, form)->key;
    for (uint32_t i = 0; i < key.rank; i++)
        key.dims[i] = dim_at_a_time(digits, key.dims[i]);
    return form_make(digits, key.dims, key.rank);
}

// ---- messages ---------------------------------------------------------------------------------

static void print_dim(const struct digits *digits, FILE *to, const struct dim_info *dim) {
    for (uint32_t i = 0; i < dim->key->n_digits; i++) {
        const struct digit *digit = &dim->key->digits[i];
        if (digit->owner == OWNER_LOCAL)
            fprintf(to, "[%" PRId64 "]", digit->size);
        else if (digit->owner == OWNER_TIME)
            fprintf(to, "[microbatch %" PRId64 "]", digit->size);
        else
            fprintf(to, "[%s %" PRId64, digits->mesh->axes[digit->owner - OWNER_AXIS].name,
                    digit->size);
        if (digit->shift)
            fprintf(to, " shifted by %d", digit->shift);
        if (digit->owner != OWNER_LOCAL && digit->owner != OWNER_TIME)
            fputc(']', to);
    }
    if (dim->key->n_digits == 0)
        fputs("[1]", to);
    if (dim->key->order.chunks)
        fprintf(to, " in zigzag of %" PRId64 " chunks", dim->key->order.chunks);
}

static void print_level(const struct digits *digits, FILE *to, const struct level *level,
                        bool behind) {
    fprintf(to, "%s%s", behind ? "*" : "", digits->mesh->axes[level->axis].name);
    if (level->shift)
        fprintf(to, " shifted by %d", level->shift);
}

const char *form_text(const struct digits *digits, struct arena *arena, form_id form) {
    char *text;
    size_t length;
    FILE *to = memory_given(open_memstream(&text, &length));
    if (form == FORM_ANY) {
        fputs("zeros", to);
    } else if (form_is_code(digits, form)) {
        uint32_t codes = form_get(digits, form)->key->codes;
        fprintf(to, codes == 1 ? "one code" : "%u codes", codes);
    } else if (form_is_flat(digits, form)) {
        const struct dim_key *key = dim_get(digits, form_get(digits, form)->key->dims[0])->key;
        fputs("flat over ", to);
        for (uint32_t i = 0; i < key->n_levels; i++)
            print_level(digits, to, &key->levels[i], i > 0);
        fprintf(to, " in chunks of %" PRId64, key->levels[key->n_levels - 1].chunk);
    } else {
        const struct form_key *key = form_get(digits, form)->key;
        for (uint32_t i = 0; i < key->rank; i++) {
            fputs(i ? " x " : "", to);
            print_dim(digits, to, dim_get(digits, key->dims[i]));
        }
        if (key->rank == 0)
            fputs("a scalar", to);
    }
    memory_written(to);
    const char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

// Bump allocation by lifetime: everything allocated from an arena is freed with it, at once.
// An arena is named after what lives in it (compilation, pass, emission) and passed in.
#ifndef PLACE_IR_ARENA_H
#define PLACE_IR_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; // newest first
    size_t used_bytes;          // in the newest block
    size_t total_bytes;         // in all blocks, for reports
};

// An arena that is all zero is empty and ready for use.
// Memory is zeroed and aligned to 16 bytes; it is never NULL: see memory_given.
void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_copy(struct arena *arena, const void *from, size_t bytes);
// A NUL-terminated copy of `length` bytes.
char *arena_string(struct arena *arena, const char *text, size_t length);
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *arena);
// Forgets all that was allocated. What was taken stays, as one block, so that who allocates about as
// much again and again soon takes nothing from the system.
void arena_reuse(struct arena *arena);
size_t arena_used_bytes(const struct arena *arena); // what was taken, and ends of older blocks

// What the system gave. NULL, no memory is left: ends the process with a message and status 1.
void *memory_given(void *given);
// Closes a stream in memory (open_memstream); the same where it had no room for what was written.
void memory_written(FILE *stream);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count)                                                            \
    ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))

// Growing arrays inside an arena: ARENA_PUSH(arena, s->items, s->n_items, s->cap_items, value).
// Doubling leaves the old copy behind in the arena, which costs at most as much again.
#define ARENA_PUSH(arena, items, count, capacity, ...)                                             \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? (capacity)*2 : 8;                                            \
            (items) = arena_grow((arena), (items), (count) * sizeof *(items),                      \
                                 (capacity) * sizeof *(items));                                    \
        }                                                                                          \
        (items)[(count)++] = (__VA_ARGS__);                                                        \
    } while (0)

void *arena_grow(struct arena *arena, const void *from, size_t old_bytes, size_t new_bytes);

#endif

// Arenas: a list of blocks, each at least as large as all before it together, so that the number
// of allocations is logarithmic in what is allocated.
//
// A compilation touches each page of some megabytes once, and a page fault takes longer than what
// is then written there. So from HUGE_FROM_BYTES on blocks are of huge pages, where there are any.
#include "arena.h"
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct arena_block {
    struct arena_block *next;
    size_t capacity_bytes;
    size_t mapped_bytes; // 0: malloc's
    _Alignas(16) unsigned char bytes[];
};

enum {
    FIRST_BLOCK_BYTES = 4 * 1024, // many arenas are for one question, and what is taken is zeroed
    ALIGNMENT = 16,
    HUGE_PAGE_BYTES = 2 * 1024 * 1024,
    HUGE_FROM_BYTES = HUGE_PAGE_BYTES / 4, // those before it together are no longer small
};

// Maps a block at a multiple of the page's size, for only there a huge one can be. NULL: no memory.
static struct arena_block *map_block(size_t bytes) {
    size_t mapped = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    unsigned char *at = mmap(NULL, mapped + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)at % HUGE_PAGE_BYTES;
    if (before)
        munmap(at, before);
    munmap(at + before + mapped, HUGE_PAGE_BYTES - before);
    madvise(at + before, mapped, MADV_HUGEPAGE); // without it the block has small pages
    struct arena_block *block = (void *)(at + before);
    block->mapped_bytes = mapped;
    block->capacity_bytes = mapped - sizeof *block;
    return block;
}

// All zero, as fresh pages are: calloc, not malloc and memset. NULL: no memory.
static struct arena_block *new_block(size_t capacity) {
    if (capacity >= HUGE_FROM_BYTES)
        return map_block(sizeof(struct arena_block) + capacity);
    struct arena_block *block = calloc(1, sizeof *block + capacity);
    if (block)
        block->capacity_bytes = capacity;
    return block;
}

static void free_block(struct arena_block *block) {
    if (block->mapped_bytes)
        munmap(block, block->mapped_bytes);
    else
        free(block);
}

// Where there is no room for one as large as all before it, one that is just large enough may do.
static struct arena_block *larger_block(size_t all_bytes, size_t needed) {
    size_t capacity = all_bytes ? all_bytes : FIRST_BLOCK_BYTES;
    struct arena_block *block = capacity > needed ? new_block(capacity) : NULL;
    return block ? block : memory_given(new_block(needed));
}

// Every block is as large as all before it together, so their number grows with the logarithm of
// the bytes, and at most half of what was taken, and a huge page, is unused.
void *arena_alloc(struct arena *arena, size_t bytes) {
    CHECK(bytes < SIZE_MAX / 4);
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->blocks || arena->blocks->capacity_bytes - arena->used_bytes < rounded) {
        struct arena_block *block = larger_block(arena->total_bytes, rounded);
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used_bytes = 0;
        arena->total_bytes += block->capacity_bytes;
    }
    void *result = arena->blocks->bytes + arena->used_bytes;
    arena->used_bytes += rounded;
    return result;
}

void *arena_copy(struct arena *arena, const void *from, size_t bytes) {
    void *result = arena_alloc(arena, bytes);
    if (bytes)
        memcpy(result, from, bytes);
    return result;
}

void *arena_grow(struct arena *arena, const void *from, size_t old_bytes, size_t new_bytes) {
    void *result = arena_alloc(arena, new_bytes);
    if (old_bytes)
        memcpy(result, from, old_bytes);
    return result;
}

char *arena_string(struct arena *arena, const char *text, size_t length) {
    char *result = arena_alloc(arena, length + 1);
    if (length)
        memcpy(result, text, length);
    return result;
}

// Where it does not fit on the stack it is formatted twice, to count and to write: the text has
// exactly the room it needs.
char *arena_format(struct arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char few[256];
    int length = vsnprintf(few, sizeof few, format, args);
    va_end(args);
    CHECK(length >= 0);
    char *result = arena_alloc(arena, (size_t)length + 1);
    if ((size_t)length < sizeof few)
        memcpy(result, few, (size_t)length);
    else
        vsnprintf(result, (size_t)length + 1, format, again);
    va_end(again);
    return result;
}

void arena_reuse(struct arena *arena) {
    struct arena_block *newest = arena->blocks;
    if (!newest)
        return;
    if (!newest->next) {
        memset(newest->bytes, 0, arena->used_bytes);
        arena->used_bytes = 0;
        return;
    }
    size_t all_bytes = arena->total_bytes;
    arena_free(arena);
    arena->blocks = memory_given(new_block(all_bytes));
    arena->total_bytes = arena->blocks->capacity_bytes;
}

// All at once, and the arena may be used again from empty.
void arena_free(struct arena *arena) {
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free_block(block);
        block = next;
    }
    *arena = (struct arena){0};
}

// Memory that is lacking is nobody's mistake, so no CHECK fails; and the process ends at once, for
// whoever would be told needs memory, too.
static _Noreturn void end_without_memory(void) {
    fputs("placec: there is no memory left on this machine, or for this process\n"
          "  end other processes or raise its limit (`ulimit -v`, the limit of its container)\n",
          stderr);
    fflush(stderr);
    exit(1);
}

void *memory_given(void *given) {
    if (!given)
        end_without_memory();
    return given;
}

void memory_written(FILE *stream) {
    if (fclose(stream) != 0)
        end_without_memory();
}

size_t arena_used_bytes(const struct arena *arena) {
    size_t unused = arena->blocks ? arena->blocks->capacity_bytes - arena->used_bytes : 0;
    return arena->total_bytes - unused;
}

void check_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "placec: internal error: %s:%d: %s does not hold\n", file, line, condition);
    fflush(stderr);
    abort();
}

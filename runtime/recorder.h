/* The flight recorder: a rank's last runtime calls, in a ring of fixed size that is always on. It
 * costs a few nanoseconds a call, and is read when a run ends abnormally or is asked where it is
 * (SIGUSR1, SIGQUIT), by another thread while the rank goes on; so every word is atomic, written
 * without order but for the record's number. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include "runtime/place.h"
#include "runtime/profile.h"
#include "runtime/task.h"

/* The rows of runtime/calls.def, then what the host does between ranks. */
enum recorded_call {
#define CALL(name, since, effect, work, text) RECORDED_##name,
#include "runtime/calls.def"
    /* In profiles alone: the transport's between tiles, and parts of a call in which others were waited for. */
    RECORDED_progress,
    RECORDED_collective_waiting,
    RECORDED_message_waiting,
    RECORDED_share,
    RECORDED_send,
    RECORDED_receive,
    N_RECORDED
};
extern const char *const recorded_names[N_RECORDED];

enum { RECORDER_LENGTH = 256 };

struct flight_record {
    _Atomic uint64_t number; /* of the call, from 1; 0: it is being written */
    _Atomic uint64_t ticks;  /* of the processor's clock when it, or its statement, was entered */
    _Atomic int32_t statement, call, inside;
    _Atomic int64_t details[2]; /* see recorder_describe */
};

struct recorder {
    _Atomic uint64_t calls;
    uint64_t ticks;          /* the rank's own: when the clock was last read */
    _Atomic int64_t step;    /* of training, from 1; 0: none */
    _Atomic int32_t in_step; /* generated code runs */
    _Atomic uint64_t task;   /* in hand (runtime/task.h) */
    _Atomic uint64_t copied; /* chunks, by the rank's copier */
    struct profile *profile; /* that calls are taken down in too; null: none */
    struct flight_record ring[RECORDER_LENGTH];
};

/* A call while it is inside. */
struct recording {
    struct flight_record *record;
    struct profile *profile;
    uint64_t begin; /* where it is profiled */
    int32_t statement, call;
};

/* Reading the clock costs more than all else, so kernels have the time of their statement. */
static inline int is_timed_call(enum recorded_call call) {
    return call == RECORDED_begin_statement || call == RECORDED_collective_start ||
           call == RECORDED_collective_wait || call == RECORDED_message_start ||
           call == RECORDED_message_wait || call == RECORDED_copy_start ||
           call == RECORDED_copy_wait || call >= RECORDED_share;
}

static inline struct recording recorder_enter(struct recorder *recorder, int32_t statement,
                                              enum recorded_call call) {
    uint64_t number = atomic_load_explicit(&recorder->calls, memory_order_relaxed) + 1;
    if (is_timed_call(call))
        recorder->ticks = __builtin_ia32_rdtsc();
    struct flight_record *record = &recorder->ring[number % RECORDER_LENGTH];
    atomic_store_explicit(&record->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&record->ticks, recorder->ticks, memory_order_relaxed);
    atomic_store_explicit(&record->statement, statement, memory_order_relaxed);
    atomic_store_explicit(&record->call, (int32_t)call, memory_order_relaxed);
    atomic_store_explicit(&record->inside, 1, memory_order_relaxed);
    atomic_store_explicit(&record->details[0], 0, memory_order_relaxed);
    atomic_store_explicit(&record->details[1], 0, memory_order_relaxed);
    atomic_store_explicit(&record->number, number, memory_order_release);
    atomic_store_explicit(&recorder->calls, number, memory_order_release);
    struct profile *profile = recorder->profile;
    uint64_t begin = profile ? profile_enter(profile, statement, call) : 0;
    return (struct recording){record, profile, begin, statement, call};
}

static inline void recorder_leave(const struct recording *recording) {
    atomic_store_explicit(&recording->record->inside, 0, memory_order_relaxed);
    if (recording->profile)
        profile_leave(recording->profile, recording->statement, recording->call, recording->begin);
}

static inline void recorder_describe(const struct recording *recording, int64_t first,
                                     int64_t second) {
    atomic_store_explicit(&recording->record->details[0], first, memory_order_relaxed);
    atomic_store_explicit(&recording->record->details[1], second, memory_order_relaxed);
}

static inline void recorder_begin_task(struct recorder *recorder, uint64_t task) {
    atomic_store_explicit(&recorder->task, task, memory_order_relaxed);
    if (recorder->profile)
        profile_begin_task(recorder->profile, task);
}

/* ", in F of stage 3, microbatch 7", or nothing. Returns `text`. */
static inline const char *recorder_task(const struct recorder *recorder,
                                        char text[TASK_TEXT_BYTES]) {
    return task_describe(atomic_load(&recorder->task), text);
}

/* First in every runtime call: takes down that it was entered, and at any return that it was left.
 */
#define RECORD_CALL(name)                                                                          \
    __attribute__((cleanup(recorder_leave), unused)) const struct recording recording =            \
        recorder_enter(&context->recorder, statement, RECORDED_##name)

/* The first detail of collective_start and message_start; the second is bytes. Of their waits it is the handle, and
 * of copy_start and copy_wait; of send and receive the other rank, of begin_task the task; of begin_statement the
 * details are loop variables. */
static inline int64_t recorded_transfer(int32_t handle, enum place_collective kind, int32_t group) {
    return (int64_t)kind << 52 | (int64_t)(group & 0xfffff) << 32 | (uint32_t)handle;
}
static inline int32_t recorded_handle(int64_t detail) {
    return (int32_t)detail;
}
static inline int32_t recorded_group(int64_t detail) {
    return (int32_t)(detail >> 32 & 0xfffff);
}
static inline enum place_collective recorded_kind(int64_t detail) {
    return (enum place_collective)(detail >> 52);
}

/* A record as it was read. */
struct flight_call {
    uint64_t number, ticks;
    int32_t statement;
    enum recorded_call call;
    int inside;
    int64_t details[2];
};

/* The last calls, at most `most` and RECORDER_LENGTH, oldest first. Those that are overwritten
 * meanwhile are left out. Returns how many. */
int recorder_read(struct recorder *recorder, struct flight_call *calls, int most);

/* A call in which a rank waits for others. */
int is_waiting_call(enum recorded_call call);

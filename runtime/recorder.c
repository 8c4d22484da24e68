/* Reading a flight recorder while its rank may be writing (see recorder.h). */
#include "runtime/recorder.h"

const char *const recorded_names[N_RECORDED] = {
#define CALL(name, since, effect, work, text) #name,
#include "runtime/calls.def"
    [RECORDED_progress] = "progress",
    [RECORDED_collective_waiting] = "collective_waiting",
    [RECORDED_message_waiting] = "message_waiting",
    [RECORDED_share] = "share",
    [RECORDED_send] = "send",
    [RECORDED_receive] = "receive",
};

int is_waiting_call(enum recorded_call call) {
    return call == RECORDED_collective_wait || call == RECORDED_message_wait ||
           call >= RECORDED_share;
}

/* The record of that number, whole; 0: it is gone. */
static int read_record(struct flight_record *record, uint64_t number, struct flight_call *call) {
    if (atomic_load_explicit(&record->number, memory_order_acquire) != number)
        return 0;
    call->number = number;
    call->ticks = atomic_load_explicit(&record->ticks, memory_order_relaxed);
    call->statement = atomic_load_explicit(&record->statement, memory_order_relaxed);
    call->call = (enum recorded_call)atomic_load_explicit(&record->call, memory_order_relaxed);
    call->inside = atomic_load_explicit(&record->inside, memory_order_relaxed);
    for (int i = 0; i < 2; i++)
        call->details[i] = atomic_load_explicit(&record->details[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&record->number, memory_order_relaxed) == number;
}

int recorder_read(struct recorder *recorder, struct flight_call *calls, int most) {
    uint64_t last = atomic_load_explicit(&recorder->calls, memory_order_acquire);
    uint64_t length = most < RECORDER_LENGTH ? (uint64_t)most : RECORDER_LENGTH;
    int n = 0;
    for (uint64_t number = last > length ? last - length + 1 : 1; number <= last; number++)
        n += read_record(&recorder->ring[number % RECORDER_LENGTH], number, &calls[n]);
    return n;
}

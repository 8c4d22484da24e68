/* Taking down where a rank's time goes (see profile.h). */
#include <stdlib.h>
#include <string.h>
#include "runtime/profile.h"
#include "runtime/recorder.h"

const char *const work_names[N_WORKS] = {
#define WORK(NAME, text) text,
#include "runtime/work.def"
};

static const enum work works[N_RECORDED] = {
#define CALL(name, since, effect, work, text) [RECORDED_##name] = WORK_##work,
#include "runtime/calls.def"
    [RECORDED_progress] = WORK_COLLECTIVE,
    [RECORDED_collective_waiting] = WORK_COLLECTIVE_WAITING,
    [RECORDED_message_waiting] = WORK_MESSAGE_WAITING,
    [RECORDED_share] = WORK_COLLECTIVE,
    [RECORDED_send] = WORK_COLLECTIVE,
    [RECORDED_receive] = WORK_COLLECTIVE,
};

enum work work_of_call(int32_t call) {
    return works[call];
}

struct profile *profile_new(const struct place_program *program, int threads, int64_t capacity) {
    struct profile *profile =
        calloc(1, sizeof *profile + (size_t)threads * sizeof(struct profile_row));
    if (!profile)
        return NULL;
    profile->program = program;
    profile->capacity = capacity;
    profile->totals =
        calloc(((size_t)program->n_statements + 1) * N_RECORDED, sizeof *profile->totals);
    profile->products = calloc((size_t)program->n_statements + 1, sizeof *profile->products);
    profile->tasks = calloc((size_t)program->n_stages * N_TASK_LETTERS + 1, sizeof *profile->tasks);
    int allocated = profile->totals && profile->products && profile->tasks;
    for (profile->threads = 0; profile->threads < threads; profile->threads++) {
        struct profile_row *row = &profile->rows[profile->threads];
        row->spans = capacity ? calloc((size_t)capacity, sizeof *row->spans) : NULL;
        allocated &= row->spans || !capacity;
    }
    if (allocated)
        return profile;
    profile_free(profile);
    return NULL;
}

void profile_free(struct profile *profile) {
    if (!profile)
        return;
    for (int32_t i = 0; i < profile->threads; i++)
        free(profile->rows[i].spans);
    free(profile->totals);
    free(profile->products);
    free(profile->tasks);
    free(profile);
}

void profile_begin_step(struct profile *profile) {
    profile->began = profile_clock();
}

void profile_end_step(struct profile *profile) {
    profile_begin_task(profile, 0);
    profile->step_ticks += profile_clock() - profile->began;
    profile->steps++;
    profile->began = 0;
}

static void keep_span(struct profile *profile, int thread, struct profile_span span) {
    struct profile_row *row = &profile->rows[thread];
    if (row->n < profile->capacity)
        row->spans[row->n++] = span;
}

static struct profile_total *total_at(const struct profile *profile, int32_t statement,
                                      int32_t call) {
    return &profile->totals[((int64_t)statement + 1) * N_RECORDED + call];
}

const struct profile_total *profile_total(const struct profile *profile, int32_t statement,
                                          int32_t call) {
    return total_at(profile, statement, call);
}

static void end_hiding(struct profile *profile, uint64_t now) {
    if (profile->hidden_since)
        profile->hidden += now - profile->hidden_since;
    profile->hidden_since = 0;
}

uint64_t profile_enter(struct profile *profile, int32_t statement, int32_t call) {
    profile->statement = statement;
    profile->call = call;
    profile->aside = 0;
    __builtin_prefetch(total_at(profile, statement, call), 1);
    uint64_t now = profile->piece = profile_clock();
    if (works[call] == WORK_COLLECTIVE)
        end_hiding(profile, now);
    return now;
}

void profile_leave(struct profile *profile, int32_t statement, int32_t call, uint64_t begin) {
    if (!profile->began)
        return;
    uint64_t end = profile_clock();
    struct profile_total *total = total_at(profile, statement, call);
    total->ticks += end - begin - profile->aside;
    total->calls++;
    if (works[call] == WORK_COLLECTIVE && profile->under_way)
        profile->hidden_since = end;
    if (call != RECORDED_begin_statement && call != RECORDED_begin_task)
        keep_span(profile, 0,
                  (struct profile_span){profile->piece, end, statement, call, profile->task});
}

void profile_describe_product(struct profile *profile, int32_t statement,
                              struct profile_product product) {
    profile->products[statement + 1] = product;
}

struct profile_product profile_product_of(const struct profile *profile, int32_t statement) {
    return profile->products[statement + 1];
}

void profile_helped(struct profile *profile, int thread, uint64_t begin) {
    if (profile->began)
        keep_span(profile, thread,
                  (struct profile_span){begin, profile_clock(), profile->statement, profile->call,
                                        profile->task});
}

/* ---- tasks and waiting ---------------------------------------------------------------------- */

static struct profile_total *task_at(const struct profile *profile, int32_t stage, int letter) {
    return &profile->tasks[(int64_t)stage * N_TASK_LETTERS + letter];
}

const struct profile_total *profile_task(const struct profile *profile, int32_t stage, int letter) {
    return task_at(profile, stage, letter);
}

static struct profile_total *task_in_hand(const struct profile *profile) {
    const char *letter = strchr(TASK_LETTERS, task_letter(profile->task));
    return task_at(profile, task_stage(profile->task), (int)(letter - TASK_LETTERS));
}

void profile_begin_task(struct profile *profile, uint64_t task) {
    if (!profile->began)
        return;
    uint64_t now = profile_clock();
    if (profile->task) {
        task_in_hand(profile)->ticks += now - profile->worked_from;
        task_in_hand(profile)->calls++;
    }
    profile->task = task;
    profile->worked_from = now;
}

uint64_t profile_begin_wait(struct profile *profile) {
    if (!profile)
        return 0;
    profile->aside_before = profile->aside;
    return profile_clock();
}

/* A rank that polls waits all the time: what is between two polls is too short to be shown. */
enum { TICKS_OF_A_POLL = 4096 };

static void keep_waiting(struct profile *profile, struct profile_span waiting) {
    struct profile_row *row = &profile->rows[0];
    struct profile_span *last = row->n ? &row->spans[row->n - 1] : NULL;
    if (last && last->call == waiting.call && last->end == profile->piece &&
        waiting.begin - last->end < TICKS_OF_A_POLL) {
        last->end = waiting.end;
        return;
    }
    keep_span(profile, 0,
              (struct profile_span){profile->piece, waiting.begin, profile->statement,
                                    profile->call, profile->task});
    keep_span(profile, 0, waiting);
}

void profile_end_wait(struct profile *profile, uint64_t begin) {
    if (!profile || !profile->began)
        return;
    uint64_t end = profile_clock();
    bool for_message = works[profile->call] == WORK_MESSAGE;
    int32_t call = for_message ? RECORDED_message_waiting : RECORDED_collective_waiting;
    struct profile_total *total = total_at(profile, profile->statement, call);
    uint64_t waited = end - begin - (profile->aside - profile->aside_before);
    total->ticks += waited;
    total->calls++;
    profile->aside += waited;
    keep_waiting(profile,
                 (struct profile_span){begin, end, profile->statement, call, profile->task});
    profile->piece = end;
    if (profile->task)
        task_in_hand(profile)->ticks += begin - profile->worked_from;
    profile->worked_from = end;
}

/* ---- collectives under way ------------------------------------------------------------------ */

void profile_under_way(struct profile *profile, bool any) {
    profile->under_way = any;
}

void profile_progressed(struct profile *profile, uint64_t begin, bool any) {
    if (!profile->began)
        return;
    uint64_t end = profile_clock();
    struct profile_total *total = total_at(profile, profile->statement, RECORDED_progress);
    total->ticks += end - begin;
    total->calls++;
    profile->aside += end - begin;
    profile->under_way = any;
    bool hides = profile->hidden_since;
    end_hiding(profile, begin);
    profile->hidden_since = hides && any ? end : 0;
}

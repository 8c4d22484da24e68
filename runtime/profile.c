/* Taking down where a rank's time goes (see profile.h). */
#include <stdlib.h>
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
    int allocated = profile->totals != NULL && profile->products != NULL;
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
    free(profile);
}

void profile_begin_step(struct profile *profile) {
    profile->began = profile_clock();
}

void profile_end_step(struct profile *profile) {
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
    uint64_t now = profile_clock();
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
    if (call != RECORDED_begin_statement)
        keep_span(profile, 0, (struct profile_span){begin, end, statement, call});
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
                  (struct profile_span){begin, profile_clock(), profile->statement, profile->call});
}

void profile_waited(struct profile *profile, uint64_t begin) {
    if (profile->began)
        profile->waited += profile_clock() - begin;
}

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

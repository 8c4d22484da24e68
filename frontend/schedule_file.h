// The file of a schedule while it is read: its cells, row by row. Shared by schedule_file.c and schedule_messages.c.
#ifndef PLACE_FRONTEND_SCHEDULE_FILE_H
#define PLACE_FRONTEND_SCHEDULE_FILE_H

#include "frontend/expand.h"

enum cell_kind {
#define CELL(ID, word, has_microbatch) CELL_##ID,
#include "frontend/schedule_cells.def"
#undef CELL
    N_CELL_KINDS
};

struct cell {
    enum cell_kind kind;
    bool overlapped;
    uint32_t stage, microbatch;
    struct span span;
};

struct row {
    struct cell *cells;
    uint32_t n, cap;
    struct span span;
};

struct schedule_reader {
    struct resolver *r;
    const char *text; // of the file
    uint32_t source;
    struct span from;
    struct row *rows;
    uint32_t n_rows, cap_rows;
    uint32_t n_stages, n_microbatches; // one more than the largest so far
    uint32_t n_cells, n_tasks;
    uint32_t *rank_of; // by stage, once that is known
    uint32_t n_of[N_CELL_KINDS];
    struct span first_of[N_CELL_KINDS]; // of those that there are
};

static inline bool is_task_cell(enum cell_kind kind) {
    return kind <= CELL_BW;
}

// E333, with where the strategy names the file.
static inline struct diagnostic *report_cell(const struct schedule_reader *reader, struct span span,
                                             const char *message, const char *help) {
    struct diagnostic *d = report(reader->r->diagnostics, E333, span, "%s", message);
    diagnostic_note_at(d, reader->from, "the file is named here");
    diagnostic_help(d, "%s", help);
    return d;
}

// Whether what the file says of messages, and of parameters that are gathered, goes with its tasks. False: reported.
bool check_messages(const struct schedule_reader *);

#endif

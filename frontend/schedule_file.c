// A pipeline's schedule from a file, as PyTorch's torch.distributed.pipelining writes them: a line for each rank, a
// cell for each step of its time, which is empty where the rank is idle.
//
//   0F0,0F1,0F2,,0B0,0B1,0B2      0F1: stage 0 goes forward with microbatch 1
//   ,1F0,1B0,1F1,1B1,1F2,1B2
//
// There are two dialects. Today B is all of backward, I its part of inputs, W that of weights. In the files of 2024 B
// is the part of inputs, and BW all of it. A file with BW is an old one; so is one with W and without I, where about as
// many are W as B, since otherwise nobody would do the part of inputs. Two tasks at a time, `(0F4;3B1)OVERLAP_F_B`, are
// in dialects of both.
//
// What is sent and gathered may stand between the tasks (schedule_messages.c). What order tasks may have is for `place`
// to judge, which knows devices and microbatches.
#include "frontend/schedule_file.h"

#include <string.h>

#include "frontend/read.h"

static const struct cell_word {
    const char *word;
    bool has_microbatch;
} cell_words[N_CELL_KINDS] = {
#define CELL(ID, word, has_microbatch) {word, has_microbatch},
#include "frontend/schedule_cells.def"
#undef CELL
};

// ---- a cell -----------------------------------------------------------------------------------

static struct span trimmed(const struct schedule_reader *reader, uint32_t begin, uint32_t end) {
    while (begin < end && strchr(" \t\r", reader->text[begin]))
        begin++;
    while (end > begin && strchr(" \t\r", reader->text[end - 1]))
        end--;
    return span_of(reader->source, begin, end);
}

// The digits from `at` on, as a number: of too many a large one. False: there are none.
static bool take_digits(const struct schedule_reader *reader, uint32_t *at, uint32_t end,
                        uint64_t *number) {
    uint32_t begin = *at;
    *number = 0;
    for (; *at < end && reader->text[*at] >= '0' && reader->text[*at] <= '9'; ++*at)
        if (*number <= UINT32_MAX)
            *number = 10 * *number + (uint64_t)(reader->text[*at] - '0');
    return *at > begin;
}

static bool report_no_task(const struct schedule_reader *reader, struct span span) {
    struct arena *arena = reader->r->arena;
    const char *text = arena_string(arena, reader->text + span.begin, span.end - span.begin);
    report_cell(reader, span, arena_format(arena, "`%s` is no task of a pipeline", text),
                "a cell is a stage, F, B, I or W, and a microbatch: `0F3`");
    return false;
}

// A number that no stage or no microbatch has, beyond all limits, is not taken as one.
static bool check_numbers(const struct schedule_reader *reader, struct span span, uint64_t stage,
                          uint64_t microbatch) {
    struct arena *arena = reader->r->arena;
    if (stage < LIMIT_LAYERS && microbatch < LIMIT_MICROBATCHES)
        return true;
    if (stage >= LIMIT_LAYERS)
        report_cell(reader, span,
                    arena_format(arena, "a model has at most %d layers", (int)LIMIT_LAYERS),
                    "number stages from 0 on");
    else
        report_cell(
            reader, span,
            arena_format(arena, "a step has at most %d microbatches", (int)LIMIT_MICROBATCHES),
            "number microbatches from 0 on");
    return false;
}

// One task: `0F3`. False: reported.
static bool read_task(const struct schedule_reader *reader, struct span span, struct cell *cell) {
    uint64_t stage, microbatch = 0;
    uint32_t at = span.begin;
    if (!take_digits(reader, &at, span.end, &stage))
        return report_no_task(reader, span);
    uint32_t word = at;
    while (at < span.end && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", reader->text[at]))
        at++;
    int i = 0;
    while (i < N_CELL_KINDS && (strlen(cell_words[i].word) != at - word ||
                                strncmp(cell_words[i].word, reader->text + word, at - word) != 0))
        i++;
    if (i == N_CELL_KINDS)
        return report_no_task(reader, span);
    bool has_microbatch = take_digits(reader, &at, span.end, &microbatch);
    if (at != span.end || (!has_microbatch && cell_words[i].has_microbatch))
        return report_no_task(reader, span);
    *cell = (struct cell){.kind = (enum cell_kind)i,
                          .stage = (uint32_t)stage,
                          .microbatch = (uint32_t)microbatch,
                          .span = span};
    return check_numbers(reader, span, stage, microbatch);
}

// False: reported.
static bool add_cell(struct schedule_reader *reader, struct row *row, struct cell cell) {
    if (reader->n_cells == LIMIT_TASKS) {
        report_cell(
            reader, cell.span,
            arena_format(reader->r->arena, "at most %d tasks are put in order", (int)LIMIT_TASKS),
            "cut a batch into fewer microbatches");
        return false;
    }
    reader->n_cells++;
    reader->n_tasks += is_task_cell(cell.kind);
    if (reader->n_of[cell.kind]++ == 0)
        reader->first_of[cell.kind] = cell.span;
    if (cell.stage >= reader->n_stages)
        reader->n_stages = cell.stage + 1;
    // What is done once for all may have a number, as PyTorch's reader takes one, which says nothing.
    if (cell_words[cell.kind].has_microbatch && cell.microbatch >= reader->n_microbatches)
        reader->n_microbatches = cell.microbatch + 1;
    ARENA_PUSH(reader->r->arena, row->cells, row->n, row->cap, cell);
    return true;
}

static bool ends_with(const struct schedule_reader *reader, struct span span, const char *end) {
    size_t length = strlen(end);
    return span.end - span.begin >= length &&
           strncmp(reader->text + span.end - length, end, length) == 0;
}

// Two tasks that are done side by side: `(0F4;3B1)OVERLAP_F_B`, `0F4;3B1`.
static bool read_pair(struct schedule_reader *reader, struct row *row, struct span span,
                      uint32_t semicolon) {
    struct span inner = span;
    if (reader->text[span.begin] == '(') {
        if (ends_with(reader, span, ")OVERLAP_F_B"))
            inner.end -= (uint32_t)strlen(")OVERLAP_F_B");
        else if (ends_with(reader, span, ")"))
            inner.end--;
        else
            return report_no_task(reader, span);
        inner.begin++;
    }
    if (semicolon >= inner.end)
        return report_no_task(reader, span);
    struct cell first, second;
    if (!read_task(reader, trimmed(reader, inner.begin, semicolon), &first) ||
        !read_task(reader, trimmed(reader, semicolon + 1, inner.end), &second))
        return false;
    if (!is_task_cell(first.kind) || !is_task_cell(second.kind))
        return report_no_task(reader, span);
    first.overlapped = true;
    return add_cell(reader, row, first) && add_cell(reader, row, second);
}

// What stands between two commas, in quotes or not. False: reported.
static bool read_cell(struct schedule_reader *reader, struct row *row, uint32_t begin,
                      uint32_t end) {
    struct span span = trimmed(reader, begin, end);
    const char *text = reader->text;
    if (span.end - span.begin >= 2 && text[span.begin] == '"' && text[span.end - 1] == '"')
        span = trimmed(reader, span.begin + 1, span.end - 1);
    if (span.begin == span.end)
        return true;
    const char *semicolon = memchr(text + span.begin, ';', span.end - span.begin);
    if (semicolon)
        return read_pair(reader, row, span, (uint32_t)(semicolon - text));
    struct cell cell;
    return read_task(reader, span, &cell) && add_cell(reader, row, cell);
}

// ---- rows -------------------------------------------------------------------------------------

static bool read_row(struct schedule_reader *reader, struct row *row) {
    uint32_t begin = row->span.begin;
    for (uint32_t at = begin; at <= row->span.end; at++)
        if (at == row->span.end || reader->text[at] == ',') {
            if (!read_cell(reader, row, begin, at))
                return false;
            begin = at + 1;
        }
    return true;
}

static bool report_idle(const struct schedule_reader *reader, struct span span) {
    struct diagnostic *d =
        report_cell(reader, span, "a rank has nothing to do", "leave the line out");
    diagnostic_say(d, "each line is a rank");
    return false;
}

// A line is a rank, which has something to do; only behind the last one lines may be empty. False: reported.
static bool read_rows(struct schedule_reader *reader, uint32_t length) {
    struct span idle = span_nowhere(); // of a line without a task
    uint32_t begin = text_begin(reader->text, length);
    for (uint32_t end; begin < length; begin = end + 1) {
        const char *newline = memchr(reader->text + begin, '\n', length - begin);
        end = newline ? (uint32_t)(newline - reader->text) : length;
        struct row row = {.span = trimmed(reader, begin, end)};
        if (!read_row(reader, &row))
            return false;
        bool has_commas = row.span.begin < row.span.end;
        if (row.n == 0 && (idle.source == NO_SOURCE || has_commas))
            idle = row.span;
        if (row.n == 0)
            continue;
        if (idle.source != NO_SOURCE)
            return report_idle(reader, idle);
        ARENA_PUSH(reader->r->arena, reader->rows, reader->n_rows, reader->cap_rows, row);
    }
    return idle.source == NO_SOURCE || idle.begin == idle.end || report_idle(reader, idle);
}

// ---- the whole --------------------------------------------------------------------------------

// Which kind of task a cell is depends on the dialect.
static enum task_kind kind_of(enum cell_kind cell, bool old) {
    switch (cell) {
    case CELL_F:
        return TASK_FORWARD;
    case CELL_B:
        return old ? TASK_INPUTS : TASK_BACKWARD;
    case CELL_I:
        return TASK_INPUTS;
    case CELL_W:
        return TASK_WEIGHTS;
    default:
        return TASK_BACKWARD;
    }
}

// Where B is the part of inputs, each has its W. False, once reported: some have, and most are all of backward.
static bool check_parts(const struct schedule_reader *reader) {
    uint32_t n = reader->n_of[CELL_W];
    bool told = reader->n_of[CELL_I] || reader->n_of[CELL_BW];
    if (told || n == 0 || 2 * n >= reader->n_of[CELL_B])
        return true;
    struct diagnostic *d =
        report_cell(reader, reader->first_of[CELL_W], "this part of backward has been done by B",
                    "leave it out, or write its B as I");
    diagnostic_say(d, "B is all of backward, since most have no W");
    return false;
}

// False, once reported: the words are of two dialects.
static bool check_dialect(const struct schedule_reader *reader) {
    struct span inputs = reader->first_of[CELL_I], whole = reader->first_of[CELL_BW];
    if (!reader->n_of[CELL_I] || !reader->n_of[CELL_BW])
        return check_parts(reader);
    struct diagnostic *d = report_cell(reader, inputs, "the file is in two dialects",
                                       "write all of backward as B, its parts as I and W");
    diagnostic_say(d, "I is the part of inputs where B is all of backward");
    diagnostic_label(d, whole, "BW is all of backward where B is the part of inputs");
    return false;
}

// The row of each stage. False, once reported: a stage has two, or none.
static bool find_ranks(struct schedule_reader *reader) {
    struct arena *arena = reader->r->arena;
    struct span *seen = ARENA_ARRAY(arena, struct span, reader->n_stages), largest = span_nowhere();
    uint32_t *rank_of = reader->rank_of = ARENA_ARRAY(arena, uint32_t, reader->n_stages);
    for (uint32_t stage = 0; stage < reader->n_stages; stage++)
        seen[stage] = span_nowhere();
    for (uint32_t rank = 0; rank < reader->n_rows; rank++)
        for (uint32_t i = 0; i < reader->rows[rank].n; i++) {
            const struct cell *cell = &reader->rows[rank].cells[i];
            if (cell->stage + 1 == reader->n_stages && largest.source == NO_SOURCE)
                largest = cell->span;
            if (seen[cell->stage].source == NO_SOURCE) {
                seen[cell->stage] = cell->span;
                rank_of[cell->stage] = rank;
            } else if (rank_of[cell->stage] != rank) {
                struct diagnostic *d =
                    report_cell(reader, cell->span,
                                arena_format(arena, "stage %u is on two ranks", cell->stage),
                                "leave all of it to one of them");
                diagnostic_label(d, seen[cell->stage], "rank %u has it", rank_of[cell->stage]);
                return false;
            }
        }
    for (uint32_t stage = 0; stage < reader->n_stages; stage++)
        if (seen[stage].source == NO_SOURCE) {
            report_cell(reader, largest,
                        arena_format(arena, "stage %u is there, and stage %u is not",
                                     reader->n_stages - 1, stage),
                        "stages are numbered from 0 on in the order of the model");
            return false;
        }
    return true;
}

static const struct schedule_file *schedule_of_rows(const struct schedule_reader *reader,
                                                    const char *name) {
    struct arena *arena = reader->r->arena;
    bool splits_old = reader->n_of[CELL_W] && !reader->n_of[CELL_I];
    bool old = splits_old || reader->n_of[CELL_BW];
    struct schedule *s = ARENA_NEW(arena, struct schedule);
    struct schedule_file *file = ARENA_NEW(arena, struct schedule_file);
    *s = (struct schedule){.n_ranks = reader->n_rows,
                           .n_stages = reader->n_stages,
                           .n_microbatches = reader->n_microbatches,
                           .is_of_2024 = old,
                           .rank_of = reader->rank_of,
                           .ranks = ARENA_ARRAY(arena, struct rank_tasks, reader->n_rows)};
    *file = (struct schedule_file){.name = name,
                                   .schedule = s,
                                   .tasks = ARENA_ARRAY(arena, struct span *, reader->n_rows),
                                   .ranks = ARENA_ARRAY(arena, struct span, reader->n_rows)};
    for (uint32_t rank = 0; rank < reader->n_rows; rank++) {
        const struct row *row = &reader->rows[rank];
        struct rank_tasks *list = &s->ranks[rank];
        list->tasks = ARENA_ARRAY(arena, struct task, row->n);
        file->tasks[rank] = ARENA_ARRAY(arena, struct span, row->n);
        file->ranks[rank] = row->span;
        for (uint32_t i = 0; i < row->n; i++) {
            const struct cell *cell = &row->cells[i];
            if (!is_task_cell(cell->kind))
                continue;
            struct task *task = &list->tasks[list->n];
            *task = (struct task){.kind = kind_of(cell->kind, old),
                                  .overlapped = cell->overlapped,
                                  .stage = cell->stage,
                                  .microbatch = cell->microbatch};
            file->tasks[rank][list->n++] = cell->span;
            s->splits_backward |= task->kind >= TASK_INPUTS;
        }
        list->cap = list->n;
    }
    return file;
}

const struct schedule_file *read_schedule_file(struct resolver *r, const char *path,
                                               const char *name, struct span from) {
    static const struct text_limit limit = {LIMIT_SCHEDULE_BYTES,
                                            "a schedule is a cell for each task; is this the right "
                                            "file?"};
    struct schedule_reader reader = {.r = r, .from = from};
    if (!read_source_within(r->arena, r->diagnostics, path, &limit, from, &reader.source))
        return NULL;
    const struct source_file *source = &r->diagnostics->sources->items[reader.source];
    reader.text = source->text;
    if (!read_rows(&reader, source->length))
        return NULL;
    if (reader.n_tasks == 0) {
        report_cell(&reader, span_of(reader.source, 0, 0),
                    arena_format(r->arena, "`%s` has no tasks", name),
                    "a cell is a stage, F, B, I or W, and a microbatch: `0F3`");
        return NULL;
    }
    bool good = check_dialect(&reader) && find_ranks(&reader) && check_messages(&reader);
    return good ? schedule_of_rows(&reader, name) : NULL;
}

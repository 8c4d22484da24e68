// placec check --timeline=FILE: the schedule of a pipeline as a picture, in SVG. A line for each rank, a box for each
// task, as long as it takes: its colour is what it does, its number the microbatch; a viewer shows its stage.
#include <errno.h>
#include <string.h>

#include "driver/overwrite.h"
#include "driver/report_pipeline.h"
#include "driver/timeline.h"
#include "runtime/host/file.h"

static const struct {
    const char *colour, *words;
} kinds[N_TASK_KINDS] = {
    [TASK_FORWARD] = {"#9ecae1", "forward"},
    [TASK_BACKWARD] = {"#fdae6b", "backward"},
    [TASK_INPUTS] = {"#fdd0a2", "backward, inputs"},
    [TASK_WEIGHTS] = {"#a1d99b", "backward, weights"},
};

enum { // in pixels
    ROW = 24,
    BOX = 20,
    LEFT = 80,
    TOP = 32,
    DIGIT = 7,
    LEGEND = 150,
};

struct picture {
    const struct timeline *timeline;
    FILE *to;
    uint64_t unit; // of time
    bool shows[N_TASK_KINDS];
};

// Names of files may have anything in them.
static void print_escaped(FILE *to, const char *text) {
    for (; *text; text++) {
        const char *escaped = *text == '&'   ? "&amp;"
                              : *text == '<' ? "&lt;"
                              : *text == '>' ? "&gt;"
                                             : NULL;
        if (escaped)
            fputs(escaped, to);
        else
            fputc((unsigned char)*text < ' ' ? '?' : *text, to);
    }
}

static void print_text(struct picture *picture, uint64_t x, uint64_t y, const char *text) {
    fprintf(picture->to, "<text x=\"%llu\" y=\"%llu\">", (unsigned long long)x,
            (unsigned long long)y);
    print_escaped(picture->to, text);
    fputs("</text>\n", picture->to);
}

static void print_box(struct picture *picture, uint64_t x, uint64_t y, uint64_t width,
                      enum task_kind kind) {
    fprintf(picture->to,
            "<rect x=\"%llu\" y=\"%llu\" width=\"%llu\" height=\"%d\" fill=\"%s\" stroke=\"white\"",
            (unsigned long long)x, (unsigned long long)y, (unsigned long long)width, BOX,
            kinds[kind].colour);
}

static void print_rank(struct picture *picture, uint32_t rank) {
    const struct rank_tasks *list = &picture->timeline->of->ranks[rank];
    uint64_t y = TOP + (uint64_t)rank * ROW;
    char name[32];
    snprintf(name, sizeof name, "rank %u", rank);
    print_text(picture, DIGIT, y + BOX - DIGIT, name);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct task *task = &list->tasks[i];
        uint64_t x = LEFT + picture->timeline->begins[rank][i] * picture->unit;
        picture->shows[task->kind] = true;
        print_box(picture, x, y, task_units[task->kind] * picture->unit, task->kind);
        fprintf(picture->to, "><title>%s, stage %u, microbatch %u</title></rect>",
                kinds[task->kind].words, task->stage, task->microbatch);
        snprintf(name, sizeof name, "%u", task->microbatch);
        print_text(picture, x + 4, y + BOX - DIGIT, name);
    }
}

static void print_picture(struct compilation *c, struct picture *picture) {
    const struct schedule *s = picture->timeline->of;
    uint64_t width = LEFT + picture->timeline->end * picture->unit + ROW;
    uint64_t legend = TOP + (uint64_t)s->n_ranks * ROW + ROW / 2;
    if (width < LEFT + N_TASK_KINDS * LEGEND)
        width = LEFT + N_TASK_KINDS * LEGEND;
    const char *title = arena_format(&c->arena, "%s: strategy %s, %s", c->path,
                                     c->config.strategy.name, pipeline_order_name(c));
    fprintf(picture->to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%llu\" height=\"%llu\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n<title>",
            (unsigned long long)width, (unsigned long long)legend + ROW);
    print_escaped(picture->to, title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", picture->to);
    print_text(picture, DIGIT, TOP / 2 + DIGIT / 2, title);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        print_rank(picture, rank);
    for (int kind = 0, n = 0; kind < N_TASK_KINDS; kind++)
        if (picture->shows[kind]) {
            uint64_t x = LEFT + (uint64_t)n++ * LEGEND;
            print_box(picture, x, legend, BOX, kind);
            fputs("/>\n", picture->to);
            print_text(picture, x + ROW, legend + BOX - DIGIT, kinds[kind].words);
        }
    fputs("</svg>\n", picture->to);
}

static const char begins[] = "<svg ";

static bool is_picture(const char *path, int form) {
    (void)form;
    char head[sizeof begins - 1];
    FILE *from = fopen(path, "rb");
    size_t n = from ? fread(head, 1, sizeof head, from) : 0;
    if (from)
        fclose(from);
    return n == sizeof head && memcmp(head, begins, n) == 0;
}

int write_picture(struct compilation *c, const struct timeline *timeline, const char *path) {
    struct new_file file;
    static const struct output_kind kind = {"a picture", "--timeline", 0, is_picture};
    if (!can_take_name(c, path, &kind))
        return STATUS_REFUSED;
    bool open = new_file_open(&file, path) == 0;
    FILE *to = open ? new_file_stream(&file) : NULL;
    bool good = to != NULL;
    if (to) {
        uint64_t unit = DIGIT * 2;
        for (uint32_t number = timeline->of->n_microbatches; number >= 10; number /= 10)
            unit += DIGIT;
        struct picture picture = {.timeline = timeline, .to = to, .unit = unit};
        print_picture(c, &picture);
        good = !ferror(to);
        good &= fclose(to) == 0;
    }
    if (good && new_file_commit(&file) == 0)
        return STATUS_OK;
    fprintf(stderr,
            "placec: cannot write `%s`: %s\n  name a file in a folder that may be written\n", path,
            strerror(errno));
    if (open)
        new_file_discard(&file);
    return STATUS_REFUSED;
}

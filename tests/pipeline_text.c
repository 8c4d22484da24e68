// See pipeline_text.h. Texts of calls and buffers are the derived program's, with other indices; what
// is new are tasks, messages, and collectives over `pp`.
#include "tests/pipeline_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writing {
    struct arena *arena;
    const struct pipeline *of;
    const char *text;
    int stage, first, layers; // its own
};

#define SAY(writing, ...)                                                                          \
    ((writing)->text = arena_format((writing)->arena, "%s%s", (writing)->text,                     \
                                    arena_format((writing)->arena, __VA_ARGS__)))

static const char *find(const char *text, const char *what) {
    const char *at = strstr(text, what);
    if (!at) {
        fprintf(stderr, "no `%s` in the program\n", what);
        abort();
    }
    return at;
}

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_first(const struct writing *w) {
    return w->stage == 0;
}

static bool is_last(const struct writing *w) {
    return w->stage == w->of->stages - 1;
}

// Microbatches that are under way in a stage.
static int slots_of(const struct writing *w) {
    return w->of->stages - w->stage;
}

// ---- pieces of the derived text ---------------------------------------------------------------

// From `what` to behind the line in which all brackets are closed and nothing announces more.
static const char *statement_of(struct writing *w, const char *what) {
    const char *begin = find(w->of->derived, what), *end = begin;
    int depth = 0;
    for (;; end++) {
        depth += strchr("([{", *end) && *end ? 1 : 0;
        depth -= strchr(")]}", *end) && *end ? 1 : 0;
        if (*end == '\n' && depth == 0)
            break;
    }
    return arena_format(w->arena, "%.*s", (int)(end - begin), begin);
}

static const char *replaced(struct writing *w, const char *text, const char *what, const char *by) {
    const char *result = "";
    for (const char *at; (at = strstr(text, what)); text = at + strlen(what))
        result = arena_format(w->arena, "%s%.*s%s", result, (int)(at - text), text, by);
    return arena_format(w->arena, "%s%s", result, text);
}

// Whether what begins there is stacked by layers in the derived program, and by slots here.
static bool is_kept(const char *text, const char *at) {
    bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '.');
    size_t name = strcspn(at, "[ ,)}");
    return begins && at[name] == '[' && (begins_with(at, "hidden[") || begins_with(at, "saved."));
}

// A call with its indices: of a microbatch, in the slot that it has.
static const char *call_of(struct writing *w, const char *unit, const char *m, const char *slot) {
    const char *text = statement_of(w, arena_format(w->arena, "call %s(", unit));
    const char *result = "", *at = text;
    int n = w->of->layers;
    text = replaced(w, text, arena_format(w->arena, "hidden[%d]", n),
                    arena_format(w->arena, "hidden[%d]", w->layers));
    text = replaced(w, text, arena_format(w->arena, "dhidden[%d]", n % 2),
                    arena_format(w->arena, "dhidden[%d]", w->layers % 2));
    if (strcmp(unit, "embedding_backward") == 0)
        text =
            replaced(w, text, arena_format(w->arena, "dhidden[%d]", w->layers % 2), "dhidden[0]");
    text = replaced(w, text, "[m]", arena_format(w->arena, "[%s]", m));
    for (at = text; *at; at++)
        if (is_kept(text, at)) {
            size_t name = strcspn(at, "[");
            result = arena_format(w->arena, "%s%.*s%.*s%s", result, (int)(at - text), text,
                                  (int)name, at, slot);
            text = at = at + name;
            at--;
        }
    return arena_format(w->arena, "      %s%s\n", result, text);
}

static const char *own_call(struct writing *w, const char *unit) {
    return call_of(w, unit, "m", "");
}

// ---- buffers ----------------------------------------------------------------------------------

static bool is_of_first(const char *name) {
    return begins_with(name, "embedding.") || begins_with(name, "tokens ");
}

static bool is_of_last(const struct writing *w, const char *name) {
    static const char *const names[] = {"norm.",      "head.",       "targets ", "logits ",
                                        "saved.norm", "saved.loss.", NULL};
    for (int i = 0; names[i]; i++)
        if (begins_with(name, names[i]))
            return true;
    return w->of->tied && begins_with(name, "embedding.token");
}

static const char *buffer_of(struct writing *w, const char *buffer) {
    int n = w->of->layers;
    const char *all = arena_format(w->arena, " layers %d", n);
    const char *slots = slots_of(w) > 1 ? arena_format(w->arena, " slots %d,", slots_of(w)) : "";
    if (begins_with(buffer, "block."))
        return replaced(w, buffer, all,
                        w->first ? arena_format(w->arena, " layers %d from %d", w->layers, w->first)
                                 : arena_format(w->arena, " layers %d", w->layers));
    if (begins_with(buffer, "hidden "))
        return replaced(w, buffer, arena_format(w->arena, " layers %d", n + 1),
                        arena_format(w->arena, "%s layers %d", slots, w->layers + 1));
    if (begins_with(buffer, "saved."))
        return replaced(w, buffer, all, arena_format(w->arena, "%s layers %d", slots, w->layers));
    if (!is_last(w) && strstr(buffer, ": output")) // the host reads the last stage's
        return arena_format(w->arena, "%.*s : transient f64[]", (int)strcspn(buffer, " "), buffer);
    return buffer;
}

static void buffers(struct writing *w) {
    const char *at = find(w->of->derived, "  buffer "), *end = find(w->of->derived, "  train {");
    while (at < end) {
        const char *next = strstr(at + 1, "\n  buffer ");
        next = next && next < end ? next + 1 : end;
        const char *buffer = arena_format(w->arena, "%.*s", (int)(next - at - 10), at + 9);
        bool first = is_of_first(buffer), last = is_of_last(w, buffer);
        if ((!first && !last) || (first && is_first(w)) || (last && is_last(w)))
            SAY(w, "    buffer %s\n", buffer_of(w, buffer));
        if (w->of->tied && begins_with(buffer, "embedding.token :") && (is_first(w) || is_last(w)))
            SAY(w, "    buffer other.gradient : transient %s\n",
                arena_format(w->arena, "%.*s", (int)strcspn(strstr(buffer, "f64["), "]") + 1,
                             strstr(buffer, "f64[")));
        at = next;
    }
}

// ---- tasks ------------------------------------------------------------------------------------

struct microbatch {
    const char *loop; // the variable's name; NULL: there is none
    int number;       // to be added to it
};

static const char *number_text(struct writing *w, struct microbatch m, int modulus) {
    if (!m.loop)
        return arena_format(w->arena, "%d", modulus ? m.number % modulus : m.number);
    const char *text = m.number ? arena_format(w->arena, "%s+%d", m.loop, m.number) : m.loop;
    return modulus ? arena_format(w->arena, "%s mod %d", text, modulus) : text;
}

// "[i+1 mod 2]", of what is stacked by slots; of a transfer's own slot with one of them, too.
static const char *slot_text(struct writing *w, struct microbatch m, bool of_buffer) {
    int n = slots_of(w);
    if (n == 1)
        return of_buffer ? "" : "[0]";
    return arena_format(w->arena, "[%s]", number_text(w, m, n));
}

static void forward(struct writing *w, struct microbatch m) {
    const char *number = number_text(w, m, 0), *slot = slot_text(w, m, true);
    const char *flight = slot_text(w, m, false);
    SAY(w, "      task F %d %s\n", w->stage, number);
    if (is_first(w))
        SAY(w, "%s", call_of(w, "embedding_forward", number, slot));
    else
        SAY(w,
            "      start receive over pp from %d as in%s { hidden%s[0] }\n"
            "      wait in%s\n",
            w->stage - 1, flight, slot, flight);
    SAY(w, "      for l = 0 .. %d {\n%s      }\n", w->layers,
        call_of(w, "block_forward", number, slot));
    if (is_last(w))
        SAY(w, "%s", call_of(w, "head_forward", number, slot));
    else
        SAY(w, "      start send over pp to %d as out%s { hidden%s[%d] }\n", w->stage + 1, flight,
            slot, w->layers);
}

static void backward(struct writing *w, struct microbatch m) {
    const char *number = number_text(w, m, 0), *slot = slot_text(w, m, true);
    SAY(w, "      task B %d %s\n", w->stage, number);
    if (is_last(w))
        SAY(w, "%s", call_of(w, "head_backward", number, slot));
    else
        SAY(w,
            "      wait out%s\n"
            "      start receive over pp from %d as down[0] { dhidden[%d] }\n"
            "      wait down[0]\n",
            slot_text(w, m, false), w->stage + 1, w->layers % 2);
    SAY(w, "      for l = 0 .. %d descending {\n%s      }\n", w->layers,
        call_of(w, "block_backward", number, slot));
    if (is_first(w))
        SAY(w, "%s", call_of(w, "embedding_backward", number, slot));
    else
        SAY(w,
            "      start send over pp to %d as up[0] { dhidden[0] }\n"
            "      wait up[0]\n",
            w->stage - 1);
}

static void tasks(struct writing *w) {
    int ahead = w->of->stages - 1 - w->stage, m = 0;
    for (; m < ahead; m++)
        forward(w, (struct microbatch){NULL, m});
    SAY(w, "      for i = 0 .. %d {\n", w->of->microbatches - ahead);
    forward(w, (struct microbatch){"i", ahead});
    backward(w, (struct microbatch){"i", 0});
    SAY(w, "      }\n");
    for (m = w->of->microbatches - ahead; m < w->of->microbatches; m++)
        backward(w, (struct microbatch){NULL, m});
}

// ---- steps ------------------------------------------------------------------------------------

static void zero_gradients(struct writing *w) {
    const char *end = find(w->of->derived, "  train {");
    for (const char *at = w->of->derived; (at = strstr(at, "\n  buffer ")) && at < end; at++) {
        const char *name = at + strlen("\n  buffer ");
        int length = (int)strcspn(name, " ");
        bool gradient = begins_with(name + length, " : gradients");
        bool first = is_of_first(name), last = is_of_last(w, name);
        if (gradient && begins_with(name, "block."))
            SAY(w, "      for l = 0 .. %d { zero %.*s[l] }\n", w->layers, length, name);
        else if (gradient && ((first && is_first(w)) || (last && is_last(w))))
            SAY(w, "      zero %.*s\n", length, name);
    }
}

static void over_pp(struct writing *w, const char *what) {
    SAY(w,
        "      start all_reduce over pp as all.%s[0] { %s -> %s }\n"
        "      wait all.%s[0]\n",
        what, what, what, what);
}

static void over_dp(struct writing *w, const char *what) {
    SAY(w,
        "      start all_reduce over dp as sum.%s[0] { %s -> %s }\n"
        "      wait sum.%s[0]\n",
        what, what, what, what);
}

// What the last stage has of all targets, all have.
static void count(struct writing *w) {
    SAY(w, "      zero token_count\n");
    if (is_last(w)) {
        SAY(w, "      for m = 0 .. %d {\n%s      }\n", w->of->microbatches,
            own_call(w, "count_tokens"));
        over_dp(w, "token_count");
    }
    over_pp(w, "token_count");
    SAY(w, "      zero loss_sum\n");
}

static void reduce(struct writing *w, const char *unit) {
    SAY(w, "      %s\n      wait reduce.%s[0]\n",
        statement_of(w, arena_format(w->arena, "start all_reduce over dp as reduce.%s[0]", unit)),
        unit);
}

// Both ends give the other what they have of the table's gradient, and add what they get.
static void exchange_tables(struct writing *w) {
    int other = is_first(w) ? w->of->stages - 1 : 0;
    if (!w->of->tied || (!is_first(w) && !is_last(w)))
        return;
    SAY(w,
        "      start send over pp to %d as table.out[0] { embedding.token.gradient }\n"
        "      start receive over pp from %d as table.in[0] { other.gradient }\n"
        "      wait table.in[0]\n"
        "      wait table.out[0]\n"
        "      call add_table(x = other.gradient, sum = embedding.token.gradient)\n",
        other, other);
    if (is_last(w))
        over_dp(w, "embedding.token.gradient");
}

static void update(struct writing *w, const char *unit) {
    SAY(w, "%s", own_call(w, arena_format(w->arena, "update_%s", unit)));
}

static void train(struct writing *w) {
    SAY(w, "    train {\n");
    count(w);
    SAY(w, "%s", own_call(w, "divisor"));
    zero_gradients(w);
    tasks(w);
    exchange_tables(w);
    if (is_last(w))
        reduce(w, "head_backward");
    SAY(w, "      for l = 0 .. %d {\n", w->layers);
    reduce(w, "block_backward");
    SAY(w, "      }\n");
    if (is_first(w))
        reduce(w, "embedding_backward");
    SAY(w, "      zero norm2\n");
    if (is_first(w))
        SAY(w, "%s", own_call(w, "norm_embedding"));
    SAY(w, "      for l = 0 .. %d {\n%s      }\n", w->layers, own_call(w, "norm_block"));
    if (is_last(w))
        SAY(w, "%s", own_call(w, "norm_head"));
    over_pp(w, "norm2");
    if (is_last(w))
        over_dp(w, "loss_sum");
    over_pp(w, "loss_sum");
    SAY(w, "%s", own_call(w, "finish"));
    if (is_first(w))
        update(w, "embedding");
    SAY(w, "      for l = 0 .. %d {\n", w->layers);
    update(w, "block");
    SAY(w, "      }\n");
    if (is_last(w))
        update(w, "head");
    if (is_last(w) && w->of->tied)
        SAY(w, "      call update_table(learning_rate = learning_rate, clip = clip, step = step,\n"
               "        p = embedding.token, m = embedding.token.moment1,\n"
               "        v = embedding.token.moment2, g = embedding.token.gradient)\n");
    SAY(w, "    }\n");
}

static void evaluate(struct writing *w) {
    SAY(w, "    evaluate {\n");
    count(w);
    SAY(w, "      for m = 0 .. %d {\n", w->of->microbatches);
    forward(w, (struct microbatch){"m", 0});
    if (!is_last(w))
        SAY(w, "      wait out%s\n", slot_text(w, (struct microbatch){"m", 0}, false));
    SAY(w, "      }\n");
    if (is_last(w))
        over_dp(w, "loss_sum");
    over_pp(w, "loss_sum");
    if (is_last(w))
        SAY(w, "%s%s", own_call(w, "divisor"), own_call(w, "mean_loss"));
    SAY(w, "    }\n");
}

// ---- the job ----------------------------------------------------------------------------------

static void units_of_tables(struct writing *w) {
    const char *buffer = find(w->of->derived, "buffer embedding.token :");
    const char *type = find(buffer, "f64[");
    const char *update = find(find(w->of->derived, "unit main.update_embedding"), "= adamw(");
    const char *rates = find(update, "{");
    int length = (int)strcspn(type, "]") + 1;
    SAY(w,
        "unit main.add_table {\n"
        "  phase update\n"
        "  parameter %%x : %.*s\n"
        "  parameter %%sum : %.*s\n"
        "  result %%y in %%sum\n"
        "  %%y = accumulate(%%sum, %%x) : %.*s\n"
        "}\n",
        length, type, length, type, length, type);
    SAY(w, "unit main.update_table {\n"
           "  phase update\n"
           "  parameter %%learning_rate : f64[]\n"
           "  parameter %%clip : f64[]\n"
           "  parameter %%step : f64[]\n");
    for (const char *name = "pmvg"; *name; name++)
        SAY(w, "  parameter %%%c : %.*s\n", *name, length, type);
    SAY(w,
        "  result %%p.2 in %%p\n"
        "  result %%m.2 in %%m\n"
        "  result %%v.2 in %%v\n"
        "  %%p.2, %%m.2, %%v.2 = adamw(%%p, %%m, %%v, %%g, %%learning_rate, %%clip, %%step)\n"
        "    %.*s : %.*s, %.*s, %.*s role embedding\n"
        "}\n",
        (int)strcspn(rates, "}") + 1, rates, length, type, length, type, length, type);
}

char *pipeline_text(struct arena *arena, const struct pipeline *of) {
    struct writing w = {arena, of, "", 0, 0, 0};
    const char *axis = find(of->derived, "  axis dp"), *buffers_at = find(axis, "  buffer ");
    int left = of->layers;
    SAY(&w, "step main {\n  axis pp = %d link 1e+10 1e-06\n", of->stages);
    SAY(&w, "%.*s", (int)(buffers_at - axis), axis);
    for (; w.stage < of->stages; w.stage++) {
        w.layers = (left + of->stages - w.stage - 1) / (of->stages - w.stage);
        w.first = of->layers - left;
        left -= w.layers;
        SAY(&w, "  part stage%d over pp %d .. %d {\n", w.stage, w.stage, w.stage + 1);
        buffers(&w);
        train(&w);
        evaluate(&w);
        SAY(&w, "  }\n");
    }
    SAY(&w, "}\n%s", find(of->derived, "unit main."));
    if (of->tied)
        units_of_tables(&w);
    return (char *)w.text;
}

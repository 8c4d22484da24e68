// See table.h.
#include "tests/oracle/table.h"

#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "tests/oracle/traits.h"

enum {
    LEAST_LOCATED = 88,           // in a hundred; 95 is the aim,
    LEAST_LOCATED_OF_A_KIND = 95, // and reached by each kind of mistakes in pipelines
    ENOUGH_OF_A_KIND = 30,        // to say so
};

struct counted { // how often something was said
    char text[160];
    unsigned n;
};
struct table {
    unsigned n[N_PARTS][N_JUDGEMENTS][N_TABLE_OUTCOMES];
    unsigned tuples_run[2]; // on a data axis, on a tensor axis
    unsigned of_mutation[N_ALL_MUTATIONS][N_JUDGEMENTS][N_TABLE_OUTCOMES];
    unsigned of_place[N_ALL_MUTATIONS][PLACE_MISSED + 1];
    // Cases that ran: spoilt or not, accepted, right.
    unsigned of_trait[N_TRAITS][2][2][2];
    struct counted *reasons; // of what is refused and right, by part and code
    unsigned n_reasons;
    struct result *bad; // what must not be
    unsigned n_bad;
};

struct table *table_new(void) {
    struct table *table = calloc(1, sizeof *table);
    CHECK(table);
    return table;
}

void table_free(struct table *table) {
    free(table->reasons);
    free(table->bad);
    free(table);
}

static void count_reason(struct table *table, const struct result *result) {
    char text[160];
    snprintf(text, sizeof text, "%-12s %-5s %s", part_names[result->part], result->code,
             part_is_spoilt(result->part) ? mutation_names[result->mutation] : "");
    for (unsigned i = 0; i < table->n_reasons; i++)
        if (strcmp(table->reasons[i].text, text) == 0) {
            table->reasons[i].n++;
            return;
        }
    table->reasons = realloc(table->reasons, (table->n_reasons + 1) * sizeof *table->reasons);
    CHECK(table->reasons);
    struct counted *counted = &table->reasons[table->n_reasons++];
    counted->n = 1;
    strcpy(counted->text, text);
}

// A strategy that has a program is compiled to one that is proved: what the verifier refuses there
// is our own mistake, in one or the other.
static bool is_bad(const struct result *result) {
    bool accepted = result->judgement == JUDGED_ACCEPTED;
    bool refused = result->judgement == JUDGED_REFUTED || result->judgement == JUDGED_UNPROVED;
    return result->outcome == OUTCOME_UNCLEAR || (refused && !part_is_spoilt(result->part)) ||
           (accepted && result->outcome != OUTCOME_RIGHT && result->outcome != OUTCOME_NO_PROGRAM);
}

void table_add(struct table *table, const struct result *result) {
    table->n[result->part][result->judgement][result->outcome]++;
    bool ran = result->outcome != OUTCOME_NO_PROGRAM;
    if (result->part == PART_TUPLES && ran)
        table->tuples_run[result->number >= 625]++;
    if (part_is_spoilt(result->part)) {
        table->of_mutation[result->mutation][result->judgement][result->outcome]++;
        table->of_place[result->mutation][result->place]++;
    }
    for (int trait = 0; trait < N_TRAITS; trait++)
        if (result->traits & 1u << trait)
            table->of_trait[trait][part_is_spoilt(result->part)]
                           [result->judgement == JUDGED_ACCEPTED]
                           [result->outcome == OUTCOME_RIGHT]++;
    if (result->judgement != JUDGED_ACCEPTED && result->outcome == OUTCOME_RIGHT)
        count_reason(table, result);
    if (!is_bad(result))
        return;
    table->bad = realloc(table->bad, (table->n_bad + 1) * sizeof *table->bad);
    CHECK(table->bad);
    table->bad[table->n_bad++] = *result;
}

// ---- printing ---------------------------------------------------------------------------------

static const char *outcome_text(int outcome) {
    return outcome == OUTCOME_NO_PROGRAM ? "no program" : outcome_names[outcome];
}

static void print_part(const struct table *table, enum part part, FILE *to) {
    fprintf(to, "\n%-14s", part_names[part]);
    for (int outcome = 0; outcome < N_TABLE_OUTCOMES; outcome++)
        fprintf(to, "%12s", outcome_text(outcome));
    fprintf(to, "\n");
    for (int judgement = 0; judgement < N_JUDGEMENTS; judgement++) {
        fprintf(to, "%-14s", judgement_names[judgement]);
        for (int outcome = 0; outcome < N_TABLE_OUTCOMES; outcome++)
            fprintf(to, "%12u", table->n[part][judgement][outcome]);
        fprintf(to, "\n");
    }
    if (part == PART_TUPLES)
        fprintf(to, "%u of 625 tuples ran on a data axis, %u of 625 on a tensor axis\n",
                table->tuples_run[0], table->tuples_run[1]);
}

static unsigned sum(const unsigned counts[N_JUDGEMENTS][N_TABLE_OUTCOMES], bool accepted,
                    bool right) {
    unsigned n = 0;
    for (int judgement = 0; judgement < N_JUDGEMENTS; judgement++)
        for (int outcome = 0; outcome < N_OUTCOMES; outcome++)
            if ((judgement == JUDGED_ACCEPTED) == accepted && (outcome == OUTCOME_RIGHT) == right)
                n += counts[judgement][outcome];
    return n;
}

struct located { // how many refusals are at the mistake's place, or name it, of how many
    unsigned at, named, all;
};

static struct located located_of(const struct table *table, int first, int end) {
    struct located sum = {0, 0, 0};
    for (int i = first; i < end; i++) {
        sum.at += table->of_place[i][PLACE_FOUND];
        sum.named += table->of_place[i][PLACE_FOUND] + table->of_place[i][PLACE_NAMED];
        sum.all += table->of_place[i][PLACE_MISSED];
    }
    sum.all += sum.named;
    return sum;
}

static double percent(unsigned part, unsigned all) {
    return all ? 100.0 * part / all : 100;
}

// Killed: refused, of those that are wrong. Located: said at what was changed, or at the first
// value that is another; named: in a note at least.
static void print_mutations(const struct table *table, int first, int end, FILE *to) {
    fprintf(to, "\n%-24s%9s%9s%9s%9s%9s%9s%10s%9s\n", "", "mutants", "refused", "refused",
            "accepted", "accepted", "killed", "located", "named");
    fprintf(to, "%-24s%9s%9s%9s%9s%9s\n", "by operator", "", "wrong", "right", "right", "wrong");
    for (int i = first; i < end; i++) {
        unsigned killed = sum(table->of_mutation[i], false, false);
        unsigned lived = sum(table->of_mutation[i], true, false);
        unsigned idle = sum(table->of_mutation[i], false, true);
        unsigned harmless = sum(table->of_mutation[i], true, true);
        struct located place = located_of(table, i, i + 1);
        fprintf(to, "%-24s%9u%9u%9u%9u%9u", mutation_names[i], killed + lived + idle + harmless,
                killed, idle, harmless, lived);
        fprintf(to, "%8.1f%%%9.1f%%%8.1f%%\n", percent(killed, killed + lived),
                percent(place.at, place.all), percent(place.named, place.all));
    }
}

// Strategies, and mistakes planted into their programs.
static void print_traits(const struct table *table, FILE *to) {
    fprintf(to, "\n%-24s%12s%9s%9s%9s%9s%9s\n", "", "strategies", "mutants", "refused", "refused",
            "accepted", "accepted");
    fprintf(to, "%-24s%12s%9s%9s%9s%9s%9s\n", "of these", "", "", "wrong", "right", "right",
            "wrong");
    for (int trait = 0; trait < N_TRAITS; trait++) {
        const unsigned(*n)[2][2] = table->of_trait[trait];
        unsigned sums[2] = {0, 0};
        for (int i = 0; i < 8; i++)
            sums[i / 4] += n[i / 4][i / 2 % 2][i % 2];
        fprintf(to, "%-24s%12u%9u%9u%9u%9u%9u\n", trait_names[trait], sums[0], sums[1],
                n[0][0][0] + n[1][0][0], n[0][0][1] + n[1][0][1], n[0][1][1] + n[1][1][1],
                n[0][1][0] + n[1][1][0]);
    }
}

static void print_reasons(const struct table *table, FILE *to) {
    if (table->n_reasons)
        fprintf(to, "\nrefused and right\n");
    for (unsigned i = 0; i < table->n_reasons; i++)
        fprintf(to, "%6u  %s\n", table->reasons[i].n, table->reasons[i].text);
}

static bool are_located(const struct table *table) {
    struct located all = located_of(table, 0, N_ALL_MUTATIONS);
    bool good = percent(all.at, all.all) >= LEAST_LOCATED;
    for (int i = END_OF_ROUNDINGS; i < N_ALL_MUTATIONS; i++) {
        struct located kind = located_of(table, i, i + 1);
        good = good && (kind.all < ENOUGH_OF_A_KIND ||
                        percent(kind.at, kind.all) >= LEAST_LOCATED_OF_A_KIND);
    }
    return good;
}

bool table_print(const struct table *table, FILE *to) {
    for (int part = 0; part < N_PARTS; part++)
        print_part(table, part, to);
    print_mutations(table, 0, N_MUTATIONS, to);
    print_mutations(table, N_MUTATIONS, END_OF_ROUNDINGS, to);
    print_mutations(table, END_OF_ROUNDINGS, N_ALL_MUTATIONS, to);
    struct located place = located_of(table, 0, N_ALL_MUTATIONS);
    fprintf(to, "of %u refusals %.1f%% are at the mistake's place, %.1f%% name it\n", place.all,
            percent(place.at, place.all), percent(place.named, place.all));
    print_traits(table, to);
    print_reasons(table, to);
    for (unsigned i = 0; i < table->n_bad; i++)
        fprintf(to, "BAD: %s %u is %s and %s: %s\n", part_names[table->bad[i].part],
                table->bad[i].number, judgement_names[table->bad[i].judgement],
                outcome_text(table->bad[i].outcome), table->bad[i].text);
    return table->n_bad == 0 && are_located(table);
}

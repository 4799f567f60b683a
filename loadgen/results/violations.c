/* Writes violations.txt. */
#include "folder_files.h"

#include "duration.h"
#include "table.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define LINE  100 /* columns of prose */
#define TRACK 72  /* columns of a timeline */

/* ---- timelines */

/* The time of the columns of a timeline: from_ns in the first, to_ns in the last. */
struct scale {
    int64_t from_ns, to_ns;
};

struct lane {
    char name[LEDGER_INSTANCE];
    char track[TRACK + 1];
};

static struct lane make_lane(const char *name) {
    struct lane lane;

    snprintf(lane.name, sizeof lane.name, "%s", name);
    memset(lane.track, ' ', TRACK);
    lane.track[TRACK] = '\0';
    return lane;
}

static size_t violations_column_of(const struct scale *scale, int64_t ns) {
    const int64_t span = scale->to_ns - scale->from_ns;
    const int64_t unit = span > INT64_MAX / TRACK ? TRACK : 1; /* the clocks may be years apart */

    assert(ns >= scale->from_ns && ns <= scale->to_ns);
    return span > 0 ? (size_t)((ns - scale->from_ns) / unit * (TRACK - 1) / (span / unit)) : 0;
}

/* The time of the row on the round's clock; its error is that of the skew of the two wall clocks. 0
 * if there is no row, or the round's own time is unknown. */
static int64_t row_ns(const struct round *round, const struct counterexample_op *op) {
    if (op->ledger_us <= 0 || round->started_us <= 0)
        return 0;
    return (op->ledger_us + round->ledger_skew_us - round->started_us) * 1000;
}

static void violations_widen(struct scale *scale, int64_t ns) {
    if (ns <= 0)
        return;
    if (scale->from_ns == 0 || ns < scale->from_ns)
        scale->from_ns = ns;
    if (ns > scale->to_ns)
        scale->to_ns = ns;
}

static struct scale scale_of(const struct round *round, const struct counterexample *example) {
    struct scale scale = {0, 0};

    for (size_t i = 0; i < example->ops; i++) {
        violations_widen(&scale, example->op[i].sent_ns);
        violations_widen(&scale, example->op[i].answered_ns);
        violations_widen(&scale, row_ns(round, &example->op[i]));
    }
    for (size_t i = 0; i < example->events; i++)
        if (example->event[i].letter != '\0')
            violations_widen(&scale, example->event[i].at_ns);
    return scale;
}

/* "[A====]"; "[A====>" for an operation without an answer. */
static void draw_span(struct lane *lane, const struct scale *scale,
                      const struct counterexample_op *op, char name) {
    size_t start = violations_column_of(scale, op->sent_ns);
    size_t end = violations_column_of(scale, op->answered_ns > 0 ? op->answered_ns : scale->to_ns);

    if (start > TRACK - 3)
        start = TRACK - 3;
    if (end < start + 2)
        end = start + 2;
    assert(end < TRACK);
    memset(lane->track + start, '=', end - start);
    lane->track[start] = '[';
    lane->track[start + 1] = name;
    lane->track[end] = op->answered_ns > 0 ? ']' : '>';
}

/* Draws a mark in its column, or in the next free one. Marks usually come in order of time, so at
 * the right end earlier marks move left. */
static void draw_mark(struct lane *lane, size_t column, char name) {
    size_t place = column;

    while (place < TRACK && lane->track[place] != ' ')
        place++;
    if (place == TRACK) {
        for (place = column; lane->track[place] != ' ';)
            place--;
        memmove(&lane->track[place], &lane->track[place + 1], TRACK - 1 - place);
        place = TRACK - 1;
    }
    lane->track[place] = name;
}

/* Draws it on the lane of its instance; on a new lane if it would overlap another operation. */
static void draw_op(struct lane *lanes, size_t *count, const struct scale *scale,
                    const struct counterexample_op *op, char name) {
    struct lane lane = make_lane(op->instance[0] != '\0' ? op->instance : "client");
    size_t start, end;

    draw_span(&lane, scale, op, name);
    start = strcspn(lane.track, "[");
    end = strcspn(lane.track, "]>") + 1;
    for (size_t i = 0; i < *count; i++) {
        size_t blank = strspn(lanes[i].track + start, " ");

        if (strcmp(lanes[i].name, lane.name) != 0 || start + blank < end)
            continue;
        memcpy(lanes[i].track + start, lane.track + start, end - start);
        return;
    }
    assert(*count < COUNTEREXAMPLE_OPS);
    lanes[(*count)++] = lane;
}

/* ---- events of the operations: numbers in a lane, and a line for each */

static const char event_marks[] = "123456789abc";
_Static_assert(sizeof event_marks - 1 == COUNTEREXAMPLE_EVENTS, "a mark for each");

static struct lane draw_events(const struct scale *scale, const struct counterexample *example) {
    struct lane lane = make_lane("events");

    for (size_t i = 0; i < example->events; i++) {
        const int64_t at_ns = example->event[i].at_ns;

        if (at_ns >= scale->from_ns && at_ns <= scale->to_ns)
            draw_mark(&lane, violations_column_of(scale, at_ns), event_marks[i]);
    }
    return lane;
}

static void print_events(const struct counterexample *example, FILE *to) {
    for (size_t i = 0; i < example->events; i++) {
        const struct counterexample_event *event = &example->event[i];
        const char letter[] = {event->letter, ' ', 'a', 't', ' ', '\0'};

        fprintf(to, "      %c = %.6f s, %s%s: %s\n", event_marks[i], (double)event->at_ns / 1e9,
                event->letter != '\0' ? letter : "", event->who, event->text);
    }
}

static void print_timeline(const struct round *round, const struct counterexample *example,
                           FILE *to) {
    const struct scale scale = scale_of(round, example);
    struct lane lanes[COUNTEREXAMPLE_OPS + 2], database = make_lane("database");
    size_t count = 0;
    char span[DURATION_TEXT];
    bool has_rows = false;
    int width = 12; /* of the names */

    if (scale.to_ns <= scale.from_ns)
        return;
    for (size_t i = 0; i < example->ops; i++) {
        const struct counterexample_op *op = &example->op[i];
        int64_t at_ns = row_ns(round, op);

        if (op->sent_ns > 0)
            draw_op(lanes, &count, &scale, op, (char)('A' + i));
        if (at_ns > 0)
            draw_mark(&database, violations_column_of(&scale, at_ns), (char)('A' + i));
        has_rows = has_rows || at_ns > 0;
    }
    fprintf(to, "\n      from %.6f s to %.6f s (%s): [ sent, ] answered%s\n",
            (double)scale.from_ns / 1e9, (double)scale.to_ns / 1e9,
            duration_text(span, scale.to_ns - scale.from_ns),
            has_rows ? "; database: the row is written" : "");
    if (has_rows)
        lanes[count++] = database;
    lanes[count] = draw_events(&scale, example);
    count += lanes[count].track[strspn(lanes[count].track, " ")] != '\0';
    for (size_t i = 0; i < count; i++)
        if ((int)strlen(lanes[i].name) > width)
            width = (int)strlen(lanes[i].name);
    for (const struct lane *lane = lanes; lane < lanes + count; lane++) {
        int length = TRACK;

        while (length > 0 && lane->track[length - 1] == ' ')
            length--;
        fprintf(to, "      %-*s |%.*s\n", width, lane->name, length, lane->track);
    }
    print_events(example, to);
}

/* ---- rounds */

static void violations_print_anomalies(const struct verdict *verdict, FILE *to) {
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const struct anomaly_found *found = &verdict->found[i];

        if (found->count == 0)
            continue;
        fprintf(to, "  %s, %" PRId64 " times: %s\n", anomaly_name((enum anomaly)i), found->count,
                anomaly_text((enum anomaly)i));
        for (size_t e = 0; e < found->examples; e++) {
            fputs("    ", to);
            table_print_indented(found->example[e], 0, 6, LINE - 4, to);
        }
    }
}

void violations_print_counterexample(const struct round *round, size_t number, FILE *to) {
    const struct counterexample *example = &round->verdict.counterexample[number];

    assert(example->item < round->items && example->ops <= COUNTEREXAMPLE_OPS);
    fprintf(to, "\n  counterexample %zu of %zu: %s", number + 1, round->verdict.counterexamples,
            anomaly_name(example->anomaly));
    if (round->items > 1 && round->products == NULL) /* a load of another program */
        fprintf(to, ", product %u", (unsigned)example->item);
    else if (round->items > 1)
        fprintf(to, ", product %s", round->products[example->item].id);
    fputc('\n', to);
    for (size_t i = 0; i < example->lines; i++) {
        fputs("    ", to);
        table_print_indented(example->line[i], 0, 8, LINE - 4, to);
    }
    print_timeline(round, example, to);
}

static void violations_print_bound(const struct verdict *verdict, FILE *to) {
    double bound = verdict_rate_bound(verdict);

    if (bound < 0)
        fprintf(to,
                "  no violation, but only %" PRId64 " attempts overlapped: too few to say anything "
                "about races\n",
                verdict->overlapping);
    else
        fprintf(to,
                "  no violation in %" PRId64
                " overlapping attempts: with 95 %% confidence the true "
                "rate is below %.2g %%\n",
                verdict->overlapping, 100 * bound);
    if (!verdict->has_ended)
        fputs("  " VERDICT_NO_END "\n", to);
}

static void violations_print_firings(const struct firings *firings, FILE *to) {
    for (size_t i = 0; i < firings->count; i++) {
        const struct firing *firing = &firings->items[i];
        char first[EVENT_TEXT];

        event_text(&firing->first, first);
        if (firing->times == 0)
            fprintf(to, "  never fired: %s\n", firing->what);
        else
            fprintf(to, "  fired %" PRId64 " times: %s, first %s, %.6f s\n", firing->times,
                    firing->what, first, (double)firing->first.at_ns / 1e9);
    }
}

void violations_print_round(const struct round *round, FILE *to) {
    const struct verdict *verdict = &round->verdict;

    fprintf(to, "%s, round %zu: %s\n", round->item->given, round->repeat + 1,
            verdict_kind_name(verdict->kind));
    for (size_t i = 0; round->products != NULL && i < round->items; i++)
        if (round->products[i].id[0] != '\0') /* a shop's product has an id of its own */
            fprintf(to, "  product %s\n", round->products[i].id);
    violations_print_firings(&verdict->firings, to);
    violations_print_anomalies(verdict, to);
    for (size_t i = 0; i < verdict->reasons; i++) {
        fputs("  inconclusive: ", to);
        table_print_indented(verdict->reason[i], 0, 4, LINE - 16, to);
    }
    if (verdict->kind == VERDICT_VALID)
        violations_print_bound(verdict, to);
    for (size_t i = 0; i < verdict->counterexamples; i++)
        violations_print_counterexample(round, i, to);
    fputc('\n', to);
}

int violations_write(const struct summary *summary, FILE *to) {
    for (size_t i = 0; i < summary->count; i++)
        for (size_t r = 0; r < summary->results[i].count; r++)
            violations_print_round(summary->results[i].rounds[r], to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

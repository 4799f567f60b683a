/* Writes an exploration for people: prose, and a schedule as lanes. */
#include "tell.h"

#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 100

void tell_number(uint64_t number, char text[TELL_NUMBER]) {
    char digits[TELL_NUMBER];
    const int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *to = text;

    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    assert(to < text + TELL_NUMBER);
    *to = '\0';
}

void tell_names(unsigned anomalies, char text[VIEW_TEXT]) {
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < VIEW_COUNT; i++)
        if ((anomalies >> i & 1) != 0)
            used += (size_t)snprintf(text + used, VIEW_TEXT - used, "%s%s", used > 0 ? " " : "",
                                     view_name(i));
    assert(used < VIEW_TEXT);
}

bool tell_is_coloured(FILE *to) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(fileno(to)) && (refused == NULL || refused[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

/* Write `text` wrapped at COLUMNS. The first line continues at `column`; the others begin behind
 * `indent` blanks. */
static void wrap(FILE *to, const char *text, int column, int indent) {
    bool is_first = true;

    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");

        if (!is_first && column + 1 + length > COLUMNS) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            is_first = true;
        }
        fprintf(to, "%s%.*s", is_first ? "" : " ", length, text);
        column += length + !is_first;
        is_first = false;
        text += length + (text[length] == ' ');
    }
    fputc('\n', to);
}

/* ---- the bound and the counts */

static const char *text_plural(int64_t number) {
    return number == 1 ? "" : "s";
}

static void text_tell_bound(const struct tell *tell, FILE *to) {
    const struct model_setup *setup = &tell->explored->setup;
    char faults[MODEL_FAULTS_TEXT], text[3 * TELL_ACTION], others[40] = "";

    if (setup->others > 0)
        (void)snprintf(others, sizeof others, " and %d at another shop", setup->others);

    (void)snprintf(text, sizeof text,
                   "%.200s%s%.100s: %d order%s%s on %d instance%s, stock %d, %d preemption%s, %s%s",
                   tell->spec, tell->options[0] != '\0' ? "," : "", tell->options, setup->orders,
                   text_plural(setup->orders), others, setup->instances,
                   text_plural(setup->instances), setup->stock, tell->explored->preemptions,
                   text_plural(tell->explored->preemptions),
                   setup->faults == 0 ? "no faults" : "faults: ",
                   model_faults_write(setup->faults, ", ", faults));
    utf8_make_printable(text); /* a file may have any name */
    wrap(to, text, 0, 2);
}

static void tell_counts(const struct tell *tell, FILE *to) {
    const struct exploration *it = tell->explored;
    char schedules[TELL_NUMBER], runs[TELL_NUMBER], states[TELL_NUMBER], rate[TELL_NUMBER];
    char violated[TELL_NUMBER], text[3 * TELL_ACTION];

    tell_number(it->schedules, schedules);
    tell_number(it->violated, violated);
    tell_number(it->runs, runs);
    tell_number(it->states, states);
    tell_number(tell->seconds > 0 ? (uint64_t)((double)it->schedules / tell->seconds) : 0, rate);
    (void)snprintf(text, sizeof text,
                   "%s schedule%s%s, %s violated; %s run, %s states, %.2f s, %s schedules/s",
                   schedules, it->schedules == 1 ? "" : "s",
                   it->end == EXPLORE_COMPLETE ? ": complete" : " so far",
                   it->violated > 0 ? violated : "none", runs, states, tell->seconds, rate);
    wrap(to, text, 0, 2);
}

static void text_tell_end(const struct tell *tell, FILE *to) {
    switch (tell->explored->end) {
    case EXPLORE_COMPLETE:
        if (tell->explored->violated == 0)
            fprintf(to, "It holds in every schedule within this bound.\n");
        return;
    case EXPLORE_ENDLESS:
        fprintf(to, "Not complete: stopped at an order that does not end.\n");
        return;
    case EXPLORE_MEMORY_ENDED:
        fprintf(to,
                "Not complete: the table of states has reached %zu MB. Use fewer orders, "
                "preemptions or faults.\n",
                EXPLORE_MEMORY >> 20);
        return;
    case EXPLORE_STOPPED:
        fprintf(to, "Not complete: stopped.\n");
        return;
    }
}

/* ---- lanes */

static int lane_count(const struct tell *tell) {
    return tell->explored->setup.orders + 1;
}

static const char *colour_of(int actor) {
    static const char *const colours[] = {"\033[34m", "\033[33m", "\033[35m", "\033[36m"};

    if (actor == REPLAY_FAULT)
        return "\033[31m";
    return actor < 0 ? "\033[2m" : colours[actor % 4];
}

void tell_heads(const struct tell *tell, FILE *to, bool is_coloured) {
    fprintf(to, "%s step      ms ", is_coloured ? "\033[1m" : "");
    for (int i = 0; i < lane_count(tell); i++)
        fprintf(to, " %c", 'A' + i);
    fprintf(to, "  left  sold%s\n", is_coloured ? "\033[0m" : "");
}

/* An order is under way from its first line to its last, or to the end if it has not ended. */
static bool is_under_way(const struct tell *tell, size_t at, int order) {
    bool has_begun = false;

    for (size_t i = 0; i < tell->count; i++) {
        if (tell->steps[i].actor != order)
            continue;
        if (i > at)
            return has_begun;
        has_begun = true;
    }
    return has_begun && (tell->running >> order & 1) != 0;
}

static void tell_lanes(const struct tell *tell, size_t at, FILE *to, bool is_coloured) {
    const int actor = tell->steps[at].actor;

    for (int i = 0; i < lane_count(tell); i++) {
        if (actor == i)
            fprintf(to, " %s%c%s", is_coloured ? colour_of(i) : "", 'A' + i,
                    is_coloured ? "\033[0m" : "");
        else if (actor < 0)
            fputs(actor == REPLAY_FAULT ? " *" : " -", to);
        else
            fprintf(to, " %c", is_under_way(tell, at, i) ? '|' : ' ');
    }
}

/* An order's first line names its instance, too. */
static void write_subject(const struct tell *tell, size_t at, char text[40]) {
    const struct tell_step *step = &tell->steps[at];

    text[0] = '\0';
    if (step->actor < 0)
        return;
    for (size_t i = 0; i < at; i++)
        if (tell->steps[i].actor == step->actor) {
            (void)snprintf(text, 40, "%c ", 'A' + step->actor);
            return;
        }
    (void)snprintf(text, 40, "%c, at inventory-%d, ", 'A' + step->actor, step->instance + 1);
}

void tell_line(const struct tell *tell, size_t at, FILE *to, bool is_coloured) {
    const struct tell_step *step = &tell->steps[at];
    const int indent = 14 + 2 * lane_count(tell) + 14;
    char subject[40], text[TELL_ACTION + 40];
    int left = 0;

    assert(at < tell->count);
    for (int i = 0; i < MODEL_SHARDS; i++)
        left += step->stock[i];
    fprintf(to, "%5zu %7" PRId64 " ", at + 1, step->now_ms);
    tell_lanes(tell, at, to, is_coloured);
    fprintf(to, "%6d%6d  ", left, step->sold);
    write_subject(tell, at, subject);
    (void)snprintf(text, sizeof text, "%s%s", subject, step->action);
    utf8_make_printable(text); /* it quotes the strategy's keys and values */
    if (is_coloured)
        fputs(colour_of(step->actor), to);
    wrap(to, text, indent, indent);
    if (is_coloured)
        fputs("\033[0m", to);
}

/* ---- the whole text */

void tell_violation(const struct tell *tell, FILE *to) {
    char names[VIEW_TEXT];

    tell_names(tell->anomalies, names);
    fprintf(to, "\n%s%s%s\n", names, tell->anomalies != 0 ? ": " : "",
            tell->anomalies != 0 ? view_meaning((unsigned)__builtin_ctz(tell->anomalies))
                                 : "Nothing is wrong with this schedule.");
    if (tell->summary[0] != '\0') {
        fputs("  ", to);
        wrap(to, tell->summary, 2, 2);
    }
}

void tell_text(const struct tell *tell, FILE *to) {
    const bool is_coloured = tell_is_coloured(to);

    text_tell_bound(tell, to);
    if (tell->replay[0] == '\0') {
        tell_counts(tell, to);
        text_tell_end(tell, to);
    }
    if (tell->count == 0)
        return;
    tell_violation(tell, to);
    fprintf(to, "\n%s, %zu moves:\n",
            tell->replay[0] != '\0'                   ? "The schedule"
            : tell->explored->end == EXPLORE_COMPLETE ? "The shortest schedule that shows it"
                                                      : "A schedule that shows it",
            tell->explored->shortest.count);
    tell_heads(tell, to, is_coloured);
    for (size_t i = 0; i < tell->count; i++)
        tell_line(tell, i, to, is_coloured);
    if (tell->replay[0] == '\0')
        fprintf(to, "\nAgain: %s --replay %s\n", tell->command, tell->id);
}

/* ---- step by step */

/* Show step `at` below the steps before it. */
static void steps_show(const struct tell *tell, size_t at, FILE *to, bool is_coloured) {
    if (is_coloured)
        fputs("\033[H\033[J", to);
    tell_heads(tell, to, is_coloured);
    for (size_t i = 0; i <= at; i++)
        tell_line(tell, i, to, is_coloured);
    fprintf(to, "\nstep %zu of %zu; Enter: on, b: back, q: end > ", at + 1, tell->count);
    fflush(to);
}

void tell_steps(const struct tell *tell, FILE *from, FILE *to) {
    const bool is_coloured = tell_is_coloured(to);
    char *line = NULL;
    size_t room = 0, at = 0;

    if (tell->count > 0)
        steps_show(tell, at, to, is_coloured);
    while (tell->count > 0 && getline(&line, &room, from) >= 0 && line[0] != 'q') {
        if (line[0] == 'b')
            at -= at > 0;
        else if (++at == tell->count)
            break;
        steps_show(tell, at, to, is_coloured);
    }
    free(line);
}

/* Prints the head, the steps and the other customers of a shop. */
#include "shop_lines.h"

#include "duration.h"
#include "sentence.h"
#include "steps.h"
#include "table.h"

#include <stdlib.h>

/* ---- the head */

#define BASES_SHOWN 8

char *shop_lines_bases(const struct shop_about *about) {
    const size_t count = about->base_count;
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);

    if (line == NULL)
        return NULL;
    fprintf(line, "%zu process%s", count, count == 1 ? "" : "es");
    for (size_t i = 0; i < count && i < BASES_SHOWN; i++)
        fprintf(line, "%s%s", i == 0 ? ": " : ", ", about->bases[i]);
    if (count > BASES_SHOWN)
        fprintf(line, " and %zu more", count - BASES_SHOWN);
    if (fclose(line) == 0)
        return text;
    free(text);
    return NULL;
}

int shop_lines_head(const struct options *options, FILE *to) {
    const struct shop_about *about = &options->about;
    char *bases = shop_lines_bases(about);

    if (bases == NULL)
        return -1;
    table_say(to, 0, "shop: %s%s%s, %s", about->name, about->version[0] != '\0' ? " " : "",
              about->version, bases);
    free(bases);
    if (about->config[0] != '\0')
        table_say(to, 0, "settings of the shop: %s", about->config);
    return 0;
}

bool shop_lines_is_one_round(const struct result *result, const struct options *options) {
    return options->about.name != NULL && result->count == 1 &&
           result->verdict.kind == VERDICT_VIOLATED;
}

/* ---- the steps */

enum { STEP, SENT, NO_REPLY, P50, P99, MAX };

static void fill_ms(char cell[TABLE_CELL], double ms) {
    if (ms >= 0)
        (void)duration_ms(cell, ms);
    else
        table_fill(cell, "-");
}

static void fill_step(const struct step_times *step, struct table_row *row) {
    table_fill(row->cell[STEP], "%d: %s", step->line, step->name);
    table_fill(row->cell[SENT], "%zu", step->sent);
    table_fill(row->cell[NO_REPLY], "%zu", step->no_reply);
    fill_ms(row->cell[P50], step->p50_ms);
    fill_ms(row->cell[P99], step->p99_ms);
    fill_ms(row->cell[MAX], step->max_ms);
}

static void print_steps(struct table_row *rows, size_t count, bool is_median, FILE *to) {
    static const char *const meanings[TABLE_COLUMNS] = {
        [STEP] = "step: its line in the shop file, and its request",
        [NO_REPLY] = "no reply: sent, and no whole reply came",
        [P50] = "p50, p99, max: from the sending of the step to its reply"};
    static const unsigned char drop[] = {NO_REPLY, MAX, SENT, P50, 0};
    const size_t width = table_columns(to);

    table_hide_empty(rows, count, NO_REPLY, true);
    table_narrow(rows, count, 1, width, drop);
    table_print(rows, count, 1, width, to);
    table_print_legend(
        &rows[0], meanings,
        is_median ? "counts add up all rounds; p50 and p99 are the median of the rounds" : NULL,
        width, to);
    fputc('\n', to);
}

int shop_lines_steps(const struct result *result, FILE *to) {
    const struct table_row head = {.cell = {"step", "sent", "no reply", "p50", "p99", "max"}};
    const size_t most = json_array_size(result->steps);
    struct table_row *rows;
    struct step_times step;
    size_t count = 1;

    if (most < 2)
        return 0;
    rows = calloc(most + 1, sizeof *rows);
    if (rows == NULL)
        return -1;
    rows[0] = head;
    while (count <= most && steps_get(result->steps, count - 1, &step))
        fill_step(&step, &rows[count++]);
    print_steps(rows, count, result->count > 1, to);
    free(rows);
    return 0;
}

/* ---- the other customers */

void shop_lines_others(const struct result *result, FILE *to) {
    static const struct {
        enum record_outcome outcome;
        const char *text;
    } others[] = {{RECORD_REFUSED, "refused for a reason other than the stock"},
                  {RECORD_FAILED, "told of an error"},
                  {RECORD_UNREACHED, "without an order, because its first step could not be sent"},
                  {RECORD_UNSENT, "without an order, because `prepare` failed or did not end"}};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const size_t count = result->total->by_outcome[others[i].outcome];

        if (count > 0)
            table_say(to, 2, "%zu customer%s %s %s", count, count == 1 ? "" : "s",
                      count == 1 ? "was" : "were", others[i].text);
    }
}

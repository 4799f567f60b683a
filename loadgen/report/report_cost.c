/* What an order cost under each strategy: so that a comparison is not of unequal work. */
#include "capacity.h"
#include "duration.h"
#include "report.h"
#include "table.h"

#include <stdlib.h>

static void fill_percentile(char cell[TABLE_CELL], const struct histogram *histogram,
                            double percent) {
    if (histogram->count == 0)
        table_fill(cell, "-");
    else
        (void)duration_text(cell, histogram_percentile(histogram, percent));
}

static void fill_ratio(char cell[TABLE_CELL], uint64_t sum, size_t count) {
    if (count == 0)
        table_fill(cell, "-");
    else
        table_fill(cell, "%.1f", (double)sum / (double)count);
}

enum column { NAME, WAIT_P50, WAIT_P99, HOLD, COMMIT, POSTGRES, REDIS, RETRIES, CEILING, REACHED };

static const struct table_row head = {.cell = {"what it cost", "wait p50", "wait p99", "hold p50",
                                               "commit p50", "Postgres", "Redis", "retries",
                                               "ceiling", "reached"}};

static const char *const meanings[TABLE_COLUMNS] = {
    [WAIT_P50] = "wait: for the lock",
    [HOLD] = "hold: of the lock, from winning it to giving it back",
    [COMMIT] = "commit: of the statement that sold",
    [REDIS] = "Postgres, Redis: round trips for each answer",
    [RETRIES] = "retries: further attempts for each sale",
    [CEILING] = "ceiling: orders a second that can take turns at locks held so long",
    [REACHED] = "reached: those that did"};

static void fill_row(const struct summary *summary, const struct result *result,
                     struct table_row *row) {
    const struct recorder *total = result->total;
    char(*cell)[TABLE_CELL] = row->cell;
    struct capacity capacity;

    capacity_make(result, summary->options, &capacity);
    table_fill(cell[NAME], "%.63s", result->item->given);
    fill_percentile(cell[WAIT_P50], &total->wait, 50);
    fill_percentile(cell[WAIT_P99], &total->wait, 99);
    fill_percentile(cell[HOLD], &total->hold, 50);
    fill_percentile(cell[COMMIT], &total->commit, 50);
    fill_ratio(cell[POSTGRES], total->postgres, total->costed);
    fill_ratio(cell[REDIS], total->redis, total->costed);
    fill_ratio(cell[RETRIES], total->retries,
               total->costed > 0 ? total->by_outcome[RECORD_SOLD] : 0);
    table_fill(cell[CEILING], "-");
    table_fill(cell[REACHED], "-");
    if (capacity.bound == CAPACITY_LOCK) {
        table_fill(cell[CEILING], "%.0f/s", capacity.ceiling);
        table_fill(cell[REACHED], "%.0f/s", capacity.turns);
    }
}

static bool is_told(const struct summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->results[i].total->costed > 0)
            return true;
    return false;
}

int report_cost(const struct summary *summary, FILE *to) {
    struct table_row *rows;

    if (!is_told(summary))
        return 0;
    rows = calloc(summary->count + 1, sizeof *rows);
    if (rows == NULL)
        return -1;
    rows[0] = head;
    for (size_t i = 0; i < summary->count; i++)
        fill_row(summary, &summary->results[i], &rows[i + 1]);
    for (size_t column = WAIT_P50; column <= REACHED; column++)
        table_hide_empty(rows, summary->count + 1, column, false);
    table_print(rows, summary->count + 1, 1, REPORT_COLUMNS, to);
    table_print_legend(&rows[0], meanings, NULL, REPORT_COLUMNS, to);
    free(rows);
    fputc('\n', to);
    return 0;
}

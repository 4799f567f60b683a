/* Prints two runs side by side. */
#include "diff.h"
#include "duration.h"
#include "report.h"
#include "table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 3 /* of a strategy: A, B and B / A */
#define TEXT 512

static const char *diff_text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "-";
}

/* ---- what was compared */

static void print_origin(const json_t *diff, const char *side, const char *title,
                         const char *folder, FILE *to) {
    const json_t *origin = json_object_get(diff, side);
    const char *revision = json_string_value(json_object_get(origin, "revision"));
    const char *name = json_string_value(json_object_get(origin, "name"));
    char text[TEXT];
    size_t used;

    used = (size_t)snprintf(text, sizeof text, "%s: %.300s, of %.40s", title, folder,
                            diff_text_of(origin, "started_at"));
    if (revision != NULL)
        used += (size_t)snprintf(text + used, sizeof text - used, ", revision %.12s", revision);
    if (name != NULL && name[0] != '\0')
        snprintf(text + used, sizeof text - used, ", \"%.60s\"", name);
    table_say(to, 0, "%s", text);
}

/* "5 s from 0 to 800/s, 20 s at 800/s" would be long: as --stages takes them, "5s:0..800". */
static void show_stages(const json_t *stages, char *text, size_t size) {
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(stages) && used < size; i++) {
        const json_t *stage = json_array_get(stages, i);
        double from = json_number_value(json_object_get(stage, "from_rate"));
        double to = json_number_value(json_object_get(stage, "to_rate"));

        used +=
            (size_t)snprintf(text + used, size - used, "%s%gs:%g", i > 0 ? "," : "",
                             json_number_value(json_object_get(stage, "duration_ms")) / 1e3, from);
        if (used < size && fabs(from - to) > 0)
            used += (size_t)snprintf(text + used, size - used, "..%g", to);
    }
}

static void diff_text_show(const json_t *value, char *text, size_t size) {
    char *dumped;

    if (json_is_array(value)) {
        show_stages(value, text, size);
        return;
    }
    dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    snprintf(text, size, "%s", dumped != NULL ? dumped : "?");
    free(dumped);
}

static void print_unequal(const json_t *diff, FILE *to) {
    const json_t *unequal = json_object_get(diff, "unequal");
    char a[TEXT / 4], b[TEXT / 4];

    if (json_array_size(unequal) == 0)
        return;
    fprintf(to, "not the same conditions, so that the figures below differ for this, too:\n");
    for (size_t i = 0; i < json_array_size(unequal); i++) {
        const json_t *one = json_array_get(unequal, i);

        diff_text_show(json_object_get(one, "a"), a, sizeof a);
        diff_text_show(json_object_get(one, "b"), b, sizeof b);
        table_say(to, 2, "%s: %s → %s", diff_text_of(one, "setting"), a, b);
    }
}

/* ---- the table */

/* The columns behind the verdict: of A and B, and of B / A where there is a ratio. */
static const struct {
    const char *key;
    bool is_time;
    int decimals;
} columns[] = {{"sold", false, 0},           {"anomalies", false, 0},
               {"p50_ms", true, 0},          {"p99_ms", true, 0},
               {"rate", false, 0},           {"postgres_per_order", false, 1},
               {"redis_per_order", false, 1}};

static void fill_value(char cell[TABLE_CELL], size_t column, const json_t *value) {
    double number = json_number_value(value);

    if (!json_is_number(value))
        table_fill(cell, "-");
    else if (columns[column].is_time)
        (void)duration_ms(cell, number);
    else
        table_fill(cell, "%.*f", columns[column].decimals, number);
}

static void diff_text_fill_ratio(char cell[TABLE_CELL], const json_t *ratio) {
    double value = json_number_value(ratio);

    if (ratio == NULL)
        return;
    if (json_is_null(ratio))
        table_fill(cell, "-");
    else
        table_fill(cell, value >= 10 ? "×%.0f" : value >= 0.1 ? "×%.2f" : "×%.1g", value);
}

static void diff_text_fill_verdict(struct table_row *row, const char *verdict) {
    table_fill(row->cell[2], "%.60s", verdict);
    if (strcmp(verdict, "VALID") == 0)
        row->colour[2] = TABLE_GREEN;
    if (strcmp(verdict, "VIOLATED") == 0)
        row->colour[2] = TABLE_RED;
    if (strcmp(verdict, "INCONCLUSIVE") == 0)
        row->colour[2] = TABLE_YELLOW;
}

static void fill_strategy(const json_t *one, struct table_row *rows) {
    const json_t *verdict = json_object_get(one, "verdict");
    bool is_worse = json_is_true(json_object_get(one, "is_worse"));

    table_fill(rows[0].cell[0], "%.60s", diff_text_of(one, "strategy"));
    table_fill(rows[0].cell[1], "A");
    table_fill(rows[1].cell[1], "B");
    table_fill(rows[2].cell[1], "B/A");
    diff_text_fill_verdict(&rows[0], diff_text_of(verdict, "a"));
    diff_text_fill_verdict(&rows[1], diff_text_of(verdict, "b"));
    table_fill(rows[2].cell[2], "%s", is_worse ? "worse" : "");
    rows[2].colour[2] = is_worse ? TABLE_RED : NULL;
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        const json_t *pair = json_object_get(one, columns[c].key);

        fill_value(rows[0].cell[c + 3], c, json_object_get(pair, "a"));
        fill_value(rows[1].cell[c + 3], c, json_object_get(pair, "b"));
        diff_text_fill_ratio(rows[2].cell[c + 3], json_object_get(pair, "ratio"));
    }
}

static void print_table(const json_t *strategies, FILE *to) {
    static const struct table_row head = {.cell = {"strategy", "", "verdict", "sold", "anomalies",
                                                   "p50", "p99", "rate", "Postgres", "Redis"}};
    size_t count = json_array_size(strategies);
    struct table_row *rows = calloc(count * ROWS + 1, sizeof *rows);

    if (rows == NULL)
        return;
    rows[0] = head;
    for (size_t i = 0; i < count; i++)
        fill_strategy(json_array_get(strategies, i), &rows[i * ROWS + 1]);
    table_print(rows, count * ROWS + 1, 3, table_columns(to), to);
    free(rows);
    fputc('\n', to);
    table_say(to, 0,
              "p50, p99: from the planned time of a request to its answer; rate: answers "
              "per second; of several rounds the median. Postgres, Redis: round trips "
              "for each answer. B/A: how many times as much.");
}

/* ---- what became of the anomalies */

static void print_counts(const json_t *one, FILE *to) {
    const json_t *counts = json_object_get(one, "anomaly_counts");

    for (size_t i = 0; i < json_array_size(counts); i++) {
        const json_t *count = json_array_get(counts, i);
        long long a = (long long)json_integer_value(json_object_get(count, "a"));
        long long b = (long long)json_integer_value(json_object_get(count, "b"));
        const char *what = a == 0 ? " (appeared)" : b == 0 ? " (gone)" : "";

        fprintf(to, "%s: %s %lld → %lld%s\n", diff_text_of(one, "strategy"),
                diff_text_of(count, "name"), a, b, what);
    }
}

static void print_only(const json_t *names, const char *title, FILE *to) {
    char text[TEXT];
    size_t used = 0;

    if (json_array_size(names) == 0)
        return;
    used += (size_t)snprintf(text, sizeof text, "%s:", title);
    for (size_t i = 0; i < json_array_size(names) && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s", i > 0 ? "," : "",
                                 json_string_value(json_array_get(names, i)));
    table_say(to, 0, "%s", text);
}

void diff_print(const json_t *diff, const char *folder_a, const char *folder_b, FILE *to) {
    const json_t *strategies = json_object_get(diff, "strategies");

    print_origin(diff, "a", "A", folder_a, to);
    print_origin(diff, "b", "B", folder_b, to);
    print_unequal(diff, to);
    fputc('\n', to);
    print_table(strategies, to);
    fputc('\n', to);
    for (size_t i = 0; i < json_array_size(strategies); i++)
        print_counts(json_array_get(strategies, i), to);
    print_only(json_object_get(diff, "only_a"), "only in A", to);
    print_only(json_object_get(diff, "only_b"), "only in B", to);
    if (json_is_true(json_object_get(diff, "is_worse")))
        fprintf(to, "exit code 1: a verdict became worse, or an anomaly appeared\n");
    else
        fprintf(to, "exit code 0: no verdict became worse, and no anomaly appeared\n");
}

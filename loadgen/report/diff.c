/* Compares two summaries, value by value, and prints them side by side. */
#include "diff.h"
#include "duration.h"
#include "exit_code.h"
#include "json_text.h"
#include "markdown.h"
#include "options.h"
#include "summary_read.h"
#include "table.h"
#include "utf8.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 3 /* of a strategy: A, B and B / A */
#define TEXT 512

/* ---- settings and machines */

static const char *const machine[] = {"cpu", "cores", "memory_bytes", "kernel"};

/* `title` is the setting's name for people. */
static void add_unequal_as(json_t **unequal, const char *title, const char *name,
                           const json_t *of_a, const json_t *of_b) {
    json_t *a = json_object_get(of_a, name), *b = json_object_get(of_b, name);

    if (a == NULL || b == NULL || json_equal(a, b) || json_is_null(a) || json_is_null(b))
        return;
    json_text_append(unequal, json_pack("{s:s, s:O, s:O}", "setting", title, "a", a, "b", b));
}

static void add_unequal(json_t **unequal, const char *name, const json_t *of_a,
                        const json_t *of_b) {
    add_unequal_as(unequal, name, name, of_a, of_b);
}

static void add_unequal_shops(json_t **unequal, const json_t *a, const json_t *b) {
    static const struct {
        const char *title, *name;
    } members[] = {{"shop", "name"},
                   {"shop version", "version"},
                   {"shop settings", "config"},
                   {"shop bases", "bases"},
                   {"customers", "customers"}};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        add_unequal_as(unequal, members[i].title, members[i].name, a, b);
}

static bool differs(const json_t *a, const json_t *b, const char *name) {
    const json_t *of_a = json_object_get(a, name), *of_b = json_object_get(b, name);

    return of_a != NULL && of_b != NULL && !json_equal(of_a, of_b);
}

/* The duration of a load at one rate; -1 for a load in stages. */
static double steady_ms(const json_t *set) {
    const json_t *stages = json_object_get(set, "stages"), *first = json_array_get(stages, 0);
    double from = json_number_value(json_object_get(first, "from_rate"));
    double to = json_number_value(json_object_get(first, "to_rate"));

    if (json_array_size(stages) != 1 || fabs(from - to) > 0)
        return -1;
    return json_number_value(json_object_get(first, "duration_ms"));
}

/* Rate, duration and number of requests depend on each other. If one flag changed several of them,
 * only one is told. */
static bool diff_is_told(const json_t *a, const json_t *b, const char *name) {
    double ms_a = steady_ms(a), ms_b = steady_ms(b);
    bool is_steady = ms_a >= 0 && ms_b >= 0;

    if (strcmp(name, "stages") == 0)
        return !is_steady;
    if (strcmp(name, "rate") == 0)
        return is_steady || !differs(a, b, "stages");
    if (strcmp(name, "requests") == 0)
        return is_steady ? !differs(a, b, "rate") || fabs(ms_a - ms_b) > 1
                         : !differs(a, b, "stages");
    return true;
}

static json_t *compare_conditions(const json_t *a, const json_t *b, const json_t *env_a,
                                  const json_t *env_b) {
    json_t *set_a = json_object_get(a, "settings"), *set_b = json_object_get(b, "settings");
    const json_t *on_a = json_object_get(env_a, "machine");
    const json_t *on_b = json_object_get(env_b, "machine");
    const json_t *shop_a = json_object_get(a, "shop"), *shop_b = json_object_get(b, "shop");
    const bool are_shops = shop_a != NULL && shop_b != NULL;
    json_t *unequal = json_array(), *value;
    const char *name;

    add_unequal_shops(&unequal, shop_a, shop_b);
    json_object_foreach (set_a, name, value)
        if (option_is_compared(name) && diff_is_told(set_a, set_b, name) &&
            !(are_shops && strcmp(name, "requests") == 0)) /* they are the customers */
            add_unequal(&unequal, name, set_a, set_b);
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++)
        add_unequal(&unequal, machine[i], on_a, on_b);
    return unequal;
}

/* ---- values */

/* The value at a path such as "spread.p50_ms.median", or null: a new reference. */
static json_t *diff_find(const json_t *from, const char *path) {
    const json_t *found = summary_find(from, path);

    return found != NULL ? json_incref((json_t *)(uintptr_t)found) : json_null();
}

/* The number at `path`, or else at `otherwise`: the median of the rounds, or the key of summaries
 * that have no rounds. */
static json_t *find_number(const json_t *strategy, const char *path, const char *otherwise) {
    json_t *value = diff_find(strategy, path);

    if (json_is_number(value))
        return value;
    json_decref(value);
    return otherwise != NULL ? find_number(strategy, otherwise, NULL) : json_null();
}

static json_t *diff_pair(json_t *a, json_t *b) {
    return json_pack("{s:o, s:o}", "a", a, "b", b);
}

static json_t *pair_with_ratio(const json_t *a, const json_t *b, const char *path,
                               const char *otherwise) {
    json_t *of_a = find_number(a, path, otherwise), *of_b = find_number(b, path, otherwise);
    double ratio = json_number_value(of_b) / json_number_value(of_a);
    bool has_ratio = json_is_number(of_a) && json_is_number(of_b) && isfinite(ratio);

    return json_pack("{s:o, s:o, s:o}", "a", of_a, "b", of_b, "ratio",
                     has_ratio ? json_real(ratio) : json_null());
}

/* ---- anomalies */

static json_int_t count_all(const json_t *strategy) {
    const json_t *anomalies = json_object_get(strategy, "anomalies");
    json_int_t sum = 0;

    for (size_t i = 0; i < json_array_size(anomalies); i++)
        sum += json_integer_value(json_object_get(json_array_get(anomalies, i), "count"));
    return sum;
}

/* Adds the anomalies of `from`, except those in `known`, which may be NULL. */
static void diff_add_counts(json_t **counts, const json_t *from, const json_t *known,
                            const json_t *a, const json_t *b) {
    const json_t *anomalies = json_object_get(from, "anomalies");

    for (size_t i = 0; i < json_array_size(anomalies); i++) {
        const char *name = summary_text(json_array_get(anomalies, i), "name");

        if (name[0] != '\0' && summary_anomaly_count(known, name) == 0)
            json_text_append(counts, json_pack("{s:s, s:I, s:I}", "name", name, "a",
                                               summary_anomaly_count(a, name), "b",
                                               summary_anomaly_count(b, name)));
    }
}

/* ---- strategies */

/* The rank of a verdict; -1 if it is none of these. */
static int badness(const char *verdict) {
    static const char *const kinds[] = {"VALID", "INCONCLUSIVE", "VIOLATED"};

    for (int i = 0; i < 3; i++)
        if (strcmp(verdict, kinds[i]) == 0)
            return i;
    return -1;
}

static bool diff_is_worse(const json_t *a, const json_t *b, const json_t *counts) {
    const int bad_a = badness(summary_text(a, "verdict"));
    const int bad_b = badness(summary_text(b, "verdict"));

    if (bad_a < 0 || bad_b < 0)
        return false;
    for (size_t i = 0; i < json_array_size(counts); i++) {
        const json_t *count = json_array_get(counts, i);

        if (json_integer_value(json_object_get(count, "a")) == 0 &&
            json_integer_value(json_object_get(count, "b")) > 0)
            return true;
    }
    return bad_b > bad_a;
}

static json_t *compare_strategies(const char *name, const json_t *a, const json_t *b) {
    json_t *counts = json_array();

    diff_add_counts(&counts, a, NULL, a, b);
    diff_add_counts(&counts, b, a, a, b);
    return JSON_TEXT_OBJECT(
        {"strategy", json_text(name)}, {"is_worse", json_boolean(diff_is_worse(a, b, counts))},
        {"verdict", diff_pair(diff_find(a, "verdict"), diff_find(b, "verdict"))},
        {"sold", diff_pair(diff_find(a, "sold"), diff_find(b, "sold"))},
        {"anomalies", diff_pair(json_integer(count_all(a)), json_integer(count_all(b)))},
        {"p50_ms", pair_with_ratio(a, b, "spread.p50_ms.median", "latency_ms.p50")},
        {"p99_ms", pair_with_ratio(a, b, "spread.p99_ms.median", "latency_ms.p99")},
        {"rate", pair_with_ratio(a, b, "spread.achieved_rate.median", "achieved_rate")},
        {"postgres_per_order", pair_with_ratio(a, b, "work.postgres_per_order", NULL)},
        {"redis_per_order", pair_with_ratio(a, b, "work.redis_per_order", NULL)},
        {"anomaly_counts", counts});
}

static json_t *without_partner(const json_t *of, const json_t *among) {
    json_t *names = json_array();

    for (size_t i = 0; summary_strategy(of, i) != NULL; i++)
        if (summary_partner(of, i, among) == NULL)
            json_text_append(&names, json_text(summary_given(of, i)));
    return names;
}

/* Returns whether any strategy became worse. */
static bool compare_all(const json_t *a, const json_t *b, json_t **compared) {
    bool worse = false;

    for (size_t i = 0; summary_strategy(a, i) != NULL; i++) {
        const json_t *partner = summary_partner(a, i, b);
        json_t *one;

        if (partner == NULL)
            continue;
        one = compare_strategies(summary_given(a, i), summary_strategy(a, i), partner);
        worse = worse || json_is_true(json_object_get(one, "is_worse"));
        json_text_append(compared, one);
    }
    return worse;
}

static json_t *origin(const json_t *summary, const json_t *env) {
    return json_pack("{s:o, s:o, s:o}", "name", diff_find(summary, "name"), "started_at",
                     diff_find(summary, "started_at"), "revision", diff_find(env, "revision.git"));
}

json_t *diff_make(const json_t *a, const json_t *b, const json_t *env_a, const json_t *env_b) {
    json_t *compared = json_array();
    bool worse = compare_all(a, b, &compared);

    return JSON_TEXT_OBJECT({"a", origin(a, env_a)}, {"b", origin(b, env_b)},
                            {"unequal", compare_conditions(a, b, env_a, env_b)},
                            {"strategies", compared}, {"only_a", without_partner(a, b)},
                            {"only_b", without_partner(b, a)}, {"is_worse", json_boolean(worse)});
}

/* ---- for people: the two runs and their conditions */

static const char *diff_word(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "-";
}

static void print_origin(const json_t *diff, const char *side, const char *title,
                         const char *folder, FILE *to) {
    const json_t *origin = json_object_get(diff, side);
    const char *revision = summary_text(origin, "revision"), *name = summary_text(origin, "name");
    const char *quote = name[0] != '\0' ? "\"" : "";

    table_say(to, 0, "%s: %.300s, of %.40s%s%.12s%s%s%.60s%s", title, folder,
              diff_word(origin, "started_at"), revision[0] != '\0' ? ", revision " : "", revision,
              name[0] != '\0' ? ", " : "", quote, name, quote);
}

/* Writes stages in the short form of --stages: "5s:0..800,20s:800". */
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

static void diff_show(const json_t *value, char *text, size_t size) {
    char *dumped;

    if (json_is_object(json_array_get(value, 0))) {
        show_stages(value, text, size);
        return;
    }
    dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    snprintf(text, size, "%s", dumped != NULL ? dumped : "?");
    free(dumped);
    utf8_make_printable(text);
}

static void print_unequal(const json_t *diff, FILE *to) {
    const json_t *unequal = json_object_get(diff, "unequal");
    char a[TEXT / 4], b[TEXT / 4];

    if (json_array_size(unequal) == 0)
        return;
    fprintf(to, "the conditions differ, so the figures below differ for that reason, too:\n");
    for (size_t i = 0; i < json_array_size(unequal); i++) {
        const json_t *one = json_array_get(unequal, i);

        diff_show(json_object_get(one, "a"), a, sizeof a);
        diff_show(json_object_get(one, "b"), b, sizeof b);
        table_say(to, 2, "%s: %s → %s", diff_word(one, "setting"), a, b);
    }
}

/* ---- the table */

/* The columns after the verdict. Those with a ratio have a third value, B / A. */
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

static void diff_fill_ratio(char cell[TABLE_CELL], const json_t *ratio) {
    double value = json_number_value(ratio);

    if (ratio == NULL)
        return;
    if (json_is_null(ratio))
        table_fill(cell, "-");
    else
        table_fill(cell, value >= 10 ? "×%.0f" : value >= 0.1 ? "×%.2f" : "×%.1g", value);
}

static void diff_fill_verdict(struct table_row *row, const char *verdict) {
    static const char *const colours[] = {TABLE_GREEN, TABLE_YELLOW, TABLE_RED};

    table_fill(row->cell[2], "%.60s", verdict);
    row->colour[2] = badness(verdict) >= 0 ? colours[badness(verdict)] : NULL;
}

static void fill_strategy(const json_t *one, struct table_row *rows) {
    const json_t *verdict = json_object_get(one, "verdict");
    bool is_worse = json_is_true(json_object_get(one, "is_worse"));

    table_fill(rows[0].cell[0], "%.60s", diff_word(one, "strategy"));
    table_fill(rows[0].cell[1], "A");
    table_fill(rows[1].cell[1], "B");
    table_fill(rows[2].cell[1], "B/A");
    diff_fill_verdict(&rows[0], diff_word(verdict, "a"));
    diff_fill_verdict(&rows[1], diff_word(verdict, "b"));
    table_fill(rows[2].cell[2], "%s", is_worse ? "worse" : "");
    rows[2].colour[2] = is_worse ? TABLE_RED : NULL;
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        const json_t *pair = json_object_get(one, columns[c].key);

        fill_value(rows[0].cell[c + 3], c, json_object_get(pair, "a"));
        fill_value(rows[1].cell[c + 3], c, json_object_get(pair, "b"));
        diff_fill_ratio(rows[2].cell[c + 3], json_object_get(pair, "ratio"));
    }
}

enum { POSTGRES = 8, REDIS }; /* columns */

static void print_table(const json_t *strategies, FILE *to) {
    static const struct table_row head = {.cell = {"strategy", "", "verdict", "sold", "anomalies",
                                                   "p50", "p99", "rate", "Postgres", "Redis"}};
    size_t count = json_array_size(strategies);
    struct table_row *rows = calloc(count * ROWS + 1, sizeof *rows);
    bool has_trips;

    if (rows == NULL)
        return;
    rows[0] = head;
    for (size_t i = 0; i < count; i++)
        fill_strategy(json_array_get(strategies, i), &rows[i * ROWS + 1]);
    for (size_t c = POSTGRES; c <= REDIS; c++) /* a shop tells neither */
        table_hide_empty(rows, count * ROWS + 1, c, false);
    has_trips = rows[0].cell[POSTGRES][0] != '\0' || rows[0].cell[REDIS][0] != '\0';
    table_print(rows, count * ROWS + 1, 3, table_columns(to), to);
    free(rows);
    fputc('\n', to);
    table_say(to, 0,
              "p50, p99: time from the planned moment of a request to its answer; rate: answers "
              "per second; each is the median of the rounds.%s B/A: B divided by A.",
              has_trips ? " Postgres, Redis: round trips per answer." : "");
}

/* ---- the change of each anomaly */

static void print_counts(const json_t *one, FILE *to) {
    const json_t *counts = json_object_get(one, "anomaly_counts");

    for (size_t i = 0; i < json_array_size(counts); i++) {
        const json_t *count = json_array_get(counts, i);
        long long a = (long long)json_integer_value(json_object_get(count, "a"));
        long long b = (long long)json_integer_value(json_object_get(count, "b"));
        const char *what = a == 0 ? " (appeared)" : b == 0 ? " (gone)" : "";

        fprintf(to, "%s: %s %lld → %lld%s\n", diff_word(one, "strategy"), diff_word(count, "name"),
                a, b, what);
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

/* ---- all of it */

int diff_exit_code(const json_t *diff, const struct limit_outcomes *limits, const char **meaning) {
    if (json_is_true(json_object_get(diff, "is_worse"))) {
        *meaning = "a verdict became worse, or an anomaly appeared";
        return EXIT_UNEXPECTED;
    }
    for (size_t i = 0; i < limits->count; i++)
        if (!limits->items[i].holds) {
            *meaning = "a limit was missed; no verdict became worse, and no anomaly appeared";
            return EXIT_THRESHOLD;
        }
    *meaning = limits->count > 0
                   ? "no verdict became worse, no anomaly appeared, and every limit was kept"
                   : "no verdict became worse, and no anomaly appeared";
    return EXIT_AS_EXPECTED;
}

void diff_print(const json_t *diff, const char *folder_a, const char *folder_b,
                const struct limit_outcomes *limits, FILE *to) {
    const char *meaning;
    const int exit_code = diff_exit_code(diff, limits, &meaning);

    const json_t *strategies = json_object_get(diff, "strategies");

    print_origin(diff, "a", "A", folder_a, to);
    print_origin(diff, "b", "B", folder_b, to);
    print_unequal(diff, to);
    fputc('\n', to);
    print_table(strategies, to);
    fputc('\n', to);
    if (limits->count > 0) {
        limit_outcomes_print(limits, to);
        fputc('\n', to);
    }
    for (size_t i = 0; i < json_array_size(strategies); i++)
        print_counts(json_array_get(strategies, i), to);
    print_only(json_object_get(diff, "only_a"), "only in A", to);
    print_only(json_object_get(diff, "only_b"), "only in B", to);
    table_say(to, 0, "exit code %d: %s", exit_code, meaning);
}

/* ---- for a pull request */

static void put_change(const json_t *pair, size_t column, FILE *to) {
    char a[TABLE_CELL], b[TABLE_CELL], ratio[TABLE_CELL] = "";

    fill_value(a, column, json_object_get(pair, "a"));
    fill_value(b, column, json_object_get(pair, "b"));
    diff_fill_ratio(ratio, json_object_get(pair, "ratio"));
    fprintf(to, " | %s → %s", a, b);
    if (ratio[0] != '\0' && strcmp(ratio, "-") != 0)
        fprintf(to, " (%s)", ratio);
}

/* A summary.json may be written by others: its texts stand in code. */
static void put_strategy(const json_t *one, FILE *to) {
    const json_t *verdict = json_object_get(one, "verdict");

    fputs("| ", to);
    markdown_cell(diff_word(one, "strategy"), to);
    fputs(json_is_true(json_object_get(one, "is_worse")) ? " | ❌ " : " | ", to);
    markdown_cell(diff_word(verdict, "a"), to);
    fputs(" → ", to);
    markdown_cell(diff_word(verdict, "b"), to);
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        put_change(json_object_get(one, columns[c].key), c, to);
    fputs(" |\n", to);
}

static void put_unequal(const json_t *diff, FILE *to) {
    const json_t *unequal = json_object_get(diff, "unequal");
    char a[TEXT / 4], b[TEXT / 4];

    if (json_array_size(unequal) == 0)
        return;
    fputs(
        "⚠️ A and B ran under different conditions. The figures differ for that reason, too:\n\n",
        to);
    for (size_t i = 0; i < json_array_size(unequal); i++) {
        const json_t *one = json_array_get(unequal, i);

        diff_show(json_object_get(one, "a"), a, sizeof a);
        diff_show(json_object_get(one, "b"), b, sizeof b);
        fputs("- ", to);
        markdown_code(diff_word(one, "setting"), to);
        fputs(": ", to);
        markdown_code(a, to);
        fputs(" → ", to);
        markdown_code(b, to);
        putc('\n', to);
    }
    putc('\n', to);
}

static void put_limits(const struct limit_outcomes *limits, FILE *to) {
    char text[LIMIT_TEXT];

    if (limits->count == 0)
        return;
    fputs("| limit | strategy | | values |\n|---|---|---|---|\n", to);
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit_outcome *one = &limits->items[i];

        fputs("| ", to);
        markdown_cell(one->limit->text, to);
        fputs(" | ", to);
        markdown_cell(one->strategy, to);
        fprintf(to, " | %s | %s |\n", one->holds ? "✅ kept" : "❌ missed",
                limit_outcome_text(one, text));
    }
    putc('\n', to);
}

static void put_origin(const json_t *diff, const char *side, const char *title, const char *folder,
                       FILE *to) {
    const json_t *origin = json_object_get(diff, side);
    const char *name = summary_text(origin, "name"), *revision = summary_text(origin, "revision");
    char text[TEXT + 400];

    snprintf(text, sizeof text, "%.300s, of %.40s%s%.40s%s%.200s", folder,
             diff_word(origin, "started_at"), revision[0] != '\0' ? ", revision " : "", revision,
             name[0] != '\0' ? ", " : "", name);
    fprintf(to, "- %s: ", title);
    markdown_code(text, to);
    putc('\n', to);
}

static void put_only(const json_t *names, const char *title, FILE *to) {
    for (size_t i = 0; i < json_array_size(names); i++) {
        fprintf(to, "- %s: ", title);
        markdown_code(json_string_value(json_array_get(names, i)), to);
        putc('\n', to);
    }
}

void diff_print_markdown(const json_t *diff, const char *folder_a, const char *folder_b,
                         const struct limit_outcomes *limits, FILE *to) {
    const json_t *strategies = json_object_get(diff, "strategies");
    const char *meaning;
    const int exit_code = diff_exit_code(diff, limits, &meaning);

    fprintf(to, "### %s %s (loadgen diff ended with %d)\n\n",
            exit_code == EXIT_AS_EXPECTED ? "✅" : "❌", meaning, exit_code);
    fputs("| strategy | verdict | sold | anomalies | p50 | p99 | answers/s | Postgres | Redis |\n"
          "|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
          to);
    for (size_t i = 0; i < json_array_size(strategies); i++)
        put_strategy(json_array_get(strategies, i), to);
    putc('\n', to);
    put_limits(limits, to);
    put_unequal(diff, to);
    put_origin(diff, "a", "A", folder_a, to);
    put_origin(diff, "b", "B", folder_b, to);
    put_only(json_object_get(diff, "only_a"), "only in A", to);
    put_only(json_object_get(diff, "only_b"), "only in B", to);
}

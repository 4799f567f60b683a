/* Reads a scene word by word. */
#include "scene.h"

#include <math.h>

static struct ledger_row rows[4];

static void set_rows(int64_t count) {
    for (int64_t i = 0; i < count; i++)
        rows[i] = (struct ledger_row){.shard = i,
                                      .first_unit = 1 + i * ledger.initial / count,
                                      .initial = ledger.initial / count,
                                      .available = ledger.initial / count};
    ledger.rows = rows;
    ledger.row_count = (size_t)count;
}

/* All is sold from one row. Units that come back go to its count, or are sold by number. */
static void keep_count(int64_t available, bool returns_to_count) {
    rows[0] = (struct ledger_row){0, 1, ledger.initial, available, returns_to_count, false};
    ledger.rows = rows;
    ledger.row_count = 1;
    ledger.available = available;
}

/* False: no number has this name. */
static bool set_number(const char *name, int64_t number) {
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {
        {"left", &ledger.available},
        {"counted", &ledger.counted},
        {"units", &ledger.units},
        {"returned", &ledger.returned},
        {"left0", &rows[0].available},
        {"left1", &rows[1].available},
        {"stuck_ns", &judged.stuck_ns},
        {"ledger_start_us", &judged.ledger_start_us},
        {"pairs_wanted", &judged.pairs_wanted},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, name) == 0) {
            *numbers[i].number = number;
            return true;
        }
    if (strcmp(name, "stock") == 0)
        ledger.initial = ledger.available = number;
    else if (strcmp(name, "rows") == 0)
        set_rows(number);
    else if (strcmp(name, "orders") == 0)
        ledger.order_count = (size_t)number;
    else if (strcmp(name, "count") == 0 || strcmp(name, "list") == 0)
        keep_count(number, strcmp(name, "count") == 0);
    else
        return false;
    return true;
}

/* False: no flag has this name. */
static bool set_flag(const char *name) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"keyless", &judged.is_keyless},
                 {"interrupted", &judged.is_interrupted},
                 {"aborted", &judged.is_aborted},
                 {"restless", &judged.is_restless},
                 {"loaded", &rows[0].is_loaded}};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(flags[i].name, name) == 0)
            return *flags[i].flag = true;
    return false;
}

#define NONE INT64_MIN

/* The parts of a word; -1 or NONE: it does not have the part. */
struct word {
    char name[16];
    bool is_nameless;
    double sent_ms, received_ms;
    const char *clock;
    int64_t unit, last, times, shard, remaining, told, recorded, key, repeats, names;
};

static struct word split(const char *text) {
    struct word word = {.is_nameless = *text == '~',
                        .sent_ms = -1,
                        .unit = -1,
                        .last = -1,
                        .times = 1,
                        .shard = -1,
                        .remaining = NONE,
                        .told = -1,
                        .recorded = -1,
                        .key = NONE,
                        .repeats = -1,
                        .names = -1};
    const struct {
        char sign;
        int64_t *number;
    } parts[] = {{':', &word.unit},      {'*', &word.times},   {'#', &word.shard},
                 {'/', &word.remaining}, {'>', &word.told},    {'^', &word.recorded},
                 {'=', &word.key},       {'&', &word.repeats}, {'!', &word.names}};
    char *at = (char *)(uintptr_t)text + word.is_nameless;
    size_t length = strcspn(at, ":*#/>^=&!@%");

    assert_in_range(length, 1, sizeof word.name - 1);
    memcpy(word.name, at, length);
    for (at += length; *at != '\0';) {
        const char sign = *at++;
        size_t i = 0;

        if (sign == '%') {
            word.clock = at;
            break;
        }
        if (sign == '@') {
            word.sent_ms = strtod(at, &at);
            word.received_ms = strtod(at + 1, &at);
            continue;
        }
        while (parts[i].sign != sign)
            assert_in_range(++i, 1, sizeof parts / sizeof *parts - 1);
        *parts[i].number = strtoll(at, &at, 10);
        if (strncmp(at, "..", 2) == 0)
            word.last = strtoll(at + 2, &at, 10);
    }
    return word;
}

static enum record_outcome outcome_of(const char *name) {
    int outcome = 0;

    while (strcmp(record_outcome_name((enum record_outcome)outcome), name) != 0)
        assert_in_range(++outcome, 1, RECORD_OUTCOME_COUNT - 1);
    return (enum record_outcome)outcome;
}

/* Append the row of a sale to the ledger. */
static void set_row(struct ledger_sale *sale, const struct word *word) {
    if (word->shard >= 0)
        sale->shard = (int32_t)word->shard;
    if (ledger.rows == rows && sale->shard < (int64_t)ledger.row_count) {
        rows[sale->shard].available--;
        sale->remaining = sale->unit - rows[sale->shard].first_unit;
    }
    if (word->remaining != NONE)
        sale->remaining = word->remaining;
    if (word->clock != NULL)
        at_time((int)(sale - sales), word->clock);
}

/* Append a "row", "sale" or "order" with the id of a request. */
static void play_rows(const struct word *word) {
    const int number = (int)word->key;

    if (strcmp(word->name, "order") != 0) {
        set_row(ledger_row(number, word->unit), word);
        ledger.available--;
    }
    if (strcmp(word->name, "sale") != 0)
        order_row(number, word->unit);
}

static void play_request(const struct word *word, int64_t unit) {
    const bool is_promise = strcmp(word->name, "promise") == 0;
    const enum record_outcome outcome = is_promise ? RECORD_SOLD : outcome_of(word->name);
    const int number = (int)recorder->count, key = word->key >= 0 ? (int)word->key : number;
    struct record *record =
        word->repeats >= 0 ? repeat(&recorder->records[word->repeats], outcome) : request(outcome);

    if (word->sent_ms >= 0) {
        record->sent_ns = llround(word->sent_ms * 1e6);
        record->received_ns = llround(word->received_ms * 1e6);
    }
    if (word->key >= 0)
        (void)record_set_id(&record->key, NULL, ids[key]);
    if (word->is_nameless)
        record_leave_nameless(record);
    if (outcome == RECORD_SOLD && unit >= 0) {
        record->unit = word->told >= 0 ? word->told : unit;
        record->order_id = record_same;
    }
    if (word->names >= 0)
        record->order_id = ids[word->names];
    if (unit < 0 || is_promise)
        return;
    set_row(ledger_row(number, unit), word);
    sales[ledger.sale_count - 1].order_id = ids[key];
    order_row(key, word->recorded >= 0 ? word->recorded : unit);
    ledger.available--;
}

static void play_word(const char *text) {
    const struct word word = split(text);

    if (strcmp(word.name, "back") == 0)
        returned_row(word.shard >= 0 ? word.shard : 0, word.unit);
    else if (word.key >= 0 && strstr("row sale order", word.name) != NULL)
        play_rows(&word);
    else if (!set_flag(word.name) && (word.key == NONE || !set_number(word.name, word.key)))
        for (int64_t i = 0; i < word.times; i++)
            for (int64_t unit = word.unit; unit >= (word.last >= 0 ? word.last : word.unit); unit--)
                play_request(&word, unit);
}

static void play(const char *run) {
    char copy[512], *rest = copy, *word;

    assert_in_range(snprintf(copy, sizeof copy, "%s", run), 0, sizeof copy - 1);
    while ((word = strsep(&rest, " ")) != NULL)
        play_word(word);
    ledger_sort(&ledger);
}

/* ---- the verdict */

static int64_t member(const char *name) {
    const struct {
        const char *name;
        int64_t number;
    } members[] = {{"sold", verdict.sold},
                   {"distinct", verdict.distinct},
                   {"left", verdict.left},
                   {"refused_early", verdict.refused_early},
                   {"unsettled", verdict.unsettled},
                   {"unknown_sold", verdict.unknown_sold},
                   {"pairs", verdict.pairs},
                   {"overlapping", verdict.overlapping},
                   {"reasons", (int64_t)verdict.reasons},
                   {"has_ended", verdict.has_ended}};
    size_t i = 0;

    while (strcmp(members[i].name, name) != 0)
        assert_in_range(++i, 1, sizeof members / sizeof *members - 1);
    return members[i].number;
}

static int find_anomaly(const char *name) {
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (strcmp(anomaly_name((enum anomaly)i), name) == 0)
            return i;
    return -1;
}

/* Check the expected verdict up to its colon. Returns its first anomaly, or -1. */
static int assert_verdict(char *listed) {
    int64_t counts[ANOMALY_COUNT] = {0};
    enum verdict_kind kind = VERDICT_VIOLATED;
    const char *item;
    int first = -1;

    while ((item = strsep(&listed, ",")) != NULL) {
        char name[24];
        int64_t number;

        if (sscanf(item, " %23s %" SCNd64, name, &number) < 2)
            kind = strcmp(name, "valid") == 0 ? VERDICT_VALID : VERDICT_INCONCLUSIVE;
        else if (find_anomaly(name) < 0)
            assert_int_equal(member(name), number);
        else
            counts[find_anomaly(name)] = number;
        first = first < 0 ? find_anomaly(name) : first;
    }
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        if (verdict.found[i].count != counts[i])
            print_message("not as expected: %s\n", anomaly_name((enum anomaly)i));
        assert_int_equal(verdict.found[i].count, counts[i]);
        assert_int_equal(verdict.found[i].examples > 0, counts[i] > 0);
    }
    assert_int_equal(verdict.kind, kind);
    return first;
}

static void assert_example(const struct anomaly_found *found, size_t which, const char *text) {
    assert_in_range(which, 0, found->examples - 1);
    assert_non_null(strstr(found->example[which], text));
}

static void test_scene(void **state) {
    const struct scene *scene = *state;
    char copy[256], *says = copy, *text;
    int anomaly;

    play(scene->run);
    judge();
    assert_in_range(snprintf(copy, sizeof copy, "%s", scene->verdict), 1, sizeof copy - 1);
    anomaly = assert_verdict(strsep(&says, ":"));
    for (size_t i = 0; (text = strsep(&says, ";")) != NULL; i++)
        if (anomaly < 0)
            assert_non_null(strstr(verdict.reason[i], text + 1));
        else
            assert_example(&verdict.found[anomaly], i, text + 1);
}

static void test_telling(void **state) {
    const struct telling *telling = *state;
    const struct counterexample *example;
    char copy[1024], *rest = copy, *line;
    size_t at = telling->line >= 0 ? (size_t)telling->line : 0;

    assert_in_range(snprintf(copy, sizeof copy, "%s", telling->lines), 1, sizeof copy - 1);
    play(telling->run);
    example = counterexample_of(telling->anomaly);
    if (telling->line == LAST)
        at = example->lines - 1;
    while ((line = strsep(&rest, "\n")) != NULL)
        assert_string_equal(example->line[at++], line);
    if (telling->line == ALL)
        assert_int_equal(example->lines, at);
}

/* ---- tests */

static struct CMUnitTest all[192];
static size_t all_count;

static void add_test(const char *name, CMUnitTestFunction test, const void *row) {
    assert_in_range(all_count, 0, sizeof all / sizeof *all - 1);
    all[all_count++] =
        (struct CMUnitTest){name, test, verdict_set_up, verdict_tear_down, (void *)(uintptr_t)row};
}

int scene_run_group(const struct scene *scenes, const struct telling *tellings,
                    const struct CMUnitTest *tests, size_t count) {
    for (; scenes != NULL && scenes->name != NULL; scenes++)
        add_test(scenes->name, test_scene, scenes);
    for (; tellings != NULL && tellings->name != NULL; tellings++)
        add_test(tellings->name, test_telling, tellings);
    assert_in_range(all_count + count, 0, sizeof all / sizeof *all);
    memcpy(&all[all_count], tests, count * sizeof *tests);
    return _cmocka_run_group_tests("scenes", all, all_count + count, NULL, NULL);
}

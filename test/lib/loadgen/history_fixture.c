/* Makes the hand-made rounds, and writes and reads their history. */
#include "history_fixture.h"

#include "options_fixture.h"
#include "own_folder.h"

struct written written = {.product = {.id = "01900000-0000-7000-8000-000000000001"},
                          .row = {0, 1, 10, 8, false, true}};

static void fill_options(void) {
    static char given[] = "none,redis,ttl=2s", name[] = "a \"name\" \xff",
                thresholds[] = "oversell==0\np(99)<250ms", command[] = "loadgen --strategy 'x y'";

    options_fill(&written.options, given, "none=TWIN");
    written.options.strategy = given;
    written.options.name = name;
    written.options.threshold = thresholds;
    written.options.command_line = command;
    written.options.seed = 7;
    written.options.repeat = 2;
    written.options.no_realtime = true;
    written.options.shape.stage_count = 1;
    written.options.shape.stages[0] = (struct plan_stage){1000 * MS, 800, 400.5};
}

/* Two sales (one of a repeated key), a refusal, and a request that was never sent. */
static void fill_round(void) {
    static const struct ledger_extra extra = {.fence = 77, .reserved = -1};
    struct record *record = sell(10);

    record->instance = recorder_instance(recorder, "inventory-\"1\"\xc3");
    record->status = 201;
    record->cost = (struct record_cost){1, 2000000, 3, 4, 5, 6, 7, RECORD_LOCK_REDIS, -1};
    record->is_repeat = true;
    sell(9)->status = 201;
    request(RECORD_SOLD_OUT)->status = 409;
    request(RECORD_UNSENT);
    sales[0].extra = &extra;
    ledger.row_count = 1;
    ledger.rows = &written.row;
    written.one = (struct round){.item = &written.options.list.items[1],
                                 .strategy = 1,
                                 .repeat = 1,
                                 .items = 1,
                                 .products = &written.product,
                                 .recorder = recorder,
                                 .ledgers = &ledger,
                                 .ledger_skew_us = -12,
                                 .started_us = 1795248957115658,
                                 .ended_us = 7654321,
                                 .is_realtime = true,
                                 .is_restless = true,
                                 .is_interrupted = true};
    recorder->late_launches = 3;
    recorder->planned = 5;
    assert_int_equal(round_judge(&written.one, NULL), 0);
}

void write_rounds(const struct history *history) {
    FILE *to = fopen(written.path, "w");

    assert_non_null(to);
    assert_int_equal(history_write_run(to, &history->options, history->started_us), 0);
    for (size_t i = 0; i < history->count; i++)
        assert_int_equal(history_write_round(to, &history->rounds[i]), 0);
    assert_int_equal(fclose(to), 0);
}

void write_written(size_t rounds) {
    struct round both[] = {written.one, written.one};
    const struct history history = {
        .options = written.options, .started_us = 1234567, .count = rounds, .rounds = both};

    write_rounds(&history);
}

/* The whole text. The caller frees it. */
char *read_written(void) {
    const size_t size = 65536;
    char *text = calloc(1, size);
    FILE *from = fopen(written.path, "r");

    assert_non_null(text);
    assert_non_null(from);
    assert_in_range(fread(text, 1, size, from), 1, size - 1);
    assert_int_equal(fclose(from), 0);
    return text;
}

/* Makes a history of one or two rounds; valid until the next call. */
char *written_text(size_t rounds) {
    write_written(rounds);
    free(written.text);
    return written.text = read_written();
}

int history_set_up(void **state) {
    own_folder_make(written.folder, sizeof written.folder, "sale-history");
    snprintf(written.path, sizeof written.path, "%s/history.ndjson", written.folder);
    (void)verdict_set_up(state);
    fill_options();
    fill_round();
    return 0;
}

int history_tear_down(void **state) {
    history_free(&written.history);
    shop_about_free(&written.options.about);
    json_decref(written.one.steps);
    free(written.text);
    written.text = NULL;
    own_folder_remove(written.folder);
    return verdict_tear_down(state);
}

int load_written(void) {
    history_free(&written.history);
    written.why.text[0] = '\0';
    return history_load(&written.history, written.folder, &written.why);
}

/* Writes this many rounds, reads them back, and returns the last one. */
const struct round *written_again(size_t rounds) {
    write_written(rounds);
    assert_int_equal(load_written(), 0);
    assert_int_equal(written.history.count, rounds);
    return &written.history.rounds[rounds - 1];
}

void assert_same_record(const struct record *a, const struct record *b) {
    assert_int_equal(a->planned_ns, b->planned_ns);
    assert_int_equal(a->sent_ns, b->sent_ns);
    assert_int_equal(a->received_ns, b->received_ns);
    assert_int_equal(a->unit, b->unit);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->item, b->item);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->instance, b->instance);
    assert_int_equal(a->is_repeat, b->is_repeat);
    assert_memory_equal(&a->cost, &b->cost, sizeof a->cost);
    assert_string_equal(record_key(a), record_key(b));
    assert_string_equal(record_order_id(a), record_order_id(b));
}

void assert_same_sale(const struct ledger_sale *a, const struct ledger_sale *b) {
    assert_string_equal(a->order_id, b->order_id);
    assert_string_equal(a->instance != NULL ? a->instance : "",
                        b->instance != NULL ? b->instance : "");
    assert_int_equal(a->at_us, b->at_us);
    assert_int_equal(a->unit, b->unit);
    assert_int_equal(a->shard, b->shard);
    assert_int_equal(ledger_extra(a).fence, ledger_extra(b).fence);
    assert_int_equal(a->remaining, b->remaining);
    assert_int_equal(a->quantity, b->quantity);
    assert_int_equal(ledger_extra(a).reserved, ledger_extra(b).reserved);
    assert_string_equal(ledger_extra(a).key != NULL ? ledger_extra(a).key : "",
                        ledger_extra(b).key != NULL ? ledger_extra(b).key : "");
}

void assert_same_order(const struct ledger_order *a, const struct ledger_order *b) {
    assert_string_equal(a->order_id, b->order_id);
    assert_string_equal(a->instance != NULL ? a->instance : "",
                        b->instance != NULL ? b->instance : "");
    assert_int_equal(a->at_us, b->at_us);
    assert_int_equal(a->unit, b->unit);
}

/* Writes a history of two sales. */
#include "history_fixture.h"

#include "options_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

struct written written = {.folder = "/tmp/sale-history-XXXXXX",
                          .product = {.id = "01900000-0000-7000-8000-000000000001"},
                          .row = {0, 1, 10, 8, false}};

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

/* Two sales, one of them of a repeated key, a refusal that is told, and a request never sent. */
static void fill_round(void) {
    struct record *record = sell(10);

    record->instance = recorder_instance(recorder, "inventory-\"1\"\xc3");
    record->status = 201;
    record->cost = (struct record_cost){1, 2000000, 3, 4, 5, 6, 7, RECORD_LOCK_REDIS, -1};
    record->is_repeat = true;
    sell(9)->status = 201;
    request(RECORD_SOLD_OUT)->status = 409;
    request(RECORD_UNSENT);
    sales[0].fence = 77;
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
    assert_int_equal(round_judge(&written.one), 0);
}

void write_history(size_t rounds) {
    FILE *to = fopen(written.path, "w");

    assert_non_null(to);
    assert_int_equal(history_write_run(to, &written.options, 1234567), 0);
    for (size_t i = 0; i < rounds; i++)
        assert_int_equal(history_write_round(to, &written.one), 0);
    assert_int_equal(fclose(to), 0);
}

off_t size_of_history(void) {
    struct stat status;

    assert_int_equal(stat(written.path, &status), 0);
    return status.st_size;
}

char *read_history(void) {
    const size_t size = (size_t)size_of_history();
    char *text = calloc(1, size + 1);
    FILE *from = fopen(written.path, "r");

    assert_non_null(text);
    assert_non_null(from);
    assert_int_equal(fread(text, 1, size, from), size);
    assert_int_equal(fclose(from), 0);
    return text;
}

int history_set_up(void **state) {
    strcpy(strrchr(written.folder, '-'), "-XXXXXX");
    if (verdict_set_up(state) != 0 || mkdtemp(written.folder) == NULL)
        return -1;
    snprintf(written.path, sizeof written.path, "%s/history.ndjson", written.folder);
    fill_options();
    fill_round();
    return 0;
}

int history_tear_down(void **state) {
    history_free(&written.history);
    (void)unlink(written.path);
    (void)rmdir(written.folder);
    return verdict_tear_down(state);
}

int load(void) {
    written.why.text[0] = '\0';
    return history_load(&written.history, written.folder, &written.why);
}

const struct round *written_again(size_t rounds) {
    write_history(rounds);
    assert_int_equal(load(), 0);
    assert_int_equal(written.history.count, rounds);
    return &written.history.rounds[rounds - 1];
}

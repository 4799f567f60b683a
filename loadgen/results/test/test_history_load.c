/* The history of a load that another program sent: its lines are read, judged, or refused by
 * name. */
#include "history.h"

#include "fault.h"
#include "history_fields.h"
#include "history_load.h"
#include "own_folder.h"
#include "test.h"

#include <inttypes.h>
#include <unistd.h>

static struct {
    char folder[200], path[232];
    struct history history;
    struct why why;
} own;

/* 128 characters. */
#define LONG_ID                                                                                    \
    "1234567890123456789012345678901234567890123456789012345678901234"                             \
    "1234567890123456789012345678901234567890123456789012345678901234"

static int load_set_up(void **state) {
    own_folder_make(own.folder, sizeof own.folder, "sale-load");
    snprintf(own.path, sizeof own.path, "%s/my.ndjson", own.folder);
    return 0;
}

static int load_tear_down(void **state) {
    history_free(&own.history);
    own_folder_remove(own.folder);
    return 0;
}

static int load_bytes(const char *bytes, size_t length) {
    FILE *to = fopen(own.path, "w");

    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, length, to), length);
    assert_int_equal(fclose(to), 0);
    history_free(&own.history);
    own.why.text[0] = '\0';
    return history_load(&own.history, own.path, &own.why);
}

#define HEAD    "{\"type\":\"load\",\"version\":1,\"name\":\"my shop\"}\n"
#define PRODUCT "{\"type\":\"product\",\"initial\":2,\"available\":0}\n"
#define SOLD(id, sent, received)                                                                   \
    "{\"type\":\"request\",\"sent\":" #sent ",\"received\":" #received                             \
    ",\"outcome\":\"sold\",\"order_id\":\"" id "\"}\n"
#define TOLD(outcome, more)                                                                        \
    "{\"type\":\"request\",\"sent\":10,\"received\":20,\"outcome\":\"" outcome "\"" more "}\n"
#define ORDER(id)      "{\"type\":\"order\",\"order_id\":\"" id "\"}\n"
#define SALE(id, more) "{\"type\":\"sale\",\"order_id\":\"" id "\"" more "}\n"

static const struct verdict *judged(const char *text) {
    if (load_bytes(text, strlen(text)) != 0)
        fail_msg("%s", own.why.text);
    assert_int_equal(own.history.count, 1);
    assert_int_equal(round_judge(&own.history.rounds[0], NULL), 0);
    return &own.history.rounds[0].verdict;
}

/* Only these anomalies are found, as often as the array says. */
static void assert_found(const char *text, const int64_t wanted[ANOMALY_COUNT]) {
    const struct verdict *verdict = judged(text);

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->found[i].count != wanted[i])
            fail_msg("%s: %s %" PRId64 " times, not %" PRId64, text, anomaly_name((enum anomaly)i),
                     verdict->found[i].count, wanted[i]);
}
#define FINDS(text, ...) assert_found(text, (const int64_t[ANOMALY_COUNT]){__VA_ARGS__})

/* ---- reading */

static void test_members_are_read_and_others_get_their_usual_values(void **state) {
    const struct verdict *verdict = judged(HEAD SOLD("A-1", 10, 20) TOLD(
        "sold_out", ",\"planned\":4,\"status\":410") PRODUCT ORDER("A-1") ORDER("A-2"));
    const struct round *round = &own.history.rounds[0];
    const struct record *record = round->recorder->records;

    assert_true(own.history.is_file && own.history.is_load && !own.history.is_cut);
    assert_true(verdict->not_asked[ANOMALY_TWIN] != NULL && round->is_shop_named);
    assert_string_equal(round->item->given, "my shop");
    assert_int_equal(round->recorder->ended, 2);
    assert_int_equal(record[0].planned_ns, 10);
    assert_int_equal(record[0].received_ns, 20);
    assert_int_equal(record[0].status, 200);
    assert_string_equal(record_key(&record[0]), "A-1");
    assert_int_equal(record[0].unit, -1);
    assert_int_equal(record[1].planned_ns, 4);
    assert_int_equal(record[1].status, 410);
    assert_true(record_is_nameless(&record[1]));
    assert_int_equal(round->ledgers[0].initial, 2);
    assert_int_equal(round->ledgers[0].counted, 2);
    assert_int_equal(round->ledgers[0].sale_count, 2);
    assert_int_equal(round->ledgers[0].order_count, 2);
}

static void test_a_last_line_without_newline_and_empty_lines_are_read(void **state) {
    char text[] = HEAD "\n" PRODUCT "\r\n" ORDER("x");

    text[strlen(text) - 1] = '\0';
    assert_int_equal(load_bytes(text, strlen(text)), 0);
    assert_int_equal(own.history.rounds[0].ledgers[0].order_count, 1);
}

/* As Postgres writes it, with spaces, and in any order. */
static void test_members_may_have_any_order_and_spaces(void **state) {
    (void)judged(HEAD "{\"available\" : 1, \"initial\" : 2, \"type\" : \"product\"}\n"
                      " { \"order_id\" : \"a\" , \"type\" : \"order\" } \n");
    assert_int_equal(own.history.rounds[0].ledgers[0].initial, 2);
    assert_string_equal(own.history.rounds[0].ledgers[0].orders[0].order_id, "a");
}

static void test_a_uuid_has_one_spelling(void **state) {
    (void)judged(HEAD SOLD("01900000-0000-7000-8000-00000000000A", 1, 2)
                     PRODUCT ORDER("01900000-0000-7000-8000-00000000000a"));
    assert_int_equal(own.history.rounds[0].verdict.found[ANOMALY_GHOST].count, 0);
}

/* ---- judging */

static void test_counts_show_what_counts_can_show(void **state) {
    FINDS(HEAD SOLD("a", 1, 9) SOLD("b", 2, 9) PRODUCT ORDER("a") ORDER("b"), 0);
    FINDS(HEAD SOLD("a", 1, 9) SOLD("b", 2, 9) SOLD("c", 3, 9) PRODUCT ORDER("a") ORDER("b")
              ORDER("c"),
          [ANOMALY_OVERSELL] = 1);
    FINDS(HEAD SOLD("a", 1, 9) "{\"type\":\"product\",\"initial\":2,\"available\":0}\n" ORDER("a"),
          [ANOMALY_LEAK] = 1);
    FINDS(HEAD SOLD("a", 1, 9) TOLD(
              "sold_out", "") "{\"type\":\"product\",\"initial\":2,\"available\":1}\n" ORDER("a"),
          [ANOMALY_UNDERSELL] = 1);
    FINDS(HEAD SOLD("a", 1, 9) TOLD("sold_out", "") SOLD("b", 30, 40) PRODUCT ORDER("a") ORDER("b"),
          [ANOMALY_EARLY_SOLD_OUT] = 1);
    assert_non_null(strstr(own.history.rounds[0].verdict.counterexample[0].line[2], "a unit"));
}

static void test_an_id_has_up_to_128_characters(void **state) {
    FINDS(HEAD SOLD(LONG_ID, 1, 9) SOLD("b", 2, 9) PRODUCT SALE(LONG_ID, "") ORDER(LONG_ID)
              SALE("b", "") ORDER("b"),
          0);
    assert_string_equal(record_key(&own.history.rounds[0].recorder->records[0]), LONG_ID);
    assert_string_equal(own.history.rounds[0].ledgers[0].orders[0].order_id, LONG_ID);
}

/* A unit came back: so a refusal before a sale may have been right. */
static void test_units_that_came_back_excuse_a_refusal(void **state) {
    char not_asked[VERDICT_NOT_ASKED];

    FINDS(HEAD SOLD("a", 1, 9) TOLD("sold_out", "") SOLD(
              "b", 30,
              40) "{\"type\":\"product\",\"initial\":3,\"available\":0,\"returned\":1}\n" ORDER("a")
              ORDER("b"),
          0);
    assert_string_equal(verdict_not_asked(&own.history.rounds[0].verdict, not_asked),
                        "TWIN and STALE, because the sales do not tell how many units they left; "
                        "UNDERSELL and EARLY-SOLD-OUT, because units can come back; "
                        "DUPLICATE, because the orders have no key, and no request was repeated; "
                        "UNBACKED, because the orders do not tell how many units are held for "
                        "them");
    FINDS(
        HEAD SOLD("a", 1, 9) TOLD("sold_out", "") SOLD(
            "b", 30,
            40) "{\"type\":\"product\",\"initial\":3,\"available\":1,\"can_return\":true}\n" ORDER("a")
            ORDER("b"),
        0);
}

static void test_a_count_below_zero_that_adds_up_is_no_leak(void **state) {
    FINDS(HEAD SOLD("a", 1, 9)
              SOLD("b", 2, 9) "{\"type\":\"product\",\"initial\":1,\"available\":-1}\n" ORDER("a")
                  ORDER("b"),
          [ANOMALY_OVERSELL] = 1);
}

static void test_replies_are_compared_with_the_orders_by_their_ids(void **state) {
    FINDS(HEAD SOLD("a", 1, 9)
              SOLD("b", 2, 9) "{\"type\":\"product\",\"initial\":2,\"available\":1}\n" ORDER("a"),
          [ANOMALY_GHOST] = 1);
    FINDS(HEAD SOLD("a", 1, 9) TOLD("busy", ",\"order_id\":\"b\"") PRODUCT ORDER("a") ORDER("b"),
          [ANOMALY_ORPHAN] = 1);
    FINDS(HEAD SOLD("a", 1, 9) PRODUCT ORDER("a") ORDER("b"), [ANOMALY_ORPHAN] = 1);
    FINDS(HEAD SOLD("a", 1, 9) TOLD("unknown", "") PRODUCT ORDER("a") ORDER("b"), 0);
    FINDS(HEAD SOLD("a", 1, 9) TOLD("unknown", ",\"order_id\":\"b\"") PRODUCT ORDER("a") ORDER("b"),
          0);
    FINDS(HEAD SOLD("a", 1, 9)
              SOLD("a", 2, 9) "{\"type\":\"product\",\"initial\":1,\"available\":0}\n" ORDER("a"),
          [ANOMALY_GHOST] = 1);
}

/* A key joins the requests of one customer; the shop's order ids need not be keys. */
static void test_one_key_buys_one_order(void **state) {
#define YES(key, id)                                                                               \
    "{\"type\":\"request\",\"sent\":1,\"received\":9,\"outcome\":\"sold\",\"key\":\"" key          \
    "\",\"order_id\":\"" id "\",\"is_repeat\":true}\n"
    FINDS(HEAD YES("k", "a") YES("k", "b") PRODUCT ORDER("a") ORDER("b"), [ANOMALY_DUPLICATE] = 1);
    FINDS(HEAD YES("k", "a") YES("k", "a") YES("j", "b") PRODUCT ORDER("a") ORDER("b"), 0);
    FINDS(HEAD YES("a", "a") PRODUCT ORDER("a") ORDER("a"), [ANOMALY_DUPLICATE] = 1);
    FINDS(HEAD YES("k", "a") YES("j", "a") YES("l", "b") PRODUCT ORDER("a") ORDER("b"),
          [ANOMALY_GHOST] = 1);
}

static void test_with_remaining_twins_and_stale_counts_are_found(void **state) {
    const char twins[] = HEAD SOLD("a", 1, 9)
        SOLD("b", 2, 9) "{\"type\":\"product\",\"initial\":2,\"available\":1}\n" SALE(
            "a", ",\"remaining\":1") SALE("b", ",\"remaining\":1");
    const char stale[] = HEAD SOLD("a", 1, 9) SOLD("b", 20, 30)
        PRODUCT SALE("a", ",\"remaining\":0") SALE("b", ",\"remaining\":1");

    FINDS(twins, [ANOMALY_TWIN] = 1);
    assert_null(own.history.rounds[0].verdict.not_asked[ANOMALY_TWIN]);
    FINDS(stale, [ANOMALY_STALE] = 1);
    FINDS(HEAD SOLD("a", 1, 9) SOLD("b", 2, 9) PRODUCT SALE("a", ",\"remaining\":1")
              SALE("b", ",\"remaining\":0") ORDER("a") ORDER("b"),
          0);
}

#define ONE_LEFT "{\"type\":\"product\",\"initial\":2,\"available\":1}\n"
#define WRITE(seq, found, left)                                                                    \
    "{\"type\":\"write\",\"seq\":" #seq ",\"found\":" #found ",\"left\":" #left ",\"tx\":1" #seq   \
    ",\"at\":\"2026-11-21T10:01:02.12345" #seq "Z\"}\n"

static void test_writes_show_which_orders_took_one_unit(void **state) {
    const struct verdict *verdict = judged(HEAD SOLD("a", 1, 9) SOLD("b", 2, 9) ONE_LEFT ORDER("a")
                                               WRITE(2, 1, 1) WRITE(1, 2, 1) ORDER("b"));

    assert_int_equal(verdict->found[ANOMALY_TWIN].count, 1);
    assert_string_equal(verdict->found[ANOMALY_TWIN].example[0],
                        "transaction 12 at 10:01:02.123452 found 1 left and left 1: it had read 2, "
                        "and it took the same unit as transaction 11 at 10:01:02.123451");
    assert_null(verdict->not_asked[ANOMALY_TWIN]);
    FINDS(HEAD SOLD("a", 1, 9) ONE_LEFT ORDER("a") WRITE(2, 1, 1) WRITE(1, 2, 1), 0);
}

/* ---- refusing: the line, the member, and what it must be */

static const struct {
    const char *text;
    int line;
    const char *reason;
} bad_lines[] = {
    {"{\"type\":\"load\"}\n", 1, "its \"version\" is missing"},
    {"{\"type\":\"load\",\"version\":2}\n", 1, "its \"version\" must be 1"},
    {"{\"type\":\"load\",\"version\":1,\"name\":7}\n", 1, "its \"name\" must be a text"},
    {HEAD, 1, "no line of the type product"},
    {HEAD PRODUCT HEAD, 3, "a line of the type load came before"},
    {HEAD PRODUCT "{\"type\":\"run\"}\n", 3,
     "its \"type\" must be one of \"product\", \"request\", \"sale\", \"order\", \"write\""},
    {HEAD PRODUCT "{\"type\":\"request\"\n", 3, "it is no JSON"},
    {HEAD PRODUCT "5\n", 3, "it is no JSON"},
    {HEAD PRODUCT ORDER("a b"), 3, "its \"order_id\" must be an id: 1 to 128 "},
    {HEAD PRODUCT ORDER(""), 3, "its \"order_id\" must be an id"},
    {HEAD PRODUCT ORDER("a\\u0041"), 3, "its \"order_id\" must be an id"},
    {HEAD PRODUCT ORDER(LONG_ID "1"), 3, "1 to 128 "},
    {HEAD PRODUCT SALE("a", ",\"unit\":1") SALE("b", ""), 4,
     "its \"unit\" must be in all sale lines, or in none"},
    {HEAD PRODUCT SALE("a", ",\"quantity\":-1"), 3,
     "its \"quantity\" must be a whole number from 0 to 1000000000"},
    {HEAD PRODUCT SALE("a", ",\"key\":\"\""), 3, "its \"key\" must be an id"},
    {HEAD PRODUCT SALE("a", ",\"reserved\":-1"), 3,
     "its \"reserved\" must be a whole number from 0 to 1000000000000"},
    {HEAD ORDER("a") PRODUCT, 2, "a line of the type product must come before it"},
    {HEAD SALE("a", "") PRODUCT, 2, "a line of the type product must come before it"},
    {HEAD "{\"type\":\"write\",\"seq\":1,\"left\":1}\n" PRODUCT, 2,
     "a line of the type product must come before it"},
    {HEAD PRODUCT "{\"type\":\"write\",\"seq\":1}\n", 3, "its \"left\" is missing"},
    {HEAD PRODUCT SALE("a", ",\"at\":\"today\""), 3, "its \"at\" must be a time such as "},
    {HEAD PRODUCT SALE("a", "") SALE("b", ",\"remaining\":1"), 4,
     "its \"remaining\" must be in all sale lines, or in none"},
    {HEAD "{\"type\":\"product\",\"initial\":2,\"available\":1,\"can_return\":true}\n" SALE(
         "a", ",\"remaining\":1"),
     3, "its \"remaining\" must be left out, because units of its product can come back"},
    {HEAD "{\"type\":\"product\",\"item\":1,\"initial\":2,\"available\":1}\n", 2,
     "its \"item\" must be 0"},
    {HEAD "{\"type\":\"product\",\"initial\":-1,\"available\":1}\n", 2,
     "its \"initial\" must be a whole number from 0 to 1000000000000"},
    {HEAD "{\"type\":\"product\",\"initial\":1}\n", 2, "its \"available\" is missing"},
    {HEAD PRODUCT TOLD("yes", ""), 3, "its \"outcome\" must be one of \"sold\", \"sold_out\""},
    {HEAD PRODUCT TOLD("busy", ",\"item\":1"), 3, "its \"item\" must be below 1"},
    {HEAD PRODUCT TOLD("busy", ",\"is_repeat\":1"), 3, "must be true or false"},
    {HEAD PRODUCT TOLD("busy", ",\"colour\":1"), 3, "its \"colour\" is unknown"},
    {HEAD PRODUCT TOLD("busy", ",\"sent\":11"), 3, "its \"sent\" is given twice"},
    {HEAD PRODUCT TOLD("sold", ""), 3, "its \"order_id\" or its \"key\" must be given"},
    {HEAD PRODUCT SOLD("a", 0, 5), 3, "its \"sent\" must be at least 1"},
    {HEAD PRODUCT SOLD("a", 6, 5), 3, "its \"received\" must not be before its \"sent\""},
    {HEAD PRODUCT SOLD("a", 6, 99999999999999999999), 3,
     "its \"received\" must be a whole number from 0 to 1000000000000000000"},
    {HEAD PRODUCT SOLD("a", 1.5, 6), 3, "its \"sent\" must be a whole number"},
    {HEAD PRODUCT PRODUCT SALE("a", ",\"remaining\":1") "{\"type\":\"product\",\"initial\":2,"
                                                        "\"available\":0}\n" ORDER("b"),
     6, "product 2 has order lines alone"},
};

static void test_a_bad_line_is_named(void **state) {
    char line[20];

    for (size_t i = 0; i < sizeof bad_lines / sizeof bad_lines[0]; i++) {
        snprintf(line, sizeof line, " line %d: ", bad_lines[i].line);
        if (load_bytes(bad_lines[i].text, strlen(bad_lines[i].text)) != -1 ||
            strstr(own.why.text, bad_lines[i].reason) == NULL || strstr(own.why.text, line) == NULL)
            fail_msg("%s\ngives\n%s\ninstead of%s%s", bad_lines[i].text, own.why.text, line,
                     bad_lines[i].reason);
    }
}

static void test_a_nul_byte_is_no_json(void **state) {
    static const char text[] = HEAD PRODUCT "{\"type\":\"order\",\0\"order_id\":\"a\"}\n";

    assert_int_equal(load_bytes(text, sizeof text - 1), -1);
    assert_non_null(strstr(own.why.text, " line 3: it is no JSON"));
}

/* One byte more than the longest line is refused; the longest one is read. */
static void test_a_line_has_an_end(void **state) {
    const size_t most = (size_t)1 << 20, before = strlen(HEAD PRODUCT);
    char *text = malloc(before + most + 2);

    assert_non_null(text);
    memcpy(text, HEAD PRODUCT, before);
    memset(text + before, ' ', most + 2);
    memcpy(text + before, "{\"type\":\"order\",\"order_id\":\"a\"}", 31);
    text[before + most] = '\n';
    assert_int_equal(load_bytes(text, before + most + 1), 0);
    text[before + most] = ' ';
    text[before + most + 1] = '\n';
    assert_int_equal(load_bytes(text, before + most + 2), -1);
    assert_non_null(strstr(own.why.text, " line 3: it is longer than 1048576 bytes"));
    free(text);
}

static void test_a_file_that_cannot_be_read_twice_is_refused(void **state) {
    int ends[2];
    char path[40];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], HEAD PRODUCT, strlen(HEAD PRODUCT)), strlen(HEAD PRODUCT));
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(history_load(&own.history, path, &own.why), -1);
    assert_non_null(strstr(own.why.text, "must be one that can be read twice"));
    close(ends[0]);
}

static void load_again(void *arg) {
    history_free(&own.history);
    if (history_load(&own.history, own.path, &own.why) == 0)
        assert_int_equal(own.history.rounds[0].ledgers[0].order_count, 2);
}

static void test_memory_may_fail_at_any_line(void **state) {
    (void)judged(HEAD SOLD("a", 1, 9) PRODUCT SALE("a", ",\"remaining\":1")
                     SALE("b", ",\"remaining\":0"));
    fault_each_allocation(load_again, NULL);
}

/* The second reading of this file is longer than its first. */
struct growing {
    const char *texts[2];
    size_t at;
    int time;
};

static ssize_t growing_read(void *cookie, char *to, size_t size) {
    struct growing *growing = cookie;
    const char *from = growing->texts[growing->time] + growing->at;
    size_t length = strlen(from) < size ? strlen(from) : size;

    memcpy(to, from, length);
    growing->at += length;
    return (ssize_t)length;
}

static int growing_seek(void *cookie, off64_t *offset, int whence) {
    struct growing *growing = cookie;

    growing->time = 1;
    growing->at = 0;
    return 0;
}

static void test_a_file_that_grows_is_refused(void **state) {
    static const char *const more[] = {PRODUCT, TOLD("unknown", "")};

    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char text[1024];
        struct growing growing = {.texts = {HEAD PRODUCT, text}};
        const cookie_io_functions_t functions = {.read = growing_read, .seek = growing_seek};
        struct history_lines lines = {.from = fopencookie(&growing, "r", functions)};
        struct history_line first;
        size_t length;
        char *line;

        (void)snprintf(text, sizeof text, "%s%s", growing.texts[0], more[i]);
        assert_non_null(lines.from);
        (void)setvbuf(lines.from, NULL, _IONBF, 0);
        assert_int_equal(history_lines_next(&lines, &line, &length, &own.why), 1);
        assert_int_equal(history_line_cut(&first, line, length, &own.why), 0);
        assert_int_equal(load_read(&own.history, &lines, &first, own.folder, &own.why), -1);
        assert_non_null(strstr(own.why.text, "still written"));
        history_free(&own.history);
        history_lines_free(&lines);
        assert_int_equal(fclose(lines.from), 0);
    }
}

int main(void) {
#define OWN(test) cmocka_unit_test_setup_teardown(test, load_set_up, load_tear_down)
    const struct CMUnitTest tests[] = {
        OWN(test_a_file_that_grows_is_refused),
        OWN(test_members_are_read_and_others_get_their_usual_values),
        OWN(test_a_last_line_without_newline_and_empty_lines_are_read),
        OWN(test_members_may_have_any_order_and_spaces),
        OWN(test_a_uuid_has_one_spelling),
        OWN(test_writes_show_which_orders_took_one_unit),
        OWN(test_counts_show_what_counts_can_show),
        OWN(test_an_id_has_up_to_128_characters),
        OWN(test_units_that_came_back_excuse_a_refusal),
        OWN(test_a_count_below_zero_that_adds_up_is_no_leak),
        OWN(test_replies_are_compared_with_the_orders_by_their_ids),
        OWN(test_one_key_buys_one_order),
        OWN(test_with_remaining_twins_and_stale_counts_are_found),
        OWN(test_a_bad_line_is_named),
        OWN(test_a_nul_byte_is_no_json),
        OWN(test_a_line_has_an_end),
        OWN(test_a_file_that_cannot_be_read_twice_is_refused),
        OWN(test_memory_may_fail_at_any_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

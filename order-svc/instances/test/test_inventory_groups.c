/* Orders of one turn of the loop go as one request. Each has its own answer, and a failure of one
 * does not reach the others. */
#include "order_fixture.h"

#define MANY 100

/* One reservation in a fiber of its own. */
struct buyer {
    struct inventory_answer answer;
    char order_id[UUID_TEXT];
    bool may_be_repeat, is_done;
    int64_t deadline_ms;
};

static struct buyer buyers[MANY];

static void buy(void *arg) {
    struct buyer *buyer = arg;

    inventory_reserve(fixture.inventory, buyer->order_id, A_UUID, buyer->may_be_repeat,
                      buyer->deadline_ms, &buyer->answer);
    json_decref(buyer->answer.body);
    buyer->is_done = true;
}

static void begin_one(struct buyer *buyer, int number, int64_t deadline_ms) {
    *buyer = (struct buyer){.deadline_ms = deadline_ms};
    order_id_of(number, buyer->order_id);
    assert_int_equal(fiber_start(buy, buyer), 0);
}

/* Reserve all in one turn. */
static void begin(int count, int64_t timeout_ms) {
    int64_t deadline_ms = clock_now_ms() + timeout_ms;

    for (int i = 0; i < count; i++)
        begin_one(&buyers[i], i + 1, deadline_ms);
}

static bool are_done(int count) {
    for (int i = 0; i < count; i++)
        if (!buyers[i].is_done)
            return false;
    return true;
}

static void finish(int count) {
    WAIT_FOR(&fixture.loop, are_done(count));
}

/* A letter for each order: `s` sold, `u` unknown, `-` not sent, `r` refused. */
static void expect(const char *outcomes) {
    for (int i = 0; outcomes[i] != '\0'; i++) {
        const struct inventory_answer *answer = &buyers[i].answer;
        char outcome = answer->outcome == HTTP_CALL_UNKNOWN    ? 'u'
                       : answer->outcome == HTTP_CALL_NOT_SENT ? '-'
                       : answer->status == 201                 ? 's'
                                                               : 'r';

        assert_true(buyers[i].is_done);
        assert_int_equal(outcome, outcomes[i]);
        assert_int_equal(answer->message[0] != '\0', answer->outcome != HTTP_CALL_ANSWERED);
    }
}

/* Reserve as many as there are letters. */
static void reserve(const char *outcomes) {
    int count = (int)strlen(outcomes);

    begin(count, PATIENCE_MS);
    finish(count);
    expect(outcomes);
}

/* `script` tells what the instance does with each order, `outcomes` the outcome of each. */
static void play(const char *script, const char *outcomes) {
    open_inventory(1);
    fixture.peers[0].script = script;
    reserve(outcomes);
    assert_int_equal(fixture.peers[0].calls, 1);
}

static void test_orders_of_a_turn_are_one_request(void **state) {
    fixture.peers[0].timing = "wait;dur=1";
    play("aaaaa", "sssss");
    assert_int_equal(fixture.peers[0].reserved, 5);
    assert_int_equal(fixture.peers[0].strangers, 0);
    assert_string_equal(buyers[4].answer.timing, "wait;dur=1");
}

static void test_one_order_goes_the_plain_way(void **state) {
    open_inventory(1);
    reserve("s");
    assert_int_equal(fixture.peers[0].calls, 1);
    assert_int_equal(fixture.peers[0].groups, 0);
}

static void test_the_orders_of_a_turn_are_spread_over_all_instances(void **state) {
    open_inventory(3);
    reserve("ssssssssssss");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture.peers[i].calls, 1);
        assert_int_equal(fixture.peers[i].reserved, 4);
    }
}

static void test_more_than_a_request_takes_are_two(void **state) {
    open_inventory(1);
    begin(MANY, PATIENCE_MS);
    finish(MANY);
    assert_int_equal(fixture.peers[0].calls, 2);
    assert_int_equal(fixture.peers[0].reserved, MANY);
}

static void test_a_slow_sale_delays_no_other(void **state) {
    open_inventory(1);
    fixture.peers[0].script = "aah";
    begin(3, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, buyers[0].is_done && buyers[1].is_done);
    assert_false(buyers[2].is_done);
    peer_let_go(&fixture.peers[0]);
    finish(3);
    expect("sss");
}

static void test_a_line_may_come_in_pieces(void **state) {
    open_inventory(1);
    fixture.peers[0].script = "as";
    begin(2, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, buyers[0].is_done);
    peer_let_go(&fixture.peers[0]);
    finish(2);
    expect("ss");
}

/* And an order with half a line. */
static void test_a_broken_connection_leaves_unknown_those_without_a_line(void **state) {
    open_inventory(1);
    fixture.peers[0].script = "aasa";
    begin(4, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, buyers[1].is_done);
    peer_close(&fixture.peers[0]);
    finish(4);
    expect("ssuu");
}

static void test_an_order_without_a_line_is_unknown(void **state) {
    play("a-a", "sus");
    assert_string_equal(buyers[1].answer.message, "the reply has no line for it");
}

static void test_a_line_that_cannot_be_read_is_none(void **state) {
    play("amana", "susus");
}

static void test_a_line_for_an_order_of_nobody_is_none(void **state) {
    play("aua", "sus");
}

static void test_a_second_line_for_an_order_changes_nothing(void **state) {
    play("dda", "sss");
}

static void test_a_line_without_an_end_ends_the_call(void **state) {
    play("ala", "suu");
}

static void test_lines_for_nobody_are_told_once_for_a_reply(void **state) {
    catch_log();
    play("afufma", "suuuus");
    assert_int_equal(said("lines of the inventory answer no order"), 1);
    assert_int_equal(said("lines=3334 "), 1);
}

/* 4,096 bytes for each order. */
static void test_a_reply_that_is_too_long_is_read_to_its_most(void **state) {
    catch_log();
    play("affffffffffa", "suuuuuuuuuuu");
    assert_string_equal(buyers[11].answer.message, "broken off");
    assert_int_equal(said("lines of the inventory answer no order"), 1);
    assert_int_equal(said("bytes=49152"), 1);
}

static void test_a_refusal_of_all_is_the_answer_to_each(void **state) {
    fixture.peers[0].refusal = 503;
    play("aaa", "rrr");
    assert_int_equal(buyers[2].answer.status, 503);
}

static void test_what_could_not_be_sent_goes_to_another_instance(void **state) {
    open_inventory(2);
    peer_close(&fixture.peers[0]);
    reserve("ssssss");
    assert_int_equal(fixture.peers[1].reserved, 6);
}

static void test_with_all_down_nothing_is_sent(void **state) {
    open_inventory(2);
    peer_close(&fixture.peers[0]);
    peer_close(&fixture.peers[1]);
    reserve("----");
}

static void test_two_with_one_key_go_apart(void **state) {
    open_inventory(1);
    begin(2, PATIENCE_MS);
    buyers[2] = (struct buyer){.deadline_ms = buyers[0].deadline_ms, .may_be_repeat = true};
    order_id_of(1, buyers[2].order_id);
    assert_int_equal(fiber_start(buy, &buyers[2]), 0);
    finish(3);
    expect("sss");
    assert_int_equal(fixture.peers[0].groups, 1);
    assert_int_equal(fixture.peers[0].calls, 2);
}

static void test_another_deadline_goes_apart(void **state) {
    open_inventory(1);
    fixture.peers[0].is_holding = true;
    begin(2, PATIENCE_MS);
    begin_one(&buyers[2], 3, clock_now_ms() + 700);
    WAIT_FOR(&fixture.loop, buyers[2].is_done);
    assert_int_equal(buyers[2].answer.outcome, HTTP_CALL_UNKNOWN);
    assert_false(buyers[0].is_done || buyers[1].is_done);
    peer_let_go(&fixture.peers[0]);
    finish(2);
    expect("ssu");
}

static void test_the_deadline_leaves_orders_without_a_line_unknown(void **state) {
    open_inventory(1);
    fixture.peers[0].script = "aha";
    begin(3, 500);
    finish(3);
    expect("suu");
}

static void test_a_close_ends_gathering_groups_and_sent_ones(void **state) {
    open_inventory(2);
    fixture.peers[0].is_holding = fixture.peers[1].is_holding = true;
    begin(10, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, fixture.peers[0].holding > 0 && fixture.peers[1].holding > 0);
    for (int i = 10; i < 15; i++)
        begin_one(&buyers[i], i, clock_now_ms() + PATIENCE_MS);
    close_inventory();
    expect("uuuuuuuuuu-----");
}

static void live_without_memory(void *arg) {
    struct buyer three[3] = {{.is_done = false}};
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;
    char urls[URLS_BYTES];

    peer_urls(0, 1, urls);
    if (open_inventory_at(urls, "hush") != 0) {
        for (int i = 0; i < 10; i++) /* let the open connections close */
            (void)uv_run(&fixture.loop, UV_RUN_ONCE);
        return;
    }
    for (int i = 0; i < 3; i++) {
        three[i].deadline_ms = deadline_ms;
        order_id_of(i, three[i].order_id);
        three[i].is_done = fiber_start(buy, &three[i]) != 0;
    }
    WAIT_FOR(&fixture.loop, three[0].is_done && three[1].is_done && three[2].is_done);
    close_inventory();
}

static void test_memory_may_fail_at_every_allocation(void **state) {
    fail_each_allocation(live_without_memory, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PEERS_TEST(test_orders_of_a_turn_are_one_request),
        PEERS_TEST(test_one_order_goes_the_plain_way),
        PEERS_TEST(test_the_orders_of_a_turn_are_spread_over_all_instances),
        PEERS_TEST(test_more_than_a_request_takes_are_two),
        PEERS_TEST(test_a_slow_sale_delays_no_other),
        PEERS_TEST(test_a_line_may_come_in_pieces),
        PEERS_TEST(test_a_broken_connection_leaves_unknown_those_without_a_line),
        PEERS_TEST(test_an_order_without_a_line_is_unknown),
        PEERS_TEST(test_a_line_that_cannot_be_read_is_none),
        PEERS_TEST(test_a_line_for_an_order_of_nobody_is_none),
        PEERS_TEST(test_a_second_line_for_an_order_changes_nothing),
        PEERS_TEST(test_a_line_without_an_end_ends_the_call),
        PEERS_TEST(test_lines_for_nobody_are_told_once_for_a_reply),
        PEERS_TEST(test_a_reply_that_is_too_long_is_read_to_its_most),
        PEERS_TEST(test_a_refusal_of_all_is_the_answer_to_each),
        PEERS_TEST(test_what_could_not_be_sent_goes_to_another_instance),
        PEERS_TEST(test_with_all_down_nothing_is_sent),
        PEERS_TEST(test_two_with_one_key_go_apart),
        PEERS_TEST(test_another_deadline_goes_apart),
        PEERS_TEST(test_the_deadline_leaves_orders_without_a_line_unknown),
        PEERS_TEST(test_a_close_ends_gathering_groups_and_sent_ones),
        PEERS_TEST(test_memory_may_fail_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The stock in Redis: segments, notes, and the way of each sale to the ledger, whatever dies on it.
 */
#include "instance.h"

#include "own_redis.h"
#include "pending.h"
#include "reservation_sql.h"

#define BUYERS 60

static struct own_redis own;
static struct buyer buyers[BUYERS];

static int make_all(void **state) {
    own_redis_start(&own);
    (void)setenv("TEST_REDIS", own.url, 1);
    return make_schema(state);
}

static int drop_all(void **state) {
    own_redis_stop(&own);
    return drop_schema(state);
}

/* Of the product, by the ledger. */
static bool is_sold(const char *id, long units) {
    return sold(id) == units;
}

/* In a fiber of the test's own. */
struct doing {
    void (*what)(struct doing *doing);
    const char *id;
    size_t buyers;
    struct stock_left left;
    enum outcome outcome;
    bool is_found, is_done;
};

static void run_doing(void *arg) {
    struct doing *doing = arg;

    doing->what(doing);
    doing->is_done = true;
}

static void do_in_fiber(struct doing *doing) {
    assert_int_equal(fiber_start(run_doing, doing), 0);
    WAIT_FOR(&instance.loop, doing->is_done);
    assert_int_equal(doing->outcome, OUTCOME_OK);
}

static void prepare_and_count(struct doing *doing) {
    char message[MESSAGE_BYTES];
    struct product *product;

    doing->outcome = product_get(instance.store.products, doing->id, &product, message);
    assert_int_equal(doing->outcome, OUTCOME_OK);
    selling_prepare(&instance.store, product);
    doing->outcome = store_live_count(&instance.store, product, &doing->left, message);
    product_put(product);
}

/* As GET /products/{id} does. */
static struct stock_left show(const char *id) {
    struct doing doing = {.what = prepare_and_count, .id = id};

    do_in_fiber(&doing);
    return doing.left;
}

static void cancel(struct doing *doing) {
    char product_id[UUID_TEXT], message[MESSAGE_BYTES];

    doing->outcome = reservation_sql_cancel(instance.store.pool, doing->id, &doing->is_found,
                                            product_id, message);
}

/* Each order of the first `buyers`. */
static void bring(struct doing *doing) {
    char message[MESSAGE_BYTES];

    for (size_t i = 0; i < doing->buyers; i++) {
        doing->outcome = pending_bring(instance.store.pending, buyers[i].order_id, message);
        assert_int_equal(doing->outcome, OUTCOME_OK);
    }
}

static void buy_all(const char *id, size_t count) {
    for (size_t i = 0; i < count; i++)
        begin(&buyers[i], id, NULL);
    finish(buyers, count);
}

static void test_a_crowd_buys_each_unit_once_and_the_ledger_follows(void **state) {
    static const struct {
        const char *strategy;
        int stock;
    } cases[] = {{"prewarm", 23},          {"prewarm,ack=ledger", 23}, {"prewarm,shards=1", 40},
                 {"prewarm,shards=50", 3}, {"prewarm,work=1ms", 50},   {"prewarm", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int stock = cases[i].stock;
        char id[UUID_TEXT];

        make_product(id, cases[i].strategy, stock);
        buy_all(id, BUYERS);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), stock);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD_OUT), BUYERS - stock);
        WAIT_FOR(&instance.loop, is_sold(id, stock));
        assert_int_equal(twins(id), 0);
        assert_int_equal(left(id), 0);
        WAIT_FOR(&instance.loop, own_redis_do(&own, "SISMEMBER sale:prewarmed %s", id) == 0);
        assert_int_equal(ask("SELECT count(*) FROM reservation r JOIN stock s USING (product_id, "
                             "shard) WHERE product_id = '%s' AND unit - first_unit <> remaining",
                             id),
                         0);
    }
}

static void test_under_ack_ledger_the_ledger_has_it_before_the_answer(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "prewarm,ack=ledger", 20);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sold(id), 1);
    assert_int_equal(left(id), 19);
    assert_int_equal(ask("SELECT unit FROM reservation WHERE product_id = '%s'", id),
                     buyer.selling.sold.unit);
}

/* Two rows at most are in Redis at a time: what was not handed out is safe from it. */
static void test_segments_are_loaded_when_the_one_before_is_half_sold(void **state) {
    struct buyer buyer;
    struct stock_left now;
    char id[UUID_TEXT];

    make_product(id, "prewarm", 40);
    now = show(id);
    assert_int_equal(now.available, 40);
    assert_int_equal(now.in_redis, 4);
    assert_int_equal(show(id).in_redis, 4);
    for (int sales = 1; sales <= 2; sales++)
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    now = show(id);
    assert_int_equal(now.available, 38);
    assert_int_equal(now.in_redis, 6);
    assert_int_equal(
        ask("SELECT count(*) FROM stock WHERE product_id = '%s' AND loaded_into <> ''", id), 2);
}

static void test_a_repeat_gets_the_first_unit(void **state) {
    static const char *const all[] = {"prewarm", "prewarm,ack=ledger"};

    for (size_t i = 0; i < 2; i++) {
        char id[UUID_TEXT], order[UUID_TEXT];

        make_product(id, all[i], 5);
        uuid_v7(order);
        for (size_t j = 0; j < 10; j++)
            begin(&buyers[j], id, order);
        finish(buyers, 10);
        assert_int_equal(count_outcome(buyers, 10, OUTCOME_SOLD), 1);
        assert_int_equal(count_outcome(buyers, 10, OUTCOME_REPEATED), 9);
        for (size_t j = 0; j < 10; j++)
            assert_int_equal(buyers[j].selling.sold.unit, buyers[0].selling.sold.unit);
        assert_int_equal(sold(id), 1);
    }
}

/* Sold out and written, Redis forgets the orders, and the ledger answers. */
static void test_a_repeat_after_the_sell_out_gets_the_first_unit(void **state) {
    struct buyer first, again;
    char id[UUID_TEXT];

    make_product(id, "prewarm", 2);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD_OUT);
    WAIT_FOR(&instance.loop, own_redis_do(&own, "EXISTS sale:{%s}:stock:orders", id) == 0);
    assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
    assert_int_equal(again.selling.sold.unit, first.selling.sold.unit);
    assert_int_equal(sold(id), 2);
}

/* Postgres has handed the row out, and Redis has not had it. */
static void test_a_segment_whose_loading_died_is_loaded_again(void **state) {
    redisReply *token;
    char id[UUID_TEXT];

    make_product(id, "prewarm,shards=3", 30);
    (void)show(id);
    token = redisCommand(own.admin, "HGET sale:{%s}:stock data_set", id);
    run_sql("UPDATE stock SET loaded_into = '%s' WHERE product_id = '%s' AND shard = 1", token->str,
            id);
    freeReplyObject(token);
    buy_all(id, 40);
    assert_int_equal(count_outcome(buyers, 40, OUTCOME_SOLD), 30);
    WAIT_FOR(&instance.loop, is_sold(id, 30));
    assert_int_equal(twins(id), 0);
}

/* A note as another instance left it, `age_ms` old. */
static void leave_note(const char *id, const char *order, const char *note, long long age_ms) {
    const long long now_ms = clock_wall_us() / 1000;

    (void)own_redis_do(&own, "HSET sale:{%s}:stock:orders %s %s", id, order, note);
    (void)own_redis_do(&own, "ZADD sale:{%s}:stock:pending %lld %s", id, now_ms - age_ms, order);
}

static bool is_noted(const char *id) {
    return own_redis_do(&own, "ZCARD sale:{%s}:stock:pending", id) > 0;
}

static void test_what_a_killed_instance_left_behind_is_brought(void **state) {
    char id[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "prewarm,shards=1", 5);
    (void)show(id);
    buy_all(id, 1);
    uuid_v7(order);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 3", id);
    leave_note(id, order, "0 1 4 other", 60000);
    WAIT_FOR(&instance.loop, is_sold(id, 2));
    assert_int_equal(ask("SELECT unit FROM reservation WHERE order_id = '%s' AND instance = 'other'"
                         " AND remaining = 3",
                         order),
                     4);
    assert_int_equal(left(id), 3);
    WAIT_FOR(&instance.loop, !is_noted(id));
}

/* Nor is it in the way of the others. */
static void test_a_note_that_is_none_sells_nothing(void **state) {
    char id[UUID_TEXT], order[UUID_TEXT], other[UUID_TEXT];

    make_product(id, "prewarm,shards=1", 5);
    (void)show(id);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 4", id);
    uuid_v7(order);
    uuid_v7(other);
    leave_note(id, order, "0-x", 60000);
    leave_note(id, other, "0 1 5 other", 50000);
    WAIT_FOR(&instance.loop, ask("SELECT count(*) FROM reservation WHERE order_id = '%s'", other));
    assert_int_equal(sold(id), 1);
    assert_int_equal(left(id), 4);
}

static void test_a_unit_that_is_none_is_not_sold(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "prewarm,shards=1", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock first -5", id);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_FAILED);
}

/* Brought, committed, killed before the note went; and meanwhile it was cancelled. */
static void test_an_order_that_was_cancelled_does_not_come_back(void **state) {
    struct buyer buyer, again;
    struct doing doing = {.what = cancel, .id = buyer.order_id};
    char id[UUID_TEXT];

    make_product(id, "prewarm,ack=ledger,shards=1", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    do_in_fiber(&doing);
    assert_true(doing.is_found);
    leave_note(id, buyer.order_id, "0 1 5 other", 60000);
    WAIT_FOR(&instance.loop, !is_noted(id));
    assert_int_equal(sold(id), 0);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 1);
    assert_int_equal(sell(&again, id, buyer.order_id), OUTCOME_SOLD);
    assert_int_equal(left(id), 3);
}

static void test_a_note_that_two_bring_is_one_sale(void **state) {
    struct doing doing[4];
    char id[UUID_TEXT];

    make_product(id, "prewarm", 50);
    buy_all(id, 30);
    for (size_t i = 0; i < 4; i++) {
        doing[i] = (struct doing){.what = bring, .buyers = 30};
        assert_int_equal(fiber_start(run_doing, &doing[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        WAIT_FOR(&instance.loop, doing[i].is_done);
    assert_int_equal(sold(id), 30);
    assert_int_equal(left(id), 20);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 0);
}

/* Such as one whose database was made anew. */
static void test_a_product_that_is_gone_holds_up_no_other(void **state) {
    struct doing doing = {.what = bring, .buyers = 1};
    char gone[UUID_TEXT], id[UUID_TEXT], order[UUID_TEXT];

    uuid_v7(gone);
    uuid_v7(order);
    (void)own_redis_do(&own, "SADD sale:prewarmed %s", gone);
    leave_note(gone, order, "0 1 5 other", 60000);
    make_product(id, "prewarm", 5);
    buy_all(id, 1);
    do_in_fiber(&doing);
    assert_int_equal(sold(id), 1);
    (void)own_redis_do(&own, "SREM sale:prewarmed %s", gone);
}

/* Redis took a unit twice, as one that forgot its last second does. */
static void test_a_unit_that_redis_sells_twice_is_written_once(void **state) {
    struct buyer first, second, again;
    char id[UUID_TEXT];

    make_product(id, "prewarm,ack=ledger,shards=1", 5);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 5", id);
    assert_int_equal(sell(&second, id, NULL), OUTCOME_CONFLICT);
    assert_int_equal(sell(&again, id, second.order_id), OUTCOME_SOLD);
    assert_int_equal(sold(id), 2);
    assert_int_equal(twins(id), 0);
    assert_int_equal(left(id), 3);
}

static void test_a_redis_that_lost_its_data_sells_only_what_it_never_had(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];
    size_t more = 0;

    make_product(id, "prewarm,ack=ledger,shards=4", 40);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "FLUSHALL");
    assert_int_equal(show(id).available, 30);
    for (; sell(&buyer, id, NULL) == OUTCOME_SOLD; more++)
        assert_true(buyer.selling.sold.unit > 10);
    assert_int_equal(buyer.selling.outcome, OUTCOME_SOLD_OUT);
    assert_int_equal(more, 30);
    assert_int_equal(twins(id), 0);
    assert_int_equal(left(id), 9);
}

static void test_an_order_id_of_another_product_gives_its_unit_back(void **state) {
    struct buyer first, second;
    char id[UUID_TEXT], other[UUID_TEXT];

    make_product(id, "atomic", 5);
    make_product(other, "prewarm,ack=ledger", 1);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&second, other, first.order_id), OUTCOME_KEY_REUSED);
    assert_int_equal(sell(&second, other, NULL), OUTCOME_SOLD);
    assert_int_equal(second.selling.sold.unit, 1);
    assert_int_equal(sell(&second, other, NULL), OUTCOME_SOLD_OUT);
}

/* The ledger has the key under the product whose sale was told. */
static void check_key(const struct buyer two[2]) {
    const struct buyer *won = &two[two[0].selling.outcome == OUTCOME_SOLD ? 0 : 1];

    assert_int_equal(count_outcome(two, 2, OUTCOME_SOLD), 1);
    assert_int_equal(count_outcome(two, 2, OUTCOME_KEY_REUSED), 1);
    assert_int_equal(ask("SELECT unit FROM reservation WHERE order_id = '%s' AND product_id = '%s'",
                         won->order_id, won->product_id),
                     won->selling.sold.unit);
}

/* Each unit is for sale, sold or back, and nothing is still to come. */
static void check_units(const char *id, int stock) {
    assert_int_equal(own_redis_do(&own, "ZCARD sale:{%s}:stock:pending", id), 0);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id) +
                         sold(id) + left(id),
                     stock);
}

static void test_a_key_for_two_products_at_once_is_of_the_one_that_was_told(void **state) {
    static const char *const pairs[][2] = {{"prewarm", "prewarm"},
                                           {"prewarm", "prewarm,ack=ledger"},
                                           {"prewarm", "atomic"},
                                           {"prewarm", "batched"},
                                           {"sharded", "prewarm"}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char ids[2][UUID_TEXT], key[UUID_TEXT];

        make_product(ids[0], pairs[i][0], BUYERS);
        make_product(ids[1], pairs[i][1], BUYERS);
        for (size_t j = 0; j < BUYERS; j += 2) {
            uuid_v7(key);
            begin(&buyers[j], ids[j / 2 % 2], key);
            begin(&buyers[j + 1], ids[1 - j / 2 % 2], key);
        }
        finish(buyers, BUYERS);
        for (size_t j = 0; j < BUYERS; j += 2)
            check_key(&buyers[j]);
        check_units(ids[0], BUYERS);
        check_units(ids[1], BUYERS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_crowd_buys_each_unit_once_and_the_ledger_follows),
        TEST(test_under_ack_ledger_the_ledger_has_it_before_the_answer),
        TEST(test_segments_are_loaded_when_the_one_before_is_half_sold),
        TEST(test_a_repeat_gets_the_first_unit),
        TEST(test_a_repeat_after_the_sell_out_gets_the_first_unit),
        TEST(test_a_segment_whose_loading_died_is_loaded_again),
        TEST(test_what_a_killed_instance_left_behind_is_brought),
        TEST(test_a_note_that_is_none_sells_nothing),
        TEST(test_a_unit_that_is_none_is_not_sold),
        TEST(test_an_order_that_was_cancelled_does_not_come_back),
        TEST(test_a_note_that_two_bring_is_one_sale),
        TEST(test_a_product_that_is_gone_holds_up_no_other),
        TEST(test_a_unit_that_redis_sells_twice_is_written_once),
        TEST(test_a_redis_that_lost_its_data_sells_only_what_it_never_had),
        TEST(test_an_order_id_of_another_product_gives_its_unit_back),
        TEST(test_a_key_for_two_products_at_once_is_of_the_one_that_was_told),
    };

    return cmocka_run_group_tests(tests, make_all, drop_all);
}

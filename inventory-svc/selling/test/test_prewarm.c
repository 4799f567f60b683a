/* The stock in Redis: segments, notes, and the way of each sale to the ledger, through every death
 * on it. */
#include "instance.h"

#include "fault_proxy.h"
#include "own_redis.h"
#include "pending.h"
#include "segment_redis.h"

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

struct shown {
    const char *id;
    struct stock_left left;
};

static void prepare_and_count(void *arg) {
    struct shown *shown = arg;
    struct why why;
    struct product *product;

    assert_int_equal(product_get(instance.store.products, shown->id, &product, &why), OUTCOME_OK);
    selling_prepare(&instance.store, product);
    assert_int_equal(store_live_count(&instance.store, product, &shown->left, &why), OUTCOME_OK);
    product_put(product);
}

/* Like GET /products/{id}. */
static struct stock_left show(const char *id) {
    struct shown shown = {.id = id};

    in_fiber(prepare_and_count, &shown);
    return shown.left;
}

static unsigned brought;

/* All orders of the first `count` buyers. */
static void bring(void *count) {
    struct why why;

    for (size_t i = 0; i < *(const size_t *)count; i++)
        assert_int_equal(pending_bring(instance.store.pending, buyers[i].order_id, &why),
                         OUTCOME_OK);
    brought++;
}

static void test_a_crowd_buys_each_unit_once_and_the_ledger_follows(void **state) {
    static const struct {
        const char *strategy;
        int stock;
    } cases[] = {{"prewarm", 23},          {"prewarm,ack=ledger", 23}, {"prewarm,shards=1", 40},
                 {"prewarm,shards=50", 3}, {"prewarm,work=1ms", 50},   {"prewarm", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int stock = cases[i].stock;
        const char *id = make_product(cases[i].strategy, stock);

        buy_all(buyers, id, BUYERS);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), stock);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD_OUT), BUYERS - stock);
        WAIT_FOR(&instance.loop, sold(id) == stock);
        expect_units(id, ANY, 0);
        WAIT_FOR(&instance.loop, own_redis_do(&own, "SISMEMBER sale:prewarmed %s", id) == 0);
        assert_int_equal(ask("SELECT count(*) FROM reservation r JOIN stock s USING (product_id, "
                             "shard) WHERE product_id = '%s' AND unit - first_unit <> remaining",
                             id),
                         0);
    }
}

static void test_under_ack_ledger_the_ledger_has_it_before_the_answer(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm,ack=ledger", 20);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    expect_units(id, 1, 19);
    assert_int_equal(ask("SELECT unit FROM reservation WHERE product_id = '%s'", id),
                     buyer.selling.sold.unit);
}

/* Redis has two rows at most at a time. A row that was not handed out is safe from its losses. */
static void test_segments_are_loaded_when_the_one_before_is_half_sold(void **state) {
    struct stock_left now;
    const char *id = make_product("prewarm", 40);

    now = show(id);
    assert_int_equal(now.available, 40);
    assert_int_equal(now.in_redis, 4);
    assert_int_equal(show(id).in_redis, 4);
    for (int sales = 1; sales <= 2; sales++)
        assert_int_equal(sell_one(id), OUTCOME_SOLD);
    now = show(id);
    assert_int_equal(now.available, 38);
    assert_int_equal(now.in_redis, 6);
    assert_int_equal(
        ask("SELECT count(*) FROM stock WHERE product_id = '%s' AND loaded_into <> ''", id), 2);
}

static void test_a_repeat_gets_the_first_unit(void **state) {
    static const char *const all[] = {"prewarm", "prewarm,ack=ledger"};

    for (size_t i = 0; i < 2; i++) {
        const char *id = make_product(all[i], 5);
        const char *order = new_id();

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

/* When all is sold and written, Redis forgets the orders, and the ledger answers. */
static void test_a_repeat_after_the_sell_out_gets_the_first_unit(void **state) {
    struct buyer first, again;
    const char *id = make_product("prewarm", 2);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD_OUT);
    for (int i = 0; i < 2; i++) { /* a note may have it; then only the ledger */
        assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
        assert_int_equal(again.selling.sold.unit, first.selling.sold.unit);
        WAIT_FOR(&instance.loop, own_redis_do(&own, "EXISTS sale:{%s}:stock:notes", id) == 0);
    }
    assert_int_equal(sold(id), 2);
}

/* Postgres has handed out the row, and Redis has not got it. */
static void test_a_segment_is_loaded_again_when_its_loading_died(void **state) {
    redisReply *token;
    const char *id = make_product("prewarm,shards=3", 30);

    (void)show(id);
    token = redisCommand(own.admin, "HGET sale:{%s}:stock data_set", id);
    run_sql("UPDATE stock SET loaded_into = '%s' WHERE product_id = '%s' AND shard = 1", token->str,
            id);
    freeReplyObject(token);
    buy_all(buyers, id, 40);
    assert_int_equal(count_outcome(buyers, 40, OUTCOME_SOLD), 30);
    WAIT_FOR(&instance.loop, sold(id) == 30);
    assert_int_equal(twins(id), 0);
}

static bool is_noted(const char *id) {
    return own_redis_do(&own, "XLEN sale:{%s}:stock:notes", id) > 0;
}

/* A note that another instance left, `age_ms` old. A stream takes no note older than its last: the
 * first one is a minute old. */
static void leave_note(const char *id, const char *order, const char *note, long long age_ms) {
    const long long now_ms = clock_wall_us() / 1000;

    WAIT_FOR(&instance.loop, age_ms < 60000 || !is_noted(id));
    if (age_ms >= 60000)
        (void)own_redis_do(&own, "DEL sale:{%s}:stock:notes", id);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock:orders %s %s", id, order, note);
    (void)own_redis_do(&own, "XADD sale:{%s}:stock:notes %lld-0 at %s by other orders %s", id,
                       now_ms - age_ms, note, order);
}

static void test_what_a_killed_instance_left_behind_is_brought(void **state) {
    const char *order, *id = make_product("prewarm,shards=1", 5);

    (void)show(id);
    buy_all(buyers, id, 1);
    order = new_id();
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 3", id);
    leave_note(id, order, "0 1 4", 60000);
    WAIT_FOR(&instance.loop, sold(id) == 2);
    assert_int_equal(ask("SELECT unit FROM reservation WHERE order_id = '%s' AND instance = 'other'"
                         " AND remaining = 3",
                         order),
                     4);
    assert_int_equal(left(id), 3);
    WAIT_FOR(&instance.loop, !is_noted(id));
}

/* Also in a full Redis, and although all is sold. */
static void test_what_a_former_version_left_behind_is_brought(void **state) {
    const char *order = new_id(), *id = make_product("prewarm,shards=1", 2);

    buy_all(buyers, id, 1);
    WAIT_FOR(&instance.loop, !is_noted(id));
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 0 over 1", id);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock:orders %s %s", id, order, "0 1 1 other");
    (void)own_redis_do(&own, "ZADD sale:{%s}:stock:pending 1 %s", id, order);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 1");
    WAIT_FOR(&instance.loop, sold(id) == 2);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 0");
    assert_int_equal(
        ask("SELECT unit FROM reservation WHERE order_id = '%s' AND instance = 'other'", order), 1);
    WAIT_FOR(&instance.loop, own_redis_do(&own, "SISMEMBER sale:prewarmed %s", id) == 0);
    expect_units(id, 2, 0);
}

/* The bad note does not stop the others. */
static void test_a_note_that_is_none_sells_nothing(void **state) {
    const char *order, *other, *id = make_product("prewarm,shards=1", 5);

    (void)show(id);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 4", id);
    order = new_id();
    other = new_id();
    leave_note(id, order, "0-x", 60000);
    leave_note(id, other, "0 1 5", 50000);
    WAIT_FOR(&instance.loop, ask("SELECT count(*) FROM reservation WHERE order_id = '%s'", other));
    expect_units(id, 1, 4);
}

static void test_a_unit_that_is_none_is_not_sold(void **state) {
    const char *id = make_product("prewarm,shards=1", 5);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock first -5", id);
    assert_int_equal(sell_one(id), OUTCOME_FAILED);
}

/* The sale was brought and committed. Its instance died before the note went. Then it was
 * cancelled. */
static void test_an_order_that_was_cancelled_does_not_come_back(void **state) {
    struct buyer buyer, again;
    const char *id = make_product("prewarm,ack=ledger,shards=1", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_true(cancel_order(buyer.order_id));
    leave_note(id, buyer.order_id, "0 1 5", 60000);
    WAIT_FOR(&instance.loop, !is_noted(id));
    assert_int_equal(sold(id), 0);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 1);
    assert_int_equal(sell(&again, id, buyer.order_id), OUTCOME_SOLD);
    assert_int_equal(left(id), 3);
}

static void test_a_note_that_two_bring_is_one_sale(void **state) {
    const char *id = make_product("prewarm", 50);
    size_t count = 30;

    buy_all(buyers, id, 30);
    brought = 0;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fiber_start(bring, &count), 0);
    WAIT_FOR(&instance.loop, brought == 4);
    expect_units(id, 30, 20);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 0);
}

/* Redis has sold to one of two orders twice, and the ledger has none of it. */
static void test_an_order_is_brought_with_all_of_its_notes(void **state) {
    const char *id = make_product("prewarm,shards=1", 5);
    char *order = buyers[0].order_id, both[2 * UUID_TEXT];
    size_t count = 1;

    (void)snprintf(order, UUID_TEXT, "%s", new_id());
    (void)snprintf(both, sizeof both, "%s %s", order, new_id());
    (void)show(id);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 2", id);
    (void)own_redis_do(&own, "XADD sale:{%s}:stock:notes * at %s by other orders %s", id, "0 1 5",
                       both);
    (void)own_redis_do(&own, "XADD sale:{%s}:stock:notes * at %s by other orders %s", id, "0 1 3",
                       order);
    assert_int_equal(show(id).pending, 3);
    in_fiber(bring, &count);
    assert_int_equal(show(id).pending, 0);
    expect_units(id, 2, ANY);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 1);
}

/* Redis remembers it for its key, and no note has it. */
static void test_a_cancelled_order_with_a_key_is_forgotten(void **state) {
    const char *id = make_product("prewarm,shards=1", 5);
    size_t count = 1;

    assert_int_equal(sell(&buyers[0], id, new_id()), OUTCOME_SOLD);
    WAIT_FOR(&instance.loop, !is_noted(id));
    assert_int_equal(own_redis_do(&own, "HLEN sale:{%s}:stock:orders", id), 1);
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    assert_true(cancel_order(buyers[0].order_id));
    in_fiber(bring, &count);
    assert_int_equal(own_redis_do(&own, "HLEN sale:{%s}:stock:orders", id), 0);
    WAIT_FOR(&instance.loop, !is_noted(id));
    expect_units(id, 1, ANY);
}

/* For example, a product of a database that was made anew. */
static void test_a_product_that_is_gone_holds_up_no_other(void **state) {
    size_t count = 1;
    const char *id, *gone = new_id();
    const char *order = new_id();

    (void)own_redis_do(&own, "SADD sale:prewarmed %s", gone);
    leave_note(gone, order, "0 1 5", 60000);
    id = make_product("prewarm", 5);
    buy_all(buyers, id, 1);
    in_fiber(bring, &count);
    assert_int_equal(sold(id), 1);
    (void)own_redis_do(&own, "SREM sale:prewarmed %s", gone);
}

/* Redis has taken a unit twice, because it forgot its last second. */
static void test_a_unit_that_redis_sells_twice_is_written_once(void **state) {
    struct buyer second, again, keyed;
    const char *id = make_product("prewarm,ack=ledger,shards=1", 5);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 5", id);
    assert_int_equal(sell(&second, id, NULL), OUTCOME_SOLD); /* the next unit */
    assert_int_equal(sell(&again, id, second.order_id), OUTCOME_REPEATED);
    (void)own_redis_do(&own, "HSET sale:{%s}:stock left 4", id);
    assert_int_equal(sell(&keyed, id, new_id()), OUTCOME_SOLD);
    expect_units(id, 3, 1); /* and the unit that the repeat took has come back */
}

static void test_a_redis_that_lost_its_data_sells_only_rows_that_it_never_had(void **state) {
    struct buyer buyer;
    size_t more = 0;
    const char *id = make_product("prewarm,ack=ledger,shards=4", 40);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "FLUSHALL");
    assert_int_equal(show(id).available, 30);
    for (; sell(&buyer, id, NULL) == OUTCOME_SOLD; more++)
        assert_true(buyer.selling.sold.unit > 10);
    assert_int_equal(buyer.selling.outcome, OUTCOME_SOLD_OUT);
    assert_int_equal(more, 30);
    expect_units(id, ANY, 9);
}

static void test_an_order_id_of_another_product_gives_its_unit_back(void **state) {
    struct buyer first, second;
    const char *id = make_product("atomic", 5);
    const char *other = make_product("prewarm,ack=ledger", 1);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&second, other, first.order_id), OUTCOME_KEY_REUSED);
    assert_int_equal(sell(&second, other, NULL), OUTCOME_SOLD);
    assert_int_equal(second.selling.sold.unit, 1);
    assert_int_equal(sell(&second, other, NULL), OUTCOME_SOLD_OUT);
}

/* The ledger has the key under the product that the answer named. */
static void check_key(const struct buyer two[2]) {
    const struct buyer *won = &two[two[0].selling.outcome == OUTCOME_SOLD ? 0 : 1];

    assert_int_equal(count_outcome(two, 2, OUTCOME_SOLD), 1);
    assert_int_equal(count_outcome(two, 2, OUTCOME_KEY_REUSED), 1);
    assert_int_equal(ask("SELECT unit FROM reservation WHERE order_id = '%s' AND product_id = '%s'",
                         won->order_id, won->product_id),
                     won->selling.sold.unit);
}

/* Each unit is for sale, sold or returned, and no sale is pending. */
static void check_units(const char *id, int stock) {
    assert_int_equal(own_redis_do(&own, "XLEN sale:{%s}:stock:notes", id), 0);
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
        const char *key, *ids[2];

        ids[0] = make_product(pairs[i][0], BUYERS);
        ids[1] = make_product(pairs[i][1], BUYERS);
        for (size_t j = 0; j < BUYERS; j += 2) {
            key = new_id();
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

/* ---- A server is away or too late; closing */

static void test_without_redis_nothing_is_sold(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm", 5);

    divert_kv("redis://127.0.0.1:1");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    regain_kv();
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 1);
}

/* The first call may have taken a unit that only Redis knows. */
static void test_a_repeat_without_redis_is_not_told_that_nothing_was_sold(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm", 5), *order = new_id();

    divert_kv("redis://127.0.0.1:1");
    assert_int_equal(sell(&buyer, id, order), OUTCOME_UNKNOWN);
    regain_kv();
    assert_int_equal(sell(&buyer, id, order), OUTCOME_SOLD);
}

/* Redis has taken the unit, and its answer is lost with the connection. */
static void test_a_taking_that_was_not_answered_is_asked_again(void **state) {
    struct fault_proxy *proxy = fault_proxy_open_url(&instance.loop, own.url);
    const char *id = make_product("prewarm,shards=1", 5);
    struct buyer buyer;

    fault_proxy_listen(proxy);
    divert_kv(proxy->url);
    buy_all(buyers, id, 1);
    WAIT_FOR(&instance.loop, !is_noted(id));
    fault_proxy_set(proxy, PROXY_HOLDS_REPLIES);
    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, is_noted(id));
    fault_proxy_cut(proxy);
    fault_proxy_set(proxy, PROXY_PASSES);
    assert_int_equal(finish_one(&buyer), OUTCOME_REPEATED);
    assert_int_equal(buyer.selling.sold.unit, 4);
    assert_int_equal(sold(id), 2);
    regain_kv();
    fault_proxy_close(proxy);
}

/* The ledger gets the sales of the time before, and Redis forgets them. */
static void test_a_full_redis_sells_nothing_and_forgets_brought_sales(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm,shards=1", 50);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 1");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    WAIT_FOR(&instance.loop, own_redis_do(&own, "XLEN sale:{%s}:stock:notes", id) == 0);
    assert_int_equal(sold(id), 1);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 0");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 49);
}

static void test_a_full_redis_loses_no_segment(void **state) {
    const char *id = make_product("prewarm,shards=10", 20);

    buy_all(buyers, id, 2);
    WAIT_FOR(&instance.loop, !is_noted(id));
    (void)own_redis_do(&own, "CONFIG SET maxmemory 1");
    buy_all(buyers, id, 5);
    assert_int_equal(count_outcome(buyers, 5, OUTCOME_BUSY), 5);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 0");
    buy_all(buyers, id, BUYERS);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), 18);
    WAIT_FOR(&instance.loop, sold(id) == 20);
}

/* Like a server that was started again. */
static void test_a_script_that_redis_lost_is_brought_again(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm,shards=1", 50);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "SCRIPT FLUSH");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_non_null(strstr(buyer.selling.timing, "retry;desc=\"1\""));
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_null(strstr(buyer.selling.timing, "retry"));
}

static void on_stopped(void *data) {
    *(bool *)data = true;
}

static void close_pending(void) {
    bool is_stopped = false;

    pending_close(instance.store.pending, on_stopped, &is_stopped);
    WAIT_FOR(&instance.loop, is_stopped);
}

static void open_pending(void) {
    struct store *store = &instance.store;

    store->pending = pending_open(store->loop, store->pool,
                                  &(struct segment_server){.redis = store->kv}, store->instance);
}

static void test_closing_writes_the_added_sales(void **state) {
    const char *id = make_product("prewarm", 50);

    buy_all(buyers, id, 25);
    close_pending();
    assert_int_equal(sold(id), 25);
    open_pending();
}

static long long notes_made(const char *id) {
    redisReply *info = redisCommand(own.admin, "XINFO STREAM sale:{%s}:stock:notes", id);
    long long made = -1;

    for (size_t i = 0; i + 1 < info->elements; i += 2)
        if (strcmp(info->element[i]->str, "entries-added") == 0)
            made = info->element[i + 1]->integer;
    freeReplyObject(info);
    return made;
}

/* All came in one turn of the loop: the first call finds nothing loaded, the second one sells. */
static void test_sales_of_one_turn_share_a_call_and_a_note(void **state) {
    const char *id = make_product("prewarm,shards=1", 2 * BUYERS);

    (void)show(id);
    buy_all(buyers, id, BUYERS);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), BUYERS);
    assert_true(notes_made(id) <= 2);
    WAIT_FOR(&instance.loop, !is_noted(id));
    expect_units(id, BUYERS, BUYERS);
}

/* Keys and new orders, in one call, over the ends of segments. */
static void test_repeats_and_new_orders_share_a_call(void **state) {
    const char *keys[5], *id = make_product("prewarm,shards=20", 40);

    for (size_t i = 0; i < 5; i++)
        keys[i] = new_id();
    for (size_t i = 0; i < BUYERS; i++)
        begin(&buyers[i], id, i % 3 == 0 ? keys[i / 3 % 5] : NULL);
    finish(buyers, BUYERS);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), 40);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_REPEATED), BUYERS / 3 - 5);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD_OUT), 5);
    WAIT_FOR(&instance.loop, sold(id) == 40);
    expect_units(id, 40, 0);
}

/* Another sale of the note is written. Its own is brought from the note, like that of a dead
 * instance. */
static void test_a_note_stays_until_the_ledger_has_all_its_orders(void **state) {
    const char *id = make_product("prewarm,shards=1,wait=0ms,fail=before-write:error@1", 10);

    buy_all(buyers, id, 2);
    assert_int_equal(count_outcome(buyers, 2, OUTCOME_SOLD), 1);
    WAIT_FOR(&instance.loop, sold(id) == 2);
    WAIT_FOR(&instance.loop, !is_noted(id));
    expect_units(id, 2, 8);
}

/* Redis remembers only an order that may be sent again. */
static void test_a_new_order_is_forgotten_when_the_ledger_has_it(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm,shards=1", 10);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(own_redis_do(&own, "HLEN sale:{%s}:stock:orders", id), 0);
    assert_int_equal(sell(&buyer, id, new_id()), OUTCOME_SOLD);
    assert_int_equal(own_redis_do(&own, "HLEN sale:{%s}:stock:orders", id), 1);
}

/* An order could not be found behind so many notes without the list of orders. */
static void test_behind_many_notes_redis_remembers_each_order(void **state) {
    struct buyer buyer, again;
    const char *id = make_product("prewarm,shards=1", 10), *other = new_id();

    (void)show(id);
    for (int i = 0; i < 1200; i++) /* too young to be brought */
        (void)own_redis_do(&own, "XADD sale:{%s}:stock:notes 9999999999999-%d at x by x orders %s",
                           id, i + 1, other);
    assert_int_equal(show(id).pending, 1200);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(own_redis_do(&own, "HLEN sale:{%s}:stock:orders", id), 1);
    assert_int_equal(sell(&again, id, buyer.order_id), OUTCOME_REPEATED);
    assert_int_equal(again.selling.sold.unit, buyer.selling.sold.unit);
    assert_int_equal(show(id).in_redis, 9);
    (void)own_redis_do(&own, "DEL sale:{%s}:stock:notes", id);
}

/* Then the note stays, and another instance brings it. */
static void test_what_postgres_does_not_take_is_brought_later(void **state) {
    static const struct pg_pool_options nowhere = {.conninfo = "host=127.0.0.1 port=1"};
    struct store *store = &instance.store;
    struct pg_pool *usual = store->pool;
    const char *id = make_product("prewarm,shards=1", 5);

    buy_all(buyers, id, 1);
    close_pending();
    assert_int_equal(pg_pool_open(&store->pool, &instance.loop, &nowhere), 0);
    open_pending();
    buy_all(buyers, id, 3);
    assert_int_equal(count_outcome(buyers, 3, OUTCOME_SOLD), 3);
    close_pending();
    pg_pool_close(store->pool, on_closed, NULL);
    store->pool = usual;
    assert_int_equal(sold(id), 1);
    open_pending();
    WAIT_FOR(&instance.loop, sold(id) == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_crowd_buys_each_unit_once_and_the_ledger_follows),
        TEST(test_under_ack_ledger_the_ledger_has_it_before_the_answer),
        TEST(test_segments_are_loaded_when_the_one_before_is_half_sold),
        TEST(test_a_repeat_gets_the_first_unit),
        TEST(test_a_repeat_after_the_sell_out_gets_the_first_unit),
        TEST(test_a_segment_is_loaded_again_when_its_loading_died),
        TEST(test_what_a_killed_instance_left_behind_is_brought),
        TEST(test_what_a_former_version_left_behind_is_brought),
        TEST(test_a_note_that_is_none_sells_nothing),
        TEST(test_a_unit_that_is_none_is_not_sold),
        TEST(test_an_order_that_was_cancelled_does_not_come_back),
        TEST(test_a_note_that_two_bring_is_one_sale),
        TEST(test_an_order_is_brought_with_all_of_its_notes),
        TEST(test_a_cancelled_order_with_a_key_is_forgotten),
        TEST(test_a_product_that_is_gone_holds_up_no_other),
        TEST(test_a_unit_that_redis_sells_twice_is_written_once),
        TEST(test_a_redis_that_lost_its_data_sells_only_rows_that_it_never_had),
        TEST(test_an_order_id_of_another_product_gives_its_unit_back),
        TEST(test_a_key_for_two_products_at_once_is_of_the_one_that_was_told),
        TEST(test_without_redis_nothing_is_sold),
        TEST(test_a_repeat_without_redis_is_not_told_that_nothing_was_sold),
        TEST(test_a_taking_that_was_not_answered_is_asked_again),
        TEST(test_a_full_redis_sells_nothing_and_forgets_brought_sales),
        TEST(test_a_full_redis_loses_no_segment),
        TEST(test_a_script_that_redis_lost_is_brought_again),
        TEST(test_closing_writes_the_added_sales),
        TEST(test_sales_of_one_turn_share_a_call_and_a_note),
        TEST(test_repeats_and_new_orders_share_a_call),
        TEST(test_a_note_stays_until_the_ledger_has_all_its_orders),
        TEST(test_a_new_order_is_forgotten_when_the_ledger_has_it),
        TEST(test_behind_many_notes_redis_remembers_each_order),
        TEST(test_what_postgres_does_not_take_is_brought_later),
    };

    return cmocka_run_group_tests(tests, make_all, drop_all);
}

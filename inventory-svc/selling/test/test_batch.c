/* Batches on a real server: each sale of a batch has its own outcome, and a failed sale does not
 * change another's.
 *
 * The test locks the row of stock. The first sale of each instance waits for it, and the other
 * sales wait for the first, so they go together. */
#include "far_instance.h"

#define MANY 64

static struct buyer buyers[2 * MANY];
static int open_both(void **state) {
    int err = go_far(state);

    open_other(instance.lock_dir);
    return err;
}

static int close_both(void **state) {
    close_other();
    return come_back(state);
}

/* A product with its row of stock, which the test has locked. */
static const char *hold(const char *strategy, int stock) {
    const char *id = lay_out(strategy, stock + 1);

    lock_stock(id);
    return id;
}

static void let_go(void) {
    run_sql("COMMIT");
}

/* The first sale leads a batch of its own. */
static void begin_lone(struct buyer *buyer, const char *id) {
    long before = blocked();

    begin(buyer, id, NULL);
    WAIT_FOR(&instance.loop, blocked() == before + 1);
}

/* The other sales are one batch. */
static void begin_all(const char *id, int count) {
    begin_lone(&buyers[0], id);
    for (int i = 1; i < count; i++)
        begin(&buyers[i], id, NULL);
}

static long unfit(const char *id, int stock) {
    return ask("SELECT count(*) FROM reservation WHERE product_id = '%s'"
               " AND (unit <> remaining + 1 OR unit NOT BETWEEN 1 AND %d)",
               id, stock + 1);
}

static void test_units_go_to_the_first_comers(void **state) {
    const char *id = hold("batched", 10);

    begin_all(id, 20);
    let_go();
    finish(buyers, 20);
    for (int i = 0; i < 20; i++) {
        const struct selling *selling = &buyers[i].selling;

        assert_int_equal(selling->outcome, i < 10 ? OUTCOME_SOLD : OUTCOME_SOLD_OUT);
        assert_int_equal(i < 10 ? selling->sold.unit : 0, i < 10 ? 10 - i : 0);
        assert_int_equal(i < 10 ? selling->sold.remaining : 0, i < 10 ? 9 - i : 0);
    }
    expect_units(id, 11, 0);
    assert_int_equal(unfit(id, 10), 0);
    assert_int_equal(ask("SELECT version FROM stock WHERE product_id = '%s'", id), 11);
}

static void test_a_batch_is_one_statement(void **state) {
    const char *id = hold("batched", MANY);

    begin_all(id, MANY);
    let_go();
    finish(buyers, MANY);
    assert_int_equal(count_outcome(buyers, MANY, OUTCOME_SOLD), MANY);
    /* One is its own, one the lone sale's, one the rest's. */
    assert_int_equal(ask("SELECT count(DISTINCT xmin::text) FROM reservation"
                         " WHERE product_id = '%s'",
                         id),
                     3);
    assert_non_null(strstr(buyers[9].selling.timing, "pg;desc=\"1\""));
    assert_non_null(strstr(buyers[9].selling.timing, "wait;dur="));
}

/* A trigger of the ledger skips one of the sales: each looks itself up. */
static void test_what_the_ledger_did_not_take_is_not_sold(void **state) {
    const char *skipped = new_id();
    const char *id = lay_out("batched", 10);

    run_sql("CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN RETURN CASE WHEN NEW.order_id = ''%s'' THEN NULL ELSE NEW END; END';"
            "CREATE TRIGGER skip BEFORE INSERT ON reservation"
            " FOR EACH ROW EXECUTE FUNCTION skip()",
            skipped);
    lock_stock(id);
    begin_lone(&buyers[0], id);
    for (int i = 1; i < 4; i++)
        begin(&buyers[i], id, i == 2 ? skipped : NULL);
    let_go();
    finish(buyers, 4);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[1].selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(buyers[2].selling.outcome, OUTCOME_UNKNOWN);
    assert_int_equal(buyers[3].selling.outcome, OUTCOME_REPEATED);
    run_sql("DROP FUNCTION skip CASCADE");
}

static void test_two_instances_sell_from_one_row(void **state) {
    const char *id = hold("batched", 3 * MANY / 2);

    for (int i = 0; i < MANY; i++) {
        begin(&buyers[i], id, NULL);
        begin_at_other(&buyers[MANY + i], id);
    }
    WAIT_FOR(&instance.loop, blocked() == 2);
    let_go();
    finish(buyers, 2 * MANY);
    assert_int_equal(count_outcome(buyers, 2 * MANY, OUTCOME_SOLD), 3 * MANY / 2);
    assert_int_equal(count_outcome(buyers, 2 * MANY, OUTCOME_SOLD_OUT), MANY / 2);
    expect_units(id, 3 * MANY / 2 + 1, 0);
    assert_int_equal(unfit(id, 3 * MANY / 2), 0);
}

static void sell_in_turn(struct buyer *buyer, const char *id, int i) {
    if (i % 2 == 0)
        begin(buyer, id, NULL);
    else
        begin_at_other(buyer, id);
}

/* After each sale another one starts, at either instance, so batches of all sizes meet. */
static void test_batches_that_meet_lose_no_unit(void **state) {
    enum { STOCK = 1500 };
    long count = 0;
    const char *id = make_product("batched", STOCK);

    for (int i = 0; i < MANY; i++)
        sell_in_turn(&buyers[i], id, i);
    while (count < STOCK)
        for (int i = 0; i < MANY; i++) {
            WAIT_FOR(&instance.loop, buyers[i].is_done);
            count += buyers[i].selling.outcome == OUTCOME_SOLD;
            assert_true(count == STOCK || buyers[i].selling.outcome == OUTCOME_SOLD);
            sell_in_turn(&buyers[i], id, i + (int)(count % 2));
        }
    finish(buyers, MANY);
    assert_int_equal(count_outcome(buyers, MANY, OUTCOME_SOLD_OUT), MANY);
    assert_int_equal(count, STOCK);
    expect_units(id, STOCK, 0);
    assert_int_equal(unfit(id, STOCK), 0);
}

/* The repeats are of an earlier batch, of another product, of the same batch; sold and not. */
static void test_a_repeat_in_a_batch_is_told_so(void **state) {
    struct buyer earlier_one, elsewhere;
    const char *id, *other_id = make_product("batched", 5);

    assert_int_equal(sell(&elsewhere, other_id, NULL), OUTCOME_SOLD);
    id = lay_out("batched", 5);
    assert_int_equal(sell(&earlier_one, id, NULL), OUTCOME_SOLD);
    lock_stock(id);
    begin_lone(&buyers[0], id);
    begin(&buyers[1], id, earlier_one.order_id);
    begin(&buyers[2], id, NULL);
    begin(&buyers[3], id, elsewhere.order_id);
    begin(&buyers[4], id, buyers[2].order_id);
    begin(&buyers[5], id, NULL);
    begin(&buyers[6], id, NULL);
    begin(&buyers[7], id, buyers[6].order_id);
    let_go();
    finish(buyers, 8);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[1].selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(buyers[1].selling.sold.unit, earlier_one.selling.sold.unit);
    assert_int_equal(buyers[2].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[3].selling.outcome, OUTCOME_KEY_REUSED);
    assert_int_equal(buyers[4].selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(buyers[4].selling.sold.unit, buyers[2].selling.sold.unit);
    assert_int_equal(buyers[5].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[6].selling.outcome, OUTCOME_SOLD_OUT);
    assert_int_equal(buyers[7].selling.outcome, OUTCOME_SOLD_OUT);
    expect_units(id, 5, 0);
}

/* The ledger gets one of the orders while the statement waits: all are refused, and sent again. */
static void test_an_order_that_comes_in_between_spoils_no_batch(void **state) {
    const char *id = hold("batched", 10);

    begin_all(id, 5);
    run_sql("UPDATE stock SET available = 9 WHERE product_id = '%s'", id);
    run_sql("INSERT INTO reservation VALUES ('%s', '%s', 0, 10, 9, 'x', 0)", buyers[0].order_id,
            id);
    let_go();
    finish(buyers, 5);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(buyers[0].selling.sold.unit, 10);
    assert_int_equal(count_outcome(buyers + 1, 4, OUTCOME_SOLD), 4);
    expect_units(id, ANY, 5);
}

/* A trigger refuses the statement each time, like an order that comes in between again and again.
 */
static void test_a_batch_that_is_refused_twice_goes_one_by_one(void **state) {
    const char *id;

    run_sql("CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF (SELECT count(*) FROM spoilt) > 1 THEN RAISE unique_violation; END IF;"
            " RETURN NULL; END $$");
    run_sql("CREATE TRIGGER spoil AFTER INSERT ON reservation REFERENCING NEW TABLE AS spoilt"
            " FOR EACH STATEMENT EXECUTE FUNCTION spoil()");
    id = hold("batched", 10);
    begin_all(id, 5);
    let_go();
    finish(buyers, 5);
    run_sql("DROP TRIGGER spoil ON reservation");
    run_sql("DROP FUNCTION spoil");
    assert_int_equal(count_outcome(buyers, 5, OUTCOME_SOLD), 5);
    assert_non_null(strstr(buyers[2].selling.timing, "pg;desc=\"3\""));
    expect_units(id, ANY, 5);
}

/* Only the sales of the batch that was under way. */
static void test_a_lost_connection_leaves_its_batch_unknown(void **state) {
    const char *id = hold("batched", 20);

    begin_all(id, 5);
    fault_proxy_cut(to_postgres);
    WAIT_FOR(&instance.loop, buyers[0].is_done && blocked() == 2); /* nobody awaits one of them */
    let_go();
    finish(buyers, 5);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_UNKNOWN);
    assert_int_equal(count_outcome(buyers + 1, 4, OUTCOME_SOLD), 4);
    WAIT_FOR(&instance.loop, sold(id) == 6);
    expect_units(id, ANY, 15);
}

/* The statement took effect, but the answer was lost: each sale finds itself in the ledger. */
static void test_a_lost_reply_is_looked_up(void **state) {
    const char *id = hold("batched", 2);

    begin_all(id, 4);
    let_go();
    WAIT_FOR(&instance.loop, buyers[0].is_done);
    fault_proxy_set(to_postgres, PROXY_HOLDS_REPLIES);
    WAIT_FOR(&instance.loop, sold(id) == 3);
    fault_proxy_cut(to_postgres);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    finish(buyers, 4);
    assert_int_equal(buyers[1].selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(count_outcome(buyers + 2, 2, OUTCOME_UNKNOWN), 2);
    assert_int_equal(left(id), 0);
}

static void test_a_sale_waits_no_longer_than_it_may(void **state) {
    const char *id = hold("batched,wait=0", 5);

    begin_lone(&buyers[0], id);
    begin(&buyers[1], id, NULL);
    let_go();
    finish(buyers, 2);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[1].selling.outcome, OUTCOME_BUSY);
    assert_string_equal(buyers[1].selling.why.text, "no batch took it in time");
    assert_int_equal(left(id), 4);
}

static void test_more_than_may_wait_are_refused(void **state) {
    enum { LIMIT = 4096 };
    struct buyer *all = calloc(LIMIT + 2, sizeof *all);
    const char *id;

    assert_non_null(all);
    id = hold("batched,wait=60s", LIMIT);
    begin_lone(&all[0], id);
    for (int i = 1; i < LIMIT + 2; i++)
        begin(&all[i], id, NULL);
    assert_true(all[LIMIT + 1].is_done);
    assert_int_equal(all[LIMIT + 1].selling.outcome, OUTCOME_BUSY);
    assert_string_equal(all[LIMIT + 1].selling.why.text,
                        "too many sales of this product wait for a batch");
    let_go();
    finish(all, LIMIT + 1);
    assert_int_equal(count_outcome(all, LIMIT + 1, OUTCOME_SOLD), LIMIT);
    assert_int_equal(count_outcome(all, LIMIT + 1, OUTCOME_SOLD_OUT), 1);
    expect_units(id, LIMIT + 1, ANY);
    free(all);
}

static void test_a_refused_batch_sells_nothing(void **state) {
    const char *id = lay_out("batched", 6);

    run_sql("ALTER TABLE reservation ADD CONSTRAINT nothing CHECK (unit < 0) NOT VALID");
    lock_stock(id);
    begin_all(id, 4);
    let_go();
    finish(buyers, 4);
    run_sql("ALTER TABLE reservation DROP CONSTRAINT nothing");
    assert_int_equal(count_outcome(buyers, 4, OUTCOME_FAILED), 4);
    assert_true(buyers[3].selling.why.text[0] != '\0');
    expect_units(id, 1, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define BATCH_TEST(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)
        BATCH_TEST(test_units_go_to_the_first_comers),
        BATCH_TEST(test_a_batch_is_one_statement),
        BATCH_TEST(test_what_the_ledger_did_not_take_is_not_sold),
        BATCH_TEST(test_two_instances_sell_from_one_row),
        BATCH_TEST(test_batches_that_meet_lose_no_unit),
        BATCH_TEST(test_a_repeat_in_a_batch_is_told_so),
        BATCH_TEST(test_an_order_that_comes_in_between_spoils_no_batch),
        BATCH_TEST(test_a_batch_that_is_refused_twice_goes_one_by_one),
        BATCH_TEST(test_a_lost_connection_leaves_its_batch_unknown),
        BATCH_TEST(test_a_lost_reply_is_looked_up),
        BATCH_TEST(test_a_sale_waits_no_longer_than_it_may),
        BATCH_TEST(test_more_than_may_wait_are_refused),
        BATCH_TEST(test_a_refused_batch_sells_nothing),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}

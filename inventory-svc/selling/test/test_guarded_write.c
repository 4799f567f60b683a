/* A guarded write on real Postgres: it happens only while the guard finds the row unchanged.
 * Otherwise it leaves no trace, and tells why. */
#include "instance.h"

#include "stock_sql.h"

/* A write in a fiber under token 9, after a read of {available 4, version 1, fence 7}. */
struct write {
    struct stock_row seen;
    struct reservation sold;
    enum guard guard;
    int64_t not_after_us;
    enum outcome outcome;
    struct why why;
};

static void run(void *arg) {
    struct write *write = arg;

    write->outcome = stock_sql_write(instance.store.pool,
                                     &(struct stock_write){.guard = write->guard,
                                                           .seen = &write->seen,
                                                           .not_after_us = write->not_after_us,
                                                           .deadline_ms = clock_now_ms() + 4000},
                                     &write->sold, &write->why);
}

static void begin_write(struct write *write, enum guard guard) {
    *write = (struct write){
        .seen = {.available = 4, .version = 1, .fence = 7},
        .sold = {.unit = 4, .remaining = 3, .fence = 9, .instance = "x"},
        .guard = guard,
        .not_after_us = INT64_MAX / 1000,
    };
    strcpy(write->sold.product_id, lay_out("none", 5));
    run_sql("UPDATE stock SET fence = 7 WHERE product_id = '%s'", write->sold.product_id);
    uuid_v7(write->sold.order_id);
}

static enum outcome end_write(struct write *write) {
    in_fiber(run, write);
    return write->outcome;
}

static void change(const struct write *write, const char *to) {
    run_sql("UPDATE stock SET %s WHERE product_id = '%s'", to, write->sold.product_id);
}

static bool is_written(const struct write *write) {
    long written = sold(write->sold.product_id) - 1;

    assert_int_equal(ask("SELECT count(*) FROM stock WHERE product_id = '%s' AND available = 3"
                         " AND fence >= 9",
                         write->sold.product_id),
                     written);
    return written == 1;
}

#define OF(any, version, value, fence)                                                             \
    { OUTCOME_##any, OUTCOME_##version, OUTCOME_##value, OUTCOME_##fence }

static void test_each_guard_sees_its_own_changes(void **state) {
    static const struct {
        const char *change; /* of another sale, after the read */
        enum outcome outcomes[4];
    } cases[] = {
        {"shard = shard", OF(SOLD, SOLD, SOLD, SOLD)},
        {"available = 2, version = 2", OF(SOLD, CONFLICT, CONFLICT, SOLD)},
        {"version = 3", OF(SOLD, CONFLICT, SOLD, SOLD)}, /* sold, and given back: ABA */
        {"fence = 8", OF(SOLD, SOLD, SOLD, CONFLICT)},   /* an older holder wrote after the read */
        {"fence = 9", OF(SOLD, SOLD, SOLD, CONFLICT)},
        {"fence = 10", OF(SOLD, SOLD, SOLD, CONFLICT)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t guard = GUARD_ANY; guard <= GUARD_FENCE; guard++) {
            struct write write;

            begin_write(&write, (enum guard)guard);
            change(&write, cases[i].change);
            assert_int_equal(end_write(&write), cases[i].outcomes[guard]);
            assert_int_equal(is_written(&write), write.outcome == OUTCOME_SOLD);
        }
}

static void test_a_token_that_is_not_above_the_one_read_is_refused(void **state) {
    struct write write;

    begin_write(&write, GUARD_FENCE);
    write.sold.fence = 7;
    assert_int_equal(end_write(&write), OUTCOME_CONFLICT);
    assert_false(is_written(&write));
}

static void test_a_write_that_comes_too_late_is_busy_under_each_guard(void **state) {
    for (size_t guard = GUARD_ANY; guard <= GUARD_FENCE; guard++) {
        struct write write;

        begin_write(&write, (enum guard)guard);
        write.not_after_us =
            ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
        assert_int_equal(end_write(&write), OUTCOME_BUSY);
        assert_non_null(strstr(write.why.text, "too late"));
        assert_false(is_written(&write));
        expect_units(write.sold.product_id, 1, 4);
    }
}

static void change_and_commit(void *arg) {
    const struct write *write = arg;

    while (blocked() == 0)
        fiber_sleep(&instance.loop, 1);
    change(write, "available = 2, version = 2, fence = 10");
    run_sql("COMMIT");
}

static void test_a_guard_looks_again_after_waiting_for_the_row(void **state) {
    for (size_t guard = GUARD_VERSION; guard <= GUARD_FENCE; guard++) {
        struct write write;

        begin_write(&write, (enum guard)guard);
        lock_stock(write.sold.product_id);
        assert_int_equal(fiber_start(change_and_commit, &write), 0);
        assert_int_equal(end_write(&write), OUTCOME_CONFLICT);
        assert_false(is_written(&write));
    }
}

/* A holder paused past its lease: the write is not refused, and the stock keeps the higher token.
 */
static void test_an_older_token_writes_and_lowers_nothing(void **state) {
    struct write write;

    begin_write(&write, GUARD_ANY);
    write.sold.fence = 6;
    assert_int_equal(end_write(&write), OUTCOME_SOLD);
    assert_int_equal(ask("SELECT fence FROM stock WHERE product_id = '%s'", write.sold.product_id),
                     7);
    assert_int_equal(
        ask("SELECT fence FROM reservation WHERE order_id = '%s'", write.sold.order_id), 6);
}

static void test_an_order_that_has_its_unit_is_told_so_under_each_guard(void **state) {
    for (size_t guard = GUARD_ANY; guard <= GUARD_FENCE; guard++) {
        struct write write;

        begin_write(&write, (enum guard)guard);
        run_sql("INSERT INTO reservation VALUES ('%s', '%s', 0, 4, 3, 'x', 0)", write.sold.order_id,
                write.sold.product_id);
        assert_int_equal(end_write(&write), OUTCOME_REPEATED);
        assert_int_equal(left(write.sold.product_id), 4);
    }
}

/* A trigger of the ledger skips the sale, or puts it into another table. */
static void test_a_write_that_the_ledger_did_not_take_is_not_sold(void **state) {
    run_sql("CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
    for (size_t guard = GUARD_ANY; guard <= GUARD_FENCE; guard++) {
        struct write write;

        begin_write(&write, (enum guard)guard);
        run_sql("CREATE TRIGGER skip BEFORE INSERT ON reservation"
                " FOR EACH ROW EXECUTE FUNCTION skip()");
        assert_int_equal(end_write(&write), guard == GUARD_ANY ? OUTCOME_BUSY : OUTCOME_UNKNOWN);
        run_sql("DROP TRIGGER skip ON reservation");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_guard_sees_its_own_changes),
        TEST(test_a_token_that_is_not_above_the_one_read_is_refused),
        TEST(test_a_write_that_comes_too_late_is_busy_under_each_guard),
        TEST(test_an_older_token_writes_and_lowers_nothing),
        TEST(test_a_guard_looks_again_after_waiting_for_the_row),
        TEST(test_an_order_that_has_its_unit_is_told_so_under_each_guard),
        TEST(test_a_write_that_the_ledger_did_not_take_is_not_sold),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}

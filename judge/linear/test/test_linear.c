/* The linearizability check on hand-made histories. */
#include "linear.h"
#include "test.h"

#include "fault.h"

#include <inttypes.h>

static struct linear_op ok(int32_t rank, int64_t from, int64_t to) {
    return (struct linear_op){.invoke_ns = from, .return_ns = to, .rank = rank, .kind = LINEAR_OK};
}

/* One row with `left` units at the end. Its operations are sales with rank and times, "2@0-9",
 * refusals, "out@1-4", and sales of units that came back, "again2@4-9". Beside them are requests of
 * unknown outcome, "?4", and undone requests, "!3", with their moments. */
static const struct history {
    const char *name;
    int64_t units, left;
    const char *operations;
    /* All contradictions: kind, count, operations and, for MISSING, the rank. "": none. */
    const char *found;
} histories[] = {
    {"an empty history is linearizable", 10, LINEAR_UNREAD, "", ""},
    {"an empty history of no units is linearizable", 0, LINEAR_UNREAD, "", ""},
    {"sold out of no units is linearizable", 0, LINEAR_UNREAD, "out@1-2", ""},
    {"sales that overlap may take effect in any order", 2, LINEAR_UNREAD, "0@1-5 1@4-9", ""},
    {"sales that touch may take effect in any order", 2, LINEAR_UNREAD, "0@1-5 1@5-9", ""},
    {"a higher rank after a lower one returned is stale", 3, LINEAR_UNREAD, "2@0-9 0@1-4 1@5-9",
     "STALE 1: 1 2"},
    {"a twin that began after the first returned is stale", 1, LINEAR_UNREAD, "0@1-4 0@5-9",
     "TWIN 1: 0 1; STALE 1: 0 1"},
    {"the last that passed before a stale sale is named", 3, LINEAR_UNREAD, "0@1-2 1@3-4 2@5-9",
     "STALE 2: 0 1"},
    {"of many twins the tightest pair is named", 3, LINEAR_UNREAD,
     "2@0-9 2@9-20 2@18-22 1@20-30 0@21-30", "TWIN 2: 1 2; STALE 1: 0 2"},
    {"a rank beyond the stock is out of range", 1, LINEAR_UNREAD, "0@0-1 -1@2-3 1@1-4",
     "RANGE 2: 2"},
    {"a refusal before a later sale is early", 1, LINEAR_UNREAD, "out@0-1 out@2-3 0@4-9 out@3-4",
     "EARLY 2: 1 2"},
    {"a rank that was passed is missing", 5, LINEAR_UNREAD, "4@0-1 1@2-3 0@2-4",
     "MISSING 2: 1 0 rank 2"},
    {"units left at the end are not missing", 9, LINEAR_UNREAD, "8@0-1", ""},
    {"units left after a refusal are missing", 9, LINEAR_UNREAD, "8@0-1 out@0-1",
     "MISSING 8: 1 0 rank 0"},
    {"an unknown operation fills a gap if it began in time", 2, LINEAR_UNREAD, "0@3-4 ?4", ""},
    {"an unknown operation fills no gap if it began too late", 2, LINEAR_UNREAD, "0@3-4 ?5",
     "MISSING 1: 0 rank 1"},
    {"two unknown operations fill two gaps", 4, LINEAR_UNREAD, "0@3-4 2@3-4 ?2 ?1", ""},
    {"one unknown operation fills one gap alone", 4, LINEAR_UNREAD, "0@3-4 2@3-4 ?1",
     "MISSING 1: 0 1 rank 1"},
    {"the count at the end is that of the sales", 3, 1, "2@0-1 1@0-1", ""},
    {"a count at the end below that of the sales is missing a unit", 3, 0, "2@0-1 1@0-1",
     "MISSING 1: end 1 rank 0"},
    {"a count at the end above that of the sales has a surplus", 3, 2, "2@0-1 1@0-1",
     "SURPLUS 1: 1"},
    {"units left after a refusal are unsold", 2, 1, "1@0-1 out@2-3", "UNSOLD 1: 1"},
    {"a unit that came back was taken by one undone that began in time", 4, LINEAR_UNREAD,
     "3@0-1 1@2-3 again2@4-9 !3", ""},
    {"a unit that came back was not taken by one undone that began too late", 4, LINEAR_UNREAD,
     "3@0-1 1@2-3 again2@4-9 !4", "UNTAKEN 1: 2 rank 2"},
    {"a unit that came back was taken by an unknown one", 4, LINEAR_UNREAD,
     "3@0-1 1@2-3 again2@4-9 ?3", ""},
    /* It gave its unit back. */
    {"an operation that was undone fills no other gap", 2, 0, "0@2-3 !1", "MISSING 1: 0 rank 1"},
    {"the largest stock is checked like a small one", INT32_MAX, LINEAR_UNREAD,
     "2147483646@0-9 2147483644@1-2", "MISSING 1: 1 0 rank 2147483645"},
};

static const char *const names[] = {"RANGE",   "TWIN",    "STALE",  "EARLY",  "MISSING",
                                    "UNTAKEN", "SURPLUS", "UNSOLD", "UNASKED"};

static struct linear_answer answer_of(const struct history *history) {
    struct linear_op ops[8], op;
    int64_t unknown_ns[8], undone_ns[8];
    struct linear_row row = {history->units, history->left, ops, 0, false};
    struct linear_open open = {.unknown_ns = unknown_ns, .undone_ns = undone_ns};
    char copy[128], *rest = copy, *word;
    struct linear_answer answer;

    (void)snprintf(copy, sizeof copy, "%s", history->operations);
    while ((word = strsep(&rest, " ")) != NULL && *word != '\0') {
        const char *times = strchr(word, '@');

        if (times == NULL && *word == '?') {
            unknown_ns[open.unknown_count++] = strtoll(word + 1, NULL, 10);
            continue;
        } else if (times == NULL) {
            assert_int_equal(*word, '!');
            undone_ns[open.undone_count++] = strtoll(word + 1, NULL, 10);
            continue;
        }
        op = ok(0, 0, 0);
        assert_int_equal(sscanf(times, "@%" SCNd64 "-%" SCNd64, &op.invoke_ns, &op.return_ns), 2);
        op.kind = *word == 'o' ? LINEAR_SOLD_OUT : *word == 'a' ? LINEAR_AGAIN : LINEAR_OK;
        if (op.kind != LINEAR_SOLD_OUT)
            op.rank = (int32_t)strtol(word + strcspn(word, "-0123456789"), NULL, 10);
        ops[row.count++] = op;
    }
    assert_int_equal(linear_check(&row, 1, &open, &answer), 0);
    return answer;
}

/* "STALE 2: 0 1", "MISSING 1: end 1 rank 0; " */
static void write_found(const struct linear_answer *answer, char *text, size_t size) {
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < LINEAR_CONTRADICTION_COUNT; i++) {
        const struct linear_finding *found = &answer->found[i];

        if (found->count == 0)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s %" PRId64 ":",
                                 used > 0 ? "; " : "", names[i], found->count);
        for (size_t op = 0; op < found->ops; op++)
            used +=
                (size_t)snprintf(text + used, size - used,
                                 found->op[op] == LINEAR_END ? " end" : " %" PRIu32, found->op[op]);
        if (found->rank != 0 || i == LINEAR_MISSING)
            used += (size_t)snprintf(text + used, size - used, " rank %" PRId64, found->rank);
    }
}

static void test_history(void **state) {
    const struct history *history = *state;
    const struct linear_answer answer = answer_of(history);
    char found[128];

    write_found(&answer, found, sizeof found);
    assert_string_equal(found, history->found);
    assert_int_equal(answer.is_linearizable, found[0] == '\0');
}

static void test_one_unknown_operation_fills_no_gaps_of_two_rows(void **state) {
    const struct linear_op ops[] = {ok(0, 3, 4)};
    const struct linear_row rows[] = {{2, 0, ops, 1, false}, {1, 0, NULL, 0, false}};
    int64_t unknown_ns[] = {1, 2};
    struct linear_open open = {.unknown_ns = unknown_ns, .unknown_count = 2};
    struct linear_answer answers[2];
    char found[64];

    assert_int_equal(linear_check(rows, 2, &open, answers), 0);
    assert_true(answers[0].is_linearizable && answers[1].is_linearizable);
    open.unknown_count = 1;
    assert_int_equal(linear_check(rows, 2, &open, answers), 0);
    assert_true(answers[0].is_linearizable);
    write_found(&answers[1], found, sizeof found);
    assert_string_equal(found, "MISSING 1: end rank 0");
}

static void check_whatever(void *arg) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(0, 1, 4)};
    const struct linear_row row = {3, 0, ops, 2, false};
    int64_t unknown_ns[] = {5};
    const struct linear_open open = {.unknown_ns = unknown_ns, .unknown_count = 1};
    struct linear_answer answer;

    (void)!linear_check(&row, 1, &open, &answer);
}

static void test_no_memory_is_told(void **state) {
    fault_each_allocation(check_whatever, NULL);
}

int main(void) {
    struct CMUnitTest tests[sizeof histories / sizeof *histories + 2] = {
        cmocka_unit_test(test_one_unknown_operation_fills_no_gaps_of_two_rows),
        cmocka_unit_test(test_no_memory_is_told),
    };

    for (size_t i = 0; i < sizeof histories / sizeof *histories; i++)
        tests[2 + i] = (struct CMUnitTest){histories[i].name, test_history, NULL, NULL,
                                           (void *)(uintptr_t)&histories[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

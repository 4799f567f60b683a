/* The linearizability check against a search through all orders of small random histories. */
#include "linear.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define OPS_MAX   7
#define UNITS_MAX 4
#define HISTORIES 40000 /* of each of both kinds */

struct past {
    int64_t units;
    size_t count;
    struct linear_op ops[OPS_MAX];
    uint32_t excused; /* a bit for each rank */
};

/* ---- the search: take any operation that may be next, and try all that can follow */

struct search {
    const struct past *past;
    bool seen[1 << OPS_MAX][UNITS_MAX + 1]; /* dead ends: operations done, units left */
};

/* Nothing that must still happen has returned before it began. */
static bool may_be_next(const struct past *past, unsigned done, size_t candidate) {
    for (size_t i = 0; i < past->count; i++)
        if ((done >> i & 1) == 0 && past->ops[i].kind != LINEAR_UNKNOWN &&
            past->ops[i].return_ns < past->ops[candidate].invoke_ns)
            return false;
    return true;
}

/* The units left after it, or -1 when it cannot happen with so many. */
static int64_t effect(const struct linear_op *op, int64_t left) {
    switch (op->kind) {
    case LINEAR_OK:
        return left > 0 && op->rank == left - 1 ? left - 1 : -1;
    case LINEAR_SOLD_OUT:
        return left == 0 ? 0 : -1;
    case LINEAR_UNKNOWN:
        break;
    }
    return left - 1; /* without an effect it need not happen */
}

static bool is_complete(const struct past *past, unsigned done) {
    for (size_t i = 0; i < past->count; i++)
        if ((done >> i & 1) == 0 && past->ops[i].kind != LINEAR_UNKNOWN)
            return false;
    return true;
}

static bool can_finish(struct search *search, unsigned done, int64_t left) {
    const struct past *past = search->past;

    if (is_complete(past, done))
        return true;
    if (search->seen[done][left])
        return false;
    search->seen[done][left] = true;
    if (left > 0 && (past->excused >> (left - 1) & 1) && can_finish(search, done, left - 1))
        return true;
    for (size_t i = 0; i < past->count; i++) {
        int64_t after = (done >> i & 1) == 0 ? effect(&past->ops[i], left) : -1;

        if (after >= 0 && may_be_next(past, done, i) && can_finish(search, done | 1u << i, after))
            return true;
    }
    return false;
}

static bool search_all(const struct past *past) {
    struct search search = {.past = past};

    return can_finish(&search, 0, past->units);
}

/* ---- random histories */

static uint64_t seed;

static int64_t pick(int64_t from, int64_t to) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return from + (int64_t)(seed % (uint64_t)(to - from + 1));
}

static void move_op(struct linear_op *op, int64_t by) {
    op->invoke_ns += by;
    if (op->kind != LINEAR_UNKNOWN)
        op->return_ns += by;
}

/* Another rank, a little earlier or later, or at the time of another one. */
static void spoil(struct past *past) {
    struct linear_op *op = &past->ops[pick(0, (int64_t)past->count - 1)];
    struct linear_op *other = &past->ops[pick(0, (int64_t)past->count - 1)];
    int64_t apart = other->invoke_ns - op->invoke_ns;

    switch (pick(1, 3)) {
    case 1:
        op->rank = op->kind == LINEAR_OK ? (int32_t)pick(-1, past->units) : 0;
        return;
    case 2:
        move_op(op, pick(-6, 6));
        return;
    default:
        move_op(op, apart);
        move_op(other, -apart);
    }
}

/* As a correct server could produce it, and then perhaps spoiled. */
static void make_plausible(struct past *past) {
    int64_t left = past->units, now = 0;

    for (size_t i = 0; i < past->count; i++) {
        struct linear_op *op = &past->ops[i];

        *op = (struct linear_op){.invoke_ns = now - pick(0, 4), .return_ns = now + pick(1, 4)};
        op->kind = left > 0 ? LINEAR_OK : LINEAR_SOLD_OUT;
        op->rank = left > 0 ? (int32_t)--left : 0;
        if (pick(1, 100) <= 20)
            *op = (struct linear_op){.invoke_ns = op->invoke_ns, .kind = LINEAR_UNKNOWN};
        now += pick(1, 3);
    }
    if (pick(1, 100) <= 60)
        spoil(past);
}

static void make_random(struct past *past) {
    static const enum linear_kind kinds[] = {LINEAR_OK, LINEAR_OK, LINEAR_SOLD_OUT, LINEAR_UNKNOWN};

    for (size_t i = 0; i < past->count; i++) {
        struct linear_op *op = &past->ops[i];

        *op = (struct linear_op){.invoke_ns = pick(0, 10), .kind = kinds[pick(0, 3)]};
        op->return_ns = pick(1, 10) == 1 ? LINEAR_NEVER : op->invoke_ns + pick(1, 6);
        op->rank = op->kind == LINEAR_OK ? (int32_t)pick(0, past->units - 1) : 0;
    }
}

static void print_past(const struct past *past, uint64_t from_seed) {
    static const char *const names[] = {"ok", "sold out", "unknown"};

    print_message("seed %" PRIu64 ": %" PRId64 " units, excused ranks 0x%x\n", from_seed,
                  past->units, past->excused);
    for (size_t i = 0; i < past->count; i++)
        print_message("  %zu: %s rank %" PRId32 " from %" PRId64 " to %" PRId64 "\n", i,
                      names[past->ops[i].kind], past->ops[i].rank, past->ops[i].invoke_ns,
                      past->ops[i].return_ns);
}

static void check(const struct past *past, struct linear_answer *answer) {
    int32_t excused[UNITS_MAX];
    size_t count = 0;

    for (int32_t rank = 0; rank < past->units; rank++)
        if (past->excused >> rank & 1)
            excused[count++] = rank;
    assert_int_equal(linear_check(past->units, past->ops, past->count, excused, count, answer), 0);
}

/* ---- counterexamples by themselves */

static bool is_sold(const struct past *past, int64_t rank) {
    for (size_t i = 0; i < past->count; i++)
        if (past->ops[i].kind == LINEAR_OK && past->ops[i].rank == rank)
            return true;
    return past->excused >> rank & 1;
}

/* Only what was found, and every other rank may have been sold to anyone at any time: for a missing
 * rank, to the unknown operations alone, which must do for each rank from there up that has no
 * sale. */
static struct past alone(const struct past *past, enum linear_contradiction kind,
                         const struct linear_finding *found) {
    struct past part = {.units = past->units, .count = found->ops};

    for (size_t i = 0; i < found->ops; i++)
        part.ops[i] = past->ops[found->op[i]];
    part.excused = (1u << past->units) - 1;
    if (kind != LINEAR_MISSING)
        return part;
    for (int64_t rank = found->rank; rank < past->units; rank++)
        if (!is_sold(past, rank))
            part.excused &= ~(1u << rank);
    for (size_t i = 0; i < past->count; i++)
        if (past->ops[i].kind == LINEAR_UNKNOWN)
            part.ops[part.count++] = past->ops[i];
    return part;
}

static bool are_findings_contradictions(const struct past *past,
                                        const struct linear_answer *answer) {
    bool is_any = false;

    for (int kind = 0; kind < LINEAR_CONTRADICTION_COUNT; kind++) {
        const struct linear_finding *found = &answer->found[kind];
        struct past part;

        if ((found->count > 0) != (found->ops > 0))
            return false;
        if (found->count == 0)
            continue;
        is_any = true;
        part = alone(past, (enum linear_contradiction)kind, found);
        if (search_all(&part))
            return false;
    }
    return is_any != answer->is_linearizable;
}

/* ---- properties */

struct tally {
    int possible, impossible, by_kind[LINEAR_CONTRADICTION_COUNT];
};

static void compare_one(void (*make)(struct past *), uint64_t from_seed, bool has_excused,
                        struct tally *tally) {
    struct past past = {0};
    struct linear_answer answer;
    bool expected;

    seed = from_seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 4; i++)
        (void)pick(0, 1);
    past.units = pick(1, UNITS_MAX);
    past.count = (size_t)pick(1, OPS_MAX);
    make(&past);
    if (has_excused && pick(0, 1) == 0)
        past.excused = (uint32_t)pick(1, (1 << past.units) - 1);
    check(&past, &answer);
    expected = search_all(&past);
    if (answer.is_linearizable != expected || !are_findings_contradictions(&past, &answer)) {
        print_past(&past, from_seed);
        fail_msg("the check says %d, the search %d; or a finding is no contradiction",
                 answer.is_linearizable, expected);
    }
    *(expected ? &tally->possible : &tally->impossible) += 1;
    for (int i = 0; i < LINEAR_CONTRADICTION_COUNT; i++)
        tally->by_kind[i] += answer.found[i].count > 0;
}

static void compare_many(void (*make)(struct past *), bool has_excused) {
    struct tally tally = {0};

    for (uint64_t from_seed = 1; from_seed <= HISTORIES; from_seed++)
        compare_one(make, from_seed, has_excused, &tally);
    assert_int_equal(tally.possible + tally.impossible, HISTORIES);
    assert_in_range(tally.possible, HISTORIES / 20, HISTORIES);
    assert_in_range(tally.impossible, HISTORIES / 20, HISTORIES);
    for (int i = LINEAR_TWIN; i < LINEAR_CONTRADICTION_COUNT; i++)
        assert_in_range(tally.by_kind[i], HISTORIES / 100, HISTORIES);
}

static void test_plausible_histories_agree_with_the_search(void **state) {
    (void)state;
    compare_many(make_plausible, false);
}

static void test_random_histories_agree_with_the_search(void **state) {
    (void)state;
    compare_many(make_random, false);
}

static void test_histories_with_returned_units_agree_with_the_search(void **state) {
    (void)state;
    compare_many(make_plausible, true);
    compare_many(make_random, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plausible_histories_agree_with_the_search),
        cmocka_unit_test(test_random_histories_agree_with_the_search),
        cmocka_unit_test(test_histories_with_returned_units_agree_with_the_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

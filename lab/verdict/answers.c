/* Finds and tells the faults of a schedule's end that the judge of loadgen has no rule for. */
#include "answers.h"

#include <assert.h>
#include <inttypes.h>

static bool is_failure(enum outcome outcome) {
    return outcome != OUTCOME_SOLD && outcome != OUTCOME_SOLD_OUT && outcome != OUTCOME_BUSY &&
           outcome != OUTCOME_CONFLICT && outcome != OUTCOME_REPEATED;
}

static int64_t units_left(const struct model_world *world) {
    const struct model_row *rows = world->state.rows;
    int64_t left = world->state.returned_count;

    if (world->setup.options.is_cart)
        return rows[0].available < rows[1].available ? rows[0].available : rows[1].available;
    for (int i = 0; i < world->setup.options.shards; i++)
        if (world->state.rows[i].available > 0)
            left += world->state.rows[i].available;
    return left;
}

/* While units are left. The judge asks nothing about SOLD_OUT once a unit has come back, because it
 * cannot tell when. The last customer comes after that. */
static bool is_served(const struct model_world *world) {
    const struct model_order *order = &world->state.orders[world->setup.orders];

    return order->state == ORDER_ENDED &&
           (order->outcome == OUTCOME_SOLD || order->outcome == OUTCOME_REPEATED ||
            (order->outcome == OUTCOME_SOLD_OUT && world->state.gave_back == 0));
}

static bool has_answer(const struct model_order *order) {
    return order->state != ORDER_ENDED || order->outcome == OUTCOME_SOLD ||
           order->outcome == OUTCOME_SOLD_OUT || order->outcome == OUTCOME_REPEATED;
}

/* No fault but a crash happened. A dead holder's lock ends, so with a wait= that is long enough each
 * customer can be served. */
static bool can_serve(const struct model_world *world) {
    return (world->state.faults_made & ~(1U << FAULT_CRASH)) == 0;
}

/* A customer got a failure, or the answer to try again, although each could be served. */
static bool is_turned_away(const struct model_world *world) {
    if (world->setup.serves_all == 0 || !can_serve(world))
        return false;
    for (int i = 0; i <= world->setup.orders; i++)
        if (!has_answer(&world->state.orders[i]))
            return true;
    return false;
}

/* The first order that was told UNKNOWN, or -1. The store would have answered its next question. */
static int find_doubt(const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders && world->setup.knows_all != 0; i++)
        if (world->state.orders[i].state == ORDER_ENDED &&
            world->state.orders[i].outcome == OUTCOME_UNKNOWN)
            return i;
    return -1;
}

/* The first order that was turned away after a deadlock, or -1. */
static int find_deadlocked(const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders && can_serve(world); i++)
        if (world->state.orders[i].has_deadlocked != 0 && !has_answer(&world->state.orders[i]))
            return i;
    return -1;
}

static bool is_half(const struct model_world *world, int index) {
    return world->state.sold[index].is_there && !world->state.seconds[index].sold.is_there;
}

/* The first order with half of its cart, or -1. */
static int find_half(const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders && world->setup.options.is_cart; i++)
        if (is_half(world, i))
            return i;
    return -1;
}

unsigned answers_judge(const struct model_world *world) {
    unsigned found = 0;

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];
        const enum outcome outcome = (enum outcome)order->outcome;

        if (order->state == ORDER_RUNS)
            found |= 1U << VIEW_ENDLESS;
        /* OK, and the answers that order-svc gives without a strategy, are wrong even after a
         * fault. */
        if (order->state == ORDER_ENDED && is_failure(outcome) &&
            (world->state.faults_made == 0 ||
             (outcome != OUTCOME_UNKNOWN && outcome != OUTCOME_FAILED)))
            found |= 1U << VIEW_NO_ANSWER;
    }
    if (world->state.skipped != 0)
        found |= 1U << VIEW_SKIPS_WORK;
    if (world->state.freed != 0)
        found |= 1U << VIEW_FREES_ANOTHERS;
    if (find_half(world) >= 0)
        found |= 1U << VIEW_HALF_CART;
    if (find_deadlocked(world) >= 0)
        found |= 1U << VIEW_DEADLOCK;
    if (is_turned_away(world))
        found |= 1U << VIEW_TURNED_AWAY;
    if (find_doubt(world) >= 0)
        found |= 1U << VIEW_IN_DOUBT;
    if (units_left(world) > 0 && !is_served(world))
        found |= 1U << ANOMALY_STUCK;
    return found;
}

/* ---- sentences */

/* A strategy may answer any number. */
static const char *answers_name_of(uint8_t outcome) {
    return outcome <= OUTCOME_KEY_REUSED ? outcome_name((enum outcome)outcome) : "nonsense";
}

static void say_answers(FILE *to, const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_RUNS)
            fprintf(to, "%c does not end.", 'A' + i);
        else if (order->state == ORDER_ENDED && is_failure((enum outcome)order->outcome))
            fprintf(to, "%c was answered %s%s%s, but nothing had failed.", 'A' + i,
                    answers_name_of(order->outcome),
                    world->sales[i].sale.message[0] != '\0' ? ": " : "",
                    world->sales[i].sale.message);
        else
            continue;
        return;
    }
}

/* The first order among these bits. */
static char first_letter(uint8_t orders) {
    assert(orders != 0);
    return (char)('A' + __builtin_ctz(orders));
}

static void say_stuck(FILE *to, const struct model_world *world) {
    const struct model_order *last = &world->state.orders[world->setup.orders];
    const int64_t left = units_left(world);

    fprintf(to, "%" PRId64 " unit%s left, but the last customer, %c, came alone and ", left,
            left == 1 ? " is" : "s are", 'A' + world->setup.orders);
    if (last->state == ORDER_ENDED)
        fprintf(to, "was told %s.", answers_name_of(last->outcome));
    else
        fprintf(to, "got no answer.");
}

static void say_half(FILE *to, const struct model_world *world, int index) {
    const struct model_sold *sold = &world->state.sold[index];

    fprintf(to, "%c was sold unit %d, of product %d, but nothing of product %d.", 'A' + index,
            sold->unit, sold->shard, 1 - sold->shard);
}

static void say_deadlock(FILE *to, const struct model_world *world, int index) {
    fprintf(to,
            "%c waited for a row that another order held, and that order for a row of %c: a "
            "deadlock (40P01). The database ended the transaction of %c, and %c was told %s.",
            'A' + index, 'A' + index, 'A' + index, 'A' + index,
            answers_name_of(world->state.orders[index].outcome));
}

void answers_tell(FILE *to, const struct model_world *world, unsigned found) {
    if ((found & 1U << VIEW_HALF_CART) != 0)
        say_half(to, world, find_half(world));
    else if ((found & (1U << ANOMALY_STUCK)) != 0)
        say_stuck(to, world);
    else if ((found & (1U << VIEW_NO_ANSWER | 1U << VIEW_ENDLESS)) != 0)
        say_answers(to, world);
    else if ((found & 1U << VIEW_DEADLOCK) != 0)
        say_deadlock(to, world, find_deadlocked(world));
    else if ((found & 1U << VIEW_TURNED_AWAY) != 0)
        fprintf(to, "A customer was turned away, though %s.",
                world->state.faults_made == 0 ? "nothing had gone wrong"
                                              : "only another order had died");
    else if ((found & 1U << VIEW_IN_DOUBT) != 0)
        fprintf(to, "%c was told UNKNOWN, but the store answered again.", 'A' + find_doubt(world));
    else if (world->state.freed != 0)
        fprintf(to, "%c deleted a key that another order had set.",
                first_letter(world->state.freed));
    else if (world->state.skipped != 0)
        fprintf(to, "%c was sold a unit, but its sale never did all of store_work().",
                first_letter(world->state.skipped));
}

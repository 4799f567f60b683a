/* Runs one schedule again, and tells its steps. */
#include "explore.h"

#include "play.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT 240

struct telling {
    const struct replay *replay;
    struct model_move move;
    int64_t now_ms; /* the last time that was told */
    bool has_said;  /* the model has told something of this move */
    bool has_told;  /* this move has a line */
    bool is_first;  /* this is the first move of its order */
};

static void replay_tell(struct telling *telling, const struct model_world *world, int actor,
                        const char *text) {
    telling->has_told = telling->has_told || actor != REPLAY_CLOCK;
    if (telling->replay != NULL)
        telling->replay->say(telling->replay->data, world, telling->move, actor, text);
}

static void tell_clock(struct telling *telling, const struct model_world *world) {
    char text[TEXT];

    if (world->state.now_ms == telling->now_ms)
        return;
    (void)snprintf(text, sizeof text, "%" PRId64 " ms pass", world->state.now_ms - telling->now_ms);
    telling->now_ms = world->state.now_ms;
    replay_tell(telling, world, REPLAY_CLOCK, text);
}

static void replay_on_say(struct model_world *world, int index, const char *text) {
    struct telling *telling = world->data;

    tell_clock(telling, world);
    telling->has_said = true;
    replay_tell(telling, world, index, text);
}

/* ---- events that the model does not tell */

/* Tell a fault before its effect. Some texts begin with the instance's name. */
static void tell_before(struct telling *telling, const struct model_world *world) {
    static const char *const of_instance[MOVE_BUY + 1] = {[MOVE_PAUSE] = "stands still",
                                                          [MOVE_RESUME] = "goes on",
                                                          [MOVE_CRASH] =
                                                              "is killed and starts again"};
    const int kind = telling->move.kind;
    char text[TEXT];

    if (kind == MOVE_FAILOVER && telling->move.who > MODEL_MASTER)
        replay_tell(telling, world, REPLAY_FAULT,
                    "the second master fails; its replica takes over, and lacks the last writes");
    else if (kind == MOVE_FAILOVER && telling->move.who > MODEL_SERVER) {
        (void)snprintf(text, sizeof text, "server %d fails, with its keys, and stays down",
                       telling->move.who - MODEL_SERVER);
        replay_tell(telling, world, REPLAY_FAULT, text);
    } else if (kind == MOVE_FAILOVER)
        replay_tell(telling, world, REPLAY_FAULT,
                    "the keys' server fails; the replica that lags most takes over");
    if (kind == MOVE_EXPIRE && telling->move.who == 0)
        replay_tell(telling, world, REPLAY_FAULT, "time passes, and nothing is renewed");
    if (kind == MOVE_EXPIRE && telling->move.who > 0) {
        (void)snprintf(text, sizeof text, "the renewals of %c's lease fail, until it expires",
                       'A' + telling->move.who - 1);
        replay_tell(telling, world, REPLAY_FAULT, text);
    }
    if (of_instance[kind] == NULL)
        return;
    (void)snprintf(text, sizeof text, "%s %s", world->instances[telling->move.who],
                   of_instance[kind]);
    replay_tell(telling, world, REPLAY_FAULT, text);
}

static void tell_silent(struct telling *telling, const struct model_world *world) {
    const int who = telling->move.who, kind = telling->move.kind;
    char text[TEXT];

    if (kind == MOVE_LAND) {
        (void)snprintf(text, sizeof text, "the request that %c sent takes effect now", 'A' + who);
        replay_tell(telling, world, REPLAY_FAULT, text);
    } else if (kind == MOVE_BRING) {
        (void)snprintf(text, sizeof text, "%s brings a sale to the ledger", world->instances[who]);
        replay_tell(telling, world, REPLAY_FAULT, text);
    } else if (kind == MOVE_RETURN) {
        replay_tell(telling, world, who, "gives its unit back");
    } else if (kind == MOVE_BUY) {
        (void)snprintf(text, sizeof text, "a customer at another shop, %c, buys unit %d",
                       MODEL_LETTER_OF_OTHER(world->state.bought_count - 1),
                       world->state.bought[world->state.bought_count - 1].unit);
        replay_tell(telling, world, REPLAY_FAULT, text);
    } else if (kind == MOVE_RUN || kind == MOVE_LOSE || kind == MOVE_DROP) {
        replay_tell(telling, world, who, telling->is_first ? "comes" : "goes on");
    }
}

static void write_answer(const struct model_world *world, int index, char text[TEXT]) {
    static const char *const answers[] = {[OUTCOME_SOLD_OUT] = "sold out",
                                          [OUTCOME_BUSY] = "busy, try again",
                                          [OUTCOME_CONFLICT] = "another was faster, try again",
                                          [OUTCOME_REPEATED] = "this order has its unit already",
                                          [OUTCOME_UNKNOWN] =
                                              "nobody knows whether a unit was sold"};
    const struct model_order *order = &world->state.orders[index];
    const char *message = world->sales[index].sale.message;

    if (order->outcome == OUTCOME_SOLD)
        (void)snprintf(text, TEXT, "is told: sold, unit %d is yours", order->unit);
    else if (order->outcome == OUTCOME_FAILED)
        (void)snprintf(text, TEXT, "is told: it failed%s%.180s", message[0] != '\0' ? ", " : "",
                       message);
    else if (order->outcome < sizeof answers / sizeof *answers && answers[order->outcome] != NULL)
        (void)snprintf(text, TEXT, "is told: %s", answers[order->outcome]);
    else
        (void)snprintf(text, TEXT, "is told an answer that does not exist: %d", order->outcome);
}

static void tell_after(struct telling *telling, const struct model_world *world,
                       uint8_t ended_before) {
    const int who = telling->move.who;
    char text[TEXT];

    if (!telling->has_said)
        tell_silent(telling, world);
    tell_clock(telling, world);
    if (telling->move.kind == MOVE_LOSE || telling->move.kind == MOVE_DROP) {
        (void)snprintf(text, sizeof text, "the %s %c is lost",
                       telling->move.kind == MOVE_LOSE ? "reply to" : "request of", 'A' + who);
        replay_tell(telling, world, REPLAY_FAULT, text);
    }
    for (int i = 0; i <= world->setup.orders; i++)
        if (((world->state.answered & ~ended_before) >> i & 1) != 0) {
            write_answer(world, i, text);
            replay_tell(telling, world, i, text);
        }
}

/* ---- the schedule */

static bool has(const struct model_move *moves, size_t count, struct model_move move) {
    for (size_t i = 0; i < count; i++)
        if (moves[i].kind == move.kind && moves[i].who == move.who)
            return true;
    return false;
}

static int replay_make(struct model_world *world, struct telling *telling, struct model_move move) {
    const uint8_t answered = world->state.answered;

    telling->move = move;
    telling->has_said = telling->has_told = false;
    telling->is_first =
        move.kind == MOVE_RUN && world->state.orders[move.who].state == ORDER_TO_COME;
    tell_clock(telling, world);
    tell_before(telling, world);
    if (play_move(world, move) != 0)
        return -1;
    if (telling->replay != NULL && telling->has_told)
        telling->replay->made(telling->replay->data, world);
    tell_after(telling, world, answered);
    return 0;
}

static struct telling telling; /* static, because the world keeps its address */

static void replay_begin(struct model_world *world, const struct replay *replay) {
    telling = (struct telling){.replay = replay};
    world->data = &telling;
    world->say = replay != NULL ? replay_on_say : NULL;
    play_begin(world);
}

static enum replay_end replay_end(struct model_world *world, enum replay_end end) {
    play_end(world);
    world->say = NULL;
    return end;
}

/* Make the move if it is among the possible ones. */
static enum replay_end replay_make_one(struct model_world *world, const struct model_move *moves,
                                       size_t count, struct model_move move) {
    if (!has(moves, count, move))
        return REPLAY_IMPOSSIBLE;
    return replay_make(world, &telling, move) == 0 ? REPLAY_ENDED : REPLAY_NO_MEMORY;
}

enum replay_end explore_replay(struct model_world *world, struct schedule *schedule,
                               const struct replay *replay, size_t *at) {
    struct model_move moves[MODEL_MOVES];
    enum replay_end end = REPLAY_ENDED;
    size_t count;

    *at = 0;
    replay_begin(world, replay);
    while (end == REPLAY_ENDED && (count = model_moves(world, moves)) > 0) {
        if (*at == schedule->count && *at < EXPLORE_MOVES)
            schedule->moves[schedule->count++] = moves[0];
        if (*at == schedule->count)
            end = REPLAY_ENDLESS;
        else
            end = replay_make_one(world, moves, count, schedule->moves[*at]);
        *at += end == REPLAY_ENDED;
    }
    if (end == REPLAY_ENDED && *at < schedule->count)
        end = REPLAY_IMPOSSIBLE;
    return replay_end(world, end);
}

enum replay_end explore_follow(struct model_world *world, const struct schedule *schedule,
                               const struct replay *replay, size_t first,
                               struct model_move next[MODEL_MOVES], size_t *count) {
    enum replay_end end = REPLAY_ENDED;

    replay_begin(world, replay);
    *count = model_moves(world, next);
    for (size_t i = 0; i < schedule->count && end == REPLAY_ENDED; i++) {
        telling.replay = i < first ? NULL : replay;
        end = replay_make_one(world, next, *count, schedule->moves[i]);
        *count = model_moves(world, next);
    }
    return replay_end(world, end);
}

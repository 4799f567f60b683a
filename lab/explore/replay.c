/* A schedule, made again. */
#include "explore.h"

#include "play.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT 240

struct telling {
    const struct replay *replay;
    struct model_move move;
    int64_t now_ms; /* that was told last */
    bool has_said;  /* something of this move */
    bool is_first;  /* move of its order */
};

static void replay_tell(struct telling *telling, const struct model_world *world, int actor,
                        const char *text) {
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

/* ---- what the model says nothing of */

/* What goes wrong is told before what comes of it. */
static void tell_before(struct telling *telling, const struct model_world *world) {
    const int who = telling->move.who;
    const char *instance = who < world->setup.instances ? world->instances[who] : "";
    char text[TEXT] = "";

    switch ((enum model_move_kind)telling->move.kind) {
    case MOVE_PAUSE:
        (void)snprintf(text, sizeof text, "%s stands still, for longer than any lease", instance);
        break;
    case MOVE_RESUME:
        (void)snprintf(text, sizeof text, "%s goes on", instance);
        break;
    case MOVE_CRASH:
        (void)snprintf(text, sizeof text, "%s is killed, and starts again", instance);
        break;
    case MOVE_FAILOVER:
        (void)snprintf(text, sizeof text,
                       "the keys' server fails; the replica that lags most takes over");
        break;
    case MOVE_EXPIRE:
        (void)snprintf(text, sizeof text, "time passes, and nothing is renewed");
        break;
    case MOVE_RUN:
    case MOVE_LOSE:
    case MOVE_DROP:
    case MOVE_LAND:
    case MOVE_BRING:
    case MOVE_RETURN:
        return;
    }
    replay_tell(telling, world, REPLAY_FAULT, text);
}

static void tell_silent(struct telling *telling, const struct model_world *world) {
    const int who = telling->move.who;
    char text[TEXT];

    switch ((enum model_move_kind)telling->move.kind) {
    case MOVE_LAND:
        (void)snprintf(text, sizeof text, "what %c had sent takes effect now", 'A' + who);
        replay_tell(telling, world, REPLAY_FAULT, text);
        break;
    case MOVE_BRING:
        (void)snprintf(text, sizeof text, "%s brings a sale to the ledger", world->instances[who]);
        replay_tell(telling, world, REPLAY_FAULT, text);
        break;
    case MOVE_RETURN:
        replay_tell(telling, world, who, "gives its unit back");
        break;
    case MOVE_RUN:
    case MOVE_LOSE:
    case MOVE_DROP:
        replay_tell(telling, world, who, telling->is_first ? "comes" : "goes on");
        break;
    case MOVE_PAUSE:
    case MOVE_RESUME:
    case MOVE_CRASH:
    case MOVE_FAILOVER:
    case MOVE_EXPIRE:
        break;
    }
}

static void write_answer(const struct model_world *world, int index, char text[TEXT]) {
    const struct model_order *order = &world->state.orders[index];
    const char *message = world->sales[index].sale.message;

    switch ((enum outcome)order->outcome) {
    case OUTCOME_SOLD:
        (void)snprintf(text, TEXT, "is told: sold, unit %d is yours", order->unit);
        return;
    case OUTCOME_REPEATED:
        (void)snprintf(text, TEXT, "is told: this order has its unit already");
        return;
    case OUTCOME_SOLD_OUT:
        (void)snprintf(text, TEXT, "is told: sold out");
        return;
    case OUTCOME_BUSY:
        (void)snprintf(text, TEXT, "is told: busy, try again");
        return;
    case OUTCOME_CONFLICT:
        (void)snprintf(text, TEXT, "is told: another was faster, try again");
        return;
    case OUTCOME_UNKNOWN:
        (void)snprintf(text, TEXT, "is told: nobody knows whether a unit was sold");
        return;
    case OUTCOME_FAILED:
        (void)snprintf(text, TEXT, "is told: it failed%s%.180s", message[0] != '\0' ? ", " : "",
                       message);
        return;
    case OUTCOME_OK:
    case OUTCOME_UNKNOWN_PRODUCT:
    case OUTCOME_BAD_STRATEGY:
    case OUTCOME_KEY_REUSED:
        break;
    }
    (void)snprintf(text, TEXT, "is given an answer that is none: %d", order->outcome);
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
    telling->has_said = false;
    telling->is_first = world->state.orders[move.who].state == ORDER_TO_COME;
    tell_clock(telling, world);
    tell_before(telling, world);
    if (play_move(world, move) != 0)
        return -1;
    if (telling->replay != NULL)
        telling->replay->made(telling->replay->data, world);
    tell_after(telling, world, answered);
    return 0;
}

enum replay_end explore_replay(struct model_world *world, struct schedule *schedule,
                               const struct replay *replay, size_t *at) {
    static struct telling telling; /* as the world keeps its address */
    struct model_move moves[MODEL_MOVES];
    enum replay_end end = REPLAY_ENDED;
    size_t count;

    telling = (struct telling){.replay = replay};
    world->data = &telling;
    world->say = replay != NULL ? replay_on_say : NULL;
    *at = 0;
    play_begin(world);
    while (end == REPLAY_ENDED && (count = model_moves(world, moves)) > 0) {
        if (*at == schedule->count && *at < EXPLORE_MOVES)
            schedule->moves[schedule->count++] = moves[0];
        if (*at == schedule->count)
            end = REPLAY_ENDLESS;
        else if (!has(moves, count, schedule->moves[*at]))
            end = REPLAY_IMPOSSIBLE;
        else if (replay_make(world, &telling, schedule->moves[*at]) != 0)
            end = REPLAY_NO_MEMORY;
        else
            ++*at;
    }
    if (end == REPLAY_ENDED && *at < schedule->count)
        end = REPLAY_IMPOSSIBLE;
    play_end(world);
    world->say = NULL;
    return end;
}

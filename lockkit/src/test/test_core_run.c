/* Random runs of the core: two clients, one server, a network that loses, delays and overtakes, and
 * a clock that the run advances. libuv is replaced by the few functions below, so a run needs no
 * time, and its seed gives the same run again.
 *
 * In a quarter of the runs the server is narrow instead: it loses nothing, and takes its time for
 * each message of a client, one after the other, with more waiters than it can answer in time.
 *
 *   CORE_RUN_SEED   the first seed [1]
 *   CORE_RUN_STEPS  the number of steps [300,000]
 *
 * A run asserts, after each step: no two leases of a name are valid at once; tokens rise, also above
 * tokens of a resource; each callback runs once, and never inside a call. At a narrow server no
 * lease is lost. At its end the network works again: every waiter gets the lock, a lost lease keeps
 * it from nobody, and clients close. */
#include "lease.h"
#include "number.h"
#include "sim_lock.h"
#include "test.h"

#include <assert.h>
#include <sys/random.h>

#define CLIENTS      2
#define NAMES        12
#define CALLERS_MOST 128
#define MESSAGES     512
#define TIMERS       512
#define STEPS_OF_RUN 600
#define SERVICE_NS   (8 * (int64_t)NS_PER_MS)
#define TTL_MS       1000
#define SECOND_NS    INT64_C(1000000000)

/* ---- A loop: timers, idle handles and closing, by the run's clock */

enum { ACTIVE = 1, CLOSING = 2 };

static struct {
    int64_t now_ns;
    uint64_t starts;
    uv_timer_t *timers[TIMERS];
    uv_idle_t *idles[16];
    uv_handle_t *closing[TIMERS];
    unsigned timer_count, idle_count, closing_count;
} loop;

static uint64_t loop_ms(void) {
    return (uint64_t)(loop.now_ns / NS_PER_MS);
}

int uv_timer_init(uv_loop_t *of, uv_timer_t *timer) {
    timer->loop = of;
    timer->type = UV_TIMER;
    timer->flags = 0;
    return 0;
}

int uv_timer_stop(uv_timer_t *timer) {
    for (unsigned i = 0; (timer->flags & ACTIVE) && i < loop.timer_count; i++)
        if (loop.timers[i] == timer) {
            loop.timers[i] = loop.timers[--loop.timer_count];
            break;
        }
    timer->flags &= ~(unsigned)ACTIVE;
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb cb, uint64_t timeout, uint64_t repeat) {
    assert(repeat == 0 && !(timer->flags & CLOSING));
    (void)uv_timer_stop(timer);
    assert_true(loop.timer_count < TIMERS);
    timer->timer_cb = cb;
    timer->timeout = loop_ms() + timeout;
    timer->start_id = loop.starts++;
    timer->flags |= ACTIVE;
    loop.timers[loop.timer_count++] = timer;
    return 0;
}

int uv_idle_init(uv_loop_t *of, uv_idle_t *idle) {
    idle->loop = of;
    idle->type = UV_IDLE;
    idle->flags = 0;
    return 0;
}

int uv_idle_stop(uv_idle_t *idle) {
    for (unsigned i = 0; (idle->flags & ACTIVE) && i < loop.idle_count; i++)
        if (loop.idles[i] == idle) {
            loop.idles[i] = loop.idles[--loop.idle_count];
            break;
        }
    idle->flags &= ~(unsigned)ACTIVE;
    return 0;
}

int uv_idle_start(uv_idle_t *idle, uv_idle_cb cb) {
    if (idle->flags & ACTIVE)
        return 0;
    idle->idle_cb = cb;
    idle->flags |= ACTIVE;
    loop.idles[loop.idle_count++] = idle;
    return 0;
}

void uv_close(uv_handle_t *handle, uv_close_cb cb) {
    assert(!(handle->flags & CLOSING) && loop.closing_count < TIMERS);
    if (handle->type == UV_TIMER)
        (void)uv_timer_stop((uv_timer_t *)handle);
    else
        (void)uv_idle_stop((uv_idle_t *)handle);
    handle->flags |= CLOSING;
    handle->close_cb = cb;
    loop.closing[loop.closing_count++] = handle;
}

int uv_is_active(const uv_handle_t *handle) {
    return (handle->flags & ACTIVE) != 0;
}

int uv_is_closing(const uv_handle_t *handle) {
    return (handle->flags & CLOSING) != 0;
}

void uv_update_time(uv_loop_t *of) {
    (void)of;
}

static uv_timer_t *first_timer(uint64_t started_before) {
    uv_timer_t *first = NULL;

    for (unsigned i = 0; i < loop.timer_count; i++) {
        uv_timer_t *each = loop.timers[i];

        if (each->start_id < started_before &&
            (first == NULL || each->timeout < first->timeout ||
             (each->timeout == first->timeout && each->start_id < first->start_id)))
            first = each;
    }
    return first;
}

static void loop_turn(void) {
    const uint64_t before = loop.starts;
    uv_idle_t *idles[16];
    unsigned count;
    uv_timer_t *timer;

    while ((timer = first_timer(before)) != NULL && timer->timeout <= loop_ms()) {
        (void)uv_timer_stop(timer);
        timer->timer_cb(timer);
    }
    count = loop.idle_count;
    memcpy(idles, loop.idles, sizeof idles);
    for (unsigned i = 0; i < count; i++)
        if (idles[i]->flags & ACTIVE)
            idles[i]->idle_cb(idles[i]);
    for (count = loop.closing_count; count > 0; count--) {
        uv_handle_t *handle = loop.closing[0];

        memmove(loop.closing, loop.closing + 1, --loop.closing_count * sizeof handle);
        handle->close_cb(handle);
    }
}

/* ---- Chance: the generator of the C standard's example is too short, so xorshift64* (Vigna) */

static uint64_t chance_state;

static unsigned chance(unsigned below) {
    chance_state ^= chance_state >> 12;
    chance_state ^= chance_state << 25;
    chance_state ^= chance_state >> 27;
    return (unsigned)((chance_state * UINT64_C(2685821657736338717)) >> 33) % below;
}

/* Owner tokens. malloc() asks, too, once: that must not change the first run. */
ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = size == OWNER_SIZE / 2 ? (unsigned char)chance(256) : 0;
    return (ssize_t)size;
}

/* ---- The server, and messages to it */

struct message {
    bool is_used, is_applied, is_push;
    uint64_t number; /* in the order of their sending */
    int name;
    int64_t ready_ns;           /* of a narrow server: it has served all before, and this one */
    struct lk_command *command; /* NULL once it was answered */
    int64_t deadline_ns;
    struct sim_ask ask;
};

static struct {
    struct sim_lock locks[NAMES];
    struct message messages[MESSAGES];
    struct lk_client *clients[CLIENTS];
    struct backend {
        struct lk_backend base;
        struct lk_backend *own;
        int number;
        int64_t free_ns; /* of a narrow server: it has served all messages of this client */
    } backends[CLIENTS];
    unsigned names, callers;
    bool is_session, is_healed;
    int64_t service_ns; /* of a narrow server, for each message of a client; 0: it is not narrow */
    unsigned closed;
    uint64_t sent;
    int inside; /* calls of the core under way */
} sim;

static const char *name_text(int name) {
    static const char letters[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l";

    assert_in_range(name, 0, NAMES - 1);
    return letters + 2 * name;
}

static struct message *message_new(int client, int name) {
    for (unsigned i = 0; i < MESSAGES; i++)
        if (!sim.messages[i].is_used) {
            sim.messages[i] = (struct message){
                .is_used = true, .number = sim.sent++, .name = name, .ask = {.client = client}};
            return &sim.messages[i];
        }
    fail_msg("too many messages");
    return NULL;
}

/* The server tells a waiter that it has the lock now. */
static void server_serve(int name) {
    struct sim_lock *lock = &sim.locks[name];

    while (sim_lock_serve(lock, loop.now_ns, (int64_t)TTL_MS * NS_PER_MS)) {
        struct message *push = message_new(lock->holder.client, name);

        push->is_push = true;
        push->ready_ns = loop.now_ns;
        memcpy(push->ask.owner, lock->holder.owner, OWNER_SIZE);
    }
}

static void message_apply(struct message *message) {
    server_serve(message->name);
    message->is_applied = true;
    sim_lock_carry_out(&sim.locks[message->name], &message->ask, loop.now_ns);
    server_serve(message->name);
}

static void message_answer(struct message *message, enum lk_status status) {
    struct lk_command *command = message->command;

    message->command = NULL;
    command->status = status;
    if (status == message->ask.status) {
        command->fence = message->ask.fence;
        command->remaining_ms = message->ask.remaining_ms;
        command->is_queued = message->ask.is_queued;
    }
    command->on_answer(command);
}

/* In a session the commands of an owner arrive in their order. */
static struct message *message_before(struct message *message) {
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct message *each = &sim.messages[i];

        if (each->is_used && !each->is_push && !each->is_applied &&
            strcmp(each->ask.owner, message->ask.owner) == 0 && each->number < message->number)
            message = each;
    }
    return message;
}

/* The next thing happens to the message. */
static void message_step(struct message *message) {
    if (message->is_push) {
        message->is_used = false;
        if (sim.clients[message->ask.client] != NULL &&
            (sim.is_healed || sim.service_ns > 0 || chance(4) > 0))
            client_push(sim.clients[message->ask.client], LK_PUSH_FREE, name_text(message->name),
                        message->ask.owner, NULL);
    } else if (!message->is_applied) {
        if (sim.is_session)
            message = message_before(message);
        message_apply(message);
        message->is_used = message->command != NULL;
    } else {
        message->is_used = false;
        message_answer(message, message->ask.status);
    }
}

/* A narrow server serves the messages of a client one after the other. */
static void messages_serve(void) {
    struct message *first;

    do {
        first = NULL;
        for (unsigned i = 0; i < MESSAGES; i++) {
            struct message *each = &sim.messages[i];

            if (each->is_used && each->ready_ns <= loop.now_ns &&
                (first == NULL || each->ready_ns < first->ready_ns ||
                 (each->ready_ns == first->ready_ns && each->number < first->number)))
                first = each;
        }
        if (first != NULL)
            message_step(first);
    } while (first != NULL);
}

static void messages_expire(void) {
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct message *message = &sim.messages[i];

        if (!message->is_used || message->command == NULL || message->deadline_ns > loop.now_ns)
            continue;
        if (message->is_applied)
            message->is_used = false;
        else if (message->ask.verb == LK_ACQUIRE && sim.service_ns == 0 &&
                 chance(4) == 0) { /* it was never sent */
            message->is_used = false;
            message_answer(message, LK_UNAVAILABLE);
            continue;
        }
        message_answer(message, LK_UNKNOWN);
    }
}

static void messages_step(void) {
    const unsigned from = chance(MESSAGES);

    for (unsigned i = 0; i < MESSAGES; i++)
        if (sim.messages[(from + i) % MESSAGES].is_used) {
            message_step(&sim.messages[(from + i) % MESSAGES]);
            return;
        }
}

/* ---- The backend of a client */

static void sim_run(struct lk_backend *base, struct lk_command *command) {
    struct backend *backend = (struct backend *)base;
    struct message *message = message_new(backend->number, *command->name - *name_text(0));

    message->command = command;
    message->deadline_ns = loop.now_ns + (int64_t)command->reply_ms * NS_PER_MS;
    message->ask = (struct sim_ask){.verb = command->verb,
                                    .client = backend->number,
                                    .ttl_ns = (int64_t)command->ttl_ms * NS_PER_MS,
                                    .patience_ns = (int64_t)command->patience_ms * NS_PER_MS,
                                    .above = command->fence_above,
                                    .more = command->handover};
    memcpy(message->ask.owner, command->owner, OWNER_SIZE);
    backend->free_ns = number_max(backend->free_ns, loop.now_ns) + sim.service_ns;
    message->ready_ns = backend->free_ns;
    command->round_trips++;
}

static void sim_close(struct lk_backend *base, lk_close_cb cb, void *data) {
    struct lk_backend *own = ((struct backend *)base)->own;

    own->ops->close(own, cb, data);
}

static const struct lk_backend_ops sim_ops = {.scheme = "sim:", .run = sim_run, .close = sim_close};

static uint64_t sim_clock(void *data) {
    (void)data;
    return (uint64_t)loop.now_ns;
}

static void client_begin(int number) {
    const struct lk_client_options options = {.size = sizeof options, .clock_ns = sim_clock};
    struct backend *backend = &sim.backends[number];
    static uv_loop_t unused;
    struct lk_client *client;

    assert_int_equal(lk_client_open(&client, &unused, "local:", &options), LK_OK);
    *backend = (struct backend){.own = client->backend, .number = number};
    backend->base.ops = &sim_ops;
    backend->base.acquires_most = sim.service_ns > 0 ? 1 + chance(4) : chance(2) * (1 + chance(4));
    backend->base.acquires_least = 1;
    client->acquires_room = backend->base.acquires_most;
    client->backend = &backend->base;
    client->caps = LK_CAP_TTL | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_CROSS_PROCESS |
                   LK_CAP_FENCE_BEST | LK_CAP_HANDOVER | (sim.is_session ? LK_CAP_SESSION : 0U);
    sim.clients[number] = client;
}

/* ---- Callers */

static struct caller {
    bool is_used, is_over; /* over: its acquire callback has run */
    int client, name, releases;
    lk_request *request;
    lk_lease *lease; /* until it is released */
} callers[CALLERS_MOST];
static uint64_t told[NAMES], promised[CLIENTS][NAMES];

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct caller *caller = data;

    (void)request;
    assert_int_equal(sim.inside, 0);
    assert_true(caller->is_used && !caller->is_over);
    caller->is_over = true;
    caller->request = NULL;
    if (status != LK_OK) {
        caller->is_used = false;
        return;
    }
    caller->lease = lease;
    assert_true(lk_lease_fence(lease) > told[caller->name]);
    assert_true(lk_lease_fence(lease) > promised[caller->client][caller->name]);
    told[caller->name] = lk_lease_fence(lease);
}

static void on_released(enum lk_status status, void *data) {
    struct caller *caller = data;

    assert_int_equal(sim.inside, 0);
    assert_true(status == LK_OK || status == LK_LOST || status == LK_UNKNOWN);
    assert_int_equal(++caller->releases, 1);
    caller->is_used = false;
}

static void caller_start(struct caller *caller) {
    static const uint32_t waits_ms[] = {LK_TRY, 50, 700, 5000, LK_FOREVER};
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = TTL_MS};
    const uint32_t wait_ms = waits_ms[sim.service_ns > 0 ? 4 : chance(5)];
    lk_lock *lock;

    *caller = (struct caller){
        .is_used = true, .client = (int)chance(CLIENTS), .name = (int)chance(sim.names)};
    if (chance(sim.service_ns > 0 ? 1 : 3) == 0)
        options.is_fair = 1;
    else
        options.handover = 2 * chance(2);
    assert_int_equal(
        lk_lock_open(&lock, sim.clients[caller->client], name_text(caller->name), &options), LK_OK);
    assert_int_equal(lk_acquire(lock, wait_ms, on_acquired, caller, &caller->request), LK_OK);
    lk_lock_close(lock);
}

static void caller_release(struct caller *caller) {
    lk_lease *lease = caller->lease;

    caller->lease = NULL;
    lk_release(lease, on_released, caller);
}

static void caller_hold(struct caller *caller) {
    const uint64_t seen = lk_lease_fence(caller->lease) + chance(6);
    const unsigned what = sim.service_ns > 0 ? 2 + chance(50) : chance(12);

    if (what == 0) {
        lk_lease_saw_fence(caller->lease, seen);
        if (seen > promised[caller->client][caller->name])
            promised[caller->client][caller->name] = seen;
    } else if (what == 1) {
        lk_abandon(caller->lease, chance(300));
        *caller = (struct caller){0};
    } else if (what < 7) {
        caller_release(caller);
    }
}

static void caller_step(struct caller *caller) {
    sim.inside++;
    if (!caller->is_used)
        caller_start(caller);
    else if (caller->lease != NULL)
        caller_hold(caller);
    else if (!caller->is_over && sim.service_ns == 0 && chance(10) == 0) {
        lk_request *request = caller->request;

        lk_cancel(request);
    }
    sim.inside--;
}

/* ---- A run */

static void check_exclusion(void) {
    int valid[NAMES] = {0};

    for (unsigned i = 0; i < sim.callers; i++)
        if (callers[i].lease != NULL && lk_lease_state(callers[i].lease) != LK_LOST_STATE)
            assert_int_equal(++valid[callers[i].name], 1);
}

static void advance(int64_t ns) {
    loop.now_ns += ns;
    for (unsigned name = 0; name < sim.names; name++)
        server_serve((int)name);
    if (sim.service_ns > 0)
        messages_serve();
    messages_expire();
    loop_turn();
    loop_turn();
    check_exclusion();
}

/* To the next timer; to a moment before it; or past it, when the process stands still. */
static void step_time(void) {
    const uv_timer_t *timer = first_timer(UINT64_MAX);
    const int64_t next_ns =
        timer != NULL ? (int64_t)timer->timeout * NS_PER_MS - loop.now_ns : SECOND_NS;
    const unsigned what = chance(20);

    if (what == 0 && sim.service_ns == 0)
        advance((int64_t)chance(3000) * NS_PER_MS);
    else if (what < 4 && sim.service_ns == 0)
        advance(number_max(next_ns, 0));
    else
        advance((int64_t)chance(8000) * 1000);
}

static void run_step(void) {
    const unsigned what = chance(10);

    if (what < 3 || sim.service_ns > 0)
        caller_step(&callers[chance(sim.callers)]);
    else if (what < 8)
        messages_step();
    step_time();
}

/* The network delivers all at once from now on. */
static void heal_for(int64_t ns) {
    const int64_t until_ns = loop.now_ns + ns;

    while (loop.now_ns < until_ns) {
        for (unsigned i = 0; i < MESSAGES; i++)
            while (sim.messages[i].is_used)
                message_step(&sim.messages[i]);
        advance(5 * (int64_t)NS_PER_MS);
    }
}

static void expect_lost_leases_keep_nothing(void) {
    for (unsigned i = 0; i < sim.callers; i++)
        if (callers[i].lease != NULL && lk_lease_state(callers[i].lease) == LK_LOST_STATE)
            assert_string_not_equal(sim.locks[callers[i].name].holder.owner,
                                    lk_lease_owner(callers[i].lease));
}

static bool is_anyone_left(void) {
    bool is_left = false;

    for (unsigned i = 0; i < sim.callers; i++) {
        is_left |= callers[i].is_used;
        if (callers[i].lease != NULL)
            caller_release(&callers[i]);
    }
    return is_left;
}

static void on_client_closed(void *data) {
    (void)data;
    sim.closed++;
}

static void close_all(void) {
    const int64_t until_ns = loop.now_ns + 60 * SECOND_NS;

    for (unsigned i = 0; i < CLIENTS; i++) {
        lk_client_close(sim.clients[i], on_client_closed, NULL);
        sim.clients[i] = NULL;
    }
    while (sim.closed < CLIENTS && loop.now_ns < until_ns)
        heal_for(10 * (int64_t)NS_PER_MS);
    assert_int_equal(sim.closed, CLIENTS);
    assert_int_equal(loop.timer_count + loop.idle_count + loop.closing_count, 0);
}

/* Close with leases and waiters, in the middle of everything. The callers are told. */
static void end_suddenly(void) {
    for (unsigned i = 0; i < sim.callers; i++)
        callers[i].lease = NULL;
    close_all();
    for (unsigned i = 0; i < sim.callers; i++)
        assert_true(!callers[i].is_used || callers[i].is_over);
}

static void end_in_peace(void) {
    const int64_t until_ns = loop.now_ns + 60 * SECOND_NS;

    heal_for(3 * SECOND_NS);
    expect_lost_leases_keep_nothing();
    while (is_anyone_left() && loop.now_ns < until_ns)
        heal_for(20 * (int64_t)NS_PER_MS);
    assert_false(is_anyone_left()); /* every waiter got the lock, or its wait is over */
    close_all();
}

/* The server is slow, but keeps up with the renewals: no ACQUIRE may delay them until a lease is
 * lost. */
static void expect_none_lost(void) {
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(sim.clients[i]->counters.lost, 0);
}

static void run(uint64_t seed) {
    memset(&loop, 0, sizeof loop);
    memset(&sim, 0, sizeof sim);
    memset(callers, 0, sizeof callers);
    memset(told, 0, sizeof told);
    memset(promised, 0, sizeof promised);
    loop.now_ns = 1000 * SECOND_NS;
    chance_state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    sim.is_session = chance(3) == 0;
    sim.service_ns = chance(4) == 0 ? SERVICE_NS : 0;
    sim.names = sim.service_ns > 0 ? NAMES : 2;
    sim.callers = sim.service_ns > 0 ? CALLERS_MOST : 8;
    for (int i = 0; i < NAMES; i++)
        sim.locks[i].is_session = sim.is_session;
    for (int i = 0; i < CLIENTS; i++)
        client_begin(i);
    for (int i = 0; i < STEPS_OF_RUN; i++)
        run_step();
    if (sim.service_ns > 0)
        expect_none_lost();
    sim.service_ns = 0;
    sim.is_healed = true;
    if (chance(3) == 0)
        end_suddenly();
    else
        end_in_peace();
}

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t seed_now;

/* A failed assertion ends the test: say how to repeat it. */
static int tell_seed(void **state) {
    (void)state;
    if (sim.closed < CLIENTS)
        print_error("repeat it with CORE_RUN_SEED=%llu\n", (unsigned long long)seed_now);
    return 0;
}

static void test_random_runs_keep_every_promise(void **state) {
    const uint64_t first = setting("CORE_RUN_SEED", 1);
    const uint64_t runs = setting("CORE_RUN_STEPS", 300000) / STEPS_OF_RUN;

    (void)state;
    for (seed_now = first; seed_now < first + runs; seed_now++)
        run(seed_now);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_random_runs_keep_every_promise, tell_seed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

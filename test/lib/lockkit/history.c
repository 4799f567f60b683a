/* A history in shared memory, the processes that write it, and its judge. */
#include "history.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define ACTORS 5
#define NAMES  4
/* grants; on a server that is slow beside the TTL the history lasts until it has them */
#define ENOUGH  4
#define TICK_MS 2

/* For a child, where cmocka cannot fail the test. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static int64_t history_now_ns(void) {
    return clock_ns(CLOCK_BOOTTIME);
}

/* xorshift32, Marsaglia 2003. */
uint32_t dice(uint32_t *random, uint32_t limit) {
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random % limit;
}

struct history *history_open(void) {
    void *memory = mmap(NULL, sizeof(struct history), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

void history_close(struct history *history) {
    (void)munmap(history, sizeof *history);
}

void history_add(struct history *history, const struct grant *grant) {
    unsigned index = atomic_fetch_add(&history->count, 1);

    if (index < GRANTS_MOST)
        history->grants[index] = *grant;
}

static int compare_grants(const void *left, const void *right) {
    const struct grant *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

const char *history_check(struct history *history) {
    int64_t until_ns = 0;

    if (history->count > GRANTS_MOST)
        return "too many grants";
    qsort(history->grants, history->count, sizeof history->grants[0], compare_grants);
    for (unsigned i = 0; i < history->count; i++) {
        const struct grant *grant = &history->grants[i];
        bool is_first = i == 0 || grant->name != grant[-1].name;

        if (!is_first && grant->from_ns < until_ns)
            return "two holders at a time";
        if (!is_first && grant->fence <= grant[-1].fence)
            return "the fencing token did not rise";
        if (is_first || grant->until_ns > until_ns)
            until_ns = grant->until_ns;
    }
    return NULL;
}

/* ---- The life of a process */

enum state { IDLE, WAITING, HOLDING, RELEASING };

struct process;

/* A user of the locks. It does one thing after another. */
struct actor {
    struct process *process;
    enum state state;
    lk_request *request;
    lk_lease *lease;
    uint32_t patience; /* about so many ticks the lease is held */
    struct grant grant;
};

/* The objects of a child. */
struct process {
    uv_loop_t loop;
    uv_timer_t tick;
    lk_client *client;
    lk_lock *locks[NAMES][2];
    struct history *history;
    const struct history_use *use;
    struct actor actors[ACTORS];
    uint32_t random;
    int64_t end_ms;
    int closed;
};

/* The end that the holder knows now. It reads the clock first, so the moment is never too late. */
static void observe(struct actor *actor) {
    int64_t before_ns = history_now_ns();
    int64_t left_ms = lk_lease_remaining_ms(actor->lease);

    if (left_ms > 0)
        actor->grant.until_ns = before_ns + left_ms * 1000000;
}

/* If the server said LOST before the validity ended, the lock belongs to nobody from here on. */
static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct actor *actor = data;
    const int64_t told_ns = history_now_ns();

    (void)lease;
    (void)why;
    if (state == LK_LOST_STATE && actor->grant.until_ns > told_ns)
        actor->grant.until_ns = told_ns;
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct actor *actor = data;
    int64_t before_ns = history_now_ns();

    REQUIRE(actor->state == WAITING && request == actor->request);
    REQUIRE((status == LK_OK) == (lease != NULL));
    actor->request = NULL;
    actor->state = lease != NULL ? HOLDING : IDLE;
    actor->lease = lease;
    if (lease == NULL)
        return;
    actor->grant.from_ns = actor->grant.until_ns = before_ns;
    actor->grant.fence = lk_lease_fence(lease);
    lk_lease_on_state(lease, on_state, actor);
    if (lk_lease_check(lease, 0) == LK_OK)
        observe(actor);
    else
        actor->grant.from_ns = 0;
}

static void on_released(enum lk_status status, void *data) {
    struct actor *actor = data;

    REQUIRE(actor->state == RELEASING);
    REQUIRE(status == LK_OK || status == LK_LOST || status == LK_UNKNOWN);
    actor->state = IDLE;
}

static void acquire(struct actor *actor) {
    struct process *process = actor->process;
    uint32_t *random = &process->random;
    uint32_t waits_ms[] = {LK_TRY, 5, 50, 200, LK_FOREVER};

    actor->grant.name = (int)dice(random, NAMES);
    actor->patience = dice(random, 4) ? 4 : 2 * process->use->ttl_ms / TICK_MS;
    actor->state = WAITING;
    REQUIRE(lk_acquire(process->locks[actor->grant.name][dice(random, 2)],
                       waits_ms[dice(random, 5)], on_acquired, actor, &actor->request) == LK_OK);
    REQUIRE(actor->state == WAITING);
}

/* The holder ends its validity here by itself. */
static void record(struct actor *actor) {
    int64_t end_ns = history_now_ns();

    observe(actor);
    if (actor->grant.until_ns > end_ns)
        actor->grant.until_ns = end_ns;
    if (actor->grant.from_ns > 0)
        history_add(actor->process->history, &actor->grant);
}

/* The lock stays taken until its TTL has ended; with a session, for as long as the caller asked. */
static void abandon(struct actor *actor) {
    struct process *process = actor->process;
    uint32_t hold_ms = dice(&process->random, 2) ? 0 : process->use->ttl_ms;
    int64_t held_ns = history_now_ns() + (int64_t)hold_ms * 1000000;

    observe(actor);
    if ((lk_client_caps(process->client) & LK_CAP_SESSION) && actor->grant.until_ns > held_ns)
        actor->grant.until_ns = held_ns;
    if (actor->grant.from_ns > 0)
        history_add(process->history, &actor->grant);
    actor->state = IDLE;
    lk_abandon(actor->lease, hold_ms);
}

static void let_go(struct actor *actor) {
    if (dice(&actor->process->random, 32) == 0) {
        abandon(actor);
        return;
    }
    record(actor);
    actor->state = RELEASING;
    lk_release(actor->lease, on_released, actor);
    REQUIRE(actor->state == RELEASING);
}

static void act(struct actor *actor) {
    uint32_t *random = &actor->process->random;

    switch (actor->state) {
    case IDLE:
        if (dice(random, 4) == 0)
            acquire(actor);
        break;
    case WAITING:
        if (dice(random, 60) == 0)
            lk_cancel(actor->request);
        break;
    case HOLDING:
        observe(actor);
        if (dice(random, actor->patience) == 0)
            let_go(actor);
        break;
    case RELEASING:
        break;
    }
}

static void on_process_closed(void *data) {
    struct process *process = data;

    process->closed++;
    uv_close((uv_handle_t *)&process->tick, NULL);
}

bool history_is_over(const struct history *history, int64_t end_ms) {
    return clock_now_ms() >= end_ms && history->count >= ENOUGH;
}

/* In the middle of all operations. */
static void close_process(struct process *process) {
    (void)uv_timer_stop(&process->tick);
    for (int i = 0; i < ACTORS; i++)
        if (process->actors[i].state == HOLDING) {
            record(&process->actors[i]);
            process->actors[i].state = IDLE;
        }
    lk_client_close(process->client, on_process_closed, process);
}

static void on_process_tick(uv_timer_t *timer) {
    struct process *process = timer->data;

    if (history_is_over(process->history, process->end_ms)) {
        close_process(process);
        return;
    }
    for (int i = 0; i < ACTORS; i++)
        act(&process->actors[i]);
}

static void open_process(struct process *process, const char *url, const char *prefix) {
    const struct history_use *use = process->use;
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = use->reply_ms, .cleanup_ms = 800};

    REQUIRE(uv_loop_init(&process->loop) == 0);
    REQUIRE(lk_client_open(&process->client, &process->loop, url, &options) == LK_OK);
    for (int i = 0; i < NAMES * 2; i++) {
        struct lk_lock_options policy = {.size = sizeof policy,
                                         .ttl_ms = use->ttl_ms,
                                         .poll_ms = use->poll_ms,
                                         .no_renew = i % 2};
        char name[96];

        (void)snprintf(name, sizeof name, "%s-%d", prefix, i / 2);
        REQUIRE(lk_lock_open(&process->locks[i / 2][i % 2], process->client, name, &policy) ==
                LK_OK);
    }
    for (int i = 0; i < ACTORS; i++)
        process->actors[i].process = process;
    (void)uv_timer_init(&process->loop, &process->tick);
    process->tick.data = process;
    (void)uv_timer_start(&process->tick, on_process_tick, 0, TICK_MS);
}

void history_live(struct history *history, const struct history_use *use, const char *url,
                  const char *prefix, uint32_t seed) {
    struct process process = {.history = history, .use = use, .random = seed};

    REQUIRE(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0); /* also when a failed test ends the parent */
    process.end_ms = clock_now_ms() + use->duration_ms;
    open_process(&process, url, prefix);
    REQUIRE(uv_run(&process.loop, UV_RUN_DEFAULT) == 0);
    REQUIRE(process.closed == 1);
    for (int i = 0; i < ACTORS; i++)
        REQUIRE(process.actors[i].state == IDLE);
    REQUIRE(uv_loop_close(&process.loop) == 0);
    _exit(0);
}

/* lockctl bench: clients that acquire and release in turns, each on a connection of its own. */
#include "histogram.h"
#include "lockctl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_MS 10000
#define NAMES   "lockctl-bench:"

static struct {
    int64_t clients, names, duration_ns, ttl_ns;
    bool is_fair;
} set;

enum step { ACQUIRE, RELEASE, STEPS };
static const char *const step_names[STEPS] = {"acquire", "release"};

/* A client that acquires and releases in turns. */
struct user {
    struct bench *bench;
    lk_client *client;
    lk_lock *lock;
    uint64_t began_ns;
};

struct bench {
    struct session session; /* its lock is unused: it shows early whether the URL is right */
    struct user *users;
    struct histogram *took[STEPS];
    uint64_t began_ns, ended_ns, failed;
    enum lk_status why; /* of the last failure */
    int64_t busy;       /* users that have not stopped */
};

static void bench_acquire(struct user *user);

static void bench_record(struct user *user, enum step step) {
    uint64_t now_ns = uv_hrtime();

    histogram_record(user->bench->took[step], (int64_t)(now_ns - user->began_ns));
    user->began_ns = now_ns;
}

static void bench_stop(struct user *user) {
    struct bench *bench = user->bench;

    assert(user->client != NULL && bench->busy > 0);
    lk_client_close(user->client, NULL, NULL);
    user->client = NULL;
    if (--bench->busy > 0)
        return;
    bench->ended_ns = uv_hrtime();
    session_finish(&bench->session, EX_OK);
}

/* After a failure a user stops: else it would ask an absent server at full speed. */
static void stop_for(struct user *user, enum lk_status why) {
    user->bench->failed++;
    user->bench->why = why;
    bench_stop(user);
}

static void bench_on_released(enum lk_status status, void *data) {
    struct user *user = data;

    if (status != LK_OK) {
        stop_for(user, status);
        return;
    }
    bench_record(user, RELEASE);
    if (user->began_ns - user->bench->began_ns >= (uint64_t)set.duration_ns)
        bench_stop(user);
    else
        bench_acquire(user);
}

static void bench_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                              void *data) {
    struct user *user = data;

    (void)request;
    if (status != LK_OK) {
        stop_for(user, status);
        return;
    }
    bench_record(user, ACQUIRE);
    lk_release(lease, bench_on_released, user);
}

static void bench_acquire(struct user *user) {
    enum lk_status status = lk_acquire(user->lock, WAIT_MS, bench_on_acquired, user, NULL);

    if (status != LK_OK)
        stop_for(user, status);
}

static struct lk_lock_options bench_lock_options(void) {
    return (struct lk_lock_options){.size = sizeof(struct lk_lock_options),
                                    .ttl_ms = (uint32_t)(set.ttl_ns / 1000000),
                                    .is_fair = set.is_fair};
}

static int open_user(struct user *user, int64_t number) {
    const struct lk_client_options client = {.size = sizeof client,
                                             .reply_ms = (uint32_t)(shared.reply_ns / 1000000)};
    const struct lk_lock_options lock = bench_lock_options();
    struct session *session = &user->bench->session;
    enum lk_status status;
    char name[64];

    (void)snprintf(name, sizeof name, NAMES "%" PRId64, number % set.names);
    status = lk_client_open(&user->client, &session->loop, session->url, &client);
    if (status == LK_OK)
        status = lk_lock_open(&user->lock, user->client, name, &lock);
    return status == LK_OK ? 0 : fail_status("a client", status);
}

static json_t *step_json(const struct histogram *took) {
    const double ms = 1e6;

    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f}", "p50_ms", (double)histogram_percentile(took, 50) / ms,
        "p90_ms", (double)histogram_percentile(took, 90) / ms, "p99_ms",
        (double)histogram_percentile(took, 99) / ms, "p999_ms",
        (double)histogram_percentile(took, 99.9) / ms, "max_ms", (double)took->max / ms);
}

static int bench_print_json(const struct bench *bench, double seconds) {
    return json_print(json_pack("{s:I, s:I, s:f, s:I, s:f, s:I, s:o, s:o}", "clients",
                                (json_int_t)set.clients, "names", (json_int_t)set.names, "seconds",
                                seconds, "cycles", (json_int_t)bench->took[RELEASE]->count,
                                "cycles_per_s", (double)bench->took[RELEASE]->count / seconds,
                                "failed", (json_int_t)bench->failed, step_names[ACQUIRE],
                                step_json(bench->took[ACQUIRE]), step_names[RELEASE],
                                step_json(bench->took[RELEASE])));
}

static int bench_print_text(const struct bench *bench, double seconds) {
    static const double percents[] = {50, 90, 99, 99.9, 100};

    (void)printf("%" PRIu64 " cycles in %.1f s, %.0f a second; %" PRId64 " clients, %" PRId64
                 " names\n%-8s %9s %9s %9s %9s %9s\n",
                 bench->took[RELEASE]->count, seconds,
                 (double)bench->took[RELEASE]->count / seconds, set.clients, set.names, "ms", "p50",
                 "p90", "p99", "p99.9", "max");
    for (int step = 0; step < STEPS; step++) {
        (void)printf("%-8s", step_names[step]);
        for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
            (void)printf(" %9.3f",
                         (double)histogram_percentile(bench->took[step], percents[i]) / 1e6);
        (void)putchar('\n');
    }
    return fflush(stdout) == 0 ? 0 : -1;
}

static int bench_report(const struct bench *bench) {
    double seconds = (double)(bench->ended_ns - bench->began_ns) / 1e9;

    assert(bench->busy == 0 && bench->session.client == NULL);
    if ((shared.is_json ? bench_print_json : bench_print_text)(bench, seconds) != 0)
        return fail(EX_IOERR, "cannot make or write the output");
    if (bench->failed == 0)
        return EX_OK;
    say("%" PRIu64 " clients stopped early", bench->failed);
    return fail_status("bench", bench->why);
}

/* All users begin at the same moment. */
static int bench_measure(struct bench *bench) {
    int code = 0;

    for (int64_t i = 0; i < set.clients && code == 0; i++) {
        bench->users[i].bench = bench;
        code = open_user(&bench->users[i], i);
    }
    bench->busy = set.clients;
    bench->began_ns = uv_hrtime();
    for (int64_t i = 0; i < set.clients; i++) {
        bench->users[i].began_ns = bench->began_ns;
        if (code == 0)
            bench_acquire(&bench->users[i]);
        else if (bench->users[i].client != NULL)
            lk_client_close(bench->users[i].client, NULL, NULL);
    }
    if (code != 0)
        session_finish(&bench->session, code);
    code = session_end(&bench->session);
    return code == 0 ? bench_report(bench) : code;
}

static int bench_run(char **argv) {
    const struct lk_lock_options lock = bench_lock_options();
    struct bench bench = {.failed = 0};
    int code = session_open(&bench.session, argv[1], NAMES, NULL, &lock);

    if (code != 0)
        return code;
    bench.users = calloc((size_t)set.clients, sizeof *bench.users);
    for (int i = 0; i < STEPS; i++)
        bench.took[i] = calloc(1, sizeof *bench.took[i]);
    if (bench.users != NULL && bench.took[ACQUIRE] != NULL && bench.took[RELEASE] != NULL) {
        code = bench_measure(&bench);
    } else {
        session_finish(&bench.session, fail(EX_SOFTWARE, "out of memory"));
        code = session_end(&bench.session);
    }
    free(bench.users);
    for (int i = 0; i < STEPS; i++)
        free(bench.took[i]);
    return code;
}

static const struct setting bench_settings[] = {
    {"clients", 'c', SETTING_INT, &set.clients, "8", "number of clients", "1..1000"},
    {"names", 0, SETTING_INT, &set.names, "8", "number of locks", "1..1000000"},
    {"duration", 'd', SETTING_DURATION, &set.duration_ns, "5s", "how long to measure", "10ms..1h"},
    {"ttl", 0, SETTING_DURATION, &set.ttl_ns, "10s", "TTL of the locks", "10ms..24h"},
    {"fair", 0, SETTING_FLAG, &set.is_fair, NULL, "first come, first served", NULL},
    CREATE_SETTING,
    JSON_SETTING,
    REPLY_SETTING,
    VERBOSE_SETTING,
    {.name = NULL}};

const struct command command_bench = {
    .name = "lockctl bench",
    .about = "lockctl bench: measure how fast locks are acquired and released.\n"
             "Each of --clients has a connection of its own. It acquires and releases one of\n"
             "--names locks, in turns; the locks are lockctl-bench:0 and so on. If there are\n"
             "as many names as clients, no client waits. A backend may keep a small record of\n"
             "each name, for its fencing tokens.\n"
             "Exit codes: 0 measured, 64 bad usage, 69 the server cannot be reached or\n"
             "refuses, 70 internal, 75 not acquired within 10 s.",
    .rest = "URL",
    .least = 1,
    .most = 1,
    .settings = bench_settings,
    .run = bench_run,
};

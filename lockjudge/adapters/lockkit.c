/* A worker of lockjudge that uses lockkit, any backend:
 *
 *     lockjudge -- lockjudge-lockkit {url}
 *
 * See docs/lockjudge.md for its lines. */
#include <lockkit.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    uv_loop_t *loop;
    lk_client *client;
    lk_lock *lock;
    char name[256];
    uint32_t ttl_ms;
    lk_lease *lease;
    uv_pipe_t input;
    char line[512], read[512];
    size_t length;
} state;

static void say(const char *text) {
    (void)puts(text);
    (void)fflush(stdout);
}

static void on_state(lk_lease *lease, enum lk_state now, const char *why, void *data) {
    (void)lease;
    (void)why;
    (void)data;
    say(now == LK_HELD ? "!held" : now == LK_SUSPECT ? "!suspect" : "!lost");
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    (void)data;
    if (status == LK_OK) {
        const uint64_t fence = lk_lease_fence(lease);

        state.lease = lease;
        lk_lease_on_state(lease, on_state, NULL);
        if (fence > 0)
            (void)printf("held %" PRIu64 "\n", fence);
        else
            (void)puts("held -");
    } else if (status == LK_BUSY || status == LK_TIMEOUT) {
        (void)puts("busy");
    } else {
        (void)printf("error %s\n", lk_status_text(status));
    }
    (void)fflush(stdout);
}

static void acquire(const char *name, uint32_t ttl_ms, uint32_t wait_ms) {
    const struct lk_lock_options options = {.size = sizeof options, .ttl_ms = ttl_ms};
    enum lk_status status = LK_OK;

    if (state.lock == NULL || strcmp(state.name, name) != 0 || state.ttl_ms != ttl_ms) {
        lk_lock_close(state.lock);
        state.lock = NULL;
        (void)snprintf(state.name, sizeof state.name, "%s", name);
        state.ttl_ms = ttl_ms;
        status = lk_lock_open(&state.lock, state.client, name, &options);
    }
    if (status == LK_OK)
        status = lk_acquire(state.lock, wait_ms, on_acquired, NULL, NULL);
    if (status != LK_OK)
        on_acquired(NULL, status, NULL, NULL);
}

static void on_released(enum lk_status status, void *data) {
    char text[160];

    (void)data;
    (void)snprintf(text, sizeof text, "error %s", lk_status_text(status));
    say(status == LK_OK ? "released" : status == LK_LOST ? "lost" : text);
}

static void release(void) {
    lk_lease *lease = state.lease;

    state.lease = NULL;
    if (lease == NULL) {
        say("lost");
        return;
    }
    lk_lease_on_state(lease, NULL, NULL);
    lk_release(lease, on_released, NULL);
}

/* ---- fork: lockkit's objects stay with the parent, so the child has no loop */

static void live_as_child(void) {
    char line[512];

    (void)dup2(3, STDIN_FILENO);
    (void)dup2(4, STDOUT_FILENO);
    say("ready");
    while (fgets(line, sizeof line, stdin) != NULL)
        if (strncmp(line, "acquire", 7) == 0)
            say("error the client belongs to the parent");
        else if (state.lease != NULL && lk_lease_check(state.lease, 0) == LK_OK)
            say("held");
        else
            say("lost");
    _exit(0);
}

static void fork_child(void) {
    const pid_t child = fork();

    if (child == 0)
        live_as_child();
    if (child < 0)
        (void)printf("error %s\n", strerror(errno));
    else
        (void)printf("forked %d\n", (int)child);
    (void)fflush(stdout);
}

/* ---- load: other names on the same client, each taken and given back until the time is over */

struct other {
    lk_lock *lock;
    uint64_t ends_ms;
};

static void other_end(struct other *other) {
    lk_lock_close(other->lock);
    free(other);
}

static void other_acquire(struct other *other);

static void on_other_released(enum lk_status status, void *data) {
    (void)status;
    other_acquire(data);
}

/* After an error of the server its name is given up. */
static void on_other_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                              void *data) {
    (void)request;
    if (status == LK_OK)
        lk_release(lease, on_other_released, data);
    else if (status == LK_BUSY || status == LK_TIMEOUT)
        other_acquire(data);
    else
        other_end(data);
}

static void other_acquire(struct other *other) {
    if (uv_now(state.loop) >= other->ends_ms ||
        lk_acquire(other->lock, 10000, on_other_acquired, other, NULL) != LK_OK)
        other_end(other);
}

static void load(const char *name, unsigned count, uint32_t ttl_ms, uint32_t for_ms) {
    const struct lk_lock_options options = {.size = sizeof options, .ttl_ms = ttl_ms};

    for (unsigned i = 0; i < count; i++) {
        struct other *other = calloc(1, sizeof *other);
        char full[300];

        (void)snprintf(full, sizeof full, "%s-%u", name, i);
        if (other == NULL || lk_lock_open(&other->lock, state.client, full, &options) != LK_OK) {
            free(other);
            say("error no memory for so many locks");
            return;
        }
        other->ends_ms = uv_now(state.loop) + for_ms;
        other_acquire(other);
    }
    say("loaded");
}

static void on_line(const char *line) {
    char name[256];
    uint32_t ttl_ms, wait_ms, for_ms;
    unsigned count;

    if (sscanf(line, "acquire %255s %" SCNu32 " %" SCNu32, name, &ttl_ms, &wait_ms) == 3)
        acquire(name, ttl_ms, wait_ms);
    else if (sscanf(line, "load %255s %u %" SCNu32 " %" SCNu32, name, &count, &ttl_ms, &for_ms) ==
             4)
        load(name, count, ttl_ms, for_ms);
    else if (strcmp(line, "fork") == 0)
        fork_child();
    else if (strcmp(line, "check") == 0)
        say(state.lease != NULL && lk_lease_check(state.lease, 0) == LK_OK ? "held" : "lost");
    else if (strcmp(line, "release") == 0)
        release();
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(state.read, sizeof state.read);
}

static void on_input(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    if (length < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        lk_client_close(state.client, NULL, NULL);
        return;
    }
    for (ssize_t i = 0; i < length; i++) {
        if (buf->base[i] != '\n') {
            state.length += state.length < sizeof state.line - 1;
            state.line[state.length - 1] = buf->base[i];
            continue;
        }
        state.line[state.length] = '\0';
        state.length = 0;
        on_line(state.line);
    }
}

/* libuv aborts at a file that the system cannot poll, such as /dev/null. */
static bool can_read_input(void) {
    const uv_handle_type type = uv_guess_handle(STDIN_FILENO);

    return type == UV_NAMED_PIPE || type == UV_TTY;
}

int main(int argc, char **argv) {
    enum lk_status status;
    unsigned caps;

    if (argc != 2) {
        (void)fputs("usage: lockjudge-lockkit URL\n", stderr);
        return 64;
    }
    if (!can_read_input()) {
        (void)fputs("lockjudge-lockkit: its standard input must be a pipe or a terminal; lockjudge "
                    "gives it a pipe\n",
                    stderr);
        return 64;
    }
    state.loop = uv_default_loop();
    status = lk_client_open(&state.client, state.loop, argv[1], NULL);
    if (status != LK_OK) {
        (void)fprintf(stderr, "lockjudge-lockkit: the URL: %s\n", lk_status_text(status));
        return 64;
    }
    caps = lk_client_caps(state.client);
    (void)printf("ready caps=told,renew,fork,load%s%s\n", caps & LK_CAP_TTL ? ",ttl" : "",
                 caps & (LK_CAP_FENCE_LINEAR | LK_CAP_FENCE_BEST) ? ",fence" : "");
    (void)fflush(stdout);
    (void)uv_pipe_init(state.loop, &state.input, 0);
    if (uv_pipe_open(&state.input, 0) != 0 ||
        uv_read_start((uv_stream_t *)&state.input, on_room, on_input) != 0)
        return 70;
    return uv_run(state.loop, UV_RUN_DEFAULT);
}

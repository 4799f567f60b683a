/* One node: its connection, and whether it has a vote.
 *
 * A node that restarts without its memory may have forgotten a vote that is still counted on, and
 * would give it again. So after its start it has no vote for as long as the longest TTL: then
 * whatever it has forgotten has ended. Its age is asked for at each connection, with INFO, and
 * until the answer is there it has no vote either: what was sent on an earlier connection, and what
 * was answered on this one before, does not count. Its uptime is by a clock that may have been set
 * meanwhile; one whose run_id has changed is also no older than the last answer of its
 * forerunner. */
#include "clock.h"
#include "log.h"
#include "redlock_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEW_MS    1000
#define DENIED_MS 5000 /* until it is asked again for its age, which it would not tell */

/* `field:value` of INFO, cut to `size`; or "". */
static void read_field(char *value, size_t size, const char *info, const char *field) {
    const char *at = strstr(info, field);
    size_t length;

    value[0] = '\0';
    if (!at)
        return;
    at += strlen(field);
    length = strcspn(at, "\r\n");
    (void)snprintf(value, size, "%.*s", (int)length, at);
}

static void find_twin(struct redlock_node *node) {
    const struct redlock *redlock = node->redlock;

    node->is_twin = false;
    for (unsigned i = 0; i < redlock->node_count; i++) {
        const struct redlock_node *other = &redlock->nodes[i];

        if (other == node || other->is_twin || strcmp(other->run_id, node->run_id) != 0)
            continue;
        node->is_twin = true;
        log_error("redlock node is the same server as another, and has no vote", "node=%s other=%s",
                  node->place, other->place);
        return;
    }
}

static void take_age(struct redlock_node *node, const char *info) {
    const int64_t now_ms = clock_now_ms(), quarantine_ms = node->redlock->url.quarantine_ms;
    char run_id[sizeof node->run_id], uptime[24];
    bool has_changed;

    read_field(run_id, sizeof run_id, info, "\nrun_id:");
    read_field(uptime, sizeof uptime, info, "\nuptime_in_seconds:");
    if (!run_id[0] || !uptime[0])
        return;
    has_changed = node->run_id[0] && strcmp(node->run_id, run_id) != 0;
    /* In whole seconds, either of which may have just begun. */
    node->votes_from_ms = now_ms + quarantine_ms - (strtoll(uptime, NULL, 10) - 1) * 1000;
    if (has_changed && node->heard_ms + quarantine_ms > node->votes_from_ms)
        node->votes_from_ms = node->heard_ms + quarantine_ms;
    memcpy(node->run_id, run_id, sizeof run_id);
    node->heard_ms = now_ms;
    node->is_known = true;
    find_twin(node);
    if (quarantine_ms > 0 && node->votes_from_ms > now_ms)
        log_warn("redlock node has started, and has no vote yet", "node=%s left_ms=%lld",
                 node->place, (long long)(node->votes_from_ms - now_ms));
}

static void greet(struct redlock_node *node);

static void on_greeted(struct redlock_node *node) {
    if (--node->asking == 0 && node->is_asked_again)
        greet(node);
}

static void on_loaded(struct redis_call *call, const redisReply *reply) {
    (void)reply; /* without it the first of each kind brings its script with it */
    on_greeted(call->data);
}

static void on_info(struct redis_call *call, const redisReply *reply) {
    struct redlock_node *node = call->data;
    char why[2 * sizeof call->message];

    if (reply && reply->type == REDIS_REPLY_STRING && !node->is_asked_again)
        take_age(node, reply->str);
    else if (call->status == REDIS_IS_REJECTED) {
        node->denied_until_ms = clock_now_ms() + DENIED_MS;
        log_warn("redlock node does not tell its age, and has no vote", "node=%s why=%s",
                 node->place, log_quote(why, sizeof why, call->message));
    }
    on_greeted(node);
}

/* It waits for the connection if need be, and is then the first that is sent. The scripts are
 * loaded because a command that must be sent again, with its script, has lost its place in the
 * order. */
static void greet(struct redlock_node *node) {
    node->is_asked_again = node->asking > 0;
    if (node->is_asked_again)
        return;
    node->asking = REDLOCK_SCRIPTS + 1;
    for (int i = 0; i < REDLOCK_SCRIPTS; i++) {
        node->loads[i] = (struct redis_call){.argc = 3,
                                             .argv = {"SCRIPT", "LOAD", redlock_scripts[i]->text},
                                             .deadline_ms = INT64_MAX,
                                             .data = node};
        redis_call_start(node->redis, &node->loads[i], on_loaded);
    }
    node->info = (struct redis_call){
        .argc = 2, .argv = {"INFO", "server"}, .deadline_ms = INT64_MAX, .data = node};
    redis_call_start(node->redis, &node->info, on_info);
}

/* What waited for this connection has been sent by now: at the first one the greeting was before
 * it, later it was not. */
static void on_up(void *data) {
    struct redlock_node *node = data;

    if (node->has_been_up) {
        node->connection++;
        node->is_known = false;
        greet(node);
    }
    node->has_been_up = true;
}

int redlock_node_open(struct redlock_node *node, uv_loop_t *loop, const char *url) {
    struct redis_options options = {.url = url, .on_up = on_up, .data = node};
    const char *sign = strrchr(url, '@'), *host = strstr(url, "://");
    int status;

    (void)snprintf(node->name, sizeof node->name, "lockkit-%u",
                   (unsigned)(node - node->redlock->nodes) + 1);
    node->place = sign ? sign + 1 : host ? host + 3 : url;
    options.name = node->name;
    node->opened_ms = clock_now_ms();
    status = redis_open(&node->redis, loop, &options);
    if (status == 0)
        greet(node);
    return status;
}

void redlock_node_check(struct redlock_node *node) {
    if (!node->is_known && node->asking == 0 && node->denied_until_ms <= clock_now_ms())
        greet(node);
}

bool redlock_node_is_new(const struct redlock_node *node) {
    return !node->has_been_up && clock_now_ms() < node->opened_ms + NEW_MS;
}

void redlock_node_refused(struct redlock_node *node, const char *why) {
    char quoted[2 * sizeof node->info.message];
    unsigned left_out;

    if (log_limit_pass(&node->refusals, clock_now_ms(), &left_out))
        log_warn("redlock node refuses a command", "node=%s left_out=%u why=%s", node->place,
                 left_out, log_quote(quoted, sizeof quoted, why));
}

bool redlock_node_has_vote(const struct redlock_node *node, unsigned connection) {
    if (node->is_twin)
        return false;
    if (node->redlock->url.quarantine_ms == 0)
        return true;
    return node->is_known && node->connection == connection &&
           node->votes_from_ms <= clock_now_ms();
}

bool redlock_node_may_vote(const struct redlock_node *node) {
    if (node->is_twin)
        return false;
    if (node->redlock->url.quarantine_ms == 0)
        return true;
    return !node->is_known || node->votes_from_ms <= clock_now_ms();
}

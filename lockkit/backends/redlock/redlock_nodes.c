/* The nodes of an ensemble.
 *
 * A node that restarts without its memory may have forgotten a vote that still counts, and would
 * give it again. So after its start it has no vote for as long as the longest TTL: by then every
 * forgotten vote has ended. The client asks for its age with INFO, on each connection. Until the
 * answer the node has no vote either: an answer over an earlier connection does not count, nor one
 * before its age. A node measures its uptime by a clock that may have been set meanwhile. So a node
 * with a new run_id is also no older than the last answer under the old one. */
#include "redlock_nodes.h"

#include "clock.h"
#include "parameter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_DEFAULT_MS 30000
#define LONGEST_MOST_MS    86400000

#define DENIED_MS          5000 /* until it is asked for its age again, if it refused */

#define LONGER_MS          2000
#define CHECK_MS           1000

#define CLOSE_MS           500 /* for votes that are still to be given back */

static const struct redis_script *const scripts[REDLOCK_SCRIPTS] = {
    &redlock_vote, &redlock_renew, &redlock_release, &redlock_inspect};

/* ---- redlock:URL,URL,...[?option=number&...] */

/* `name=number`, at least `least`. The last one counts. */
static bool take_option(char *text, const char *name, uint32_t least, uint32_t *number) {
    char value[16], *end;

    while (parameter_take(text, name, value, sizeof value)) {
        const unsigned long taken = strtoul(value, &end, 10);

        if (value[0] < '0' || value[0] > '9' || *end || strlen(value) == sizeof value - 1 ||
            taken < least || taken > LONGEST_MOST_MS) /* a text of that length was cut */
            return false;
        *number = (uint32_t)taken;
    }
    return true;
}

/* Two votes for one server would make a majority of fewer servers. Equal spellings are found here,
 * others by their run_id. */
static bool url_add_node(struct redlock_url *url, const char *node) {
    if (url->node_count == REDLOCK_NODES_MOST)
        return false;
    for (unsigned i = 0; i < url->node_count; i++)
        if (strcmp(url->nodes[i], node) == 0)
            return false;
    url->nodes[url->node_count++] = node;
    return true;
}

static bool url_parse(struct redlock_url *url) {
    char *nodes = url->text, *node;

    url->longest_ms = LONGEST_DEFAULT_MS;
    if (!take_option(nodes, "longest", 1, &url->longest_ms))
        return false;
    url->quarantine_ms = url->longest_ms;
    if (!take_option(nodes, "quarantine", 0, &url->quarantine_ms) ||
        !take_option(nodes, "cutoff", 1, &url->cutoff_ms) || strchr(nodes, '?') != NULL)
        return false;
    while ((node = strsep(&nodes, ",")) != NULL)
        if (!url_add_node(url, node))
            return false;
    return true;
}

enum lk_status redlock_url_parse(struct redlock_url *url, const char *text) {
    *url = (struct redlock_url){.text = strdup(text)};
    if (url->text == NULL)
        return LK_NOMEM;
    if (url_parse(url))
        return LK_OK;
    free(url->text);
    return LK_INVALID;
}

/* ---- A node */

/* `field:value` of INFO, cut to `size`; "" if missing. */
static void read_field(char *value, size_t size, const char *info, const char *field) {
    const char *at = strstr(info, field);
    size_t length;

    value[0] = '\0';
    if (at == NULL)
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
    /* The uptime is in whole seconds. Both seconds may have just begun. */
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

static void node_greet(struct redlock_node *node);

static void on_greeted(struct redlock_node *node) {
    assert(node->asking > 0);
    if (--node->asking == 0 && node->is_asked_again)
        node_greet(node);
}

static void on_loaded(struct redis_call *call, const redisReply *reply) {
    (void)reply; /* without it the first command of each kind brings its script along */
    on_greeted(call->data);
}

static void redlock_nodes_on_info(struct redis_call *call, const redisReply *reply) {
    struct redlock_node *node = call->data;
    char why[2 * sizeof call->message];

    if (reply != NULL && reply->type == REDIS_REPLY_STRING && !node->is_asked_again)
        take_age(node, reply->str);
    else if (call->status == REDIS_IS_REJECTED) {
        node->denied_until_ms = clock_now_ms() + DENIED_MS;
        log_warn("redlock node does not tell its age, and has no vote", "node=%s why=%s",
                 node->place, log_quote(why, sizeof why, call->message));
    }
    on_greeted(node);
}

/* The calls wait for the connection if necessary, and are then sent first. The scripts are loaded
 * because a command that must be sent again with its script has lost its place in the order. */
static void node_greet(struct redlock_node *node) {
    node->is_asked_again = node->asking > 0;
    if (node->is_asked_again)
        return;
    node->asking = REDLOCK_SCRIPTS + 1;
    for (int i = 0; i < REDLOCK_SCRIPTS; i++) {
        node->loads[i] = (struct redis_call){.argc = 3,
                                             .argv = {"SCRIPT", "LOAD", scripts[i]->text},
                                             .deadline_ms = INT64_MAX,
                                             .data = node};
        redis_call_start(node->redis, &node->loads[i], on_loaded);
    }
    node->info = (struct redis_call){
        .argc = 2, .argv = {"INFO", "server"}, .deadline_ms = INT64_MAX, .data = node};
    redis_call_start(node->redis, &node->info, redlock_nodes_on_info);
}

/* Commands that waited for this connection have now been sent. On the first connection the greeting
 * went before them, on later ones it did not. */
static void on_node_up(void *data) {
    struct redlock_node *node = data;

    if (node->has_been_up) {
        node->connection++;
        node->is_known = false;
        node_greet(node);
    }
    node->has_been_up = true;
}

static int node_open(struct redlock_node *node, uv_loop_t *loop, const char *url) {
    struct redis_options options = {.url = url, .on_up = on_node_up, .data = node};
    const char *sign = strrchr(url, '@'), *host = strstr(url, "://");
    int status;

    (void)snprintf(node->name, sizeof node->name, "lockkit-%u",
                   (unsigned)(node - node->redlock->nodes) + 1);
    node->place = sign != NULL ? sign + 1 : host != NULL ? host + 3 : url;
    options.name = node->name;
    node->opened_ms = clock_now_ms();
    status = redis_open(&node->redis, loop, &options);
    if (status == 0)
        node_greet(node);
    return status;
}

void redlock_node_check(struct redlock_node *node) {
    if (!node->is_known && node->asking == 0 && node->denied_until_ms <= clock_now_ms())
        node_greet(node);
}

/* ---- Decisions, from the answers of the nodes */

/* Even if all other nodes say the same, there is no majority. */
static bool is_beyond(const struct redlock_count *count, unsigned against) {
    return against > count->nodes - redlock_quorum(count->nodes);
}

static enum lk_status not_reached(const struct redlock_count *count) {
    return is_beyond(count, count->refused) ? LK_REFUSED : LK_UNAVAILABLE;
}

/* An ACQUIRE is decided as soon as it is won or cannot be won: to wait longer would keep others
 * from its votes. BUSY needs the word of a majority, and the votes of this client count for it.
 * With fewer words one cannot say whether the lock is held. */
static bool count_acquire(const struct redlock_count *count, enum lk_status *status) {
    const unsigned quorum = redlock_quorum(count->nodes);
    const unsigned maybe_ours = count->yes + count->unknown + count->hopeful;

    if (count->yes >= quorum)
        *status = LK_OK;
    else if (count->yes + count->hopeful >= quorum)
        return false;
    else if (maybe_ours >= quorum)
        *status = LK_UNKNOWN;
    else if (maybe_ours + count->no >= quorum)
        *status = LK_BUSY;
    else
        *status = not_reached(count);
    return true;
}

/* A renewal keeps no vote from others, so it waits for every node that could decide it. */
static bool count_renew(const struct redlock_count *count, enum lk_status *status) {
    if (count->yes >= redlock_quorum(count->nodes))
        *status = LK_OK;
    else if (is_beyond(count, count->no))
        *status = LK_LOST;
    else if (count->pending > 0)
        return false;
    else
        *status = count->unknown > 0 ? LK_UNKNOWN : not_reached(count);
    return true;
}

static bool count_release(const struct redlock_count *count, enum lk_status *status) {
    if (count->yes >= redlock_quorum(count->nodes))
        *status = LK_OK;
    else if (is_beyond(count, count->no))
        *status = LK_LOST;
    else if (count->pending > 0)
        return false;
    else if (count->yes + count->no + count->unknown > 0)
        *status = LK_UNKNOWN;
    else
        *status = not_reached(count);
    return true;
}

/* If the nodes without an answer are too few for a majority, nobody has a majority any more. */
static bool count_break(const struct redlock_count *count, enum lk_status *status) {
    if (is_beyond(count, count->yes + count->no))
        *status = count->yes > 0 ? LK_OK : LK_LOST;
    else if (count->pending > 0)
        return false;
    else if (count->yes + count->unknown > 0)
        *status = LK_UNKNOWN;
    else
        *status = not_reached(count);
    return true;
}

bool redlock_count_decide(const struct redlock_count *count, enum lk_verb verb,
                          enum lk_status *status) {
    switch (verb) {
    case LK_ACQUIRE:
        return count_acquire(count, status);
    case LK_RENEW:
        return count_renew(count, status);
    case LK_RELEASE:
        return count_release(count, status);
    case LK_BREAK:
        return count_break(count, status);
    case LK_INSPECT:
        break;
    }
    abort();
}

/* ---- Events
 *
 * Each node publishes when a vote of the lock is given back. The lock may be free when a majority
 * has published the same owner. After a single message, waiters would ask nodes that do not know of
 * it yet. If too few nodes can tell, only the poll goes on.
 *
 * A waiter does not say when it stops. A name is watched for as long as its last waiter said that
 * it would ask again, and some time longer, so that the client does not subscribe over and over. */

struct redlock_watch {
    struct redlock *redlock;
    LIST_ENTRY(redlock_watch) entry;
    int64_t until_ms;
    char owner[OWNER_SIZE]; /* from the last message; "": a subscription began */
    unsigned heard;         /* number of nodes that said so */
    struct redis_subscription subscriptions[REDLOCK_NODES_MOST];
    char channel[NAME_MAX_BYTES + sizeof REDLOCK_CHANNEL];
    char name[NAME_MAX_BYTES + 1];
};

/* A subscription that begins is an event, too: it missed earlier messages. */
static void redlock_nodes_on_message(struct redis_subscription *subscription, const char *message) {
    struct redlock_watch *watch = subscription->data;
    const struct redlock *redlock = watch->redlock;
    char owner[OWNER_SIZE];

    (void)snprintf(owner, sizeof owner, "%s", message != NULL ? message : "");
    if (strcmp(owner, watch->owner) != 0)
        watch->heard = 0;
    memcpy(watch->owner, owner, sizeof owner);
    if (++watch->heard == redlock_quorum(redlock->node_count))
        redlock->config.push(redlock->config.data, LK_PUSH_FREE, watch->name, NULL, NULL);
}

static void redlock_nodes_watch_end(struct redlock_watch *watch) {
    for (unsigned i = 0; i < watch->redlock->node_count; i++)
        if (watch->subscriptions[i].data != NULL)
            redis_unsubscribe(watch->redlock->nodes[i].redis, &watch->subscriptions[i]);
    LIST_REMOVE(watch, entry);
    free(watch);
}

static void unwatch(struct redlock *redlock, bool is_all) {
    const int64_t now_ms = clock_now_ms();
    struct redlock_watch *watch, *next;

    for (watch = LIST_FIRST(&redlock->watches); watch != NULL; watch = next) {
        next = LIST_NEXT(watch, entry);
        if (is_all || watch->until_ms <= now_ms)
            redlock_nodes_watch_end(watch);
    }
    if (LIST_EMPTY(&redlock->watches))
        (void)uv_timer_stop(&redlock->timer);
}

static void on_check(uv_timer_t *timer) {
    unwatch(timer->data, false);
}

static struct redlock_watch *watch_find(struct redlock *redlock, const char *name) {
    struct redlock_watch *watch;

    LIST_FOREACH (watch, &redlock->watches, entry)
        if (strcmp(watch->name, name) == 0)
            return watch;
    return NULL;
}

static struct redlock_watch *redlock_nodes_watch_begin(struct redlock *redlock, const char *name) {
    struct redlock_watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL)
        return NULL;
    watch->redlock = redlock;
    (void)snprintf(watch->name, sizeof watch->name, "%s", name);
    (void)snprintf(watch->channel, sizeof watch->channel, REDLOCK_CHANNEL, name);
    LIST_INSERT_HEAD(&redlock->watches, watch, entry);
    for (unsigned i = 0; i < redlock->node_count; i++) {
        struct redis_subscription *subscription = &watch->subscriptions[i];

        subscription->channel = watch->channel;
        subscription->on_message = redlock_nodes_on_message;
        subscription->data = watch;
        if (redis_subscribe(redlock->nodes[i].redis, subscription) != 0)
            subscription->data = NULL;
    }
    (void)uv_timer_start(&redlock->timer, on_check, CHECK_MS, CHECK_MS);
    return watch;
}

void redlock_watch(struct redlock *redlock, const char *name, uint32_t patience_ms) {
    struct redlock_watch *watch = watch_find(redlock, name);

    if (watch == NULL && !redlock->is_closing)
        watch = redlock_nodes_watch_begin(redlock, name);
    if (watch != NULL)
        watch->until_ms = clock_now_ms() + patience_ms + LONGER_MS;
}

/* ---- Opening and closing the ensemble */

static void redlock_nodes_on_idle_closed(uv_handle_t *handle) {
    struct redlock *redlock = handle->data;

    assert(LIST_EMPTY(&redlock->ballots) && LIST_EMPTY(&redlock->watches));
    free(redlock->url.text);
    backend_end(&redlock->base);
}

static void redlock_nodes_on_timer_closed(uv_handle_t *handle) {
    struct redlock *redlock = handle->data;

    uv_close((uv_handle_t *)&redlock->answers.idle, redlock_nodes_on_idle_closed);
}

static void node_closed(void *data) {
    struct redlock *redlock = data;

    assert(redlock->is_shut && redlock->open > 0);
    if (--redlock->open == 0)
        uv_close((uv_handle_t *)&redlock->timer, redlock_nodes_on_timer_closed);
}

/* Ends the calls under way on the nodes. Call it once. */
static void shut(struct redlock *redlock) {
    assert(!redlock->is_shut);
    (void)uv_timer_stop(&redlock->timer);
    redlock->is_shut = true;
    redlock->open = redlock->node_count + 1;
    for (unsigned i = 0; i < redlock->node_count; i++)
        redis_close(redlock->nodes[i].redis, node_closed, redlock);
    node_closed(redlock);
}

void redlock_nodes_idle(struct redlock *redlock) {
    if (redlock->is_closing && !redlock->is_shut && LIST_EMPTY(&redlock->ballots))
        shut(redlock);
}

static void on_close_too_long(uv_timer_t *timer) {
    shut(timer->data);
}

void redlock_nodes_close(struct redlock *redlock) {
    redlock->is_closing = true;
    unwatch(redlock, true);
    (void)uv_timer_start(&redlock->timer, on_close_too_long, CLOSE_MS, 0);
    redlock_nodes_idle(redlock);
}

static enum lk_status redlock_nodes_open_all(struct redlock *redlock) {
    for (unsigned i = 0; i < redlock->url.node_count; i++) {
        struct redlock_node *node = &redlock->nodes[i];
        int error;

        node->redlock = redlock;
        error = node_open(node, redlock->config.loop, redlock->url.nodes[i]);
        if (error)
            return error == UV_ENOMEM    ? LK_NOMEM
                   : error == UV_ENOTSUP ? LK_UNSUPPORTED
                                         : LK_INVALID;
        redlock->node_count++;
    }
    return LK_OK;
}

enum lk_status redlock_nodes_open(struct redlock *redlock) {
    enum lk_status status;

    LIST_INIT(&redlock->ballots);
    LIST_INIT(&redlock->watches);
    answers_init(&redlock->answers, redlock->config.loop, redlock);
    (void)uv_timer_init(redlock->config.loop, &redlock->timer);
    redlock->timer.data = redlock;
    status = redlock_nodes_open_all(redlock);
    if (status != LK_OK)
        shut(redlock);
    return status;
}

/* CLUSTER SLOTS fills the map, at the beginning and after each surprise. */
#include "cluster_map.h"

#include "clock.h"
#include "server_name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT 6379
#define LEARN_MS     1000

static struct cluster_node *any_node(struct cluster_map *map) {
    assert(map->node_count > 0);
    return &map->nodes[map->next++ % map->node_count];
}

static int open_node(struct cluster_map *map, const char *host, int port) {
    struct cluster_node *node = &map->nodes[map->node_count];
    const size_t size = strlen(map->user) + strlen(host) + strlen(map->parameters) + 32;
    const bool is_ipv6 = strchr(host, ':') != NULL;
    char *url = malloc(size);
    int err;

    assert(map->node_count < CLUSTER_NODES_MOST && !map->is_closing);
    assert(strlen(host) < CLUSTER_HOST_SIZE);
    if (url == NULL)
        return UV_ENOMEM;
    (void)snprintf(url, size, "redis://%s%s%s%s:%d%s", map->user, is_ipv6 ? "[" : "", host,
                   is_ipv6 ? "]" : "", port, map->parameters);
    err = map->open(map->data, url, node);
    free(url);
    if (err != 0)
        return err;
    (void)snprintf(node->host, sizeof node->host, "%s", host);
    node->port = port;
    map->node_count++;
    return 0;
}

/* The node at this address; a new one if necessary. NULL: out of memory, or too many nodes. */
static struct cluster_node *find_node(struct cluster_map *map, const char *host, int port) {
    for (unsigned i = 0; i < map->node_count; i++)
        if (map->nodes[i].port == port && strcmp(map->nodes[i].host, host) == 0)
            return &map->nodes[i];
    if (map->node_count == CLUSTER_NODES_MOST || map->is_closing || open_node(map, host, port) != 0)
        return NULL;
    return &map->nodes[map->node_count - 1];
}

/* first, last, [host, port, ...], replicas. An unknown host is the teacher's. */
static void learn_range(struct cluster_map *map, const struct cluster_node *teacher,
                        const redisReply *range) {
    const redisReply *master = range->elements > 2 ? range->element[2] : NULL;
    const char *host;
    struct cluster_node *node;

    if (master == NULL || master->type != REDIS_REPLY_ARRAY || master->elements < 2 ||
        range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER ||
        master->element[1]->type != REDIS_REPLY_INTEGER)
        return;
    host = master->element[0]->type == REDIS_REPLY_STRING ? master->element[0]->str : "";
    if (!host[0] || strlen(host) >= CLUSTER_HOST_SIZE || strcmp(host, "?") == 0)
        host = teacher->host;
    node = find_node(map, host, (int)master->element[1]->integer);
    for (long long i = range->element[0]->integer; i <= range->element[1]->integer; i++)
        if (i >= 0 && i < CLUSTER_SLOTS)
            map->slots[i] = node;
}

bool cluster_map_learn(struct cluster_map *map, struct cluster_node *teacher,
                       const redisReply *reply) {
    if (reply->type != REDIS_REPLY_ARRAY || map->is_closing)
        return false;
    memset(map->slots, 0, sizeof map->slots);
    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_ARRAY)
            learn_range(map, teacher, reply->element[i]);
    return true;
}

static void on_learned(struct redis_call *call, const redisReply *reply) {
    struct cluster_map *map = call->data;

    map->is_learning = false;
    if (reply != NULL)
        (void)cluster_map_learn(map, map->teacher, reply);
}

void cluster_map_doubt(struct cluster_map *map, const struct cluster_node *node) {
    if (map->is_learning || map->is_closing)
        return;
    map->teacher = any_node(map);
    if (map->teacher == node)
        map->teacher = any_node(map);
    map->is_learning = true;
    map->learning = (struct redis_call){.argc = 2,
                                        .argv = {"CLUSTER", "SLOTS"},
                                        .deadline_ms = clock_now_ms() + LEARN_MS,
                                        .data = map};
    redis_call_start(map->teacher->redis, &map->learning, on_learned);
}

struct cluster_node *cluster_map_node(struct cluster_map *map, int slot) {
    assert(slot >= 0 && slot < CLUSTER_SLOTS);
    return map->slots[slot] != NULL ? map->slots[slot] : any_node(map);
}

struct cluster_node *cluster_map_redirect(struct cluster_map *map, const struct cluster_node *from,
                                          const char *text, bool *is_ask) {
    struct cluster_redirection to;
    struct cluster_node *node;

    if (!cluster_redirection_parse(&to, text))
        return NULL;
    node = find_node(map, to.host[0] ? to.host : from->host, to.port);
    *is_ask = to.is_ask;
    if (!to.is_ask) {
        assert(to.slot >= 0 && to.slot < CLUSTER_SLOTS);
        map->slots[to.slot] = node;
        cluster_map_doubt(map, NULL);
    }
    return node;
}

bool cluster_is_for_now(const char *text) {
    return strncmp(text, "TRYAGAIN", 8) == 0 || strncmp(text, "CLUSTERDOWN", 11) == 0 ||
           strncmp(text, "MOVED ", 6) == 0 || strncmp(text, "ASK ", 4) == 0;
}

/* ---- Opening and closing */

static int open_seeds(struct cluster_map *map, const char *at, const char *end) {
    const char *comma;
    int err;

    do {
        struct server_name seed;

        comma = memchr(at, ',', (size_t)(end - at));
        if (map->node_count == CLUSTER_NODES_MOST ||
            server_names_parse(&seed, 1, at, comma != NULL ? comma : end, DEFAULT_PORT) == 0)
            return UV_EINVAL;
        err = open_node(map, seed.host, seed.port);
        at = comma != NULL ? comma + 1 : end;
    } while (err == 0 && comma != NULL);
    return err;
}

int cluster_map_open(struct cluster_map *map, const char *url) {
    const char *at = url + strlen(CLUSTER_SCHEME), *end = at + strcspn(at, "?");
    const char *sign = memrchr(at, '@', (size_t)(end - at));
    const char *seeds = sign != NULL ? sign + 1 : at;
    int err;

    assert(strncmp(url, CLUSTER_SCHEME, strlen(CLUSTER_SCHEME)) == 0 && map->open != NULL);
    map->user = strndup(at, (size_t)(seeds - at));
    map->parameters = strdup(end);
    if (map->user == NULL || map->parameters == NULL)
        return UV_ENOMEM;
    err = open_seeds(map, seeds, end);
    if (err == 0)
        cluster_map_doubt(map, NULL);
    return err;
}

void cluster_map_close(struct cluster_map *map) {
    map->is_closing = true;
}

void cluster_map_free(struct cluster_map *map) {
    free(map->user);
    free(map->parameters);
}

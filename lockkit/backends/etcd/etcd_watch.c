/* A watch: the reply to POST /v3/watch has no end, and a line of JSON for each event.
 *
 * It is a hint to ask again, never an answer: who waits polls as well. */
#include "etcd_watch.h"

#include "buffer.h"
#include "json_read.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MOST (1024 * 1024)

struct etcd_watch {
    struct http_client *client;
    struct http_call call;
    char *key, *body, *headers;
    struct buffer line; /* that has not ended */
    bool is_deleted;
    etcd_watch_cb cb; /* NULL: stopped */
    void *data;
};

/* Whether the stream is to go on after this line. */
static bool take_line(struct etcd_watch *watch) {
    json_t *root = json_read_as_is(watch->line.bytes, watch->line.length, NULL);
    const json_t *result = json_object_get(root, "result");

    watch->is_deleted = json_array_size(json_object_get(result, "events")) > 0;
    json_decref(root);
    watch->line.length = 0;
    return result && !watch->is_deleted;
}

static bool on_part(struct http_call *call, const char *bytes, size_t length) {
    struct etcd_watch *watch = call->data;

    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t taken = end ? (size_t)(end - bytes) + 1 : length;

        if (watch->line.length + taken > LINE_MOST || !buffer_append(&watch->line, bytes, taken))
            return false;
        bytes += taken;
        length -= taken;
        if (end && !take_line(watch))
            return false;
    }
    return true;
}

static void free_watch(struct etcd_watch *watch) {
    buffer_free(&watch->line);
    free(watch->key);
    free(watch->body);
    free(watch->headers);
    free(watch);
}

static void on_ended(struct http_call *call) {
    struct etcd_watch *watch = call->data;
    etcd_watch_cb cb = watch->cb;
    void *data = watch->data;
    bool is_deleted = watch->is_deleted;

    free_watch(watch);
    if (cb)
        cb(data, is_deleted);
}

static char *request(const char *key, const char *range_end, int64_t revision) {
    json_t *root =
        json_pack("{s:{s:s, s:I, s:[s], s:s*}}", "create_request", "key", key, "start_revision",
                  (json_int_t)revision, "filters", "NOPUT", "range_end", range_end);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

    json_decref(root);
    return text;
}

struct etcd_watch *etcd_watch_start(struct etcd_servers *servers, const char *key,
                                    const char *range_end, int64_t revision, etcd_watch_cb cb,
                                    void *data) {
    struct etcd_watch *watch = calloc(1, sizeof *watch);

    if (!watch)
        return NULL;
    watch->key = strdup(key);
    watch->body = request(key, range_end, revision);
    watch->headers = etcd_servers_headers(servers);
    if (!watch->key || !watch->body || !watch->headers) {
        free_watch(watch);
        return NULL;
    }
    watch->client = etcd_servers_streams(servers);
    watch->cb = cb;
    watch->data = data;
    watch->call = (struct http_call){.method = "POST",
                                     .target = "/v3/watch",
                                     .headers = watch->headers,
                                     .body = watch->body,
                                     .body_length = strlen(watch->body),
                                     .deadline_ms = INT64_MAX,
                                     .on_part = on_part,
                                     .data = watch};
    http_call_start(watch->client, &watch->call, on_ended);
    return watch;
}

bool etcd_watch_is_of(const struct etcd_watch *watch, const char *key) {
    return strcmp(watch->key, key) == 0;
}

void etcd_watch_stop(struct etcd_watch *watch) {
    watch->cb = NULL;
    http_call_cancel(watch->client, &watch->call);
}

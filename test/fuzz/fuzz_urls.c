/* The URLs of the backends. */
#include "etcd_servers.h"
#include "fuzz.h"
#include "parameter.h"
#include "redis_internal.h"
#include "redlock_nodes.h"
#include "zk_session.h"

static void parse_redis(const char *url) {
    struct redis_address address;
    unsigned replicas;
    char *rest = strdup(url);

    if (redis_address_parse(&address, url) == 0)
        redis_address_free(&address);
    if (parameter_take_number(rest, "wait", 99999, &replicas))
        (void)parameter_has_others(rest, "db");
    free(rest);
}

static void parse_redlock(const char *text) {
    struct redlock_url url;

    if (strncmp(text, "redlock:", strlen("redlock:")) == 0 &&
        redlock_url_parse(&url, text + strlen("redlock:")) == LK_OK)
        free(url.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    struct etcd_url etcd;
    struct zk_url zk;

    parse_redis(text);
    parse_redlock(text);
    (void)etcd_url_parse(&etcd, text);
    (void)zk_url_parse(&zk, text);
    free(text);
    return 0;
}

/* Starts etcd on free ports, with a folder of its own, and ends it. */
#include "own_etcd.h"

#include "own_folder.h"
#include "own_port.h"
#include "own_process.h"
#include "process_end.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define POLL_US     20000
#define ALL         "{\"key\":\"AA==\",\"range_end\":\"AA==\"%s}"

void own_etcd_restart(struct own_etcd *own, int member) {
    char name[16], folder[128], log[128], client[64], peer[64];

    (void)snprintf(name, sizeof name, "m%d", member);
    (void)snprintf(log, sizeof log, "%s/%s.log", own->folder, name);
    (void)snprintf(folder, sizeof folder, "%s/%s", own->folder, name);
    (void)snprintf(client, sizeof client, "http://127.0.0.1:%d", own->members[member].port);
    (void)snprintf(peer, sizeof peer, "http://127.0.0.1:%d", own->members[member].peer_port);
    own->members[member].pid = own_process_start(
        log, NULL, SIGKILL, "etcd", "--name", name, "--data-dir", folder, "--listen-client-urls",
        client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
        "--initial-advertise-peer-urls", peer, "--initial-cluster", own->cluster,
        "--heartbeat-interval", "50", "--election-timeout", "500", "--unsafe-no-fsync",
        "--bcrypt-cost", "4", (char *)NULL);
}

void own_etcd_kill(struct own_etcd *own, int member) {
    process_end(&own->members[member].pid, SIGKILL);
}

void own_etcd_pause(struct own_etcd *own, int member) {
    pid_t pid = own->members[member].pid;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
}

void own_etcd_resume(struct own_etcd *own, int member) {
    assert_int_equal(kill(own->members[member].pid, SIGCONT), 0);
}

bool own_etcd_ask(const struct own_etcd *own, int member, const char *path, const char *body,
                  char *reply, size_t size) {
    char text[64 * 1024];
    const char *start;

    (void)snprintf(text, sizeof text, "POST %s HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s", path,
                   strlen(body), body);
    own_port_ask(own->members[member].port, text, text, sizeof text);
    start = strstr(text, "\r\n\r\n");
    if (start != NULL && size > 0)
        (void)snprintf(reply, size, "%s", start + 4);
    return start != NULL && strncmp(text + strlen("HTTP/1.0"), " 200 ", 5) == 0;
}

/* The number after `"key":"`, or 0. */
static unsigned long long number_of(const char *reply, const char *key) {
    char needle[32];
    const char *found;

    (void)snprintf(needle, sizeof needle, "\"%s\":\"", key);
    found = strstr(reply, needle);
    return found != NULL ? strtoull(found + strlen(needle), NULL, 10) : 0;
}

/* The member that says it leads. -1: none does, or a running member does not answer a read, which
 * needs a leader. */
static int find_leader(const struct own_etcd *own) {
    char reply[4096], all[64];
    int leader = -1;

    (void)snprintf(all, sizeof all, ALL, ",\"count_only\":true");
    for (int i = 0; i < own->count; i++) {
        if (own->members[i].pid == 0)
            continue;
        if (!own_etcd_ask(own, i, "/v3/kv/range", all, reply, sizeof reply) ||
            !own_etcd_ask(own, i, "/v3/maintenance/status", "{}", reply, sizeof reply))
            return -1;
        if (number_of(reply, "leader") == number_of(reply, "member_id"))
            leader = i;
    }
    return leader;
}

int own_etcd_leader(struct own_etcd *own) {
    int leader;

    for (int waited = 0; waited < PATIENCE_MS * 1000; waited += POLL_US) {
        leader = find_leader(own);
        if (leader >= 0)
            return leader;
        (void)usleep(POLL_US);
    }
    fail_msg("no member of the etcd cluster in %s leads", own->folder);
    return -1;
}

void own_etcd_start(struct own_etcd *own, int count) {
    size_t at = 0, url = (size_t)snprintf(own->url, sizeof own->url, "etcd://");

    assert_true(count <= OWN_ETCD_MOST);
    memset(own->members, 0, sizeof own->members);
    own->count = count;
    own_folder_make(own->folder, sizeof own->folder, "own-etcd");
    for (int i = 0; i < count; i++) {
        own->members[i].port = own_port();
        own->members[i].peer_port = own_port();
        at += (size_t)snprintf(own->cluster + at, sizeof own->cluster - at,
                               "%sm%d=http://127.0.0.1:%d", i > 0 ? "," : "", i,
                               own->members[i].peer_port);
        url += (size_t)snprintf(own->url + url, sizeof own->url - url, "%s127.0.0.1:%d",
                                i > 0 ? "," : "", own->members[i].port);
    }
    for (int i = 0; i < count; i++)
        own_etcd_restart(own, i);
    (void)own_etcd_leader(own);
}

void own_etcd_stop(struct own_etcd *own) {
    for (int i = 0; i < own->count; i++)
        own_etcd_kill(own, i);
    own_folder_remove(own->folder);
}

int own_etcd_keys(const struct own_etcd *own) {
    char reply[4096], all[64];

    (void)snprintf(all, sizeof all, ALL, ",\"count_only\":true");
    assert_true(own_etcd_ask(own, 0, "/v3/kv/range", all, reply, sizeof reply));
    return (int)number_of(reply, "count");
}

void own_etcd_clear(const struct own_etcd *own) {
    char reply[4096], all[64];

    (void)snprintf(all, sizeof all, ALL, "");
    assert_true(own_etcd_ask(own, 0, "/v3/kv/deleterange", all, reply, sizeof reply));
}

/* Starts Debian's ZooKeeper by its Java class, with a folder and a configuration of its own. */
#include "own_zookeeper.h"

#include "own_folder.h"
#include "own_port.h"
#include "own_process.h"
#include "process_end.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static FILE *open_file(const struct own_zookeeper *own, int server, const char *name) {
    char path[160];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%d/%s", own->folder, server, name);
    file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void configure(struct own_zookeeper *own, int server, const int peers[][2]) {
    FILE *file = open_file(own, server, "myid");

    (void)fprintf(file, "%d\n", server + 1);
    assert_int_equal(fclose(file), 0);
    file = open_file(own, server, "zoo.cfg");
    (void)fprintf(file,
                  "dataDir=%s/%d\nclientPort=%d\nclientPortAddress=127.0.0.1\ntickTime=100\n"
                  "minSessionTimeout=200\nmaxSessionTimeout=60000\ninitLimit=50\nsyncLimit=20\n"
                  "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n"
                  "forceSync=no\n",
                  own->folder, server, own->servers[server].port);
    for (int i = 0; own->count > 1 && i < own->count; i++)
        (void)fprintf(file, "server.%d=127.0.0.1:%d:%d\n", i + 1, peers[i][0], peers[i][1]);
    assert_int_equal(fclose(file), 0);
}

void own_zookeeper_restart(struct own_zookeeper *own, int server) {
    struct own_zookeeper_server *one = &own->servers[server];
    char config[160], log[160];

    assert_int_equal(one->pid, 0);
    (void)snprintf(config, sizeof config, "%s/%d/zoo.cfg", own->folder, server);
    (void)snprintf(log, sizeof log, "%s/%d/log", own->folder, server);
    one->pid = own_process_start(
        log, NULL, SIGKILL, "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dzookeeper.jmx.log4j.disable=true", "-cp",
        "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
        "org.apache.zookeeper.server.quorum.QuorumPeerMain", config, (char *)NULL);
}

int own_zookeeper_leader(const struct own_zookeeper *own) {
    char answer[2000];

    for (int i = 0; i < own->count; i++) {
        if (own->servers[i].pid == 0)
            continue;
        own_port_ask(own->servers[i].port, "srvr", answer, sizeof answer);
        if (strstr(answer, "Mode: leader") != NULL || strstr(answer, "Mode: standalone") != NULL)
            return i;
    }
    return -1;
}

static bool serves(const struct own_zookeeper_server *server) {
    char answer[2000];

    if (server->pid == 0)
        return true;
    own_port_ask(server->port, "srvr", answer, sizeof answer);
    return strstr(answer, "Mode: ") != NULL;
}

bool own_zookeeper_is_up(const struct own_zookeeper *own) {
    bool is_up = true;

    for (int i = 0; i < own->count; i++)
        is_up = is_up && serves(&own->servers[i]);
    return is_up;
}

static void await(const struct own_zookeeper *own) {
    for (int i = 0, waited_ms = 0; i < own->count; waited_ms += 20) {
        if (serves(&own->servers[i])) {
            i++;
            continue;
        }
        if (waited_ms >= PATIENCE_MS)
            fail_msg("zookeeper does not serve; see %s/%d/log", own->folder, i);
        (void)usleep(20000);
    }
}

void own_zookeeper_start(struct own_zookeeper *own, int count) {
    int peers[OWN_ZOOKEEPER_MOST][2];
    size_t length;
    char path[96];

    memset(own, 0, sizeof *own);
    own->count = count;
    own_folder_make(own->folder, sizeof own->folder, "own-zookeeper");
    (void)snprintf(own->url, sizeof own->url, "zookeeper://");
    for (int i = 0; i < count; i++) {
        own->servers[i].port = own_port();
        peers[i][0] = own_port();
        peers[i][1] = own_port();
        length = strlen(own->url);
        (void)snprintf(own->url + length, sizeof own->url - length, "%s127.0.0.1:%d", i ? "," : "",
                       own->servers[i].port);
        (void)snprintf(path, sizeof path, "%s/%d", own->folder, i);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (int i = 0; i < count; i++) {
        configure(own, i, (const int(*)[2])peers);
        own_zookeeper_restart(own, i);
    }
    await(own);
}

void own_zookeeper_kill(struct own_zookeeper *own, int server) {
    process_end(&own->servers[server].pid, SIGKILL);
}

void own_zookeeper_stop(struct own_zookeeper *own) {
    for (int i = 0; i < own->count; i++)
        own_zookeeper_kill(own, i);
    own_folder_remove(own->folder);
}

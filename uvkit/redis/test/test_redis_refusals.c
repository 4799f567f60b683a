/* Refusals of a Redis server: a replica, missing rights, a password. */
#include "own_folder.h"
#include "own_port.h"
#include "redis_answer.h"

#include <signal.h>
#ifdef UVKIT_REDIS_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

/* A master became a replica: the next connection may find the new master. First all sent commands
 * are answered. */
static void test_a_read_only_server_is_connected_to_again(void **state) {
    static const char *const writes[] = {"SET key value", "EVAL return(redis.call('DEL','key')) 0"};
    struct answer answers_to[4];
    int64_t id;

    open_redis_at(own.url);
    own_redis_do(&own, "REPLICAOF 127.0.0.1 1");
    for (size_t i = 0; i < 2; i++) {
        id = connection_id();
        for (size_t j = 0; j < 4; j++)
            start(&answers_to[j], 10000, writes[i]);
        for (size_t j = 0; j < 4; j++) {
            assert_answer(&answers_to[j], REDIS_IS_REJECTED, NULL);
            assert_non_null(strstr(answers_to[j].text, "READONLY"));
        }
        assert_int_not_equal(connection_id(), id);
    }
    own_redis_do(&own, "REPLICAOF NO ONE");
    start(&answers_to[0], 10000, writes[0]);
    assert_answer(&answers_to[0], REDIS_IS_OK, "OK");
}

/* The name may lead to the primary by then. Meanwhile nobody is greeted, so commands wait. */
static void test_a_replica_without_its_primary_is_connected_to_again(void **state) {
    struct answer answer;
    int64_t id;

    open_redis_at(own.url);
    id = connection_id();
    own_redis_do(&own, "CONFIG SET replica-serve-stale-data no");
    own_redis_do(&own, "REPLICAOF 127.0.0.1 1");
    start(&answer, 10000, "GET key");
    assert_answer(&answer, REDIS_IS_REJECTED, NULL);
    assert_non_null(strstr(answer.text, "MASTERDOWN"));
    start(&answer, 10000, "GET key");
    own_redis_do(&own, "REPLICAOF NO ONE");
    assert_answer(&answer, REDIS_IS_OK, "");
    assert_int_not_equal(connection_id(), id);
}

static void test_a_server_that_stays_a_replica_is_not_told_of_each_time(void **state) {
    int64_t first, last;

    open_redis_at(own.url);
    own_redis_do(&own, "REPLICAOF 127.0.0.1 1");
    first = connection_id();
    for (int i = 0; i < 6; i++) {
        ask_redis("SET key value", REDIS_IS_REJECTED, NULL);
    }
    last = connection_id();
    assert_true(last > first);
    assert_int_equal(said("redis is down"), 1);
    assert_int_equal(said("READONLY"), 1);
}

static void test_what_the_server_repeats_of_a_command_is_cut(void **state) {
    open_redis_at(own.url);
    ask_redis("NOSUCHTHING secret", REDIS_IS_REJECTED, "ERR unknown command 'NOSUCHTHING'");
}

static int messages;

static void on_message(struct redis_subscription *subscription, const char *message) {
    assert_null(message);
    messages++;
}

static void test_a_subscription_that_is_refused_is_left_for_a_while(void **state) {
    struct redis_subscription subscription = {.channel = "news", .on_message = on_message};
    struct redis_connection *connection;

    own_redis_do(&own, "ACL SETUSER default resetchannels");
    open_redis_at(own.url);
    connection = &redis->subscriptions.connection;
    assert_int_equal(redis_subscribe(redis, &subscription), 0);
    for (int i = 0; i < 3; i++) { /* each of them at once */
        WAIT_FOR(&loop, said("NOPERM") > 0 && connection->watcher == NULL);
        assert_true(uv_timer_get_due_in(&connection->timer) > 10000);
        ask_redis("ECHO me", REDIS_IS_OK, "me");
        assert_int_equal(said("redis refuses subscriptions"), 1);
        assert_int_equal(said("is up") + said("is down"), 0);
        connection->timer.timer_cb(&connection->timer);
        assert_non_null(connection->watcher);
    }
    own_redis_do(&own, "ACL SETUSER default allchannels");
    WAIT_FOR(&loop, connection->watcher == NULL || messages > 0);
    if (messages == 0)
        connection->timer.timer_cb(&connection->timer);
    WAIT_FOR(&loop, messages == 1);
    redis_unsubscribe(redis, &subscription);
}

static void count(struct redis_subscription *subscription, const char *message) {
    int *counts = subscription->data; /* effective, messages */

    counts[message != NULL]++;
}

static const char *const names[] = {"closed-1", "open-1", "closed-2", "open-2"};

/* Only channels that begin with "open" are allowed. These have a lasting connection. */
static void test_a_denied_channel_leaves_the_others(void **state) {
    struct redis_subscription subscriptions[4];
    int counts[4][2] = {{0}};
    struct redis_connection *connection;
    struct redis_watcher *watcher;
    char url[128];

    own_redis_do(&own, "ACL SETUSER waiter on >secret ~* +@all resetchannels &open*");
    (void)snprintf(url, sizeof url, "redis://waiter:secret@127.0.0.1:%d", own.port);
    open_redis_at(url);
    connection = &redis->subscriptions.connection;
    for (size_t i = 0; i < 4; i++) {
        subscriptions[i] = (struct redis_subscription){
            .channel = names[i], .on_message = count, .data = counts[i]};
        assert_int_equal(redis_subscribe(redis, &subscriptions[i]), 0);
    }
    WAIT_FOR(&loop, counts[1][0] > 0 && counts[3][0] > 0 && redis->subscriptions.refused == 2);
    WAIT_FOR(&loop, own_redis_do(&own, "PUBLISH open-1 hello") == 1 &&
                        own_redis_do(&own, "PUBLISH open-2 hello") == 1);
    WAIT_FOR(&loop, counts[1][1] > 0 && counts[3][1] > 0);
    watcher = connection->watcher;
    assert_true(uv_timer_get_due_in(&connection->timer) > 10000);
    assert_int_equal(said("redis refuses subscriptions"), 1);
    assert_int_equal(said("is up") + said("is down"), 0);

    /* The rights are given, and all channels are asked for again on the same connection. */
    own_redis_do(&own, "ACL SETUSER waiter allchannels");
    connection->timer.timer_cb(&connection->timer);
    WAIT_FOR(&loop, counts[0][0] == 1 && counts[2][0] == 1);
    assert_ptr_equal(connection->watcher, watcher);
    for (size_t i = 0; i < 4; i++)
        redis_unsubscribe(redis, &subscriptions[i]);
}

/* The name of a replaced primary leads to the new one, for commands and for messages. */
static void test_the_name_leads_to_the_new_primary(void **state) {
    int counts[2] = {0};
    struct redis_subscription subscription = {
        .channel = "news", .on_message = count, .data = counts};
    struct own_redis other;
    struct answer answer;
    char name[64], url[80];

    own_redis_start(&other);
    (void)snprintf(name, sizeof name, "/tmp/primary-%ld", (long)getpid());
    (void)snprintf(url, sizeof url, "unix://%s", name);
    assert_int_equal(symlink(own.socket, name), 0);
    open_redis_at(url);
    assert_int_equal(redis_subscribe(redis, &subscription), 0);
    WAIT_FOR(&loop, counts[0] == 1);

    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(other.socket, name), 0);
    own_redis_do(&own, "REPLICAOF 127.0.0.1 %d", other.port);
    start(&answer, 10000, "SET key value");
    assert_answer(&answer, REDIS_IS_REJECTED, NULL);
    ask_redis("SET key value", REDIS_IS_OK, "OK");
    assert_int_equal(own_redis_do(&other, "EXISTS key"), 1);
    WAIT_FOR(&loop, counts[0] == 2);
    assert_int_equal(own_redis_do(&other, "PUBLISH news hello"), 1);
    WAIT_FOR(&loop, counts[1] == 1);
    redis_unsubscribe(redis, &subscription);
    close_redis();
    (void)unlink(name);
    own_redis_stop(&other);
}

/* However many are denied: a few connections, then none for a while. */
static void test_denied_channels_do_not_reconnect_endlessly(void **state) {
    struct redis_subscription subscriptions[41];
    char channels[40][16];
    int counts[2] = {0};

    own_redis_do(&own, "ACL SETUSER default resetchannels &open*");
    open_redis_at(own.url);
    for (size_t i = 0; i < 41; i++) {
        subscriptions[i] = (struct redis_subscription){
            .channel = i < 40 ? channels[i] : "open", .on_message = count, .data = counts};
        if (i < 40)
            (void)snprintf(channels[i], sizeof channels[i], "closed-%zu", i);
        assert_int_equal(redis_subscribe(redis, &subscriptions[i]), 0);
    }
    WAIT_FOR(&loop, redis->subscriptions.refused == 4);
    WAIT_FOR(&loop, redis->subscriptions.connection.watcher == NULL);
    assert_true(uv_timer_get_due_in(&redis->subscriptions.connection.timer) > 10000);
    assert_int_equal(said("redis refuses subscriptions"), 1);
    for (size_t i = 0; i < 41; i++)
        redis_unsubscribe(redis, &subscriptions[i]);
}

static void test_a_user_of_the_acl_logs_in(void **state) {
    char url[128];

    own_redis_do(&own, "ACL SETUSER an@na on >se:cret ~* +@all");
    (void)snprintf(url, sizeof url, "redis://an%%40na:se%%3acret@127.0.0.1:%d", own.port);
    open_redis_at(url);
    ask_redis("ACL WHOAMI", REDIS_IS_OK, "an@na");
    close_redis();

    (void)snprintf(url, sizeof url, "redis://an%%40na:wrong@127.0.0.1:%d", own.port);
    open_redis_at(url);
    WAIT_FOR(&loop, said("WRONGPASS") == 1);
    assert_int_equal(said("wrong"), 0);
}

static void test_a_socket_is_connected_to(void **state) {
    struct answer answer;
    char url[128];

    (void)snprintf(url, sizeof url, "unix://%s?db=3", own.socket);
    open_redis_at(url);
    start(&answer, 10000, "CLIENT INFO");
    assert_answer(&answer, REDIS_IS_OK, NULL);
    assert_non_null(strstr(answer.text, " db=3 "));
    assert_non_null(strstr(answer.text, own.socket));
}

static void test_tls_needs_a_build_that_has_it(void **state) {
    struct redis_options options = {.url = "rediss://127.0.0.1", .name = client_name};

#ifdef UVKIT_REDIS_TLS
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
#else
    assert_int_equal(redis_open(&redis, &loop, &options), UV_ENOTSUP);
    assert_int_equal(said("this build has no TLS"), 1);
#endif
}

#ifdef UVKIT_REDIS_TLS

/* The server speaks TLS at this port, with a certificate that we trust. */
static int serve_tls(const char *folder) {
    char command[512], file[128];
    int port = own_port();

    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
                   " -keyout '%s/key' -out '%s/pem' -subj /CN=test"
                   " -addext subjectAltName=IP:127.0.0.1 2>/dev/null",
                   folder, folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(file, sizeof file, "%s/pem", folder);
    assert_int_equal(setenv("SSL_CERT_FILE", file, 1), 0);
    (void)own_redis_do(&own,
                       "CONFIG SET tls-auth-clients no tls-cert-file %s/pem tls-key-file %s/key"
                       " tls-ca-cert-file %s/pem tls-port %d",
                       folder, folder, folder, port);
    return port;
}

/* OpenSSL's errors belong to the thread. */
static void test_an_error_of_another_user_of_tls_is_not_ours(void **state) {
    char folder[64], url[64];

    own_folder_make(folder, sizeof folder, "own-tls");
    (void)snprintf(url, sizeof url, "rediss://127.0.0.1:%d", serve_tls(folder));
    open_redis_at(url);
    ask_redis("PING", REDIS_IS_OK, "PONG");
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_SIGNATURE);
    redis_connection_read(&redis->connection);
    assert_int_equal(said("redis is down"), 0);
    ask_redis("PING", REDIS_IS_OK, "PONG");
    (void)unsetenv("SSL_CERT_FILE");
    own_folder_remove(folder);
}

#endif

static void test_another_reason_to_be_down_is_told_too(void **state) {
    struct redis_options options = {.url = own.url, .connect_timeout_ms = 50};

    own_redis_do(&own, "CONFIG SET requirepass secret");
    (void)kill(own.pid, SIGSTOP);
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    WAIT_FOR(&loop, said("no greeting in time") == 1);
    redis->connection.telling = (struct log_limit){0}; /* as if time had passed */
    (void)kill(own.pid, SIGCONT);
    WAIT_FOR(&loop, said("NOAUTH") == 1);
    assert_int_equal(said("redis is down"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_OWN(test_a_read_only_server_is_connected_to_again),
        TEST_OWN(test_a_replica_without_its_primary_is_connected_to_again),
        TEST_OWN(test_a_server_that_stays_a_replica_is_not_told_of_each_time),
        TEST_OWN(test_what_the_server_repeats_of_a_command_is_cut),
        TEST_OWN(test_a_subscription_that_is_refused_is_left_for_a_while),
        TEST_OWN(test_a_denied_channel_leaves_the_others),
        TEST_OWN(test_the_name_leads_to_the_new_primary),
        TEST_OWN(test_denied_channels_do_not_reconnect_endlessly),
        TEST_OWN(test_a_user_of_the_acl_logs_in),
        TEST_OWN(test_a_socket_is_connected_to),
        TEST_OWN(test_tls_needs_a_build_that_has_it),
#ifdef UVKIT_REDIS_TLS
        TEST_OWN(test_an_error_of_another_user_of_tls_is_not_ours),
#endif
        TEST_OWN(test_another_reason_to_be_down_is_told_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The answers of etcd's gateways, word for word, and malformed answers: none of the latter is a
 * grant, a renewal, a release or a free lock. */
#include "fiber.h"
#include "fixture.h"
#include "http_server.h"

#define H                                                                                          \
    "\"header\":{\"cluster_id\":\"1\",\"member_id\":\"2\",\"revision\":\"7\",\"raft_term\":\"3\"}"
#define OF     "\"header\":{\"revision\":\"7\"}"
#define PUT    "{\"response_put\":{" OF "}}"
#define DELETE "{\"response_delete_range\":{" OF ",\"deleted\":\"1\"}}"
#define KVS                                                                                        \
    "\"kvs\":[{\"key\":\"a2V5\",\"create_revision\":\"7\",\"mod_revision\":\"7\","                 \
    "\"version\":\"1\",\"lease\":\"%lld\"}],\"count\":\"1\""
#define RANGE           "{\"response_range\":{" OF "," KVS "}}"
#define NONE            "{\"response_range\":{" OF "}}"
#define DONE(responses) "{" H ",\"succeeded\":true,\"responses\":[" responses "]}"

/* The words for a missing right: of etcd 3.4, and of 3.5 and 3.6. */
#define DENIED_34                                                                                  \
    "{\"error\":\"etcdserver: permission denied\",\"code\":7,"                                     \
    "\"message\":\"etcdserver: permission denied\"}"
#define DENIED_35 "{\"code\":7,\"message\":\"etcdserver: permission denied\",\"details\":[]}"
#define DENIED_IN_STREAM                                                                           \
    "{\"error\":{\"grpc_code\":7,\"http_code\":403,\"message\":\"etcdserver: permission denied\"," \
    "\"http_status\":\"Forbidden\"}}"

/* A question, by its path and a word of its body. In the answer %lld is the ID of the lease, %d its
 * TTL. */
struct question {
    const char *path, *word, *answer;
};

static const struct question usual[] = {
    {"/v3/lease/grant", "", "{" H ",\"ID\":\"%lld\",\"TTL\":\"%d\"}"},
    {"/v3/lease/keepalive", "", "{\"result\":{" H ",\"ID\":\"%lld\",\"TTL\":\"%d\"}}"},
    {"/v3/lease/timetolive", "", "{" H ",\"ID\":\"%lld\",\"TTL\":\"60\",\"grantedTTL\":\"60\"}"},
    {"/v3/lease/revoke", "", "{" H "}"},
    {"/v3/kv/range", "", "{" H "," KVS "}"},
    {"/v3/kv/txn", "\"success\":[{\"request_delete_range\"", DONE(DELETE)},
    {"/v3/kv/txn", "request_delete_range", DONE(RANGE "," RANGE "," DELETE)},
    {"/v3/kv/txn", "sort_order", DONE(PUT "," RANGE)},
    {"/v3/kv/txn", "", DONE(PUT)},
};

enum { GRANT, KEEP, LIVE, REVOKE, LOOK, BREAK, LEAVE, ENTER_LINE, ENTER, QUESTIONS };

static struct {
    struct fixture fixture;
    struct http_server *server;
    long long lease, ttl_s;
    int odd, status;    /* the question that gets another answer, with this HTTP status */
    const char *answer; /* and this body */
    bool is_closed;
} etcd;

static void fill(char text[1024], const char *answer) {
    size_t length = 0;

    for (; *answer != '\0' && length < 1000; answer++) {
        bool is_id = strncmp(answer, "%lld", 4) == 0;

        if (*answer != '%') {
            text[length++] = *answer;
            continue;
        }
        length += (size_t)snprintf(text + length, 24, "%lld", is_id ? etcd.lease : etcd.ttl_s);
        answer += is_id ? 3 : 1;
    }
    text[length] = '\0';
}

static long long number_of(const char *body, const char *key) {
    const char *at = strstr(body, key);

    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

static void on_question(struct http_exchange *exchange, void *data) {
    size_t length;
    const char *body = http_body(exchange, &length);
    char path[64], text[1024];
    int i = 0;

    (void)data;
    (void)snprintf(path, sizeof path, "/v3/%s/%s", http_path_param(exchange, "what"),
                   http_path_param(exchange, "verb"));
    while (strcmp(usual[i].path, path) != 0 || strstr(body, usual[i].word) == NULL)
        i++;
    if (i == GRANT) {
        etcd.lease = number_of(body, "\"ID\":");
        etcd.ttl_s = number_of(body, "\"TTL\":");
    }
    fill(text, i == etcd.odd ? etcd.answer : usual[i].answer);
    http_reply(exchange, i == etcd.odd ? etcd.status : 200, "application/json", text, strlen(text));
}

/* A client without a spare lease. */
static void open_anew(void) {
    char url[64];

    if (etcd.fixture.client != NULL)
        close_client(&etcd.fixture, etcd.fixture.client);
    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d", http_server_port(etcd.server));
    etcd.fixture.client = open_client(&etcd.fixture, url);
}

static int set_up(void **state) {
    static const struct http_route routes[] = {{"POST", "/v3/{what}/{verb}", on_question},
                                               {NULL, NULL, NULL}};
    const struct http_server_options options = {.routes = routes};

    memset(&etcd, 0, sizeof etcd);
    etcd.odd = -1;
    fixture_init(&etcd.fixture);
    assert_int_equal(http_server_open(&etcd.server, &etcd.fixture.loop, &options), 0);
    assert_int_equal(http_server_listen(etcd.server, "127.0.0.1", 0), 0);
    open_anew();
    return 0;
}

static void on_closed(void *data) {
    (void)data;
    etcd.is_closed = true;
}

static int tear_down(void **state) {
    close_client(&etcd.fixture, etcd.fixture.client);
    etcd.fixture.client = NULL;
    http_server_close(etcd.server, on_closed, NULL);
    WAIT_FOR(&etcd.fixture.loop, etcd.is_closed);
    fixture_end(&etcd.fixture);
    fiber_cleanup();
    return 0;
}

static void answer(int odd, int status, const char *text) {
    etcd.odd = odd;
    etcd.status = status;
    etcd.answer = text;
}

/* Each has a name of its own: a late grant goes to the next waiter of the name. */
static enum lk_status try_once(uint32_t wait_ms) {
    static unsigned names;
    lk_lock *lock;
    struct caller caller;
    enum lk_status status;

    (void)snprintf(etcd.fixture.name, sizeof etcd.fixture.name, "name-%u", names++);
    lock = open_lock(&etcd.fixture, etcd.fixture.client, 60000);
    status = take(&etcd.fixture, &caller, lock, wait_ms);
    etcd.odd = -1;
    if (status == LK_OK)
        (void)give(&etcd.fixture, &caller);
    return status;
}

static enum lk_status release_once(void) {
    lk_lock *lock = open_lock(&etcd.fixture, etcd.fixture.client, 60000);
    struct caller caller;
    int odd = etcd.odd;

    etcd.odd = -1;
    obtain(&etcd.fixture, &caller, lock, LK_TRY);
    etcd.odd = odd;
    return give(&etcd.fixture, &caller);
}

static struct inspected inspect(void) {
    return inspect_lock(&etcd.fixture, open_lock(&etcd.fixture, etcd.fixture.client, 60000));
}

static enum lk_status break_once(void) {
    return break_lock(&etcd.fixture, open_lock(&etcd.fixture, etcd.fixture.client, 60000), NULL);
}

static void test_usual_answers_are_taken(void **state) {
    assert_int_equal(try_once(LK_TRY), LK_OK);
    assert_int_equal(try_once(LK_FOREVER), LK_OK);
    assert_int_equal(release_once(), LK_OK);
    assert_int_equal(inspect().holders, 1);
    assert_int_equal(break_once(), LK_OK);
    answer(LOOK, 200, "{" H "}");
    assert_int_equal(inspect().status, LK_OK);
    assert_int_equal(inspect().holders, 0);
}

static void test_errors_of_old_and_new_gateways_are_refusals(void **state) {
    static const struct {
        int status;
        const char *text;
    } denied[] = {{403, DENIED_34}, {403, DENIED_35}, {200, DENIED_34}, {200, DENIED_IN_STREAM}};

    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        answer(LOOK, denied[i].status, denied[i].text);
        assert_int_equal(inspect().status, LK_REFUSED);
        assert_int_equal(break_once(), LK_REFUSED);
        answer(BREAK, denied[i].status, denied[i].text);
        assert_int_equal(break_once(), LK_REFUSED);
        open_anew();
        answer(GRANT, denied[i].status, denied[i].text);
        assert_int_equal(try_once(LK_TRY), LK_REFUSED);
        answer(ENTER, denied[i].status, denied[i].text);
        assert_int_equal(try_once(LK_TRY), LK_REFUSED);
        answer(ENTER_LINE, denied[i].status, denied[i].text);
        assert_int_not_equal(try_once(1), LK_OK);
    }
}

/* For any question: an answer without a sign of etcd, a part of one, or another type. */
static const char *const none[] = {
    "{}",
    "[]",
    "null",
    "",
    "{\"code\":0}",
    "{\"message\":\"welcome\"}",
    "{" H "}",
    "{" H ",\"succeeded\":true}",
    "{" H ",\"succeeded\":\"true\",\"responses\":[" PUT "," RANGE "]}",
    "{" H ",\"succeeded\":1,\"responses\":[" PUT "]}",
    "{\"succeeded\":true,\"responses\":[" PUT "]}",
    "{\"header\":{},\"succeeded\":true,\"responses\":[" PUT "]}",
    DONE(""),
    DONE("{}"),
    DONE(RANGE),
    DONE(PUT "," PUT),
    DONE(PUT "," NONE),
    DONE(PUT ",{\"response_range\":{\"kvs\":{}}}"),
    DONE(PUT ",{\"response_range\":{\"kvs\":[{}]}}"),
    DONE(DELETE "," RANGE "," DELETE),
    "{\"error\":null," H "}",
    "{\"result\":null}",
};

static void test_an_answer_that_is_none_acquires_nothing(void **state) {
    static const char *const grants[] = {
        "{" H "}",
        "{" H ",\"ID\":\"0\",\"TTL\":\"60\"}",
        "{" H ",\"ID\":\"%lld0\",\"TTL\":\"60\"}",
        "{" H ",\"ID\":\"%lld\",\"TTL\":\"0\"}",
        "{" H ",\"ID\":\"%lld\",\"TTL\":\"59\"}",
        "{" H ",\"ID\":\"%lld\",\"TTL\":\"x\"}",
        "{\"ID\":\"%lld\",\"TTL\":\"60\"}",
    };

    for (size_t i = 0; i < sizeof grants / sizeof *grants; i++) {
        answer(GRANT, 200, grants[i]);
        if (try_once(LK_TRY) != LK_UNKNOWN)
            fail_msg("%s is a grant", grants[i]);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        answer(ENTER, 200, none[i]);
        if (try_once(LK_TRY) == LK_OK)
            fail_msg("%s is a grant", none[i]);
        answer(ENTER_LINE, 200, none[i]);
        if (try_once(1) == LK_OK)
            fail_msg("%s is a place in the line", none[i]);
    }
    answer(ENTER, 503, DONE(PUT));
    assert_int_equal(try_once(LK_TRY), LK_UNKNOWN);
}

/* And none of them says that another owner has the lock now. */
static void test_an_answer_that_is_none_releases_nothing(void **state) {
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        answer(LEAVE, 200, none[i]);
        if (release_once() != LK_UNKNOWN)
            fail_msg("%s is a release", none[i]);
        answer(BREAK, 200, none[i]);
        if (break_once() != LK_UNKNOWN)
            fail_msg("%s breaks the lock", none[i]);
    }
}

static void test_an_answer_that_is_none_is_no_free_lock(void **state) {
    static const char *const ranges[] = {
        "{}",
        "[]",
        "{\"kvs\":[]}",
        "{" H ",\"kvs\":{}}",
        "{" H ",\"kvs\":\"none\"}",
        "{" H ",\"kvs\":[{\"create_revision\":\"7\"}]}",
        "{" H ",\"kvs\":[{\"key\":\"a2V5\"}]}",
        "{" H ",\"count\":\"1\"}",
        "{\"message\":\"welcome\"}",
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        answer(LOOK, 200, ranges[i]);
        if (inspect().status != LK_UNKNOWN || break_once() != LK_UNKNOWN)
            fail_msg("%s is a free lock", ranges[i]);
    }
}

static void test_an_answer_that_is_none_renews_nothing(void **state) {
    static const struct {
        int odd;
        const char *text;
    } cases[] = {
        {KEEP, "{\"result\":{" H "}}"},
        {KEEP, "{\"result\":{" H ",\"ID\":\"1\",\"TTL\":\"60\"}}"},
        {KEEP, "{\"result\":{" H ",\"ID\":\"%lld\",\"TTL\":\"0\"}}"},
        {KEEP, "{\"result\":{" H ",\"ID\":\"%lld\",\"TTL\":\"-1\"}}"},
        {LOOK, "{" H ",\"kvs\":{}}"},
        {LOOK, "{\"kvs\":[]}"},
    };
    struct caller callers[sizeof cases / sizeof *cases];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        etcd.odd = -1;
        obtain(&etcd.fixture, &callers[i], open_lock(&etcd.fixture, etcd.fixture.client, 1000),
               LK_TRY);
        answer(cases[i].odd, 200, cases[i].text);
        WAIT_FOR(&etcd.fixture.loop, lk_lease_state(callers[i].lease) == LK_LOST_STATE);
        assert_int_equal(counters(etcd.fixture.client).renewed, 0);
        (void)give(&etcd.fixture, &callers[i]);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_usual_answers_are_taken),
        TEST(test_errors_of_old_and_new_gateways_are_refusals),
        TEST(test_an_answer_that_is_none_acquires_nothing),
        TEST(test_an_answer_that_is_none_releases_nothing),
        TEST(test_an_answer_that_is_none_is_no_free_lock),
        TEST(test_an_answer_that_is_none_renews_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Replies that no script gives: none of them is a grant, a renewal, a release or a free lock. */
#include "redis_answer.h"

#include "fixture.h"

static enum lk_status status_of(enum lk_verb verb, const char *text) {
    static struct redis_handovers handovers;
    struct lk_command command = {.verb = verb, .status = LK_NOMEM};
    struct lk_holder *found = NULL;
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_non_null(reader);
    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redis_answer_take(&handovers, &command, 0, reply, 0, &found);
    free(found);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return command.status;
}

static void test_replies_of_the_scripts_are_taken(void **state) {
    assert_int_equal(status_of(LK_ACQUIRE, "*2\r\n:1\r\n:7\r\n"), LK_OK);
    assert_int_equal(status_of(LK_ACQUIRE, "*2\r\n:0\r\n:-1\r\n"), LK_BUSY);
    assert_int_equal(status_of(LK_RELEASE, "*1\r\n:1\r\n"), LK_OK);
    assert_int_equal(status_of(LK_RELEASE, "*1\r\n:0\r\n"), LK_LOST);
    assert_int_equal(status_of(LK_RENEW, "*2\r\n:1\r\n:0\r\n"), LK_OK);
    assert_int_equal(status_of(LK_INSPECT, "*2\r\n*0\r\n*0\r\n"), LK_OK);
}

static void test_any_other_reply_is_unknown(void **state) {
    static const char *const replies[] = {
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "+OK\r\n",
        ":1\r\n",
        ":0\r\n",
        "$1\r\n1\r\n",
        "*1\r\n$1\r\n1\r\n",
        "*2\r\n$-1\r\n:1\r\n",
        "*2\r\n:2\r\n:7\r\n",
        "*1\r\n*1\r\n:1\r\n",
    };
    static const enum lk_verb verbs[] = {LK_ACQUIRE, LK_RENEW, LK_RELEASE, LK_BREAK, LK_INSPECT};

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
        for (size_t j = 0; j < sizeof verbs / sizeof *verbs; j++)
            if (status_of(verbs[j], replies[i]) != LK_UNKNOWN)
                fail_msg("%s is understood as verb %d", replies[i], (int)verbs[j]);
    assert_int_equal(status_of(LK_ACQUIRE, "*1\r\n:1\r\n"), LK_UNKNOWN);
    assert_int_equal(status_of(LK_ACQUIRE, "*2\r\n:1\r\n:0\r\n"), LK_UNKNOWN);
    assert_int_equal(status_of(LK_ACQUIRE, "*2\r\n:1\r\n$1\r\n7\r\n"), LK_UNKNOWN);
    assert_int_equal(status_of(LK_INSPECT, "*2\r\n*1\r\n$1\r\na\r\n*0\r\n"), LK_UNKNOWN);
    assert_int_equal(status_of(LK_INSPECT, "*2\r\n*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*0\r\n"),
                     LK_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_of_the_scripts_are_taken),
        cmocka_unit_test(test_any_other_reply_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

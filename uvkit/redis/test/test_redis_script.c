/* Scripts: called by digest, and sent in full to a server that does not know it. */
#include "fault.h"
#include "redis_answer.h"

#define UNKNOWN "0000000000000000000000000000000000000000" /* to any server */
#define MANY    100

static struct redis_script *script;
static unsigned sends;

static int script_set_up(void **state) {
    static const char text[] = "return KEYS[1] .. ARGV[1]";

    script = malloc(sizeof *script + sizeof text);
    assert_non_null(script);
    memcpy(script->text, text, sizeof text);
    memcpy(script->sha1, UNKNOWN, sizeof script->sha1);
    sends = 0;
    return redis_set_up(state);
}

static int script_tear_down(void **state) {
    free(script);
    return redis_tear_down(state);
}

static void start_script(struct answer *answer, const char *argument, bool is_whole) {
    *answer = (struct answer){.call = {.argc = 5,
                                       .argv = {[2] = "1", "test:", argument},
                                       .script = script,
                                       .is_whole = is_whole,
                                       .sends = &sends,
                                       .deadline_ms = clock_now_ms() + 5000,
                                       .data = answer}};
    redis_call_start(redis, &answer->call, on_answer);
}

static void test_a_known_script_is_one_command(void **state) {
    struct answer answer;
    redisReply *reply = NULL;

    open_redis();
    reply = order("SCRIPT LOAD %s", script->text);
    assert_int_equal(reply->len, sizeof script->sha1 - 1);
    memcpy(script->sha1, reply->str, sizeof script->sha1);
    freeReplyObject(reply);
    start_script(&answer, "a", false);
    assert_answer(&answer, REDIS_IS_OK, "test:a");
    assert_int_equal(sends, 1);
}

static void test_a_server_without_the_script_gets_its_text(void **state) {
    static const char bytes[] = "$40\r\n" UNKNOWN "\r\n%s \xff";
    struct answer answer;

    open_redis();
    start_script(&answer, bytes, false);
    assert_answer(&answer, REDIS_IS_OK, NULL);
    assert_int_equal(answer.length, strlen("test:") + sizeof bytes - 1);
    assert_string_equal(answer.text + strlen("test:"), bytes);
    assert_int_equal(sends, 2);
}

static void test_the_text_may_be_sent_at_once(void **state) {
    struct answer answer;

    open_redis();
    start_script(&answer, "a", true);
    assert_answer(&answer, REDIS_IS_OK, "test:a");
    assert_int_equal(sends, 1);
}

/* Each takes its own place at its second sending. */
static void test_all_places_may_be_of_scripts_to_be_brought(void **state) {
    static struct answer many[MANY];
    const struct redis_options options = {.url = redis_url(), .pending = MANY};

    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    answers = 0;
    for (int i = 0; i < MANY; i++)
        start_script(&many[i], "a", false);
    WAIT_FOR(&loop, answers == MANY);
    for (int i = 0; i < MANY; i++)
        assert_answer(&many[i], REDIS_IS_OK, "test:a");
    assert_int_equal(sends, 2 * MANY);
}

static void test_without_memory_for_the_text_nothing_is_sent(void **state) {
    struct answer answer;

    open_redis();
    start_script(&answer, "a", false);
    fault_memory(0, 1);
    WAIT_FOR(&loop, answer.times > 0);
    assert_true(fault_memory_end());
    assert_answer(&answer, REDIS_IS_NOT_SENT, "out of memory");
    assert_int_equal(sends, 1);
}

#define SCRIPT_TEST(name) cmocka_unit_test_setup_teardown(name, script_set_up, script_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(test_a_known_script_is_one_command),
        SCRIPT_TEST(test_a_server_without_the_script_gets_its_text),
        SCRIPT_TEST(test_the_text_may_be_sent_at_once),
        SCRIPT_TEST(test_all_places_may_be_of_scripts_to_be_brought),
        SCRIPT_TEST(test_without_memory_for_the_text_nothing_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

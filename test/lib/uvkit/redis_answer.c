/* Starts commands, and keeps their replies. */
#include "redis_answer.h"

int answers;

void on_answer(struct redis_call *call, const redisReply *reply) {
    struct answer *answer = call->data;

    answer->times++;
    answer->nth = ++answers;
    answer->status = call->status;
    assert_int_equal(call->status == REDIS_IS_OK, reply != NULL);
    (void)snprintf(answer->text, sizeof answer->text, "%s", call->message);
    if (reply == NULL)
        return;
    answer->length = reply->len;
    if (reply->type == REDIS_REPLY_INTEGER)
        (void)snprintf(answer->text, sizeof answer->text, "%lld", reply->integer);
    else if (reply->str != NULL)
        memcpy(answer->text, reply->str, reply->len < 255 ? reply->len + 1 : 255);
}

void start(struct answer *answer, int64_t within_ms, const char *words) {
    char copy[256], *save = NULL;

    memset(answer, 0, sizeof *answer);
    (void)snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        answer->call.argv[answer->call.argc++] = word;
    answer->call.deadline_ms = clock_now_ms() + within_ms;
    answer->call.data = answer;
    redis_call_start(redis, &answer->call, on_answer);
    assert_int_equal(answer->times, 0);
}

void assert_answer(struct answer *answer, enum redis_status status, const char *text) {
    WAIT_FOR(&loop, answer->times > 0);
    if (answer->status != status)
        fail_msg("status %d, not %d: %s", (int)answer->status, (int)status, answer->text);
    if (text != NULL)
        assert_string_equal(answer->text, text);
}

void ask_redis(const char *words, enum redis_status status, const char *text) {
    struct answer answer;

    start(&answer, 10000, words);
    assert_answer(&answer, status, text);
}

int64_t connection_id(void) {
    struct answer answer;

    start(&answer, 10000, "CLIENT ID");
    assert_answer(&answer, REDIS_IS_OK, NULL);
    return strtoll(answer.text, NULL, 10);
}

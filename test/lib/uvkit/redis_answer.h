/* A command of the Redis tests, and its result. */
#ifndef TEST_REDIS_ANSWER_H
#define TEST_REDIS_ANSWER_H

#include "redis_fixture.h"

struct answer {
    struct redis_call call;
    enum redis_status status;
    char text[256];
    size_t length;
    int times; /* runs of the callback */
    int nth;   /* place among all answers */
};

extern int answers;

void on_answer(struct redis_call *call, const redisReply *reply);
/* Start `words`, separated by spaces. The callback does not run inside. */
void start(struct answer *answer, int64_t within_ms, const char *words);
/* The same, and wait for its answer. */
void ask_redis(const char *words, enum redis_status status, const char *text);
void assert_answer(struct answer *answer, enum redis_status status, const char *text);

/* The server's number of the connection for commands. A reconnect gives another one. */
int64_t connection_id(void);

#endif

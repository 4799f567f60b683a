/* A client with a server that answers at the command of the test, by a clock of the test. */
#ifndef LOCKKIT_TEST_SCRIPTED_H
#define LOCKKIT_TEST_SCRIPTED_H

#include "fixture.h"
#include "lease.h"

#define COMMANDS_MOST 16
#define TTL_MS        10000
#define DRIFT_MS      102 /* the drift: 1 % of TTL_MS, plus 2 */
#define LONG_MS       60000

/* A scripted server replaces the client's own backend, until the end. */
struct server {
    struct lk_backend backend;
    struct lk_command *commands[COMMANDS_MOST]; /* in their order; NULL once answered */
    enum lk_verb verbs[COMMANDS_MOST];
    char owners[COMMANDS_MOST][OWNER_SIZE];
    int count;
};

struct scripted {
    struct fixture fixture;
    struct server server;
    struct lk_backend *own;
    uint64_t now_ns;
};

int scripted_set_up(void **state);
void scripted_settle(struct scripted *env);
/* Every test ends with nothing held: no release is missing. */
int scripted_tear_down(void **state);
/* The command with number `index`, from 0, is the last one so far. */
struct lk_command *expect_command(struct scripted *env, int index, enum lk_verb verb);
void answer_until(struct scripted *env, int index, enum lk_status status, int64_t remaining_ms);
void answer_command(struct scripted *env, int index, enum lk_status status);
void answer_in_line(struct scripted *env, int index);
void answer_release(struct scripted *env, int index, int of);
void expect_same_owner(const struct scripted *env, int one, int other, bool is_same);
/* Its lease is that of the attempt with this number, and is given back. */
void expect_granted(struct scripted *env, struct caller *caller, int attempt);
void end_wait(struct scripted *env, struct caller *caller);
lk_lock *open_scripted(struct scripted *env, struct lk_lock_options options);
void push_free(struct scripted *env, const char *name, const char *owner);
void scripted_wait_ms(struct scripted *env, uint64_t ms);

#define SCRIPTED_TEST(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, scripted_set_up, scripted_tear_down)

#endif

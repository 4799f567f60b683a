/* Leader election: one leads, and when it goes another leads. */
#include "fixture.h"
#include "redis_admin.h"

#define CANDIDATES 3

struct candidate {
    lk_election *election;
    enum lk_role role;
    uint64_t term;
    int calls;
    bool is_closed;
};

struct env {
    struct fixture fixture;
    struct candidate candidates[CANDIDATES];
};

static void on_role(lk_election *election, enum lk_role role, uint64_t term, const char *why,
                    void *data) {
    struct candidate *candidate = data;

    assert_ptr_equal(election, candidate->election);
    assert_non_null(why);
    assert_int_equal(term > 0, role != LK_FOLLOWER);
    candidate->calls++;
    candidate->role = role;
    if (role != LK_FOLLOWER)
        candidate->term = term;
}

static int set_up(void **state) {
    struct env *env = fixture_open(state, sizeof *env, redis_url());
    lk_lock *lock;

    env->fixture.other = open_client(&env->fixture, redis_url());
    for (int i = 0; i < CANDIDATES; i++) {
        lock = open_lock(&env->fixture, i % 2 ? env->fixture.other : env->fixture.client, 2000);
        assert_int_equal(
            lk_election_open(&env->candidates[i].election, lock, on_role, &env->candidates[i]),
            LK_OK);
        assert_int_equal(env->candidates[i].calls, 0);
    }
    return 0;
}

static void close_candidate(struct env *env, struct candidate *candidate) {
    if (candidate->is_closed)
        return;
    lk_election_close(candidate->election, on_flag, &candidate->is_closed);
    assert_false(candidate->is_closed);
    WAIT_FOR(&env->fixture.loop, candidate->is_closed);
}

static int tear_down(void **state) {
    struct env *env = *state;

    for (int i = 0; i < CANDIDATES; i++)
        close_candidate(env, &env->candidates[i]);
    return fixture_close(state);
}

/* The leader, by its callback and by the clock; NULL: none. Never two. */
static struct candidate *leader(struct env *env) {
    struct candidate *found = NULL;

    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *candidate = &env->candidates[i];

        if (candidate->is_closed || candidate->role == LK_FOLLOWER)
            continue;
        assert_null(found);
        if (lk_election_role(candidate->election) != LK_FOLLOWER)
            found = candidate;
    }
    return found;
}

static void test_each_leads_when_the_one_before_has_gone(void **state) {
    struct env *env = *state;
    uint64_t term = 0;

    for (int i = 0; i < CANDIDATES; i++) {
        WAIT_FOR(&env->fixture.loop, leader(env) != NULL);
        assert_true(leader(env)->term > term);
        term = leader(env)->term;
        close_candidate(env, leader(env));
    }
}

static void test_leader_who_resigns_lets_another_lead_and_stands_again(void **state) {
    struct env *env = *state;
    struct candidate *first, *second;

    WAIT_FOR(&env->fixture.loop, leader(env) != NULL);
    first = leader(env);
    lk_election_resign(first->election);
    assert_int_equal(first->role, LK_FOLLOWER);
    WAIT_FOR(&env->fixture.loop, leader(env) != NULL);
    second = leader(env);
    assert_ptr_not_equal(first, second);
    lk_election_resign(first->election); /* nothing to resign from */
    for (int i = 0; i < CANDIDATES; i++)
        if (&env->candidates[i] != first)
            close_candidate(env, &env->candidates[i]);
    WAIT_FOR(&env->fixture.loop, leader(env) == first);
    assert_true(first->term > second->term);
}

static void test_deposed_leader_is_told_and_stands_again(void **state) {
    struct env *env = *state;
    redisContext *admin = redis_admin_connect();
    struct candidate *first;
    int calls;

    WAIT_FOR(&env->fixture.loop, leader(env) != NULL);
    first = leader(env);
    calls = first->calls;
    freeReplyObject(redisCommand(admin, "DEL lk:{%s}", env->fixture.name));
    redisFree(admin);
    WAIT_FOR(&env->fixture.loop, first->calls > calls);
    WAIT_FOR(&env->fixture.loop, leader(env) != NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_each_leads_when_the_one_before_has_gone),
        TEST(test_leader_who_resigns_lets_another_lead_and_stands_again),
        TEST(test_deposed_leader_is_told_and_stands_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

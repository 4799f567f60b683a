/* Leader election: the holder of the lock leads, and all others stand in line for it. */
#include "lockkit.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define AGAIN_MS 1000 /* after a local failure, such as lack of memory */

struct lk_election {
    lk_lock *lock;
    lk_election_cb on_role;
    void *data;
    lk_request *request; /* while it stands for election */
    lk_lease *lease;     /* while it leads, and after that until the lease is given back */
    enum lk_role told;
    uv_timer_t again;
    bool is_releasing, is_closing;
    lk_close_cb on_closed;
    void *close_data;
};

static void election_stand(struct lk_election *election, uint64_t after_ms);

/* Make it the last line of the calling function: the callback may close the election. */
static void election_tell(struct lk_election *election, enum lk_role role, const char *why) {
    if (role == election->told || election->is_closing)
        return;
    election->told = role;
    election->on_role(election, role, role == LK_FOLLOWER ? 0 : lk_lease_fence(election->lease),
                      why, election->data);
}

static void election_on_timer_closed(uv_handle_t *timer) {
    struct lk_election *election = timer->data;

    if (election->on_closed != NULL)
        election->on_closed(election->close_data);
    free(election);
}

/* True when it is closing and nothing is under way. */
static bool election_has_ended(struct lk_election *election) {
    if (!election->is_closing || election->request != NULL || election->is_releasing)
        return false;
    uv_close((uv_handle_t *)&election->again, election_on_timer_closed);
    return true;
}

static void election_on_released(enum lk_status status, void *data) {
    struct lk_election *election = data;

    (void)status;
    election->is_releasing = false;
    if (!election_has_ended(election))
        election_stand(election, 0);
}

static void step_down(struct lk_election *election) {
    lk_lease *lease = election->lease;

    election->lease = NULL;
    election->is_releasing = true;
    lk_release(lease, election_on_released, election);
}

static void election_on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct lk_election *election = data;

    (void)lease;
    if (state == LK_LOST_STATE)
        step_down(election);
    election_tell(election,
                  state == LK_HELD      ? LK_LEADER
                  : state == LK_SUSPECT ? LK_LEADER_IN_DOUBT
                                        : LK_FOLLOWER,
                  why);
}

static void election_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                                 void *data) {
    struct lk_election *election = data;

    (void)request;
    election->request = NULL;
    election->lease = lease;
    if (status == LK_OK && election->is_closing) {
        step_down(election);
    } else if (status == LK_OK) {
        lk_lease_on_state(lease, election_on_state, election);
        election_tell(election, LK_LEADER, "elected");
    } else if (!election_has_ended(election)) {
        election_stand(election, AGAIN_MS);
    }
}

static void on_again(uv_timer_t *timer) {
    struct lk_election *election = timer->data;

    if (lk_acquire(election->lock, LK_FOREVER, election_on_acquired, election,
                   &election->request) != LK_OK)
        (void)uv_timer_start(timer, on_again, AGAIN_MS, 0);
}

static void election_stand(struct lk_election *election, uint64_t after_ms) {
    (void)uv_timer_start(&election->again, on_again, after_ms, 0);
}

enum lk_status lk_election_open(lk_election **out, lk_lock *lock, lk_election_cb cb, void *data) {
    struct lk_election *election = calloc(1, sizeof *election);

    *out = election;
    if (election == NULL)
        return LK_NOMEM;
    election->lock = lock;
    election->on_role = cb;
    election->data = data;
    (void)uv_timer_init(lk_client_loop(lk_lock_client(lock)), &election->again);
    election->again.data = election;
    election_stand(election, 0);
    return LK_OK;
}

enum lk_role lk_election_role(const lk_election *election) {
    if (election->lease == NULL || lk_lease_check(election->lease, 0) != LK_OK)
        return LK_FOLLOWER;
    return lk_lease_state(election->lease) == LK_HELD ? LK_LEADER : LK_LEADER_IN_DOUBT;
}

void lk_election_resign(lk_election *election) {
    if (election->lease == NULL)
        return;
    step_down(election);
    election_tell(election, LK_FOLLOWER, "resigned");
}

void lk_election_close(lk_election *election, lk_close_cb cb, void *data) {
    assert(!election->is_closing);
    election->is_closing = true;
    election->on_closed = cb;
    election->close_data = data;
    (void)uv_timer_stop(&election->again);
    if (election->request != NULL)
        lk_cancel(election->request);
    if (election->lease != NULL)
        step_down(election);
    (void)election_has_ended(election);
}

/* What the verbs share: to ask, to end, and to keep a lease. */
#include "etcd_command.h"

#include "clock.h"

#include <assert.h>
#include <string.h>

void etcd_sent_ask(struct etcd_sent *sent, const char *path, json_t *body, bool is_repeatable,
                   void (*on_answer)(struct etcd_ask *ask)) {
    sent->asked_ns = clock_ns(CLOCK_BOOTTIME);
    sent->ask.is_repeatable = is_repeatable;
    sent->ask.round_trips = &sent->command->round_trips;
    sent->ask.on_answer = on_answer;
    sent->ask.data = sent;
    etcd_ask_start(sent->etcd->servers, &sent->ask, path, body, sent->deadline_ms);
}

/* In the server's own words, at a bounded rate. */
static void tell_refused(struct etcd *etcd, const char *why) {
    char quoted[256];
    unsigned left_out;

    if (log_limit_pass(&etcd->refusals, clock_now_ms(), &left_out))
        log_warn("etcd refuses a lock command", "left_out=%u why=%s", left_out,
                 log_quote(quoted, sizeof quoted, why));
}

void etcd_sent_end(struct etcd_sent *sent, enum lk_status status) {
    struct lk_command *command = sent->command;

    if (status == LK_REFUSED && sent->ask.why) {
        command->why = sent->ask.why;
        tell_refused(sent->etcd, sent->ask.why);
    }
    if (sent->owner)
        etcd_owner_unref(sent->owner);
    sent->owner = NULL;
    command->status = status;
    command->on_answer(command);
}

void etcd_sent_keys(const struct etcd_sent *sent, struct etcd_keys *keys) {
    etcd_keys_make(keys, sent->etcd->prefix, sent->command->name, sent->command->owner);
}

void etcd_sent_keep(struct etcd_sent *sent, void (*on_answer)(struct etcd_ask *ask)) {
    etcd_sent_ask(sent, "/v3/lease/keepalive",
                  json_pack("{s:I}", "ID", (json_int_t)sent->owner->lease.id), true, on_answer);
}

bool etcd_sent_kept(struct etcd_sent *sent) {
    int64_t ttl_s = json_integer_of(sent->ask.reply, "TTL");

    if (ttl_s <= 0 || ttl_s > UINT32_MAX)
        return false;
    sent->owner->lease.ttl_s = (uint32_t)ttl_s;
    sent->is_kept = true;
    sent->kept_ns = sent->asked_ns;
    sent->kept_term = sent->ask.raft_term;
    return true;
}

void etcd_sent_confirm(struct etcd_sent *sent, int64_t term) {
    struct etcd_lease *lease = &sent->owner->lease;

    if (sent->is_kept && term == sent->kept_term && sent->kept_ns > lease->confirmed_ns)
        lease->confirmed_ns = sent->kept_ns;
}

void etcd_sent_grant(struct etcd_sent *sent, struct etcd_lease *lease,
                     void (*on_answer)(struct etcd_ask *ask)) {
    etcd_sent_ask(
        sent, "/v3/lease/grant",
        json_pack("{s:I, s:I}", "ID", (json_int_t)lease->id, "TTL", (json_int_t)lease->asked_s),
        true, on_answer);
}

enum lk_status etcd_sent_granted(struct etcd_sent *sent, struct etcd_lease *lease) {
    const struct etcd_ask *ask = &sent->ask;
    int64_t ttl_s;

    sent->owner->is_doubtful |= ask->was_unknown;
    /* It exists: an earlier request for it was not answered, but did it. How old it is will be
     * known when it is kept alive. */
    if (ask->status == LK_REFUSED && ask->code == ETCD_FAILED_PRECONDITION) {
        lease->is_granted = true;
        lease->confirmed_ns = 0;
        return LK_OK;
    }
    if (ask->status != LK_OK)
        return ask->status;
    ttl_s = json_integer_of(ask->reply, "TTL");
    if (ttl_s <= 0 || ttl_s > UINT32_MAX)
        return LK_UNKNOWN;
    lease->is_granted = true;
    lease->ttl_s = (uint32_t)ttl_s;
    lease->confirmed_ns = sent->asked_ns;
    return LK_OK;
}

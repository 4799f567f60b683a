/* The table of faults. Here are also the faults of the worker itself, which need no server. */
#include "faults.h"

#include "client.h"
#include "history.h"
#include "line.h"
#include "network.h"
#include "outage.h"
#include "wall.h"
#include "worker.h"

#include <stdio.h>

static const char *const moment_words[] = {
#define X(name, word, clause) word,
    FAULT_MOMENTS(X)
#undef X
};
static const char *const moment_clauses[] = {
#define X(name, word, clause) clause,
    FAULT_MOMENTS(X)
#undef X
};

#define AT(name) (1U << FAULT_AT_##name)

static int stop_begin(struct fault_site *site, struct why *why) {
    return worker_stop(site->victim) == 0 ? 0 : why_set(why, "the worker cannot be stopped");
}

static int stop_end(struct fault_site *site, struct why *why) {
    (void)why;
    worker_continue(site->victim);
    return 0;
}

static int kill_begin(struct fault_site *site, struct why *why) {
    (void)why;
    worker_kill(site->victim);
    return 0;
}

static int nothing_begin(struct fault_site *site, struct why *why) {
    (void)site;
    (void)why;
    return 0;
}

static const struct fault faults[] = {
    {.name = "none",
     .about = "4 workers, and no fault",
     .moments = AT(NONE),
     .begin = nothing_begin},
    {.name = "work",
     .about = "works for longer than the TTL",
     .moments = AT(HELD),
     .flags = HISTORY_WORKS,
     .least_pct = 150,
     .most_pct = 150,
     .begin = nothing_begin,
     .end = nothing_end},
    {.name = "stop",
     .about = "stopped for longer than the TTL",
     .moments = AT(HELD) | AT(WRITE) | AT(RELEASE) | AT(WAIT),
     .flags = HISTORY_STOPS,
     .most_pct = 150,
     .begin = stop_begin,
     .end = stop_end},
    {.name = "kill",
     .about = "killed",
     .moments = AT(HELD) | AT(RELEASE) | AT(WAIT),
     .flags = HISTORY_KILLS,
     .begin = kill_begin},
    {.name = "fork",
     .about = "it forks; its child is asked, and ends",
     .moments = AT(HELD),
     .caps = LINE_CAP_FORK,
     .flags = HISTORY_STAYS,
     .most_pct = 50,
     .begin = client_fork_begin,
     .end = client_fork_end},
    {.name = "fork-free",
     .about = "it forks; its child is asked, and releases",
     .moments = AT(HELD),
     .caps = LINE_CAP_FORK,
     .flags = HISTORY_STAYS,
     .most_pct = 50,
     .begin = client_fork_free_begin,
     .end = client_fork_end},
    {.name = "load",
     .about = "its client asks for 1,000 other locks",
     .moments = AT(HELD),
     .caps = LINE_CAP_LOAD | LINE_CAP_RENEW,
     .flags = HISTORY_LOADS,
     .least_pct = 150,
     .most_pct = 150,
     .begin = client_load_begin,
     .end = client_load_end},
    {.name = "ahead",
     .about = "its wall clock jumps an hour ahead",
     .moments = AT(HELD) | AT(WAIT),
     .flags = HISTORY_STAYS,
     .most_pct = 50,
     .begin = wall_ahead_begin,
     .end = wall_end,
     .prepare = wall_prepare,
     .restore = wall_restore},
    {.name = "behind",
     .about = "its wall clock jumps an hour back",
     .moments = AT(HELD),
     .flags = HISTORY_STAYS,
     .most_pct = 150,
     .begin = wall_behind_begin,
     .end = wall_end,
     .prepare = wall_prepare,
     .restore = wall_restore},
    {.name = "freeze",
     .about = "its connections freeze",
     .moments = AT(HELD) | AT(RELEASE) | AT(REPLY),
     .needs = FAULT_NEEDS_PROXY,
     .least_pct = 130,
     .most_pct = 150,
     .begin = freeze_begin,
     .end = network_end},
    {.name = "drop",
     .about = "the server's replies to it are lost",
     .moments = AT(HELD) | AT(RELEASE),
     .needs = FAULT_NEEDS_PROXY,
     .least_pct = 130,
     .most_pct = 150,
     .begin = drop_begin,
     .end = network_end},
    /* A round trip takes 0.8 TTL. So a grant comes with 0.2 TTL left of its TTL, and a renewal that
     * begins then comes too late. Two round trips and a TTL fit into its length. */
    {.name = "delay",
     .about = "each of its bytes takes 0.4 TTL, in both directions",
     .moments = AT(REPLY),
     .needs = FAULT_NEEDS_PROXY,
     .least_pct = 160,
     .most_pct = 220,
     .is_slow = true,
     .begin = delay_begin,
     .end = network_end},
    {.name = "cut",
     .about = "its connections are cut",
     .moments = AT(HELD) | AT(REPLY),
     .needs = FAULT_NEEDS_PROXY,
     .most_pct = 50,
     .begin = cut_begin,
     .end = network_end},
    {.name = "tear",
     .about = "its connections are cut in the middle of a reply",
     .moments = AT(REPLY),
     .needs = FAULT_NEEDS_PROXY,
     .most_pct = 50,
     .begin = tear_begin,
     .end = network_end},
    {.name = "pause",
     .about = "the server stands still for longer than the TTL",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "pause",
     .flags = HISTORY_AWAY,
     .most_pct = 130,
     .begin = pause_begin,
     .end = pause_end},
    {.name = "down",
     .about = "the server is killed, and starts again after the TTL with its data",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "kill",
     .flags = HISTORY_AWAY,
     .most_pct = 130,
     .begin = down_begin,
     .end = down_end},
    {.name = "restart",
     .about = "the server is killed, and starts again at once with its data",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "kill",
     .flags = HISTORY_RESTARTS,
     .most_pct = 50,
     .begin = restart_begin,
     .end = nothing_end},
    {.name = "empty",
     .about = "the server is killed, and starts again at once without its data",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "empty",
     .flags = HISTORY_RESTARTS | HISTORY_FORGETS,
     .least_pct = 90,
     .most_pct = 90,
     .begin = empty_begin,
     .end = nothing_end},
    {.name = "flush",
     .about = "the server forgets all locks",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "flush",
     .flags = HISTORY_FORGETS,
     .least_pct = 90,
     .most_pct = 90,
     .begin = flush_begin,
     .end = nothing_end},
    {.name = "evict",
     .about = "the server evicts each key that has a TTL",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "evict",
     .flags = HISTORY_FORGETS,
     .least_pct = 90,
     .most_pct = 90,
     .begin = evict_begin,
     .end = nothing_end},
    {.name = "failover",
     .about = "the server is killed, and a replica takes over, which was kept behind",
     .moments = AT(HELD),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "failover",
     .flags = HISTORY_RESTARTS | HISTORY_FORGETS,
     .least_pct = 90,
     .most_pct = 90,
     .prepare = failover_prepare,
     .begin = failover_begin,
     .end = nothing_end,
     .restore = failover_restore},
    {.name = "scripts",
     .about = "the server forgets its cached scripts",
     .moments = AT(RELEASE),
     .needs = FAULT_NEEDS_SERVER,
     .verb = "flush-scripts",
     .flags = HISTORY_RESTARTS,
     .most_pct = 50,
     .begin = scripts_begin,
     .end = nothing_end},
};

const struct fault *fault_at(size_t index) {
    return index < sizeof faults / sizeof *faults ? &faults[index] : NULL;
}

bool fault_lacks(const struct fault *fault, unsigned caps, struct why *why) {
    const unsigned missing = fault->caps & ~caps;
    char text[LINE_CAPS_TEXT];

    line_caps_text(missing, text, sizeof text);
    if (missing != 0)
        (void)why_set(why, "the worker does not say `%s`", text);
    return missing != 0;
}

const char *fault_case_name(const struct fault_case *one, char *to, size_t size) {
    const bool has_moment = one->moment != FAULT_AT_NONE;

    (void)snprintf(to, size, "%s%s%s", one->fault->name, has_moment ? "-" : "",
                   has_moment ? moment_words[one->moment] : "");
    return to;
}

const char *fault_moment_clause(enum fault_moment moment) {
    return moment_clauses[moment];
}

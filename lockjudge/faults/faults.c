/* The faults that need no server: they hit the worker itself. */
#include "faults.h"

#include "history.h"
#include "worker.h"

#include <string.h>

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
     .begin = nothing_begin},
    {.name = "stop",
     .about = "stopped for longer than the TTL",
     .moments = AT(HELD) | AT(WRITE) | AT(RELEASE) | AT(WAIT),
     .flags = HISTORY_STOPS,
     .begin = stop_begin,
     .end = stop_end},
    {.name = "kill",
     .about = "killed",
     .moments = AT(HELD) | AT(WAIT),
     .flags = HISTORY_KILLS,
     .begin = kill_begin},
};

const struct fault *fault_at(size_t index) {
    return index < sizeof faults / sizeof *faults ? &faults[index] : NULL;
}

const struct fault *fault_find(const char *name) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, name) == 0)
            return &faults[i];
    return NULL;
}

const char *fault_moment_word(enum fault_moment moment) {
    return moment_words[moment];
}

const char *fault_moment_clause(enum fault_moment moment) {
    return moment_clauses[moment];
}

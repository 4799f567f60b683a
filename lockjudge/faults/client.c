#include "client.h"

#include "clock.h"
#include "fiber.h"
#include "history.h"
#include "runqueue.h"
#include "worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_MS 10000 /* as for each request to a worker */
#define CHECKS      4     /* of the child: two prove that it believed for some time */
#define BEAT_MS     20    /* between two of them */
#define END_MS      1000  /* for how long a child may end */
#define LOAD        1000  /* other locks */

/* ---- fork */

static void child_note(const struct fault_site *site, enum history_kind kind,
                       const struct worker_answer *answer) {
    struct history_item item = {.at_ns = answer->sent_ns,
                                .end_ns = answer->answered_ns,
                                .kind = kind,
                                .worker = site->workers};

    if (kind == HISTORY_FORK)
        (void)snprintf(item.text, sizeof item.text, "a child of worker %u",
                       site->victim_number + 1);
    else if (kind != HISTORY_DEATH)
        item.result = answer->line.word == LINE_HELD       ? HISTORY_RESULT_HELD
                      : answer->line.word == LINE_LOST     ? HISTORY_RESULT_LOST
                      : answer->line.word == LINE_RELEASED ? HISTORY_RESULT_RELEASED
                      : answer->line.word == LINE_ERROR    ? HISTORY_RESULT_ERROR
                                                           : HISTORY_RESULT_NONE;
    if (answer->line.word == LINE_ERROR && kind == HISTORY_RELEASE)
        (void)snprintf(item.text, sizeof item.text, "%s", answer->line.text);
    site->note(site->note_data, &item);
}

static int child_refuse(const struct fault_site *site, const char *request,
                        const struct worker_answer *answer, struct why *why) {
    return why_set(why, "worker %u, the child of worker %u, answered \"%s\" to \"%s\"",
                   site->workers + 1, site->victim_number + 1, line_word_text(answer->line.word),
                   request);
}

static int child_check(const struct fault_site *site, struct worker *child, struct why *why) {
    struct worker_answer answer;

    if (worker_ask(child, "check", PATIENCE_MS, &answer, why) != 0)
        return -1;
    if (answer.line.word != LINE_HELD && answer.line.word != LINE_LOST)
        return child_refuse(site, "check", &answer, why);
    child_note(site, HISTORY_CHECK, &answer);
    return 0;
}

/* The threads of a client are not there in a child, so its release may wait for ever. The parent is
 * the one that counts. */
static int child_release(const struct fault_site *site, struct worker *child, struct why *why) {
    struct worker_answer answer = {.sent_ns = clock_now_ns(), .answered_ns = HISTORY_OPEN};

    if (worker_ask(child, "release", (uint64_t)site->ttl_ms / 4, &answer, why) != 0) {
        if (!worker_is_silent(child))
            return -1;
    } else if (answer.line.word != LINE_RELEASED && answer.line.word != LINE_LOST &&
               answer.line.word != LINE_ERROR) {
        return child_refuse(site, "release", &answer, why);
    }
    child_note(site, HISTORY_RELEASE, &answer);
    return 0;
}

static void child_end(const struct fault_site *site, struct worker *child) {
    struct worker_answer end = {.sent_ns = 0};

    worker_end_child(child, END_MS);
    end.sent_ns = end.answered_ns = clock_now_ns();
    child_note(site, HISTORY_DEATH, &end);
    worker_close(child);
}

static int child_begin(const struct fault_site *site, struct worker **child, struct why *why) {
    struct worker_answer fork = {.sent_ns = clock_now_ns()};
    int code = worker_fork(site->victim, PATIENCE_MS, child, why);

    if (code != 0)
        return code;
    fork.answered_ns = clock_now_ns();
    child_note(site, HISTORY_FORK, &fork);
    for (int i = 0; code == 0 && i < CHECKS; i++) {
        code = child_check(site, *child, why);
        fiber_sleep(site->loop, BEAT_MS);
    }
    if (code != 0)
        worker_close(*child);
    return code;
}

int client_fork_begin(struct fault_site *site, struct why *why) {
    struct worker *child;

    if (child_begin(site, &child, why) != 0)
        return -1;
    child_end(site, child);
    return 0;
}

int client_fork_free_begin(struct fault_site *site, struct why *why) {
    struct worker *child;

    if (child_begin(site, &child, why) != 0)
        return -1;
    if (child_release(site, child, why) != 0) {
        worker_close(child);
        return -1;
    }
    site->kept = child;
    return 0;
}

int client_fork_end(struct fault_site *site, struct why *why) {
    (void)why;
    if (site->kept != NULL)
        child_end(site, site->kept);
    site->kept = NULL;
    return 0;
}

/* ---- load */

struct load {
    int64_t began_ns;
    struct runqueue before, after;
};

static int load_ask(const struct fault_site *site, struct why *why) {
    struct worker_answer answer;
    char request[256];

    (void)snprintf(request, sizeof request, "load %s-load %d %" PRId64 " %" PRId64, site->lock_name,
                   LOAD, site->ttl_ms, site->ttl_ms * 2);
    if (worker_ask(site->victim, request, PATIENCE_MS, &answer, why) != 0)
        return -1;
    if (answer.line.word == LINE_LOADED)
        return 0;
    if (answer.line.word == LINE_ERROR)
        return why_set(why, "worker %u cannot load its client: %s", site->victim_number + 1,
                       answer.line.text);
    return why_set(why, "worker %u answered \"%s\" to \"load\"", site->victim_number + 1,
                   line_word_text(answer.line.word));
}

int client_load_begin(struct fault_site *site, struct why *why) {
    struct load *load = malloc(sizeof *load);

    if (load == NULL)
        return why_set(why, "out of memory");
    load->began_ns = clock_now_ns();
    runqueue_read(&load->before, worker_group(site->victim));
    if (load_ask(site, why) == 0) {
        site->kept = load;
        return 0;
    }
    free(load);
    return -1;
}

/* How long the machine kept the worker from its load. */
int client_load_end(struct fault_site *site, struct why *why) {
    struct load *load = site->kept;
    struct history_item stall = {
        .at_ns = load->began_ns, .kind = HISTORY_STALL, .worker = site->victim_number};

    (void)why;
    if (worker_is_alive(site->victim)) {
        runqueue_read(&load->after, worker_group(site->victim));
        stall.end_ns = stall.at_ns + runqueue_waited_ns(&load->before, &load->after);
        site->note(site->note_data, &stall);
    }
    free(load);
    site->kept = NULL;
    return 0;
}

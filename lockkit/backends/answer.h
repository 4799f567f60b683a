/* The answers of a backend: a list of answers for the next turn of the loop, and log lines about
 * refusals. */
#ifndef LOCKKIT_ANSWER_H
#define LOCKKIT_ANSWER_H

#include "backend.h"
#include "log.h"

#include <sys/queue.h>

struct answers {
    uv_idle_t idle; /* the backend closes it, and owns `data`; first in the struct */
    STAILQ_HEAD(, lk_command) due;
};

void answers_init(struct answers *answers, uv_loop_t *loop, void *data);
/* Answer `command` in the next turn of the loop: it needed no server, or no server can be asked. */
void answer_later(struct answers *answers, struct lk_command *command, enum lk_status status);

/* Log the server's own words about a command that it refused, at a bounded rate. */
void answer_tell_refused(struct log_limit *limit, const char *event, const char *why);

#endif

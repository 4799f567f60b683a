/* A backend never answers inside the call that starts a command. */
#include "answer.h"

#include "clock.h"

void answers_init(struct answers *answers, uv_loop_t *loop, void *data) {
    (void)uv_idle_init(loop, &answers->idle);
    answers->idle.data = data;
    STAILQ_INIT(&answers->due);
}

static void on_answers_due(uv_idle_t *idle) {
    struct answers *answers = (struct answers *)idle;
    STAILQ_HEAD(, lk_command) due = STAILQ_HEAD_INITIALIZER(due);
    struct lk_command *command;

    (void)uv_idle_stop(idle);
    STAILQ_CONCAT(&due, &answers->due);
    while ((command = STAILQ_FIRST(&due)) != NULL) {
        STAILQ_REMOVE_HEAD(&due, later);
        command->on_answer(command);
    }
}

void answer_later(struct answers *answers, struct lk_command *command, enum lk_status status) {
    command->status = status;
    STAILQ_INSERT_TAIL(&answers->due, command, later);
    (void)uv_idle_start(&answers->idle, on_answers_due); /* fails only without a callback */
}

void answer_tell_refused(struct log_limit *limit, const char *event, const char *why) {
    char quoted[256];
    unsigned left_out;

    if (log_limit_pass(limit, clock_now_ms(), &left_out))
        log_warn(event, "left_out=%u why=%s", left_out, log_quote(quoted, sizeof quoted, why));
}

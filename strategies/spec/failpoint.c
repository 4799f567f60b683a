/* Failpoints: the text of fail=, the count of passing sales, and the failure of the one that is
 * due. */
#include "failpoint.h"

#include "fiber.h"
#include "number.h"
#include "text_copy.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POINTS_LIST                                                                                \
    "points: after-lock, after-read, before-write, after-write, before-unlock, before-expire, "    \
    "before-delete, before-commit; actions: pause=<duration>, delay=<duration>, crash, error, "    \
    "drop-reply; then @N for the Nth sale; <instance>/ in front for that instance only"

const char *const fail_points[] = {
#define X(name, text) text,
    FAIL_POINTS(X)
#undef X
};

const struct fail_action_row fail_actions[] = {
#define X(name, text, has_duration) {text, has_duration},
    FAIL_ACTIONS(X)
#undef X
};

/* Parse `point`, or `instance/point`, which it cuts in two. */
static int parse_point(char *text, struct failpoint *failpoint) {
    char *slash = strchr(text, '/');

    if (slash != NULL) {
        *slash = '\0';
        if (text[0] == '\0' || strlen(text) >= sizeof failpoint->instance)
            return -1;
        strcpy(failpoint->instance, text);
        text = slash + 1;
    }
    for (size_t i = 0; i < sizeof fail_points / sizeof *fail_points; i++)
        if (strcmp(text, fail_points[i]) == 0) {
            failpoint->point = (enum fail_point)i;
            return 0;
        }
    return -1;
}

/* Parse `name`, or `name=duration`, which it cuts in two. NULL: there is no action. */
static int parse_action(char *text, struct failpoint *failpoint) {
    const char *name = strsep(&text, "="), *value = text;
    int64_t ns;

    for (size_t i = 1; i < sizeof fail_actions / sizeof *fail_actions && name != NULL; i++) {
        if (strcmp(name, fail_actions[i].text) != 0)
            continue;
        failpoint->action = (enum fail_action)i;
        if (!fail_actions[i].has_duration)
            return value == NULL ? 0 : -1;
        if (value == NULL || number_read_duration(value, &ns) != 0)
            return -1;
        failpoint->ms = ns / 1000000;
        return failpoint->ms >= 1 && failpoint->ms <= 3600000 ? 0 : -1;
    }
    return -1;
}

static int parse_nth(const char *text, int64_t *nth) {
    if (text == NULL)
        return 0;
    return number_read_int(text, nth) == 0 && *nth >= 1 ? 0 : -1;
}

int failpoint_parse(const char *text, struct failpoint *failpoint, struct why *why) {
    char copy[FAIL_BYTES];
    char *rest = copy;

    *failpoint = (struct failpoint){0};
    if (text[0] == '\0')
        return 0;
    text_copy(copy, sizeof copy, text);
    if (strlen(text) < sizeof copy && parse_point(strsep(&rest, ":"), failpoint) == 0 &&
        parse_action(strsep(&rest, "@"), failpoint) == 0 && parse_nth(rest, &failpoint->nth) == 0)
        return 0;
    *failpoint = (struct failpoint){0};
    return why_set(why, "bad failpoint \"%.127s\"; " POINTS_LIST, text);
}

enum fail_action failpoint_pass(struct failpoint *failpoint, const char *instance,
                                enum fail_point point, bool *has_passed) {
    if (failpoint->action == FAIL_NOTHING || failpoint->point != point || *has_passed ||
        (failpoint->instance[0] != '\0' && strcmp(failpoint->instance, instance) != 0))
        return FAIL_NOTHING;
    *has_passed = true;
    failpoint->passed++;
    return failpoint->nth == 0 || failpoint->nth == failpoint->passed ? failpoint->action
                                                                      : FAIL_NOTHING;
}

static void block_process(int64_t ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

void failpoint_act(const struct failpoint *failpoint, enum fail_action action, uv_loop_t *loop) {
    assert(!fail_actions[action].has_duration || failpoint->ms > 0);
    switch (action) {
    case FAIL_PAUSE:
        block_process(failpoint->ms);
        return;
    case FAIL_DELAY:
        fiber_sleep(loop, (uint64_t)failpoint->ms);
        return;
    case FAIL_CRASH:
        (void)kill(getpid(), SIGKILL);
        return;
    case FAIL_NOTHING:
    case FAIL_ERROR:
    case FAIL_DROP_REPLY:
        return;
    }
}

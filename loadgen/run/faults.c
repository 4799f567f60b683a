/* Faults of servers in a round, and what its history tells of them. */
#include "clock.h"
#include "fiber.h"
#include "run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 100

int faults_open(struct run *run) {
    const struct options *options = run->options;
    const struct fault_list *list = &options->fault_list;
    const bool is_crashing = strstr(run->rounds[run->finished].item->spec, ":crash") != NULL;

    assert(run->injector.steps == NULL); /* faults_close() ended the last round's */
    run->injector = (struct injector){.act_count = 0};
    if ((!is_crashing && !fault_list_needs_mending(list)) || options->stack[0] == '\0')
        return 0;
    /* What crashes by a failpoint may be of another machine's stack, and is its own affair. */
    if (injector_open(&run->injector, run->loop, options->stack, list) == 0 || list->count == 0)
        return 0;
    return run_fail(EXIT_UNREACHABLE, run->injector.why.text);
}

void faults_start(void *data) {
    struct run *run = data;

    assert(run->sender != NULL);
    injector_start(&run->injector, run->rounds[run->finished].recorder->start_ns);
}

static int add_event(struct round *round, const struct injector_act *act) {
    const int64_t start_ns = round->recorder->start_ns;
    struct event *event = event_add(&round->events);

    if (event == NULL)
        return -1;
    event->kind = EVENT_SERVER;
    event->at_ns = event->began_ns = act->began_ns - start_ns;
    event->until_ns = act->until_ns != 0 ? act->until_ns - start_ns : EVENT_OPEN;
    snprintf(event->who, sizeof event->who, "%s", act->fault->server);
    snprintf(event->name, sizeof event->name, "%s", fault_verb_name(act->fault->verb));
    if (act->fault->verb == FAULT_PAUSE)
        snprintf(event->detail, sizeof event->detail, "%" PRId64 " ms",
                 act->fault->span_ns / 1000000);
    return 0;
}

int faults_close(struct run *run, struct round *round) {
    struct injector *injector = &run->injector;
    int rc = 0;

    if (injector->steps == NULL)
        return 0;
    injector_close(injector);
    round->fault_problem = injector->why;
    round->is_mended = injector->why.text[0] == '\0';
    for (size_t i = 0; i < injector->act_count && rc == 0; i++) {
        const struct injector_act *act = &injector->acts[i];

        if (act->began_ns != 0)
            rc = add_event(round, act);
    }
    event_list_sort(&round->events);
    return rc;
}

/* It is asked: another may start the services, or an instance may be up that never sold. */
static bool is_up_in_time(struct run *run, const char *product_id) {
    const int64_t deadline_ms = clock_now_ms() + run->options->drain_ns / 1000000;
    struct why why;

    while (target_meet_product(&run->target, product_id, &why) == TARGET_UNREACHABLE) {
        if (clock_now_ms() >= deadline_ms || run->is_interrupted)
            return false;
        fiber_sleep(run->loop, LOOK_MS);
    }
    return true;
}

bool faults_left_down(struct run *run) {
    static const char told[] =
        "loadgen: a fault put servers down: waiting for them to come up, as long as --drain says\n";
    const size_t next = run->finished + 1;

    if (next == run->round_count || run->options->no_judge || !down_is_all(&run->down))
        return false;
    live_say(&run->live, told);
    return !is_up_in_time(run, run->rounds[next].products[0].id);
}

/* Conducts a run, in one fiber: opens the target and the databases, does what was asked for, and
 * closes everything. */
#include "run.h"

#include "claims.h"
#include "class.h"
#include "complain.h"
#include "fiber.h"
#include "serve.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int run_fail(int exit_code, const char *why) {
    complain("loadgen", "%s", why);
    return exit_code;
}

static int run_open_all(struct run *run) {
    const struct options *options = run->options;
    struct why why;
    int exit_code;

    if (target_open(&run->target, run->loop, options->target, &why) != 0)
        return run_fail(EXIT_USAGE, why.text);
    if (options->list_strategies || options->no_judge)
        return 0;
    /* The target first: when nothing was started it says so at once, where a database is waited
     * for. */
    exit_code = prepare_check(run);
    if (exit_code == 0 &&
        auditor_open(&run->auditor, run->loop, options->inventory_db,
                     options->command == COMMAND_CREATE ? NULL : options->orders_db, &why) != 0)
        exit_code = run_fail(EXIT_UNREACHABLE, why.text);
    if (exit_code == 0 && options->product[0] != '\0' && options->command == COMMAND_FIRE)
        exit_code = prepare_attack(run);
    return exit_code;
}

static void free_rounds(struct run *run) {
    assert(run->sender == NULL); /* it points at a round's records */
    for (size_t i = 0; i < run->round_count; i++)
        round_free(&run->rounds[i]);
    free(run->rounds);
    plan_free(&run->plan);
}

static void conduct(void *arg) {
    struct run *run = arg;

    run->exit_code = run_open_all(run);
    if (run->exit_code == 0 && run->options->list_strategies)
        run->exit_code = prepare_list(run);
    else if (run->exit_code == 0 && run->options->command == COMMAND_CREATE)
        run->exit_code = prepare_create(run);
    else if (run->exit_code == 0)
        run->exit_code = fire(run);
    free_rounds(run);
    auditor_close(&run->auditor);
    target_close(&run->target);
    workers_close(&run->workers);
    live_close(&run->live);
    uv_close((uv_handle_t *)&run->watch, NULL);
    interrupts_close(&run->interrupts);
}

static void run_on_signal(void *data, int number) {
    static const char told[] =
        "loadgen: interrupted: judging what there is; once more to stop at once\n";
    struct run *run = data;

    (void)number;
    /* Before the first request there is nothing to print, and waits of up to 20 s may be ahead. */
    if (run->is_interrupted || !run->has_begun) {
        live_stop(&run->live);
        folder_close(&run->folder);
        _exit(EXIT_INTERRUPTED);
    }
    run->is_interrupted = true;
    run->auditor.query_ms = RUN_GRACE_MS;
    live_say(&run->live, told);
    live_phase(&run->live, LIVE_WAITING);
    fire_stop(run);
}

static enum live_mode live_mode_of(const struct options *options) {
    if (options->no_progress)
        return LIVE_QUIET;
    if (options->json_progress)
        return LIVE_JSON;
    return options->no_tui ? LIVE_PLAIN : LIVE_VIEW;
}

/* Before there is anything else, for the workers have a copy of what there is. */
static int plan_and_staff(struct run *run) {
    const struct options *options = run->options;
    struct sender like;

    if (options->command != COMMAND_FIRE || options->list_strategies)
        return 0;
    if (plan_make(&run->plan, &options->shape) != 0)
        return run_fail(EXIT_INTERNAL, "out of memory");
    like = fire_sender(run);
    if (options->workers == 1 ||
        workers_open(&run->workers, (size_t)options->workers, &like, !options->no_realtime) == 0)
        return 0;
    complain("loadgen", "--workers %d could not be started: %s", (int)options->workers,
             strerror(errno));
    workers_close(&run->workers);
    plan_free(&run->plan);
    return EXIT_INTERNAL;
}

static int run_against_target(uv_loop_t *loop, struct options *options, FILE *to) {
    struct run run = {.loop = loop, .options = options, .to = to, .exit_code = EXIT_INTERNAL};

    assert(options->command == COMMAND_FIRE || options->command == COMMAND_CREATE);
    snprintf(run.attacked.id, sizeof run.attacked.id, "%s",
             options->command == COMMAND_FIRE ? options->product : "");
    if (plan_and_staff(&run) != 0)
        return EXIT_INTERNAL;
    live_init(&run.live, loop, live_mode_of(options));
    (void)uv_timer_init(loop, &run.watch);
    run.watch.data = &run;
    interrupts_watch(&run.interrupts, loop, run_on_signal, &run);
    if (fiber_start(conduct, &run) != 0)
        return run_fail(EXIT_INTERNAL, "out of memory");
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return run.exit_code;
}

int run(uv_loop_t *loop, struct options *options, FILE *to) {
    switch (options->command) {
    case COMMAND_CHECK:
        return command_check(options, to);
    case COMMAND_DIFF:
        return command_diff(options, to);
    case COMMAND_REPORT:
        return command_report(options, to);
    case COMMAND_SERVE:
        return options->class ? class_serve(loop, options, to) : serve(loop, options, to, NULL);
    case COMMAND_CLAIMS:
        return claims_show(loop, options, to);
    case COMMAND_FIRE:
    case COMMAND_CREATE:
        break;
    }
    return run_against_target(loop, options, to);
}

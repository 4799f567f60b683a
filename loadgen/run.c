/* Conducts a run, in one fiber: ask the target, make the products, fire each round, judge it.
 *
 * All products are made and shown to the target before the first round, so that a spec that the
 * target does not take stops the run while it has cost nothing. */
#include "run.h"

#include "audit.h"
#include "clock.h"
#include "fiber.h"
#include "progress.h"
#include "punctual.h"
#include "report.h"
#include "sender.h"
#include "settings.h"
#include "target.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE_MS        1000 /* for answers, and for each query, after the first Ctrl-C */
#define DEFAULT_WAIT_MS 5000 /* wait= of a strategy that does not say it */
#define SLACK_MS        2000 /* for a sale's own work and statements after it has its lock */

struct run {
    uv_loop_t *loop;
    const struct options *options;
    FILE *to;
    int exit_code;
    struct target target;
    struct auditor auditor;
    struct plan plan;
    struct round *rounds;
    size_t finished; /* rounds with a verdict */
    struct progress progress;
    struct sender *sender; /* of the round that is being sent, or NULL */
    bool has_begun;        /* a request was sent */
    bool is_interrupted;
    uv_signal_t interrupt, terminate;
};

static int fail(int exit_code, const char *why) {
    fprintf(stderr, "loadgen: %s\n", why);
    return exit_code;
}

/* ---- before the first round */

static int exit_of_target(enum target_result result) {
    return result == TARGET_REFUSED ? EXIT_USAGE : EXIT_UNREACHABLE;
}

static const char *text_of(const json_t *strategies, size_t i, const char *key) {
    const char *text = json_string_value(json_object_get(json_array_get(strategies, i), key));

    return text != NULL ? text : "?";
}

static bool is_known(const json_t *strategies, const char *name) {
    for (size_t i = 0; i < json_array_size(strategies); i++) {
        if (strcmp(text_of(strategies, i, "name"), name) == 0)
            return true;
    }
    return false;
}

static int refuse_strategy(const json_t *strategies, const char *name) {
    fprintf(stderr, "loadgen: there is no strategy \"%s\"; the target knows:", name);
    for (size_t i = 0; i < json_array_size(strategies); i++)
        fprintf(stderr, " %s", text_of(strategies, i, "name"));
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int check_strategies(struct run *run) {
    const struct strategy_list *list = &run->options->list;
    json_t *strategies = NULL;
    char why[TARGET_WHY];
    int exit_code = 0;
    enum target_result result = target_strategies(&run->target, &strategies, why, sizeof why);

    if (result != TARGET_OK)
        return fail(exit_of_target(result), why);
    for (size_t i = 0; i < list->count && exit_code == 0; i++) {
        if (!is_known(strategies, list->items[i].name))
            exit_code = refuse_strategy(strategies, list->items[i].name);
    }
    json_decref(strategies);
    return exit_code;
}

static int make_product(struct run *run, struct round *round) {
    const struct options *options = run->options;
    char why[TARGET_WHY];
    enum target_result result;

    if (auditor_create(&run->auditor, options->name[0] != '\0' ? options->name : "loadgen",
                       options->stock, round->item->spec, &round->product, why, sizeof why) != 0)
        return fail(EXIT_UNREACHABLE, why);
    result = target_meet_product(&run->target, round->product.id, why, sizeof why);
    return result == TARGET_OK ? 0 : fail(exit_of_target(result), why);
}

static int open_all(struct run *run) {
    const struct options *options = run->options;
    char why[TARGET_WHY];

    if (target_open(&run->target, run->loop, options->target, why, sizeof why) != 0)
        return fail(EXIT_USAGE, why);
    if (options->is_listing || options->is_unjudged)
        return 0;
    if (auditor_open(&run->auditor, run->loop, options->inventory_db,
                     options->is_creating ? NULL : options->orders_db, why, sizeof why) != 0)
        return fail(EXIT_UNREACHABLE, why);
    return 0;
}

static int prepare(struct run *run) {
    const struct options *options = run->options;
    int exit_code = 0;

    run->rounds = calloc(options->list.count, sizeof *run->rounds);
    if (run->rounds == NULL || plan_make(&run->plan, (size_t)options->requests, options->rate,
                                         options->arrival_kind, (uint64_t)options->seed) != 0)
        return fail(EXIT_INTERNAL, "out of memory");
    if (!options->is_unjudged)
        exit_code = check_strategies(run);
    for (size_t i = 0; i < options->list.count && exit_code == 0; i++) {
        run->rounds[i].item = &options->list.items[i];
        run->rounds[i].expectation = &options->expectations[i];
        if (!options->is_unjudged)
            exit_code = make_product(run, &run->rounds[i]);
    }
    return exit_code;
}

/* ---- a round */

static int send_round(struct run *run, struct round *round) {
    const struct options *options = run->options;
    char body[UUID_TEXT + 32];
    struct sender sender = {.loop = run->loop,
                            .host = run->target.host,
                            .port = run->target.port,
                            .path = options->path,
                            .body = body,
                            .plan = &run->plan,
                            .recorder = round->recorder,
                            .timeout_ms = (options->timeout_ns + 999999) / 1000000,
                            .connections = (unsigned)options->connections};
    int rc;

    snprintf(body, sizeof body, "{\"product_id\":\"%s\"}", round->product.id);
    progress_start(&run->progress, round->item->name, run->plan.count, round->recorder);
    run->sender = &sender;
    run->has_begun = true;
    (void)punctual_start(!options->is_ordinary);
    rc = sender_run(&sender);
    round->is_realtime = punctual_stop();
    run->sender = NULL;
    progress_stop(&run->progress);
    return rc == 0 ? 0 : fail(EXIT_INTERNAL, uv_strerror(rc));
}

/* How long a sale under this spec may stand still, waiting for a lock. */
static int64_t longest_wait_ms(const struct strategy_item *item) {
    const char *option = strstr(item->spec, ",wait=");
    char text[32];
    int64_t ns;

    if (option == NULL)
        return DEFAULT_WAIT_MS;
    option += strlen(",wait=");
    snprintf(text, sizeof text, "%.*s", (int)strcspn(option, ","), option);
    return settings_parse_duration(text, &ns) == 0 ? ns / 1000000 : DEFAULT_WAIT_MS;
}

static int judge_round(struct run *run, struct round *round) {
    const struct options *options = run->options;
    struct audit_reading reading = {0};
    struct verdict_case judged = {.recorder = round->recorder, .pairs_wanted = VERDICT_PAIRS};
    const bool has_unknown = round->recorder->by_outcome[RECORD_UNKNOWN] > 0;
    char why[AUDIT_WHY];
    int rc;

    if (!options->is_unjudged) {
        int64_t still_ms = has_unknown ? longest_wait_ms(round->item) + SLACK_MS : 0;

        judged.is_restless = !auditor_wait_quiet(&run->auditor, &round->product, still_ms,
                                                 clock_now_ms() + options->drain_ns / 1000000,
                                                 &run->is_interrupted) &&
                             has_unknown;
        if (auditor_read(&run->auditor, &round->product, &reading, why, sizeof why) == 0)
            judged.ledger = &reading.ledger;
        else
            judged.problem = why;
    }
    judged.is_interrupted = run->is_interrupted;
    rc = verdict_judge(&judged, &round->verdict);
    audit_reading_free(&reading);
    recorder_forget(round->recorder);
    return rc == 0 ? 0 : fail(EXIT_INTERNAL, "out of memory");
}

static int run_round(struct run *run, struct round *round) {
    int exit_code;

    round->recorder = recorder_make(run->plan.count);
    if (round->recorder == NULL)
        return fail(EXIT_INTERNAL, "out of memory");
    exit_code = send_round(run, round);
    if (exit_code == 0)
        exit_code = judge_round(run, round);
    if (exit_code == 0)
        run->finished++;
    return exit_code;
}

/* ---- after the last round */

static int exit_of_verdicts(const struct run *run) {
    int exit_code = EXIT_AS_EXPECTED;

    if (run->is_interrupted)
        return EXIT_INTERRUPTED;
    for (size_t i = 0; i < run->finished; i++) {
        const struct round *round = &run->rounds[i];

        if (round->verdict.kind == VERDICT_UNJUDGED)
            continue;
        switch (expect_hold(round->expectation, &round->verdict)) {
        case EXPECT_MET:
            break;
        case EXPECT_FAILED:
            return EXIT_UNEXPECTED;
        case EXPECT_OPEN:
            exit_code = EXIT_INCONCLUSIVE;
        }
    }
    return exit_code;
}

static int write_report(const struct report *report, FILE *to) {
    return strcmp(report->options->output_format, "json") == 0 ? report_json(report, to)
                                                               : report_text(report, to);
}

static int fire(struct run *run) {
    struct report report = {.options = run->options, .started_us = clock_wall_us()};
    int exit_code = prepare(run);

    for (size_t i = 0; i < run->options->list.count && exit_code == 0 && !run->is_interrupted; i++)
        exit_code = run_round(run, &run->rounds[i]);
    if (exit_code == 0)
        exit_code = exit_of_verdicts(run);
    if (run->finished == 0)
        return exit_code;
    report.rounds = run->rounds;
    report.count = run->finished;
    report.exit_code = exit_code;
    if (write_report(&report, run->to) == 0)
        return exit_code;
    fprintf(stderr, "loadgen: the report could not be written: %s\n", strerror(errno));
    if (run->to != stdout)
        (void)!write_report(&report, stdout);
    return EXIT_INTERNAL;
}

static int flushed(const struct run *run) {
    return fflush(run->to) == 0 && !ferror(run->to)
               ? 0
               : fail(EXIT_INTERNAL, "the output could not be written");
}

static int list_strategies(struct run *run) {
    json_t *strategies = NULL;
    char why[TARGET_WHY];
    enum target_result result = target_strategies(&run->target, &strategies, why, sizeof why);

    if (result != TARGET_OK)
        return fail(exit_of_target(result), why);
    for (size_t i = 0; i < json_array_size(strategies); i++)
        fprintf(run->to, "%-16s %s\n%-16s promises: %s\n", text_of(strategies, i, "name"),
                text_of(strategies, i, "summary"), "", text_of(strategies, i, "promise"));
    json_decref(strategies);
    return flushed(run);
}

static int create(struct run *run) {
    struct round round = {.item = &run->options->list.items[0]};
    int exit_code = check_strategies(run);

    if (exit_code == 0)
        exit_code = make_product(run, &round);
    if (exit_code == 0)
        fprintf(run->to, "%s\n", round.product.id);
    return exit_code == 0 ? flushed(run) : exit_code;
}

static void free_rounds(struct run *run) {
    for (size_t i = 0; run->rounds != NULL && i < run->options->list.count; i++)
        recorder_free(run->rounds[i].recorder);
    free(run->rounds);
    plan_free(&run->plan);
}

static void conduct(void *arg) {
    struct run *run = arg;

    run->exit_code = open_all(run);
    if (run->exit_code == 0) {
        if (run->options->is_listing)
            run->exit_code = list_strategies(run);
        else
            run->exit_code = run->options->is_creating ? create(run) : fire(run);
    }
    free_rounds(run);
    auditor_close(&run->auditor);
    target_close(&run->target);
    progress_close(&run->progress);
    uv_close((uv_handle_t *)&run->interrupt, NULL);
    uv_close((uv_handle_t *)&run->terminate, NULL);
}

static void on_signal(uv_signal_t *handle, int number) {
    static const char told[] =
        "\nloadgen: interrupted: judging what there is; once more to stop at once\n";
    struct run *run = handle->data;

    (void)number;
    if (run->is_interrupted)
        _exit(EXIT_INTERRUPTED);
    run->is_interrupted = true;
    run->auditor.query_ms = GRACE_MS;
    if (!run->has_begun)
        _exit(EXIT_INTERRUPTED); /* nothing to print yet, and waits of up to 20 s ahead */
    (void)!write(STDERR_FILENO, told, sizeof told - 1);
    if (run->sender != NULL)
        sender_stop(run->sender, GRACE_MS);
}

static void watch_signal(struct run *run, uv_signal_t *handle, int number) {
    handle->data = run;
    (void)uv_signal_init(run->loop, handle);
    (void)uv_signal_start(handle, on_signal, number);
    uv_unref((uv_handle_t *)handle);
}

int run(uv_loop_t *loop, const struct options *options, FILE *to) {
    struct run run = {.loop = loop, .options = options, .to = to, .exit_code = EXIT_INTERNAL};

    progress_init(&run.progress, loop, !options->is_quiet);
    watch_signal(&run, &run.interrupt, SIGINT);
    watch_signal(&run, &run.terminate, SIGTERM);
    if (fiber_start(conduct, &run) != 0)
        return fail(EXIT_INTERNAL, "out of memory");
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return run.exit_code;
}

/* Sends the rounds with their faults, judges them, and reports them. */
#include "chart.h"
#include "clock.h"
#include "crew.h"
#include "environment.h"
#include "fiber.h"
#include "file_error.h"
#include "number.h"
#include "punctual.h"
#include "report.h"
#include "run.h"
#include "shop_run.h"
#include "split.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WAIT_MS 5000 /* wait= of a strategy that does not set it */
#define SLACK_MS        2000 /* limit for a sale's work and statements after it has its lock */
#define WRITTEN_MS      50   /* between two polls for sales that are not in the ledger yet */
#define LOOK_MS         100  /* between two polls whether the target is up again */
#define WATCH_MS        250  /* between two checks of the thresholds while a round is sent */

/* ---- before the first round */

static int make_product(struct run *run, const struct round *round, struct product *product) {
    const struct options *options = run->options;
    struct why why;

    if (run->attacked.id[0] == '\0' &&
        auditor_create(&run->auditor, options->name[0] != '\0' ? options->name : "loadgen",
                       options->stock, round->item->spec, product, &why) != 0)
        return run_fail(EXIT_UNREACHABLE, why.text);
    return run_settle(target_meet_product(&run->target, product->id, &why), why.text);
}

int fire_products(struct run *run, struct round *round) {
    int exit_code = 0;

    assert(round->products == NULL && run->options->items > 0);
    round->items = (size_t)run->options->items;
    round->products = calloc(round->items, sizeof *round->products);
    if (round->products == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    round->products[0] = run->attacked;
    if (run->shop != NULL) /* each round makes its own */
        return 0;
    for (size_t i = 0; i < round->items && exit_code == 0 && !run->options->no_judge; i++)
        exit_code = make_product(run, round, &round->products[i]);
    return exit_code;
}

/* Each repeat begins with another strategy, so no strategy is always the first. */
static int lay_out_rounds(struct run *run) {
    const struct strategy_list *list = &run->options->list;
    size_t repeats = (size_t)run->options->repeat, place = 0;

    run->rounds = calloc(list->count * repeats, sizeof *run->rounds);
    if (run->rounds == NULL)
        return -1;
    run->round_count = list->count * repeats;
    for (size_t repeat = 0; repeat < repeats; repeat++)
        for (size_t i = 0; i < list->count; i++) {
            size_t strategy = (repeat + i) % list->count;

            run->rounds[place++] = (struct round){.item = &list->items[strategy],
                                                  .faults = &run->options->fault_list,
                                                  .strategy = strategy,
                                                  .repeat = repeat,
                                                  .late_ns = run->options->late_ns,
                                                  .stuck_ns = run->options->stuck_after_ns,
                                                  .is_keyless = run->options->keyless};
        }
    assert(place == run->round_count);
    return 0;
}

/* ---- faults of servers */

/* Prepares the faults of servers for the next round. Returns an exit code. */
static int faults_open(struct run *run) {
    const struct options *options = run->options;
    const struct fault_list *list = &options->fault_list;
    const bool is_crashing = strstr(run->rounds[run->finished].item->spec, ":crash") != NULL;

    assert(run->injector.steps == NULL); /* faults_close() ended the last round's */
    run->injector = (struct injector){.act_count = 0};
    if ((!is_crashing && !fault_list_needs_mending(list)) || options->stack[0] == '\0')
        return 0;
    /* Without --fault of a server, a failure here is no error: a failpoint may crash a service of a
     * stack on another machine. */
    if (injector_open(&run->injector, run->loop, options->stack, list) == 0 || list->count == 0)
        return 0;
    return run_fail(EXIT_UNREACHABLE, run->injector.why.text);
}

/* Called when the start of round run->finished is set. */
static void faults_start(void *data) {
    struct run *run = data;

    assert(run->sender != NULL || run->crew != NULL);
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

/* Starts the servers that are down, and notes the results of the faults in the round. Returns 0, or
 * -1 without memory. */
static int faults_close(struct run *run, struct round *round) {
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

/* ---- sending */

static size_t share_of(size_t whole, size_t part, size_t parts) {
    return whole / parts + (part < whole % parts);
}

static struct sender fire_sender(struct run *run) {
    const struct options *options = run->options;
    const bool is_part = options->command == COMMAND_SEND;
    const size_t parts = is_part ? (size_t)options->parts : 1;
    const size_t part = is_part ? (size_t)options->part_number - 1 : 0;

    return (struct sender){.loop = run->loop,
                           .host = run->target.host,
                           .name = run->target.name,
                           .port = run->target.port,
                           .path = options->path,
                           .plan = &run->plan,
                           .timeout_ms = (options->timeout_ns + 999999) / 1000000,
                           .connections =
                               (unsigned)share_of((size_t)options->connections, part, parts),
                           .max_in_flight = share_of((size_t)options->max_in_flight, part, parts),
                           .part = part,
                           .parts = parts,
                           .choose_start = is_part ? split_start : NULL,
                           .on_start = faults_start,
                           .data = run,
                           .is_keyless = options->keyless};
}

int fire_open(struct run *run) {
    if (run->options->command == COMMAND_CREATE || run->options->list_strategies)
        return 0;
    if (plan_make(&run->plan, &run->options->shape) != 0)
        return run_fail(EXIT_INTERNAL, "out of memory");
    return 0;
}

void fire_stop(struct run *run) {
    if (run->shop != NULL)
        shop_run_stop(run);
    else if (run->crew != NULL)
        crew_stop(run->crew);
    else if (run->sender != NULL)
        sender_stop(run->sender, RUN_GRACE_MS);
    if (run->options->command == COMMAND_SEND)
        split_stop(run);
}

static bool is_threshold_missed(const struct run *run, const struct round *round,
                                const struct verdict *verdict) {
    const struct threshold_list *list = &run->options->threshold_list;
    double measured;

    for (size_t i = 0; i < list->count; i++)
        if (!threshold_holds(&list->items[i], round->recorder, verdict, &measured))
            return true;
    return false;
}

static void on_watch(uv_timer_t *timer) {
    struct run *run = timer->data;
    struct round *round = &run->rounds[run->finished];

    /* It runs only while a round is sent. */
    assert(run->sender != NULL || run->crew != NULL || run->shop != NULL);
    if (run->is_aborted || !is_threshold_missed(run, round, NULL))
        return;
    run->is_aborted = round->is_aborted = true;
    progress_phase(&run->progress, PROGRESS_WAITING);
    fire_stop(run);
}

static void show_round(struct run *run, const struct round *round) {
    const struct options *options = run->options;
    const struct progress_snapshot shown = {
        .name = round->item->given,
        .round = run->finished + 1,
        .rounds = run->round_count,
        .repeat = round->repeat + 1,
        .repeats = (size_t)options->repeat,
        .phase = run->shop != NULL ? PROGRESS_PREPARING : PROGRESS_SENDING,
        .customers = run->shop != NULL ? run->plan.count : 0,
        .span_ns = run->plan.span_ns,
        .stock = options->no_judge ? -1 : options->stock * (int64_t)round->items};

    progress_start(&run->progress, &shown, round->recorder, run->target.client,
                   round->items == 1 && !options->no_judge && run->shop == NULL &&
                           options->command == COMMAND_FIRE
                       ? round->products[0].id
                       : NULL);
}

static int fail_round(struct run *run, const char *why) {
    progress_stop(&run->progress);
    return run_fail(EXIT_INTERNAL, why);
}

static int send_alone(struct run *run, struct round *round) {
    struct sender sender = fire_sender(run);
    int rc;

    sender.products = round->products;
    sender.items = round->items;
    sender.recorder = round->recorder;
    run->sender = &sender;
    (void)punctual_start(!run->options->no_realtime);
    rc = sender_run(&sender);
    round->is_realtime = punctual_stop();
    run->sender = NULL;
    round->started_us = clock_wall_us() - (clock_now_ns() - round->recorder->start_ns) / 1000;
    return rc == 0 ? 0 : run_fail(EXIT_INTERNAL, uv_strerror(rc));
}

static int send_by_crew(struct run *run, struct round *round) {
    const int exit_code = split_crew(run, round, faults_start);

    run->has_lost = round->doubt_count > 0;
    round->is_interrupted = round->is_interrupted && !run->is_aborted; /* by --abort-on-fail */
    return exit_code;
}

int fire_send(struct run *run, struct round *round) {
    const struct options *options = run->options;
    const bool has_crew =
        options->command == COMMAND_FIRE && (options->parts > 1 || options->hosts[0] != '\0');
    int exit_code = faults_open(run);

    if (exit_code != 0)
        return exit_code;
    assert(run->sender == NULL); /* one round at a time */
    show_round(run, round);
    run->has_begun = true;
    if (options->abort_on_fail)
        (void)uv_timer_start(&run->watch, on_watch, WATCH_MS, WATCH_MS);
    exit_code = has_crew ? send_by_crew(run, round) : send_alone(run, round);
    (void)uv_timer_stop(&run->watch);
    progress_phase(&run->progress, PROGRESS_JUDGING);
    if (faults_close(run, round) != 0 && exit_code == 0)
        exit_code = run_fail(EXIT_INTERNAL, "out of memory");
    if (exit_code != 0)
        progress_stop(&run->progress);
    return exit_code;
}

static int send_to_shop(struct run *run, struct round *round) {
    int exit_code;

    show_round(run, round);
    exit_code = shop_run_prepare(run, round);
    if (exit_code == 0) {
        run->has_begun = true;
        progress_phase(&run->progress, PROGRESS_SENDING);
        if (run->options->abort_on_fail)
            (void)uv_timer_start(&run->watch, on_watch, WATCH_MS, WATCH_MS);
        exit_code = shop_run_send(run, round);
        (void)uv_timer_stop(&run->watch);
        round->started_us = clock_wall_us() - (clock_now_ns() - round->recorder->start_ns) / 1000;
        progress_phase(&run->progress, PROGRESS_JUDGING);
    }
    if (exit_code != 0)
        progress_stop(&run->progress);
    return exit_code;
}

/* ---- judging */

static bool fire_is_over(const struct run *run) {
    return run->is_interrupted || run->is_aborted || run->has_lost ||
           (run->finished > 0 && run->rounds[run->finished - 1].is_left_down);
}

/* Polls the target: somebody may start the services, or an instance that never sold may be up. */
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

/* Whether, after round run->finished, servers stay down longer than --drain, so that the next round
 * could sell nothing. */
static bool faults_left_down(struct run *run) {
    static const char told[] =
        "loadgen: a fault stopped servers: waiting for them, for at most --drain\n";
    const size_t next = run->finished + 1;

    if (next == run->round_count || run->options->no_judge || run->shop != NULL ||
        !down_is_all(&run->down))
        return false;
    progress_say(&run->progress, told);
    return !is_up_in_time(run, run->rounds[next].products[0].id);
}

/* The longest wait for a lock of a sale under this spec. */
static int64_t longest_wait_ms(const struct strategy_item *item) {
    const char *option = strstr(item->spec, ",wait=");
    char text[32];
    int64_t ns;

    if (option == NULL)
        return DEFAULT_WAIT_MS;
    option += strlen(",wait=");
    snprintf(text, sizeof text, "%.*s", (int)strcspn(option, ","), option);
    return number_read_duration(text, &ns) == 0 ? ns / 1000000 : DEFAULT_WAIT_MS;
}

/* Waits until the ledger has all sales of the target: a sale on its way is no GHOST. */
static void wait_written(struct run *run, struct round *round, const struct product *product,
                         int64_t deadline_ms) {
    int64_t pending;

    while ((pending = target_pending(&run->target, product->id)) > 0) {
        if (clock_now_ms() >= deadline_ms || run->is_interrupted) {
            why_set(&round->problem, "%lld sales of %s were not in the ledger yet",
                    (long long)pending, product->id);
            return;
        }
        fiber_sleep(run->loop, WRITTEN_MS);
    }
}

/* Reads the ledger of each product once it is quiet. Returns false if one did not become quiet. */
static bool read_ledgers(struct run *run, struct round *round) {
    const struct options *options = run->options;
    const int64_t still_ms = round->recorder->by_outcome[RECORD_UNKNOWN] > 0
                                 ? longest_wait_ms(round->item) + SLACK_MS
                                 : 0;
    const int64_t deadline_ms = clock_now_ms() + options->drain_ns / 1000000;
    bool is_quiet = true;

    assert(!options->no_judge && round->ledgers == NULL);
    round->ledgers = calloc(round->items, sizeof *round->ledgers);
    if (round->ledgers == NULL) {
        why_set(&round->problem, "the ledger could not be read: out of memory");
        return true;
    }
    for (size_t i = 0; i < round->items && round->problem.text[0] == '\0'; i++) {
        const struct product *product = &round->products[i];
        struct why why;

        wait_written(run, round, product, deadline_ms);
        is_quiet = auditor_wait_quiet(&run->auditor, product, still_ms, deadline_ms,
                                      &run->is_interrupted) &&
                   is_quiet;
        if (auditor_read(&run->auditor, product, &round->ledgers[i], &why) != 0)
            round->problem = why;
    }
    if (round->problem.text[0] == '\0' && auditor_skew(&run->auditor, &round->ledger_skew_us) != 0)
        round->ledger_skew_us = 0; /* only drawings need it, so the verdict stays */
    return is_quiet;
}

/* Events are only evidence: without them the verdict stays, but a message tells it. */
static void read_events(struct run *run, struct round *round) {
    struct why why, told;
    int rc = 0;

    for (size_t i = 0; i < round->items && rc == 0; i++)
        rc = auditor_read_events(&run->auditor, &round->products[i], (uint32_t)i,
                                 round->ledger_skew_us - round->started_us, &round->events, &why);
    round->are_events_lost = rc != 0;
    if (rc != 0) {
        why_set(&told, "loadgen: %s\n", why.text);
        progress_say(&run->progress, told.text);
    }
    event_list_sort(&round->events);
}

/* The line of the verdict stays on the screen, above later lines. */
static void show_verdict(struct run *run, const struct round *round) {
    static const enum progress_tone tones[] = {[VERDICT_VALID] = PROGRESS_GOOD,
                                               [VERDICT_VIOLATED] = PROGRESS_BAD,
                                               [VERDICT_INCONCLUSIVE] = PROGRESS_OPEN,
                                               [VERDICT_UNJUDGED] = PROGRESS_OPEN};
    char text[TABLE_CELL];

    run->progress.round.is_left_down = round->is_left_down;
    progress_end(&run->progress, report_verdict(&round->verdict, text), tones[round->verdict.kind]);
}

static int fire_judge(struct run *run, struct round *round) {
    if (run->shop != NULL) {
        shop_run_read(run, round);
    } else if (!run->options->no_judge) {
        bool is_quiet = read_ledgers(run, round);

        if (round->problem.text[0] == '\0')
            read_events(run, round);
        round->is_restless = !is_quiet && round->recorder->by_outcome[RECORD_UNKNOWN] > 0;
    }
    round->is_interrupted = round->is_interrupted || run->is_interrupted;
    if (round_judge(round, &run->down) != 0)
        return fail_round(run, "out of memory");
    round->ended_us = clock_wall_us();
    round->is_left_down = !fire_is_over(run) && faults_left_down(run);
    show_verdict(run, round);
    return 0;
}

/* Moves the evidence of a judged round from memory to the disk and the page. */
static int keep_round(struct run *run, struct round *round) {
    struct why why;
    int rc = folder_add(&run->folder, round, &why);

    assert(round->chart == NULL);
    round->chart = chart_make(round);
    round_forget(round);
    return rc == 0 ? 0 : run_fail(EXIT_INTERNAL, why.text);
}

static int run_round(struct run *run, struct round *round) {
    const char *directory = run->folder.path[0] != '\0' ? run->folder.path : NULL;
    struct why why;
    int exit_code;

    round->recorder = recorder_make_long(run->plan.count, directory);
    if (round->recorder == NULL) {
        why_set(&why, "the requests of this round could not be kept: %s", file_error(errno));
        return run_fail(EXIT_INTERNAL, why.text);
    }
    if (run->options->command == COMMAND_MERGE)
        exit_code = split_gather(run, round);
    else
        exit_code = run->shop != NULL ? send_to_shop(run, round) : fire_send(run, round);
    if (exit_code == 0)
        exit_code = fire_judge(run, round);
    if (run->shop != NULL)
        shop_run_leave(run);
    if (exit_code != 0)
        return exit_code;
    assert(round == &run->rounds[run->finished]);
    run->finished++; /* the report has it even if it cannot be kept */
    if (run->options->abort_on_fail && is_threshold_missed(run, round, &round->verdict))
        run->is_aborted = true;
    return keep_round(run, round);
}

/* ---- reporting */

/* Writes them with the final exit code of the program. */
static int write_ci_files(struct run *run, const struct summary *summary, int exit_code) {
    struct summary told = *summary;
    json_t *environment = environment_json(summary);
    struct why why;

    told.exit_code = exit_code;
    if (ci_files_write(run->ci_files, &told, environment, &why) != 0)
        exit_code = run_fail(EXIT_INTERNAL, why.text);
    json_decref(environment);
    return exit_code;
}

/* Writes the results folder first: the printed report names it. */
static int write_report(struct run *run, const struct summary *summary) {
    int exit_code = summary->exit_code;
    struct why why;

    if (folder_write(&run->folder, summary, &why) != 0)
        exit_code = run_fail(EXIT_INTERNAL, why.text);
    if (report_print(summary, run->to) == 0)
        return exit_code;
    fprintf(stderr, "loadgen: the report could not be written: %s\n", file_error(errno));
    if (run->to != stdout)
        (void)!report_print(summary, stdout);
    return EXIT_INTERNAL;
}

/* If a later round failed, `exit_code` is not 0: then the program ends with it, and the report says
 * so. */
static int report_rounds(struct run *run, int64_t started_us, int exit_code) {
    struct summary summary;

    assert(run->finished > 0 && run->finished <= run->round_count);
    if (summary_make(&summary, run->options, run->rounds, run->finished) == 0) {
        if (run->is_interrupted &&
            run->finished < run->round_count) { /* perhaps between two rounds */
            summary.is_interrupted = true;
            summary.exit_code = EXIT_INTERRUPTED;
        }
        summary.exit_code = exit_code != 0 ? exit_code : summary.exit_code;
        summary.started_us = started_us;
        summary.ended_us = run->rounds[run->finished - 1].ended_us;
        summary.postgres_version = run->auditor.postgres_version;
        summary.folder = run->folder.path[0] != '\0' ? run->folder.path : NULL;
        exit_code = write_ci_files(run, &summary, write_report(run, &summary));
    } else {
        exit_code = run_fail(EXIT_INTERNAL, "out of memory");
    }
    summary_free(&summary);
    return exit_code;
}

int fire(struct run *run) {
    const bool is_merge = run->options->command == COMMAND_MERGE;
    const int64_t started_us = is_merge ? split_started_us(run) : clock_wall_us();
    struct why why;
    int exit_code = 0;

    if (folder_open(&run->folder, run->options, started_us, &why) != 0)
        exit_code = run_fail(EXIT_INTERNAL, why.text);
    else if (!is_merge && lay_out_rounds(run) != 0)
        exit_code = run_fail(EXIT_INTERNAL, "out of memory");
    for (size_t i = 0; i < run->round_count && exit_code == 0 && !is_merge; i++)
        exit_code = fire_products(run, &run->rounds[i]);
    for (size_t i = 0; i < run->round_count && exit_code == 0 && !fire_is_over(run); i++)
        exit_code = run_round(run, &run->rounds[i]);
    if (run->finished > 0)
        exit_code = report_rounds(run, started_us, exit_code);
    folder_close(&run->folder);
    return exit_code;
}

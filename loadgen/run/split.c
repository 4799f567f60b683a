/* Sends a part of a plan, and makes a run of the parts. */
#include "split.h"

#include "clock.h"
#include "crew.h"
#include "fiber.h"
#include "file_error.h"
#include "parts.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPENING_US 2000000 /* `send` opens its connections so long before --at */
#define LOOK_MS    10      /* between two looks at the clock before that */
#define SAMPLE_MS  100     /* between two samples of the database's clock */
#define SAMPLES    20      /* the fastest of these counts, before and after the round */

struct split {
    const struct options *given; /* of this call */
    struct options options;      /* of the plan, and the rest of this call */
    struct history plan;         /* of `send` */
    struct parts parts;          /* of `merge` */
    char file[FOLDER_PATH];      /* of `send`: the history that it writes */
    bool is_sent;                /* it takes no further sample of the database's clock */
    struct fiber_event sampled;
};

/* ---- before the fiber */

/* The round of a plan, without its requests. */
static int lay_out(struct run *run, const struct history *plan) {
    const struct round *of = &plan->rounds[0];
    struct options *options = &run->split->options;
    struct round *round = run->rounds = calloc(1, sizeof *round);
    struct product *products = calloc(of->items, sizeof *products);

    if (round == NULL || products == NULL) {
        free(products);
        return run_fail(EXIT_INTERNAL, "out of memory");
    }
    memcpy(products, of->products, of->items * sizeof *products);
    *round = (struct round){.item = &options->list.items[of->strategy],
                            .faults = &options->fault_list,
                            .strategy = of->strategy,
                            .repeat = of->repeat,
                            .items = of->items,
                            .products = products,
                            .late_ns = options->late_ns,
                            .stuck_ns = options->stuck_after_ns,
                            .is_keyless = options->keyless};
    run->round_count = 1;
    return 0;
}

static void take_options(struct run *run, const struct options *plan) {
    struct split *split = run->split;

    split->options = *plan;
    option_lend(&split->options, split->given);
    split->options.command = split->given->command;
    split->options.arguments = split->given->arguments;
    split->options.argument_count = split->given->argument_count;
    split->options.list_strategies = false;
    run->options = &split->options;
}

/* A part that died would leave a folder without a history, so the folder may exist. */
static int open_part_folder(struct split *split) {
    const char *folder = split->given->arguments[0];

    if (strlen(folder) + 20 > sizeof split->file) {
        complain("loadgen", "%s: %s", folder, strerror(ENAMETOOLONG));
        return EXIT_USAGE;
    }
    (void)snprintf(split->file, sizeof split->file, "%s/history.ndjson", folder);
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
        complain("loadgen", "%s: %s", folder, strerror(errno));
        return EXIT_USAGE;
    }
    if (access(split->file, F_OK) != 0)
        return 0;
    complain("loadgen", "%s exists: give each part a folder of its own", split->file);
    return EXIT_USAGE;
}

static int check_part(const struct split *split) {
    const struct options *plan = &split->plan.options;
    const int64_t parts = split->given->parts;

    if (plan->connections < parts || (plan->max_in_flight > 0 && plan->max_in_flight < parts)) {
        complain("loadgen",
                 "%" PRId64 " parts must share the --connections and --max-in-flight of the plan, "
                 "and these are %" PRId64 " and %" PRId64,
                 parts, plan->connections, plan->max_in_flight);
        return EXIT_USAGE;
    }
    if (split->given->at_us == 0 || split->given->at_us > clock_wall_us())
        return 0;
    complain("loadgen", "the moment of --at has passed: %s", split->given->at);
    return EXIT_USAGE;
}

static int open_send(struct run *run) {
    struct split *split = run->split;
    struct why why;
    int exit_code;

    if (split->given->at_us == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0UL, 0UL, 0UL);
    if (parts_read_plan(&split->plan, split->given->plan, &why) != 0)
        return run_fail(EXIT_NO_INPUT, why.text);
    exit_code = check_part(split);
    if (exit_code == 0)
        exit_code = open_part_folder(split);
    if (exit_code != 0)
        return exit_code;
    take_options(run, &split->plan.options);
    split->options.parts = split->given->parts;
    split->options.part_number = split->given->part_number;
    split->options.at_us = split->given->at_us;
    split->options.no_realtime |= split->given->no_realtime;
    split->options.fault_list.count = 0; /* the run of --parts injects them */
    exit_code = lay_out(run, &split->plan);
    if (exit_code != 0)
        return exit_code;
    run->rounds[0].part = (size_t)split->options.part_number;
    run->rounds[0].parts = (size_t)split->options.parts;
    return 0;
}

static int open_merge(struct run *run) {
    struct split *split = run->split;
    struct parts *parts = &split->parts;
    struct why why;

    for (int i = 0; i < split->given->argument_count; i++)
        if (parts_add(parts, split->given->arguments[i], &why) != 0)
            return run_fail(EXIT_NO_INPUT, why.text);
    if (parts_first(parts) == NULL) {
        why_set(&why, "no part is whole: %s", parts->unread.text);
        return run_fail(EXIT_NO_INPUT, why.text);
    }
    take_options(run, &parts_first(parts)->history->options);
    split->options.parts = (int64_t)parts->count;
    return lay_out(run, parts_first(parts)->history);
}

int split_open(struct run *run) {
    run->split = calloc(1, sizeof *run->split);
    if (run->split == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    run->split->given = run->options;
    return run->options->command == COMMAND_SEND ? open_send(run) : open_merge(run);
}

void split_free(struct run *run) {
    if (run->split == NULL)
        return;
    history_free(&run->split->plan);
    parts_free(&run->split->parts);
    free(run->split);
    run->split = NULL;
}

int64_t split_started_us(const struct run *run) {
    return run->options->command == COMMAND_MERGE
               ? parts_first(&run->split->parts)->history->started_us
               : 0;
}

/* ---- plan */

int split_plan(struct run *run) {
    struct round *round = calloc(1, sizeof *round);
    struct why why;
    int exit_code;

    if (round == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    round->item = &run->options->list.items[0];
    round->verdict.kind = VERDICT_UNJUDGED;
    exit_code = fire_products(run, round);
    round->recorder = exit_code == 0 ? recorder_make(0) : NULL;
    if (round->recorder != NULL) {
        round->recorder->planned = run->plan.count;
        if (parts_write(run->options->arguments[0], run->options, clock_wall_us(), round, &why) !=
            0)
            exit_code = run_fail(EXIT_USAGE, why.text);
    }
    round_free(round);
    free(round);
    return exit_code;
}

/* ---- send */

/* Reads "start NS\n" without waiting longer than a millisecond a time. 0: the other side is gone, or
 * wrote something else. */
static int64_t wait_for_word(const struct run *run) {
    char line[64] = "";
    size_t length = 0;
    int64_t start_ns = 0;

    while (!run->is_interrupted && length + 1 < sizeof line && strchr(line, '\n') == NULL) {
        struct pollfd wanted = {.fd = STDIN_FILENO, .events = POLLIN};
        ssize_t got;

        if (poll(&wanted, 1, 0) <= 0) {
            fiber_sleep(run->loop, 1);
            continue;
        }
        got = read(STDIN_FILENO, line + length, 1);
        if (got <= 0)
            return 0;
        length++;
    }
    return sscanf(line, "start %" SCNd64, &start_ns) == 1 ? start_ns : 0;
}

int64_t split_start(void *data) {
    struct run *run = data;
    const int64_t at_us = run->options->at_us;
    int64_t start_ns;

    if (at_us != 0)
        return clock_now_ns() + (at_us - clock_wall_us()) * 1000;
    puts("ready");
    (void)fflush(stdout);
    start_ns = wait_for_word(run);
    if (start_ns != 0)
        return start_ns;
    run->is_interrupted = true;
    fire_stop(run);
    return clock_now_ns();
}

static void wait_until_opening(const struct run *run) {
    while (run->options->at_us - clock_wall_us() > OPENING_US && !run->is_interrupted)
        fiber_sleep(run->loop, LOOK_MS);
}

/* ---- the clock of the database */

bool split_asks_clock(const struct options *options) {
    return options->command != COMMAND_SEND || options->at_us != 0;
}

/* A sample that fails is left out: then the moments about it are known less exactly. */
static void take_samples(struct run *run, int count) {
    struct round *round = &run->rounds[0];

    for (int i = 0; i < count; i++) {
        struct clock_sample sample, *kept = NULL;

        if (auditor_ask_clock(&run->auditor, &sample) == 0)
            kept = round_add_sample(round);
        if (kept != NULL)
            *kept = sample;
    }
}

static void sample_clock(void *arg) {
    struct run *run = arg;

    take_samples(run, SAMPLES);
    while (!run->split->is_sent) {
        fiber_sleep(run->loop, SAMPLE_MS);
        take_samples(run, 1);
    }
    take_samples(run, SAMPLES);
    fiber_event_set(&run->split->sampled);
}

static int start_samples(struct run *run) {
    run->split->sampled = (struct fiber_event)FIBER_EVENT_INIT;
    if (!split_asks_clock(run->options) || run->options->no_judge)
        fiber_event_set(&run->split->sampled);
    else if (fiber_start(sample_clock, run) != 0)
        return run_fail(EXIT_INTERNAL, "out of memory");
    return 0;
}

/* Their times count from the start of the round, like those of its requests. */
static void end_samples(struct run *run) {
    struct round *round = &run->rounds[0];

    run->split->is_sent = true;
    fiber_event_wait(&run->split->sampled);
    for (size_t i = 0; i < round->sample_count; i++) {
        round->samples[i].asked_ns -= round->recorder->start_ns;
        round->samples[i].answered_ns -= round->recorder->start_ns;
    }
}

static size_t count_own(const struct run *run) {
    const size_t parts = (size_t)run->options->parts, part = (size_t)run->options->part_number - 1;
    size_t count = 0;

    for (size_t i = 0; i < run->plan.count; i++)
        count += plan_is_own(&run->plan, i, parts, part);
    return count;
}

static int write_part(struct run *run, struct round *round) {
    const struct history *plan = &run->split->plan;
    struct why why;

    recorder_compact(round->recorder);
    round->is_interrupted = run->is_interrupted;
    round->verdict.kind = VERDICT_UNJUDGED;
    round->ended_us = clock_wall_us();
    if (parts_write(run->split->file, &plan->options, plan->started_us, round, &why) != 0)
        return run_fail(EXIT_INTERNAL, why.text);
    return run->is_interrupted ? EXIT_INTERRUPTED : 0;
}

int split_send(struct run *run) {
    struct round *round = &run->rounds[0];
    int exit_code;

    run->has_begun = true; /* so Ctrl-C leaves a history */
    wait_until_opening(run);
    round->recorder = recorder_make_long(run->plan.count, run->split->given->arguments[0]);
    if (round->recorder == NULL)
        return run_fail(EXIT_INTERNAL, file_error(errno));
    round->recorder->planned = count_own(run);
    exit_code = start_samples(run);
    if (exit_code != 0)
        return exit_code;
    exit_code = fire_send(run, round);
    end_samples(run);
    progress_stop(&run->progress);
    return exit_code == 0 ? write_part(run, round) : exit_code;
}

/* ---- merge */

/* No history has the times of creation of the products. */
static int find_products(struct run *run, struct round *round) {
    for (size_t i = 0; i < round->items; i++) {
        struct audit_found found;
        struct why why;

        if (auditor_find(&run->auditor, &round->products[i], &found, &why) != 0)
            return run_fail(EXIT_UNREACHABLE, why.text);
        if (found.is_there)
            continue;
        complain("loadgen", "the database inventory has no product %s: is it that of the plan?",
                 round->products[i].id);
        return EXIT_NO_INPUT;
    }
    return 0;
}

int split_gather(struct run *run, struct round *round) {
    int64_t skew_us;
    struct why why;
    int exit_code = run->options->no_judge ? 0 : find_products(run, round);

    if (exit_code != 0)
        return exit_code;
    run->has_begun = true;
    if (parts_merge(&run->split->parts, &run->plan, round, &why) != 0)
        return run_fail(EXIT_NO_INPUT, why.text);
    if (run->options->no_judge)
        return 0;
    if (auditor_skew(&run->auditor, &skew_us) != 0)
        return run_fail(EXIT_UNREACHABLE, "the clock of the database could not be read");
    round->started_us += skew_us; /* it is by the database's clock */
    return 0;
}

/* ---- --parts */

static void split_on_line(void *data, const char *line) {
    struct run *run = data;

    progress_say(&run->progress, line);
}

int split_crew(struct run *run, struct round *round, void (*on_start)(void *data)) {
    const struct options *options = run->options;
    struct crew *crew = calloc(1, sizeof *crew);
    struct why why;
    int code;

    if (crew == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    /* With a part on every core, servers on this machine would stand still. */
    *crew =
        (struct crew){.loop = run->loop,
                      .count = (size_t)options->parts,
                      .is_realtime_wanted = !options->no_realtime &&
                                            options->parts < (int64_t)uv_available_parallelism(),
                      .directory = run->folder.path[0] != '\0' ? run->folder.path : NULL,
                      .recorder = round->recorder,
                      .on_start = on_start,
                      .on_line = split_on_line,
                      .data = run};
    run->crew = crew;
    code = crew_send(crew, options, &run->plan, round, &why);
    run->crew = NULL;
    free(crew);
    return code == 0 ? 0 : run_fail(EXIT_INTERNAL, why.text);
}

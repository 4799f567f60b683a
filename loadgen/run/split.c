/* Writes a plan, and makes a run of the parts. */
#include "clock.h"
#include "crew.h"
#include "split_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- before the fiber */

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

int split_take_plan(struct run *run, const struct history *plan) {
    take_options(run, &plan->options);
    return lay_out(run, plan);
}

static int open_merge(struct run *run) {
    struct split *split = run->split;
    struct parts *parts = &split->parts;
    struct why why;
    int exit_code;

    for (int i = 0; i < split->given->argument_count; i++)
        if (parts_add(parts, split->given->arguments[i], &why) != 0)
            return run_fail(EXIT_NO_INPUT, why.text);
    if (parts_first(parts) == NULL) {
        why_set(&why, "no part is whole: %s", parts->unread.text);
        return run_fail(EXIT_NO_INPUT, why.text);
    }
    exit_code = split_take_plan(run, parts_first(parts)->history);
    split->options.parts = (int64_t)parts->count;
    return exit_code;
}

int split_open(struct run *run) {
    run->split = calloc(1, sizeof *run->split);
    if (run->split == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    run->split->given = run->options;
    return run->options->command == COMMAND_SEND ? split_open_send(run) : open_merge(run);
}

void split_free(struct run *run) {
    if (run->split == NULL)
        return;
    history_free(&run->split->plan);
    parts_free(&run->split->parts);
    free(run->split->tally);
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
        if (parts_write_file(run->options->arguments[0], run->options, clock_wall_us(), round,
                             &why) != 0)
            exit_code = run_fail(EXIT_USAGE, why.text);
    }
    round_free(round);
    free(round);
    return exit_code;
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

/* The moments of a round of several clocks are by the database's clock: sets its start by the clocks
 * of this process, for the ledger, the events and the faults. */
static int take_home(struct run *run, struct round *round) {
    int64_t skew_us = 0;

    if (!run->options->no_judge && auditor_skew(&run->auditor, &skew_us) != 0)
        return run_fail(EXIT_UNREACHABLE, "the clock of the database could not be read");
    round->started_us += skew_us;
    round->recorder->start_ns = clock_now_ns() - (clock_wall_us() - round->started_us) * 1000;
    return 0;
}

int split_gather(struct run *run, struct round *round) {
    struct why why;
    int exit_code = run->options->no_judge ? 0 : find_products(run, round);

    if (exit_code != 0)
        return exit_code;
    run->has_begun = true;
    if (parts_merge(&run->split->parts, &run->plan, round, &why) != 0)
        return run_fail(EXIT_NO_INPUT, why.text);
    return take_home(run, round);
}

/* ---- --parts and --hosts */

static void split_on_line(void *data, const char *line) {
    struct run *run = data;

    progress_say(&run->progress, line);
}

/* With a part on every core, servers on this machine would stand still. */
static bool may_be_realtime(const struct options *options) {
    return !options->no_realtime &&
           (options->hosts[0] != '\0' || options->parts < (int64_t)uv_available_parallelism());
}

int split_crew(struct run *run, struct round *round, void (*on_start)(void *data)) {
    const struct options *options = run->options;
    struct crew *crew = calloc(1, sizeof *crew);
    struct why why;
    int exit_code;

    if (crew == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    *crew = (struct crew){.loop = run->loop,
                          .count = (size_t)options->parts,
                          .hosts = options->hosts,
                          .ssh = options->ssh,
                          .program = options->remote_loadgen,
                          .is_realtime_wanted = may_be_realtime(options),
                          .directory = run->folder.path[0] != '\0' ? run->folder.path : NULL,
                          .recorder = round->recorder,
                          .on_start = on_start,
                          .on_line = split_on_line,
                          .data = run};
    if (options->hosts[0] != '\0' && !options->no_judge)
        crew->database = options->inventory_db != NULL ? options->inventory_db : "";
    run->crew = crew;
    exit_code = crew_send(crew, options, &run->plan, round, &why);
    run->crew = NULL;
    free(crew);
    if (exit_code != 0)
        return run_fail(exit_code, why.text);
    return options->hosts[0] != '\0' ? take_home(run, round) : 0;
}

/* loadgen: runs a flash sale against the order service, and judges the ledger.
 *
 * A run is one fiber: it opens the target and the databases, does the command, and closes
 * everything. All products are made and shown to the target before the first round, so a spec that
 * the target does not accept stops the run before it costs anything. */
#include "claims.h"
#include "class.h"
#include "core_file.h"
#include "crew.h"
#include "fiber.h"
#include "file_error.h"
#include "inherited.h"
#include "log.h"
#include "loop.h"
#include "pg_variables.h"
#include "run.h"
#include "serve.h"
#include "shell_word.h"
#include "shop_check.h"
#include "shop_command.h"
#include "shop_run.h"
#include "split.h"
#include "table.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDENT 19         /* of the text beside a name */
#define LINE   (4 * 1024) /* a longer text of the target is cut */

/* ---- the strategies of the target: by family, in its order */

static const char *prepare_text_of(const json_t *strategy, const char *key) {
    const char *text = json_string_value(json_object_get(strategy, key));

    return text != NULL ? text : "?";
}

static bool strategies_have(const json_t *strategies, const char *name) {
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy)
        if (strcmp(prepare_text_of(strategy, "name"), name) == 0)
            return true;
    return false;
}

/* Appends a word to a line, or nothing if it does not fit. */
static void prepare_append(char line[LINE], const char *word) {
    size_t used = strlen(line);

    if (used + strlen(word) + 2 < LINE)
        (void)snprintf(line + used, LINE - used, " %s", word);
}

static bool all_have_option(const json_t *strategies, const json_t *option) {
    size_t i, j;
    json_t *strategy, *other;

    json_array_foreach (strategies, i, strategy) {
        bool has_it = false;

        json_array_foreach (json_object_get(strategy, "options"), j, other)
            has_it = has_it || json_equal(other, option);
        if (!has_it)
            return false;
    }
    return true;
}

/* Appends its options that all strategies have, or the others. Returns whether there are any. */
static bool append_options(char line[LINE], const json_t *strategies, const json_t *strategy,
                           bool is_common) {
    size_t i;
    bool has_any = false;
    json_t *option;

    json_array_foreach (json_object_get(strategy, "options"), i, option)
        if (json_is_string(option) && all_have_option(strategies, option) == is_common) {
            prepare_append(line, json_string_value(option));
            has_any = true;
        }
    return has_any;
}

static void print_beside(const char *name, const char *label, const char *text, FILE *to) {
    char line[LINE];

    (void)snprintf(line, sizeof line, "%-16s %s%s", name, label, text);
    table_print_indented(line, 2, INDENT, table_columns(to), to);
}

static void prepare_print_strategy(const json_t *strategies, const json_t *strategy, FILE *to) {
    char options[LINE] = "";

    print_beside(prepare_text_of(strategy, "name"), "", prepare_text_of(strategy, "summary"), to);
    print_beside("", "promises: ", prepare_text_of(strategy, "promise"), to);
    print_beside("", "broken by: ", prepare_text_of(strategy, "breaks"), to);
    print_beside("", "see: ", prepare_text_of(strategy, "source"), to);
    if (append_options(options, strategies, strategy, false))
        print_beside("", "options:", options, to);
}

static void strategies_print(const json_t *strategies, FILE *to) {
    const char *family = NULL;
    char common[LINE] = "options of all:";
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy) {
        if (family == NULL || strcmp(family, prepare_text_of(strategy, "family")) != 0) {
            fputs(family != NULL ? "\n" : "", to);
            family = prepare_text_of(strategy, "family");
            table_print_indented(family, 0, 0, table_columns(to), to);
        }
        prepare_print_strategy(strategies, strategy, to);
    }
    if (append_options(common, strategies, json_array_get(strategies, 0), true)) {
        fprintf(to, "\n");
        table_print_indented(common, 0, 2, table_columns(to), to);
    }
}

static void strategies_print_unknown(const json_t *strategies, const char *name, FILE *to) {
    char line[LINE];
    size_t i;
    json_t *strategy;

    (void)snprintf(line, sizeof line,
                   "loadgen: there is no strategy \"%s\"; the target knows:", name);
    json_array_foreach (strategies, i, strategy)
        prepare_append(line, prepare_text_of(strategy, "name"));
    table_print_indented(line, 0, 2, table_columns(to), to);
}

/* ---- before the first round */

static int prepare_check(struct run *run) {
    const struct strategy_list *list = &run->options->list;
    json_t *strategies = NULL;
    struct why why;
    int exit_code = run_settle(target_strategies(&run->target, &strategies, &why), why.text);

    for (size_t i = 0; i < list->count && exit_code == 0; i++)
        if (!strategies_have(strategies, list->items[i].name)) {
            strategies_print_unknown(strategies, list->items[i].name, stderr);
            exit_code = EXIT_USAGE;
        }
    json_decref(strategies);
    return exit_code;
}

/* A run cannot judge sales that were made before it. */
static int refuse_sold_from(const struct run *run, const struct audit_found *found) {
    const char *program = run->options->program;

    fprintf(
        stderr,
        "loadgen: units of product %s were sold before this run, and this run cannot judge them: "
        "make another product like it with ",
        run->attacked.id);
    shell_word_print(program, strlen(program), stderr);
    fputs(" create --strategy ", stderr);
    shell_word_print(found->spec, strlen(found->spec), stderr);
    fprintf(stderr, " --stock %" PRId64 "\n", found->stock);
    return EXIT_USAGE;
}

static int prepare_attack(struct run *run) {
    struct audit_found found;
    bool is_fresh;
    struct why why;

    assert(run->attacked.id[0] != '\0');
    if (auditor_find(&run->auditor, &run->attacked, &found, &why) != 0)
        return run_fail(EXIT_UNREACHABLE, why.text);
    if (!found.is_there) {
        complain("loadgen", "there is no product %s in the database inventory", run->attacked.id);
        return EXIT_USAGE;
    }
    if (auditor_is_fresh(&run->auditor, &run->attacked, &is_fresh, &why) != 0)
        return run_fail(EXIT_UNREACHABLE, why.text);
    if (!is_fresh)
        return refuse_sold_from(run, &found);
    if (options_attack(run->options, found.spec, found.stock, &why) != 0)
        return run_fail(EXIT_USAGE, why.text);
    return 0;
}

/* ---- instead of rounds */

static int prepare_finish(struct run *run) {
    if (fflush(run->to) == 0 && !ferror(run->to))
        return 0;
    return run_fail(EXIT_INTERNAL, "the output could not be written");
}

static int prepare_list(struct run *run) {
    json_t *strategies = NULL;
    struct why why;
    int exit_code = run_settle(target_strategies(&run->target, &strategies, &why), why.text);

    if (exit_code == 0 && strcmp(run->options->output_format, "json") == 0)
        (void)json_dumpf(strategies, run->to, JSON_INDENT(2));
    else if (exit_code == 0)
        strategies_print(strategies, run->to);
    json_decref(strategies);
    return exit_code == 0 ? prepare_finish(run) : exit_code;
}

/* A round takes half of a fiber's stack. */
static int prepare_create(struct run *run) {
    struct round *round = calloc(1, sizeof *round);
    int exit_code;

    assert(run->options->list.count == 1);
    if (round == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    round->item = &run->options->list.items[0];
    exit_code = fire_products(run, round);
    for (size_t i = 0; i < round->items && exit_code == 0; i++)
        fprintf(run->to, "%s\n", round->products[i].id);
    round_free(round);
    free(round);
    return exit_code == 0 ? prepare_finish(run) : exit_code;
}

/* ---- a run against a target */

/* It judges nothing. */
static bool is_without_orders(const struct options *options) {
    return options->command == COMMAND_CREATE || options->command == COMMAND_PLAN ||
           options->command == COMMAND_SEND;
}

static int run_open_all(struct run *run) {
    const struct options *options = run->options;
    struct why why;
    int exit_code;

    if (run->shop != NULL)
        return shop_run_meet(run);
    if (target_open(&run->target, run->loop, options->target, &why) != 0)
        return run_fail(EXIT_USAGE, why.text);
    if (options->list_strategies || options->no_judge || !split_asks_clock(run))
        return 0;
    /* The target first: if nothing is started, it fails at once; a database would be waited for. */
    exit_code = run->split != NULL ? 0 : prepare_check(run);
    if (exit_code == 0 &&
        auditor_open(&run->auditor, run->loop, options->inventory_db,
                     is_without_orders(options) ? NULL : options->orders_db, &why) != 0)
        exit_code = run_fail(EXIT_UNREACHABLE, why.text);
    if (exit_code == 0 && options->product[0] != '\0' && options->command == COMMAND_FIRE)
        exit_code = prepare_attack(run);
    return exit_code;
}

static void conduct(void *arg) {
    struct run *run = arg;

    run->exit_code = run_open_all(run);
    if (run->exit_code == 0 && run->options->list_strategies)
        run->exit_code = prepare_list(run);
    else if (run->exit_code == 0 && run->options->command == COMMAND_CREATE)
        run->exit_code = prepare_create(run);
    else if (run->exit_code == 0 && run->options->command == COMMAND_PLAN)
        run->exit_code = split_plan(run);
    else if (run->exit_code == 0 && run->options->command == COMMAND_SEND)
        run->exit_code = split_send(run);
    else if (run->exit_code == 0)
        run->exit_code = fire(run);
    assert(run->sender == NULL); /* it points to a round's records */
    if (run->shop != NULL)       /* a flow may be open */
        shop_run_leave(run);
    auditor_close(&run->auditor);
    target_close(&run->target);
    progress_close(&run->progress);
    uv_close((uv_handle_t *)&run->watch, NULL);
    interrupts_close(&run->interrupts);
}

static void loadgen_on_signal(void *data, int number) {
    struct run *run = data;
    const char *told =
        run->options->command == COMMAND_SEND
            ? "loadgen: interrupted: writing the part that was sent\n"
        : run->has_begun
            ? "loadgen: interrupted: judging the part that ran; interrupt again to stop at once\n"
            : "loadgen: " SHOP_TIDYING "\n";

    (void)number;
    /* Before the first request there is nothing to report, and waits of up to 20 s may follow. */
    if (run->is_interrupted || (!run->has_begun && run->shop == NULL)) {
        progress_stop(&run->progress);
        if (run->crew != NULL)
            crew_remove_folder(run->crew);
        folder_close(&run->folder);
        _exit(ci_files_close(run->ci_files, EXIT_INTERRUPTED));
    }
    run->is_interrupted = true;
    run->auditor.query_ms = RUN_GRACE_MS;
    if (run->options->command != COMMAND_SEND || split_asks_clock(run))
        progress_say(&run->progress, told);
    progress_phase(&run->progress, PROGRESS_WAITING);
    fire_stop(run);
}

static enum progress_mode progress_mode_of(const struct options *options) {
    if (options->no_progress)
        return PROGRESS_QUIET;
    if (options->json_progress)
        return PROGRESS_JSON;
    return options->no_tui ? PROGRESS_PLAIN : PROGRESS_VIEW;
}

static void run_free(struct run *run) {
    for (size_t i = 0; i < run->round_count; i++)
        round_free(&run->rounds[i]);
    free(run->rounds);
    plan_free(&run->plan);
    shop_run_free(run);
    split_free(run);
}

static int run_against_target(uv_loop_t *loop, struct options *options, FILE *to,
                              struct ci_files *ci_files) {
    struct run run = {.loop = loop,
                      .options = options,
                      .to = to,
                      .ci_files = ci_files,
                      .exit_code = EXIT_INTERNAL};
    int exit_code = 0;

    snprintf(run.attacked.id, sizeof run.attacked.id, "%s",
             options->command == COMMAND_FIRE ? options->product : "");
    if (options->command == COMMAND_FIRE && options->shop[0] != '\0')
        exit_code = shop_run_open(&run);
    else if (options->command == COMMAND_SEND || options->command == COMMAND_MERGE)
        exit_code = split_open(&run);
    if (exit_code == 0)
        exit_code = fire_open(&run);
    if (exit_code != 0) {
        run_free(&run);
        return exit_code;
    }
    progress_init(&run.progress, loop, progress_mode_of(options));
    (void)uv_timer_init(loop, &run.watch);
    run.watch.data = &run;
    interrupts_watch(&run.interrupts, loop, loadgen_on_signal, &run);
    if (fiber_start(conduct, &run) != 0)
        return run_fail(EXIT_INTERNAL, "out of memory");
    (void)uv_run(loop, UV_RUN_DEFAULT);
    run_free(&run);
    return run.exit_code;
}

static int obey(uv_loop_t *loop, struct options *options, FILE *to, struct ci_files *ci_files) {
    switch (options->command) {
    case COMMAND_CHECK:
    case COMMAND_DIFF:
    case COMMAND_REPORT:
    case COMMAND_EXPORT:
        return past(options, to, ci_files);
    case COMMAND_SERVE:
        return options->class ? class_serve(loop, options, to) : serve(loop, options, to, NULL);
    case COMMAND_CLAIMS:
        return claims_show(loop, options, to);
    case COMMAND_SHOP:
        return shop_command(loop, options, to);
    case COMMAND_FIRE:
    case COMMAND_CREATE:
    case COMMAND_PLAN:
    case COMMAND_SEND:
    case COMMAND_MERGE:
        break;
    }
    return run_against_target(loop, options, to, ci_files);
}

/* ---- the program */

static FILE *open_output(const char *path) {
    FILE *to = path[0] != '\0' ? fopen(path, "w") : stdout;

    if (to == NULL)
        complain("loadgen", "--output %s: %s", path, strerror(errno));
    return to;
}

static int run_to(struct options *options, FILE *to, struct ci_files *ci_files) {
    uv_loop_t loop;
    int exit_code = loop_init(&loop);

    if (exit_code != 0) {
        complain("loadgen", "cannot make an event loop: %s", uv_strerror(exit_code));
        return EXIT_INTERNAL;
    }
    exit_code = obey(&loop, options, to, ci_files);
    fiber_cleanup();
    (void)uv_loop_close(&loop);
    return exit_code;
}

static int run_with_output(struct options *options, struct ci_files *ci_files) {
    FILE *to = open_output(options->output);
    int exit_code;

    if (to == NULL)
        return EXIT_USAGE;
    exit_code = run_to(options, to, ci_files);
    if (to != stdout && fclose(to) != 0 && exit_code != EXIT_INTERNAL) {
        complain("loadgen", "--output %s: %s", options->output, file_error(errno));
        exit_code = EXIT_INTERNAL;
    }
    return exit_code;
}

static int run_with_files(struct options *options) {
    struct ci_files ci_files;
    struct why why;

    if (ci_files_open(&ci_files, options, &why) != 0)
        return run_fail(EXIT_USAGE, why.text);
    return ci_files_close(&ci_files, run_with_output(options, &ci_files));
}

int main(int argc, char **argv) {
    struct options *options = NULL;
    int exit_code = EXIT_USAGE;

    inherited_mend();
    pg_variables_forget();
    core_file_forbid(); /* it would hold the passwords of two databases */
    log_init("loadgen", LOG_ERROR);
    switch (options_read(&options, argc, argv)) {
    case OPTIONS_HELP:
        exit_code = 0;
        break;
    case OPTIONS_BAD:
        break;
    case OPTIONS_OK:
        exit_code = run_with_files(options);
    }
    options_free();
    return exit_code;
}

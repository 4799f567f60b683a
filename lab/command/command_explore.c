/* lab explore: runs every schedule of a strategy within a bound. */
#include "command.h"

#include "choices.h"
#include "clock.h"
#include "complain.h"
#include "fiber.h"
#include "game.h"
#include "settings.h"
#include "shell_word.h"
#include "spec.h"
#include "stranger.h"
#include "tell.h"
#include "user_command.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int64_t orders, others, instances, stock, version, fence, stall_ms, preemptions, max_steps,
        masters;
    char *faults, *replay, *page, *options;
    bool is_naive, serves_all, knows_all, is_json, is_stepped, is_game, has_choices;
} set;

static const struct setting table[] = {
    {"orders", 0, SETTING_INT, &set.orders, "3", "number of orders; each may come at any time",
     "1..7"},
    {"others", 0, SETTING_INT, &set.others, "0",
     "customers at another shop: each buys by one statement, just before a write", "0..16"},
    {"instances", 0, SETTING_INT, &set.instances, "2",
     "number of instances of inventory-svc; orders go to them in turn", "1..4"},
    {"stock", 0, SETTING_INT, &set.stock, "2", "units of stock", "0..30000"},
    {"first-version", 0, SETTING_INT, &set.version, "0", "version of each row at the beginning",
     "0..1073741824"},
    {"first-fence", 0, SETTING_INT, &set.fence, "0",
     "fence of each row at the beginning; tokens of locks are above it", "0..1073741824"},
    {"stall-ms", 0, SETTING_INT, &set.stall_ms, "0",
     "so much longer takes the first piece of the first order's work", "0..60000"},
    {"preemptions", 0, SETTING_INT, &set.preemptions, "3",
     "how often a schedule may switch away from an order that could go on", "0..20"},
    {"faults", 0, SETTING_TEXT, &set.faults, "none",
     "none; survives (the faults that the strategy's table names); or a list of "
     "pause,crash,lost-reply,expiry,failover; each strikes at most once",
     NULL},
    {"options", 0, SETTING_TEXT, &set.options, "", "options of the spec, such as work=2ms,shards=2",
     NULL},
    {"replay", 0, SETTING_TEXT, &set.replay, "", "run only the schedule with this id", NULL},
    {"step", 0, SETTING_FLAG, &set.is_stepped, NULL,
     "show the schedule step by step: Enter goes on, b goes back, q ends", NULL},
    {"break", 0, SETTING_FLAG, &set.is_game, NULL,
     "be the scheduler: choose each move, by its number, until the strategy breaks", NULL},
    {"json", 0, SETTING_FLAG, &set.is_json, NULL, "print one JSON object", NULL},
    {"choices", 0, SETTING_FLAG, &set.has_choices, NULL,
     "add states and moves to --json and --page, so that a viewer can choose the moves", NULL},
    {"page", 0, SETTING_TEXT, &set.page, "", "write the schedule as an HTML page to this file",
     NULL},
    {"masters", 0, SETTING_INT, &set.masters, "0",
     "Redis servers with the stock of prewarm: 1, or 2 for a Redis Cluster with a replica each; 0: 2 "
     "if replicas= asks for them, else 1",
     "0..2"},
    {"serves-all", 0, SETTING_FLAG, &set.serves_all, NULL,
     "also fail if a customer is turned away that could have waited", NULL},
    {"knows-all", 0, SETTING_FLAG, &set.knows_all, NULL,
     "also fail if a customer is told UNKNOWN: the store answers the next question", NULL},
    {"max-steps", 0, SETTING_INT, &set.max_steps, "0",
     "fail if one order alone makes more steps than this; 0: no limit", "0..400"},
    {"no-table", 0, SETTING_FLAG, &set.is_naive, NULL,
     "do not skip known states, to compare: run every schedule", NULL},
    {.name = NULL}};

static const struct settings_program program = {
    .about = "lab explore: run every schedule of a strategy within a bound\n"
             "\nExits with 0 if every schedule is right, with 1 if one is wrong, and with 2\n"
             "if it could not run them all.",
    .prefix = "LAB",
    .name = "lab explore",
    .rest = "SPEC"};
const struct reference_command reference_explore = {"explore", &program, table};

__attribute__((format(printf, 1, 2))) static int command_explore_refuse(const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list("lab explore", format, args);
    va_end(args);
    return EXIT_USAGE;
}

static volatile bool is_interrupted;

static void command_explore_on_interrupt(int number) {
    (void)number;
    is_interrupted = true;
}

/* ---- the strategy: a spec, or a student's file */

static int command_explore_fail(const char *message, int code) {
    fprintf(stderr, "lab explore: %s\n", message);
    return code;
}

static int explore_read_spec(const char *name, struct strategy_spec *spec) {
    const size_t length = strlen(name);
    const bool is_file = length > 2 && strcmp(name + length - 2, ".c") == 0;
    const struct strategy *strategy = NULL;
    const int code = is_file ? stranger_load("lab explore", name, &is_interrupted, &strategy) : 0;
    struct why why;
    char text[512];

    if (code != 0)
        return code;
    (void)snprintf(text, sizeof text, "%s%s%s", is_file ? "exercise" : name,
                   set.options[0] != '\0' ? "," : "", set.options);
    if (is_file ? spec_parse_of(strategy, text, spec, &why) != 0
                : spec_parse(text, spec, &why) != 0)
        return command_explore_fail(why.text, EXIT_USAGE);
    return 0;
}

static int command_explore_read_faults(const struct strategy *strategy, unsigned *faults) {
    char names[MODEL_FAULTS_TEXT];

    if (strcmp(set.faults, "survives") == 0) {
        *faults = strategy->survives;
        return 0;
    }
    if (model_faults_read(set.faults, faults) == 0)
        return 0;
    return command_explore_refuse(
        "--faults: \"%.60s\" has an unknown fault; known are none, survives, %s", set.faults,
        model_faults_write(SURVIVES_ALL, ", ", names));
}

static int set_up(const struct strategy_spec *spec, struct exploration *it) {
    it->setup = (struct model_setup){.strategy = spec->strategy,
                                     .options = spec->options,
                                     .orders = (int)set.orders,
                                     .others = (int)set.others,
                                     .version = (int)set.version,
                                     .fence = (int)set.fence,
                                     .stall_ms = (int)set.stall_ms,
                                     .instances = (int)set.instances,
                                     .stock = (int)set.stock,
                                     .masters = (int)set.masters,
                                     .serves_all = set.serves_all,
                                     .knows_all = set.knows_all};
    it->preemptions = (int)set.preemptions;
    it->is_naive = set.is_naive;
    if (spec->options.shards > MODEL_SHARDS)
        return command_explore_refuse("the model has at most %d shards, but \"shards\" is %d",
                                      MODEL_SHARDS, spec->options.shards);
    if (spec->fail[0] != '\0')
        return command_explore_refuse(
            "\"fail=%s\" is for live runs; an exploration tries every order of steps, and "
            "--faults adds failures",
            spec->fail);
    return command_explore_read_faults(spec->strategy, &it->setup.faults);
}

/* ---- during the exploration */

static double now_s(void) {
    return (double)clock_now_ns() / 1e9;
}

static struct {
    struct view *view;
    double began_s, shown_s;
} work;

static bool command_explore_is_stopped(void *data, const struct exploration *so_far) {
    const double s = now_s();
    char schedules[TELL_NUMBER], rate[TELL_NUMBER];

    (void)data;
    if (s - work.began_s > 1 && s - work.shown_s > 0.25 && isatty(STDERR_FILENO)) {
        tell_number(so_far->schedules, schedules);
        tell_number((uint64_t)((double)so_far->schedules / (s - work.began_s)), rate);
        fprintf(stderr, "\r%s schedules so far, %s/s; Ctrl-C ends it\033[K", schedules, rate);
        work.shown_s = s;
    }
    return is_interrupted || !stranger_is_well();
}

static int explore_all(struct exploration *it, double *seconds) {
    int err;

    assert(work.view != NULL && it->setup.strategy != NULL); /* by set_up() */
    it->judge = view_judge;
    it->data = work.view;
    it->is_stopped = command_explore_is_stopped;
    work.began_s = now_s();
    err = view_explore(work.view, it);
    *seconds = now_s() - work.began_s;
    if (work.shown_s > 0)
        fputs("\r\033[K", stderr);
    return err;
}

/* ---- the result */

static int command_explore_write_page(const struct tell *tell) {
    FILE *file = fopen(set.page, "w");
    int err = file != NULL ? tell_page(tell, file) : -1;

    if (file != NULL && fclose(file) != 0)
        err = -1;
    if (err == 0)
        return 0;
    complain("lab explore", "--page: cannot write %s: %s", set.page, strerror(errno));
    return EXIT_INTERNAL;
}

static int command_explore_print(const struct tell *tell) {
    if (set.is_json)
        return tell_json(tell, stdout) == 0 ? 0 : EXIT_INTERNAL;
    tell_text(tell, stdout);
    if (set.is_stepped && tell->count > 0) {
        putchar('\n');
        tell_steps(tell, stdin, stdout);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : EXIT_INTERNAL;
}

static int check_steps(const struct exploration *it) {
    const int steps = set.max_steps > 0 ? explore_steps_alone(&it->setup) : 0;

    if (steps <= set.max_steps)
        return 0;
    fprintf(stderr, "lab explore: one order alone makes %d steps, but --max-steps is %" PRId64 "\n",
            steps, set.max_steps);
    return EXIT_VIOLATED;
}

static int command_explore_code_of(const struct tell *tell) {
    const struct exploration *it = tell->explored;

    if (it->end == EXPLORE_STOPPED)
        return EXIT_INTERRUPTED;
    if (tell->anomalies != 0 || it->violated > 0)
        return EXIT_VIOLATED;
    return it->end == EXPLORE_COMPLETE ? check_steps(it) : EXIT_INCOMPLETE;
}

static int command_explore_make_again(struct tell *tell) {
    static struct model_world world;
    size_t at;

    assert(tell->explored->shortest.count > 0);
    switch (tell_schedule(tell, &world, work.view, &at)) {
    case REPLAY_ENDED:
    case REPLAY_ENDLESS:
        return 0;
    case REPLAY_IMPOSSIBLE:
        return command_explore_refuse(
            "--replay: move %zu of \"%.100s\" is not possible; give the strategy and the "
            "options with which that id was made",
            at + 1, tell->replay);
    case REPLAY_NO_MEMORY:
        break;
    }
    return command_explore_fail("out of memory", EXIT_INTERNAL);
}

static bool command_explore_is_over(void *data, const struct exploration *so_far) {
    (void)data, (void)so_far;
    return is_interrupted || !stranger_is_well();
}

static int command_explore_play(struct tell *tell) {
    static struct model_world world;
    enum game_end end;

    tell->explored->is_stopped = command_explore_is_over;
    end = game_play(tell, &world, work.view, stdin, stdout);
    if (fflush(stdout) != 0 || ferror(stdout))
        return EXIT_INTERNAL;
    if (!stranger_is_well())
        return stranger_end(tell->spec);
    if (is_interrupted)
        return EXIT_INTERRUPTED;
    return end == GAME_NO_MEMORY ? command_explore_fail("out of memory", EXIT_INTERNAL)
           : end == GAME_WON     ? EXIT_VIOLATED
                                 : 0;
}

/* Before the steps of the shortest schedule, because it changes the steps. */
static int command_explore_add_choices(struct tell *tell) {
    static struct model_world world;

    tell->choices = choices_json(tell, &world, work.view);
    tell->count = 0;
    return tell->choices != NULL ? 0 : command_explore_fail("out of memory", EXIT_INTERNAL);
}

static int command_explore_run(struct tell *tell) {
    struct exploration *it = tell->explored;
    int code = 0, said;

    if (tell->replay[0] != '\0') {
        if (schedule_read(&it->shortest, tell->replay) != 0)
            return command_explore_refuse("--replay: \"%.100s\" is not a schedule's id",
                                          tell->replay);
        it->schedules = it->runs = 1;
    } else if (explore_all(it, &tell->seconds) != 0 || view_has_failed(work.view)) {
        return command_explore_fail("out of memory", EXIT_INTERNAL);
    }
    if (set.is_game && it->end != EXPLORE_STOPPED)
        return command_explore_play(tell);
    if (set.has_choices && stranger_is_well())
        code = command_explore_add_choices(tell);
    if (code == 0 && it->shortest.count > 0 && stranger_is_well())
        code = command_explore_make_again(tell);
    if (!stranger_is_well())
        return stranger_end(tell->spec);
    if (code != 0)
        return code;
    code = command_explore_code_of(tell);
    said = set.page[0] != '\0' ? command_explore_write_page(tell) : 0;
    if (said == 0)
        said = command_explore_print(tell);
    return said != 0 ? said : code;
}

/* The command without --replay and without the flags for output. NULL without memory. */
static char *command_explore_write_command(int argc, char **argv) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return NULL;
    fprintf(to, "%s explore", user_command(USER_EXPLORER));
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--step") == 0 ||
            strcmp(argv[i], "--break") == 0 || strncmp(argv[i], "--page=", 7) == 0 ||
            strncmp(argv[i], "--replay=", 9) == 0)
            continue;
        if (strcmp(argv[i], "--page") == 0 || strcmp(argv[i], "--replay") == 0) {
            i++;
            continue;
        }
        fputc(' ', to);
        shell_word_print(argv[i], strlen(argv[i]), to);
    }
    return fclose(to) == 0 ? text : NULL;
}

static int explore_source(const char *name, const char *command) {
    static struct exploration it;
    struct strategy_spec spec;
    struct tell tell = {.spec = name,
                        .options = set.options,
                        .replay = set.replay,
                        .command = command,
                        .explored = &it};
    int code = explore_read_spec(name, &spec);

    if (code == 0 && (work.view = view_make()) == NULL)
        code = command_explore_fail("out of memory", EXIT_INTERNAL);
    if (code == 0)
        code = set_up(&spec, &it);
    if (code == 0)
        code = command_explore_run(&tell);
    view_free(work.view);
    json_decref(tell.choices);
    tell_free(&tell);
    stranger_forget();
    return code;
}

int command_explore(int argc, char **argv) {
    char *command = command_explore_write_command(argc, argv);
    enum settings_result result;
    int code;

    if (command == NULL)
        return command_explore_fail("out of memory", EXIT_INTERNAL);
    result = settings_read(table, &program, &argc, argv, NULL);
    code = result == SETTINGS_HELP ? 0 : EXIT_USAGE;
    (void)signal(SIGINT, command_explore_on_interrupt);
    (void)signal(SIGTERM, command_explore_on_interrupt);
    if (result == SETTINGS_OK && argc != 2)
        (void)command_explore_refuse("name one SPEC, such as redis-ttl or redis,work=2ms");
    else if (result == SETTINGS_OK)
        code = explore_source(argv[1], command);
    fiber_cleanup();
    settings_free(table);
    free(command);
    return code;
}

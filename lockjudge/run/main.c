/* lockjudge: judges a lock library in any language, fault by fault.
 *
 * A run is one fiber. Signals end it: the workers are killed with all their children first. */
#include "command.h"
#include "complain.h"
#include "course.h"
#include "duration.h"
#include "fiber.h"
#include "inherited.h"
#include "interrupts.h"
#include "json_text.h"
#include "kept.h"
#include "loop.h"
#include "number.h"
#include "pg_variables.h"
#include "planted.h"
#include "proxy.h"
#include "reference.h"
#include "replay.h"
#include "rows.h"
#include "servers.h"
#include "settings.h"
#include "trial.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum exit_code {
    EXIT_AS_EXPECTED = 0,
    EXIT_UNEXPECTED = 1,
    EXIT_INCONCLUSIVE = 2,
    EXIT_USAGE = 64,
    EXIT_INPUT = 66,
    EXIT_UNREACHABLE = 69,
    EXIT_INTERNAL = 70,
    EXIT_WRITE = 74,
    EXIT_INTERRUPTED = 130
};

static struct {
    char *url, *server, *faults, *expect, *junit, *page, *history, *replay;
    int64_t ttl_ns, slack_ns, start_ns, workers, trials, sample, seed;
    bool has_pairs, is_json;
} set;

static struct settings_given given;

static const struct setting table[] = {
    {"url", 'u', SETTING_TEXT, &set.url, NULL, "stands for {url} in the worker's arguments", NULL},
    {"server", 0, SETTING_TEXT, &set.server, NULL,
     "command that stops, kills and starts the lock's server (docs/lockjudge.md)", NULL},
    {"faults", 'f', SETTING_TEXT, &set.faults, NULL,
     "rows and pairs (stop-held+kill-wait) to judge, with commas; empty: all rows", NULL},
    {"pairs", 0, SETTING_FLAG, &set.has_pairs, NULL,
     "then judge two faults at a time: each pair of these rows", NULL},
    {"sample", 0, SETTING_INT, &set.sample, "0",
     "pairs of --pairs that the seed chooses; 0: all of them", "0..100000"},
    {"ttl", 't', SETTING_DURATION, &set.ttl_ns, "2s", "TTL that the workers ask for", "100ms..1h"},
    {"slack", 0, SETTING_DURATION, &set.slack_ns, "2s",
     "after the TTL: a lock that is taken for longer is STUCK", "10ms..1h"},
    {"workers", 'n', SETTING_INT, &set.workers, "3", "workers of a trial with a fault", "2..64"},
    {"trials", 0, SETTING_INT, &set.trials, "1", "trials of each row", "1..10000"},
    {"start", 0, SETTING_DURATION, &set.start_ns, "20s", "for how long a worker may start",
     "100ms..1h"},
    {"seed", 0, SETTING_INT, &set.seed, "1", "places the faults; the same again with the same seed",
     "0..1000000000000"},
    {"replay", 0, SETTING_TEXT, &set.replay, NULL, "the JSON of an earlier run: ask the same again",
     NULL},
    {"expect", 'e', SETTING_LIST, &set.expect, NULL,
     "ROW=VERDICT or ROW=VERDICT|VERDICT; ROW may be `all`", NULL},
    {"json", 0, SETTING_FLAG, &set.is_json, NULL, "print JSON", NULL},
    {"junit", 0, SETTING_TEXT, &set.junit, NULL, "also write JUnit's XML to this file", NULL},
    {"page", 0, SETTING_TEXT, &set.page, NULL, "also write a page with the timelines to this file",
     NULL},
    {"history", 0, SETTING_TEXT, &set.history, NULL,
     "also keep the history of each row in this folder", NULL},
    {.name = NULL}};

static const struct settings_program program = {
    .about =
        "lockjudge: show what a lock library keeps, fault by fault\n"
        "The worker is a program of yours that uses the library: it reads `acquire`,\n"
        "`check` and `release` on its standard input (docs/lockjudge.md).\n"
        "`lockjudge judge FILE` judges a history that --history kept.\n"
        "`lockjudge rows` lists the rows; in each breaks the worker, the network or the server.\n"
        "`lockjudge self-test` judges planted histories, right ones and wrong ones.\n"
        "Exit codes: 0 each row as expected, 1 a row is not, 2 a row was not judged,\n"
        "64 bad usage, 66 a history cannot be read, 69 the worker does not start, 70\n"
        "internal, 74 a file cannot be written, 130 interrupted. Without --expect a row\n"
        "must be safe, or safe with the fence; without a fence a write that is on its\n"
        "way may land.",
    .prefix = "LOCKJUDGE",
    .rest = "-- WORKER [ARGUMENT...]",
    .name = "lockjudge"};

static struct {
    struct course course;
    struct servers servers;
    struct report report;
    struct interrupts interrupts;
    struct why why;
    int code, signals;
    uv_loop_t loop;
} run;

/* ---- a run */

/* The first one lets the server's commands mend what the faults broke. A command may hang. */
static void run_on_signal(void *data, int number) {
    (void)data;
    (void)number;
    run.course.is_stopped = true;
    trial_kill();
    if (run.signals++ > 0)
        servers_kill(&run.servers);
}

static void run_judge(void *arg) {
    (void)arg;
    if (course_run(&run.course, &run.why) != 0)
        run.code = EXIT_UNREACHABLE;
    interrupts_close(&run.interrupts);
}

static int run_code(const struct report *report) {
    int code = EXIT_AS_EXPECTED;

    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].is_unexpected)
            return EXIT_UNEXPECTED;
        else if (report->rows[i].verdict == ORACLE_UNJUDGED)
            code = EXIT_INCONCLUSIVE;
    return code;
}

/* The files of the report. They are opened before the run, so that a mistake costs nothing. The old
 * text stays until there is a new report. */
static struct output {
    char **path;
    int (*write)(const struct report *report, FILE *to);
    FILE *file; /* NULL: not asked for */
} outputs[] = {{&set.junit, report_junit, NULL}, {&set.page, report_page, NULL}};

#define OUTPUTS (sizeof outputs / sizeof *outputs)

/* The report is there: one would overwrite the other. */
static bool is_stdout(FILE *file) {
    struct stat own, theirs;

    return fstat(STDOUT_FILENO, &own) == 0 && fstat(fileno(file), &theirs) == 0 &&
           own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

static int outputs_open(void) {
    if (set.history[0] != '\0' && kept_open(set.history, &run.why) != 0) {
        complain("lockjudge", "%s", run.why.text);
        return EXIT_WRITE;
    }
    for (size_t i = 0; i < OUTPUTS; i++) {
        const char *path = *outputs[i].path;

        if (path[0] != '\0' && (outputs[i].file = fopen(path, "ae")) == NULL) {
            complain("lockjudge", "cannot write %s: %s", path, strerror(errno));
            return EXIT_WRITE;
        }
        if (path[0] != '\0' && is_stdout(outputs[i].file)) {
            complain("lockjudge", "%s is standard output, where the report goes: name a file",
                     path);
            return EXIT_WRITE;
        }
    }
    return 0;
}

/* 0, or -1: one of them could not be written. */
static int outputs_write(void) {
    int code = 0;

    for (size_t i = 0; i < OUTPUTS; i++) {
        FILE *file = outputs[i].file;

        if (file == NULL)
            continue;
        (void)!ftruncate(fileno(file), 0); /* a device or a pipe has nothing to clear */
        if (outputs[i].write(&run.report, file) != 0)
            code = -1;
    }
    return code;
}

static int outputs_close(void) {
    int code = 0;

    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].file != NULL && fclose(outputs[i].file) != 0)
            code = EXIT_WRITE;
    return code;
}

static int run_tell(void) {
    int code = 0;

    if (run.signals > 0)
        return EXIT_INTERRUPTED;
    if (run.code != 0) {
        complain("lockjudge", "%s", run.why.text);
        return run.code;
    }
    if (set.is_json)
        code = json_text_print(report_json(&run.report), stdout);
    else
        code = report_text(&run.report, stdout);
    if (code != 0 || outputs_write() != 0) {
        complain("lockjudge", "cannot write the report");
        return EXIT_WRITE;
    }
    if (set.history[0] != '\0' && kept_write(&run.report, set.history, &run.why) != 0) {
        complain("lockjudge", "%s", run.why.text);
        return EXIT_WRITE;
    }
    return run_code(&run.report);
}

static int run_loop(void) {
    int code = loop_init(&run.loop);

    if (code != 0) {
        complain("lockjudge", "cannot make an event loop: %s", uv_strerror(code));
        return EXIT_INTERNAL;
    }
    interrupts_watch(&run.interrupts, &run.loop, run_on_signal, NULL);
    if (fiber_start(run_judge, NULL) != 0) {
        complain("lockjudge", "out of memory");
        return EXIT_INTERNAL;
    }
    (void)uv_run(&run.loop, UV_RUN_DEFAULT);
    code = uv_loop_close(&run.loop);
    assert(code == 0);
    fiber_cleanup();
    return code;
}

static int main_refuse(const char *text) {
    complain("lockjudge", "%s", text);
    return EXIT_USAGE;
}

/* Pairs are many: say how many, and how long they take. */
static int run_plan(char *const *command) {
    const bool has_proxies = command_has_url(command) && proxy_has_server(set.url);
    const struct rows_wish wish = {.names = set.faults,
                                   .has_pairs = set.has_pairs,
                                   .sample = set.sample,
                                   .needs = (has_proxies ? FAULT_NEEDS_PROXY : 0) |
                                            (set.server[0] != '\0' ? FAULT_NEEDS_SERVER : 0)};
    char text[DURATION_TEXT];
    size_t pairs;

    if (set.sample > 0 && !set.has_pairs)
        return why_set(&run.why, "--sample chooses from --pairs: give both");
    if (strcmp(set.junit, "-") == 0 || strcmp(set.page, "-") == 0 || strcmp(set.history, "-") == 0)
        return why_set(&run.why, "--junit and --page take a file, --history a folder: the report "
                                 "is on standard output");
    if (set.junit[0] != '\0' && strcmp(set.junit, set.page) == 0)
        return why_set(&run.why, "--junit and --page name the same file");
    if (rows_plan(&run.report, &wish, &run.why) != 0)
        return -1;
    pairs = rows_pairs(&run.report);
    if (set.has_pairs)
        complain("lockjudge", "%zu rows and %zu pairs, about %s", run.report.count - pairs, pairs,
                 duration_text(text, rows_ms(&run.report) * 1000000));
    return 0;
}

static int main_run(char *const *command) {
    int code;

    run.report = (struct report){.command = command,
                                 .workers = (unsigned)set.workers,
                                 .trials = (unsigned)set.trials,
                                 .ttl_ms = set.ttl_ns / 1000000,
                                 .slack_ms = set.slack_ns / 1000000,
                                 .seed = (uint64_t)set.seed};
    if (command_has_url(command) && set.url[0] == '\0')
        return main_refuse("the worker's arguments have {url}: give --url URL");
    if (run_plan(command) != 0 || course_check_expect(&run.report, set.expect, &run.why) != 0)
        return main_refuse(run.why.text);
    code = outputs_open();
    if (code != 0)
        return code;
    run.servers = (struct servers){.loop = &run.loop, .command = set.server};
    run.course =
        (struct course){.loop = &run.loop,
                        .report = &run.report,
                        .command = command,
                        .url = set.url,
                        .start_ms = set.start_ns / 1000000,
                        .trials = (unsigned)set.trials,
                        .expect = set.expect,
                        .servers = set.server[0] != '\0' ? &run.servers : NULL,
                        .progress = set.has_pairs || isatty(STDERR_FILENO) ? stderr : NULL};
    code = run_loop();
    if (code == 0)
        code = run_tell();
    if (outputs_close() != 0)
        code = EXIT_WRITE;
    return code;
}

/* ---- self-test, and a history from a file */

static int main_judge(const char *path) {
    const enum kept_code code = kept_judge(path, set.slack_ns / 1000000, stdout, &run.why);

    if (code == KEPT_BAD)
        complain("lockjudge", "%s", run.why.text);
    if (fflush(stdout) != 0)
        return EXIT_WRITE;
    switch (code) {
    case KEPT_BAD:
        return EXIT_INPUT;
    case KEPT_SAFE:
        return EXIT_AS_EXPECTED;
    case KEPT_UNSAFE:
        return EXIT_UNEXPECTED;
    case KEPT_NOTHING:
        break;
    }
    return EXIT_INCONCLUSIVE;
}

static int main_rows(void) {
    const int code = rows_plan(&run.report, &(struct rows_wish){.names = ""}, &run.why);

    for (size_t i = 0; i < run.report.count; i++) {
        const struct report_row *row = &run.report.rows[i];
        const struct fault *fault = row->cases[0].fault;
        const char *clause = fault_moment_clause(row->cases[0].moment);

        (void)printf("%-16s %-8s %s%s%s\n", row->name,
                     fault->needs & FAULT_NEEDS_SERVER  ? "server"
                     : fault->needs & FAULT_NEEDS_PROXY ? "network"
                                                        : "worker",
                     fault->about, clause[0] != '\0' ? ", " : "", clause);
    }
    if (code != 0)
        complain("lockjudge", "%s", run.why.text);
    return code != 0 ? EXIT_INTERNAL : fflush(stdout) != 0 ? EXIT_WRITE : EXIT_AS_EXPECTED;
}

static int main_self_test(void) {
    unsigned wrong = 0, count = 0;

    for (; planted_at(count) != NULL; count++) {
        struct oracle oracle;
        const int code = planted_judge(planted_at(count), &oracle);

        wrong += code != 0;
        (void)printf("%-6s %-20s %s\n", code == 0 ? "ok" : "WRONG",
                     oracle_verdict_text(planted_at(count)->verdict), planted_at(count)->name);
    }
    (void)printf(
        "%u planted histories, %u judged wrongly\n"
        "In a checkout, `make test-system T=lockkit_mutants` judges lockkit with planted faults.\n",
        count, wrong);
    if (fflush(stdout) != 0)
        return EXIT_WRITE;
    return wrong == 0 ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}

static int main_reference(int argc, char **argv) {
    const struct reference_command rows[] = {{"", &program, table}};
    const struct reference reference = {"lockjudge", 1, ".Xr lockctl 1\n", rows, 1};

    return reference_asked(&reference, argc, argv);
}

/* Refuse each flag but those of `few`; or, if `are_bad`, those of `few`. */
static int refuse_flags(const char *const *few, bool are_bad, const char *beside) {
    for (size_t i = 0; table[i].name != NULL; i++) {
        bool is_of_few = false;

        for (size_t j = 0; few[j] != NULL; j++)
            is_of_few = is_of_few || strcmp(few[j], table[i].name) == 0;
        if ((given.by_flag >> i & 1) != 0 && is_of_few == are_bad) {
            complain("lockjudge", "--%s has no effect on %s", table[i].name, beside);
            return EXIT_USAGE;
        }
    }
    return 0;
}

static int main_replay(void) {
    static const char *const replayed[] = {"faults",  "pairs",  "sample", "ttl", "slack",
                                           "workers", "trials", "seed",   NULL};
    struct replay replay;
    int code = refuse_flags(replayed, true, "--replay, which has its own");

    if (code != 0)
        return code;
    if (replay_read(set.replay, &replay, &run.why) != 0)
        return main_refuse(run.why.text);
    set.ttl_ns = replay.ttl_ms * 1000000;
    set.slack_ns = replay.slack_ms * 1000000;
    set.workers = replay.workers;
    set.trials = replay.trials;
    set.seed = replay.seed;
    free(set.faults);
    set.faults = replay.faults;
    set.has_pairs = false;
    set.sample = 0;
    replay.faults = NULL;
    code = main_run(replay.command);
    replay_free(&replay);
    return code;
}

/* The worker's command is behind `--`; its arguments are not ours. */
static char **split_command(int *argc, char **argv) {
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            argv[i] = NULL;
            *argc = i;
            return argv + i + 1;
        }
    return argv + *argc;
}

static int main_command(int argc, char **argv) {
    static const char *const of_judge[] = {"slack", NULL}, *const none[] = {NULL};
    const bool is_judge = strcmp(argv[1], "judge") == 0, is_rows = strcmp(argv[1], "rows") == 0;
    int code;

    if (!is_judge && !is_rows && strcmp(argv[1], "self-test") != 0)
        return main_refuse("the worker's command goes behind --");
    if (is_judge && argc != 3)
        return main_refuse("judge takes one FILE, which --history kept");
    if (!is_judge && argc != 2)
        return main_refuse(is_rows ? "rows takes no argument" : "self-test takes no argument");
    code = refuse_flags(is_judge ? of_judge : none, false, argv[1]);
    if (code != 0)
        return code;
    return is_judge ? main_judge(argv[2]) : is_rows ? main_rows() : main_self_test();
}

int main(int argc, char **argv) {
    char **command;
    int code = main_reference(argc, argv);

    if (code >= 0)
        return code;
    inherited_mend();
    pg_variables_forget();
    command = split_command(&argc, argv);
    switch (settings_read(table, &program, &argc, argv, &given)) {
    case SETTINGS_OK:
        break;
    case SETTINGS_HELP:
        return EXIT_AS_EXPECTED;
    case SETTINGS_ERROR:
        return EXIT_USAGE;
    }
    if (argc > 1)
        code = command[0] == NULL ? main_command(argc, argv)
                                  : main_refuse("the worker's command goes behind --");
    else if (set.replay[0] != '\0')
        code = command[0] == NULL ? main_replay() : main_refuse("--replay has its own worker");
    else if (command[0] == NULL)
        code = main_refuse("no worker: lockjudge [settings] -- WORKER [ARGUMENT...]");
    else
        code = main_run(command);
    rows_free(&run.report);
    settings_free(table);
    return code;
}

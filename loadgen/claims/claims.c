/* Shows claims: starts the stack, runs loadgen, and reads its summary. */
#include "claims.h"

#include "claim.h"
#include "clock.h"
#include "complain.h"
#include "duration.h"
#include "exit_code.h"
#include "interrupts.h"
#include "shell_word.h"
#include "summary_read.h"
#include "table.h"
#include "user_command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX   96
#define WORDS_TEXT  4096
#define PATH_SIZE   1024
#define TAIL        2000 /* bytes of the log to show */
#define INDENT      2
#define NOT_STARTED 127 /* the exit code that a shell gives, too */

struct lab {
    uv_loop_t *loop;
    const struct options *options;
    FILE *to;
    char scripts[PATH_SIZE], home[PATH_SIZE];
    int log;                         /* file with the programs' output */
    off_t said;                      /* where the last program's output begins */
    const struct claim_stack *stack; /* the running one, or NULL */
    uv_process_t child;              /* while is_running */
    bool is_running;
    int exit_code; /* of the last child; 128 + N if signal N ended it */
    bool is_interrupted, is_ending;
    struct interrupts interrupts;
};

/* ---- the evidence of a run, from its summary.json */

struct evidence {
    bool has_struck; /* each armed fault struck before the last unit was sold */
    bool has_chain;  /* a counterexample shows which order freed another's lock */
};

/* "VIOLATED OVERSELL 12, TWIN 80 (expected: VALID): sold ..." */
static void print_verdict(const json_t *strategy, FILE *to) {
    const json_t *expected = json_object_get(strategy, "as_expected"), *one;
    const json_t *anomalies = json_object_get(strategy, "anomalies");
    const json_t *reasons = json_object_get(strategy, "inconclusive_because");
    char *text = NULL;
    size_t size, i;
    FILE *line = open_memstream(&text, &size);

    if (line == NULL)
        return;
    fputs(summary_text(strategy, "verdict"), line);
    json_array_foreach (anomalies, i, one)
        fprintf(line, "%s %s %lld", i > 0 ? "," : "", summary_text(one, "name"),
                (long long)json_integer_value(json_object_get(one, "count")));
    if (json_is_false(expected))
        fprintf(line, " (expected: %s)", summary_text(strategy, "expected"));
    json_array_foreach (reasons, i, one)
        if (!json_is_true(expected))
            fprintf(line, "; %s", json_string_value(one));
    if (fclose(line) == 0)
        table_say(to, INDENT, "%s: %s", text, summary_text(strategy, "sentence"));
    free(text);
}

/* Prints the first counterexample with a chain of events of a lock, else the first of all. */
static void print_counterexample(const json_t *strategy, struct evidence *evidence, FILE *to) {
    const json_t *examples = json_object_get(strategy, "counterexamples"), *best = NULL, *line;
    bool has_chain = false;
    size_t i;

    for (i = json_array_size(examples); i-- > 0;) {
        const json_t *example = json_array_get(examples, i);
        const bool is_chain = json_is_true(json_object_get(example, "has_chain"));

        if (is_chain || !has_chain)
            best = example;
        has_chain = has_chain || is_chain;
        /* The order that freed another's lock is the third. */
        if (is_chain && json_array_size(json_object_get(example, "order_ids")) > 2)
            evidence->has_chain = true;
    }
    json_array_foreach (json_object_get(best, "lines"), i, line)
        table_say(to, INDENT + 2, "%s", json_string_value(line));
}

/* "after-read:delay=1s@1 struck at 0.017 s: inventory-1" */
static void print_firing(const json_t *firing, struct evidence *evidence, FILE *to) {
    const json_t *first = json_object_get(firing, "first");
    const char *armed = summary_text(firing, "armed"), *who = summary_text(first, "who");
    const double at_s = json_number_value(json_object_get(first, "at_ms")) / 1e3;
    const json_int_t count = json_integer_value(json_object_get(firing, "in_time"));

    if (count == 0)
        table_say(to, INDENT, "%s did not strike before the end of the sale", armed);
    else if (count == 1)
        table_say(to, INDENT, "%s struck at %.3f s: %s", armed, at_s, who);
    else
        table_say(to, INDENT, "%s struck %lld times, first at %.3f s: %s", armed, (long long)count,
                  at_s, who);
    evidence->has_struck = evidence->has_struck && count > 0;
}

/* Prints for each strategy the verdict, whether it is the expected one, the best counterexample and
 * the faults; then the thresholds. */
static struct evidence print_evidence(const json_t *summary, FILE *to) {
    struct evidence evidence = {.has_struck = true};
    const json_t *strategy, *one;
    size_t i, j;

    json_array_foreach (json_object_get(summary, "strategies"), i, strategy) {
        print_verdict(strategy, to);
        print_counterexample(strategy, &evidence, to);
        json_array_foreach (json_object_get(strategy, "firings"), j, one)
            print_firing(one, &evidence, to);
    }
    json_array_foreach (json_object_get(summary, "thresholds"), i, one)
        fprintf(to, "%*s%s %s: %.6g\n", INDENT, "", summary_text(one, "text"),
                json_is_true(json_object_get(one, "holds")) ? "holds" : "MISSED",
                json_number_value(json_object_get(one, "measured")));
    return evidence;
}

/* ---- programs */

static void claims_on_exit(uv_process_t *process, int64_t status, int signal) {
    struct lab *lab = process->data;

    assert(lab->is_running);
    lab->is_running = false;
    lab->exit_code = signal != 0 ? 128 + signal : (int)status;
    uv_close((uv_handle_t *)process, NULL);
}

/* Runs a program with both its outputs to the log, and returns its exit code. It has a session of
 * its own, so that the terminal sends it no Ctrl-C. */
static int run_program(struct lab *lab, char **words) {
    uv_stdio_container_t streams[] = {{.flags = UV_IGNORE},
                                      {.flags = UV_INHERIT_FD, .data.fd = lab->log},
                                      {.flags = UV_INHERIT_FD, .data.fd = lab->log}};
    const uv_process_options_t options = {.exit_cb = claims_on_exit,
                                          .file = words[0],
                                          .args = words,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = streams};

    assert(!lab->is_running);
    lab->exit_code = NOT_STARTED;
    lab->child.data = lab;
    lab->is_running = uv_spawn(lab->loop, &lab->child, &options) == 0;
    if (!lab->is_running)
        uv_close((uv_handle_t *)&lab->child, NULL);
    (void)uv_run(lab->loop, UV_RUN_DEFAULT);
    assert(!lab->is_running); /* its handle keeps the loop alive */
    return lab->exit_code;
}

/* Runs SCRIPTS/NAME. `format` makes its arguments, separated by spaces; none contains a space. */
__attribute__((format(printf, 3, 4))) static int run_script(struct lab *lab, const char *name,
                                                            const char *format, ...) {
    char program[PATH_SIZE + 16], text[WORDS_TEXT], *rest = text, *word;
    char *words[WORDS_MAX] = {program};
    size_t count = 1;
    va_list arguments;

    assert(lab->log >= 0 && lab->scripts[0] != '\0'); /* open_home() came first */
    snprintf(program, sizeof program, "%s/%s", lab->scripts, name);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    while ((word = strsep(&rest, " ")) != NULL)
        if (word[0] != '\0' && count + 1 < WORDS_MAX)
            words[count++] = word;
    lab->said = lseek(lab->log, 0, SEEK_END);
    return run_program(lab, words);
}

/* Prints the end of the last program's output. */
static void print_log(const struct lab *lab) {
    char text[TAIL];
    const off_t end = lseek(lab->log, 0, SEEK_END);
    const off_t from = end - lab->said > (off_t)sizeof text ? end - (off_t)sizeof text : lab->said;
    ssize_t length = pread(lab->log, text, sizeof text, from);

    if (length > 0)
        fwrite(text, 1, (size_t)length, stderr);
}

/* ---- the stack */

static void set_variables(const struct claim_stack *stack) {
    static const char *const all[] = {"INVENTORY_SVC_FLAGS", "ORDER_SVC_FLAGS", "REDIS_DURABILITY",
                                      "LOCK_DIRS"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        (void)unsetenv(all[i]);
    for (size_t i = 0; i < CLAIM_VARIABLES && stack->variables[i] != NULL; i++)
        (void)putenv((char *)(uintptr_t)stack->variables[i]); /* the environment only reads them */
}

/* Servers that a fault stops are started again by the run itself. */
static int start_stack(struct lab *lab, const struct claim_stack *stack) {
    set_variables(stack);
    lab->stack = stack;
    if (run_script(lab, "stack", "up %s", stack->arguments) == 0)
        return 0;
    if (!lab->is_interrupted) {
        print_log(lab);
        complain("loadgen", "claims: %s/stack up %s failed", lab->scripts, stack->arguments);
    }
    return EXIT_UNREACHABLE;
}

static void stop_stack(struct lab *lab) {
    lab->is_ending = true; /* a second Ctrl-C must not leave half of the stack */
    if (lab->stack != NULL && run_script(lab, "stack", "down") != 0)
        print_log(lab);
}

/* ---- claims */

static json_t *run_step(struct lab *lab, const struct claim *claim, const struct claim_step *step,
                        int *exit_code) {
    char path[PATH_SIZE + 16], keep[64] = "--no-results";
    struct why why;
    json_t *summary;

    assert(step >= claim->steps && step < claim->steps + CLAIM_STEPS);
    assert(lab->stack == step->stack);
    snprintf(path, sizeof path, "%s/summary.json", lab->home);
    (void)unlink(path);
    if (lab->options->keep)
        snprintf(keep, sizeof keep, "--name %s-%td", claim->id, step - claim->steps + 1);
    *exit_code =
        run_script(lab, "loadgen", "%s --no-progress --output-format json %s", step->run, keep);
    summary = summary_read(lab->home, &why);
    if (summary == NULL && !lab->is_interrupted)
        print_log(lab);
    return summary;
}

static int show_step(struct lab *lab, const struct claim *claim, const struct claim_step *step) {
    int exit_code = lab->stack == step->stack ? 0 : start_stack(lab, step->stack);
    const char *missing = NULL;
    struct evidence evidence;
    json_t *summary;

    if (exit_code != 0)
        return exit_code;
    fprintf(lab->to, "%s\n", step->label);
    claim_print_commands(step, INDENT, table_columns(lab->to), lab->to);
    (void)fflush(lab->to);
    summary = run_step(lab, claim, step, &exit_code);
    if (summary == NULL)
        return exit_code != 0 ? exit_code : EXIT_INTERNAL;
    evidence = print_evidence(summary, lab->to);
    json_decref(summary);
    if (!evidence.has_struck)
        missing = "a fault did not strike before the last unit was sold";
    else if (step->has_chain && !evidence.has_chain)
        missing = "no counterexample shows which order freed another's lock";
    if (exit_code != 0 || missing == NULL) /* 0: verdicts and thresholds are right */
        return exit_code;
    fprintf(lab->to, "  %s\n", missing);
    return EXIT_UNEXPECTED;
}

static int show_claim(struct lab *lab, const struct claim *claim) {
    const int64_t begun_ns = clock_now_ns();
    const struct claim_step *step = claim->steps;
    char time[DURATION_TEXT];
    int exit_code = 0;

    fprintf(lab->to, "%s: %s\n", claim->id, claim->sentence);
    for (; step->label != NULL && exit_code == 0 && !lab->is_interrupted; step++)
        exit_code = show_step(lab, claim, step);
    if (lab->is_interrupted)
        return EXIT_INTERRUPTED;
    assert(step > claim->steps); /* each claim has a step */
    duration_text(time, clock_now_ns() - begun_ns);
    if (exit_code == 0)
        fprintf(lab->to, "%s: SHOWN in %s\n\n", claim->id, time);
    else
        fprintf(lab->to, "%s: NOT SHOWN: its %s ended with %d\n\n", claim->id, step[-1].label,
                exit_code);
    (void)fflush(lab->to);
    return exit_code == EXIT_AS_EXPECTED || exit_code == EXIT_UNREACHABLE ? exit_code
                                                                          : EXIT_UNEXPECTED;
}

static bool is_asked(const struct options *options, const struct claim *claim) {
    for (int i = 0; i < options->argument_count; i++)
        if (strcmp(options->arguments[i], claim->id) == 0 ||
            strcmp(options->arguments[i], "all") == 0)
            return true;
    return false;
}

static int show_asked(struct lab *lab) {
    size_t asked = 0, shown = 0;
    int exit_code = 0;

    for (size_t i = 0; i < claim_count && exit_code != EXIT_UNREACHABLE && !lab->is_interrupted;
         i++) {
        int code;

        if (!is_asked(lab->options, &claims[i]))
            continue;
        code = show_claim(lab, &claims[i]);
        exit_code = code != 0 ? code : exit_code;
        asked++;
        shown += code == 0;
    }
    if (!lab->is_interrupted)
        fprintf(lab->to, "%zu of %zu claims shown\n", shown, asked);
    return exit_code;
}

/* ---- the lab */

static void claims_on_signal(void *data, int number) {
    struct lab *lab = data;

    (void)number;
    lab->is_interrupted = true;
    if (lab->is_running && !lab->is_ending)
        (void)uv_process_kill(&lab->child, SIGINT);
}

static int claims_fail(const char *what) {
    complain("loadgen", "claims: %s: %s", what, strerror(errno));
    return EXIT_INTERNAL;
}

/* Finds the folder of the scripts, and --run-dir or else .run/claims beside it. */
static int find_scripts(struct lab *lab) {
    char *stack;

    if (lab->options->stack[0] == '\0') {
        fprintf(stderr,
                "loadgen: claims need the script that starts servers: call %s, or give the "
                "script's path with --stack\n",
                user_command(USER_LOADGEN));
        return EXIT_USAGE;
    }
    stack = realpath(lab->options->stack, NULL);
    if (stack == NULL)
        return claims_fail(lab->options->stack);
    *strrchr(stack, '/') = '\0';
    snprintf(lab->scripts, sizeof lab->scripts, "%s", stack[0] != '\0' ? stack : "/");
    if (stack[0] != '\0')
        *strrchr(stack, '/') = '\0';
    snprintf(lab->home, sizeof lab->home, "%s", lab->options->run_dir);
    if (lab->home[0] == '\0') {
        snprintf(lab->home, sizeof lab->home, "%s/.run", stack);
        if (mkdir(lab->home, 0755) != 0 && errno != EEXIST)
            return claims_fail(lab->home);
        snprintf(lab->home, sizeof lab->home, "%s/.run/claims", stack);
    }
    free(stack);
    return mkdir(lab->home, 0755) == 0 || errno == EEXIST ? 0 : claims_fail(lab->home);
}

/* Only one `loadgen claims` at a time may use the folder. */
static int open_home(struct lab *lab) {
    char path[PATH_SIZE + 16], base[16];
    int exit_code = find_scripts(lab);

    if (exit_code != 0)
        return exit_code;
    snprintf(path, sizeof path, "%s/claims.log", lab->home);
    lab->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (lab->log < 0 || flock(lab->log, LOCK_EX | LOCK_NB) != 0)
        return claims_fail(path);
    (void)!ftruncate(lab->log, 0);
    /* The programs get these by the environment: a path may contain a space. */
    snprintf(path, sizeof path, "%s/summary.json", lab->home);
    snprintf(base, sizeof base, "%lld", (long long)lab->options->port_base);
    if (setenv("RUN_DIR", lab->home, 1) != 0 || setenv("PORT_BASE", base, 1) != 0 ||
        setenv("LOADGEN_OUTPUT", path, 1) != 0 ||
        setenv("LOADGEN_RESULTS", lab->options->results, 1) != 0)
        return claims_fail("the environment");
    return 0;
}

static int claims_show_all(struct lab *lab) {
    int exit_code = open_home(lab);

    if (exit_code != 0)
        return exit_code;
    interrupts_watch(&lab->interrupts, lab->loop, claims_on_signal, lab);
    exit_code = show_asked(lab);
    if (lab->options->keep) {
        fputs("the stack still runs: export RUN_DIR=", lab->to);
        shell_word_print(lab->home, strlen(lab->home), lab->to);
        fprintf(lab->to, "; %s ...; %s down\n", user_command(USER_LOADGEN),
                user_command(USER_STACK));
    } else {
        stop_stack(lab);
    }
    interrupts_close(&lab->interrupts);
    (void)uv_run(lab->loop, UV_RUN_DEFAULT);
    return lab->is_interrupted ? EXIT_INTERRUPTED : exit_code;
}

/* ---- the command */

static int claims_check(const struct options *options) {
    if (options->argument_count > 0 && strcmp(options->output_format, "text") != 0) {
        fprintf(stderr,
                "loadgen: claims: --output-format is only for the list; name no claim with it\n");
        return EXIT_USAGE;
    }
    for (int i = 0; i < options->argument_count; i++)
        if (strcmp(options->arguments[i], "all") != 0 &&
            claim_find(options->arguments[i]) == NULL) {
            complain("loadgen", "claims: there is no claim \"%.40s\"; see loadgen claims",
                     options->arguments[i]);
            return EXIT_USAGE;
        }
    return 0;
}

int claims_show(uv_loop_t *loop, const struct options *options, FILE *to) {
    struct lab lab = {.loop = loop, .options = options, .to = to, .log = -1};
    int exit_code = claims_check(options);

    if (exit_code != 0)
        return exit_code;
    if (options->argument_count == 0)
        return claim_list(options->output_format, to) == 0 ? EXIT_AS_EXPECTED : EXIT_INTERNAL;
    exit_code = claims_show_all(&lab);
    if (lab.log >= 0)
        (void)close(lab.log);
    return exit_code;
}

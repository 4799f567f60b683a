/* Sends a part of a plan. */
#include "clock.h"
#include "file_error.h"
#include "split_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPENING_US 2000000 /* `send` opens its connections so long before --at */
#define LOOK_MS    10      /* between two looks at the clock before that */
#define SAMPLE_MS  100     /* between two samples of the database's clock */
#define SAMPLES    20      /* the fastest of these counts, before and after the round */
#define PLAN_MOST  ((size_t)4 << 20)

/* ---- before the fiber */

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

/* Copies stdin up to an empty line. Returns whether there was one. */
static bool copy_plan(FILE *to) {
    size_t length = 0;
    int byte, before = 0;

    while ((byte = getchar()) != EOF && length++ < PLAN_MOST) {
        if (byte == '\n' && before == '\n')
            return true;
        (void)putc(byte, to);
        before = byte;
    }
    return false;
}

/* "database CONNINFO\n", or an empty line. Returns whether it was one of them. */
static bool read_database(struct split *split) {
    static const char word[] = "database ";
    char *line = split->database;
    char *end = fgets(line, sizeof split->database, stdin) != NULL ? strchr(line, '\n') : NULL;

    if (end == NULL)
        return false;
    *end = '\0';
    split->asks_clock = strncmp(line, word, strlen(word)) == 0;
    if (split->asks_clock)
        memmove(line, line + strlen(word), strlen(line) - strlen(word) + 1);
    return split->asks_clock || line[0] == '\0';
}

/* The plan of a run is first a file without a name. */
static int read_given_plan(struct split *split, struct why *why) {
    const int fd = memfd_create("plan", MFD_CLOEXEC);
    FILE *copy = fd >= 0 ? fdopen(fd, "w") : NULL;
    char path[64];
    int code = -1;

    if (copy == NULL)
        return why_set(why, "the plan could not be kept: %s", strerror(errno));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!copy_plan(copy) || fflush(copy) != 0 || !read_database(split))
        (void)why_set(why, "stdin does not have the plan of a run: --plan - is for --parts and "
                           "--hosts");
    else
        code = parts_read_plan(&split->plan, path, why);
    (void)fclose(copy);
    return code;
}

int split_open_send(struct run *run) {
    struct split *split = run->split;
    const bool is_given = strcmp(split->given->plan, "-") == 0;
    struct why why;
    int exit_code;

    split->asks_clock = true;
    split->tally = is_given ? calloc(1, sizeof *split->tally) : NULL;
    if ((is_given ? read_given_plan(split, &why)
                  : parts_read_plan(&split->plan, split->given->plan, &why)) != 0)
        return run_fail(EXIT_NO_INPUT, why.text);
    exit_code = check_part(split);
    if (exit_code == 0 && !is_given)
        exit_code = open_part_folder(split);
    if (exit_code == 0)
        exit_code = split_take_plan(run, &split->plan);
    if (exit_code != 0)
        return exit_code;
    split->options.parts = split->given->parts;
    split->options.part_number = split->given->part_number;
    split->options.at_us = split->given->at_us;
    split->options.no_realtime |= split->given->no_realtime;
    split->options.fault_list.count = 0; /* the run injects them, and looks at all parts */
    split->options.abort_on_fail = false;
    if (is_given)
        split->options.inventory_db = split->database;
    run->rounds[0].part = (size_t)split->options.part_number;
    run->rounds[0].parts = (size_t)split->options.parts;
    return 0;
}

/* ---- the start */

static void on_word_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct split *split = ((struct run *)handle->data)->split;
    const size_t used = strlen(split->word);

    (void)suggested;
    *buf = uv_buf_init(split->word + used, (unsigned)(sizeof split->word - used - 1));
}

/* "start NS" by the clock of the run, or "start +NS" from now on. The end of the input stops. */
static void on_word(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct run *run = stream->data;
    struct split *split = run->split;
    const char *from = split->word + strlen("start ");

    (void)buf;
    if (length < 0) {
        (void)uv_read_stop(stream);
        run->is_interrupted = true;
        run->auditor.query_ms = RUN_GRACE_MS;
        fire_stop(run);
    } else if (strchr(split->word, '\n') != NULL && !split->told.is_set &&
               sscanf(split->word, "start %" SCNd64, &split->start_ns) == 1) {
        split->start_ns += *from == '+' ? clock_now_ns() : 0;
        fiber_event_set(&split->told);
    }
}

void split_stop(struct run *run) {
    if (run->split->is_listening && !run->split->told.is_set)
        fiber_event_set(&run->split->told);
}

/* Afterwards stdin does not block; stdout may be the same socket. */
static int listen_to_run(struct run *run) {
    struct split *split = run->split;
    int rc;

    split->told = (struct fiber_event)FIBER_EVENT_INIT;
    (void)uv_pipe_init(run->loop, &split->in, 0);
    split->in.data = run;
    split->is_listening = true;
    rc = uv_pipe_open(&split->in, STDIN_FILENO);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&split->in, on_word_room, on_word);
    return rc;
}

static void end_listening(struct split *split) {
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (!split->is_listening)
        return;
    uv_close((uv_handle_t *)&split->in, NULL);
    split->is_listening = false;
    (void)fcntl(STDOUT_FILENO, F_SETFL, flags & ~O_NONBLOCK);
}

int64_t split_start(void *data) {
    struct run *run = data;
    const int64_t at_us = run->options->at_us;

    if (at_us != 0)
        return clock_now_ns() + (at_us - clock_wall_us()) * 1000;
    puts("ready");
    (void)fflush(stdout);
    if (listen_to_run(run) == 0)
        fiber_event_wait(&run->split->told);
    if (run->split->start_ns != 0)
        return run->split->start_ns;
    run->is_interrupted = true;
    fire_stop(run);
    return clock_now_ns();
}

static void wait_until_opening(const struct run *run) {
    while (run->options->at_us - clock_wall_us() > OPENING_US && !run->is_interrupted)
        fiber_sleep(run->loop, LOOK_MS);
}

/* ---- the clock of the database */

bool split_asks_clock(const struct run *run) {
    return run->options->command != COMMAND_SEND || run->split->asks_clock;
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
    if (!split_asks_clock(run) || run->options->no_judge)
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
    const struct split *split = run->split;
    const struct history *plan = &split->plan;
    struct why why;
    int code;

    recorder_compact(round->recorder);
    round->is_interrupted = run->is_interrupted;
    round->verdict.kind = VERDICT_UNJUDGED;
    round->ended_us = clock_wall_us();
    if (split->file[0] != '\0') {
        code = parts_write_file(split->file, &plan->options, plan->started_us, round, &why);
    } else {
        code = parts_write(stdout, &plan->options, plan->started_us, round);
        if (fflush(stdout) != 0 || code != 0)
            code = why_set(&why, "the history could not be sent: %s", strerror(errno));
    }
    if (code != 0)
        return run_fail(EXIT_INTERNAL, why.text);
    return run->is_interrupted ? EXIT_INTERRUPTED : 0;
}

int split_send(struct run *run) {
    struct round *round = &run->rounds[0];
    struct why why;
    int exit_code;

    if (!run->options->no_judge) {
        exit_code =
            run_settle(target_meet_product(&run->target, round->products[0].id, &why), why.text);
        if (exit_code != 0)
            return exit_code;
    }
    run->has_begun = true; /* so Ctrl-C leaves a history */
    wait_until_opening(run);
    round->recorder = recorder_make_long(run->plan.count, run->split->given->arguments[0]);
    if (round->recorder == NULL)
        return run_fail(EXIT_INTERNAL, file_error(errno));
    round->recorder->planned = count_own(run);
    exit_code = start_samples(run);
    if (exit_code != 0)
        return exit_code;
    run->progress.tally = run->split->tally;
    exit_code = fire_send(run, round);
    end_samples(run);
    end_listening(run->split);
    progress_stop(&run->progress);
    return exit_code == 0 ? write_part(run, round) : exit_code;
}

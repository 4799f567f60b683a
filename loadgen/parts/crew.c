/* Starts the processes, tells them the start, counts what they tell, and reads their parts. */
#include "crew.h"

#include "clock.h"
#include "exit_code.h"
#include "sender.h"
#include "tally.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(TALLY_LATE_NS <= VERDICT_LATE_NS, "a --threshold of `late` counts what they tell");

/* ---- all of them */

static void crew_count(struct crew *crew) {
    struct recorder *recorder = crew->recorder;
    size_t in_flight = 0, sold = 0;

    memset(recorder->by_outcome, 0, sizeof recorder->by_outcome);
    recorder->ended = recorder->answered = 0;
    for (size_t i = 0; i < crew->count; i++) {
        in_flight += crew->seats[i].in_flight;
        sold += crew->seats[i].sold;
        for (int j = 0; j < RECORD_OUTCOME_COUNT; j++)
            recorder->by_outcome[j] += crew->seats[i].by_outcome[j];
    }
    for (int j = 0; j < RECORD_OUTCOME_COUNT; j++)
        recorder->ended += recorder->by_outcome[j];
    recorder->answered = recorder->ended - recorder->by_outcome[RECORD_UNKNOWN] -
                         recorder->by_outcome[RECORD_UNREACHED] -
                         recorder->by_outcome[RECORD_UNSENT];
    recorder->sold_again = recorder->by_outcome[RECORD_SOLD] - sold;
    recorder->count = recorder->ended + in_flight;
}

static void crew_on_change(void *data) {
    struct crew *crew = data;
    bool is_ready = true, has_ended = true;

    crew_count(crew);
    for (size_t i = 0; i < crew->count; i++) {
        is_ready = is_ready && (crew->seats[i].is_ready || crew->seats[i].has_exited);
        has_ended = has_ended && crew->seats[i].open_handles == 0;
    }
    if (is_ready && !crew->ready.is_set)
        fiber_event_set(&crew->ready);
    if (has_ended && !crew->ended.is_set)
        fiber_event_set(&crew->ended);
}

static void crew_on_line(void *data, const char *line) {
    const struct crew *crew = data;

    crew->on_line(crew->data, line);
}

static void start_all(struct crew *crew) {
    const bool is_far = crew->hosts[0] != '\0';

    crew->recorder->start_ns = clock_now_ns() + SENDER_LEAD_NS;
    (void)snprintf(crew->start, sizeof crew->start, "start %s%" PRId64 "\n", is_far ? "+" : "",
                   is_far ? SENDER_LEAD_NS : crew->recorder->start_ns);
    for (size_t i = 0; i < crew->count; i++)
        seat_tell(&crew->seats[i], crew->start);
    crew->on_start(crew->data);
}

void crew_stop(struct crew *crew) {
    crew->is_stopped = true;
    for (size_t i = 0; crew->seats != NULL && i < crew->count; i++)
        seat_stop(&crew->seats[i]);
}

static int start_seat(struct crew *crew, size_t i, struct why *why) {
    struct seat *seat = &crew->seats[i];
    int rc;

    (void)snprintf(seat->folder, sizeof seat->folder, "%s/%zu", crew->folder, i + 1);
    if (mkdir(seat->folder, 0755) != 0)
        return why_set(why, "%s: %s", seat->folder, strerror(errno));
    rc = seat_start(seat, crew->plan, crew->plan_length);
    if (rc == 0)
        return 0;
    return why_set(why, "%s could not be started: %s",
                   seat->host[0] != '\0' ? crew->ssh : "a process of --parts", uv_strerror(rc));
}

/* Returns 0, or -1 with the first that did not start. */
static int check_ready(const struct crew *crew, struct why *why) {
    struct why cause;

    for (size_t i = 0; i < crew->count; i++)
        if (crew->seats[i].has_exited && !crew->is_stopped) {
            if (seat_has_sent(&crew->seats[i], &cause))
                (void)why_set(&cause, "it ended before the start");
            return why_set(why, "part %zu of %zu did not start: %s", i + 1, crew->count,
                           cause.text);
        }
    return 0;
}

/* Starts all, and returns when all have ended. */
static int run_all(struct crew *crew, struct why *why) {
    int code = 0;

    crew->ready = crew->ended = (struct fiber_event)FIBER_EVENT_INIT;
    for (size_t i = 0; i < crew->count && code == 0; i++)
        code = start_seat(crew, i, why);
    if (code == 0) {
        fiber_event_wait(&crew->ready);
        code = check_ready(crew, why);
    }
    if (code == 0 && !crew->is_stopped)
        start_all(crew);
    else
        crew_stop(crew);
    crew_on_change(crew); /* perhaps none is open */
    while (!fiber_event_wait_for(crew->loop, &crew->ended, 1000))
        for (size_t i = 0; i < crew->count; i++)
            seat_pass_second(&crew->seats[i]);
    if (code == 0)
        return 0;
    return crew->hosts[0] != '\0' ? EXIT_UNREACHABLE : EXIT_INTERNAL;
}

/* ---- their parts */

/* The counts and times of their progress give way to those of their records. */
static void forget_progress(struct recorder *recorder) {
    memset(recorder->by_outcome, 0, sizeof recorder->by_outcome);
    memset(&recorder->latency, 0, sizeof recorder->latency);
    memset(&recorder->service, 0, sizeof recorder->service);
    memset(&recorder->lateness, 0, sizeof recorder->lateness);
    recorder->count = recorder->ended = recorder->answered = recorder->sold_again = 0;
}

static int gather(const struct crew *crew, const struct plan *plan, struct round *round,
                  struct why *why) {
    struct parts parts = {.is_one_clock = crew->hosts[0] == '\0'};
    int code = parts_expect(&parts, crew->count) == 0 ? 0 : why_set(why, "out of memory");

    for (size_t i = 0; i < crew->count && code == 0; i++)
        if (seat_has_sent(&crew->seats[i], &parts.items[i].why))
            code = parts_add(&parts, crew->seats[i].folder, why);
    if (code == 0 && parts_first(&parts) == NULL)
        code = why_set(why, "no part wrote its history: the first %s",
                       parts.items[0].why.text[0] != '\0' ? parts.items[0].why.text
                                                          : parts.unread.text);
    forget_progress(round->recorder);
    if (code == 0)
        code = parts_merge(&parts, plan, round, why);
    parts_free(&parts);
    return code == 0 ? 0 : EXIT_INTERNAL;
}

/* The text that each process reads. */
static int make_plan(struct crew *crew, const struct options *options, const struct plan *plan,
                     struct round *round, struct why *why) {
    struct recorder *empty = recorder_make(0);
    FILE *to = open_memstream(&crew->plan, &crew->plan_length);
    int code = -1;

    if (empty != NULL && to != NULL) {
        empty->planned = plan->count;
        round->recorder =
            empty; /* a copy of the round would be too much for the stack of a fiber */
        code = parts_write(to, options, clock_wall_us(), round);
        round->recorder = crew->recorder;
        fprintf(to, "\n%s%s\n", crew->database != NULL ? "database " : "",
                crew->database != NULL ? crew->database : "");
    }
    recorder_free(empty);
    if (to != NULL && fclose(to) == 0 && code == 0)
        return 0;
    (void)why_set(why, "out of memory");
    return EXIT_INTERNAL;
}

static int make_folder(struct crew *crew, struct why *why) {
    const char *temporary = getenv("TMPDIR"), *directory = crew->directory;

    if (directory == NULL)
        directory = temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp";
    snprintf(crew->folder, sizeof crew->folder, "%s/.parts-XXXXXX", directory);
    if (mkdtemp(crew->folder) != NULL)
        return 0;
    (void)why_set(why, "%s: %s", crew->folder, strerror(errno));
    return EXIT_INTERNAL;
}

void crew_remove_folder(const struct crew *crew) {
    char path[FOLDER_PATH + 32];

    if (crew->folder[0] == '\0')
        return;
    for (size_t i = 0; i < crew->count; i++) {
        snprintf(path, sizeof path, "%s/%zu/history.ndjson", crew->folder, i + 1);
        (void)unlink(path);
        snprintf(path, sizeof path, "%s/%zu", crew->folder, i + 1);
        (void)rmdir(path);
    }
    (void)rmdir(crew->folder);
}

static void make_seats(struct crew *crew) {
    for (size_t i = 0; i < crew->count; i++) {
        struct seat *seat = &crew->seats[i];

        seat->loop = crew->loop;
        seat->number = i + 1;
        seat->count = crew->count;
        seat->ssh = crew->ssh;
        seat->program = crew->program;
        seat->is_realtime_wanted = crew->is_realtime_wanted;
        seat->recorder = crew->recorder;
        seat->on_change = crew_on_change;
        seat->on_line = crew_on_line;
        seat->data = crew;
        if (crew->hosts[0] != '\0')
            host_list_name(crew->hosts, i, seat->host);
    }
}

int crew_send(struct crew *crew, const struct options *options, const struct plan *plan,
              struct round *round, struct why *why) {
    int code = make_folder(crew, why);

    assert(crew->count > 0 && crew->recorder == round->recorder);
    if (code != 0)
        return code;
    code = make_plan(crew, options, plan, round, why);
    crew->seats = code == 0 ? calloc(crew->count, sizeof *crew->seats) : NULL;
    if (crew->seats != NULL) {
        make_seats(crew);
        code = run_all(crew, why);
    } else if (code == 0) {
        code = EXIT_INTERNAL;
        (void)why_set(why, "out of memory");
    }
    if (code == 0)
        code = gather(crew, plan, round, why);
    for (size_t i = 0; crew->seats != NULL && i < crew->count; i++)
        seat_free(&crew->seats[i]);
    free(crew->seats);
    free(crew->plan);
    crew->seats = NULL;
    crew_remove_folder(crew);
    return code;
}

/* Starts the processes, tells them the start, counts what they tell, and reads their parts. */
#include "crew.h"

#include "clock.h"
#include "json_read.h"
#include "sender.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_MOST 16384
#define WORDS     16

/* ---- their progress */

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

static size_t count_in(const json_t *json, const char *key) {
    return (size_t)json_integer_value(json_object_get(json, key));
}

/* A line of --json-progress. */
static void take_progress(struct crew_seat *seat, const char *line, size_t length) {
    json_t *json = json_read(line, length, NULL);
    const json_t *outcomes = json_object_get(json, "outcomes");

    if (outcomes != NULL) {
        seat->in_flight = count_in(json, "in_flight");
        seat->sold = count_in(json, "sold");
        for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
            seat->by_outcome[i] = count_in(outcomes, record_outcome_name((enum record_outcome)i));
        crew_count(seat->crew);
    }
    json_decref(json);
}

static void crew_take_error(struct crew_seat *seat, const char *line, size_t length) {
    const struct crew *crew = seat->crew;
    char text[LINE_MOST + 64];

    if (length == 0)
        return;
    if (line[0] == '{') {
        take_progress(seat, line, length);
        return;
    }
    (void)snprintf(text, sizeof text, "part %zu of %zu: %.*s\n", (size_t)(seat - crew->seats) + 1,
                   crew->count, (int)length, line);
    crew->on_line(crew->data, text);
}

/* ---- the moment of the start */

static void notice_ready(struct crew *crew) {
    for (size_t i = 0; i < crew->count; i++)
        if (!crew->seats[i].is_ready && !crew->seats[i].has_exited)
            return;
    if (!crew->ready.is_set)
        fiber_event_set(&crew->ready);
}

static void crew_take_word(struct crew_seat *seat, const char *line, size_t length) {
    if (length != strlen("ready") || memcmp(line, "ready", length) != 0)
        return;
    seat->is_ready = true;
    notice_ready(seat->crew);
}

/* A process that died gets nothing; its exit tells. */
static void start_all(struct crew *crew) {
    char text[64];
    uv_os_fd_t fd;

    crew->recorder->start_ns = clock_now_ns() + SENDER_LEAD_NS;
    snprintf(text, sizeof text, "start %" PRId64 "\n", crew->recorder->start_ns);
    for (size_t i = 0; i < crew->count; i++)
        if (!crew->seats[i].has_exited &&
            uv_fileno((const uv_handle_t *)&crew->seats[i].in, &fd) == 0)
            (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
    crew->on_start(crew->data);
}

/* ---- their output and their end */

static void crew_on_closed(uv_handle_t *handle) {
    const struct crew_seat *seat = handle->data;
    struct crew *crew = seat->crew;

    assert(crew->open_handles > 0);
    if (--crew->open_handles == 0)
        fiber_event_set(&crew->ended);
}

static void crew_close(uv_handle_t *handle) {
    if (!uv_is_closing(handle))
        uv_close(handle, crew_on_closed);
}

static void crew_on_exit(uv_process_t *process, int64_t code, int number) {
    struct crew_seat *seat = process->data;

    seat->has_exited = true;
    seat->code = code;
    seat->signal = number;
    crew_close((uv_handle_t *)process);
    crew_close((uv_handle_t *)&seat->in);
    notice_ready(seat->crew);
}

static void crew_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct crew_seat *seat = handle->data;

    (void)suggested;
    *buf = uv_buf_init(seat->crew->read, sizeof seat->crew->read);
}

static void crew_on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct crew_seat *seat = stream->data;
    const bool is_error = stream == (uv_stream_t *)&seat->errors;
    struct buffer *buffer = is_error ? &seat->told : &seat->said;
    size_t from = 0;
    char *end;

    if (length < 0 || (length > 0 && !buffer_append(buffer, buf->base, (size_t)length)) ||
        buffer->length > LINE_MOST * 2) {
        crew_close((uv_handle_t *)stream);
        return;
    }
    while (buffer->length > from &&
           (end = memchr(buffer->bytes + from, '\n', buffer->length - from)) != NULL) {
        (is_error ? crew_take_error : crew_take_word)(seat, buffer->bytes + from,
                                                      (size_t)(end - buffer->bytes) - from);
        from = (size_t)(end - buffer->bytes) + 1;
    }
    buffer_drop_front(buffer, from);
}

/* ---- the processes */

/* A session of its own: the terminal sends it no Ctrl-C. */
static int start_process(struct crew_seat *seat, char *const *words) {
    uv_stdio_container_t streams[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&seat->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&seat->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&seat->errors}};
    const uv_process_options_t options = {.exit_cb = crew_on_exit,
                                          .file = "/proc/self/exe",
                                          .args = (char **)(uintptr_t)words,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = streams};
    uv_loop_t *loop = seat->crew->loop;
    int rc;

    (void)uv_pipe_init(loop, &seat->in, 0);
    (void)uv_pipe_init(loop, &seat->out, 0);
    (void)uv_pipe_init(loop, &seat->errors, 0);
    seat->process.data = seat->in.data = seat->out.data = seat->errors.data = seat;
    seat->crew->open_handles += 4;
    rc = uv_spawn(loop, &seat->process, &options);
    if (rc == 0) {
        (void)uv_read_start((uv_stream_t *)&seat->out, crew_on_room, crew_on_read);
        (void)uv_read_start((uv_stream_t *)&seat->errors, crew_on_room, crew_on_read);
        return 0;
    }
    seat->has_exited = true;
    crew_close((uv_handle_t *)&seat->process);
    crew_close((uv_handle_t *)&seat->in);
    crew_close((uv_handle_t *)&seat->out);
    crew_close((uv_handle_t *)&seat->errors);
    return rc;
}

static int start_seat(struct crew *crew, size_t i) {
    char part[48], plan[FOLDER_PATH];
    struct crew_seat *seat = &crew->seats[i];
    const char *const words[WORDS] = {"loadgen",
                                      "send",
                                      "--part",
                                      part,
                                      "--plan",
                                      plan,
                                      "--at",
                                      "-",
                                      "--json-progress",
                                      seat->folder,
                                      crew->is_realtime_wanted ? NULL : "--no-realtime"};

    seat->crew = crew;
    snprintf(part, sizeof part, "%zu/%zu", i + 1, crew->count);
    snprintf(plan, sizeof plan, "%s/plan", crew->folder);
    snprintf(seat->folder, sizeof seat->folder, "%s/%zu", crew->folder, i + 1);
    return start_process(seat, (char *const *)(uintptr_t)words);
}

void crew_stop(struct crew *crew) {
    if (crew->is_stopped)
        return;
    crew->is_stopped = true;
    for (size_t i = 0; crew->seats != NULL && i < crew->count; i++)
        if (crew->seats[i].crew != NULL && !crew->seats[i].has_exited)
            (void)uv_process_kill(&crew->seats[i].process, SIGINT);
}

/* Tells why a part is lost. Returns whether it is not. */
static bool seat_has_sent(const struct crew_seat *seat, struct why *why) {
    if (seat->signal != 0)
        (void)why_set(why, "it was killed by signal %d", seat->signal);
    else if (seat->code != 0 && seat->code != 130)
        (void)why_set(why, "it ended with the exit code %" PRId64, seat->code);
    return seat->signal == 0 && (seat->code == 0 || seat->code == 130);
}

/* Starts all, and returns when all have ended. */
static int run_all(struct crew *crew, struct why *why) {
    int rc = 0;

    crew->ready = crew->ended = (struct fiber_event)FIBER_EVENT_INIT;
    for (size_t i = 0; i < crew->count && rc == 0; i++)
        rc = start_seat(crew, i);
    if (rc != 0) {
        (void)why_set(why, "a process of --parts could not be started: %s", uv_strerror(rc));
        crew_stop(crew);
    } else {
        fiber_event_wait(&crew->ready);
    }
    for (size_t i = 0; i < crew->count && rc == 0 && !crew->is_stopped; i++)
        if (crew->seats[i].has_exited) {
            struct why cause = {""};

            (void)seat_has_sent(&crew->seats[i], &cause);
            rc = why_set(why, "part %zu of %zu did not start: %s", i + 1, crew->count, cause.text);
        }
    if (rc == 0 && !crew->is_stopped)
        start_all(crew);
    else
        crew_stop(crew);
    fiber_event_wait(&crew->ended);
    return rc == 0 ? 0 : -1;
}

/* ---- their parts */

/* The counts of their progress give way to those of their records. */
static void forget_progress(struct recorder *recorder) {
    memset(recorder->by_outcome, 0, sizeof recorder->by_outcome);
    recorder->count = recorder->ended = recorder->answered = recorder->sold_again = 0;
}

static int gather(const struct crew *crew, const struct plan *plan, struct round *round,
                  struct why *why) {
    struct parts parts = {.is_one_clock = true};
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
    return code;
}

static int write_plan(const struct crew *crew, const struct options *options,
                      const struct plan *plan, struct round *round, struct why *why) {
    struct recorder *empty = recorder_make(0);
    char path[FOLDER_PATH];
    int code;

    if (empty == NULL)
        return why_set(why, "out of memory");
    empty->planned = plan->count;
    round->recorder = empty; /* a copy of the round would be too much for the stack of a fiber */
    snprintf(path, sizeof path, "%s/plan", crew->folder);
    code = parts_write(path, options, clock_wall_us(), round, why);
    round->recorder = crew->recorder;
    recorder_free(empty);
    return code;
}

static int make_folder(struct crew *crew, struct why *why) {
    const char *temporary = getenv("TMPDIR"), *directory = crew->directory;

    if (directory == NULL)
        directory = temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp";
    snprintf(crew->folder, sizeof crew->folder, "%s/.parts-XXXXXX", directory);
    if (mkdtemp(crew->folder) != NULL)
        return 0;
    return why_set(why, "%s: %s", crew->folder, strerror(errno));
}

static void remove_folder(const struct crew *crew) {
    char path[FOLDER_PATH + 32];

    for (size_t i = 0; i < crew->count; i++) {
        snprintf(path, sizeof path, "%s/%zu/history.ndjson", crew->folder, i + 1);
        (void)unlink(path);
        snprintf(path, sizeof path, "%s/%zu", crew->folder, i + 1);
        (void)rmdir(path);
    }
    snprintf(path, sizeof path, "%s/plan", crew->folder);
    (void)unlink(path);
    (void)rmdir(crew->folder);
}

int crew_send(struct crew *crew, const struct options *options, const struct plan *plan,
              struct round *round, struct why *why) {
    int code = make_folder(crew, why);

    assert(crew->count >= 2 && crew->recorder == round->recorder);
    if (code != 0)
        return -1;
    crew->seats = calloc(crew->count, sizeof *crew->seats);
    code = crew->seats != NULL ? write_plan(crew, options, plan, round, why)
                               : why_set(why, "out of memory");
    if (code == 0)
        code = run_all(crew, why);
    if (code == 0)
        code = gather(crew, plan, round, why);
    for (size_t i = 0; crew->seats != NULL && i < crew->count; i++) {
        buffer_free(&crew->seats[i].said);
        buffer_free(&crew->seats[i].told);
    }
    free(crew->seats);
    crew->seats = NULL;
    remove_folder(crew);
    return code;
}

/* Starts a program, reads both its outputs, makes sure that it ends, and keeps the shown state. */
#include "runner.h"

#include "json_read.h"
#include "json_text.h"
#include "summary_read.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the shown state */

static void runner_put(struct runner *runner, const char *key, json_t *value) {
    (void)json_object_set_new(runner->shown, key, value);
}

/* Takes over `doing` and `title`. */
static void show_anew(struct runner *runner, json_t *doing, json_t *title) {
    json_decref(runner->shown);
    runner->shown =
        JSON_TEXT_OBJECT({"doing", doing}, {"title", title}, {"is_stopping", json_false()},
                         {"live", json_null()}, {"rounds", json_array()}, {"ended", json_null()});
    runner->version++;
}

/* Shows a line of --json-progress; ignores any other line. */
static void show_progress(struct runner *runner, const char *line, size_t length) {
    json_t *json = json_read(line, length, NULL);

    if (!json_is_string(json_object_get(json, "strategy"))) {
        json_decref(json);
        return;
    }
    if (json_object_get(json, "verdict") != NULL)
        (void)json_array_append(json_object_get(runner->shown, "rounds"), json);
    runner_put(runner, "live", json);
    runner->version++;
}

/* The name of the results folder, from the summary that the run printed; or null. */
static json_t *runner_folder(const struct runner *runner) {
    struct why why;
    json_t *summary = runner->kind == LESSON_RUN && runner->said.length > 0
                          ? summary_parse(runner->said.bytes, runner->said.length, &why)
                          : NULL;
    const char *path = summary_text(summary, "folder"), *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    json_t *folder = name[0] != '\0' ? json_text(name) : json_null();

    json_decref(summary);
    return folder;
}

static void show_end(struct runner *runner) {
    json_t *kind = json_object_get(runner->shown, "doing");
    json_t *title = json_object_get(runner->shown, "title");
    json_t *ended = JSON_TEXT_OBJECT(
        {"kind", json_incref(kind)}, {"title", json_incref(title)},
        {"exit_code", json_integer(runner->exit_code)}, {"signal", json_integer(runner->signal)},
        {"was_stopped", json_boolean(runner->is_stopping)}, {"folder", runner_folder(runner)},
        {"said", json_text(runner->is_too_much ? "it wrote more than 8 MiB, and was killed"
                                               : runner->tail)});

    runner_put(runner, "ended", ended);
    runner_put(runner, "doing", json_null());
    runner_put(runner, "is_stopping", json_false());
    runner->version++;
}

/* Compact JSON has no line break, so it is one line of data. */
char *runner_event(const struct runner *runner, size_t *length) {
    char *json = json_dumps(runner->shown, JSON_COMPACT), *event = NULL;
    int printed = -1;

    assert(runner->version > 0); /* runner_init() came first */
    assert(json == NULL || strchr(json, '\n') == NULL);
    if (json != NULL)
        printed =
            asprintf(&event, "id: %" PRIu64 "\nevent: board\ndata: %s\n\n", runner->version, json);
    free(json);
    *length = printed > 0 ? (size_t)printed : 0;
    return printed > 0 ? event : NULL;
}

/* ---- the end of the program */

static void runner_on_closed(uv_handle_t *handle) {
    struct runner *runner = handle->data;

    assert(runner->open > 0);
    if (--runner->open > 0)
        return;
    assert(runner->has_exited); /* the process's handle is closed, too */
    runner->is_running = false;
    buffer_reset(&runner->line);
    if (!runner->has_started)
        return;
    show_end(runner);
    runner->on_end();
}

static void runner_close_handle(uv_handle_t *handle) {
    if (!uv_is_closing(handle))
        uv_close(handle, runner_on_closed);
}

static void signal_group(const struct runner *runner, int number) {
    if (runner->is_running && !runner->has_exited)
        (void)uv_kill(-runner->process.pid, number);
}

static void on_grace_over(uv_timer_t *timer) {
    signal_group(timer->data, SIGKILL);
}

void runner_stop(struct runner *runner, uint64_t grace_ms) {
    if (!runner->is_running || runner->has_exited)
        return;
    if (!runner->is_stopping) {
        runner->is_stopping = true;
        runner_put(runner, "is_stopping", json_true());
        runner->version++;
        (void)uv_timer_start(&runner->grace, on_grace_over, grace_ms, 0);
        signal_group(runner, SIGINT);
    }
    if (grace_ms == 0)
        signal_group(runner, SIGKILL);
}

/* Kills the rest of its process group, so that both pipes end. */
static void runner_on_exit(uv_process_t *process, int64_t exit_code, int number) {
    struct runner *runner = process->data;

    assert(runner->is_running && !runner->has_exited);
    (void)uv_kill(-process->pid, SIGKILL);
    runner->has_exited = true;
    runner->exit_code = exit_code;
    runner->signal = number;
    runner_close_handle((uv_handle_t *)process);
    runner_close_handle((uv_handle_t *)&runner->grace);
}

/* ---- its output */

static void runner_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct runner *runner = handle->data;

    (void)suggested;
    *buf = uv_buf_init(runner->read, sizeof runner->read);
}

static void on_output(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct runner *runner = stream->data;

    if (length < 0) {
        runner_close_handle((uv_handle_t *)stream);
        return;
    }
    if (runner->said.length + (size_t)length > RUNNER_OUTPUT_MAX ||
        (length > 0 && !buffer_append(&runner->said, buf->base, (size_t)length))) {
        runner->is_too_much = true;
        signal_group(runner, SIGKILL);
    }
}

/* Keeps only the end of the output. */
static void runner_keep(struct runner *runner, const char *line, size_t length) {
    size_t used = strlen(runner->tail), most = sizeof runner->tail - 2, drop;

    if (length > most)
        length = most;
    drop = used + length > most ? used + length - most : 0;
    assert(drop <= used && used - drop + length <= most);
    memmove(runner->tail, runner->tail + drop, used - drop);
    memcpy(runner->tail + used - drop, line, length);
    strcpy(runner->tail + used - drop + length, "\n");
}

static void runner_take_line(struct runner *runner, const char *line, size_t length) {
    if (length > 0 && line[0] == '{')
        show_progress(runner, line, length);
    else if (length > 0)
        runner_keep(runner, line, length);
}

static void runner_take_lines(struct runner *runner) {
    struct buffer *buffer = &runner->line;
    size_t from = 0;
    char *end;

    while ((end = memchr(buffer->bytes + from, '\n', buffer->length - from)) != NULL) {
        runner_take_line(runner, buffer->bytes + from, (size_t)(end - buffer->bytes) - from);
        from = (size_t)(end - buffer->bytes) + 1;
    }
    buffer_drop_front(buffer, from);
}

static void on_errors(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct runner *runner = stream->data;

    if (length == 0)
        return;
    if (length > 0 && buffer_append(&runner->line, buf->base, (size_t)length))
        runner_take_lines(runner);
    if (length < 0 || runner->line.length > RUNNER_LINE_MAX) {
        runner_take_line(runner, runner->line.bytes, runner->line.length);
        buffer_reset(&runner->line);
    }
    if (length < 0)
        runner_close_handle((uv_handle_t *)stream);
}

/* ---- the start of the program */

void runner_init(struct runner *runner, uv_loop_t *loop, void (*on_end)(void)) {
    *runner = (struct runner){.loop = loop, .on_end = on_end};
    show_anew(runner, json_null(), json_null());
}

static void open_handles(struct runner *runner) {
    (void)uv_pipe_init(runner->loop, &runner->output, 0);
    (void)uv_pipe_init(runner->loop, &runner->errors, 0);
    (void)uv_timer_init(runner->loop, &runner->grace);
    runner->output.data = runner->errors.data = runner->grace.data = runner->process.data = runner;
    runner->open = 4;
    runner->is_running = true;
    runner->has_exited = runner->is_stopping = runner->is_too_much = false;
    runner->exit_code = runner->signal = 0;
    runner->tail[0] = '\0';
    buffer_reset(&runner->said);
}

int runner_start(struct runner *runner, const char *path, struct lesson *lesson) {
    static const char *const kinds[] = {[LESSON_RUN] = "run", [LESSON_EXPLORE] = "explore"};
    uv_stdio_container_t streams[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&runner->output},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&runner->errors}};
    const uv_process_options_t options = {.exit_cb = runner_on_exit,
                                          .file = path,
                                          .args = lesson->words,
                                          .flags = UV_PROCESS_DETACHED, /* its own group */
                                          .stdio_count = 3,
                                          .stdio = streams};
    int rc;

    assert(!runner->is_running && runner->open == 0);
    open_handles(runner);
    runner->kind = lesson->kind;
    rc = uv_spawn(runner->loop, &runner->process, &options);
    runner->has_started = rc == 0;
    if (rc != 0) {
        runner->has_exited = true;
        runner_close_handle((uv_handle_t *)&runner->process);
        runner_close_handle((uv_handle_t *)&runner->output);
        runner_close_handle((uv_handle_t *)&runner->errors);
        runner_close_handle((uv_handle_t *)&runner->grace);
        return rc;
    }
    show_anew(runner, json_string(kinds[lesson->kind]), json_text(lesson->title));
    (void)uv_read_start((uv_stream_t *)&runner->output, runner_on_room, on_output);
    (void)uv_read_start((uv_stream_t *)&runner->errors, runner_on_room, on_errors);
    return 0;
}

void runner_free(struct runner *runner) {
    assert(!runner->is_running);
    buffer_free(&runner->said);
    buffer_free(&runner->line);
    json_decref(runner->shown);
}

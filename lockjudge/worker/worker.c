/* Five handles live while a worker does: its process, its three pipes, and the timer of the wait
 * for an answer. worker_close() goes on when the last of them is closed.
 *
 * What can go wrong, and is told: a line that is no line of the protocol, an answer that nobody
 * asked for, silence, a flood of lines, the end of the process. */
#include "worker.h"

#include "buffer.h"
#include "cgroup.h"
#include "clock.h"
#include "command.h"
#include "fiber.h"
#include "group.h"
#include "loop.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_BYTES 512
#define TOLD_BYTES    512   /* of its errors, kept for the reason of its end */
#define UNASKED_MAX   10000 /* more lines unasked are a flood */
#define STOP_TRIES    2000  /* of a millisecond each, until a stopped process has stopped */
#define ENDING_MS     1000  /* from the end of its output to that of its process */
#define LAST_READS    1024 /* of its errors at its end: a child that nobody reached goes on to write */

struct worker {
    uv_loop_t *loop;
    unsigned number;
    struct worker_events events;
    uv_process_t process;
    uv_pipe_t pipes[3];
    uv_timer_t ending; /* from the end of its output; of a child: none */
    unsigned open;     /* handles that are not closed */
    struct fiber_event closed;

    /* The child: waits for its birth by worker_fork(), then belongs to the caller. NULL: none. */
    struct worker *child;
    struct cgroup cgroup; /* of a child: none of its own */
    pid_t pid;            /* of its process; 0: it is a child that is not born */
    pid_t parent;         /* of a child: the group that it is in; 0: it is no child */

    bool has_exited, is_killed, is_stopped, is_ready, is_silent;
    int64_t ran_ns; /* when it was last continued; 0: it was never stopped */
    unsigned caps;
    unsigned unasked;

    bool is_asked; /* a request, or the ready line, is awaited */
    struct fiber_event answered;
    struct worker_answer answer;

    struct why broken; /* "" while it is not */
    struct buffer input;
    char read[8 * 1024];
    char told[TOLD_BYTES]; /* the end of what it wrote on stderr */
    size_t told_length;
};

/* ---- the end of a request: an answer, or the end of hope for one */

static void worker_wake(struct worker *worker) {
    if (!worker->is_asked || worker->answered.is_set)
        return;
    fiber_event_set(&worker->answered);
}

static void worker_break(struct worker *worker, const char *text) {
    if (worker->broken.text[0] == '\0' && !worker->is_killed)
        (void)why_set(&worker->broken, "worker %u: %.700s", worker->number + 1, text);
    worker_wake(worker);
}

static void worker_fall_silent(struct worker *worker, const char *text) {
    worker->is_silent = true;
    worker_break(worker, text);
}

static void worker_on_line(struct worker *worker, const char *bytes, size_t length) {
    struct line line;
    struct why why, text;

    if (worker->broken.text[0] != '\0')
        return;
    if (line_parse(bytes, length, &line, &why) != 0) {
        (void)why_set(&text, "its line is no line of the protocol: %.600s", why.text);
        worker_break(worker, text.text);
    } else if (line.is_unasked) {
        if (++worker->unasked > UNASKED_MAX)
            worker_break(worker, "it floods: it said more than 10000 lines unasked");
        else if (worker->events.on_told != NULL)
            worker->events.on_told(worker, line.word, worker->events.data);
    } else if (line.word == LINE_READY && !worker->is_ready) {
        worker->is_ready = true;
        worker->caps = line.caps;
        worker_wake(worker);
    } else if (!worker->is_asked || worker->answered.is_set || !worker->is_ready ||
               line.word == LINE_READY) {
        (void)why_set(&text, "it said \"%s\", which is no answer to anything that it was asked",
                      line_word_text(line.word));
        worker_break(worker, text.text);
    } else {
        worker->answer.line = line;
        worker->answer.answered_ns = clock_now_ns();
        worker_wake(worker);
    }
}

/* ---- its handles */

static bool is_child(const struct worker *worker) {
    return worker->process.data == NULL;
}

static void worker_on_closed(uv_handle_t *handle) {
    struct worker *worker = handle->data;

    assert(worker->open > 0);
    if (--worker->open == 0)
        fiber_event_set(&worker->closed);
}

static void worker_shut(void *handle) {
    if (!uv_is_closing(handle))
        uv_close(handle, worker_on_closed);
}

/* Keeps the beginning of the last line: that is where most languages print the error. */
static void take_errors(struct worker *worker, const char *bytes, ssize_t length) {
    for (ssize_t i = 0; i < length; i++) {
        if (worker->told_length > 0 && worker->told[worker->told_length - 1] == '\n')
            worker->told_length = 0;
        if (worker->told_length < sizeof worker->told - 1)
            worker->told[worker->told_length++] = bytes[i];
        worker->told[worker->told_length] = '\0';
    }
}

static void worker_on_errors(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    if (length < 0)
        (void)uv_read_stop(stream);
    else
        take_errors(stream->data, buf->base, length);
}

/* The last line of its errors, after a colon; "" if there is none. What it wrote just before its end
 * is still in the pipe. */
static const char *last_words(struct worker *worker, struct why *text) {
    char bytes[1024];
    ssize_t length;
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)&worker->pipes[2], &fd) == 0)
        for (int i = 0; i < LAST_READS && (length = read(fd, bytes, sizeof bytes)) > 0; i++)
            take_errors(worker, bytes, length);
    (void)why_set(text, ": %.*s", (int)strcspn(worker->told, "\n"), worker->told);
    utf8_make_printable(text->text);
    return text->text[2] != '\0' ? text->text : "";
}

static void worker_on_exit(uv_process_t *process, int64_t exit_code, int number) {
    struct worker *worker = process->data;
    struct why text, last;

    worker->has_exited = true;
    (void)uv_timer_stop(&worker->ending);
    cgroup_kill(&worker->cgroup); /* its children */
    (void)why_set(&text, "it ended with %s %d%s", number != 0 ? "signal" : "exit code",
                  number != 0 ? number : (int)exit_code, last_words(worker, &last));
    if (worker->events.on_death != NULL)
        worker->events.on_death(worker, worker->events.data);
    worker_break(worker, text.text);
}

/* A process that ends closes its output a little before. This one goes on. */
static void worker_on_ending(uv_timer_t *timer) {
    struct worker *worker = timer->data;
    struct why text, last;

    (void)why_set(&text, "it closed its output, and runs on%s", last_words(worker, &last));
    worker_break(worker, text.text);
}

static void worker_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct worker *worker = handle->data;

    (void)suggested;
    *buf = uv_buf_init(worker->read, sizeof worker->read);
}

static void worker_on_output(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct worker *worker = stream->data;
    struct buffer *input = &worker->input;
    char *end;

    if (length < 0) {
        (void)uv_read_stop(stream);
        if (is_child(worker)) /* nobody else tells its end, for example with its parent */
            worker_fall_silent(worker, "its output has ended");
        else if (!worker->has_exited)
            (void)uv_timer_start(&worker->ending, worker_on_ending, ENDING_MS, 0);
        return;
    }
    if (!buffer_append(input, buf->base, (size_t)length)) {
        worker_break(worker, "its output does not fit into the memory");
        return;
    }
    while (input->length > 0 && (end = memchr(input->bytes, '\n', input->length)) != NULL) {
        const size_t line = (size_t)(end - input->bytes);
        char copy[LINE_BYTES];

        if (line < sizeof copy)
            memcpy(copy, input->bytes, line);
        buffer_drop_front(input, line + 1);
        if (line < sizeof copy)
            worker_on_line(worker, copy, line);
        else
            worker_break(worker, "it floods: a line has more than 1023 bytes");
    }
    if (input->length >= LINE_BYTES) {
        buffer_reset(input);
        worker_break(worker, "it floods: a line has more than 1023 bytes");
    }
}

static void worker_on_freed(struct worker *worker) {
    buffer_free(&worker->input);
    free(worker);
}

/* The judge's ends of the pipes from `first` on become descriptors of the process. */
static void worker_open_pipes(struct worker *worker, size_t count, uv_stdio_container_t *streams) {
    for (size_t i = 0; i < count; i++) {
        (void)uv_pipe_init(worker->loop, &worker->pipes[i], 0);
        worker->pipes[i].data = worker;
        streams[i].flags = UV_CREATE_PIPE | (i == 0 ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
        streams[i].data.stream = (uv_stream_t *)&worker->pipes[i];
        worker->open++;
    }
}

/* `environment` NULL: ours. */
static int worker_spawn(struct worker *worker, char *const *argv, char **environment) {
    uv_stdio_container_t streams[5];
    uv_process_options_t options = {.exit_cb = worker_on_exit,
                                    .file = argv[0],
                                    .args = (char **)(uintptr_t)argv,
                                    .env = environment,
                                    .flags = UV_PROCESS_DETACHED, /* its own group */
                                    .stdio_count = worker->child != NULL ? 5 : 3,
                                    .stdio = streams};
    int code;

    worker_open_pipes(worker, 3, streams);
    if (worker->child != NULL)
        worker_open_pipes(worker->child, 2, streams + 3);
    (void)uv_timer_init(worker->loop, &worker->ending);
    worker->process.data = worker->ending.data = worker;
    worker->open += 2;
    code = cgroup_spawn(&worker->cgroup, worker->loop, &worker->process, &options);
    worker->pid = worker->process.pid;
    return code;
}

static struct worker *worker_new(uv_loop_t *loop, unsigned number) {
    struct worker *new = calloc(1, sizeof *new);

    if (new != NULL) {
        new->loop = loop;
        new->number = number;
    }
    return new;
}

static int worker_launch(struct worker *worker, char *const *argv,
                         const struct worker_options *options) {
    char **environment = NULL;
    int code = 0;

    if (options->child_number > 0 &&
        (worker->child = worker_new(worker->loop, options->child_number)) == NULL)
        code = UV_ENOMEM;
    if (options->variables != NULL &&
        (environment = command_environment(options->variables)) == NULL)
        code = UV_ENOMEM;
    if (code == 0)
        code = worker_spawn(worker, argv, environment);
    free(environment);
    return code;
}

int worker_start(struct worker **worker, uv_loop_t *loop, char *const *argv, unsigned number,
                 const struct worker_events *events, const struct worker_options *options,
                 struct why *why) {
    static const struct worker_options none = {NULL, 0};
    struct worker *new = worker_new(loop, number);
    int code;

    *worker = NULL;
    if (new == NULL)
        return why_set(why, "out of memory");
    loop_ignore_sigpipe();
    new->events = *events;
    code = worker_launch(new, argv, options != NULL ? options : &none);
    if (code != 0) {
        new->has_exited = true;
        worker_close(new);
        return why_set(why, "cannot start \"%.200s\": %s", argv[0], uv_strerror(code));
    }
    (void)uv_read_start((uv_stream_t *)&new->pipes[1], worker_on_room, worker_on_output);
    (void)uv_read_start((uv_stream_t *)&new->pipes[2], worker_on_room, worker_on_errors);
    *worker = new;
    return 0;
}

void worker_close(struct worker *worker) {
    if (worker->child != NULL)
        worker_close(worker->child);
    worker->is_killed = true;
    worker->events = (struct worker_events){NULL, NULL, NULL};
    worker_kill(worker);
    assert(!worker->is_asked);
    for (size_t i = 0; i < 3; i++) /* a worker that may not be killed ends with its input */
        if (worker->pipes[i].data != NULL)
            worker_shut(&worker->pipes[i]);
    while (!worker->has_exited && !is_child(worker)) /* its process is reaped on the loop */
        fiber_sleep(worker->loop, 1);
    for (int i = 0; i < STOP_TRIES && !cgroup_remove(&worker->cgroup); i++) {
        cgroup_kill(&worker->cgroup); /* its children */
        fiber_sleep(worker->loop, 1);
    }
    if (!is_child(worker)) {
        worker_shut(&worker->ending);
        worker_shut(&worker->process);
    }
    if (worker->open > 0)
        fiber_event_wait(&worker->closed);
    worker_on_freed(worker);
}

/* ---- requests */

struct sending {
    uv_write_t write;
    char bytes[REQUEST_BYTES];
};

static void worker_on_sent(uv_write_t *write, int status) {
    (void)status; /* a worker that reads no more has ended, or is silent */
    free(write->data);
}

static int worker_send(struct worker *worker, const char *request) {
    struct sending *sending = malloc(sizeof *sending);
    uv_buf_t bytes;

    if (sending == NULL)
        return -1;
    sending->write.data = sending;
    bytes = uv_buf_init(sending->bytes,
                        (unsigned)snprintf(sending->bytes, sizeof sending->bytes, "%s\n", request));
    assert(bytes.len < sizeof sending->bytes);
    if (uv_write(&sending->write, (uv_stream_t *)&worker->pipes[0], &bytes, 1, worker_on_sent) == 0)
        return 0;
    free(sending);
    return -1;
}

/* Waits for the answer. Time in which the worker is stopped does not count. After a stall of the
 * judge the loop sees the time before the answer: so the last wait is a millisecond more. */
static bool worker_wait(struct worker *worker, uint64_t ms) {
    int64_t ends_ns = clock_now_ns() + (int64_t)ms * 1000000;

    for (;;) {
        const int64_t now_ns = clock_now_ns();
        uint64_t rest_ms = ms;

        if (worker->ran_ns != 0 && worker->ran_ns + (int64_t)ms * 1000000 > ends_ns)
            ends_ns = worker->ran_ns + (int64_t)ms * 1000000;
        if (!worker->is_stopped) {
            if (now_ns >= ends_ns)
                return fiber_event_wait_for(worker->loop, &worker->answered, 1);
            rest_ms = (uint64_t)((ends_ns - now_ns) / 1000000) + 1;
        }
        if (fiber_event_wait_for(worker->loop, &worker->answered, rest_ms))
            return true;
    }
}

static int worker_expect(struct worker *worker, uint64_t ms, const char *request, struct why *why) {
    struct why text;

    if (!worker_wait(worker, ms)) {
        (void)why_set(&text, "it is silent: no answer to \"%.80s\" within %" PRIu64 " ms", request,
                      ms);
        worker->is_asked = false;
        worker_fall_silent(worker, text.text);
    }
    worker->is_asked = false;
    if (worker->broken.text[0] != '\0')
        return why_set(why, "%.1000s", worker->broken.text);
    if (worker->is_killed || worker->has_exited)
        return why_set(why, "worker %u was killed", worker->number + 1);
    return 0;
}

static int worker_begin(struct worker *worker, struct why *why) {
    while (worker->is_asked) /* by another fiber */
        fiber_sleep(worker->loop, 1);
    if (worker->broken.text[0] != '\0')
        return why_set(why, "%.1000s", worker->broken.text);
    if (worker->is_killed || worker->has_exited)
        return why_set(why, "worker %u was killed", worker->number + 1);
    worker->is_asked = true;
    worker->answered = (struct fiber_event)FIBER_EVENT_INIT;
    worker->answer = (struct worker_answer){.sent_ns = clock_now_ns()};
    return 0;
}

int worker_await_ready(struct worker *worker, uint64_t ms, struct why *why) {
    if (worker_begin(worker, why) != 0)
        return -1;
    if (worker->is_ready)
        worker_wake(worker);
    return worker_expect(worker, ms, "(its start)", why);
}

int worker_ask(struct worker *worker, const char *request, uint64_t ms,
               struct worker_answer *answer, struct why *why) {
    if (worker_begin(worker, why) != 0)
        return -1;
    if (worker_send(worker, request) != 0)
        worker_break(worker, "it does not read its input");
    if (worker_expect(worker, ms, request, why) != 0)
        return -1;
    *answer = worker->answer;
    return 0;
}

/* ---- its child */

int worker_fork(struct worker *worker, uint64_t ms, struct worker **child, struct why *why) {
    struct worker *born = worker->child;
    struct worker_answer answer;

    assert(born != NULL);
    if (worker_ask(worker, "fork", ms, &answer, why) != 0)
        return -1;
    if (answer.line.word == LINE_ERROR)
        return why_set(why, "worker %u cannot fork: %s", worker->number + 1, answer.line.text);
    if (answer.line.word != LINE_FORKED)
        return why_set(why, "worker %u answered \"%s\" to \"fork\"", worker->number + 1,
                       line_word_text(answer.line.word));
    if (!group_has(worker->pid, answer.line.pid))
        return why_set(why,
                       "worker %u said that process %d is its child, and it is not in its group",
                       worker->number + 1, answer.line.pid);
    born->pid = answer.line.pid;
    born->parent = worker->pid;
    (void)uv_read_start((uv_stream_t *)&born->pipes[1], worker_on_room, worker_on_output);
    if (worker_await_ready(born, ms, why) != 0)
        return -1;
    worker->child = NULL;
    *child = born;
    return 0;
}

void worker_end_child(struct worker *child, uint64_t ms) {
    const int64_t ends_ns = clock_now_ns() + (int64_t)ms * 1000000;

    worker_shut(&child->pipes[0]);
    while (group_has(child->parent, child->pid) && clock_now_ns() < ends_ns)
        fiber_sleep(child->loop, 1);
    worker_kill(child);
}

/* ---- its processes */

int worker_stop(struct worker *worker) {
    int code = 0;

    assert(!is_child(worker));
    if (worker->has_exited || cgroup_stop(&worker->cgroup) != 0)
        return -1;
    worker->is_stopped = true;
    for (int i = 0; i < STOP_TRIES && code == 0; i++) {
        code = worker->has_exited ? -1 : cgroup_has_stopped(&worker->cgroup);
        if (code == 0)
            fiber_sleep(worker->loop, 1);
    }
    return code > 0 ? 0 : -1;
}

void worker_continue(struct worker *worker) {
    worker->is_stopped = false;
    worker->ran_ns = clock_now_ns();
    if (!worker->has_exited)
        cgroup_continue(&worker->cgroup);
}

void worker_kill(struct worker *worker) {
    worker->is_killed = true;
    worker->is_stopped = false;
    if (is_child(worker)) {
        if (worker->pid != 0 && group_has(worker->parent, worker->pid))
            (void)uv_kill(worker->pid, SIGKILL);
    } else if (!worker->has_exited) {
        cgroup_kill(&worker->cgroup);
    }
}

bool worker_is_alive(const struct worker *worker) {
    return !worker->has_exited && !worker->is_killed;
}

bool worker_is_ending(const struct worker *worker) {
    return uv_is_active((const uv_handle_t *)&worker->ending) != 0;
}

const char *worker_broken(const struct worker *worker) {
    return worker->broken.text[0] != '\0' ? worker->broken.text : NULL;
}

bool worker_is_silent(const struct worker *worker) {
    return worker->is_silent;
}

int worker_group(const struct worker *worker) {
    return worker->pid;
}

unsigned worker_caps(const struct worker *worker) {
    return worker->caps;
}

unsigned worker_number(const struct worker *worker) {
    return worker->number;
}

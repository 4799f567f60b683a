/* Five handles live while the command runs: the process, its three pipes, and the timer. The fiber
 * goes on when the last of them is closed. */
#include "query_command.h"

#include "fiber.h"
#include "loop.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 64
#define TOLD      512 /* bytes kept of its errors */

struct run {
    uv_loop_t *loop;
    uv_process_t process;
    uv_pipe_t pipes[3];
    uv_timer_t timer;
    uv_write_t write;
    unsigned open; /* handles that are not closed */
    bool has_exited, is_late, is_too_much;
    int64_t exit_code;
    int signal;
    struct buffer *output;
    char told[TOLD];
    size_t told_length;
    char read[16 * 1024];
    struct fiber_event ended;
};

static void run_on_closed(uv_handle_t *handle) {
    struct run *run = handle->data;

    assert(run->open > 0);
    if (--run->open == 0)
        fiber_event_set(&run->ended);
}

static void run_close(void *handle) {
    if (!uv_is_closing(handle))
        uv_close(handle, run_on_closed);
}

static void run_kill(const struct run *run) {
    if (!run->has_exited)
        (void)uv_kill(-run->process.pid, SIGKILL);
}

/* Kills the rest of its group, so that the pipes end. */
static void query_on_exit(uv_process_t *process, int64_t exit_code, int number) {
    struct run *run = process->data;

    (void)uv_kill(-process->pid, SIGKILL);
    run->has_exited = true;
    run->exit_code = exit_code;
    run->signal = number;
    run_close(process);
    run_close(&run->timer);
    run_close(&run->pipes[0]);
}

static void on_late(uv_timer_t *timer) {
    struct run *run = timer->data;

    run->is_late = true;
    run_kill(run);
}

static void query_on_written(uv_write_t *write, int status) {
    struct run *run = write->data;

    (void)status; /* a command may end without reading its input */
    run_close(&run->pipes[0]);
}

static void query_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct run *run = handle->data;

    (void)suggested;
    *buf = uv_buf_init(run->read, sizeof run->read);
}

static void query_on_output(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct run *run = stream->data;

    if (length < 0) {
        run_close(stream);
    } else if (run->output->length + (size_t)length > QUERY_OUTPUT_BYTES ||
               (length > 0 && !buffer_append(run->output, buf->base, (size_t)length))) {
        run->is_too_much = true;
        run_kill(run);
    }
}

/* Keeps the beginning, which has the reason. */
static void query_on_errors(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct run *run = stream->data;
    const size_t room = sizeof run->told - 1 - run->told_length;

    if (length < 0) {
        run_close(stream);
        return;
    }
    if ((size_t)length < room)
        memcpy(run->told + run->told_length, buf->base, (size_t)length);
    else
        memcpy(run->told + run->told_length, buf->base, room);
    run->told_length += (size_t)length < room ? (size_t)length : room;
}

/* Whether it may be split at its blanks: no character needs a shell, and it is not too long. */
static bool is_plain(const char *command) {
    size_t blanks = 0;

    for (const char *at = command; *at != '\0'; at++)
        blanks += *at == ' ' || *at == '\t';
    return blanks < WORDS_MAX - 2 &&
           command[strcspn(command, "|&;<>()$`\\\"'*?[]#~=%!{}\n")] == '\0';
}

/* Splits a plain command into words, in place; or gives it to a shell. */
static void make_words(char *command, char *words[WORDS_MAX]) {
    static char shell[] = "/bin/sh", option[] = "-c";
    char *rest = command, *word;
    size_t count = 0;

    if (is_plain(command)) {
        while ((word = strsep(&rest, " \t")) != NULL)
            if (word[0] != '\0')
                words[count++] = word;
        if (count > 0)
            return;
    }
    words[0] = shell;
    words[1] = option;
    words[2] = command;
    words[3] = NULL;
}

static int run_start(struct run *run, char *command) {
    char *words[WORDS_MAX] = {NULL};
    uv_stdio_container_t streams[3];
    uv_process_options_t options = {.exit_cb = query_on_exit,
                                    .args = words,
                                    .flags = UV_PROCESS_DETACHED, /* its own group */
                                    .stdio_count = 3,
                                    .stdio = streams};

    make_words(command, words);
    options.file = words[0];
    for (size_t i = 0; i < 3; i++) {
        (void)uv_pipe_init(run->loop, &run->pipes[i], 0);
        run->pipes[i].data = run;
        streams[i].flags = UV_CREATE_PIPE | (i == 0 ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
        streams[i].data.stream = (uv_stream_t *)&run->pipes[i];
    }
    (void)uv_timer_init(run->loop, &run->timer);
    run->timer.data = run->process.data = run->write.data = run;
    run->open = 5;
    return uv_spawn(run->loop, &run->process, &options);
}

/* Keeps the first line. A long one ends at a blank, so no half of a secret is left, which no mask
 * would know. */
static void cut_told(struct run *run) {
    char *blank;

    run->told[strcspn(run->told, "\r\n")] = '\0';
    blank = strrchr(run->told, ' ');
    if (strlen(run->told) == sizeof run->told - 1)
        *(blank != NULL ? blank : run->told) = '\0';
}

static int run_judge(struct run *run, uint64_t ms, struct why *why) {
    cut_told(run);
    if (run->is_late)
        return why_set(why, "the command was killed after %" PRIu64 " ms", ms);
    if (run->is_too_much)
        return why_set(why, "the command printed more than 16 MiB");
    if (run->exit_code != 0 || run->signal != 0)
        return why_set(why, "the command ended with %s %d%s%s",
                       run->signal != 0 ? "signal" : "exit code",
                       run->signal != 0 ? run->signal : (int)run->exit_code,
                       run->told_length > 0 ? ": " : "", run->told);
    return 0;
}

int query_command_run(uv_loop_t *loop, const char *command, const struct buffer *input, uint64_t ms,
                      struct buffer *output, struct why *why) {
    struct run *run = calloc(1, sizeof *run);
    char *copy = strdup(command);
    const uv_buf_t bytes = uv_buf_init(input->bytes, (unsigned)input->length);
    int code = -1;

    if (run == NULL || copy == NULL) {
        (void)why_set(why, "out of memory");
        goto end;
    }
    loop_ignore_sigpipe();
    run->loop = loop;
    run->output = output;
    code = run_start(run, copy);
    if (code == 0) {
        (void)uv_timer_start(&run->timer, on_late, ms, 0);
        (void)uv_read_start((uv_stream_t *)&run->pipes[1], query_on_room, query_on_output);
        (void)uv_read_start((uv_stream_t *)&run->pipes[2], query_on_room, query_on_errors);
        if (uv_write(&run->write, (uv_stream_t *)&run->pipes[0], &bytes, 1, query_on_written) != 0)
            run_close(&run->pipes[0]);
    } else {
        run->has_exited = true;
        for (size_t i = 0; i < 3; i++)
            run_close(&run->pipes[i]);
        run_close(&run->timer);
        run_close(&run->process);
    }
    fiber_event_wait(&run->ended);
    code = code != 0 ? why_set(why, "cannot run the command: %s", uv_strerror(code))
                     : run_judge(run, ms, why);
end:
    free(copy);
    free(run);
    return code;
}

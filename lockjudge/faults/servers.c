#include "servers.h"

#include "fiber.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LAST_READS 1024

struct command {
    uv_process_t process;
    uv_pipe_t errors;
    char said[400], room[512]; /* its last line on stderr */
    size_t length;
    int64_t code;
    int signal;
    unsigned open; /* handles */
    struct fiber_event done;
};

static void on_closed(uv_handle_t *handle) {
    struct command *command = handle->data;

    if (--command->open == 0)
        fiber_event_set(&command->done);
}

static void take_errors(struct command *command, const char *bytes, ssize_t size) {
    for (ssize_t i = 0; i < size; i++) {
        if (command->length > 0 && command->said[command->length - 1] == '\n')
            command->length = 0;
        if (command->length < sizeof command->said - 1)
            command->said[command->length++] = bytes[i];
    }
}

/* A server that it started may keep the same stderr open, so it is read only as far as it goes now.
 */
static void on_exit(uv_process_t *process, int64_t code, int number) {
    struct command *command = process->data;
    ssize_t size;
    uv_os_fd_t fd;

    command->code = code;
    command->signal = number;
    if (uv_fileno((uv_handle_t *)&command->errors, &fd) == 0)
        for (int i = 0;
             i < LAST_READS && (size = read(fd, command->room, sizeof command->room)) > 0; i++)
            take_errors(command, command->room, size);
    uv_close((uv_handle_t *)process, on_closed);
    uv_close((uv_handle_t *)&command->errors, on_closed);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    struct command *command = handle->data;

    (void)size;
    *buffer = uv_buf_init(command->room, sizeof command->room);
}

static void on_errors(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    if (size < 0)
        (void)uv_read_stop(stream);
    else
        take_errors(stream->data, buffer->base, size);
}

/* 0, or a libuv code. `done` comes in both cases. */
static int command_start(struct command *command, uv_loop_t *loop, char *line) {
    char shell[] = "/bin/sh", flag[] = "-c", *args[] = {shell, flag, line, NULL};
    uv_stdio_container_t streams[3] = {{.flags = UV_IGNORE},
                                       {.flags = UV_IGNORE},
                                       {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
                                        .data.stream = (uv_stream_t *)&command->errors}};
    uv_process_options_t options = {.exit_cb = on_exit,
                                    .file = shell,
                                    .args = args,
                                    .flags = UV_PROCESS_DETACHED, /* a Ctrl-C is for us alone */
                                    .stdio_count = 3,
                                    .stdio = streams};
    int code;

    (void)uv_pipe_init(loop, &command->errors, 0);
    command->process.data = command->errors.data = command;
    command->open = 2;
    code = uv_spawn(loop, &command->process, &options);
    if (code == 0) {
        (void)uv_read_start((uv_stream_t *)&command->errors, on_room, on_errors);
    } else {
        uv_close((uv_handle_t *)&command->process, on_closed);
        uv_close((uv_handle_t *)&command->errors, on_closed);
    }
    return code;
}

int servers_do(struct servers *servers, const char *words, struct why *why) {
    struct command command = {.done = FIBER_EVENT_INIT};
    char line[1024];
    int code;

    if (snprintf(line, sizeof line, "%s %s", servers->command, words) >= (int)sizeof line)
        return why_set(why, "the command of the server is too long");
    code = command_start(&command, servers->loop, line);
    servers->running = code == 0 ? command.process.pid : 0;
    fiber_event_wait(&command.done);
    servers->running = 0;
    while (command.length > 0 && command.said[command.length - 1] == '\n')
        command.length--;
    command.said[command.length] = '\0';
    if (code != 0)
        return why_set(why, "the command of the server does not start: %s", uv_strerror(code));
    if (command.signal != 0)
        return why_set(why, "the server's command \"%s\" ended by signal %d", words,
                       command.signal);
    if (command.code != 0)
        return why_set(why, "the server's command \"%s\" ended with %" PRId64 ": %s", words,
                       command.code, command.said);
    return 0;
}

bool servers_can(struct servers *servers, const char *word) {
    struct why why;
    char words[64];

    (void)snprintf(words, sizeof words, "can %s", word);
    return servers_do(servers, words, &why) == 0;
}

void servers_kill(struct servers *servers) {
    if (servers->running != 0)
        (void)kill(-servers->running, SIGKILL);
}

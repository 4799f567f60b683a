/* Starts the process, speaks to it, and keeps its history. */
#include "seat.h"

#include "exit_code.h"
#include "json_read.h"
#include "shell_word.h"
#include "tally.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST (1 << 20) /* of progress; a longer one ends the reading */
#define TEXT_MOST 4096      /* other lines are cut */
#define SSH_WORDS 32
#define SSH_LOST  255 /* the exit code of ssh if the connection failed or broke */

/* ---- its progress, and its other lines */

static size_t count_in(const json_t *json, const char *key) {
    return (size_t)json_integer_value(json_object_get(json, key));
}

/* A line of --json-progress. */
static void take_progress(struct seat *seat, const char *line, size_t length) {
    json_t *json = json_read(line, length, NULL);
    const json_t *outcomes = json_object_get(json, "outcomes");

    if (outcomes != NULL) {
        seat->in_flight = count_in(json, "in_flight");
        seat->sold = count_in(json, "sold");
        for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
            seat->by_outcome[i] = count_in(outcomes, record_outcome_name((enum record_outcome)i));
        tally_add(json_object_get(json, "times"), seat->recorder);
        seat->on_change(seat->data);
    }
    json_decref(json);
}

static void seat_take_error(struct seat *seat, const char *line, size_t length) {
    char text[TEXT_MOST + HOST_TEXT + 64];

    if (length > 0 && line[length - 1] == '\r') /* of ssh */
        length--;
    if (length == 0)
        return;
    if (line[0] == '{') {
        take_progress(seat, line, length);
        return;
    }
    (void)snprintf(seat->last, sizeof seat->last, "%.*s", (int)length, line);
    (void)snprintf(text, sizeof text, "part %zu of %zu%s%s: %.*s\n", seat->number, seat->count,
                   seat->host[0] != '\0' ? " on " : "", seat->host,
                   (int)(length < TEXT_MOST ? length : TEXT_MOST), line);
    seat->on_line(seat->data, text);
}

/* ---- its history */

static void seat_keep(struct seat *seat, const char *bytes, size_t length) {
    if (seat->history != NULL && fwrite(bytes, 1, length, seat->history) < length)
        seat->error = errno;
}

static void open_history(struct seat *seat) {
    char path[FOLDER_PATH + 20];

    (void)snprintf(path, sizeof path, "%s/history.ndjson", seat->folder);
    seat->history = fopen(path, "wxe");
    if (seat->history == NULL)
        seat->error = errno;
}

static void close_history(struct seat *seat) {
    if (seat->history != NULL && fclose(seat->history) != 0 && seat->error == 0)
        seat->error = errno;
    seat->history = NULL;
}

/* A shell of the host may write lines before. */
static void seat_take_word(struct seat *seat, const char *line, size_t length) {
    if (seat->is_ready) {
        seat_keep(seat, line, length + 1);
        return;
    }
    if (length != strlen("ready") || memcmp(line, "ready", length) != 0)
        return;
    seat->is_ready = true;
    open_history(seat);
    seat->on_change(seat->data);
}

/* ---- its output and its end */

static void seat_on_closed(uv_handle_t *handle) {
    struct seat *seat = handle->data;

    assert(seat->open_handles > 0);
    seat->open_handles--;
    if (seat->open_handles == 0)
        close_history(seat);
    seat->on_change(seat->data);
}

static void seat_close(uv_handle_t *handle) {
    if (!uv_is_closing(handle))
        uv_close(handle, seat_on_closed);
}

static void seat_on_exit(uv_process_t *process, int64_t code, int number) {
    struct seat *seat = process->data;

    seat->has_exited = true;
    seat->code = code;
    seat->signal = number;
    seat_close((uv_handle_t *)process);
    seat_close((uv_handle_t *)&seat->in);
    seat->on_change(seat->data);
}

static void seat_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct seat *seat = handle->data;

    (void)suggested;
    *buf = uv_buf_init(seat->read, sizeof seat->read);
}

/* Takes whole lines from the front of the buffer. */
static void take_lines(struct seat *seat, struct buffer *buffer,
                       void (*take)(struct seat *, const char *line, size_t length)) {
    size_t from = 0;
    const char *end;

    while (buffer->length > from &&
           (end = memchr(buffer->bytes + from, '\n', buffer->length - from)) != NULL) {
        take(seat, buffer->bytes + from, (size_t)(end - buffer->bytes) - from);
        from = (size_t)(end - buffer->bytes) + 1;
    }
    buffer_drop_front(buffer, from);
}

static void seat_on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct seat *seat = stream->data;
    const bool is_error = stream == (uv_stream_t *)&seat->errors;
    struct buffer *buffer = is_error ? &seat->told : &seat->said;

    if (length > 0)
        seat->silent_s = 0;
    if (length < 0 || (length > 0 && !buffer_append(buffer, buf->base, (size_t)length)) ||
        buffer->length > LINE_MOST + sizeof seat->read) {
        seat_close((uv_handle_t *)stream);
        return;
    }
    if (is_error || !seat->is_ready)
        take_lines(seat, buffer, is_error ? seat_take_error : seat_take_word);
    if (!is_error && seat->is_ready) {
        seat_keep(seat, buffer->bytes, buffer->length);
        buffer_drop_front(buffer, buffer->length);
    }
}

/* ---- the process */

/* A session of its own: the terminal sends it no Ctrl-C. */
static int spawn(struct seat *seat, const char *file, const char *const *words) {
    uv_stdio_container_t streams[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&seat->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&seat->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&seat->errors}};
    const uv_process_options_t options = {.exit_cb = seat_on_exit,
                                          .file = file,
                                          .args = (char **)(uintptr_t)words,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = streams};

    (void)uv_pipe_init(seat->loop, &seat->in, 0);
    (void)uv_pipe_init(seat->loop, &seat->out, 0);
    (void)uv_pipe_init(seat->loop, &seat->errors, 0);
    seat->process.data = seat->in.data = seat->out.data = seat->errors.data = seat;
    seat->open_handles = 4;
    return uv_spawn(seat->loop, &seat->process, &options);
}

/* Fills in the words after the program, up to a NULL. */
static void add_words(const struct seat *seat, char part[48], const char **words) {
    (void)snprintf(part, 48, "%zu/%zu", seat->number, seat->count);
    *words++ = "send";
    *words++ = "--part";
    *words++ = part;
    *words++ = "--plan";
    *words++ = "-";
    *words++ = "--json-progress";
    *words++ = seat->is_realtime_wanted ? NULL : "--no-realtime";
    *words = NULL;
}

static int spawn_here(struct seat *seat) {
    const char *words[10] = {"loadgen"};
    char part[48];

    add_words(seat, part, words + 1);
    return spawn(seat, "/proc/self/exe", words);
}

/* ssh joins its words for the shell of the host: so each is quoted. NULL: no memory. */
static char *remote_command(const struct seat *seat) {
    const char *words[10] = {seat->program};
    char part[48], *command = NULL;
    size_t size;
    FILE *to = open_memstream(&command, &size);

    add_words(seat, part, words + 1);
    for (size_t i = 0; to != NULL && words[i] != NULL; i++) {
        fputs(i > 0 ? " " : "", to);
        shell_word_print(words[i], strlen(words[i]), to);
    }
    if (to != NULL && fclose(to) == 0)
        return command;
    free(command);
    return NULL;
}

/* ssh asks nothing, gives a silent host up after 15 s, and leaves no process that would hold these
 * pipes. Its first word for an option counts, so the caller's --ssh may say otherwise. */
static int spawn_there(struct seat *seat) {
    static const char *const options[] = {"-T",
                                          "-oBatchMode=yes",
                                          "-oControlMaster=no",
                                          "-oConnectTimeout=10",
                                          "-oServerAliveInterval=5",
                                          "-oServerAliveCountMax=3"};
    const char *words[SSH_WORDS + sizeof options / sizeof *options + 3];
    char *ssh = strdup(seat->ssh), *command = remote_command(seat), *rest;
    size_t count = 0;
    int rc = UV_ENOMEM;

    for (char *word = ssh != NULL ? strtok_r(ssh, " ", &rest) : NULL;
         word != NULL && count < SSH_WORDS; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        words[count++] = options[i];
    words[count++] = seat->host;
    words[count++] = command;
    words[count] = NULL;
    if (ssh != NULL && command != NULL)
        rc = spawn(seat, words[0], words);
    free(command);
    free(ssh);
    return rc;
}

int seat_start(struct seat *seat, const char *plan, size_t length) {
    const uv_buf_t buf = uv_buf_init((char *)(uintptr_t)plan, (unsigned)length);
    const int rc = seat->host[0] != '\0' ? spawn_there(seat) : spawn_here(seat);

    if (rc == 0) {
        (void)uv_read_start((uv_stream_t *)&seat->out, seat_on_room, seat_on_read);
        (void)uv_read_start((uv_stream_t *)&seat->errors, seat_on_room, seat_on_read);
        (void)uv_write(&seat->plan, (uv_stream_t *)&seat->in, &buf, 1, NULL);
        return 0;
    }
    seat->has_exited = true;
    if (seat->open_handles == 0) /* no memory for the words */
        return rc;
    seat_close((uv_handle_t *)&seat->process);
    seat_close((uv_handle_t *)&seat->in);
    seat_close((uv_handle_t *)&seat->out);
    seat_close((uv_handle_t *)&seat->errors);
    return rc;
}

/* A process that died gets nothing; its exit tells. */
void seat_tell(struct seat *seat, const char *text) {
    const uv_buf_t buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));

    if (!uv_is_closing((uv_handle_t *)&seat->in))
        (void)uv_write(&seat->word, (uv_stream_t *)&seat->in, &buf, 1, NULL);
}

void seat_stop(struct seat *seat) {
    if (seat->open_handles > 0)
        seat_close((uv_handle_t *)&seat->in);
}

/* Seconds are counted, not measured: if this machine stands still, its parts may stand still, too. */
void seat_pass_second(struct seat *seat) {
    if (!seat->has_exited && ++seat->silent_s == SEAT_SILENT_S)
        (void)uv_process_kill(&seat->process, SIGKILL);
}

/* A known cause of an exit code of ssh, or of loadgen on a host; or NULL. */
static const char *cause_of(const struct seat *seat) {
    if (seat->code == SSH_LOST)
        return seat->is_ready ? "the connection broke" : "ssh does not reach it";
    if (seat->is_ready)
        return NULL;
    if (seat->code == 126 || seat->code == 127) /* of its shell */
        return "loadgen does not run there: install it, or name it with --remote-loadgen";
    return seat->code == EXIT_UNREACHABLE
               ? "--target and --inventory-db must lead to the servers from there"
               : NULL;
}

bool seat_has_sent(const struct seat *seat, struct why *why) {
    const bool is_far = seat->host[0] != '\0';
    const char *cause = is_far ? cause_of(seat) : NULL, *sign = seat->last[0] != '\0' ? ": " : "";
    char at[HOST_TEXT + 16] = "";

    if (seat->is_ready && seat->error == 0 && seat->signal == 0 &&
        (seat->code == 0 || seat->code == 130))
        return true;
    if (is_far)
        (void)snprintf(at, sizeof at, "host %s: ", seat->host);
    if (seat->error != 0)
        (void)why_set(why, "%sits history could not be kept: %s", at, strerror(seat->error));
    else if (seat->silent_s >= SEAT_SILENT_S)
        (void)why_set(why, "%sit was silent for %d s, and was given up", at, SEAT_SILENT_S);
    else if (seat->signal != 0)
        (void)why_set(why, "%sit was killed by signal %d", at, seat->signal);
    else if (cause != NULL)
        (void)why_set(why, "%s%s%s%s", at, cause, sign, seat->last);
    else
        (void)why_set(why, "%sit ended with the exit code %" PRId64 "%s%s", at, seat->code, sign,
                      seat->last);
    return false;
}

void seat_free(struct seat *seat) {
    assert(seat->open_handles == 0 && seat->history == NULL);
    buffer_free(&seat->said);
    buffer_free(&seat->told);
}

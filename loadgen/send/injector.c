/* Runs the commands of scripts/stack, each in a process of its own. */
#include "injector.h"

#include "clock.h"
#include "fiber.h"
#include "utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define READY_MS 30000
#define END_MS   240000 /* the script itself waits for a lock and for each server */
#define LOOK_MS  2
#define SAID     256 /* kept bytes of a command's output */
#define HANDLES  4   /* of a step */

enum step_kind { ACT, RESUME, MEND };

struct injector_step {
    struct injector *injector;
    enum step_kind kind;
    struct injector_act *act;    /* NULL for MEND */
    struct injector_step *after; /* of an ACT with a pause: its RESUME; else NULL */
    uv_process_t process;
    uv_pipe_t in, out;
    uv_timer_t timer;
    uv_write_t write;
    int64_t due_ns, began_ns, ended_ns;
    int64_t status;
    bool is_waiting, has_exited;
    size_t length;
    char said[SAID]; /* its output; first the line "waiting" */
};

/* ---- the output of a command */

/* The first line of its output, after "waiting", is the reason. */
static void injector_note_failure(struct injector_step *step) {
    struct injector *injector = step->injector;
    char *line = step->said;

    if (injector->why.text[0] != '\0')
        return;
    if (step->is_waiting)
        line += strcspn(line, "\n") + 1;
    line[strcspn(line, "\n")] = '\0';
    utf8_make_printable(line);
    if (step->kind == MEND)
        why_set(&injector->why, "not all servers came up again after the faults: %s", line);
    else
        why_set(&injector->why, "the fault %s failed: %s", step->act->fault->text,
                line[0] != '\0' ? line : "the script gave no reason");
}

static void injector_on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer) {
    struct injector_step *step = handle->data;
    static char dropped[1024]; /* the rest of the output is not read */

    (void)wanted;
    *buffer = uv_buf_init(dropped, sizeof dropped);
    if (step->length < sizeof step->said - 2)
        *buffer = uv_buf_init(step->said + step->length,
                              (unsigned)(sizeof step->said - 2 - step->length));
}

static void injector_on_said(uv_stream_t *out, ssize_t length, const uv_buf_t *buffer) {
    struct injector_step *step = out->data;

    if (length < 0)
        (void)uv_read_stop(out);
    else if (buffer->base == step->said + step->length)
        step->length += (size_t)length;
    step->is_waiting = step->is_waiting || strncmp(step->said, "waiting\n", 8) == 0;
}

/* ---- the moments */

static void injector_on_written(uv_write_t *write, int status) {
    (void)write;
    (void)status; /* injector_on_ended() notices a command that has ended */
}

static void injector_begin(struct injector_step *step) {
    static char line[] = "\n";
    uv_buf_t buffer = uv_buf_init(line, 1);

    step->began_ns = clock_now_ns();
    if (step->kind == ACT)
        step->act->began_ns = step->began_ns;
    (void)uv_write(&step->write, (uv_stream_t *)&step->in, &buffer, 1, injector_on_written);
}

static void injector_on_moment(uv_timer_t *timer);

/* libuv's timers count whole milliseconds, and may fire a part of one early. */
static void begin_or_wait(struct injector_step *step) {
    const int64_t left_ns = step->due_ns - clock_now_ns();

    if (left_ns <= 0) {
        injector_begin(step);
        return;
    }
    uv_update_time(step->injector->loop);
    (void)uv_timer_start(&step->timer, injector_on_moment, (uint64_t)(left_ns + 999999) / 1000000,
                         0);
}

static void injector_on_moment(uv_timer_t *timer) {
    begin_or_wait(timer->data);
}

static void begin_at(struct injector_step *step, int64_t due_ns) {
    step->due_ns = due_ns;
    begin_or_wait(step);
}

static void injector_on_ended(uv_process_t *process, int64_t status, int signal_number) {
    struct injector_step *step = process->data;

    step->has_exited = true;
    step->status = signal_number != 0 ? -1 : status;
    if (step->began_ns == 0)
        return;
    step->ended_ns = clock_now_ns();
    if (step->kind == ACT)
        step->act->ended_ns = step->ended_ns;
    if (step->status == 0 && step->after != NULL && !uv_is_closing((uv_handle_t *)&step->after->in))
        begin_at(step->after, step->ended_ns + step->act->fault->span_ns);
}

void injector_start(struct injector *injector, int64_t start_ns) {
    for (size_t i = 0; i < injector->step_count; i++)
        if (injector->steps[i].kind == ACT)
            begin_at(&injector->steps[i], start_ns + injector->steps[i].act->fault->at_ns);
}

/* ---- opening */

static void set_command(const struct injector_step *step, const char *stack, const char *args[5]) {
    const char *verb = step->kind == ACT ? fault_verb_name(step->act->fault->verb) : "resume";
    const bool is_named =
        step->kind == RESUME || (step->kind == ACT && step->act->fault->verb != FAULT_FAILOVER);

    args[0] = stack;
    args[1] = step->kind == MEND ? "--on-end" : "--on-line";
    args[2] = step->kind == MEND ? "start" : verb;
    args[3] = is_named ? step->act->fault->server : NULL;
    args[4] = NULL;
}

static int spawn(struct injector_step *step, const char *stack) {
    const char *args[5];
    uv_stdio_container_t streams[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&step->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&step->out},
        {.flags = UV_IGNORE}};
    const uv_process_options_t options = {
        .exit_cb = injector_on_ended,
        .file = stack,
        .args = (char **)(void *)args,
        .flags = UV_PROCESS_DETACHED, /* our Ctrl-C does not reach it */
        .stdio_count = 3,
        .stdio = streams};
    uv_loop_t *loop = step->injector->loop;
    int rc;

    set_command(step, stack, args);
    step->process.data = step->in.data = step->out.data = step->timer.data = step;
    (void)uv_pipe_init(loop, &step->in, 0);
    (void)uv_pipe_init(loop, &step->out, 0);
    (void)uv_timer_init(loop, &step->timer);
    rc = uv_spawn(loop, &step->process, &options);
    step->injector->open_handles += HANDLES;
    if (rc == 0)
        return uv_read_start((uv_stream_t *)&step->out, injector_on_room, injector_on_said);
    step->has_exited = true;
    return rc;
}

static struct injector_step *injector_add_step(struct injector *injector, enum step_kind kind,
                                               struct injector_act *act) {
    struct injector_step *step = &injector->steps[injector->step_count++];

    step->injector = injector;
    step->kind = kind;
    step->act = act;
    return step;
}

static void injector_lay_out(struct injector *injector, const struct fault_list *faults) {
    injector->act_count = faults->count;
    for (size_t i = 0; i < faults->count; i++) {
        struct injector_step *step;

        injector->acts[i] = (struct injector_act){.fault = &faults->items[i]};
        step = injector_add_step(injector, ACT, &injector->acts[i]);
        if (faults->items[i].verb == FAULT_PAUSE)
            step->after = injector_add_step(injector, RESUME, &injector->acts[i]);
    }
    injector_add_step(injector, MEND, NULL);
}

static bool is_settled(const struct injector_step *step) {
    return step->is_waiting || step->has_exited;
}

static bool injector_has_ended(const struct injector_step *step) {
    return step->has_exited;
}

/* Waits for the first `count` steps, one after the other: the condition of a step stays true. */
static void wait_until_all(struct injector *injector, size_t count,
                           bool (*are)(const struct injector_step *), int64_t most_ms) {
    const int64_t deadline_ms = clock_now_ms() + most_ms;

    for (size_t i = 0; i < count; i++)
        while (!are(&injector->steps[i]) && clock_now_ms() < deadline_ms)
            fiber_sleep(injector->loop, LOOK_MS);
}

/* ---- closing */

static void injector_on_closed(uv_handle_t *handle) {
    struct injector_step *step = handle->data;

    assert(step->injector->open_handles > 0);
    step->injector->open_handles--;
}

static void free_steps(struct injector *injector) {
    for (size_t i = 0; i < injector->step_count && injector->open_handles > 0; i++) {
        struct injector_step *step = &injector->steps[i];

        if (step->in.data == NULL) /* spawn() did not get to it */
            break;
        if (!step->has_exited)
            (void)uv_process_kill(&step->process, SIGKILL);
        if (!uv_is_closing((uv_handle_t *)&step->in))
            uv_close((uv_handle_t *)&step->in, injector_on_closed);
        uv_close((uv_handle_t *)&step->process, injector_on_closed);
        uv_close((uv_handle_t *)&step->out, injector_on_closed);
        uv_close((uv_handle_t *)&step->timer, injector_on_closed);
    }
    while (injector->open_handles > 0)
        fiber_sleep(injector->loop, 1);
    free(injector->steps);
    injector->steps = NULL;
    injector->step_count = 0;
}

/* At the end of its pipe MEND starts, and a command that has not started ends. */
static void end_input(struct injector_step *step) {
    if (step->kind == MEND)
        step->began_ns = clock_now_ns();
    (void)uv_timer_stop(&step->timer);
    uv_close((uv_handle_t *)&step->in, injector_on_closed);
}

static void note_failures(struct injector *injector) {
    for (size_t i = 0; i < injector->step_count; i++) {
        struct injector_step *step = &injector->steps[i];

        if (!step->has_exited || step->status != 0)
            injector_note_failure(step);
    }
}

/* Whether the step starts the server that `act` has stopped. */
static bool is_cure(const struct injector_step *step, const struct injector_act *act) {
    enum fault_verb verb;

    if (step->kind != ACT)
        return step->act == act; /* RESUME ends its pause */
    verb = step->act->fault->verb;
    return (verb == FAULT_RESTART || verb == FAULT_START || verb == FAULT_FAILOVER) &&
           strcmp(step->act->fault->server, act->fault->server) == 0;
}

/* The moment when a later fault, or MEND, started the server again. */
static int64_t find_until(const struct injector *injector, const struct injector_act *act) {
    const struct injector_step *last = &injector->steps[injector->step_count - 1];
    int64_t until_ns = last->ended_ns;

    if (act->fault->verb != FAULT_KILL && act->fault->verb != FAULT_PAUSE)
        return act->ended_ns;
    for (size_t i = 0; i < injector->step_count; i++) {
        const struct injector_step *step = &injector->steps[i];

        if (is_cure(step, act) && step->ended_ns > act->ended_ns && step->ended_ns < until_ns)
            until_ns = step->ended_ns;
    }
    return until_ns;
}

void injector_close(struct injector *injector) {
    struct injector_step *mend = &injector->steps[injector->step_count - 1];

    assert(mend->kind == MEND);
    for (size_t i = 0; i + 1 < injector->step_count; i++)
        end_input(&injector->steps[i]);
    wait_until_all(injector, injector->step_count - 1, injector_has_ended, END_MS);
    end_input(mend);
    wait_until_all(injector, injector->step_count, injector_has_ended, END_MS);
    note_failures(injector);
    for (size_t i = 0; i < injector->act_count; i++)
        if (injector->acts[i].began_ns != 0)
            injector->acts[i].until_ns = find_until(injector, &injector->acts[i]);
    free_steps(injector);
}

int injector_open(struct injector *injector, uv_loop_t *loop, const char *stack,
                  const struct fault_list *faults) {
    int rc = 0;

    injector->loop = loop;
    injector->why.text[0] = '\0';
    injector->steps = calloc(2 * faults->count + 1, sizeof *injector->steps);
    if (injector->steps == NULL)
        return why_set(&injector->why, "out of memory");
    injector_lay_out(injector, faults);
    for (size_t i = 0; i < injector->step_count && rc == 0; i++)
        rc = spawn(&injector->steps[i], stack);
    if (rc == 0)
        wait_until_all(injector, injector->step_count, is_settled, READY_MS);
    for (size_t i = 0; i < injector->step_count && rc == 0; i++)
        if (!injector->steps[i].is_waiting || injector->steps[i].has_exited) {
            injector_note_failure(&injector->steps[i]);
            rc = UV_EIO;
        }
    if (rc != 0 && injector->why.text[0] == '\0')
        why_set(&injector->why, "%s: %s", stack, uv_strerror(rc));
    if (rc != 0)
        free_steps(injector);
    return rc == 0 ? 0 : -1;
}

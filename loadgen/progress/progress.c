/* A timer samples the recorder, and draws. */
#include "progress.h"

#include "clock.h"
#include "json_read.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIEW_MS       250
#define PLAIN_MS      1000
#define PLAIN_COLUMNS 120
#define ASK_MS        1000 /* an older answer about the stock is useless */
#define WIPE_MS       1000 /* longest wait for a stopped terminal, between rounds */

/* ---- the target: one GET /products/{id} at a time */

static void progress_read_reply(struct progress *progress, const json_t *reply) {
    const json_t *available = json_object_get(reply, "available");
    const json_t *returned = json_object_get(reply, "returned");
    const char *holder = json_string_value(json_object_get(reply, "holder"));
    struct progress_snapshot *round = &progress->round;

    if (!json_is_integer(available) ||
        __builtin_add_overflow(json_integer_value(available), json_integer_value(returned),
                               &round->left))
        round->left = -1;
    round->has_holder = round->has_holder || holder != NULL;
    snprintf(progress->holder, sizeof progress->holder, "%s", holder != NULL ? holder : "");
    round->holder = progress->holder[0] != '\0' ? progress->holder : NULL;
}

static void progress_on_answer(struct http_call *call) {
    struct progress *progress = call->data;
    json_t *reply = NULL;

    assert(progress->is_asking);
    progress->is_asking = false;
    if (!progress->is_current)
        return;
    if (call->outcome == HTTP_CALL_ANSWERED && call->status == 200)
        reply = json_read(call->reply, call->reply_length, NULL);
    progress_read_reply(progress, reply);
    json_decref(reply);
}

/* Does not wait for the answer. */
static void progress_ask(struct progress *progress) {
    if (progress->is_asking || progress->path[0] == '\0')
        return;
    progress->is_asking = progress->is_current = true;
    progress->call = (struct http_call){.method = "GET",
                                        .target = progress->path,
                                        .deadline_ms = clock_now_ms() + ASK_MS,
                                        .data = progress};
    http_call_start(progress->client, &progress->call, progress_on_answer);
}

/* ---- the recorder */

/* After Ctrl-Z and fg the shell has written below the view. The loop would deliver a watched signal
 * only after the timer. */
static volatile sig_atomic_t is_resumed;

static void on_resumed(int number) {
    (void)number;
    is_resumed = 1;
}

/* Rates are since the oldest sample, a second ago. */
static void take_sample(struct progress *progress, struct progress_snapshot *snapshot) {
    const struct recorder *recorder = progress->recorder;
    const struct progress_sample now = {clock_now_ns(), recorder->count, recorder->answered};
    size_t most = progress->mode == PROGRESS_PLAIN ? 2 : PROGRESS_SAMPLES;
    double seconds;

    if (progress->sample_count == most) {
        memmove(progress->samples, progress->samples + 1, (most - 1) * sizeof now);
        progress->sample_count--;
    }
    progress->samples[progress->sample_count++] = now;
    seconds = (double)(now.at_ns - progress->samples[0].at_ns) / 1e9;
    if (seconds > 0) {
        snapshot->offered = (double)(now.due - progress->samples[0].due) / seconds;
        snapshot->achieved = (double)(now.answered - progress->samples[0].answered) / seconds;
    }
    if (recorder->start_ns != 0 && now.at_ns > recorder->start_ns)
        snapshot->elapsed_ns = now.at_ns - recorder->start_ns;
}

void progress_phase(struct progress *progress, enum progress_phase phase) {
    if (phase > progress->round.phase)
        progress->round.phase = phase;
}

void progress_prepared(struct progress *progress, size_t prepared) {
    progress->round.prepared = prepared;
}

static void progress_look(struct progress *progress, struct progress_snapshot *snapshot) {
    const struct recorder *recorder = progress->recorder;

    assert(progress->is_running);
    if (progress->round.phase >= PROGRESS_SENDING && recorder->count == recorder->planned)
        progress_phase(progress, PROGRESS_WAITING);
    *snapshot = progress->round;
    snapshot->in_flight = recorder->count - recorder->ended;
    snapshot->p99_ns =
        recorder->latency.count > 0 ? histogram_percentile(&recorder->latency, 99) : -1;
    snapshot->sold = recorder->by_outcome[RECORD_SOLD] - recorder->sold_again;
    memcpy(snapshot->outcomes, recorder->by_outcome, sizeof snapshot->outcomes);
    take_sample(progress, snapshot);
}

/* Draws the view, or prints a line. The last line of an ended round stays. */
static void progress_write(struct progress *progress, const struct progress_snapshot *snapshot) {
    struct progress_frame frame;
    char text[sizeof frame.text + 1], *json;

    if (progress->mode == PROGRESS_JSON) {
        json = progress_json(snapshot, progress->tally != NULL
                                           ? tally_json(progress->tally, progress->recorder)
                                           : NULL);
        if (json != NULL)
            screen_say(&progress->screen, json);
        free(json);
        return;
    }
    if (progress->mode == PROGRESS_VIEW)
        screen_size(&progress->screen, &progress->style.columns, &progress->style.rows);
    if (progress->mode == PROGRESS_VIEW || snapshot->verdict != NULL)
        progress_draw(snapshot, &progress->style, &frame);
    else
        (void)progress_line(snapshot, frame.text, sizeof frame.text);
    if (progress->mode == PROGRESS_VIEW && snapshot->verdict == NULL) {
        if (is_resumed)
            progress->screen.lines = 0;
        is_resumed = 0;
        screen_show(&progress->screen, &frame);
    } else {
        (void)snprintf(text, sizeof text, "%s\n", frame.text);
        screen_say(&progress->screen, text);
    }
}

static void progress_on_tick(uv_timer_t *timer) {
    struct progress *progress = timer->data;
    struct progress_snapshot snapshot;

    progress_look(progress, &snapshot);
    if (progress->mode != PROGRESS_PLAIN)
        progress_ask(progress);
    if (screen_is_ready(&progress->screen))
        progress_write(progress, &snapshot);
}

static bool progress_is_set(const char *variable) {
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

/* Decides like the C library: the first variable that is set counts. */
static bool is_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (progress_is_set(variables[i]))
            return strcasestr(getenv(variables[i]), "utf-8") != NULL ||
                   strcasestr(getenv(variables[i]), "utf8") != NULL;
    return false;
}

void progress_init(struct progress *progress, uv_loop_t *loop, enum progress_mode wanted) {
    const struct sigaction resumed = {.sa_handler = on_resumed, .sa_flags = SA_RESTART};

    *progress = (struct progress){.mode = wanted};
    if (wanted == PROGRESS_VIEW &&
        (!progress_is_set("TERM") || strcmp(getenv("TERM"), "dumb") == 0 || !isatty(STDERR_FILENO)))
        progress->mode = PROGRESS_PLAIN;
    progress->style = (struct progress_style){.columns = PLAIN_COLUMNS};
    if (progress->mode == PROGRESS_VIEW)
        progress->style = (struct progress_style){.is_coloured = !progress_is_set("NO_COLOR"),
                                                  .is_utf8 = is_utf8()};
    screen_open(&progress->screen);
    (void)uv_timer_init(loop, &progress->timer);
    progress->timer.data = progress;
    uv_unref((uv_handle_t *)&progress->timer);
    if (progress->mode == PROGRESS_VIEW)
        (void)sigaction(SIGCONT, &resumed, NULL);
}

void progress_start(struct progress *progress, const struct progress_snapshot *round,
                    const struct recorder *recorder, struct http_client *client,
                    const char *product_id) {
    if (progress->mode == PROGRESS_QUIET)
        return;
    assert(!progress->is_running);
    progress->round = *round;
    progress->round.left = -1;
    progress->recorder = recorder;
    progress->is_running = true;
    progress->sample_count = 0;
    progress->client = client;
    progress->path[0] = '\0';
    if (product_id != NULL)
        snprintf(progress->path, sizeof progress->path, "/products/%s", product_id);
    if (progress->mode != PROGRESS_PLAIN) {
        (void)uv_timer_start(&progress->timer, progress_on_tick, 0, VIEW_MS);
    } else {
        struct progress_snapshot first;

        progress_look(progress, &first); /* the base of the first line's rates */
        (void)uv_timer_start(&progress->timer, progress_on_tick, PLAIN_MS, PLAIN_MS);
    }
}

void progress_stop(struct progress *progress) {
    if (!progress->is_running)
        return;
    progress->is_running = false;
    (void)uv_timer_stop(&progress->timer);
    progress->is_current = false; /* a call may be open */
    screen_say(&progress->screen, "");
    screen_flush(&progress->screen, WIPE_MS);
}

void progress_end(struct progress *progress, const char *verdict, enum progress_tone tone) {
    struct progress_snapshot snapshot;

    if (!progress->is_running)
        return;
    progress->round.verdict = verdict;
    progress->round.tone = tone;
    progress_look(progress, &snapshot);
    progress_write(progress, &snapshot);
    progress_stop(progress);
}

/* A terminal has echoed ^C at the cursor: in the view, or else on a line that must end now. */
void progress_say(struct progress *progress, const char *text) {
    if (progress->screen.lines == 0 && isatty(STDERR_FILENO))
        screen_say(&progress->screen, "\n");
    screen_say(&progress->screen, text);
}

void progress_close(struct progress *progress) {
    progress_stop(progress);
    screen_close(&progress->screen);
    uv_close((uv_handle_t *)&progress->timer, NULL);
}

/* Samples the recorder by a timer, and draws. */
#include "live.h"

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
#define ASK_MS        1000 /* what was left longer ago than this is no news */
#define WIPE_MS       1000 /* how long to wait, between rounds, for a terminal that is stopped */

/* ---- what the target says: one GET /products/{id} at a time */

static void live_read_reply(struct live *live, const json_t *reply) {
    const json_t *available = json_object_get(reply, "available");
    const json_t *returned = json_object_get(reply, "returned");
    const char *holder = json_string_value(json_object_get(reply, "holder"));
    struct live_snapshot *round = &live->round;

    if (!json_is_integer(available) ||
        __builtin_add_overflow(json_integer_value(available), json_integer_value(returned),
                               &round->left))
        round->left = -1;
    round->has_holder = round->has_holder || holder != NULL;
    snprintf(live->holder, sizeof live->holder, "%s", holder != NULL ? holder : "");
    round->holder = live->holder[0] != '\0' ? live->holder : NULL;
}

static void live_on_answer(struct http_call *call) {
    struct live *live = call->data;
    json_t *reply = NULL;

    assert(live->is_asking);
    live->is_asking = false;
    if (!live->is_current)
        return;
    if (call->outcome == HTTP_CALL_ANSWERED && call->status == 200)
        reply = json_read(call->reply, call->reply_length, NULL);
    live_read_reply(live, reply);
    json_decref(reply);
}

/* Nobody waits for the answer. */
static void live_ask(struct live *live) {
    if (live->is_asking || live->path[0] == '\0')
        return;
    live->is_asking = live->is_current = true;
    live->call = (struct http_call){.method = "GET",
                                    .target = live->path,
                                    .deadline_ms = clock_now_ms() + ASK_MS,
                                    .data = live};
    http_call_start(live->client, &live->call, live_on_answer);
}

/* ---- what the recorder says */

/* After Ctrl-Z and fg the shell has written below the view. A signal watched by the loop would be
 * told after the timer. */
static volatile sig_atomic_t is_resumed;

static void on_resumed(int number) {
    (void)number;
    is_resumed = 1;
}

/* The rates count from the oldest sample, a second ago. */
static void take_sample(struct live *live, struct live_snapshot *snapshot) {
    const struct recorder *recorder = live->recorder;
    const struct live_sample now = {clock_now_ns(), recorder->count, recorder->answered};
    size_t most = live->mode == LIVE_PLAIN ? 2 : LIVE_SAMPLES;
    double seconds;

    if (live->sample_count == most) {
        memmove(live->samples, live->samples + 1, (most - 1) * sizeof now);
        live->sample_count--;
    }
    live->samples[live->sample_count++] = now;
    seconds = (double)(now.at_ns - live->samples[0].at_ns) / 1e9;
    if (seconds > 0) {
        snapshot->offered = (double)(now.due - live->samples[0].due) / seconds;
        snapshot->achieved = (double)(now.answered - live->samples[0].answered) / seconds;
    }
    if (recorder->start_ns != 0 && now.at_ns > recorder->start_ns)
        snapshot->elapsed_ns = now.at_ns - recorder->start_ns;
}

void live_phase(struct live *live, enum live_phase phase) {
    if (phase > live->round.phase)
        live->round.phase = phase;
}

static void live_look(struct live *live, struct live_snapshot *snapshot) {
    const struct recorder *recorder = live->recorder;

    assert(live->is_running);
    if (recorder->count == recorder->planned)
        live_phase(live, LIVE_WAITING);
    *snapshot = live->round;
    snapshot->in_flight = recorder->count - recorder->ended;
    snapshot->p99_ns =
        recorder->latency.count > 0 ? histogram_percentile(&recorder->latency, 99) : -1;
    snapshot->sold = recorder->by_outcome[RECORD_SOLD] - recorder->sold_again;
    memcpy(snapshot->outcomes, recorder->by_outcome, sizeof snapshot->outcomes);
    take_sample(live, snapshot);
}

/* Of a round that has ended a line stays. */
static void live_write(struct live *live, const struct live_snapshot *snapshot) {
    struct live_frame frame;
    char text[sizeof frame.text + 1], *json;

    if (live->mode == LIVE_JSON) {
        json = live_json(snapshot);
        if (json != NULL)
            screen_say(&live->screen, json);
        free(json);
        return;
    }
    if (live->mode == LIVE_VIEW)
        screen_size(&live->screen, &live->style.columns, &live->style.rows);
    if (live->mode == LIVE_VIEW || snapshot->verdict != NULL)
        live_draw(snapshot, &live->style, &frame);
    else
        (void)live_line(snapshot, frame.text, sizeof frame.text);
    if (live->mode == LIVE_VIEW && snapshot->verdict == NULL) {
        if (is_resumed)
            live->screen.lines = 0;
        is_resumed = 0;
        screen_show(&live->screen, &frame);
    } else {
        (void)snprintf(text, sizeof text, "%s\n", frame.text);
        screen_say(&live->screen, text);
    }
}

static void live_on_tick(uv_timer_t *timer) {
    struct live *live = timer->data;
    struct live_snapshot snapshot;

    live_look(live, &snapshot);
    if (live->mode != LIVE_PLAIN)
        live_ask(live);
    if (screen_is_ready(&live->screen))
        live_write(live, &snapshot);
}

static bool live_is_set(const char *variable) {
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

/* As the C library decides: the first of these that is set counts. */
static bool is_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (live_is_set(variables[i]))
            return strcasestr(getenv(variables[i]), "utf-8") != NULL ||
                   strcasestr(getenv(variables[i]), "utf8") != NULL;
    return false;
}

void live_init(struct live *live, uv_loop_t *loop, enum live_mode wanted) {
    const struct sigaction resumed = {.sa_handler = on_resumed, .sa_flags = SA_RESTART};

    *live = (struct live){.mode = wanted};
    if (wanted == LIVE_VIEW &&
        (!live_is_set("TERM") || strcmp(getenv("TERM"), "dumb") == 0 || !isatty(STDERR_FILENO)))
        live->mode = LIVE_PLAIN;
    live->style = (struct live_style){.columns = PLAIN_COLUMNS};
    if (live->mode == LIVE_VIEW)
        live->style =
            (struct live_style){.is_coloured = !live_is_set("NO_COLOR"), .is_utf8 = is_utf8()};
    screen_open(&live->screen);
    (void)uv_timer_init(loop, &live->timer);
    live->timer.data = live;
    uv_unref((uv_handle_t *)&live->timer);
    if (live->mode == LIVE_VIEW)
        (void)sigaction(SIGCONT, &resumed, NULL);
}

void live_start(struct live *live, const struct live_snapshot *round,
                const struct recorder *recorder, struct http_client *client,
                const char *product_id) {
    if (live->mode == LIVE_QUIET)
        return;
    assert(!live->is_running);
    live->round = *round;
    live->round.left = -1;
    live->recorder = recorder;
    live->is_running = true;
    live->sample_count = 0;
    live->client = client;
    live->path[0] = '\0';
    if (product_id != NULL)
        snprintf(live->path, sizeof live->path, "/products/%s", product_id);
    if (live->mode != LIVE_PLAIN) {
        (void)uv_timer_start(&live->timer, live_on_tick, 0, VIEW_MS);
    } else {
        struct live_snapshot first;

        live_look(live, &first); /* what the first line counts from */
        (void)uv_timer_start(&live->timer, live_on_tick, PLAIN_MS, PLAIN_MS);
    }
}

void live_stop(struct live *live) {
    if (!live->is_running)
        return;
    live->is_running = false;
    (void)uv_timer_stop(&live->timer);
    live->is_current = false; /* a question may be open */
    screen_say(&live->screen, "");
    screen_flush(&live->screen, WIPE_MS);
}

void live_end(struct live *live, const char *verdict, enum live_tone tone) {
    struct live_snapshot snapshot;

    if (!live->is_running)
        return;
    live->round.verdict = verdict;
    live->round.tone = tone;
    live_look(live, &snapshot);
    live_write(live, &snapshot);
    live_stop(live);
}

/* A terminal has echoed ^C where the cursor is: in the view, or else on a line that ends here. */
void live_say(struct live *live, const char *text) {
    if (live->screen.lines == 0 && isatty(STDERR_FILENO))
        screen_say(&live->screen, "\n");
    screen_say(&live->screen, text);
}

void live_close(struct live *live) {
    live_stop(live);
    screen_close(&live->screen);
    uv_close((uv_handle_t *)&live->timer, NULL);
}

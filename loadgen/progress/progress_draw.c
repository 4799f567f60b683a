/* Draws the view: the most important parts come first in a line, and parts that do not fit are left
 * out. Also writes a snapshot for programs. */
#include "progress_draw.h"

#include "duration.h"
#include "json_text.h"
#include "table.h"
#include "utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS     80  /* width of a terminal with an unknown width */
#define COLUMNS_MAX 160 /* a wider line is harder to read, not easier */
#define NARROW      60
#define BAR_MAX     48
#define BAR_MIN     8
#define LABEL       "%-6s "
#define LABEL_WIDTH 7
#define FEW_LEFT    5 /* a bar turns yellow below 1 / FEW_LEFT of the stock */

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW };

static const char *const codes[] = {
    [PLAIN] = "",         [BOLD] = "\033[1m",   [DIM] = "\033[2m",
    [RED] = "\033[1;31m", [GREEN] = "\033[32m", [YELLOW] = "\033[33m"};

/* The place of the next text. */
struct pen {
    struct progress_frame *frame;
    const struct progress_style *style;
    unsigned columns; /* most columns of a line */
};

static unsigned *progress_draw_column_of(const struct pen *pen) {
    assert(pen->frame->lines > 0 && pen->frame->lines <= PROGRESS_LINES);
    return &pen->frame->width[pen->frame->lines - 1];
}

static unsigned room(const struct pen *pen) {
    assert(*progress_draw_column_of(pen) <= pen->columns);
    return pen->columns - *progress_draw_column_of(pen);
}

static void put_raw(struct pen *pen, const char *text) {
    struct progress_frame *frame = pen->frame;
    size_t length = strlen(text);

    if (length > sizeof frame->text - 1 - frame->length)
        return;
    memcpy(frame->text + frame->length, text, length + 1);
    frame->length += length;
}

static unsigned columns_of(const char *text) {
    return (unsigned)table_width(text);
}

/* Writes all of `text`, or nothing if it does not fit. */
static bool progress_draw_put(struct pen *pen, enum colour colour, const char *text) {
    const char *code = pen->style->is_coloured ? codes[colour] : "";

    if (columns_of(text) > room(pen))
        return false;
    *progress_draw_column_of(pen) += columns_of(text);
    put_raw(pen, code);
    put_raw(pen, text);
    if (code[0] != '\0')
        put_raw(pen, "\033[0m");
    return true;
}

__attribute__((format(printf, 3, 4))) static bool put_format(struct pen *pen, enum colour colour,
                                                             const char *format, ...) {
    char text[PROGRESS_TEXT / 8];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return progress_draw_put(pen, colour, text);
}

static bool begin_line(struct pen *pen, const char *label) {
    unsigned rows = pen->style->rows;

    if (pen->frame->lines == PROGRESS_LINES || (rows > 0 && pen->frame->lines + 1 >= rows))
        return false;
    if (pen->frame->lines++ > 0)
        put_raw(pen, "\n");
    *progress_draw_column_of(pen) = 0;
    if (label != NULL && pen->columns >= 3 * LABEL_WIDTH)
        (void)put_format(pen, DIM, LABEL, label);
    return true;
}

/* Names come from other programs: a byte that is not part of a printable character becomes a
 * question mark. A name of more than `most` characters ends with two dots. */
static const char *progress_draw_clean(const char *name, unsigned most, char *text, size_t size) {
    size_t used = 0, dots = 0; /* the dots replace the bytes from here on */
    unsigned columns = 0;

    for (; columns < most && *name != '\0'; columns++) {
        const size_t length = utf8_printable(name), taken = length > 0 ? length : 1;

        if (used + taken + 2 >= size)
            break;
        dots = columns + 2 == most ? used : dots;
        if (length > 0)
            memcpy(text + used, name, length);
        else
            text[used] = '?';
        used += taken;
        name += taken;
    }
    if (*name != '\0' && columns > 2) {
        dots = dots > 0 ? dots : used;
        memset(text + dots, '.', 2);
        used = dots + 2;
    }
    text[used] = '\0';
    return text;
}

static void tell_phase(const struct progress_snapshot *snapshot, bool is_narrow, char *text,
                       size_t size) {
    double elapsed = (double)snapshot->elapsed_ns / 1e9, span = (double)snapshot->span_ns / 1e9;

    if (snapshot->phase == PROGRESS_PREPARING)
        (void)snprintf(text, size,
                       is_narrow ? "  %zu/%zu prepared" : "  preparing: %zu of %zu customers",
                       snapshot->prepared, snapshot->customers);
    else if (snapshot->phase == PROGRESS_SENDING)
        (void)snprintf(text, size, is_narrow ? "  %.1f/%.1f s" : "  sending %.1f of %.1f s",
                       elapsed, span);
    else
        (void)snprintf(text, size, "  %s %.1f s",
                       snapshot->phase == PROGRESS_JUDGING ? "judging"
                       : is_narrow                         ? "answers"
                                                           : "waiting for answers",
                       elapsed);
}

static void draw_title(struct pen *pen, const struct progress_snapshot *snapshot) {
    char place[64] = "", repeat[64] = "", phase[64], name[96];
    bool is_narrow = pen->columns < NARROW;
    unsigned others;

    if (!begin_line(pen, NULL))
        return;
    tell_phase(snapshot, is_narrow, phase, sizeof phase);
    if (snapshot->rounds > 1)
        (void)snprintf(place, sizeof place, is_narrow ? "  %zu/%zu" : "  round %zu of %zu",
                       snapshot->round, snapshot->rounds);
    if (snapshot->repeats > 1)
        (void)snprintf(repeat, sizeof repeat, "  repeat %zu of %zu", snapshot->repeat,
                       snapshot->repeats);
    others = columns_of(phase) + columns_of(place);
    (void)progress_draw_put(pen, BOLD,
                            progress_draw_clean(snapshot->name,
                                                others < pen->columns ? pen->columns - others : 0,
                                                name, sizeof name));
    (void)progress_draw_put(pen, PLAIN, place);
    if (columns_of(repeat) + columns_of(phase) <= room(pen))
        (void)progress_draw_put(pen, DIM, repeat);
    (void)progress_draw_put(pen, DIM, phase);
}

static void draw_bar(struct pen *pen, int64_t left, int64_t stock, unsigned width) {
    const char *full = pen->style->is_utf8 ? "█" : "#", *empty = pen->style->is_utf8 ? "░" : ".";
    char filled[BAR_MAX * 4] = "", rest[BAR_MAX * 4] = "";
    double part = stock > 0 ? (double)left / (double)stock : 0;
    unsigned cells = part >= 1 ? width : (unsigned)(part * width + 0.5);

    assert(width <= BAR_MAX);
    if (cells == 0 && left > 0)
        cells = 1; /* an empty bar means sold out */
    for (unsigned i = 0; i < width; i++)
        strcat(i < cells ? filled : rest, i < cells ? full : empty);
    (void)progress_draw_put(pen, part * FEW_LEFT < 1 ? YELLOW : GREEN, filled);
    (void)progress_draw_put(pen, DIM, rest);
}

/* Units left by the target's answer, or else by the counted sales. */
static int64_t left_of(const struct progress_snapshot *snapshot) {
    int64_t left = snapshot->stock - (int64_t)snapshot->sold;

    if (snapshot->left >= 0)
        return snapshot->left;
    return left > 0 ? left : 0;
}

static void draw_stock(struct pen *pen, const struct progress_snapshot *snapshot) {
    char text[64];
    int64_t left = left_of(snapshot);
    unsigned width;

    if (snapshot->stock < 0 || !begin_line(pen, "stock"))
        return;
    (void)snprintf(text, sizeof text, "  %lld of %lld left", (long long)left,
                   (long long)snapshot->stock);
    width = room(pen) > columns_of(text) ? room(pen) - columns_of(text) : 0;
    if (width > BAR_MAX)
        width = BAR_MAX;
    if (width >= BAR_MIN)
        draw_bar(pen, left, snapshot->stock, width);
    (void)progress_draw_put(pen, PLAIN, width >= BAR_MIN ? text : text + 2);
}

static int64_t oversold(const struct progress_snapshot *snapshot) {
    int64_t sold = (int64_t)snapshot->sold;

    return snapshot->stock >= 0 && sold > snapshot->stock ? sold - snapshot->stock : 0;
}

/* `of` and the stock, or "" if it is unknown. */
static const char *stock_text(const struct progress_snapshot *snapshot, const char *of, char *text,
                              size_t size) {
    text[0] = '\0';
    if (snapshot->stock >= 0)
        (void)snprintf(text, size, "%s%lld", of, (long long)snapshot->stock);
    return text;
}

static void put_sold(struct pen *pen, const char *before,
                     const struct progress_snapshot *snapshot) {
    int64_t over = oversold(snapshot);
    char of[32];

    (void)put_format(pen, over > 0 ? RED : BOLD, "%s%zu%s", before, snapshot->sold,
                     stock_text(snapshot, " of ", of, sizeof of));
    if (over > 0)
        (void)put_format(pen, RED, "  OVERSOLD by %lld", (long long)over);
}

/* Shows other outcomes than "sold" only if they occur. */
static void put_others(struct pen *pen, const struct progress_snapshot *snapshot) {
    const size_t *outcomes = snapshot->outcomes;
    const struct {
        const char *word;
        size_t count;
        enum colour colour;
    } others[] = {
        {"failed", outcomes[RECORD_FAILED] + outcomes[RECORD_REFUSED], RED},
        {"not sent", outcomes[RECORD_UNREACHED] + outcomes[RECORD_UNSENT], RED},
        {"unknown", outcomes[RECORD_UNKNOWN], YELLOW},
        {"busy", outcomes[RECORD_BUSY], YELLOW},
        {"sold out", outcomes[RECORD_SOLD_OUT], PLAIN},
    };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].count > 0)
            (void)put_format(pen, others[i].colour, "  %s %zu", others[i].word, others[i].count);
}

static const char *p99_text(const struct progress_snapshot *snapshot, char text[DURATION_TEXT]) {
    if (snapshot->p99_ns >= 0)
        return duration_text(text, snapshot->p99_ns);
    return "-";
}

static void draw_rate(struct pen *pen, const struct progress_snapshot *snapshot) {
    char duration[DURATION_TEXT];

    if (!begin_line(pen, "rate"))
        return;
    (void)put_format(pen, PLAIN, "offered %.0f/s", snapshot->offered);
    (void)put_format(pen, PLAIN, "  achieved %.0f/s", snapshot->achieved);
    (void)put_format(pen, PLAIN, "  p99 %s", p99_text(snapshot, duration));
    (void)put_format(pen, PLAIN, "  in flight %zu", snapshot->in_flight);
}

static void draw_lock(struct pen *pen, const struct progress_snapshot *snapshot) {
    char name[64];

    if (!snapshot->has_holder || !begin_line(pen, "lock"))
        return;
    if (snapshot->holder == NULL)
        (void)progress_draw_put(pen, DIM, "free");
    else
        (void)put_format(pen, PLAIN, "held by %s",
                         progress_draw_clean(snapshot->holder, room(pen) > 8 ? room(pen) - 8 : 0,
                                             name, sizeof name));
}

/* Draws the line that an ended round leaves. */
static void draw_end(struct pen *pen, const struct progress_snapshot *snapshot) {
    static const enum colour tones[] = {
        [PROGRESS_OPEN] = YELLOW, [PROGRESS_GOOD] = GREEN, [PROGRESS_BAD] = RED};
    char name[96], place[64] = "", duration[DURATION_TEXT];
    bool is_narrow = pen->columns < NARROW;
    unsigned others;

    if (!begin_line(pen, NULL))
        return;
    if (snapshot->rounds > 1 && !is_narrow)
        (void)snprintf(place, sizeof place, "  %zu/%zu", snapshot->round, snapshot->rounds);
    others = columns_of(place) + columns_of(snapshot->verdict) + 2;
    (void)put_format(
        pen, BOLD, is_narrow ? "%s" : "%-8s",
        progress_draw_clean(snapshot->name,
                            others < pen->columns ? pen->columns - others : pen->columns, name,
                            sizeof name));
    (void)put_format(pen, PLAIN, "%s  ", place);
    (void)progress_draw_put(pen, tones[snapshot->tone], snapshot->verdict);
    put_sold(pen, "  sold ", snapshot);
    (void)put_format(pen, PLAIN, "  p99 %s", p99_text(snapshot, duration));
    put_others(pen, snapshot);
}

void progress_draw(const struct progress_snapshot *snapshot, const struct progress_style *style,
                   struct progress_frame *frame) {
    unsigned columns = style->columns > 0 ? style->columns : COLUMNS;
    /* A character in the last column would make some terminals wrap. */
    struct pen pen = {.frame = frame,
                      .style = style,
                      .columns = (columns < COLUMNS_MAX ? columns : COLUMNS_MAX) - 1};

    frame->lines = 0;
    frame->length = 0;
    frame->text[0] = '\0';
    if (snapshot->verdict != NULL) {
        draw_end(&pen, snapshot);
        return;
    }
    draw_title(&pen, snapshot);
    draw_stock(&pen, snapshot);
    if (snapshot->phase == PROGRESS_PREPARING) /* nothing was asked for */
        return;
    if (begin_line(&pen, "sold")) {
        put_sold(&pen, "", snapshot);
        put_others(&pen, snapshot);
    }
    draw_rate(&pen, snapshot);
    draw_lock(&pen, snapshot);
}

const char *progress_line(const struct progress_snapshot *snapshot, char *text, size_t size) {
    static const char *const phases[] = {[PROGRESS_PREPARING] = "",
                                         [PROGRESS_SENDING] = "",
                                         [PROGRESS_WAITING] = "  waiting for answers",
                                         [PROGRESS_JUDGING] = "  judging"};
    int64_t over = oversold(snapshot);
    char duration[DURATION_TEXT], name[96], stock[32], warning[48] = "";

    (void)progress_draw_clean(snapshot->name, sizeof name - 1, name, sizeof name);
    if (snapshot->phase == PROGRESS_PREPARING) {
        (void)snprintf(text, size, "%s %zu/%zu  preparing: %zu of %zu customers", name,
                       snapshot->round, snapshot->rounds, snapshot->prepared, snapshot->customers);
        return text;
    }
    if (over > 0)
        (void)snprintf(warning, sizeof warning, "  OVERSOLD by %lld", (long long)over);
    (void)snprintf(text, size,
                   "%s %zu/%zu  %.1f s  offered %.0f/s  achieved %.0f/s  sold %zu%s%s  "
                   "in flight %zu  p99 %s%s",
                   name, snapshot->round, snapshot->rounds, (double)snapshot->elapsed_ns / 1e9,
                   snapshot->offered, snapshot->achieved, snapshot->sold,
                   stock_text(snapshot, "/", stock, sizeof stock), warning, snapshot->in_flight,
                   p99_text(snapshot, duration), phases[snapshot->phase]);
    return text;
}

/* ---- for programs */

static json_t *number_or_null(int64_t number) {
    return number < 0 ? json_null() : json_integer(number);
}

static json_t *outcomes_json(const struct progress_snapshot *snapshot) {
    json_t *json = json_object();

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        json_text_set(&json, record_outcome_name((enum record_outcome)i),
                      json_integer((json_int_t)snapshot->outcomes[i]));
    return json;
}

static json_t *snapshot_json(const struct progress_snapshot *snapshot) {
    static const char *const phases[] = {[PROGRESS_PREPARING] = "preparing",
                                         [PROGRESS_SENDING] = "sending",
                                         [PROGRESS_WAITING] = "waiting",
                                         [PROGRESS_JUDGING] = "judging"};

    return JSON_TEXT_OBJECT(
        {"strategy", json_text(snapshot->name)},
        {"round", json_integer((json_int_t)snapshot->round)},
        {"rounds", json_integer((json_int_t)snapshot->rounds)},
        {"phase", json_string(phases[snapshot->phase])},
        {"elapsed_ms", json_ms((double)snapshot->elapsed_ns)},
        {"span_ms", json_ms((double)snapshot->span_ns)},
        {"sold", json_integer((json_int_t)snapshot->sold)},
        {"stock", number_or_null(snapshot->stock)}, {"left", number_or_null(snapshot->left)},
        {"in_flight", json_integer((json_int_t)snapshot->in_flight)},
        {"offered", json_real(snapshot->offered)}, {"achieved", json_real(snapshot->achieved)},
        {"p99_ms", snapshot->p99_ns < 0 ? json_null() : json_ms((double)snapshot->p99_ns)},
        {"outcomes", outcomes_json(snapshot)});
}

char *progress_json(const struct progress_snapshot *snapshot, json_t *times) {
    json_t *json = snapshot_json(snapshot);
    char *text, *line = NULL;

    if (snapshot->customers > 0) {
        json_text_set(&json, "prepared", json_integer((json_int_t)snapshot->prepared));
        json_text_set(&json, "customers", json_integer((json_int_t)snapshot->customers));
    }
    if (snapshot->has_holder)
        json_text_set(&json, "holder",
                      snapshot->holder != NULL ? json_text(snapshot->holder) : json_null());
    if (snapshot->verdict != NULL) {
        json_text_set(&json, "verdict", json_text(snapshot->verdict));
        json_text_set(&json, "is_left_down", json_boolean(snapshot->is_left_down));
    }
    if (times != NULL)
        json_text_set(&json, "times", times);
    text = json_dumps(json, JSON_COMPACT);
    if (text != NULL && asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    free(text);
    json_decref(json);
    return line;
}

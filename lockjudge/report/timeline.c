/* Time runs from left to right; the drawing begins before the older grant and ends after the last
 * moment of the finding. A bar is the time in which a worker surely believed that it held the lock;
 * its pale end is the time until it knew otherwise or released. */
#include "timeline.h"

#include "number.h"
#include "tenure.h"

#include <inttypes.h>

#define WIDTH 900
#define LEFT  80
#define LANE  34
#define TOP   22

struct drawing {
    const struct history *history;
    struct tenures tenures;
    int64_t from_ns, to_ns;
    unsigned workers;
    FILE *to;
};

static double x_of(const struct drawing *drawing, int64_t at_ns) {
    const int64_t at = number_max(drawing->from_ns, number_min(drawing->to_ns, at_ns));

    return LEFT + (double)(at - drawing->from_ns) * (WIDTH - LEFT - 10) /
                      (double)(drawing->to_ns - drawing->from_ns);
}

static int y_of(uint32_t worker) {
    return TOP + (int)worker * LANE;
}

static bool is_visible(const struct drawing *drawing, int64_t from_ns, int64_t to_ns) {
    return to_ns >= drawing->from_ns && from_ns <= drawing->to_ns;
}

static void draw_bar(const struct drawing *drawing, const char *class, uint32_t worker,
                     int64_t from_ns, int64_t to_ns, int margin) {
    if (is_visible(drawing, from_ns, to_ns) && to_ns > from_ns)
        (void)fprintf(drawing->to,
                      "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                      class, x_of(drawing, from_ns), y_of(worker) + margin,
                      x_of(drawing, to_ns) - x_of(drawing, from_ns) + 0.5, LANE - 2 * margin);
}

static void draw_item(const struct drawing *drawing, const struct history_item *item) {
    const double x = x_of(drawing, item->at_ns);
    const int y = y_of(item->worker) + LANE / 2;

    if (item->worker == HISTORY_NOBODY || !is_visible(drawing, item->at_ns, item->end_ns))
        return;
    if (item->kind == HISTORY_FAULT)
        draw_bar(drawing, "fault", item->worker, item->at_ns, item->end_ns, 1);
    else if (item->kind == HISTORY_ACQUIRE)
        (void)fprintf(drawing->to,
                      "<line class=\"asks\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x,
                      x_of(drawing, item->end_ns), y, y);
    else if (item->kind == HISTORY_WRITE)
        (void)fprintf(drawing->to, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"3\"/>\n",
                      history_result_text(item->result), x, y);
    else if (item->result == HISTORY_RESULT_LOST)
        (void)fprintf(drawing->to,
                      "<line class=\"lost\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x,
                      y - LANE / 2 + 3, y + LANE / 2 - 3);
}

static void draw_lanes(const struct drawing *drawing) {
    (void)fprintf(drawing->to,
                  "<text x=\"%d\" y=\"14\">0 s</text><text x=\"%d\" y=\"14\" "
                  "text-anchor=\"end\">%.3f s</text>\n",
                  LEFT, WIDTH - 10, (double)(drawing->to_ns - drawing->from_ns) / 1e9);
    for (unsigned i = 0; i < drawing->workers; i++)
        (void)fprintf(drawing->to,
                      "<line class=\"lane\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                      "<text x=\"6\" y=\"%d\">worker %u</text>\n",
                      WIDTH, y_of(i), y_of(i), y_of(i) + LANE / 2 + 4, i + 1);
}

static void draw_tenures(const struct drawing *drawing) {
    for (size_t i = 0; i < drawing->tenures.count; i++) {
        const struct tenure *one = &drawing->tenures.rows[i];

        draw_bar(drawing, "unsure", one->worker, one->believed_ns,
                 number_min(one->ended_ns, drawing->to_ns), 9);
        draw_bar(drawing, "believes", one->worker, one->got_ns, one->believed_ns, 9);
    }
}

/* Both believed between these two moments. */
static void draw_twin(const struct drawing *drawing, const struct oracle_finding *twin) {
    const int64_t from_ns = number_max(twin->older_ns, twin->newer_ns);

    if (twin->count > 0)
        (void)fprintf(drawing->to,
                      "<rect class=\"both\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                      x_of(drawing, from_ns), TOP,
                      x_of(drawing, from_ns + twin->length_ns) - x_of(drawing, from_ns) + 1,
                      (int)drawing->workers * LANE);
}

static void drawing_frame(struct drawing *drawing, const struct oracle_finding *finding) {
    const int64_t first = number_min(finding->older_ns, finding->newer_ns);
    const int64_t last = number_max(finding->older_ns, finding->newer_ns) + finding->length_ns;
    const int64_t margin = (last - first) / 12 + 20000000;

    drawing->from_ns = first - margin;
    drawing->to_ns = last + margin;
    for (size_t i = 0; i < drawing->history->count; i++)
        if (drawing->history->items[i].worker != HISTORY_NOBODY)
            drawing->workers =
                (unsigned)number_max(drawing->workers, drawing->history->items[i].worker + 1);
}

int timeline_draw(const struct report_row *row, enum oracle_word word, FILE *to) {
    struct drawing drawing = {.history = &row->history, .to = to};

    if (tenures_find(&drawing.tenures, &row->history) != 0)
        return -1;
    drawing_frame(&drawing, &row->oracle.findings[word]);
    (void)fprintf(to, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"the holders of %s\">\n",
                  WIDTH, y_of(drawing.workers) + 4, row->name);
    draw_lanes(&drawing);
    for (size_t i = 0; i < row->history.count; i++)
        if (row->history.items[i].kind == HISTORY_FAULT)
            draw_item(&drawing, &row->history.items[i]);
    draw_tenures(&drawing);
    if (word == ORACLE_TWIN_UNAWARE)
        draw_twin(&drawing, &row->oracle.findings[word]);
    for (size_t i = 0; i < row->history.count; i++)
        if (row->history.items[i].kind != HISTORY_FAULT)
            draw_item(&drawing, &row->history.items[i]);
    (void)fputs("</svg>\n", to);
    tenures_free(&drawing.tenures);
    return 0;
}

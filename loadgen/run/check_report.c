/* See check_report.h. */
#include "check_report.h"

#include "json_text.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 78 /* bytes of the line on a terminal; the steps are ASCII */

void check_report_begin(struct check_report *report, FILE *to, bool is_json) {
    *report = (struct check_report){.to = to, .is_json = is_json, .steps = json_array()};
}

/* The caller frees the line; NULL without memory. */
static char *make_line(const struct check_report *report, const char *text) {
    return values_show(report->values, text, strlen(text), SIZE_MAX);
}

static void check_report_show(const struct check_report *report, const char *step) {
    if (report->terminal == NULL)
        return;
    fprintf(report->terminal, "\r\033[K%.*s", SHOWN, step);
    (void)fflush(report->terminal);
}

void check_report_wipe(const struct check_report *report) {
    check_report_show(report, "");
}

/* Prints the line, or adds it to the members of a JSON object. */
static void tell(struct check_report *report, json_t **json, const char *key, const char *label,
                 const char *text) {
    char *line = make_line(report, text);

    if (report->is_json)
        json_text_set(json, key, line != NULL ? json_text(line) : NULL);
    else
        fprintf(report->to, "%s%s\n", label, line != NULL ? line : "(out of memory)");
    free(line);
}

void check_report_ok(struct check_report *report, const char *format, ...) {
    json_t *json = JSON_TEXT_OBJECT({"ok", json_true()});
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell(report, &json, "step", "ok      ", text);
    json_text_append(&report->steps, json);
    check_report_show(report, text);
}

void check_report_failed(struct check_report *report, const char *step, const char *expected,
                         const char *came, const char *change) {
    json_t *json = JSON_TEXT_OBJECT({"ok", json_false()});
    const struct {
        const char *key, *label, *text;
    } rest[] = {{"expected", "        expected: ", expected},
                {"came", "        came: ", came},
                {"change", "        change: ", change}};

    report->has_failed = true;
    tell(report, &json, "step", "FAILED  ", step);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        tell(report, &json, rest[i].key, rest[i].label, rest[i].text);
    json_text_append(&report->steps, json);
}

/* ---- the end */

static int by_time(const void *a, const void *b) {
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void print_abilities(const struct check_report *report, const struct ability *abilities,
                            bool can) {
    fprintf(report->to, "%s\n", can ? "A run can judge:" : "A run cannot judge:");
    for (; abilities->anomalies != NULL; abilities++)
        if ((abilities->missing == NULL) == can)
            fprintf(report->to, "  %s%s%s\n", abilities->anomalies, can ? "" : ": ",
                    can ? "" : abilities->missing);
}

static int print_text(const struct check_report *report, const struct ability *abilities,
                      const struct order_times *times) {
    size_t missing = 0;

    for (const struct ability *at = abilities; at->anomalies != NULL; at++)
        missing += at->missing != NULL;
    if (report->has_failed) {
        fprintf(report->to, "A run can judge nothing until each step is ok.\n");
    } else {
        print_abilities(report, abilities, true);
        if (missing > 0)
            print_abilities(report, abilities, false);
    }
    if (times->count > 0)
        fprintf(report->to,
                "An order takes %.1f ms: the median of %zu that were sold one after the other. "
                "The longest took %.1f ms.\n",
                (double)times->ns[times->count / 2] / 1e6, times->count,
                (double)times->ns[times->count - 1] / 1e6);
    return fflush(report->to) == 0 && !ferror(report->to) ? 0 : -1;
}

static json_t *list_abilities(const struct ability *abilities, bool can) {
    json_t *list = json_array();

    for (; abilities->anomalies != NULL; abilities++)
        if (can && abilities->missing == NULL)
            json_text_append(&list, json_text(abilities->anomalies));
        else if (!can && abilities->missing != NULL)
            json_text_append(&list, JSON_TEXT_OBJECT({"anomalies", json_text(abilities->anomalies)},
                                                     {"why", json_text(abilities->missing)}));
    return list;
}

static int print_json(struct check_report *report, const struct shop *shop,
                      const struct ability *abilities, const struct order_times *times) {
    static const struct ability none[] = {{NULL, NULL}};
    const struct ability *told = report->has_failed ? none : abilities;
    json_t *time =
        times->count == 0
            ? json_null()
            : JSON_TEXT_OBJECT({"orders", json_integer((json_int_t)times->count)},
                               {"median", json_ms((double)times->ns[times->count / 2])},
                               {"longest", json_ms((double)times->ns[times->count - 1])});
    json_t *json =
        JSON_TEXT_OBJECT({"file", json_text(shop->path)}, {"shop", json_text(shop->name)},
                         {"ok", json_boolean(!report->has_failed)}, {"steps", report->steps},
                         {"can", list_abilities(told, true)},
                         {"cannot", list_abilities(told, false)}, {"order_ms", time});

    report->steps = NULL;
    return json_text_print(json, report->to);
}

int check_report_end(struct check_report *report, const struct shop *shop,
                     const struct ability *abilities, const struct order_times *times) {
    int code;

    check_report_wipe(report);
    if (times->count > 0)
        qsort(times->ns, times->count, sizeof *times->ns, by_time);
    code = report->is_json ? print_json(report, shop, abilities, times)
                           : print_text(report, abilities, times);
    json_decref(report->steps);
    return code;
}

void check_report_drop(struct check_report *report) {
    check_report_wipe(report);
    json_decref(report->steps);
}

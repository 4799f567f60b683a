/* The report as a page of its own: no script, no network. */
#include "line.h"
#include "report_internal.h"
#include "timeline.h"
#include "xml_text.h"

#include <inttypes.h>

extern const char report_style[];

static void put_head(const struct report *report, FILE *to) {
    char caps[LINE_CAPS_TEXT];

    line_caps_text(report->caps, caps, sizeof caps);
    (void)fprintf(to,
                  "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>lockjudge</title>\n<style>\n%s</style></head>\n<body><main>\n"
                  "<h1>What this lock keeps</h1>\n<p><code>",
                  report_style);
    for (size_t i = 0; report->command[i] != NULL; i++) {
        (void)fputs(i > 0 ? " " : "", to);
        xml_text_put(report->command[i], false, to);
    }
    (void)fprintf(to,
                  "</code></p>\n<p class=\"faint\">TTL %" PRId64 " ms; %u workers; seed %" PRIu64
                  "; the worker says of its lock: %s</p>\n",
                  report->ttl_ms, report->workers, report->seed,
                  caps[0] != '\0' ? caps : "nothing");
}

static bool has_findings(const struct report_row *row) {
    for (int i = 0; i < ORACLE_WORD_COUNT; i++)
        if (row->oracle.findings[i].count > 0)
            return true;
    return false;
}

static void put_row(const struct report_row *row, FILE *to) {
    const bool has_part = has_findings(row);

    (void)fputs("<tr><td>", to);
    if (has_part)
        (void)fprintf(to, "<a href=\"#%s\">", row->name);
    (void)fprintf(to, "%s%s</td><td>", row->name, has_part ? "</a>" : "");
    for (unsigned i = 0; i < FAULT_PAIR && row->cases[i].fault != NULL; i++) {
        (void)fputs(i > 0 ? "; then: " : "", to);
        xml_text_put(row->cases[i].fault->about, false, to);
        (void)fprintf(to, " %s", fault_moment_clause(row->cases[i].moment));
    }
    (void)fprintf(to, "</td><td class=\"verdict %s\">%s</td><td>", oracle_verdict_key(row->verdict),
                  oracle_verdict_text(row->verdict));
    if (row->reason[0] != '\0')
        xml_text_put(row->reason, false, to);
    else
        report_put_words(row, to);
    (void)fprintf(to, "%s</td></tr>\n", row->is_unexpected ? " <b>unexpected</b>" : "");
}

static int put_findings(const struct report *report, const struct report_row *row, FILE *to) {
    bool is_drawn = false;

    for (int i = 0; i < ORACLE_WORD_COUNT; i++) {
        const enum oracle_word word = (enum oracle_word)i;

        if (row->oracle.findings[i].count == 0)
            continue;
        if (!is_drawn) {
            (void)fprintf(to, "<h2 id=\"%s\">%s: <span class=\"%s\">%s</span></h2>\n", row->name,
                          row->name, oracle_verdict_key(row->verdict),
                          oracle_verdict_text(row->verdict));
            (void)fputs("<div class=\"drawing\">", to);
            if (timeline_draw(row, word, to) != 0)
                return -1;
            (void)fputs("</div>\n", to);
        }
        is_drawn = true;
        (void)fprintf(to, "<p><b>%s</b>: %s</p>\n<pre>", oracle_word_text(word),
                      oracle_word_meaning(word));
        if (report_put_finding(report, row, word, to) != 0)
            return -1;
        (void)fputs("</pre>\n", to);
    }
    return 0;
}

int report_page(const struct report *report, FILE *to) {
    put_head(report, to);
    (void)fputs("<table><tr><th>row</th><th>fault</th><th>verdict</th><th>found</th></tr>\n", to);
    for (size_t i = 0; i < report->count; i++)
        put_row(&report->rows[i], to);
    (void)fputs("</table>\n<p class=\"faint\">In a drawing a bar is the time in which a worker "
                "surely believed that it held the lock; pale: until it released, or knew better. "
                "A dot is a write, a ring a write that the fenced register refused, a red stroke "
                "the word \"lost\", a thin line a request for the lock, a box the fault. In "
                "the red field two workers believed.</p>\n",
                to);
    for (size_t i = 0; i < report->count; i++)
        if (put_findings(report, &report->rows[i], to) != 0)
            return -1;
    (void)fputs("</main></body></html>\n", to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

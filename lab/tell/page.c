/* A page of one file: the table of the steps, and their JSON for the script that shows them. */
#include "tell_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const char tell_page_html[], tell_page_style[], tell_page_script[];

/* ---- text in HTML */

static void put_html(const char *text, FILE *to) {
    for (; *text != '\0'; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            fprintf(to, "&#%d;", *text);
        else
            putc(*text, to);
}

/* The parser of HTML looks for `</script` in data, too; JSON can spell `<` otherwise. */
static int put_json(const char *text, size_t size, void *to) {
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<' || text[i] == '>' || text[i] == '&')
            fprintf(to, "\\u%04x", (unsigned)text[i]);
        else
            putc(text[i], to);
    return ferror((FILE *)to) ? -1 : 0;
}

/* ---- the parts, by their marks in page.html */

static int put_title(const struct tell *tell, FILE *to) {
    char names[VIEW_TEXT];

    tell_names(tell->anomalies, names);
    put_html(tell->spec, to);
    fputs(tell->count == 0       ? ": no schedule is violated"
          : tell->anomalies == 0 ? ": nothing is wrong with this schedule"
                                 : ": ",
          to);
    put_html(names, to);
    return 0;
}

static int put_style(const struct tell *tell, FILE *to) {
    (void)tell;
    fputs(tell_page_style, to);
    return 0;
}

static int put_script(const struct tell *tell, FILE *to) {
    (void)tell;
    fputs(tell_page_script, to);
    return 0;
}

static void put_row(const struct tell *tell, size_t at, FILE *to) {
    const struct tell_step *step = &tell->steps[at];

    fprintf(to, "<tr><td>%zu<td>%" PRId64 " ms<td>", at + 1, step->now_ms);
    if (step->actor >= 0)
        fprintf(to, "%c", 'A' + step->actor);
    else
        fputs(step->actor == REPLAY_CLOCK ? "clock" : "fault", to);
    fputs("<td>", to);
    if (step->instance >= 0)
        fprintf(to, "inventory-%d", step->instance + 1);
    fputs("<td>", to);
    put_html(step->action, to);
    fputs("<td>", to);
    for (int i = 0; i < tell->explored->setup.options.shards; i++)
        fprintf(to, "%s%d", i > 0 ? " + " : "", step->stock[i]);
    fprintf(to, "<td>%d\n", step->sold);
}

static int put_table(const struct tell *tell, FILE *to) {
    fputs("<p>", to);
    put_html(tell->summary, to);
    fputs("</p>\n", to);
    if (tell->count == 0)
        return 0;
    fputs("<table><thead><tr><th>step<th>clock<th>who<th>instance<th>what<th>stock<th>sold"
          "<tbody>\n",
          to);
    for (size_t i = 0; i < tell->count; i++)
        put_row(tell, i, to);
    fputs("</table>\n", to);
    return 0;
}

static int put_again(const struct tell *tell, FILE *to) {
    put_html(tell->command, to);
    if (tell->count > 0) {
        fputs(" --replay ", to);
        put_html(tell->id, to);
    }
    return 0;
}

static int put_explored(const struct tell *tell, FILE *to) {
    json_t *json = tell_object(tell);
    const int rc =
        json != NULL ? json_dump_callback(json, put_json, to,
                                          JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9))
                     : -1;

    json_decref(json);
    return rc;
}

static const struct part {
    const char *mark;
    int (*put)(const struct tell *tell, FILE *to);
} parts[] = {{"@title@", put_title},  {"@style@", put_style}, {"@title@", put_title},
             {"@table@", put_table},  {"@again@", put_again}, {"@explored@", put_explored},
             {"@script@", put_script}};

int tell_page(const struct tell *tell, FILE *to) {
    const char *at = tell_page_html;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *mark = strstr(at, parts[i].mark);

        if (mark == NULL)
            abort();
        fprintf(to, "%.*s", (int)(mark - at), at);
        if (parts[i].put(tell, to) != 0)
            return -1;
        at = mark + strlen(parts[i].mark);
    }
    return fputs(at, to) != EOF && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

/* Writes an exploration as JSON, and as a page of one file. The page has a table of the steps, and
 * their JSON for its script. */
#include "tell.h"

#include "json_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const char tell_page_html[], tell_page_style[], tell_page_script[];

/* ---- JSON */

static json_t *json_stock(const struct tell *tell, const struct tell_step *step) {
    json_t *stock = json_array();

    for (int i = 0; i < tell->explored->setup.options.shards; i++)
        json_text_append(&stock, json_integer(step->stock[i]));
    return stock;
}

struct names {
    char actor[8], instance[24];
};

static struct names names_of(const struct tell_step *step) {
    struct names names = {{(char)('A' + step->actor)}, ""};

    if (step->actor < 0)
        (void)strcpy(names.actor, step->actor == REPLAY_CLOCK ? "clock" : "fault");
    if (step->instance >= 0)
        (void)snprintf(names.instance, sizeof names.instance, "inventory-%d", step->instance + 1);
    return names;
}

/* "reads the stock: 2 left" is an action and its detail. */
json_t *tell_json_step(const struct tell *tell, size_t at) {
    const struct tell_step *step = &tell->steps[at];
    const struct names names = names_of(step);
    char action[TELL_ACTION], *colon;

    memcpy(action, step->action, sizeof action);
    colon = strstr(action, ": ");
    if (colon != NULL)
        *colon = '\0';
    return JSON_TEXT_OBJECT({"number", json_integer((json_int_t)at + 1)},
                            {"actor", json_text(names.actor)},
                            {"instance", json_text(names.instance)}, {"action", json_text(action)},
                            {"detail", json_text(colon != NULL ? colon + 2 : "")},
                            {"now_ms", json_integer(step->now_ms)},
                            {"stock", json_stock(tell, step)}, {"sold", json_integer(step->sold)});
}

static json_t *json_violation(const struct tell *tell) {
    json_t *names, *steps;

    if (tell->anomalies == 0)
        return json_null();
    names = json_array();
    steps = json_array();
    for (unsigned i = 0; i < VIEW_COUNT; i++)
        if ((tell->anomalies >> i & 1) != 0)
            json_text_append(&names, json_text(view_name(i)));
    for (size_t i = 0; i < tell->count; i++)
        json_text_append(&steps, tell_json_step(tell, i));
    return JSON_TEXT_OBJECT({"id", json_text(tell->id)}, {"anomalies", names},
                            {"summary", json_text(tell->summary)}, {"steps", steps});
}

json_t *tell_json_faults(unsigned faults) {
    json_t *names = json_array();

    for (int i = 0; i < FAULT_COUNT; i++)
        if ((faults >> i & 1U) != 0)
            json_text_append(&names, json_text(sale_fault_name((enum sale_fault)i)));
    return names;
}

/* NULL without memory. */
static json_t *tell_object(const struct tell *tell) {
    const struct exploration *it = tell->explored;
    json_t *json = JSON_TEXT_OBJECT(
        {"spec", json_text(tell->spec)}, {"orders", json_integer(it->setup.orders)},
        {"instances", json_integer(it->setup.instances)}, {"stock", json_integer(it->setup.stock)},
        {"preemptions", json_integer(it->preemptions)},
        {"faults", tell_json_faults(it->setup.faults)}, {"options", json_text(tell->options)},
        {"complete", json_boolean(it->end == EXPLORE_COMPLETE && tell->replay[0] == '\0')},
        {"schedules", json_integer((json_int_t)it->schedules)},
        {"runs", json_integer((json_int_t)it->runs)},
        {"states", json_integer((json_int_t)it->states)}, {"seconds", json_real(tell->seconds)},
        {"violation", json_violation(tell)});

    if (json != NULL && tell->choices != NULL)
        (void)json_object_set(json, "choices", tell->choices);
    return json;
}

int tell_json(const struct tell *tell, FILE *to) {
    return json_text_print(tell_object(tell), to);
}

/* ---- text in HTML */

static void put_html(const char *text, FILE *to) {
    for (; *text != '\0'; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            fprintf(to, "&#%d;", *text);
        else
            putc(*text, to);
}

/* An HTML parser finds `</script` in data, too, so write `<` as an escape of JSON. */
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

static void put_row(const struct tell *tell, size_t at, FILE *to) {
    const struct tell_step *step = &tell->steps[at];
    const struct names names = names_of(step);

    fprintf(to, "<tr><td>%zu<td>%" PRId64 " ms<td>%s<td>%s<td>", at + 1, step->now_ms, names.actor,
            names.instance);
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
    fputs("<table><thead><tr><th>step<th>clock<th>actor<th>instance<th>action<th>stock<th>sold"
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
    const char *mark, *text; /* text NULL: `put` writes the part */
    int (*put)(const struct tell *tell, FILE *to);
} parts[] = {{"@title@", NULL, put_title},        {"@style@", tell_page_style, NULL},
             {"@title@", NULL, put_title},        {"@table@", NULL, put_table},
             {"@again@", NULL, put_again},        {"@explored@", NULL, put_explored},
             {"@script@", tell_page_script, NULL}};

int tell_page(const struct tell *tell, FILE *to) {
    const char *at = tell_page_html;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *mark = strstr(at, parts[i].mark);

        if (mark == NULL)
            abort();
        fprintf(to, "%.*s%s", (int)(mark - at), at, parts[i].text != NULL ? parts[i].text : "");
        if (parts[i].put != NULL && parts[i].put(tell, to) != 0)
            return -1;
        at = mark + strlen(parts[i].mark);
    }
    return fputs(at, to) != EOF && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

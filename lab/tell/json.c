/* As JSON. */
#include "tell_internal.h"

#include "json_text.h"

#include <string.h>

static json_t *json_stock(const struct tell *tell, const struct tell_step *step) {
    json_t *stock = json_array();

    for (int i = 0; i < tell->explored->setup.options.shards; i++)
        json_text_append(&stock, json_integer(step->stock[i]));
    return stock;
}

/* "reads the stock: 2 left" is an action and its detail. */
static json_t *json_step(const struct tell *tell, size_t at) {
    const struct tell_step *step = &tell->steps[at];
    const char *colon = strstr(step->action, ": ");
    const int length = (int)(colon != NULL ? (size_t)(colon - step->action) : strlen(step->action));
    char action[TELL_ACTION], instance[24] = "", actor[8];

    (void)snprintf(action, sizeof action, "%.*s", length, step->action);
    if (step->instance >= 0)
        (void)snprintf(instance, sizeof instance, "inventory-%d", step->instance + 1);
    (void)snprintf(actor, sizeof actor, "%c", 'A' + step->actor);
    if (step->actor < 0)
        (void)snprintf(actor, sizeof actor, step->actor == REPLAY_CLOCK ? "clock" : "fault");
    return JSON_TEXT_OBJECT({"number", json_integer((json_int_t)at + 1)},
                            {"actor", json_text(actor)}, {"instance", json_text(instance)},
                            {"action", json_text(action)},
                            {"detail", json_text(colon != NULL ? colon + 2 : "")},
                            {"now_ms", json_integer(step->now_ms)},
                            {"stock", json_stock(tell, step)}, {"sold", json_integer(step->sold)});
}

static json_t *json_steps(const struct tell *tell) {
    json_t *steps = json_array();

    for (size_t i = 0; i < tell->count; i++)
        json_text_append(&steps, json_step(tell, i));
    return steps;
}

static json_t *json_violation(const struct tell *tell) {
    json_t *names;

    if (tell->anomalies == 0)
        return json_null();
    names = json_array();
    for (unsigned i = 0; i < VIEW_COUNT; i++)
        if ((tell->anomalies >> i & 1) != 0)
            json_text_append(&names, json_text(view_name(i)));
    return JSON_TEXT_OBJECT({"id", json_text(tell->id)}, {"anomalies", names},
                            {"summary", json_text(tell->summary)}, {"steps", json_steps(tell)});
}

static json_t *json_faults(const struct tell *tell) {
    json_t *faults = json_array();

    for (int i = 0; i < FAULT_COUNT; i++)
        if ((tell->explored->setup.faults >> i & 1) != 0)
            json_text_append(&faults, json_text(sale_fault_name((enum sale_fault)i)));
    return faults;
}

static json_t *json_number(uint64_t number) {
    return json_integer((json_int_t)number);
}

json_t *tell_object(const struct tell *tell) {
    const struct exploration *it = tell->explored;

    return JSON_TEXT_OBJECT(
        {"spec", json_text(tell->spec)}, {"orders", json_integer(it->setup.orders)},
        {"instances", json_integer(it->setup.instances)}, {"stock", json_integer(it->setup.stock)},
        {"preemptions", json_integer(it->preemptions)}, {"faults", json_faults(tell)},
        {"options", json_text(tell->options)},
        {"complete", json_boolean(it->end == EXPLORE_COMPLETE && tell->replay[0] == '\0')},
        {"schedules", json_number(it->schedules)}, {"runs", json_number(it->runs)},
        {"states", json_number(it->states)}, {"seconds", json_real(tell->seconds)},
        {"violation", json_violation(tell)});
}

int tell_json(const struct tell *tell, FILE *to) {
    return json_text_print(tell_object(tell), to);
}

/* Says what is wrong with a schedule: in the judge's words, about the orders by their letters. */
#include "view_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *at;
    size_t room;
};

__attribute__((format(printf, 2, 3))) static void view_text_say(struct text *text,
                                                                const char *format, ...) {
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text->at, text->room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= text->room)
        length = text->room > 0 ? (int)text->room - 1 : 0;
    text->at += length;
    text->room -= (size_t)length;
}

/* The letter of the order with this id, as everywhere in the lab. */
static char view_text_letter_of(const struct model_world *world, const char *order_id) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (strcmp(world->sales[i].order_id, order_id) == 0)
            return (char)('A' + i);
    return '?';
}

/* Is `at` the judge's name of an operation, and not the article of "A count may only fall"? */
static bool is_name(const struct counterexample *example, const char *line, const char *at) {
    return *at >= 'A' && *at < 'A' + (int)example->ops && (at == line || !isalnum(at[-1])) &&
           !isalnum(at[1]) && strncmp(at, "A count ", 8) != 0;
}

/* The judge calls its operations A, B and C in each counterexample; here they have their letters.
 */
static void say_line(struct text *text, const struct model_world *world,
                     const struct counterexample *example, const char *line) {
    for (const char *at = line; *at != '\0'; at++) {
        char letter = *at;

        if (is_name(example, line, at))
            letter = view_text_letter_of(world, example->order_id[*at - 'A']);
        view_text_say(text, "%c", letter);
    }
}

/* "A = order …": its times are made up. */
static bool is_definition(const char *line) {
    return line[0] != '\0' && strncmp(line + 1, " = ", 3) == 0;
}

static void say_example(struct text *text, const struct model_world *world,
                        const struct counterexample *example) {
    bool is_first = true;

    for (size_t i = 0; i < example->lines; i++) {
        if (is_definition(example->line[i]))
            continue;
        view_text_say(text, "%s", is_first ? "" : " ");
        say_line(text, world, example, example->line[i]);
        is_first = false;
    }
}

/* A strategy may answer any number. */
static const char *view_text_name_of(uint8_t outcome) {
    return outcome <= OUTCOME_KEY_REUSED ? outcome_name((enum outcome)outcome) : "nonsense";
}

static void say_answers(struct text *text, const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_RUNS)
            view_text_say(text, "%c does not end.", 'A' + i);
        else if (order->state == ORDER_ENDED && order->outcome != OUTCOME_SOLD &&
                 order->outcome != OUTCOME_SOLD_OUT && order->outcome != OUTCOME_BUSY &&
                 order->outcome != OUTCOME_CONFLICT && order->outcome != OUTCOME_REPEATED)
            view_text_say(text, "%c was answered %s%s%s, and nothing had failed.", 'A' + i,
                          view_text_name_of(order->outcome),
                          world->sales[i].sale.message[0] != '\0' ? ": " : "",
                          world->sales[i].sale.message);
        else
            continue;
        return;
    }
}

static void say_stuck(struct text *text, const struct model_world *world) {
    const struct model_order *last = &world->state.orders[world->setup.orders];
    const int64_t left = view_left(world);

    view_text_say(text, "%" PRId64 " unit%s left, and the last customer, %c, who came alone, ",
                  left, left == 1 ? " is" : "s are", 'A' + world->setup.orders);
    if (last->state == ORDER_ENDED)
        view_text_say(text, "was told %s.", view_text_name_of(last->outcome));
    else
        view_text_say(text, "was not answered.");
}

void view_tell(struct view *view, const struct model_world *world, char text[VIEW_TEXT]) {
    const unsigned found = view_judge_anew(view, world);
    struct text to = {text, VIEW_TEXT};

    text[0] = '\0';
    if (view->verdict.counterexamples > 0)
        say_example(&to, world, &view->verdict.counterexample[0]);
    else if ((found & (1U << ANOMALY_STUCK)) != 0)
        say_stuck(&to, world);
    else if ((found & (1U << VIEW_NO_ANSWER | 1U << VIEW_ENDLESS)) != 0)
        say_answers(&to, world);
}

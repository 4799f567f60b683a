/* Explores a student's strategy in this process, by its plan (plan.h). The student's code runs in
 * processes of its own (pupil.h). */
#include "attempt.h"

#include "explore.h"
#include "plan.h"
#include "spec.h"
#include "tell.h"
#include "view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The file alone decides when an attempt ends, not the speed or the load of the machine. */
#define RUNS        100000
#define AGAIN_LEAST 128   /* questions that are asked again */
#define STOCK_MOST  30000 /* as many units as the model can number */
#define STOCK_ROUND 27720 /* a multiple of all numbers to 12 */

static struct {
    struct exploration exploration;
    struct model_world world;
    struct plan plan;
    struct view *view;
    const struct check *check;
    const struct values *values;
    const volatile bool *is_interrupted;
    struct attempt *attempt;
    const struct plan_node *alone; /* the end of an undisturbed sale */
    uint64_t known[2 * VALUES];    /* that it did with other numbers (plan_others()) */
    size_t known_count;
} at;

__attribute__((format(printf, 3, 4))) static void conclude(struct attempt *attempt,
                                                           enum attempt_end end, const char *format,
                                                           ...) {
    va_list args;

    attempt->end = end;
    va_start(args, format);
    (void)vsnprintf(attempt->summary, sizeof attempt->summary, format, args);
    va_end(args);
}

static unsigned attempt_judge(void *data, const struct model_world *world) {
    const unsigned found = view_judge(at.view, world);

    (void)data;
    return at.plan.end == PLAN_OK ? found : 0;
}

static bool is_enough(void *data, const struct exploration *so_far) {
    (void)data;
    return so_far->runs >= RUNS || at.plan.end != PLAN_OK || *at.is_interrupted;
}

/* Write as many lines of the schedule as there is room for. */
static void tell_story(const struct tell *tell) {
    FILE *to = fmemopen(at.attempt->story, sizeof at.attempt->story - 1, "w");

    if (to == NULL)
        return;
    tell_heads(tell, to, false);
    for (size_t i = 0; i < tell->count; i++)
        tell_line(tell, i, to, false);
    (void)fclose(to);
}

/* Give the finding's advice, unless the check's own is about this finding. */
static void advise_about(enum finding finding) {
    if ((at.check->finds >> finding & 1U) == 0)
        at.attempt->advice = finding_advice(finding);
}

/* A set of anomalies may have several consequences of one mistake. The first of this list comes
 * nearest to the mistake. */
static void advise_about_anomalies(unsigned found) {
    static const struct {
        unsigned anomalies;
        enum finding finding;
    } rows[] = {{1U << ANOMALY_OVERSELL | 1U << ANOMALY_TWIN | 1U << ANOMALY_STALE |
                     1U << ANOMALY_DUPLICATE,
                 FINDING_OVERSELL},
                {1U << ANOMALY_UNDERSELL | 1U << ANOMALY_EARLY_SOLD_OUT, FINDING_UNDERSELL},
                {1U << ANOMALY_GHOST | 1U << ANOMALY_ORPHAN | 1U << ANOMALY_LEAK, FINDING_ANSWER}};
    enum finding finding =
        (found >> VIEW_IN_DOUBT & 1U) != 0 ? FINDING_ANSWER : FINDING_TURNED_AWAY;

    for (size_t i = sizeof rows / sizeof *rows; i-- > 0;)
        if ((found & rows[i].anomalies) != 0)
            finding = rows[i].finding;
    advise_about(finding);
    if (found == 1U << VIEW_SKIPS_WORK)
        at.attempt->advice = "Call store_work() before the sale writes: it stands for the "
                             "business of a sale, such as the payment.";
    else if (found == 1U << VIEW_FREES_ANOTHERS)
        at.attempt->advice = "Delete a key only if it is still yours: your own key may have "
                             "expired, and another order may have set it since.";
}

#define ADVICE_TOO_LARGE "Let the sale do less: each call of the store multiplies the schedules."
#define ADVICE_ENDLESS                                                                             \
    "Let the loop end: count its turns, or leave it when store_pause() answers BUSY."

static void attempt_tell_violation(void) {
    struct tell tell = {.spec = "exercise",
                        .options = at.check->options,
                        .replay = "",
                        .command = "",
                        .explored = &at.exploration};
    size_t move;

    if (tell_schedule(&tell, &at.world, at.view, &move) == REPLAY_ENDED) {
        memcpy(at.attempt->id, tell.id, sizeof tell.id);
        tell_story(&tell);
    }
    if (at.exploration.end == EXPLORE_ENDLESS)
        conclude(at.attempt, ATTEMPT_VIOLATED,
                 "an order does not end: it calls the store again and again");
    else
        conclude(at.attempt, ATTEMPT_VIOLATED, "%s", tell.summary);
    advise_about_anomalies(tell.anomalies & ~(1U << VIEW_TURNED_AWAY));
    if (at.exploration.end == EXPLORE_ENDLESS)
        at.attempt->advice = ADVICE_ENDLESS;
    tell_free(&tell);
}

/* A failure of the plan comes first: the schedules ended early. */
static void attempt_tell_plan(void) {
    static const enum attempt_end ends[] = {
        [PLAN_OK] = ATTEMPT_HOLDS,         [PLAN_DIED] = ATTEMPT_DIED,
        [PLAN_ENDLESS] = ATTEMPT_ENDLESS,  [PLAN_TOO_LARGE] = ATTEMPT_INCOMPLETE,
        [PLAN_DIFFERS] = ATTEMPT_VIOLATED, [PLAN_STOPPED] = ATTEMPT_STOPPED,
        [PLAN_BROKEN] = ATTEMPT_BROKEN};

    static const char *const advice[] = {
        [PLAN_DIED] = "Mend this line first: a sale that crashes sells nothing.",
        [PLAN_ENDLESS] = ADVICE_ENDLESS,
        [PLAN_TOO_LARGE] = ADVICE_TOO_LARGE,
        [PLAN_DIFFERS] = "A sale may depend only on the answers of the store: look for a variable "
                         "without a value, and for an index past an array's end.",
        [PLAN_BROKEN] = NULL};

    conclude(at.attempt, ends[at.plan.end], "%s", at.plan.why.text);
    at.attempt->advice = advice[at.plan.end];
    at.attempt->crashed_at = at.plan.crashed_at;
}

static void tell_steps_alone(void) {
    conclude(at.attempt, ATTEMPT_VIOLATED,
             "One undisturbed order made %d store calls; %d %s enough.", at.attempt->steps_alone,
             at.check->max_steps, at.check->max_steps == 1 ? "is" : "are");
    advise_about(FINDING_STEPS);
}

static void tell_incomplete(uint64_t schedules) {
    conclude(at.attempt, ATTEMPT_INCOMPLETE,
             "it has more schedules than could be explored: %" PRIu64 " so far", schedules);
    at.attempt->advice = ADVICE_TOO_LARGE;
}

static void attempt_tell_end(void) {
    const struct exploration *it = &at.exploration;

    at.attempt->schedules = (int64_t)it->schedules;
    at.attempt->violated = (int64_t)it->violated;
    if (it->violated > 0 || it->end == EXPLORE_ENDLESS)
        attempt_tell_violation();
    else if (it->end != EXPLORE_COMPLETE)
        tell_incomplete(it->schedules);
    else if (it->schedules == 0)
        conclude(at.attempt, ATTEMPT_BROKEN, "no schedule was run");
    else if (at.check->max_steps > 0 && at.attempt->steps_alone > at.check->max_steps)
        tell_steps_alone();
    else
        conclude(at.attempt, ATTEMPT_HOLDS, "%s", "");
}

static int choose(const struct range *range, uint64_t salt) {
    return values_choose(at.values, salt, range->least, range->most);
}

/* False: the strategy does not take the check's options, or its numbers are wrong. */
static bool attempt_set_up(const struct check *check) {
    char text[sizeof check->options + 16];
    struct strategy_spec spec;
    struct why why;

    (void)snprintf(text, sizeof text, "exercise%s%s", check->options[0] != '\0' ? "," : "",
                   check->options);
    if (spec_parse_of(&at.plan.strategy, text, &spec, &why) != 0) {
        conclude(at.attempt, ATTEMPT_VIOLATED, "%s", why.text);
        return false;
    }
    at.exploration.setup = (struct model_setup){.strategy = &at.plan.strategy,
                                                .options = spec.options,
                                                .orders = check->orders,
                                                .others = check->others,
                                                .version = choose(&check->version, 1),
                                                .fence = choose(&check->fence, 2),
                                                .stall_ms = check->stall_ms,
                                                .instances = check->instances,
                                                .stock = choose(&check->stock, 3),
                                                .faults = check->faults,
                                                .serves_all = check->serves_all,
                                                .knows_all = check->knows_all};
    at.exploration.preemptions = check->preemptions;
    at.exploration.judge = attempt_judge;
    at.exploration.is_stopped = is_enough;
    return true;
}

static void attempt_explore(void) {
    at.attempt->stock = at.exploration.setup.stock;
    at.attempt->version = at.exploration.setup.version;
    at.attempt->fence = at.exploration.setup.fence;
    at.attempt->steps_alone = explore_steps_alone(&at.exploration.setup);
    at.alone = at.plan.latest;
    if (at.attempt->steps_alone < 0 || view_explore(at.view, &at.exploration) != 0 ||
        view_has_failed(at.view))
        conclude(at.attempt, ATTEMPT_BROKEN, "explore: out of memory");
    else if (*at.is_interrupted)
        conclude(at.attempt, ATTEMPT_STOPPED, "stopped");
    else if (at.plan.end != PLAN_OK)
        attempt_tell_plan();
    else
        attempt_tell_end();
}

/* ---- the pupils */

static void tell_no_pair(enum pupil_end end, const struct pupil_hello *hello,
                         const struct why *why) {
    if (end == PUPIL_OK)
        conclude(at.attempt, hello->loaded == STUDENT_BROKEN ? ATTEMPT_BROKEN : ATTEMPT_VIOLATED,
                 "%s", hello->why);
    else
        conclude(at.attempt,
                 end == PUPIL_STOPPED  ? ATTEMPT_STOPPED
                 : end == PUPIL_BROKEN ? ATTEMPT_BROKEN
                                       : ATTEMPT_DIED,
                 "%s", why->text);
}

/* It holds. But is it what the chapter asks for? */
static void attempt_look_at_techniques(void) {
    struct why why;

    if (techniques_are_kept(&at.check->techniques, &at.plan, at.alone, &why))
        return;
    conclude(at.attempt, ATTEMPT_VIOLATED, "%s", why.text);
    at.attempt->advice =
        "Write the sale with the operations that the chapter asks for. scripts/lab calls "
        "describes each of them.";
}

/* ---- other numbers */

static int stock_for(int32_t value) {
    return value > STOCK_MOST ? STOCK_ROUND : value;
}

/* Explore the check from another begin. */
static void explore_from(const struct model_setup *from) {
    const struct attempt before = *at.attempt;

    at.exploration.setup = *from;
    attempt_explore();
    if (at.attempt->end == ATTEMPT_HOLDS)
        *at.attempt = before;
    else if (at.attempt->end == ATTEMPT_VIOLATED)
        at.attempt->advice = "Your code looks at a number: the row's version, its fence or its "
                             "count. With the number in the command above it does something else, "
                             "and that is wrong.";
}

/* The file did something new where it did `hash`. */
static bool is_new(uint64_t hash) {
    for (size_t i = 0; i < at.known_count; i++)
        if (at.known[i] == hash)
            return false;
    if (hash == 0)
        return false;
    at.known[at.known_count++] = hash;
    return true;
}

/* A begin at a value, and the numbers that are then larger. In turns: the row's version and fence, and
 * the stock. */
static struct model_setup begin_at(const struct model_setup *first, size_t number,
                                   struct plan_shift *by) {
    const int32_t value = at.values->asked[number / 2];
    const int64_t count = (stock_for(value) - first->stock) / first->options.shards;
    struct model_setup from = *first;

    if (number % 2 == 0) {
        *by = (struct plan_shift){value - first->version, value - first->fence, 0};
        from.version = from.fence = value;
        return from;
    }
    *by = (struct plan_shift){0, 0, count};
    from.stock += (int)count * first->options.shards;
    /* With a unit for each customer the last one may wait too long. */
    from.serves_all = first->serves_all != 0 && first->stock >= first->orders;
    return from;
}

/* Where a file does something new at a value, the check also begins there. */
static void attempt_try_values(struct pupil *other) {
    const struct model_setup first = at.exploration.setup;
    const size_t count = 2 * at.values->count;
    struct model_setup from[2 * VALUES];
    struct plan_shift by[2 * VALUES] = {{0, 0, 0}};
    uint64_t hashes[2 * VALUES];

    for (size_t i = 0; i < count; i++)
        from[i] = begin_at(&first, i, &by[i]);
    plan_others(&at.plan, other, &first.options, by, count, hashes);
    if (at.plan.end != PLAN_OK)
        attempt_tell_plan();
    for (size_t i = 0; i < count && at.attempt->end == ATTEMPT_HOLDS; i++)
        if (is_new(hashes[i]))
            explore_from(&from[i]);
    at.exploration.setup = first;
}

/* It holds under our ids. Another pupil has others. */
static void attempt_ask_again(struct pupil *other) {
    attempt_try_values(other);
    if (at.attempt->end != ATTEMPT_HOLDS)
        return;
    plan_ask_again(&at.plan, other, &at.exploration.setup.options, AGAIN_LEAST);
    if (at.plan.end != PLAN_OK)
        attempt_tell_plan();
}

void attempt_make_plain(char *text) {
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text < 0 ||
            *text == 127)
            *text = '?';
}

static void attempt_with(struct pair *pair) {
    plan_begin(&at.plan, &pair->pupil, &pair->hello, at.values->seed);
    if (attempt_set_up(at.check)) {
        attempt_explore();
        if (at.attempt->end == ATTEMPT_HOLDS)
            attempt_look_at_techniques();
        if (at.attempt->end == ATTEMPT_HOLDS)
            attempt_ask_again(&pair->other);
    }
    if (at.plan.end != PLAN_OK) /* one of them may have ended */
        pair_leave(pair);
    plan_free(&at.plan);
}

static void attempt_with_pair(struct pair *pair) {
    struct why why;
    const enum pupil_end end = pair->is_met ? PUPIL_OK : pair_meet(pair, &why);

    if (pair->is_met)
        attempt_with(pair);
    else
        tell_no_pair(end, &pair->hello, &why);
}

void attempt_make(struct pair *pair, const struct check *check, const struct values *values,
                  struct attempt *attempt) {
    memset(&at, 0, sizeof at);
    memset(attempt, 0, sizeof *attempt);
    attempt->end = ATTEMPT_BROKEN; /* until something is known */
    at.check = check;
    at.values = values;
    at.attempt = attempt;
    at.is_interrupted = pair->is_interrupted;
    at.view = view_make();
    if (at.view == NULL) {
        conclude(attempt, ATTEMPT_BROKEN, "view: out of memory");
        return;
    }
    pair_gather(pair);
    attempt_with_pair(pair);
    pair_scatter(pair);
    view_free(at.view);
    /* Messages of the student's code are a part of these. */
    attempt_make_plain(attempt->summary);
    attempt_make_plain(attempt->story);
}

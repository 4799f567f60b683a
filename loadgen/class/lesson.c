/* Reads a request of the page, and makes arguments of it. */
#include "lesson.h"

#include "json_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STRATEGIES_MOST 6
#define DEMAND_MOST_S   60

struct number {
    const char *key;
    int64_t least, most, usual;
};

enum { RATE, REQUESTS, STOCK, WORK, RUN_NUMBERS };
static const struct number run_numbers[RUN_NUMBERS] = {
    [RATE] = {"rate", 1, 5000, 800},
    [REQUESTS] = {"requests", 1, 20000, 800},
    [STOCK] = {"stock", 1, 100000, 500},
    [WORK] = {"work_ms", 0, 1000, 2},
};
static const struct number explore_numbers[] = {
    {"orders", 1, 4, 3}, {"instances", 1, 3, 2}, {"stock", 1, 4, 2}, {"preemptions", 0, 4, 3}};
#define EXPLORE_NUMBERS (sizeof explore_numbers / sizeof explore_numbers[0])

static const char *const explore_faults[] = {"pause", "crash", "lost-reply", "expiry", "failover"};
#define EXPLORE_FAULTS (sizeof explore_faults / sizeof explore_faults[0])

/* A value of --fault: a failpoint, or a fault of a server after a part of the demand. */
#define ACTS 2
static const struct run_fault {
    const char *name, *title, *about;
    const char *failpoint;
    struct {
        const char *what;
        int percent;
    } acts[ACTS];
    const char *ttl, *wait;
} run_faults[] = {
    {.name = "none", .title = "nothing fails", .about = "Every server answers."},
    {.name = "pause",
     .title = "an instance stands still in a sale",
     .about =
         "inventory-1 stops for 2 s at its 20th sale, just before it writes. A lease lasts 1 s.",
     .failpoint = "inventory-1/before-write:pause=2s@20",
     .ttl = "1s"},
    {.name = "crash",
     .title = "an instance dies in a sale",
     .about = "inventory-1 is killed at its 20th sale, after it has "
              "read the stock. A lease lasts 1 s.",
     .failpoint = "inventory-1/after-read:crash@20",
     .ttl = "1s"},
    {.name = "kept-lock",
     .title = "a lock is never released",
     .about = "Each instance fails at its 20th sale before it "
              "releases its lock. A lease lasts 1 h.",
     .failpoint = "before-unlock:error@20",
     .ttl = "1h",
     .wait = "500ms"},
    {.name = "lost-reply",
     .title = "an answer is lost",
     .about = "inventory-1 sells a unit at its 20th sale, and its answer never arrives.",
     .failpoint = "inventory-1/after-write:drop-reply@20"},
    {.name = "redis",
     .title = "Redis is killed and comes back",
     .about = "Redis is killed after 30 % of the demand, and started again after 60 %.",
     .acts = {{"redis:kill", 30}, {"redis:start", 60}}},
};
#define RUN_FAULTS (sizeof run_faults / sizeof run_faults[0])

static json_t *numbers_json(const struct number *numbers, size_t count) {
    json_t *json = json_object();

    for (size_t i = 0; i < count; i++)
        json_text_set(&json, numbers[i].key,
                      json_pack("[I,I,I]", (json_int_t)numbers[i].least,
                                (json_int_t)numbers[i].most, (json_int_t)numbers[i].usual));
    return json;
}

json_t *lesson_setup(void) {
    json_t *faults = json_array(), *words = json_array();

    for (size_t i = 0; i < RUN_FAULTS; i++)
        json_text_append(&faults, json_pack("{s:s,s:s,s:s}", "name", run_faults[i].name, "title",
                                            run_faults[i].title, "about", run_faults[i].about));
    for (size_t i = 0; i < EXPLORE_FAULTS; i++)
        json_text_append(&words, json_string(explore_faults[i]));
    return JSON_TEXT_OBJECT({"run", numbers_json(run_numbers, RUN_NUMBERS)},
                            {"explore", numbers_json(explore_numbers, EXPLORE_NUMBERS)},
                            {"run_faults", faults}, {"explore_faults", words});
}

/* ---- reading */

static int read_numbers(const json_t *asked, const struct number *numbers, size_t count,
                        int64_t *values, struct why *why) {
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(asked, numbers[i].key);

        values[i] = json_integer_value(value);
        if (!json_is_integer(value) || values[i] < numbers[i].least || values[i] > numbers[i].most)
            return why_set(why, "\"%s\" must be a whole number from %" PRId64 " to %" PRId64,
                           numbers[i].key, numbers[i].least, numbers[i].most);
    }
    return 0;
}

/* Returns the table's own text of a name, or NULL. */
static const char *lesson_find_strategy(const json_t *strategies, const json_t *name) {
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy) {
        const char *known = json_string_value(json_object_get(strategy, "name"));

        if (known != NULL && json_is_string(name) && strcmp(known, json_string_value(name)) == 0)
            return known;
    }
    return NULL;
}

static const struct run_fault *find_fault(const json_t *name) {
    for (size_t i = 0; i < RUN_FAULTS; i++)
        if (json_is_string(name) && strcmp(json_string_value(name), run_faults[i].name) == 0)
            return &run_faults[i];
    return NULL;
}

/* ---- arguments */

/* If an argument does not fit, `used` is at the end: lesson_read() reports it. */
__attribute__((format(printf, 2, 3))) static void lesson_add(struct lesson *lesson,
                                                             const char *format, ...) {
    size_t room = sizeof lesson->text - lesson->used;
    va_list args;
    int length;

    assert(lesson->used <= sizeof lesson->text && lesson->count < LESSON_WORDS);
    va_start(args, format);
    length = vsnprintf(lesson->text + lesson->used, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room || lesson->count + 1 == LESSON_WORDS) {
        lesson->used = sizeof lesson->text;
        return;
    }
    lesson->words[lesson->count++] = lesson->text + lesson->used;
    lesson->used += (size_t)length + 1;
}

/* Flags have the names of the numbers. */
static void add_numbers(struct lesson *lesson, const struct number *numbers, size_t count,
                        const int64_t *values) {
    for (size_t i = 0; i < count; i++) {
        lesson_add(lesson, "--%s", numbers[i].key);
        lesson_add(lesson, "%" PRId64, values[i]);
    }
}

static void add_text(struct lesson *lesson, const char *flag, const char *value) {
    lesson_add(lesson, "%s", flag);
    lesson_add(lesson, "%s", value);
}

/* Writes the names to the title, with commas between. */
static int lesson_read_strategies(const json_t *asked, const json_t *strategies,
                                  struct lesson *lesson, struct why *why) {
    const json_t *names = json_object_get(asked, "strategies");
    const size_t count = json_array_size(names), size = sizeof lesson->title;
    size_t used = 0;

    if (count < 1 || count > STRATEGIES_MOST)
        return why_set(why, "choose 1 to %d strategies", STRATEGIES_MOST);
    for (size_t i = 0; i < count; i++) {
        const char *name = lesson_find_strategy(strategies, json_array_get(names, i));

        if (name == NULL)
            return why_set(why, "\"strategies\" has a name that the target does not know");
        if (used + strlen(name) + 3 > size)
            return why_set(why, "the names are too long");
        used += (size_t)snprintf(lesson->title + used, size - used, "%s%s", i > 0 ? "," : "", name);
    }
    return 0;
}

static void add_fault(struct lesson *lesson, const struct run_fault *fault, int64_t demand_ms) {
    assert(fault->failpoint == NULL || fault->acts[0].what == NULL); /* one of the two */
    if (fault->failpoint != NULL)
        add_text(lesson, "--fault", fault->failpoint);
    for (size_t i = 0; i < ACTS && fault->acts[i].what != NULL; i++) {
        lesson_add(lesson, "--fault");
        lesson_add(lesson, "%s@%" PRId64 "ms", fault->acts[i].what,
                   demand_ms * fault->acts[i].percent / 100);
    }
    if (fault->ttl != NULL)
        add_text(lesson, "--ttl", fault->ttl);
    if (fault->wait != NULL)
        add_text(lesson, "--wait", fault->wait);
}

static int lesson_read_run(const json_t *asked, const json_t *strategies,
                           const struct lesson_place *place, struct lesson *lesson,
                           struct why *why) {
    const struct run_fault *fault = find_fault(json_object_get(asked, "fault"));
    int64_t values[RUN_NUMBERS];

    if (read_numbers(asked, run_numbers, RUN_NUMBERS, values, why) != 0 ||
        lesson_read_strategies(asked, strategies, lesson, why) != 0)
        return -1;
    if (fault == NULL)
        return why_set(why, "\"fault\" is no fault of this page");
    if (values[REQUESTS] > values[RATE] * DEMAND_MOST_S)
        return why_set(why, "this many requests at this rate take more than %d s", DEMAND_MOST_S);
    lesson_add(lesson, "loadgen");
    add_text(lesson, "--strategy", lesson->title);
    add_numbers(lesson, run_numbers, WORK, values); /* the numbers before WORK */
    lesson_add(lesson, "--work");
    lesson_add(lesson, "%" PRId64 "ms", values[WORK]);
    add_text(lesson, "--dup-rate", "0"); /* then sold and refused add up on the page */
    add_fault(lesson, fault, values[REQUESTS] * 1000 / values[RATE]);
    add_text(lesson, "--late", "1s"); /* a browser and a projector use this machine, too */
    add_text(lesson, "--target", place->target);
    add_text(lesson, "--results", place->results);
    add_text(lesson, "--name", fault == run_faults ? "class" : fault->name);
    lesson_add(lesson, "--json-progress");
    add_text(lesson, "--output-format", "json");
    return 0;
}

static int lesson_read_faults(const json_t *asked, char list[128], struct why *why) {
    const json_t *names = json_object_get(asked, "faults");
    size_t found = 0;

    list[0] = '\0';
    for (size_t i = 0; i < EXPLORE_FAULTS; i++)
        for (size_t j = 0; j < json_array_size(names); j++) {
            const char *name = json_string_value(json_array_get(names, j));

            if (name == NULL || strcmp(name, explore_faults[i]) != 0)
                continue;
            (void)snprintf(list + strlen(list), 128 - strlen(list), "%s%s", found > 0 ? "," : "",
                           name);
            found++;
            break;
        }
    if (!json_is_array(names) || found != json_array_size(names))
        return why_set(why,
                       "\"faults\" must be a list of pause, crash, lost-reply, expiry, failover");
    return 0;
}

static int lesson_read_exploration(const json_t *asked, const json_t *strategies,
                                   struct lesson *lesson, struct why *why) {
    const char *strategy = lesson_find_strategy(strategies, json_object_get(asked, "strategy"));
    int64_t values[EXPLORE_NUMBERS];
    char faults[128];

    if (read_numbers(asked, explore_numbers, EXPLORE_NUMBERS, values, why) != 0 ||
        lesson_read_faults(asked, faults, why) != 0)
        return -1;
    if (strategy == NULL)
        return why_set(why, "\"strategy\" is unknown to the target");
    snprintf(lesson->title, sizeof lesson->title, "%s", strategy);
    lesson_add(lesson, "lab");
    add_text(lesson, "explore", strategy);
    lesson_add(lesson, "--json");
    lesson_add(lesson, "--choices");
    add_numbers(lesson, explore_numbers, EXPLORE_NUMBERS, values);
    add_text(lesson, "--faults", faults[0] != '\0' ? faults : "none");
    return 0;
}

int lesson_read(enum lesson_kind kind, const json_t *asked, const json_t *strategies,
                const struct lesson_place *place, struct lesson *lesson, struct why *why) {
    int rc;

    *lesson = (struct lesson){.kind = kind};
    rc = kind == LESSON_RUN ? lesson_read_run(asked, strategies, place, lesson, why)
                            : lesson_read_exploration(asked, strategies, lesson, why);
    if (rc == 0 && lesson->used >= sizeof lesson->text)
        return why_set(why, "the arguments are too long");
    assert(rc != 0 || (lesson->count > 0 && lesson->words[lesson->count] == NULL));
    return rc;
}

/* Reads parts, compares them, and puts their requests into one round. */
#include "parts.h"

#include "file_error.h"
#include "folder.h"
#include "history_fields.h"
#include "number.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one file */

int parts_write(const char *path, const struct options *options, int64_t started_us,
                const struct round *round, struct why *why) {
    FILE *to = fopen(path, "wxe");
    int code, error;

    if (to == NULL)
        return why_set(why, "%s: %s", path, file_error(errno));
    code = history_write_run(to, options, started_us) != 0 ? -1 : history_write_round(to, round);
    error = errno;
    if (fclose(to) == 0 && code == 0)
        return 0;
    error = code == 0 ? errno : error;
    (void)unlink(path); /* no half of a part is left */
    return why_set(why, "%s: %s", path, file_error(error));
}

int parts_read_plan(struct history *plan, const char *path, struct why *why) {
    if (history_load(plan, path, why) != 0)
        return -1;
    if (plan->is_load || plan->is_cut || plan->count != 1 || plan->rounds[0].recorder->count > 0)
        return why_set(why, "%s is no plan; loadgen plan makes one", path);
    return 0;
}

/* ---- the parts of one plan */

int parts_expect(struct parts *parts, size_t count) {
    assert(parts->count == 0 && count > 0 && count <= HISTORY_PARTS);
    parts->items = calloc(count, sizeof *parts->items);
    if (parts->items == NULL)
        return -1;
    parts->count = count;
    return 0;
}

struct part *parts_first(const struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].history != NULL)
            return &parts->items[i];
    return NULL;
}

static void free_history(struct history *history) {
    if (history != NULL)
        history_free(history);
    free(history);
}

void parts_free(struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++)
        free_history(parts->items[i].history);
    free(parts->items);
    *parts = (struct parts){.count = 0};
}

/* The first setting that differs, or NULL. */
static const char *parts_difference(const json_t *settings, const json_t *others) {
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)settings, key, value)
        if (!json_equal(value, json_object_get(others, key)))
            return key;
    return NULL;
}

static int check_settings(const struct part *first, const struct history *history, const char *path,
                          struct why *why) {
    json_t *settings = option_history(&first->history->options);
    json_t *others = option_history(&history->options);
    const char *key = parts_difference(settings, others);
    char *here = NULL, *there = NULL;
    int code = settings == NULL || others == NULL ? why_set(why, "out of memory") : 0;

    if (code == 0 && key != NULL) {
        here = json_dumps(json_object_get(others, key), JSON_ENCODE_ANY);
        there = json_dumps(json_object_get(settings, key), JSON_ENCODE_ANY);
        code =
            why_set(why, "%s is a part of another plan than %s: its \"%s\" is %s, and not %s", path,
                    first->path, key, here != NULL ? here : "?", there != NULL ? there : "?");
    }
    free(here);
    free(there);
    json_decref(settings);
    json_decref(others);
    return code;
}

static bool has_same_products(const struct round *round, const struct round *other) {
    if (round->items != other->items)
        return false;
    for (size_t i = 0; i < round->items; i++)
        if (strcmp(round->products[i].id, other->products[i].id) != 0)
            return false;
    return true;
}

/* Two plans with the same settings differ in the moment when they were made, and in the products. */
static int check_plan(const struct parts *parts, const struct history *history, const char *path,
                      struct why *why) {
    const struct part *first = parts_first(parts);
    const struct round *round = &history->rounds[0];

    if (first == NULL)
        return 0;
    if (check_settings(first, history, path, why) != 0)
        return -1;
    if (round->parts != parts->count)
        return why_set(why, "%s is one of %zu parts, and %s is one of %zu", path, round->parts,
                       first->path, parts->count);
    if (first->history->started_us != history->started_us ||
        !has_same_products(&first->history->rounds[0], round))
        return why_set(why, "%s is a part of another plan than %s: its products are others", path,
                       first->path);
    return 0;
}

/* Owns the history if it succeeds. */
static int take_part(struct parts *parts, struct history *history, const char *path,
                     struct why *why) {
    const struct round *round = &history->rounds[0];
    struct part *part;

    if (history->is_load || history->count != 1 || round->part == 0 || round->part > round->parts)
        return why_set(why, "%s has no part of a plan; loadgen send writes one", path);
    if (check_plan(parts, history, path, why) != 0)
        return -1;
    if (parts->count == 0 && parts_expect(parts, round->parts) != 0)
        return why_set(why, "out of memory");
    if (round->parts != parts->count)
        return why_set(why, "%s is one of %zu parts, not of %zu", path, round->parts, parts->count);
    part = &parts->items[round->part - 1];
    if (part->history != NULL)
        return why_set(why, "%s and %s are both part %zu of %zu", part->path, path, round->part,
                       round->parts);
    part->path = path;
    part->history = history;
    return 0;
}

static void miss(struct parts *parts, const char *path, const char *reason) {
    if (parts->unread.text[0] == '\0')
        (void)why_set(&parts->unread, "%s %s", path, reason);
}

/* A history that is missing or cut is a lost part. */
static int read_part(struct parts *parts, const char *path, struct history *history,
                     struct why *why) {
    char file[FOLDER_PATH + 20];

    snprintf(file, sizeof file, "%s/history.ndjson", path);
    if (access(file, F_OK) != 0) {
        miss(parts, file, "does not exist");
        return 1;
    }
    if (history_load(history, path, why) != 0)
        return -1;
    if (!history->is_cut && history->count > 0)
        return take_part(parts, history, path, why);
    miss(parts, file, "is cut");
    return 1;
}

int parts_add(struct parts *parts, const char *path, struct why *why) {
    struct history *history = calloc(1, sizeof *history);
    int code;

    if (history == NULL)
        return why_set(why, "out of memory");
    code = read_part(parts, path, history, why);
    if (code != 0)
        free_history(history);
    return code < 0 ? -1 : 0;
}

/* ---- one round of all */

struct merge {
    const struct parts *parts;
    const struct plan *plan;
    struct recorder *recorder;
    const struct round *base;        /* of the part that started first */
    const struct record **by_number; /* NULL: not begun, or lost */
    size_t end;                      /* the highest number that a part has begun, plus one */
    int64_t end_ns;
};

static const struct round *part_round(const struct part *part) {
    return &part->history->rounds[0];
}

static const struct part *part_of(const struct merge *merge, size_t number) {
    const size_t count = merge->parts->count;

    return &merge->parts->items[merge->plan->arrivals[number].repeats % count];
}

static bool has_one_clock(const struct parts *parts) {
    const char *clock = part_round(parts_first(parts))->clock;

    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].history != NULL &&
            strcmp(part_round(&parts->items[i])->clock, clock) != 0)
            return false;
    return clock[0] != '\0';
}

static int64_t start_of(const struct merge *merge, const struct round *round) {
    return has_one_clock(merge->parts) ? round->recorder->start_ns : round->started_us * 1000;
}

static void choose_base(struct merge *merge) {
    for (size_t i = 0; i < merge->parts->count; i++) {
        const struct part *part = &merge->parts->items[i];

        if (part->history != NULL && (merge->base == NULL || start_of(merge, part_round(part)) <
                                                                 start_of(merge, merge->base)))
            merge->base = part_round(part);
    }
    assert(merge->base != NULL);
}

static int index_part(struct merge *merge, const struct part *part, struct why *why) {
    const struct recorder *recorder = part_round(part)->recorder;

    for (size_t i = 0; i < recorder->ended; i++) {
        const struct record *record = &recorder->records[i];

        if (record->number >= merge->plan->count || part_of(merge, record->number) != part ||
            merge->by_number[record->number] != NULL)
            return why_set(why,
                           "%s has request %u, which is not in this part of its plan, or twice",
                           part->path, record->number);
        merge->by_number[record->number] = record;
        if (record->number >= merge->end)
            merge->end = (size_t)record->number + 1;
        merge->end_ns = number_max(merge->end_ns, record->received_ns);
    }
    merge->recorder->late_launches += recorder->late_launches;
    return 0;
}

/* Times count from the start of the base; the order of instances is that of the first replies. */
static int add_request(struct merge *merge, const struct record *from) {
    const struct recorder *recorder = part_round(part_of(merge, from->number))->recorder;
    const int64_t later_ns =
        start_of(merge, part_round(part_of(merge, from->number))) - start_of(merge, merge->base);
    struct record record = *from;

    record.planned_ns += later_ns;
    record.sent_ns += from->sent_ns != 0 ? later_ns : 0;
    record.received_ns += from->received_ns != 0 ? later_ns : 0;
    if (from->instance >= 0)
        record.instance = recorder_instance(merge->recorder, recorder->instances[from->instance]);
    if (record_set_id(&record.key, &merge->recorder->texts, record_key(from)) != 0 ||
        record_set_id(&record.order_id, &merge->recorder->texts, record_order_id(from)) != 0)
        return -1;
    recorder_add(merge->recorder, &record);
    return 0;
}

/* The part that owns it stopped before (UNSENT), or is lost: it may have been sent at its planned
 * moment or later. */
static void add_missing(struct merge *merge, size_t number) {
    const struct arrival *arrival = &merge->plan->arrivals[number];
    struct record record = {.planned_ns = arrival->due_ns,
                            .unit = -1,
                            .number = (uint32_t)number,
                            .item = arrival->item,
                            .outcome = RECORD_UNSENT,
                            .instance = -1,
                            .is_repeat = arrival->repeats != number};

    cost_init(&record.cost);
    uuid_v7(record.key.room);
    if (part_of(merge, number)->history == NULL) {
        record_leave_nameless(&record);
        record.outcome = RECORD_UNKNOWN;
        record.sent_ns = number_max(arrival->due_ns, 1);
        record.received_ns = number_max(merge->end_ns, record.sent_ns);
    }
    recorder_add(merge->recorder, &record);
}

static int add_requests(struct merge *merge) {
    for (size_t number = 0; number < merge->plan->count; number++) {
        if (merge->by_number[number] == NULL) {
            if (number < merge->end || part_of(merge, number)->history == NULL)
                add_missing(merge, number);
        } else if (add_request(merge, merge->by_number[number]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int merge_requests(struct merge *merge, struct why *why) {
    for (size_t i = 0; i < merge->parts->count; i++) {
        const struct part *part = &merge->parts->items[i];

        if (part->history != NULL && index_part(merge, part, why) != 0)
            return -1;
    }
    return add_requests(merge) == 0 ? 0 : why_set(why, "out of memory");
}

/* "part 2 of 3 is lost: it was killed by signal 9; part 3 of 3 ..." */
static void doubt_lost(const struct parts *parts, struct round *round) {
    struct why lost = {""}, before;

    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        const char *reason = part->why.text[0] != '\0' ? part->why.text : parts->unread.text;

        if (part->history != NULL)
            continue;
        before = lost;
        (void)why_set(&lost, "%s%spart %zu of %zu is lost%s%s", before.text,
                      before.text[0] != '\0' ? "; " : "", i + 1, parts->count,
                      reason[0] != '\0' ? ": " : "", reason);
    }
    assert(round->doubt_count < ROUND_DOUBTS);
    if (lost.text[0] != '\0')
        round->doubts[round->doubt_count++] = lost;
}

static void merge_flags(const struct parts *parts, struct round *round) {
    round->is_realtime = true;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].history == NULL)
            continue;
        round->is_realtime = round->is_realtime && part_round(&parts->items[i])->is_realtime;
        round->is_interrupted =
            round->is_interrupted || part_round(&parts->items[i])->is_interrupted;
    }
}

int parts_merge(const struct parts *parts, const struct plan *plan, struct round *round,
                struct why *why) {
    struct merge merge = {.parts = parts,
                          .plan = plan,
                          .recorder = round->recorder,
                          .by_number = calloc(plan->count + 1, sizeof(struct record *))};
    int code;

    assert(parts_first(parts) != NULL && round->recorder->count == 0);
    if (merge.by_number == NULL)
        return why_set(why, "out of memory");
    if (!has_one_clock(parts) && !parts_first(parts)->history->options.no_judge) {
        free(merge.by_number);
        return why_set(why,
                       "the parts were sent by machines with different clocks, so the order of "
                       "their requests is not known; only a plan with --no-judge can be merged");
    }
    choose_base(&merge);
    round->recorder->start_ns = merge.base->recorder->start_ns;
    round->started_us = merge.base->started_us;
    merge_flags(parts, round);
    code = merge_requests(&merge, why);
    doubt_lost(parts, round);
    free(merge.by_number);
    return code;
}

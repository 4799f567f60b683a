/* Reads parts, compares them, and puts their requests into one round. */
#include "parts.h"

#include "file_error.h"
#include "folder.h"
#include "history_fields.h"
#include "number.h"
#include "offsets.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MICRO_NS      1000
#define SLACK_MOST_US 1000000000 /* a clock that steps farther is no clock */

/* ---- one file */

int parts_write(FILE *to, const struct options *options, int64_t started_us,
                const struct round *round) {
    return history_write_run(to, options, started_us) != 0 ? -1 : history_write_round(to, round);
}

int parts_write_file(const char *path, const struct options *options, int64_t started_us,
                     const struct round *round, struct why *why) {
    FILE *to = fopen(path, "wxe");
    int code, error;

    if (to == NULL)
        return why_set(why, "%s: %s", path, file_error(errno));
    code = parts_write(to, options, started_us, round);
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
    const struct part *base;         /* the part that started first */
    const struct record **by_number; /* NULL: not begun, or lost */
    struct offsets *offsets;         /* of each part; NULL: of one clock, or not judged */
    size_t end;                      /* the highest number that a part has begun, plus one */
    int64_t origin_ns; /* the start of the round, like start_of(): no moment is before it */
    int64_t end_ns;    /* the last moment of all, from there */
};

static const struct round *part_round(const struct part *part) {
    return &part->history->rounds[0];
}

static const struct part *part_of(const struct merge *merge, size_t number) {
    const size_t count = merge->parts->count;

    return &merge->parts->items[merge->plan->arrivals[number].repeats % count];
}

/* ---- their clocks */

static const struct offsets *offsets_of(const struct merge *merge, const struct part *part) {
    return &merge->offsets[part - merge->parts->items];
}

static int64_t middle_of(struct offset offset) {
    return offset.low_ns + (offset.high_ns - offset.low_ns) / 2;
}

/* A moment since the start of the part, on the clock of all parts. */
static int64_t moment_of(const struct merge *merge, const struct part *part, int64_t at_ns) {
    if (merge->offsets != NULL)
        return at_ns + middle_of(offsets_at(offsets_of(merge, part), at_ns));
    return at_ns + (merge->parts->is_one_clock ? part_round(part)->recorder->start_ns
                                               : part_round(part)->started_us * 1000);
}

/* Without a judgement no order of requests is claimed, and the wall clocks do. */
static int open_clocks(struct merge *merge, struct why *why) {
    const struct parts *parts = merge->parts;

    if (parts->is_one_clock || parts_first(parts)->history->options.no_judge)
        return 0;
    merge->offsets = calloc(parts->count, sizeof *merge->offsets);
    if (merge->offsets == NULL)
        return why_set(why, "out of memory");
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];

        if (part->history == NULL)
            continue;
        if (part_round(part)->sample_count == 0)
            return why_set(why,
                           "%s does not tell how its clock differs from that of the database: "
                           "send it with a moment in --at",
                           part->path);
        if (offsets_make(&merge->offsets[i], part_round(part)->samples,
                         part_round(part)->sample_count) != 0)
            return why_set(why, "out of memory");
        if (merge->offsets[i].steps_ns / MICRO_NS > SLACK_MOST_US)
            return why_set(why, "%s: its clock or that of the database stepped by %" PRId64 " s",
                           part->path, merge->offsets[i].steps_ns / 1000000000);
    }
    return 0;
}

static void close_clocks(struct merge *merge) {
    for (size_t i = 0; merge->offsets != NULL && i < merge->parts->count; i++)
        offsets_free(&merge->offsets[i]);
    free(merge->offsets);
}

/* Chooses the base and the origin. */
static void choose_origin(struct merge *merge) {
    int64_t first_ns = INT64_MAX;

    for (size_t i = 0; i < merge->parts->count; i++) {
        const struct part *part = &merge->parts->items[i];

        if (part->history == NULL || moment_of(merge, part, 0) >= first_ns)
            continue;
        merge->base = part;
        first_ns = moment_of(merge, part, 0);
    }
    assert(merge->base != NULL);
    merge->origin_ns = first_ns;
    for (size_t i = 0; i < merge->plan->count && merge->offsets != NULL; i++) {
        const struct record *record = merge->by_number[i];
        const struct part *part = part_of(merge, i);

        if (record != NULL && record->sent_ns > 0)
            merge->origin_ns = -number_max(
                -merge->origin_ns,
                -(record->sent_ns + offsets_at(offsets_of(merge, part), record->sent_ns).low_ns -
                  MICRO_NS - 1));
    }
}

/* The whole microseconds that cover this. */
static int32_t slack_of(int64_t ns) {
    return (int32_t)(ns / MICRO_NS + (ns % MICRO_NS > 0));
}

/* Moves the ends of the request apart as far as the clock of its part is not known. All three
 * readings move by one offset, so latencies stay those of that clock. */
static void widen(const struct merge *merge, const struct part *part, struct record *record) {
    const struct offsets *offsets = offsets_of(merge, part);
    const int64_t by_ns =
        middle_of(offsets_at(offsets, record->sent_ns != 0 ? record->sent_ns : record->planned_ns));

    if (record->sent_ns != 0) {
        record->sent_slack_us = slack_of(by_ns - offsets_at(offsets, record->sent_ns).low_ns);
        record->sent_ns += by_ns - merge->origin_ns - (int64_t)record->sent_slack_us * MICRO_NS;
    }
    if (record->received_ns != 0) {
        record->received_slack_us =
            slack_of(offsets_at(offsets, record->received_ns).high_ns - by_ns);
        record->received_ns +=
            by_ns - merge->origin_ns + (int64_t)record->received_slack_us * MICRO_NS;
    }
    record->planned_ns += by_ns - merge->origin_ns;
}

static void move(const struct merge *merge, const struct part *part, struct record *record) {
    const int64_t by_ns = moment_of(merge, part, 0) - merge->origin_ns;

    record->planned_ns += by_ns;
    record->sent_ns += record->sent_ns != 0 ? by_ns : 0;
    record->received_ns += record->received_ns != 0 ? by_ns : 0;
}

/* ---- their requests */

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
    }
    merge->recorder->late_launches += recorder->late_launches;
    return 0;
}

/* The order of instances is that of the first replies. */
static int add_request(struct merge *merge, const struct record *from) {
    const struct part *part = part_of(merge, from->number);
    struct record record = *from;

    (merge->offsets != NULL ? widen : move)(merge, part, &record);
    if (from->instance >= 0)
        record.instance = recorder_instance(merge->recorder,
                                            part_round(part)->recorder->instances[from->instance]);
    if (record_set_id(&record.key, &merge->recorder->texts, record_key(from)) != 0 ||
        record_set_order_id(&record, &merge->recorder->texts, record_order_id(from)) != 0)
        return -1;
    merge->end_ns = number_max(merge->end_ns, record.received_ns);
    recorder_add(merge->recorder, &record);
    return 0;
}

/* The part that owns it stopped before (UNSENT), or is lost: then it may have been sent at any time,
 * because its clock is not known, and counts as a timeout. */
static void add_missing(struct merge *merge, size_t number) {
    const struct arrival *arrival = &merge->plan->arrivals[number];
    struct record record = {.planned_ns = arrival->due_ns + moment_of(merge, merge->base, 0) -
                                          merge->origin_ns,
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
        record.sent_ns = 1;
        record.received_ns =
            number_max(merge->end_ns,
                       record.planned_ns + parts_first(merge->parts)->history->options.timeout_ns);
    }
    recorder_add(merge->recorder, &record);
}

static bool is_lost(const struct merge *merge, size_t number) {
    return part_of(merge, number)->history == NULL;
}

/* All parts were stopped: then the run has ended there, and what none has begun was not due. */
static bool were_all_stopped(const struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].history != NULL && !part_round(&parts->items[i])->is_interrupted)
            return false;
    return true;
}

/* The lost ones last: they end when all others have ended. */
static int add_requests(struct merge *merge) {
    const bool has_ended = were_all_stopped(merge->parts);

    for (size_t number = 0; number < merge->end; number++) {
        if (merge->by_number[number] != NULL && add_request(merge, merge->by_number[number]) != 0)
            return -1;
        if (merge->by_number[number] == NULL && !is_lost(merge, number) && !has_ended)
            add_missing(merge, number);
    }
    for (size_t number = 0; number < merge->plan->count; number++)
        if (is_lost(merge, number))
            add_missing(merge, number);
    return 0;
}

static int merge_requests(struct merge *merge, struct why *why) {
    for (size_t i = 0; i < merge->parts->count; i++) {
        const struct part *part = &merge->parts->items[i];

        if (part->history != NULL && index_part(merge, part, why) != 0)
            return -1;
    }
    if (open_clocks(merge, why) != 0)
        return -1;
    choose_origin(merge);
    return add_requests(merge) == 0 ? 0 : why_set(why, "out of memory");
}

/* ---- the doubts */

__attribute__((format(printf, 2, 3))) static void append(struct why *why, const char *format, ...) {
    const size_t used = strlen(why->text);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(why->text + used, sizeof why->text - used, format, arguments);
    va_end(arguments);
}

static void add_doubt(struct round *round, const struct why *doubt) {
    assert(round->doubt_count < ROUND_DOUBTS);
    if (doubt->text[0] != '\0')
        round->doubts[round->doubt_count++] = *doubt;
}

/* "the clock of part 2 of 3, or that of the database, stepped by 31 ms, 4.2 s after its start" */
static void doubt_clocks(const struct merge *merge, struct round *round) {
    struct why stepped = {""};

    for (size_t i = 0; merge->offsets != NULL && i < merge->parts->count; i++) {
        const struct offsets *offsets = &merge->offsets[i];

        if (offsets->steps > 0)
            append(&stepped,
                   "%sthe clock of part %zu of %zu, or that of the database, stepped by %.3g ms, "
                   "%.1f s after its start",
                   stepped.text[0] != '\0' ? "; " : "", i + 1, merge->parts->count,
                   (double)llabs(offsets->step_ns) / 1e6, (double)offsets->step_at_ns / 1e9);
    }
    add_doubt(round, &stepped);
}

/* "part 2 of 3 is lost: it was killed by signal 9; part 3 of 3 ..." */
static void doubt_lost(const struct parts *parts, struct round *round) {
    struct why lost = {""};

    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        const char *reason = part->why.text[0] != '\0' ? part->why.text : parts->unread.text;

        if (part->history == NULL)
            append(&lost, "%spart %zu of %zu is lost%s%s", lost.text[0] != '\0' ? "; " : "", i + 1,
                   parts->count, reason[0] != '\0' ? ": " : "", reason);
    }
    add_doubt(round, &lost);
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
    code = merge_requests(&merge, why);
    if (code == 0) {
        round->recorder->start_ns = part_round(merge.base)->recorder->start_ns;
        round->started_us =
            merge.offsets != NULL ? merge.origin_ns / MICRO_NS : part_round(merge.base)->started_us;
        merge_flags(parts, round);
        doubt_clocks(&merge, round);
        doubt_lost(parts, round);
    }
    close_clocks(&merge);
    free(merge.by_number);
    return code;
}

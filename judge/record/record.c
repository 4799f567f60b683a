/* Keeps a record of each request, and counts them. */
#include "record.h"

#include "spool.h"
#include "text_copy.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAST_MEMORY ((size_t)4 << 20)

static const struct {
    const char *name, *text;
} outcomes[] = {
#define X(id, word, text) {#word, text},
    RECORD_OUTCOMES(X)
#undef X
};

const char *record_outcome_name(enum record_outcome outcome) {
    assert(outcome < RECORD_OUTCOME_COUNT);
    return outcomes[outcome].name;
}

const char *record_outcome_text(enum record_outcome outcome) {
    assert(outcome < RECORD_OUTCOME_COUNT);
    return outcomes[outcome].text;
}

bool record_is_id(const char *text) {
    size_t length = 0;

    for (; length < RECORD_ID && text[length] != '\0'; length++)
        if (text[length] <= ' ' || text[length] > '~' || text[length] == '"' ||
            text[length] == '\\')
            return false;
    return length > 0 && length < RECORD_ID;
}

int record_set_id(struct record_id *id, struct texts *texts, const char *text) {
    const size_t length = strlen(text);
    const char *copy;

    assert(length < RECORD_ID && text[0] != RECORD_FAR);
    if (length < sizeof id->room) {
        memcpy(id->room, text, length + 1);
        return 0;
    }
    assert(texts != NULL);
    copy = texts_add(texts, text);
    id->room[0] = copy != NULL ? RECORD_FAR : '\0';
    memcpy(id->room + 1, &copy, sizeof copy);
    return copy != NULL ? 0 : -1;
}

const char record_same[] = "";

int record_set_order_id(struct record *record, struct texts *texts, const char *text) {
    assert(strlen(text) < RECORD_ID);
    record->order_id = NULL;
    if (text[0] == '\0')
        return 0;
    record->order_id = strcmp(text, record_key(record)) == 0 ? record_same : texts_add(texts, text);
    return record->order_id != NULL ? 0 : -1;
}

/* NULL with errno. */
static struct record *map_file(const char *directory, size_t length) {
    int fd = spool_make(directory, length);
    void *room;

    if (fd < 0)
        return NULL;
    room = spool_map(fd, length);
    (void)close(fd);
    return room;
}

static struct recorder *record_make(size_t count, bool is_mapped, const char *directory) {
    struct recorder *recorder = calloc(1, sizeof *recorder);

    if (recorder == NULL)
        return NULL;
    recorder->size = recorder->planned = count;
    recorder->is_mapped = is_mapped;
    recorder->records = is_mapped ? map_file(directory, count * sizeof *recorder->records)
                                  : calloc(count ? count : 1, sizeof *recorder->records);
    if (recorder->records != NULL)
        return recorder;
    free(recorder);
    return NULL;
}

struct recorder *recorder_make(size_t count) {
    return record_make(count, false, NULL);
}

struct recorder *recorder_make_long(size_t count, const char *directory) {
    return record_make(count, count > RECORD_MEMORY, directory);
}

struct recorder *recorder_make_past(size_t count, const char *directory) {
    struct recorder *recorder = count > PAST_MEMORY ? recorder_make_long(count, directory) : NULL;

    return recorder != NULL ? recorder : recorder_make(count);
}

void recorder_forget(struct recorder *recorder) {
    if (recorder->is_mapped && recorder->records != NULL)
        (void)munmap(recorder->records, recorder->size * sizeof *recorder->records);
    else
        free(recorder->records);
    recorder->records = NULL;
    texts_free(&recorder->texts);
}

void recorder_free(struct recorder *recorder) {
    if (recorder == NULL)
        return;
    recorder_forget(recorder);
    free(recorder);
}

int16_t recorder_instance(struct recorder *recorder, const char *name) {
    char printable[RECORD_INSTANCE_TEXT];

    text_copy(printable, sizeof printable, name);
    utf8_make_printable(printable);
    for (size_t i = 0; i < recorder->instance_count; i++)
        if (strcmp(recorder->instances[i], printable) == 0)
            return (int16_t)i;
    if (recorder->instance_count == RECORD_INSTANCES || name[0] == '\0')
        return -1;
    memcpy(recorder->instances[recorder->instance_count], printable, sizeof printable);
    return (int16_t)recorder->instance_count++;
}

struct record *recorder_begin(struct recorder *recorder, size_t number, int64_t planned_ns,
                              const struct record_id *key) {
    struct record *record = &recorder->records[number];

    assert(recorder->records != NULL);
    assert(number < recorder->size);
    *record = (struct record){.planned_ns = planned_ns,
                              .number = (uint32_t)number,
                              .unit = -1,
                              .instance = -1,
                              .outcome = RECORD_UNSENT,
                              .is_repeat = key != NULL};
    cost_init(&record->cost);
    if (key != NULL)
        record->key = *key;
    else
        uuid_v7(record->key.room);
    recorder->count++;
    return record;
}

#define NAMELESS "00000000-0000-0000-0000-"

void record_leave_nameless(struct record *record) {
    (void)snprintf(record->key.room, sizeof record->key.room, NAMELESS "%012" PRIu32,
                   record->number);
}

bool record_is_nameless(const struct record *record) {
    return strncmp(record->key.room, NAMELESS, strlen(NAMELESS)) == 0;
}

static bool record_is_sale(const struct record *record) {
    return record->outcome == RECORD_SOLD && !record->is_repeat;
}

static void add_time(struct histogram *histogram, int32_t us) {
    if (us >= 0)
        histogram_record(histogram, (int64_t)us * 1000);
}

static uint64_t record_count_of(int32_t value) {
    return value > 0 ? (uint64_t)value : 0;
}

/* Holds without a sale are shorter, so they are summed apart. */
static void add_hold(struct recorder *recorder, const struct record *record) {
    if (record_is_sale(record)) {
        add_time(&recorder->hold, record->cost.hold_us);
    } else if (record->cost.hold_us >= 0) {
        recorder->unsold_hold_ns += (int64_t)record->cost.hold_us * 1000;
        recorder->unsold_holds++;
    }
}

static void record_add_cost(struct recorder *recorder, const struct record *record) {
    const struct record_cost *cost = &record->cost;

    if (cost->postgres < 0) /* the reply told no cost */
        return;
    recorder->costed++;
    recorder->postgres += record_count_of(cost->postgres);
    recorder->redis += record_count_of(cost->redis);
    recorder->retries += record_count_of(cost->retries);
    add_time(&recorder->wait, cost->wait_us);
    add_hold(recorder, record);
    add_time(&recorder->commit, cost->commit_us);
    if (cost->lock >= 0 && cost->lock < RECORD_LOCK_COUNT)
        recorder->locks[cost->lock]++;
    if (cost->shard >= 0 && (uint32_t)cost->shard >= recorder->shards)
        recorder->shards = (uint32_t)cost->shard + 1;
}

void recorder_end(struct recorder *recorder, const struct record *record) {
    const int64_t received_ns = record_received_read(record);

    assert(record >= recorder->records && record < recorder->records + recorder->size);
    assert(recorder->ended < recorder->count);
    recorder->ended++;
    recorder->by_outcome[record->outcome]++;
    if (record->status >= 0 && record->status < RECORD_STATUSES)
        recorder->by_status[record->status]++;
    recorder->repeats += record->is_repeat;
    recorder->sold_again += record->is_repeat && record->outcome == RECORD_SOLD;
    if (record->sent_ns != 0) {
        const int64_t sent_ns = record_sent_read(record);

        histogram_record(&recorder->lateness, sent_ns - record->planned_ns);
        histogram_record(&recorder->latency, received_ns - record->planned_ns);
        histogram_record(&recorder->service, received_ns - sent_ns);
    }
    if (record->status == 0)
        return;
    recorder->answered++;
    if (received_ns > recorder->last_ns)
        recorder->last_ns = received_ns;
    if (record_is_sale(record) && received_ns > recorder->sold_ns)
        recorder->sold_ns = received_ns;
    record_add_cost(recorder, record);
}

void recorder_add(struct recorder *recorder, const struct record *record) {
    struct record *place = &recorder->records[recorder->count++];

    assert(recorder->count <= recorder->size);
    *place = *record;
    recorder_end(recorder, place);
}

/* A request that was begun has a key. */
void recorder_compact(struct recorder *recorder) {
    size_t kept = 0;

    assert(recorder->ended == recorder->count);
    for (size_t i = 0; kept < recorder->count; i++)
        if (record_key(&recorder->records[i])[0] != '\0')
            recorder->records[kept++] = recorder->records[i];
}

double recorder_rate(const struct recorder *recorder) {
    return recorder->last_ns > 0 ? (double)recorder->answered * 1e9 / (double)recorder->last_ns : 0;
}

double recorder_punctual(const struct recorder *recorder, int64_t late_ns) {
    const struct histogram *lateness = &recorder->lateness;
    uint64_t kept = 0;

    if (lateness->count == 0)
        return 0;
    for (size_t i = 0; i <= histogram_bucket(late_ns); i++)
        kept += lateness->buckets[i];
    assert(kept <= lateness->count);
    return (double)kept / (double)lateness->count;
}

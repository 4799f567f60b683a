/* Shares records between processes. A record has one writer at a time: first its worker; once it is
 * in the list of ended records, the process that counts. */
#include "share.h"

#include "spool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t aligned(size_t length) {
    return (length + 63) / 64 * 64;
}

/* The start of each part, and the whole length. */
struct layout {
    size_t parts, products, links, length;
};

static struct layout share_lay_out(size_t count, size_t items, size_t workers) {
    struct layout layout = {.parts = aligned(count * sizeof(struct record))};

    layout.products = layout.parts + aligned(workers * sizeof(struct share_part));
    layout.links = layout.products + aligned(items * sizeof(struct product));
    layout.length = layout.links + aligned(count * sizeof(uint32_t));
    return layout;
}

static void free_share(struct recorder *recorder) {
    (void)munmap(recorder->records, recorder->share->length);
    (void)close(recorder->share->fd);
    free(recorder->share);
    recorder->share = NULL;
}

/* In a worker: the record will not change any more. */
static void note_ended(struct recorder *recorder, const struct record *record) {
    struct share *share = recorder->share;
    struct share_part *own = share->own;

    for (; own->instance_count < recorder->instance_count; own->instance_count++)
        memcpy(own->instances[own->instance_count], recorder->instances[own->instance_count],
               RECORD_INSTANCE_TEXT);
    atomic_store_explicit(&own->late_launches, recorder->late_launches, memory_order_relaxed);
    share->links[record->number] = atomic_load_explicit(&own->ended, memory_order_relaxed);
    atomic_store_explicit(&own->ended, record->number + 1, memory_order_release);
}

struct recorder *share_join(int fd, size_t count, size_t items, size_t workers, size_t worker) {
    const struct layout layout = share_lay_out(count, items, workers);
    struct recorder *recorder = calloc(1, sizeof *recorder);
    struct share *share = calloc(1, sizeof *share);
    char *room = recorder != NULL && share != NULL ? spool_map(fd, layout.length) : NULL;

    assert(workers <= SHARE_WORKERS && worker <= workers);
    if (room == NULL) {
        free(recorder);
        free(share);
        (void)close(fd);
        return NULL;
    }
    recorder->size = recorder->planned = count;
    recorder->records = (void *)room;
    recorder->is_mapped = true;
    recorder->share = share;
    recorder->free_share = free_share;
    recorder->note_ended = note_ended;
    share->fd = fd;
    share->workers = workers;
    share->length = layout.length;
    share->parts = (void *)(room + layout.parts);
    share->products = (void *)(room + layout.products);
    share->links = (void *)(room + layout.links);
    share->own = worker < workers ? &share->parts[worker] : NULL;
    return recorder;
}

struct recorder *share_make(size_t count, size_t items, size_t workers, const char *directory) {
    int fd = spool_make(directory, share_lay_out(count, items, workers).length);

    return fd >= 0 ? share_join(fd, count, items, workers, workers) : NULL;
}

struct record *share_begin(struct recorder *recorder, const struct plan *plan, size_t number,
                           bool is_keyless) {
    const struct arrival *arrival = &plan->arrivals[number];
    const struct record *first = &recorder->records[arrival->repeats];
    struct record *record;

    assert(arrival->repeats <= number);
    record = recorder_begin(recorder, number, arrival->due_ns,
                            arrival->repeats != number ? &first->key : NULL);
    record->item = arrival->item;
    if (is_keyless)
        record_leave_nameless(record);
    if (recorder->share != NULL && recorder->share->own != NULL)
        atomic_store_explicit(&recorder->share->own->begun, recorder->count, memory_order_release);
    return record;
}

/* ---- in the process that counts */

static void share_collect_part(struct recorder *recorder, const struct share_part *part,
                               uint32_t *seen) {
    const uint32_t last = atomic_load_explicit(&part->ended, memory_order_acquire);

    for (uint32_t at = last; at != *seen; at = recorder->share->links[at - 1]) {
        struct record *record = &recorder->records[at - 1];

        if (record->instance >= 0)
            record->instance = recorder_instance(recorder, part->instances[record->instance]);
        recorder_count(recorder, record);
    }
    *seen = last;
}

/* Counts ended requests before it reads the begun ones, so never more have ended than begun. */
void share_collect(struct recorder *recorder) {
    struct share *share = recorder->share;
    size_t begun = 0, late = 0;

    recorder->count = recorder->size;
    for (size_t i = 0; i < share->workers; i++)
        share_collect_part(recorder, &share->parts[i], &share->seen[i]);
    for (size_t i = 0; i < share->workers; i++) {
        begun += atomic_load_explicit(&share->parts[i].begun, memory_order_acquire);
        late += atomic_load_explicit(&share->parts[i].late_launches, memory_order_relaxed);
    }
    recorder->count = begun;
    recorder->late_launches = late;
}

/* The request may have been sent, at its planned moment or later. */
static void share_give_up(struct record *record, int64_t now_ns) {
    record->outcome = RECORD_UNKNOWN;
    record->sent_ns = record->planned_ns > 0 ? record->planned_ns : 1;
    record->received_ns = now_ns > record->sent_ns ? now_ns : record->sent_ns;
    record->unit = record->instance = -1;
    record->status = 0;
    (void)record_set_id(&record->order_id, NULL, "");
    cost_init(&record->cost);
}

static void share_settle_one(struct recorder *recorder, const struct plan *plan, size_t number,
                             bool is_keyless, int64_t now_ns) {
    struct record *record = &recorder->records[number];
    char key[UUID_TEXT];

    /* A worker that died may have left half a record. The key is the last member that it writes
     * before it sends. */
    if (uuid_parse(record_id(&record->key), key) == 0)
        share_give_up(record, now_ns);
    else
        record = share_begin(recorder, plan, number, is_keyless);
    recorder_count(recorder, record);
}

int share_settle(struct recorder *recorder, const struct plan *plan, bool is_keyless,
                 int64_t now_ns) {
    const struct share *share = recorder->share;
    bool *is_counted = calloc(recorder->size + 1, sizeof *is_counted);
    size_t end = recorder->size;

    if (is_counted == NULL)
        return -1;
    share_collect(recorder);
    while (end > 0 && record_id(&recorder->records[end - 1].key)[0] == '\0')
        end--;
    for (size_t i = 0; i < share->workers; i++)
        for (uint32_t at = share->seen[i]; at != 0; at = share->links[at - 1])
            is_counted[at - 1] = true;
    recorder->count = recorder->size; /* during this count */
    for (size_t number = 0; number < end; number++)
        if (!is_counted[number])
            share_settle_one(recorder, plan, number, is_keyless, now_ns);
    recorder->count = end;
    assert(recorder->ended == recorder->count);
    free(is_counted);
    return 0;
}

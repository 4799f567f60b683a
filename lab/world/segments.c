/* The scripts of inventory-svc/pending/lua, a function each. */
#include "segments.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static_assert(sizeof(struct segments) == 48 + 16 * (1 + SEGMENTS_AHEAD) + 24 * SEGMENTS_ORDERS,
              "padding would be hashed");

void segments_open(struct segments *segments, struct data_set *set) {
    if (segments->token[0] == '\0') {
        memcpy(segments->token, set->token, strlen(set->token) + 1);
        segments->last = -1;
    }
    memcpy(set->token, segments->token, TOKEN_TEXT);
    set->last = segments->last;
}

bool segments_are_at(const struct segments *segments, const struct data_set *set) {
    return strcmp(segments->token, set->token) == 0 && segments->last == set->last;
}

enum outcome segments_load(struct segments *segments, const struct data_set *set,
                           const struct stock_row *row) {
    if (!segments_are_at(segments, set))
        return OUTCOME_OK;
    if (row->available == 0) {
        segments->is_over = 1;
        return OUTCOME_OK;
    }
    if (segments->count == SEGMENTS_AHEAD)
        return OUTCOME_BUSY;
    segments->last = row->shard;
    segments->ahead[segments->count++] = (struct segment){.shard = row->shard,
                                                          .first = (int32_t)row->first_unit,
                                                          .left = (int32_t)row->available,
                                                          .units = (int32_t)row->available};
    return OUTCOME_OK;
}

/* False: no loaded row has a unit left. */
static bool has_unit(struct segments *segments) {
    if (segments->selling.left > 0)
        return true;
    if (segments->count == 0)
        return false;
    segments->selling = segments->ahead[0];
    segments->count--;
    memmove(segments->ahead, segments->ahead + 1, segments->count * sizeof *segments->ahead);
    memset(&segments->ahead[segments->count], 0, sizeof *segments->ahead);
    return true;
}

enum outcome segments_take(struct segments *segments, int order, bool may_be_repeat, int64_t now_ms,
                           struct loaded_unit *taken) {
    struct segment *selling = &segments->selling;
    struct segment_note *note;

    assert(order >= 0 && order < SEGMENTS_ORDERS);
    note = &segments->notes[order];
    *taken = (struct loaded_unit){.is_again = note->before > 0};
    if (!taken->is_again && !has_unit(segments))
        return segments->is_over ? OUTCOME_SOLD_OUT : OUTCOME_OK;
    if (!taken->is_again) {
        *note = (struct segment_note){selling->shard, selling->first, selling->left, 1,
                                      may_be_repeat,  now_ms};
        selling->left--;
        taken->is_half_sold =
            !segments->is_over && segments->count == 0 && selling->left == selling->units / 2;
    }
    taken->seen = (struct stock_row){
        .shard = note->shard, .first_unit = note->first, .available = note->before};
    return OUTCOME_OK;
}

void segments_forget(struct segments *segments, int order, bool is_sold) {
    struct segment_note *note;

    assert(order >= 0 && order < SEGMENTS_ORDERS);
    note = &segments->notes[order];
    note->is_pending = 0;
    note->noted_ms = 0;
    if (!is_sold || !note->may_be_repeat)
        memset(note, 0, sizeof *note);
}

bool segments_are_pending(const struct segments *segments) {
    for (size_t i = 0; i < SEGMENTS_ORDERS; i++)
        if (segments->notes[i].is_pending)
            return true;
    return false;
}

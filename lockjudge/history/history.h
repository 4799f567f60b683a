/* The history of one trial: a list of items, each with its moments on the judge's clock. Workers
 * never stamp an item: their clocks and their words prove nothing.
 *
 * A request lasts from the moment before its line was written to the moment after its answer was
 * read. So its effect lies between the two, whatever stalls meanwhile. */
#ifndef LOCKJUDGE_HISTORY_H
#define LOCKJUDGE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct why;

/* The first three are requests to a worker. */
#define HISTORY_KINDS(X)                                                                           \
    X(ACQUIRE, "acquire")                                                                          \
    X(CHECK, "check")                                                                              \
    X(RELEASE, "release")                                                                          \
    X(TOLD, "told")   /* the worker said it unasked: result LOST, SUSPECT or HELD */               \
    X(WRITE, "write") /* the judge wrote for the worker: result LANDED or REFUSED by the fence */  \
    X(FAULT, "fault") /* from its beginning to its end */                                          \
    X(DEATH, "death") /* the worker's process ended */                                             \
    X(FORK, "fork")   /* the worker begins its life: the child of a holder, which `text` names */  \
    X(STALL, "stall") /* the judge itself did not run: the machine stalled */

enum history_kind {
#define X(name, text) HISTORY_##name,
    HISTORY_KINDS(X)
#undef X
};

#define HISTORY_RESULTS(X)                                                                         \
    X(NONE, "none") /* no answer yet, or never */                                                  \
    X(HELD, "held")                                                                                \
    X(BUSY, "busy")                                                                                \
    X(LOST, "lost")                                                                                \
    X(SUSPECT, "suspect")                                                                          \
    X(RELEASED, "released")                                                                        \
    X(ERROR, "error")                                                                              \
    X(LANDED, "landed")   /* in the plain register, and in the fenced one */                       \
    X(REFUSED, "refused") /* it landed in the plain register; the fenced one refused it */

enum history_result {
#define X(name, text) HISTORY_RESULT_##name,
    HISTORY_RESULTS(X)
#undef X
};

/* What a fault does to others than its victim, for the rules that need it. */
#define HISTORY_STOPS     1U   /* the victim does not run */
#define HISTORY_KILLS     2U   /* the victim died of it */
#define HISTORY_AWAY      4U   /* no server answers while it lasts */
#define HISTORY_WORKS     8U   /* no fault: the holder works for longer than the TTL */
#define HISTORY_LOADS     16U  /* no fault: the client of the victim asks for many other locks */
#define HISTORY_FORGETS   32U  /* the server forgets the lock */
#define HISTORY_RESTARTS  64U  /* the server forgets its clients or their scripts */
#define HISTORY_STAYS     128U /* it happens once, and nothing undoes it */

#define HISTORY_NOBODY    UINT32_MAX /* `worker` of a fault that hits no worker, and of a stall */
#define HISTORY_OPEN      INT64_MAX  /* `end_ns` of an item that has not ended */
#define HISTORY_NO_FENCE  0U
#define HISTORY_TEXT_SIZE 96

struct history_item {
    int64_t at_ns;  /* a request: before it was sent */
    int64_t end_ns; /* a request: after its answer was read; at_ns of an item without length */
    enum history_kind kind;
    enum history_result result;
    uint32_t worker;
    uint32_t flags;          /* of a fault: HISTORY_STOPS, ... */
    uint64_t fence;          /* of a grant and of a write; HISTORY_NO_FENCE: none */
    int64_t ttl_ms, wait_ms; /* of an acquire */
    /* of a fault: its first and its last part, in which it may have no effect yet, or no more */
    int64_t starting_ns, ending_ns;
    char text[HISTORY_TEXT_SIZE]; /* the name of a fault, the text of an error; printable */
};

/* Zeroed: empty. Items are in the order of at_ns. */
struct history {
    struct history_item *items;
    size_t count, room;
};

const char *history_kind_text(enum history_kind kind);
const char *history_result_text(enum history_result result);

/* Append a copy of `item`, in its place by at_ns (behind equal ones). Returns its index, or -1
 * without memory. The index holds until an earlier item is appended. */
__attribute__((warn_unused_result)) long history_add(struct history *history,
                                                     const struct history_item *item);
void history_free(struct history *history);

/* A JSON object a line. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int history_write(const struct history *history, FILE *to);
/* Read such lines up to the end of `from`. 0; or -1 with the reason, which names the line. */
__attribute__((warn_unused_result)) int history_read(struct history *history, FILE *from,
                                                     struct why *why);

#endif

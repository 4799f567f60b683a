/* The events of a round besides its requests: failpoints that fired and results of raw lock
 * commands (inventory-svc under --lab writes both to the table lab_event), and faults of servers
 * that loadgen carried out itself.
 *
 * Times are nanoseconds from the start of the round, as in record.h. Times from the table come
 * from other clocks, and are right to some 50 µs on one machine. */
#ifndef JUDGE_EVENT_H
#define JUDGE_EVENT_H

#include "ledger.h"
#include "uuid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_KINDS(X)                                                                             \
    X(FAILPOINT, "failpoint") /* it fires at this moment, and acts after it */                     \
    X(LOCK, "lock")           /* the result of a command arrived */                                \
    X(SERVER, "server")       /* a server was killed, stopped, ... by loadgen */

enum event_kind {
#define X(id, name) EVENT_##id,
    EVENT_KINDS(X)
#undef X
};
#define X(id, name) +1
enum { EVENT_KIND_COUNT = EVENT_KINDS(X) };
#undef X
const char *event_kind_name(enum event_kind kind);

#define EVENT_RESULTS(X)                                                                           \
    X(NONE, "") /* the event has no result */                                                      \
    X(YES, "yes")                                                                                  \
    X(NO, "no")                                                                                    \
    X(UNKNOWN, "unknown")

enum event_result {
#define X(id, name) EVENT_##id,
    EVENT_RESULTS(X)
#undef X
};
#define X(id, name) +1
enum { EVENT_RESULT_COUNT = EVENT_RESULTS(X) };
#undef X
const char *event_result_name(enum event_result result);

#define EVENT_NAME   32
#define EVENT_DETAIL 64
#define EVENT_KEY    128
#define EVENT_TOKEN  48
#define EVENT_TEXT   256

struct event {
    int64_t at_ns;
    int64_t began_ns; /* when a lock command was sent; else at_ns */
    /* The end of an event that lasts: a pause, a delay, a TTL, a server that is down. at_ns: it was
     * over at once; EVENT_OPEN: it did not end in this round. */
    int64_t until_ns;
    uint32_t item; /* the product's number in the round; 0 for a server */
    enum event_kind kind;
    enum event_result result;  /* of a lock command */
    char who[LEDGER_INSTANCE]; /* the instance; for SERVER the server: "redis", "inventory-1" */
    char order_id[UUID_TEXT];  /* "" for a server */
    char name[EVENT_NAME];     /* the point, "after-read"; the command, "SET NX"; or "kill" */
    char detail[EVENT_DETAIL]; /* "pause 4000 ms"; "ttl 200 ms"; or "" */
    char key[EVENT_KEY];       /* of a lock command */
    char token[EVENT_TOKEN];   /* the value that the command gave or found, or "" */
};
#define EVENT_OPEN INT64_MAX

/* Set kind and result by their names. 0, or -1: no such name. */
__attribute__((warn_unused_result)) int event_parse(const char *kind, const char *result,
                                                    struct event *event);

/* A list that grows; in order of time after event_list_sort(). Zeroed: empty. */
struct event_list {
    size_t count;
    struct event *items;
};

/* Append a zeroed event. Returns its place until the next event_add(); NULL: out of memory. */
struct event *event_add(struct event_list *list);
void event_list_sort(struct event_list *list);
void event_list_free(struct event_list *list);

/* Whether a process stands still during the event: a server is down, or a failpoint pauses a whole
 * instance. */
bool event_is_standstill(const struct event *event);
/* Whether it is the result of a command that takes a free lock, gives a lock an end, or frees a
 * lock. */
bool event_takes_lock(const struct event *event);
bool event_extends_lock(const struct event *event);
bool event_frees_lock(const struct event *event);

/* Write the event for people, without its time: "after-read pause 4000 ms at inventory-1, order
 * ...". */
void event_text(const struct event *event, char text[EVENT_TEXT]);

#endif

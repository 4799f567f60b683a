/* What the two modes share: commands with a deadline, and statements that any connection may run.
 */
#ifndef LOCKKIT_POSTGRES_MODE_H
#define LOCKKIT_POSTGRES_MODE_H

#include "backend.h"
#include "log.h"
#include "pg_link.h"

#include <sys/queue.h>

#define PG_CALL_PARAMS 6
#define PG_WORKERS     4
#define PG_NUMBER_SIZE 24

struct pg_backend;
struct session;

/* One statement on whichever connection is free. `params` live until it has ended. */
struct pg_call {
    const char *sql;
    int count;
    const char *params[PG_CALL_PARAMS];
    unsigned *round_trips; /* to be counted in, or NULL */
    /* Once, never inside a call of ours. `result` is the callee's to clear; without one, `status`
     * says why: UNAVAILABLE or REFUSED when it was not sent, UNKNOWN when it was. */
    void (*on_end)(struct pg_call *call, PGresult *result, enum lk_status status);
    void *data;
    TAILQ_ENTRY(pg_call) entry;
    struct pg_worker *worker; /* that runs it, or NULL */
    bool is_again;            /* it was refused once, for no reason of its own */
};

/* A command's part of ours. */
struct pg_sent {
    struct lk_command *command;
    struct pg_backend *backend;
    int64_t due_ms;
    TAILQ_ENTRY(pg_sent) entry; /* of all that are not answered yet, or of those that are */
    TAILQ_ENTRY(pg_sent) line;  /* of those of one session */
    struct session *session;    /* that runs it, or is to */
    struct pg_call call;
    bool is_called;
    bool is_again; /* a session that was not what it was has refused it */
    char ttl[PG_NUMBER_SIZE], above[PG_NUMBER_SIZE], reserved[PG_NUMBER_SIZE], key[PG_NUMBER_SIZE];
    char tag[64];
    char why[PG_LINK_WHY_SIZE];
    PGresult *result; /* what the answer's strings are in */
    struct lk_holder *holders;
};
TAILQ_HEAD(pg_line, pg_sent);

struct pg_mode {
    const char *name;
    unsigned caps;
    unsigned connections; /* for calls, at most */
    void (*run)(struct pg_sent *sent);
    void (*take)(struct pg_sent *sent, const PGresult *result); /* the answer to pg_ask() */
    /* It was not answered in time, and is not asked: forget it. Returns what to answer. */
    enum lk_status (*expire)(struct pg_sent *sent);
    void (*close)(struct pg_backend *backend); /* all connections but those for calls */
};

extern const struct pg_mode pg_session_mode, pg_table_mode;

struct pg_backend {
    struct lk_backend base;
    struct lk_backend_config config;
    const struct pg_mode *mode;
    struct pg_links links;
    struct pg_line sent, answered;
    TAILQ_HEAD(, pg_call) waiting;
    /* Connections for calls, opened when there is work for them. */
    struct pg_worker {
        struct pg_backend *backend;
        struct pg_link *link; /* NULL: not there */
        struct pg_call *call; /* NULL while the link runs one: nobody waits for it any more, */
        int64_t stuck_at_ms;  /*   since then */
    } workers[PG_WORKERS];
    struct {
        struct pg_link *link; /* NULL: nobody of us has waited yet, or it is to be opened again */
        int64_t at_ms;        /* not before */
        unsigned failures;
        bool is_deaf;              /* a pooler stands between */
    } listener;                    /* of mode=table */
    LIST_HEAD(, session) sessions; /* of mode=session; those that were used last come first */
    uv_timer_t timer;              /* the next deadline */
    int64_t due_ms;                /* what it is set to */
    uv_idle_t idle;                /* runs when something is answered */
    struct log_limit refusals;
    bool is_down, is_closing;
    unsigned handles;
};

/* Answer in the next turn of the loop. */
void pg_answer(struct pg_sent *sent, enum lk_status status);
/* With REFUSED, as the log then tells. */
void pg_refuse(struct pg_sent *sent, const char *why);
/* Tell that the server cannot be reached, or refuses us. */
void pg_tell_down(struct pg_backend *backend, const char *why);
/* Run a call, and the one of `sent`, whose sql, count and params are set. The answer to INSPECT is
 * rows of: is it a waiter, owner, label, fence, remaining_ms, is it shared. */
void pg_call(struct pg_backend *backend, struct pg_call *call);
void pg_ask(struct pg_sent *sent);
int64_t pg_integer(const PGresult *result, int row, int column);

#endif

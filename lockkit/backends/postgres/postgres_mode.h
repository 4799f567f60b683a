/* The part that both modes share: commands with a deadline, and statements that any connection may
 * run. */
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

/* One statement on any free connection. `params` live until it has ended. */
struct pg_call {
    const char *sql;
    int count;
    const char *params[PG_CALL_PARAMS];
    unsigned *round_trips; /* counts the statement; or NULL */
    /* Runs once, never inside a call to this module. The callee clears `result`. Without a result
     * `status` says why: UNAVAILABLE or REFUSED if the statement was not sent, UNKNOWN if it was.
     */
    void (*on_end)(struct pg_call *call, PGresult *result, enum lk_status status);
    void *data;
    bool is_urgent; /* it goes before other calls that wait */
    TAILQ_ENTRY(pg_call) entry;
    struct pg_worker *worker; /* the worker that runs it, or NULL */
    bool is_again;            /* it was refused once, for a reason outside the statement */
};

/* The backend's memory for a command. */
struct pg_sent {
    struct lk_command *command;
    struct pg_backend *backend;
    int64_t due_ms;
    TAILQ_ENTRY(pg_sent) entry; /* in the list of commands without an answer, or of answered ones */
    TAILQ_ENTRY(pg_sent) line;  /* in the line of one session */
    struct session *session;    /* the session that runs it, or will */
    struct pg_call call;
    bool is_called;
    bool is_again; /* a session with changed settings has refused it */
    char ttl[PG_NUMBER_SIZE], above[PG_NUMBER_SIZE], reserved[PG_NUMBER_SIZE], key[PG_NUMBER_SIZE];
    char tag[64];
    char why[PG_LINK_WHY_SIZE];
    PGresult *result; /* the memory of the answer's strings */
    struct lk_holder *holders;
};
TAILQ_HEAD(pg_line, pg_sent);

struct pg_mode {
    const char *name;
    unsigned caps;
    unsigned connections;   /* connections for calls, at most */
    unsigned acquires_most; /* see struct lk_backend */
    void (*run)(struct pg_sent *sent);
    void (*take)(struct pg_sent *sent, const PGresult *result); /* take the answer to pg_ask() */
    /* It was not answered in time, and pg_ask() does not run it: forget it. Returns the answer. */
    enum lk_status (*expire)(struct pg_sent *sent);
    void (*close)(struct pg_backend *backend); /* close all connections but those for calls */
};

extern const struct pg_mode pg_session_mode, pg_table_mode;

struct pg_backend {
    struct lk_backend base;
    struct lk_backend_config config;
    const struct pg_mode *mode;
    struct pg_links links;
    struct pg_line sent; /* by deadline */
    struct pg_line answered;
    TAILQ_HEAD(pg_calls, pg_call) urgent, waiting;
    unsigned waiting_count; /* calls in both lists */
    /* Connections for calls, opened when there is work. */
    struct pg_worker {
        struct pg_backend *backend;
        struct pg_link *link; /* NULL: no connection */
        struct pg_call *call; /* NULL while the link runs a forgotten call, */
        int64_t stuck_at_ms;  /* since this moment */
        bool is_stale;        /* to be closed after its result */
    } workers[PG_WORKERS];
    struct {
        struct pg_link *link; /* NULL: nobody has waited yet, or it must be opened again */
        int64_t at_ms;        /* open it no earlier */
        unsigned failures;
        bool is_deaf;              /* a pooler stands in between */
    } listener;                    /* mode=table */
    LIST_HEAD(, session) sessions; /* mode=session; the last used come first */
    uv_timer_t timer;              /* the next deadline */
    int64_t due_ms;                /* the moment for which it is set */
    uv_idle_t idle;                /* runs while answers are due */
    struct log_limit refusals;
    bool is_down, is_closing;
    unsigned handles;
};

/* Answer in the next turn of the loop. */
void pg_answer(struct pg_sent *sent, enum lk_status status);
/* Answer REFUSED; the log gets `why`. */
void pg_refuse(struct pg_sent *sent, const char *why);
/* Log that the server cannot be reached, or refuses this client. */
void pg_tell_down(struct pg_backend *backend, const char *why);
/* Run a call: that of `sent`, with its sql, count and params set. The answer to INSPECT has the
 * columns: is it a waiter, owner, label, fence, remaining_ms, is it shared. */
void pg_call(struct pg_backend *backend, struct pg_call *call);
void pg_ask(struct pg_sent *sent);
int64_t pg_integer(const PGresult *result, int row, int column);

#endif

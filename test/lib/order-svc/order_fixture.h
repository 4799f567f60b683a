/* The fixture of order-svc's tests: a loop, scripted inventory instances on real HTTP servers, and
 * the lines of the log. */
#ifndef TEST_ORDER_FIXTURE_H
#define TEST_ORDER_FIXTURE_H

#include "clock.h"
#include "fault.h"
#include "fiber.h"
#include "http_server.h"
#include "inventory_client.h"
#include "log.h"
#include "pg.h"
#include "said.h"
#include "test.h"
#include "uuid.h"
#include "wait.h"

#define A_UUID    "82391173-9dbc-49b6-821b-746a11dbbe5e"
#define PEERS     3
#define HELD_MOST 64

/* A scripted instance of the inventory. */
struct peer {
    struct http_server *server;
    int port;
    unsigned calls, reserved, cancelled, listed, overlaps, confirmed;
    unsigned strangers; /* calls without the secret */
    int status;         /* of a reservation [201]; 0: cut the connection */
    const char *body;   /* of a reservation, or NULL for a sale */
    const char *timing; /* its Server-Timing header, or NULL */
    unsigned groups;    /* requests for many reservations, among the calls */
    /* The answer to each order of such a request, by a letter: `a` its line [and for all orders
     * beyond the last letter], `h` its line once the peer is let go, `s` half of it before and half
     * after, `-` none, `m` a line that is not JSON, `n` one without a status, `d` two, `u` another
     * order's, `l` an endless one, `f` a flood of short ones. */
    const char *script;
    int refusal;       /* the status of such a request, or 0 */
    int cancel_status; /* [204] */
    bool is_holding;   /* keep calls waiting */
    struct fiber_event *held[HELD_MOST];
    unsigned holding;
    char headers[100];        /* Idempotency-Key of the last call, or "" */
    const char *confirmation; /* the answer to a confirmation; NULL: the reservations asked for */
    const char *list;         /* the answer to GET /reservations; NULL: `reservations` of them */
    int reservations;
    int behind; /* the number of the first that came behind the cursor, for an overlap; 0: none */
    int gone; /* the number of one that is listed, and cancelled before its confirmation; 0: none */
    char after[64], since[32], older[32]; /* of the last request for a list */
    char overlap[32];                     /* the last one that was not 0; there were `overlaps` */
};

struct fixture {
    uv_loop_t loop;
    uv_timer_t tick; /* keeps each turn of the loop from sleeping long */
    struct peer peers[PEERS];
    struct inventory *inventory;
    struct pg_pool *pool;
    unsigned open;  /* servers and clients that must close */
    struct why why; /* why the inventory was not opened */
};

extern struct fixture fixture;

int set_up_peers(void **state);
int tear_down_peers(void **state);
#define PEERS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_peers, tear_down_peers)

void peer_open(struct peer *peer, int port);
void peer_close(struct peer *peer);
/* Let all waiting calls go. */
void peer_let_go(struct peer *peer);

/* The order id of reservation `number`. */
void order_id_of(int number, char id[UUID_TEXT]);
/* That reservation; NULL without memory. */
json_t *reservation_json(int number);

/* The first `count` peers, in the form that order-svc reads. */
void open_inventory(int count);
/* The URLs of `count` peers from `first` on, for inventory_open(). */
#define URLS_BYTES (PEERS * 32)
void peer_urls(int first, int count, char urls[URLS_BYTES]);
/* Open an inventory at these URLs: 0, or the error of inventory_open(), and then there is none. */
int open_inventory_at(const char *urls, const char *secret);
void close_inventory(void);

void on_something_closed(void *data); /* counts fixture.open down */

/* Run `run` in a fiber, to its end. */
void in_fiber(fiber_fn run, void *arg);
/* Fail each allocation of `run`, one after the other, jansson's included. */
void fail_each_allocation(void (*run)(void *arg), void *arg);

/* From here on said() covers every line of the log. */
void catch_log(void);

#endif

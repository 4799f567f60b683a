/* A crowd and its shop in this process, on one loop. The shop behaves as the path of a request
 * says. */
#ifndef LOADGEN_TEST_CROWD_FIXTURE_H
#define LOADGEN_TEST_CROWD_FIXTURE_H

#include "crowd.h"

#include "fiber.h"
#include "http_server.h"

#define SALE_LARGE (8 * 1024 * 1024)

/* Parts of a shop file. */
#define SALE_OUTCOME                                                                               \
    "== outcome ==\nsold jsonpath \"$.state\" == \"paid\"\nsoldout body contains \"no stock\"\n"   \
    "busy status == 429\nrefused status == 400\n"
#define SALE_GET(path)  "GET " path "\nHTTP *\n"
#define SALE_POST(path) "POST " path "\n{\"customer\": {{n}}}\nHTTP *\n"
#define SALE_CAPTURE    "[Captures]\norder: jsonpath \"$.id\"\n"
#define SALE_MARK       "== commit ==\n"

extern const char sale_bad_page[]; /* the reply of /bad */
extern struct sale {
    uv_loop_t loop;
    struct http_server *server, *other; /* the same shop */
    int port;                           /* of the first base of the shop file */
    int64_t timeout_ms;                 /* of each request */
    char text[16 * 1024];               /* the shop file */
    struct shop shop;
    struct plan plan;
    struct recorder *recorder;
    struct flow *flow;
    struct crowd *crowd;
    struct fiber_event gate;        /* requests to /silent wait for it */
    unsigned asked;                 /* requests that the shop has counted */
    unsigned waiting;               /* requests to /silent, /cookie and /third */
    unsigned at_once, most_at_once; /* requests to /few */
    unsigned closing;               /* handles that close */
    int prepared, sent;             /* the codes of crowd_prepare() and crowd_send() */
    bool is_over;
    struct why why;
    char *large;
} sale;

/* Serves on two free ports. */
int sale_set_up(void **state);
int sale_tear_down(void **state);
struct http_server *sale_open_server(int port);
void sale_close_server(struct http_server *server);

/* `count` customers at `rate` a second, by a shop file with these sections. */
void sale_open(size_t count, int rate, const char *sections, const struct crowd_options *options);
/* Prepares and sends them in a fiber; `is_over` becomes true. */
void sale_start(void);
void sale_go(void *arg); /* the function of that fiber */
void sale_close(void);
/* Opens and starts them, and waits for the end. */
void sale_run(size_t count, int rate, const char *sections);
void sale_expect_all(enum record_outcome outcome);

#define SALE(test) cmocka_unit_test_setup_teardown(test, sale_set_up, sale_tear_down)

#endif

/* What the user asked for: the settings of a run, read and checked. */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include "expect.h"
#include "plan.h"
#include "strategy_list.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    char *strategies;
    int64_t rate;        /* requests per second */
    int64_t duration_ns; /* ignored when `requests` is set */
    int64_t requests;    /* 0: rate x duration; never 0 once read */
    int64_t stock;
    char *work, *wait, *ttl; /* durations as text; "" leaves it to the server */
    int64_t seed;
    char *arrival;
    int64_t timeout_ns; /* of each request */
    int64_t drain_ns;   /* for the ledger to become quiet after the last answer */
    int64_t connections;
    char *expect;
    char *target;
    char *path;
    char *name;
    char *output_format;
    char *output;
    bool is_quiet;    /* --no-progress */
    bool is_ordinary; /* --no-realtime */
    bool is_listing;
    bool is_unjudged;
    char *inventory_db, *orders_db;

    /* Made from the above. */
    bool is_creating; /* the command `create` */
    enum plan_arrival arrival_kind;
    struct strategy_list list;
    struct expectation expectations[STRATEGY_LIST_MAX];
};

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

/* Fill `options` from the arguments and the environment. HELP has been printed on stdout; BAD has
 * been told on stderr. The strings live until options_free(). */
__attribute__((warn_unused_result)) enum options_result options_read(struct options **options,
                                                                     int argc, char **argv);
void options_free(void);

#endif

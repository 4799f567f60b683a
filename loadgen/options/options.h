/* What the user asked for.
 *
 * The settings of loadgen are a row each in a table (option_table.c): from it flags and --help are
 * read (settings.h), what a history and a summary tell of a run's settings is written, and what a
 * history tells is read. A new setting is a row there, a member of struct options, and what uses
 * it. */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include "expect.h"
#include "fault_list.h"
#include "plan.h"
#include "settings.h"
#include "strategy_list.h"
#include "threshold.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What loadgen can be asked to do: its first argument that is no flag; FIRE without one. */
enum command {
    COMMAND_FIRE,
    COMMAND_CREATE,
    COMMAND_CHECK,
    COMMAND_DIFF,
    COMMAND_REPORT,
    COMMAND_SERVE,
    COMMAND_CLAIMS,
};

struct options {
    /* The load. */
    char *strategy;
    int64_t rate;        /* requests per second */
    int64_t duration_ns; /* ignored when `requests` is set */
    int64_t requests;    /* 0: rate x duration, or the stages; never 0 once read */
    char *stages;        /* "5s:0..800,20s:800"; "" for none */
    char *arrival;
    int64_t seed;
    int64_t repeat; /* rounds of each strategy */
    char *dup_rate; /* "5%" */
    bool keyless;
    int64_t timeout_ns; /* of each request */
    int64_t connections;
    int64_t max_in_flight; /* 0: no limit but the connections */
    int64_t workers;       /* processes that send */
    char *target;
    char *path;

    /* The products. */
    char *product;           /* an id, or "" for new ones */
    int64_t stock;           /* of each */
    int64_t items;           /* products per round */
    char *skew;              /* how requests fall on them: "uniform", "zipf:1.1" */
    char *work, *wait, *ttl; /* durations as text; "" leaves it to the server */

    /* The judgement. */
    char *expect;
    char *threshold; /* one a line */
    bool abort_on_fail;
    int64_t drain_ns; /* for the ledger to become quiet after the last answer */
    bool no_judge;
    int64_t late_ns;        /* a request sent later than this missed its schedule */
    int64_t stuck_after_ns; /* nothing sold for so long, at the end of the demand */

    /* The report. */
    char *name;
    char *results; /* folder of the results folders */
    bool no_results;
    char *output_format;
    char *output;
    char *limit;            /* of `diff`, one a line */
    char *junit, *markdown; /* files for a pull request; "" for none */
    bool no_tui;
    bool no_progress;
    bool json_progress;
    char *listen; /* of `serve` */
    bool class;   /* its page for the class */
    int64_t port;

    char *fault; /* one a line, or with commas between them */
    char *stack; /* path of scripts/stack, or "" */

    /* The claims. */
    int64_t port_base;
    char *run_dir; /* "": .run/claims beside the scripts */
    bool keep;

    bool no_realtime;
    bool list_strategies;
    char *inventory_db, *orders_db;

    /* Made from the above. */
    enum command command;
    char **arguments; /* after the command, NULL-terminated */
    int argument_count;
    char *program;      /* as it was called */
    char *command_line; /* all that was given, quoted for a shell */
    struct plan_shape shape;
    struct threshold_list threshold_list, limit_list;
    struct fault_list fault_list;
    struct strategy_list list;
    struct expectation expectations[STRATEGY_LIST_MAX];
};

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

/* Fill `options` from the arguments and the environment. HELP has been printed on stdout, or
 * `version`; BAD has been told on stderr. The strings live until options_free(). */
__attribute__((warn_unused_result)) enum options_result options_read(struct options **options,
                                                                     int argc, char **argv);
void options_free(void);

/* Of the product to attack this has become known. 0; or -1, and `why` says what is wrong. */
__attribute__((warn_unused_result)) int options_attack(struct options *options, const char *spec,
                                                       int64_t stock, struct why *why);

/* The flags, whose values go into `options`. */
struct setting *option_flags(struct options *options);

/* The settings as a history keeps them, under the names of their flags with _ for -, durations as
 * in "timeout_ns"; and the full command. A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *option_history(const struct options *options);

/* Read what option_history() wrote into `options`, which is zero. 0; or -1, and `why` says what is
 * wrong. option_free() what it read either way. */
__attribute__((warn_unused_result)) int option_read_history(const json_t *json,
                                                            struct options *options,
                                                            struct why *why);
void option_free(struct options *options);

/* The settings as summary.json has them: alike, but durations as in "timeout_ms", and some as what
 * follows from them (summary.schema.json). A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *option_summary(const struct options *options);

/* Whether the same strategy gives other figures in a run whose summary has another value under this
 * key. Where the target listens does not matter, nor where results go. */
bool option_is_compared(const char *key);

#endif

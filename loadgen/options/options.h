/* The command and the settings of this call.
 *
 * Each setting of loadgen is a row of a table (option_table.c). From the table come the flags and
 * --help (settings.h), and the settings in a history and in a summary. A new setting is a row
 * there, and a member of struct options. */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include "command.h"
#include "expect.h"
#include "fault_list.h"
#include "plan.h"
#include "settings.h"
#include "shop_about.h"
#include "strategy_list.h"
#include "threshold.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct options {
    /* The load. */
    char *strategy;
    char *shop;          /* a shop file, or "" */
    int64_t customers;   /* of the shop */
    bool witness;        /* of the shop's count */
    int64_t rate;        /* requests per second; 0: not known before the check of the shop */
    int64_t duration_ns; /* ignored when `requests` is set */
    int64_t requests;    /* 0: rate x duration, or the stages; never 0 after options_read() */
    char *stages;        /* "5s:0..800,20s:800"; "" for none */
    char *arrival;
    int64_t seed;
    int64_t repeat; /* rounds of each strategy */
    char *dup_rate; /* "5%" */
    bool keyless;
    int64_t timeout_ns; /* of each request */
    int64_t connections;
    int64_t max_in_flight;  /* 0: no limit but the connections */
    int64_t parts;          /* sending processes */
    char *hosts;            /* host_list.h; "": all on this machine */
    char *ssh;              /* a command and its words, which reaches them */
    char *remote_loadgen;   /* the program there */
    char *part, *plan, *at; /* of `send` */
    char *target;
    char *path;

    /* The products. */
    char *product;           /* an id, or "" for new ones */
    int64_t stock;           /* of each */
    int64_t items;           /* products per round */
    char *skew;              /* how requests spread over them: "uniform", "zipf:1.1" */
    char *work, *wait, *ttl; /* durations as text; "": the server's default */

    /* The judgement. */
    char *expect;
    char *threshold; /* one a line */
    bool abort_on_fail;
    int64_t drain_ns; /* how long the ledger may take to settle after the last answer */
    bool no_judge;
    int64_t late_ns;        /* a request sent later than this missed its schedule */
    int64_t stuck_after_ns; /* STUCK: nothing sold for this long, at the end of the demand */

    /* The report. */
    char *name;
    char *results; /* folder of all results folders */
    bool no_results;
    char *output_format;
    char *output;
    char *limit;            /* of `diff`, one a line */
    char *junit, *markdown; /* files for a pull request; "" for none */
    bool no_tui;
    bool no_progress;
    bool json_progress;
    bool jepsen;   /* of `export` */
    int64_t round; /* of `export`, from 1; 0: the only one */
    char *listen;  /* of `serve` */
    bool class;    /* its page for the class */
    int64_t port;

    bool this_shop_is_mine; /* of `shop` and --shop: also connect to public addresses */

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
    bool is_load;            /* another program sent the load: most settings say nothing */
    struct shop_about about; /* of --shop; no name: an own service */
    enum command command;
    int64_t part_number; /* of `send`: 1 .. parts */
    int64_t at_us;       /* of `send`: microseconds since 1970; 0: a run gives plan and start */
    char **arguments;    /* after the command, NULL-terminated */
    int argument_count;
    char *program;      /* its path or name in this call */
    char *command_line; /* the full command, quoted for a shell */
    struct plan_shape shape;
    struct threshold_list threshold_list, limit_list;
    struct fault_list fault_list;
    struct strategy_list list;
    struct expectation expectations[STRATEGY_LIST_MAX];
};

/* Whether a verdict is compared with an expected one in so many words. Of a shop without --expect
 * reports tell only the verdict. */
static inline bool options_expects(const struct options *options) {
    return options->about.name == NULL || (options->expect != NULL && options->expect[0] != '\0');
}

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

/* Fills `options` from the arguments and the environment. On HELP the help or the version is
 * printed on stdout, on BAD the error on stderr. The strings live until options_free(). */
__attribute__((warn_unused_result)) enum options_result options_read(struct options **options,
                                                                     int argc, char **argv);
void options_free(void);

/* Sets the rate of a --rate auto. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int options_pace(struct options *options, int64_t rate,
                                                     struct why *why);

/* Sets strategy and stock of the product to attack. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int options_attack(struct options *options, const char *spec,
                                                       int64_t stock, struct why *why);

/* The flags; settings_read() puts their values into `options`. */
struct setting *option_flags(struct options *options);

/* The settings for a history, under the names of their flags with _ for -, durations as
 * "timeout_ns", and the full command. A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *option_history(const struct options *options);

/* Reads the JSON of option_history() into zeroed `options`. A setting that it lacks is younger than
 * the history, and gets its default. Returns 0; or -1 with the reason in `why`. Call option_free()
 * either way. */
__attribute__((warn_unused_result)) int option_read_history(const json_t *json,
                                                            struct options *options,
                                                            struct why *why);
/* Sets zeroed `options` to the settings of a call without flags. Returns 0, or -1 without memory.
 * Call option_free() either way. */
__attribute__((warn_unused_result)) int option_read_defaults(struct options *options);
void option_free(struct options *options);
/* Sets the settings that no history has to those of `from`, which keeps their texts. */
void option_lend(struct options *options, const struct options *from);

/* The settings for summary.json: the same, but durations as "timeout_ms", and some replaced by a
 * value made from them (summary.schema.json). A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *option_summary(const struct options *options);

/* Whether a different value under this key of the summary changes the figures of a strategy. The
 * address of the target and the folder of the results do not. */
bool option_is_compared(const char *key);

#endif

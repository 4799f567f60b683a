/* A strategy spec, `name[,option=value...]`, such as `redis,ttl=2s,work=2ms`. */
#ifndef STRATEGIES_SPEC_H
#define STRATEGIES_SPEC_H

#include "failpoint.h"
#include "strategy.h"

#define SPEC_FAILPOINTS 4
struct strategy_spec {
    const struct strategy *strategy;
    struct sale_options options;
    struct failpoint failpoints[SPEC_FAILPOINTS]; /* one per fail=; the rest do nothing */
    char fail[FAIL_BYTES];                        /* the text of the first, "" for none */
};

/* 0; or -1, and `why` names the mistake and lists the choices. */
__attribute__((warn_unused_result)) int spec_parse(const char *text, struct strategy_spec *spec,
                                                   struct why *why);
/* The same for a strategy that need not be in the table. `text` has its name. */
__attribute__((warn_unused_result)) int spec_parse_of(const struct strategy *strategy,
                                                      const char *text, struct strategy_spec *spec,
                                                      struct why *why);

#define SPEC_OPTIONS_MAX 13
#define SPEC_OPTION_TEXT 24
/* Write the options of a strategy with their usual values, such as "wait=5s". Returns their number.
 */
size_t spec_options(const struct strategy *strategy,
                    char options[SPEC_OPTIONS_MAX][SPEC_OPTION_TEXT]);

#endif

/* Expected verdicts of strategies: `none=OVERSELL+TWIN+LEAK?,mutex=VIOLATED,redis=VALID`. */
#ifndef LOADGEN_EXPECT_H
#define LOADGEN_EXPECT_H

#include "strategy_list.h"
#include "verdict.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>

/* `is_any`: VIOLATED by any anomaly. Else all of `must` must be found, all of `may` may be found,
 * and no other; if both sets are empty, the expected verdict is VALID. Sets are bits, 1 <<
 * anomaly. */
struct expectation {
    bool is_any;
    uint32_t must, may;
};

#define EXPECT_TEXT 128

/* Reads "VALID", "VIOLATED", or anomalies joined by +; a ? marks an anomaly that may be missing.
 * Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int expect_read(const char *value,
                                                    struct expectation *expectation,
                                                    struct why *why);
/* Writes it to `text` in the form of expect_read(), and returns `text`. */
const char *expect_name(const struct expectation *expectation, char text[EXPECT_TEXT]);

/* Sets one expectation per element of the list: VALID if `text`, which may be "", does not name the
 * strategy. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int expect_parse(const char *text,
                                                     const struct strategy_list *list,
                                                     struct expectation *expectations,
                                                     struct why *why);

enum expect_result { EXPECT_MET, EXPECT_FAILED, EXPECT_OPEN };
/* Compares a verdict with an expectation: OPEN if the verdict is INCONCLUSIVE. */
enum expect_result expect_hold(const struct expectation *expectation,
                               const struct verdict *verdict);

#define EXPECT_MISS (2 * EXPECT_TEXT)
/* Explains FAILED: "OVERSELL+TWIN was expected, and GHOST was not". Returns `text`. */
const char *expect_tell(const struct expectation *expectation, const struct verdict *verdict,
                        char text[EXPECT_MISS]);

#endif

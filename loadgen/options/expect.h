/* What the user expects of each strategy: `none=OVERSELL+TWIN+LEAK?,mutex=VIOLATED,redis=VALID`. */
#ifndef LOADGEN_EXPECT_H
#define LOADGEN_EXPECT_H

#include "strategy_list.h"
#include "verdict.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>

/* VIOLATED by anything; or by all of `must`, and by nothing but them and `may`. Without any of
 * them it is VALID. Sets are bits, 1 << anomaly. */
struct expectation {
    bool is_any;
    uint32_t must, may;
};

#define EXPECT_TEXT 128

/* "VALID", "VIOLATED", or anomalies joined by +, a ? behind those that may be missing: 0, or -1
 * when it is nothing of this, and `why` says what is wrong. */
__attribute__((warn_unused_result)) int expect_read(const char *value,
                                                    struct expectation *expectation,
                                                    struct why *why);
/* As expect_read() reads it; returns `text`. */
const char *expect_name(const struct expectation *expectation, char text[EXPECT_TEXT]);

/* One expectation per element of the list, VALID where `text` ("" for none) names none. 0; or -1,
 * and `why` says what is wrong. */
__attribute__((warn_unused_result)) int expect_parse(const char *text,
                                                     const struct strategy_list *list,
                                                     struct expectation *expectations,
                                                     struct why *why);

enum expect_result { EXPECT_MET, EXPECT_FAILED, EXPECT_OPEN };
/* OPEN when the verdict is INCONCLUSIVE. */
enum expect_result expect_hold(const struct expectation *expectation,
                               const struct verdict *verdict);

#define EXPECT_MISS (2 * EXPECT_TEXT)
/* Of one that FAILED: "OVERSELL+TWIN was expected, and GHOST was not"; returns `text`. */
const char *expect_tell(const struct expectation *expectation, const struct verdict *verdict,
                        char text[EXPECT_MISS]);

#endif

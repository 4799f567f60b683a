/* What the user expects of each strategy: `none=TWIN,mutex=VIOLATED,redis=VALID`. */
#ifndef LOADGEN_EXPECT_H
#define LOADGEN_EXPECT_H

#include "strategy_list.h"
#include "verdict.h"

#include <stdbool.h>
#include <stddef.h>

/* VALID, VIOLATED by anything, or VIOLATED by this anomaly among others. */
struct expectation {
    enum verdict_kind kind;
    bool is_any;
    enum anomaly anomaly; /* when VIOLATED and not any */
};

/* "VALID", "VIOLATED", "TWIN": 0, or -1 when it is none of them. */
__attribute__((warn_unused_result)) int expect_read(const char *value,
                                                    struct expectation *expectation);
const char *expect_name(const struct expectation *expectation);

/* One expectation per element of the list, VALID where `text` ("" for none) names none. 0; or -1,
 * and `why` says what is wrong. */
__attribute__((warn_unused_result)) int expect_parse(const char *text,
                                                     const struct strategy_list *list,
                                                     struct expectation *expectations, char *why,
                                                     size_t why_size);

enum expect_result { EXPECT_MET, EXPECT_FAILED, EXPECT_OPEN };
/* OPEN when the verdict is INCONCLUSIVE. */
enum expect_result expect_hold(const struct expectation *expectation,
                               const struct verdict *verdict);

#endif

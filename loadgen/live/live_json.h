/* A round at one moment, as a line of JSON for programs. */
#ifndef LOADGEN_LIVE_JSON_H
#define LOADGEN_LIVE_JSON_H

#include "live_draw.h"

/* {"strategy","round","rounds","phase","elapsed_ms","span_ms","sold","stock","left","in_flight",
 * "offered","achieved","p99_ms","outcomes":{...},"holder","verdict","is_left_down"}, null for what
 * is not known; `holder` only where the target names one, `verdict` (NULL: none yet) and whether
 * the run ends for servers that are down only at the end. With its \n; free() it. NULL without
 * memory. */
__attribute__((warn_unused_result)) char *live_json(const struct live_snapshot *snapshot,
                                                    const char *verdict);

#endif

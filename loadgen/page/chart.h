/* What the page draws of a round: sampled, so that it is small however long the run was.
 *
 * A JSON object; times are microseconds from the round's start:
 *
 *     repeat     which round of its strategy, from 0
 *     end_us     the last thing that happened
 *     planned_us when the last request was due
 *     instances  [name]
 *     fail       the spec's failpoints, or null
 *     event_count, events [[instance or server, from, to, words]]
 *                what failed on purpose, a moment or a span in which it stood still: how often, and
 *                some of them
 *     faults     [[instance or -1 for all, from, to, requests that waited]]: silence that no event
 *                explains
 *     product    the place of the only product that `stock` is about, or null for all of them
 *     initial, stock {t, stock, sold, orders}, clock {sales, outside}
 *                what the ledgers say, until no more changed; stock is null without them
 *     oversold_us, oversold_left
 *                when orders became more than units, or null, and what the stock row said then
 *     outcomes   {step_us, names, rows [[count of each name]]}
 *     scatter    {names, of, points [[planned, latency, place in names]]}
 *     latency    {step_us, rows [[requests, p50, p95, p99, max] or null]}, of those that were sent
 *     examples   [{anomaly, lines, item, shard, of, ops, events}], an op being [order id, 1 2 3 for
 *                A B C else 0, instance, sent, received, place in names, unit, written], -1 for
 *                none, and an event [1 2 3 or 0, from, to, instance or server, words] */
#ifndef LOADGEN_CHART_H
#define LOADGEN_CHART_H

#include "round.h"

#include <jansson.h>

#define CHART_POINTS 1500 /* in a scatter, at the most */

/* From a judged round that still has its records and ledgers. A new reference, or NULL without
 * memory. */
__attribute__((warn_unused_result)) json_t *chart_make(const struct round *round);

/* Keep about `keep` of CHART_POINTS, and of the other samples in proportion. What is kept of the
 * scatter is the beginning of the array: it is in the order of importance. */
void chart_thin(json_t *chart, size_t keep);

#endif

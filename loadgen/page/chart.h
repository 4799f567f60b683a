/* The drawing of a round on the page: samples, so that it stays small for a long run, too.
 *
 * A JSON object; times are microseconds from the round's start:
 *
 *     repeat     which round of its strategy, from 0
 *     end_us     the last event of the round
 *     planned_us planned time of the last request
 *     instances  [name]
 *     fail       the spec's failpoints, or null
 *     event_count, events [[instance or server, from, to, words]]
 *                number of injected faults, and some of them; each is a moment, or the span of a
 *                standstill
 *     faults     [[instance or -1 for all, from, to, requests that waited]]: silence that no event
 *                explains
 *     product    the place of the only product in `stock`, or null if it has all products
 *     initial, stock {t, stock, sold, orders}, clock {sales, outside}
 *                from the ledgers, until their last change; stock is null without ledgers. If a
 *                ledger has no rows of the stock, each number of stock.stock is null, and orders
 *                count from the replies
 *     oversold_us, oversold_left
 *                when orders became more than units, or null, and the count of the stock row then;
 *                without rows, the count in the end
 *     outcomes   {step_us, names, rows [[count of each name]]}
 *     scatter    {names, of, points [[planned, latency, place in names]]}
 *     latency    {step_us, rows [[requests, p50, p95, p99, max] or null]}, of sent requests
 *     examples   [{anomaly, lines, item, shard, of, ops, events}]. An op is [order id, 1 2 3 for
 *                A B C else 0, instance, sent, received, place in names, unit, written], with -1
 *                for none. An event is [1 2 3 or 0, from, to, instance or server, words] */
#ifndef LOADGEN_CHART_H
#define LOADGEN_CHART_H

#include "round.h"

#include <jansson.h>

#define CHART_POINTS 1500 /* most points in a scatter */

/* Draws a judged round that still has its records and ledgers. Returns a new reference, or NULL
 * without memory. */
__attribute__((warn_unused_result)) json_t *chart_make(const struct round *round);

/* Keeps about `keep` of CHART_POINTS, and other samples in proportion. Of the scatter it keeps the
 * beginning: the array is in order of importance. */
void chart_thin(json_t *chart, size_t keep);

#endif

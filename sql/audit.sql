-- Every anomaly of one product, from the databases alone. loadgen judges by these queries, and a person runs them all:
--   psql inventory -v product=<uuid> -f sql/audit.sql
--   psql orders    -v product=<uuid> -f sql/audit.sql
-- loadgen reads the text from a line `query: <name> on <database>` to the next; lines with a backslash are psql's. The
-- ledgers of past runs are not scanned: both have an index by time. No sale is more than a minute older than its product; a
-- minute, because two servers' clocks may differ, or one may be set back. That moment is a value and not a column, because the
-- planner takes the index only if it knows how few rows there are. `orders` has no products: give `-v since=<time>`.
\if :{?product}
\else
\echo 'audit.sql: name the product: psql ... -v product=<uuid> -f sql/audit.sql'
\quit
\endif
\if :{?since}
\else
\set since -infinity
\endif
-- A setting of the database or the role could end a query, or hide the tables.
\set QUIET on
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_session_timeout = 0;
SELECT :SERVER_VERSION_NUM >= 170000 AS has_transaction_timeout \gset
\if :has_transaction_timeout
SET transaction_timeout = 0;
\endif
SET search_path = "$user", public;
SELECT to_regclass('reservation') IS NOT NULL AS is_inventory, to_regclass('orders') IS NOT NULL AS is_orders \gset

\if :is_inventory
SELECT coalesce((SELECT created_at FROM product WHERE product_id = :'product'::uuid), :'since'::timestamptz) AS since \gset

\echo 'Stock: left + units must be initial, and sold must be units.'
-- query: stock on inventory
SELECT p.initial_stock AS initial, s.available - c.back AS available, r.returned + c.back AS returned, l.sold, l.units, l.sold - l.units AS twins,
       l.outside, s.available + r.returned + l.units - p.initial_stock AS leak
FROM product p
CROSS JOIN LATERAL (SELECT coalesce(sum(available), p.initial_stock)::bigint AS available -- no row: never sold from
                    FROM stock WHERE product_id = p.product_id) s
CROSS JOIN LATERAL (SELECT count(*) AS returned FROM returned_unit WHERE product_id = p.product_id) r
CROSS JOIN LATERAL (SELECT count(*) AS back FROM stock_place JOIN stock t USING (product_id, shard)
                    WHERE product_id = p.product_id AND place < t.available) c
CROSS JOIN LATERAL (SELECT count(*) AS sold, count(DISTINCT unit) AS units,
                           count(*) FILTER (WHERE unit NOT BETWEEN 1 AND p.initial_stock) AS outside
                    FROM sold_unit
                    WHERE product_id = p.product_id AND reserved_at >= :'since'::timestamptz - interval '1 minute') l
WHERE p.product_id = :'product'::uuid;

\echo 'Rows: the stock, one row or one per shard, without units that came back to the count: they are among the returned.'
\echo 'The count of a row includes the units that Redis has not sold.'
-- query: rows on inventory
SELECT shard, first_unit, available - (SELECT count(*) FROM stock_place p WHERE p.product_id = s.product_id
                                        AND p.shard = s.shard AND p.place < s.available) AS available, returns_to_count, loaded_into
FROM stock s WHERE product_id = :'product'::uuid ORDER BY shard;

\echo 'Unbalanced: rows with too many or too few units, even if the sums over all rows are right.'
-- query: unbalanced on inventory
SELECT shard, first_unit, initial, available, returned, units, available + returned + units - initial AS leak
FROM (SELECT s.shard, s.first_unit, s.available,
             lead(s.first_unit, 1, p.initial_stock + 1) OVER (ORDER BY s.first_unit) - s.first_unit AS initial,
             (SELECT count(*) FROM returned_unit r WHERE r.product_id = s.product_id AND r.shard = s.shard) AS returned,
             (SELECT count(DISTINCT unit) FROM sold_unit l
              WHERE l.product_id = s.product_id AND l.shard = s.shard
                AND l.reserved_at >= :'since'::timestamptz - interval '1 minute') AS units
      FROM stock s JOIN product p USING (product_id) WHERE s.product_id = :'product'::uuid) rows
WHERE available + returned + units <> initial
ORDER BY shard;

\echo 'Contradictory: sales of another unit than their row lost. A unit that had come back may leave 0, or any number.'
-- query: contradictory on inventory
SELECT l.order_id, l.unit, l.shard, l.remaining, s.first_unit
FROM sold_unit l
LEFT JOIN (SELECT shard, first_unit, returns_to_count, lead(first_unit) OVER (ORDER BY first_unit) AS next_unit
           FROM stock WHERE product_id = :'product'::uuid) s USING (shard)
JOIN product p USING (product_id)
WHERE l.product_id = :'product'::uuid AND l.reserved_at >= :'since'::timestamptz - interval '1 minute'
  AND (l.unit - s.first_unit = l.remaining
       OR ((l.remaining = 0 OR s.returns_to_count) AND l.unit >= s.first_unit
           AND l.unit < coalesce(s.next_unit, p.initial_stock + 1))) IS NOT TRUE
ORDER BY l.reserved_at, l.order_id;

\echo 'Returned: units of cancelled reservations, for sale again.'
-- query: returned on inventory
SELECT shard, unit FROM returned_unit WHERE product_id = :'product'::uuid
UNION ALL
SELECT shard, unit FROM stock_place p JOIN stock s USING (product_id, shard)
WHERE product_id = :'product'::uuid AND p.place < s.available
ORDER BY unit;

\echo 'Twins: one unit, several orders.'
-- query: twins on inventory
SELECT unit, order_id, instance, shard, fence,
       to_char(reserved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
FROM (SELECT *, count(*) OVER (PARTITION BY unit) AS times FROM sold_unit
      WHERE product_id = :'product'::uuid
        AND reserved_at >= :'since'::timestamptz - interval '1 minute') sales
WHERE times > 1
ORDER BY unit, reserved_at, order_id;

\echo 'Outside: units that never existed.'
-- query: outside on inventory
SELECT r.unit, r.order_id, r.instance, r.shard, r.fence,
       to_char(r.reserved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
FROM sold_unit r JOIN product p USING (product_id)
WHERE r.product_id = :'product'::uuid AND r.unit NOT BETWEEN 1 AND p.initial_stock
  AND r.reserved_at >= :'since'::timestamptz - interval '1 minute'
ORDER BY r.reserved_at, r.order_id;

\echo 'Duplicates: one order, several ledger rows.'
-- query: duplicates on inventory
SELECT order_id, count(*) AS times FROM reservation
WHERE product_id = :'product'::uuid
  AND reserved_at >= :'since'::timestamptz - interval '1 minute'
GROUP BY order_id HAVING count(*) > 1;

\echo 'Sales: the whole ledger of the product.'
-- query: sales on inventory
SELECT order_id, unit, shard, instance, fence,
       to_char(reserved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, remaining
FROM sold_unit
WHERE product_id = :'product'::uuid
  AND reserved_at >= :'since'::timestamptz - interval '1 minute'
ORDER BY reserved_at, order_id;

\echo 'Events: failpoints that fired, and results of raw lock commands.'
-- query: events on inventory
SELECT order_id, instance, kind, name, detail, key, token, result, lasts_ms, took_us,
       (extract(epoch FROM at) * 1000000)::bigint AS at_us,
       to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
FROM lab_event
WHERE product_id = :'product'::uuid
  AND at >= :'since'::timestamptz - interval '1 minute'
ORDER BY lab_event.at, instance, seq;

\echo 'How many sales: the same as in orders, once everything is settled.'
-- query: sales_count on inventory
SELECT count(*) AS sales FROM reservation
WHERE product_id = :'product'::uuid
  AND reserved_at >= :'since'::timestamptz - interval '1 minute';
\endif

\if :is_orders
\echo 'Orders: the promises to customers.'
-- query: orders on orders
SELECT order_id, unit, inventory_instance AS instance,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
FROM orders
WHERE product_id = :'product'::uuid AND created_at >= :'since'::timestamptz - interval '1 minute'
ORDER BY created_at, order_id;

\echo 'How many orders: the same as the sales in inventory, once everything is settled.'
-- query: orders_count on orders
SELECT count(*) AS orders FROM orders
WHERE product_id = :'product'::uuid AND created_at >= :'since'::timestamptz - interval '1 minute';
\endif

-- The inventory database: products, their stock, and the ledger of sales. It owns the truth about units. sql/init.sh
-- applies it in the database `inventory`. May be applied again.

-- The strategy is a property of the product (`redis,ttl=2s,work=2ms`), so a fresh product isolates a run.
CREATE TABLE IF NOT EXISTS product (
    product_id    uuid PRIMARY KEY,
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    price         numeric(12, 2) NOT NULL CHECK (price >= 0),
    initial_stock bigint NOT NULL CHECK (initial_stock BETWEEN 0 AND 1000000000),
    strategy      text NOT NULL CHECK (length(strategy) BETWEEN 1 AND 200),
    created_at    timestamptz NOT NULL DEFAULT now()
);

-- One row per product, or one per shard. inventory-svc makes them when it first meets the product. The unsold units are
-- first_unit .. first_unit + available - 1, and each sale takes the last of them. There is no CHECK (available >= 0): a broken
-- strategy must be able to break it.
CREATE TABLE IF NOT EXISTS stock (
    product_id uuid NOT NULL REFERENCES product,
    shard      int NOT NULL,
    first_unit bigint NOT NULL,
    available  bigint NOT NULL,
    version    bigint NOT NULL DEFAULT 0,
    fence      bigint NOT NULL DEFAULT 0, -- the highest token that wrote; only redis-fenced refuses an older one
    returns_to_count boolean NOT NULL DEFAULT false, -- a unit that comes back raises the count: see stock_place
    loaded_into text NOT NULL DEFAULT '', -- the data set in Redis that sells this row, for good; '' for none
    -- Units that Redis sold and an instance brought here, even if an order was cancelled since. Bringing one again changes nothing.
    brought    int8multirange NOT NULL DEFAULT '{}',
    PRIMARY KEY (product_id, shard)
) WITH (fillfactor = 10); -- hot rows: leaves room for HOT updates in the page
ALTER TABLE stock ADD COLUMN IF NOT EXISTS returns_to_count boolean NOT NULL DEFAULT false; -- for older tables
ALTER TABLE stock ADD COLUMN IF NOT EXISTS loaded_into text NOT NULL DEFAULT '';
ALTER TABLE stock ADD COLUMN IF NOT EXISTS brought int8multirange NOT NULL DEFAULT '{}';
DO $$ BEGIN -- the former table of brought units
    IF to_regclass('brought_unit') IS NOT NULL THEN
        UPDATE stock s SET brought = s.brought + b.units FROM (SELECT product_id, shard, range_agg(int8range(b.unit, b.unit, '[]')) AS units
            FROM brought_unit b JOIN stock USING (product_id) WHERE b.unit >= first_unit AND shard = (SELECT shard FROM stock t
                WHERE t.product_id = b.product_id AND t.first_unit <= b.unit ORDER BY first_unit DESC LIMIT 1)
            GROUP BY product_id, shard) b WHERE (s.product_id, s.shard) = (b.product_id, b.shard);
        DROP TABLE brought_unit;
    END IF;
END $$;

-- With `return=count`: the unit in each place of the count to which a unit came back. Place p, from 0, is the last one while
-- p + 1 units are available. It has unit first_unit + p, unless a row here names another. The row of a place that was sold
-- again stays until the next unit comes back to it.
CREATE TABLE IF NOT EXISTS stock_place (
    product_id uuid NOT NULL REFERENCES product,
    shard      int NOT NULL,
    place      bigint NOT NULL,
    unit       bigint NOT NULL,
    PRIMARY KEY (product_id, shard, place)
);

-- The ledger, written in the same statement as the stock. It deliberately has no UNIQUE (product_id, unit): two rows with
-- one unit are the evidence of an oversell.
CREATE TABLE IF NOT EXISTS reservation (
    order_id    uuid PRIMARY KEY,
    product_id  uuid NOT NULL,
    shard       int NOT NULL,
    unit        bigint NOT NULL,
    remaining   bigint NOT NULL, -- in that row, after this sale
    instance    text NOT NULL,
    fence       bigint NOT NULL, -- the token of the write, 0 for none
    reserved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    confirmed   boolean NOT NULL DEFAULT false, -- it cannot be cancelled any more
    second_shard     int, -- of a cart: the row, unit and rest of its other product; otherwise NULL
    second_unit      bigint,
    second_remaining bigint
);
ALTER TABLE reservation ADD COLUMN IF NOT EXISTS confirmed boolean NOT NULL DEFAULT false; -- for older tables
ALTER TABLE reservation ADD COLUMN IF NOT EXISTS second_shard int, ADD COLUMN IF NOT EXISTS second_unit bigint,
    ADD COLUMN IF NOT EXISTS second_remaining bigint;
-- Settling reads on from a place. With the former BRIN index, each page reads every row since the last VACUUM.
DROP INDEX IF EXISTS reservation_by_time;
CREATE INDEX IF NOT EXISTS reservation_in_time ON reservation (reserved_at, order_id);

-- Each sold unit. The index has only carts, so other sales do not pay for it.
CREATE INDEX IF NOT EXISTS reservation_of_carts ON reservation (reserved_at) WHERE second_shard IS NOT NULL;
CREATE OR REPLACE VIEW sold_unit AS
SELECT order_id, product_id, shard, unit, remaining, instance, fence, reserved_at FROM reservation
UNION ALL
SELECT order_id, product_id, second_shard, second_unit, second_remaining, instance, fence, reserved_at
FROM reservation WHERE second_shard IS NOT NULL;

-- The locks of the strategies pg-table and pg-advisory: the table of lockkit/backends/postgres/lockkit.sql. A row stays for
-- ever, so that its fence only grows.
DROP TABLE IF EXISTS stock_lock; -- the former locks of pg-table
CREATE TABLE IF NOT EXISTS lockkit_lock (
    name text PRIMARY KEY,
    fence bigint NOT NULL,                          -- of the last grant: the greatest token reserved with it
    owner text,                                     -- of the last exclusive grant; mode=table: NULL when free
    label text NOT NULL DEFAULT '',                 -- the name of the owner, for people
    until timestamptz NOT NULL DEFAULT '-infinity', -- mode=table: when it ends, by this server's clock
    key bigint UNIQUE                               -- mode=session: the key of the name's advisory lock
) WITH (fillfactor = 50);

-- Units of cancelled reservations, for sale again by number. They cannot go back into the count, which stands for the units
-- below it, unless the row has `returns_to_count`.
CREATE TABLE IF NOT EXISTS returned_unit (
    product_id uuid NOT NULL REFERENCES product,
    shard      int NOT NULL,
    unit       bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS returned_unit_by_product ON returned_unit (product_id);

-- Events of instances under --lab: each failpoint, before it acts, and each result of a raw lock command. Times come from
-- the instance, converted to the database's clock as exactly as a round trip allows.
CREATE TABLE IF NOT EXISTS lab_event (
    product_id uuid NOT NULL,
    order_id   uuid NOT NULL,
    instance   text NOT NULL,
    seq        bigint NOT NULL,                               -- the order of that instance's events
    at         timestamptz NOT NULL DEFAULT clock_timestamp(), -- of a lock command: when its result arrived
    took_us    bigint NOT NULL DEFAULT 0,                     -- from sending it to that
    kind       text NOT NULL CHECK (kind IN ('failpoint', 'lock')),
    name       text NOT NULL,            -- the point, such as after-read; or the command, such as SET NX
    detail     text NOT NULL DEFAULT '', -- "pause 4000 ms", "ttl 200 ms"
    lasts_ms   bigint NOT NULL DEFAULT 0, -- length of a pause or delay, or the TTL that was set
    key        text NOT NULL DEFAULT '',
    token      text NOT NULL DEFAULT '', -- the value given, or found
    result     text NOT NULL DEFAULT '' CHECK (result IN ('', 'yes', 'no', 'unknown'))
);
CREATE INDEX IF NOT EXISTS lab_event_by_time ON lab_event USING brin (at) WITH (pages_per_range = 8);

GRANT SELECT ON product TO inventory_svc;
GRANT SELECT, INSERT, UPDATE ON stock, stock_place, lockkit_lock TO inventory_svc;
GRANT SELECT, INSERT, DELETE, UPDATE (confirmed, second_shard, second_unit, second_remaining) ON reservation TO inventory_svc;
GRANT SELECT, INSERT, UPDATE, DELETE ON returned_unit TO inventory_svc; -- UPDATE is for SELECT ... FOR UPDATE
GRANT INSERT ON lab_event TO inventory_svc;
GRANT SELECT ON product, stock, stock_place, reservation, sold_unit, returned_unit, lab_event TO loadgen;
GRANT INSERT ON product TO loadgen;

-- The product of the article from which the project started.
INSERT INTO product (product_id, name, price, initial_stock, strategy)
VALUES ('82391173-9dbc-49b6-821b-746a11dbbe5e', '黄金竹子', 88888.88, 1000, 'none')
ON CONFLICT DO NOTHING;

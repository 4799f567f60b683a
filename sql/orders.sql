-- The orders database: the promises to customers. sql/init.sh applies it in the database `orders`. May be applied again.

CREATE TABLE IF NOT EXISTS orders (
    order_id           uuid PRIMARY KEY, -- also the idempotency key
    product_id         uuid NOT NULL,
    unit               bigint NOT NULL,
    remaining          bigint NOT NULL, -- of the first answer, so that a repeat gets the same
    price              numeric(12, 2) NOT NULL,
    inventory_instance text NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS orders_by_time ON orders USING brin (created_at) WITH (pages_per_range = 8);

-- How far order-svc has compared the reservations with its orders (see order-svc/settling/settle.c): the cursor of
-- inventory-svc's last page. '' before the first page: then it begins at `since`.
CREATE TABLE IF NOT EXISTS settlement (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    since    timestamptz NOT NULL DEFAULT now(),
    cursor   text NOT NULL DEFAULT ''
);
INSERT INTO settlement DEFAULT VALUES ON CONFLICT DO NOTHING;

GRANT SELECT, INSERT ON orders TO order_svc;
GRANT SELECT, UPDATE ON settlement TO order_svc;
GRANT SELECT ON orders TO loadgen;

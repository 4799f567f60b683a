-- A Postgres table that refuses a late holder. Each row has the fencing token of its last writer:
--   ALTER TABLE stock ADD COLUMN fence bigint NOT NULL DEFAULT 0;
-- Each writer under a lock passes its own token. If no row was updated, the write was refused:
--   UPDATE stock SET available = $1, fence = $2 WHERE id = $3 AND fence <= $2;
-- A trigger also refuses a statement without that WHERE:
--   CREATE TRIGGER lockkit_guard BEFORE UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION lockkit_guard();
CREATE OR REPLACE FUNCTION lockkit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.fence < OLD.fence THEN
        RAISE EXCEPTION 'fencing token % is below %, which was seen', NEW.fence, OLD.fence
            USING ERRCODE = 'LK001', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

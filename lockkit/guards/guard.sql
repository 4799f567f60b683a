-- A table of Postgres that refuses a late holder. Each row knows the fencing token of its last writer:
--   ALTER TABLE stock ADD COLUMN fence bigint NOT NULL DEFAULT 0;
-- and each writer under a lock gives its own along. No row updated: refused.
--   UPDATE stock SET available = $1, fence = $2 WHERE id = $3 AND fence <= $2;
-- So that nobody can forget the WHERE, the table refuses by itself:
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

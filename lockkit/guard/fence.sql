-- Fencing on the side of the resource, in SQL: a write under an older lease is refused, whatever its
-- holder believes. The row keeps the highest token that has written.
--
-- In the statement itself, where few write ($1 the token, lk_lease_fence()):
--
--     UPDATE stock SET available = available - 1, fence = $1 WHERE id = $2 AND fence <= $1
--
-- Refused when it touches no row. `<=`, as one holder may write more than once. Where many write,
-- the table itself can insist; the column `fence` has to be there, NOT NULL DEFAULT 0:
--
--     CREATE TRIGGER fence BEFORE UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION lockkit_guard();
CREATE OR REPLACE FUNCTION lockkit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.fence IS NULL OR NEW.fence < OLD.fence THEN
        RAISE EXCEPTION 'fencing token % is older than %, which has written', NEW.fence, OLD.fence
            USING ERRCODE = 'object_not_in_prerequisite_state'; -- 55000
    END IF;
    RETURN NEW;
END $$;

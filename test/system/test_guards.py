"""Guards that refuse a late holder: the ones that lockkit ships, on Redis and Postgres."""

import os
import subprocess
import threading
import unittest

from harness import BUILD, ROOT, SystemTest

GUARDS = ROOT / "lockkit/guards"


class Guards(SystemTest):
    shape = ("servers",)

    def grant(self):
        """Takes a lock and gives it back. Returns its fencing token."""
        done = subprocess.run([ROOT / BUILD / "bin/lockctl", "run", "-", "stock:42", "--", "sh", "-c", "echo $LOCKCTL_FENCE"],
                              env=dict(os.environ, LOCKCTL_URL=self.stack.settings["TEST_REDIS"]), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def write_redis(self, token, value, key="{stock:42}"):
        return self.stack.redis("--eval", str(GUARDS / "guard.lua"), key, f"{key}:fence", ",", str(token), str(value))

    def test_redis_refuses_the_one_that_was_paused(self):
        paused, next_holder = self.grant(), self.grant()
        self.assertEqual(self.write_redis(paused, "before the pause"), "1")
        self.assertEqual(self.write_redis(next_holder, "next"), "1")
        self.assertEqual(self.write_redis(paused, "after the pause"), "0")
        self.assertEqual(self.stack.redis("get", "{stock:42}"), "next")
        self.assertEqual(self.write_redis(next_holder, "again"), "1")

    def test_redis_compares_tokens_that_are_no_doubles(self):
        most = 2**63 - 1
        self.assertEqual([self.write_redis(token, token, "{big}") for token in (9, 10, 9, most - 1, most, most - 1)],
                         ["1", "1", "0", "1", "1", "0"])
        for token in ("", "0", "-1", "1e9", "07", "x"):
            self.assertIn("no number", self.write_redis(token, "x", "{big}"))
        self.assertEqual(self.stack.redis("get", "{big}"), str(most))

    def make_table(self):
        self.stack.sql("scratch", "CREATE TABLE IF NOT EXISTS stock (id int PRIMARY KEY, available int, fence bigint NOT NULL DEFAULT 0);"
                                  "TRUNCATE stock; INSERT INTO stock VALUES (42, 100);" + (GUARDS / "guard.sql").read_text())

    def write_postgres(self, token, available, where="AND fence <= :fence"):
        rows = self.stack.sql("scratch", f"UPDATE stock SET available = :available, fence = :fence WHERE id = 42 {where} RETURNING id",
                              fence=token, available=available)
        return len(rows)

    def test_postgres_refuses_the_one_that_was_paused(self):
        self.make_table()
        paused, next_holder = self.grant(), self.grant()
        self.assertEqual([self.write_postgres(paused, 99), self.write_postgres(next_holder, 98), self.write_postgres(paused, 97),
                          self.write_postgres(next_holder, 96)], [1, 1, 0, 1])
        self.assertEqual(self.stack.value("scratch", "SELECT available FROM stock"), 96)

    def test_postgres_refuses_it_also_without_the_condition(self):
        self.make_table()
        self.stack.sql("scratch", "CREATE OR REPLACE TRIGGER lockkit_guard BEFORE UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION lockkit_guard()")
        self.addCleanup(self.stack.sql, "scratch", "DROP TRIGGER lockkit_guard ON stock")
        self.assertEqual(self.write_postgres(7, 99, where=""), 1)
        with self.assertRaisesRegex(AssertionError, "fencing token 6 is below 7"):
            self.write_postgres(6, 98, where="")
        self.assertEqual(self.stack.value("scratch", "SELECT available FROM stock"), 99)

    def test_postgres_decides_between_two_at_the_same_time(self):
        """The lower token waits for the row lock of the higher one, and is refused once it gets the lock."""
        self.make_table()
        first = threading.Thread(target=self.stack.sql, args=("scratch", "BEGIN; UPDATE stock SET available = 1, fence = 9 WHERE id = 42;"
                                                              "SELECT pg_sleep(1); COMMIT"))
        first.start()
        while first.is_alive() and not self.stack.value("scratch", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
            pass
        self.assertEqual(self.write_postgres(8, 2), 0)
        first.join()
        self.assertEqual(self.stack.value("scratch", "SELECT available FROM stock"), 1)


if __name__ == "__main__":
    unittest.main()

"""loadgen --shop --witness: a trigger in the shop's database shows which orders took one unit, and leaves nothing behind."""

import json
import os
import re
import signal
import tempfile
import unittest
from pathlib import Path

from harness import ROOT, SystemTest, wait_for

ROOM = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'loadgen\\_witness\\_%'"


class Witness(SystemTest):
    """The own service as a shop whose orders tell no numbers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.env["LOADGEN_NO_RESULTS"] = "0"
        cls.stack.sql("inventory", "GRANT CREATE ON DATABASE inventory TO loadgen; GRANT TRIGGER ON stock TO loadgen")

    def file(self, strategy, more=""):
        text = (ROOT / "shops/order-svc/order-svc.shop").read_text()
        for old, new in [("127.0.0.1:8000", f"127.0.0.1:{self.stack.port('order-svc')}"), ("set strategy none", f"set strategy {strategy}"),
                         (" unit, remaining,", "")]:
            self.assertIn(old, text)
            text = text.replace(old, new)
        with tempfile.NamedTemporaryFile("w", suffix=".shop", delete=False) as file:
            file.write(text + more)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def arguments(self, strategy, *more):
        return ["--shop", self.file(strategy), "--witness", "--customers", "60", "--stock", "20", "--results", self.results(), *more]

    def results(self):
        if not hasattr(self, "folder"):
            self.folder = tempfile.TemporaryDirectory()
            self.addCleanup(self.folder.cleanup)
        return self.folder.name

    def attack(self, strategy, *more):
        done = self.stack.loadgen(*self.arguments(strategy, "--rate", "2000", *more))
        self.assertEqual(self.stack.value("inventory", ROOM), 0)
        return done

    def test_two_orders_that_took_one_unit_are_shown(self):
        done = self.attack("none,work=50ms")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        said = re.sub(r"\s+", " ", done.stdout)
        self.assertRegex(said, r"A = transaction \d+ at [0-9:.]+: found (\d+) left in row \S+, and left (\d+)\. "
                               r"B = transaction \d+ at [0-9:.]+: found \2 left in row \S+, and left \2\. ")
        self.assertRegex(said, r"B took nothing: it had read \d+, and A and B took the same unit: a contradiction")
        [folder] = [path.parent for path in Path(self.results()).glob("*/summary.json") if not path.parent.is_symlink()]
        anomalies = json.loads((folder / "summary.json").read_text())["strategies"][0]["anomalies"]
        self.assertIn("TWIN", [anomaly["name"] for anomaly in anomalies])
        again = self.stack.loadgen("check", str(folder))
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertNotIn("differs", again.stderr)
        self.assertIn("A and B took the same unit", re.sub(r"\s+", " ", again.stdout))

    def test_a_log_of_the_shop_names_the_orders(self):
        file = self.file("none,work=50ms", """[Writes]
SELECT row_number() OVER (ORDER BY reserved_at) AS seq, remaining + 1 AS found, remaining AS left, order_id, reserved_at AS at
FROM reservation WHERE product_id = {{product}}
""")
        done = self.stack.loadgen("--shop", file, "--customers", "60", "--stock", "20", "--rate", "2000", "--no-results")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(re.sub(r"\s+", " ", done.stdout), r"A = order \S+ at [0-9:.]+: found (\d+) left, and left (\d+)\. "
                         r"B = order \S+ at [0-9:.]+: found \2 left, and left \2\. B took nothing: it had read \1, and A and B took")

    def test_a_right_shop_is_not_accused(self):
        for strategy in ["atomic", "pg-row"]:
            with self.subTest(strategy):
                done = self.attack(strategy)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(re.sub(r"\s+", " ", done.stdout), ": VALID: ")
                self.assertNotIn("STALE, because", re.sub(r"\s+", " ", done.stdout))

    def test_a_signal_leaves_nothing_and_a_kill_is_cleared_by_the_next_run(self):
        for sign, left in (signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, 1):
            with self.subTest(sign), self.stack.start_loadgen(*self.arguments("atomic", "--rate", "1", "--no-progress")) as run:
                try:
                    wait_for("the trigger", lambda: self.stack.value("inventory", ROOM))
                    run.send_signal(sign)
                    run.communicate(timeout=60)
                finally:
                    run.kill()
                self.assertEqual(self.stack.value("inventory", ROOM), left)
        self.attack("atomic")

    def test_a_right_that_is_missing_is_told_with_its_mend(self):
        for grant in "CREATE ON DATABASE inventory", "TRIGGER ON stock":
            with self.subTest(grant):
                self.stack.sql("inventory", f"REVOKE {grant} FROM loadgen")
                try:
                    done = self.stack.loadgen(*self.arguments("atomic", "--rate", "2000"))
                finally:
                    self.stack.sql("inventory", f"GRANT {grant} TO loadgen")
                self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
                self.assertIn("run: GRANT " + grant.replace("stock", "public.stock") + " TO loadgen", done.stderr)


if __name__ == "__main__":
    unittest.main()

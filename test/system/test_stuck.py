"""A lock that nobody gives back: the run is STUCK, unless the TTL frees the lock or the run was stopped."""

import json
import re
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from harness import Ledger, SystemTest, wait_for

SPEC = "redis,ttl={ttl},wait=500ms,fail=before-unlock:error@60"  # the 60th sale of each instance keeps its lease
LOAD = ["-R", "400", "--stock", "5000", "--work", "0s", "--output-format", "json"]


class Stuck(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab"}

    def fire(self, ttl, *more):
        """The exit code, and the strategy's part of the summary."""
        done = self.stack.loadgen("--strategy", SPEC.format(ttl=ttl), "-d", "3s", *LOAD, *more)
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)["strategies"][0]

    def names(self, strategy):
        return [anomaly["name"] for anomaly in strategy["anomalies"]]

    def test_a_lease_without_an_end_is_found_and_found_again(self):
        root = Path(tempfile.mkdtemp(prefix="sale-results-"))
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        code, strategy = self.fire("1h", "--expect", "redis=STUCK", "--no-results=false", "--results", str(root))
        self.assertEqual((code, strategy["verdict"], self.names(strategy)), (0, "VIOLATED", ["STUCK"]), strategy)
        ledger = Ledger(self.stack, strategy["product_id"])
        ledger.check(self)
        self.assertGreater(ledger.available, 0)
        last = self.stack.sql("inventory", "SELECT order_id, instance FROM reservation WHERE product_id = :'id' "
                              "ORDER BY reserved_at DESC LIMIT 1", id=strategy["product_id"])[0]
        told = "\n".join(strategy["counterexamples"][0]["lines"])
        self.assertIn(f"A = order {last[0]} via {last[1]}", told)
        self.assertIn(f"the last holder that the ledger knows is {last[1]}.", told)
        self.assertRegex(told, r"no customer got a unit: \d+ busy")
        self.assertIn(told.split("\n", 1)[0][:60], (root / "latest/violations.txt").read_text())
        again = self.stack.loadgen("check", str(root / "latest"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("the same verdicts and counts", again.stderr)

    def test_a_lease_with_an_end_is_not_stuck(self):
        code, strategy = self.fire("600ms")
        self.assertEqual((code, self.names(strategy)), (0, []), strategy)

    def test_a_run_that_is_stopped_is_not_stuck(self):
        code, strategy = self.fire("1h", "--threshold", "busy<300", "--abort-on-fail")
        self.assertEqual((code, self.names(strategy)), (99, []), strategy)

        def busy():
            return int(re.search(r'^order_outcomes_total\{outcome="busy"\} (\d+)',
                                 self.stack.ask("GET", "/metrics").text, re.M).group(1))
        before = busy()
        run = self.stack.start_loadgen("--strategy", SPEC.format(ttl="1h"), "-d", "60s", *LOAD)
        try:
            wait_for("customers that are turned away", lambda: busy() > before + 300)
            run.send_signal(signal.SIGINT)
            output, errors = run.communicate(timeout=60)
        finally:
            run.kill()
            run.wait()
        self.assertEqual(run.returncode, 130, errors)
        self.assertEqual(self.names(json.loads(output)["strategies"][0]), [])


if __name__ == "__main__":
    unittest.main()

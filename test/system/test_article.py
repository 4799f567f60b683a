"""The article's scenario: 1,000 units, 800 orders in one second, two instances, under all five strategies."""

import json
import unittest

from harness import Ledger, SystemTest

EXPECTED = {"none": "VIOLATED", "mutex": "VIOLATED", "redis": "VALID", "sharded": "VALID", "atomic": "VALID"}


class Article(SystemTest):
    def test_none_and_mutex_sell_units_twice_and_the_others_do_not(self):
        done = self.stack.loadgen("--strategy", ",".join(EXPECTED), "--expect", "none=TWIN,mutex=TWIN", "--seed", "7",
                                  "--output-format", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        strategies = {s["strategy"].partition(",")[0]: s for s in json.loads(done.stdout)["strategies"]}
        self.assertEqual({name: s["verdict"] for name, s in strategies.items()}, EXPECTED)
        for name, summary in strategies.items():
            with self.subTest(name):
                ledger = Ledger(self.stack, summary["product_id"])
                self.assertEqual(summary["sold"], ledger.sold, "loadgen and psql differ")
                self.assertEqual(summary["twins"], ledger.twins, "loadgen and psql differ")
                self.assertEqual(summary["left"], ledger.available + ledger.returned, "loadgen and psql differ")
                self.assertGreaterEqual(summary["offered"], 790)
                self.assertEqual(ledger.unmatched, set())
                if EXPECTED[name] == "VALID":
                    ledger.check(self)
                else:
                    self.assertGreater(ledger.twins, 0)
                    self.assertIn("TWIN", [anomaly["name"] for anomaly in summary["anomalies"]])

    def test_more_buyers_than_units_sell_out_exactly(self):
        for strategy in ["redis", "sharded", "atomic"]:
            with self.subTest(strategy):
                done = self.stack.loadgen("--strategy", strategy, "--requests", "300", "-R", "600", "--stock", "100",
                                          "--work", "1ms", "--output-format", "json")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                summary = json.loads(done.stdout)["strategies"][0]
                ledger = Ledger(self.stack, summary["product_id"])
                ledger.check(self)
                self.assertEqual((ledger.sold, ledger.available), (100, 0))

    def test_the_mutex_is_right_with_one_instance(self):
        self.stack.kill("inventory-2")
        try:
            done = self.stack.loadgen("--strategy", "mutex", "-R", "300", "-d", "1s", "--output-format", "json")
        finally:
            self.stack.restart("inventory-2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        Ledger(self.stack, json.loads(done.stdout)["strategies"][0]["product_id"]).check(self)


if __name__ == "__main__":
    unittest.main()

"""A lease is not a lock: the harm that a holder can do after a pause longer than its TTL."""

import json
import os
import signal
import threading
import time
import unittest
import uuid

from harness import Ledger, SystemTest, wait_for


class Paused(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab", "ORDER_SVC_FLAGS": "--settle-after 1s --settle-every 100ms"}

    def reserve(self, product, instance):
        return self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": str(uuid.uuid4())}, to=instance)

    def sell_during_a_pause(self, strategy, point):
        """The second sale of inventory-1 pauses that process for 4 s; meanwhile inventory-2 sells. Returns both answers, and the
        ledger once each sale has its order."""
        product = self.stack.product(f"{strategy},fail={point}:pause=4s@2")
        self.assertEqual(self.reserve(product, "inventory-1").json["unit"], 10)
        paused = []
        sale = threading.Thread(target=lambda: paused.append(self.reserve(product, "inventory-1")))
        sale.start()
        wait_for("the pause", lambda: f"product={product} point={point} action=pause" in self.stack.log("inventory-1"))
        other = self.reserve(product, "inventory-2")
        self.assertTrue(sale.is_alive(), "the pause was over before inventory-2 had sold")
        sale.join()
        self.assertEqual((other.status, other.json["unit"]), (201, 9), other.text)
        wait_for("all settled", lambda: not Ledger(self.stack, product).unmatched)
        return paused[0], Ledger(self.stack, product)

    def test_a_lease_that_ended_before_the_check_sells_nothing(self):
        for strategy, point in [("redis,ttl=500ms", "after-read"), ("sharded,shards=1,ttl=500ms", "after-lock")]:
            with self.subTest(strategy):
                answer, ledger = self.sell_during_a_pause(strategy, point)
                self.assertEqual((answer.status, answer.json["error"]), (503, "busy"), answer.text)
                self.assertIn("lease", answer.json["message"])
                self.assertEqual(ledger.sold, 2)
                ledger.check(self)

    def test_a_lease_that_ended_between_check_and_write_sells_a_unit_twice(self):
        """No lease can close this gap alone, and the promise of `redis` says so."""
        answer, ledger = self.sell_during_a_pause("redis,ttl=500ms", "before-write")
        self.assertEqual((answer.status, answer.json["unit"]), (201, 9), answer.text)
        self.assertEqual((ledger.sold, ledger.twins, ledger.available), (3, 1, 8))

    def test_one_statement_survives_the_same_pause(self):
        answer, ledger = self.sell_during_a_pause("atomic", "before-write")
        self.assertEqual((answer.status, answer.json["unit"]), (201, 8), answer.text)
        self.assertEqual(ledger.sold, 3)
        ledger.check(self)

    def test_a_stopped_instance_sells_no_unit_twice_under_atomic(self):
        run = self.stack.start_loadgen("--strategy", "atomic", "-R", "300", "-d", "3s", "--stock", "600", "--output-format",
                                       "json")
        try:
            pid = int((self.stack.run_dir / "inventory-1.pid").read_text().split()[0])
            time.sleep(1)
            self.assertIsNone(run.poll(), "loadgen ended before the pause")
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(1.5)
            finally:
                os.kill(pid, signal.SIGCONT)
            output, errors = run.communicate(timeout=120)
        finally:
            run.kill()
            run.wait()
        summary = json.loads(output)["strategies"][0]
        self.assertEqual(summary["anomalies"], [], output + errors)
        Ledger(self.stack, summary["product_id"]).check(self)


if __name__ == "__main__":
    unittest.main()

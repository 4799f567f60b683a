"""Locks of one process and of one machine: right while there is only one, and wrong with two."""

import http.client
import json
import unittest
import uuid

from harness import LOST_UPDATES, Ledger, SystemTest

PROCESS = ["mutex", "reentrant", "rwlock", "stamped", "spin", "segment"]
MACHINE = ["mkdir", "flock"]
LOAD = ["-R", "400", "-d", "250ms", "--work", "5ms", "--stock", "75", "--wait", "8s", "--timeout", "15s"]
# With ten stock rows each instance begins at another row. It reaches the other's row three of its orders, 15 ms, later.
LONGER = ["--work", "20ms"]


class OwnLocks(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab"}

    def up(self, *shape, dirs="shared"):
        self.stack.env["LOCK_DIRS"] = dirs
        self.stack.script("up", *shape)

    def fire(self, strategies, expect, *more):
        done = self.stack.loadgen("--output-format", "json", "--strategy", ",".join(strategies), *LOAD, *more,
                                  *(["--expect", ",".join(f"{name}={expect}" for name in strategies)] if expect else []))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["strategies"]

    def assert_right(self, strategies):
        for summary in self.fire(strategies, ""):
            with self.subTest(summary["strategy"]):
                ledger = Ledger(self.stack, summary["product_id"])
                ledger.check(self)
                self.assertEqual((ledger.sold, ledger.available), (75, 0))

    def assert_wrong(self, strategies):
        for summary in self.fire(strategies, "OVERSELL?+UNDERSELL?+EARLY-SOLD-OUT?+" + LOST_UPDATES, *LONGER):
            with self.subTest(summary["strategy"]):
                self.assertGreater(Ledger(self.stack, summary["product_id"]).twins, 0)

    def test_each_lock_is_right_in_one_process(self):
        self.up("--instances", "1")
        self.assert_right(PROCESS)

    def test_a_lock_of_a_process_does_not_keep_out_another(self):
        self.up()
        self.assert_wrong(PROCESS)

    def test_a_lock_on_the_disk_keeps_out_every_process(self):
        self.up()
        self.assert_right(MACHINE)

    def die_with_the_lock(self, strategy):
        product = self.stack.product(f"{strategy},wait=50ms,fail=inventory-1/after-lock:crash")
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            self.reserve(product, "inventory-1")
        return product

    def reserve(self, product, instance):
        return self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": str(uuid.uuid4())}, to=instance).status

    def test_locks_left_by_a_killed_holder(self):
        self.up()
        for strategy, status in (("mkdir", 503), ("flock", 201)):
            with self.subTest(strategy):
                product = self.die_with_the_lock(strategy)
                self.assertEqual(self.reserve(product, "inventory-2"), status)
                self.stack.restart("inventory-1")
                self.assertEqual(self.reserve(product, "inventory-2"), status)

    def test_a_directory_that_was_left_is_removed_by_hand(self):
        self.up()
        product = self.die_with_the_lock("mkdir")
        self.stack.restart("inventory-1")
        self.assertEqual(self.reserve(product, "inventory-2"), 503)
        (self.stack.run_dir / "locks" / f"{product}-0.d").rmdir()
        self.assertEqual(self.reserve(product, "inventory-2"), 201)

    def test_a_lock_on_the_disk_does_not_keep_out_another_machine(self):
        self.up(dirs="own")
        self.assert_wrong(MACHINE)


if __name__ == "__main__":
    unittest.main()

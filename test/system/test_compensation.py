"""An order that cannot be recorded is undone, or it stands. It is never both, even if its cancel takes effect late."""

import json
import os
import re
import signal
import subprocess
import unittest
import uuid

from harness import ROOT, Ledger, SystemTest, wait_for


class Undone(SystemTest):
    # Settling makes no calls to the instances, so it is known which instance gets each call.
    flags = {"INVENTORY_SVC_FLAGS": "--lab", "ORDER_SVC_FLAGS": "--settle-after 8s --settle-every 1h"}

    def signal(self, name, number):
        os.kill(int((self.stack.run_dir / f"{name}.pid").read_text().split()[0]), number)

    def is_idle(self, name):
        return re.search(r"^http_in_flight 1$", self.stack.ask("GET", "/metrics", to=name).text, re.M)

    def test_a_cancel_that_is_late_takes_no_unit_from_the_order_that_was_repeated(self):
        """The unit is reserved late: when order-svc gives up its cancel, the reservation is still young by the ledger's clock."""
        product = self.stack.product("atomic,fail=before-write:delay=2s@1", 5)
        paused = self.stack.order(product).json["instance"]  # the next one reserves at the other, and cancels here
        self.stack.sql("orders", "REVOKE INSERT ON orders FROM order_svc")
        self.signal(paused, signal.SIGSTOP)
        try:
            refused = self.stack.order(product)
            self.stack.sql("orders", "GRANT INSERT ON orders TO order_svc")
            self.assertEqual(refused.status, 504, refused.text)
            repeated = self.stack.order(product, refused.headers["Order-Id"])
            self.assertEqual(repeated.status, 201, repeated.text)
        finally:
            self.signal(paused, signal.SIGCONT)
            self.stack.sql("orders", "GRANT INSERT ON orders TO order_svc")
        wait_for("the cancel has come to its end", lambda: self.is_idle(paused))
        Ledger(self.stack, product).check(self)
        self.assertEqual(self.stack.order(product, refused.headers["Order-Id"]).json, repeated.json)


class UnderLoad(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--lab --fail-record 5%"}

    def undone(self):
        return self.stack.log("order-svc").count('msg="order undone"')

    def fire(self, strategy, *more):
        """Sends 800 orders without keys. Returns loadgen's summary and the number of undone orders."""
        before = self.undone()
        done = self.stack.loadgen("--strategy", strategy, "-R", "400", "-d", "2s", "--work", "1ms", "--keyless", "--output-format",
                                  "json", *more)
        summary = json.loads(done.stdout)["strategies"][0]
        return done, summary, self.undone() - before

    def test_units_are_given_back_under_load_and_none_is_sold_twice(self):
        for strategy in ["atomic", "redis", "sharded", "prewarm"]:
            with self.subTest(strategy):
                done, summary, undone = self.fire(strategy, "--stock", "2000")
                self.assertEqual(summary["anomalies"], [], done.stdout + done.stderr)
                self.assertNotEqual(summary["verdict"], "VIOLATED")
                self.assertGreater(undone, 3)
                ledger = Ledger(self.stack, summary["product_id"])
                ledger.check(self)
                unclear = ledger.sold - summary["outcomes"]["sold"]
                self.assertTrue(0 <= unclear <= summary["outcomes"]["unknown"], summary["outcomes"])
                self.assertGreaterEqual(ledger.returned, undone)

    def test_to_the_last_unit_none_is_sold_twice(self):
        """A unit comes back after customers were told "sold out", and a later customer buys it: the others were refused early."""
        for strategy in ["atomic", "redis"]:
            with self.subTest(strategy):
                done, summary, undone = self.fire(strategy, "--stock", "300", "--expect", f"{strategy}=EARLY-SOLD-OUT")
                self.assertLessEqual({found["name"] for found in summary["anomalies"]}, {"EARLY-SOLD-OUT"}, done.stdout)
                self.assertGreater(undone, 3)
                Ledger(self.stack, summary["product_id"]).check(self)

    def test_replies_that_are_lost_without_a_key_are_no_anomaly(self):
        """order-svc dies, so no answer names the orders; settling records them."""
        sold_before = self.stack.value("inventory", "SELECT count(*) FROM reservation")
        run = self.stack.start_loadgen("--strategy", "atomic", "-R", "300", "-d", "4s", "--stock", "2000", "--work", "20ms",
                                       "--timeout", "8s", "--drain", "30s", "--keyless", "--output-format", "json")
        try:
            wait_for("a good part of the sales", lambda: self.stack.value(
                "inventory", "SELECT count(*) FROM reservation") > sold_before + 300)
            self.assertIsNone(run.poll(), "loadgen ended before the fault")
            self.stack.kill("order-svc")
            self.stack.restart("order-svc")
            output, errors = run.communicate(timeout=120)
        finally:
            run.kill()
            run.wait()
        summary = json.loads(output)["strategies"][0]
        self.assertEqual(summary["anomalies"], [], output + errors)
        self.assertGreater(summary["outcomes"]["unknown"], 0)
        Ledger(self.stack, summary["product_id"]).check(self)

    def test_without_lab_no_record_fails_on_purpose(self):
        done = subprocess.run([str(ROOT / self.stack.env["B"] / "bin/order-svc"), "--fail-record", "5%"], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("it needs --lab", done.stderr)


if __name__ == "__main__":
    unittest.main()

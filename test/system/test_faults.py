"""SIGKILL during a sale, under each strategy that promises to survive it: no unit is sold twice or lost."""

import json
import re
import time
import unittest

from harness import Ledger, SystemTest, wait_for

RATE, LENGTHS = 300, [4, 16, 64]
PROGRAMS = ["order-svc", "inventory-1", "inventory-2", "redis", "postgres"]


class Killed(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--settle-after 4s --settle-every 200ms"}

    def sold_in_all(self):
        return self.stack.value("inventory", "SELECT count(*) FROM reservation")

    def in_flight(self):
        """The number of requests that order-svc works on now."""
        return int(re.search(r"^http_in_flight (\d+)", self.stack.ask("GET", "/metrics").text, re.M).group(1))

    def kill_and_start(self, victim):
        """The most requests that were in flight at the kill: a victim stands still for a while before it is dead."""
        in_flight, begun = self.in_flight(), time.monotonic()
        self.stack.kill(victim)
        in_flight += 20 + int(2 * RATE * (time.monotonic() - begun))
        time.sleep(1)
        self.stack.restart(victim)
        return in_flight

    def break_in_the_middle(self, strategy, fault):
        """Runs loadgen and calls fault() in the middle. Returns loadgen's summary, the sales before, and the value of fault()."""
        before = self.sold_in_all()

        def break_it(run):
            wait_for("a good part of the sales", lambda: self.sold_in_all() >= before + RATE or run.poll() is not None)
            sold_before = self.sold_in_all() - before
            return None if run.poll() is not None else (sold_before, fault())

        summary, (sold_before, said) = self.stack.disturb(break_it, LENGTHS, strategy, RATE, 2 / 3, "--work", "1ms")
        return summary, sold_before, said

    def evidence(self, summary):
        """Shown if a test fails, to find the cause: loadgen's summary and the end of each program's log."""
        logs = "".join(f"--- {name}\n" + "".join(self.stack.log(name).splitlines(True)[-30:]) for name in PROGRAMS)
        return json.dumps(summary, indent=1, ensure_ascii=False) + "\n" + logs

    def judge(self, summary, sold_before, unknown_most):
        ledger = Ledger(self.stack, summary["product_id"])
        try:
            self.assertEqual(summary["anomalies"], [])
            self.assertNotEqual(summary["verdict"], "VIOLATED")
            ledger.check(self)
            self.assertGreater(summary["overlapping_attempts"], 100)
            self.assertLessEqual(summary["outcomes"]["unknown"], unknown_most, "more unknown than were in flight")
            self.assertGreaterEqual(ledger.sold, sold_before, "sales were lost")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.evidence(summary)}") from None

    def survives(self, victim, strategy):
        summary, sold_before, in_flight = self.break_in_the_middle(strategy, lambda: self.kill_and_start(victim))
        self.judge(summary, sold_before, in_flight)
        self.assertEqual(self.stack.order(self.stack.product(strategy)).status, 201, "it does not sell any more")

    def test_an_instance_that_is_told_to_stop_ends_its_sales(self):
        for strategy in ["redis,ttl=2s", "atomic", "batched", "prewarm"]:
            with self.subTest(strategy):
                summary, sold_before, _ = self.break_in_the_middle(strategy, lambda: self.stack.restart("inventory-1"))
                self.judge(summary, sold_before, 0)


def add_tests():
    for victim in ["inventory-1", "order-svc", "redis", "postgres"]:
        # test_prewarm.py kills the other servers under prewarm.
        for strategy in ["redis,ttl=2s", "sharded,ttl=2s", "atomic", "batched"] + ["prewarm"] * (victim == "postgres"):
            name = f"test_{strategy.partition(',')[0]}_survives_the_death_of_{victim.replace('-', '_')}"
            setattr(Killed, name, lambda self, v=victim, s=strategy: self.survives(v, s))


add_tests()

if __name__ == "__main__":
    unittest.main()

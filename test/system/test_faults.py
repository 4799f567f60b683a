"""SIGKILL in mid-sale, under each strategy that promises to survive it: nothing sold twice, nothing lost."""

import json
import time
import unittest

from harness import Ledger, SystemTest

RATE, SECONDS = 300, 3


class Killed(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--settle-after 4s --settle-every 200ms"}

    def survives(self, victim, strategy):
        """Kill it after a second of the run, start it a second later; then judge the ledger."""
        run = self.stack.start_loadgen("--strategy", strategy, "-R", str(RATE), "-d", f"{SECONDS}s", "--stock", "600",
                                       "--work", "1ms", "--timeout", "8s", "--drain", "20s", "--output-format", "json")
        try:
            time.sleep(1)
            self.assertIsNone(run.poll(), "loadgen ended before the fault")
            self.stack.kill(victim)
            time.sleep(1)
            self.stack.restart(victim)
            output, errors = run.communicate(timeout=120)
        finally:
            run.kill()
            run.wait()
        self.assertTrue(output, errors)
        summary = json.loads(output)
        strategy_summary = summary["strategies"][0]
        self.assertEqual(strategy_summary["anomalies"], [], output)
        self.assertNotEqual(strategy_summary["verdict"], "VIOLATED", output)
        ledger = Ledger(self.stack, strategy_summary["product_id"])
        ledger.check(self)
        self.assertGreater(ledger.sold, 100, output)
        self.assertEqual(self.stack.order(self.stack.product(strategy)).status, 201, "it does not sell any more")


def add_tests():
    for victim in ["inventory-1", "order-svc", "redis", "postgres"]:
        for strategy in ["redis,ttl=2s", "sharded,ttl=2s", "atomic"]:
            name = f"test_{strategy.partition(',')[0]}_survives_the_death_of_{victim.replace('-', '_')}"
            setattr(Killed, name, lambda self, v=victim, s=strategy: self.survives(v, s))


add_tests()

if __name__ == "__main__":
    unittest.main()

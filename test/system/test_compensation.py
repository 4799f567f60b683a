"""An order that cannot be recorded is undone, or stands: never both, however late its cancel takes effect."""

import os
import re
import signal
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor

from harness import Ledger, SystemTest, wait_for


class Undone(SystemTest):
    # Settling takes no turn at the instances: who gets which call is known.
    flags = {"INVENTORY_SVC_FLAGS": "--lab", "ORDER_SVC_FLAGS": "--settle-after 8s --settle-every 1h"}

    def signal(self, name, number):
        os.kill(int((self.stack.run_dir / f"{name}.pid").read_text().split()[0]), number)

    def is_idle(self, name):
        return re.search(r"^http_in_flight 1$", self.stack.ask("GET", "/metrics", to=name).text, re.M)

    def test_a_cancel_that_is_late_takes_no_unit_from_the_order_that_was_repeated(self):
        """The unit is reserved late, so that a cancel given up by the clock of its call is young by that of the ledger."""
        product = self.stack.product("atomic,fail=before-write:delay=2s@1", 5)
        paused = self.stack.order(product).json["instance"]  # the next reservation goes to the other one, its cancel here
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


if __name__ == "__main__":
    unittest.main()

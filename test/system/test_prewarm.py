"""SIGKILL of an instance, of order-svc and of Redis during one sale from Redis: no unit is sold twice or lost."""

import concurrent.futures
import json
import os
import subprocess
import unittest
import urllib.parse
import uuid

from harness import Ledger, SystemTest, wait_for

RATE, LENGTHS = 300, [8, 25, 75]  # a slow machine needs this long to kill and restart all three
VICTIMS = ["inventory-1", "order-svc", "redis"]


class Prewarm(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--settle-after 4s --settle-every 200ms", "INVENTORY_SVC_FLAGS": "--lab"}

    def show(self, product):
        return self.stack.ask("GET", f"/products/{product}", to="inventory-2").json

    def redis(self, *command):
        url = urllib.parse.urlsplit(self.stack.settings["INVENTORY_SVC_REDIS"])
        return subprocess.run(["redis-cli", "-h", url.hostname, "-p", str(url.port), *command], capture_output=True, text=True,
                              env=os.environ | {"REDISCLI_AUTH": url.password}, check=True).stdout

    def newest(self):
        return self.stack.sql("inventory", "SELECT product_id FROM product ORDER BY created_at DESC LIMIT 1")[0][0]

    def sold(self, product):
        return self.stack.value("inventory", "SELECT count(*) FROM reservation WHERE product_id = :'id'", id=product)

    def kill_each(self, run, product):
        """Kills one after the other, each after a good part was sold since the last one. False: the run ended before."""
        for victim in VICTIMS:
            least = self.sold(product) + RATE // 4
            wait_for(f"sales before the death of {victim}",
                     lambda least=least: self.sold(product) >= least or run.poll() is not None)
            if run.poll() is not None:
                return False
            self.stack.kill(victim)
            self.stack.restart(victim)
        return True

    def evidence(self, summary):
        logs = "".join(f"--- {name}\n" + "".join(self.stack.log(name).splitlines(True)[-30:])
                       for name in ["order-svc", "inventory-1", "inventory-2", "redis"])
        return json.dumps(summary, indent=1, ensure_ascii=False) + "\n" + logs

    def disturb(self, strategy, disturbance, rate, share, *more):
        """Runs loadgen, and calls disturbance(run, product) once the product exists. Returns loadgen's summary and the product."""
        def disturb_it(run):
            wait_for("the product", lambda: self.newest() != before)
            product = self.newest()
            return product if disturbance(run, product) else None

        before = self.newest()
        return self.stack.disturb(disturb_it, LENGTHS, strategy, rate, share, *more)

    def survives(self, strategy, *more):
        summary, product = self.disturb(strategy, self.kill_each, RATE, 14 / 15, *more)
        try:
            self.judge(summary, product)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.evidence(summary)}") from None

    def judge(self, summary, product):
        self.assertEqual((summary["verdict"], summary["anomalies"]), ("VALID", []))
        wait_for("all notes are written", lambda: self.show(product)["pending"] == 0)
        ledger = Ledger(self.stack, product)
        ledger.check(self)
        self.assertEqual(self.show(product)["available"], ledger.available, "Redis holds another count")
        self.assertEqual(self.stack.value("inventory", "SELECT sum(upper(units) - lower(units)) FROM stock, unnest(brought) AS units"
                                          " WHERE product_id = :'id'", id=product), ledger.sold + ledger.returned)

    def test_a_sale_that_is_not_in_the_ledger_yet_is_no_ghost(self):
        product = self.stack.product("prewarm", 100)
        self.redis("XADD", f"sale:{{{product}}}:stock:notes", "9999999999999-0", "at", "0 1 1", "by", "other", "orders",
                   str(uuid.uuid4()))
        run = self.stack.loadgen("--product", product, "-R", "200", "--requests", "80", "--drain", "1s")
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn("1 sales of", run.stdout)

    def lose_all_keys(self, run, product):
        """False: too much was sold already to be sure that units were left."""
        wait_for("a part of the sales", lambda: self.sold(product) >= 200 or run.poll() is not None)
        self.redis("FLUSHALL")
        ledger = Ledger(self.stack, product)
        return ledger.sold < ledger.initial // 2

    def test_a_redis_that_loses_its_data_sells_nothing_twice(self):
        summary, product = self.disturb("prewarm,ack=ledger", self.lose_all_keys, 200, 5 / 6)
        self.assertEqual([found["name"] for found in summary["anomalies"]], ["UNDERSELL"], self.evidence(summary))
        ledger = Ledger(self.stack, product)
        ledger.check(self)
        self.assertGreater(ledger.available, 0, "what Redis had is not sold again")
        self.assertEqual(self.show(product)["available"], 0)

    def test_a_sale_acknowledged_by_redis_survives_the_death_of_each(self):
        """With an Idempotency-Key each sale waits for the ledger."""
        self.survives("prewarm", "--keyless")

    def test_a_sale_acknowledged_by_the_ledger_survives_the_death_of_each(self):
        self.survives("prewarm,ack=ledger")

    def check_keys(self, keys, products):
        """Asserts that each key has one order, of one product in both databases, and that no unit is lost."""
        for product in products:
            wait_for("the way to the ledger is empty", lambda product=product: self.show(product)["pending"] == 0)
        wait_for("each sale has its order",
                 lambda: all(not Ledger(self.stack, product).unmatched for product in products))
        for product in products:
            Ledger(self.stack, product).check(self)
        self.assertEqual(sum(self.sold(product) for product in products), len(keys))

    def test_a_key_for_two_products_at_once_is_one_order(self):
        for pair in [("prewarm", "prewarm"), ("prewarm", "atomic"), ("batched", "prewarm,ack=ledger")]:
            with self.subTest(pair), concurrent.futures.ThreadPoolExecutor(40) as threads:
                products = [self.stack.product(strategy, 100) for strategy in pair]
                keys = [str(uuid.uuid4()) for _ in range(40)]
                asked = [(product, key) for key in keys for product in products]
                answers = list(threads.map(lambda order: self.stack.order(*order), asked))
                for first, second in zip(answers[::2], answers[1::2]):
                    self.assertEqual(sorted([first.status, second.status]), [201, 422], first.text + second.text)
                self.check_keys(keys, products)
                for (product, key), answer in zip(asked, answers):
                    again = self.stack.order(product, key)
                    self.assertEqual(again.status, answer.status, again.text)

    def test_a_key_whose_instance_died_goes_to_one_product(self):
        products = [self.stack.product("prewarm,fail=before-write:crash@1", 10), self.stack.product("prewarm", 10)]
        key = str(uuid.uuid4())
        try:
            self.assertEqual(self.stack.order(products[0], key).status, 504)
            other = self.stack.order(products[1], key)
        finally:
            self.stack.script("up")
        self.check_keys([key], products)
        self.assertEqual(self.sold(products[1]), other.status == 201, other.text)
        self.assertEqual(sorted(self.stack.order(product, key).status for product in products), [201, 422])

    def test_a_lone_sale_of_a_killed_instance_is_brought_by_the_other(self):
        product = self.stack.product("prewarm,fail=before-write:crash@1", 10)
        self.stack.order(product)
        try:
            wait_for("the other brings it", lambda: self.sold(product) == 1)
        finally:
            self.stack.script("up")
        wait_for("its order is settled", lambda: Ledger(self.stack, product).orders == 1)
        Ledger(self.stack, product).check(self)


if __name__ == "__main__":
    unittest.main()

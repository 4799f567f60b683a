"""The stock of `prewarm` in a Redis Cluster: a master dies, slots move, an instance dies. No unit is sold twice or lost."""

import concurrent.futures
import json
import unittest
import uuid

from harness import Ledger, SystemTest, wait_for

RATE, LENGTHS = 200, [15, 40, 90]


class PrewarmCluster(SystemTest):
    shape = ("--with", "cluster")
    flags = {"ORDER_SVC_FLAGS": "--settle-after 4s --settle-every 200ms", "INVENTORY_SVC_FLAGS": "--lab"}

    def tearDown(self):
        self.stack.script("start")  # all servers, and the first three masters again

    def show(self, product):
        return self.stack.ask("GET", f"/products/{product}", to="inventory-2").json

    def newest(self):
        return self.stack.sql("inventory", "SELECT product_id FROM product ORDER BY created_at DESC LIMIT 1")[0][0]

    def sold(self, product):
        return self.stack.value("inventory", "SELECT count(*) FROM reservation WHERE product_id = :'id'", id=product)

    def survives(self, disturbance, strategy, *more):
        """Runs a sale, with the disturbance after a part of it, and expects that all units are sold, once."""
        def disturb_it(run):
            wait_for("the product", lambda: self.newest() != before)
            product = self.newest()
            wait_for("a part of the sale", lambda: self.sold(product) >= RATE or run.poll() is not None)
            if run.poll() is not None:
                return None
            disturbance()
            return product if run.poll() is None else None

        before = self.newest()
        summary, product = self.stack.disturb(disturb_it, LENGTHS, strategy, RATE, 0.4, *more)
        evidence = json.dumps(summary, indent=1, ensure_ascii=False) + self.stack.log("inventory-1")[-4000:]
        self.assertEqual((summary["verdict"], summary["anomalies"]), ("VALID", []), evidence)
        wait_for("all notes are written", lambda: self.show(product)["pending"] == 0)
        ledger = Ledger(self.stack, product)
        ledger.check(self)
        self.assertEqual(self.show(product)["available"], ledger.available, "Redis holds another count")
        return summary

    def keys_of(self, name):
        return int(self.stack.redis("dbsize", port=10 + int(name[-1])))

    def test_a_sale_is_in_the_slots_of_all_masters(self):
        product = self.stack.product("prewarm", 100)
        self.assertEqual(self.show(product)["in_redis"], 100)
        for name in ("cluster-1", "cluster-2", "cluster-3"):
            self.assertGreater(self.keys_of(name), 0, name)
        self.assertEqual(self.stack.redis("keys", f"sale:*{product}*"), "", "the other Redis has none of it")
        self.assertEqual([self.stack.order(product).status for _ in range(101)], [201] * 100 + [409])
        wait_for("the ledger", lambda: self.sold(product) == 100)
        Ledger(self.stack, product).check(self)

    def kill_a_master(self):
        self.stack.kill("cluster-2")
        wait_for("cluster-5 to take over", lambda: self.stack.redis("role", port=15).startswith("master"))

    def test_a_failover_loses_no_sale_of_the_ledger(self):
        self.survives(self.kill_a_master, "prewarm,ack=ledger")

    def test_a_failover_loses_no_sale_that_a_replica_confirmed(self):
        self.survives(self.kill_a_master, "prewarm,replicas=1", "--keyless")

    def test_a_master_that_comes_back_has_all_its_sales(self):
        def restart():
            self.stack.kill("cluster-1")
            self.stack.restart("cluster-1")

        self.survives(restart, "prewarm,ack=ledger")

    def test_slots_move_in_mid_sale(self):
        for strategy in ("prewarm", "prewarm,ack=ledger"):
            with self.subTest(strategy):
                self.survives(lambda: self.stack.script("reshard", "cluster-1"), strategy, "--keyless")
                self.stack.script("start")

    def ready(self):
        answer = self.stack.ask("GET", "/readyz", to="inventory-1")
        return answer.status == 200 or (self.assertEqual(answer.status, 503), answer.json["message"])[1]

    def test_an_instance_is_not_ready_while_a_slot_with_stock_is_not_served(self):
        self.stack.product("prewarm", 100)  # in the slots of all masters
        wait_for("ready", lambda: self.ready() is True)
        for harm, mend in (("kill", "start"), ("pause", "resume")):
            with self.subTest(harm):
                for name in ("cluster-5", "cluster-2"):  # the replica first, so that none takes over
                    self.stack.script(harm, name)
                wait_for("not ready", lambda: self.ready() is not True)
                self.assertRegex(self.ready(), rf"^127.0.0.1:{self.stack.port('cluster-2')}, the master of slot \d+ of the Redis "
                                               r"Cluster, does not answer: start it again, .*: redis-cli --cluster fix 127")
                for name in ("cluster-2", "cluster-5"):
                    self.stack.script(mend, name)
                wait_for("ready again", lambda: self.ready() is True)

    def test_an_instance_is_ready_once_a_replica_has_taken_over(self):
        self.stack.product("prewarm", 100)
        self.kill_a_master()
        wait_for("ready", lambda: self.ready() is True)

    def test_an_instance_dies_in_mid_sale(self):
        def kill():
            self.stack.kill("inventory-1")
            self.stack.restart("inventory-1")

        self.survives(kill, "prewarm,replicas=1", "--keyless")

    def test_a_key_for_two_products_at_once_is_one_order(self):
        products = [self.stack.product("prewarm", 60) for _ in range(2)]
        keys = [str(uuid.uuid4()) for _ in range(30)]
        asked = [(product, key) for key in keys for product in products]
        with concurrent.futures.ThreadPoolExecutor(30) as threads:
            answers = list(threads.map(lambda order: self.stack.order(*order), asked))
        for first, second in zip(answers[::2], answers[1::2]):
            self.assertEqual(sorted([first.status, second.status]), [201, 422], first.text + second.text)
        for product in products:
            wait_for("the way to the ledger is empty", lambda product=product: self.show(product)["pending"] == 0)
            wait_for("each sale has its order", lambda product=product: not Ledger(self.stack, product).unmatched)
            Ledger(self.stack, product).check(self)
        self.assertEqual(sum(map(self.sold, products)), len(keys))
        for (product, key), answer in zip(asked, answers):
            again = self.stack.order(product, key)
            self.assertEqual((again.status, again.json.get("unit")), (answer.status, answer.json.get("unit")))


if __name__ == "__main__":
    unittest.main()

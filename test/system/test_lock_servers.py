"""Strategies with lock servers of their own: five Redis for Redlock, ZooKeeper, etcd, Redis with replicas."""

import json
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import Ledger, SystemTest, wait_for

# Each strategy, and the name of its server in `up --with`.
NEEDS = {"redlock": "redlock", "zookeeper": "zookeeper", "zookeeper-unfair": "zookeeper", "etcd": "etcd"}
BUYERS = 16


class LockServers(SystemTest):
    shape = ("--with", "replica,redlock,zookeeper,etcd")

    def setUp(self):
        self.stack.script("start")

    def buy_all(self, spec, stock):
        """Many customers buy at once. Returns the statuses and the product."""
        product = self.stack.product(spec, stock)
        with ThreadPoolExecutor(BUYERS) as buyers:
            answers = list(buyers.map(lambda _: self.stack.order(product), range(2 * stock)))
        return [answer.status for answer in answers], product

    def test_each_sells_exactly_what_there_is(self):
        for spec in ["redis-fair", "redis-wait", "redis-wait,fence=on", "rw", "redlock", "zookeeper", "etcd"]:
            with self.subTest(spec):
                statuses, product = self.buy_all(spec + ",wait=15s,ttl=20s", 6)
                self.assertEqual(sorted(statuses), [201] * 6 + [409] * 6)
                Ledger(self.stack, product).check(self)

    def test_with_a_fence_each_sale_has_a_greater_one(self):
        for spec in ["redlock", "zookeeper", "zookeeper-unfair", "etcd"]:
            with self.subTest(spec):
                statuses, product = self.buy_all(spec + ",fence=on,wait=15s,ttl=20s", 6)
                self.assertEqual(sorted(statuses), [201] * 6 + [409] * 6)
                Ledger(self.stack, product).check(self)
                fences = [int(row[0]) for row in self.stack.sql(
                    "inventory", "SELECT fence FROM reservation WHERE product_id = :'id' ORDER BY unit DESC", id=product)]
                self.assertGreater(fences[0], 0)
                self.assertEqual(fences, sorted(set(fences)))

    def test_while_the_server_is_down_orders_are_busy_and_say_why(self):
        for strategy, server in [("zookeeper", "zookeeper-1"), ("etcd", "etcd-1"), ("redis-wait", "replica")]:
            with self.subTest(strategy):
                product = self.stack.product(strategy + ",wait=1s", 5)
                self.assertEqual(self.order_in_the_end(product), 201)
                self.stack.kill(server)
                refused = self.stack.order(product)
                self.assertEqual(refused.status, 503, refused.text)
                self.assertIn(f"lock ({strategy}): ", refused.json["message"])
                self.stack.script("start", server)
                wait_for("orders again", lambda: self.order_in_the_end(product) == 201)

    def order_in_the_end(self, product):
        return self.stack.order(product).status

    def test_redlock_goes_on_without_two_of_five_and_not_without_three(self):
        product = self.stack.product("redlock,wait=1s", 5)
        for name in ["redlock-1", "redlock-2"]:
            self.stack.kill(name)
        self.assertEqual(self.stack.order(product).status, 201)
        self.stack.kill("redlock-3")
        self.assertEqual(self.stack.order(product).status, 503)
        self.stack.script("start")
        wait_for("orders again", lambda: self.stack.order(product).status == 201)

    def test_the_holder_is_named(self):
        for strategy in ["redlock", "zookeeper", "etcd", "rw"]:
            with self.subTest(strategy):
                product = self.stack.product(strategy + ",work=1s", 50)
                buyer, orders = ThreadPoolExecutor(1), []

                def holder(product=product, buyer=buyer, orders=orders):
                    if not orders or orders[-1].done():  # try again if no reader came while it was held
                        orders.append(buyer.submit(self.stack.order, product))
                    names = [self.stack.ask("GET", f"/products/{product}", to=instance).json["holder"]
                             for instance in ["inventory-1", "inventory-2"]]
                    return names[0] or names[1]
                with buyer:
                    self.assertIn(wait_for("a holder", holder), ["inventory-1", "inventory-2"])
                    self.assertEqual({order.result().status for order in orders}, {201})

    def test_metrics_tell_each_server(self):
        self.buy_all("etcd", 2)
        metrics = self.stack.ask("GET", "/metrics", to="inventory-1").text + self.stack.ask("GET", "/metrics", to="inventory-2").text
        for server in ["redis", "redlock", "zookeeper", "etcd"]:
            self.assertIn(f'inventory_lock_acquired_total{{backend="{server}"}}', metrics)
        self.assertIn('inventory_lock_wait_seconds_count{kind="etcd"}', metrics)


class WithoutLockServers(SystemTest):
    def test_a_strategy_without_its_server_is_refused_and_says_what_to_start(self):
        for strategy, server in NEEDS.items():
            answer = self.stack.order(self.stack.product(strategy))
            self.assertEqual(answer.status, 422, answer.text)
            self.assertIn(f"scripts/stack up --with {server} ", answer.json["message"])
            run = self.stack.loadgen("--strategy", strategy, "-d", "100ms")
            self.assertEqual(run.returncode, 64, run.stderr)
            self.assertIn(f"scripts/stack up --with {server} ", run.stderr)

    def test_without_a_replica_its_strategy_sells_nothing_and_says_why(self):
        answer = self.stack.order(self.stack.product("redis-wait,wait=500ms"))
        self.assertEqual(answer.status, 503, answer.text)
        self.assertIn("scripts/stack up --with replica", json.loads(answer.text)["message"])


if __name__ == "__main__":
    unittest.main()

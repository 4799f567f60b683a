"""Without Postgres: each answer says so in words for customers, and tells nothing about the connection of the services."""

import os
import subprocess
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor

from harness import ARTICLE_PRODUCT, PORT_BASE, Ledger, SystemTest, wait_for


class Outage(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.product = cls.stack.product("atomic", 10)
        cls.order = cls.stack.order(cls.product).json["order_id"]
        assert cls.stack.order(cls.product).status == 201  # now both instances know the product
        cls.stack.kill("postgres")

    def assert_discreet(self, answer):
        self.assertIn(answer.status, [503, 504], answer.text)
        message = answer.json["message"]
        self.assertRegex(message, "(?i)database|unit|sold|inventory")
        for secret in ["127.0.0.1", "localhost", str(PORT_BASE + 90), "_svc", "password", "socket", "server at"]:
            self.assertNotIn(secret, message)

    def requests(self):
        order = {"order_id": str(uuid.uuid4())}
        yield "POST", "/orders", {"product_id": self.product}, "order-svc"
        yield "POST", "/orders", {"product_id": str(uuid.uuid4())}, "order-svc"
        yield "GET", f"/orders/{self.order}", None, "order-svc"
        yield "GET", f"/products/{self.product}", None, "order-svc"
        for instance in ["inventory-1", "inventory-2"]:
            yield "POST", f"/products/{self.product}/reservations", order, instance
            yield "DELETE", f"/reservations/{self.order}", None, instance
            yield "POST", "/reservations/confirmations", {"order_ids": [self.order]}, instance
            yield "GET", "/reservations?since_ms=0", None, instance

    def test_customers_learn_nothing_of_the_connection(self):
        for _ in range(2):  # in the first round connections break, in the second one none exists
            with ThreadPoolExecutor(10) as pool:
                for answer in pool.map(lambda request: self.stack.ask_ledger(*request), self.requests()):
                    self.assert_discreet(answer)
        self.assertRegex(self.stack.log("order-svc"), r"orders database.*127\.0\.0\.1")  # the log has it

    def test_the_article_s_path_answers_in_its_words(self):
        answer = self.stack.ask("POST", f"/order/placeAnOrder?inventoryId={ARTICLE_PRODUCT}")
        self.assertEqual((answer.status, answer.text), (503, "下单失败....\n"))


class Refusals(SystemTest):
    """Servers that answer and refuse: read only, like after a failover or with a full disk, without memory, ..."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.product = cls.stack.product("redis", 10)
        assert cls.stack.order(cls.product).status == 201

    def set_read_only(self, database, value):
        self.stack.sql("postgres", f"ALTER DATABASE {database} SET default_transaction_read_only = {value};"
                                   f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{database}'")

    def place_orders(self, database):
        """The answers of both instances, and the number of sales meanwhile."""
        before = Ledger(self.stack, self.product)
        self.set_read_only(database, "on")
        try:
            answers = [self.stack.order(self.product) for _ in range(8)]
        finally:
            self.set_read_only(database, "off")
        after = Ledger(self.stack, self.product)
        after.check(self)
        self.assertEqual((after.sold, after.orders), (before.sold, before.orders))
        return answers

    def test_no_order_is_taken_and_every_answer_is_503(self):
        for database in ["inventory", "orders"]:
            for answer in self.place_orders(database):
                self.assertEqual((answer.status, answer.json["error"]), (503, "busy"), answer.text)
                self.assertEqual(answer.headers["Retry-After"], "1")
                self.assertNotRegex(answer.json["message"], "(?i)read-only|transaction|INSERT|UPDATE")
        logs = self.stack.log("inventory-1") + self.stack.log("inventory-2")
        self.assertRegex(logs, r'"statement refused" .*sqlstate=25006 .*read-only transaction')
        wait_for("an order", lambda: self.stack.order(self.product).status == 201)

    def redis(self, *command):
        subprocess.run(["redis-cli", "-p", str(PORT_BASE + 91), *command], check=True, capture_output=True,
                       env=dict(os.environ, REDISCLI_AUTH=self.stack.settings["REDIS_PASSWORD"]))

    def test_a_redis_without_memory_refuses_in_its_own_words_and_only_in_the_log(self):
        product = self.stack.product("redis,wait=0", 5)
        self.redis("CONFIG", "SET", "maxmemory", "1")
        try:
            answers = [self.stack.order(product) for _ in range(4)]
        finally:
            self.redis("CONFIG", "SET", "maxmemory", "0")
        for answer in answers:
            self.assertEqual((answer.status, answer.json["error"]), (503, "busy"), answer.text)
            self.assertNotRegex(answer.json["message"], r"(?i)oom|memory|redis:|127\.")
        for name in ["inventory-1", "inventory-2"]:
            self.assertEqual(self.stack.log(name).count("redis refuses a lock command"), 1)
            self.assertIn("OOM command not allowed", self.stack.log(name))
        self.assertEqual(self.stack.order(product).status, 201)

    def test_a_redis_that_may_evict_locks_is_warned_of_at_the_start(self):
        self.redis("CONFIG", "SET", "maxmemory", "100mb")
        self.redis("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
        try:
            self.stack.restart("inventory-1")
            wait_for("the warning", lambda: "maxmemory_policy=volatile-ttl" in self.stack.log("inventory-1"))
        finally:
            self.redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
            self.redis("CONFIG", "SET", "maxmemory", "0")


if __name__ == "__main__":
    unittest.main()

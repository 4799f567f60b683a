"""Orders over HTTP: placed, repeated, sold out, cancelled and settled; database roles and health."""

import json
import re
import subprocess
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor

from harness import ARTICLE_PRODUCT, PORT_BASE, ROOT, Ledger, SystemTest, wait_for

GOOD = ["mutex", "redis", "sharded", "atomic"]  # right if orders come one at a time, even with none


class Orders(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--settle-after 2s --settle-every 100ms"}

    def test_an_order_gets_the_last_unit_first_and_is_found_again(self):
        for strategy in ["none", *GOOD]:
            with self.subTest(strategy):
                product = self.stack.product(strategy, 10)
                answer = self.stack.order(product)
                self.assertEqual(answer.status, 201, answer.text)
                order = answer.json
                self.assertEqual(order["product_id"], product)
                self.assertEqual(order["price"], "9.99")
                self.assertIn(order["instance"], ["inventory-1", "inventory-2"])
                if strategy != "sharded":
                    self.assertEqual((order["unit"], order["remaining"]), (10, 9))
                self.assertEqual(answer.headers["Location"], "/orders/" + order["order_id"])
                self.assertEqual(self.stack.ask("GET", answer.headers["Location"]).json, order)
                Ledger(self.stack, product).check(self)

    def test_exactly_the_stock_is_sold_then_409(self):
        for strategy in ["none", *GOOD, "sharded,shards=3"]:
            with self.subTest(strategy):
                product = self.stack.product(strategy, 7)
                statuses = [self.stack.order(product).status for _ in range(9)]
                self.assertEqual(statuses, [201] * 7 + [409] * 2)
                ledger = Ledger(self.stack, product)
                ledger.check(self)
                self.assertEqual((ledger.sold, ledger.available), (7, 0))

    def test_many_buyers_at_once_get_one_unit_each(self):
        for strategy in ["redis", "sharded", "atomic", "sharded,shards=4,ttl=2s"]:
            with self.subTest(strategy):
                product = self.stack.product(strategy, 30)
                with ThreadPoolExecutor(40) as pool:
                    statuses = sorted(pool.map(lambda _: self.stack.order(product).status, range(40)))
                self.assertEqual(statuses, [201] * 30 + [409] * 10)
                Ledger(self.stack, product).check(self)

    def test_a_repeated_key_gets_the_first_answer_and_sells_once(self):
        for strategy in ["none", *GOOD]:
            with self.subTest(strategy):
                product, key = self.stack.product(strategy, 1), str(uuid.uuid4())
                first = self.stack.order(product, key)
                self.assertEqual(first.status, 201, first.text)
                again = self.stack.order(product, key.upper())
                self.assertEqual((again.status, again.json), (201, first.json))
                self.assertEqual(again.headers["Idempotent-Replay"], "true")
                self.assertIsNone(first.headers["Idempotent-Replay"])
                self.assertEqual(self.stack.order(product).status, 409)
                Ledger(self.stack, product).check(self)

    def test_the_same_key_ten_times_at_once_sells_once(self):
        for strategy in ["redis", "sharded", "atomic", "batched", "prewarm", "prewarm,ack=ledger"]:
            with self.subTest(strategy):
                product, key = self.stack.product(strategy, 5), str(uuid.uuid4())
                with ThreadPoolExecutor(10) as pool:
                    answers = list(pool.map(lambda _: self.stack.order(product, key), range(10)))
                self.assertEqual({answer.status for answer in answers}, {201}, [a.text for a in answers])
                self.assertEqual(len({json.dumps(answer.json, sort_keys=True) for answer in answers}), 1)
                ledger = Ledger(self.stack, product)
                ledger.check(self)
                self.assertEqual(ledger.sold, 1)

    def test_a_key_of_another_product_is_refused(self):
        one, other, key = self.stack.product("atomic"), self.stack.product("atomic"), str(uuid.uuid4())
        self.assertEqual(self.stack.order(one, key).status, 201)
        answer = self.stack.order(other, key)
        self.assertEqual((answer.status, answer.json["error"]), (422, "key_reused"))

    def test_when_the_order_cannot_be_recorded_the_unit_is_given_back_and_sold_again(self):
        product = self.stack.product("atomic", 2)
        self.stack.sql("orders", "REVOKE INSERT ON orders FROM order_svc")
        try:
            answer = self.stack.order(product)
        finally:
            self.stack.sql("orders", "GRANT INSERT ON orders TO order_svc")
        self.assertEqual((answer.status, answer.json["error"]), (503, "busy"), answer.text)
        ledger = Ledger(self.stack, product)
        self.assertEqual((ledger.sold, ledger.available, ledger.returned), (0, 1, 1))
        units = [self.stack.order(product).json["unit"] for _ in range(2)]
        self.assertEqual(sorted(units), [1, 2])
        self.assertEqual(wait_for("sold out", lambda: self.stack.order(product).status == 409), True)
        Ledger(self.stack, product).check(self)

    def test_a_reservation_without_an_order_is_settled(self):
        product, order_id = self.stack.product("atomic", 3), str(uuid.uuid4())
        reserved = self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": order_id}, to="inventory-2")
        self.assertEqual(reserved.status, 201, reserved.text)
        order = wait_for("settled", lambda: self._found(order_id))
        self.assertEqual((order["unit"], order["instance"]), (3, "inventory-2"))
        self.assertEqual(self.stack.order(product, order_id).json, order)
        Ledger(self.stack, product).check(self)

    def test_many_reservations_without_orders_are_settled_in_pages(self):
        product = self.stack.product("atomic", 2000)
        self.stack.sql("inventory", "INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence) "
                       "SELECT gen_random_uuid(), :'id', 0, n, n - 1, 'inventory-1', 0 FROM generate_series(1, 1200) n",
                       id=product)
        wait_for("all settled", lambda: self.stack.value(
            "orders", "SELECT count(*) FROM orders WHERE product_id = :'id'", id=product) == 1200)

    def test_a_reservation_that_comes_behind_the_cursor_is_settled(self):
        """Like after a slow commit, or after a clock was set back."""
        product, seen, late = self.stack.product("atomic", 3), str(uuid.uuid4()), str(uuid.uuid4())
        self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": seen}, to="inventory-2")
        wait_for("settled", lambda: self._found(seen))
        self.stack.sql("inventory", "INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, "
                       "fence, reserved_at) VALUES (:'order', :'id', 0, 1, 0, 'inventory-1', 0, "
                       "clock_timestamp() - interval '30 seconds')", id=product, order=late)
        wait_for("settled", lambda: self._found(late))

    def _found(self, order_id):
        answer = self.stack.ask("GET", f"/orders/{order_id}")
        return answer.json if answer.status == 200 else None

    def test_cancelling_twice_gives_back_once(self):
        product, order_id = self.stack.product("atomic", 3), str(uuid.uuid4())
        self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": order_id}, to="inventory-1")
        statuses = [self.stack.ask_ledger("DELETE", f"/reservations/{order_id}", to="inventory-2").status for _ in range(2)]
        self.assertEqual(statuses, [204, 404])
        Ledger(self.stack, product).check(self)

    def test_a_cancel_that_comes_after_settling_changes_nothing(self):
        product, order_id = self.stack.product("atomic", 3), str(uuid.uuid4())
        self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": order_id}, to="inventory-1")
        wait_for("settled", lambda: self._found(order_id))
        late = self.stack.ask_ledger("DELETE", f"/reservations/{order_id}", to="inventory-1")
        self.assertEqual((late.status, Ledger(self.stack, product).sold), (404, 1))
        Ledger(self.stack, product).check(self)

    def test_the_article_s_paths_work(self):
        before = Ledger(self.stack, ARTICLE_PRODUCT)
        self.assertEqual(before.initial, 1000)
        self.assertEqual(self.stack.ask("GET", f"/products/{ARTICLE_PRODUCT}").json["name"], "黄金竹子")
        for method in ["GET", "POST"]:
            answer = self.stack.ask(method, "/order/placeAnOrder")
            self.assertEqual((answer.status, answer.text.strip()), (200, "下单成功...."))
        answer = self.stack.ask("GET", f"/inventory/minusInventory?inventoryId={ARTICLE_PRODUCT}", to="inventory-1")
        self.assertEqual(answer.status, 200)
        self.assertIn("库存扣减成功", answer.text)
        empty = self.stack.product("atomic", 0)
        answer = self.stack.ask("GET", f"/inventory/minusInventory?inventoryId={empty}", to="inventory-2")
        self.assertEqual((answer.status, answer.text.strip()), (409, "库存不足，请联系卖家...."))
        self.assertEqual(Ledger(self.stack, ARTICLE_PRODUCT).sold, before.sold + 3)

    def test_an_instance_that_is_down_is_skipped_and_used_again(self):
        product = self.stack.product("atomic", 1000)
        self.stack.kill("inventory-2")
        instances = {self.stack.order(product).json["instance"] for _ in range(10)}
        self.assertEqual(instances, {"inventory-1"})
        self.stack.restart("inventory-2")
        wait_for("inventory-2 again", lambda: self.stack.order(product).json["instance"] == "inventory-2")
        Ledger(self.stack, product).check(self)

    def test_health_readiness_and_metrics(self):
        reference = (ROOT / "docs/reference.md").read_text()
        for name in ["order-svc", "inventory-1", "inventory-2"]:
            with self.subTest(name):
                self.assertEqual(self.stack.ask("GET", "/healthz", to=name).status, 200)
                self.assertEqual(self.stack.ask("GET", "/readyz", to=name).status, 200)
                metrics = self.stack.ask("GET", "/metrics", to=name)
                self.assertIn("text/plain", metrics.headers["Content-Type"])
                for line in metrics.text.splitlines():
                    self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [-+0-9.eInfNa]+)$')
                told = re.findall(r"^# TYPE (\w+)", metrics.text, re.M)
                self.assertGreater(len(told), 15)
                self.assertEqual([word for word in told if f"`{word}`" not in reference], [])
        self.assertIn("order_outcomes_total", self.stack.ask("GET", "/metrics").text)

    def test_readiness_names_a_dead_redis_and_recovers(self):
        self.stack.kill("redis")
        answer = wait_for("not ready", lambda: self._unready("inventory-1"))
        self.assertIn("Redis", answer.json["message"])
        self.assertEqual(self.stack.order(self.stack.product("atomic")).status, 201, "atomic needs no Redis")
        self.stack.restart("redis")
        wait_for("ready", lambda: self.stack.ask("GET", "/readyz", to="inventory-1").status == 200)
        self.assertEqual(self.stack.order(self.stack.product("redis")).status, 201)

    def _unready(self, name):
        answer = self.stack.ask("GET", "/readyz", to=name)
        return answer if answer.status == 503 else None

    def test_each_role_may_touch_only_its_own_database(self):
        for role, own, other in [("ORDER_SVC", "orders", "inventory"), ("INVENTORY_SVC", "inventory", "orders")]:
            url = self.stack.settings[f"{role}_DB"]
            self.assertEqual(self._psql(url, "SELECT 1"), 0)
            self.assertNotEqual(self._psql(url.replace(f"/{own}", f"/{other}"), "SELECT 1"), 0)
        loadgen = self.stack.settings["LOADGEN_INVENTORY_DB"]
        self.assertEqual(self._psql(loadgen, "SELECT count(*) FROM reservation"), 0)
        self.assertNotEqual(self._psql(loadgen, "UPDATE stock SET available = available"), 0)
        self.assertNotEqual(self._psql(self.stack.settings["LOADGEN_ORDERS_DB"], "DELETE FROM orders"), 0)

    def _psql(self, url, text):
        return subprocess.run(["psql", "-X", "-q", url, "-c", text], capture_output=True).returncode

    def test_no_password_is_ever_logged(self):
        for name in ["order-svc", "inventory-1", "postgres", "redis"]:
            log = self.stack.log(name)
            for key, value in self.stack.settings.items():
                if key.endswith(("_PASSWORD", "_SECRET")):
                    self.assertNotIn(value, log, f"{key} in the log of {name}")

    def test_a_service_without_lab_refuses_failpoints_and_says_how_to_start_it(self):
        product = self.stack.product("atomic,fail=before-write:crash", 2)
        for answer in [self.stack.order(product), self.stack.ask("GET", f"/products/{product}")]:
            self.assertEqual((answer.status, answer.json["error"]), (422, "bad_strategy"), answer.text)
            self.assertIn(f"INVENTORY_SVC_FLAGS=--lab RUN_DIR={self.stack.run_dir} PORT_BASE={PORT_BASE} make up", answer.json["message"])

    def test_a_drain_finishes_the_order_under_way(self):
        product = self.stack.product("none,work=1500ms", 5)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.stack.order, product)
            wait_for("the order has begun", lambda: "http_in_flight 1" in self._metrics_of_both())
            self.stack.restart("inventory-1")
            self.stack.restart("inventory-2")
            answer = running.result()
        self.assertEqual(answer.status, 201, answer.text)

    def _metrics_of_both(self):
        texts = [self.stack.ask("GET", "/metrics", to=name).text for name in ("inventory-1", "inventory-2")]
        # the request for the metrics itself is in flight
        return "".join("http_in_flight 1" for text in texts if "http_in_flight 2" in text)


class Turns(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--settle-every 1h"}  # it takes turns with the orders

    def test_orders_are_spread_over_the_instances(self):
        product = self.stack.product("atomic", 20)
        instances = [self.stack.order(product).json["instance"] for _ in range(20)]
        self.assertEqual([instances.count(name) for name in ("inventory-1", "inventory-2")], [10, 10], instances)


if __name__ == "__main__":
    unittest.main()

"""Compares the cost in each reply with the log of Postgres and the counters of Redis."""

import re
import socket
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from harness import PORT_BASE, Ledger, SystemTest, wait_for

# The statements of a sale. Instances also run others: they read products and settle.
OF_A_SALE = {"read_stock", "write_stock", "write_stock_if_version", "take_stock", "take_returned", "find_reservation"}

# The Postgres and Redis round trips of one sale, alone, of a product that the instances know.
ALONE = {
    "none": {"pg": 2, "statements": {"read_stock": 1, "write_stock": 1}},
    "mutex": {"pg": 2, "statements": {"read_stock": 1, "write_stock": 1}, "lock": "local"},
    "redis": {"pg": 2, "statements": {"read_stock": 1, "write_stock": 1}, "redis": 2, "retry": 0, "lock": "redis"},
    "sharded,shards=1": {"pg": 2, "statements": {"read_stock": 1, "write_stock": 1}, "redis": 2, "retry": 0, "lock": "redis"},
    "atomic": {"pg": 1, "statements": {"take_stock": 1}},
}
ORDERS = 6


def timing(answer):
    """The Server-Timing header as a dict: numbers as numbers."""
    parts = {}
    for part in filter(None, (answer.headers["Server-Timing"] or "").split(", ")):
        name, key, value = re.fullmatch(r'([a-z]+);(dur|desc)="?([^"]*)"?', part).groups()
        parts[name] = float(value) if key == "dur" else int(value) if value.isdigit() else value
    return parts


class Cost(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.sql("postgres", "ALTER SYSTEM SET log_statement = 'all'")
        cls.stack.sql("postgres", "SELECT pg_reload_conf()")
        with socket.create_connection(("127.0.0.1", PORT_BASE + 91), timeout=15) as connection:
            cls.redis = connection.makefile("rwb")
        assert cls.ask_redis("AUTH " + cls.stack.settings["REDIS_PASSWORD"]) == "+OK"
        product = cls.stack.product("redis", 10)
        for _ in range(4):  # loads the scripts into Redis
            assert cls.stack.order(product).status == 201
        wait_for("Postgres logs statements", lambda: cls.stack.order(product).status and cls.statements())

    @classmethod
    def tearDownClass(cls):
        cls.redis.close()
        super().tearDownClass()

    @classmethod
    def ask_redis(cls, command):
        """The reply to an inline command: one line, or the string after its length."""
        cls.redis.write(command.encode() + b"\r\n")
        cls.redis.flush()
        line = cls.redis.readline().decode().strip()
        return cls.redis.read(int(line[1:]) + 2).decode() if line.startswith("$") else line

    @classmethod
    def scripts(cls):
        """The number of scripts that Redis ran: each lock command is one."""
        stats = cls.ask_redis("INFO commandstats")
        return sum(int(calls) for calls in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", stats))

    @classmethod
    def statements(cls):
        """The number of sale statements that Postgres began, by name."""
        return Counter(name for name in re.findall(r"LOG:  execute (\w+):", cls.stack.log("postgres"))
                       if name in OF_A_SALE)

    def make_known(self, strategy, stock):
        """Makes a product, and lets both instances read it."""
        product = self.stack.product(strategy, stock)
        for instance in ["inventory-1", "inventory-2"]:
            self.assertEqual(self.stack.ask("GET", f"/products/{product}", to=instance).status, 200)
        return product

    def await_scripts(self, told, scripts_before):
        """Waits until the lock is released: a reply does not wait for that."""
        redis = sum(parts.get("redis", 0) for parts in told)
        wait_for("Redis ran the scripts", lambda: self.scripts() - scripts_before >= redis)
        return redis

    def check_counts(self, told, before, scripts_before):
        """Asserts that the replies agree with the counts of Postgres and Redis."""
        self.assertEqual(self.await_scripts(told, scripts_before), self.scripts() - scripts_before)
        self.assertEqual(sum((self.statements() - before).values()), sum(parts["pg"] for parts in told))

    def test_an_order_alone_takes_what_its_strategy_must(self):
        for strategy, expected in ALONE.items():
            with self.subTest(strategy):
                product = self.make_known(strategy, ORDERS)
                before, scripts = self.statements(), self.scripts()
                told = []
                for _ in range(ORDERS):
                    answer = self.stack.order(product)
                    self.assertEqual(answer.status, 201)
                    told.append(timing(answer))
                    self.await_scripts(told, scripts)  # otherwise the next one would find the lock taken
                for parts in told:
                    for name in ["pg", "redis", "retry", "lock"]:
                        self.assertEqual(parts.get(name), expected.get(name), name)
                    self.assertEqual(parts["shard"], 0)
                    self.assertGreater(parts["commit"], 0)
                    self.assertGreater(parts["order"], 0)
                    self.assertEqual("hold" in parts, "lock" in expected)
                    self.assertEqual("wait" in parts, "lock" in expected)
                    self.assertGreaterEqual(parts.get("hold", parts["commit"]), parts["commit"])
                self.check_counts(told, before, scripts)
                self.assertEqual(self.statements() - before,
                                 Counter({name: ORDERS * count for name, count in expected["statements"].items()}))

    def test_a_refusal_tells_its_cost_too(self):
        for strategy, lock in [("redis", "redis"), ("mutex", "local"), ("atomic", None)]:
            with self.subTest(strategy):
                product = self.make_known(strategy, 0)
                before, scripts = self.statements(), self.scripts()
                answers = [self.stack.order(product) for _ in range(ORDERS)]
                told = [timing(answer) for answer in answers]
                self.assertEqual([answer.status for answer in answers], [409] * ORDERS)
                for parts in told:
                    self.assertEqual(parts.get("lock"), lock)
                    self.assertFalse({"commit", "shard", "order"} & set(parts))
                self.check_counts(told, before, scripts)

    def test_the_costs_of_a_crowd_add_up(self):
        for strategy in ["none,work=1ms", "mutex,work=1ms", "redis,work=1ms", "redis-cohort,work=1ms", "sharded,shards=3,work=1ms",
                         "pg-version,work=1ms", "atomic"]:
            with self.subTest(strategy):
                product = self.make_known(strategy, 60)
                before, scripts = self.statements(), self.scripts()
                with ThreadPoolExecutor(20) as pool:
                    answers = list(pool.map(lambda _: self.stack.order(product), range(80)))
                self.assertLessEqual({answer.status for answer in answers}, {201, 409})
                self.check_counts([timing(answer) for answer in answers], before, scripts)
                if strategy.startswith("redis-cohort"):  # most leases were handed over
                    self.assertLess(sum(timing(answer)["redis"] for answer in answers), len(answers))
                if strategy.startswith("redis"):
                    Ledger(self.stack, product).check(self)
                if strategy.startswith("pg-version"):
                    self.assertGreater(sum(timing(answer).get("retry", 0) for answer in answers), 0)

    def test_the_article_s_paths_tell_it_as_well(self):
        product = self.make_known("atomic", 5)
        through = timing(self.stack.ask("POST", f"/order/placeAnOrder?inventoryId={product}"))
        self.assertEqual((through["pg"], "order" in through), (1, True))
        direct = timing(self.stack.ask("GET", f"/inventory/minusInventory?inventoryId={product}", to="inventory-1"))
        self.assertEqual((direct["pg"], "order" in direct), (1, False))

    def test_the_holder_of_a_lock_is_shown_while_it_holds_it(self):
        product = self.make_known("redis,work=300ms", 10)
        self.assertIsNone(self.stack.ask("GET", f"/products/{product}").json["holder"])
        with ThreadPoolExecutor(6) as pool:
            orders = [pool.submit(self.stack.order, product) for _ in range(6)]
            seen = set()

            def look():
                seen.add(self.stack.ask("GET", f"/products/{product}").json["holder"])
                return {"inventory-1", "inventory-2"} <= seen

            wait_for("both instances hold the lock", look)
            self.assertEqual({order.result().status for order in orders}, {201})
        self.assertLessEqual(seen, {None, "inventory-1", "inventory-2"})
        wait_for("nobody holds it", lambda: self.stack.ask("GET", f"/products/{product}").json["holder"] is None)


if __name__ == "__main__":
    unittest.main()

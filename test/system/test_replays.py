"""Replays schedules of lab explore on the real stack, by failpoints: each violation of the model is a violation here.

The explorer prints a schedule. These tests send its orders one by one, each to its instance. An order that others overtake gets a
failpoint, which holds it at the point of the schedule. The ledger is read by sql/audit.sql."""

import http.client
import json
import re
import subprocess
import threading
import time
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from harness import BUILD, ROOT, SystemTest, wait_for

LAB = ROOT / BUILD / "bin/lab"

# The failpoint between this action of an order and its next one.
POINTS = {"reads the stock": "before-write", "takes the lock": "after-lock", "sets the key": "after-lock", "writes": "before-delete",
          "looks at the key": "before-delete", "releases the lock": "before-commit"}
WAITS = r"waits for|finds the key"  # it waits for another order anyway, so it need not be held


def explore(spec, *args):
    """The shortest schedule that fails, and its steps without the clock's, in segments of one actor each."""
    found = json.loads(subprocess.run([LAB, "explore", spec, *args, "--json"], capture_output=True, text=True, timeout=60).stdout)
    steps = [step for step in found["violation"]["steps"] if step["actor"] != "clock"]
    segments = [(actor, list(group)) for actor, group in groupby(steps, lambda step: step["actor"])]
    return found, segments


def said(step):
    return step["action"] + (": " + step["detail"] if step["detail"] else "")


def query(name):
    """A query of sql/audit.sql."""
    return re.search(rf"^-- query: {name} on inventory$(.*?;)$", (ROOT / "sql/audit.sql").read_text(), re.M | re.S).group(1)


class Order:
    """An order of one customer at the instance of the schedule."""

    def __init__(self, stack, product, instance):
        self.id, self.instance, self.answer = str(uuid.uuid4()), instance, None
        self.sent, self.answered = time.monotonic(), None
        self.thread = threading.Thread(target=self._send, args=(stack, product))
        self.thread.start()

    def _send(self, stack, product):
        try:
            self.answer = stack.ask("POST", f"/products/{product}/reservations", {"order_id": self.id}, to=self.instance)
        except (http.client.HTTPException, ConnectionError):
            pass  # the instance was killed
        self.answered = time.monotonic()

    def error(self):
        return self.answer.json.get("error") if self.answer else "killed"


class Replay:
    """Plays `segments` on the stack. `hold`: ms by order. `names`: instances with another name here."""

    def __init__(self, stack, spec, stock, segments, hold=None, points=None, names=None):
        self.stack, self.segments, self.hold, self.points = stack, segments, hold or {}, {**POINTS, **(points or {})}
        self.orders, self.first, self.last, self.instances = {}, {}, {}, {}
        for at, (actor, steps) in enumerate(segments):
            if actor != "fault":
                self.first.setdefault(actor, at)
                self.last[actor] = at
                self.instances.setdefault(actor, (names or {}).get(steps[0]["instance"], steps[0]["instance"]))
        self.held = {actor: self._failpoint(actor) for actor in self.first}
        fails = [f",fail={where}:{action}@{number}" for where, action, number in filter(None, self.held.values())]
        self.product = stack.product(spec + "".join(fails), stock)
        for at in range(len(segments)):
            self._make(at)

    def _next(self, actor):
        """The fault that hits its instance after its first segment, or ""."""
        at = self.first[actor] + 1
        fault = self.segments[at][1][0]["action"] if at < len(self.segments) and self.segments[at][0] == "fault" else ""
        return fault if fault.startswith(self.instances[actor]) else ""

    def _failpoint(self, actor):
        """The point, the action and the number of its sale at its instance; None: nothing comes in between."""
        steps, fault = self.segments[self.first[actor]][1], self._next(actor)
        if (self.last[actor] == self.first[actor] and not fault) or re.search(WAITS + "|^is told", said(steps[-1])):
            return None
        point = next(point for action, point in self.points.items() if steps[-1]["action"].startswith(action))
        instance, ms = self.instances[actor], self.hold.get(actor, 4000)
        number = sum(self.instances[other] == instance for other in self.first if self.first[other] <= self.first[actor])
        action = "crash" if "killed" in fault else f"pause={ms}ms" if "stands still" in fault else f"delay={ms}ms"
        return f"{instance}/{point}", action, number

    def _make(self, at):
        actor, steps = self.segments[at]
        if actor == "fault":
            return
        if at == self.first[actor]:
            self.orders[actor] = Order(self.stack, self.product, self.instances[actor])
            if self.held[actor]:
                self._wait_until_held(actor)
        elif steps[0]["action"].startswith("gives unit"):
            self.stack.ask_ledger("DELETE", f"/reservations/{self.orders[actor].id}")
        if at == self.last[actor] or said(steps[-1]).startswith("is told"):
            self.orders[actor].thread.join()

    def _wait_until_held(self, actor):
        order, (where, action, _) = self.orders[actor], self.held[actor]
        if action == "crash":
            order.thread.join()
            self.stack.restart(order.instance)
            return
        line = f"product={self.product} point={where.partition('/')[2]} action={action.partition('=')[0]}"
        wait_for(line, lambda: line in self.stack.log(order.instance))

    def audit(self, name):
        return self.stack.sql("inventory", query(name), product=self.product, since="-infinity")

    def anomalies(self):
        """The anomalies, by the names of the judge."""
        initial, available, _, sold, _, twins, outside, leak = map(int, self.audit("stock")[0])
        orders = list(self.orders.values())
        refused = [order for order in orders if order.error() == "sold_out"]
        found = {"OVERSELL": sold > initial, "TWIN": twins > 0, "LEAK": leak != 0, "OUTSIDE": outside > 0,
                 "EARLY-SOLD-OUT": any(order.answered < later.sent and later.answer.status == 201
                                       for order in refused for later in orders),
                 "UNDERSELL": bool(refused) and available > 0,
                 "STUCK": orders[-1].error() == "busy" and available > 0}
        return {name for name, is_there in found.items() if is_there}


# Replays with delays: each holds only its own order, for 4 s or the time in MORE. All run at the same time.
DELAYS = {
    "none": ("none",),
    "mutex": ("mutex",),
    "early_unlock": ("early-unlock",),
    "redis_ttl": ("redis-ttl,ttl=500ms", "--faults", "expiry", "--orders", "2"),
    "redis_get_del": ("redis-get-del,ttl=500ms", "--faults", "expiry", "--orders", "2"),
    "redis_owner": ("redis-owner,ttl=500ms", "--faults", "expiry", "--orders", "2"),
    "a_count_that_rises_again": ("pg-value,return=count",),
    "shards_that_do_not_borrow": ("sharded,borrow=off,shards=2", "--orders", "4", "--stock", "3"),
    "a_deletes_the_key_that_it_looked_at": ("redis-get-del,ttl=3s", "--faults", "expiry", "--replay", "AAAAx0BBACCCCCBBDDD"),
    "the_article_a_b_c": ("redis-ttl,ttl=3s", "--faults", "expiry", "--replay", "AAAx0BBACCCCBBDDD"),
}
# Postgres ends a statement that waits 2 s for a row. The name of an instance decides its first row, so the names are swapped.
MORE = {"early_unlock": {"hold": {"B": 1000}}, "the_article_a_b_c": {"hold": {"A": 4500}},
        "a_deletes_the_key_that_it_looked_at": {"hold": {"A": 4500}},
        "shards_that_do_not_borrow": {"names": {"inventory-1": "inventory-2", "inventory-2": "inventory-1"}}}


class Replays(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pool = ThreadPoolExecutor(len(DELAYS))
        cls.delays = {name: cls.pool.submit(cls.replay, *args, **MORE.get(name, {})) for name, args in DELAYS.items()}

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        super().tearDownClass()

    @classmethod
    def replay(cls, spec, *args, **more):
        found, segments = explore(spec, *args)
        return found, Replay(cls.stack, spec, found["stock"], segments, **more)

    def assert_fails_as_explored(self, found, live):
        told = {letter: (order.answer and order.answer.json) for letter, order in live.orders.items()}
        # The ledger shows no key. The test of the keys' changes does.
        self.assertLessEqual(set(found["violation"]["anomalies"]) - {"FREES-ANOTHERS"}, live.anomalies(), (found["violation"], told))

    def after_delays(self, *args, **more):
        for future in self.delays.values():
            future.exception()
        found, live = self.replay(*args, **more)
        self.assert_fails_as_explored(found, live)
        return live

    def test_redis_under_a_pause_before_the_write(self):
        self.after_delays("redis,ttl=500ms", "--faults", "pause", "--orders", "2")

    def test_a_crash_under_keys_without_a_ttl(self):
        for strategy, points in (("redis-setnx", {}), ("redis-expire", {"sets the key": "before-expire"}), ("mkdir", {})):
            with self.subTest(strategy):
                live = self.after_delays(f"{strategy},wait=300ms", "--faults", "crash", "--orders", "2", points=points)
                self.assertEqual([order.error() for order in live.orders.values()], ["killed", "busy", "busy"])

    def test_c_comes_in_as_a_deletes_the_key_of_b(self):
        """C gets in because A deletes the key, and not because B's TTL ends later."""
        for name in ("the_article_a_b_c", "a_deletes_the_key_that_it_looked_at"):
            _, live = self.delays[name].result()
            letters = {order.id: letter for letter, order in live.orders.items()}
            events = [(letters[order], event, result) for order, _, kind, event, _, _, _, result, *_ in live.audit("events") if kind == "lock"]
            changes = [(letter, event) for letter, event, result in events if result == "yes" and event != "GET"]
            self.assertEqual(changes[:4], [("A", "SET NX"), ("B", "SET NX"), ("A", "DEL"), ("C", "SET NX")], events)


def add_tests():
    for name in DELAYS:
        setattr(Replays, f"test_{name}", lambda self, n=name: self.assert_fails_as_explored(*self.delays[n].result()))


add_tests()

if __name__ == "__main__":
    unittest.main()

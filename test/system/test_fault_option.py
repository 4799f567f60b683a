"""loadgen --fault: it breaks servers during a sale, they are up again afterwards, and the history has the events."""

import json
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from harness import Ledger, SystemTest, wait_for


class Faults(SystemTest):
    shape = ("--with", "replica")
    flags = {"INVENTORY_SVC_FLAGS": "--lab", "ORDER_SVC_FLAGS": "--settle-after 1s --settle-every 100ms"}

    def setUp(self):
        self.results = Path(tempfile.mkdtemp(prefix="sale-test-"))

    def tearDown(self):
        shutil.rmtree(self.results)
        self.stack.script("start")

    def fire(self, strategy, *args):
        """Runs one round with results. Returns its part of summary.json. --drain is long enough for each waiting sale."""
        run = self.stack.loadgen("--strategy", strategy, "-R", "200", "-d", "1s", "--stock", "150", "--work", "1ms", "--wait", "200ms",
                                 "--timeout", "2s", "--results", str(self.results), *args, env={"LOADGEN_NO_RESULTS": "0"})
        self.assertIn(run.returncode, [0, 1, 2], run.stderr)
        self.summary = json.loads((self.results / "latest/summary.json").read_text())
        return self.summary["strategies"][0]

    def events(self):
        """The name and the time of each fault that began."""
        lines = map(json.loads, (self.results / "latest/history.ndjson").read_text().splitlines())
        return {f"{line['who']} {line['name']}": line for line in lines
                if line["type"] == "event" and line["kind"] == "server"}

    def assert_survived(self, told):
        self.assertEqual(told["anomalies"], [])
        self.assertNotEqual(told["verdict"], "VIOLATED")
        self.assertFalse([reason for reason in told["inconclusive_because"] if "fault" in reason])
        Ledger(self.stack, told["product_id"]).check(self)
        self.assertEqual(set(self.stack.states().values()), {"ready"})

    def test_a_killed_redis_is_started_at_its_moment(self):
        told = self.fire("redis,ttl=1s", "--fault", "redis:kill@300ms,redis:start@700ms")
        self.assert_survived(told)
        self.assertEqual(self.summary["settings"]["faults"], ["redis:kill@300ms", "redis:start@700ms"])
        kill, start = self.events()["redis kill"], self.events()["redis start"]
        self.assertGreaterEqual(kill["at"], 300_000_000)
        self.assertGreaterEqual(start["at"], 700_000_000)
        self.assertEqual(kill["until"], start["until"])

    def test_a_paused_server_continues_after_its_time(self):
        told = self.fire("atomic", "--fault", "inventory-1:pause=400ms@300ms", "--fault", "postgres:restart@900ms")
        self.assert_survived(told)
        pause = self.events()["inventory-1 pause"]
        self.assertEqual(pause["detail"], "400 ms")
        self.assertGreaterEqual(pause["until"] - pause["at"], 400_000_000)
        self.assertGreaterEqual(self.events()["postgres restart"]["at"], 900_000_000)

    def test_all_is_up_again_before_the_next_round(self):
        told = self.fire("atomic", "--fault", "inventory-2:kill@500ms", "--repeat", "2")
        self.assert_survived(told)
        lines = map(json.loads, (self.results / "latest/history.ndjson").read_text().splitlines())
        self.assertEqual(sum(line["type"] == "event" for line in lines), 2)

    def test_after_a_failover_the_replica_is_the_primary_and_has_another(self):
        before = (self.stack.run_dir / "replica.pid").read_text()
        told = self.fire("redis,ttl=1s", "--fault", "redis:failover@500ms")
        self.assertEqual((self.stack.run_dir / "redis.pid").read_text(), before)
        self.assertEqual(set(self.stack.states().values()), {"ready"})
        self.assertNotEqual(told["verdict"], "INCONCLUSIVE", told["inconclusive_because"])

    def test_a_fault_that_fails_makes_the_round_inconclusive(self):
        self.stack.kill("replica")
        told = self.fire("atomic", "--fault", "redis:cut@500ms")
        self.assertEqual(told["verdict"], "INCONCLUSIVE")
        self.assertRegex("\n".join(told["inconclusive_because"]), r"(?m)^the fault redis:cut@500ms failed: stack: there is no replica: .*scripts/stack up --with replica$")
        check = self.stack.loadgen("check", str(self.results / "latest"))
        self.assertIn("the same verdicts", check.stderr)

    def test_a_server_that_is_down_is_no_lock_that_nobody_gives_back(self):
        told = self.fire("redis", "-d", "2s", "--stock", "1000", "--fault", "redis:kill@800ms")
        self.assertGreater(told["outcomes"]["busy"], 30)
        self.assertNotIn("STUCK", [anomaly["name"] for anomaly in told["anomalies"]])
        self.assertEqual([(firing["armed"], firing["times"]) for firing in told["firings"]], [("redis:kill@800ms", 1)])

    def test_an_interrupted_run_leaves_all_up(self):
        run = self.stack.start_loadgen("--strategy", "atomic", "-R", "100", "-d", "60s", "--fault",
                                       "order-svc:kill@100ms,redis:kill@59s", "--no-progress")
        try:
            wait_for("the fault", lambda: self.stack.states()["order-svc"] == "down")
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=60)
        finally:
            run.kill()
            run.wait()
        self.assertEqual(run.returncode, 130, errors)
        self.assertEqual(set(self.stack.states().values()), {"ready"})

    def test_a_run_that_is_killed_leaves_all_up(self):
        run = self.stack.start_loadgen("--strategy", "atomic", "-R", "100", "-d", "60s", "--fault", "inventory-1:kill@100ms")
        try:
            wait_for("the fault", lambda: self.stack.states()["inventory-1"] == "down")
        finally:
            run.kill()
            run.communicate()
        wait_for("all ready", lambda: set(self.stack.states().values()) == {"ready"}, 60)

    def test_an_impossible_fault_is_told_before_anything_is_sold(self):
        before = self.stack.value("inventory", "SELECT count(*) FROM product")
        for args, code, text in [(["--fault", "redis:kill@1s", "-d", "1s"], 64, "the demand has ended"),
                                 (["--fault", "lunch:kill@1ms"], 64, "there is no such server")]:
            run = self.stack.loadgen(*args)
            self.assertEqual((run.returncode, text in run.stderr), (code, True), run.stderr)
        run = self.stack.loadgen("--fault", "redis:kill@1ms", env={"LOADGEN_STACK": "/nowhere/stack"})
        self.assertEqual((run.returncode, "/nowhere/stack" in run.stderr), (64, True), run.stderr)
        self.assertLessEqual(self.stack.value("inventory", "SELECT count(*) FROM product"), before + 1)

    def firings(self, name):
        return [line for line in self.stack.log(name).splitlines() if " action=" in line and self.product in line]

    def test_one_instance_fails_and_the_other_does_not(self):
        told = self.fire("atomic", "--fault", "inventory-1/before-write:error@5", "--fault", "after-write:delay=1ms@3")
        self.product = told["product_id"]
        self.assertEqual(told["spec"], "atomic,work=1ms,wait=200ms,fail=inventory-1/before-write:error@5,fail=after-write:delay=1ms@3")
        self.assertEqual([len(self.firings("inventory-1")), len(self.firings("inventory-2"))], [2, 1])
        self.assertEqual(told["anomalies"], [])

    def test_a_failover_that_lost_the_lock_sells_a_unit_twice(self):
        """The lock is granted after the replication was cut, and its holder waits just before its write. The replica still has
        an older lock, which ends by its TTL."""
        told = self.fire("redis,ttl=700ms", "-d", "2s", "--stock", "1000", "--wait", "2s", "--timeout", "4s",
                         "--fault", "redis:cut@1ms,redis:failover@900ms",
                         "--fault", "inventory-1/before-write:delay=2500ms@15", "--expect", "redis=TWIN+LEAK?+STALE?")
        self.assertEqual(told["as_expected"], True, told["anomalies"])
        self.product = told["product_id"]
        self.assertEqual(len(self.firings("inventory-1")), 1)

    def test_tokens_rise_after_a_failover_to_a_replica_that_lags(self):
        product = self.stack.product("redis", 20)
        for fault in [None, "cut", "failover"]:
            if fault:
                self.stack.script(fault)
            for _ in range(3):
                wait_for("a sale", lambda: self.stack.order(product).status == 201)
        fences = [int(fence) for fence, in self.stack.sql(
            "inventory", "SELECT fence FROM reservation WHERE product_id = :'id' ORDER BY reserved_at", id=product)]
        self.assertEqual(fences, sorted(set(fences)))
        self.stack.script("start")

    def test_an_instance_that_crashed_is_up_again_after_the_round(self):
        told = self.fire("atomic", "--fault", "inventory-2/before-write:crash@5")
        self.product = told["product_id"]
        self.assertEqual([len(self.firings("inventory-1")), len(self.firings("inventory-2"))], [0, 1])
        self.assertEqual(set(self.stack.states().values()), {"ready"})
        Ledger(self.stack, self.product).check(self)

    def test_an_instance_killed_by_a_failpoint_is_up_in_the_next_round(self):
        self.fire("atomic,fail=before-write:crash@5,atomic")
        killed, other = self.summary["strategies"]
        self.product = killed["product_id"]
        self.assertEqual([len(self.firings("inventory-1")), len(self.firings("inventory-2"))], [1, 1])
        self.assertNotEqual(other["verdict"], "VIOLATED")
        self.assertEqual(Ledger(self.stack, other["product_id"]).sold, 150)
        self.assertEqual(set(self.stack.states().values()), {"ready"})

    # ---- loadgen has no stack: somebody else started the services

    CRASH = "atomic,fail=before-write:crash@5"

    def waiting(self, *args):
        """Starts a run, and returns when it waits for its servers after its first round."""
        run = self.stack.start_loadgen("--strategy", self.CRASH + ",atomic", "-R", "200", "-d", "1s", "--stack", "", "--drain", "30s",
                                       "--output-format", "json", "--no-progress", *args)
        self.addCleanup(lambda: (run.kill(), run.communicate()))
        self.assertIn("a fault stopped servers: waiting for them, for at most --drain", run.stderr.readline())
        return run

    def test_a_run_ends_when_its_servers_are_down_and_nobody_starts_them(self):
        told = self.fire(self.CRASH + ",atomic", "--stack", "", "--repeat", "2", "--drain", "1s")
        self.assertEqual(told["anomalies"], [])
        self.assertEqual((len(self.summary["strategies"]), len(told["rounds"])), (1, 1))
        self.assertEqual((self.summary["is_left_down"], self.summary["exit_code"]), (True, 2))
        check = self.stack.loadgen("check", str(self.results / "latest"))
        self.assertEqual((check.returncode, check.stderr.count("the same verdicts")), (2, 1), check.stderr)
        self.assertIn(f"ended after round 1 of 4, {self.CRASH}: servers that a fault stopped did not come up again", check.stdout.replace("\n  ", " "))

    def test_a_run_goes_on_when_another_starts_its_servers(self):
        run = self.waiting()
        self.stack.script("start")
        output, errors = run.communicate(timeout=120)
        summary = json.loads(output)
        self.assertEqual((len(summary["strategies"]), summary["is_left_down"]), (2, False), errors)
        self.assertGreater(summary["strategies"][1]["sold"], 0)

    def test_a_run_goes_on_when_one_of_its_instances_is_up(self):
        self.fire("atomic,fail=inventory-1/before-write:crash@5,atomic", "--stack", "")
        self.assertEqual((len(self.summary["strategies"]), self.summary["is_left_down"]), (2, False))

    def test_a_run_that_waits_for_its_servers_can_be_interrupted(self):
        run = self.waiting("--parts", "2")
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=60)
        self.assertEqual((run.returncode, json.loads(output)["is_interrupted"]), (130, True), errors)


if __name__ == "__main__":
    unittest.main()

"""loadgen from outside: exit codes, error messages, and results that are never lost."""

import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest
import uuid
from pathlib import Path

from harness import BUILD, LOST_UPDATES, PORT_BASE, ROOT, SystemTest, wait_for

DEAD = "http://127.0.0.1:9"
QUICK = ["-R", "800", "-d", "200ms", "--output-format", "json"]
# The parts that differ between two runs of the same command.
MEASURED = {"started_at", "ended_at", "achieved_rate", "latency_ms", "service_ms", "schedule", "product_id",
            "overlapping_pairs", "overlapping_attempts", "rate_bound", "rounds", "spread", "work", "capacity", "percentiles"}


def stable(value):
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in MEASURED}
    return [stable(v) for v in value] if isinstance(value, list) else value


def shape(value):
    """The keys of JSON, and the types of its values."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    return [shape(v) for v in value] if isinstance(value, list) else type(value).__name__


class Loadgen(SystemTest):
    def says(self, code, texts, *args, env=None):
        """Asserts that it ends with this code and writes each text to stderr."""
        kept = self.stack.settings
        self.stack.settings = {k: v for k, v in {**kept, **(env or {})}.items() if v is not None}
        try:
            done = self.stack.loadgen(*args)
        finally:
            self.stack.settings = kept
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in [texts] if isinstance(texts, str) else texts:
            self.assertIn(text, done.stderr)
        self.assertNotIn("\033", done.stdout + done.stderr)
        return done

    def summary(self, *args, code=0):
        done = self.stack.loadgen(*args, *QUICK)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    # ---- exit codes

    def test_an_expected_result_ends_with_0(self):
        summary = self.summary("--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES)
        self.assertEqual([s["as_expected"] for s in summary["strategies"]], [True, True])

    def test_a_violation_that_was_not_expected_ends_with_1(self):
        summary = self.summary("--strategy", "none", code=1)
        self.assertEqual(summary["strategies"][0]["verdict"], "VIOLATED")
        self.assertEqual(summary["exit_code"], 1)

    def test_a_violation_that_did_not_appear_ends_with_1(self):
        summary = self.summary("--strategy", "atomic", "--expect", "atomic=TWIN", code=1)
        self.assertEqual(summary["strategies"][0]["verdict"], "VALID")

    def test_a_run_that_proves_nothing_ends_with_2(self):
        done = self.stack.loadgen("--strategy", "atomic", "-R", "10", "--requests", "3")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"atomic +INCONCLUSIVE")
        self.assertIn("raise --rate", done.stdout)

    def test_a_run_of_which_nothing_is_answered_with_yes_ends_with_2(self):
        done = self.stack.loadgen("--strategy", "atomic", "--path", "/nowhere", "-R", "800", "-d", "200ms",
                                  "--dup-rate", "0")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("160 requests were told: a bad request", done.stdout)
        self.assertIn("POST /nowhere answered 404, 160 times", done.stdout)

    def test_bad_usage_ends_with_64_and_says_what_is_right(self):
        cases = [(["--nosuch"], "--nosuch"), (["--rate", "0"], "1..1000000"), (["--rate", "many"], "many"),
                 (["--work", "2"], "for example 2ms"), (["--arrival", "never"], "poisson or constant"),
                 (["--output-format", "xml"], "text or json"), (["--path", "orders"], "must start with /"),
                 (["--strategy", "redis,,none"], "nothing between two commas"),
                 (["--strategy", "ttl=2s,redis"], "option before any name"),
                 (["--strategy", "none", "--expect", "redis=TWIN"], '"redis", which is not in --strategy'),
                 (["--strategy", "none", "--expect", "none=BAD"], "EARLY-SOLD-OUT"),
                 (["--no-judge", "--expect", "none=TWIN"], "--no-judge"), (["destroy"], 'no command "destroy"'),
                 (["--target", "somewhere"], "http://127.0.0.1:8000"),
                 (["-R", "1000000", "-d", "1h"], "10,000,000 requests"), (["create", "--strategy", "a,b"], "one product")]
        for args, text in cases:
            with self.subTest(" ".join(args)):
                self.says(64, text, *args)

    def test_an_unknown_strategy_or_option_ends_with_64_and_names_those_that_exist(self):
        done = self.says(64, 'no strategy "zookeper"', "--strategy", "none,zookeper")
        listed = json.loads(self.says(0, [], "--list-strategies", "--output-format", "json").stdout)
        self.assertEqual(done.stderr.partition("knows:")[2].split(), [strategy["name"] for strategy in listed])
        self.assertLessEqual(max(map(len, done.stderr.splitlines())), 80)
        self.says(64, ["colour", "wait"], "--strategy", "redis,colour=red")

    def test_a_failpoint_without_lab_ends_with_64_before_anything_is_sent(self):
        spec = "atomic,fail=before-write:crash"
        self.says(64, [spec.split(",")[1], f"INVENTORY_SVC_FLAGS=--lab RUN_DIR={self.stack.run_dir} PORT_BASE={PORT_BASE} make up"], "--strategy", spec)
        self.assertEqual(self.stack.sql("inventory", "SELECT 1 FROM reservation JOIN product USING (product_id) "
                                                     "WHERE strategy LIKE '%before-write:crash%'"), [])

    def test_a_dead_target_or_database_ends_with_69_and_is_named(self):
        here = [f"http://127.0.0.1:{PORT_BASE}", DEAD]
        self.says(69, [DEAD, "cannot be reached", "--target"], "--target", here[1])
        for name in ["inventory", "orders"]:
            variable = f"LOADGEN_{name.upper()}_DB"
            self.says(69, [f"the database {name} cannot be reached", variable],
                      env={variable: "host=127.0.0.1 port=9 dbname=x connect_timeout=2"})
            self.says(69, [f"{variable} is not set"], env={variable: None})

    def test_a_command_tells_what_is_its_own(self):
        cases = {"create": (["--stock"], "69"), "check DIR|FILE": (["--output-format"], "66"), "diff A B": (["--output"], "66"),
                 "report DIR...": (["--output"], "66"), "serve [DIR]": (["--listen", "--port"], "66")}
        for usage, (own, code) in cases.items():
            done = self.says(0, [], usage.split()[0], "--help")
            for text in [f"usage: loadgen [settings] {usage}\n", f"loadgen {usage.split()[0]}: ", f"{code} ", *own]:
                self.assertIn(text, done.stdout)
            self.assertNotIn("--rate", done.stdout)
        self.assertNotIn("--listen", self.says(0, [], "-h").stdout)

    # ---- interrupted

    def interrupted(self, *args, when, number=signal.SIGINT):
        run = self.stack.start_loadgen(*args)
        try:
            wait_for("the moment to interrupt", when)
            run.send_signal(number)
            output, errors = run.communicate(timeout=30)
        finally:
            run.kill()
            run.wait()
        self.assertEqual(run.returncode, 130, output + errors)
        return output, errors

    def sold(self, name):
        return self.stack.value("inventory", "SELECT count(*) FROM reservation JOIN product USING (product_id) "
                                             "WHERE name = :'name'", name=name)

    def test_an_interrupt_in_mid_run_prints_what_there_is(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP]:
            name = str(uuid.uuid4())
            results = self.enterContext(tempfile.TemporaryDirectory())
            output, errors = self.interrupted("--strategy", "atomic,redis", "-d", "60s", "--stock", "100000", "--name", name,
                                              "--no-results=false", "--results", results,
                                              when=lambda: self.sold(name) > 50, number=number)
            self.assertIn("judging the part that ran", errors)
            self.assertRegex(output, r"atomic +INCONCLUSIVE")
            self.assertIn("\n  interrupted\n", output)
            self.assertNotRegex(output, r"(?m)^redis")
            again = self.stack.loadgen("check", f"{results}/latest")
            self.assertIn("the same verdicts and counts", again.stderr)
            self.assertEqual(again.returncode, 130)

    def test_a_hangup_that_nohup_ignores_stays_ignored(self):
        name = str(uuid.uuid4())
        run = self.stack.start_loadgen("--strategy", "atomic", "-d", "60s", "--stock", "100000", "--name", name,
                                       under=["env", "--ignore-signal=HUP"])
        try:
            wait_for("sales", lambda: self.sold(name) > 50)
            run.send_signal(signal.SIGHUP)
            before = self.sold(name)
            wait_for("more sales", lambda: self.sold(name) > before + 400)
        finally:
            run.kill()
            run.communicate()

    def test_an_interrupt_while_the_ledger_settles_prints_what_there_is(self):
        name = str(uuid.uuid4())
        output, _ = self.interrupted("--strategy", "redis,work=10ms", "-R", "800", "--requests", "200", "--timeout", "100ms",
                                     "--drain", "10m", "--name", name, when=lambda: self.sold(name) > 40)
        self.assertRegex(output, r"redis,work=10ms +INCONCLUSIVE")
        self.assertIn("the ledger may still be changing\n", output)
        self.assertNotIn("raise --drain", output)

    def test_an_interrupt_before_the_start_ends_at_once(self):
        lock = subprocess.Popen(["psql", self.stack.settings["TEST_PG"] + " dbname=inventory", "-Xqc",
                                 "BEGIN; LOCK product; SELECT pg_sleep(60)"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        try:
            wait_for("the lock", lambda: self.stack.value(
                "inventory", "SELECT count(*) FROM pg_locks WHERE relation = 'product'::regclass AND granted AND mode = "
                             "'AccessExclusiveLock'") > 0)
            self.interrupted("--strategy", "atomic", when=lambda: self.stack.value(
                "postgres", "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'loadgen'") > 0)
        finally:
            lock.kill()
            lock.wait()
            self.stack.sql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%LOCK product%'"
                                       " AND pid <> pg_backend_pid()")

    # ---- output

    def test_the_same_command_sends_the_same_schedule_and_prints_the_same_json(self):
        args = ["--strategy", "atomic", "--seed", "7", "--stock", "50", "--dup-rate", "0"]
        first, second = self.summary(*args), self.summary(*args)
        self.assertEqual(stable(first), stable(second))
        self.assertEqual(shape(first), shape(second))
        self.assertEqual(first["schema_version"], 2)
        self.assertEqual(first["settings"]["seed"], 7)
        self.assertEqual(sum(first["strategies"][0]["outcomes"].values()), 160)

    def test_the_report_fits_80_columns(self):
        done = self.stack.loadgen("--strategy", "sharded,shards=20,wait=4s,ttl=8s,none,atomic", "--expect", "none=" + LOST_UPDATES, "-d",
                                  "200ms")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in done.stdout.splitlines() if "all of it" not in line]  # it must work when pasted
        self.assertLessEqual(max(map(len, lines)), 80, done.stdout)

    def test_a_violation_says_how_to_see_all_of_it(self):
        done = self.stack.loadgen("--strategy", "none", "-d", "200ms")
        command = next(line.partition(": ")[2] for line in done.stdout.splitlines() if "all of it" in line)
        shown = subprocess.run(["bash", "-c", command], cwd=ROOT, env=dict(os.environ, **self.stack.settings),
                               capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("Twins", shown.stdout)

    def test_strategies_are_listed_with_their_promises(self):
        done = self.says(0, [], "--list-strategies")
        listed = json.loads(self.says(0, [], "--list-strategies", "--output-format", "json").stdout)
        families = list(dict.fromkeys(strategy["family"] for strategy in listed))
        self.assertEqual([line for line in done.stdout.splitlines() if re.match("[^ :][^:]*$", line)], families)
        self.assertEqual(done.stdout.splitlines()[-1], "options of all: work=0ms wait=5s ttl=10s fail=")
        self.assertRegex(done.stdout, "options: shards=10")
        for strategy in listed:
            self.assertRegex(done.stdout, rf"(?m)^  {strategy['name']} +\S")
            self.assertTrue(strategy["breaks"] and strategy["source"] and strategy["options"])
        self.assertEqual(done.stdout.count("promises: "), len(listed))
        self.assertGreaterEqual(len(listed), 5)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_a_target_whose_answer_is_nested_deeply_is_told(self):
        class Deep(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"strategies": ' + b"[" * 2000 + b"]" * 2000 + b"}")

        with http.server.HTTPServer(("127.0.0.1", 0), Deep) as server:
            threading.Thread(target=server.serve_forever).start()
            target = f"http://127.0.0.1:{server.server_port}"
            try:
                self.says(69, "does not list its strategies", "--list-strategies", "--target", target)
            finally:
                server.shutdown()

    def test_create_prints_a_product_that_can_be_bought(self):
        done = self.says(0, [], "create", "--strategy", "redis", "--stock", "1")
        self.assertRegex(done.stdout, r"^[0-9a-f-]{36}\n$")
        self.assertEqual(self.stack.order(done.stdout.strip()).status, 201)
        self.assertEqual(self.stack.order(done.stdout.strip()).status, 409)

    def test_a_product_of_ones_own_is_attacked_once(self):
        product = self.says(0, [], "create", "--strategy", "sharded,shards=4", "--stock", "77", "--work", "1ms").stdout.strip()
        with tempfile.TemporaryDirectory() as folder:
            done = self.says(0, [], "--product", product, "--no-results=false", *QUICK, env={"LOADGEN_RESULTS": folder})
            summary = json.loads(done.stdout)
            checked = self.says(0, "the same verdicts", "check", f"{folder}/latest")
        strategy = summary["strategies"][0]
        self.assertEqual((strategy["strategy"], strategy["sold"], summary["settings"]["stock"]),
                         ("sharded,shards=4,work=1ms", 77, 77))
        self.assertEqual(self.stack.value("inventory", "SELECT count(*) FROM reservation WHERE product_id = :'id'", id=product), 77)
        self.assertIn("stock 77\n", checked.stdout)
        done = self.says(64, ["were sold before this run", "create --strategy sharded,shards=4,work=1ms --stock 77"], "--product",
                         product, "--no-results")
        self.says(64, "there is no product", "--product", str(uuid.uuid4()))
        self.says(69, "the database inventory", "--product", product, env={"LOADGEN_INVENTORY_DB": "host=127.0.0.1 port=9"})
        done = self.says(0, [], "--no-judge", "--product", product, *QUICK, env={"LOADGEN_INVENTORY_DB": None})
        self.assertNotIn("makes no product", done.stdout)
        done = self.stack.loadgen("--no-judge", "-d", "200ms")
        self.assertIn("--no-judge makes no product. Name one with --product", done.stdout)

    def test_a_full_disk_is_told_and_the_table_still_printed(self):
        done = self.says(70, "No space left on device", "--strategy", "atomic", "-d", "200ms", "-o", "/dev/full")
        self.assertRegex(done.stdout, r"(?m)^atomic +VALID")
        self.says(64, "/nowhere/x", "-o", "/nowhere/x")

    def test_the_report_goes_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            done = self.says(0, [], "--strategy", "atomic", *QUICK, "-o", str(path))
            self.assertEqual(done.stdout, "")
            self.assertEqual(json.loads(path.read_text())["strategies"][0]["verdict"], "VALID")

    def test_a_target_may_have_a_name(self):
        summary = self.summary("--strategy", "atomic", "--target", f"http://localhost:{PORT_BASE}")
        self.assertEqual(summary["strategies"][0]["verdict"], "VALID")
        self.says(69, "cannot be reached", "--target", "http://nowhere.invalid:80")

    def test_real_time_priority_can_be_declined(self):
        schedule = self.summary("--strategy", "atomic", "--no-realtime")["strategies"][0]["schedule"]
        self.assertIs(schedule["realtime_priority"], False)


if __name__ == "__main__":
    unittest.main()

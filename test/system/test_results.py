"""The results folder: complete, true to its schema, judged again with the same verdict, and whole even if the run is not."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import LOST_UPDATES, ROOT, SystemTest, wait_for

SCHEMA = json.loads((ROOT / "loadgen/report/summary.schema.json").read_text())
FILES = {"summary.json", "history.ndjson", "violations.txt", "latency.hlog", "rounds.csv", "env.json", "report.html"}
QUICK = ["-R", "800", "-d", "200ms", "--no-progress"]


class Results(SystemTest):
    def setUp(self):
        super().setUp()
        self.root = Path(tempfile.mkdtemp(prefix="sale-results-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def fire(self, *args, code=0, root=None, under=()):
        """Runs loadgen with a results folder. Returns its output and the folder."""
        done = self.stack.loadgen("--no-results=false", "--results", str(root or self.root), *args, under=under)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done, self.latest(root or self.root)

    @staticmethod
    def latest(root):
        return (root / "latest").resolve(strict=True)

    def check(self, folder, *args, code=0):
        """loadgen check without any setting, so it can ask no server."""
        environment = {k: v for k, v in self.stack.env.items() if not k.startswith("LOADGEN_")}
        done = subprocess.run([str(ROOT / self.stack.env["B"] / "bin/loadgen"), "check", str(folder), *args], cwd="/",
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def assert_valid(self, folder):
        summary = json.loads((folder / "summary.json").read_text())
        errors = [f"{'/'.join(map(str, e.path))}: {e.message}"
                  for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(summary)]
        self.assertEqual(errors, [])
        return summary

    def assert_judged_again(self, folder, summary, text):
        """Asserts that check agrees with summary.json and with the output of the run."""
        done = self.check(folder, "--output-format", "json", code=summary["exit_code"])
        self.assertIn("the same verdicts and counts", done.stderr)
        self.assertEqual(json.loads(done.stdout), summary)
        self.assertEqual(self.check(folder, code=summary["exit_code"]).stdout, text)

    # ---- its content

    def test_a_run_leaves_all_files_and_a_link_to_them(self):
        done, folder = self.fire("--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES, *QUICK)
        self.assertIn(f"loadgen serve {self.root}/\n", done.stdout)
        self.assertRegex(folder.name, r"^\d{8}T\d{6}Z-none-atomic$")
        self.assertLessEqual(FILES, {path.name for path in folder.iterdir()})
        self.assertEqual([path.name for path in folder.iterdir() if path.name.startswith(".")], [])
        self.assertEqual(os.readlink(self.root / "latest"), folder.name)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o755)

    def test_summaries_of_all_kinds_of_runs_keep_to_the_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        kinds = {"plain": (0, ["--strategy", "atomic"]),
                 "violated": (1, ["--strategy", "none"]),
                 "inconclusive": (2, ["--strategy", "atomic", "--requests", "3"]),
                 "repeats": (0, ["--strategy", "redis,ttl=2s,atomic", "--repeat", "3"]),
                 "thresholds": (99, ["--strategy", "atomic,redis", "--threshold", "p(50)<1us", "--threshold", "oversell==0"]),
                 "items": (0, ["--strategy", "atomic", "--items", "3", "--skew", "zipf:1.1", "--dup-rate", "5%",
                              "--name", "一 \"name\" <b>&'%s\\\U0001f9ea", "--wait", "3s", "--max-in-flight", "5000"]),
                 "stages": (0, ["--strategy", "sharded", "--stages", "100ms:400..800,200ms:800", "--arrival", "constant"]),
                 "aborted": (99, ["--strategy", "atomic", "--threshold", "max<1us", "--abort-on-fail", "--repeat", "2"]),
                 "unjudged": (0, ["--no-judge", "--path", "/healthz"])}
        for kind, (code, args) in kinds.items():
            with self.subTest(kind):
                args = [*args, "--no-progress"]
                if kind not in ("stages", "inconclusive"):
                    args += ["-d", "200ms"]
                done, folder = self.fire("--name", kind, *args, code=code)
                summary = self.assert_valid(folder)
                self.assertEqual(summary["exit_code"], code)
                self.assertEqual(summary["folder"], str(self.root / folder.name))
                self.assert_judged_again(folder, summary, done.stdout)

    def test_rounds_are_told_apart(self):
        _, folder = self.fire("--strategy", "redis,atomic", "--repeat", "2", *QUICK)
        strategies = self.assert_valid(folder)["strategies"]
        self.assertEqual([[r["position"] for r in s["rounds"]] for s in strategies], [[1, 4], [2, 3]])
        for strategy in strategies:
            p50 = [r["p50_ms"] for r in strategy["rounds"]]
            self.assertAlmostEqual(strategy["spread"]["p50_ms"]["min"], min(p50), places=3)
            self.assertAlmostEqual(strategy["spread"]["p50_ms"]["max"], max(p50), places=3)
            self.assertEqual(strategy["sold"], sum(r["sold"] for r in strategy["rounds"]))
        with open(folder / "rounds.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(r["strategy"], r["repeat"], r["position"]) for r in rows],
                         [("redis", "1", "1"), ("atomic", "1", "2"), ("atomic", "2", "3"), ("redis", "2", "4")])
        self.assertEqual([float(r["p99_ms"]) for r in rows if r["strategy"] == "redis"],
                         [r["p99_ms"] for r in strategies[0]["rounds"]])

    def test_an_independent_reader_finds_the_same_latencies(self):
        # 1,000 answers: so no percentile falls between two of them, where readers differ.
        _, folder = self.fire("--strategy", "redis,wait=3s,none", "--expect", "none=" + LOST_UPDATES, "--requests", "1000", "-R", "1000",
                              "--stock", "1000", "--dup-rate", "0", "--no-progress")
        done = subprocess.run(["node", str(ROOT / "test/node/read_hlog.js")], input=(folder / "latency.hlog").read_text(),
                              env=dict(os.environ, NODE_PATH=str(ROOT / "build/node/node_modules")),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = {line["tag"]: line for line in json.loads(done.stdout)}
        for strategy in self.assert_valid(folder)["strategies"]:
            tag = strategy["strategy"].replace(",", ";")
            for name, read in [("latency_ms", lines[tag]), ("service_ms", lines[tag + ".service"])]:
                ours = strategy[name]
                self.assertEqual(read["count"], ours["count"])
                for point in ["min", "p50", "p99", "p99_9", "max"]:
                    # The reader knows a bucket that is a thousandth wide; we round to a microsecond.
                    self.assertAlmostEqual(read[point] / 1e6, ours[point], delta=ours[point] / 1000 + 0.001, msg=f"{tag} {point}")

    def test_the_environment_is_told_and_no_secret(self):
        _, folder = self.fire("--strategy", "atomic", "--seed", "42", "--name", "it's", *QUICK)
        environment = json.loads((folder / "env.json").read_text())
        self.assertEqual(environment["seed"], 42)
        self.assertIn("--seed 42 --name 'it'\\''s'", environment["command"])
        self.assertEqual(environment["machine"]["kernel"], os.uname().release)
        self.assertRegex(environment["versions"]["postgres"], r"^\d+\.\d+$")
        self.assertRegex(environment["revision"]["git"], r"^([0-9a-f]{40}|unknown)$")
        secrets = [re.search(r":([^:@]+)@", v).group(1) for k, v in self.stack.settings.items() if k.startswith("LOADGEN_") and "@" in v]
        self.assertTrue(secrets)
        for path in folder.iterdir():
            for secret in secrets:
                self.assertNotIn(secret.encode(), path.read_bytes(), path.name)
            self.assertNotIn(os.uname().nodename.encode() + b'"', path.read_bytes(), path.name)

    # ---- its place

    def test_a_name_never_leaves_the_folder(self):
        for name, slug in [("../../etc/x y", "etc-x-y"), ("...", "atomic"), ("黄金竹子", "atomic"), ("a" * 150, "a" * 60)]:
            with self.subTest(name):
                _, folder = self.fire("--strategy", "atomic", "--name", name, *QUICK)
                self.assertEqual(folder.parent, self.root.resolve())
                self.assertRegex(folder.name, rf"^\d{{8}}T\d{{6}}Z-{slug}(-\d+)?$")
                self.assertEqual(self.assert_valid(folder)["name"], name)

    def test_runs_of_the_same_second_do_not_meet(self):
        runs = [self.stack.start_loadgen("--no-results=false", "--results", str(self.root), "--no-judge", "--path", "/healthz",
                                         "-R", "50", "-d", "100ms", "--no-progress") for _ in range(4)]
        for run in runs:
            output, errors = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 0, output + errors)
        folders = [path for path in self.root.iterdir() if not path.is_symlink()]
        self.assertEqual(len(folders), 4)
        for folder in folders:
            self.assert_valid(folder)

    def test_a_place_that_cannot_be_written_is_told_before_the_run(self):
        (self.root / "file").write_text("")
        done = self.stack.loadgen("--no-results=false", "--results", str(self.root / "file/x"), "--strategy", "atomic", "--name",
                                  "nowhere", *QUICK)
        self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
        for text in ["file/x: Not a directory", "--results DIR", "--no-results"]:
            self.assertIn(text, done.stderr)
        self.assertEqual(self.products("nowhere"), 0)

    def test_a_name_that_no_product_can_have_is_refused_before_anything_is_made(self):
        for name, why in [("ü" * 201, "more than 200 characters"), ("a\nb", "control characters"), (b"\xff", "UTF-8"),
                          ("a\x1b[2Jb", "control characters"), ("a\u009b2Jb", "control characters"),
                          ("a\u202eb", "direction"), ("a\u2028b", "printable")]:
            with self.subTest(name):
                done = self.stack.loadgen("--no-results=false", "--results", str(self.root / "none"), "--name", name, *QUICK)
                self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
                self.assertIn(why, done.stderr)
        for args, why in [(["--strategy", "a\nb"], "control characters"), (["--path", "/x y"], "spaces"),
                          (["--path", "/x\r\nHost: y"], "control characters")]:
            done = self.stack.loadgen("--no-results=false", "--results", str(self.root / "none"), "--no-judge", *args, *QUICK)
            self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
            self.assertIn(why, done.stderr)
        self.assertFalse((self.root / "none").exists())
        _, folder = self.fire("--strategy", "atomic", "--name", "ü" * 200, *QUICK)
        self.assertEqual(self.products("ü" * 200), 1)
        self.assert_valid(folder)

    def products(self, name):
        return self.stack.value("inventory", "SELECT count(*) FROM product WHERE name = :'name'", name=name)

    def test_nothing_is_written_when_none_is_wanted(self):
        done = self.stack.loadgen("--no-results", "--strategy", "atomic", *QUICK, env={"LOADGEN_RESULTS": str(self.root / "none")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((self.root / "none").exists())

    # ---- when a run does not end well

    def interrupt(self, *args):
        run = self.stack.start_loadgen("--no-results=false", "--results", str(self.root), "--name", "cut", *args)
        try:
            wait_for("sales", lambda: self.stack.value(
                "inventory", "SELECT count(*) FROM reservation JOIN product USING (product_id) WHERE name = 'cut'") > 20)
            run.send_signal(signal.SIGINT)
            output, errors = run.communicate(timeout=30)
        finally:
            run.kill()
            run.wait()
        self.assertEqual(run.returncode, 130, output + errors)
        return output, self.latest(self.root)

    def test_a_run_that_sends_nothing_leaves_no_folder(self):
        for args, code in [(["--strategy", "nosuch"], 64), (["--target", "http://127.0.0.1:9"], 69)]:
            done = self.stack.loadgen("--no-results=false", "--results", str(self.root), *args, *QUICK)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual(os.listdir(self.root), [])
        lock = subprocess.Popen(["psql", self.stack.settings["TEST_PG"] + " dbname=inventory", "-Xq"], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lock.communicate)  # its end frees the lock
        lock.stdin.write("BEGIN; LOCK product;\n")
        lock.stdin.flush()
        wait_for("the lock", lambda: self.stack.value(
            "inventory", "SELECT count(*) FROM pg_locks WHERE relation = 'product'::regclass AND granted AND mode = "
                         "'AccessExclusiveLock'") > 0)
        run = self.stack.start_loadgen("--no-results=false", "--results", str(self.root), "--strategy", "atomic", *QUICK)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        wait_for("a product in the making", lambda: self.stack.value(
            "inventory", "SELECT count(*) FROM pg_locks WHERE relation = 'product'::regclass AND NOT granted") > 0)
        self.assertEqual(len(os.listdir(self.root)), 1)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 130)
        self.assertEqual(os.listdir(self.root), [])

    def test_an_interrupted_run_leaves_all_files(self):
        text, folder = self.interrupt("--strategy", "atomic,redis", "-R", "200", "-d", "30s", "--no-progress")
        self.assertLessEqual(FILES, {path.name for path in folder.iterdir()})
        summary = self.assert_valid(folder)
        self.assertTrue(summary["is_interrupted"])
        self.assertEqual([s["strategy"] for s in summary["strategies"]], ["atomic"])
        self.assertEqual(summary["strategies"][0]["verdict"], "INCONCLUSIVE")
        self.assertIn("interrupted", summary["strategies"][0]["inconclusive_because"])
        self.assert_judged_again(folder, summary, text)

    def test_a_second_interrupt_leaves_the_history_of_whole_rounds(self):
        run = self.stack.start_loadgen("--no-results=false", "--results", str(self.root), "--name", "twice", "--no-progress",
                                       "--strategy", "atomic,redis,work=100ms,wait=20s", "--requests", "100", "-R", "800")
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        wait_for("the second round", lambda: self.stack.value(
            "inventory", "SELECT count(*) FROM reservation JOIN product USING (product_id) WHERE name = 'twice'") > 102)
        run.send_signal(signal.SIGINT)
        self.assertIn("interrupt again to stop at once", run.stderr.readline())
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 130)
        folder, = self.root.iterdir()
        self.assertEqual(os.listdir(folder), ["history.ndjson"])
        done = self.check(folder, code=2)
        self.assertRegex(done.stdout, r"(?m)^atomic +VALID")
        self.assertIn("history.ndjson has 1 of 2 rounds", done.stderr)

    TOO_MUCH = ["--strategy", "atomic,redis,wait=2s,sharded", "-R", "800", "-d", "1s", "--stock", "1000", "--no-progress"]

    def test_a_full_disk_is_told_and_what_fits_is_kept(self):
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        disk = self.root / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=560k", "none", str(disk)], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no small disk can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)
        done, folder = self.fire(*self.TOO_MUCH, code=70, root=disk)
        self.assertIn("history.ndjson: No space left on device", done.stderr)
        self.assert_what_fits_is_kept(done, folder)

    def test_a_limit_on_the_size_of_files_is_told_as_a_full_disk_is(self):
        done, folder = self.fire(*self.TOO_MUCH, code=70, under=["prlimit", "--fsize=600000"])
        self.assertIn("history.ndjson: File too large for this process: raise the limit, ulimit -f", done.stderr)
        self.assert_what_fits_is_kept(done, folder)
        done = self.stack.loadgen("--strategy", "atomic", *QUICK, under=["prlimit", "--fsize=100"])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.root / "report.txt", "w") as report:
            done = self.stack.loadgen("--strategy", "atomic", *QUICK, "-o", report.name, under=["prlimit", "--fsize=100"])
        self.assertEqual(done.returncode, 70)
        self.assertIn("raise the limit, ulimit -f", done.stderr)
        done = self.stack.loadgen("--no-results=false", "--results", str(self.root / "none"), "--strategy", "atomic", *QUICK,
                                  under=["prlimit", "--fsize=100"])
        self.assertEqual((done.returncode, done.stdout), (70, ""))
        self.assertIn("no results can be written below", done.stderr)
        self.assertEqual(os.listdir(self.root / "none"), [])

    def assert_what_fits_is_kept(self, done, folder):
        self.assertRegex(done.stdout, r"(?m)^atomic +VALID")
        summary = self.assert_valid(folder)
        self.assertGreaterEqual(len(summary["strategies"]), 2)
        self.assertEqual(summary["exit_code"], 70)
        checked = self.check(folder, "--output-format", "json", code=2)
        self.assertEqual([s["strategy"] for s in json.loads(checked.stdout)["strategies"]], ["atomic"])
        self.assertIn("summary.json has redis,wait=2s, but the history has no whole round of it", checked.stderr)

    # ---- judged again

    def test_a_changed_history_is_judged_by_what_it_says(self):
        _, folder = self.fire("--strategy", "atomic", *QUICK)
        history = folder / "history.ndjson"
        text = history.read_text()
        units = re.findall(r'"type":"sale".*?"unit":(\d+)', text)
        history.write_text(text.replace(f'"unit":{units[0]},', f'"unit":{units[1]},'))
        done = self.check(folder, code=1)
        self.assertRegex(done.stdout, r"(?m)^atomic +VIOLATED.* TWIN|VIOLATED TWIN")
        self.assertIn("atomic is VIOLATED; summary.json has VALID", done.stderr)

    def as_shop(self, folder):
        """Changes the history of a run, in which an own strategy sold, to that of a shop. Its texts are hostile."""
        shop = {"name": "Späti \x1b[31m", "version": "1.2", "config": "row locks\nVALID", "file": "shops/späti.shop",
                "bases": ["http://127.0.0.1:1", "http://127.0.0.1:2"]}
        step = {"name": "POST /cart \x1b[2J", "line": 7, "sent": 160, "no_reply": 0, "p50_ms": 4.5, "p99_ms": 21, "max_ms": 30}
        lines = [json.loads(line) for line in (folder / "history.ndjson").read_text().splitlines()]
        lines[0]["shop"] = shop
        lines[0]["strategies"][0].update(name=shop["name"], given=shop["name"], spec="")
        lines[-1]["steps"] = [step, dict(step, name="POST /pay", line=9, sent=150, no_reply=150, p50_ms=None, p99_ms=None, max_ms=None)]
        (folder / "history.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_the_history_of_a_shop_is_reported_as_one(self):
        _, folder = self.fire("--strategy", "none", "--dup-rate", "0", *QUICK, code=1)
        self.as_shop(folder)
        subject = "Späti ?[31m 1.2, 2 processes"
        done = self.check(folder, "--markdown", str(folder / "digest.md"), "--junit", str(folder / "junit.xml"), code=1)
        self.assertTrue(done.stdout.startswith(f"shop: {subject}: http://127.0.0.1:1, http://127.0.0.1:2\n"
                                               "settings of the shop: row locks VALID\n"
                                               "160 customers at 800/s, poisson, seed 1, stock 500, by shops/späti.shop\nschedule:"), done.stdout)
        self.assertRegex(done.stdout, rf"\n{re.escape(subject)}: sold 1\d\d of 500 units")
        self.assertRegex(done.stdout, rf"\n{re.escape(subject)}: VIOLATED: TWIN.*\n  one round proves that it happens, not how often\n")
        self.assertIn("\n7: POST /cart ?[2J   160         0  4.5 ms  21 ms  30 ms\n", done.stdout)
        self.assertIn("\nexit code 1: anomalies were found: Späti ?[31m\n", done.stdout)
        for word in ("strategy", "expected", "audit", "cheapest", "\x1b"):
            self.assertNotIn(word, done.stdout)
        self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 80 and str(self.root) not in line], [])
        self.assertIn(f"- `{subject}`: sold", (folder / "digest.md").read_text())
        self.assertIn('<property name="shop_version" value="1.2"/>', (folder / "junit.xml").read_text())
        (folder / "summary.json").write_text(self.check(folder, "--output-format", "json", code=1).stdout)
        summary = self.assert_valid(folder)
        self.assertEqual(summary["shop"]["processes"], 2)
        self.assertEqual([step["sent"] for step in summary["strategies"][0]["steps"]], [160, 150])

    def test_a_cut_or_broken_history_is_named(self):
        _, folder = self.fire("--strategy", "atomic,redis", *QUICK)
        history = folder / "history.ndjson"
        lines = history.read_text().splitlines(keepends=True)
        history.write_text("".join(lines)[:-20])
        done = self.check(folder, code=2)
        for text in ["is cut: its last round is not judged", "history.ndjson has 1 of 2 rounds",
                     "summary.json has redis, but the history has no whole round of it"]:
            self.assertIn(text, done.stderr)
        self.assertNotRegex(done.stdout, r"(?m)^redis +VALID")
        lines[6] = "rubbish\n"
        history.write_text("".join(lines))
        self.assertIn("history.ndjson line 7: it is no JSON", self.check(folder, code=66).stderr)
        history.unlink()
        self.assertIn("history.ndjson: No such file or directory", self.check(folder, code=66).stderr)


if __name__ == "__main__":
    unittest.main()

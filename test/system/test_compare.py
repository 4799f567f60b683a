"""Compares strategies under the same load: repeats, thresholds, costs and their reasons, and two runs side by side."""

import json
import os
import pty
import statistics
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, LOST_UPDATES, ROOT, SystemTest

QUICK = ["-R", "400", "-d", "500ms", "--no-progress", "--dup-rate", "0"]


class Compare(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.results = tempfile.TemporaryDirectory()
        cls.stack.env["LOADGEN_NO_RESULTS"] = "0"
        cls.stack.env["LOADGEN_RESULTS"] = cls.results.name

    @classmethod
    def tearDownClass(cls):
        cls.results.cleanup()
        super().tearDownClass()

    def fire(self, code, *args):
        done = self.stack.loadgen(*QUICK, *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def summary(self, code, *args):
        return json.loads(self.fire(code, *args, "--output-format", "json"))

    def latest(self):
        return str((Path(self.results.name) / "latest").resolve())

    # ---- repeats

    repeats = None

    def repeated(self):
        """One run for the tests of repeats. Returns its output and its summary."""
        if Compare.repeats is None:
            text = self.fire(0, "--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES, "--repeat", "3")
            Compare.repeats = text, json.loads((Path(self.latest()) / "summary.json").read_text())
        return Compare.repeats

    def test_each_repeat_begins_with_another_strategy(self):
        _, summary = self.repeated()
        order = {}
        for strategy in summary["strategies"]:
            self.assertEqual([one["repeat"] for one in strategy["rounds"]], [1, 2, 3])
            for one in strategy["rounds"]:
                order[one["position"]] = strategy["strategy"]
        self.assertEqual([order[i] for i in sorted(order)], ["none", "atomic", "atomic", "none", "none", "atomic"])

    def test_rounds_are_added_up_and_their_median_lies_between(self):
        _, summary = self.repeated()
        for strategy in summary["strategies"]:
            rounds = strategy["rounds"]
            self.assertEqual(strategy["offered"], 3 * 200)
            self.assertEqual(strategy["sold"], sum(one["sold"] for one in rounds))
            self.assertEqual(len({one["product_ids"][0] for one in rounds}), 3, "a product of its own for each round")
            for name in ["p50_ms", "p99_ms", "achieved_rate"]:
                spread, values = strategy["spread"][name], [one[name] for one in rounds]
                self.assertAlmostEqual(spread["median"], statistics.median(values), 2)
                self.assertAlmostEqual(spread["min"], min(values), 2)
                self.assertAlmostEqual(spread["max"], max(values), 2)

    def test_the_table_of_repeats_shows_medians_and_ranges(self):
        text, _ = self.repeated()
        self.assertIn("2 strategies in turn, 3 rounds of each in rotating order", text)
        self.assertRegex(text, r"(?m)^atomic +VALID +600/1500 +0 +0 +900 ")
        self.assertRegex(text, r"(?m)^ +[\d.]+–[\d.]+ +[\d.]+–[\d.]+ +\d+–\d+$")

    def test_repeats_of_an_odd_load_are_all_judged(self):
        done = self.stack.loadgen("--no-progress", "--strategy", "atomic", "--repeat", "2",
                                  "--items", "3", "--skew", "zipf:1.1", "--dup-rate", "10%", "--stages", "200ms:400..1200",
                                  "--output-format", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        strategy = json.loads(done.stdout)["strategies"][0]
        self.assertEqual(strategy["verdict"], "VALID", strategy["anomalies"])
        for one in strategy["rounds"]:
            self.assertEqual(len(one["product_ids"]), 3)
            ledger = [self.stack.value("inventory", "SELECT count(*) FROM reservation WHERE product_id = :'id'", id=product)
                      for product in one["product_ids"]]
            self.assertEqual(sum(ledger), one["sold"])
            self.assertGreater(ledger[0], ledger[2], "the first product is the most popular")
            self.assertGreater(one["offered"], 160, "some keys were sent twice")

    # ---- thresholds

    def test_thresholds_that_are_kept_end_with_0(self):
        text = self.fire(0, "--strategy", "atomic", "--threshold", "oversell==0", "--threshold", "p( 99 ) < 1m",
                         "--threshold", "busy < 1%")
        self.assertRegex(text, r"\nthresholds\n(  .*\n){3}\nstrategy ")
        self.assertEqual(text.count("✓ ok"), 3)
        self.assertRegex(text, r"✓ ok +atomic +p\( 99 \) < 1m +measured: [\d.]+ m?s\n")
        self.assertIn("every threshold kept", text)

    def test_only_a_missed_threshold_ends_with_99(self):
        text = self.fire(99, "--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES, "--threshold", "p(50)<1us",
                         "--threshold", "sold==200")
        self.assertRegex(text, r"✗ MISSED +atomic +p\(50\)<1us +measured: [\d.]+ m?s\n")
        self.assertEqual(text.count("✗ MISSED"), 2)
        self.assertEqual(text.count("✓ ok"), 2)
        self.assertIn("exit code 99: a threshold was missed", text)

    def test_a_missed_threshold_beside_a_wrong_verdict_ends_with_1(self):
        text = self.fire(1, "--strategy", "none", "--threshold", "twin==0")
        self.assertRegex(text, r"✗ MISSED +none +twin==0 +measured: [1-9]")
        self.assertIn("exit code 1: a verdict is not as expected: none", text)

    def test_a_missed_threshold_beside_an_open_verdict_ends_with_2(self):
        done = self.stack.loadgen("--no-results", "--strategy", "atomic", "-R", "10", "--requests", "3", "--threshold",
                                  "p(50)<1us", "--threshold", "anomalies==0")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\? open +atomic +anomalies==0")

    def test_the_summary_has_the_thresholds(self):
        thresholds = self.summary(99, "--strategy", "atomic", "--threshold", "sold>=200", "--threshold", "max<1us")["thresholds"]
        self.assertEqual([(t["text"], t["strategy"], t["holds"]) for t in thresholds],
                         [("sold>=200", "atomic", True), ("max<1us", "atomic", False)])
        self.assertEqual(thresholds[0]["measured"], 200)

    def test_a_run_is_stopped_when_a_threshold_is_out_of_reach(self):
        done = self.stack.loadgen("--no-progress", "--strategy", "atomic,none", "-R", "200", "-d",
                                  "10m", "--threshold", "p(99)<1h", "--threshold", "sold<50", "--abort-on-fail", "--stock",
                                  "1000000")
        self.assertEqual(done.returncode, 99, done.stdout + done.stderr)
        self.assertIn("stopped by --abort-on-fail in round 1 of 2, atomic", done.stdout)
        self.assertRegex(done.stdout, r"✓ ok +atomic +p\(99\)<1h")
        self.assertRegex(done.stdout, r"✗ MISSED +atomic +sold<50")
        self.assertRegex(done.stdout, r"(?m)^atomic +VALID")
        self.assertNotRegex(done.stdout, r"(?m)^none")

    def test_rounds_end_after_one_that_missed_a_threshold(self):
        text = self.fire(99, "--strategy", "atomic", "--repeat", "3", "--threshold", "sold>=201", "--abort-on-fail")
        self.assertIn("stopped by --abort-on-fail in round 1 of 3", text)

    def test_lower_limits_stop_no_round_before_its_end(self):
        text = self.fire(0, "--strategy", "atomic", "--threshold", "sold>=200", "--threshold", "offered==200",
                         "--abort-on-fail")
        self.assertEqual(text.count("✓ ok"), 2)

    def test_a_threshold_that_cannot_be_read_says_what_can(self):
        cases = [("speed<1", ["there is no metric", "early-sold-out", "service_p(N)", "'p(99)<250ms'"]),
                 ("oversell=0", ["== != < <= > >="]), ("p(99)<250", ["write it like 250ms"]), ("p<1s", ["p(99)"])]
        for text, words in cases:
            done = self.stack.loadgen("--threshold", text)
            self.assertEqual(done.returncode, 64)
            for word in words:
                self.assertIn(word, done.stderr)
        for args, word in [(["--no-judge", "--threshold", "oversell==0"], "--no-judge gives none"),
                           (["--abort-on-fail"], "needs a --threshold")]:
            done = self.stack.loadgen(*args)
            self.assertEqual(done.returncode, 64)
            self.assertIn(word, done.stderr)

    # ---- costs and their reasons

    def test_equal_work_is_shown(self):
        text = self.fire(0, "--strategy", "none,redis,atomic", "--expect", "none=" + LOST_UPDATES)
        cost = text[text.index("\ncost "):]
        self.assertRegex(cost, r"(?m)^atomic +- +- +- +[\d.]+ [mµ]?s +1\.0 +0\.0 +0\.0 +- +-$")
        self.assertRegex(cost, r"(?m)^redis +[\d.]+ [mµ]?s +[\d.]+ [mµ]?s +[\d.]+ [mµ]?s +[\d.]+ [mµ]?s +2\.0 +[\d.]+ +[\d.]+ "
                               r"+\d+/s +\d+/s$")
        self.assertRegex(cost, r"redis holds its key [\d.]+ [mµ]?s")

    def test_a_violation_is_told_in_prose(self):
        text = self.fire(0, "--strategy", "none", "--expect", "none=" + LOST_UPDATES)
        self.assertIn("none: VIOLATED, as expected\n  TWIN, ", text)
        self.assertRegex(text, r"    A = order [0-9a-f-]{36} via inventory-\d")
        self.assertRegex(text, r"    B = order [0-9a-f-]{36} via inventory-\d")
        self.assertIn(f"results: {self.latest()}\n", text)

    # ---- colours

    def on_terminal(self, *args, **env):
        controller, terminal = pty.openpty()
        environment = {**self.stack.env, **self.stack.settings, "TERM": "xterm", **env}
        if "NO_COLOR" not in env:
            environment.pop("NO_COLOR", None)
        run = subprocess.Popen([str(ROOT / BUILD / "bin/loadgen"), "--no-results", *QUICK, "-d", "200ms", *args], cwd=ROOT, env=environment,
                               stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL)
        os.close(terminal)
        output = b""
        try:
            while part := os.read(controller, 65536):
                output += part
        except OSError:  # the reader has closed
            pass
        os.close(controller)
        run.wait(timeout=60)
        return output.decode()

    def test_only_a_terminal_sees_colours_and_may_decline_them(self):
        args = ["--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES]
        shown = self.on_terminal(*args)
        self.assertIn("\033[32mVALID\033[0m", shown)
        self.assertRegex(shown, "\033\\[31mVIOLATED TWIN[^\033]*\033\\[0m")
        self.assertNotIn("\033", self.on_terminal(*args, NO_COLOR="1"))
        self.assertNotIn("\033", self.on_terminal(*args, "--output-format", "json"))
        self.assertIn("\033", self.on_terminal(*args, NO_COLOR=""))
        self.assertNotIn("\033", self.fire(0, *args, "-d", "200ms"))

    # ---- two runs side by side

    def diff(self, code, *args):
        done = self.stack.loadgen("diff", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_two_runs_are_compared(self):
        self.fire(0, "--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES, "--name", "before")
        before = self.latest()
        self.fire(0, "--strategy", "atomic,redis", "--name", "after")
        after = self.latest()
        text = self.diff(0, before, after).stdout
        self.assertIn('"before"', text)
        self.assertRegex(text, r"(?m)^atomic +A +VALID +200 +0 ")
        self.assertIn("only in A: none\n", text)
        self.assertIn("only in B: redis\n", text)
        self.assertNotIn("the conditions differ", text)
        self.assertNotIn("\033", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)

    def test_a_run_that_became_worse_ends_with_1(self):
        args = ["--strategy", "redis,ttl=1s"]
        self.fire(0, *args)
        before = self.latest()
        worse = Path(self.results.name) / "worse"
        worse.mkdir(exist_ok=True)
        summary = json.loads((Path(before) / "summary.json").read_text())
        summary["settings"]["seed"] = 2
        summary["strategies"][0].update(verdict="VIOLATED", anomalies=[{"name": "TWIN", "text": "", "count": 3, "examples": []}])
        (worse / "summary.json").write_text(json.dumps(summary))
        text = self.diff(1, before, str(worse)).stdout
        self.assertRegex(text, r"(?m)^ +B/A +worse ")
        self.assertIn("redis,ttl=1s: TWIN 0 → 3 (appeared)", text)
        self.assertIn("  seed: 1 → 2\n", text)
        compared = json.loads(self.diff(1, before, str(worse), "--output-format", "json").stdout)
        self.assertIs(compared["is_worse"], True)
        self.assertEqual(compared["strategies"][0]["anomaly_counts"], [{"name": "TWIN", "a": 0, "b": 3}])
        self.assertEqual(compared["unequal"], [{"setting": "seed", "a": 1, "b": 2}])
        self.assertIn("TWIN 3 → 0 (gone)", self.diff(0, str(worse), before).stdout)

    def test_a_folder_that_is_no_run_is_refused_by_name(self):
        self.fire(0, "--strategy", "atomic")
        run = self.latest()
        with tempfile.TemporaryDirectory() as folder:
            summary = Path(folder) / "summary.json"
            cases = [(66, None, "has no summary.json"), (66, "{", "is not readable JSON: line 1: "), (66, "{}", "is not the summary of a run"),
                     (66, '{"schema_version": 1, "strategies": []}', "schema_version 1"),
                     (64, '{"schema_version": 2, "strategies": []}', "no strategy in common")]
            for code, text, words in cases:
                if text is not None:
                    summary.write_text(text)
                for args in [(folder, run), (run, folder)]:
                    done = self.diff(code, *args)
                    self.assertIn(words, done.stderr)
                    self.assertEqual(done.stdout, "")
            self.diff(64, run)


if __name__ == "__main__":
    unittest.main()

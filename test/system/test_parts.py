"""A plan that several processes send: plan, send and merge; --parts on one machine; lost parts, wrong parts, Ctrl-C."""

import datetime
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import LOST_UPDATES, SystemTest, wait_for

PLAN = ["--strategy", "atomic", "--seed", "7", "--stock", "50", "-R", "800", "-d", "200ms"]


def lines(folder, kind):
    return [line for line in map(json.loads, (Path(folder) / "history.ndjson").read_text().splitlines()) if line["type"] == kind]


class Parts(SystemTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return f"{self.folder}/{name}"

    def says(self, code, *args, text=""):
        done = self.stack.loadgen(*args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(text, done.stdout + done.stderr)
        return done

    def plan(self, *args, name="plan"):
        self.says(0, "plan", *PLAN, *args, self.path(name))
        return self.path(name)

    def send(self, plan, *parts, name="", clocks=()):
        """Sends the parts at one moment, as several hosts do. Each may have a clock of its own. Returns their folders."""
        at = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        folders = [self.path(f"{name}{part.replace('/', '-of-')}") for part in parts]
        runs = []
        for i, (part, folder) in enumerate(zip(parts, folders)):
            under = ["env", f"LD_PRELOAD={self.clock()}", f"OTHER_CLOCK={clocks[i]}"] if clocks else []
            runs.append(self.stack.start_loadgen("send", "--part", part, "--plan", plan, "--at", at, "--no-progress", folder,
                                                 under=under))
        for run in runs:
            output, errors = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, output + errors)
        return folders

    def clock(self):
        """A library that gives a process another monotonic clock. Time namespaces are whole seconds apart, and do not drift."""
        library = Path(self.path("other_clock.so"))
        if not library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(Path(__file__).with_name("other_clock.c"))], check=True)
        return library

    def merge(self, code, *folders, text=""):
        done = self.says(code, "merge", *folders, "--no-results=false", "--results", self.path("results"), "--output-format", "json",
                         text=text)
        return json.loads(done.stdout)["strategies"][0] if code in (0, 1, 2) else None

    def test_parts_of_a_plan_make_one_run(self):
        folders = self.send(self.plan("--dup-rate", "10%"), "1/3", "2/3", "3/3")
        strategy = self.merge(0, *folders)
        sent = [line for folder in folders for line in lines(folder, "request")]
        self.assertEqual((strategy["verdict"], strategy["outcomes"]["sold"], sum(strategy["outcomes"].values())),
                         ("VALID", 50 + sum(line.get("is_repeat", False) and line["outcome"] == "sold" for line in sent), len(sent)))
        self.says(0, "check", self.path("results/latest"), text="the same verdicts")
        merged = lines(self.path("results/latest"), "request")
        self.assertEqual([line["number"] for line in merged], sorted(line["number"] for line in sent))
        self.assertEqual(sorted(line["received"] - 1000 * line["received_slack_us"] - line["planned"] for line in merged),
                         sorted(line["received"] - line["planned"] for line in sent))
        for name in ["summary.json", "report.html", "latency.hlog", "rounds.csv"]:
            self.assertTrue((Path(self.path("results/latest")) / name).is_file())

    def test_a_wrong_strategy_is_caught_by_parts(self):
        folders = self.send(self.plan("--strategy", "none"), "1/2", "2/2")
        self.assertEqual(self.merge(1, *folders)["verdict"], "VIOLATED")

    def test_a_part_that_is_missing_or_cut_proves_nothing_and_is_named(self):
        folders = self.send(self.plan(), "1/3", "2/3", "3/3")
        strategy = self.merge(2, folders[0], folders[2], text="part 2 of 3 is lost")
        self.assertGreater(strategy["outcomes"]["unknown"], 0)
        self.assertGreater(strategy["outcomes"]["sold"], 0)
        os.truncate(f"{folders[1]}/history.ndjson", 5000)
        self.merge(2, *folders, text=f"part 2 of 3 is lost: {folders[1]}/history.ndjson is cut")
        self.says(2, "check", self.path("results/latest"), text="the same verdicts")

    def test_parts_that_do_not_belong_together_are_refused(self):
        one, two = self.plan(), self.plan("--seed", "8", name="other")
        here, there = self.send(one, "1/2", "2/2"), self.send(two, "2/2", name="other-")
        self.merge(66, here[0], there[0], text='its "seed" is 8, and not 7')
        self.merge(66, here[0], here[0], text="are both part 1 of 2")
        self.merge(66, self.path("nowhere"), text="no part is whole")
        later = "2096-01-01T00:00:00Z"
        self.says(66, "send", "--part", "1/2", "--plan", self.path("nowhere"), "--at", later, self.path("x"))
        self.says(66, "send", "--part", "1/2", "--plan", "-", text="stdin does not have the plan of a run")
        self.says(64, "send", "--part", "1/2", "--plan", one, "--at", later, here[0], text="exists")
        self.says(64, "send", "--part", "1/2", "--plan", one, "--at", "2026-01-01T00:00:00Z", self.path("x"), text="has passed")

    def test_clocks_that_are_apart_or_drift_accuse_no_correct_shop(self):
        for clocks in [["50000000,0,0,0", "0,0,0,0", "-50000000,0,0,0"], ["0,200,0,0", "0,-200,0,0", "3600000000000,200,0,0"]]:
            with self.subTest(clocks=clocks):
                name = clocks[0] + "-"
                folders = self.send(self.plan("-R", "1600", "-d", "1s", "--stock", "1000", name=name + "plan"), "1/3", "2/3", "3/3",
                                    name=name, clocks=clocks)
                done = self.stack.loadgen("merge", *folders, "--no-results=false", "--results", self.path("results"))
                self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
                strategy = json.loads((Path(self.path("results/latest")) / "summary.json").read_text())["strategies"][0]
                self.assertGreater(strategy["moments_known_to_ms"], 0)
                self.assertRegex(" ".join(done.stdout.split()),
                                 f"moments are known to ±[0-9.]+ ms: {strategy['unsure_pairs']} pairs count as overlapping that may not have")

    def test_a_clock_that_steps_is_named_and_accuses_nobody(self):
        folders = self.send(self.plan("-R", "400", "-d", "3s", "--stock", "500"), "1/3", "2/3", "3/3",
                            clocks=["0,0,0,0", "0,0,500000000,4000000000", "0,0,0,0"])
        done = self.says(2, "merge", *folders)
        self.assertRegex(" ".join(done.stdout.split()),
                         "the clock of part 2 of 3, or that of the database, stepped by [0-9]+ ms, [0-9.]+ s after its start")

    def test_several_clocks_hide_no_lost_update(self):
        folders = self.send(self.plan("--strategy", "none"), "1/2", "2/2", clocks=["50000000,0,0,0", "0,200,0,0"])
        self.assertEqual(self.merge(1, *folders)["verdict"], "VIOLATED")

    def test_processes_of_one_machine_send_one_schedule_and_are_summed_exactly(self):
        plans = []
        for parts in ["1", "2", "3"]:
            with self.subTest(parts=parts):
                done = self.says(0, *PLAN, "--dup-rate", "0", "--parts", parts, "--no-results=false", "--results",
                                 self.path("results"), "--output-format", "json")
                strategy = json.loads(done.stdout)["strategies"][0]
                self.assertEqual((strategy["verdict"], strategy["outcomes"]["sold"], sum(strategy["outcomes"].values())),
                                 ("VALID", 50, 160))
                self.says(0, "check", self.path("results/latest"), text="the same verdicts")
                plans.append([(line["number"], line["planned"]) for line in lines(self.path("results/latest"), "request")])
                self.assertEqual([path.name for path in Path(self.path("results/latest")).iterdir() if path.name[0] == "."], [])
        self.assertEqual([plans[0]] * 3, plans)

    def test_the_view_has_the_percentiles_of_all_processes(self):
        done = self.says(0, *PLAN, "-d", "1s", "--stock", "1000", "--parts", "2", "--json-progress", "--output-format", "json")
        shown = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        told = json.loads(done.stdout)["strategies"][0]["latency_ms"]
        self.assertEqual((shown[-1]["verdict"], shown[-1]["p99_ms"]), ("VALID", told["p99"]))
        self.assertTrue(any(0 < line["p99_ms"] <= told["max"] for line in shown[:-1] if line["p99_ms"] is not None), shown)

    def test_a_limit_that_is_lost_stops_all_processes(self):
        done = self.says(99, *PLAN, "-R", "200", "-d", "60s", "--stock", "100000", "--parts", "2", "--threshold", "max<1us",
                         "--abort-on-fail", "--output-format", "json", "--no-results=false", "--results", self.path("results"))
        summary = json.loads(done.stdout)
        strategy = summary["strategies"][0]
        self.assertEqual((summary["is_interrupted"], strategy["verdict"], strategy["outcomes"]["unsent"], strategy["rounds"][0]["is_aborted"]),
                         (False, "VALID", 0, True))
        self.says(99, "check", self.path("results/latest"), text="the same verdicts")

    def test_two_strategies_are_sent_by_parts(self):
        done = self.says(0, "--strategy", "none,atomic", "--expect", "none=" + LOST_UPDATES, "--parts", "2", "-d", "500ms",
                         "--output-format", "json")
        self.assertEqual([s["verdict"] for s in json.loads(done.stdout)["strategies"]], ["VIOLATED", "VALID"])

    def children(self, run):
        found = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()
        return [int(pid) for pid in found]

    def sending(self, *args):
        """A run by two parts that has sold a unit, and its processes."""
        run = self.stack.start_loadgen("--strategy", "atomic", "-R", "200", "-d", "60s", "--stock", "100000", "--parts", "2",
                                       "--output-format", "json", *args)
        self.addCleanup(run.kill)
        before = self.stack.value("inventory", "SELECT count(*) FROM reservation")
        wait_for("a sale", lambda: self.stack.value("inventory", "SELECT count(*) FROM reservation") > before)
        return run, self.children(run)

    def test_a_process_that_dies_is_named_and_the_rest_is_kept(self):
        run, processes = self.sending("--strategy", "atomic,none")
        self.assertEqual(len(processes), 2)
        os.kill(processes[1], signal.SIGKILL)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=120)
        summary = json.loads(output)
        self.assertIn("part 2 of 2 is lost: it was killed by signal 9", output + errors)
        self.assertEqual([(s["verdict"], s["outcomes"]["sold"] > 0) for s in summary["strategies"]], [("INCONCLUSIVE", True)])

    def test_a_process_that_stands_still_is_given_up_and_named(self):
        run, processes = self.sending()
        os.kill(processes[1], signal.SIGSTOP)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=120)
        self.assertIn("part 2 of 2 is lost: it was silent for 15 s, and was given up", output + errors)
        self.assertEqual([(s["verdict"], s["outcomes"]["sold"] > 0) for s in json.loads(output)["strategies"]], [("INCONCLUSIVE", True)])

    def test_ctrl_c_ends_all_processes_and_keeps_what_they_sent(self):
        run, processes = self.sending()
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 130, errors)
        self.assertGreater(json.loads(output)["strategies"][0]["sold"], 0)
        for pid in processes:
            self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_a_second_ctrl_c_leaves_no_folder_of_their_histories(self):
        run, processes = self.sending("--no-results=false", "--results", self.path("results"))
        self.addCleanup(os.kill, processes[1], signal.SIGKILL)
        os.kill(processes[1], signal.SIGSTOP)  # so the first Ctrl-C does not end the run
        run.send_signal(signal.SIGINT)
        while "interrupt again to stop at once" not in (line := run.stderr.readline()):
            self.assertNotEqual(line, "", "the run has ended")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=120)
        self.assertEqual((run.returncode, list(Path(self.path("results")).iterdir())), (130, []))

    def test_processes_end_when_their_run_is_killed(self):
        run, processes = self.sending()
        run.kill()
        run.communicate()
        for pid in processes:
            wait_for("the end of a process", lambda pid=pid: not Path(f"/proc/{pid}").exists() or
                     "Z" in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0])


if __name__ == "__main__":
    unittest.main()

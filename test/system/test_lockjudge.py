"""lockjudge on real workers and a real Redis: a lock that is wrong on purpose has two holders, lockkit is safe with its fence; and
workers, files and signals that are in the way are told."""

import json
import os
import random
import re
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema

from harness import BUILD, ROOT, Stack, wait_for

REPORT, HISTORY = (jsonschema.Draft202012Validator(json.loads((ROOT / "lockjudge" / name).read_text()))
                   for name in ("report/report.schema.json", "history/history.schema.json"))
SET_NX = ("sh", "lockjudge/adapters/set_nx.sh", "{url}")
LOCKKIT = (f"{BUILD}/bin/lockjudge-lockkit", "{url}")


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def own_cgroup():
    """The cgroup of this process. None: no cgroup may be made in it."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
    names = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::/")]
    folder = Path(mounts[0] + names[0]) if mounts and names else None
    return folder if folder and (folder / "cgroup.procs").exists() and os.access(folder / "cgroup.procs", os.W_OK) else None


class LockJudge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers").up()
        cls.addClassCleanup(cls.stack.down)
        cls.dir = Path(tempfile.mkdtemp(prefix="lockjudge-test-"))
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", str(cls.dir)])

    def run_judge(self, *args, code=0):
        done = subprocess.run([str(ROOT / BUILD / "bin/lockjudge"), *args], cwd=ROOT, capture_output=True, text=True, timeout=300,
                              env=dict(os.environ, LOCKJUDGE_URL=self.stack.settings["TEST_REDIS"]), stdin=subprocess.DEVNULL)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def judge(self, faults, *args, worker=SET_NX, code=0):
        """The rows of a run, by name. A run that the machine disturbed says so, and is repeated."""
        for _ in range(5):
            done = self.run_judge("--json", "-t", "1s", "-f", faults, *args, "--", *worker, code=None)
            if done.returncode != 2:
                break
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.report = json.loads(done.stdout)
        REPORT.validate(self.report)
        return {row["fault"]: row for row in self.report["rows"]}

    def test_set_nx_with_a_blind_del_has_two_holders_under_a_stop(self):
        row = self.judge("stop-held", code=1)["stop-held"]
        found = {finding["word"]: finding for finding in row["found"]}
        self.assertEqual(row["verdict"], "untold")
        self.assertFalse(row["is_expected"])
        self.assertLessEqual({"STALE-WRITE", "NO-FENCE"}, set(found))
        history = found["STALE-WRITE"]["history"]
        self.assertTrue(any(line.endswith("is stopped") for line in history), history)
        self.assertTrue(any(line.endswith("runs again") for line in history), history)
        self.assertLess(len(history), 12)

    def test_lockkit_is_safe_under_what_its_program_does(self):
        rows = self.judge("fork-held,fork-free-held,load-held,ahead-held,ahead-wait,behind-held", worker=LOCKKIT)
        self.assertEqual(len(rows), 6)
        self.assertLessEqual({row["verdict"] for row in rows.values()}, {"safe", "fenced"}, rows)

    def test_a_worker_that_answers_nonsense_to_fork_or_load_is_broken(self):
        script = ("echo ready caps=fork,load,renew; while read -r verb rest; do case $verb in release) echo released;; "
                  "fork | load) echo %s;; *) echo held -;; esac; done")
        for answer, row, reason in [("held -", "fork-held", 'answered "held" to "fork"'), ("forked 1", "fork-held", "process id of the child"),
                                    ("forked $PPID", "fork-free-held", "it is not in its group"), ("loads", "load-held", '"loads" begins with'),
                                    ("released", "load-held", 'answered "released" to "load"'),
                                    ("error too many", "load-held", "cannot load its client: too many")]:
            with self.subTest(answer):
                done = self.run_judge("-f", row, "--json", "--", "sh", "-c", script % answer, code=2)
                judged = json.loads(done.stdout)["rows"][0]
                self.assertEqual(judged["verdict"], "not-judged")
                self.assertIn(reason, judged["reason"])

    def test_a_worker_that_cannot_fork_is_not_asked(self):
        self.assertEqual(self.judge("load-held")["load-held"]["reason"], "the worker does not say `renew,load`")
        old = "echo ready caps=ttl; while read -r a; do echo busy; done"
        for faults in "fork-held", "load-held,fork-held":
            done = self.run_judge("-f", faults, "--json", "--", "sh", "-c", old)
            for row in json.loads(done.stdout)["rows"]:
                self.assertEqual(row["verdict"], "not-asked")
                self.assertIn("the worker does not say `", row["reason"])

    def test_a_worker_that_goes_around_the_proxy_is_not_asked(self):
        grants = "echo ready; while read -r v a; do case $v in release) echo released;; *) echo held -;; esac; done"
        for row in self.judge("freeze-held,cut-reply", worker=("sh", "-c", grants, "{url}")).values():
            self.assertEqual(row["verdict"], "not-asked")
            self.assertRegex(row["reason"], "worker [123] made no connection by {url}")

    def test_it_loses_the_lock_when_it_works_for_longer_than_the_ttl(self):
        row = self.judge("work-held", "--expect", "work-held=untold")["work-held"]
        self.assertIn("NO-RENEWAL", [finding["word"] for finding in row["found"]])

    def test_lockkit_is_safe_with_its_fence(self):
        rows = self.judge("stop-held,stop-write,stop-release,kill-held", worker=LOCKKIT)
        self.assertEqual({name: row["verdict"] for name, row in rows.items()},
                         {"stop-held": "safe", "stop-write": "fenced", "stop-release": "safe", "kill-held": "safe"})
        self.assertGreater(rows["stop-write"]["refused"], 0)
        self.assertNotIn("NO-FENCE", str(rows["stop-write"]["found"]))
        self.assertIn("fence", self.report["caps"])

    def test_lockkit_is_safe_with_any_seed(self):
        """docs/lockjudge.md has the command for many seeds; these are a few, new ones each time."""
        seed = str(random.randrange(1_000_000_000))
        with self.subTest(seed=seed):
            self.judge("stop-held,stop-write,stop-wait,drop-release,cut-reply", "-t", "500ms", "--trials", "2", "--seed", seed,
                       worker=LOCKKIT)

    def test_expectations_decide_the_exit_code(self):
        self.judge("stop-held", "--expect", "all=safe", "--expect", "stop-held=told|untold")
        self.judge("kill-held", "--expect", "kill-held=untold", worker=LOCKKIT, code=1)
        self.judge("work-held", "--expect", "work-held=untold+NO-RENEWAL+TWIN-UNAWARE")
        self.judge("kill-held", "--expect", "kill-held=safe+STUCK", worker=LOCKKIT, code=1)
        self.assertIn("it is longer than 254 bytes", self.run_judge("--expect", f"all={'safe|' * 60}safe", "--", "true", code=64).stderr)

    def test_a_page_goes_to_a_file_of_its_own(self):
        for option in "--page", "--junit", "--history":
            self.assertIn("the report is on standard output", self.run_judge(option, "-", "--", "true", code=64).stderr)
        with open(self.dir / "out", "w") as out:
            done = subprocess.run([str(ROOT / BUILD / "bin/lockjudge"), "--page", "/dev/stdout", "--", "true"], stdout=out, stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual(done.returncode, 74)
        self.assertIn("/dev/stdout is standard output", done.stderr)

    def test_one_seed_places_the_same_faults_again(self):
        first = self.judge("kill-held,kill-wait", "--seed", "7", worker=LOCKKIT)
        file = self.dir / "run.json"
        file.write_text(json.dumps(self.report))
        done = self.run_judge("--replay", str(file), "--json", code=None)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        again = json.loads(done.stdout)
        self.assertEqual((again["seed"], again["ttl_ms"], again["command"]), (7, 1000, list(LOCKKIT)))
        for row in again["rows"]:
            if row["verdict"] != "not-judged":
                self.assertEqual((row["victim"], row["grant"]), (first[row["fault"]]["victim"], first[row["fault"]]["grant"]))
        file.write_text("{}")
        self.assertIn("is not the JSON of a run", self.run_judge("--replay", str(file), code=64).stderr)

    def test_junit_and_text_tell_the_same(self):
        file, page = self.dir / "junit.xml", self.dir / "page.html"
        done = self.run_judge("-t", "1s", "-f", "stop-held,pause-held", "--junit", str(file), "--page", str(page), "--", *SET_NX, code=None)
        suite = ElementTree.parse(file).getroot()[0]
        self.assertEqual(suite[0].get("name"), "stop-held")
        if done.returncode != 2: # the machine stalled
            self.assertEqual((done.returncode, suite.get("failures")), (1, "1"))
            self.assertIn("two holders, untold", suite[0][0].get("message"))
            self.assertIn("two holders, untold", done.stdout)
            self.assertIn("is stopped\n", done.stdout)
            for piece in ("two holders, untold", "<svg ", 'class="fault"', 'class="believes"', "is stopped\n"):
                self.assertIn(piece, page.read_text())
            self.assertNotRegex(page.read_text(), r"(?:src|href)=.?http")
            self.assertEqual(set(re.findall('href="#([^"]*)"', page.read_text())), {"stop-held"})
            self.assertNotIn(self.stack.settings["TEST_REDIS"], done.stdout + page.read_text())  # it has a password

    def test_a_kept_history_is_judged_again(self):
        row = self.judge("stop-held", "--history", str(self.dir / "kept"), code=1)["stop-held"]
        file = self.dir / "kept/stop-held.ndjson"
        for line in file.read_text().splitlines():
            HISTORY.validate(json.loads(line))
        told = self.run_judge("judge", str(file), code=1).stdout
        self.assertTrue(told.startswith("history"), told)
        self.assertIn("two holders, untold", told)
        for found in row["found"]:
            self.assertIn(found["text"], told)
        held = '{"kind": "acquire", "at_ns": %d, "end_ns": %d, "worker": %d, "result": "held", "fence": 5, "ttl_ms": 100, "wait_ms": 0}\n'
        file.write_text(held % (1, 2, 0) + '{"kind": "release", "at_ns": 3, "end_ns": 4, "worker": 0, "result": "released"}\n' + held % (5, 6, 1))
        self.assertIn("FENCE-FALLS", self.run_judge("judge", str(file), code=1).stdout)
        file.write_text("")
        self.assertIn("no worker got the lock", self.run_judge("judge", str(file), code=2).stdout)
        file.write_text('{"kind": "dance"}')
        self.assertIn('line 1: it has no known "kind"', self.run_judge("judge", str(file), code=66).stderr)
        self.assertIn("cannot read", self.run_judge("judge", "/no/such/file", code=66).stderr)

    def test_workers_that_do_not_work_are_told(self):
        for script, reason in [("echo hello", 'its line is no line of the protocol: "hello" begins with no word of the protocol'),
                               ("echo no module named redis >&2; exit 1", "it ended with exit code 1: no module named redis"),
                               ("exec sleep 1000", "it is silent: no answer to \"(its start)\" within 300 ms")]:
            self.assertIn(f"lockjudge: worker 1: {reason}", self.run_judge("--start", "300ms", "--", "sh", "-c", script, code=69).stderr)
        self.assertIn("no such file", self.run_judge("--", "/no/such/worker", code=69).stderr)
        # These begin well.
        done = self.run_judge("-f", "none", "--", "sh", "-c", "echo ready; read -r a; echo no pipe >&2; exec >&-; exec sleep 1000", code=2)
        self.assertIn("it closed its output, and runs on: no pipe\n", done.stdout)
        done = self.run_judge("-f", "none", "--json", "--", "sh", "-c", "echo ready caps=ttl; read -r a; echo perhaps", code=2)
        self.assertIn('"perhaps" begins with no word', json.loads(done.stdout)["rows"][0]["reason"])
        done = self.run_judge("-f", "none", "--json", "--", "sh", "-c", "echo ready; read -r a; echo perhaps", code=2)
        self.assertIn('"perhaps" begins with no word', json.loads(done.stdout)["rows"][0]["reason"])

    def test_a_word_of_any_trial_is_told(self):
        """A lock by mkdir, which has one fence for all in its second trial alone."""
        folder = self.dir / "fence-lock"
        script = ("echo ready; while read -r verb name rest; do case $verb in acquire) fence=-; case $name in *-1) fence=5;; esac; "
                  f"mkdir {folder} && echo held $fence || echo busy;; check) echo held;; release) rmdir {folder}; echo released;; esac; done")
        for _ in range(5): # a worker that is killed at the end of a trial may leave the folder
            subprocess.run(["rm", "-rf", str(folder)], check=True)
            done = self.run_judge("-f", "none", "-t", "1s", "--trials", "3", "--json", "--", "sh", "-c", script, code=None)
            row = json.loads(done.stdout)["rows"][0]
            if row["verdict"] != "not-judged":
                break
        self.assertEqual((done.returncode, row["verdict"], [found["word"] for found in row["found"]]), (1, "safe", ["FENCE-FALLS"]), row)

    def test_a_row_without_all_its_trials_is_not_judged(self):
        """A lock by mkdir is right without faults; its worker ends in the second trial."""
        script = ("echo ready; while read -r verb name rest; do case $verb in acquire) case $name in *-1) exit 9;; esac; "
                  "%s && echo held - || echo busy;; check) echo held;; release) rmdir %s; echo released;; esac; done")
        folder = self.dir / "mkdir-lock"
        for grant, verdict, code in [(f"mkdir {folder}", "not-judged", 2), ("true", "untold", 1)]:
            for _ in range(5): # a stall of the machine may spoil the first trial
                subprocess.run(["rm", "-rf", str(folder)], check=True)
                done = self.run_judge("-f", "none", "-t", "1s", "--trials", "3", "--json", "--", "sh", "-c", script % (grant, folder), code=None)
                row = json.loads(done.stdout)["rows"][0]
                if row["trials"] > 0:
                    break
            self.assertEqual((row["verdict"], row["trials"], done.returncode), (verdict, 1, code), row)
            self.assertEqual(bool(row["found"]), verdict == "untold")
            self.assertIn("ended with exit code 9" if verdict == "not-judged" else "", row["reason"])

    def test_a_lock_that_nobody_gets_is_not_judged(self):
        busy = "echo ready caps=ttl; while read -r a; do echo error the server is gone; done"
        done = self.run_judge("-t", "100ms", "-f", "none,stop-held", "--json", "--", "sh", "-c", busy, code=2)
        self.assertEqual({row["reason"] for row in json.loads(done.stdout)["rows"]}, {"no worker got the lock: the server is gone"})

    def test_bad_usage_is_told(self):
        for args, reason in [([], "no worker: lockjudge"), (["x", "--", "true"], "the worker's command goes behind --"),
                             (["-f", "nonsense", "--", "true"], "these are: none work-held"),
                             (["-e", "stop-held", "--", "true"], "--expect takes ROW=VERDICT"),
                             (["-e", "stop-held=good", "--", "true"], 'no verdict "good"; these are: safe|fenced|told|untold'),
                             (["-e", "stop-held=safe+BAD", "--", "true"], 'no word "BAD"; these are: TWIN-UNAWARE|STALE-WRITE'),
                             (["-e", "stopheld=safe", "--", "true"], "no row of this run has this name"),
                             (["-u", "", "--", "sh", "{url}"], "give --url URL"),
                             (["--junit", "x", "--page", "x", "--", "true"], "--junit and --page name the same file"),
                             (["judge"], "judge takes one FILE"), (["judge", "x", "--seed", "2"], "--seed has no effect on judge"),
                             (["self-test", "x"], "self-test takes no argument"), (["self-test", "--json"], "--json has no effect on self-test"),
                             (["--replay", "x", "--ttl", "1s"], "--ttl has no effect on --replay"),
                             (["--replay", "x", "--", "true"], "--replay has its own worker")]:
            self.assertIn(reason, self.run_judge(*args, code=64).stderr)
        self.assertIn("Not a directory", self.run_judge("--history", "/dev/null", "--", "true", code=74).stderr)

    def test_the_schemas_are_schemas(self):
        for schema in REPORT, HISTORY:
            schema.check_schema(schema.schema)

    def test_the_page_has_the_rows_that_it_lists(self):
        rows = dict(line.split()[:2] for line in self.run_judge("rows").stdout.splitlines())
        self.assertEqual({rows["none"], rows["stop-held"], rows["cut-held"], rows["flush-held"]}, {"worker", "network", "server"})
        page = (ROOT / "docs/lockjudge.md").read_text()
        self.assertEqual([name for name in rows if f"`{name}`" not in page], [])

    def test_the_oracle_finds_what_is_planted(self):
        self.assertIn(" 0 judged wrongly", self.run_judge("self-test").stdout)

    def test_an_interrupt_leaves_no_process(self):
        pids = self.dir / "pids"
        script = f"sleep 1000 & echo $$ $! >>{pids}; echo ready caps=ttl; while read -r a; do echo busy; done"
        old = self.dir / "old.xml"
        old.write_text("an older report")
        for number in signal.SIGINT, signal.SIGTERM:
            pids.write_text("")
            with subprocess.Popen([str(ROOT / BUILD / "bin/lockjudge"), "-f", "none", "-t", "1m", "--junit", str(old), "--", "sh", "-c", script],
                                  cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                wait_for("four workers", lambda: len(pids.read_text().splitlines()) == 4)
                run.send_signal(number)
                run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130)
            self.assertEqual(old.read_text(), "an older report")
            for pid in pids.read_text().split():
                wait_for("the end of each worker and its child", lambda: is_gone(pid))

    def test_a_second_interrupt_ends_a_command_of_the_server_that_hangs(self):
        pids = self.dir / "hanging"
        pids.write_text("")
        with subprocess.Popen([str(ROOT / BUILD / "bin/lockjudge"), "-f", "pause-held", "--server", f"echo $$ >>{pids}; exec sleep 1000;", "--",
                               "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            wait_for("a command", pids.read_text)
            while run.poll() is None: # two that come at once may count as one
                run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)
        for pid in pids.read_text().split():
            wait_for("the end of the command", lambda: is_gone(pid))

    def test_any_error_text_keeps_the_files_whole(self):
        file, kept = self.dir / "any.xml", self.dir / "any"
        script = ("echo ready; while read -r v a; do case $v in acquire) echo held -;; check) echo held;; *) "
                  "printf 'error <&\"\\357\\277\\277%s\\n' " + "ä" * 100 + ";; esac; done")
        done = self.run_judge("-f", "none", "-t", "1s", "--junit", str(file), "--history", str(kept), "--json", "--", "sh", "-c", script, code=None)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        self.assertEqual(ElementTree.parse(file).getroot()[0][0].get("name"), "none")
        for line in (kept / "none.ndjson").read_text().splitlines() if done.returncode == 1 else []:
            HISTORY.validate(json.loads(line))

    def test_an_interrupt_ends_a_child_that_left_its_group(self):
        folder = own_cgroup()
        if not folder:
            self.skipTest("no cgroup can be made here")
        pids = self.dir / "left"
        pids.write_text("")
        script = f"setsid sleep 1000 & echo $! >>{pids}; echo ready; while read -r a; do echo busy; done"
        with subprocess.Popen([str(ROOT / BUILD / "bin/lockjudge"), "-f", "stop-wait", "-t", "1m", "--", "sh", "-c", script], cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            wait_for("three children", lambda: len(pids.read_text().splitlines()) == 3)
            self.assertEqual(len(list(folder.glob(f"lockjudge-{run.pid}-*"))), 3)
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
        for pid in pids.read_text().split():
            wait_for("the end of each child", lambda: is_gone(pid))
        self.assertEqual(list(folder.glob(f"lockjudge-{run.pid}-*")), [])

    def test_the_next_run_removes_the_cgroups_of_one_that_was_killed(self):
        folder = own_cgroup()
        if not folder:
            self.skipTest("no cgroup can be made here")
        worker = ("sh", "-c", f"echo $$ >>{self.dir}/killed; echo ready; trap '' HUP TERM; while :; do sleep 1; done")
        with subprocess.Popen([str(ROOT / BUILD / "bin/lockjudge"), "-f", "none", "-t", "1m", "--", *worker], cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            wait_for("four workers", lambda: len(list(folder.glob(f"lockjudge-{run.pid}-*"))) == 4)
            run.kill()
        self.assertEqual(len(list(folder.glob(f"lockjudge-{run.pid}-*"))), 4)

        def are_removed():
            self.run_judge("-f", "none", "-t", "100ms", "--", "sh", "-c", "exit 1", code=69)
            return not list(folder.glob(f"lockjudge-{run.pid}-*"))

        wait_for("no cgroup", are_removed)


if __name__ == "__main__":
    unittest.main()

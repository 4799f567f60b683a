"""lockjudge's pairs of faults, on a real Redis: a lock that is wrong on purpose has two holders, lockkit writes nothing past its
fence, and one seed places the same pair again."""

import json
import os
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, Stack

SET_NX = ("sh", "lockjudge/adapters/set_nx.sh", "{url}")
LOCKKIT = (f"{BUILD}/bin/lockjudge-lockkit", "{url}")
SERVER = ("--server", "scripts/lock-server redis")


class LockPairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers").up()
        cls.addClassCleanup(cls.stack.down)

    def run_judge(self, *args, code=None):
        done = subprocess.run([str(ROOT / BUILD / "bin/lockjudge"), *args], cwd=ROOT, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, LOCKJUDGE_URL=self.stack.settings["TEST_REDIS"],
                                                                 RUN_DIR=str(self.stack.run_dir)))
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def judge(self, *args, worker):
        """The rows of a run, by name. A run that the machine disturbed says so, and is repeated."""
        for _ in range(5):
            done = self.run_judge("--json", "-t", "1s", *args, "--expect", "all=safe|fenced|told|untold", "--", *worker)
            if done.returncode != 2:
                break
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.report = json.loads(done.stdout)
        return {row["fault"]: row for row in self.report["rows"]}

    def test_set_nx_has_two_holders_under_a_pair(self):
        rows = self.judge("-f", "stop-held+stop-wait,freeze-held+kill-wait", worker=SET_NX)
        self.assertEqual(len(rows), 2)
        for name, row in rows.items():
            with self.subTest(name):
                self.assertEqual(row["verdict"], "untold")
                self.assertNotEqual(row["victim"], row["second"]["victim"])
                self.assertTrue(10 <= row["second"]["part_pct"] <= 90)
                found = {one["word"]: one["history"] for one in row["found"]}
                self.assertLessEqual({"STALE-WRITE", "NO-FENCE"}, set(found))
                self.assertFalse([line for line in found["STALE-WRITE"] if "is killed" in line])  # it is not the reason

    def test_lockkit_writes_nothing_past_its_fence_under_pairs(self):
        pairs = ["stop-held+freeze-held", "stop-write+cut-held", "freeze-held+kill-held", "kill-held+stop-wait",
                 "stop-held+restart-held"]
        rows = self.judge("-f", ",".join(pairs), *SERVER, worker=LOCKKIT)
        self.assertEqual(list(rows), pairs)
        for name, row in rows.items():
            with self.subTest(name):
                self.assertIn(row["verdict"], {"safe", "fenced"}, row["found"])
                self.assertNotIn("NO-FENCE", [one["word"] for one in row["found"]])
        self.assertIsNone(rows["stop-held+restart-held"]["second"]["victim"])
        self.assertEqual(self.stack.redis("ping"), "PONG")

    def test_a_seed_chooses_pairs_and_places_them_again(self):
        with tempfile.TemporaryDirectory(prefix="lock-pairs-") as folder:
            rows = self.judge("-f", "kill-held,kill-wait,stop-wait", "--pairs", "--sample", "2", "--seed", "5", worker=LOCKKIT)
            names = list(rows)
            self.assertEqual(names[:3], ["stop-wait", "kill-held", "kill-wait"])
            self.assertEqual([name.count("+") for name in names[3:]], [1, 1])
            file = f"{folder}/run.json"
            with open(file, "w", encoding="utf-8") as to:
                json.dump(self.report, to)
            again = json.loads(self.run_judge("--replay", file, "--json").stdout)["rows"]
        self.assertEqual([row["fault"] for row in again], names)
        for row in again:
            first = rows[row["fault"]]
            if row["verdict"] != "not-judged":
                self.assertEqual((row["victim"], row["grant"]), (first["victim"], first["grant"]))
                self.assertEqual(bool(row["second"]), "+" in row["fault"])
                if row["second"]:
                    self.assertEqual(row["second"]["part_pct"], first["second"]["part_pct"])

    def test_the_count_comes_first_and_mistakes_are_told(self):
        busy = "echo ready caps=ttl; while read -r a; do echo error the server is gone; done"
        done = self.run_judge("-t", "100ms", "-f", "stop-held,kill-held,kill-wait", "--pairs", "--", "sh", "-c", busy, code=2)
        self.assertRegex(done.stderr, r"^lockjudge: 3 rows and 3 pairs, about .* s\nstop-held +not judged")
        for args, reason in [(["-f", "stop-held+none"], "is no pair: one of them is no fault"),
                             (["-f", "pause-held+down-held"], "both break the server"),
                             (["-f", "stop-held+stop"], 'there is no row "stop"'),
                             (["-f", "stop-held", "--pairs"], "the rows of this run make no pair"),
                             (["--sample", "3"], "--sample chooses from --pairs: give both"),
                             (["-e", "stop-held+kill-held=safe"], "no row of this run has this name")]:
            self.assertIn(reason, self.run_judge(*args, "--", "true", code=64).stderr)


if __name__ == "__main__":
    unittest.main()

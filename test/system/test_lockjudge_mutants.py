"""lockjudge finds each fault of a lock by its word: one lock that is right, and the same with one fault at a time."""

import json
import os
import subprocess
import sys
import unittest

from harness import BUILD, ROOT, Stack

# The fault of the lock, the row that shows it, and its word.
MUTANTS = [("blind-release", "stop-release", "FREES-ANOTHERS"), ("renewal-creates", "stop-held", "TWIN-UNAWARE"),
           ("counter-resets", "none", "FENCE-FALLS"), ("no-clock", "stop-held", "TWIN-UNAWARE"), ("no-ttl", "kill-held", "STUCK"),
           ("no-renewal", "work-held", "NO-RENEWAL"), ("clock-after-reply", "delay-reply", "TWIN-UNAWARE"),
           ("wall-clock", "behind-held", "TWIN-UNAWARE"), ("client-expiry", "ahead-wait", "TWIN-UNAWARE"),
           ("child-believes", "fork-held", "TWIN-UNAWARE"), ("child-frees", "fork-free-held", "TWIN-UNAWARE"),
           ("late-renewal", "load-held", "LOST-UNDER-LOAD")]


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers").up()
        cls.addClassCleanup(cls.stack.down)

    def judge(self, mutant, rows, seed=1):
        """The words of the rows and the exit code. A run that the machine disturbed says so, and is repeated."""
        for _ in range(5):
            done = subprocess.run([str(ROOT / BUILD / "bin/lockjudge"), "--json", "-t", "1s", "--slack", "1s", "--seed", str(seed), "-f", rows, "--",
                                   sys.executable, "test/system/lock_mutants.py", "{url}", mutant], cwd=ROOT, capture_output=True,
                                  text=True, timeout=300, env=dict(os.environ, LOCKJUDGE_URL=self.stack.settings["TEST_REDIS"]))
            if done.returncode != 2:
                break
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return {row["fault"]: [found["word"] for found in row["found"]] for row in json.loads(done.stdout)["rows"]}, done.returncode

    def test_each_fault_gives_its_word(self):
        """A worker that stalls can hide a word in one run, so the next one places the fault anew. No stall makes a word."""
        for mutant, row, word in MUTANTS:
            with self.subTest(mutant):
                for seed in range(1, 8):
                    words, code = self.judge(mutant, row, seed)
                    if word in words[row]:
                        break
                self.assertIn(word, words[row])
                self.assertEqual(code, 1)

    def test_the_lock_that_is_right_gives_none(self):
        words, code = self.judge("right", ",".join(sorted({row for _, row, _ in MUTANTS})))
        self.assertEqual([word for found in words.values() for word in found if word != "STARVED"], [])
        self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()

"""The museum: lab explore finds each planted bug within the bound in museum.json, its schedule can be replayed, and where the
bug cannot show, nothing is found. It needs no servers."""

import concurrent.futures
import json
import os
import subprocess
import unittest

from harness import BUILD, ROOT

LAB = ROOT / BUILD / "bin/lab"
FOLDER = ROOT / "lab/museum"
MUSEUM = json.loads((FOLDER / "museum.json").read_text())
RIGHT = json.loads((FOLDER / "right.json").read_text())
# Five load tests missed these.
ASKED_FOR = {"unit_zero.c", "last_unit.c", "last_ten.c", "no_borrowing.c", "cached_stock.c"}


def explore(bug, *more, **bound):
    at = bug | bound
    flags = [f"--{name}={at[name]}" for name in ("orders", "others", "instances", "stock", "first-version", "first-fence", "stall-ms", "preemptions", "faults", "options")
             if name in at]
    done = subprocess.run([LAB, "explore", FOLDER / bug["file"], *flags, "--json", *more], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{bug['file']}: {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def see(bug):
    """Finds the bug within its bound, replays its schedule, and explores where it hides."""
    found = explore(bug)
    return found, explore(bug, "--replay", found[1]["violation"]["id"]) if found[0] else None, explore(bug, **bug["hidden"])


class Museum(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cls.seen = dict(zip([bug["file"] for bug in MUSEUM], pool.map(see, MUSEUM)))

    def test_each_file_has_a_bound(self):
        self.assertEqual(sorted(each["file"] for each in MUSEUM + RIGHT), sorted(file.name for file in FOLDER.glob("*.c")))
        self.assertLessEqual(ASKED_FOR, {bug["file"] for bug in MUSEUM})

    def test_each_bug_is_found(self):
        for bug in MUSEUM:
            with self.subTest(bug["file"]):
                code, found = self.seen[bug["file"]][0]
                self.assertEqual((code, found["complete"]), (1, True))
                self.assertLessEqual(set(bug["finds"]), set(found["violation"]["anomalies"]))

    def test_its_schedule_can_be_made_again(self):
        for bug in MUSEUM:
            with self.subTest(bug["file"]):
                found, (code, again), _ = self.seen[bug["file"]]
                self.assertEqual(code, 1)
                self.assertEqual(again["violation"], found[1]["violation"])

    def test_where_it_cannot_show_nothing_is_found(self):
        for bug in MUSEUM:
            with self.subTest(bug["file"]):
                self.assertTrue(bug["hidden"])
                code, hidden = self.seen[bug["file"]][2]
                self.assertEqual((code, hidden["complete"], hidden["violation"]), (0, True, None))


if __name__ == "__main__":
    unittest.main()

"""lockjudge's faults of the network and of the server, on a real Redis. Only verdicts that are certain are asserted."""

import json
import os
import subprocess
import tempfile
import unittest

from harness import BUILD, PORT_BASE, ROOT, Stack

SET_NX = ("sh", "lockjudge/adapters/set_nx.sh", "{url}")
LOCKKIT = (f"{BUILD}/bin/lockjudge-lockkit", "{url}")
SERVER = ("--server", "scripts/lock-server redis")


class LockFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers").up()
        cls.addClassCleanup(cls.stack.down)

    def judge(self, faults, *args, worker=SET_NX):
        """The rows of a run, by name. A run that the machine disturbed says so, and is repeated."""
        for _ in range(5):
            done = subprocess.run([str(ROOT / BUILD / "bin/lockjudge"), "--json", "-t", "1s", "-f", faults, *args, "--expect",
                                   "all=safe|fenced|told|untold|not-asked", "--", *worker], cwd=ROOT, capture_output=True,
                                  text=True, timeout=300, stdin=subprocess.DEVNULL,
                                  env=dict(os.environ, LOCKJUDGE_URL=self.stack.settings["TEST_REDIS"],
                                           RUN_DIR=str(self.stack.run_dir)))
            if done.returncode != 2:
                break
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return {row["fault"]: row for row in json.loads(done.stdout)["rows"]}

    def verdicts(self, *args, **how):
        return {name: row["verdict"] for name, row in self.judge(*args, **how).items()}

    def words(self, row):
        return {finding["word"] for finding in row["found"]}

    def test_set_nx_has_two_holders_when_its_connection_is_away_for_longer_than_the_ttl(self):
        rows = self.judge("freeze-held,drop-held")
        for name, row in rows.items():
            with self.subTest(name):
                self.assertEqual(row["verdict"], "untold")
                self.assertLessEqual({"TWIN-UNAWARE", "STALE-WRITE", "NO-FENCE"}, self.words(row))
        history = next(one for one in rows["freeze-held"]["found"] if one["word"] == "TWIN-UNAWARE")["history"]
        self.assertTrue(any("its connections freeze" in line for line in history), history)

    def test_set_nx_has_two_holders_when_the_server_forgets(self):
        for name, row in self.judge("flush-held,empty-held", *SERVER).items():
            with self.subTest(name):
                self.assertEqual(row["verdict"], "untold")
                self.assertIn("TWIN-UNAWARE", self.words(row))

    def test_lockkit_is_never_unaware_when_its_connection_fails(self):
        verdicts = self.verdicts("freeze-held,freeze-release,freeze-reply,drop-held,drop-release,cut-held,cut-reply,tear-reply",
                                 worker=LOCKKIT)
        self.assertEqual(len(verdicts), 8)
        self.assertLessEqual(set(verdicts.values()), {"safe", "fenced"}, verdicts)

    def test_lockkit_tells_the_holder_when_the_server_fails(self):
        verdicts = self.verdicts("pause-held,down-held,restart-held,scripts-release", *SERVER, worker=LOCKKIT)
        self.assertLessEqual(set(verdicts.values()), {"safe", "fenced"}, verdicts)
        self.assertIn(self.verdicts("flush-held", *SERVER, worker=LOCKKIT)["flush-held"], {"safe", "fenced", "told"})
        self.assertEqual(self.stack.redis("ping"), "PONG")

    def test_what_cannot_be_asked_is_not(self):
        rows = self.judge("flush-held", worker=LOCKKIT)
        self.assertEqual((rows["flush-held"]["verdict"], rows["flush-held"]["reason"]), ("not-asked", "it needs --server"))
        rows = self.judge("flush-held", "--server", "false", worker=LOCKKIT)
        self.assertEqual(rows["flush-held"]["reason"], "the command of --server cannot do it")
        rows = self.judge("freeze-held", worker=(f"{BUILD}/bin/lockjudge-lockkit", "local:"))
        self.assertEqual(rows["freeze-held"]["reason"], "it needs --url, and {url} in the worker's arguments")
        rows = self.judge("freeze-held", "--url", "file:/tmp", worker=LOCKKIT)
        self.assertEqual(rows["freeze-held"]["reason"], "the URL has no host:port of each server")


class Locks(unittest.TestCase):
    names = [adapter["name"] for adapter in json.loads((ROOT / "lockjudge/adapters/adapters.json").read_text())]

    def locks(self, *words):
        with tempfile.TemporaryDirectory(prefix="sale-locks-") as folder:
            return subprocess.run(["scripts/locks", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env=dict(os.environ, RUN_DIR=folder, PORT_BASE=str(PORT_BASE - 200), B=BUILD))

    def test_it_lists_the_libraries_and_its_page_has_them_all(self):
        self.assertEqual(self.locks("--list").stdout.split(), self.names)
        page = (ROOT / "docs/locks.md").read_text()
        self.assertEqual([name for name in self.names if f"`{name}`" not in page], [])
        done = self.locks("nobody")
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("no library 'nobody'", done.stderr)

    def test_it_judges_one_library_by_the_rows_that_are_named(self):
        done = self.locks("flock", "none", "freeze-held")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^none +safe")
        self.assertRegex(done.stdout, r"(?m)^freeze-held +not asked")


class LockServer(unittest.TestCase):
    def test_it_says_what_it_can(self):
        def can(*words):
            return subprocess.run(["scripts/lock-server", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True)

        for name, word in [("redis", "flush-scripts"), ("redlock-2", "empty"), ("etcd-1", "flush"), ("postgres", "pause")]:
            self.assertEqual(can(name, "can", word).returncode, 0)
        for name, word in [("postgres", "flush"), ("zookeeper-1", "flush-scripts"), ("redis", "everything")]:
            self.assertEqual(can(name, "can", word).returncode, 1)
        for words in [(), ("redis",), ("redis", "kill", "now")]:
            done = can(*words)
            self.assertEqual(done.returncode, 64)
            self.assertIn("Usage: scripts/lock-server NAME", done.stderr)
        self.assertEqual(can("redis", "explode").returncode, 64)


if __name__ == "__main__":
    unittest.main()

"""lockjudge finds each fault that is put into lockkit, by its word; lockkit itself and flock(1) have none in the same rows."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import BUILD, ROOT, Stack
from lockkit_mutants import MUTANTS, TTL, Tree

LOCKKIT = f"{BUILD}/bin/lockjudge-lockkit"
SERVERS = sorted({server for _, server, *_ in MUTANTS})


class LockkitMutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers", "--with", "redlock,zookeeper,etcd").up()
        cls.addClassCleanup(cls.stack.down)
        cls.folder = tempfile.mkdtemp(prefix="lockkit-mutants-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.tree, cls.lock = Tree(), threading.Lock()
        cls.addClassCleanup(cls.tree.remove)

    def url(self, server):
        settings = self.stack.settings
        if server.startswith("re"):
            return f"redis://:{settings['REDIS_PASSWORD']}@127.0.0.1:{self.stack.port(server)}"
        return {"postgres": settings["INVENTORY_SVC_DB"] + "?mode=table", "etcd-1": settings["INVENTORY_SVC_ETCD"],
                "zookeeper-1": settings["INVENTORY_SVC_ZOOKEEPER"] + "?session=3000", "folder": f"file:{self.folder}"}[server]

    def judge(self, server, rows, seed, *worker):
        """The rows by name, and the exit code. A run that the machine disturbed says so, and is repeated."""
        for _ in range(5):
            done = subprocess.run([f"{BUILD}/bin/lockjudge", "--json", "-t", TTL.get(server, "1s"), "--slack", "1s", "-f",
                                   ",".join(rows), "--seed", str(seed), "--server", f"scripts/lock-server {server}", "--url",
                                   self.url(server), "--", *worker], cwd=ROOT, capture_output=True, text=True, timeout=300,
                                  env=self.stack.env, stdin=subprocess.DEVNULL)
            if done.returncode != 2:
                break
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return {row["fault"]: (row["verdict"], [found["word"] for found in row["found"]]) for row in json.loads(done.stdout)["rows"]}, \
            done.returncode

    def judge_mutant(self, name, server, row, verdict, word, replacements):
        """A worker that stalls can hide a word in one run. No stall makes one."""
        with self.lock:
            worker = self.tree.build(name, replacements)
        for seed in range(1, 9):
            found, code = self.judge(server, [row], seed, str(worker), "{url}")
            if word in found[row][1] and verdict in ("", found[row][0]):
                return
        self.fail(f"{name}: no {word} in {row}, but {found[row]}")

    def each_server(self, check):
        """Runs check(server) for all servers at the same time: most of it waits."""
        with ThreadPoolExecutor(len(SERVERS)) as pool:
            checks = [(server, pool.submit(check, server)) for server in SERVERS]
        for server, done in checks:
            with self.subTest(server):
                done.result()

    def test_each_mutant_gives_its_word(self):
        def judge_all(server):
            for mutant in MUTANTS:
                if mutant[1] == server:
                    self.judge_mutant(*mutant)
        self.each_server(judge_all)

    def assert_right(self, server, rows, *worker):
        """A server that forgets its locks makes two holders of each lock. A write that is on its way needs a fence."""
        found, code = self.judge(server, rows, 1, *worker)
        self.assertEqual(code, 0, found)
        allowed = {"flush-held": [("told", {"TWIN-UNAWARE", "STALE-WRITE", "LATE-TOLD"})], "stop-write": [("fenced", {"STALE-WRITE"})]}
        for row, (verdict, words) in found.items():
            words = set(words) - {"STARVED"}
            if not any(verdict == most and words <= may for most, may in allowed.get(row, [])):
                self.assertEqual((verdict, words), ("safe", set()), row)

    def test_lockkit_and_flock_give_none(self):
        def judge_right(server):
            self.assert_right(server, sorted({mutant[2] for mutant in MUTANTS if mutant[1] == server}), LOCKKIT, "{url}")
            if server == "folder":
                self.assert_right(server, ["none", "stop-held", "stop-release", "kill-held"], "lockjudge/adapters/flock.sh", self.folder)
        self.each_server(judge_right)

    def test_a_text_that_is_not_there_once_is_an_error(self):
        for before in ("no such text", "redis.call"):
            with self.assertRaisesRegex(AssertionError, "times, not once"), self.lock:
                self.tree.build("broken", [("lockkit/backends/redis/lua/release.lua", before, "")])
        with self.assertRaisesRegex(AssertionError, "does not compile"), self.lock:
            self.tree.build("broken", [("lockkit/src/queue.c", "acquire_let_go(lease);\n    } else {", "}")])


if __name__ == "__main__":
    unittest.main()

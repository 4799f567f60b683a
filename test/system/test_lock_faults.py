"""lockjudge's faults of the network and of the server, on a real Redis. Only verdicts that are certain are asserted."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from harness import BUILD, PORT_BASE, ROOT, Stack, wait_for

SET_NX = ("sh", "lockjudge/adapters/set_nx.sh", "{url}")
LOCKKIT = (f"{BUILD}/bin/lockjudge-lockkit", "{url}")
# A lock with a fence that Redis counts, in a key without a TTL.
COUNTS = ("sh", "-c", """cli() { redis-cli -u "$url" --no-auth-warning "$@"; }
url=$(echo "$0" | sed 's|://:|://default:|')
echo ready caps=ttl,fence
while read -r verb name ttl _; do
    case $verb in
    acquire) if [ "$(cli SET "$name" 1 NX PX "$ttl")" = OK ]; then lock=$name && echo "held $(cli INCR "$name-fence")"; else echo busy; fi ;;
    check) echo held ;;
    release) cli DEL "$lock" >/dev/null; echo released ;;
    esac
done""", "{url}")
SERVER = ("--server", "scripts/lock-server redis")


class LockFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers", "--with", "zookeeper").up()
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
        for ttl in "5s", "15s", "45s":  # a start may take longer than the TTL: then no two holders are seen
            rows = self.judge("flush-held,empty-held", "-t", ttl, *SERVER)
            if [row["verdict"] for row in rows.values()] == ["untold"] * 2:
                break
        for name, row in rows.items():
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

    def server(self, *words, name="redis"):
        return subprocess.run(["scripts/lock-server", name, *words], cwd=ROOT, env=self.stack.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def check_restored(self):
        self.assertFalse((self.stack.run_dir / "redis-behind.pid").exists())
        self.assertEqual(self.stack.redis("ping"), "PONG")

    def test_a_fence_falls_at_a_failover_and_not_at_an_eviction(self):
        for _ in range(5):  # a failover may take longer than the TTL: then no two holders are seen
            rows = self.judge("evict-held,failover-held", "-t", "5s", *SERVER, worker=COUNTS)
            self.check_restored()
            self.assertNotIn("FENCE-FALLS", self.words(rows["evict-held"]))
            if [row["verdict"] for row in rows.values()] == ["untold"] * 2 and "FENCE-FALLS" in self.words(rows["failover-held"]):
                break
        for row in rows.values():
            self.assertEqual(row["verdict"], "untold")
            self.assertIn("TWIN-UNAWARE", self.words(row))
        self.assertIn("FENCE-FALLS", self.words(rows["failover-held"]))

    def test_lockkit_tells_the_holder_of_an_eviction_and_of_a_failover(self):
        rows = self.judge("evict-held,failover-held", *SERVER, worker=LOCKKIT)
        self.assertLessEqual({row["verdict"] for row in rows.values()}, {"safe", "fenced", "told"})
        self.assertEqual([row for row in rows.values() if "FENCE-FALLS" in self.words(row)], [])
        self.check_restored()

    def test_an_interrupt_restores_the_server(self):
        worker = "echo ready; while read -r verb rest; do echo busy; done"
        with subprocess.Popen([str(ROOT / BUILD / "bin/lockjudge"), "-f", "failover-held", "-t", "1m", *SERVER, "--", "sh", "-c", worker],
                              cwd=ROOT, env=self.stack.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            wait_for("a replica", (self.stack.run_dir / "redis-behind.pid").exists)
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)
        self.check_restored()

    def test_a_replica_that_is_behind_has_the_old_data_only(self):
        self.stack.redis("set", "old", "1")
        for word in "behind", "failover":
            done = self.server(word)
            self.assertEqual(done.returncode, 0, done.stderr)
            if word == "behind":
                self.stack.redis("set", "new", "1")
        self.assertEqual((self.stack.redis("get", "old"), self.stack.redis("get", "new")), ("1", ""))
        self.assertEqual(self.server("rejoin").returncode, 0)
        self.assertEqual((self.stack.redis("get", "old"), self.stack.redis("get", "new")), ("1", "1"))
        self.check_restored()
        self.assertIn("there is no replica: scripts/lock-server redis behind", self.server("failover").stderr)

    def test_an_eviction_takes_keys_with_a_ttl_and_puts_the_settings_back(self):
        settings = [("maxmemory", "104857600"), ("maxmemory-policy", "allkeys-lru"), ("maxmemory-eviction-tenacity", "7")]
        old = [(name, self.stack.redis("config", "get", name).split()[1]) for name, _ in settings]
        try:
            for name, value in settings:
                self.stack.redis("config", "set", name, value)
            self.stack.redis("set", "stays", "1")
            self.stack.redis("set", "goes", "1", "ex", "1000")
            self.assertEqual(self.server("evict").returncode, 0)
            self.assertEqual((self.stack.redis("get", "stays"), self.stack.redis("get", "goes")), ("1", ""))
            for name, value in settings:
                self.assertEqual(self.stack.redis("config", "get", name).split(), [name, value])
        finally:
            for name, value in old:
                self.stack.redis("config", "set", name, value)

    def test_a_flush_of_zookeeper_and_postgres_is_told(self):
        zookeeper = f"zookeeper://127.0.0.1:{self.stack.port('zookeeper-1')}?session=3000"
        postgres = self.stack.settings["INVENTORY_SVC_DB"] + "?mode=table"
        for name, url in [("zookeeper-1", zookeeper), ("postgres", postgres)]:
            with self.subTest(name):
                row = self.judge("flush-held", "-t", "2s", "--url", url, "--server", f"scripts/lock-server {name}",
                                 worker=LOCKKIT)["flush-held"]
                self.assertIn(row["verdict"], {"safe", "fenced", "told"})
                self.assertNotIn("FENCE-FALLS", self.words(row))

    def test_a_flush_of_zookeeper_is_one_transaction(self):
        script = """if True:
            import subprocess, sys
            from kazoo.client import KazooClient
            client = KazooClient(hosts=sys.argv[1])
            client.start()
            for parent in "/flush-a", "/flush-b":
                client.create(parent)
                client.create(parent + "/lock-", ephemeral=True, sequence=True)
            subprocess.run(["scripts/lock-server", "zookeeper-1", "flush"], check=True)
            print([client.get_children(parent) for parent in ("/flush-a", "/flush-b")],
                  len({client.exists(parent).pzxid for parent in ("/flush-a", "/flush-b")}))
            client.stop()"""
        done = subprocess.run(["/usr/bin/python3", "-c", script, f"127.0.0.1:{self.stack.port('zookeeper-1')}"], cwd=ROOT,
                              env=self.stack.env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout, "[[], []] 1\n", done.stderr)

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

        for name, word in [("redis", "flush-scripts"), ("redlock-2", "empty"), ("etcd-1", "flush"), ("postgres", "pause"),
                           ("redis", "evict"), ("redlock-5", "failover"), ("zookeeper-1", "flush"), ("pgbouncer", "flush")]:
            self.assertEqual(can(name, "can", word).returncode, 0)
        for name, word in [("postgres", "empty"), ("postgres", "failover"), ("zookeeper-1", "empty"), ("redis", "everything")]:
            self.assertEqual(can(name, "can", word).returncode, 1)
        for words in [(), ("redis",), ("redis", "kill", "now")]:
            done = can(*words)
            self.assertEqual(done.returncode, 64)
            self.assertIn("Usage: scripts/lock-server NAME", done.stderr)
        self.assertEqual(can("redis", "explode").returncode, 64)


if __name__ == "__main__":
    unittest.main()

"""scripts/stack and scripts/loadgen as a user calls them: from any folder, again and again."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ARTICLE_PRODUCT, BUILD, PORT_BASE, ROOT, Stack, SystemTest, wait_for

SERVICES = ["order-svc", "inventory-1", "inventory-2"]
ALL = ["postgres", "redis", "replica", "inventory-1", "inventory-2", "order-svc"]


class StackScript(unittest.TestCase):
    """A stack with its own copies of the programs, which a test can build again."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sale-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        shutil.copytree(ROOT / BUILD / "bin", cls.folder / "bin")
        cls.stack = Stack()
        cls.stack.env["B"] = str(cls.folder)
        cls.stack.up()

    @classmethod
    def tearDownClass(cls):
        cls.stack.down()

    def setUp(self):
        self.stack.env.pop("INVENTORY_SVC_FLAGS", None)
        self.stack.script("up")

    def pids(self):
        return {name: (self.stack.run_dir / f"{name}.pid").read_text() for name in SERVICES}

    def build_again(self, program):
        """Like the linker: the file is created anew."""
        (self.folder / "new").write_bytes((self.folder / "bin" / program).read_bytes())
        (self.folder / "new").chmod(0o755)
        (self.folder / "new").replace(self.folder / "bin" / program)

    def test_up_restarts_only_what_was_built_again_or_has_other_flags(self):
        def up(restarted):
            before, done = self.pids(), self.stack.script("up")
            changed = [name for name, pid in self.pids().items() if pid != before[name]]
            self.assertEqual(changed, restarted)
            self.assertIn(f"{' '.join(restarted)}\n" if restarted else "already running", done.stdout)
            self.assertEqual(self.stack.script("status").stdout.count(" ready"), 5)

        up([])
        self.build_again("order-svc")
        up(["order-svc"])
        self.build_again("inventory-svc")
        up(["inventory-1", "inventory-2"])
        self.stack.env["INVENTORY_SVC_FLAGS"] = "--lab"
        up(["inventory-1", "inventory-2"])
        up([])

    def test_a_service_that_was_built_again_finds_its_tables_as_it_wants_them(self):
        self.stack.sql("inventory", "ALTER TABLE reservation DROP COLUMN confirmed")
        self.build_again("inventory-svc")
        self.stack.script("up")
        self.stack.sql("inventory", "SELECT confirmed FROM reservation")

    def loadgen(self, *args, cwd, script="loadgen", **env):
        clean = {k: v for k, v in self.stack.env.items() if not k.startswith("LOADGEN_") or k == "LOADGEN_LATE"}
        return subprocess.run([str(ROOT / "scripts" / script), *args], cwd=cwd, env={**clean, **env}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def test_loadgen_needs_one_instance_and_writes_where_its_caller_is(self):
        self.stack.kill("inventory-2")
        folder = self.folder / "elsewhere"
        folder.mkdir()
        run = self.loadgen("--strategy", "redis", "-d", "200ms", cwd=folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertTrue((folder / "results/latest/report.html").exists())
        page = self.loadgen("report", "results/latest", "results/latest", "-o", "both.html", cwd=folder)
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertTrue((folder / "both.html").exists())

    def test_without_a_stack_what_needs_none_works_and_the_rest_says_what_to_start(self):
        self.stack.script("down")
        for args, code in [(["-h"], 0), (["--help"], 0), ([], 69), (["create"], 69)]:
            for run_dir in [self.folder / "none", self.stack.run_dir]:
                run = self.loadgen(*args, cwd="/", RUN_DIR=str(run_dir))
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertIn("make up" if code else "--strategy", run.stderr + run.stdout)
                audit = self.loadgen(ARTICLE_PRODUCT, cwd="/", script="audit", RUN_DIR=str(run_dir))
                self.assertEqual((audit.returncode, "make up" in audit.stderr), (69, True), audit.stderr)


class LockServers(SystemTest):
    """The optional servers of a stack."""

    shape = ("--with", "replica=2,redlock", "--with", "zookeeper=3,etcd=3,pgbouncer")
    flags = {"INVENTORY_SVC_FLAGS": "--cores"}  # or only root could read its environment
    families = {"REDLOCK": [f"redlock-{i}" for i in range(1, 6)], "ZOOKEEPER": [f"zookeeper-{i}" for i in range(1, 4)],
                "ETCD": [f"etcd-{i}" for i in range(1, 4)], "POOLER": ["pgbouncer"]}
    names = ["replica", "replica-2", *sum(families.values(), [])]

    def setUp(self):
        self.stack.script("up", *self.shape)

    def assert_states(self, **others):
        others = {name.replace("_", "-"): state for name, state in others.items()}
        states = self.stack.states()
        self.assertEqual({name: states.get(name) for name in self.names}, dict.fromkeys(self.names, "ready") | others)

    def settings_of(self, instance):
        """The lock servers in the environment of a service: ports by variable."""
        pid = (self.stack.run_dir / f"{instance}.pid").read_text().split()[0]
        pairs = (line.split("=", 1) for line in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in line)
        return {name.removeprefix("INVENTORY_SVC_"): [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", value)]
                for name, value in pairs if name.removeprefix("INVENTORY_SVC_") in self.families}

    def test_each_answers_alone_and_in_its_ensemble(self):
        self.assert_states()
        self.assertEqual(self.settings_of("inventory-1"), {
            variable: [self.stack.port(name) for name in names] for variable, names in self.families.items()})
        through = subprocess.run(["psql", self.stack.settings["INVENTORY_SVC_POOLER"], "-Atc", "SELECT current_database()"],
                                 capture_output=True, text=True)
        self.assertEqual(through.stdout, "inventory\n", through.stderr)
        self.stack.redis("set", "test", "both")
        for port in [self.stack.port("replica"), self.stack.port("replica-2")]:
            wait_for("the replicas", lambda port=port: self.stack.redis("get", "test", port=port - PORT_BASE) == "both")

    def test_each_is_killed_paused_and_mended_by_its_name(self):
        for name in ["redlock-2", "zookeeper-1", "etcd-3", "pgbouncer"]:
            self.stack.kill(name)
        self.stack.script("pause", "redlock-5")
        # Two of three servers are a majority.
        wait_for("two of three", lambda: self.stack.states()["etcd-1"] == self.stack.states()["zookeeper-2"] == "ready")
        self.assert_states(redlock_2="down", zookeeper_1="down", etcd_3="down", pgbouncer="down", redlock_5="paused")
        self.stack.kill("zookeeper-2")
        wait_for("one of three to say so", lambda: self.stack.states()["zookeeper-3"] == "not ready")
        self.stack.script("start")
        self.assert_states()
        for name in ["redlock-1", "zookeeper-3", "etcd-1", "pgbouncer"]:
            self.stack.restart(name)
        self.assert_states()

    def test_a_cut_parts_the_first_replica_and_leaves_the_second(self):
        self.stack.script("cut")
        self.stack.redis("set", "test", "one")
        wait_for("the second", lambda: self.stack.redis("get", "test", port=66) == "one")
        self.assertEqual(self.stack.states()["replica"], "not ready")
        self.assertNotEqual(self.stack.redis("get", "test", port=92), "one")
        self.stack.script("failover")
        self.assertNotEqual(self.stack.redis("get", "test"), "one")

    def test_an_ensemble_shrinks_and_services_are_told(self):
        self.stack.script("up", "--with", "zookeeper")
        self.assertEqual(list(self.stack.states()), ["postgres", "redis", "zookeeper-1", "inventory-1", "inventory-2", "order-svc"])
        self.assertEqual(set(self.stack.states().values()), {"ready"})
        self.assertEqual(self.settings_of("inventory-2"), {"ZOOKEEPER": [self.stack.port("zookeeper-1")]})
        self.stack.script("up")
        self.assertEqual(self.settings_of("inventory-2"), {})


class Shape(SystemTest):
    """Shapes of `up`, and commands on its servers. The tests are independent, in any order."""

    shape = ("--with", "replica")

    def setUp(self):
        self.stack.env.pop("REDIS_DURABILITY", None)
        self.stack.script("up", *self.shape)

    def assert_all_ready(self, *names):
        self.assertEqual(self.stack.states(), {name: "ready" for name in names or ALL})

    def receives(self, value):
        self.stack.redis("set", "test", value)
        wait_for("the replica to receive it", lambda: self.stack.redis("get", "test", port=92) == value)

    def test_a_paused_server_is_told_and_goes_on(self):
        for name in ["redis", "postgres", "inventory-1"]:
            self.stack.script("pause", name)
            self.assertEqual(self.stack.states()[name], "paused")
            self.assertEqual(self.stack.script("status", check=False).returncode, 1)
            self.stack.script("resume", name)
        wait_for("all ready", lambda: set(self.stack.states().values()) == {"ready"})
        self.stack.script("pause", "inventory-2")
        self.stack.restart("inventory-2")
        self.assert_all_ready()

    def test_start_mends_what_was_killed_paused_and_cut(self):
        self.stack.kill("inventory-1")
        self.stack.script("pause", "postgres")
        self.stack.script("cut")
        self.assertEqual(self.stack.states(), dict.fromkeys(ALL, "ready") | {
            "inventory-1": "down", "inventory-2": "not ready", "order-svc": "not ready", "postgres": "paused",
            "replica": "not ready"})
        self.stack.script("start")
        self.assert_all_ready()
        before = (self.stack.run_dir / "redis.pid").read_text()
        self.stack.script("start", "redis")
        self.assertEqual((self.stack.run_dir / "redis.pid").read_text(), before)

    def test_the_replica_takes_over_with_what_it_received(self):
        self.receives("received")
        self.stack.script("cut")
        self.stack.redis("set", "test", "lost")
        replica = (self.stack.run_dir / "replica.pid").read_text()
        self.stack.script("failover")
        self.assertEqual(self.stack.redis("get", "test"), "received")
        self.assertEqual((self.stack.run_dir / "redis.pid").read_text(), replica)
        self.assertEqual(self.stack.states()["replica"], "down")
        wait_for("the services on it", lambda: self.stack.states()["order-svc"] == "ready")
        refused = self.stack.script("failover", check=False)
        self.assertEqual((refused.returncode, refused.stderr), (1, f"stack: there is no replica: RUN_DIR={self.stack.run_dir} PORT_BASE={PORT_BASE} scripts/stack up --with replica\n"))
        # A restart and a new replica find the data of the new primary.
        self.receives_after_restart()

    def receives_after_restart(self):
        self.stack.redis("set", "test", "after")
        self.stack.restart("redis")
        self.assertEqual(self.stack.redis("get", "test"), "after")
        self.stack.script("up", *self.shape)
        self.assert_all_ready()
        self.receives("again")
        self.stack.kill("redis")
        self.assertEqual(self.stack.states()["redis"], "down")

    def test_a_later_up_has_the_shape_that_it_is_asked_for(self):
        self.stack.env["REDIS_DURABILITY"] = "none"
        self.stack.script("up", "--instances", "1")
        self.assert_all_ready("postgres", "redis", "inventory-1", "order-svc")
        self.stack.env.pop("REDIS_DURABILITY")
        self.stack.redis("set", "test", "forgotten")
        self.stack.restart("redis")
        self.assertEqual(self.stack.redis("get", "test"), "")
        self.stack.restart("order-svc")
        self.assert_all_ready("postgres", "redis", "inventory-1", "order-svc")
        self.stack.script("up")
        self.assert_all_ready("postgres", "redis", "inventory-1", "inventory-2", "order-svc")
        self.stack.redis("set", "test", "kept")
        self.stack.kill("redis")
        self.stack.script("start", "redis")
        self.assertEqual(self.stack.redis("get", "test"), "kept")

    def test_start_starts_all_of_it_when_all_was_killed(self):
        for name in ALL:
            self.stack.kill(name)
        self.stack.script("start")
        self.assert_all_ready()
        pids = [int((self.stack.run_dir / f"{name}.pid").read_text().split()[0]) for name in ALL]
        for pid in pids:  # somebody else killed them, and left the pidfiles
            os.kill(pid, signal.SIGKILL)
        wait_for("their end", lambda: set(self.stack.states().values()) == {"down"})
        self.stack.script("start")
        self.assert_all_ready()

    def test_start_is_for_a_stack_that_runs(self):
        self.stack.script("down")
        done = self.stack.script("start", check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"stack: no stack runs here: RUN_DIR={self.stack.run_dir} PORT_BASE={PORT_BASE} make up\n"))
        self.assertEqual(set(self.stack.states().values()), {"down"})
        self.stack.script("up", "servers")
        self.stack.script("start")
        self.assert_all_ready("postgres", "redis")

    def test_flags_outlive_the_up_that_was_given_them(self):
        self.stack.env["INVENTORY_SVC_FLAGS"] = "--lab"
        self.stack.script("up", *self.shape)
        self.stack.env.pop("INVENTORY_SVC_FLAGS")
        self.stack.restart("inventory-1")
        self.assertIn(b"--lab", Path(f"/proc/{(self.stack.run_dir / 'inventory-1.pid').read_text().split()[0]}/cmdline")
                      .read_bytes())

    def test_an_unknown_command_is_refused(self):
        for args, code, text in [(["up", "--with", "luck"], 64, "--with has no server 'luck'; scripts/stack --help lists the commands\n"),
                                 (["up", "--with", "redlock,etcd=2"], 64, "--with has no server 'etcd=2'"),
                                 (["up", "--with"], 64, "--with needs the name of a server"), (["up", "luck"], 64, "up has no argument 'luck'"),
                                 (["up", "--instances", "0"], 64, "--instances is 1 to 9"), (["lunch"], 64, "there is no command 'lunch'"),
                                 ([], 64, "a command is missing"), (["status", "redis"], 64, "status takes no argument"),
                                 (["pause"], 64, "pause takes the name of one server"), (["cut", "redis", "now"], 64, "cut takes the name of one server, or none"),
                                 (["kill", "lunch"], 1, "there is no 'lunch'"),
                                 (["resume", "inventory-7"], 1, "inventory-7 does not run")]:
            done = self.stack.script(*args, check=False)
            self.assertEqual((done.returncode, text in done.stderr), (code, True), done.stderr)
        self.stack.env["REDIS_DURABILITY"] = "sometimes"
        self.assertIn("is not always, everysec or none", self.stack.script("up", check=False).stderr)


if __name__ == "__main__":
    unittest.main()

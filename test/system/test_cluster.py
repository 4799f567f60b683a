"""The Redis Cluster of scripts/stack: its servers fail, and its slots move while clients write."""

import os
import subprocess
import threading
import unittest

from harness import BUILD, ROOT, SystemTest, wait_for

MASTERS = [f"cluster-{i}" for i in (1, 2, 3)]
REPLICAS = [f"cluster-{i}" for i in (4, 5, 6)]
KEYS = [f"'{{{i}}} odd \" '" for i in range(30)] + [f"{{{i}}}" for i in range(30)]  # as redis-cli reads them


class Cluster(SystemTest):
    shape = ("servers", "--with", "cluster=3")

    def setUp(self):
        self.stack.script("up", *self.shape)
        self.assert_whole()
        self.write("first")

    def assert_whole(self):
        states = self.stack.states()
        self.assertEqual([states[name] for name in MASTERS + REPLICAS], ["ready"] * 6)
        self.assertEqual([self.role(name)[0] for name in MASTERS + REPLICAS], ["master"] * 3 + ["slave"] * 3)
        self.assertEqual([self.role(name)[2] for name in REPLICAS], [str(self.stack.port(name)) for name in MASTERS])

    def ask(self, name, *command, lines=()):
        return self.stack.redis(*command, port=self.stack.port(name) - self.stack.port("order-svc"), lines=lines)

    def role(self, name):
        return self.ask(name, "role").split("\n")

    def answers(self, *commands, through="cluster-1"):
        """Of redis-cli, which follows redirections."""
        lines = self.ask(through, "-c", lines=commands).split("\n")
        return {line for line in lines if not line.startswith("-> Redirected")}

    def write(self, value):
        self.assertEqual(self.answers(*(f"set {key} {value}" for key in KEYS)), {"OK"})

    def values(self):
        return self.answers(*(f"get {key}" for key in KEYS))

    def until_replaced(self, master):
        replica = REPLICAS[MASTERS.index(master)]
        wait_for(f"{replica} to take over", lambda: self.role(replica)[0] == "master" and self.stack.states()[replica] == "ready")

    def test_the_services_are_told_its_address(self):
        nodes = ",".join(f"127.0.0.1:{self.stack.port(name)}" for name in MASTERS + REPLICAS)
        self.assertRegex(self.stack.settings["INVENTORY_SVC_CLUSTER"], rf"^redis\+cluster://:\w+@{nodes}$")

    def test_a_replica_takes_over_and_start_restores_the_master(self):
        for harm, mend in (("kill", "start"), ("pause", "resume")):
            self.stack.script(harm, "cluster-2")
            self.until_replaced("cluster-2")
            self.assertEqual(self.values(), {"first"})
            self.stack.script(mend, "cluster-2")
            wait_for("the old master to follow", lambda: self.role("cluster-2")[0] == "slave")
            self.stack.script("start")
            self.assert_whole()
            self.assertEqual(self.values(), {"first"})

    def test_all_come_back_with_their_roles(self):
        for name in MASTERS + REPLICAS:
            self.stack.kill(name)
        self.stack.script("start")
        self.assert_whole()
        self.stack.restart("cluster-1")
        self.stack.script("start")
        self.assert_whole()
        self.assertEqual(self.values(), {"first"})

    def test_a_cut_loses_the_latest_writes_in_a_failover(self):
        self.stack.script("cut", "cluster-3")
        wait_for("the cut", lambda: self.stack.states()["cluster-6"] == "not ready")
        self.write("late")
        self.stack.kill("cluster-3")
        self.until_replaced("cluster-3")
        self.assertEqual(self.values(), {"first", "late"})
        self.stack.script("start")
        self.assert_whole()
        self.assertEqual(self.values(), {"first", "late"})

    def test_slots_move_while_clients_write(self):
        ended, answers = threading.Event(), set()

        def keep_writing():
            while not ended.is_set():
                answers.update(self.answers(*(f"incr {{{i}}}n" for i in range(30)), through="cluster-2"))

        writer = threading.Thread(target=keep_writing)
        writer.start()
        said = self.stack.script("reshard", "cluster-1").stdout
        ended.set()
        writer.join()
        self.assertIn("slots that moved from cluster-1 to cluster-2: ", said)
        self.assertTrue(all(answer.isdigit() for answer in answers), answers)
        self.assertEqual(self.ask("cluster-1", "dbsize"), "0")
        self.assertEqual(self.values(), {"first"})
        self.assertIn("slots that moved from cluster-1 to cluster-2: none", self.stack.script("reshard", "cluster-1").stdout)
        # In the absence of a master, too; and `start` mends that.
        self.stack.kill("cluster-2")
        self.until_replaced("cluster-2")
        self.stack.script("reshard", "cluster-5")
        self.stack.script("start")
        self.assert_whole()
        self.assertEqual(self.values(), {"first"})

    def lockctl(self, *words):
        """Runs a command while the lock of this name is held."""
        return self.enterContext(subprocess.Popen(
            [ROOT / BUILD / "bin/lockctl", "run", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=dict(os.environ, LOCKCTL_URL=self.stack.settings["INVENTORY_SVC_CLUSTER"])))

    def test_a_lock_moves_with_its_slot_and_outlives_its_master(self):
        names = [str(i) for i in range(6)]
        holders = [self.lockctl("--ttl", "30s", "-", name, "--", "sh", "-c", "echo held; cat") for name in names]
        self.assertEqual([holder.stdout.readline() for holder in holders], ["held\n"] * 6)
        self.stack.script("reshard", "cluster-2")
        self.stack.kill("cluster-1")
        self.until_replaced("cluster-1")
        for name in names:
            self.assertEqual(self.lockctl("--wait", "0s", "-", name, "--", "true").wait(timeout=30), 75)
        for holder in holders:
            holder.stdin.close()
            self.assertEqual(holder.wait(timeout=30), 0)

    def assert_refused(self, why, *command, code=1):
        done = self.stack.script(*command, check=False)
        self.assertEqual((done.returncode, why in done.stderr), (code, True), done.stderr)

    def test_a_command_that_makes_no_sense_is_refused(self):
        self.assert_refused("reshard takes the name of one server", "reshard", code=64)
        self.assert_refused("there is no 'cluster-7'", "kill", "cluster-7")
        self.assert_refused("reshard is for a server of the Redis Cluster, such as cluster-1", "reshard", "redis")
        self.assert_refused("cut is for a server of the Redis Cluster, such as cluster-1", "cut", "postgres")
        self.assert_refused("cluster-4 has no slots", "cut", "cluster-4")
        self.stack.kill("cluster-1")
        self.assert_refused("cluster-1 does not run", "reshard", "cluster-1")


if __name__ == "__main__":
    unittest.main()

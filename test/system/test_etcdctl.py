"""lockkit's locks in etcd beside the real `etcdctl lock`: each excludes the other, in one common queue."""

import json
import os
import re
import signal
import subprocess
import unittest

from harness import BUILD, ROOT, Stack, wait_for

LOCKCTL = str(ROOT / BUILD / "bin/lockctl")
BUSY = 75


class EtcdctlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers", "--with", "etcd").up()
        cls.url = cls.stack.settings["INVENTORY_SVC_ETCD"]
        cls.address = cls.url.removeprefix("etcd://").split("/")[0]

    @classmethod
    def tearDownClass(cls):
        cls.stack.down()

    def setUp(self):
        self.name = self.id().rpartition(".")[2]

    def start(self, *command):
        process = subprocess.Popen(command, env=dict(os.environ, ETCDCTL_API="3"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()

    def etcdctl(self, *words, ttl="5"):
        return self.start("etcdctl", "--endpoints", self.address, "lock", "--ttl", ttl, f"lk/{self.name}", "--", *words)

    def lockctl_run(self, *command):
        return self.start(LOCKCTL, "run", "--ttl", "3s", self.url, self.name, "--", *command)

    def attempt(self):
        return subprocess.run([LOCKCTL, "run", "--wait", "0", self.url, self.name, "--", "true"], capture_output=True, timeout=30).returncode

    def keys(self):
        """The keys of the queue, in order."""
        text = subprocess.run(["etcdctl", "--endpoints", self.address, "get", "--prefix", "--keys-only", "--sort-by", "CREATE",
                               f"lk/{self.name}/"], env=dict(os.environ, ETCDCTL_API="3"), capture_output=True, text=True,
                              check=True, timeout=30).stdout
        return text.split()

    def holders(self):
        text = subprocess.run([LOCKCTL, "holders", "--json", self.url, self.name], capture_output=True, text=True, check=True,
                              timeout=30).stdout
        return json.loads(text)

    def test_lock_of_etcdctl_keeps_lockkit_out_until_it_ends(self):
        other = self.etcdctl()
        key = other.stdout.readline().strip()  # it prints this when it has the lock
        self.assertRegex(key, rf"^lk/{self.name}/[0-9a-f]+$")
        self.assertEqual(BUSY, self.attempt())
        self.assertEqual(key.rpartition("/")[2], self.holders()["holders"][0]["owner"])
        ours = self.lockctl_run("echo", "in")
        wait_for("lockkit in the line", lambda: len(self.keys()) == 2)
        self.assertIsNone(ours.poll())
        other.send_signal(signal.SIGINT)
        self.assertEqual("in\n", ours.communicate(timeout=30)[0])
        self.assertEqual(0, ours.returncode)
        self.assertEqual([], self.keys())

    def test_lock_of_lockkit_keeps_etcdctl_out_until_it_ends(self):
        ours = self.lockctl_run("sh", "-c", "echo in; exec sleep 60")
        self.assertEqual("in\n", ours.stdout.readline())
        other = self.etcdctl("echo", "in")
        wait_for("etcdctl in the line", lambda: len(self.keys()) == 2)
        self.assertIsNone(other.poll())
        ours.send_signal(signal.SIGTERM)
        self.assertEqual("in\n", other.communicate(timeout=30)[0])
        self.assertEqual([], self.keys())

    def test_etcdctl_that_was_killed_is_passed_when_its_lease_ends(self):
        other = self.etcdctl(ttl="2")
        other.stdout.readline()
        ours = self.lockctl_run("echo", "in")
        wait_for("lockkit in the line", lambda: len(self.keys()) == 2)
        other.kill()
        self.assertEqual("in\n", ours.communicate(timeout=30)[0])

    def test_both_stand_in_one_line_in_the_order_they_came(self):
        first = self.lockctl_run("sh", "-c", "echo in; exec sleep 60")
        first.stdout.readline()
        line = []
        for place in range(4):
            line.append((self.etcdctl if place % 2 else self.lockctl_run)("sh", "-c", "date +%s%N"))
            wait_for(f"{place + 2} in the line", lambda: len(self.keys()) == place + 2)
        first.send_signal(signal.SIGTERM)
        times = [int(re.match(r"\d+", each.communicate(timeout=60)[0])[0]) for each in line]
        self.assertEqual(sorted(times), times)


if __name__ == "__main__":
    unittest.main()

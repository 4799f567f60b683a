"""Each process has only the secrets that it needs, and none leaves one in a core file, in a log or on a command line."""

import os
import resource
import signal
import subprocess
import unittest
from pathlib import Path

from harness import ROOT, SystemTest, wait_for

OWN = {
    "order-svc": {"ORDER_SVC_DB", "ORDER_SVC_INVENTORY_SECRET"},
    "inventory-1": {"INVENTORY_SVC_DB", "INVENTORY_SVC_REDIS", "INVENTORY_SVC_SECRET"},
    "inventory-2": {"INVENTORY_SVC_DB", "INVENTORY_SVC_REDIS", "INVENTORY_SVC_SECRET"},
    "postgres": set(),
    "redis": set(),
}


def is_secret(name):
    return name.endswith(("_PASSWORD", "_SECRET", "_DB", "_REDIS")) or name.startswith("TEST_")


class Secrets(SystemTest):
    def pid(self, name):
        return int((self.stack.run_dir / f"{name}.pid").read_text().split()[0])

    def environment(self, pid):
        """The environment by name. Empty if the process hides it and we are not root."""
        try:
            text = Path(f"/proc/{pid}/environ").read_text()
        except PermissionError:
            return {}
        return dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)

    def family(self, pid):
        children = [int(child) for child in os.listdir("/proc") if child.isdigit() and self.parent(child) == pid]
        return [pid, *children]

    @staticmethod
    def parent(pid):
        try:
            return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return 0

    def values(self, names):
        return {self.stack.settings[name] for name in names}

    def assert_has_only(self, pid, own):
        """The names of secrets in its environment. Asserts that no other value is there, and none on its command line."""
        environment = self.environment(pid)
        secrets = {name: value for name, value in self.stack.settings.items() if is_secret(name)}
        self.assertLessEqual({name for name in environment if name in secrets}, own)
        foreign = set(secrets.values()) - self.values(own)
        self.assertFalse(foreign & set(environment.values()))
        command = Path(f"/proc/{pid}/cmdline").read_text()
        self.assertFalse([value for value in secrets.values() if value in command])

    def test_each_process_has_its_own_alone(self):
        self.assertIn("INVENTORY_SVC_SECRET", self.stack.settings)
        for name, own in OWN.items():
            for pid in self.family(self.pid(name)):
                with self.subTest(name, pid=pid):
                    self.assert_has_only(pid, own)
        self.assertEqual((self.stack.run_dir / "env").stat().st_mode & 0o777, 0o600)

    def test_loadgen_has_its_own_alone(self):
        everything = {**self.stack.env, **self.stack.settings}  # like in a shell that read .run/env
        run = subprocess.Popen(["scripts/loadgen", "--strategy", "atomic", "-R", "10", "-d", "30s", "--stock", "10"], cwd=ROOT,
                               env=everything, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for("the program itself", lambda: Path(f"/proc/{run.pid}/cmdline").read_bytes().startswith(
                b"scripts/loadgen\0"))  # it is no longer a shell
            self.assert_has_only(run.pid, {"LOADGEN_INVENTORY_DB", "LOADGEN_ORDERS_DB"})
        finally:
            run.kill()
            run.wait()

    def test_no_core_file_is_written(self):
        """Asks for a core file as strongly as possible: no limit, and SIGABRT. The exit status says whether the kernel wrote one."""
        binary = str(ROOT / self.stack.env["B"] / "bin/order-svc")
        port = str(self.stack.port("inventory-2") + 10)

        def unlimited():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)

        with subprocess.Popen([binary, "--port", port], cwd=self.stack.run_dir, preexec_fn=unlimited, stderr=subprocess.PIPE,
                              env={"ORDER_SVC_DB": self.stack.settings["ORDER_SVC_DB"]}) as service:
            while b"listening" not in service.stderr.readline():
                self.assertIsNone(service.poll())
            os.kill(service.pid, signal.SIGABRT)
            status = os.waitpid(service.pid, 0)[1]
            service.returncode = -signal.SIGABRT
        self.assertTrue(os.WIFSIGNALED(status))
        self.assertFalse(os.WCOREDUMP(status))
        self.assertEqual([name for name in os.listdir(self.stack.run_dir) if name.startswith("core")], [])

    def test_without_a_secret_it_is_said_what_to_set(self):
        self.assertNotIn("no secret", self.stack.log("order-svc") + self.stack.log("inventory-1"))
        env = (self.stack.run_dir / "env").read_text()
        try:
            lines = [line for line in env.splitlines() if "_SECRET" not in line]
            (self.stack.run_dir / "env").write_text("\n".join(lines) + "\n")
            self.stack.restart("order-svc")
            self.stack.restart("inventory-1")
            answer = self.stack.ask("GET", "/reservations?since_ms=0", to="inventory-1")
            self.assertEqual((answer.status, answer.json["error"]), (403, "no_secret"))
            self.assertIn("INVENTORY_SVC_SECRET", answer.json["message"])
            self.assertIn("set=INVENTORY_SVC_SECRET", self.stack.log("inventory-1"))
            self.assertIn("set=ORDER_SVC_INVENTORY_SECRET", self.stack.log("order-svc"))
            wait_for("settling says why", lambda: "start it with INVENTORY_SVC_SECRET" in self.stack.log("order-svc"))
        finally:
            (self.stack.run_dir / "env").write_text(env)
            self.stack.restart("inventory-1")
            self.stack.restart("order-svc")


if __name__ == "__main__":
    unittest.main()

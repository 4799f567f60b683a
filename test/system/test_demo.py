"""`make demo`, `make up` and `make down` as a user types them, in a folder and on ports of their own."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, wait_for

PORTS = [PORT_BASE + offset for offset in (0, 1, 2, 90, 91)]


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Demo(unittest.TestCase):
    def setUp(self):
        # A copy of the checkout without its history: a user's own .run stays untouched.
        self.folder = Path(tempfile.mkdtemp(prefix="sale-test-"))
        self.folder.chmod(0o755)
        for entry in ROOT.iterdir():
            if entry.name not in (".git", ".run", "build", "results"):
                (shutil.copytree if entry.is_dir() else shutil.copy2)(entry, self.folder / entry.name)
        (self.folder / "build").symlink_to(ROOT / "build")
        self.env = {k: v for k, v in os.environ.items() if k not in ("RUN_DIR", "MAKEFLAGS", "MAKELEVEL")}
        self.env.update(PORT_BASE=str(PORT_BASE), B=BUILD, LOADGEN_PORT=str(PORT_BASE + 80),
                        # Without its history make would build the programs again while other tests run them.
                        REVISION=(ROOT / BUILD / "revision").read_text().strip(),
                        LOADGEN_LATE="1s")  # each command must succeed even on a busy machine

    def tearDown(self):
        subprocess.run(["scripts/stack", "down"], cwd=self.folder, env=self.env, check=False)
        for data in self.folder.glob(".run/**/postgres"):
            if data.is_symlink():
                shutil.rmtree(data.resolve(), ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *args):
        return subprocess.Popen(["make", *args], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def make(self, *args):
        run = self.start(*args)
        output, _ = run.communicate(timeout=120)
        return run.returncode, output

    def paste(self, command):
        """Types the command into a shell in the checkout. A server gets Ctrl-C once it listens."""
        run = subprocess.Popen(["bash", "-c", command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            if re.search(r"( serve|make class)\b", command):
                wait_for("the page", lambda: is_open(PORT_BASE + 80))
                os.killpg(run.pid, signal.SIGINT)
            output, _ = run.communicate(timeout=120)
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
        # make ends by the same signal.
        self.assertIn(run.returncode, (0, -signal.SIGINT) if "make class" in command else (0,), f"{command}\n{output}")
        return output

    def commands_after(self, words, output):
        """The indented lines after these words. A backslash continues a line."""
        lines = re.search(rf"{words}.*\n((?:  .*\n)+)", output)[1].replace("\\\n", " ")
        return [line.strip() for line in lines.splitlines()]

    def assert_nothing_is_left(self):
        self.assertEqual([port for port in PORTS if is_open(port)], [], "still listening")
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.works_in_folder(pid)]
        self.assertEqual(left, [], "still running")

    def works_in_folder(self, pid):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            return os.fsencode(self.folder) in command or os.readlink(f"/proc/{pid}/cwd").startswith(str(self.folder))
        except OSError:
            return False  # the process has ended, or it is a kernel thread

    def test_the_demo_prints_the_table_and_leaves_nothing(self):
        code, output = self.make("demo")
        self.assertEqual(code, 0, output)
        for name, verdict in [("none", "VIOLATED OVERSELL TWIN"), ("mutex", "VIOLATED OVERSELL TWIN"), ("redis", "VALID"), ("sharded", "VALID"),
                              ("atomic", "VALID")]:
            self.assertRegex(output, rf"(?m)^{name} +{verdict}")
        self.assertIn("\nnone: sold 800 of 500 units, 300 customers hold an order for nothing, and", output)
        self.assertIn("\natomic: sold all 500 units once each and refused the other 300\n", output)
        self.assertRegex(output, r"A = order \S+ via inventory-\d:[^B]*read \d+")
        self.assert_nothing_is_left()
        screen = output[:output.index("The servers stop now")].splitlines()[-18:] + output[output.index("The servers stop now"):].splitlines()
        self.assertEqual([line for line in screen if len(line) > 80], [])
        for name in ("none", "mutex", "redis", "sharded", "atomic"):
            self.assertTrue(any(re.match(rf"{name} +V", line) for line in screen), "the last screen has the verdicts")
        lab, show, up, down = self.commands_after("The servers stop now", output)
        self.assertIn("scripts/lab start 1", self.paste(lab))
        self.paste(show)
        self.paste(up)
        audits = re.findall(r"all of it: (.*)", output)
        self.assertEqual(len(audits), 2)
        for command in audits:
            self.assertRegex(self.paste(command), r"(?s)Twins.* \d+ rows\).*Orders: .* 800 rows\)|800 \|")
        copied = json.loads((self.folder / "results/latest/summary.json").read_text())["command"]
        for command in [copied, re.search(r"browser: (.*)", output)[1], down]:
            self.paste(command)
        self.assert_nothing_is_left()

    def test_an_interrupted_demo_leaves_nothing(self):
        run = self.start("demo")
        try:
            wait_for("loadgen", lambda: any(self.is_loadgen(pid) for pid in os.listdir("/proc") if pid.isdigit()), 60)
            os.killpg(run.pid, signal.SIGINT)
            output, _ = run.communicate(timeout=60)
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
        self.assertIn(run.returncode, (2, 130, -signal.SIGINT), output)
        self.assert_nothing_is_left()

    def is_loadgen(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/exe").endswith("/bin/loadgen") and self.works_in_folder(pid)
        except OSError:
            return False

    def test_a_taken_port_is_named(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", PORT_BASE + 1))
            taken.listen()
            code, output = self.make("demo")
        self.assertNotEqual(code, 0)
        self.assertIn(f"port {PORT_BASE + 1}, for inventory-1, is taken", output)
        self.assertIn("PORT_BASE=", output)
        self.assert_nothing_is_left()

    def test_up_serves_the_article_until_down_and_a_demo_beside_it_says_what_to_do(self):
        code, output = self.make("up")
        self.assertEqual(code, 0, output)
        *commands, down = self.commands_after("order-svc listens", output)
        told = [self.paste(command) for command in commands]
        self.assertIn("黄金竹子", "".join(told))
        code, output = self.make("demo")
        self.assertNotEqual(code, 0)
        self.assertIn("make down", output)
        self.assertIn("PORT_BASE=", output)
        self.paste(down)
        self.assert_nothing_is_left()

    def test_what_is_printed_works_in_a_shell_without_the_variables(self):
        env = self.env
        named = env | {"RUN_DIR": str(self.folder / ".run/it's own")}
        self.env = named
        try:
            code, output = self.make("up")
            self.assertEqual(code, 0, output)
            _, _, sell, down = self.commands_after("order-svc listens", output)
            self.env = {k: v for k, v in env.items() if k != "PORT_BASE"}
            audit = re.search(r"all of it: (.*)", self.paste(f"{sell.replace('redis', 'none')} -R 800 --stock 200 --expect none=VIOLATED"))[1]
            self.assertNotIn("could not be read", self.paste(f"{audit} | head -n 1"))
            failing = sell.replace("redis,atomic", "atomic,fail=after-read:delay=1ms") + " -d 100ms"
            self.paste(re.search(r"--lab: (.*) \(in containers", self.paste(f"! {failing}"))[1])
            self.paste(failing)
            self.paste(down)
            self.paste(re.search(r"Start it with (.*), or", self.paste(f"! {failing}"))[1])
            self.paste(re.search(r"stop it with (.*), or", self.paste(f"! {down.replace('make down', 'make demo')}"))[1])
        finally:
            subprocess.run(["scripts/stack", "down"], cwd=self.folder, env=named, check=False)
            self.env = env
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()

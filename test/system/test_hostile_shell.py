"""The user's shell does not leak in: programs and scripts run under a shell with hostile settings from its launcher."""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT

BIN = ROOT / BUILD / "bin"
EVIL = "() { echo evil; exit 9; }"
HOSTILE = {
    # would send libpq, Redis, curl, Java and etcd to another server, or to none
    "PGHOST": "127.0.0.9", "PGHOSTADDR": "127.0.0.9", "PGSSLMODE": "require", "PGSERVICE": "work", "PGCHANNELBINDING": "require",
    "PGTARGETSESSIONATTRS": "read-only", "PGOPTIONS": "-c default_transaction_read_only=on", "PGTZ": "Asia/Tokyo",
    "PGDATESTYLE": "German", "PGCLIENTENCODING": "LATIN1", "PGDATABASE": "other", "PGUSER": "other",
    "http_proxy": "http://127.0.0.9:9", "HTTP_PROXY": "http://127.0.0.9:9", "all_proxy": "http://127.0.0.9:9",
    "ALL_PROXY": "http://127.0.0.9:9", "REDISCLI_AUTH": "other", "JAVA_TOOL_OPTIONS": "-bad", "ETCD_NAME": "other",
    # variables of the shell itself
    "CDPATH": "/:/tmp", "BASH_ENV": "/dev/stdin/nothing", "ENV": "/dev/stdin/nothing", "IFS": "/", "GLOBIGNORE": "*",
    "POSIXLY_CORRECT": "1", "SHELLOPTS": "noglob", "PS4": "$(exit 9)", "GREP_OPTIONS": "-v", "QUOTING_STYLE": "c",
    **{f"BASH_FUNC_{name}%%": EVIL for name in ("cd", "psql", "printf", "source", "dirname", "echo", "curl", "setsid")},
    "LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "TERM": "dumb",
    "HOME": "/dev/null/none",  # nobody can create it, not even root
}
PROBE = ("PGHOSTADDR", "http_proxy", "JAVA_TOOL_OPTIONS", "BASH_ENV", "IFS", "HOME", "TERM", "REDISCLI_AUTH", "SHELLOPTS")


def be_hostile(closed=(), limits=()):
    """Runs in the child before the program."""
    for ignored in signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP:
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGUSR1})
    os.umask(0)
    for limit, most in limits:
        resource.setrlimit(limit, (most, most))
    for fd in closed:
        os.close(fd)


def start(*command, closed=(), limits=(), env=None, cwd=ROOT, output=subprocess.DEVNULL, **more):
    return subprocess.Popen([str(word) for word in command], cwd=cwd, env={**os.environ, **HOSTILE, **(env or {})},
                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True,
                            preexec_fn=lambda: be_hostile(closed, limits), **more)


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="two words, 'quoted' ")))
        self.folder.chmod(0o755)

    def ends(self, code, *command, **more):
        """Runs the program. Returns its output."""
        run = start(*command, output=subprocess.PIPE, **more)
        try:
            output, _ = run.communicate()
        finally:
            run.kill()
            run.wait()
        self.assertIn(run.returncode, code if isinstance(code, tuple) else (code,), output)
        self.assertNotIn("evil", output)
        return output


class Programs(HostileTest):
    """Programs that need no server."""

    CLOSED = [(), (0,), (1,), (2,), (0, 1, 2)]

    def test_lockctl_ends_with_the_code_of_its_command_and_gives_the_lock_back(self):
        url = f"file:{self.folder}"
        for closed in self.CLOSED:
            self.ends(3, BIN / "lockctl", "run", url, "job", "--", "sh", "-c", "exit 3", closed=closed)
        for _ in range(20):  # a shorter command might end before lockctl looks
            self.ends(0, BIN / "lockctl", "run", "-w", "0", url, "job", "--", "true")
        for limit in (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_STACK, 256 << 10), (resource.RLIMIT_FSIZE, 4096):
            self.ends(3, BIN / "lockctl", "run", "-w", "0", url, "job", "--", "sh", "-c", "exit 3", limits=[limit])
        self.assertIn("free", self.ends(0, BIN / "lockctl", "holders", url, "job"))

    def test_the_command_of_lockctl_has_no_signal_ignored_but_sighup(self):
        told = self.ends(0, BIN / "lockctl", "run", f"file:{self.folder}", "job", "--", "cat", "/proc/self/status")
        masks = [int(mask, 16) & 0x7FFFFFFF for mask in re.findall(r"Sig(?:Blk|Ign):\s*(\w+)", told)]  # without the C library
        self.assertEqual(masks, [0, 1 << signal.SIGHUP - 1])

    def test_a_lock_that_cannot_be_written_is_told(self):
        told = self.ends(69, BIN / "lockctl", "run", "-w", "0", f"file:{self.folder}", "job", "--", "true",
                         limits=[(resource.RLIMIT_FSIZE, 0)])
        self.assertTrue(told.startswith("lockctl: job: "), told)

    def test_lab_gives_a_right_file_all_its_points(self):
        mine = self.folder / "01.c"
        mine.write_text((ROOT / "lab/01-oversell/answer.c").read_text())
        long = self.folder / ("x" * 200)
        long.mkdir()
        for more in ({}, *({"env": {"TMPDIR": folder}} for folder in (str(self.folder), str(long), "/dev/null/none")), {"closed": (0, 1, 2)},
                     {"limits": [(resource.RLIMIT_NOFILE, 64)]}, {"limits": [(resource.RLIMIT_STACK, 256 << 10)]}):
            self.ends(0, BIN / "lab", "check", mine, **more)
        self.assertIn("100 of 100", self.ends(0, BIN / "lab", "grade", self.folder, "--chapter", "1"))

    def test_lab_says_what_it_has_too_little_of(self):
        mine = self.folder / "01.c"
        mine.write_text((ROOT / "lab/01-oversell/answer.c").read_text())
        for more, told in [({"limits": [(resource.RLIMIT_FSIZE, 0)]}, "a temporary file: File too large"),
                           ({"env": {"PATH": "/dev/null/none"}}, "this compiler could not be run")]:
            self.assertIn(told, self.ends(70, BIN / "lab", "check", mine, **more))

    def test_a_service_without_descriptors_says_so(self):
        for few in 5, 6, 7, 8:
            told = self.ends(70, BIN / "order-svc", limits=[(resource.RLIMIT_NOFILE, few)])
            self.assertEqual(told, "order-svc: cannot make an event loop: too many open files\n")
            told = self.ends(71, BIN / "lockctl", "holders", "redis://127.0.0.1:1", "a", limits=[(resource.RLIMIT_NOFILE, few)])
            self.assertEqual(told, "lockctl: cannot make an event loop: too many open files\n")

    def test_each_program_helps_with_closed_descriptors(self):
        for program in "order-svc", "inventory-svc", "loadgen", "lab", "lockctl":
            for closed in self.CLOSED:
                self.ends(0, BIN / program, "--help", closed=closed)


class OwnStack(HostileTest):
    """The scripts, in a checkout with spaces and quotes in its path."""

    def setUp(self):
        super().setUp()
        for entry in ROOT.iterdir():
            if entry.name not in (".git", ".run", "build", "results", "work"):
                (shutil.copytree if entry.is_dir() else shutil.copy2)(entry, self.folder / entry.name)
        (self.folder / "build").symlink_to(ROOT / "build")
        self.env = {"PORT_BASE": str(PORT_BASE), "B": BUILD, "MAKEFLAGS": "", "LOADGEN_LATE": "1s",
                    "REVISION": (ROOT / BUILD / "revision").read_text().strip(), "TMPDIR": str(self.folder)}
        self.addCleanup(self.down)

    def down(self):
        subprocess.run(["scripts/stack", "down"], cwd=self.folder, env={**os.environ, **self.env}, check=False)
        for data in self.folder.glob(".run/**/postgres"):
            if data.is_symlink():
                shutil.rmtree(data.resolve(), ignore_errors=True)

    def script(self, *command, code=0, **more):
        return self.ends(code, *command, cwd=self.folder, env=self.env, **more)

    def environment_of(self, name):
        pid = (self.folder / ".run" / f"{name}.pid").read_text().split()[0]
        return {pair.partition(b"=")[0].decode() for pair in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}

    def test_the_demo_shows_what_it_should(self):
        # If the machine stands still for a while, the round is INCONCLUSIVE: code 2.
        told = self.script("scripts/demo", "--strategy", "none,atomic", "--expect", "none=OVERSELL+TWIN+LEAK?+STALE?", code=(0, 2))
        self.assertRegex(told, r"(?m)^none +(VIOLATED|INCONCLUSIVE)")
        self.assertRegex(told, r"(?m)^atomic +(VALID|INCONCLUSIVE)")
        self.script("scripts/demo", "--strategy", "atomic", "--expect", "", closed=(0, 1, 2), code=(0, 2))

    def test_a_script_with_blocked_signals_reads_its_own_input(self):
        """The input ends before a line: the script does nothing."""
        self.assertNotIn("no stack", self.script("scripts/stack", "--on-line", "status"))

    def test_make_builds_and_starts_what_it_is_asked_for(self):
        self.assertIn("order-svc listens on", self.script("make", "up"))
        self.script("make", "down", closed=(0, 1, 2))

    def test_a_stack_of_its_own_sells_and_is_asked(self):
        with socket.create_server(("127.0.0.9", PORT_BASE + 90)) as foreign, open(self.folder / "lock", "w") as lock:
            self.script("env", "ORDER_SVC_FLAGS=--cores", "INVENTORY_SVC_FLAGS=--cores",  # or only root could read their environment
                        "scripts/stack", "up", "--with", "etcd", pass_fds=[lock.fileno()])
            self.assertEqual(self.script("scripts/stack", "status").count(" ready\n"), 6)
            for name in "postgres", "redis", "etcd-1", "order-svc", "inventory-1":
                self.assertEqual(self.environment_of(name) & set(PROBE), set(), name)
                pid = (self.folder / ".run" / f"{name}.pid").read_text().split()[0]
                held = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}
                self.assertNotIn(str(self.folder / "lock"), held, name)
            results = self.folder / "my results"
            told = self.script("scripts/loadgen", "--strategy", "atomic,etcd", "--rate", "200", "--requests", "60", "--stock", "20",
                               "--fault", "redis:restart@100ms", "--results", results, code=(0, 2))
            self.assertRegex(told, r"(?m)^atomic +(VALID|INCONCLUSIVE)")
            self.assertIn("exit code", told)
            self.assertEqual((results / "latest/summary.json").stat().st_mode & 0o777, 0o666)
            product = re.search(r'"product_id": "([0-9a-f-]{36})"', (results / "latest/summary.json").read_text()).group(1)
            self.assertIn("How many orders", self.script("scripts/audit", product))
            foreign.setblocking(False)
            self.assertRaises(BlockingIOError, foreign.accept)  # no request arrived there
            self.script("scripts/stack", "down")


if __name__ == "__main__":
    unittest.main()

"""lockctl on a Redis of its own: its promises about commands, signals, exit codes and output."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, wait_for
from redis_server import PASSWORD, URL, RedisServer

LOCKCTL = str(ROOT / BUILD / "bin/lockctl")
BUSY, LOST, USAGE, UNAVAILABLE = 75, 79, 64, 69


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class LockctlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = RedisServer()

    @classmethod
    def tearDownClass(cls):
        cls.redis.stop()

    def setUp(self):
        self.name = self.id().rpartition(".")[2]
        self.env = dict(os.environ, LOCKCTL_URL=URL)
        self.dir = Path(tempfile.mkdtemp(prefix="lockctl-test-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def lockctl(self, *words, timeout=30, **more):
        return subprocess.run([LOCKCTL, *words], env=self.env, stdin=more.pop("stdin", subprocess.DEVNULL), capture_output=True,
                              text=True, timeout=timeout, **more)

    def run_command(self, *command, flags=()):
        return self.lockctl("run", *flags, "-", self.name, "--", *command)

    def start(self, script, *flags):
        """`lockctl run` of a shell script that writes its pid into the file `pid` when it runs."""
        process = subprocess.Popen([LOCKCTL, "run", *flags, "-", self.name, "--", "sh", "-c", f'echo $$ >pid.new; mv pid.new pid; {script}'],
                                   env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.pid = int(wait_for("the command", lambda: (self.dir / "pid").exists() and (self.dir / "pid").read_text()))
        return process

    @staticmethod
    def end(process):
        process.terminate()  # it ends the whole group
        process.communicate(timeout=30)

    def code_of(self, process):
        self.said = process.communicate(timeout=30)
        return process.returncode

    def is_free(self):
        return self.redis.ask("exists", f"lk:{{{self.name}}}") == "0"

    def is_busy(self):
        return self.run_command("true", flags=["-w", "0"]).returncode == BUSY


class Run(LockctlTest):
    def test_two_exclude_each_other(self):
        script = "echo in >>log; sleep 0.2; echo out >>log"
        both = [subprocess.Popen([LOCKCTL, "run", "-", self.name, "--", "sh", "-c", script], env=self.env, cwd=self.dir) for _ in range(4)]
        self.assertEqual([process.wait(timeout=30) for process in both], [0] * 4)
        self.assertEqual((self.dir / "log").read_text().split(), ["in", "out"] * 4)
        self.assertTrue(self.is_free())

    def test_the_command_has_name_and_rising_fencing_tokens(self):
        told = [self.run_command("sh", "-c", 'echo "$LOCKCTL_NAME $LOCKCTL_FENCE"').stdout.split() for _ in range(3)]
        self.assertEqual({name for name, _ in told}, {self.name})
        fences = [int(fence) for _, fence in told]
        self.assertEqual(fences, sorted(set(fences)))

    def test_it_ends_as_the_command_does(self):
        for script, code in (("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
            with self.subTest(script):
                self.assertEqual(self.run_command("sh", "-c", script).returncode, code)
        self.assertTrue(self.is_free())

    def test_a_command_that_cannot_be_run(self):
        for command, code in ((["no-such-command"], 127), ([str(self.dir)], 126)):
            done = self.run_command(*command)
            self.assertEqual(done.returncode, code)
            self.assertIn(command[0], done.stderr)
        self.assertTrue(self.is_free())

    def test_input_and_output_are_the_commands(self):
        done = subprocess.run([LOCKCTL, "run", "-", self.name, "--", "cat"], input="hello\n", env=self.env, capture_output=True, text=True, timeout=30)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("hello\n", "", 0))

    def test_the_command_inherits_nothing_of_lockctl(self):
        done = self.run_command("sh", "-c", "ls -l /proc/self/fd; grep -E 'SigBlk|SigIgn' /proc/self/status")
        self.assertNotIn("socket:", done.stdout)
        self.assertNotIn("eventpoll", done.stdout)
        self.assertIn(subprocess.check_output(["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"], text=True), done.stdout)

    def test_a_wait_that_is_too_short_is_told(self):
        self.start("sleep 60")
        for wait in ("0", "2s"):
            done = self.run_command("true", flags=["-w", wait])
            self.assertEqual(done.returncode, BUSY)
            self.assertIn(self.name, done.stderr)

    def test_a_wait_that_is_long_enough(self):
        first = self.start("sleep 0.5")
        self.assertEqual(self.run_command("echo", "second", flags=["--wait", "20s"]).stdout, "second\n")
        self.assertEqual(self.code_of(first), 0)

    def test_it_is_renewed_while_the_command_runs(self):
        script = f"sleep 4.1; exec {LOCKCTL} run -w 0 - {self.name} -- true"  # after two TTLs
        done = self.run_command("sh", "-c", script, flags=["--ttl", "2s", "--signal", "none"])
        self.assertEqual(done.returncode, BUSY, done.stderr)

    def test_it_is_held_until_the_last_of_the_group_has_ended(self):
        process = self.start("(sleep 1.5; echo late >late) & exit 4")
        wait_for("the command's end", lambda: not is_alive(self.pid))
        self.assertTrue(self.is_busy())
        self.assertIsNone(process.poll())
        self.assertEqual(self.code_of(process), 4)
        self.assertEqual((self.dir / "late").read_text(), "late\n")
        self.assertTrue(self.is_free())

    def test_nobody_reads_the_password(self):
        process = self.start("sleep 60", "-v")
        self.assertNotIn(PASSWORD, Path(f"/proc/{process.pid}/cmdline").read_text())
        process.terminate()
        self.code_of(process)
        self.assertNotIn(PASSWORD, "".join(self.said))
        for url in (URL.replace(PASSWORD, "wrong-one"), URL.replace("redis:", "nonsense:"), URL + "/x/y"):
            self.env["LOCKCTL_URL"] = url
            done = self.run_command("true", flags=["-w", "0", "-v"])
            self.assertIn(done.returncode, (USAGE, UNAVAILABLE))
            self.assertNotIn(PASSWORD, done.stdout + done.stderr)
            self.assertNotIn("wrong-one", done.stdout + done.stderr)

    def test_a_server_that_is_not_there(self):
        self.env["LOCKCTL_URL"] = f"redis://127.0.0.1:{PORT_BASE + 99}"
        done = self.run_command("true", flags=["-w", "0"])
        self.assertEqual(done.returncode, UNAVAILABLE)
        self.assertIn("could not be reached", done.stderr)

    def test_a_wait_without_an_end_says_once_that_the_server_is_away(self):
        self.env["LOCKCTL_URL"] = f"redis://127.0.0.1:{PORT_BASE + 99}"
        run = subprocess.Popen([LOCKCTL, "run", "-", self.name, "--", "true"], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        try:
            self.assertRegex(run.stderr.readline(), r"\Alockctl: redis is down \(.*Connection refused.*\); it goes on trying\n\Z")
        finally:
            run.terminate()
            _, rest = run.communicate(timeout=60)
        self.assertNotIn("goes on trying", rest)

    def test_a_wait_of_more_than_a_second_names_the_holder(self):
        self.start("sleep 60", "--label", "the nightly job")
        run = subprocess.Popen([LOCKCTL, "run", "-", self.name, "--", "true"], env=self.env, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, run)
        self.assertRegex(run.stderr.readline(), rf"\Alockctl: {self.name}: waiting; the nightly job holds it\n\Z")

    def test_a_wait_names_a_process_that_holds_the_file_without_lockkit(self):
        url = f"file:{self.dir}"
        os.chmod(self.dir, 0o700)
        self.assertEqual(self.lockctl("run", url, "x", "--", "true").returncode, 0)
        with open(self.dir / "x.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            said = f"the process {os.getpid()} (without lockkit)"
            self.assertIn(said, self.lockctl("holders", url, "x").stdout)
            run = subprocess.Popen([LOCKCTL, "run", url, "x", "--", "true"], env=self.env, stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
            self.addCleanup(self.end, run)
            self.assertEqual(run.stderr.readline(), f"lockctl: x: waiting; {said} holds it\n")
        self.assertEqual(run.communicate(timeout=60), (None, ""))
        self.assertEqual(run.returncode, 0)

    def test_a_process_that_leaves_the_group_has_no_part_in_the_lock(self):
        self.start("setsid sh -c 'echo $$ >daemon.new; mv daemon.new daemon; exec sleep 60' & until [ -e daemon ]; do sleep 0.01; done")
        daemon = int(wait_for("the daemon", lambda: (self.dir / "daemon").exists() and (self.dir / "daemon").read_text()))
        self.addCleanup(os.kill, daemon, signal.SIGKILL)
        wait_for("the lock", self.is_free)
        self.assertTrue(is_alive(daemon))

    def test_a_wait_for_a_server_that_stands_still_says_so_and_goes_on(self):
        self.redis.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.redis.process.send_signal, signal.SIGCONT)
        run = subprocess.Popen([LOCKCTL, "run", "--wait", "10m", "-", self.name, "--", "true"], env=self.env, cwd=self.dir,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, run)
        said = run.stderr.readline()
        self.assertRegex(said, r"\Alockctl: .*; it goes on trying\n\Z")
        self.redis.process.send_signal(signal.SIGCONT)
        _, rest = run.communicate(timeout=60)
        self.assertEqual((run.returncode, rest), (0, ""))

    def test_a_folder_that_is_not_there_is_made_only_if_asked_for(self):
        folder = self.dir / "mistyped"
        url = f"file:{folder}"
        with_flag, without = f"there is no folder {folder}: correct the URL, or make the folder with --create\n", f"there is no folder {folder}, and "
        for words, said in ((["run", url, "x", "--", "true"], with_flag), (["holders", f"{url}?kind=mkdir", "x"], without),
                            (["break", url, "x"], without), (["watch", url, "x"], without), (["bench", url], with_flag),
                            (["run", "--create", f"{url}/deeper", "x", "--", "true"], f"there is no folder {folder}: ")):
            done = self.lockctl(*words)
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(said, done.stderr)
            self.assertFalse(folder.exists())
        self.assertEqual(self.lockctl("run", "--create", url, "x", "--", "true").returncode, 0)
        self.assertEqual(self.lockctl("holders", url, "x").returncode, 0)

    def test_a_url_that_cannot_do_it_is_told_which_can(self):
        for flags, url, kind in ((["--fair"], f"file:{self.dir}", "etcd://"), (["--limit", "2"], f"redis+string:{URL}", "zookeeper://"),
                                 (["--shared"], f"file:{self.dir}", "postgres://...?mode=session")):
            done = self.lockctl("run", *flags, url, "x", "--", "true")
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(kind, done.stderr)
        for words, kind in ((["break", f"file:{self.dir}", "x"], "kind=mkdir"), (["bench", "--fair", f"file:{self.dir}"], "redis://")):
            done = self.lockctl(*words)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
            self.assertIn("such a URL could: ", done.stderr)
            self.assertIn(kind, done.stderr)
        self.assertIn("modes=session,table", self.lockctl("run", "postgres://host/db", "x", "--", "true").stderr)

    def test_bad_usage(self):
        bad = [[], ["nonsense"], ["run"], ["run", "-"], ["run", "-", "x"], ["run", "-", "x", "--"], ["run", "-", "x", "true"],
               ["run", "--no-such", "-", "x", "--", "true"], ["run", "--ttl", "soon", "-", "x", "--", "true"],
               ["run", "--ttl", "1ms", "-", "x", "--", "true"], ["run", "--wait", "long", "-", "x", "--", "true"],
               ["run", "--signal", "LOUD", "-", "x", "--", "true"], ["run", "--signal", "99", "-", "x", "--", "true"],
               ["run", "--suspect", "30s", "-", "x", "--", "true"], ["run", "ftp://x", "x", "--", "true"],
               ["run", "-", "", "--", "true"], ["run", "-", "x" * 513, "--", "true"],
               ["holders"], ["holders", "-"], ["holders", "-", "x", "y"], ["break", "-"], ["watch", "-"], ["bench"],
               ["bench", "-c", "0", "-"], ["bench", "--names", "-1", "-"]]
        for words in bad:
            with self.subTest(" ".join(words)[:60]):
                done = self.lockctl(*words)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done.stderr)
                self.assertRegex(done.stderr, r"\Alockctl[^\n]*\n\Z")
        del self.env["LOCKCTL_URL"]
        self.assertIn("LOCKCTL_URL", self.run_command("true").stderr)

    def test_help_fits_the_line(self):
        for words in ([], ["run"], ["holders"], ["break"], ["watch"], ["bench"]):
            done = self.lockctl(*words, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertRegex(self.lockctl("--version").stdout, r"\Alockctl \d+\.\d+\.\d+ \(\S+\)\n\Z")


class Modes(LockctlTest):
    def hold(self, *flags):
        process = subprocess.Popen([LOCKCTL, "run", *flags, "-", self.name, "--", "sh", "-c", "echo held; exec sleep 60"], env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "held\n")
        return process

    def try_it(self, *flags):
        return self.run_command("true", flags=["-w", "0", *flags]).returncode

    def test_shared_ones_hold_beside_each_other(self):
        self.hold("--shared")
        self.hold("-s")
        self.assertEqual((self.try_it("--shared"), self.try_it()), (0, BUSY))
        holders = json.loads(self.lockctl("holders", "--json", "-", self.name).stdout)["holders"]
        self.assertEqual([holder["mode"] for holder in holders], ["shared"] * 2)

    def test_a_semaphore_has_so_many_permits(self):
        self.hold("--limit", "3", "--permits", "2")
        self.assertEqual((self.try_it("--limit", "3", "--permits", "2"), self.try_it("--limit", "3")), (BUSY, 0))

    def test_fair_ones_are_served_in_their_order(self):
        first = self.hold()
        waiting = []
        for number in range(4):
            waiting.append(subprocess.Popen([LOCKCTL, "run", "--fair", "-", self.name, "--", "sh", "-c", f"echo {number} >>{self.dir}/order"],
                                            env=self.env, stdin=subprocess.DEVNULL))
            wait_for("its place in the line", lambda: len(json.loads(self.lockctl("holders", "--json", "-", self.name).stdout)["waiters"])
                     == number + 1)
        first.terminate()
        self.assertEqual([process.wait(timeout=30) for process in waiting], [0] * 4)
        self.assertEqual((self.dir / "order").read_text().split(), ["0", "1", "2", "3"])

    def test_one_that_is_broken_is_lost(self):
        self.assertEqual(self.lockctl("break", "-", self.name).returncode, 1)
        process = self.hold("--ttl", "1s")
        owner = json.loads(self.lockctl("holders", "--json", "-", self.name).stdout)["holders"][0]["owner"]
        self.assertEqual(self.lockctl("break", "-", self.name, "f" * 40).returncode, 1)
        self.assertEqual(self.try_it(), BUSY)
        done = self.lockctl("break", "-v", "-", self.name, owner)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(self.try_it(), 0)
        self.assertEqual(process.wait(timeout=30), LOST)

    def test_a_lock_of_this_process_alone(self):
        self.env["LOCKCTL_URL"] = "local:"
        self.assertEqual(self.run_command("sh", "-c", "exit 4").returncode, 4)
        self.assertEqual(self.lockctl("holders", "-", self.name).stdout, "free\n")


class Danger(LockctlTest):
    def test_a_lock_that_was_taken_away_is_lost_and_the_command_killed(self):
        process = self.start("trap '' TERM; sleep 60 & wait", "--ttl", "1s")
        self.redis.ask("del", f"lk:{{{self.name}}}")
        self.assertEqual(self.code_of(process), LOST)
        self.assertFalse(is_alive(self.pid))
        self.assertIn("lost", self.said[1])

    def test_a_lost_lock_is_told_even_if_the_command_succeeds(self):
        process = self.start("while [ ! -e go ]; do sleep 0.05; done", "--ttl", "30s")  # it ends before a renewal
        self.redis.ask("del", f"lk:{{{self.name}}}")
        (self.dir / "go").touch()
        self.assertEqual(self.code_of(process), LOST)

    def test_lockctl_that_was_stopped_past_the_ttl_kills_the_command(self):
        process = self.start("trap '' TERM; sleep 60", "--ttl", "500ms")
        process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.run_command("true", flags=["-w", "20s"]).returncode, 0)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(self.code_of(process), LOST)
        self.assertFalse(is_alive(self.pid))

    def silence(self):
        self.redis.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.redis.process.send_signal, signal.SIGCONT)

    def test_the_command_is_told_and_then_killed_when_the_server_is_silent(self):
        process = self.start("trap 'echo told >>told' USR1; while :; do sleep 0.05; done", "--ttl", "3s", "--suspect", "2s",
                             "--signal", "USR1")
        self.silence()
        wait_for("the signal", (self.dir / "told").exists)
        self.assertTrue(is_alive(self.pid))
        wait_for("the kill", lambda: not is_alive(self.pid))
        self.redis.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.code_of(process), LOST)
        self.assertEqual((self.dir / "told").read_text(), "told\n")

    def test_a_command_that_ends_when_it_is_told_ends_in_time(self):
        process = self.start("trap 'exit 7' TERM; while :; do sleep 0.05; done", "--ttl", "4s", "--suspect", "3s")
        self.silence()
        wait_for("the end", lambda: not is_alive(self.pid))
        self.redis.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.code_of(process), 7)

    def test_without_a_signal_it_is_only_killed(self):
        process = self.start("trap 'echo told >told' TERM; while :; do sleep 0.05; done", "--ttl", "1s", "--suspect", "800ms",
                             "--signal", "none")
        self.silence()
        wait_for("the kill", lambda: not is_alive(self.pid))
        self.redis.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.code_of(process), LOST)
        self.assertFalse((self.dir / "told").exists())

    def test_a_lockctl_that_was_killed_takes_the_command_with_it(self):
        process = self.start("trap '' TERM INT HUP; while :; do sleep 0.05; done", "--ttl", "500ms")
        process.kill()
        wait_for("the command's end", lambda: not is_alive(self.pid))
        self.assertEqual(self.run_command("true", flags=["-w", "20s"]).returncode, 0)


class Signals(LockctlTest):
    def test_they_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(number.name):
                (self.dir / "pid").unlink(missing_ok=True)
                process = self.start(f"trap 'exit 5' {number.name[3:]}; echo ready >ready; while :; do sleep 0.05; done")
                wait_for("the trap", (self.dir / "ready").exists)
                (self.dir / "ready").unlink()
                process.send_signal(number)
                self.assertEqual(self.code_of(process), 5)
        self.assertTrue(self.is_free())

    def test_the_lock_is_kept_while_the_command_ends_in_its_own_time(self):
        process = self.start("trap 'sleep 1; exit 6' TERM; echo ready >ready; while :; do sleep 0.05; done")
        wait_for("the trap", (self.dir / "ready").exists)
        process.terminate()
        self.assertTrue(self.is_busy())
        self.assertEqual(self.code_of(process), 6)

    def test_they_end_the_wait(self):
        self.start("sleep 60")
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            waiting = subprocess.Popen([LOCKCTL, "run", "-", self.name, "--", "touch", "it"], env=self.env, cwd=self.dir)
            wait_for("the wait", lambda: "subscribe" in self.redis.ask("client", "list"))
            waiting.send_signal(number)
            self.assertEqual(waiting.wait(timeout=30), code)
        self.assertFalse((self.dir / "it").exists())

    def test_a_signal_that_nohup_ignores_stays_ignored(self):
        process = subprocess.Popen(["nohup", LOCKCTL, "run", "-", self.name, "--", "sh", "-c", "echo $$ >pid; sleep 0.7; kill -HUP $$; echo fine"],
                                   env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        wait_for("the command", (self.dir / "pid").exists)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.communicate(timeout=30)[0], "fine\n")


class Terminal(LockctlTest):
    def open(self, *command, under=()):
        """`lockctl run` in the foreground of its own terminal."""
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execvpe((under or [LOCKCTL])[0], [*under, LOCKCTL, "run", "-v", "-", self.name, "--", *command], self.env)
        self.addCleanup(os.close, self.terminal)
        fcntl.fcntl(self.terminal, fcntl.F_SETFL, os.O_NONBLOCK)
        self.shown = ""
        return pid

    def shows(self, text):
        try:
            self.shown += os.read(self.terminal, 4096).decode()
        except (BlockingIOError, OSError):
            pass
        return text in self.shown

    def wait_for(self, text):
        wait_for(f"{text!r} on the terminal", lambda: self.shows(text))

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def test_the_command_reads_what_is_typed(self):
        pid = self.open("sh", "-c", "read line; echo got $line")
        self.wait_for("acquired")
        self.press("hello\n")
        self.wait_for("got hello")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_control_c_is_for_the_command(self):
        pid = self.open("sh", "-c", "trap 'echo stopping; exit 9' INT; echo ready; while :; do sleep 0.05; done")
        self.wait_for("ready")
        self.press("\x03")
        self.wait_for("stopping")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)
        self.assertTrue(self.is_free())

    def test_control_c_ends_the_wait(self):
        self.start("sleep 60")
        pid = self.open("true")
        wait_for("the wait", lambda: "subscribe" in self.redis.ask("client", "list"))
        self.press("\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)

    def test_control_z_stops_the_job_and_fg_goes_on(self):
        """Under a shell with job control, like a person's."""
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execvpe("bash", ["bash", "--norc", "-i"], dict(self.env, PS1="$ "))
        self.addCleanup(os.close, self.terminal)
        fcntl.fcntl(self.terminal, fcntl.F_SETFL, os.O_NONBLOCK)
        attributes = termios.tcgetattr(self.terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.terminal, termios.TCSANOW, attributes)
        self.shown = ""
        self.press(f"{LOCKCTL} run -v - {self.name} -- sh -c 'echo rea\"\"dy; read line; echo got $line'\n")
        self.wait_for("ready")
        self.press("\x1a")
        self.wait_for("Stopped")
        self.press("fg\n")
        self.press("hello\n")
        self.wait_for("got hello")
        self.press("echo code $?\nexit\n")
        self.wait_for("code 0")
        os.waitpid(pid, 0)


class Look(LockctlTest):
    def test_holders_are_listed(self):
        self.assertEqual(self.lockctl("holders", "-", self.name).stdout, "free\n")
        self.start("sleep 60", "--label", "night shift")
        key = f"lk:{{{self.name}}}"  # another client may have any label
        self.redis.ask("set", key, self.redis.ask("get", key).replace("night ", "night\x1b[2J"), "keepttl", "xx")
        done = self.lockctl("holders", "-", self.name)
        self.assertRegex(done.stdout, r"(?m)^holds +exclusive +1 +[0-9a-f]{40} +\d+ +\d+\.\d s +night\?\[2Jshift$")

    def test_holders_are_listed_as_json(self):
        empty = json.loads(self.lockctl("holders", "--json", "-", self.name).stdout)
        self.assertEqual(empty, {"name": self.name, "holders": [], "waiters": []})
        self.start("echo $LOCKCTL_FENCE >fence; sleep 60", "--label", "me")
        fence = int(wait_for("the token", lambda: (self.dir / "fence").exists() and (self.dir / "fence").read_text()))
        holder, = json.loads(self.lockctl("holders", "--json", "-", self.name).stdout)["holders"]
        self.assertEqual((holder["label"], holder["fence"], holder["mode"], holder["permits"]), ("me", fence, "exclusive", 1))
        self.assertTrue(0 < holder["remaining_ms"] <= 30000)
        self.assertEqual(len(holder["owner"]), 40)

    def test_watch_prints_each_change(self):
        watching = subprocess.Popen([LOCKCTL, "watch", "--every", "20ms", "--json", "-", self.name], env=self.env,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, watching)
        self.assertEqual(json.loads(watching.stdout.readline())["holders"], [])
        process = self.start("sleep 60", "--label", "one")
        self.assertEqual(json.loads(watching.stdout.readline())["holders"][0]["label"], "one")
        self.end(process)
        last = json.loads(watching.stdout.readline())
        self.assertEqual((last["name"], last["holders"]), (self.name, []))
        watching.send_signal(signal.SIGINT)
        self.assertEqual(watching.wait(timeout=30), 130)

    def test_bench(self):
        done = self.lockctl("bench", "--json", "-d", "200ms", "-c", "3", "--names", "2", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["clients"], found["names"], found["failed"]), (3, 2, 0))
        self.assertGreater(found["cycles"], 0)
        self.assertLessEqual(found["acquire"]["p50_ms"], found["acquire"]["max_ms"])
        self.assertRegex(self.lockctl("bench", "-d", "50ms", "-").stdout, r"\A\d+ cycles in .*\nms .*\nacquire .*\nrelease .*\n\Z")
        self.env["LOCKCTL_URL"] = f"redis://127.0.0.1:{PORT_BASE + 99}"
        self.assertEqual(self.lockctl("bench", "-d", "50ms", "--reply", "100ms", "-").returncode, UNAVAILABLE, done.stderr)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([LOCKCTL, "holders", "-", self.name], env=self.env, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 74)


if __name__ == "__main__":
    unittest.main()

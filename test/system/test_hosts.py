"""loadgen --hosts: a conductor, and hosts in network namespaces with an sshd each."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, SystemTest, wait_for

LOADGEN = ROOT / BUILD / "bin/loadgen"
SSHD = """ListenAddress {address}
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
"""
SSH = """Host {name}
  HostName {address}
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking accept-new
  ExitOnForwardFailure yes
"""


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def name_of(pid):
    with contextlib.suppress(OSError):  # it has ended
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return None


class Host:
    """A network namespace with an sshd. Like a host far away, it reaches the stack only through ssh."""

    def __init__(self, name, number, folder):
        self.name, self.folder = name, folder
        self.space = f"sale-{PORT_BASE}-{name}"
        self.link = f"sale{PORT_BASE}{name}"
        net = f"10.{PORT_BASE // 256}.{PORT_BASE % 256}"
        self.address = f"{net}.{4 * number + 2}"
        subprocess.run(["ip", "netns", "del", self.space], capture_output=True)  # of a run that was killed
        run("ip", "netns", "add", self.space)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        run("ip", "address", "add", f"{net}.{4 * number + 1}/30", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        for command in ["address add " + self.address + "/30 dev eth0", "link set eth0 up", "link set lo up"]:
            run("ip", "-n", self.space, *command.split())
        config = Path(folder) / f"sshd-{name}"
        config.write_text(SSHD.format(address=self.address, folder=folder))
        self.server = subprocess.Popen(["ip", "netns", "exec", self.space, "/usr/sbin/sshd", "-D", "-e", "-f", config],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.server.stderr.readline()  # Server listening on ...

    def config(self, *ports):
        return SSH.format(name=self.name, address=self.address, folder=self.folder) + \
            "".join(f"  RemoteForward 127.0.0.1:{port} 127.0.0.1:{port}\n" for port in ports)

    def processes(self, name=""):
        """The ids of all its processes, or of those of one program."""
        pids = subprocess.run(["ip", "netns", "pids", self.space], capture_output=True, text=True).stdout.split()
        return [int(pid) for pid in pids if name in ("", name_of(pid))]

    def kill(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self):
        self.kill()
        self.server.wait()
        self.server.stderr.close()
        run("ip", "netns", "del", self.space)
        subprocess.run(["ip", "link", "del", self.link], capture_output=True)  # it went with the namespace, perhaps


@unittest.skipIf(os.geteuid(), "it makes network namespaces")
class Hosts(SystemTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        Path("/run/sshd").mkdir(exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/key")
        self.hosts = []
        for number, name in enumerate("ab"):
            self.hosts.append(Host(name, number, self.folder))
            self.addCleanup(self.hosts[-1].remove)
        ports = self.stack.port("order-svc"), self.stack.port("postgres")
        self.by_ssh = ["--ssh", self.ssh("ssh", *ports), "--remote-loadgen", str(LOADGEN)]

    def ssh(self, name, *ports):
        """The command that reaches the hosts, and lets them reach these ports of this machine."""
        Path(f"{self.folder}/{name}").write_text("".join(host.config(*ports) for host in self.hosts))
        # The first word for an option counts: a host that is silent for 3 s is given up.
        return f"ssh -F {self.folder}/{name} -oServerAliveInterval=1"

    def run_hosts(self, code, *args, hosts="a,b", text=""):
        done = self.stack.loadgen("--hosts", hosts, *self.by_ssh, "--strategy", "atomic", "--stock", "50", "-R", "800", "-d", "500ms", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(text, done.stdout + done.stderr)
        return done

    def assert_alone(self):
        for host in self.hosts:
            wait_for(f"the end of loadgen on {host.name}", lambda host=host: not host.processes("loadgen"))

    def test_hosts_make_one_run_for_each_strategy(self):
        results = f"{self.folder}/results"
        done = self.run_hosts(0, "--strategy", "none,atomic", "--expect", "none=VIOLATED", "--dup-rate", "0",
                              "-R", "1600", "--stock", "400", "--no-results=false", "--results", results, "--output-format", "json")
        summary = json.loads(done.stdout)
        self.assertEqual([(s["verdict"], sum(s["outcomes"].values())) for s in summary["strategies"]], [("VIOLATED", 800), ("VALID", 800)])
        self.assertEqual(summary["strategies"][1]["sold"], 400)
        self.assertEqual((summary["settings"]["hosts"], summary["settings"]["parts"]), ("a,b", 2))
        self.assertGreater(summary["strategies"][1]["moments_known_to_ms"], 0)
        check = self.stack.loadgen("check", f"{results}/latest")
        self.assertIn("the same verdicts", check.stderr)
        self.assert_alone()

    def test_a_fault_strikes_in_the_round_whatever_the_clocks_of_the_hosts_are(self):
        library, program, results = f"{self.folder}/other_clock.so", Path(f"{self.folder}/loadgen"), f"{self.folder}/results"
        run("cc", "-shared", "-fPIC", "-o", library, str(Path(__file__).with_name("other_clock.c")))
        program.write_text(f'#!/bin/sh\nLD_PRELOAD={library} OTHER_CLOCK=3600000000000,0,0,0 exec {LOADGEN} "$@"\n')
        program.chmod(0o755)
        done = self.stack.loadgen("--strategy", "atomic", "-R", "400", "-d", "1s", "--stock", "50", "--hosts", "a,b", *self.by_ssh,
                                  "--remote-loadgen", str(program), "--fault", "inventory-1:pause=100ms@200ms", "--no-results=false",
                                  "--results", results)
        self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
        history = [json.loads(line) for line in Path(f"{results}/latest/history.ndjson").read_text().splitlines()]
        [event] = [line for line in history if line["type"] == "event"]
        self.assertEqual((event["kind"], event["who"], event["name"]), ("server", "inventory-1", "pause"))
        self.assertTrue(0 < event["at"] < event["until"] < 60 * 10**9, event)  # the clocks differ by an hour

    def sending(self):
        """A run that both hosts have sent orders of, and its errors."""
        run = self.stack.start_loadgen("--strategy", "atomic,none", "-R", "200", "-d", "60s", "--stock", "100000",
                                       "--hosts", "a,b", *self.by_ssh, "--output-format", "json")
        self.addCleanup(run.kill)
        before = self.stack.value("inventory", "SELECT count(*) FROM reservation")
        wait_for("sales", lambda: self.stack.value("inventory", "SELECT count(*) FROM reservation") > before + 20)
        self.assertEqual([len(host.processes("loadgen")) for host in self.hosts], [1, 1])
        return run

    def end(self, run, code):
        output, errors = run.communicate(timeout=120)
        self.assertEqual(run.returncode, code, output + errors)
        self.strategies = json.loads(output)["strategies"]
        self.assertEqual(len(self.strategies), 1)
        self.assertGreater(self.strategies[0]["outcomes"]["sold"], 0)
        return self.strategies[0]

    def expect_lost(self, run, message):
        """The host b has gone, and `message` is in what the run says of it."""
        wait_for("the message", lambda: message in run.stderr.readline())
        run.send_signal(signal.SIGINT)
        strategy = self.end(run, 130)
        self.assertEqual(strategy["verdict"], "INCONCLUSIVE")
        self.assertIn("part 2 of 2 is lost: host b: the connection broke", " ".join(strategy["inconclusive_because"]))

    def test_a_host_that_dies_is_named_and_the_rest_is_kept(self):
        run = self.sending()
        self.hosts[1].kill()
        self.expect_lost(run, "part 2 of 2 on b:")

    def test_a_host_that_is_cut_off_is_named_and_the_rest_is_kept(self):
        run = self.sending()
        subprocess.run(["ip", "link", "set", self.hosts[1].link, "down"], check=True)
        self.expect_lost(run, "not responding")

    def test_ctrl_c_ends_all_hosts_and_keeps_what_they_sent(self):
        run = self.sending()
        run.send_signal(signal.SIGINT)
        self.end(run, 130)
        self.assert_alone()

    def test_hosts_end_when_their_run_is_killed(self):
        run = self.sending()
        run.kill()
        run.communicate()
        self.assert_alone()

    def test_a_host_that_cannot_send_is_named_before_the_start(self):
        part = "part 2 of 2 did not start: host "
        self.run_hosts(69, hosts="a,nowhere.invalid", text=part + "nowhere.invalid: ssh does not reach it: ssh: Could not resolve")
        self.run_hosts(69, "--remote-loadgen", "/nowhere/load gen",
                       text="host a: loadgen does not run there: install it, or name it with --remote-loadgen: ")
        self.run_hosts(69, "--ssh", "/nowhere/ssh", text="/nowhere/ssh could not be started: no such file")
        for there in ["order-svc", "postgres"]:
            self.run_hosts(69, "--ssh", self.ssh("alone", self.stack.port(there)), text="host a: --target and --inventory-db must lead to the servers from there: ")
        self.assert_alone()


if __name__ == "__main__":
    unittest.main()

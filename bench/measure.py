"""Tools for the parts of bench/run: programs and their output, wrk, the endpoint that does nothing."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test/system"))
from harness import BUILD, PORT_BASE, wait_for  # noqa: E402

LOADGEN = str(ROOT / BUILD / "bin/loadgen")
ROUNDS, SECONDS, CLIENTS = 3, 5, 32
NULL_PORT = PORT_BASE + 50


def report(name, measured, goal, is_met):
    print(f"  {'ok    ' if is_met else 'MISSED'} {name}: {measured}   (goal: {goal})", flush=True)
    return is_met


def output_of(args, codes=(0,), **options):
    done = subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if done.returncode not in codes:
        sys.exit(f"bench: {args[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout


def used_by(args, **options):
    """The output of a program, with any exit code, and its own use of the machine, without that of programs before it."""
    with tempfile.TemporaryFile("w+") as to:
        child = subprocess.Popen(args, stdout=to, **options)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        to.seek(0)
        return to.read(), used


def script(text):
    path = tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False)
    path.write(text)
    path.close()
    return path.name


def wrk_rate(url, lua=None, seconds=SECONDS, connections=CLIENTS, may_refuse=False):
    """Requests a second. With may_refuse, refused requests do not count; otherwise one ends the bench."""
    args = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", url]
    if lua:
        args[1:1] = ["-s", lua]
    text = output_of(args)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    if "Socket errors" in text or (refused and not may_refuse):
        sys.exit(f"bench: wrk met errors:\n{text}")
    share = int(refused[1]) / int(re.search(r"(\d+) requests in", text)[1]) if refused else 0
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)) * (1 - share)


def pid_of(stack, name):
    return (stack.run_dir / f"{name}.pid").read_text().split()[0]


def children_of(pid):
    return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def cpu_s(pid):
    """CPU seconds of a process so far, with its ended and its living children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = children_of(pid)
    except OSError:  # it just ended: its parent counts it
        return 0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_s, children))


def memory_mb(stack, name):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid_of(stack, name)}/status").read_text()).group(1)) / 1024


class NullServer:
    def __enter__(self):
        self.process = subprocess.Popen([str(ROOT / BUILD / "bin/bench_null_server"), "--port", str(NULL_PORT)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("the null server", self.is_up)
        self.url = f"http://127.0.0.1:{NULL_PORT}"
        return self

    @staticmethod
    def is_up():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", NULL_PORT)) == 0

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

#!/usr/bin/python3
"""`etcdctl lock NAME`: it holds the lock until its process ends, and prints the key when it has it. The program believes to hold
the lock while the process runs.

Usage: etcdctl.py ENDPOINT"""
import queue
import shutil
import signal
import subprocess
import sys
import threading

if not shutil.which("etcdctl"):
    sys.exit("etcdctl.py: no program etcdctl (Debian: etcd-client): scripts/deps locks")
if len(sys.argv) != 2:
    sys.exit(__doc__)
holder = None
LEAST_WAIT = 2  # etcdctl cannot try without waiting, and starts slowly on a busy machine


def say(text):
    sys.stdout.write(text + "\n")  # once: each thread below says something, too
    sys.stdout.flush()


def read(child, lines):
    for line in child.stdout:
        lines.put(line.strip())
    child.wait()
    lines.put(None)
    if child is holder:
        say("!lost")


def acquire(name, ttl_ms, wait_ms):
    global holder
    command = ["etcdctl", "--endpoints", sys.argv[1], "lock", name, "--ttl", str(max(1, -(-int(ttl_ms) // 1000)))]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = queue.Queue()
    threading.Thread(target=read, args=(child, lines), daemon=True).start()
    try:
        line = lines.get(timeout=max(LEAST_WAIT, int(wait_ms) / 1000))
    except queue.Empty:
        child.send_signal(signal.SIGINT)
        child.wait()
        return "busy"
    if line and line.startswith(name + "/"):
        holder = child
        return "held -"
    child.kill()
    return "error " + (line or "etcdctl ended")


def do(verb, *words):
    global holder
    if verb == "acquire":
        return acquire(*words)
    child = holder
    if verb == "check":
        return "held" if child and child.poll() is None else "lost"
    holder = None
    if not child or child.poll() is not None:
        return "lost"
    child.send_signal(signal.SIGINT)
    child.wait()
    return "released"


say("ready caps=ttl,renew,fair,told")
for line in sys.stdin:
    say(do(*line.split()))
if holder:
    holder.kill()

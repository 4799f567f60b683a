"""The part of bench/run that measures the cost of durable locks: Redis syncs each write to disk before its reply, once a second,
or never. One server switches between these from round to round."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile

from locks import hot_rate, run
from measure import BUILD, ROOT, output_of, report, wait_for
from harness import Stack  # measure.py says where it is

ROUNDS, SECONDS, STEADY, ORDERS = 3, 2, 800, 800
CONFIGURATIONS = {"always": ("always", "yes"), "everysec": ("everysec", "yes"), "none": ("everysec", "no")}


def switch(stack, name):
    sync, keeps = CONFIGURATIONS[name]
    stack.redis("config", "set", "appendfsync", sync)
    stack.redis("config", "set", "appendonly", keeps)
    wait_for("the file is written anew", lambda: "aof_rewrite_in_progress:0" in stack.redis("info", "persistence")
             and "aof_rewrite_scheduled:0" in stack.redis("info", "persistence"))


def set_rate(stack):
    """The rate of SET by one client, one after another."""
    return float(output_of([str(ROOT / BUILD / "bin/bench_serial"), "1", "0", "none", str(SECONDS)],
                           env=dict(os.environ, **stack.settings)))


def cycle_rate(stack, names):
    return float(output_of([str(ROOT / BUILD / "bin/bench_cycle"), "lockkit", stack.settings["INVENTORY_SVC_REDIS"], str(names),
                            str(SECONDS)]).split()[0])


def measured(stack):
    full, steady = hot_rate(stack, "redis", ["inventory-1", "inventory-2"]), run(stack, "redis", "--rate", str(STEADY), "--requests", str(ORDERS))
    return {"set": set_rate(stack), "cycle": cycle_rate(stack, 1), "cycles": cycle_rate(stack, 64), "sales": full,
            "p50": steady["latency_ms"]["p50"], "p99": steady["latency_ms"]["p99"]}


def syncs_of(stack, work):
    """The number of syncs of Redis's file while work() runs, and the value of work()."""
    pid = (stack.run_dir / "redis.pid").read_text().split()[0]
    with tempfile.NamedTemporaryFile("r") as counts:
        tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "name,calls", "-e", "trace=fsync,fdatasync", "-o", counts.name,
                                   "-p", pid], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        tracer.stderr.readline()  # "Process ... attached"
        done = work()
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        return sum(int(calls) for calls in re.findall(r"^f(?:data)?sync +(\d+)", counts.read(), re.M)), done


def syncs_per_lock(stack):
    """The rates of an acquisition and its release on one connection of lockkit, 1 and 64 locks at a time."""
    each = {}
    for names in (1, 64):
        syncs, rate = syncs_of(stack, lambda: cycle_rate(stack, names))
        each[names] = syncs / (rate * SECONDS)
    return each


def syncs_per_set(stack, clients, count):
    """The syncs per SET, with so many connections, each with one SET at a time."""
    password = stack.settings["INVENTORY_SVC_REDIS"].removeprefix("redis://:").partition("@")[0]
    syncs, _ = syncs_of(stack, lambda: output_of(["redis-benchmark", "-p", str(stack.port("redis")), "-c", str(clients), "-n",
                                                  str(count), "-t", "set", "-q", "-a", password]))
    return syncs / count


def bench_durability():
    stack, rounds = Stack(ORDER_SVC_FLAGS="--inventory-timeout 30s").up(), []
    try:
        for _ in range(ROUNDS):
            figures = {}
            for name in CONFIGURATIONS:
                switch(stack, name)
                figures[name] = measured(stack)
            rounds.append(figures)
        switch(stack, "always")
        if not shutil.which("strace"):
            print("         no strace here: syncs are not counted")
            locks, sets = None, None
        else:
            locks, sets = syncs_per_lock(stack), {clients: syncs_per_set(stack, clients, 500 * clients) for clients in (1, 64)}
    finally:
        stack.down()
    middle = {name: {what: statistics.median(figures[name][what] for figures in rounds) for what in rounds[0][name]}
              for name in CONFIGURATIONS}
    print("| appendfsync | SET, 1 client | lock and unlock, 1 at a time | 64 at a time | sales a second, 32 in flight | p50 at "
          f"{STEADY}/s | p99 |\n|---|---|---|---|---|---|---|")
    for name, row in middle.items():
        print(f"| `{name}` | {1e6 / row['set']:.0f} µs | {1e6 / row['cycle']:.0f} µs | {row['cycles']:,.0f}/s | {row['sales']:,.0f} | "
              f"{row['p50']:.1f} ms | {row['p99']:.1f} ms |")
    ratio = {what: statistics.median(figures["always"][what] / figures["none"][what] for figures in rounds)
             for what in ("set", "cycle", "cycles", "sales")}
    print("         always / none, median of the rounds: " + ", ".join(f"{what} {value:.2f}" for what, value in ratio.items()))
    if locks is None:
        return True
    print(f"         syncs per SET: {sets[1]:.2f} with 1 client, {sets[64]:.3f} with 64")
    return report("syncs of the disk per lock and unlock, 1 / 64 at a time", f"{locks[1]:.2f} / {locks[64]:.3f}",
                  "64 at a time at most an eighth", locks[64] <= locks[1] / 8)

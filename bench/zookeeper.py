"""The part of bench/run that compares lockkit's locks in ZooKeeper with kazoo's, on one server, in short turns."""

import re
import statistics

from measure import BUILD, ROOT, output_of, report
from harness import Stack  # measure.py says where it is

ROUNDS, SECONDS = 9, 1


def lockkit_rate(servers):
    text = output_of([str(ROOT / BUILD / "bin/lockctl"), "bench", "-c", "1", "--names", "1", "-d", f"{SECONDS}s",
                      f"zookeeper://{servers}/bench"])
    return float(re.search(r"s, ([\d,]+) a second", text)[1].replace(",", ""))


def kazoo_rate(servers):
    return float(output_of(["/usr/bin/python3", str(ROOT / "bench/kazoo_locks.py"), servers, str(SECONDS)]))


def bench_zookeeper():
    stack = Stack("servers", "--with", "zookeeper").up()
    try:
        servers = re.match(r"zookeeper://([^/?]+)", stack.settings["INVENTORY_SVC_ZOOKEEPER"])[1]
        pairs = [(lockkit_rate(servers), kazoo_rate(servers)) for _ in range(ROUNDS)]
    finally:
        stack.down()
    lockkit, kazoo = (statistics.median(rates) for rates in zip(*pairs))
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return report("acquire and release in ZooKeeper, one client", f"{lockkit:,.0f} a second, kazoo {kazoo:,.0f}: {ratio:.2f} times",
                  "at least 1.5 times kazoo", ratio >= 1.5)

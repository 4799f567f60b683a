"""The part of bench/run that compares lockkit's locks in etcd with etcdctl's, on one server, in short turns."""

import os
import re
import statistics
import subprocess
import time

from measure import BUILD, ROOT, output_of, report
from harness import Stack  # measure.py says where it is

ROUNDS, SECONDS, TIMES = 5, 1, 20


def lockkit_rate(url):
    text = output_of([str(ROOT / BUILD / "bin/lockctl"), "bench", "-c", "1", "--names", "1", "-d", f"{SECONDS}s", url])
    return float(re.search(r"s, ([\d,]+) a second", text)[1].replace(",", ""))


def etcdctl_rate(address):
    start = time.monotonic()
    for _ in range(TIMES):
        subprocess.run(["etcdctl", "--endpoints", address, "lock", "bench-etcdctl", "true"], env=dict(os.environ, ETCDCTL_API="3"),
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)
    return TIMES / (time.monotonic() - start)


def bench_etcd():
    stack = Stack("servers", "--with", "etcd").up()
    try:
        url = stack.settings["INVENTORY_SVC_ETCD"]
        pairs = [(lockkit_rate(url), etcdctl_rate(url.removeprefix("etcd://").split("/")[0])) for _ in range(ROUNDS)]
    finally:
        stack.down()
    lockkit, etcdctl = (statistics.median(rates) for rates in zip(*pairs))
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return report("acquire and release in etcd, one client", f"{lockkit:,.0f} a second, etcdctl lock {etcdctl:,.0f}: {ratio:.1f} times",
                  "at least 5 times etcdctl", ratio >= 5)

"""The part of bench/run that puts a crowd of names on one client, more and more in flight, beside leases that it holds."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import BUILD, PORT_BASE, ROOT, output_of, report, wait_for
from harness import Stack  # measure.py says where it is

ROUNDS, NEW_ROUNDS, SECONDS = 5, 3, 1.5
STEPS = [1, 10, 100, 1000, 2000, 10_000]
JUDGED = 2000


class Cluster:
    """Three nodes of a Redis Cluster."""

    def __enter__(self):
        self.folder, self.nodes, self.ports = tempfile.mkdtemp(prefix="crowd-"), [], [PORT_BASE + at for at in (51, 52, 53)]
        for port in self.ports:
            self.nodes.append(subprocess.Popen(
                ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder, "--cluster-enabled", "yes",
                 "--cluster-port", str(port + 3), "--cluster-config-file", f"{port}.conf"], stdout=subprocess.DEVNULL))
        wait_for("the nodes", lambda: all(self.ask(port, "PING") == "PONG" for port in self.ports))
        addresses = [f"127.0.0.1:{port}" for port in self.ports]
        output_of(["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"])
        wait_for("the cluster", lambda: all("cluster_state:ok" in self.ask(port, "CLUSTER", "INFO") for port in self.ports))
        return "redis+cluster://" + ",".join(addresses)

    @staticmethod
    def ask(port, *words):
        return subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, text=True).stdout.strip()

    def __exit__(self, *_):
        for node in self.nodes:
            node.kill()
            node.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def urls_of(env, folder):
    """Each backend that is not limited by sessions, by its name here."""
    redis, zookeeper = env["INVENTORY_SVC_REDIS"], env["INVENTORY_SVC_ZOOKEEPER"]
    return {"local": "local:", "redis": redis, "string": f"redis+string:{redis}", "redisson": f"redis+redisson:{redis}",
            "cluster": None, "redlock": env["INVENTORY_SVC_REDLOCK"], "zookeeper": zookeeper, "unfair": f"{zookeeper}?fair=0",
            "etcd": env["INVENTORY_SVC_ETCD"], "table": f"{env['INVENTORY_SVC_DB']}?mode=table",
            "flock": f"file:{folder}/flock", "mkdir": f"file:{folder}/mkdir?kind=mkdir"}


def measured(url, in_flight, *more):
    """Pairs a second, failed, in doubt, lost."""
    return [float(word) for word in output_of([str(ROOT / BUILD / "bin/bench_crowd"), url, str(in_flight), str(SECONDS), *more]).split()]


def new_rate(url):
    """Of names that the server has never seen."""
    return max(measured(url, JUDGED, f"new{time.time_ns()}")[0] for _ in range(NEW_ROUNDS))


def judge(name, url):
    rounds = [[measured(url, step) for step in STEPS] for _ in range(1 + ROUNDS)][1:]  # the first makes the names known
    rates = [max(done[at][0] for done in rounds) for at in range(len(STEPS))]  # the quietest moment of a shared machine
    failed, doubts, lost = (int(sum(step[at] for done in rounds for step in done)) for at in (1, 2, 3))
    print(f"         {name}: " + ", ".join(f"{step:,}: {rate:,.0f}" for step, rate in zip(STEPS, rates)) +
          f" pairs a second; {JUDGED:,} new names: {new_rate(url):,.0f}; {failed} failed, {doubts} times in doubt; "
          f"load {os.getloadavg()[0]:.1f}")
    ratio = rates[STEPS.index(JUDGED)] / max(rates)
    return all([report(f"{name}, {JUDGED:,} in flight / the best", f"{ratio:.2f}", "at least 0.90", ratio >= 0.9),
                report(f"{name}, held leases lost", f"{lost}", "0", lost == 0)])


def judge_all(chosen, urls, folder):
    is_met = True
    for name in chosen:
        if name == "cluster":
            with Cluster() as url:
                is_met &= judge(name, url)
        else:
            for kind in ("flock", "mkdir"):
                Path(folder, kind).mkdir(exist_ok=True)
            is_met &= judge(name, urls.get(name, name))
    return is_met


def bench_crowd():
    chosen, folder = os.environ.get("CROWD", "").split(), tempfile.mkdtemp(prefix="crowd-")
    if all(":" in name for name in chosen) and chosen:
        return judge_all(chosen, {}, folder)
    stack = Stack("servers", "--with", "redlock,zookeeper,etcd").up()
    try:
        urls = urls_of(stack.settings, folder)
        if unknown := [name for name in chosen if name not in urls and ":" not in name]:
            sys.exit(f"bench: CROWD has no '{unknown[0]}': it is URLs or names of {', '.join(urls)}")
        return judge_all(chosen or urls, urls, folder)
    finally:
        stack.down()
        shutil.rmtree(folder, ignore_errors=True)

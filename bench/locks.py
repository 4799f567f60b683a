"""The part of bench/run that measures each strategy: against its serial limit, at 800 a second, and saturated."""

import json
import os
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

from hot import STOCK
from measure import BUILD, CLIENTS, ROOT, ROUNDS, output_of, report, wrk_rate
from harness import Stack  # measure.py says where it is

SERIAL_S, SALES, ORDERS = 2, 2000, 1600
COHORT_S, COHORT_ROUNDS = 1, 15  # the median of three rounds of two seconds varied by 0.1
# Strategies with servers of their own. The others share a stack without these servers.
SERVERS = {"redis-wait": "replica", "redlock": "redlock", "zookeeper": "zookeeper", "zookeeper-unfair": "zookeeper", "etcd": "etcd"}
GOALS = {"redis": 0.9}  # for others 0.7
SPECS = {"segment": "segment,shards=1"}


def run(stack, spec, *more):
    """loadgen's summary of one round of the strategy."""
    done = stack.loadgen("--strategy", spec, "--work", "0", "--wait", "20s", "--stock", str(10 * SALES), "--dup-rate", "0",
                         "--late", "1h", "--timeout", "40s", "--no-results", "--no-progress", "--output-format", "json", *more)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"bench: loadgen --strategy {spec}: {done.stderr}")
    return json.loads(done.stdout)["strategies"][0]


def saturated(stack, spec):
    return run(stack, spec, "--rate", "20000", "--requests", str(SALES), "--max-in-flight", str(CLIENTS))


def strategies(stack):
    return json.loads(stack.ask("GET", "/strategies", to="inventory-1").text)["strategies"]


def serial_rate(stack, product, trips, seconds=SERIAL_S):
    return float(output_of([str(ROOT / BUILD / "bin/bench_serial"), *map(str, trips), product, str(seconds)],
                           env=dict(os.environ, **stack.settings)))


def hot_rate(stack, spec, names, seconds=SERIAL_S):
    """Sales a second by the article's own path through some instances, so that order-svc costs nothing."""
    product = stack.product(f"{spec},wait=20s", STOCK)
    urls = [f"http://127.0.0.1:{stack.port(name)}/inventory/minusInventory?inventoryId={product}" for name in names]
    with ThreadPoolExecutor() as pool:
        return sum(pool.map(lambda url: wrk_rate(url, connections=CLIENTS // len(urls), seconds=seconds, may_refuse=True),
                            urls))


def bench_locks():
    stack, is_met = Stack().up(), True
    try:
        product = stack.product("atomic", STOCK)
        assert stack.order(product).status == 201  # creates the stock rows
        for strategy in strategies(stack):
            if strategy["family"] == "spread" or strategy["name"] in SERVERS:
                continue
            spec = SPECS.get(strategy["name"], strategy["name"])
            work = run(stack, spec, "--rate", "20000", "--requests", "200", "--max-in-flight", "1")["work"]
            if work["hold_ms"] is None and work["postgres_per_order"] < 3:
                continue
            trips = round(work["redis_per_order"]), round(work["postgres_per_order"])
            names = ["inventory-1", "inventory-2"][:1 if strategy["family"] == "one process" else 2]
            rounds = [(serial_rate(stack, product, trips), hot_rate(stack, spec, names)) for _ in range(ROUNDS)]
            raw, ours = (statistics.median(column) for column in zip(*rounds))
            goal = GOALS.get(spec, 0.7)
            is_met &= report(f"{spec}, {trips[0]} + {trips[1]} round trips to Redis and Postgres",
                             f"{ours / raw:.2f} ({ours:,.0f} / {raw:,.0f} a second)", f"at least {goal}", ours / raw >= goal)
    finally:
        stack.down()
    return is_met


def bench_cohort():
    """If the lease stays in an instance, only the statements are the limit."""
    stack, names = Stack().up(), ["inventory-1", "inventory-2"]
    try:
        product = stack.product("atomic", STOCK)
        assert stack.order(product).status == 201  # creates the stock rows
        work = run(stack, "redis-cohort", "--rate", "20000", "--requests", "200", "--max-in-flight", "1")["work"]
        trips = 0, round(work["postgres_per_order"])
        without = statistics.median(hot_rate(stack, "redis", names) for _ in range(ROUNDS))
        rounds = [(serial_rate(stack, product, trips, COHORT_S), hot_rate(stack, "redis-cohort", names, COHORT_S))
                  for _ in range(COHORT_ROUNDS)]
    finally:
        stack.down()
    raw, ours = (statistics.median(column) for column in zip(*rounds))
    print(f"         redis, which hands nothing over: {without:,.0f} a second")
    return report(f"redis-cohort, {trips[1]} round trips to Postgres", f"{ours / raw:.2f} ({ours:,.0f} / {raw:,.0f} a second)",
                  "at least 0.85", ours / raw >= 0.85)


def show_rung(stack, name):
    steady = run(stack, name, "--rate", "800", "--requests", str(ORDERS))
    full, work = saturated(stack, name), steady["work"]
    sold_rate = full["achieved_rate"] * full["outcomes"]["sold"] / SALES  # refusals are no sales
    hold = f"{work['hold_ms']['p50']:.1f} ms" if work["hold_ms"] else "-"
    print(f"| `{name}` | {steady['outcomes']['sold']} of {ORDERS} | {steady['latency_ms']['p99']:.0f} ms | {hold} | "
          f"{work['postgres_per_order']:.1f} | {work['redis_per_order']:.1f} | {work['retries_per_success'] or 0:.1f} | "
          f"{sold_rate:.0f} | {full['service_ms']['p99']:.0f} ms |", flush=True)


def bench_ladder():
    """A table of all strategies, without a goal."""
    print("| strategy | sold, at 800/s | p99 | hold | PG | Redis | retries | sold a second, 32 in flight | p99 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for servers in [None, *dict.fromkeys(SERVERS.values())]:
        stack = Stack(*(["--with", servers] if servers else []), ORDER_SVC_FLAGS="--inventory-timeout 30s").up()
        try:
            for strategy in strategies(stack):
                if SERVERS.get(strategy["name"]) == servers:
                    show_rung(stack, strategy["name"])
        finally:
            stack.down()
    return True


def bench_handover():
    stack = Stack().up()
    try:
        text = output_of([str(ROOT / BUILD / "bin/bench_handover"), stack.settings["INVENTORY_SVC_REDIS"], str(SERIAL_S)])
    finally:
        stack.down()
    print("".join(f"         {line}\n" for line in text.splitlines()[:-1]), end="")
    ratio = float(text.split()[-1])
    return report("hand-over of one lock, 64 waiters in 4 processes", f"{ratio:.2f}", "at least 0.80", ratio >= 0.8)


def bench_leases():
    """The cost of many leases, without a goal."""
    stack = Stack().up()
    try:
        text = output_of([str(ROOT / BUILD / "bin/bench_leases"), stack.settings["INVENTORY_SVC_REDIS"], "100000", "20"])
    finally:
        stack.down()
    print("".join(f"         {line}\n" for line in text.splitlines()), end="")
    return True

"""The part of bench/run that compares docs/capacity.md's model with the stack. From the cost of an order with 32 and 128 in flight
it predicts the orders a second with 256 and 512, and their limit; then it measures them. From the cost of `prewarm` on one master
of a Redis Cluster it predicts the rates with three, and on paper the limit of six.

The model assumes a + b/n for the CPU per order of a part with n in flight: n orders share b, for example wake-ups and commits."""

import os
import re
import resource
import statistics
import sys
import time
from pathlib import Path

from hot import STOCK, WRK, sold
from measure import BUILD, CLIENTS, PORT_BASE, ROOT, ROUNDS, output_of, report, script, wrk_rate
from harness import Stack  # measure.py says where it is

SPECS, LOW, FEW, PREDICTED, SECONDS = ("atomic", "redis", "sharded", "batched"), CLIENTS, 4 * CLIENTS, (8 * CLIENTS, 16 * CLIENTS), 2
ONE, ALL = "prewarm,shards=1", "prewarm,shards=16"  # on a Redis Cluster: all stock on one master, and on all three
SHARDS = {"redis": 1, "sharded": 10}  # the number of locks that sales are spread over
SINGLE_THREADED = ("order-svc", "inventory-1", "inventory-2", "redis")
PARTS = (*SINGLE_THREADED, "replicas", "postgres", "wrk")
SERVERS = {"redis": ("redis", "cluster-1", "cluster-2", "cluster-3"), "replicas": ("cluster-4", "cluster-5", "cluster-6")}
TICK_S, CORES = 1 / os.sysconf("SC_CLK_TCK"), os.cpu_count()


def stat(pid):
    """The parent of a process, and CPU seconds: of its main thread, in the kernel, and of ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9  # clock ticks are too coarse for some orders
    return int(fields[1]), own, int(fields[12]) * TICK_S, (int(fields[13]) + int(fields[14])) * TICK_S


def stats():
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found[int(path.name)] = stat(path.name)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it ended meanwhile
    return found


def cpu(stack):
    """CPU seconds so far: of each part, in the kernel, and of all processes of this machine."""
    found, used, kernel = stats(), {}, 0.0
    for part in PARTS[:-1]:
        files = [stack.run_dir / f"{name}.pid" for name in SERVERS.get(part, (part,))]
        pids = [int(file.read_text().split()[0]) for file in files if file.exists()]
        own = [found[pid] for pid in pids] + [each for each in found.values() if each[0] in pids]
        used[part] = sum(each[1] for each in own) + sum(found[pid][3] for pid in pids)
        kernel += sum(each[2] for each in own)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    used["wrk"] = children.ru_utime + children.ru_stime
    ticks = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return used, kernel + children.ru_stime, (sum(ticks) - ticks[3] - ticks[4]) * TICK_S


def holds(stack):
    """The number of locks that were held so far, and the sum of their seconds."""
    text = "".join(stack.ask("GET", "/metrics", to=name).text for name in ("inventory-1", "inventory-2"))
    return [sum(float(value) for value in re.findall(rf"^inventory_lock_hold_seconds_{what}(?:{{.*}})? (\S+)", text, re.M))
            for what in ("count", "sum")]


def measured(stack, spec, in_flight):
    """Orders a second over HTTP with so many in flight, the cost of each, and the cores that were available."""
    product = stack.product(f"{spec},wait=20s", STOCK)
    path = script(WRK.format(product=product))
    url = f"http://127.0.0.1:{PORT_BASE}/orders"
    wrk_rate(url, path, 1, in_flight)
    held, begun_with, before, began = holds(stack), sold(stack, product), cpu(stack), time.monotonic()
    wrk_rate(url, path, SECONDS, in_flight)
    after, took, held_since = cpu(stack), time.monotonic() - began, holds(stack)
    orders = sold(stack, product) - begun_with  # wrk leaves some requests open; these are sold in its next round
    os.unlink(path)
    if orders == 0:
        sys.exit(f"bench: nothing was sold in {SECONDS} s under {spec}: the machine has too much other work")
    ours = sum(after[0].values()) - sum(before[0].values())
    count, held_s = (new - old for new, old in zip(held_since, held))
    return {"rate": orders / took, "cpu": {part: (after[0][part] - before[0][part]) / orders for part in PARTS},
            "kernel": (after[1] - before[1]) / ours, "cores": CORES - max(0, after[2] - before[2] - ours) / took,
            "hold": held_s / count if count else None}


def trips(stack):
    """Seconds of a write to Redis, and the seconds that the selling statement takes longer than a reading one: it locks the row for
    so long."""
    product = stack.product("atomic", STOCK)
    assert stack.order(product).status == 201  # creates the stock rows
    redis, sale, both = (1 / float(output_of([str(ROOT / BUILD / "bin/bench_serial"), *how, product, "1"],
                                             env=dict(os.environ, **stack.settings))) for how in (("1", "0"), ("0", "1"), ("0", "2")))
    return redis, max(2 * sale - both, 1e-6)


def cost_at(low, few, in_flight, masters=1):
    """The CPU per order of each part, with so many in flight. Each master of a Redis Cluster has its share of them."""
    costs = {}
    for part in PARTS:
        own = in_flight / masters if part in SERVERS else in_flight
        shared = (low["cpu"][part] - few["cpu"][part]) / (1 / LOW - 1 / FEW)
        costs[part] = max(low["cpu"][part] - shared * (1 / LOW - 1 / own), 0)
    return costs


def busy(point):
    """The share of the cores that was busy. The rest waited for a lock, a row or the disk, and more orders would not help."""
    return point["rate"] * sum(point["cpu"].values()) / point["cores"]


def predict(spec, low, few, trip, in_flight, cores, masters=1):
    """The limits in orders a second. The lowest one is the prediction."""
    costs = cost_at(low, few, in_flight, masters)
    limits = {"cores": busy(few) * cores / sum(costs.values())}
    limits |= {part: (masters if part == "redis" else 1) / costs[part] for part in SINGLE_THREADED if costs[part] > 0}
    if spec in SHARDS:  # a release also tells the next waiter
        limits["lock"] = SHARDS[spec] / (few["hold"] + trip[0])
    elif spec == "atomic":
        limits["row"] = 1 / trip[1]
    return limits


def show(spec, low, few, trip):
    print(f"         {spec}: {busy(few):.0%} of the cores are busy with {FEW} in flight" + (f", holds its lock {1000 * few['hold']:.2f} ms" if few["hold"] else "") +
          f"; round trip to Redis {1e6 * trip[0]:.0f} µs, a sale locks its row {1e6 * trip[1]:.0f} µs")
    for in_flight, point in ((LOW, low), (FEW, few)):
        print(f"           CPU per order, {in_flight} in flight: " + ", ".join(f"{part} {1e6 * used:.0f}" for part, used in
              point["cpu"].items()) + f" µs; {point['kernel']:.0%} of it in the kernel")


def show_growth(costs, rate=1_000_000):
    print(f"           {rate:,} orders a second: " + ", ".join(f"{part} {rate * used:,.0f}" for part, used in
          costs.items() if part != "wrk") + " cores")


def show_masters(low, few):
    for masters in (1, 3, 6):
        cost = cost_at(low, few, masters * PREDICTED[-1], masters)["redis"]
        print(f"           masters: {masters}, with {PREDICTED[-1]} orders in flight on each: Redis sells at most {masters / cost:,.0f} a second")


def compare(stack, spec, known, masters=1):
    """Predict the rates of `spec` from the costs of `known`, and measure them: the error for each number in flight."""
    rounds = []
    for _ in range(ROUNDS):
        trip, low, few = trips(stack), measured(stack, known, LOW), measured(stack, known, FEW)
        for in_flight in PREDICTED:
            real = measured(stack, spec, in_flight)
            limits = predict(spec, low, few, trip, in_flight, real["cores"], masters)
            rounds.append((in_flight, limits, real))
    show(known, low, few, trip)
    show_growth(cost_at(low, few, PREDICTED[-1]))
    if masters > 1:
        show_masters(low, few)
    errors = {}
    for in_flight, limits, real in rounds:
        by = min(limits, key=limits.get)
        errors.setdefault((spec, in_flight), []).append(limits[by] / real["rate"] - 1)
        print(f"           {in_flight} in flight, {real['cores']:.1f} cores: predicted {limits[by]:,.0f}/s, {1000 * in_flight / limits[by]:.0f} ms "
              f"(limit: {by}), measured {real['rate']:,.0f}/s, {1000 * in_flight / real['rate']:.0f} ms" +
              (f"; Redis {1e6 * real['cpu']['redis']:.1f} µs an order, predicted {1e6 * masters / limits['redis']:.1f}" if masters > 1 else ""))
    return {key: statistics.median(each) for key, each in errors.items()}


def bench_capacity():
    errors, patient = {}, {"ORDER_SVC_FLAGS": "--inventory-timeout 30s"}
    stack = Stack(**patient).up()
    try:
        for spec in SPECS:
            errors |= compare(stack, spec, spec)
    finally:
        stack.down()
    stack = Stack("--with", "cluster", **patient).up()
    try:
        errors |= compare(stack, ALL, ONE, masters=3)
    finally:
        stack.down()
    return all([report(f"{spec}, {in_flight} in flight, predicted / measured, median of {ROUNDS}", f"{error:+.0%}", "within 20 %",
                       abs(error) <= 0.2) for (spec, in_flight), error in errors.items()])

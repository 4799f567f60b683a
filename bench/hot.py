"""The part of bench/run that measures the hot path: all orders want one row, over HTTP, durably."""

import json
import os
import re
import statistics
import time
from functools import partial
from pathlib import Path

from measure import PORT_BASE, ROUNDS, SECONDS, cpu_s, output_of, pid_of, report, script, wait_for, wrk_rate
from harness import Stack  # measure.py says where it is

CLIENT_COUNTS = [1, 2, 4, 8, 16, 32]
BUSY = 512  # in flight: enough for batches to fill
STOCK = 100_000_000
PATIENT = {"ORDER_SVC_FLAGS": "--inventory-timeout 30s"}
# pgbench has its own tables with the same indexes: settling would record orders for its sales from ours.
PGBENCH_TABLES = """\
DROP TABLE IF EXISTS bench_stock, bench_reservation;
CREATE TABLE bench_stock (LIKE stock INCLUDING ALL) WITH (fillfactor = 10);
CREATE TABLE bench_reservation (LIKE reservation INCLUDING ALL);
INSERT INTO bench_stock SELECT * FROM stock WHERE product_id = :'product';
GRANT ALL ON bench_stock, bench_reservation TO inventory_svc;
"""
PGBENCH = """\
WITH taken AS (
    UPDATE bench_stock SET available = available - 1, version = version + 1
    WHERE product_id = '{product}' AND shard = 0 AND available > 0
    RETURNING first_unit + available AS unit, available AS remaining)
INSERT INTO bench_reservation (order_id, product_id, shard, unit, remaining, instance, fence)
SELECT gen_random_uuid(), '{product}', 0, unit, remaining, 'pgbench', 0 FROM taken;
"""
WRK = """\
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{{"product_id": "{product}"}}'
"""


def laid_out(stack, spec):
    """A product with stock rows: its first order creates them."""
    product = stack.product(spec, STOCK)
    assert stack.order(product).status == 201
    return product


def pgbench_rate(stack, clients, seconds=SECONDS):
    product = laid_out(stack, "atomic")
    path = script(PGBENCH.format(product=product))
    stack.sql("inventory", PGBENCH_TABLES, product=product)
    binary = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]
    text = output_of([str(binary), "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(seconds), "-f", path,
                      stack.settings["INVENTORY_SVC_DB"]])
    os.unlink(path)
    return float(re.search(r"tps = ([\d.]+)", text).group(1))


def best_of_pgbench(stack):
    """The best number of clients for pgbench, and its sales a second with them."""
    return max(((clients, pgbench_rate(stack, clients, 2)) for clients in CLIENT_COUNTS), key=lambda found: found[1])


def orders_rate(stack, product, connections):
    """Orders placed a second. Requests that are refused because too many wait do not count."""
    path = script(WRK.format(product=product))
    rate = wrk_rate(f"http://127.0.0.1:{PORT_BASE}/orders", path, connections=connections, may_refuse=True)
    os.unlink(path)
    return rate


def cpu_by_part(stack):
    return {name: cpu_s(pid_of(stack, name)) for name in ["order-svc", "inventory-1", "inventory-2", "postgres", "redis"]}


def sold(stack, product):
    return int(stack.value("inventory", f"SELECT {STOCK} - sum(available) FROM stock WHERE product_id = '{product}'"))


def rate_and_cpu_us(stack, product, connections):
    """Orders a second, and the CPU microseconds of each part for an order."""
    cpu, orders = cpu_by_part(stack), sold(stack, product)
    rate = orders_rate(stack, product, connections)
    wait_for("the ledger has what Redis sold", lambda: stack.ask("GET", f"/products/{product}", to="inventory-1").json["pending"] == 0)
    orders = sold(stack, product) - orders
    return rate, {name: (after - cpu[name]) * 1e6 / orders for name, after in cpu_by_part(stack).items()}


def ratio(what, ours, theirs, goal):
    found = statistics.median(mine / other for mine, other in zip(ours, theirs))
    return report(what, f"{found:.2f} ({statistics.median(ours):,.0f} / {statistics.median(theirs):,.0f} a second)",
                  f"at least {goal}", found >= goal)


def bench_orders(stack):
    clients, _ = best_of_pgbench(stack)
    product, rounds = laid_out(stack, "atomic"), []
    for _ in range(ROUNDS):
        rounds.append((orders_rate(stack, product, 32), pgbench_rate(stack, 32), pgbench_rate(stack, clients)))
    ours, of_32, best = zip(*rounds)
    return all([ratio("atomic through order-svc, 32 in flight / pgbench with 32 clients", ours, of_32, 1.8),
                ratio(f"the same / pgbench with its best number of clients, {clients}", ours, best, 0.9)])


def report_cpu(spec, parts, goal=50):
    """The median of rounds, each with the CPU microseconds of each part for an order."""
    parts = sorted(parts, key=lambda part: sum(part.values()))[len(parts) // 2]
    us, told = sum(parts.values()), ", ".join(f"{name} {us:.0f}" for name, us in parts.items())
    return report(f"CPU per order under {spec}", f"{us:.0f} us ({told})", f"at most {goal} us", us <= goal)


def bench_batched(stack):
    clients, _ = best_of_pgbench(stack)
    product, rounds = laid_out(stack, "batched"), []
    for _ in range(ROUNDS):
        rounds.append((*rate_and_cpu_us(stack, product, BUSY), pgbench_rate(stack, clients)))
    ours, parts, best = zip(*rounds)
    rate = statistics.median(ours)
    return all([ratio(f"batched through order-svc, {BUSY} in flight / pgbench with its best number of clients, {clients}", ours, best, 10),
                report("batched, the rate itself", f"{rate:,.0f} a second", "at least 31,000 on a quiet machine", rate >= 31000),
                report_cpu("batched", parts, 36)])


def bench_prewarm(stack):
    products, rounds = [laid_out(stack, spec) for spec in ["prewarm", "batched"]], []
    for _ in range(2 * ROUNDS):
        rounds.append([rate_and_cpu_us(stack, product, BUSY) for product in products])
    prewarm, batched = zip(*rounds)
    twins = stack.value("inventory", "SELECT count(*) - count(DISTINCT unit) FROM reservation WHERE product_id = :'id'", id=products[0])
    report_cpu("batched", [parts for _, parts in batched])
    return all([ratio(f"prewarm / batched, {BUSY} in flight", [rate for rate, _ in prewarm], [rate for rate, _ in batched], 0.9),
                report_cpu("prewarm", [parts for _, parts in prewarm]),
                report("units that prewarm sold twice", twins, "none", twins == 0)])


def bench_spread(stack):
    """`sharded` hands a lease over inside an instance. The rate without that is printed, and has no goal."""
    products = [laid_out(stack, spec) for spec in ["atomic", "sharded", "sharded,handover=0"]]
    atomic, sharded, asking = zip(*[[orders_rate(stack, product, 32) for product in products] for _ in range(ROUNDS)])
    print(f"         sharded,handover=0: {statistics.median(asking):,.0f} a second")
    return ratio("sharded / atomic, 32 in flight", sharded, atomic, 0.8)


def bench_clients(stack):
    is_met = True
    for spec in ["atomic", "batched", "sharded"]:
        product = laid_out(stack, f"{spec},wait=20s")
        many, few = zip(*[(orders_rate(stack, product, 4096), orders_rate(stack, product, 64)) for _ in range(ROUNDS)])
        is_met &= ratio(f"{spec} with 4,096 clients / with 64", many, few, 0.8)
    return is_met


def latency_ms(stack, spec, rate, seconds, *more):
    done = stack.loadgen("--strategy", spec, "--rate", str(rate), "--duration", f"{seconds}s", "--stock", str(10 * rate * seconds),
                         "--dup-rate", "0", "--no-results", "--no-progress", "--output-format", "json", *more)
    return json.loads(done.stdout)["strategies"][0]["latency_ms"]


def bench_latency(stack):
    is_met = True
    for spec, most in [("atomic", 2), ("sharded", 3)]:
        rounds = []
        for _ in range(ROUNDS):
            idle = latency_ms(stack, spec, 20, 5)["p50"]
            time.sleep(1)
            rounds.append((latency_ms(stack, spec, 800, SECONDS)["p99"], idle))
        found = statistics.median(p99 / p50 for p99, p50 in rounds)
        p99, p50 = (statistics.median(column) for column in zip(*rounds))
        is_met &= report(f"{spec}: p99 at 800 a second / p50 of an order at a time", f"{found:.1f} ({p99:.1f} / {p50:.1f} ms)",
                         f"at most {most}", found <= most)
    return is_met


def with_stack(bench, *shape, **flags):
    stack = Stack(*shape, **flags).up()
    try:
        return bench(stack)
    finally:
        stack.down()


HOT = {"orders": partial(with_stack, bench_orders), "batched": partial(with_stack, bench_batched),
       "prewarm": partial(with_stack, bench_prewarm),
       "spread": partial(with_stack, bench_spread), "latency": partial(with_stack, bench_latency),
       "clients": partial(with_stack, bench_clients, **PATIENT)}

"""The part of bench/run that shows how figures grow with products, ledger rows, clients, shards and instances."""

import json
import os
import time

from hot import PATIENT, laid_out, latency_ms, orders_rate, with_stack
from measure import ROOT, memory_mb, pid_of, report
from plot import page
from harness import Stack  # measure.py says where it is

FILL_PRODUCTS = """
INSERT INTO product (product_id, name, price, initial_stock, strategy)
SELECT gen_random_uuid(), 'growth', 1, 1000, 'atomic' FROM generate_series(1, {count});
INSERT INTO stock (product_id, shard, first_unit, available) SELECT product_id, 0, 1, 1000 FROM product ON CONFLICT DO NOTHING;
ANALYZE product, stock
"""
# Of sales before the runs: without VACUUM the first reader would write all their pages again, in the middle of a measurement.
FILL_LEDGER = """
INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence, reserved_at)
SELECT gen_random_uuid(), '00000000-0000-7000-8000-000000000000', 0, n, 0, 'growth', 0, now() - interval '1 hour'
FROM generate_series(1, {count}) n;
VACUUM (ANALYZE) reservation
"""


def fill(stack, text, count):
    for statement in text.format(count=count).split(";"):
        stack.sql("inventory", statement)
    stack.sql("inventory", "CHECKPOINT")


def services(stack):
    return ["order-svc"] + [path.stem for path in sorted(stack.run_dir.glob("inventory-*.pid"))]


def resources(stack):
    """Memory and descriptors, summed over the services."""
    names = services(stack)
    return {"RSS, MB": sum(memory_mb(stack, name) for name in names),
            "descriptors": sum(len(os.listdir(f"/proc/{pid_of(stack, name)}/fd")) for name in names)}


def peak_while(stack, work):
    """The value of `work`, and the resources at its end: pools and stacks are kept."""
    return {**work(), **resources(stack)}


def p99(stack, items=1):
    return {spec: latency_ms(stack, spec, 800, 4, "--items", str(items))["p99"] for spec in ["atomic", "sharded"]}


def filled(title, over, text, counts, measure):
    """p99 at 800 a second, with more and more rows in the database."""
    stack, rows = Stack(ORDER_SVC_FLAGS="--settle-every 1h").up(), []  # otherwise it would record orders for all added rows
    try:
        there = 0
        for count in counts:
            fill(stack, text, count - there)
            there = count
            rows.append({over: count, **peak_while(stack, lambda: measure(stack, count))})
            print(f"         {rows[-1]}", flush=True)
    finally:
        stack.down()
    return {"title": title, "unit": "p99 in milliseconds at 800 orders a second", "over": over,
            "lines": ["atomic", "sharded"], "rows": rows}


def rates(title, over, points, run):
    rows = []
    for point in points:
        rows.append({over: point, **run(point)})
        print(f"         {rows[-1]}", flush=True)
    lines = [name for name in rows[0] if name not in (over, "RSS, MB", "descriptors")]
    return {"title": title, "unit": "orders a second", "over": over, "lines": lines, "rows": rows}


def by_clients(stack):
    products = {spec: laid_out(stack, f"{spec},wait=20s") for spec in ["atomic", "batched", "sharded"]}
    return rates("Clients", "clients", [16, 64, 256, 1024, 4096], lambda clients: peak_while(
        stack, lambda: {spec: orders_rate(stack, product, clients) for spec, product in products.items()}))


def by_shards(stack):
    return rates("Shards", "shards", [1, 2, 4, 8, 16, 32, 64], lambda shards: peak_while(
        stack, lambda: {spec: orders_rate(stack, laid_out(stack, f"{spec},shards={shards},wait=20s"), 64)
                        for spec in ["sharded", "sharded-skip"]}))


def of_instances(instances):
    return with_stack(lambda stack: peak_while(
        stack, lambda: {spec: orders_rate(stack, laid_out(stack, f"{spec},wait=20s"), 64) for spec in ["atomic", "batched", "sharded"]}),
        "--instances", str(instances), **PATIENT)


def bench_growth():
    """Powers of ten up to 10**GROWTH (7) ledger rows, and a tenth of that in products."""
    most = int(os.environ.get("GROWTH", "7"))
    charts = [
        filled("Products", "products", FILL_PRODUCTS, [10 ** n for n in range(most)], lambda stack, count: p99(stack, min(count, 1000))),
        filled("Rows of the ledger", "rows", FILL_LEDGER, [10 ** n for n in range(3, most + 1)], lambda stack, _: p99(stack)),
        with_stack(by_clients, **PATIENT), with_stack(by_shards, **PATIENT),
        rates("Inventory instances", "instances", [1, 2, 3, 4], of_instances)]
    folder = ROOT / "results" / time.strftime("%Y%m%dT%H%M%SZ-growth", time.gmtime())
    folder.mkdir(parents=True)
    (folder / "growth.json").write_text(json.dumps(charts, indent=1) + "\n")
    lead = f"bench/run growth, {os.cpu_count()} cores, everything on one machine; RSS and descriptors are those of the services together."
    (folder / "growth.html").write_text(page("How it grows", lead, charts))
    print(f"         {folder.relative_to(ROOT)}/growth.html")
    last = charts[1]["rows"][-1]
    return report(f"p99 of atomic with {last['rows']:,} rows", f"{last['atomic']:.1f} ms", "at most 8 ms", last["atomic"] <= 8)

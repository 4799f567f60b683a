"""The time in which loadgen judges a long history again: a million orders under `atomic`, each with its sale and its record."""

import json
import os
import subprocess
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from measure import LOADGEN, NullServer, output_of, report, used_by

ORDERS, EVERY_NS = 1_000_000, 50_000  # 20,000 a second


def frame(folder):
    """The lines of a history before and after its requests, from a run of one request with --no-judge."""
    with NullServer() as server:
        output_of([LOADGEN, "--no-judge", "--requests", "1", "--no-progress", "--results", folder, "--target", server.url],
                  codes=(0, 2))
    path = next(Path(folder).glob("*/history.ndjson"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    run, begin, end = lines[0], lines[1], lines[-1]
    run["settings"].update({"no_judge": False, "requests": ORDERS, "stock": ORDERS})
    begin.update({"requests": ORDERS, "planned": ORDERS, "instances": ["inventory-1", "inventory-2"],
                  "products": ["01900000-0000-7000-8000-000000000000"]})
    end["verdict"] = "VALID"
    return run, begin, end


def key_of(number):
    """An id in the order of the requests, like a UUID of version 7."""
    return f"{0x01900000 + (number >> 16):08x}-{number & 0xffff:04x}-7000-8000-{number * 2654435761 % 2 ** 48:012x}"


def ledger_lines(kind, rest):
    started = datetime(2026, 11, 21, 10, tzinfo=timezone.utc)
    for n in range(ORDERS):
        at = (started + timedelta(microseconds=n * EVERY_NS // 1000 + 2000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        yield (f'{{"type":"{kind}","order_id":"{key_of(n)}","unit":{ORDERS - n},{rest(n)}'
               f'"instance":"inventory-{n % 2 + 1}","at":"{at}"}}')


def lines_of(run, begin, end):
    yield json.dumps(run)
    yield json.dumps(begin)
    for n in range(ORDERS):
        key, unit, at_ns = key_of(n), ORDERS - n, n * EVERY_NS
        yield (f'{{"type":"request","number":{n},"planned":{at_ns},"sent":{at_ns + 20000 + n % 977},'
               f'"received":{at_ns + 2500000 + n * 7919 % 5000000},"status":201,"unit":{unit},"instance":{n % 2},"key":"{key}",'
               f'"order_id":"{key}","outcome":"sold","commit_us":{300 + n % 5000},"postgres":1,"shard":0}}')
    yield json.dumps({"type": "product", "item": 0, "initial": ORDERS, "available": 0, "returned": 0, "counted": ORDERS,
                      "units": ORDERS})
    yield json.dumps({"type": "row", "shard": 0, "first_unit": 1, "initial": ORDERS, "available": 0})
    yield from ledger_lines("sale", lambda n: f'"remaining":{ORDERS - n - 1},"shard":0,"fence":0,')
    yield from ledger_lines("order", lambda n: "")
    yield json.dumps(end)


def bench_check():
    with tempfile.TemporaryDirectory(prefix="sale-check-") as folder:
        around, judged = frame(folder), os.path.join(folder, "judged")
        os.mkdir(judged)
        with open(os.path.join(judged, "history.ndjson"), "w") as history:
            history.writelines(line + "\n" for line in lines_of(*around))
        started = time.monotonic()
        text, used = used_by([LOADGEN, "check", judged], stderr=subprocess.DEVNULL)
        taken = time.monotonic() - started
    assert " VALID " in text, text
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    is_fast = report("loadgen check of a million orders", f"{cpu:.2f} s of CPU in {taken:.2f} s", "at most 2 s of CPU", cpu <= 2)
    return report("peak memory", f"{peak:.0f} MB", "at most 300 MB", peak <= 300) and is_fast

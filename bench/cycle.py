"""The part of bench/run that measures acquire and release of free locks on Redis: lockkit, the same scripts only by hiredis, and
redis-py's Lock, in short turns on one server."""

import hashlib
import statistics

from measure import BUILD, ROOT, output_of, report
from harness import Stack  # measure.py says where it is

ROUNDS, SECONDS = 7, 1


def sha1s():
    """The SHA1 of the scripts that acquire and release."""
    folder = ROOT / BUILD / "lockkit/backends/redis/lua"
    return [hashlib.sha1((folder / f"{name}.lua").read_bytes()).hexdigest() for name in ("acquire", "release")]


def measured(command):
    return [float(figure) for figure in output_of([str(part) for part in command]).split()]


def rounds(url, names):
    """The rates and the CPU of lockkit, raw and redis-py in each round."""
    program = ROOT / BUILD / "bin/bench_cycle"
    return [(measured([program, "lockkit", url, names, SECONDS]), measured([program, "raw", url, names, SECONDS, *sha1s()]),
             measured(["/usr/bin/python3", ROOT / "bench/redis_py_locks.py", url, names, SECONDS])) for _ in range(ROUNDS)]


def bench_cycle():
    stack = Stack("servers").up()
    try:
        one, many = (rounds(stack.settings["INVENTORY_SVC_REDIS"], names) for names in (1, 64))
    finally:
        stack.down()
    median = statistics.median
    for names, done in ((1, one), (64, many)):
        print("         " + f"{names} names at once: " + ", ".join(
            f"{who} {median(figures[at][0] for figures in done):,.0f}/s and {median(figures[at][1] for figures in done):.1f} µs of CPU"
            for at, who in enumerate(("lockkit", "raw", "redis-py"))))
    to_raw = median(ours[0] / raw[0] for ours, raw, _ in one)
    cpu = median(python[1] / ours[1] for ours, _, python in one)
    of_many = median(ours[0] / raw[0] for ours, raw, _ in many)
    to_python = median(ours[0] / python[0] for ours, _, python in many)
    return all([
        report("lockkit, one lock on Redis / two raw EVALSHA", f"{to_raw:.2f}", "at least 0.95", to_raw >= 0.95),
        report("CPU of redis-py's Lock / lockkit's", f"{cpu:.1f}", "at least 5", cpu >= 5),
        report("lockkit, 64 locks at once / the raw scripts, 64 in each write", f"{of_many:.2f}", "at least 0.80", of_many >= 0.8),
        report("lockkit, 64 locks at once / redis-py's with 64 threads", f"{to_python:.1f}", "at least 5", to_python >= 5)])

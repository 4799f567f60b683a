"""The part of bench/run that measures how order-svc records orders."""

import os
import statistics

from measure import BUILD, ROOT, ROUNDS, SECONDS, children_of, cpu_s, output_of, pid_of, report, wait_for
from harness import Stack  # measure.py says where it is


def measure(stack, how, in_flight):
    """Orders a second, and the CPU microseconds of Postgres and of the recorder for an order."""
    postmaster = pid_of(stack, "postgres")
    before, others = cpu_s(postmaster), children_of(postmaster)
    text = output_of([str(ROOT / BUILD / "bin/bench_record"), how, str(in_flight), str(SECONDS)],
                     env=dict(os.environ, **stack.settings))
    orders, seconds, own = map(float, text.split())
    wait_for("its connections are gone", lambda: children_of(postmaster) <= others)
    return orders / seconds, (cpu_s(postmaster) - before) / orders * 1e6, own / orders * 1e6


def bench_record():
    stack, is_met = Stack().up(), True
    try:
        for in_flight, goal in (1, 0.8), (32, 2), (512, 8):
            rounds = [[measure(stack, how, in_flight) for how in ("single", "grouped")] for _ in range(ROUNDS)]
            for single, grouped in rounds:
                print("         one by one {:,.0f}/s, {:.0f} + {:.0f} us   in groups {:,.0f}/s, {:.0f} + {:.0f} us".format(
                    *single, *grouped))
            ratio = statistics.median(single[1] / grouped[1] for single, grouped in rounds)
            is_met &= report(f"Postgres's CPU per order, one by one / in groups, {in_flight} in flight", f"{ratio:.1f}",
                             f"at least {goal}", ratio >= goal)
    finally:
        stack.down()
    return is_met

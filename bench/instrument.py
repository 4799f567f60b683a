"""Measures loadgen as an instrument, against an endpoint that does nothing: it must be punctual, cheap, and honest about a server
that stands still."""

import contextlib
import datetime
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measure import BUILD, CLIENTS, LOADGEN, ROOT, ROUNDS, SECONDS, NULL_PORT, NullServer, output_of, report, script, wrk_rate

# The request of loadgen with --no-judge, so without a product; but here all have one key.
POST = """\
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Idempotency-Key"] = "0190a5b0-0000-7000-8000-000000000000"
wrk.body = '{"product_id":""}'
"""
STEP, LOWEST, HIGHEST = 0.025, 12, 40  # tries: 0.3 to 1.0 of wrk's rate
BEHIND = 0.1  # loadgen may be so many percentage points below the machine
IDLE = 99.0  # below this the machine itself is too late to measure anything
DRIFT = 1.1  # wrk's rate may grow so much in a try; otherwise the part of its rate was not the one that was tried
TRIES, BUSY_TRIES, TRY_SECONDS, CPU_SECONDS = 5, 10, 2, 3
FLOWS, FAST, FLOW_ROUNDS = 2000, 20000, 5  # both rates a second
PARTS = 3


def command(server, rate, seconds, *flags):
    return [LOADGEN, "--no-judge", "--no-results", "--no-progress", "--target", server.url, "-R", str(int(rate)), "-d",
            f"{seconds}s", "--dup-rate", "0", "--output-format", "json", *flags]


def load(server, rate, seconds=SECONDS, *flags):
    return json.loads(output_of(command(server, rate, seconds, *flags), codes=(0, 2)))["strategies"][0]


def bench_schedule():
    with NullServer() as server:
        schedule = load(server, 20000)["schedule"]
    return report("loadgen at 20,000 a second, sent within 2 ms of plan",
                  f"{schedule['within_2ms_percent']:.3f} %", "99.9 %", schedule["within_2ms_percent"] >= 99.9)


def own_p99_ms(folder):
    """Of the requests of one part that were sent, each counted by itself."""
    with open(f"{folder}/history.ndjson") as lines:
        requests = (json.loads(line) for line in lines if line.startswith('{"type":"request"'))
        latencies = sorted(request["received"] - request["planned"] for request in requests if "received" in request)
    return latencies[(len(latencies) * 99 + 99) // 100 - 1] / 1e6


def bench_parts():
    rate = min(20000, 5000 * os.cpu_count())  # the parts, and the endpoint beside them: 35 to 40 us of CPU a request
    rounds = []
    with NullServer() as server, tempfile.TemporaryDirectory() as folder:
        for number in range(FLOW_ROUNDS):
            plan, parts = f"{folder}/plan-{number}", [f"{folder}/{number}-{part}" for part in range(1, PARTS + 1)]
            output_of([LOADGEN, "plan", "--no-judge", "--target", server.url, "-R", str(PARTS * rate), "-d", f"{SECONDS}s", plan])
            at = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            sending = [subprocess.Popen([LOADGEN, "send", "--part", f"{i + 1}/{PARTS}", "--plan", plan, "--at", at, "--no-realtime",
                                         "--no-progress", part]) for i, part in enumerate(parts)]
            if any([run.wait() for run in sending]):
                sys.exit("bench: a part failed")
            merged = json.loads(output_of([LOADGEN, "merge", "--no-results", "--no-progress", "--output-format", "json", *parts],
                                          codes=(0, 2)))
            rounds.append((merged["strategies"][0]["latency_ms"]["p99"], *map(own_p99_ms, parts)))
            print("         merged p99 {:.3f} ms; its parts {}".format(rounds[-1][0], ", ".join(f"{p99:.3f}" for p99 in rounds[-1][1:])))
    ratio = statistics.median(merged / statistics.median(own) for merged, *own in rounds)
    return report(f"{PARTS} parts at {rate:,} a second each: merged p99 / that of one part, median of {FLOW_ROUNDS}", f"{ratio:.3f}",
                  "0.98 to 1.02", 0.98 <= ratio <= 1.02)


def flow_figures(server, how, rate):
    """The share within 2 ms of plan, the CPU microseconds of the client for a request, and its resident MB."""
    with apart(server):
        text = output_of([str(ROOT / BUILD / "bin/bench_flows"), how, str(NULL_PORT), str(rate), str(SECONDS)])
    return [float(figure) for figure in text.split()]


def bench_flows():
    with NullServer() as server:
        rounds = [[flow_figures(server, how, FLOWS) for how in ("own", "flows")] for _ in range(FLOW_ROUNDS)]
    for own, flows in rounds:
        print("         own client {:.3f} % within 2 ms, {:.0f} us of CPU a request   flows {:.3f} %, {:.0f} us".format(
            *own[:2], *flows[:2]))
    own, flows = ([statistics.median(figures) for figures in zip(*column)] for column in zip(*rounds))
    is_met = report(f"flows at {FLOWS:,} a second, sent within 2 ms of plan, median of {FLOW_ROUNDS}",
                    f"{flows[0]:.3f} %, the own client {own[0]:.3f} %", f"at most {BEHIND} points below it",
                    flows[0] >= own[0] - BEHIND)
    print(f"         CPU of loadgen for a request: flows / own client {flows[1] / own[1]:.2f} ({flows[1]:.0f} / {own[1]:.0f} us)")
    return report(f"{FLOWS * SECONDS:,} prepared customers", f"{flows[2]:.0f} MB", "under 500 MB", flows[2] < 500) and is_met


def machine_share():
    """The percentage within 1 ms of two threads that only read the clock on the idle machine."""
    return float(output_of([str(ROOT / BUILD / "bin/bench_standstill"), str(TRY_SECONDS)]).split()[0])


@contextlib.contextmanager
def apart(server):
    """Gives the server a processor of its own, and the others to the other processes. Otherwise two processes that each need a
    whole processor would share one for tens of ms."""
    own = os.sched_getaffinity(0)
    others = own - {min(own)} or own
    os.sched_setaffinity(server.process.pid, {min(own)})
    os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def closed_loop_part(server, path):
    """The rate of loadgen with as many in flight as wrk, divided by wrk's rate; one runs after the other."""
    with apart(server):
        by_wrk = wrk_rate(server.url + "/orders", path, TRY_SECONDS)
        by_loadgen = load(server, 2 * by_wrk, TRY_SECONDS / 2, "--max-in-flight", str(CLIENTS))["achieved_rate"]
    print(f"         {CLIENTS} in flight: wrk {by_wrk:,.0f}/s, loadgen {by_loadgen:,.0f}/s")
    return by_loadgen / by_wrk


def try_part(server, path, part):
    """Tries a part of wrk's present rate. Returns the percentage of planned requests, even unsent ones, that left within 1 ms of
    plan; the percentage that the machine allows at all, just before and just after; and whether the machine was steady: wrk was
    not much faster after the try than before."""
    before = machine_share()
    with apart(server):
        closed_loop = wrk_rate(server.url + "/orders", path, TRY_SECONDS // 2)
        result = load(server, part * closed_loop, TRY_SECONDS)
        afterwards = wrk_rate(server.url + "/orders", path, TRY_SECONDS // 2)
    machine = (before + machine_share()) / 2
    schedule = result["schedule"]
    within = schedule["within_1ms_percent"] * schedule["lateness_ms"]["count"] / result["offered"]
    print(f"         {part * closed_loop:>9,.0f}/s  {part:.3f} of wrk's {closed_loop:,.0f}, after it {afterwards:,.0f}  "
          f"{within:8.3f} % within 1 ms, the machine {machine:.3f} %, 99.9 % within {schedule['lateness_ms']['p99_9']:.3f} ms, "
          f"realtime {schedule['realtime_priority']}", flush=True)
    return within, machine, afterwards <= DRIFT * closed_loop


def is_punctual(server, path, part):
    """Whether loadgen is as punctual as the machine in one of a few tries. A try on a busy machine does not count."""
    tries, busy = TRIES, BUSY_TRIES
    while tries > 0 and busy > 0:
        within, machine, is_steady = try_part(server, path, part)
        if machine < IDLE or not is_steady:
            busy -= 1
        elif within >= machine - BEHIND:
            return True
        else:
            tries -= 1
    return False


def highest_punctual(server, path):
    """The highest part of wrk's rate with a punctual loadgen, by halving; 0: not even the lowest part."""
    kept, missed = LOWEST - 1, HIGHEST + 1
    while missed - kept > 1:
        middle = (kept + missed) // 2
        if is_punctual(server, path, middle * STEP):
            kept = middle
        else:
            missed = middle
    return kept * STEP if kept >= LOWEST else 0


def bench_rate():
    path, closed, on_time = script(POST), [], []
    with NullServer() as server:
        for _ in range(ROUNDS):
            closed.append(closed_loop_part(server, path))
            on_time.append(highest_punctual(server, path))
    os.unlink(path)
    part, punctual = statistics.median(closed), statistics.median(on_time)
    report(f"loadgen / wrk, {CLIENTS} requests in flight, median of {ROUNDS}", f"{part:.2f}", "at least 0.8", part >= 0.8)
    report(f"highest open-loop rate, on time as the machine is / wrk's closed-loop rate, median of {ROUNDS}",
           f"{punctual:.3f}", "at least 0.8", punctual >= 0.8)
    return part >= 0.8 and punctual >= 0.8


def pause_error(server, length_s=13, stop_s=1.4, rate=2000):
    """Requests arrive at a constant rate over a run of length T, and the server stands still for S. Requests in the stop wait for
    its end, uniformly 0..S, so the p-th percentile x has (S - x) / T = 1 - p. The time to catch up is added to that."""
    run = subprocess.Popen(command(server, rate, length_s, "--arrival", "constant"), stdout=subprocess.PIPE)
    time.sleep(5)
    stopped = time.monotonic()
    os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(stop_s)
    os.kill(server.process.pid, signal.SIGCONT)
    stop_s = time.monotonic() - stopped
    result = json.loads(run.communicate()[0])["strategies"][0]
    wanted, measured = 1000 * (stop_s - 0.01 * length_s), result["latency_ms"]["p99"]
    error = 100 * (measured / wanted - 1)
    print(f"         p99 {measured:.0f} ms, analytic {wanted:.0f} ms: {error:+.1f} %; "
          f"{result['schedule']['within_10ms_percent']:.2f} % sent within 10 ms of plan")
    return error


def bench_pause():
    errors = []
    for _ in range(ROUNDS):
        with NullServer() as server:
            errors.append(pause_error(server))
    error = statistics.median(errors)
    return report(f"p99 at 2,000 a second with a stop of 1.4 s / the analytic value, median of {ROUNDS}", f"{error:+.1f} %",
                  "within 2 %", abs(error) <= 2)


def bench_request():
    """An open loop that only writes and reads costs what the kernel takes on this machine; the rest is loadgen's own."""
    with NullServer() as server:
        rounds = [[flow_figures(server, how, FAST) for how in ("own", "bare")] for _ in range(FLOW_ROUNDS)]
    own, bare = ([statistics.median(figures) for figures in zip(*column)] for column in zip(*rounds))
    print(f"         at {FAST:,} a second: loadgen {own[1]:.1f} us of CPU a request, {own[0]:.3f} % within 2 ms; "
          f"only system calls {bare[1]:.1f} us, {bare[0]:.3f} %")
    above = statistics.median(loop[1] - calls[1] for loop, calls in rounds)
    return report(f"loadgen's own CPU for a request at {FAST:,} a second, median of {FLOW_ROUNDS}", f"{above:.1f} us",
                  "at most 6 us above the system calls of a bare client", above <= 6)


def bench_cpu():
    parts = []
    with NullServer() as server:
        for _ in range(ROUNDS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            load(server, 800, CPU_SECONDS)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            parts.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / CPU_SECONDS)
    part = 100 * statistics.median(parts)
    is_met = report("loadgen at 800 a second", f"{part:.1f} % of a core", "under 10 %", part < 10)
    return bench_request() and is_met

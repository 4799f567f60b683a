"""The schedules that lab explores in a second, and the time for all strategies, in CPU seconds: others may use the machine."""

import json
import subprocess

from measure import BUILD, ROOT, report, used_by

LAB = str(ROOT / BUILD / "bin" / "lab")
SINGLE = ("none", "mutex", "redis", "pg-version", "atomic")
WORK = ("--options", "work=2ms")
RUNS_MOST = 4_000_000
ROUNDS = 3


def explore(*args):
    """Its output, its CPU seconds, and its peak memory in MB."""
    text, used = used_by([LAB, "explore", *args, "--json"])
    return json.loads(text), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def strategies():
    done = subprocess.run([LAB, "explore", "no-such"], capture_output=True, text=True, check=False)
    return done.stderr.split("strategies: ")[1].strip().split(", ")


def cpu_of(*command):
    _, used = used_by(command, cwd=ROOT)
    return used.ru_utime + used.ru_stime


def flags_of(check):
    names = {"orders": "orders", "others": "others", "instances": "instances", "stock": "stock", "first_version": "first-version",
             "first_fence": "first-fence", "stall_ms": "stall-ms", "preemptions": "preemptions", "faults": "faults", "options": "options"}
    # Of a range take the least number.
    values = {name: check[name][0] if isinstance(check[name], list) else check[name] for name in names if name in check}
    return [f"--{names[name]}={value}" for name, value in values.items()]


def border():
    """CPU seconds of each chapter's answer: in the grader, with a process for each question, and explored in one process. Both
    compile it once."""
    graded, direct = {}, {}
    for chapter in sorted(file.parent for file in (ROOT / "lab").glob("[0-9][0-9]-*/answer.c")):
        number, file = int(chapter.name[:2]), str(chapter / "answer.c")
        checks = json.loads((chapter / "chapter.json").read_text())["checks"]
        for _ in range(ROUNDS):
            compiled = cpu_of(LAB, "explore", file, "--orders=1", "--preemptions=0", "--options=work=0")
            seconds = cpu_of(LAB, "check", file, "--chapter", str(number))
            graded[number] = min(graded.get(number, seconds), seconds)
            seconds = compiled + sum(max(cpu_of(LAB, "explore", file, *flags_of(check)) - compiled, 0) for check in checks)
            direct[number] = min(direct.get(number, seconds), seconds)
    return graded, direct


def bench_border():
    graded, direct = border()
    total, alone = sum(graded.values()), sum(direct.values())
    slowest = max(graded, key=graded.get)
    return report("lab check of all answers", f"{total:.1f} s of CPU, {total / alone:.1f} times an exploration in one process; the "
                  f"slowest is chapter {slowest}: {graded[slowest]:.1f} s, in one process {direct[slowest]:.1f} s", "2 s", graded[slowest] < 2)


def bench_explore():
    is_met = bench_border()
    for name in SINGLE:
        for orders in range(3, 6):  # more would take longer than some seconds
            known, known_s, _ = explore(name, *WORK, "--orders", str(orders))
            if known["schedules"] > RUNS_MOST:
                break
            counted, counted_s, most = known, known_s, str(orders)
        found, cpu_s, _ = explore(name, *WORK, "--orders", most, "--no-table")
        rate = found["schedules"] / cpu_s
        is_met &= report(f"explore {name}, each run", f"{rate:,.0f} schedules/s of {found['schedules']:,}, "
                         f"with the table {counted['schedules'] / counted_s:,.0f}/s", "100,000", rate >= 100_000)
    slowest, largest = (0, ""), (0, "")
    for name in strategies():
        found, cpu_s, mb = explore(name)
        if not found["complete"]:
            is_met = report(f"explore {name}", "not complete", "complete", False)
        slowest, largest = max(slowest, (cpu_s, name)), max(largest, (mb, name))
    is_met &= report("explore all strategies, the slowest", f"{slowest[1]} {slowest[0]:.1f} s", "10 s", slowest[0] < 10)
    is_met &= report("explore all strategies, the largest", f"{largest[1]} {largest[0]:.0f} MB", "100 MB", largest[0] < 100)
    return is_met

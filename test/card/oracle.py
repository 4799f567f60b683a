#!/usr/bin/env python3
"""Judges the mutants of operators.py without the grader, and writes test/card/generated.json.

The grader asks a sealed process for each step, judges a plan of its answers within a check's bound, and asks again with other names
and numbers. The oracle does none of that. `lab explore` runs the mutant itself, within a larger bound than the check's: one order
and one preemption more, and more stocks and first versions. A mutant is wrong if a schedule is violated there, if it makes more steps than
the check allows, or if its text lacks what the chapter requires or has what it forbids.

Usage: test/card/oracle.py [FILE...]      after a change of an answer, a chapter's checks or an operator; FILE: only mutants of these,
such as lab/10-rows/answer.c; the programs are in B (build/gcc)
"""

import concurrent.futures
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from operators import key_of, mutants_of

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / os.environ.get("B", "build/gcc") / "bin/lab"
MADE = ROOT / "test/card/generated.json"
PER_FILE = 10  # mutants of a file
RIGHT_PER_FILE = 3  # of them, because the grader needs longest for these
PATIENCE_S = 60
SIGNS = {"work": r"store_work(_for)?\(|_then_write\(", "lock": r"store_lock\(|lock_\w*then_write\(", "key": r"key_lock_win\(|store_kv_set_absent\(|KV_SET_ABSENT", "delete": r"store_kv_delete|KV_DELETE", "count": "KV_COUNT", "servers": r"\.server",
         "take": r"store_take_", "guard": r"GUARD_VERSION|GUARD_VALUE", "fence": r"GUARD_FENCE", "row-lock": r"store_read_for_update\(",
         "serializable": r"SERIALIZABLE"}


def sources():
    """Yields (file, chapter) of each right file."""
    for file in sorted((ROOT / "lab").glob("[0-9][0-9]-*/answer.c")):
        yield file, int(file.parent.name[:2])
    for right in json.loads((ROOT / "lab/museum/right.json").read_text()):
        if right["chapters"]:
            yield ROOT / "lab/museum" / right["file"], right["chapters"][0]


def sample():
    """Yields (file, chapter, line, text of the line, what, mutant): some of each file, by their keys, so that a new one moves none."""
    for file, number in sources():
        mutants = sorted(mutants_of(file.read_text()), key=lambda each: key_of(each[3]))
        for at, line, what, mutant in sorted(mutants[:PER_FILE]):
            yield file, number, at, line, what, mutant


def least(check, name):
    value = check.get(name, 0)
    return value[0] if isinstance(value, list) else value


def explore(file, check, **bound):
    """Returns how an exploration ends: "holds", "too large", or the reason why the file is wrong."""
    flags = [f"--{name}={value}" for name, value in bound.items()]
    flags += ["--serves-all"] if check.get("serves_all") else []
    flags += ["--knows-all"] if check.get("knows_all") else []
    if check.get("stall_ms"):
        flags.append(f"--stall-ms={check['stall_ms']}")
    if check.get("max_steps"):
        flags.append(f"--max-steps={check['max_steps']}")
    try:
        done = subprocess.run([LAB, "explore", file, *flags, f"--options={check['options']}", f"--faults={check['faults']}", "--json"],
                              cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return "too large"
    if done.returncode == 64:
        return "does not compile" if "error" in done.stderr else done.stderr.strip()
    if done.returncode == 2:
        return "too large"
    if done.returncode == 0:
        return "holds"
    violation = json.loads(done.stdout)["violation"] if done.stdout else None
    return " ".join(violation["anomalies"]) if violation else "it makes too many steps" if done.returncode == 1 else "it dies"


def bounds_of(check):
    """The check's own bound, and larger ones."""
    own = {"orders": check["orders"], "instances": check["instances"], "stock": least(check, "stock"),
           "preemptions": check["preemptions"], "others": check.get("others", 0)}
    yield own
    if check["preemptions"] == 0:
        return
    yield own | {"preemptions": own["preemptions"] + 1, "first-version": 100, "first-fence": 100}
    yield own | {"stock": own["stock"] + 1, "first-version": 4095}
    if check["faults"] == "none" and own["orders"] < 4:
        yield own | {"orders": own["orders"] + 1, "preemptions": min(own["preemptions"], 2)}


@functools.cache
def fair_bounds(source, number):
    """Returns (check, bound) for each bound in which the right file holds: a longer line may need a longer wait than the check's."""
    checks = chapter_of(number)["checks"]
    return [(check, bound) for check in checks for bound in bounds_of(check) if explore(source, check, **bound) == "holds"]


def chapter_of(number):
    return json.loads(next((ROOT / "lab").glob(f"{number:02}-*/chapter.json")).read_text())


def judge(source, number, file, mutant):
    """Returns None for a mutant that does not compile, "" for a right one, or why it is wrong."""
    chapter = chapter_of(number)
    for group in chapter.get("requires", []):
        if not any(re.search(SIGNS[one], mutant) for one in group.split("|")):
            return f"has no {group}"
    for one in filter(None, chapter.get("forbids", "").split("|")):
        if re.search(SIGNS[one], mutant):
            return f"has a {one}"
    for check, bound in fair_bounds(source, number):
        found = explore(file, check, **bound)
        if found == "does not compile":
            return None
        if found not in ("holds", "too large"):
            return found
    return ""


def judge_one(pair, folder):
    index, (file, number, at, line, what, mutant) = pair
    path = Path(folder) / f"{index}.c"
    path.write_text(mutant)
    found = judge(file, number, path, mutant)
    print(f"{file.name}:{at}: {what}: {found}", file=sys.stderr, flush=True)
    return {"file": str(file.relative_to(ROOT)), "chapter": number, "key": key_of(mutant), "edit": f"{what}: {line}", "wrong": found}


def some(made):
    """Without the mutants that do not compile. Of the right ones of a file there are only a few."""
    right = {}
    for each in made:
        if each["wrong"] == "":
            right[each["file"]] = right.get(each["file"], 0) + 1
        if each["wrong"] or (each["wrong"] == "" and right[each["file"]] <= RIGHT_PER_FILE):
            yield each


def main(only):
    kept = [each for each in json.loads(MADE.read_text()) if only and each["file"] not in only]
    todo = [each for each in sample() if not only or str(each[0].relative_to(ROOT)) in only]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = kept + list(pool.map(lambda pair: judge_one(pair, folder), enumerate(todo)))
    made.sort(key=lambda each: each["file"])
    rows = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in some(made))
    MADE.write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main(sys.argv[1:])

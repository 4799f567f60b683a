#!/usr/bin/env python3
"""Prints the grader's own report card. A strategy that is known to be wrong but passes is a false pass. A strategy that is known
to be right but fails is a false fail. It grades the museum of planted bugs, the shop's strategies, the chapters' exercises and
answers, and mutants.

Usage: test/card/card.py >docs/report-card.md      the programs are in B (build/gcc)
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mutants import MUTANTS
from operators import key_of, mutants_of

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / os.environ.get("B", "build/gcc") / "bin/lab"
BOUND = {"orders": 3, "instances": 2, "stock": 2, "preemptions": 3, "faults": "none", "options": "",
         "others": 0, "first-version": 0, "first-fence": 0, "stall-ms": 0}
FAULTY = {"orders": 2, "preemptions": 2}
REFERENCES = json.loads(subprocess.run([LAB, "strategies", "--json"], capture_output=True, text=True, check=True).stdout)
# With these options two orders meet in one row, or have two rows.
OPTIONS = {"segment": "shards=1", "sharded": "shards=1", "sharded-skip": "shards=2", "prewarm": "shards=2"}
MUSEUM = json.loads((ROOT / "lab/museum/museum.json").read_text())
RIGHT = json.loads((ROOT / "lab/museum/right.json").read_text())
# The chapters that can take any lock that several processes share, and the shop's locks, of strategies of that name.
LOCK_CHAPTERS = (2,)
LOCKS = ("redis", "redis-fair", "redis-wait", "redlock", "zookeeper", "zookeeper-unfair", "etcd", "pg-advisory", "mkdir", "flock")
CHAPTERS = sorted(file.parent for file in (ROOT / "lab").glob("[0-9][0-9]-*/exercise.c"))
CHECKS = {int(chapter.name[:2]): json.loads((chapter / "chapter.json").read_text())["checks"] for chapter in CHAPTERS}
GENERATED = json.loads((ROOT / "test/card/generated.json").read_text())


def explore(source, **bound):
    """Returns True if no schedule is violated, and the anomalies of the shortest violated schedule."""
    at = BOUND | bound
    flags = [f"--{name}={at[name]}" for name in BOUND]
    done = subprocess.run([LAB, "explore", source, *flags, "--json"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)
    if done.returncode not in (0, 1):
        raise SystemExit(f"card: lab explore {source}: {done.returncode}: {done.stderr}")
    violation = json.loads(done.stdout)["violation"]
    return violation is None, violation["anomalies"] if violation else []


def grade(file, number, *flags):
    """Returns the points of a file, and the names of the checks that fail."""
    names = [check["name"] for check in CHECKS[number]]
    done = subprocess.run([LAB, "check", file, "--chapter", str(number), "--brief", *flags], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    total = re.search(r"^  (\d+) of 100 points$", done.stdout, re.M)
    if done.returncode not in (0, 1) or not total:
        raise SystemExit(f"card: lab check {file}: {done.returncode}: {done.stdout}{done.stderr}")
    if " error: " in done.stdout:
        raise SystemExit(f"card: {file} does not compile: {done.stdout}")
    failing = re.findall(r"^  FAILS +0 of +\d+  (.*)$", done.stdout, re.M)
    return int(total[1]), [next(name for name in names if re.match(re.escape(name) + r"(?:: |$)", line)) for line in failing]


def grade_wrong(file, number, wrong):
    """The same. For a wrong file the first check that fails is enough."""
    return grade(file, number, *(["--first"] if wrong else []))


# ---- each returns rows: (name, place, is it wrong, did it pass, the findings)

def judge_bug(bug):
    """Explores a bug within its own bound, and grades it for a chapter."""
    file = ROOT / "lab/museum" / bug["file"]
    passed, found = explore(file, **{name: bug[name] for name in BOUND if name in bug})
    points, failing = grade_wrong(file, bug["chapter"], True)
    return [(bug["file"], "its bound", True, passed, " ".join(found)),
            (bug["file"], f"chapter {bug['chapter']}", True, points == 100, "; ".join(failing))]


def judge_right(right):
    """Explores a strategy that is right in an unusual way, and grades it for each chapter that can take it."""
    file = ROOT / "lab/museum" / right["file"]
    passed, found = explore(file, options=right["options"])
    rows = [(right["file"], "no fault", False, passed, " ".join(found))]
    for number in right["chapters"]:
        points, failing = grade(file, number)
        rows.append((right["file"], f"chapter {number}", False, points == 100, "; ".join(failing)))
    return rows


def judge_reference(reference):
    """A right strategy must hold within the bound, and under all faults together that its table says it survives. Each other
    fault must break it."""
    spec = ",".join(filter(None, (reference["name"], OPTIONS.get(reference["name"]))))
    passed, found = explore(spec)
    if not reference["right"]:
        return [(spec, "no fault", True, passed, " ".join(found))]
    if passed and reference["survives"]:
        passed, found = explore(spec, faults=",".join(reference["survives"]), **FAULTY)
    rows = [(spec, ", ".join(reference["survives"]) or "no fault", False, passed, " ".join(found))]
    for fault in reference["breaks"]:
        passed, found = explore(spec, faults=fault, **FAULTY)
        rows.append((spec, fault, True, passed, " ".join(found)))
    return rows


def judge_file(file, number, wrong):
    points, failing = grade(file, number)
    return str(file.relative_to(ROOT / "lab")), str(number), wrong, points == 100, "; ".join(failing)


def judge_lock(name, number, folder):
    """Plays a lock of the shop through a chapter. It must pass if its strategy survives the chapter's faults."""
    chapter = json.loads(next((ROOT / "lab").glob(f"{number:02}-*/chapter.json")).read_text())
    faults = {fault for check in chapter["checks"] for fault in check["faults"].split(",") if fault != "none"}
    survives = next(set(each["survives"]) for each in REFERENCES if each["name"] == name)
    file = Path(folder) / f"{name}-{number}.c"
    answer = (ROOT / "lab/02-mutex/answer.c").read_text()
    file.write_text(answer.replace("LOCK_FLOCK", f"LOCK_{name.upper().replace('-', '_')}"))
    points, failing = grade(file, number)
    return name, str(number), bool(faults - survives), points == 100, "; ".join(failing)


def as_exercise(text):
    """Renames a strategy, so that it looks like a student's file."""
    text = re.sub(r"const struct strategy strategy_\w+ =", "const struct strategy strategy_exercise =", text)
    return re.sub(r'\.name = "[^"]*"', '.name = "exercise"', text)


def judge_mutant(mutant, folder, index):
    what, source, before, after, number, wrong = mutant
    text = (ROOT / source).read_text()
    if before not in text:
        raise SystemExit(f"card: mutant \"{what}\": {source} has no \"{before}\"")
    file = Path(folder) / f"{index}.c"
    includes = "" if "<stdio.h>" in text else "#include <stdio.h>\n"
    file.write_text(includes + as_exercise(after(text) if callable(after) else text.replace(before, after)))
    points, failing = grade_wrong(file, number, wrong)
    name = source.removeprefix("strategies/").removeprefix("lab/")
    return f"{name}: {what}", str(number), wrong, points == 100, "; ".join(failing)


def generated():
    """Returns (mutant, text) for each line of generated.json. The operators must still make it."""
    made = {}
    for source in sorted({mutant["file"] for mutant in GENERATED}):
        made |= {key_of(text): text for _, _, _, text in mutants_of((ROOT / source).read_text())}
    missing = [mutant for mutant in GENERATED if mutant["key"] not in made]
    if missing:
        raise SystemExit(f"card: {missing[0]['file']} has changed: run test/card/oracle.py")
    return [(mutant, made[mutant["key"]]) for mutant in GENERATED]


def judge_generated(mutant, text, folder):
    file = Path(folder) / f"{mutant['key']}.c"
    file.write_text(text)
    points, failing = grade_wrong(file, mutant["chapter"], bool(mutant["wrong"]))
    name = mutant["file"].removeprefix("lab/")
    return f"{name}: {mutant['edit']}".replace("|", "\\|"), str(mutant["chapter"]), bool(mutant["wrong"]), points == 100, "; ".join(failing)


def measure():
    """Returns all rows, by part."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bugs = pool.map(judge_bug, MUSEUM)
        rights = pool.map(judge_right, RIGHT)
        references = pool.map(judge_reference, REFERENCES)
        files = pool.map(lambda each: judge_file(*each), [(chapter / name, int(chapter.name[:2]), name == "exercise.c")
                                                          for name in ("exercise.c", "answer.c") for chapter in CHAPTERS])
        locks = pool.map(lambda each: judge_lock(*each, folder), [(name, number) for name in LOCKS for number in LOCK_CHAPTERS])
        mutants = pool.map(lambda pair: judge_mutant(pair[1], folder, pair[0]), enumerate(MUTANTS))
        made = pool.map(lambda each: judge_generated(*each, folder), generated())
        return {"the museum": [row for rows in bugs for row in rows],
                "right": [row for rows in rights for row in rows],
                "strategies": [row for rows in references for row in rows], "chapters": list(files),
                "locks": list(locks),
                "mutants": list(mutants), "generated": list(made)}


# ---- the page

INTRODUCTION = """# The grader's report card

A strategy that is known to be wrong but passes is a **false pass**. A strategy that is known to be right but fails is a **false
fail**. There must be none of either. `test/card/card.py` prints this page, and `test/system/test_card.py` compares it with a new
one. [grading.md](grading.md) says how to grade.

"""
PARTS = {
    "the museum": (
        "planted bugs",
        "[lab/museum](../lab/museum) has {count} strategies with one bug each. `museum.json` has the smallest bound that shows the bug,\n"
        "and a bound that cannot show it. Each of them must fail within its smallest bound, and must lose points in its chapter: the first\n"
        "check that fails is named.",
        ("file", "in", "found")),
    "right": (
        "right in unusual ways",
        "`right.json` names files of the museum that are right, and the chapters that can take each. They must hold under every\n"
        "schedule of 3 orders on 2 instances with 2 units and 3 preemptions, and must get all points.",
        ("file", "in", "found")),
    "strategies": (
        "strategies, under faults",
        "Each strategy of the shop, under every schedule of 3 orders on 2 instances with 2 units and 3 preemptions. Under faults there are\n"
        "2 orders and 2 preemptions. A right strategy must hold under all the faults that it survives, together, each once in a schedule.\n"
        "Each other fault must break it.",
        ("strategy", "under", "found")),
    "chapters": (
        "exercises and answers",
        "An exercise must lose points. An answer must get all of them.",
        ("file", "chapter", "fails")),
    "locks": (
        "locks of the shop, in the chapters",
        "Each lock that several processes share, in the chapter that takes any of them. It must pass if its strategy survives the faults\n"
        "of that chapter.",
        ("lock", "chapter", "fails")),
    "mutants": (
        "mutants by hand",
        "An answer or a strategy with one edit, graded by a chapter. A mutant that its chapter cannot tell from an answer must pass. Of a\n"
        "wrong one the first check that fails is named.",
        ("edit", "chapter", "fails")),
    "generated": (
        "generated mutants",
        "`test/card/operators.py` changes one place of a right file: it drops a statement, swaps two, negates a condition, takes an error\n"
        "for success, releases on some paths only, or exchanges a constant. `test/card/oracle.py` has judged them without the grader, by\n"
        "explorations within larger bounds.",
        ("edit", "chapter", "fails")),
}


def false_passes(rows):
    return [row for row in rows if row[2] and row[3]]


def false_fails(rows):
    return [row for row in rows if not row[2] and not row[3]]


def print_table(heads, rows, to):
    heads = [heads[0], heads[1], "is", "passes", heads[2]]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), file=to)
    for what, where, wrong, passed, found in rows:
        cells = [what, where, "wrong" if wrong else "right", "yes" if passed else "no", found]
        print("| " + " | ".join(cells) + " |", file=to)


def print_page(measured, to=sys.stdout):
    print(INTRODUCTION, end="", file=to)
    print("| | wrong | of them pass | right | of them fail |\n|---|---|---|---|---|", file=to)
    for name, rows in [*measured.items(), ("all", [row for rows in measured.values() for row in rows])]:
        wrong = [row for row in rows if row[2]]
        label = PARTS[name][0] if name in PARTS else "**all**"
        cells = [label, len(wrong), len(false_passes(rows)), len(rows) - len(wrong), len(false_fails(rows))]
        print("| " + " | ".join(map(str, cells)) + " |", file=to)
    for name, rows in measured.items():
        title, text, heads = PARTS[name]
        print(f"\n## {title.capitalize()}\n\n{text.format(count=len(MUSEUM))}\n", file=to)
        print_table(heads, rows, to)


if __name__ == "__main__":
    print_page(measure())

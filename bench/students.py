"""lab grade --class: thirty students with all chapters, beside a loop of one's own over the students."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import BUILD, ROOT, report

LAB = str(ROOT / BUILD / "bin" / "lab")
STUDENTS, LOOPED, PROCESSES = 30, 3, 2
GOAL_S, LIMIT_S = 60, 240
PROGRESS = re.compile(r"(\d+) of (\d+) different files")


def hand_in(folder, is_different):
    """Each student hands in exercises, hints and answers in turn. If the files are to differ, each has a comment of its own."""
    for chapter in sorted(file.parent for file in (ROOT / "lab").glob("[0-9][0-9]-*/answer.c")):
        texts = [file.read_text() for file in sorted(chapter.glob("*.c"))]
        for student in range(STUDENTS):
            its = folder / f"student {student:02d}"
            its.mkdir(exist_ok=True)
            mark = f"\n/* {student} */\n" if is_different(student) else ""
            (its / f"{chapter.name[:2]}.c").write_text(texts[student % len(texts)] + mark)


def end_of(child, command, may_stop=False):
    """Seconds of CPU."""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0 and not may_stop:
        raise SystemExit(f"bench: {command} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime


def loop(folder):
    """Seconds by the wall, and of CPU, of a loop over all students, by the first ones."""
    began, cpu_s = time.monotonic(), 0
    for student in range(LOOPED):
        command = [LAB, "grade", str(folder / f"student {student:02d}")]
        cpu_s += end_of(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT), command)
    part = STUDENTS / LOOPED
    return (time.monotonic() - began) * part, cpu_s * part


def grade_class(folder):
    """Seconds by the wall, and of CPU, and the part of the files. It shows lab's progress, and stops it after LIMIT_S."""
    command, began = [LAB, "grade", "--class", str(folder), "-j", str(PROCESSES)], time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    done, of, is_late = 0, 1, False
    for line in child.stderr:
        print(f"         {line.rstrip()}", file=sys.stderr, flush=True)
        if found := PROGRESS.search(line):
            done, of = map(int, found.groups())
        if time.monotonic() - began > LIMIT_S and not is_late:
            is_late = True
            child.send_signal(signal.SIGINT)
    cpu_s = end_of(child, command, is_late)
    return time.monotonic() - began, cpu_s, done / of


def bench_class():
    is_met = True
    for name, is_different in (("each file of its own", lambda student: True), ("two thirds as they were given", lambda student: student % 3 == 0)):
        with tempfile.TemporaryDirectory(prefix="class") as home:
            folder = Path(home)
            hand_in(folder, is_different)
            loop_s, loop_cpu_s = loop(folder)
            wall_s, cpu_s, part = grade_class(folder)
        wall_s, cpu_s = wall_s / part, cpu_s / part
        least_s = cpu_s / PROCESSES
        measured = "" if part == 1 else f" ({100 * part:.0f} % of the files were graded in {LIMIT_S} s)"
        is_met &= report(f"lab grade --class, {STUDENTS} students, {name}",
                         f"{wall_s:.0f} s with -j {PROCESSES}, {cpu_s:.0f} s of CPU, so {least_s:.0f} s on {PROCESSES} idle cores; {loop_s / wall_s:.1f} times as "
                         f"fast as a loop, with {cpu_s / loop_cpu_s:.2f} of its CPU{measured}", f"{GOAL_S} s on {PROCESSES} idle cores", least_s < GOAL_S)
    return is_met

"""lab grade --class: thirty students with all chapters, beside a loop of one's own over the students."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

from measure import BUILD, ROOT, report

LAB = str(ROOT / BUILD / "bin" / "lab")
STUDENTS, LOOPED, PROCESSES = 30, 3, 2
GOAL_S = 60


def hand_in(folder, is_different):
    """Each student hands in exercises, hints and answers in turn. If the files are to differ, each has a comment of its own."""
    for chapter in sorted(file.parent for file in (ROOT / "lab").glob("[0-9][0-9]-*/answer.c")):
        texts = [file.read_text() for file in sorted(chapter.glob("*.c"))]
        for student in range(STUDENTS):
            its = folder / f"student {student:02d}"
            its.mkdir(exist_ok=True)
            mark = f"\n/* {student} */\n" if is_different(student) else ""
            (its / f"{chapter.name[:2]}.c").write_text(texts[student % len(texts)] + mark)


def timed(*command):
    """Seconds by the wall, and of CPU."""
    began = time.monotonic()
    with open(os.devnull, "w", encoding="ascii") as to:
        child = subprocess.Popen(command, stdout=to, stderr=to, cwd=ROOT)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"bench: {command} ended with {child.returncode}")
    return time.monotonic() - began, used.ru_utime + used.ru_stime


def bench_class():
    is_met = True
    for name, is_different in (("each file of its own", lambda student: True), ("two thirds as they were given", lambda student: student % 3 == 0)):
        with tempfile.TemporaryDirectory(prefix="class") as home:
            folder = Path(home)
            hand_in(folder, is_different)
            some = [timed(LAB, "grade", str(folder / f"student {student:02d}")) for student in range(LOOPED)]
            loop_s, loop_cpu_s = (sum(each) * STUDENTS / LOOPED for each in zip(*some))
            wall_s, cpu_s = timed(LAB, "grade", "--class", str(folder), "-j", str(PROCESSES))
        least_s = cpu_s / PROCESSES
        is_met &= report(f"lab grade --class, {STUDENTS} students, {name}",
                         f"{wall_s:.0f} s with -j {PROCESSES}, {cpu_s:.0f} s of CPU, so {least_s:.0f} s on {PROCESSES} idle cores; {loop_s / wall_s:.1f} times as "
                         f"fast as a loop, with {cpu_s / loop_cpu_s:.2f} of its CPU", f"{GOAL_S} s on {PROCESSES} idle cores", least_s < GOAL_S)
    return is_met

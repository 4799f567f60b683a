#!/usr/bin/env python3
"""Prints the cost of grading: seconds of CPU and memory for each chapter's answer and exercise, and for two files that are as slow
as can be: each of their checks ends at its CPU limit, or at its number of runs. With half a core it takes twice the time.

Usage: test/card/cost.py      the programs are in B (build/gcc)
"""

import os
import subprocess
import tempfile
from pathlib import Path

from card import CHAPTERS, LAB, ROOT

LOOP = "    for (volatile int i = 1; i > 0; i++) { if (i > 5) i = 1; }\n"
LOOKS = """    struct stock_row row;

    for (int i = 0; i < 60; i++)
        (void)store_read_stock(sale, 0, &row);
"""


def cost(file, number):
    """Returns the seconds of CPU of all processes, and the memory of the largest one."""
    child = subprocess.Popen([LAB, "check", file, "--chapter", str(number), "--brief"], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:.0f} MB"


def worst(chapter, folder):
    """Prints the cost of an answer with a loop, or with many reads, at the beginning of each sale."""
    head, brace, body = (chapter / "answer.c").read_text().partition("static enum outcome sell(struct sale *sale) {\n")
    for name, more in ("loops", LOOP), ("looks", LOOKS):
        file = Path(folder) / f"{name}.c"
        file.write_text(head + brace + more + body)
        print(f"chapter {int(chapter.name[:2])}, {name}: {cost(file, int(chapter.name[:2]))}", flush=True)


def main():
    print("| chapter | answer | exercise |\n|---|---|---|")
    for chapter in CHAPTERS:
        number = int(chapter.name[:2])
        print(f"| {number} | {cost(chapter / 'answer.c', number)} | {cost(chapter / 'exercise.c', number)} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        worst(max(CHAPTERS, key=lambda chapter: (chapter / "chapter.json").read_text().count('"points"')), folder)


if __name__ == "__main__":
    main()

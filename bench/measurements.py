"""The part of bench/run that keeps its output in docs/measurements.md, a section for each bench."""

import datetime
import io
import os
import platform
import re
import subprocess
import sys

from measure import ROOT

PAGE = ROOT / "docs/measurements.md"


def place():
    """The date, the machine and the revision."""
    model = re.search(r"^model name\s*: (.*)$", open("/proc/cpuinfo", encoding="utf-8").read(), re.M)
    revision = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, capture_output=True, text=True)
    return (f"{datetime.date.today()}, {os.cpu_count()} cores of {model[1].strip() if model else platform.machine()}, "
            f"revision {revision.stdout.strip() or 'unknown'}")


class Kept(io.TextIOBase):
    """Standard output that keeps a copy."""

    def __init__(self):
        self.usual, self.text = sys.stdout, ""

    def write(self, text):
        self.text += text
        return self.usual.write(text)

    def flush(self):
        self.usual.flush()

    def __enter__(self):
        sys.stdout = self
        return self

    def __exit__(self, *_):
        sys.stdout = self.usual


def record(name, printed, names):
    """Replaces the section of this bench, or adds one. Sections are in the order of `names`."""
    head, *sections = re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.M)
    known = {section.split("\n", 1)[0][3:]: section.rstrip("\n") + "\n" for section in sections}
    known[name] = f"## {name}\n\n{place()}:\n\n```\n{printed}```\n"
    PAGE.write_text(head + "\n".join(known[name] for name in names if name in known), encoding="utf-8")

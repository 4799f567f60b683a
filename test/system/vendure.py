"""Vendure for tests: npm installs it into shops/vendure, once for a checkout."""

import fcntl
import shutil
import subprocess

from harness import ROOT

FOLDER = ROOT / "shops/vendure"


def install(case):
    """Skips the test if Vendure cannot be had. Files of tests run side by side: one of them installs, the others wait."""
    if not shutil.which("node") or not shutil.which("npm"):
        case.skipTest("node or npm is not installed")
    with (FOLDER / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (FOLDER / "node_modules/.package-lock.json").exists():  # npm writes it last
            return
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--fetch-retries=1", "--fetch-timeout=20000"],
                              cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        case.skipTest(f"npm does not answer: {' '.join(done.stdout.split())[:200]}")

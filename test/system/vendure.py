"""Vendure for tests: npm installs it into shops/vendure, once for a checkout."""

import shutil
import subprocess

from harness import ROOT

FOLDER = ROOT / "shops/vendure"


def install(case):
    """Skips the test if Vendure cannot be had."""
    if (FOLDER / "node_modules/@vendure/core/package.json").exists():
        return
    if not shutil.which("node") or not shutil.which("npm"):
        case.skipTest("node or npm is not installed")
    done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--fetch-retries=1", "--fetch-timeout=20000"],
                          cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        case.skipTest(f"npm does not answer: {' '.join(done.stdout.split())[:200]}")

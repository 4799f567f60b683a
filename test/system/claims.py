"""Claims of `loadgen claims`: the failure of each appears, and its cure holds. The claims of one file share a stack; the first
claim starts it."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, copy_template

HOME = Path(tempfile.gettempdir()) / f"sale-claims-{PORT_BASE}"  # in memory: a disk that stalls would delay each lock
HERE = ["--run-dir", str(HOME), "--port-base", str(PORT_BASE)]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("LOADGEN_")} | {"B": BUILD}


def claims(*arguments, timeout=240):
    return subprocess.run([ROOT / "scripts/loadgen", "claims", *arguments], cwd=ROOT, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)


def stack(*arguments):
    return subprocess.run([ROOT / "scripts/stack", *arguments], env=ENVIRONMENT | {"RUN_DIR": str(HOME)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Claims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        HOME.mkdir()
        copy_template(HOME)
        cls.results = tempfile.mkdtemp(prefix="sale-claims-")

    @classmethod
    def tearDownClass(cls):
        stack("down")
        shutil.rmtree(cls.results)
        shutil.rmtree(HOME)

    def show(self, claim):
        done = claims(claim, "--keep", "--results", self.results, *HERE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"\n{claim}: SHOWN in ", done.stdout)


def claims_of_half(half):
    """A test for each claim of the first or the second half of the table, in its order: so claims with the same stack stand
    together."""
    listed = [claim["id"] for claim in json.loads(claims("--output-format", "json").stdout)]
    middle = len(listed) // 2
    tests = {f"test_{number:02}_{name.replace('-', '_')}": lambda self, name=name: self.show(name)
             for number, name in enumerate(listed) if (number < middle) == (half == 0)}
    return type("ShownClaims", (Claims,), tests)

"""Every claim of `loadgen claims`: its failure appears, and its cure holds. All on one stack, which the first one starts."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT

HOME = Path(tempfile.gettempdir()) / f"sale-claims-{PORT_BASE}"  # in memory: a disk that stalls holds up each lock
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
        cls.results = tempfile.mkdtemp(prefix="sale-claims-")

    @classmethod
    def tearDownClass(cls):
        stack("down")
        shutil.rmtree(cls.results)

    def show(self, claim):
        done = claims(claim, "--keep", "--results", self.results, *HERE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"\n{claim}: SHOWN in ", done.stdout)


class Command(unittest.TestCase):
    def test_an_unknown_claim_is_refused_before_anything_starts(self):
        done = claims("process-lock", "nothing-of-the-kind")
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn('no claim "nothing-of-the-kind"', done.stderr)

    def test_ctrl_c_stops_the_run_and_all_that_was_started(self):
        command = [ROOT / "scripts/loadgen", "claims", "process-lock", *HERE]
        with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as running:
            for line in running.stdout:
                if line == "failure\n":
                    break
            running.send_signal(signal.SIGINT)
            said = running.stdout.read()
            self.assertEqual(running.wait(timeout=60), 130, said)
        self.assertEqual(stack("status").stdout.count(" down"), 5)

    def test_docs_claims_md_is_what_the_table_prints(self):
        done = claims("--output-format", "markdown")
        self.assertEqual((done.returncode, done.stdout), (0, (ROOT / "docs/claims.md").read_text()))


def tearDownModule():
    shutil.rmtree(HOME)


def add_tests():
    listed = claims("--output-format", "json")
    for claim in json.loads(listed.stdout):
        setattr(Claims, f"test_{claim['id'].replace('-', '_')}", lambda self, name=claim["id"]: self.show(name))


add_tests()

if __name__ == "__main__":
    unittest.main()

"""The command `loadgen claims`, and the first half of its claims."""

import shutil
import signal
import subprocess
import unittest

from claims import ENVIRONMENT, HERE, HOME, claims, claims_of_half, stack
from harness import ROOT, copy_template

ShownClaims = claims_of_half(0)


class Command(unittest.TestCase):
    def test_an_unknown_claim_is_refused_before_anything_starts(self):
        done = claims("process-lock", "nothing-of-the-kind")
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn('no claim "nothing-of-the-kind"', done.stderr)

    def test_ctrl_c_stops_the_run_and_all_that_was_started(self):
        HOME.mkdir()
        self.addCleanup(shutil.rmtree, HOME)
        copy_template(HOME)
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


if __name__ == "__main__":
    unittest.main()

"""Checks the grader's report card: no wrong strategy passes, no right strategy fails, and docs/report-card.md is up to date. It
also checks that one folder gets the same grades each time, byte for byte. It needs no servers."""

import io
import subprocess
import sys
import unittest

from harness import ROOT

sys.path.insert(0, str(ROOT / "test/card"))
import card  # noqa: E402
from mutants import MUTANTS  # noqa: E402


class Card(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.measured = card.measure()
        cls.rows = [row for rows in cls.measured.values() for row in rows]

    def test_nothing_that_is_wrong_passes(self):
        self.assertEqual(card.false_passes(self.rows), [])

    def test_nothing_that_is_right_fails(self):
        self.assertEqual(card.false_fails(self.rows), [])

    def test_the_page_says_what_is_so(self):
        page = io.StringIO()
        card.print_page(self.measured, page)
        self.assertEqual((ROOT / "docs/report-card.md").read_text(), page.getvalue(),
                         "print it again: test/card/card.py >docs/report-card.md")

    def test_it_is_about_all_there_is(self):
        self.assertGreaterEqual(len(card.REFERENCES), 36)
        self.assertGreaterEqual(len(MUTANTS) + len(card.GENERATED), 320)
        self.assertEqual({mutant[4] for mutant in MUTANTS}, set(card.CHECKS))
        self.assertEqual({mutant["chapter"] for mutant in card.GENERATED}, set(card.CHECKS))


class Again(unittest.TestCase):
    def test_the_same_folder_gets_the_same_grades(self):
        done = subprocess.run([ROOT / "test/card/again", "3"], cwd=ROOT, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 gradings, all the same", done.stdout)


if __name__ == "__main__":
    unittest.main()

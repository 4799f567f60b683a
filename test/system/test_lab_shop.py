"""Plays chapter 13 of lab/ like a student: the file is written, tested, and finds the fault; the shop is cured for one process, then for
two. Real runs of loadgen with the student's shop decide."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT

CHAPTER = ROOT / "lab/13-own-shop"
STUDENT = ROOT / "shops/student-python"
PLAN = json.loads((CHAPTER / "chapter.json").read_text())
PORTS = [PORT_BASE + 54, PORT_BASE + 55]
FEWER = "--customers", "100", "--stock", "25"


class OwnShop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        self.mine = self.home / "work/13"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("LOADGEN_")}
        self.env |= {"B": BUILD, "LAB_WORK": str(self.home / "work"), "RUN_DIR": str(self.home / "run"), "LOADGEN_NO_RESULTS": "1",
                     "LOADGEN_LATE": "1s", "LOADGEN_NO_PROGRESS": "1"}

    def lab(self, *arguments, code=0):
        done = subprocess.run([ROOT / "scripts/lab", *arguments], cwd=self.home, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), done.stdout + done.stderr)
        return done.stdout + done.stderr

    def write_file(self, ports=PORTS, *changes):
        """The shop file of the answer, for these ports."""
        text = self.lab("answer", "13").partition("\n# ----")[0]
        text = text.replace(" python3 ", f" {sys.executable} -IS ")  # it starts in half the time
        for port, own in zip((9801, 9802), (*ports, None)):
            text = re.sub(rf"^base .*:{port}.*\n", f"base http://127.0.0.1:{own}\n" if own else "", text, flags=re.M)
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        (self.mine / "mine.shop").write_text(text)

    @staticmethod
    def wrong_sell():
        return re.search(r"^def sell.*?(?=^def serve)", (STUDENT / "shop.py").read_text(), re.M | re.S).group()

    def cure(self, by):
        """Writes `by` into the student's shop in place of its function sell."""
        text = (STUDENT / "shop.py").read_text()
        (self.mine / "shop.py").write_text(text.replace(self.wrong_sell(), by))

    def answer(self):
        return self.lab("answer", "13").partition("\n# ----")[2].partition("\n")[2]

    def check(self, points, *texts):
        said = self.lab("check", "13", code=0 if points == 100 else 1)
        for text in (f"  {points} of 100 points", *texts):
            self.assertIn(text, said)

    def test_a_student_writes_a_file_and_cures_the_shop(self):
        self.assertIn("# 13. Your own shop", self.lab("start", "13"))
        self.assertIn("there is no ", self.lab("run", "13", code=66))
        self.lab("run", "13", "shop", "new")
        self.assertIn("HTTP", (self.mine / "mine.shop").read_text())
        self.write_file()
        self.assertIn("* order: sold, by the rule in line ", self.lab("run", "13", "shop", "order", "--stock", "3"))
        self.assertNotIn("FAILED", self.lab("run", "13", "shop", "check"))
        self.assertIn("student-python, 2 processes: VIOLATED: OVERSELL", self.lab("run", "13", *FEWER, code=1))
        self.check(50, "  holds   30 of  30  your file finds that the wrong shop oversells\n",
                   "  FAILS    0 of  20  your shop sells each unit once, in one process\n      student-python, 1 process: VIOLATED: OVERSELL")
        self.cure("import threading\nlock = threading.Lock()\n\n\n" + re.sub(r"^(?!def|$)", "    ", self.wrong_sell(), flags=re.M).replace(
            "product):\n", "product):\n    with lock:\n"))
        self.check(70, "  FAILS    0 of  30  your shop sells each unit once, in two processes\n      student-python, 2 processes: VIOLATED: OVERSELL")
        self.assertRegex(self.lab("list"), r"13  begun ")
        self.cure(self.answer())
        self.check(100)
        self.assertRegex(self.lab("list"), r"13  passed ")
        self.assertIn("student-python, 2 processes: VALID", self.lab("run", "13"))
        self.assertIn("student-python, p(50)<+50ms: A ", self.lab("run", "13", "--reach", *FEWER, code=(0, 99)))
        self.assertIn("student-python, 2 processes: VIOLATED: OVERSELL", self.lab("run", "13", "--wrong", *FEWER, code=1))
        # The last question. On a machine that stands still, two orders may meet.
        self.assertRegex(self.lab("run", "13", "--wrong", *"--arrival constant --rate 5 --customers 20 --stock 10".split(), code=(1, 2)),
                         "student-python, 2 processes: (INCONCLUSIVE|VIOLATED)")

    def test_it_cannot_be_fooled_by_little(self):
        self.lab("hint", "13")
        self.write_file()
        refuses = 'def sell(db, product):\n    return 409, {"error": "sold out"}\n\n\n'
        self.cure(refuses)
        self.check(0, "FAILED  stock 1, customer 1 orders")
        self.cure(self.answer())
        for change in [("sold     status == 201\n", "refused  status == 201\nsold     status == 299\n"),
                       ("WHERE product = '{{product}}'", "WHERE product = '{{product}}' AND false"),
                       ('soldout  jsonpath "$.error" == "sold out"', "sold     status == 409")]:
            with self.subTest(change):
                self.write_file(PORTS, change)
                self.check(0, "FAILED  ")
        self.write_file(PORTS[:1], ("WHERE product = '{{product}}'", "WHERE product = '{{product}}' LIMIT {{stock}}"))
        self.check(40, "  FAILS    0 of  30  your file finds that the wrong shop oversells\n",
                   "in two processes\n      mine.shop has one line base\n      Next: ")

    def test_a_shop_in_another_language(self):
        self.lab("hint", "13")
        for name in "shop.js", "cured.js":
            shutil.copy(ROOT / "shops/student-node" / name, self.mine)
        text = (ROOT / "shops/student-node/student.shop").read_text()
        for old, new in [(":9811", f":{PORTS[0]}"), (":9812", f":{PORTS[1]}"), ("# base", "base"), (".run/student-node", f"{self.mine}/data")]:
            self.assertIn(old, text)
            text = text.replace(old, new)
        (self.mine / "mine.shop").write_text(text)
        (self.mine / "serve").write_text('#!/bin/sh\ncd "$(dirname "$0")" || exit\n'
                                         'if [ "$2" = wrong ]; then exec node shop.js "$1" data; fi\nexec node cured.js "$1" data\n')
        self.check(100)

    def test_hints_and_reset(self):
        for says in "hint 1 of 5: Look at the shop", "POST /orders", "SELECT count AS left", "hint 4 of 5: Now the cure", "threading.Lock()":
            self.assertIn(says, self.lab("hint", "13"))
        self.assertIn("you have seen them", self.lab("hint", "13", code=64))
        self.assertIn("POST /orders", self.lab("hint", "13", "2"))
        self.cure(self.answer())
        self.assertIn("13.~1~", self.lab("reset", "13"))
        self.assertEqual((self.mine / "shop.py").read_text(), (STUDENT / "shop.py").read_text())
        self.assertIn("UPDATE", (self.home / "work/13.~1~/shop.py").read_text())

    def test_what_it_cannot_do_is_told(self):
        for arguments, code, text in [(("explore", "13"), 64, "chapter 13 has no explore"), (("watch", "13"), 64, "chapter 13 has no watch"),
                                      (("check", "13"), 66, "shop new, and change its lines")]:
            with self.subTest(arguments):
                self.assertIn(text, self.lab(*arguments, code=code))
        done = subprocess.run([ROOT / BUILD / "bin/lab", "check", "13.c"], cwd=self.home, env=self.env, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (64, "lab check: chapter 13 is about a shop of your own: run scripts/lab check 13\n"))
        self.write_file()
        (self.mine / "serve").write_text("#!/bin/sh\nexit 3\n")
        self.assertRegex(self.lab("run", "13", code=69), r"serve \d+ +started nothing that listens on port \d+")
        (self.mine / "mine.shop").write_text("shop x\n")
        self.assertIn("mine.shop needs a line such as: base http://127.0.0.1:9801", self.lab("run", "13", code=65))


class Written(unittest.TestCase):
    def test_the_plan_is_whole(self):
        text = (CHAPTER / "README.md").read_text()
        self.assertEqual(sum(check["points"] for check in PLAN["checks"]), 100)
        self.assertTrue(text.startswith(f"# 13. {PLAN['title']}\n\n{PLAN['minutes']} minutes. "))
        self.assertEqual(re.findall(r"^## (.*)$", text, re.M),
                         ["The story", "Predict", "Write the file", "Run it", "Read the lines", "Fix it", "Check it",
                          "A number to reach", "Questions"])
        asked, answered = text.partition("## Questions")[2].split("<details>")
        self.assertEqual(len(re.findall(r"^\d\. ", asked, re.M)), len(re.findall(r"^\d\. ", answered, re.M)))
        for command, which in re.findall(r"scripts/lab ([a-z]+) (\S+)", text):
            self.assertIn(command, ("start", "run", "check", "hint", "answer"))
            self.assertEqual(which.strip("`.,*):"), "13")


if __name__ == "__main__":
    unittest.main()

"""lab grade from outside: points, results.json, exit codes, and malicious files. It needs no servers."""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import BUILD, ROOT, wait_for

LAB = ROOT / BUILD / "bin/lab"
SCHEMA = json.loads((ROOT / "lab/grade/results.schema.json").read_text())
ANSWER = (ROOT / "lab/12-throughput/answer.c").read_text()
CHECK = {"name": "a sale", "points": 100, "options": "", "orders": 1, "instances": 1, "stock": 1, "preemptions": 0, "faults": "none",
         "advice": "Sell."}


def strategy(body, before=""):
    return f"""#include "strategy.h"
#include <stdio.h>
#include <string.h>
{before}
static enum outcome sell(struct sale *sale) {{
{body}
}}
const struct strategy strategy_exercise = {{.name = "exercise", .family = "f", .summary = "s", .promise = "p", .breaks = "b",
    .source = "s", .default_shards = 1, .sell = sell}};
"""


SELL = "return store_take_stock(sale, 0);"
# Each file by its deed: its source, its points of 100, and the message.
FILES = {
    "sells": (ANSWER, 100, "holds"),
    "loops": (strategy(f"volatile int i = 1;\nwhile (i) ;\n{SELL}"), 0, "a loop without a store call does not end"),
    "asks for ever": (strategy("struct stock_row row;\nwhile (store_read_stock(sale, 0, &row) == OUTCOME_OK) ;\nreturn OUTCOME_BUSY;"),
                      0, "an order does not end"),
    "writes anywhere": (strategy(f"*(volatile int *)8 = 1;\n{SELL}"), 0, "signal 11"),
    "calls a number": (strategy(f"((void (*)(void))(uintptr_t)0x1234)();\n{SELL}"), 0, "signal 11"),
    "runs its data": (strategy(f"static const unsigned char code[] = {{0x0f, 0x05, 0xc3}};\n((void (*)(void))(uintptr_t)code)();\n{SELL}"),
                      0, "signal 11"),
    "never returns": (strategy("return deep(1) > 1 ? OUTCOME_SOLD : store_take_stock(sale, 0);",
                               "static int deep(int n) { volatile char some[512]; some[0] = (char)n;"
                               " return n > 0 ? deep(n + 1) + some[0] : 0; }"), 0, "signal 11"),
    "assembles": (strategy(f"__asm__(\"syscall\");\n{SELL}"), 0, "a.c:6: __asm__ has no place in a strategy"),
    "forks": (strategy(f"extern int fork(void);\nfork();\n{SELL}"), 0, "a.c:6: fork: a strategy may not call this"),
    "includes": ("#include <unistd.h>\n" + ANSWER, 0, "a.c:1:"),
    "keeps state": ("static int count;\n" + strategy("count++;\n" + SELL), 0, "a.c:1: count: a variable that sales share"),
    "does not compile": ("int \x1b[31m\xff x = ;\n" + ANSWER, 0, "a.c:1:"),
    "is empty": ("", 0, "strategy_exercise"),
    "lies": (strategy("(void)sale;\nreturn OUTCOME_SOLD;"), 0, "FAILS"),
}


class Grading(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory(prefix="sale-grade-")
        self.addCleanup(self.home.cleanup)
        self.folder = Path(self.home.name) / "handed-in"
        self.results = Path(self.home.name) / "results.json"
        self.temporary = Path(self.home.name) / "tmp"
        self.folder.mkdir()
        self.temporary.mkdir()

    def chapters(self, **check):
        """Makes a chapter with one check."""
        folder = Path(self.home.name) / "chapters/01-one"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "chapter.json").write_text(json.dumps({"title": "One", "checks": [CHECK | check]}))
        return folder.parent

    def start(self, *arguments, **more):
        return subprocess.Popen([LAB, *arguments], cwd=ROOT, env=os.environ | {"TMPDIR": str(self.temporary)},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def run_lab(self, *arguments, code=0):
        child = self.start(*arguments)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, code, out + err)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return out, err

    def grade(self, *arguments, code=0):
        out, err = self.run_lab("grade", self.folder, "--results", self.results, *arguments, code=code)
        if code != 0:
            return out, err
        found = json.loads(self.results.read_text())
        jsonschema.Draft202012Validator(SCHEMA).validate(found)
        self.assertEqual(found["score"], sum(test["score"] for test in found["tests"]))
        return out, found

    def test_a_folder_gets_points_for_each_of_its_files(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        shutil.copy(ROOT / "lab/01-oversell/answer.c", self.folder / "01.c")
        shutil.copy(ROOT / "lab/02-mutex/exercise.c", self.folder / "02.c")
        (self.folder / "03.c").symlink_to("/etc/passwd")
        os.mkfifo(self.folder / "04.c")
        (self.folder / "05.c").mkdir()
        (self.folder / "06.c").write_bytes(b"\x00" * 100)
        (self.folder / "07.c").write_bytes(b" " * 100000)
        (self.folder / "08.c").symlink_to("nowhere")
        out, found = self.grade()
        self.assertIn(f"{found['score']} of 1200 points", out)
        plan = [json.loads((each.parent / "chapter.json").read_text())["checks"]
                for each in sorted((ROOT / "lab").glob("[0-9][0-9]-*/exercise.c"))]
        self.assertEqual([(test["name"], test["max_score"]) for test in found["tests"]],
                         [(check["name"], check["points"]) for checks in plan for check in checks])
        by = {}
        for test in found["tests"]:
            by.setdefault(test["extra_data"]["file"], []).append(test)
            self.assertEqual(test["status"], "passed" if test["score"] == test["max_score"] else "failed")
        self.assertEqual(sum(test["score"] for test in by["01.c"]), 100)
        failed = [test for test in by["02.c"] if test["status"] == "failed"]
        self.assertTrue(failed)
        for test in failed:
            self.assertRegex(test["output"], rf"(?s)lab explore 02\.c .*--replay {test['extra_data']['replay']}\n.*Next: ")
        for name, why in [("03.c", "it is a link"), ("04.c", "it is not a file"), ("05.c", "it is not a file"), ("06.c", "06.c"),
                          ("07.c", "07.c"), ("08.c", "it is a link"), ("09.c", "this file was not handed in")]:
            for test in by[name]:
                self.assertEqual(test["score"], 0)
                self.assertIn(why, test["output"])

    def test_a_counterexample_can_be_made_again(self):
        shutil.copy(ROOT / "lab/02-mutex/exercise.c", self.folder / "02.c")
        _, found = self.grade("--chapter", "2")
        output = next(test["output"] for test in found["tests"] if test["extra_data"]["replay"])
        command = next(line for line in output.splitlines() if "See it: " in line).partition("lab explore 02.c")[2].split()
        done = subprocess.run([LAB, "explore", self.folder / "02.c", *command], cwd=ROOT, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("OVERSELL", done.stdout)

    def test_a_bad_file_ends_only_its_own_check(self):
        chapters = self.chapters()

        def grade_one(number, text):
            file = self.folder / str(number) / "a.c"
            file.parent.mkdir()
            file.write_bytes(text.encode("latin-1"))
            child = self.start("check", file, "--chapter", "1", "--chapters", chapters)
            out, err = child.communicate(timeout=120)
            return child.returncode, out, err

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            ended = list(pool.map(lambda pair: grade_one(pair[0], pair[1][0]), enumerate(FILES.values())))
        for (name, (_, points, says)), (code, out, err) in zip(FILES.items(), ended):
            with self.subTest(name):
                self.assertEqual((code, err), (0 if points == 100 else 1, ""), out)
                self.assertIn(f"{points} of 100 points", out)
                self.assertIn(says, out)
                self.assertTrue(out.isascii() and all(char.isprintable() or char in "\n\t" for char in out), repr(out))
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_file_that_ends_its_explorer_leaves_nothing_behind(self):
        file = self.folder / "a.c"
        file.write_text(FILES["writes anywhere"][0])
        self.run_lab("explore", file, code=-signal.SIGSEGV)

    def test_too_many_schedules_are_no_pass(self):
        (self.folder / "01.c").write_text(ANSWER.replace("return store", "struct stock_row row;\n"
                                          "    for (int i = 0; i < 6; i++) (void)store_read_stock(sale, 0, &row);\n    return store"))
        out, found = self.grade("--chapter", "1", "--chapters", self.chapters(orders=7, instances=4, stock=7, preemptions=20))
        self.assertEqual(found["score"], 0)
        self.assertIn("more schedules than could be explored", out)

    def test_a_customer_refused_without_reason_fails_serves_all(self):
        (self.folder / "01.c").write_text(strategy("struct stock_row row;\n(void)store_read_stock(sale, 0, &row);\n"
                                                   "return row.available <= 0 ? OUTCOME_SOLD_OUT\n"
                                                   "    : store_write_stock(sale, &row, GUARD_VERSION, 0);"))
        bound = {"orders": 2, "instances": 2, "stock": 2, "preemptions": 2}
        self.assertEqual(self.grade("--chapter", "1", "--chapters", self.chapters(**bound))[1]["score"], 100)
        out, found = self.grade("--chapter", "1", "--chapters", self.chapters(**bound, serves_all=True))
        self.assertEqual(found["score"], 0)
        self.assertIn("A customer was turned away, though nothing had gone wrong.", out)

    def test_a_file_without_a_number_needs_a_chapter(self):
        self.assertIn("answer.c: its name does not begin with the number of a chapter: name the chapter with --chapter",
                      self.run_lab("check", ROOT / "lab/01-oversell/answer.c", code=64)[1])

    def test_a_mistake_of_the_instructor_is_no_grade(self):
        for arguments, says in [((), "name one"), (("nowhere",), "No such file"), ((self.folder, "--chapter", "14"), "no chapter 14"),
                                ((self.folder, "--chapter", "13"), "chapter 13 is about a shop of your own"),
                                ((self.folder, "--chapters", "nowhere"), "it has no chapter 1"),
                                ((self.folder, "--chapter", "1", "--chapters", self.chapters(points=99)), "99, not 100")]:
            with self.subTest(arguments):
                self.assertIn(says, self.run_lab("grade", *arguments, code=64)[1])
        _, err = self.grade("--chapter", "1", "--results", "/nowhere/results.json", code=70)
        self.assertIn("--results /nowhere/results.json: No such file", err)
        self.assertFalse(self.results.exists())

    def test_a_compiler_that_is_not_there_is_no_grade(self):
        (self.folder / "01.c").write_text(ANSWER)
        done = subprocess.run([LAB, "grade", self.folder, "--chapter", "1"], cwd=ROOT, env=os.environ | {"CC": "no-such-compiler"},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 70)
        self.assertIn("this compiler could not be run", done.stderr)

    def test_a_part_of_the_compiler_that_is_killed_is_no_grade(self):
        (self.folder / "01.c").write_text(ANSWER)
        killer, compiler = Path(self.home.name) / "killer", Path(self.home.name) / "cc"
        killer.write_text('#!/bin/sh\ncase $1 in *cc1) kill -9 $$ ;; esac\nexec "$@"\n')
        compiler.write_text(f'#!/bin/sh\nexec gcc -wrapper {killer} "$@"\n')
        for each in (killer, compiler):
            each.chmod(0o700)
        done = subprocess.run([LAB, "grade", self.folder, "--chapter", "1", "--results", self.results], cwd=ROOT,
                              env=os.environ | {"CC": str(compiler)}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
        self.assertIn("the compiler could not do its work, and not because of this file", done.stderr)
        self.assertFalse(self.results.exists())

    def test_results_are_whole_or_the_ones_before(self):
        (self.folder / "01.c").write_text(ANSWER)
        self.results.write_text("before")
        self.grade("--chapter", "1")
        self.assertEqual([path.name for path in Path(self.home.name).glob("results*")], ["results.json"])
        out, _ = self.run_lab("grade", self.folder, "--chapter", "1", "--results", "/dev/stdout")
        self.assertIn('"tests": [', out)

    def start_looping(self):
        """Starts a grading of a file that loops. Returns it and the process of its check, once that is in its sandbox."""
        (self.folder / "01.c").write_text(FILES["loops"][0])
        self.results.write_text("before")
        child = self.start("grade", self.folder, "--chapter", "1", "--results", self.results, start_new_session=True)
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")

        def is_shut_in(pid):
            try:
                return "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text()
            except OSError:
                return False

        return child, int(wait_for("the check", lambda: next(filter(is_shut_in, children.read_text().split()), None)))

    def test_ctrl_c_leaves_nothing_behind(self):
        child, _ = self.start_looping()
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 130, out + err)
        self.assertEqual((list(self.temporary.iterdir()), self.results.read_text()), ([], "before"))
        with self.assertRaises(ProcessLookupError):
            os.killpg(child.pid, 0)

    def test_a_check_that_somebody_kills_is_no_grade(self):
        child, check = self.start_looping()
        os.kill(check, signal.SIGKILL)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 70, out + err)
        self.assertIn("01.c: a check was killed", err)
        self.assertEqual((list(self.temporary.iterdir()), self.results.read_text()), ([], "before"))


if __name__ == "__main__":
    unittest.main()

"""lab grade from outside: points, results.json, exit codes, and malicious files. It needs no servers."""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import jsonschema

from harness import BUILD, PORT_BASE, ROOT, wait_for

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

# Right files in unusual styles: what stands before sell(), and its body.
STYLES = {
    "odd words": ("/* don't __asm__ */", SELL + ' /* __attribute__ [[x]] ## %: R"(x)" */ // "unclosed \' _Pragma'),
    "odd texts": ("", '(void)snprintf(sale->message, MESSAGE_BYTES, "%s", "asm %: ## [[ _Pragma"); ' + SELL),
    "a table": ('static const struct op { const char *name; enum outcome (*take)(struct sale *, int); } table[] = {{"a", store_take_stock}};',
                "return table[0].take(sale, 0);"),
    "a table of names": ("", 'static const char *const names[] = {"a", "b"}; return store_take_stock(sale, names[1][0] - 98);'),
    "functions": ("static inline int zero(int n) { return n == 0 ? 0 : zero(n - 1); }\nint own(void); int own(void) { return zero(9); }",
                  "return store_take_stock(sale, own());"),
    "unused": ("static int helper(int x) { return x; }\nenum { FIRST, LAST }; typedef struct sale *seller;", SELL),
    "macros": ("#define TAKE(s, n) store_take_stock((s), (n))\n#define NAME(x) #x\n#ifdef NOTHING\nit isn't C\n#endif\n#",
               "(void)snprintf(sale->message, MESSAGE_BYTES, NAME(x)); return TAKE(sale, 0);"),
    "other headers": ("#define _GNU_SOURCE\n#include <limits.h>\n#include <iso646.h>", "return store_take_stock(sale, not INT_MAX);"),
    "an assertion": ('_Static_assert(sizeof(int) == 4, "int");', SELL),
    "a switch": ("", "switch (store_take_stock(sale, 0)) { case OUTCOME_SOLD: return OUTCOME_SOLD;"
                 " case OUTCOME_SOLD_OUT: return OUTCOME_SOLD_OUT; default: return OUTCOME_BUSY; }"),
    "a goto": ("", "int i = 0; again: if (++i < 3) goto again; " + SELL),
    "numbers": ("", "double x = 1.5 * sale->options->shards; __int128 y = 5; long double z = 3; uint64_t h = 14695981039346656037ULL;\n"
                "return store_take_stock(sale, x > 0 && y / 6 == 0 && z > 1 ? (int)(h % 1) : __builtin_popcountll(h));"),
    "indexes": ("", "int a[2] = {0, 0}, n = sale->options->shards, b[n]; memset(b, 0, sizeof b); return store_take_stock(sale, a [b[0[a]]]);"),
    "texts": ("", 'char a[99], b[99]; int n = sprintf(a, "%s", sale->order_id); strcpy(b, a); strcat(b, "x"); strncat(b, "y", 1);\n'
              "const size_t has = strlen(a);\nreturn memcmp(a, b, has) == 0 && strcmp(a, b) != 0 && strchr(a, '-') != strrchr(a, '-') &&"
              " strpbrk(a, \"-\") == strstr(a, \"-\") && (size_t)n == has ? store_take_stock(sale, 0) : OUTCOME_FAILED;"),
    "a large stack": ("struct large { char c[9000]; };", "struct large a = {{0}}, b = a; return store_take_stock(sale, b.c[8999]);"),
    "lines": ("", "ret\\\nurn \\\r\n\tstore_take_stock(sale,\t0);\r\n"),
    "characters": ("", "char q = '\\'', d = '\"'; int é = 0; (void)q, (void)d; return store_take_stock(sale, é);"),
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
        plan = [json.loads((each.parent / "chapter.json").read_text())["checks"]
                for each in sorted((ROOT / "lab").glob("[0-9][0-9]-*/exercise.c"))]
        self.assertIn(f"{found['score']} of {100 * len(plan)} points", out)
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

    def check_all(self, texts, **environment):
        """Checks each text beside the others. Returns exit codes and outputs."""
        chapters = self.chapters()

        def check(number, text):
            file = self.folder / str(number) / "a.c"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text)
            done = subprocess.run([LAB, "check", file, "--chapter", "1", "--chapters", chapters], cwd=ROOT, capture_output=True, text=True,
                                  env=os.environ | {"TMPDIR": str(self.temporary)} | environment, stdin=subprocess.DEVNULL, timeout=120)
            return done.returncode, done.stdout, done.stderr

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            ended = list(pool.map(check, range(len(texts)), texts))
        self.assertEqual(list(self.temporary.iterdir()), [])
        return ended

    def test_a_bad_file_ends_only_its_own_check(self):
        ended = self.check_all([text.encode("latin-1") for text, _, _ in FILES.values()])
        for (name, (_, points, says)), (code, out, err) in zip(FILES.items(), ended):
            with self.subTest(name):
                self.assertEqual((code, err), (0 if points == 100 else 1, ""), out)
                self.assertIn(f"{points} of 100 points", out)
                self.assertIn(says, out)
                self.assertTrue(out.isascii() and all(char.isprintable() or char in "\n\t" for char in out), repr(out))

    def test_a_right_file_in_an_unusual_style_passes(self):
        for compiler in filter(shutil.which, ("gcc", "clang")):
            ended = self.check_all([strategy(body, before).encode() for before, body in STYLES.values()], CC=compiler)
            for name, (code, out, err) in zip(STYLES, ended):
                with self.subTest(name, compiler=compiler):
                    self.assertEqual((code, err), (0, ""), out)

    def test_a_file_that_ends_its_explorer_leaves_nothing_behind(self):
        file = self.folder / "a.c"
        file.write_text(FILES["writes anywhere"][0])
        self.run_lab("explore", file, code=1)

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
        command = re.search(r"See it: .*lab explore 01\.c (.*)", out)[1].split()
        self.assertIn("TURNED-AWAY", self.run_lab("explore", self.folder / "01.c", *command, code=1)[0])

    def test_a_check_can_end_with_the_first_failure(self):
        file = self.folder / "01.c"
        file.write_text(strategy("(void)sale;\nreturn OUTCOME_BUSY;"))
        self.assertIn("The other checks were not run.\n  0 of 100 points\n", self.run_lab("check", file, "--first", code=1)[0])

    def test_a_file_is_judged_at_the_numbers_that_it_looks_at(self):
        bound = {"orders": 2, "instances": 2, "stock": [2, 3], "preemptions": 2, "first_version": [0, 1000000], "options": "work=0"}
        for what, points in [("row.version == 4711", 0), ("row.version % 97 == 13", 0), ("row.version >= 65536000", 0),
                             ("row.available == 50", 0), ("row.available > 200", 0), ("row.available < 0", 100)]:
            with self.subTest(what):
                (self.folder / "01.c").write_text(strategy(
                    "struct stock_row row;\n(void)store_read_stock(sale, 0, &row);\nif (row.available <= 0) return OUTCOME_SOLD_OUT;\n"
                    f"return store_write_stock(sale, &row, {what} ? GUARD_ANY : GUARD_VERSION, 0);"))
                out, found = self.grade("--chapter", "1", "--chapters", self.chapters(**bound))
                self.assertEqual(found["score"], points, out)
                if points == 0:
                    command = re.search(r"See it: .*lab explore 01\.c (.*)", out)[1].split()
                    self.assertIn("TWIN", self.run_lab("explore", self.folder / "01.c", *command, code=1)[0])

    def test_the_file_or_a_seed_chooses_the_numbers(self):
        (self.folder / "01.c").write_text(strategy("(void)sale;\nreturn OUTCOME_BUSY;"))
        chapters = self.chapters(stock=[1, 1000])
        texts = [self.grade("--chapter", "1", "--chapters", chapters, *more)[0] for more in [(), (), ("--seed", "1"), ("--seed", "2")]]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(len(set(texts)), 3)

    def test_a_file_without_a_number_needs_a_chapter(self):
        self.assertIn("answer.c: its name does not begin with the number of a chapter: name the chapter with --chapter",
                      self.run_lab("check", ROOT / "lab/01-oversell/answer.c", code=64)[1])

    def test_a_mistake_of_the_instructor_is_no_grade(self):
        for arguments, says in [((), "name one"), (("nowhere",), "No such file"), ((self.folder, "--chapter", "99"), "no chapter 99"),
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

    def test_a_machine_without_room_is_no_grade(self):
        (self.folder / "01.c").write_text(ANSWER)
        self.chapters()
        whole = self.check_all([ANSWER.encode()])[0][1]
        for limit in ("--nofile=4", "--nofile=7", "--nofile=10", "--as=20000000", "--as=60000000", "--as=200000000", "--fsize=100"):
            with self.subTest(limit):
                done = subprocess.run(["prlimit", limit, LAB, "check", self.folder / "0/a.c", "--chapter", "1", "--chapters",
                                       self.chapters()], cwd=ROOT, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
                if done.returncode == 0:
                    self.assertEqual(done.stdout, whole)
                    continue
                self.assertIn(done.returncode, (70, 127), done.stdout + done.stderr)
                self.assertNotIn("points", done.stdout)

    def elsewhere(self, change, *arguments, before=()):
        """Runs lab where `change` was done to the mounts. $0 is the home, and $TMPDIR its folder tmp. Returns code, output and errors."""
        done = subprocess.run([*before, "unshare", "--mount", "sh", "-c", change + ' && exec "$@"', self.home.name, LAB, *arguments],
                              cwd=ROOT, env=os.environ | {"TMPDIR": str(self.temporary)}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    @unittest.skipIf(os.geteuid(), "it mounts file systems")
    def test_a_machine_that_lacks_something_is_no_grade(self):
        file = self.folder / "01.c"
        file.write_text(ANSWER)
        check = ["check", "01.c", "--chapter", "1", "--chapters", "../chapters"]
        self.chapters()
        go = 'cd "$0/handed-in"'
        full, least = "set TMPDIR to a folder with room", "mount -t tmpfs -o size={}k none /mnt && export TMPDIR=/mnt && " + go
        for change, code, says in [
                (f"mount -t tmpfs -o noexec none $TMPDIR && {go}", 0, ""), (f"mount -t tmpfs -o ro none $TMPDIR && {go}", 0, ""),
                ('mount --bind "$0" /mnt && mount -t tmpfs -o ro none /tmp && cd /mnt/handed-in', 70, "set TMPDIR to a folder that"),
                ('mount --bind "$0" /mnt && mount -t tmpfs -o noexec none /tmp && cd /mnt/handed-in', 70, "it is mounted noexec: set TMPDIR"),
                ('mount --bind "$0" /mnt && mount -o remount,bind,ro /mnt && cd /mnt/handed-in && export HOME=/mnt', 0, ""),
                (f"mount -t tmpfs none /proc && {go}", 70, "mount -t proc proc /proc"),
                ('mount --bind "$0" /mnt && mount -t tmpfs none /dev && cd /mnt/handed-in', 70,
                 "/dev/null or the folder of temporary files cannot be opened"),
                (least.format(4) + " && head -c 4096 /dev/zero >$TMPDIR/all", 70, full),
                *((least.format(size), None, full) for size in (4, 24, 32, 36, 48))]:
            with self.subTest(change):
                ended, out, err = self.elsewhere(change, *check)
                self.assertIn(ended, (0, 70) if code is None else (code,), out + err)
                self.assertEqual("100 of 100 points" in out, ended == 0)
                if ended == 70:
                    self.assertEqual(out, "")
                    self.assertIn(says, err)
        ended, out, err = self.elsewhere(least.format(4) + " && head -c 4096 /dev/zero >$TMPDIR/all && export TMPDIR=/tmp", "grade", ".",
                                         *check[2:], "--results", "/mnt/results.json")
        self.assertEqual(ended, 70, out + err)
        self.assertIn("results.json: No space left on device", err)

    @unittest.skipIf(os.geteuid(), "it becomes another user")
    def test_too_few_processes_are_no_grade(self):
        (self.folder / "01.c").write_text(ANSWER)
        check = ["check", self.folder / "01.c", "--chapter", "1", "--chapters", self.chapters()]
        Path(self.home.name).chmod(0o755)
        self.temporary.chmod(0o777)
        # The limit counts all processes of a user, so tests of another checkout have another one.
        other = ["setpriv", f"--reuid={40000 + PORT_BASE}", "--clear-groups"]
        if subprocess.run([*other, LAB, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("another user cannot read this folder")
        for most in range(6):
            with self.subTest(most=most):
                done = subprocess.run(["prlimit", f"--nproc={most}", *other, LAB, *check], cwd=ROOT, capture_output=True, text=True,
                                      env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.temporary)}, stdin=subprocess.DEVNULL, timeout=120)
                self.assertIn(done.returncode, (0, 70) if most > 0 else (70,), done.stdout + done.stderr)
                self.assertEqual("100 of 100 points" in done.stdout, done.returncode == 0)
                if done.returncode == 70:
                    self.assertIn("raise `ulimit -u`", done.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_verdict_that_cannot_be_printed_is_no_grade(self):
        (self.folder / "01.c").write_text(ANSWER)
        for command in [("check", self.folder / "01.c"), ("grade", self.folder)]:
            with self.subTest(command), open("/dev/full", "w") as full:
                done = subprocess.run([LAB, *command, "--chapter", "1", "--chapters", self.chapters()], cwd=ROOT, stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(done.returncode, 70)
                self.assertIn("standard output: No space left on device", done.stderr)

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

    def test_ctrl_c_and_sigterm_leave_nothing_behind(self):
        for send, number in ((os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)):
            with self.subTest(number):
                child, _ = self.start_looping()
                self.check_stop(child, send, number)

    def test_ctrl_c_while_it_compiles_leaves_nothing_behind(self):
        compiler, begun = Path(self.home.name) / "cc", Path(self.home.name) / "begun"
        compiler.write_text(f'#!/bin/sh\ncase "$*" in *" -c "*) : >{begun}; exec sleep 1000 ;; esac\nexec gcc "$@"\n')
        compiler.chmod(0o700)
        (self.folder / "01.c").write_text(ANSWER)
        self.results.write_text("before")
        with unittest.mock.patch.dict(os.environ, CC=str(compiler)):
            child = self.start("grade", self.folder, "--chapter", "1", "--results", self.results, start_new_session=True)
        wait_for("the compiler", begun.exists)
        self.check_stop(child, os.killpg, signal.SIGINT)

    def check_stop(self, child, send, number):
        send(child.pid, number)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 130, out + err)
        self.assertEqual((list(self.temporary.iterdir()), self.results.read_text()), ([], "before"))
        with self.assertRaises(ProcessLookupError):
            os.killpg(child.pid, 0)

    def stop_and_go(self, process):
        """Stops and continues a process. False: it had ended."""
        def state():
            found = Path(f"/proc/{process}/stat").read_text().split()[2]
            return found if found in "TZ" else None

        try:
            os.kill(process, signal.SIGSTOP)
            has_stopped = wait_for("the stop", state) == "T"
            os.kill(process, signal.SIGCONT)
            return has_stopped
        except (ProcessLookupError, FileNotFoundError):
            return False

    def test_a_grader_and_a_player_that_are_stopped_go_on(self):
        has_stopped = False
        while not has_stopped:  # else the player had used up its second before the signal came
            child, check = self.start_looping()
            players = Path(f"/proc/{check}/task/{check}/children").read_text().split()
            has_stopped = any([self.stop_and_go(int(player)) for player in players])
            self.assertTrue(self.stop_and_go(child.pid))
            out, err = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 0, out + err)
            self.assertIn("a loop without a store call does not end", out)

    def test_a_check_that_somebody_kills_is_no_grade(self):
        child, check = self.start_looping()
        os.kill(check, signal.SIGKILL)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 70, out + err)
        self.assertIn("01.c: a check was killed", err)
        self.assertEqual((list(self.temporary.iterdir()), self.results.read_text()), ([], "before"))


if __name__ == "__main__":
    unittest.main()

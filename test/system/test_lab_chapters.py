"""Plays the chapters of lab/ like a student, without chapter 13: the exercise fails and gets advice, each hint gets further, and the answer
passes. Only runs of chapters 1, 12, 14 and 15 use servers. Each command of scripts/lab runs once."""

import concurrent.futures
import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, wait_for

LAB = ROOT / BUILD / "bin/lab"
CHAPTERS = sorted(file.parent for file in (ROOT / "lab").glob("[0-9][0-9]-*/exercise.c"))
CHEATS = {
    # It reads the key first where a check could see that it is late, and does not where a check counts its steps.
    "05-owner": ("hint-3.c", "    if (store_kv_get(", "    if (sale->options->work_ms == 0 || store_kv_get("),
    "04-ttl": ("exercise.c", "TTL_MS 500", "TTL_MS 16000"),
    "11-shards": ("hint-4.c", "ROWS 4", "ROWS 10"),
}


def plan_of(chapter):
    return json.loads((chapter / "chapter.json").read_text())


def number_of(chapter):
    return int(chapter.name[:2])


def steps_of(chapter):
    """The files of a chapter, in the order in which a student sees them."""
    return [chapter / "exercise.c", *sorted(chapter.glob("hint-*.c")), chapter / "answer.c"]


def check(file, number, *flags):
    return subprocess.run([LAB, "check", file, "--chapter", str(number), *flags], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)


def points(file, number):
    """The result of `lab check`: the points, the names of the checks that hold, and the share of the schedules that fail."""
    done = check(file, number, "--brief")
    total = re.search(r"^  (\d+) of 100 points$", done.stdout, re.M)
    if not total:
        raise AssertionError(f"lab check {file}: {done.returncode}: {done.stdout}{done.stderr}")
    failing = [int(some) / int(of) for some, of in re.findall(r": (\d+) of (\d+) schedules fail$", done.stdout, re.M)]
    return int(total[1]), re.findall(r"^  holds .* of +\d+  (.*): [^:]*$", done.stdout, re.M), sum(failing)


class Played(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        files = [(file, number_of(chapter)) for chapter in CHAPTERS for file in steps_of(chapter)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cls.results = dict(zip([file for file, _ in files], pool.map(lambda pair: points(*pair), files)))

    def test_they_have_numbers_from_one_on(self):
        folders = sorted((ROOT / "lab").glob("[0-9][0-9]-*"))
        self.assertEqual([number_of(chapter) for chapter in folders], list(range(1, len(folders) + 1)))
        self.assertEqual(set(folders) - set(CHAPTERS), {ROOT / "lab/13-own-shop"})

    def test_each_exercise_fails_and_each_answer_passes(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                names = [each["name"] for each in plan_of(chapter)["checks"]]
                self.assertLess(self.results[chapter / "exercise.c"][0], 100)
                self.assertEqual(self.results[chapter / "answer.c"], (100, names, 0))

    def test_each_step_gets_further(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                got = [self.results[file] for file in steps_of(chapter)]
                for before, after in zip(got, got[1:]):
                    # More points, or as many, and fewer of the schedules fail.
                    self.assertLess((before[0], -before[2]), (after[0], -after[2]), got)

    def test_one_statement_everywhere_passes_only_where_it_is_the_subject(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                number = number_of(chapter)
                done = check(ROOT / "lab/01-oversell/answer.c", number, "--brief")
                # It is no subject of chapter 14, but passes UNKNOWN on.
                self.assertIn(f"  {({1: 100, 12: 100, 14: 50}).get(number, 0)} of 100 points", done.stdout)
                if "requires" in plan_of(chapter):
                    self.assertRegex(done.stdout, r"A sale uses store_take_stock\(\). This chapter is about another way: .*(GUARD|KV|store)_")
                    self.assertIn("Each check asks for ", (chapter / "README.md").read_text())

    def test_a_lock_beside_the_sale_and_a_sale_without_work_get_no_point(self):
        lazy = """static enum outcome lazy(struct sale *sale, enum guard guard, const struct store_lock *lock) {
            struct stock_row seen;
            enum outcome outcome = store_read_stock(sale, 0, &seen);
            if (outcome != OUTCOME_OK) return outcome;
            return seen.available <= 0 ? OUTCOME_SOLD_OUT : store_write_stock(sale, &seen, guard, lock);
        }
        """
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for chapter in CHAPTERS[1:9]:
            text = (chapter / "answer.c").read_text()
            sells = re.search(r"read_then_write\(sale, 0, (.*)\)", text)
            tricks = ([(sells[0], "store_take_stock(sale, 0)"), (sells[0], f"lazy(sale, {sells[1]})")] if sells else
                      [(re.search(r"store_write_stock\(.*?\)", text)[0], "store_take_stock(sale, 0)"),
                       (re.search(r"store_work(_for)?\(.*?\)", text)[0], "(bool)(sale->options->ttl_ms < 0)")])
            for name, (plain, instead) in zip(("decoy", "lazy"), tricks):
                with self.subTest(chapter.name, trick=name):
                    mine = folder / f"{chapter.name}-{name}.c"
                    helper = lazy if "lazy(" in instead else ""
                    mine.write_text(text.replace("static enum outcome sell(", helper + "static enum outcome sell(").replace(plain, instead))
                    done = check(mine, number_of(chapter), "--brief")
                    self.assertIn("  0 of 100 points", done.stdout, done.stderr)
                    self.assertRegex(done.stdout, r"another way|store_work\(\)")

    def test_each_text_shows_schedules_word_for_word(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                text = (chapter / "README.md").read_text()
                blocks = [block for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S) if "schedule" in block or " ms pass" in block]
                self.assertGreaterEqual(len(blocks), 1)
                for block in blocks:
                    self.assertRegex(block, rf"^scripts/lab explore {number_of(chapter)}\b.*\n\n")
        done = subprocess.run([ROOT / "scripts/schedules", "--check"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_an_exercise_is_told_what_to_do(self):
        for chapter in CHAPTERS[::4]:
            with self.subTest(chapter.name):
                done = check(chapter / "exercise.c", number_of(chapter))
                passed = self.results[chapter / "exercise.c"][1]
                first = next(each for each in plan_of(chapter)["checks"] if each["name"] not in passed)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(" ".join(first["advice"].split()), " ".join(done.stdout.split()))

    def test_a_file_that_only_looks_right_does_not_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, (file, old, new) in CHEATS.items():
                with self.subTest(name):
                    text = (ROOT / "lab" / name / file).read_text()
                    self.assertIn(old, text)
                    cheat = Path(folder) / f"{name}.c"
                    cheat.write_text(text.replace(old, new))
                    self.assertLess(points(cheat, name[:2])[0], 100)


class Written(unittest.TestCase):
    def test_each_plan_is_whole(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                plan, text = plan_of(chapter), (chapter / "README.md").read_text()
                self.assertEqual(sum(each["points"] for each in plan["checks"]), 100)
                words = len(plan["hints"]) - len(list(chapter.glob("hint-*.c")))
                self.assertGreaterEqual(words, 2)
                for k, hint in enumerate(plan["hints"], 1):
                    self.assertNotRegex(hint, r'["\\]')
                    self.assertEqual((chapter / f"hint-{k}.c").exists(), k > words)
                    self.assertTrue(k > words or len(hint) > 100 and "?" in hint, hint)
                self.assertIn(plan["minutes"], range(20, 41))
                self.assertTrue(text.startswith(f"# {number_of(chapter)}. {plan['title']}\n\n{plan['minutes']} minutes. "))
                for each in plan["checks"]:
                    self.assertGreater(len(each["advice"]), 40)

    def test_each_text_has_its_parts_in_order(self):
        parts = ["The story", "Predict", "Run it", "Break it", "Read the lines", "Every schedule", "Fix it", "Check it",
                 "A number to reach", "Questions"]
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                text = (chapter / "README.md").read_text()
                self.assertEqual(re.findall(r"^## (.*)$", text, re.M), parts)
                questions = text.partition("## Questions")[2]
                asked, answered = questions.split("<details>")
                count = len(re.findall(r"^\d\. ", asked, re.M))
                self.assertGreaterEqual(count, 3)
                self.assertEqual(len(re.findall(r"^\d\. ", answered, re.M)), count)
                self.assertRegex(answered, r"(?m)^</details>$")

    def test_the_last_question_is_a_check_and_each_exploration_is_answered_by_its_schedule(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                text = (chapter / "README.md").read_text()
                asked, _, answered = text.partition("## Questions")[2].partition("<details>")
                self.assertRegex(re.split(r"(?m)^\d\. ", asked)[-1], r"`scripts/lab\s(explore|check)\s")
                for command in re.findall(r"`(scripts/lab explore [^`]+)`(?!, with the exercise)", " ".join(asked.split())):
                    self.assertRegex(answered, rf"(?m)^```\n{re.escape(command)}    # with .*\n\n")

    def test_each_share_of_schedules_is_right(self):
        for chapter in CHAPTERS:
            for violated, count in re.findall(r"\b(\d+) of (\d+)\s+schedules", (chapter / "README.md").read_text()):
                with self.subTest(chapter.name):
                    done = subprocess.run([LAB, "explore", chapter / "exercise.c", *plan_of(chapter)["explore"].split()[1:]], cwd=ROOT,
                                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                    self.assertIn(f"{count} schedules: complete, {violated} violated;", done.stdout)

    def test_each_text_shows_only_commands_of_its_own(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                for command, which in re.findall(r"scripts/lab ([a-z]+) (\S+)", (chapter / "README.md").read_text()):
                    self.assertIn(command, ("start", "run", "explore", "check", "hint", "answer", "watch"))
                    self.assertEqual(which.strip("`.,*):"), str(number_of(chapter)))


class Commands(unittest.TestCase):
    def setUp(self):
        self.home = Path(tempfile.mkdtemp(prefix="sale-lab-"))
        self.home.chmod(0o755)  # Postgres runs as another user than root
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("LOADGEN_")}
        self.env |= {"B": BUILD, "LAB_WORK": str(self.home / "work"), "RUN_DIR": str(self.home / "run"),
                     "PORT_BASE": str(PORT_BASE), "LOADGEN_NO_RESULTS": "1", "LOADGEN_LATE": "1s", "LOADGEN_NO_PROGRESS": "1"}

    def tearDown(self):
        data = self.home / "run/postgres"
        if data.is_symlink():
            shutil.rmtree(data.resolve(), ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def lab(self, *arguments, code=0):
        """Runs scripts/lab from another folder than the project's."""
        done = subprocess.run([ROOT / "scripts/lab", *arguments], cwd=self.home, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), done.stdout + done.stderr)
        return done.stdout + done.stderr

    def mine(self, chapter):
        return self.home / "work" / f"{chapter[:2]}.c"

    def test_wrong_arguments_are_told_what_there_is(self):
        for arguments in [("begin", "1"), ("start",), ("start", "1", "2"), ("check",), ("run",), ("hint", "1", "x"),
                          ("list", "1"), ("watch", "1", "--what"), ("run", "1", "--with")]:
            with self.subTest(arguments):
                self.assertIn("Usage: scripts/lab [list]", self.lab(*arguments, code=64))
        self.assertIn("there is no chapter '99'", self.lab("start", "99", code=64))
        self.assertIn("lab: chapter 1 has 3 hints", self.lab("hint", "1", "9", code=64))
        self.assertIn("scripts/lab watch N", self.lab("--help"))

    def test_a_student_goes_through_a_chapter(self):
        self.assertIn("# 1. See an oversell", self.lab("start", "1"))
        self.assertNotIn("The window is as wide as", self.lab("start", "oversell"))  # it is part of an answer
        self.assertEqual(self.mine("01-oversell").read_text(), (ROOT / "lab/01-oversell/exercise.c").read_text())
        self.assertRegex(self.lab("list"), r" 1  begun +20 min")
        self.assertIn("GUARD_VALUE", self.lab("check", "1", code=1))
        words = [self.lab("hint", "1"), self.lab("hint", "1")]
        self.assertRegex(words[0], r"(?m)^hint 1 of 3: Run\s+`.*scripts/lab explore 1`")
        self.assertNotIn("GUARD_", words[0])
        self.assertIn("GUARD_", words[1])
        self.assertNotIn("store_write_stock(sale", "".join(words))
        self.assertIn("+    return store_write_stock(sale, &seen, GUARD_VALUE, NULL);", self.lab("hint", "1"))
        self.assertIn("you have seen them", self.lab("hint", "1", code=64))
        self.assertIn("hint 3 of 3: write only if the count is still the one that you read\n", self.lab("hint", "1", "3"))
        answer = self.lab("answer", "01")
        self.assertIn("store_take_stock", answer)
        self.mine("01-oversell").write_text(answer)
        self.assertRegex(self.lab("check", "01-oversell"), r"\nnext: .*lab start 2\n$")
        self.assertRegex(self.lab(), r" 1  passed +20 min(?s:.*)\nnext: .*lab start 2 ")
        self.assertIn("work/01.c.~1~", self.lab("reset", "1"))
        self.assertEqual(self.mine("01-oversell").with_name("01.c.~1~").read_text(), answer)
        self.assertEqual(self.mine("01-oversell").read_text(), (ROOT / "lab/01-oversell/exercise.c").read_text())

    def test_start_asks_for_a_prediction_before_it_shows_the_result(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 1000, 120, 0, 0))
        with subprocess.Popen(["scripts/lab", "start", "1"], cwd=ROOT, env=self.env | {"TERM": "xterm"}, stdin=theirs, stdout=theirs) as start:
            os.close(theirs)
            shown, is_asked = b"", False
            with contextlib.suppress(OSError):  # it has ended
                while more := os.read(ours, 65536):
                    shown += more
                    if not is_asked and shown.endswith(b"> "):
                        self.assertIn(b"## Predict", shown)
                        self.assertNotIn(b"## Run it", shown)
                        is_asked = bool(os.write(ours, "500, \t once\n".encode()))
            self.assertEqual(start.wait(60), 0)
        self.assertIn(b"## Run it", shown)
        self.assertIn("You predicted: 500,  once\n", self.lab("explore", "1", code=1))
        self.lab("reset", "1")
        self.assertNotIn("You predicted", self.lab("explore", "1", code=1))

    def test_calls_are_those_of_the_answer_and_the_headers_compile_alone(self):
        for chapter in CHAPTERS:
            with self.subTest(chapter.name):
                told = self.lab("calls", str(number_of(chapter)))
                used = set(re.findall(r"\b(?:store_\w+|\w+_then_write|key_lock_win)(?=\()", (chapter / "answer.c").read_text()))
                self.assertEqual([name for name in used if not re.search(rf"^[a-z].*\b{name}\(", told, re.M)], [])
        self.assertNotIn("store_hand_out", told)
        self.assertIn("enum kv_command {", self.lab("calls", "6"))
        for name in "strategy.h", "store.h", "read_then_write.h":
            subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Istrategies/seam", "-include", name, "-xc",
                            "/dev/null"], cwd=ROOT, check=True)

    def test_the_printed_commands_run_when_pasted(self):
        self.env["LAB_WORK"] = str(self.home / "my work")
        self.lab("start", "1")
        told = self.lab("check", "1", code=1)
        for sign, code, says in [("See it: (.*)", 1, "OVERSELL"), ("or run (.* hint 1)\\.", 0, "hint 1 of 3: ")]:
            with self.subTest(sign):
                env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
                done = subprocess.run(["bash", "-c", re.search(sign, told)[1]], cwd=self.home, env=env, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(says, done.stdout)
        self.assertEqual((self.home / "my work/.01.hints").read_text(), "1\n")

    def test_code_that_fails_is_told_with_its_line(self):
        mine = self.mine("01-oversell")
        sound = (ROOT / "lab/01-oversell/exercise.c").read_text()
        place = "    store_work(sale);\n"
        line = sound[:sound.index(place)].count("\n") + 2
        self.lab("start", "1")
        for wrong, says in [("for (volatile int i = 0;; i = 1) {}", "it used up its time"),
                            ("*(volatile int *)0 = 1;", "look for a NULL or wild pointer"),
                            ("volatile int none = 0; seen.available /= none;", "it divided by zero"),
                            ("seen.available += deep(&seen);", "the stack is full"),
                            ("return store_read_stock(sale, 0, (struct stock_row *)8);", "look for a NULL or wild pointer")]:
            with self.subTest(wrong):
                deep = "static int deep(struct stock_row *row) { volatile struct stock_row mine = *row; mine.shard++; " \
                       "return deep((struct stock_row *)&mine) + mine.shard; }\n"
                is_deep = "deep(" in wrong
                mine.write_text(sound.replace("static enum", deep * is_deep + "static enum", 1).replace(place, f"{place}    {wrong}\n"))
                at = sound[:sound.index("static enum")].count("\n") + 1 if is_deep else line
                for command in "check", "explore":
                    first, _, rest = self.lab(command, "1", code=1).partition("\n")
                    self.assertRegex(first, rf"^work/01.c:{at}: .*{says}.*; its last call, store_[a-z_]+\(\), returned OK$")
                    if command == "check":
                        self.assertEqual(rest.count("Next: "), 1)
        for wrong, says in [("int x = ;", "expected expression"), ("exit(0);", "implicit declaration of function 'exit'"),
                            ('printf("%d", 1);', "store_trace"), ("helper(sale);", "'helper'")]:
            with self.subTest(wrong):
                mine.write_text(sound.replace(place, f"{place}    {wrong}\n"))
                for command, code in ("check", 1), ("explore", 64), ("run", 64):
                    told = self.lab(command, "1", code=code)
                    self.assertRegex(told, rf"^work/01.c:{line}:.*{says}")
                    self.assertNotIn("stdlib.h", told)

    def test_warnings_of_the_compiler_are_told_and_fail_nothing(self):
        right = (ROOT / "lab/01-oversell/answer.c").read_text()
        place = "    store_work(sale);\n"
        line = right[:right.index(place)].count("\n") + 2
        self.lab("start", "1")
        self.mine("01-oversell").write_text(right.replace(place, place + "    int stock = 0, a = 0, b = 0, c = 0, d = 0, e = 0;\n"))
        for command in "check", "explore":
            told = self.lab(command, "1")
            self.assertEqual(len(re.findall(rf"(?m)^work/01.c:{line}:\d+: warning: unused variable '\w+' ", told)), 5)
            self.assertEqual((told.count("warning: "), told.count("int stock")), (5, 0))

    def test_a_trace_stands_in_the_schedule_and_is_no_step(self):
        self.lab("start", "1")
        plain = self.lab("explore", "1", code=1)
        place = "    store_work(sale);\n"
        shown = '    store_trace(sale, "I have read");\n    store_trace(sale, "' + "x" * 99 + '");\n'
        self.mine("01-oversell").write_text((ROOT / "lab/01-oversell/exercise.c").read_text().replace(place, shown + place))
        traced = self.lab("explore", "1", code=1)
        self.assertRegex(traced, r"A, at inventory-1, reads the stock: 2 left\n.* A says: I have read\n.* A says:\s+x{63}\n.* B, at inv")
        for sign in r"(?m)^(\d+ schedules: .*states)", r"(?m)--replay (\w+)$":
            self.assertEqual(re.search(sign, traced)[1], re.search(sign, plain)[1])
        self.lab("check", "1", code=1)

    def test_explore_shows_the_shortest_schedule(self):
        self.lab("explore", "2", code=1)
        self.lab("explore", "2", "--preemptions", "0", "--orders", "1")

    def test_break_lets_a_student_schedule_a_chapter_or_a_strategy(self):
        self.assertIn("The next move:\n    1  A reads the stock", self.lab("break", "1"))
        self.assertIn("The next move:\n    1  A takes the lock (redis)", self.lab("break", "redis", "--orders", "2"))

    def test_watch_checks_at_each_save_and_ends_with_ctrl_c(self):
        said = self.home / "said"
        self.lab("start", "1")
        with open(said, "w") as output:
            watching = subprocess.Popen([ROOT / "scripts/lab", "watch", "1"], cwd=self.home, env=self.env, stdout=output,
                                        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            for text, sign in [(None, "the checks do not pass yet"), ("int x = ;\n", "it does not build"),
                               ((ROOT / "lab/01-oversell/answer.c").read_text(), "all is well")]:
                if text:
                    self.mine("01-oversell").write_text(text)
                wait_for(sign, lambda sign=sign: re.search(f"== {sign}.*\nwaiting for the next save", said.read_text()), 60)
        finally:
            os.killpg(watching.pid, signal.SIGINT)
            self.assertEqual(watching.wait(timeout=20), 130, said.read_text())

    def test_grade_shows_a_sale_beside_the_points_and_does_not_score_it(self):
        handed_in = self.home / "handed-in"
        handed_in.mkdir()
        shutil.copy(ROOT / "lab/01-oversell/exercise.c", handed_in / "01.c")
        done = subprocess.run([ROOT / BUILD / "bin/lab", "grade", handed_in, "--chapter", "1", "--live", "--chapters", ROOT / "lab"],
                              cwd=self.home, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        points, _, live = done.stdout.partition("Live, chapter 1 (shown, not scored):\n")
        self.assertIn("  10 of 100 points\n", points)
        self.assertRegex(live, r"(?m)^exercise +VIOLATED")
        self.assertTrue(live.endswith("\n10 of 100 points\n"))

    def test_run_ends_when_the_code_ends_an_instance(self):
        right = (ROOT / "lab/01-oversell/hint-3.c").read_text()
        write = "    return store_write_stock(sale, &seen, GUARD_VALUE, NULL);\n"
        line = right[:right.index(write)].count("\n") + 3
        self.lab("start", "1")
        for wrong, says in [("*(volatile int *)8 = 1;", "look for a NULL or wild pointer"),
                            ("for (volatile int i = 0;; i = 1) {}", "a loop without a store call does not end")]:
            with self.subTest(wrong):
                late = write.replace("return", 'store_trace(sale, "writes"); outcome =') + \
                    f"    if (outcome == OUTCOME_CONFLICT)\n        {wrong}\n    return outcome;\n"
                self.mine("01-oversell").write_text(right.replace(write, late))
                told = self.lab("run", "1", code=1)
                self.assertRegex(told, rf"(?m)^work/01.c:{line}: an instance ended in this code: .*{says}")
                self.assertRegex(told, r'store_trace\(\), the last lines of .*\n  [\d:.]+ inventory-\d order \S+ says "?writes"?\n')
                self.assertNotIn("STUCK", told)

    def test_run_sells_with_the_file_and_stops_what_it_started(self):
        told = self.lab("run", "1", code=1)
        self.assertIn("exercise: sold 800 of 500 units", told)
        audit = re.search(r"all of it: (.* audit \S+)", told).group(1)
        shown = subprocess.run(["bash", "-c", audit], cwd=self.home, env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertRegex(shown.stdout, r"(?s)Twins.*800")
        answer = (ROOT / "lab/01-oversell/answer.c").read_text()
        self.mine("01-oversell").write_text(answer.replace("    store_work", '    store_trace(sale, "I come");\n    store_work'))
        said = self.lab("run", "1", "--instances", "1", "--requests", "200", "--stock", "150")
        self.assertIn("exercise: sold all 150 units once each and refused the other 50", said)
        self.assertRegex(said, r'(?m)^  [\d:.]+ inventory-1 order \S+ says "I come"$')
        status = subprocess.run([ROOT / "scripts/stack", "status"], env=self.env, capture_output=True, text=True)
        self.assertNotRegex(status.stdout, r" pid \d")

    def test_half_a_cart_is_a_violation(self):
        answer = (ROOT / "lab/15-cart/answer.c").read_text()
        half = answer.replace("return outcome == OUTCOME_SOLD ?", "return outcome != OUTCOME_SOLD ?")
        self.assertNotEqual(half, answer)
        for text, code, says in [(answer, (0, 2), r"exercise,cart=on +VALID +200/200"), (half, 1, r"GHOST, 100 times")]:
            with self.subTest(says):
                self.lab("reset", "15")
                self.mine("15-cart").write_text(text)
                self.assertRegex(self.lab("run", "15", code=code), says)

    def test_a_lost_answer_is_an_orphan_unless_the_customer_or_the_sale_asks_again(self):
        for file, arguments, code, says in [("exercise.c", (), 1, r"exercise +VIOLATED ORPHAN +60/60"),
                                            ("exercise.c", ("--dup-rate", "0"), (0, 2), "ORPHAN"),
                                            ("answer.c", (), (0, 2), "ORPHAN")]:
            with self.subTest(file, arguments=arguments):
                self.lab("reset", "14")
                self.mine("14-no-answer").write_text((ROOT / "lab/14-no-answer" / file).read_text())
                told = self.lab("run", "14", *arguments, code=code)
                self.assertIn("fired: after-write error at inventory-1", told)
                (self.assertRegex if code == 1 else self.assertNotRegex)(told, says)

    def test_a_number_to_reach_is_relative_to_the_answer(self):
        self.assertIn("chapter 1 has no number to reach", self.lab("run", "1", "--reach", code=64))
        told = self.lab("run", "12", "--reach", "--rate", "400", "--requests", "40", "--stock", "20", code=(0, 99))
        self.assertEqual(told.count("exercise: sold all 20 units once each and refused the other 20"), 2)
        for limit in ("rate>-20%", "p(99)<+50ms", "retries<+0.1"):
            self.assertIn(f"exercise, {limit}: A ", told)


if __name__ == "__main__":
    unittest.main()
